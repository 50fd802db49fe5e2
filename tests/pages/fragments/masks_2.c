/* Packed sequences, as doc/masks.md has them. */
#include "fragment.h"

int main(void)
{
    attnzoo_mask *mask = empty_mask();
#include FRAGMENT
    REQUIRE(!failed && shows(mask, 1, 6, 6, "100000|110000|111000|000100|000110|000001"));
    return 0;
}
