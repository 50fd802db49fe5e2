/*
 * tests/cpp/view_test.cpp: views of pointers, vectors, arrays, spans and of a program's own types; what does not fit is
 * refused. What must not compile is in refused/.
 */
#include "testing.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#ifdef __cpp_lib_span
#include <span>
#endif

namespace
{

struct half {
    std::uint16_t bits;
};

struct row_of_floats {
    float numbers[3];
    const float *data() const
    {
        return numbers;
    }
    std::size_t size() const
    {
        return 3;
    }
};

using attnzoo::const_tensor;
using attnzoo::tensor;

} // namespace

template <> struct attnzoo::element_type<half> {
    static constexpr attnzoo::dtype value = attnzoo::dtype::float16;
};

TEST(element_types_give_their_dtype)
{
    float f[2] = {};
    bool b[2] = {};
    std::int32_t i[2] = {};
    std::int64_t l[2] = {};
    long long ll[2] = {};
    half h[2] = {};
    REQUIRE(tensor(f, {2}).dtype() == attnzoo::dtype::float32);
    REQUIRE(tensor(b, {2}).dtype() == attnzoo::dtype::boolean);
    REQUIRE(tensor(i, {2}).dtype() == attnzoo::dtype::int32);
    REQUIRE(tensor(l, {2}).dtype() == attnzoo::dtype::int64);
    REQUIRE(tensor(ll, {2}).dtype() == attnzoo::dtype::int64);
    REQUIRE(tensor(h, {2}).dtype() == attnzoo::dtype::float16);
    REQUIRE(attnzoo::dtype_size(attnzoo::dtype::bfloat16) == 2 && attnzoo::dtype_size(attnzoo::dtype{}) == 0);
    REQUIRE(attnzoo::dtype_name(attnzoo::dtype::boolean) == "bool");
}

TEST(every_kind_of_memory_is_shown_where_it_lies)
{
    std::vector<float> vector(6);
    const std::vector<float> constant(6);
    std::array<float, 6> array{};
    float plain[6] = {};
    float *const pointer = plain;
    const row_of_floats own{{1, 2, 3}};
    REQUIRE(tensor(vector, {2, 3}).data() == vector.data());
    REQUIRE(const_tensor(constant, {2, 3}).data() == constant.data());
    REQUIRE(const_tensor(std::as_const(vector), {2, 3}).data() == vector.data());
    REQUIRE(tensor(array, {2, 3}).data() == array.data());
    REQUIRE(tensor(plain, {2, 3}).data() == plain);
    REQUIRE(tensor(pointer, {2, 3}).data() == plain);
    REQUIRE(tensor(pointer + 3, {3}).data() == plain + 3);
    REQUIRE(const_tensor(own, {3}).data() == own.numbers);
#ifdef __cpp_lib_span
    REQUIRE(tensor(std::span<float>(vector), {2, 3}).data() == vector.data());
    REQUIRE(const_tensor(std::span<const float>(constant), {6}).data() == constant.data());
    REQUIRE(tensor(std::span(vector).subspan(2), {2, 2}).data() == vector.data() + 2);
    const std::span<float, 6> fixed(vector);
    REQUIRE(tensor(fixed, {3, 2}).data() == vector.data());
    REQUIRE_REFUSED(shape_mismatch, "4 elements", tensor(std::span(vector).first(4), {2, 3}));
#elif __cplusplus >= 202002L
#error "this C++20 library has no std::span"
#endif
}

TEST(shapes_come_from_integers_of_any_kind)
{
    const std::size_t rows = 2;
    const int columns = 3;
    std::vector<float> numbers(6);
    const tensor view(numbers, {rows, columns});
    REQUIRE(view.rank() == 2 && view.size(0) == 2 && view.size(1) == 3 && view.size(2) == -1);
    REQUIRE(view.stride(0) == 3 && view.stride(1) == 1 && view.element_count() == 6);
    REQUIRE(view.shape() == attnzoo::shape(2, 3) && view.shape() != attnzoo::shape(2, 3, 1));
    REQUIRE(view.strides() == attnzoo::strides(3, 1) && view.shape() != attnzoo::shape(2, 4));
    const std::vector<int> vector{1, 2, 3};
    const std::array<std::int64_t, 3> array{1, 2, 3};
    REQUIRE(tensor(numbers, vector).shape() == attnzoo::shape(array));
    REQUIRE(attnzoo::to_string(attnzoo::shape(vector)) == "[1, 2, 3]" && attnzoo::to_string({}) == "[]");
    REQUIRE_REFUSED(invalid_argument, "rank is 9", attnzoo::shape(std::vector<int>(9, 1)));
    REQUIRE_REFUSED(invalid_argument, "rank is 9", attnzoo::shape{1, 1, 1, 1, 1, 1, 1, 1, 1});
    REQUIRE(attnzoo::shape{5}.size() == 1 && attnzoo::shape{5}[0] == 5);
    REQUIRE(tensor(numbers, {1, 1, 1, 1, 1, 1, 2, 3}).rank() == 8 && attnzoo::rank_max == 8);
    std::int64_t sum = 0;
    for (const std::int64_t size : view.shape())
        sum += size;
    REQUIRE(sum == 5 && view.shape().size() == 2 && view.shape()[1] == 3);
}

