/* The window of doc/masks.md: 4096 keys, the own one included. */
#include "fragment.h"

int main(void)
{
    attnzoo_mask *mask = empty_mask();
#include FRAGMENT
    static char pattern[4099];
    memset(pattern, '1', 4098);
    memset(pattern, '0', 2);
    REQUIRE(!failed && shows(mask, 1, 1, 4098, pattern));
    return 0;
}
