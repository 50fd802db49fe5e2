/* Tiles of an image, seen, copied and put back, as doc/glimpses.md has them. */
#include "fragment.h"

int main(void)
{
    attnzoo_tensor *image = tensor(1, 6, 8, 3, 0), *tiles = unwritten(6, 24, 0, 0), *back = unwritten(6, 8, 3, 0);
#include FRAGMENT
    REQUIRE(!failed && distance(numbers_of(back), numbers_of(image), 6 * 8 * 3) == 0);
    REQUIRE(attnzoo_tensor_rank(seen) == 5 && attnzoo_tensor_size(seen, 0) == 3 && attnzoo_tensor_size(seen, 1) == 2);
    REQUIRE(attnzoo_tensor_data(seen) == attnzoo_tensor_data(image));
    /* Tile (1, 1) begins in row 2, column 4. */
    REQUIRE(numbers_of(tiles)[3 * 24] == numbers_of(image)[(2 * 8 + 4) * 3]);
    return 0;
}
