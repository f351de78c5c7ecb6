#include "core/validate.hpp"

#include "core/view_checks.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace boxsum {
namespace {

/// The error must name the argument and the value.
template <typename Error>
void expect_message(const std::function<void()>& call, const std::string& part) {
    try {
        call();
        ADD_FAILURE() << "accepted; expected: " << part;
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
}

view_shape shape(std::int64_t rows, std::int64_t cols, std::int64_t row_stride, dtype type = dtype::u32) {
    return {type, 1, rows, cols, 1, row_stride, 0};
}

TEST(validate, extents_and_strides) {
    using check = invalid_argument;
    expect_message<check>([] { checked_span_bytes("image", shape(0, 4, 16)); }, "image: rows is 0, must be at least 1");
    expect_message<check>([] { checked_span_bytes("image", shape(4, -3, 16)); }, "cols is -3");
    expect_message<check>([] { checked_span_bytes("image", shape(4, 4, 12)); },
                          "row_stride is 12, smaller than a row of 16 bytes");
    expect_message<check>([] { checked_span_bytes("image", shape(4, 4, 18)); }, "multiple of the element size, 4");
    expect_message<check>([] { checked_span_bytes("image", shape(4, 4, -16)); }, "row_stride is -16");
    view_shape s = shape(4, 4, 16);
    s.channels = 5;
    expect_message<check>([&] { checked_span_bytes("table", s); }, "table: channels is 5, must be 1 to 4");
    s.channels = 1;
    s.planes = 2;
    s.plane_stride = 60;
    expect_message<check>([&] { checked_span_bytes("table", s); }, "plane_stride is 60, smaller than a plane of 64");
    s.plane_stride = 64;
    EXPECT_EQ(checked_span_bytes("table", s), 128);
    s.plane_stride = 66;
    expect_message<check>([&] { checked_span_bytes("table", s); }, "plane_stride is 66, must be a multiple");
    // From a deserialised shape or a binding: no such type has a size.
    expect_message<check>([] { checked_span_bytes("image", shape(4, 4, 16, static_cast<dtype>(10))); },
                          "image: type is 10, not a dtype");
    expect_message<check>([] { checked_span_bytes("image", shape(4, 4, 16, static_cast<dtype>(255))); },
                          "type is 255, not a dtype");
    EXPECT_EQ(checked_span_bytes("table", shape(3, 5, 32)), 2 * 32 + 20);
    EXPECT_EQ(checked_span_bytes("table", shape(1, 5, 0)), 20);  // one row steps over nothing
}

TEST(validate, products_beyond_64_bits) {
    const std::int64_t huge = std::int64_t{1} << 40;
    expect_message<invalid_argument>([=] { checked_span_bytes("image", shape(huge, huge, huge * 4)); },
                                     "do not fit a 64-bit address space");
    expect_message<invalid_argument>([=] { checked_span_bytes("image", shape(1, INT64_MAX, INT64_MAX - 3)); },
                                     "do not fit a 64-bit address space");
}

TEST(validate, pointers) {
    alignas(8) std::uint32_t pixels[4]{};
    expect_message<invalid_argument>([] { check_view("image", {nullptr, shape(1, 4, 16)}); }, "image: data is null");
    expect_message<invalid_argument>(
        [&] {
            check_view("image", {reinterpret_cast<char*>(pixels) + 1, shape(1, 2, 8)});
        },
        "not aligned to its element size of 4");
}

TEST(validate, table_must_fit_image_and_layout) {
    expect_message<invalid_argument>(
        [] { make_problem(shape(4, 5, 5, dtype::u8), shape(4, 5, 20), {}, table_layout::padded); },
        "sums: extents are 4 x 5, but the padded table of an image of 4 x 5 has 5 x 6");
    view_shape two = shape(4, 5, 20);
    two.channels = 2;
    two.row_stride = 40;
    expect_message<invalid_argument>([&] { make_problem(shape(4, 5, 5, dtype::u8), two, {}, table_layout::inclusive); },
                                     "sums: channels is 2, but that of image is 1");
}

TEST(validate, types_come_from_the_closed_lists) {
    expect_message<unsupported>(
        [] { make_problem(shape(1, 4, 4, dtype::u8), shape(1, 4, 8, dtype::u16), {}, table_layout::inclusive); },
        "type pair 8u16u is not in the closed list: an image of 8u can have sums of 32u, 32s, 32f, 64u, 64f");
    expect_message<unsupported>(
        [] {
            make_problem(shape(1, 4, 16, dtype::u32), shape(1, 4, 16, dtype::u32),
                         std::optional<view_shape>(shape(1, 4, 32, dtype::u64)), table_layout::inclusive);
        },
        "type triple 32u32u64u is not in the closed list: an image of 32u has no tables with squares");
}

TEST(validate, overlap_is_told_from_sharing_a_buffer) {
    std::vector<std::uint32_t> buffer(100);
    const auto view = [&](std::int64_t first, std::int64_t rows, std::int64_t cols) {
        return const_any_view{buffer.data() + first, shape(rows, cols, 40)};
    };
    EXPECT_FALSE(overlap(view(0, 10, 5), view(5, 10, 5)));  // left and right halves of one buffer
    EXPECT_FALSE(overlap(view(5, 9, 5), view(10, 9, 5)));
    EXPECT_TRUE(overlap(view(0, 10, 6), view(5, 10, 5)));
    EXPECT_TRUE(overlap(view(5, 9, 5), view(0, 10, 6)));
    EXPECT_TRUE(overlap(view(0, 10, 10), view(0, 10, 10)));
    EXPECT_FALSE(overlap(view(0, 5, 10), view(50, 5, 10)));
    EXPECT_TRUE(overlap(view(0, 6, 10), view(50, 5, 10)));
    // The same of several planes, as long as whole rows lie between them.
    const auto batch = [&](std::int64_t first, std::int64_t cols, std::int64_t plane_stride) {
        const_any_view v{buffer.data() + first, shape(4, cols, 40)};
        v.shape.planes = 2;
        v.shape.plane_stride = plane_stride;
        return v;
    };
    EXPECT_FALSE(overlap(batch(0, 5, 200), batch(5, 5, 200)));
    EXPECT_TRUE(overlap(batch(0, 6, 200), batch(5, 5, 200)));
    EXPECT_TRUE(overlap(batch(0, 5, 196), batch(5, 5, 196)));
    const_any_view last_row = batch(40, 10, 200);  // behind the four rows of each plane
    last_row.shape.rows = 1;
    EXPECT_FALSE(overlap(batch(0, 10, 200), last_row));
    EXPECT_TRUE(overlap(batch(0, 10, 204), last_row));
}

TEST(validate, in_place_is_the_same_memory_inclusive) {
    std::vector<std::uint32_t> buffer(200);
    const any_view a{buffer.data(), shape(10, 10, 40)};
    EXPECT_TRUE(make_problem({a}, {{a}}).in_place);
    const any_view shifted{buffer.data() + 10, shape(10, 10, 40)};
    expect_message<invalid_argument>([&] { make_problem({a}, {{shifted}}); }, "sums: overlaps image");
    expect_message<invalid_argument>(
        [&] {
            make_problem({a}, {{a, table_layout::exclusive}});
        },
        "sums: overlaps image");
}

}  // namespace
}  // namespace boxsum
