#pragma once

#include "support/strided_block.hpp"

#include <boxsum/box.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/window_queries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

/// Random programs of the public API: images of any shape, strides and batch become tables of any form, at once and in
/// parts with carries, and are asked for boxes and for the windows around all pixels. Everything is compared with sums
/// that are added up pixel by pixel here.
///
/// Which functions compute is the machine's: those of the host, or of a device. It has
///
///     static constexpr std::int64_t most_extent;
///     auto m = machine.upload(block);     // m.view(): the block where the machine computes
///     machine.download(m);                // and back, with all that lies between elements
///     void machine.sat(inputs, outputs, options);
///     void machine.window_sums(table, sums, options);
///     std::vector<T> machine.box_sums(table_view<const T>, boxes, channel, plane);
///     std::vector<double> machine.box_means(table, boxes, channel, plane);
///     void machine.expect_no_answer(table_view<const T>, box);    // of a box that is not in the image
namespace boxsum::test {

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

template <typename Machine, typename Pixel, typename Entry, typename Square>
class random_program {
  public:
    random_program(Machine& machine, unsigned seed) : machine_(machine), random_(seed) {
        const auto extent = [&] { return 1 + pick(pick(8) == 0 ? Machine::most_extent : 70); };
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
        SCOPED_TRACE("image with " + text_of(image.view().shape()));
        // Small values keep floating sums exact, so that one comparison is right for all types; integers wrap all the
        // same.
        image.for_each([&](auto, auto, auto, auto, Pixel& x) {
            x = std::is_integral_v<Pixel> && pick(4) == 0 ? static_cast<Pixel>(random_())
                                                          : static_cast<Pixel>(pick(16));
        });
        add_up(image.view());
        const auto there = machine_.upload(image);
        at_once(image.view(), there.view());
        in_parts(there.view());
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

    void at_once(const image_view<Pixel>& image, const image_view<Pixel>& there) {
        const table_form form = p_.layout;
        const block<Entry> sums = make<Entry>(form.table_extent(p_.rows), form.table_extent(p_.cols));
        const block<square_entry> squares = make<square_entry>(form.table_extent(p_.rows), form.table_extent(p_.cols));
        const bool with_squares = has_squares && pick(2) == 0;
        const auto sums_there = machine_.upload(sums);
        const auto squares_there = machine_.upload(squares);
        sat_outputs outputs{.sums = {sums_there.view(), form}};
        if (with_squares) outputs.squares = {squares_there.view(), form};
        machine_.sat({.image = there}, outputs, p_.options);
        machine_.download(sums_there);
        machine_.download(squares_there);
        expect_sums(sums, sums_, 0, 0);
        if (with_squares) expect_sums(squares, squares_, 0, 0);
        ask(image, sums_there.view());
        if (p_.layout != table_layout::exclusive) ask_everywhere(sums_there.view());
    }

    void ask_everywhere(const image_view<Entry>& entries) {
        const window_extents w{.above = pick(9), .below = pick(9), .left = pick(9), .right = pick(9)};
        const block<Entry> windows = make<Entry>(p_.rows, p_.cols);
        const auto windows_there = machine_.upload(windows);
        machine_.window_sums({entries, p_.layout}, windows_there.view(), {.window = w, .threads = p_.options.threads});
        machine_.download(windows_there);
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
        machine_.expect_no_answer(table, box{0, 0, rows + 1, cols > 0 ? cols : 1});
        if (rows == 0 || cols == 0) return;
        const std::int64_t channel = pick(p_.channels), plane = pick(p_.planes);
        std::vector<box> boxes(5);
        for (box& b : boxes) {
            b.row = pick(rows);
            b.col = pick(cols);
            b.rows = 1 + pick(rows - b.row);
            b.cols = 1 + pick(cols - b.col);
        }
        const std::vector<Entry> sums = machine_.box_sums(table, boxes, channel, plane);
        const std::vector<double> means = machine_.box_means(table, boxes, channel, plane);
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            const box& b = boxes[i];
            std::uint64_t sum = 0;
            for (std::int64_t r = b.row; r < b.row + b.rows; ++r)
                for (std::int64_t c = b.col; c < b.col + b.cols; ++c)
                    sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(image(r, c, channel, plane)));
            const Entry want = std::is_integral_v<Entry> ? static_cast<Entry>(sum)
                                                         : static_cast<Entry>(static_cast<std::int64_t>(sum));
            EXPECT_EQ(sums[i], want);
            EXPECT_EQ(means[i], static_cast<double>(want) / static_cast<double>(b.rows * b.cols));
        }
    }