TEST(sizes_and_strides_fit_63_bits)
{
    std::vector<float> numbers(2);
    const std::uint64_t most = (std::numeric_limits<std::int64_t>::max)();
    const std::vector<std::uint64_t> sizes{2, most + 1};
    REQUIRE_REFUSED(invalid_argument, "63 bits", const_tensor(numbers.data(), {2}, {~std::uint64_t{0}}));
    REQUIRE_REFUSED(invalid_argument, "63 bits", attnzoo::shape(2, most + 1));
    REQUIRE_REFUSED(invalid_argument, "63 bits", static_cast<void>(attnzoo::shape(sizes)));
    static_assert(attnzoo::shape(2u, std::uint64_t{3})[1] == 3);
    REQUIRE(attnzoo::shape(2, most)[1] == std::numeric_limits<std::int64_t>::max());
}

TEST(element_counts_do_not_overflow)
{
    const std::int64_t large = INT64_C(1) << 33;
    REQUIRE(attnzoo::element_count({2, 3, 4}) == 24 && attnzoo::element_count({}) == 1);
    REQUIRE(attnzoo::element_count({2, 0, 4}) == 0);
    REQUIRE_REFUSED(invalid_argument, "[2, -1]", static_cast<void>(attnzoo::element_count({2, -1})));
    REQUIRE_REFUSED(invalid_argument, "number", static_cast<void>(attnzoo::element_count({large, large})));
    REQUIRE_REFUSED(invalid_argument, "number", static_cast<void>(attnzoo::element_count({large, large, 0})));
}

TEST(a_container_must_be_what_the_shape_takes)
{
    std::vector<float> six(6), none;
    REQUIRE_REFUSED(shape_mismatch, "6 elements", tensor(six, {2, 2}));
    REQUIRE_REFUSED(shape_mismatch, "[7]", tensor(six, {7}));
    REQUIRE_REFUSED(shape_mismatch, "6 elements", tensor(six, {0, 3}));
    REQUIRE_REFUSED(shape_mismatch, "0 elements", tensor(none, {1}));
    REQUIRE(tensor(none, {0, 3}).element_count() == 0);
    /* 2^32 * 2^32 is 0 in 64 bits. */
    const std::int64_t large = INT64_C(1) << 32;
    REQUIRE_REFUSED(shape_mismatch, "6 elements", tensor(six, {large, large}));
    REQUIRE_REFUSED(shape_mismatch, "0 elements", tensor(none, {large, large}));
    /* 3 times this is 2 in 64 bits, and 3 times that what the container has. */
    REQUIRE_REFUSED(shape_mismatch, "6 elements", tensor(six, {3, INT64_C(6148914691236517206), 3}));
    REQUIRE_REFUSED(invalid_argument, "negative", tensor(six, {-2, -3}));
    REQUIRE_REFUSED(invalid_argument, "rank", tensor(six, {}));
}

TEST(strides_stay_inside_a_container)
{
    std::vector<float> six(6), none;
    REQUIRE(tensor(six, {3, 2}, {1, 3}).stride(1) == 3);
    REQUIRE(tensor(six, {2}, {5}).size(0) == 2);
    REQUIRE(const_tensor(six, {100}, {0}).element_count() == 100);
    REQUIRE(tensor(six, {1}, {1000}).size(0) == 1);
    REQUIRE(tensor(none, {0, 2}, {5, 1}).element_count() == 0);
    REQUIRE_REFUSED(shape_mismatch, "[6]", tensor(six, {2}, {6}));
    REQUIRE_REFUSED(shape_mismatch, "[1, 4]", tensor(six, {3, 2}, {1, 4}));
    REQUIRE_REFUSED(shape_mismatch, "[-1]", tensor(six, {2}, {-1}));
    REQUIRE_REFUSED(shape_mismatch, "0 elements", const_tensor(none, {1}, {0}));
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    REQUIRE_REFUSED(shape_mismatch, "6 elements", tensor(six, {most, most}, {most, most}));
    REQUIRE_REFUSED(invalid_argument, "number of axes", tensor(six, {3, 2}, {1}));
    REQUIRE_REFUSED(invalid_argument, "number of axes", tensor(six.data(), {3}, {1, 1}));
    REQUIRE(tensor(six.data() + 5, {6}, {-1}).stride(0) == -1);
}

