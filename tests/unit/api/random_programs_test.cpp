// Random programs of the public API: images of any shape, strides and batch become tables of any form, at once and in
// parts with carries, and are asked for boxes and for the windows around all pixels. Everything is compared with sums
// that are added up pixel by pixel here.

#include "support/strided_block.hpp"

#include <boxsum/box.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/window_queries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using test::block;
using test::lying;

/// What one program does.
struct program {
    std::int64_t rows, cols, channels, planes;
    table_layout layout;
    std::int64_t split_row, split_col;  ///< where the table is cut into parts; 0: nowhere
    sat_options options;
    unsigned seed;

    std::string text() const {
        return "program " + std::to_string(seed) + ": " + std::to_string(planes) + " x " + std::to_string(rows) +
               " x " + std::to_string(cols) + " x " + std::to_string(channels) + ", layout " +
               std::to_string(static_cast<int>(layout)) + ", cut at " + std::to_string(split_row) + ", " +
               std::to_string(split_col) + ", " + std::to_string(options.threads) + " threads";
    }
};

template <typename Pixel, typename Entry, typename Square>
class random_programs {
  public:
    explicit random_programs(unsigned seed) : random_(seed) {
        const auto extent = [&] { return pick(8) == 0 ? 1 + pick(300) : 1 + pick(70); };
        p_ = {extent(), extent(), 1 + pick(4), 1 + pick(3), static_cast<table_layout>(pick(3)), 0, 0, {}, seed};
        if (pick(2) == 0) p_.channels = p_.planes = 1;
        p_.split_row = pick(p_.rows);
        p_.split_col = pick(p_.cols);
        p_.options.threads = static_cast<int>(pick(4));
        p_.options.store = static_cast<store_policy>(pick(3));
    }

    void run() {
        SCOPED_TRACE(p_.text());
        const block<Pixel> image = make<Pixel>(p_.rows, p_.cols, true);
        SCOPED_TRACE("image with " + test::text_of(image.view().shape()));
        // Small values keep floating sums exact, so that one comparison is right for all types; integers wrap all the
        // same.
        image.for_each([&](auto, auto, auto, auto, Pixel& x) {
            x = std::is_integral_v<Pixel> && pick(4) == 0 ? static_cast<Pixel>(random_())
                                                          : static_cast<Pixel>(pick(16));
        });
        add_up(image.view());
        at_once(image.view());
        in_parts(image.view());
    }

  private:
    static constexpr bool has_squares = !std::is_void_v<Square>;
    using square_entry = std::conditional_t<has_squares, Square, Entry>;

    std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

    template <typename T>
    block<T> make(std::int64_t rows, std::int64_t cols, bool only_read = false) {
        const lying how = pick(2) == 0 ? lying::row_major : only_read && pick(3) == 0 ? lying::repeated : lying::anyhow;
        return {rows, cols, p_.channels, p_.planes, how, random_};
    }

    std::size_t index(std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t channel) const {
        return static_cast<std::size_t>(((plane * p_.rows + r) * p_.cols + c) * p_.channels + channel);
    }

    /// sums_ and squares_ at (r, c): of all pixels above and to the left, itself included, modulo 2^64.
    void add_up(const image_view<Pixel>& image) {
        const auto scan = [&](std::vector<std::uint64_t>& sums, bool square) {
            sums.assign(index(p_.planes - 1, p_.rows - 1, p_.cols - 1, p_.channels - 1) + 1, 0);
            for (std::int64_t plane = 0; plane < p_.planes; ++plane)
                for (std::int64_t channel = 0; channel < p_.channels; ++channel)
                    for (std::int64_t c = 0; c < p_.cols; ++c) {
                        std::uint64_t in_column = 0;  // down a column first: not the order of any algorithm of ours
                        for (std::int64_t r = 0; r < p_.rows; ++r) {
                            const auto x =
                                static_cast<std::uint64_t>(static_cast<std::int64_t>(image(r, c, channel, plane)));
                            in_column += square ? x * x : x;
                            sums[index(plane, r, c, channel)] =
                                in_column + (c == 0 ? 0 : sums[index(plane, r, c - 1, channel)]);
                        }
                    }
        };
        scan(sums_, false);
        scan(squares_, true);
    }

