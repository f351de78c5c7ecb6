// Tables with an offset and an origin: every entry by definition, and every query, over pixels that are small integers,
// so that floating tables are exact, too.

#include <boxsum/box.hpp>
#include <boxsum/error.hpp>
#include <boxsum/integral_histogram.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/window_queries.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace boxsum::shifted_tables {
namespace {

/// Memory of any element type, whose rows end in bytes that nobody may touch.
struct block {
    view_shape shape;
    std::vector<std::byte> bytes;

    block(dtype type, std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes) {
        const auto element = static_cast<std::int64_t>(size_of(type));
        shape = {.type = type, .planes = planes, .rows = rows, .cols = cols, .channels = channels};
        shape.row_stride = (cols * channels + 2) * element;
        shape.plane_stride = (rows + 1) * shape.row_stride;
        bytes.assign(static_cast<std::size_t>(planes * shape.plane_stride), std::byte{0xa5});
    }
    any_view view() { return {bytes.data(), shape}; }
    std::byte* at(std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k) {
        return bytes.data() + plane * shape.plane_stride + r * shape.row_stride + c * shape.pixel_stride() +
               k * static_cast<std::int64_t>(size_of(shape.type));
    }
    template <typename T>
    T get(const std::byte* from) const {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    double number(std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k) {
        const std::byte* const p = at(plane, r, c, k);
        switch (shape.type) {
            case dtype::u32:
                return get<std::uint32_t>(p);
            case dtype::s32:
                return get<std::int32_t>(p);
            case dtype::u64:
                return static_cast<double>(get<std::uint64_t>(p));
            case dtype::s64:
                return static_cast<double>(get<std::int64_t>(p));
            case dtype::f32:
                return static_cast<double>(get<float>(p));
            default:
                return get<double>(p);
        }
    }
    void put(std::int64_t plane, std::int64_t r, std::int64_t c, std::int64_t k, int value) {
        std::byte* const p = at(plane, r, c, k);
        const auto store = [&](auto typed) { std::memcpy(p, &typed, sizeof typed); };
        switch (shape.type) {
            case dtype::u8:
                return store(static_cast<std::uint8_t>(value));
            case dtype::u16:
                return store(static_cast<std::uint16_t>(value));
            case dtype::s16:
                return store(static_cast<std::int16_t>(value));
            case dtype::u32:
                return store(static_cast<std::uint32_t>(value));
            case dtype::s32:
                return store(static_cast<std::int32_t>(value));
            case dtype::f16:
                return store(to_float16(static_cast<float>(value)));
            case dtype::f32:
                return store(static_cast<float>(value));
            default:
                return store(static_cast<double>(value));
        }
    }
    bool touched_gaps() {
        for (std::int64_t plane = 0; plane < shape.planes; ++plane)
            for (std::int64_t r = 0; r <= shape.rows; ++r)
                for (std::byte* p = r < shape.rows ? at(plane, r, shape.cols, 0) : at(plane, r, 0, 0);
                     p < at(plane, r + 1, 0, 0); ++p)
                    if (*p != std::byte{0xa5}) return true;
        return false;
    }
};

struct one_case {
    dtype input, sums;
    std::optional<dtype> squares;
    std::int64_t rows, cols, channels, planes;
    table_form form;
    int threads = 1;
    std::string instruction_set = {};  ///< best if the machine lacks it
    store_policy store = store_policy::automatic;

    std::string text() const {
        return std::string(name_of(input)) + std::string(name_of(sums)) + " " + std::to_string(rows) + " x " +
               std::to_string(cols) + " x " + std::to_string(channels) + ", " + std::string(name_of(form.layout)) +
               ", origin " + std::to_string(form.origin.row) + ", " + std::to_string(form.origin.col) + ", offset " +
               std::to_string(form.offset) + (form.offsets != nullptr ? " (many)" : "") + ", threads " +
               std::to_string(threads) + " " + instruction_set + (store == store_policy::streaming ? " streaming" : "");
    }
};

/// The integral from the origin to (r, c), from integers, one prefix after the other.
struct reference {
    std::int64_t rows, cols;
    std::vector<std::int64_t> prefix;

