/* Letters as rows, as doc/glimpses.md makes them. */
#include "fragment.h"

int main(void)
{
    const char *text = "zoo \xc3\xa9", *alphabet = "\xc3\xa9oz";
    static const float wanted[] = {0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
#include FRAGMENT
    REQUIRE(!failed && letters == 5 && distance(rows, wanted, 15) == 0);
    return 0;
}