    template <typename T>
    T value(const std::vector<std::uint64_t>& sums, std::int64_t plane, std::int64_t r, std::int64_t c,
            std::int64_t channel) const {
        const std::uint64_t sum = r < 0 || c < 0 ? 0 : sums[index(plane, r, c, channel)];
        return std::is_integral_v<T> ? static_cast<T>(sum) : static_cast<T>(static_cast<std::int64_t>(sum));
    }

    /// All entries of the table of a part whose first pixel is (row, col).
    template <typename T>
    void expect_sums(const block<T>& table, const std::vector<std::uint64_t>& sums, std::int64_t row,
                     std::int64_t col) {
        const std::int64_t border = table_form(p_.layout).border();
        std::int64_t wrong = 0;
        table.for_each([&](auto plane, auto r, auto c, auto channel, T& got) {
            const T want = value<T>(sums, plane, row + r - border, col + c - border, channel);
            if (got != want && ++wrong == 1)
                ADD_FAILURE() << "entry " << plane << ", " << r << ", " << c << ", " << channel << " is " << +got
                              << ", not " << +want;
        });
        EXPECT_TRUE(table.is_untouched_between());
    }

    void at_once(const image_view<Pixel>& image) {
        const table_form form = p_.layout;
        const block<Entry> sums = make<Entry>(form.table_extent(p_.rows), form.table_extent(p_.cols));
        const block<square_entry> squares = make<square_entry>(form.table_extent(p_.rows), form.table_extent(p_.cols));
        const bool with_squares = has_squares && pick(2) == 0;
        sat_outputs outputs{.sums = {sums.view(), form}};
        if (with_squares) outputs.squares = {squares.view(), form};
        sat({.image = image}, outputs, p_.options);
        expect_sums(sums, sums_, 0, 0);
        if (with_squares) expect_sums(squares, squares_, 0, 0);
        ask(image, sums.view());
        if (p_.layout != table_layout::exclusive) ask_everywhere(sums.view());
    }

    void ask_everywhere(const image_view<Entry>& entries) {
        const window_extents w{.above = pick(9), .below = pick(9), .left = pick(9), .right = pick(9)};
        const block<Entry> windows = make<Entry>(p_.rows, p_.cols);
        window_sums({entries, p_.layout}, windows.view(), {.window = w, .threads = p_.options.threads});
        std::int64_t wrong = 0;
        windows.for_each([&](auto plane, auto r, auto c, auto channel, Entry& got) {
            const std::int64_t top = std::max<std::int64_t>(r - w.above, 0) - 1,
                               left = std::max<std::int64_t>(c - w.left, 0) - 1,
                               bottom = std::min(r + w.below, p_.rows - 1), right = std::min(c + w.right, p_.cols - 1);
            const auto upto = [&](std::int64_t row, std::int64_t col) {
                return row < 0 || col < 0 ? 0 : sums_[index(plane, row, col, channel)];
            };
            const std::uint64_t sum = upto(bottom, right) - upto(top, right) - upto(bottom, left) + upto(top, left);
            const Entry want = std::is_integral_v<Entry> ? static_cast<Entry>(sum)
                                                         : static_cast<Entry>(static_cast<std::int64_t>(sum));
            if (got != want && ++wrong == 1)
                ADD_FAILURE() << "window " << plane << ", " << r << ", " << c << ", " << channel << " has " << +got
                              << ", not " << +want;
        });
        EXPECT_TRUE(windows.is_untouched_between());
    }