    template <typename Pixel>
    reference(std::int64_t r, std::int64_t c, const Pixel& pixel)
        : rows(r), cols(c), prefix(static_cast<std::size_t>((r + 1) * (c + 1))) {
        for (std::int64_t y = 1; y <= rows; ++y)
            for (std::int64_t x = 1; x <= cols; ++x)
                at(y, x) = pixel(y - 1, x - 1) + at(y - 1, x) + at(y, x - 1) - at(y - 1, x - 1);
    }
    std::int64_t& at(std::int64_t r, std::int64_t c) { return prefix[static_cast<std::size_t>(r * (cols + 1) + c)]; }
    std::int64_t box(std::int64_t r0, std::int64_t c0, std::int64_t r1, std::int64_t c1) {
        return at(r1, c1) - at(r0, c1) - at(r1, c0) + at(r0, c0);
    }
    std::int64_t entry(std::int64_t r, std::int64_t c, const table_origin& o) {
        return (r < o.row) != (c < o.col)
                   ? -box(std::min(r, o.row), std::min(c, o.col), std::max(r, o.row), std::max(c, o.col))
                   : box(std::min(r, o.row), std::min(c, o.col), std::max(r, o.row), std::max(c, o.col));
    }
};

/// Instruction sets of this machine and build.
const std::vector<std::string>& available() {
    static const std::vector<std::string> sets = [] {
        std::vector<std::string> found;
        std::uint8_t pixel = 0;
        std::uint32_t entry = 0;
        for (const std::string set : {"scalar", "avx2", "avx512", "avx512-vnni", "neon"}) {
            const std::string parameters = "isa=" + set;
            try {
                sat({image_view<const std::uint8_t>(&pixel, 1, 1)}, {table_view<std::uint32_t>({&entry, 1, 1})},
                    {.algorithm = "simd", .parameters = parameters});
                found.push_back(set);
            } catch (const unsupported&) {
            }
        }
        return found;
    }();
    return sets;
}

/// What a table of integers holds instead of a number.
double wrapped(std::int64_t exact, dtype type) {
    if (type == dtype::u32) return static_cast<std::uint32_t>(exact);
    if (type == dtype::u64) return static_cast<double>(static_cast<std::uint64_t>(exact));
    return static_cast<double>(exact);
}

void check(const one_case& c) {
    SCOPED_TRACE(c.text());
    block image(c.input, c.rows, c.cols, c.channels, c.planes);
    std::mt19937 random(7);
    std::vector<int> pixels(static_cast<std::size_t>(c.planes * c.rows * c.cols * c.channels));
    for (int& x : pixels) x = static_cast<int>(random() % 200);
    const auto pixel = [&](std::int64_t plane, std::int64_t r, std::int64_t col, std::int64_t k) -> int {
        return pixels[static_cast<std::size_t>(((plane * c.rows + r) * c.cols + col) * c.channels + k)];
    };
    for (std::int64_t plane = 0; plane < c.planes; ++plane)
        for (std::int64_t r = 0; r < c.rows; ++r)
            for (std::int64_t col = 0; col < c.cols; ++col)
                for (std::int64_t k = 0; k < c.channels; ++k) image.put(plane, r, col, k, pixel(plane, r, col, k));

    const std::int64_t rows = c.form.table_extent(c.rows), cols = c.form.table_extent(c.cols);
    block sums(c.sums, rows, cols, c.channels, c.planes);
    block squares(c.squares.value_or(c.sums), rows, cols, c.channels, c.planes);
    sat_outputs outputs{{sums.view(), c.form}};
    if (c.squares) outputs.squares = {squares.view(), c.form};
    sat_options options{.threads = c.threads, .store = c.store};
    const std::string isa = "isa=" + c.instruction_set;
    if (std::find(available().begin(), available().end(), c.instruction_set) != available().end()) {
        options.algorithm = "simd";
        options.parameters = isa;
    }
    sat({image.view()}, outputs, options);
    ASSERT_FALSE(sums.touched_gaps());
    ASSERT_FALSE(c.squares && squares.touched_gaps());

    const std::int64_t border = c.form.border();
    const const_any_table_view table{sums.view(), c.form};
    const moment_views moments{table, {squares.view(), c.form}};
    const bool whole = c.form.layout != table_layout::exclusive;
    block window_sum(c.sums, c.rows, c.cols, c.channels, c.planes);
    block window_mean(dtype::f64, c.rows, c.cols, c.channels, c.planes);
    block window_mean_32f(dtype::f32, c.rows, c.cols, c.channels, c.planes);
    block window_variance(dtype::f64, c.rows, c.cols, c.channels, c.planes);
    const window_query_options how{.window = window_extents{.above = 2, .below = 1, .left = 3, .right = 0}};
    if (whole) {
        window_sums(table, window_sum.view(), how);
        window_means(table, window_mean.view(), how);
        window_means(table, window_mean_32f.view(), how);
        if (c.squares) window_variances(moments, window_variance.view(), how);
    }
    for (std::int64_t plane = 0; plane < c.planes; ++plane)
        for (std::int64_t k = 0; k < c.channels; ++k) {
            const auto offset = static_cast<std::int64_t>(c.form.offset_of(k, plane, c.channels));
            reference shifted(c.rows, c.cols,
                              [&](std::int64_t r, std::int64_t x) { return pixel(plane, r, x, k) - offset; });
            reference of_squares(c.rows, c.cols, [&](std::int64_t r, std::int64_t x) {
                return (pixel(plane, r, x, k) - offset) * (pixel(plane, r, x, k) - offset);
            });
            reference plain(c.rows, c.cols, [&](std::int64_t r, std::int64_t x) { return pixel(plane, r, x, k); });
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t x = 0; x < cols; ++x) {
                    const std::int64_t row = r + 1 - border, col = x + 1 - border;
                    ASSERT_EQ(sums.number(plane, r, x, k), wrapped(shifted.entry(row, col, c.form.origin), c.sums))
                        << "entry " << r << ", " << x << ", channel " << k << ", plane " << plane;
                    if (c.squares) {
                        ASSERT_EQ(squares.number(plane, r, x, k),
                                  static_cast<double>(of_squares.entry(row, col, c.form.origin)))
                            << "square " << r << ", " << x << ", channel " << k << ", plane " << plane;
                    }
                }
            const auto variance = [&](std::int64_t r0, std::int64_t c0, std::int64_t r1, std::int64_t c1) {
                const auto n = static_cast<double>((r1 - r0) * (c1 - c0));
                const double mean = static_cast<double>(shifted.box(r0, c0, r1, c1)) / n;
                return static_cast<double>(of_squares.box(r0, c0, r1, c1)) / n - mean * mean;
            };
            for (int i = 0; i < 60; ++i) {
                const std::int64_t h = c.rows - (whole ? 0 : 1), w = c.cols - (whole ? 0 : 1);
                if (h < 1 || w < 1) break;
                box b{static_cast<std::int64_t>(random()) % h, static_cast<std::int64_t>(random()) % w, 1, 1};
                b.rows += static_cast<std::int64_t>(random()) % (h - b.row);
                b.cols += static_cast<std::int64_t>(random()) % (w - b.col);
                const std::int64_t exact = plain.box(b.row, b.col, b.row + b.rows, b.col + b.cols);
                scalar sum;
                double mean = 0;
                box_sums(table, {&b, 1}, {&sum, 1}, k, plane);
                box_means(table, {&b, 1}, {&mean, 1}, k, plane);
                ASSERT_EQ(sum.to_double(), static_cast<double>(exact));
                ASSERT_NEAR(mean, static_cast<double>(exact) / static_cast<double>(b.rows * b.cols), 1e-11);
                if (!c.squares) continue;
                ASSERT_NEAR(box_variance(moments, b, k, plane), variance(b.row, b.col, b.row + b.rows, b.col + b.cols),
                            1e-8);
                if (c.sums == dtype::f64) {
                    ASSERT_LT(box_variance_bound(moments, b, k, plane), 1e-6);
                }
            }
            for (std::int64_t r = 0; whole && r < c.rows; ++r)
                for (std::int64_t x = 0; x < c.cols; ++x) {
                    const std::int64_t r0 = std::max<std::int64_t>(r - 2, 0), c0 = std::max<std::int64_t>(x - 3, 0),
                                       r1 = std::min(r + 2, c.rows), c1 = x + 1;
                    const auto exact = static_cast<double>(plain.box(r0, c0, r1, c1));
                    const double n = static_cast<double>((r1 - r0) * (c1 - c0));
                    ASSERT_EQ(window_sum.number(plane, r, x, k), exact);
                    ASSERT_NEAR(window_mean.number(plane, r, x, k), exact / n, 1e-11);
                    ASSERT_EQ(window_mean_32f.number(plane, r, x, k),
                              static_cast<double>(static_cast<float>(window_mean.number(plane, r, x, k))));
                    if (c.squares) {
                        ASSERT_NEAR(window_variance.number(plane, r, x, k), variance(r0, c0, r1, c1), 1e-8);
                    }
                }
        }
}

TEST(shifted_sat, every_entry_and_every_query_by_definition) {
    using enum dtype;
    struct types {
        dtype input, sums;
        std::optional<dtype> squares;
    };
    const std::array all{types{u8, s32, {}},  types{u8, f32, f32},  types{s16, s64, {}},  types{f32, f32, f64},
                         types{f16, f32, {}}, types{f32, f64, f64}, types{f64, f64, f64}, types{u32, u64, {}}};
    const std::array<double, 12> offsets{0, 99, 3, 100, 101, 7, 1, 250, 90, 100, 0, 60};
    for (const types& t : all)
        for (const std::int64_t channels : {1, 3})
            for (const table_origin& origin : {table_origin{}, {5, 20}, {11, 0}, {0, 37}, {11, 37}, {3, 36}})
                for (const table_layout layout :
                     {table_layout::padded, table_layout::exclusive, table_layout::inclusive}) {
                    if (layout == table_layout::inclusive && origin != table_origin{}) continue;
                    if (layout == table_layout::exclusive && (origin.row == 11 || origin.col == 37)) continue;
                    table_form form(layout, origin, is_signed(t.sums) ? 100 : 0);
                    check({t.input, t.sums, t.squares, 11, 37, channels, 1, form, 1});
                    if (channels == 1 || !is_signed(t.sums)) continue;
                    form.offsets = offsets.data();
                    check({t.input, t.sums, t.squares, 11, 37, channels, 2, form, 2});
                }
}

/// Whole vectors, tiles and panels of rows, of each set of kernels, with ordinary stores and past the caches.
TEST(shifted_sat, every_kernel_and_any_number_of_threads) {
    using enum dtype;
    for (const std::string& set : available())
        for (const store_policy store : {store_policy::cached, store_policy::streaming})
            for (const int threads : {1, 3}) {
                check({f32, f32, f64, 75, 700, 1, 1, {table_layout::padded, {30, 333}, 100}, threads, set, store});
                check({u8, s32, {}, 75, 701, 1, 1, {table_layout::padded, {70, 650}, 100}, threads, set, store});
                check({u8, s32, {}, 75, 350, 2, 1, {table_layout::padded, {74, 1}, 100}, threads, set, store});
                check({u8, s32, {}, 75, 700, 1, 1, {table_layout::inclusive, {}, 100}, threads, set, store});
                check({s16, s64, {}, 75, 200, 3, 1, {table_layout::padded, {3, 150}, 100}, threads, set, store});
                check({u8, f32, f32, 5, 300, 1, 1, {table_layout::padded, {2, 250}, 100}, threads, set, store});
            }
}

/// More rows than a panel has, more columns than a tile, with what lies left of the origin within the first or not.
TEST(shifted_sat, several_panels_and_tiles_of_one_thread) {
    using enum dtype;
    for (const std::string& set : available()) {
        check({s16, s32, {}, 4200, 70, 1, 1, {table_layout::padded, {50, 37}, 100}, 1, set});
        check({f32, f64, {}, 9, 33000, 1, 1, {table_layout::padded, {4, 600}, 100}, 1, set});
        check({u8, s32, {}, 9, 33000, 1, 1, {table_layout::padded, {4, 32900}, 100}, 1, set});
    }
}

/// One thread's kernels sum what lies left of the origin, of several the sums are made before.
TEST(shifted_sat, same_bits_for_any_number_of_threads) {
    constexpr std::int64_t rows = 150, cols = 611;
    std::vector<float> pixels(rows * cols);
    std::mt19937 random(5);
    for (float& x : pixels) x = static_cast<float>(random() >> 8) * 0x1p-24F;
    const image_view<const float> image(pixels.data(), rows, cols);
    for (const std::string& set : available())
        for (const store_policy store : {store_policy::cached, store_policy::streaming})
            for (const std::int64_t col : {7, 64, 389, 611}) {
                const table_form form(table_layout::padded, {70, col}, 0.5);
                const std::string parameters = "isa=" + set;
                const auto tables = [&](int threads) {
                    return sat_squares<float, double>(
                        image, form,
                        {.algorithm = "simd", .parameters = parameters, .threads = threads, .store = store});
                };
                const auto one = tables(1), three = tables(3);
                for (std::int64_t r = 0; r <= rows; ++r)
                    for (std::int64_t c = 0; c <= cols; ++c) {
                        ASSERT_EQ(one.sums(r, c), three.sums(r, c)) << set << " " << col << ": " << r << ", " << c;
                        ASSERT_EQ(one.squares(r, c), three.squares(r, c))
                            << set << " " << col << ": " << r << ", " << c;
                    }
            }
}

TEST(shifted_sat, in_place_and_with_gaps_between_pixels) {
    std::vector<float> pixels(300 * 200);
    std::mt19937 random(3);
    for (float& x : pixels) x = static_cast<float>(random() % 256);
    const image_view<float> image(pixels.data(), 300, 200);
    const table_form form(table_layout::inclusive, {}, 128);
    const auto expected = sat<float>(image, form);

    const image_view<float> every_second(pixels.data(), 300, 100, {.row = 800, .col = 8});
    const table_form centred(table_layout::padded, {150, 50}, 128);
    const auto sparse = sat<float>(every_second, centred);
    for (std::int64_t r = 0; r < 300; ++r)
        for (std::int64_t c = 0; c < 100; ++c)
            ASSERT_EQ(box_sum(sparse, {r, c, 1, 1}), pixels[static_cast<std::size_t>(r * 200 + 2 * c)]);

    sat({image}, {{image, form}});
    for (std::int64_t r = 0; r < 300; ++r)
        for (std::int64_t c = 0; c < 200; ++c) ASSERT_EQ(image(r, c), expected(r, c));
}

/// The bound goes by the entries that a box reads, and they are small about the origin.
TEST(shifted_sat, bound_of_a_variance_is_smallest_at_the_origin) {
    std::vector<float> pixels(64 * 64);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 7 + 1);
    const image_view<const float> image(pixels.data(), 64, 64);
    const auto bound = [&](const table_form& form, const box& b) {
        const auto tables = sat_squares<float, float>({image}, form);
        return box_variance_bound(tables, b);
    };
    const box corner{60, 60, 3, 3}, middle{31, 31, 3, 3};
    const table_form plain(table_layout::padded), centred(table_layout::padded, {32, 32});
    EXPECT_LT(bound(centred, middle), bound(plain, middle) / 50);
    EXPECT_LT(bound(centred, corner), bound(plain, corner) / 4);
    EXPECT_LT(bound({table_layout::padded, {}, 4}, corner), bound(plain, corner) / 3);
}

