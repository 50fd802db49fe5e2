/* Key lengths, as doc/masks.md sets them. */
#include "fragment.h"

int main(void)
{
    attnzoo_mask *mask = empty_mask();
#include FRAGMENT
    REQUIRE(!failed && shows(mask, 2, 2, 4, "1111|1111|1100|1100"));
    return 0;
}
