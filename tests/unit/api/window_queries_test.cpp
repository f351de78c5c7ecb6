#include <boxsum/box.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/window_queries.hpp>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

/// Memory of any element type for a table or a result of `shape`, whose rows end in elements that nobody may touch.
struct plane_memory {
    view_shape shape;
    std::vector<std::uint64_t> words;

    plane_memory(dtype type, std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t channels) {
        const auto element = static_cast<std::int64_t>(size_of(type));
        shape = {.type = type, .planes = planes, .rows = rows, .cols = cols, .channels = channels};
        shape.row_stride = (cols * channels + 3) * element;
        shape.plane_stride = (rows + 1) * shape.row_stride;
        words.assign(static_cast<std::size_t>(planes * shape.plane_stride) / 8 + 1, 0xa5a5a5a5a5a5a5a5u);
    }
    any_view view() { return {words.data(), shape}; }
    const std::byte* row(std::int64_t plane, std::int64_t r) const {
        return reinterpret_cast<const std::byte*>(words.data()) + plane * shape.plane_stride + r * shape.row_stride;
    }
    /// An element as a double, and as it is.
    double number(std::int64_t plane, std::int64_t r, std::int64_t i) const {
        const std::byte* const p = row(plane, r);
        return shape.type == dtype::f32   ? static_cast<double>(reinterpret_cast<const float*>(p)[i])
               : shape.type == dtype::f64 ? reinterpret_cast<const double*>(p)[i]
               : shape.type == dtype::u32 ? static_cast<double>(reinterpret_cast<const std::uint32_t*>(p)[i])
               : shape.type == dtype::s32 ? static_cast<double>(reinterpret_cast<const std::int32_t*>(p)[i])
               : shape.type == dtype::u64 ? static_cast<double>(reinterpret_cast<const std::uint64_t*>(p)[i])
                                          : static_cast<double>(reinterpret_cast<const std::int64_t*>(p)[i]);
    }
    bool touched_gaps() const {
        for (std::int64_t plane = 0; plane < shape.planes; ++plane)
            for (std::int64_t r = 0; r <= shape.rows; ++r) {
                const std::int64_t used =
                    r < shape.rows ? shape.cols * shape.channels * static_cast<std::int64_t>(size_of(shape.type)) : 0;
                for (std::int64_t i = used; i < shape.row_stride; ++i)
                    if (row(plane, r)[i] != std::byte{0xa5}) return true;
            }
        return false;
    }
};

struct types {
    dtype input, sums;
    std::optional<dtype> squares;
};

/// All types of sums; squares exact in 64 bits, exact beyond them, and floating.
const std::vector<types>& all_types() {
    using enum dtype;
    static const std::vector<types> all{{u8, u32, u32},  {u8, u32, u64},  {u8, s32, f64},  {u16, u64, u64},
                                        {u16, u32, u64}, {u8, f64, f64},  {s16, s32, {}},  {s16, s64, {}},
                                        {u32, u64, {}},  {f32, f32, f32}, {f32, f64, f64}, {f64, f64, f64}};
    return all;
}

const std::vector<window>& some_windows() {
    static const std::vector<window> all{1,
                                         5,
                                         {4, 7},
                                         window_radius(3, 0),
                                         window_extents{.above = 2, .right = 6},
                                         window_extents{.below = 1, .left = 9},
                                         {40, 40},
                                         {1, 30},
                                         window_extents{.above = INT64_MAX, .left = INT64_MAX, .right = INT64_MAX}};
    return all;
}

/// Small numbers whose sums no type rounds, or the largest of the type.
void fill(plane_memory& image, std::mt19937& random, bool largest) {
    for (std::int64_t plane = 0; plane < image.shape.planes; ++plane)
        for (std::int64_t r = 0; r < image.shape.rows; ++r)
            for (std::int64_t i = 0; i < image.shape.cols * image.shape.channels; ++i) {
                auto* const p = const_cast<std::byte*>(image.row(plane, r));
                const int value = static_cast<int>(random() % 200);
                const bool all = largest && random() % 4 != 0;
                switch (image.shape.type) {
                    case dtype::u8:
                        reinterpret_cast<std::uint8_t*>(p)[i] = static_cast<std::uint8_t>(all ? 255 : value);
                        break;
                    case dtype::u16:
                        reinterpret_cast<std::uint16_t*>(p)[i] = static_cast<std::uint16_t>(all ? 65535 : value);
                        break;
                    case dtype::s16:
                        reinterpret_cast<std::int16_t*>(p)[i] = static_cast<std::int16_t>(all ? -32768 : value - 100);
                        break;
                    case dtype::u32:
                        reinterpret_cast<std::uint32_t*>(p)[i] = all ? 0xffffffffu : static_cast<std::uint32_t>(value);
                        break;
                    case dtype::f32:
                        reinterpret_cast<float*>(p)[i] = static_cast<float>(value - 100);
                        break;
                    default:
                        reinterpret_cast<double*>(p)[i] = value - 100;
                }
            }
}