TEST(shifted_sat, means_of_planes_and_channels) {
    std::vector<std::uint8_t> pixels(2 * 5 * 19 * 3);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
    const image_view<const std::uint8_t> image(pixels.data(), 5, 19, 0, 3, 2);
    const std::vector<double> means = image_means(image);
    ASSERT_EQ(means.size(), 6U);
    for (std::int64_t plane = 0; plane < 2; ++plane)
        for (std::int64_t k = 0; k < 3; ++k) {
            std::int64_t sum = 0;
            for (std::int64_t r = 0; r < 5; ++r)
                for (std::int64_t c = 0; c < 19; ++c) sum += image(r, c, k, plane);
            EXPECT_EQ(means[static_cast<std::size_t>(plane * 3 + k)], static_cast<double>(sum) / 95);
        }
}

/// What the remedies are for: 32f tables of noise, whose single pixels a plain table has lost.
TEST(shifted_sat, remedies_keep_what_a_plain_table_loses) {
    constexpr std::int64_t n = 512;
    std::vector<float> pixels(n * n);
    std::mt19937 random(1);
    for (float& x : pixels) x = static_cast<float>(random() >> 8) * 0x1p-24F;
    const image_view<const float> image(pixels.data(), n, n);
    const auto worst = [&](const table_form& form) {
        const auto table = sat<float>(image, form);
        double most = 0;
        for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t c = 0; c < n; ++c)
                most = std::max(most, std::abs(box_mean(table, {r, c, 1, 1}) - static_cast<double>(image(r, c))));
        return most;
    };
    const double mean = image_means(image)[0];
    const double plain = worst(table_layout::padded), centred = worst({table_layout::padded, {n / 2, n / 2}}),
                 offset = worst({table_layout::padded, {}, mean}),
                 both = worst({table_layout::padded, {n / 2, n / 2}, mean});
    EXPECT_LT(centred, plain / 2);
    EXPECT_LT(offset, plain / 50);
    EXPECT_LT(both, plain / 50);
}