    /// What a whole table has around a part whose first pixel is (row, col).
    template <typename T>
    struct carried {
        block<T> above, left;
    };
    template <typename T>
    carried<T> around(const std::vector<std::uint64_t>& sums, std::int64_t row, std::int64_t col, std::int64_t rows,
                      std::int64_t cols) {
        const std::int64_t corner = col == 0 ? 0 : 1;
        carried<T> made{make<T>(1, cols + corner), make<T>(rows, 1)};
        made.above.for_each([&](auto plane, auto, auto c, auto channel, T& x) {
            x = value<T>(sums, plane, row - 1, col + c - corner, channel);
        });
        made.left.for_each([&](auto plane, auto r, auto, auto channel, T& x) {
            x = value<T>(sums, plane, row + r, col - 1, channel);
        });
        return made;
    }

    /// The tables of four parts, each with what lies around it in the whole ones.
    void in_parts(const image_view<Pixel>& image) {
        const table_form form = p_.layout;
        const bool with_squares = has_squares && pick(2) == 0;
        const auto starts = [](std::int64_t cut) {
            return cut == 0 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, cut};
        };
        for (const std::int64_t row : starts(p_.split_row))
            for (const std::int64_t col : starts(p_.split_col)) {
                const std::int64_t rows = (row < p_.split_row ? p_.split_row : p_.rows) - row;
                const std::int64_t cols = (col < p_.split_col ? p_.split_col : p_.cols) - col;
                sat_inputs part;
                part.image =
                    image_view<const Pixel>{&image(row, col),
                                            rows,
                                            cols,
                                            view_strides{image.row_stride(), image.col_stride(), image.plane_stride()},
                                            p_.channels,
                                            p_.planes};
                const auto carried_sums = around<Entry>(sums_, row, col, rows, cols);
                const auto above = machine_.upload(carried_sums.above), left = machine_.upload(carried_sums.left);
                if (row > 0) part.carries.above = above.view();
                if (col > 0) part.carries.left = left.view();
                const block<Entry> sums = make<Entry>(form.table_extent(rows), form.table_extent(cols));
                const auto sums_there = machine_.upload(sums);
                sat_outputs outputs{.sums = {sums_there.view(), form}};
                if (!with_squares) {
                    machine_.sat(part, outputs, p_.options);
                } else {
                    const auto carried_squares = around<square_entry>(squares_, row, col, rows, cols);
                    const auto squares_above = machine_.upload(carried_squares.above),
                               squares_left = machine_.upload(carried_squares.left);
                    if (row > 0) part.squares_carries.above = squares_above.view();
                    if (col > 0) part.squares_carries.left = squares_left.view();
                    const auto squares = make<square_entry>(form.table_extent(rows), form.table_extent(cols));
                    const auto squares_there = machine_.upload(squares);
                    outputs.squares = {squares_there.view(), form};
                    machine_.sat(part, outputs, p_.options);
                    machine_.download(squares_there);
                    expect_sums(squares, squares_, row, col);
                }
                machine_.download(sums_there);
                expect_sums(sums, sums_, row, col);
            }
    }

    Machine& machine_;
    std::mt19937_64 random_;
    program p_;
    std::vector<std::uint64_t> sums_, squares_;
};

template <typename Pixel, typename Entry, typename Square = void, typename Machine>
void run_programs(Machine& machine, unsigned count) {
    for (unsigned seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed)
        random_program<Machine, Pixel, Entry, Square>(machine, seed).run();
}

}  // namespace boxsum::test