double pixel(const plane_memory& image, std::int64_t plane, std::int64_t r, std::int64_t i) {
    const std::byte* const p = image.row(plane, r);
    switch (image.shape.type) {
        case dtype::u8:
            return reinterpret_cast<const std::uint8_t*>(p)[i];
        case dtype::u16:
            return reinterpret_cast<const std::uint16_t*>(p)[i];
        case dtype::s16:
            return reinterpret_cast<const std::int16_t*>(p)[i];
        default:
            return image.number(plane, r, i);
    }
}

box window_at(const window& w, std::int64_t r, std::int64_t c, std::int64_t rows, std::int64_t cols) {
    const std::int64_t top = w.above > r ? 0 : r - w.above, left = w.left > c ? 0 : c - w.left;
    const std::int64_t bottom = w.below >= rows - r ? rows - 1 : r + w.below;
    const std::int64_t right = w.right >= cols - c ? cols - 1 : c + w.right;
    return {top, left, bottom - top + 1, right - left + 1};
}

/// Whole results, for every window, beside sums over the pixels and beside the queries of boxes, whose bits they have.
/// The pixels are such that 64 bits of an integer and 53 of a float hold all sums: nothing rounds but the last
/// division.
TEST(window_queries, are_the_windows_of_all_pixels) {
    std::mt19937 random(7);
    std::uint64_t turn = 0;
    for (const types& t : all_types())
        for (const window& w : some_windows()) {
            ++turn;
            const std::int64_t rows = 1 + static_cast<std::int64_t>(turn % 13),
                               channels = 1 + static_cast<std::int64_t>(turn % 4);
            const std::int64_t cols = std::array{37, 1, 70, 16, 133}[turn % 5],
                               planes = 1 + static_cast<std::int64_t>(turn % 2);
            const table_form form = turn % 3 == 0 ? table_layout::inclusive : table_layout::padded;
            plane_memory image(t.input, planes, rows, cols, channels);
            fill(image, random, turn % 2 == 0);
            const auto table_of = [&](dtype type) {
                return plane_memory(type, planes, form.table_extent(rows), form.table_extent(cols), channels);
            };
            plane_memory table = table_of(t.sums), squares = table_of(t.squares.value_or(dtype::u32));
            sat_outputs made{.sums = {table.view(), form}};
            if (t.squares) made.squares = {squares.view(), form};
            sat({image.view()}, made);

            const dtype real = turn % 2 == 0 ? dtype::f32 : dtype::f64;
            plane_memory sums(t.sums, planes, rows, cols, channels), means(real, planes, rows, cols, channels),
                variances(real, planes, rows, cols, channels);
            const window_query_options options{.window = w, .threads = 1 + static_cast<int>(turn % 3)};
            window_sums({table.view(), form}, sums.view(), options);
            window_means({table.view(), form}, means.view(), options);
            if (t.squares) window_variances({{table.view(), form}, {squares.view(), form}}, variances.view(), options);
            ASSERT_FALSE(sums.touched_gaps() || means.touched_gaps()) << turn;
            ASSERT_FALSE(t.squares && variances.touched_gaps()) << turn;

            const auto stored = [&](double x) {
                return real == dtype::f32 ? static_cast<double>(static_cast<float>(x)) : x;
            };
            const auto is_mean = [&](double got, double wanted) {
                if (real == dtype::f64 || got == stored(wanted)) return got == stored(wanted);
                return static_cast<float>(got) ==
                       std::nextafter(static_cast<float>(wanted), static_cast<float>(got));  // the one beside it
            };
            for (std::int64_t plane = 0; plane < planes; ++plane)
                for (std::int64_t r = 0; r < rows; ++r)
                    for (std::int64_t c = 0; c < cols; ++c)
                        for (std::int64_t k = 0; k < channels; ++k) {
                            const box b = window_at(w, r, c, rows, cols);
                            const std::int64_t i = c * channels + k;
                            const auto where = [&] {
                                return std::to_string(turn) + ": " + std::to_string(r) + ", " + std::to_string(c);
                            };
                            double sum = 0, of_squares = 0;
                            for (std::int64_t y = b.row; y < b.row + b.rows; ++y)
                                for (std::int64_t x = b.col; x < b.col + b.cols; ++x) {
                                    const double v = pixel(image, plane, y, x * channels + k);
                                    sum += v;
                                    of_squares += v * v;
                                }
                            const double n = static_cast<double>(b.rows * b.cols);
                            const double limit = t.sums == dtype::u32 ? 4294967296.0 : 2147483648.0;
                            const bool fits = size_of(t.sums) == 8 || is_floating(t.sums) || std::abs(sum) < limit;
                            if (fits) {
                                ASSERT_EQ(sums.number(plane, r, i), sum) << where();
                                ASSERT_TRUE(is_mean(means.number(plane, r, i), sum / n)) << where();
                            }
                            scalar of_box;
                            double mean = 0;
                            box_sums({table.view(), form}, {&b, 1}, {&of_box, 1}, k, plane);
                            box_means(const_any_table_view{table.view(), form}, {&b, 1}, {&mean, 1}, k, plane);
                            ASSERT_EQ(sums.number(plane, r, i), of_box.to_double()) << where();
                            ASSERT_TRUE(is_mean(means.number(plane, r, i), mean)) << where();
                            if (!t.squares) continue;
                            const double variance =
                                box_variance({{table.view(), form}, {squares.view(), form}}, b, k, plane);
                            ASSERT_EQ(variances.number(plane, r, i), stored(variance)) << where();
                            if (fits && size_of(*t.squares) == 8) {
                                ASSERT_NEAR(variance, std::max(of_squares / n - sum / n * (sum / n), 0.0),
                                            1e-9 * (1 + of_squares / n))
                                    << where();
                            }
                        }
        }
}