template <typename Error, typename Call>
void expect_message(const Call& call, const std::string& message) {
    try {
        call();
        ADD_FAILURE() << "nothing thrown; expected: " << message;
    } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()), message);
    }
}

TEST(shifted_sat, refusals) {
    std::vector<std::uint8_t> pixels(4 * 6);
    const image_view<const std::uint8_t> image(pixels.data(), 4, 6);
    const auto make = [&]<typename T>(T, const table_form& form) { sat<T>(image, form); };
    expect_message<invalid_argument>(
        [&] {
            make(0.0, {table_layout::inclusive, {2, 3}});
        },
        "sums: an origin needs the layout padded or exclusive, but it is inclusive");
    expect_message<invalid_argument>(
        [&] {
            make(0.0, {table_layout::padded, {5, 3}});
        },
        "sums: origin.row is 5, must be 0 to 4, those that boxes may have");
    expect_message<invalid_argument>(
        [&] {
            make(0.0, {table_layout::padded, {2, -1}});
        },
        "sums: origin.col is -1, must be 0 to 6, those that boxes may have");
    expect_message<invalid_argument>(
        [&] {
            make(0.0, {table_layout::padded, {}, std::nan("")});
        },
        "sums: offset: is nan, must be finite");
    expect_message<invalid_argument>(
        [&] {
            make(std::int32_t{}, {table_layout::padded, {}, 0.5});
        },
        "sums: offset: is 0.5, but a table of 32s takes integers below 2^53");
    const double wrong[] = {INFINITY};
    table_form many;
    many.offsets = wrong;
    expect_message<invalid_argument>([&] { make(0.0, many); }, "sums: offsets[0]: is inf, must be finite");
    expect_message<unsupported>(
        [&] {
            sat_squares<std::uint32_t, std::uint64_t>(image, {table_layout::padded, {2, 3}});
        },
        "squares: tables of 32u and 64u are exact without an offset or an origin; those of floating types take them");
    const table_form form(table_layout::padded, {2, 3}, 8);
    const auto above = std::vector<double>(6);
    table<double> t(4, 6, form);
    expect_message<unsupported>(
        [&] {
            sat({image, {.above = image_view<const double>(above.data(), 1, 6)}}, {t});
        },
        "sums: the form is padded, origin (2, 3), offset 8; a part of a larger table takes neither origin nor offset");
    expect_message<unsupported>([&] { integral_histogram<std::uint32_t>(image, binning::uniform(4, 0, 256), form); },
                                "histograms: the form is padded, origin (2, 3), offset 8; an integral histogram takes "
                                "neither origin nor offset");
    const auto sums = sat<double>(image, form), squares = sat<double>(image, table_layout::padded);
    expect_message<invalid_argument>(
        [&] {
            box_variance({sums, squares}, {0, 0, 1, 1});
        },
        "squares: its form is padded, but that of sums is padded, origin (2, 3), offset 8");
}

}  // namespace
}  // namespace boxsum::shifted_tables