    void ask(const image_view<Pixel>& image, const image_view<Entry>& entries) {
        const table_view<const Entry> table{entries, p_.layout};
        const std::int64_t missing = p_.layout == table_layout::exclusive ? 1 : 0;
        const std::int64_t rows = p_.rows - missing, cols = p_.cols - missing;
        for (int i = 0; i < 5 && rows > 0 && cols > 0; ++i) {
            box b;
            b.row = pick(rows);
            b.col = pick(cols);
            b.rows = 1 + pick(rows - b.row);
            b.cols = 1 + pick(cols - b.col);
            const std::int64_t channel = pick(p_.channels), plane = pick(p_.planes);
            std::uint64_t sum = 0;
            for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
                for (std::int64_t c = b.col; c < b.col + b.cols; ++c)
                    sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(image(r, c, channel, plane)));
            const Entry want = std::is_integral_v<Entry> ? static_cast<Entry>(sum)
                                                         : static_cast<Entry>(static_cast<std::int64_t>(sum));
            EXPECT_EQ(box_sum(table, b, channel, plane), want);
            scalar sum_of_any;
            box_sums(table, {&b, 1}, {&sum_of_any, 1}, channel, plane);
            EXPECT_EQ(sum_of_any.to_double(), static_cast<double>(want));
            EXPECT_EQ(box_mean(table, b, channel, plane),
                      static_cast<double>(want) / static_cast<double>(b.rows * b.cols));
        }
        EXPECT_THROW((void)box_sum(table, {0, 0, rows + 1, cols > 0 ? cols : 1}), std::exception);
    }

    /// The table of four parts, each with what lies around it in the whole one.
    void in_parts(const image_view<Pixel>& image) {
        const table_form form = p_.layout;
        const auto starts = [](std::int64_t cut) {
            return cut == 0 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, cut};
        };
        for (const std::int64_t row : starts(p_.split_row))
            for (const std::int64_t col : starts(p_.split_col)) {
                const std::int64_t rows = (row < p_.split_row ? p_.split_row : p_.rows) - row;
                const std::int64_t cols = (col < p_.split_col ? p_.split_col : p_.cols) - col;
                const std::int64_t corner = col == 0 ? 0 : 1;
                const block<Entry> above = make<Entry>(1, cols + corner), left = make<Entry>(rows, 1);
                above.for_each([&](auto plane, auto, auto c, auto channel, Entry& x) {
                    x = value<Entry>(sums_, plane, row - 1, col + c - corner, channel);
                });
                left.for_each([&](auto plane, auto r, auto, auto channel, Entry& x) {
                    x = value<Entry>(sums_, plane, row + r, col - 1, channel);
                });
                sat_inputs part;
                part.image =
                    image_view<const Pixel>{&image(row, col),
                                            rows,
                                            cols,
                                            view_strides{image.row_stride(), image.col_stride(), image.plane_stride()},
                                            p_.channels,
                                            p_.planes};
                if (row > 0) part.carries.above = above.view();
                if (col > 0) part.carries.left = left.view();
                const block<Entry> sums = make<Entry>(form.table_extent(rows), form.table_extent(cols));
                sat(part, {.sums = {sums.view(), form}}, p_.options);
                expect_sums(sums, sums_, row, col);
            }
    }

    std::mt19937_64 random_;
    program p_;
    std::vector<std::uint64_t> sums_, squares_;
};

template <typename Pixel, typename Entry, typename Square = void>
void run_programs() {
    for (unsigned seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed)
        random_programs<Pixel, Entry, Square>(seed).run();
}

TEST(random_programs_of_the_api, of_bytes) {
    run_programs<std::uint8_t, std::uint32_t, std::uint64_t>();
    run_programs<std::uint8_t, std::uint64_t>();
    run_programs<std::uint8_t, double>();
}

TEST(random_programs_of_the_api, of_words) {
    run_programs<std::uint16_t, std::uint64_t, std::uint64_t>();
    run_programs<std::int16_t, std::int64_t>();
    run_programs<std::uint32_t, std::uint32_t>();
}

TEST(random_programs_of_the_api, of_floats) {
    run_programs<float, float>();
    run_programs<float, double, double>();
    run_programs<double, double>();
}

}  // namespace
}  // namespace boxsum
