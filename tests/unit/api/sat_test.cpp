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
        for (std::int64_t c = 0; c < 4; ++c) EXPECT_EQ(t(r, c), (r + 1) * (c + 1));
    EXPECT_EQ(box_sum(t, {.row = 1, .col = 1, .rows = 2, .cols = 3}), 6u);
    EXPECT_EQ(box_mean(t, {.row = 0, .col = 0, .rows = 3, .cols = 4}), 1.0);
}

TEST(sat, squares_and_variance) {
    const std::vector<std::uint8_t> pixels{1, 2, 3, 4};
    const image_view<const std::uint8_t> image(pixels.data(), 2, 2);
    const auto moments = sat_squares<std::uint32_t, std::uint64_t>(image, table_layout::padded);
    EXPECT_EQ(moments.sums(2, 2), 10u);
    EXPECT_EQ(moments.squares(2, 2), 30u);
    EXPECT_DOUBLE_EQ(box_variance(moments, {0, 0, 2, 2}), 1.25);
    // The same into memory of the caller's.
    std::vector<std::uint32_t> sums(4);
    std::vector<std::uint64_t> squares(4);
    const table_view<std::uint32_t> s({sums.data(), 2, 2});
    const table_view<std::uint64_t> q({squares.data(), 2, 2});
    sat({.image = image}, {.sums = s, .squares = q});
    EXPECT_EQ(sums, (std::vector<std::uint32_t>{1, 3, 4, 10}));
    EXPECT_EQ(squares, (std::vector<std::uint64_t>{1, 5, 10, 30}));
    EXPECT_DOUBLE_EQ(box_variance({s, q}, {0, 0, 2, 2}), 1.25);
}

TEST(sat, owning_tables_are_views) {
    const std::vector<std::uint8_t> pixels(6 * 2 * 2, 1);
    const image_view<const std::uint8_t> image(pixels.data(), 2, 3, 0, 2, 2);
    auto t = sat<std::uint32_t>(image, table_layout::padded);
    EXPECT_EQ(t.form(), table_form(table_layout::padded));
    EXPECT_EQ(t.rows(), 3);
    EXPECT_EQ(t.cols(), 4);
    EXPECT_EQ(t.image_rows(), 2);
    EXPECT_EQ(t.image_cols(), 3);
    EXPECT_EQ(t.channels(), 2);
    EXPECT_EQ(t.planes(), 2);
    EXPECT_EQ(t(2, 3, 1, 1), 6u);
    const table_view<std::uint32_t> writable = t;
    const table_view<const std::uint32_t> readable = t;
    const any_table_view any = t;
    const const_any_table_view const_any = t;
    EXPECT_EQ(&writable(2, 1, 1, 1), &t(2, 1, 1, 1));
    EXPECT_EQ(&readable(2, 1, 1, 1), &t(2, 1, 1, 1));
    EXPECT_EQ(readable.layout(), table_layout::padded);
    EXPECT_EQ(any.entries.data, t.view().data());
    EXPECT_EQ(const_any.entries.shape, t.view().entries().shape());
    EXPECT_EQ(const_any.form, t.form());
}

TEST(sat, in_place) {
    std::vector<std::uint32_t> data(5 * 7, 1);
    const image_view<std::uint32_t> view(data.data(), 5, 7);
    sat({view}, {{view}});
    EXPECT_EQ(view(4, 6), 35u);
    EXPECT_EQ(view(2, 3), 12u);
}

TEST(sat, errors_leave_the_table_alone) {
    const std::vector<std::uint8_t> pixels(12, 1);
    std::vector<std::uint32_t> sums(12, 77);
    const image_view<const std::uint8_t> image(pixels.data(), 3, 4);
    const image_view<std::uint32_t> table(sums.data(), 3, 4);
    EXPECT_THROW(sat({image}, {{table}}, {.algorithm = "no-such"}), unsupported);
    EXPECT_THROW(sat({image}, {{table, table_layout::padded}}), invalid_argument);
    EXPECT_THROW(sat({image}, {{table}}, {.threads = -1}), invalid_argument);
    for (const std::uint32_t value : sums) EXPECT_EQ(value, 77u);
    const auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const invalid_argument& e) {
            return e.what();
        }
        return "no invalid_argument";
    };
    EXPECT_EQ(message([&] {
                  sat({image}, {{table, static_cast<table_layout>(7)}});
              }),
              "sums: layout is 7, not a table_layout");
    EXPECT_EQ(message([&] { sat({image}, {{table}}, {.store = static_cast<store_policy>(7)}); }),
              "store: is 7, not a store_policy");
    std::vector<std::uint64_t> more(20);
    const image_view<std::uint64_t> squares(more.data(), 4, 5);
    EXPECT_EQ(message([&] {
                  sat({image}, {{table}, {squares, table_layout::padded}});
              }),
              "squares: its form is padded, but that of sums is inclusive");
    const table_carries carries{.left = image_view<const std::uint32_t>(sums.data(), 3, 1)};
    EXPECT_EQ(message([&] { sat({.image = image, .squares_carries = carries}, {{table}}); }),
              "squares_carries: given, but there is no table of squares");
    EXPECT_EQ(message([&] { sat({.image = image, .carries = carries}, {{table}}); }), "carries.left: overlaps sums");
    for (const std::uint32_t value : sums) EXPECT_EQ(value, 77u);
    // The image, not the table that would be allocated for it.
    const image_view<const std::uint8_t> none(pixels.data(), 0, 4), nothing(nullptr, 1 << 30, 1 << 30),
        hopeless(pixels.data(), std::int64_t{1} << 40, std::int64_t{1} << 40), tall(pixels.data(), INT64_MAX, 1);
    EXPECT_EQ(message([&] { sat<std::uint32_t>(none, table_layout::padded); }), "image: rows is 0, must be at least 1");
    EXPECT_EQ(message([&] { sat<std::uint64_t>(nothing); }), "image: data is null");
    EXPECT_NE(message([&] { sat<std::uint32_t>(hopeless, table_layout::padded); }).find("image: 1 x 1099511627776"),
              std::string::npos);
    EXPECT_NE(message([&] { sat<std::uint32_t>(tall, table_layout::padded); }).find("do not fit"), std::string::npos);
    EXPECT_NE(message([&] {
                  sat({tall}, {{table, table_layout::padded}});
              }).find("sums: extents are"),
              std::string::npos);
}

/// Two parts of a table of ones.
TEST(sat, a_part_starts_from_its_carries) {
    const std::vector<std::uint8_t> pixels(4 * 5, 1);
    const auto whole = sat<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), 4, 5), table_layout::padded);
    // Rows 1 to 3, columns 2 to 4; the whole table's row above begins at its corner.
    const image_view<const std::uint8_t> part(pixels.data() + 7, 3, 3, 5);
    const image_view<const std::uint32_t> above(&whole(1, 2), 1, 4);
    const image_view<const std::uint32_t> left(&whole(2, 2), 3, 1, whole.view().entries().row_stride());
    const auto t = sat<std::uint32_t>({.image = part, .carries = {above, left}});
    for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t c = 0; c < 3; ++c) EXPECT_EQ(t(r, c), whole(r + 2, c + 3)) << r << ' ' << c;
}

}  // namespace
}  // namespace boxsum