/// Sums that need more than 64 bits times the pixels of a window are exact all the same.
TEST(window_queries, variances_of_large_windows_are_exact) {
    constexpr std::int64_t n = 400;
    std::vector<std::uint16_t> pixels(n * n, 65535);
    pixels[0] = 65534;
    const image_view<const std::uint16_t> image(pixels.data(), n, n);
    plane_memory sums(dtype::u64, 1, n, n, 1), squares(dtype::u64, 1, n, n, 1), variances(dtype::f64, 1, n, n, 1);
    sat({image}, {.sums = {sums.view()}, .squares = {squares.view()}});
    window_variances({{sums.view()}, {squares.view()}}, variances.view(), {.window = window_radius(n)});
    const double all = static_cast<double>(n) * n;
    EXPECT_EQ(variances.number(0, 200, 200), (all - 1) / (all * all));
}

TEST(window_queries, wrong_arguments_are_named_and_nothing_is_written) {
    std::vector<std::uint8_t> pixels(12 * 10, 1);
    const auto table = sat<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), 12, 10));
    const auto exclusive =
        sat<std::uint32_t>(image_view<const std::uint8_t>(pixels.data(), 12, 10), table_layout::exclusive);
    const auto said = [&](const auto& call) -> std::string {
        try {
            call();
        } catch (const error& e) {
            return e.what();
        }
        return "nothing";
    };
    std::vector<float> out(12 * 10, -1.0f);
    const image_view<float> means(out.data(), 12, 10);
    EXPECT_EQ(said([&] { window_means(exclusive, means); }),
              "table: an exclusive table lacks the sums up to the last row and column");
    EXPECT_EQ(said([&] { window_means(table, image_view<float>(out.data(), 12, 9)); }),
              "means: cols is 9, but that of the image is 10");
    EXPECT_EQ(said([&] { window_means(table, image_view<float>(nullptr, 12, 10)); }), "means: data is null");
    EXPECT_EQ(said([&] { window_sums(table, means); }), "sums: type is 32f, but that of the table is 32u");
    EXPECT_EQ(said([&] { window_means({image_view<const std::uint8_t>(pixels.data(), 12, 10)}, means); }),
              "table: type is 8u, tables are 32u, 32s, 64u, 64s, 32f or 64f");
    EXPECT_EQ(said([&] { window_means(table, means, {.window = window_extents{.left = -2}}); }),
              "window: left is -2, must not be negative");
    EXPECT_EQ(said([&] { window_means(table, means, {.threads = -1}); }),
              "threads: is -1, must be 0 (automatic) or more");
    EXPECT_EQ(said([&] {
                  window_variances({table, exclusive}, means);
              }),
              "squares: an exclusive table lacks the sums up to the last row and column");
    EXPECT_EQ(said([&] {
                  auto own = sat<float>(image_view<const float>(out.data(), 12, 10));
                  window_means(own, own.view().entries());
              }),
              "means: overlaps table");
    EXPECT_EQ(out, std::vector<float>(12 * 10, -1.0f));
}

}  // namespace
}  // namespace boxsum