TEST(a_named_dtype_must_fit_the_memory)
{
    std::vector<std::uint16_t> bits(6);
    std::vector<unsigned char> bytes(6);
    std::array<std::byte, 6> raw{};
    std::vector<float> floats(6);
    void *const anything = floats.data();
    REQUIRE(tensor(bits, attnzoo::dtype::float16, {2, 3}).dtype() == attnzoo::dtype::float16);
    REQUIRE(const_tensor(bits.data(), attnzoo::dtype::bfloat16, {2, 3}).dtype() == attnzoo::dtype::bfloat16);
    REQUIRE(tensor(bytes, attnzoo::dtype::boolean, {6}).dtype() == attnzoo::dtype::boolean);
    REQUIRE(tensor(raw, attnzoo::dtype::boolean, {6}).dtype() == attnzoo::dtype::boolean);
    REQUIRE(tensor(floats, attnzoo::dtype::float32, {6}).dtype() == attnzoo::dtype::float32);
    REQUIRE(tensor(anything, attnzoo::dtype::float16, {12}).element_count() == 12);
    REQUIRE(tensor(nullptr, attnzoo::dtype::float32, {0}).data() == nullptr);
    REQUIRE_REFUSED(dtype_mismatch, "2 bytes", tensor(bits, attnzoo::dtype::float32, {6}));
    REQUIRE_REFUSED(dtype_mismatch, "1 bytes", tensor(bytes, attnzoo::dtype::float16, {6}));
    REQUIRE_REFUSED(dtype_mismatch, "float32", tensor(floats, attnzoo::dtype::int32, {6}));
    REQUIRE_REFUSED(shape_mismatch, "6 elements", tensor(bits, attnzoo::dtype::float16, {2, 2}));
    REQUIRE_REFUSED(invalid_argument, "dtype", tensor(anything, static_cast<attnzoo::dtype>(77), {6}));
}

TEST(misaligned_and_null_data_are_refused)
{
    alignas(8) unsigned char bytes[16] = {};
    REQUIRE_REFUSED(invalid_argument, "aligned", tensor(static_cast<void *>(bytes + 1), attnzoo::dtype::float32, {2}));
    REQUIRE_REFUSED(invalid_argument, "NULL", tensor(static_cast<float *>(nullptr), {2}));
}

TEST(a_const_tensor_is_read_only_to_the_library)
{
    std::vector<float> numbers(6);
    const_tensor view(numbers, {3, 2});
    /* Past the C++ types, the handle itself says so. */
    REQUIRE(attnzoo_fill_sinusoidal_positions(view.get(), 0, 1, 0) == ATTNZOO_STATUS_INVALID_ARGUMENT);
    view.assign(numbers, {3, 2});
    REQUIRE(attnzoo_fill_sinusoidal_positions(view.get(), 0, 1, 0) == ATTNZOO_STATUS_INVALID_ARGUMENT);
    view.set_data(numbers);
    REQUIRE(attnzoo_fill_sinusoidal_positions(view.get(), 0, 1, 0) == ATTNZOO_STATUS_INVALID_ARGUMENT);
    attnzoo::fill_sinusoidal_positions(tensor(numbers, {3, 2}), 0, 1);
    REQUIRE(numbers[1] == 1.0f);
}

TEST(a_view_is_described_anew_or_left_alone)
{
    std::vector<float> six(6), five(5);
    std::vector<std::int32_t> ids(6);
    tensor view(six, {2, 3});
    REQUIRE_REFUSED(shape_mismatch, "5 elements", view.assign(five, {2, 3}));
    REQUIRE_REFUSED(invalid_argument, "number of axes", view.assign(five, {5}, {1, 1}));
    REQUIRE_REFUSED(shape_mismatch, "5 elements", view.set_data(five));
    REQUIRE_REFUSED(dtype_mismatch, "int32", view.set_data(ids));
    REQUIRE_REFUSED(invalid_argument, "NULL", view.set_data(nullptr));
    REQUIRE(view.data() == six.data() && view.shape() == attnzoo::shape(2, 3));
    std::vector<float> other(6);
    view.set_data(other);
    REQUIRE(view.data() == other.data());
    view.set_data(six.data());
    REQUIRE(view.data() == six.data());
    view.assign(five, {3}, {2});
    REQUIRE(view.data() == five.data() && view.strides() == attnzoo::strides{2});
    REQUIRE_REFUSED(shape_mismatch, "4 elements", std::vector<float> four(4); view.set_data(four));
    std::vector<float> seven(7), eight(8);
    view.assign(six, {2, 1, 3});
    REQUIRE_REFUSED(shape_mismatch, "7 elements", view.set_data(seven));
    REQUIRE(view.data() == six.data());
    view.set_data(other);
    /* With strides of its own a view needs room, and no more. */
    view.assign(seven, {2, 3}, {4, 1});
    view.set_data(eight);
    REQUIRE(view.data() == eight.data());
    REQUIRE_REFUSED(shape_mismatch, "6 elements", view.set_data(six));
    view.assign(seven, {3, 2}, {1, 3});
    view.set_data(seven);
    std::vector<float> none;
    view.assign(none, {2, 0, 3});
    REQUIRE_REFUSED(shape_mismatch, "6 elements", view.set_data(six));
    view.set_data(none);
    view.assign(ids, {6});
    REQUIRE(view.dtype() == attnzoo::dtype::int32);
    std::vector<std::uint16_t> bits(6);
    view.assign(bits, attnzoo::dtype::bfloat16, {6});
    view.set_data(bits);
    REQUIRE(view.dtype() == attnzoo::dtype::bfloat16);
    const_tensor reader = std::move(view);
    reader.assign(std::as_const(six), {6});
    reader.set_data(std::as_const(other));
    REQUIRE(reader.data() == other.data() && reader.dtype() == attnzoo::dtype::float32);
}
