#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace boxsum {
namespace {

TEST(sat, the_example_of_the_paper) {  // all ones: T(r, c) = (r + 1)(c + 1)
    const std::vector<std::uint8_t> pixels(3 * 4, 1);
    const image_view<const std::uint8_t> image(pixels.data(), 3, 4);
    const auto t = sat<std::uint32_t>(image);
    for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t c = 0; c < 4; ++c) EXPECT_EQ(t.view()(r, c), (r + 1) * (c + 1));
    EXPECT_EQ(box_sum(t, {.row = 1, .col = 1, .rows = 2, .cols = 3}), 6u);
    EXPECT_EQ(box_mean(t, {.row = 0, .col = 0, .rows = 3, .cols = 4}), 1.0);
}

TEST(sat, squares_and_variance) {
    const std::vector<std::uint8_t> pixels{1, 2, 3, 4};
    const image_view<const std::uint8_t> image(pixels.data(), 2, 2);
    table<std::uint32_t> sums(2, 2, table_layout::padded);
    table<std::uint64_t> squares(2, 2, table_layout::padded);
    sat(image, any_view(sums.view()), any_view(squares.view()), {.layout = table_layout::padded});
    EXPECT_EQ(squares.view()(2, 2), 30u);
    EXPECT_DOUBLE_EQ(box_variance(sums.view(), squares.view(), {0, 0, 2, 2}, table_layout::padded), 1.25);
}

TEST(sat, in_place) {
    std::vector<std::uint32_t> data(5 * 7, 1);
    const image_view<std::uint32_t> view(data.data(), 5, 7);
    sat(view, any_view(view));
    EXPECT_EQ(view(4, 6), 35u);
    EXPECT_EQ(view(2, 3), 12u);
}

TEST(sat, errors_leave_the_table_alone) {
    const std::vector<std::uint8_t> pixels(12, 1);
    std::vector<std::uint32_t> sums(12, 77);
    const image_view<const std::uint8_t> image(pixels.data(), 3, 4);
    const image_view<std::uint32_t> table(sums.data(), 3, 4);
    EXPECT_THROW(sat(image, any_view(table), {.algorithm = "no-such"}), unsupported);
    EXPECT_THROW(sat(image, any_view(table), {.layout = table_layout::padded}), invalid_argument);
    EXPECT_THROW(sat(image, any_view(table), {.threads = -1}), invalid_argument);
    for (const std::uint32_t value : sums) EXPECT_EQ(value, 77u);
    const auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const invalid_argument& e) {
            return e.what();
        }
        return "no invalid_argument";
    };
    EXPECT_EQ(message([&] { sat(image, any_view(table), {.layout = static_cast<table_layout>(7)}); }),
              "layout: is 7, not a table_layout");
    EXPECT_EQ(message([&] { sat(image, any_view(table), {.store = static_cast<store_policy>(7)}); }),
              "store: is 7, not a store_policy");
    for (const std::uint32_t value : sums) EXPECT_EQ(value, 77u);
    // The image, not the table that would be allocated for it.
    const image_view<const std::uint8_t> none(pixels.data(), 0, 4), nothing(nullptr, 1 << 30, 1 << 30),
        hopeless(pixels.data(), std::int64_t{1} << 40, std::int64_t{1} << 40), tall(pixels.data(), INT64_MAX, 1);
    EXPECT_EQ(message([&] { sat<std::uint32_t>(none, {.layout = table_layout::padded}); }),
              "image: rows is 0, must be at least 1");
    EXPECT_EQ(message([&] { sat<std::uint64_t>(nothing); }), "image: data is null");
    EXPECT_NE(message([&] {
                  sat<std::uint32_t>(hopeless, {.layout = table_layout::padded});
              }).find("image: 1 x 1099511627776"),
              std::string::npos);
    EXPECT_NE(message([&] { sat<std::uint32_t>(tall, {.layout = table_layout::padded}); }).find("do not fit"),
              std::string::npos);
    EXPECT_NE(message([&] { sat(tall, any_view(table), {.layout = table_layout::padded}); }).find("table: extents are"),
              std::string::npos);
}

}  // namespace
}  // namespace boxsum
