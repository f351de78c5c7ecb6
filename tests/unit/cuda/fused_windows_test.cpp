// Filters without a table against the CPU's: random shapes, windows, borders, strides and places in memory, with what
// lies between the rows of images and results. BOXSUM_FILTER_CASES is how many, BOXSUM_FILTER_SEED which.

#include "cuda/filters/fused_windows.hpp"

#include "filters/filter_jobs.hpp"
#include "support/placed_image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>
#include <utility>

namespace boxsum {
namespace {

using test::filter_case;
using test::random_case;
using placed = test::placed_image;

class fused_windows : public test::placed_images_test {};

TEST_F(fused_windows, integers_have_the_results_of_the_cpu) {
    std::mt19937_64 random(test::random_seed(20261125));
    const int wanted = test::random_cases(120);
    int fused = 0;
    for (int n = 0; n < wanted; ++n) {
        const random_case c = test::draw_case(random, {dtype::u8, dtype::u16, dtype::s16});
        const filter_case& s = c.shape;
        placed image(test::packed(s.type, s.rows, s.cols, s.channels, s.planes), c.gap, c.first);
        fill(image.view(), c.values, static_cast<std::uint64_t>(n));
        filter_options options = test::options_of(s);
        if (n % 4 == 0) options.rounding = rounding_mode::floor;
        const any_view from = upload(image);
        const auto result_of = [&](dtype type) {
            return placed(test::packed(type, s.rows, s.cols, s.channels, s.planes), c.result_gap, c.result_first);
        };
        const bool without_table = cuda::fused_supports(filters::windows_of({image.view().shape}, options), false);
        fused += without_table;
        if (!without_table) continue;  // others test tables
        placed mean = result_of(s.type);
        const any_view result = upload(mean);
        cuda::box_filter({from}, {result}, stream(), options);
        box_filter({image.view()}, {mean.view()}, options);
        expect_fetched(mean, result, text_of(c) + ": mean");
        switch (n % 3) {
            case 0: {
                placed real = result_of(n % 2 == 0 ? dtype::f32 : dtype::f64), variance = result_of(dtype::f64),
                       deviation = result_of(dtype::f32);
                const any_view means = upload(real), variances = upload(variance), deviations = upload(deviation);
                cuda::local_statistics({from}, {means, variances, deviations}, stream(), options);
                local_statistics({image.view()}, {real.view(), variance.view(), deviation.view()}, options);
                expect_fetched(real, means, text_of(c) + ": real mean");
                expect_fetched(variance, variances, text_of(c) + ": variance");
                expect_fetched(deviation, deviations, text_of(c) + ": deviation");
                break;
            }
            case 1: {
                placed contrast = result_of(dtype::f32);
                const any_view contrasts = upload(contrast);
                cuda::local_contrast({from}, {contrasts}, stream(), {}, options);
                local_contrast({image.view()}, {contrast.view()}, {}, options);
                expect_fetched(contrast, contrasts, text_of(c) + ": contrast");
                break;
            }
            default: {
                const auto output = static_cast<threshold_output>(n / 3 % 3);
                const threshold_rule rule{.method = static_cast<threshold_method>(n / 9 % 7), .output = output};
                placed limit = result_of(output != threshold_output::threshold ? dtype::u8
                                         : n % 2 == 0                          ? dtype::f32
                                                                               : dtype::f64);
                const any_view limits = upload(limit);
                cuda::adaptive_threshold({from}, {limits}, stream(), rule, options);
                adaptive_threshold({image.view()}, {limit.view()}, rule, options);
                expect_fetched(limit, limits,
                               text_of(c) + ": " + std::string(name_of(rule.method)) + std::to_string(n / 3 % 3));
            }
        }
        memory_.clear();
        if (HasFailure()) return;
    }
    RecordProperty("cases", fused);
    RecordProperty("exact_cases", fused);  // all of them, bit for bit
    EXPECT_GT(fused, wanted / 2);
}

/// Columns beyond a border are read in runs of eight: turned, from the other side, or of one pixel, from where words
/// begin or not, with some that are the image's own, or from several places. Rows beyond it are read as others are.
TEST_F(fused_windows, borders_within_and_between_runs_have_the_results_of_the_cpu) {
    struct place {
        std::int64_t gap, first;
    };
    int runs = 0;
    for (const border_mode border : test::every_border)
        for (const std::int64_t cols : {1, 2, 5, 7, 8, 9, 11, 16, 18, 23, 37, 40})
            for (const dtype type : {dtype::u8, dtype::u16})
                for (const place& at : {place{(48 - cols) % 16, 0}, place{3, 0}, place{0, 5}}) {
                    const bool mirrors = border == border_mode::reflect || border == border_mode::mirror;
                    const std::int64_t rows = 4 + runs % 5,
                                       reach = mirrors && runs % 4 == 0 && cols > 1
                                                   ? 2 * cols - 3  // there and back
                                                   : std::min<std::int64_t>(cols - 1, 3 + runs % 17);
                    const filter_case s{
                        type,  rows,
                        cols,  runs % 7 == 0 ? 2 : 1,
                        1,     window(window_extents{rows - 1, runs % 3, reach, (runs * 5) % (reach + 1)}),
                        border};
                    placed image(test::packed(type, s.rows, s.cols, s.channels), at.gap, at.first);
                    fill(image.view(), pattern::random, static_cast<std::uint64_t>(++runs));
                    const filter_options options = test::options_of(s);
                    ASSERT_TRUE(cuda::fused_supports(filters::windows_of({image.view().shape}, options), false));
                    placed mean(test::packed(type, s.rows, s.cols, s.channels), 0, 0);
                    const any_view result = upload(mean), from = upload(image);
                    cuda::box_filter({from}, {result}, stream(), options);
                    box_filter({image.view()}, {mean.view()}, options);
                    expect_fetched(mean, result, test::text_of(s) + ", from " + std::to_string(at.first));
                    memory_.clear();
                    if (HasFailure()) return;
                }
}

/// A single row, or column, is repeated where it would be mirrored; the other axis is mirrored all the same, whoever
/// makes the windows.
TEST_F(fused_windows, mirrors_of_a_single_row_or_column_have_the_results_of_the_cpu) {
    std::uint64_t seed = 0;
    for (const auto& [rows, cols] : {std::pair{1, 9}, {1, 70}, {9, 1}, {70, 1}, {1, 1}})
        for (const std::int64_t reach : {1, 3, 8, 20}) {
            const filter_case s{
                dtype::u8,          rows, cols, 1, 1, window(window_extents{reach, reach / 2, reach - 1, reach}),
                border_mode::mirror};
            placed image(test::packed(s.type, s.rows, s.cols, s.channels), 0, 0);
            fill(image.view(), pattern::random, ++seed);
            const filter_options options = test::options_of(s);
            placed mean(test::packed(dtype::f32, s.rows, s.cols, s.channels), 0, 0),
                deviation(test::packed(dtype::f64, s.rows, s.cols, s.channels), 0, 0),
                limit(test::packed(dtype::u8, s.rows, s.cols, s.channels), 0, 0);
            const any_view from = upload(image), means = upload(mean), deviations = upload(deviation),
                           limits = upload(limit);
            cuda::local_statistics({from}, {.mean = means, .deviation = deviations}, stream(), options);
            local_statistics({image.view()}, {.mean = mean.view(), .deviation = deviation.view()}, options);
            expect_fetched(mean, means, test::text_of(s) + ": mean");
            expect_fetched(deviation, deviations, test::text_of(s) + ": deviation");
            cuda::adaptive_threshold({from}, {limits}, stream(), {}, options);
            adaptive_threshold({image.view()}, {limit.view()}, {}, options);
            expect_fetched(limit, limits, test::text_of(s) + ": threshold");
            memory_.clear();
            if (HasFailure()) return;
        }
}

/// Means of images that are large enough, or not, for sums of seven rows in 16 bytes: whatever they are chosen for,
/// they have the results of the CPU, also where a row of white leaves a row of black.
TEST_F(fused_windows, differences_of_rows_have_the_results_of_the_cpu) {
    std::mt19937_64 random(20261127);
    int taken = 0;
    for (int n = 0; n < 60; ++n) {
        random_case c = test::draw_case(random, {dtype::u8});
        filter_case& s = c.shape;
        s.planes = 1;
        if (n % 3 == 0) {  // the widest windows
            s.cols = 300 + n;
            s.window = window(window_extents{n % 7, n % 11, 64, 63});
        }
        placed image(test::packed(s.type, s.rows, s.cols, s.channels), c.gap, c.first);
        fill(image.view(), c.values, static_cast<std::uint64_t>(n));
        if (n % 2 == 0)
            for (std::int64_t row = 0; row < s.rows; ++row)
                std::memset(static_cast<char*>(image.view().data) + row * image.view().shape.row_stride,
                            random() % 2 == 0 ? 0 : 255, static_cast<std::size_t>(s.cols * s.channels));
        filter_options options = test::options_of(s);
        if (n % 4 == 0) options.rounding = rounding_mode::floor;
        const filters::window_job job = filters::windows_of({image.view().shape}, options);
        if (!cuda::fused_supports(job, false) || job.cols.full > 128) continue;
        EXPECT_EQ(cuda::fused_sums_of(job, false), cuda::fused_sums::narrow);
        ++taken;
        placed mean(test::packed(s.type, s.rows, s.cols, s.channels), c.result_gap, c.result_first);
        const any_view result = upload(mean), from = upload(image);
        const cuda::device_buffer scratch(cuda::fused_scratch_bytes(job, cuda::fused_sums::deltas, s.rows), stream());
        const cuda::fused_task task{.job = &job, .image = from, .end_row = s.rows, .scratch = scratch.data()};
        cuda::enqueue_fused_means(task, cuda::fused_sums::deltas, result, stream());
        box_filter({image.view()}, {mean.view()}, options);
        expect_fetched(mean, result, text_of(c));
        memory_.clear();
        if (HasFailure()) return;
    }
    EXPECT_GT(taken, 30);
}

/// Bands of several batches of them, in rows that begin in units and in rows that begin anywhere.
TEST_F(fused_windows, differences_of_rows_of_a_large_image_have_the_results_of_the_cpu) {
    for (const border_mode border : test::every_border)
        for (const std::int64_t gap : {15, 0}) {
            if (border != border_mode::reflect && (static_cast<int>(border) % 2 == 0) == (gap == 0)) continue;
            const filter_case s{dtype::u8, 1190, 1777, 1, 1, window(window_extents{30, 31, 7, 6}), border};
            placed image(test::packed(s.type, s.rows, s.cols, 1), gap, 0);
            fill(image.view(), pattern::random, 7);
            const filter_options options = test::options_of(s);
            const filters::window_job job = filters::windows_of({image.view().shape}, options);
            ASSERT_EQ(cuda::fused_sums_of(job, false), cuda::fused_sums::deltas);
            ASSERT_GT(cuda::fused_shape_of(job, cuda::fused_sums::deltas, s.rows).band_rows, 7);
            placed mean(test::packed(s.type, s.rows, s.cols, 1), gap, 0);
            const any_view result = upload(mean), from = upload(image);
            cuda::box_filter({from}, {result}, stream(), options);
            box_filter({image.view()}, {mean.view()}, options);
            expect_fetched(mean, result, test::text_of(s) + ", gap " + std::to_string(gap));
            memory_.clear();
        }
}

/// Windows of more columns, of which a thread owns sixteen where rows begin in units of them.
TEST_F(fused_windows, wide_windows_of_a_large_image_have_the_results_of_the_cpu) {
    for (const border_mode border : {border_mode::shrink, border_mode::reflect, border_mode::wrap})
        for (const std::int64_t gap : {15, 0}) {
            if (border != border_mode::shrink && gap == 0) continue;
            const std::int64_t above = border == border_mode::shrink ? 40 : 9;
            const filter_case s{dtype::u8, 1190, 1777, 1, 1, window(window_extents{above, 31, 70, 66}), border};
            placed image(test::packed(s.type, s.rows, s.cols, 1), gap, 0);
            fill(image.view(), pattern::random, 7);
            const filter_options options = test::options_of(s);
            const filters::window_job job = filters::windows_of({image.view().shape}, options);
            ASSERT_EQ(cuda::fused_sums_of(job, false), cuda::fused_sums::broad);
            const any_view from = upload(image);
            const auto expect_like_cpu = [&](const auto& on_device, const auto& on_cpu, const char* what) {
                placed wanted(test::packed(s.type, s.rows, s.cols, 1), gap, 0);
                const any_view result = upload(wanted);
                on_device(result);
                on_cpu(wanted.view());
                expect_fetched(wanted, result, test::text_of(s) + ", gap " + std::to_string(gap) + ": " + what);
            };
            expect_like_cpu([&](const any_view& to) { cuda::box_filter({from}, {to}, stream(), options); },
                            [&](const any_view& to) { box_filter({image.view()}, {to}, options); }, "mean");
            const threshold_rule rule{.method = threshold_method::bradley};
            expect_like_cpu(
                [&](const any_view& to) { cuda::adaptive_threshold({from}, {to}, stream(), rule, options); },
                [&](const any_view& to) { adaptive_threshold({image.view()}, {to}, rule, options); }, "Bradley");
            memory_.clear();
        }
}

/// Which images they are chosen for.
TEST_F(fused_windows, columns_of_a_thread_are_chosen_by_windows_and_size) {
    const auto sums = [](dtype type, std::int64_t rows, std::int64_t cols, window_extents w) {
        filter_options options;
        options.window = window(w);
        return cuda::fused_sums_of(filters::windows_of({test::packed(type, rows, cols, 1)}, options), false);
    };
    EXPECT_EQ(sums(dtype::u8, 2048, 1024, {500, 500, 64, 63}), cuda::fused_sums::deltas);
    EXPECT_EQ(sums(dtype::u8, 2048, 1024, {3, 3, 64, 64}), cuda::fused_sums::broad);
    EXPECT_EQ(sums(dtype::u8, 2047, 1024, {3, 3, 64, 64}), cuda::fused_sums::narrow);
    EXPECT_EQ(sums(dtype::u8, 2047, 1024, {3, 3, 3, 3}), cuda::fused_sums::narrow);
    EXPECT_EQ(sums(dtype::u16, 2048, 1024, {3, 3, 3, 3}), cuda::fused_sums::narrow);
}

/// Blocks of 512 threads have eight columns a thread: where windows are too wide for those, tables are faster.
TEST_F(fused_windows, blocks_of_broad_sums_are_small) {
    const auto job_of = [](std::int64_t beyond) {
        filter_options options;
        options.window = window(window_extents{20, 20, beyond, beyond});
        return filters::windows_of({test::packed(dtype::u8, 16384, 16384, 1)}, options);
    };
    for (const std::int64_t beyond : {100, 500, 1000, 1016}) {
        const filters::window_job job = job_of(beyond);
        ASSERT_TRUE(cuda::fused_supports(job, false)) << beyond;
        ASSERT_EQ(cuda::fused_sums_of(job, false), cuda::fused_sums::broad) << beyond;
        EXPECT_LE(cuda::fused_shape_of(job, cuda::fused_sums::broad, 16384).threads, 256) << beyond;
    }
    for (const std::int64_t beyond : {1024, 2000, 2032})
        EXPECT_FALSE(cuda::fused_supports(job_of(beyond), false)) << beyond;
}

/// Several bands whose first windows are made of prepared segments, and several warps a block.
TEST_F(fused_windows, large_windows_have_the_results_of_the_cpu) {
    for (const dtype type : {dtype::u8, dtype::u16})
        for (const border_mode border : test::every_border)
            for (const window& w : {window(window_extents{70, 60, 90, 100}), window(window_radius(90, 120))}) {
                const filter_case s{type, 140, 413, 1, 1, w, border};
                placed image(test::packed(type, s.rows, s.cols, 1), 3, 0);
                fill(image.view(), pattern::random, 5);
                const filter_options options = test::options_of(s);
                const filters::window_job job = filters::windows_of({image.view().shape}, options);
                ASSERT_TRUE(cuda::fused_supports(job, false));
                const cuda::fused_shape shape = cuda::fused_shape_of(job, cuda::fused_sums_of(job, false), s.rows);
                EXPECT_TRUE(shape.prepared && shape.bands > 2 && shape.threads > 32);
                placed mean(test::packed(type, s.rows, s.cols, 1), 0, 0);
                const any_view result = upload(mean);
                const any_view from = upload(image);
                cuda::box_filter({from}, {result}, stream(), options);
                box_filter({image.view()}, {mean.view()}, options);
                expect_fetched(mean, result, test::text_of(s));
                placed real(test::packed(dtype::f32, s.rows, s.cols, 1), 0, 0);
                placed deviation(test::packed(dtype::f32, s.rows, s.cols, 1), 0, 0);
                const any_view means = upload(real), deviations = upload(deviation);
                cuda::local_statistics({from}, {.mean = means, .deviation = deviations}, stream(), options);
                local_statistics({image.view()}, {.mean = real.view(), .deviation = deviation.view()}, options);
                expect_fetched(real, means, test::text_of(s) + ": real mean");
                expect_fetched(deviation, deviations, test::text_of(s) + ": deviation");
                memory_.clear();
                if (HasFailure()) return;
            }
}

/// Several bands whose first windows are sums of a few segments. They differ in rows.
TEST_F(fused_windows, windows_of_few_segments_have_the_results_of_the_cpu) {
    const filter_case s{dtype::u8, 1100, 1777, 1, 1, window(window_extents{36, 30, 7, 6}), border_mode::mirror};
    placed image(test::packed(s.type, s.rows, s.cols, 1), 15, 0);
    fill(image.view(), pattern::random, 8);
    const filter_options options = test::options_of(s);
    const filters::window_job job = filters::windows_of({image.view().shape}, options);
    const cuda::fused_shape shape = cuda::fused_shape_of(job, cuda::fused_sums_of(job, false), s.rows);
    EXPECT_TRUE(shape.prepared && shape.parts > 1 && shape.parts <= 8 && shape.period % shape.unit != 0);
    placed mean(test::packed(s.type, s.rows, s.cols, 1), 15, 0);
    const any_view result = upload(mean), from = upload(image);
    cuda::box_filter({from}, {result}, stream(), options);
    box_filter({image.view()}, {mean.view()}, options);
    expect_fetched(mean, result, test::text_of(s));
}

/// Blocks so large that their rows do not wait in shared memory.
TEST_F(fused_windows, windows_of_the_largest_blocks_have_the_results_of_the_cpu) {
    const filter_case s{dtype::u8, 9, 1402, 1, 1, window(window_extents{2, 3, 601, 590}), border_mode::reflect};
    placed image(test::packed(s.type, s.rows, s.cols, 1), 6, 0);
    fill(image.view(), pattern::random, 9);
    const filter_options options = test::options_of(s);
    const filters::window_job job = filters::windows_of({image.view().shape}, options);
    ASSERT_EQ(cuda::fused_shape_of(job, cuda::fused_sums::squares, s.rows).threads, 512);
    const any_view from = upload(image);
    for (const threshold_method method : {threshold_method::sauvola, threshold_method::bradley}) {
        placed ink(test::packed(dtype::u8, s.rows, s.cols, 1), 6, 0);
        const any_view inks = upload(ink);
        const threshold_rule rule{.method = method};
        cuda::adaptive_threshold({from}, {inks}, stream(), rule, options);
        adaptive_threshold({image.view()}, {ink.view()}, rule, options);
        expect_fetched(ink, inks, test::text_of(s) + ": ink");
    }
    placed mean(test::packed(dtype::f32, s.rows, s.cols, 1), 0, 0), deviation(mean.view().shape, 0, 0);
    const any_view means = upload(mean), deviations = upload(deviation);
    cuda::local_statistics({from}, {.mean = means, .deviation = deviations}, stream(), options);
    local_statistics({image.view()}, {.mean = mean.view(), .deviation = deviation.view()}, options);
    expect_fetched(mean, means, test::text_of(s) + ": mean");
    expect_fetched(deviation, deviations, test::text_of(s) + ": deviation");
}

/// Of numbers that floats do not hold, or whose quotients doubles do not.
TEST_F(fused_windows, factors_of_any_size_have_the_decisions_of_the_cpu) {
    using enum threshold_method;
    const filter_case s{dtype::u8, 21, 83, 1, 1, window(window_radius(1, 2)), border_mode::reflect};
    const filter_options options = test::options_of(s);
    placed image(test::packed(s.type, s.rows, s.cols, 1), 5, 0), ink = image;
    fill(image.view(), pattern::random, 21);
    const any_view from = upload(image), inks = upload(ink);
    const auto expect_decisions = [&](const threshold_rule& rule) {
        cuda::adaptive_threshold({from}, {inks}, stream(), rule, options);
        adaptive_threshold({image.view()}, {ink.view()}, rule, options);
        std::ostringstream text;
        text << name_of(rule.method) << ", k " << *rule.k << ", range " << rule.range.value_or(0) << ", p "
             << rule.p.value_or(0) << ", q " << rule.q.value_or(0);
        expect_fetched(ink, inks, text.str());
    };
    for (const double k : {0.0, 0.1, -0.1, 6e-321, 1e-40, -1e37, 1e37, 1e39, -1e300}) {
        for (const threshold_method method : {bradley, niblack, wolf, nick})
            expect_decisions({.method = method, .k = k});
        for (const double range : {6e-320, 1e-307, 1e-40, 0.1, 64.0, 1e38, 1e39, 1e42, 1e300}) {
            for (const threshold_method method : {sauvola, singh, phansalkar})
                expect_decisions({.method = method, .k = k, .range = range});
            for (const double p : {-1e39, 1e300})
                for (const double q : {-1.0, 1e-320, 1e39})
                    expect_decisions({.method = phansalkar, .k = k, .range = range, .p = p, .q = q});
        }
    }
}

/// Windows of one value, which single precision does not tell from their thresholds where those are the mean: of a
/// whole image, or of parts of it, so that a thread's windows are flat in one batch and not in the next, or some of
/// them are.
TEST_F(fused_windows, flat_windows_have_the_decisions_of_the_cpu) {
    enum class parts { whole, halves, checks, dots, steps };
    const auto pixel = [](parts p, int value, std::int64_t row, std::int64_t col) {
        const int other = value < 128 ? 255 : 0;
        switch (p) {
            case parts::whole:
                return value;
            case parts::halves:
                return row < 20 ? value : other;
            case parts::checks:
                return (row / 17 + col / 29) % 2 == 0 ? value : other;
            case parts::dots:
                return row % 19 == 11 && col % 53 == 40 ? other : value;
            case parts::steps:
                if (value == 255) return value - static_cast<int>(col % 100);  // means of what is not flat, too
                return value < 128 ? value + static_cast<int>(col / 16) : value - static_cast<int>(row / 9);
        }
        return 0;
    };
    int image_number = 0;
    for (const parts p : {parts::whole, parts::halves, parts::checks, parts::dots, parts::steps})
        for (const int value : {0, 1, 77, 128, 254, 255}) {
            const border_mode border = test::every_border[image_number++ % std::size(test::every_border)];
            const std::int64_t radius = std::array{1, 2, 3, 8}[image_number % 4];
            const filter_case s{dtype::u8, 43, 200, 1, 1, window_radius(radius, radius + 1), border};
            placed image(test::packed(s.type, s.rows, s.cols, s.channels), 0, image_number % 5 == 4 ? 3 : 0);
            for (std::int64_t row = 0; row < s.rows; ++row)
                for (std::int64_t col = 0; col < s.cols; ++col)
                    static_cast<u8*>(image.view().data)[row * image.view().shape.row_stride + col] =
                        static_cast<u8>(pixel(p, value, row, col));
            const any_view from = upload(image);
            const double tiny = image_number % 2 == 0 ? -1e-9 : 1e-9;
            for (int n = 0; n < 28; ++n) {
                const auto method = static_cast<threshold_method>(n % 7);
                const auto output = static_cast<threshold_output>((n + image_number) % 3);
                const bool has_range = method == threshold_method::sauvola || method == threshold_method::singh ||
                                       method == threshold_method::phansalkar;
                const threshold_rule rule{.method = method,
                                          .k = std::array{-0.2, 0.0, 0.4, tiny}[static_cast<std::size_t>(n / 7)],
                                          .range = has_range ? std::optional(40.0) : std::nullopt,
                                          .output = output};
                const dtype type = output == threshold_output::threshold ? dtype::f32 : dtype::u8;
                placed limit(test::packed(type, s.rows, s.cols, s.channels), 0, 0);
                const any_view limits = upload(limit);
                cuda::adaptive_threshold({from}, {limits}, stream(), rule, test::options_of(s));
                adaptive_threshold({image.view()}, {limit.view()}, rule, test::options_of(s));
                expect_fetched(limit, limits,
                               test::text_of(s) + ", parts " + std::to_string(static_cast<int>(p)) + " of " +
                                   std::to_string(value) + ": " + std::string(name_of(method)) + " " +
                                   std::to_string(*rule.k));
            }
            memory_.clear();
            if (HasFailure()) return;
        }
}

/// Columns 7 to 16, those of the windows around 8 to 15, have a sum of centred pixels of 0, and one of squares of 2^17
/// a row: of 2^15 rows they come to 2^32, which 32 bits take for 0, as if all were alike.
TEST_F(fused_windows, flat_windows_are_not_those_whose_squares_wrap) {
    const filter_case s{dtype::u8, 16390, 24, 1, 1, window(window_extents{16384, 16383, 1, 1}), border_mode::reflect};
    const filter_options options = test::options_of(s);
    placed image(test::packed(s.type, s.rows, s.cols, 1), 0, 0);
    ASSERT_TRUE(cuda::fused_supports(filters::windows_of({image.view().shape}, options), true));
    constexpr std::array<u8, 10> columns{0, 0, 0, 0, 255, 255, 255, 245, 176, 94};
    for (std::int64_t row = 0; row < s.rows; ++row) {
        u8* const pixels = static_cast<u8*>(image.view().data) + row * image.view().shape.row_stride;
        std::memset(pixels, 100, static_cast<std::size_t>(s.cols));
        std::copy(columns.begin(), columns.end(), pixels + 7);
    }
    const threshold_rule rule{.method = threshold_method::niblack};
    placed ink(test::packed(dtype::u8, s.rows, s.cols, 1), 0, 0);
    const any_view inks = upload(ink), from = upload(image);
    cuda::adaptive_threshold({from}, {inks}, stream(), rule, options);
    adaptive_threshold({image.view()}, {ink.view()}, rule, options);
    expect_fetched(ink, inks, test::text_of(s));
}

/// Sums and pixels times their factors have more than 24 bits.
TEST_F(fused_windows, means_of_large_windows_have_the_decisions_of_the_cpu) {
    for (const auto& [radius, border] : {std::pair<std::int64_t, border_mode>{15, border_mode::shrink},
                                         {15, border_mode::constant},
                                         {15, border_mode::replicate},
                                         {90, border_mode::shrink}}) {
        const filter_case s{dtype::u8, 2 * radius + 30, 2 * radius + 150, 1, 1, window(window_radius(radius)), border};
        filter_options options = test::options_of(s);
        options.border_value = border == border_mode::constant ? 201 : 0;
        placed image(test::packed(s.type, s.rows, s.cols, 1), -s.cols & 7, 0);
        fill(image.view(), pattern::random, 9);
        for (const double k : {0.15, 0.3, -0.25, 0.2, 0.123456}) {
            const threshold_rule rule{.method = threshold_method::bradley, .k = k};
            placed limit(test::packed(dtype::u8, s.rows, s.cols, 1), -s.cols & 7, 0);
            const any_view limits = upload(limit), from = upload(image);
            cuda::adaptive_threshold({from}, {limits}, stream(), rule, options);
            adaptive_threshold({image.view()}, {limit.view()}, rule, options);
            expect_fetched(limit, limits, test::text_of(s) + " " + std::to_string(k));
        }
        memory_.clear();
    }
}

/// Pixels that are exactly their thresholds, or next to them: sums and integers do not decide those. Slopes of 0 they
/// do not take at all. Windows of other pixels whose mean is the first of a thread's pixels are not flat.
TEST_F(fused_windows, means_near_pixels_have_the_decisions_of_the_cpu) {
    const filter_case s{dtype::u8, 21, 80, 1, 1, window(window_extents{1, 1, 3, 5}), border_mode::shrink};
    const filter_options options = test::options_of(s);
    for (const int lowest : {17, 0, 211, 249})
        for (const int step : {0, 3}) {
            placed image(test::packed(s.type, s.rows, s.cols, 1), 8, 0);
            // Nine columns of three values: all that are whole have the same mean, lowest + step.
            for (std::int64_t row = 0; row < s.rows; ++row)
                for (std::int64_t col = 0; col < s.cols; ++col)
                    static_cast<u8*>(image.view().data)[row * image.view().shape.row_stride + col] =
                        static_cast<u8>(lowest + col % 3 * step);
            const auto below = [&](double distance) {
                return 1 - (lowest - distance) / (lowest + step > 0 ? lowest + step : 1);
            };
            using enum threshold_method;
            for (const auto& [method, k] : {std::pair{bradley, 0.15},
                                            {bradley, 0.0},
                                            {bradley, 1.0},
                                            {bradley, -130.0},
                                            {bradley, below(0x1p-18)},
                                            {bradley, below(0x1p-20)},
                                            {bradley, below(0x1p-22)},
                                            {bradley, below(-0x1p-18)},
                                            {singh, 1e-9},
                                            {singh, -1e-9}}) {
                const threshold_rule rule{.method = method, .k = k};
                placed limit(test::packed(dtype::u8, s.rows, s.cols, 1), 8, 0);
                const any_view limits = upload(limit), from = upload(image);
                cuda::adaptive_threshold({from}, {limits}, stream(), rule, options);
                adaptive_threshold({image.view()}, {limit.view()}, rule, options);
                expect_fetched(limit, limits,
                               std::to_string(lowest) + " " + std::to_string(step) + " " + std::to_string(k));
            }
            memory_.clear();
        }
}

}  // namespace
}  // namespace boxsum
