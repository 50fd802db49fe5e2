/* PyTorch's alignment, as doc/masks.md sets it. */
#include "fragment.h"

int main(void)
{
    attnzoo_mask *mask = empty_mask();
#include FRAGMENT
    REQUIRE(!failed && shows(mask, 1, 2, 5, "10000|11000"));
    return 0;
}
