// Filters without a table in double: floating images, and images whose pixels may not count, against the CPU's. Random
// shapes, windows, borders, strides, places in memory, masks, weights and options. BOXSUM_FILTER_CASES is how many,
// BOXSUM_FILTER_SEED which.

#include "cuda/filters/real_windows.hpp"

#include "cuda/filters/device_strips.hpp"
#include "cuda/filters/fused_windows.hpp"
#include "filters/filter_jobs.hpp"
#include "filters/oracle.hpp"
#include "support/placed_image.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <tuple>

namespace boxsum {
namespace {

using test::filter_case;
using test::random_case;
using placed = test::placed_image;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr int real_cases = 150;

double value_at(const placed& image, const std::vector<std::byte>& bytes, std::int64_t p, std::int64_t r,
                std::int64_t element) {
    const view_shape& s = image.memory.shape;
    double x = 0;
    visit_dtype(s.type, [&]<typename T>() {
        if constexpr (!std::is_same_v<T, float16>) {
            T held;
            std::memcpy(&held,
                        bytes.data() + image.offset + p * s.plane_stride + r * s.row_stride +
                            element * static_cast<std::int64_t>(sizeof(T)),
                        sizeof held);
            x = static_cast<double>(held);
        }
    });
    return x;
}

/// What differs, and by how much at least, of a result with a tolerance; equal infinities and NaN are the same. Bytes
/// between the rows must be as they were.
class real_windows_test : public test::placed_images_test {
  protected:
    void expect_near(placed& expected, const any_view& result, double tolerance, const std::string& what,
                     double power = 1) {
        const std::vector<std::byte> got = fetched(expected, result);
        const view_shape& s = expected.memory.shape;
        const bool wolf = what.ends_with("wolf");
        std::vector<std::byte> rest = got, rest_expected = expected.memory.bytes;
        for (std::int64_t p = 0; p < s.planes; ++p)
            for (std::int64_t r = 0; r < s.rows; ++r) {
                for (std::int64_t e = 0; e < s.cols * s.channels; ++e) {
                    const double a = value_at(expected, expected.memory.bytes, p, r, e),
                                 b = value_at(expected, got, p, r, e);
                    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
                    const double rounding = s.type == dtype::f32 ? 1.3e-7 * std::abs(a) : 0;
                    const double off = std::abs(std::pow(a, power) - std::pow(b, power));
                    // A least pixel of -inf, times 0 where a deviation is the largest, which its last bit decides.
                    if (wolf && !std::isfinite(a) && !std::isfinite(b)) continue;
                    // A mean of huge pixels that cancel may be off by more than a float holds.
                    if (s.type == dtype::f32 && std::isinf(b) && std::abs(a) + tolerance > 3e38) continue;
                    if (off <=
                        tolerance + 2 * std::pow(rounding, power) + 2 * rounding * std::pow(std::abs(a), power - 1))
                        continue;
                    ADD_FAILURE() << what << ": plane " << p << ", row " << r << ", element " << e << ": " << b
                                  << ", the CPU has " << a << ", tolerance " << tolerance;
                    return;
                }
                const auto at = expected.offset + p * s.plane_stride + r * s.row_stride,
                           bytes = s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
                std::fill_n(rest.begin() + at, bytes, std::byte{});
                std::fill_n(rest_expected.begin() + at, bytes, std::byte{});
            }
        EXPECT_TRUE(rest == rest_expected) << what << ": memory between rows";
    }

    /// How many cases are of the kind that a test takes, and of those how many are compared bit for bit.
    struct drawn {
        int taken = 0, exact = 0;
    };
    void expect_results_of_the_cpu(std::mt19937_64& random, const random_case& c, int n, bool large, drawn& cases);
    void record(const drawn& cases) {
        RecordProperty("cases", cases.taken);
        RecordProperty("exact_cases", cases.exact);
    }

    /// How many pixels exceed their threshold, are equal to it, and have no result.
    struct decided {
        int above = 0, equal = 0, none = 0;
    };
    decided expect_decisions(const placed& image, const filter_inputs& on_device, const threshold_rule& rule,
                             const filter_options& options, placed& result, const std::string& what);

    /// Of the blocks of means that slide: how many there are, and how many left their windows to additions.
    struct slid {
        std::int64_t blocks, refused;
    };
    slid slide_means(const filter_inputs& on_device, const filter_options& options) {
        const filters::window_job job = filters::windows_of(filters::part_of(on_device), options);
        const view_shape& s = on_device.image.shape;
        EXPECT_TRUE(cuda::real_slides(job, false));
        const cuda::fused_shape shape = cuda::fused_shape_of(job, cuda::sliding_sums_of(job), s.rows);
        test::device_images device(stream());
        const auto bytes = static_cast<std::int64_t>(cuda::real_scratch_bytes(job, false, 0, s.rows));
        const any_view scratch = device.allocate(test::packed(dtype::u8, 1, bytes, 1)),
                       mean = device.allocate(test::packed(dtype::f64, s.rows, s.cols, s.channels));
        const cuda::real_windows windows{&job, on_device.image, on_device.mask, on_device.weights,
                                         0,    s.rows,          scratch.data};
        cuda::enqueue_real_statistics(windows, {mean, {}, {}, {}, {}}, stream());
        test::host_image words(test::packed(dtype::u32, 1, std::int64_t{shape.strips} * shape.bands * s.channels, 1));
        cuda::copy({scratch.data, words.shape}, words.view(), stream());
        const auto* const first = reinterpret_cast<const u32*>(words.bytes.data());
        return {words.shape.cols, words.shape.cols - std::count(first, first + words.shape.cols, 0u)};
    }
};

/// What a device decides is whether a pixel exceeds the device's own threshold in double. Pixels without a result are
/// those whose threshold is `fill`, whatever that is; where none is given it is NaN, which no pixel exceeds, and 0.
real_windows_test::decided real_windows_test::expect_decisions(const placed& image, const filter_inputs& on_device,
                                                               const threshold_rule& rule,
                                                               const filter_options& options, placed& result,
                                                               const std::string& what) {
    const view_shape& s = image.memory.shape;
    const auto limits_with = [&](const std::optional<double>& fill) {
        placed limit(test::packed(dtype::f64, s.rows, s.cols, s.channels, s.planes), 0, 0);
        const any_view limits = upload(limit);
        threshold_rule itself = rule;
        itself.output = threshold_output::threshold;
        filter_options filled = options;
        filled.fill = fill;
        cuda::adaptive_threshold(on_device, {limits}, stream(), itself, filled);
        limit.memory.bytes = fetched(limit, limits);
        return limit;
    };
    const placed limit = limits_with(options.fill), other = options.fill ? limits_with(*options.fill + 1) : limit;
    const any_view results = upload(result);
    cuda::adaptive_threshold(on_device, {results}, stream(), rule, options);
    const std::vector<std::byte> got = fetched(result, results);
    decided all;
    for (std::int64_t p = 0; p < s.planes; ++p)
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t e = 0; e < s.cols * s.channels; ++e) {
                const double x = value_at(image, image.memory.bytes, p, r, e),
                             t = value_at(limit, limit.memory.bytes, p, r, e),
                             u = value_at(other, other.memory.bytes, p, r, e);
                const bool none = options.fill ? t == *options.fill && u == *options.fill + 1 : std::isnan(t);
                const double yes = rule.output == threshold_output::zero_one ? 1 : 255,
                             expected = none    ? options.fill.value_or(0)
                                        : x > t ? yes
                                                : 0,
                             found = value_at(result, got, p, r, e);
                (none ? all.none : x > t ? all.above : all.equal) += none || x >= t;
                if (found == expected) continue;
                ADD_FAILURE() << what << ": plane " << p << ", row " << r << ", element " << e << ": " << found
                              << ", of " << x << " beside " << t;
                return all;
            }
    return all;
}

/// How a random case is sampled.
struct sampling {
    bool masked = false, weighted = false;
    std::int64_t mask_channels = 1, mask_planes = 1, gap = 0, first = 0;
};

sampling draw_sampling(std::mt19937_64& random, const filter_case& s, filter_options& options) {
    const auto one_in = [&](unsigned n) { return random() % n == 0; };
    sampling how;
    if (is_floating(s.type) && one_in(3)) return how;
    how.masked = one_in(2);
    how.weighted = one_in(4);
    how.mask_channels = one_in(2) ? s.channels : 1;
    how.mask_planes = one_in(2) ? s.planes : 1;
    how.gap = one_in(2) ? (16 - s.cols * how.mask_channels % 16) % 16 : static_cast<std::int64_t>(random() % 5);
    how.first = one_in(3) ? 1 : 0;
    if (one_in(2)) options.nan = nan_mode::omit;
    if (one_in(3)) options.nodata = is_floating(s.type) && one_in(3) ? nan : static_cast<double>(random() % 4);
    if (!how.weighted && one_in(3)) options.min_count = 1 + static_cast<std::int64_t>(random() % 9);
    if (how.weighted && one_in(3)) options.min_weight = 2.5;
    if (one_in(3)) options.fill = static_cast<double>(random() % 7);
    if (one_in(4)) options.rounding = rounding_mode::floor;
    return how;
}

/// Sums with infinite weights are refused: every other image has none.
void fill_maps(std::mt19937_64& random, placed& mask, placed& weights) {
    for (std::byte& b : mask.memory.bytes) b = random() % 4 == 0 ? std::byte{} : static_cast<std::byte>(random() % 256);
    const float odd[] = {0, -1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
    const unsigned kinds = random() % 2 == 0 ? 3 : 4;
    auto* const to = weights.memory.bytes.data() + weights.offset;
    for (std::size_t i = 0; i < (weights.memory.bytes.size() - static_cast<std::size_t>(weights.offset)) / 4; ++i) {
        const float w = random() % 5 == 0 ? odd[random() % kinds] : static_cast<float>(random() % 1000) / 64;
        std::memcpy(to + 4 * i, &w, 4);
    }
}

/// `large`: only if no block holds its windows, with squares or without; else only if blocks do.
void real_windows_test::expect_results_of_the_cpu(std::mt19937_64& random, const random_case& c, int n, bool large,
                                                  drawn& cases) {
    const filter_case& s = c.shape;
    filter_options options = test::options_of(s);
    const sampling how = draw_sampling(random, s, options);
    // Of integers that all count tables are made, which not all builds have.
    if (large && !is_floating(s.type) && !how.masked && !how.weighted && !options.nodata) options.min_count = 2;
    placed image(test::packed(s.type, s.rows, s.cols, s.channels, s.planes), c.gap, c.first);
    fill(image.view(), c.values, static_cast<std::uint64_t>(n));
    const auto map_of = [&](dtype type) {
        return placed(test::packed(type, s.rows, s.cols, how.mask_channels, how.mask_planes), how.gap, how.first);
    };
    placed mask = map_of(dtype::u8), weights = map_of(dtype::f32);
    fill_maps(random, mask, weights);
    filter_inputs inputs{.image = image.view()}, on_device{.image = upload(image)};
    if (how.masked) inputs.mask = mask.view(), on_device.mask = upload(mask);
    if (how.weighted) inputs.weights = weights.view(), on_device.weights = upload(weights);
    const filters::window_job job = filters::windows_of(filters::part_of(inputs), options);
    const bool real = is_floating(s.type) || how.weighted;
    if ((cuda::real_supports(job, true) && cuda::real_supports(job, false)) == large) return;
    ++cases.taken;
    cases.exact += !real;
    const auto result_of = [&](dtype type) {
        return placed(test::packed(type, s.rows, s.cols, s.channels, s.planes), c.result_gap, c.result_first);
    };
    const std::string text = text_of(c) + (how.masked ? ", mask" : "") + (how.weighted ? ", weights" : "") +
                             (options.nodata ? ", nodata" : "") + ", case " + std::to_string(n);
    // Of values of magnitude 1 (`extreme`: what its type has), of two roundings' worth each.
    double largest = 0;
    for (std::int64_t p = 0; p < s.planes; ++p)
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t e = 0; e < s.cols * s.channels; ++e) {
                const double x = std::abs(value_at(image, image.memory.bytes, p, r, e));
                if (std::isfinite(x)) largest = std::max(largest, x);
            }
    largest = std::max(largest, 3.0);  // a constant border, fill
    const double units = 8 * static_cast<double>(job.rows.full + job.cols.full) * 0x1p-53;
    const double mean_off = units * largest, spread_off = 8 * units * largest * largest;
    const bool squares_overflow = !std::isfinite(largest * largest * 1e6);
    const auto compare = [&](placed& expected, const any_view& got, double tolerance, const char* what,
                             double power = 1) {
        if (real)
            expect_near(expected, got, tolerance, text + ": " + what, power);
        else
            expect_fetched(expected, got, text + ": " + what);
    };
    const dtype count_type = how.weighted ? dtype::f64 : dtype::u32;
    {
        placed mean = result_of(n % 2 == 0 ? s.type : dtype::f64), count = result_of(count_type);
        const any_view means = upload(mean), counts = upload(count);
        cuda::box_filter(on_device, {means, counts}, stream(), options);
        box_filter(inputs, {mean.view(), count.view()}, options);
        compare(mean, means, is_floating(mean.memory.shape.type) ? mean_off : 1, "mean");
        compare(count, counts, units * 1000 * 1e6, "count");
    }
    if (!squares_overflow) switch (n % 3) {
            case 0: {
                placed mean = result_of(n % 2 == 0 ? dtype::f32 : s.type), variance = result_of(dtype::f64),
                       deviation = result_of(dtype::f32), sum = result_of(real ? dtype::f64 : dtype::s64),
                       count = result_of(how.weighted ? dtype::f32 : dtype::u32);
                const any_view means = upload(mean), variances = upload(variance), deviations = upload(deviation),
                               sums = upload(sum), counts = upload(count);
                cuda::local_statistics(on_device, {means, variances, deviations, sums, counts}, stream(), options);
                local_statistics(inputs, {mean.view(), variance.view(), deviation.view(), sum.view(), count.view()},
                                 options);
                const double pixels = 16 * static_cast<double>(job.largest_window);
                compare(mean, means, is_floating(mean.memory.shape.type) ? mean_off : 1, "mean of moments");
                compare(variance, variances, spread_off, "variance");
                compare(deviation, deviations, spread_off, "deviation", 2);
                compare(sum, sums, mean_off * pixels, "sum");
                compare(count, counts, units * pixels, "count");
                break;
            }
            case 1: {
                placed contrast = result_of(dtype::f32);
                const any_view contrasts = upload(contrast);
                const contrast_rule rule{.epsilon = real ? largest / 2 : 1e-6};
                cuda::local_contrast(on_device, {contrasts}, stream(), rule, options);
                local_contrast(inputs, {contrast.view()}, rule, options);
                compare(contrast, contrasts, 1e-5, "contrast");
                break;
            }
            default: {
                const auto method = static_cast<threshold_method>(n / 9 % 7);
                const auto output = real ? threshold_output::threshold : static_cast<threshold_output>(n / 3 % 3);
                // The deviation, of which the variance's root may be off by more, and products of it and the mean.
                threshold_rule rule{.method = method, .output = output};
                if (method == threshold_method::sauvola || method >= threshold_method::singh) rule.range = largest;
                placed limit = result_of(output != threshold_output::threshold ? dtype::u8 : dtype::f64);
                const any_view limits = upload(limit);
                cuda::adaptive_threshold(on_device, {limits}, stream(), rule, options);
                adaptive_threshold(inputs, {limit.view()}, rule, options);
                compare(limit, limits, 4 * std::sqrt(spread_off), std::string(name_of(method)).c_str());
                if (!real) break;
                rule.output = n / 3 % 2 == 0 ? threshold_output::zero_255 : threshold_output::zero_one;
                placed decisions = result_of(dtype::u8);
                expect_decisions(image, on_device, rule, options, decisions,
                                 text + ": decisions of " + std::string(name_of(method)));
            }
        }
    memory_.clear();
}

TEST_F(real_windows_test, samples_and_floats_have_the_results_of_the_cpu) {
    std::mt19937_64 random(test::random_seed(20261126));
    const int wanted = test::random_cases(real_cases);
    drawn cases;
    for (int n = 0; n < wanted && !HasFailure(); ++n)
        expect_results_of_the_cpu(random,
                                  test::draw_case(random, {dtype::u8, dtype::u16, dtype::s16, dtype::f32, dtype::f64}),
                                  n, false, cases);
    record(cases);
    EXPECT_GT(cases.taken, wanted / 2);
}

/// Windows that are wider than blocks, and that reach several times beyond the image.
TEST_F(real_windows_test, windows_of_any_size_have_the_results_of_the_cpu) {
    std::mt19937_64 random(test::random_seed(20261202));
    const int wanted = test::random_cases(real_cases);
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    drawn cases;
    for (int n = 0; n < wanted && !HasFailure(); ++n) {
        random_case c = test::draw_case(random, {dtype::u8, dtype::u16, dtype::s16, dtype::f32, dtype::f64});
        filter_case& s = c.shape;
        const bool wide = below(4) == 0 || s.border == border_mode::shrink;
        s.rows = 1 + below(wide ? 12 : 90);
        s.cols = wide ? 800 + below(900) : 1 + below(60);
        if (wide) s.channels = s.planes = 1;
        const auto reach = [&](std::int64_t extent) { return below(5) == 0 ? below(4) : below(4 * extent + 1); };
        s.window = window_extents{reach(s.rows), reach(s.rows), reach(s.cols), reach(s.cols)};
        if (wide) s.window.left = 500 + below(s.cols), s.window.right = 400 + below(s.cols);
        expect_results_of_the_cpu(random, c, n, true, cases);
    }
    record(cases);
    EXPECT_GT(cases.taken, wanted / 2);
}

/// Sums that are no numbers of double, squares that fill 64 bits, and means between two integers of either sign.
TEST_F(real_windows_test, large_windows_of_integers_are_exact) {
    struct large_case {
        dtype type;
        border_mode border;
        window_extents reach;
        bool squares;  ///< the CPU has them of 16 bits up to 2^32 pixels
    };
    constexpr std::int64_t far = 1 << 20;
    for (const large_case& c : {large_case{dtype::u8, border_mode::constant, {far, 3 * far, 5 * far, 7 * far}, true},
                                large_case{dtype::u16, border_mode::wrap, {far, 3 * far, 9, 7 * far}, false},
                                large_case{dtype::s16, border_mode::replicate, {far, 3 * far, 9, 7 * far}, false},
                                large_case{dtype::s16, border_mode::mirror, {20000, 30000, 40000, 40000}, true},
                                large_case{dtype::u16, border_mode::reflect, {20000, 30000, 40000, 40000}, true}})
        for (const pattern values : {pattern::random, pattern::all_max}) {
            placed image(test::packed(c.type, 7, 13, 1), 3, 0), mask(test::packed(dtype::u8, 7, 13, 1), 0, 0);
            fill(image.view(), values, 5);
            fill(mask.view(), pattern::random, 6);
            static_cast<u8*>(mask.view().data)[3] = 0;
            filter_options options{.window = c.reach, .border = c.border, .threads = 1};
            if (c.border == border_mode::constant) options.border_value = 255;
            for (const rounding_mode rounding : {rounding_mode::half_up, rounding_mode::floor}) {
                options.rounding = rounding;
                const auto result_of = [&](dtype type) { return placed(test::packed(type, 7, 13, 1), 1, 0); };
                placed mean = result_of(c.type), variance = result_of(dtype::f64), deviation = result_of(dtype::f32),
                       sum = result_of(dtype::s64), count = result_of(dtype::f64);
                const any_view means = upload(mean), variances = upload(variance), deviations = upload(deviation),
                               sums = upload(sum), counts = upload(count);
                window_outputs on_device{.mean = means, .sum = sums, .count = counts},
                    on_host{.mean = mean.view(), .sum = sum.view(), .count = count.view()};
                if (c.squares) {
                    on_device.variance = variances, on_device.deviation = deviations;
                    on_host.variance = variance.view(), on_host.deviation = deviation.view();
                }
                cuda::local_statistics({.image = upload(image), .mask = upload(mask)}, on_device, stream(), options);
                local_statistics({.image = image.view(), .mask = mask.view()}, on_host, options);
                const std::string what = std::string(name_of(c.type)) + ", " + std::string(name_of(c.border));
                expect_fetched(mean, means, what + ": mean");
                expect_fetched(variance, variances, what + ": variance");
                expect_fetched(deviation, deviations, what + ": deviation");
                expect_fetched(sum, sums, what + ": sum");
                expect_fetched(count, counts, what + ": count");
                memory_.clear();
            }
        }
}

/// What lies in memory at once is of a chunk of bands, here of a row each.
TEST_F(real_windows_test, large_windows_have_several_chunks) {
    const view_shape shape = test::packed(dtype::u8, 2300, 5, 1);
    const filter_options options{
        .window = window_extents{0, 0, 40, 33}, .border = border_mode::replicate, .threads = 1};
    ASSERT_LT(cuda::large_shape_of(filters::windows_of({shape}, options), 6, 3, 2300).chunk_bands, 1200);
    placed image(shape, 0, 0), mean(test::packed(dtype::f64, 2300, 5, 1), 0, 0), count = mean;
    fill(image.view(), pattern::random, 7);
    const any_view means = upload(mean), counts = upload(count);
    cuda::box_filter({upload(image)}, {means, counts}, stream(), options);
    box_filter({image.view()}, {mean.view(), count.view()}, options);
    expect_fetched(mean, means, "mean");
    expect_fetched(count, counts, "count");
}

/// Rows of the whole, in memory of the device or of the host.
TEST_F(real_windows_test, parts_of_large_windows_have_the_bits_of_the_whole) {
    constexpr std::int64_t rows = 150, cols = 900, above = 40, below = 20;
    const view_shape shape = test::packed(dtype::f32, rows, cols, 1), real = test::packed(dtype::f64, rows, cols, 1);
    const filter_options options{.window = window_extents{above, below, 600, 550}, .nan = nan_mode::omit};
    ASSERT_FALSE(cuda::real_supports(filters::windows_of({shape}, options), true));
    test::host_image image = test::random_image(shape, 3), whole(real), strips(real);
    test::device_images device(stream());
    const any_view from = device.upload(image.view()), all = device.upload(whole.view());
    cuda::local_statistics({from}, {.variance = all}, stream(), options);
    cuda::copy(all, whole.view(), stream());
    cuda::local_statistics({image.view()}, {.variance = strips.view()}, stream(), options);
    EXPECT_TRUE(whole.bytes == strips.bytes);
    for (const row_range part : {row_range{0, 61}, {61, 62}, {62, rows}}) {
        const std::int64_t first = std::max<std::int64_t>(part.first - above, 0),
                           end = std::min(part.end + below, rows);
        any_view pixels = from;
        pixels.data = static_cast<std::byte*>(from.data) + first * from.shape.row_stride;
        pixels.shape.rows = end - first;
        test::host_image got(test::packed(dtype::f64, part.end - part.first, cols, 1));
        const any_view result = device.upload(got.view());
        cuda::local_statistics({.image = pixels, .at = {first, 0}, .whole = {rows, cols}, .results = part},
                               {.variance = result}, stream(), options);
        cuda::copy(result, got.view(), stream());
        EXPECT_EQ(std::memcmp(got.bytes.data(), whole.bytes.data() + part.first * real.row_stride, got.bytes.size()), 0)
            << part.first;
    }
}

/// Several bands, whose cores are made of prepared segments, and blocks of several warps.
TEST_F(real_windows_test, large_windows_have_the_results_of_the_cpu) {
    for (const dtype type : {dtype::f32, dtype::u16})
        for (const window& w : {window(window_extents{70, 60, 9, 100}), window(window_radius(60, 90))})
            for (const border_mode border : {border_mode::shrink, border_mode::reflect}) {
                const filter_case s{type, 140, 413, 1, 1, w, border};
                placed image(test::packed(type, s.rows, s.cols, 1), 3, 0);
                fill(image.view(), pattern::random, 5);
                filter_options options = test::options_of(s);
                options.min_count = 2;
                const filters::window_job job = filters::windows_of({image.view().shape}, options);
                ASSERT_TRUE(cuda::real_supports(job, true));
                const cuda::real_shape shape = cuda::real_shape_of(job, cuda::real_terms_of(job, true), 0, s.rows);
                EXPECT_TRUE(shape.prepared && shape.bands > 2 && shape.threads > 32);
                placed mean(test::packed(dtype::f64, s.rows, s.cols, 1), 0, 0), variance = mean;
                const any_view means = upload(mean), variances = upload(variance);
                cuda::local_statistics({upload(image)}, {means, variances}, stream(), options);
                local_statistics({image.view()}, {mean.view(), variance.view()}, options);
                expect_near(mean, means, type == dtype::u16 ? 0 : 1e-13, test::text_of(s));
                expect_near(variance, variances, type == dtype::u16 ? 0 : 1e-13, test::text_of(s));
                memory_.clear();
                if (HasFailure()) return;
            }
}

/// Bands whose first windows are made of prepared segments, of floats, of pixels that may not count, and with weights:
/// all sums are exact, so no kernel that only adds makes a window again.
TEST_F(real_windows_test, large_windows_slide_over_segments) {
    for (const dtype type : {dtype::f32, dtype::u8, dtype::u16})
        for (const int how : {0, 1, 2}) {
            const bool counted = how == 1, weighted = how == 2;
            if (how == 0 && !is_floating(type)) continue;
            const filter_case s{type, 140, 413, 1, 1, window(window_extents{70, 60, 90, 100}), border_mode::shrink};
            placed image(test::packed(type, s.rows, s.cols, 1), 3, 0),
                mask(test::packed(dtype::u8, s.rows, s.cols, 1), 5, 0),
                weights(test::packed(dtype::f32, s.rows, s.cols, 1), 3, 0);
            fill(image.view(), pattern::random, 5);
            std::mt19937_64 random(20261128);
            for (std::int64_t r = 0; r < s.rows; ++r)
                for (std::int64_t c = 0; c < s.cols; ++c) {
                    reinterpret_cast<float*>(static_cast<char*>(weights.view().data) +
                                             r * weights.view().shape.row_stride)[c] =
                        static_cast<float>(random() % 64) / 16;
                    static_cast<u8*>(mask.view().data)[r * mask.view().shape.row_stride + c] = random() % 4 != 0;
                    if (type == dtype::f32)
                        reinterpret_cast<float*>(static_cast<char*>(image.view().data) +
                                                 r * image.view().shape.row_stride)[c] =
                            static_cast<float>(random() % 256);
                }
            filter_inputs inputs{.image = image.view()}, on_device{.image = upload(image)};
            if (counted) inputs.mask = mask.view(), on_device.mask = upload(mask);
            if (weighted) inputs.weights = weights.view(), on_device.weights = upload(weights);
            const filter_options options = test::options_of(s);
            const filters::window_job job = filters::windows_of(filters::part_of(inputs), options);
            ASSERT_TRUE(cuda::sliding_supports(job));
            const cuda::fused_shape shape = cuda::fused_shape_of(job, cuda::sliding_sums_of(job), s.rows);
            EXPECT_TRUE(shape.prepared && shape.bands > 2);
            placed mean(test::packed(type == dtype::f32 ? dtype::f64 : type, s.rows, s.cols, 1), 0, 0),
                count(test::packed(weighted ? dtype::f32 : dtype::u32, s.rows, s.cols, 1), 0, 0);
            const any_view means = upload(mean), counts = upload(count);
            cuda::box_filter(on_device, {means, counts}, stream(), options);
            box_filter(inputs, {mean.view(), count.view()}, options);
            expect_fetched(mean, means, test::text_of(s) + ": mean");
            expect_fetched(count, counts, test::text_of(s) + ": count");
            if (!counted) {
                EXPECT_EQ(slide_means(on_device, options).refused, 0) << test::text_of(s);
            }
            memory_.clear();
            if (HasFailure()) return;
        }
}

/// Bytes that vary much, in tiles that do not vary, little (so that means are pixels), around 2^24 in sums, and hardly.
void fill_bytes(std::mt19937_64& random, const any_view& to, unsigned kind) {
    const view_shape& s = to.shape;
    for (std::int64_t r = 0; r < s.rows; ++r)
        for (std::int64_t e = 0; e < s.cols * s.channels; ++e) {
            const auto drawn = static_cast<unsigned>(random());
            const auto tile = static_cast<unsigned>(r / 30 + e / 50) * 37;
            const unsigned values[] = {drawn, tile, drawn % 3, 255 - drawn % 4, drawn % 97 == 0 ? 1 : 0u};
            static_cast<u8*>(to.data)[r * s.row_stride + e] = static_cast<u8>(values[kind % std::size(values)]);
        }
}

/// Single pixels that do not count, and areas where none does.
void fill_mask(std::mt19937_64& random, const any_view& to) {
    const view_shape& s = to.shape;
    const auto rows = static_cast<std::int64_t>(random() % 40), cols = static_cast<std::int64_t>(random() % 70);
    for (std::int64_t r = 0; r < s.rows; ++r)
        for (std::int64_t e = 0; e < s.cols * s.channels; ++e) {
            const bool empty = r % 50 < rows && e % 120 < cols;
            static_cast<u8*>(to.data)[r * s.row_stride + e] =
                empty ? u8{0} : static_cast<u8>(random() % 4 == 0 ? 0 : random());
        }
}

/// Of a number of pixels of its own each, windows of bytes slide as where all count: in blocks of all sizes, over
/// segments, of any borders; every result of every type.
TEST_F(real_windows_test, masked_bytes_have_the_results_of_the_cpu) {
    std::mt19937_64 random(test::random_seed(20261128));
    const auto one_of = [&](auto... x) {
        const std::common_type_t<decltype(x)...> all[] = {x...};
        return all[random() % sizeof...(x)];
    };
    struct counted_case {
        std::int64_t rows, cols, channels;
        window_extents reach;
    };
    constexpr counted_case cases[] = {
        {23, 70, 1, {0, 0, 0, 0}},      {37, 300, 1, {2, 1, 1, 3}},         {30, 91, 3, {4, 3, 5, 2}},
        {41, 260, 1, {15, 15, 15, 15}}, {150, 120, 1, {40, 60, 9, 7}},      {80, 41, 3, {50, 20, 3, 30}},
        {19, 400, 1, {3, 3, 90, 100}},  {12, 700, 1, {5, 2, 200, 190}},     {9, 1300, 1, {1, 2, 400, 420}},
        {230, 51, 1, {90, 100, 2, 2}},  {270, 560, 1, {127, 128, 255, 256}}};
    std::vector<int> threads;
    int prepared = 0, n = 0;
    for (const counted_case& c : cases)
        for (const border_mode border : test::every_border) {
            const bool large = c.rows * c.cols > 100000;
            if (large ? border != border_mode::replicate : c.rows * c.cols > 7000 && random() % 2 == 0) continue;
            const filter_case s{dtype::u8, c.rows, c.cols, c.channels, 1, window(c.reach), border};
            filter_options options = test::options_of(s);
            placed image(test::packed(dtype::u8, s.rows, s.cols, s.channels), one_of(0, 2, 5), one_of(0, 0, 3)),
                mask(test::packed(dtype::u8, s.rows, s.cols, one_of(std::int64_t{1}, s.channels)), one_of(0, 4, 3),
                     one_of(0, 0, 1));
            const unsigned kind = large ? 3 : static_cast<unsigned>(n);
            fill_bytes(random, image.view(), kind);
            fill_mask(random, mask.view());
            filter_inputs inputs{.image = image.view()}, on_device{.image = upload(image)};
            const int how = large ? 2 : n % 3;  // a mask, a value, or both
            if (how != 0) options.nodata = one_of(0, 1, 2, 255);
            if (how != 1 && !large) inputs.mask = mask.view(), on_device.mask = upload(mask);
            if (how == 2 && large) options.nodata = 7;  // which no pixel has: 2^17 of them in a window
            if (n % 4 == 0) options.min_count = one_of(2, 7, 100);
            const filters::window_job job = filters::windows_of(filters::part_of(inputs), options);
            ASSERT_TRUE(cuda::real_slides(job, true) && cuda::real_slides(job, false)) << test::text_of(s);
            const cuda::fused_shape shape = cuda::fused_shape_of(job, cuda::sliding_sums_of(job, true), s.rows);
            threads.push_back(shape.threads);
            prepared += shape.prepared;
            const auto result_of = [&](dtype type) {
                return placed(test::packed(type, s.rows, s.cols, s.channels), one_of(0, 0, 3), one_of(0, 1));
            };
            const auto count_type = [&] { return one_of(dtype::u32, dtype::f32, dtype::f64); };
            const std::string text = test::text_of(s) + ", case " + std::to_string(n);
            for (const bool narrow : {true, false}) {
                if (n % 3 == 0) options.fill = 3;
                placed mean = result_of(narrow ? dtype::f32 : one_of(dtype::u8, dtype::f64)),
                       variance = result_of(dtype::f64), sum = result_of(one_of(dtype::s32, dtype::s64, dtype::f64)),
                       deviation = result_of(narrow ? dtype::f32 : one_of(dtype::f32, dtype::f64)),
                       count = result_of(narrow ? one_of(dtype::u32, dtype::f32) : count_type());
                window_outputs to{.deviation = upload(deviation), .count = upload(count)},
                    expected{.deviation = deviation.view(), .count = count.view()};
                if (!narrow || n % 2 == 0) to.mean = upload(mean), expected.mean = mean.view();
                if (!narrow) to.variance = upload(variance), expected.variance = variance.view();
                if (!narrow) to.sum = upload(sum), expected.sum = sum.view();
                cuda::local_statistics(on_device, to, stream(), options);
                local_statistics(inputs, expected, options);
                if (to.mean.data != nullptr) expect_fetched(mean, to.mean, text + ": mean");
                if (!narrow) expect_fetched(variance, to.variance, text + ": variance");
                if (!narrow) expect_fetched(sum, to.sum, text + ": sum");
                expect_fetched(deviation, to.deviation, text + ": deviation");
                expect_fetched(count, to.count, text + ": count");
            }
            {
                placed contrast = result_of(dtype::f32), count = result_of(count_type());
                const any_view contrasts = upload(contrast), counts = n % 5 == 0 ? any_view{} : upload(count);
                const contrast_rule rule{.epsilon = one_of(1e-6, 3.0, 40.0)};
                cuda::local_contrast(on_device, {contrasts, counts}, stream(), rule, options);
                local_contrast(inputs, {contrast.view(), counts.data == nullptr ? any_view{} : count.view()}, rule,
                               options);
                expect_fetched(contrast, contrasts, text + ": contrast");
                if (counts.data != nullptr) expect_fetched(count, counts, text + ": count of contrast");
            }
            for (int m = 0; m < 7; ++m) {
                if ((m + n) % 2 == 1) continue;
                const auto method = static_cast<threshold_method>(m);
                const auto output = static_cast<threshold_output>((n / 2 + m) % 3);
                threshold_rule rule{.method = method, .output = output};
                if (n % 4 == 1) rule.k = method == threshold_method::sauvola ? 0.25 : 0;
                placed result = result_of(output != threshold_output::threshold ? dtype::u8
                                                                                : one_of(dtype::f32, dtype::f64)),
                       count = result_of(count_type());
                const any_view results = upload(result), counts = (n + m) % 5 == 0 ? any_view{} : upload(count);
                cuda::adaptive_threshold(on_device, {results, counts}, stream(), rule, options);
                adaptive_threshold(inputs, {result.view(), counts.data == nullptr ? any_view{} : count.view()}, rule,
                                   options);
                expect_fetched(result, results, text + ": " + std::string(name_of(method)));
                if (counts.data != nullptr) expect_fetched(count, counts, text + ": count of a threshold");
            }
            memory_.clear();
            if (HasFailure()) return;
            ++n;
        }
    for (const int size : {32, 64, 128, 256}) EXPECT_TRUE(std::count(threads.begin(), threads.end(), size) > 0) << size;
    EXPECT_GT(prepared, 5);
}

/// Of this image's, some lie so near the middle between two floats that the definition has to decide.
TEST_F(real_windows_test, deviations_of_masked_bytes_are_rounded_once) {
    std::mt19937_64 random(20261130);
    const view_shape shape = test::packed(dtype::u8, 200, 1500, 1), narrow = test::packed(dtype::f32, 200, 1500, 1),
                     wide = test::packed(dtype::f64, 200, 1500, 1);
    test::host_image image(shape), mask(shape), floats(narrow), doubles(wide);
    fill_bytes(random, image.view(), 0);
    fill_mask(random, mask.view());
    test::device_images device(stream());
    const filter_inputs inputs{.image = device.upload(image.view()), .mask = device.upload(mask.view())};
    for (const std::int64_t radius : {2, 9}) {
        for (test::host_image* to : {&floats, &doubles}) {
            const any_view result = device.upload(to->view());
            cuda::local_statistics(inputs, {.deviation = result}, stream(), {.window = window_radius(radius)});
            cuda::copy(result, to->view(), stream());
        }
        for (std::int64_t i = 0; i < shape.rows * shape.cols; ++i) {
            const double x = reinterpret_cast<const double*>(doubles.bytes.data())[i];
            const float y = reinterpret_cast<const float*>(floats.bytes.data())[i];
            ASSERT_TRUE(static_cast<float>(x) == y || (std::isnan(x) && std::isnan(y))) << i << ": " << x << ", " << y;
        }
    }
}

/// Some planes have pixels that count and one has none; then a window must have more of them than any has.
TEST_F(real_windows_test, masked_bytes_of_planes_and_of_none_that_count) {
    std::mt19937_64 random(20261203);
    const filter_case s{dtype::u8, 25, 90, 1, 3, window(window_extents{3, 2, 4, 4}), border_mode::reflect};
    placed image(test::packed(dtype::u8, s.rows, s.cols, 1, s.planes), 2, 1), mask = image;
    fill(image.view(), pattern::random, 8);
    fill(mask.view(), pattern::random, 9);
    const view_shape& m = mask.memory.shape;
    auto* const own = static_cast<u8*>(mask.view().data);
    for (std::int64_t p = 0; p < m.planes; ++p)
        for (std::int64_t r = 0; r < m.rows; ++r)
            for (std::int64_t c = 0; c < m.cols; ++c)
                own[p * m.plane_stride + r * m.row_stride + c] = p != 1 && random() % 3 == 0 ? 1 : 0;
    const filter_inputs inputs{.image = image.view(), .mask = mask.view()},
        on_device{.image = upload(image), .mask = upload(mask)};
    filter_options options = test::options_of(s);
    options.fill = 9;
    for (const std::int64_t least : {std::int64_t{1}, (std::int64_t{1} << 32) + 1}) {
        options.min_count = least;
        const auto result_of = [&](dtype type) {
            return placed(test::packed(type, s.rows, s.cols, 1, s.planes), 1, 0);
        };
        placed deviation = result_of(dtype::f32), count = result_of(dtype::u32);
        const any_view deviations = upload(deviation), counts = upload(count);
        cuda::local_statistics(on_device, {.deviation = deviations, .count = counts}, stream(), options);
        local_statistics(inputs, {.deviation = deviation.view(), .count = count.view()}, options);
        expect_fetched(deviation, deviations, "deviation of at least " + std::to_string(least));
        expect_fetched(count, counts, "count of at least " + std::to_string(least));
        for (const threshold_method method :
             {threshold_method::bradley, threshold_method::wolf, threshold_method::nick}) {
            placed result = result_of(dtype::u8);
            const any_view results = upload(result);
            cuda::adaptive_threshold(on_device, {results}, stream(), {.method = method}, options);
            adaptive_threshold(inputs, {result.view()}, {.method = method}, options);
            expect_fetched(result, results, std::string(name_of(method)) + " of at least " + std::to_string(least));
        }
    }
}

/// The k by which a pixel x has this threshold, in a window of mean m and deviation s: thresholds are linear in it.
double factor_for(double limit, threshold_method method, double range, double x, double m, double s) {
    const auto of = [&](double k) { return oracle::threshold_of(method, k, range, x, m, s, {}); };
    const double at_zero = of(0);
    return (limit - at_zero) / (of(1) - at_zero);
}

/// Of factors that put the threshold of one pixel so near it that single precision may be wrong; of images that are
/// masked and that are not, dark ones and others.
TEST_F(real_windows_test, thresholds_beside_their_pixels_are_decided) {
    constexpr std::int64_t rows = 5, cols = 60;
    constexpr double range = 150;
    const view_shape bytes = test::packed(dtype::u8, rows, cols, 1), wide = test::packed(dtype::f64, rows, cols, 1);
    for (const bool masked : {true, false})
        for (const int shift : {0, 3}) {
            std::mt19937_64 random(20261204);  // of which a mask is neither empty nor full
            placed image(bytes, 0, 0), mask = image, mean(wide, 0, 0), deviation = mean, result = image;
            fill(image.view(), pattern::random, 15);
            fill_mask(random, mask.view());
            auto* const pixels = static_cast<u8*>(image.view().data);
            for (std::int64_t i = 0; i < rows * cols; ++i) pixels[i] = static_cast<u8>(pixels[i] >> shift);
            filter_inputs inputs{.image = image.view()}, on_device{.image = upload(image)};
            if (masked) {
                inputs.mask = mask.view();
                on_device.mask = upload(mask);
            }
            const any_view results = upload(result);
            const filter_options options{.window = window_extents{2, 2, 3, 2}, .threads = 1};
            local_statistics(inputs, {.mean = mean.view(), .deviation = deviation.view()}, options);
            int tried = 0;
            for (std::int64_t i = 0; i < rows * cols && !HasFailure(); i += 23) {
                const double x = pixels[i], m = static_cast<const double*>(mean.view().data)[i],
                             s = static_cast<const double*>(deviation.view().data)[i];
                if ((masked && static_cast<const u8*>(mask.view().data)[i] == 0) || s < 1) continue;
                ++tried;
                for (int step = 0; step < 16; ++step) {
                    const double limit = x + std::ldexp(step % 2 == 0 ? 1 : -1, -23 + step / 2);
                    for (const threshold_method method :
                         {threshold_method::bradley, threshold_method::niblack, threshold_method::sauvola,
                          threshold_method::nick, threshold_method::singh, threshold_method::phansalkar}) {
                        const threshold_rule rule{
                            .method = method,
                            .k = factor_for(limit, method, range, x, m, s),
                            .range = method == threshold_method::sauvola || method >= threshold_method::singh
                                         ? std::optional(range)
                                         : std::nullopt};
                        cuda::adaptive_threshold(on_device, {results}, stream(), rule, options);
                        adaptive_threshold(inputs, {result.view()}, rule, options);
                        expect_fetched(result, results,
                                       std::string(name_of(method)) + ", k " + std::to_string(*rule.k));
                    }
                }
            }
            EXPECT_GT(tried, 5);
            memory_.clear();
        }
}

/// Of floats and of weighted pixels, with every method, in both forms, for what counts and what does not. Where k is 0
/// pixels of areas that do not vary are their thresholds, which they do not exceed.
TEST_F(real_windows_test, decisions_are_those_of_the_thresholds_of_the_device) {
    struct sampled_case {
        dtype type;
        bool masked = false, weighted = false;
        nan_mode nan = nan_mode::propagate;
        std::optional<double> nodata = {}, fill = {};
    };
    constexpr std::int64_t rows = 26, cols = 70;
    std::mt19937_64 random(20261129);
    decided all;
    int n = 0;
    for (const sampled_case& c : {sampled_case{dtype::f32},
                                  {dtype::f32, true, false, nan_mode::omit, {}, 7},
                                  {dtype::f64, false, false, nan_mode::omit, 4, 1},
                                  {dtype::f64, true, true},
                                  {dtype::f32, false, true, nan_mode::propagate, 5},
                                  {dtype::u8, false, true},
                                  {dtype::s16, false, true, nan_mode::propagate, {}, 3},
                                  {dtype::u16, true, true, nan_mode::propagate, 6, 255}}) {
        placed image(test::packed(c.type, rows, cols, 1), 2, 0), mask(test::packed(dtype::u8, rows, cols, 1), 1, 0),
            weights(test::packed(dtype::f32, rows, cols, 1), 0, 0);
        visit_dtype(c.type, [&]<typename T>() {
            if constexpr (!std::is_same_v<T, float16>)
                for (std::int64_t r = 0; r < rows; ++r)
                    for (std::int64_t e = 0; e < cols; ++e) {
                        const auto tile = static_cast<unsigned>(r / 13 * 2 + e / 35);
                        T x = static_cast<T>(tile == 0 ? 9u : random() % (tile == 1 ? 8 : 100));
                        if constexpr (std::is_floating_point_v<T>) {
                            if (tile == 2) x /= 3;
                            if (tile == 3 && random() % 200 == 0)
                                x = static_cast<T>(random() % 2 == 0 ? nan : infinity);
                        }
                        std::memcpy(static_cast<char*>(image.view().data) + r * image.view().shape.row_stride +
                                        e * static_cast<std::int64_t>(sizeof x),
                                    &x, sizeof x);
                        static_cast<u8*>(mask.view().data)[r * mask.view().shape.row_stride + e] = random() % 5 != 0;
                        static_cast<float*>(weights.view().data)[r * cols + e] = static_cast<float>(random() % 32) / 16;
                    }
        });
        filter_inputs on_device{.image = upload(image)};
        if (c.masked) on_device.mask = upload(mask);
        if (c.weighted) on_device.weights = upload(weights);
        for (int method = 0; method < 7; ++method)
            for (const threshold_output output : {threshold_output::zero_one, threshold_output::zero_255}) {
                threshold_rule rule{.method = static_cast<threshold_method>(method), .output = output};
                if (rule.method == threshold_method::sauvola || rule.method >= threshold_method::singh) rule.range = 50;
                if (++n / 2 % 2 == 0) {
                    rule.k = 0;
                    if (rule.method == threshold_method::phansalkar) rule.p = 0;
                }
                const filter_options options{.window = window_extents{3, 2, 4, 3},
                                             .border = test::every_border[n / 2 % std::size(test::every_border)],
                                             .border_value = 9,
                                             .nan = c.nan,
                                             .nodata = c.nodata,
                                             .fill = c.fill};
                placed result(test::packed(dtype::u8, rows, cols, 1), n % 3, n % 2);
                const decided one = expect_decisions(image, on_device, rule, options, result,
                                                     std::string(name_of(c.type)) + ", case " + std::to_string(n) +
                                                         ", " + std::string(name_of(rule.method)));
                EXPECT_GT(one.above, 100) << n;
                all.equal += one.equal;
                all.none += one.none;
            }
        memory_.clear();
        if (HasFailure()) return;
    }
    EXPECT_GT(all.equal, 1000);
    EXPECT_GT(all.none, 1000);
}

/// Without a mask, how many pixels the windows have is still a result. Above 2^18 pixels only means slide.
TEST_F(real_windows_test, integers_that_all_count_are_counted) {
    const window_extents near{2, 3, 4, 1}, far{139, 139, 470, 470};
    for (const auto& [type, rows, cols, reach] :
         {std::tuple{dtype::u8, 23, 70, near}, {dtype::u16, 19, 41, near}, {dtype::u8, 140, 480, far}})
        for (const border_mode border : {border_mode::replicate, border_mode::shrink}) {
            const bool large = reach.above == far.above;
            if (large && border == border_mode::shrink) continue;
            const filter_case s{type, rows, cols, 1, 1, window(reach), border};
            placed image(test::packed(type, rows, cols, 1), 1, 0);
            fill(image.view(), pattern::random, 12);
            const filter_inputs inputs{.image = image.view()}, on_device{.image = upload(image)};
            const filter_options options = test::options_of(s);
            const filters::window_job job = filters::windows_of(filters::part_of(inputs), options);
            ASSERT_TRUE(cuda::real_slides(job, false));
            ASSERT_EQ(cuda::real_slides(job, true), type == dtype::u8 && !large);
            const auto result_of = [&](dtype of) { return placed(test::packed(of, s.rows, s.cols, 1), 0, 1); };
            placed contrast = result_of(dtype::f32), count = result_of(dtype::u32);
            const any_view contrasts = upload(contrast), counts = upload(count);
            cuda::local_contrast(on_device, {contrasts, counts}, stream(), {}, options);
            local_contrast(inputs, {contrast.view(), count.view()}, {}, options);
            expect_fetched(contrast, contrasts, test::text_of(s) + ": contrast");
            expect_fetched(count, counts, test::text_of(s) + ": count of contrast");
            for (const threshold_method method : {threshold_method::bradley, threshold_method::sauvola}) {
                placed result = result_of(dtype::u8), number = result_of(dtype::u32);
                const any_view results = upload(result), numbers = upload(number);
                cuda::adaptive_threshold(on_device, {results, numbers}, stream(), {.method = method}, options);
                adaptive_threshold(inputs, {result.view(), number.view()}, {.method = method}, options);
                expect_fetched(result, results, test::text_of(s) + ": " + std::string(name_of(method)));
                expect_fetched(number, numbers, test::text_of(s) + ": count of a threshold");
            }
        }
}

/// Windows of more columns than sums of squares that slide have room for; sums alone have blocks of 512 threads.
TEST_F(real_windows_test, wide_windows_of_masked_bytes_are_added) {
    const filter_case s{dtype::u8, 9, 1400, 1, 1, window(window_extents{2, 1, 600, 530}), border_mode::mirror};
    std::mt19937_64 random(20261201);
    placed image(test::packed(dtype::u8, s.rows, s.cols, 1), 0, 0),
        mask = image, deviation(test::packed(dtype::f64, 9, 1400, 1), 0, 0);
    fill_bytes(random, image.view(), 0);
    fill_mask(random, mask.view());
    const filter_inputs inputs{.image = image.view(), .mask = mask.view()};
    const filter_options options = test::options_of(s);
    const filters::window_job job = filters::windows_of(filters::part_of(inputs), options);
    ASSERT_TRUE(!cuda::real_slides(job, true) && cuda::real_supports(job, true));
    ASSERT_TRUE(cuda::real_slides(job, false));
    ASSERT_EQ(cuda::fused_shape_of(job, cuda::sliding_sums_of(job, false), s.rows).threads, 512);
    const filter_inputs on_device{.image = upload(image), .mask = upload(mask)};
    const any_view result = upload(deviation);
    cuda::local_statistics(on_device, {.deviation = result}, stream(), options);
    local_statistics(inputs, {.deviation = deviation.view()}, options);
    expect_fetched(deviation, result, test::text_of(s));
    placed exceeds(image.memory.shape, 0, 0);
    const any_view exceed = upload(exceeds);
    cuda::adaptive_threshold(on_device, {exceed}, stream(), {.method = threshold_method::bradley}, options);
    adaptive_threshold(inputs, {exceeds.view()}, {.method = threshold_method::bradley}, options);
    expect_fetched(exceeds, exceed, test::text_of(s) + ": bradley");
}

/// Parts, strips of host memory, and channels: what a pixel's result is depends on nothing but its window.
TEST_F(real_windows_test, parts_have_the_bits_of_the_whole) {
    for (const dtype type : {dtype::f32, dtype::f64})
        for (const std::int64_t reach : {1, 5, 40}) {
            const view_shape shape = test::packed(type, 200, 90, 1);
            const filter_options options{.window = window_extents{reach, reach / 2, 3, 11}};
            test::host_image image = test::random_image(shape, 3), whole(shape), strips(shape), spread(shape),
                             spread_strips(shape);
            test::device_images device(stream());
            const any_view from = device.upload(image.view()), mean = device.upload(whole.view()),
                           variance = device.upload(spread.view());
            cuda::local_statistics({from}, {.mean = mean}, stream(), options);
            cuda::local_statistics({from}, {.variance = variance}, stream(), options);
            cuda::copy(mean, whole.view(), stream());
            cuda::copy(variance, spread.view(), stream());
            cuda::local_statistics({image.view()}, {.mean = strips.view()}, stream(), options);
            cuda::local_statistics({image.view()}, {.variance = spread_strips.view()}, stream(), options);
            EXPECT_TRUE(whole.bytes == strips.bytes) << name_of(type) << ", " << reach;
            EXPECT_TRUE(spread.bytes == spread_strips.bytes) << name_of(type) << ", " << reach;
            for (const row_range rows : {row_range{0, 61}, {61, 62}, {62, 200}}) {
                const std::int64_t first = std::max<std::int64_t>(rows.first - reach, 0),
                                   end = std::min<std::int64_t>(rows.end + reach / 2, 200);
                any_view part = from;
                part.data = static_cast<std::byte*>(from.data) + first * from.shape.row_stride;
                part.shape.rows = end - first;
                const filter_inputs inputs{.image = part, .at = {first, 0}, .whole = {200, 90}, .results = rows};
                test::host_image got(test::packed(type, rows.end - rows.first, 90, 1));
                const any_view result = device.upload(got.view());
                for (const auto& [outputs, expected] : {std::pair{window_outputs{.mean = result}, &whole},
                                                        {window_outputs{.variance = result}, &spread}}) {
                    cuda::local_statistics(inputs, outputs, stream(), options);
                    cuda::copy(result, got.view(), stream());
                    EXPECT_EQ(std::memcmp(got.bytes.data(), expected->bytes.data() + rows.first * shape.row_stride,
                                          got.bytes.size()),
                              0)
                        << name_of(type) << ", " << reach << ", rows " << rows.first;
                }
            }
        }
}

/// The same of masked bytes, in memory of the device or of the host.
TEST_F(real_windows_test, parts_of_masked_bytes_have_the_bits_of_the_whole) {
    constexpr std::int64_t rows = 200, cols = 90, below = 20;
    std::mt19937_64 random(20261129);
    const view_shape shape = test::packed(dtype::u8, rows, cols, 1), real = test::packed(dtype::f32, rows, cols, 1);
    for (const std::int64_t above : {2, 70}) {
        const filter_options options{.window = window_extents{above, below, 3, 11}, .min_count = 5};
        test::host_image image(shape), mask(shape);
        fill_bytes(random, image.view(), 0);
        fill_mask(random, mask.view());
        test::device_images device(stream());
        const any_view from = device.upload(image.view()), samples = device.upload(mask.view());
        for (const int filter : {0, 1, 2}) {
            const auto run = [&](const filter_inputs& inputs, const any_view& result) {
                if (filter == 0) return cuda::local_statistics(inputs, {.deviation = result}, stream(), options);
                if (filter == 1) return cuda::local_contrast(inputs, {result}, stream(), {}, options);
                const auto method = above < 10 ? threshold_method::bradley : threshold_method::niblack;
                cuda::adaptive_threshold(inputs, {result}, stream(),
                                         {.method = method, .output = threshold_output::threshold}, options);
            };
            test::host_image whole(real), strips(real);
            const any_view all = device.upload(whole.view());
            run({.image = from, .mask = samples}, all);
            cuda::copy(all, whole.view(), stream());
            run({.image = image.view(), .mask = mask.view()}, strips.view());
            EXPECT_TRUE(whole.bytes == strips.bytes) << above << ", " << filter;
            for (const row_range part : {row_range{0, 61}, {61, 62}, {62, rows}}) {
                const std::int64_t first = std::max<std::int64_t>(part.first - above, 0),
                                   end = std::min(part.end + below, rows);
                const auto rows_of = [&](any_view v) {
                    v.data = static_cast<std::byte*>(v.data) + first * v.shape.row_stride;
                    v.shape.rows = end - first;
                    return v;
                };
                test::host_image got(test::packed(dtype::f32, part.end - part.first, cols, 1));
                const any_view result = device.upload(got.view());
                run({.image = rows_of(from),
                     .at = {first, 0},
                     .whole = {rows, cols},
                     .mask = rows_of(samples),
                     .results = part},
                    result);
                cuda::copy(result, got.view(), stream());
                EXPECT_EQ(
                    std::memcmp(got.bytes.data(), whole.bytes.data() + part.first * real.row_stride, got.bytes.size()),
                    0)
                    << above << ", " << filter << ", rows " << part.first;
            }
        }
    }
}

/// Rows of host memory in several strips, of several channels and planes, whose maps have as many or one: the bits of
/// memory of the device, where a plane is computed at once.
TEST_F(real_windows_test, several_strips_have_the_bits_of_the_whole) {
    struct strip_case {
        dtype type;
        std::int64_t channels, planes;
        struct {
            std::int64_t channels = 0, planes = 1;  ///< no channel: not given
        } mask, weights;
        std::optional<double> nodata;
        window_extents reach;
        border_mode border;
    };
    constexpr std::int64_t rows = 75, cols = 64;  // no gaps between a strip's rows, which initcheck sees read
    const window_extents low{2, 4, 3, 5}, high{17, 9, 11, 6};
    std::mt19937_64 random(20261129);
    for (const strip_case& c : {strip_case{dtype::f32, 1, 1, {}, {}, {}, low, border_mode::shrink},
                                {dtype::f32, 1, 2, {1, 1}, {}, 3, high, border_mode::mirror},
                                {dtype::f64, 1, 2, {1, 2}, {1, 1}, {}, low, border_mode::constant},
                                {dtype::f32, 2, 1, {}, {2, 1}, {}, high, border_mode::shrink},
                                {dtype::u8, 3, 2, {1, 1}, {}, {}, low, border_mode::replicate},
                                {dtype::u8, 1, 2, {1, 1}, {}, 5, high, border_mode::shrink},
                                {dtype::u8, 2, 2, {2, 2}, {}, {}, high, border_mode::reflect},
                                {dtype::u8, 1, 1, {}, {}, 7, low, border_mode::wrap},
                                {dtype::u8, 1, 2, {}, {1, 1}, {}, low, border_mode::shrink},
                                {dtype::u16, 2, 2, {1, 1}, {1, 2}, 9, high, border_mode::mirror},
                                {dtype::s16, 1, 2, {1, 1}, {}, {}, low, border_mode::shrink}}) {
        const bool weighted = c.weights.channels > 0;
        const auto map_of = [&](dtype type, const auto& s) {
            return test::host_image(test::packed(type, rows, cols, std::max<std::int64_t>(s.channels, 1), s.planes));
        };
        test::host_image image = test::random_image(test::packed(c.type, rows, cols, c.channels, c.planes), 5),
                         mask = map_of(dtype::u8, c.mask), weights = map_of(dtype::f32, c.weights);
        for (std::byte& m : mask.bytes) m = static_cast<std::byte>(random() % 3);
        for (std::size_t i = 0; i < weights.bytes.size() / 4; ++i)
            reinterpret_cast<float*>(weights.bytes.data())[i] = static_cast<float>(random() % 1000) / 64;
        test::device_images device(stream());
        filter_inputs on_host{.image = image.view()}, on_device{.image = device.upload(image.view())};
        if (c.mask.channels > 0) on_host.mask = mask.view(), on_device.mask = device.upload(mask.view());
        if (weighted) on_host.weights = weights.view(), on_device.weights = device.upload(weights.view());
        const filter_options options{
            .window = c.reach, .border = c.border, .border_value = 3, .nodata = c.nodata, .threads = 1};
        const filters::part given = filters::part_of(on_host);
        const auto shape_of = [&](dtype type) { return test::packed(type, rows, cols, c.channels, c.planes); };
        const view_shape real = shape_of(dtype::f64), narrow = shape_of(dtype::f32), own = shape_of(c.type),
                         bytes = shape_of(dtype::u8), count = shape_of(weighted ? dtype::f32 : dtype::u32);

        /// `shapes` as of result_views; those without rows are not wanted.
        const auto expect_same = [&](const char* what, const std::array<view_shape, 5>& shapes,
                                     const cuda::window_filter& filter, auto&& call) {
            std::deque<test::host_image> whole, strips;
            cuda::result_views on_the_device, in_strips;
            std::int64_t row_bytes = image.shape.row_stride;
            for (std::size_t i = 0; i < shapes.size(); ++i) {
                const view_shape shape = shapes[i].rows != 0 ? shapes[i] : test::packed(dtype::u8, 1, 1, 1);
                strips.emplace_back(shape), whole.emplace_back(shape);
                if (shapes[i].rows == 0) continue;
                row_bytes = std::max(row_bytes, shapes[i].row_stride);
                on_the_device[i] = device.upload(whole[i].view());
                in_strips[i] = strips[i].view();
            }
            call(on_the_device);
            for (std::size_t i = 0; i < shapes.size(); ++i)
                if (shapes[i].rows != 0) cuda::copy(on_the_device[i], whole[i].view(), stream());
            for (const std::int64_t height : {std::int64_t{7}, rows}) {
                for (test::host_image& result : strips)
                    std::fill(result.bytes.begin(), result.bytes.end(), std::byte{0x5a});
                cuda::execute(filter, {on_host.image, in_strips, {}, on_host.mask, on_host.weights}, stream(),
                              height * row_bytes);
                for (std::size_t i = 0; i < shapes.size(); ++i)
                    EXPECT_TRUE(strips[i].bytes == whole[i].bytes)
                        << what << ", result " << i << ", strips of " << height << " rows, " << name_of(c.type) << ", "
                        << c.channels << " x " << c.planes << ", " << name_of(c.border);
            }
        };
        const auto statistics_filter = [](const filters::window_job& job, bool squares) {
            return cuda::window_filter{
                .windows = job,
                .squares = squares,
                .maker = cuda::window_maker::real,
                .consume = [](const cuda::filter_step& at) {
                    cuda::enqueue_real_statistics(
                        at.real, {at.results[0], at.results[1], at.results[2], at.results[3], at.results[4]},
                        at.stream);
                }};
        };
        expect_same("means", {own, {}, {}, {}, count},
                    statistics_filter(filters::box_filter_job(given, {own, count}, options), false),
                    [&](const cuda::result_views& to) {
                        cuda::box_filter(on_device, {to[0], to[4]}, stream(), options);
                    });
        expect_same(
            "moments", {narrow, real, narrow, real, count},
            statistics_filter(filters::statistics_job(given, {narrow, real, narrow, real, count}, options), true),
            [&](const cuda::result_views& to) {
                cuda::local_statistics(on_device, {to[0], to[1], to[2], to[3], to[4]}, stream(), options);
            });
        const threshold_rule rule{.method = threshold_method::niblack};
        const filters::threshold_job threshold = filters::make_threshold_job(given, {bytes, count}, rule, options);
        expect_same("thresholds", {bytes, {}, {}, {}, count},
                    {.windows = threshold.windows,
                     .squares = true,
                     .maker = cuda::window_maker::real,
                     .consume =
                         [&](const cuda::filter_step& at) {
                             cuda::enqueue_real_threshold(at.real, {.mean = at.results[0], .count = at.results[4]},
                                                          threshold, at.extremes, at.stream);
                         }},
                    [&](const cuda::result_views& to) {
                        cuda::adaptive_threshold(on_device, {to[0], to[4]}, stream(), rule, options);
                    });
        expect_same(
            "contrast", {narrow, {}, {}, {}, {}},
            {.windows = filters::make_contrast_job(given, {narrow}, {2}, options).windows,
             .squares = true,
             .maker = cuda::window_maker::real,
             .consume =
                 [](const cuda::filter_step& at) {
                     cuda::enqueue_real_contrast(at.real, {.mean = at.results[0]}, 2, at.stream);
                 }},
            [&](const cuda::result_views& to) { cuda::local_contrast(on_device, {to[0]}, stream(), {2}, options); });
        if (HasFailure()) return;
    }
}

/// Tiles of what sums of floats may be exact of, and of what they may not.
float mixed_pixel(std::mt19937_64& random, std::uint64_t kind) {
    const auto fraction = [&] { return static_cast<float>(random() >> 40) * 0x1p-24f; };
    switch (kind % 4) {
        case 0:
            return static_cast<float>(random() % 65536);
        case 1:
            return static_cast<float>(random() % 256) / 255;
        case 2:  // with some that are finer, by what a double has beside sums of a few pixels, of many, or not at all
            return (fraction() + 1) * (random() % 20 == 0 ? std::ldexp(1.0f, -static_cast<int>(kind / 4 % 40)) : 1);
        default:
            return static_cast<float>(static_cast<int>(random() % 512) - 256);
    }
}

/// What spoils every sum that slides.
float odd_pixel(std::mt19937_64& random) {
    const float odd[] = {std::numeric_limits<float>::quiet_NaN(),
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity(),
                         1e30f,
                         -1e30f,
                         1e-38f,
                         1e-45f,
                         1};
    return odd[random() % 40 == 0 ? random() % 7 : 7];
}

/// Blocks that slide beside blocks that only add: every window is within the bound, integers' are exact, and results
/// do not depend on which rows a call has, though blocks do.
TEST_F(real_windows_test, who_makes_a_window_does_not_change_it) {
    constexpr std::int64_t rows = 150, cols = 300, tall = 25, wide = 60;
    std::mt19937_64 random(20261127);
    for (const std::int64_t reach : {0, 2, 15, 45}) {
        const view_shape shape = test::packed(dtype::f32, rows, cols, 1),
                         real = test::packed(dtype::f64, rows, cols, 1), bytes = test::packed(dtype::u8, rows, cols, 1);
        test::host_image image(shape), mask(bytes), scales(shape);
        std::vector<std::uint64_t> kinds((rows / tall) * (cols / wide));
        for (std::uint64_t& kind : kinds) kind = random();
        auto* const pixels = reinterpret_cast<float*>(image.bytes.data());
        for (std::int64_t i = 0; i < rows * cols; ++i) {
            const std::int64_t tile = i / cols / tall * (cols / wide) + i % cols / wide;
            const bool last = tile + 1 == static_cast<std::int64_t>(kinds.size());
            pixels[i] = last ? odd_pixel(random) : mixed_pixel(random, kinds[static_cast<std::size_t>(tile)]);
            mask.bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(random() % 4);
            reinterpret_cast<float*>(scales.bytes.data())[i] = static_cast<float>(random() % 16) / 16;
        }
        test::host_image integers_of_a_byte = test::random_image(bytes, 4),
                         integers_of_two = test::random_image(test::packed(dtype::u16, rows, cols, 1), 5);
        test::device_images device(stream());
        const any_view from = device.upload(image.view()), samples = device.upload(mask.view()),
                       weights = device.upload(scales.view());
        // Floats; some of which do not count; with weights; integers of which those floats are the weights.
        for (const int how : {0, 1, 2, 3, 4}) {
            if ((how == 3 && reach != 2 && reach != 45) || (how == 4 && reach != 15)) continue;
            const bool counted = how > 0, weighted = how > 1, whole = how > 2;
            test::host_image& integer_image = how == 3 ? integers_of_a_byte : integers_of_two;
            const auto pixel = [&](std::int64_t at) {
                if (!whole) return static_cast<double>(pixels[at]);
                if (how == 3) return static_cast<double>(reinterpret_cast<u8*>(integer_image.bytes.data())[at]);
                return static_cast<double>(reinterpret_cast<u16*>(integer_image.bytes.data())[at]);
            };
            const auto weight = [&](std::int64_t at) {
                const float given = whole ? pixels[at] : reinterpret_cast<float*>(scales.bytes.data())[at];
                return !weighted ? 1 : given > 0 && given < infinity ? static_cast<double>(given) : 0;
            };
            const std::int64_t above = reach, below = reach / 2, left = reach, right = reach + 3;
            filter_options options{.window = window_extents{above, below, left, right}};
            if (counted) options.nan = nan_mode::omit;
            filter_inputs inputs{.image = from}, on_host{.image = image.view()};
            if (counted) inputs.mask = samples, on_host.mask = mask.view();
            if (weighted) inputs.weights = weights, on_host.weights = scales.view();
            if (whole) {
                inputs.image = device.upload(integer_image.view()), inputs.weights = from;
                on_host.image = integer_image.view(), on_host.weights = image.view();
            }
            const dtype narrow_type = whole ? integer_image.shape.type : dtype::f32;
            test::host_image narrow(test::packed(narrow_type, rows, cols, 1)), got(real), cpu(real);
            const any_view means = device.allocate(narrow.shape), wide_means = device.allocate(real);
            cuda::box_filter(inputs, {means}, stream(), options);
            cuda::box_filter(inputs, {wide_means}, stream(), options);
            cuda::copy(means, narrow.view(), stream());
            cuda::copy(wide_means, got.view(), stream());
            box_filter(on_host, {cpu.view()}, options);
            const auto* const found = reinterpret_cast<const double*>(got.bytes.data());
            const auto* const expected = reinterpret_cast<const double*>(cpu.bytes.data());
            const auto rounded = [&](const test::host_image& of, std::int64_t at) -> double {
                if (how == 3) return reinterpret_cast<const u8*>(of.bytes.data())[at];
                if (how == 4) return reinterpret_cast<const u16*>(of.bytes.data())[at];
                return static_cast<double>(reinterpret_cast<const float*>(of.bytes.data())[at]);
            };
            const auto as_rounded = [&](double mean) {
                if (!whole) return static_cast<double>(static_cast<float>(mean));
                return std::isnan(mean) ? 0 : std::floor(mean) + (mean - std::floor(mean) >= 0.5 ? 1 : 0);
            };
            std::int64_t exact = 0;
            for (std::int64_t i = 0; i < rows * cols; ++i) {
                const bool both_nan = std::isnan(found[i]) && std::isnan(rounded(narrow, i));
                ASSERT_TRUE(both_nan || as_rounded(found[i]) == rounded(narrow, i))
                    << how << ", " << reach << ", " << i;
                if (i % 7 != 0) continue;
                double sum = 0, magnitudes = 0, count = 0;
                bool integers = true;
                for (std::int64_t r = std::max<std::int64_t>(i / cols - above, 0);
                     r <= std::min(i / cols + below, rows - 1); ++r)
                    for (std::int64_t c = std::max<std::int64_t>(i % cols - left, 0);
                         c <= std::min(i % cols + right, cols - 1); ++c) {
                        const double x = pixel(r * cols + c), w = weight(r * cols + c);
                        if (counted &&
                            (std::isnan(x) || mask.bytes[static_cast<std::size_t>(r * cols + c)] == std::byte{}))
                            continue;
                        if (w == 0) continue;
                        count += w;
                        sum += w * x;
                        magnitudes += w * std::abs(x);
                        const double given = static_cast<double>(pixels[r * cols + c]);
                        integers = integers && std::abs(given) < 65536 && given == std::floor(given);
                    }
                exact += integers;
                if (!std::isfinite(sum) || count == 0) {
                    ASSERT_TRUE(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i])))
                        << reach << ", " << i << ": " << found[i] << ", the CPU has " << expected[i];
                } else if (integers) {
                    ASSERT_EQ(found[i], expected[i]) << reach << ", " << i;
                    ASSERT_EQ(rounded(narrow, i), as_rounded(expected[i])) << how << ", " << reach << ", " << i;
                } else {  // weights that are rounded change what their sum is, too
                    const double bound = static_cast<double>(above + below + left + right + 6) * 0x1p-53 * magnitudes;
                    ASSERT_NEAR(found[i], expected[i], (whole ? 4 : 2) * bound / count) << how << ", " << reach;
                }
            }
            EXPECT_GT(exact, 0);
            for (const row_range part : {row_range{0, 47}, {47, 48}, {48, 150}}) {
                filter_inputs some = inputs;
                some.results = part;
                test::host_image bits(test::packed(narrow_type, part.end - part.first, cols, 1));
                const any_view result = device.upload(bits.view());
                cuda::box_filter(some, {result}, stream(), options);
                cuda::copy(result, bits.view(), stream());
                for (std::int64_t i = 0; i < (part.end - part.first) * cols; ++i) {
                    const double a = rounded(bits, i), b = rounded(narrow, part.first * cols + i);
                    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
                        << reach << ", row " << part.first + i / cols << ", col " << i % cols << ": " << a << ", " << b;
                }
            }
        }
    }
}

/// Weights of eight bits, among them some that count for nothing, and pixels of a type's whole range: all sums are
/// exact, and results those of the CPU, bit for bit; also where infinite weights, which count for nothing either, leave
/// all to additions. Means and counts that threads write together, and any others; rows that start anywhere; parts;
/// windows of blocks of several sizes.
TEST_F(real_windows_test, weighted_means_slide_and_are_those_of_additions) {
    constexpr std::int64_t rows = 110, cols = 413;
    const window_extents windows[] = {{0, 0, 0, 0}, {2, 3, 4, 1}, {9, 6, 12, 15}, {50, 60, 70, 90}};
    std::mt19937_64 random(20261129);
    int n = 0;
    for (const dtype type : {dtype::u8, dtype::u16, dtype::s16, dtype::f32})
        for (const window_extents& reach : windows) {
            if (type == dtype::f32 && reach.above != 9) continue;
            if (type != dtype::u8 && (reach.above == 0 || (type == dtype::s16 && reach.above == 50))) continue;
            const view_shape shape = test::packed(type, rows, cols, 1), real = test::packed(dtype::f64, rows, cols, 1),
                             narrow = test::packed(dtype::f32, rows, cols, 1);
            test::host_image image(shape), mask(test::packed(dtype::u8, rows, cols, 1)), weights(narrow);
            fill(image.view(), pattern::random, static_cast<std::uint64_t>(++n));
            auto* const scales = reinterpret_cast<float*>(weights.bytes.data());
            const float odd[] = {0, -0.0f, -3, std::numeric_limits<float>::quiet_NaN()};
            for (std::int64_t i = 0; i < rows * cols; ++i) {
                if (type == dtype::f32)
                    reinterpret_cast<float*>(image.bytes.data())[i] = static_cast<float>(random() % 4096) - 2048;
                mask.bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(random() % 3);
                const bool none = i / cols < 30 && i % cols > 300;  // windows where nothing counts
                scales[i] = random() % 4 == 0 ? odd[random() % 4] : static_cast<float>(random() % 256) / 16;
                if (none) scales[i] = odd[random() % 4];
            }
            filter_options options{
                .window = reach,
                .border = test::every_border[static_cast<std::size_t>(n) % std::size(test::every_border)]};
            options.border_value = 100;
            if (n % 2 == 0) options.rounding = rounding_mode::floor;
            if (n % 3 == 0) options.nodata = 100;
            if (n % 3 == 1) options.min_weight = 20;
            if (n % 4 == 1) options.fill = 77;
            const bool masked = n % 3 == 2;
            const std::string what = std::string(name_of(type)) + ", window " + std::to_string(reach.above) + ", " +
                                     std::string(name_of(options.border));
            for (const bool infinite : {false, true}) {
                if (infinite)
                    for (std::int64_t i = 0; i < rows * cols; ++i)
                        if (i / cols % 4 == 1 && i % cols % 20 == 7) scales[i] = infinity;
                filter_inputs on_host{.image = image.view(), .weights = weights.view()};
                if (masked) on_host.mask = mask.view();
                test::host_image mean(shape), count(narrow), wide(real), sum(real), weight(real);
                box_filter(on_host, {mean.view(), count.view()}, options);
                local_statistics(on_host, {.mean = wide.view(), .sum = sum.view(), .count = weight.view()}, options);
                for (const bool aligned : {true, false}) {
                    if (infinite && !aligned) continue;
                    test::device_images device(stream());
                    const auto upload = [&](test::host_image& host) {
                        return aligned ? device.upload(host.view()) : device.upload_packed(host.view());
                    };
                    const auto fetch = [&](const any_view& result, const view_shape& like) {
                        test::host_image got(like);
                        cuda::copy(result, got.view(), stream());
                        return got;
                    };
                    const auto room = [&](const view_shape& s) {
                        return aligned ? device.allocate_like(s) : device.allocate(s);
                    };
                    filter_inputs inputs{.image = upload(image), .weights = upload(weights)};
                    if (masked) inputs.mask = upload(mask);
                    const slid blocks = slide_means(inputs, options);
                    EXPECT_EQ(blocks.refused, infinite ? blocks.blocks : 0) << what;
                    const any_view means = room(shape), counts = room(narrow), wide_means = room(real),
                                   sums = room(real), weights_of = room(real);
                    cuda::box_filter(inputs, {means, counts}, stream(), options);
                    cuda::local_statistics(inputs, {.mean = wide_means, .sum = sums, .count = weights_of}, stream(),
                                           options);
                    const auto same = [&](const any_view& result, const test::host_image& expected) {
                        return fetch(result, expected.shape).bytes == expected.bytes;
                    };
                    ASSERT_TRUE(same(means, mean)) << what << ": mean";
                    ASSERT_TRUE(same(counts, count)) << what << ": count";
                    ASSERT_TRUE(same(wide_means, wide)) << what << ": mean of 64f";
                    ASSERT_TRUE(same(sums, sum)) << what << ": sum";
                    ASSERT_TRUE(same(weights_of, weight)) << what << ": count of 64f";
                    for (const row_range part : {row_range{0, 47}, {47, 48}, {48, rows}}) {
                        if (infinite || !aligned) break;
                        filter_inputs some = inputs;
                        some.results = part;
                        view_shape few = shape;
                        few.rows = part.end - part.first;
                        const any_view result = room(few);
                        cuda::box_filter(some, {result}, stream(), options);
                        const test::host_image got = fetch(result, few);
                        ASSERT_EQ(std::memcmp(got.bytes.data(), mean.bytes.data() + part.first * shape.row_stride,
                                              got.bytes.size()),
                                  0)
                            << what << ": rows from " << part.first;
                    }
                }
            }
        }
}

/// Of a few channels, with weights for each or for all.
TEST_F(real_windows_test, channels_with_weights_slide) {
    constexpr std::int64_t rows = 40, cols = 150;
    for (const dtype type : {dtype::u8, dtype::u16, dtype::f32})
        for (const std::int64_t channels : {1, 3}) {
            test::host_image image(test::packed(type, rows, cols, 3)),
                weights(test::packed(dtype::f32, rows, cols, channels)), mean(image.shape),
                count(test::packed(dtype::f32, rows, cols, 3));
            fill(image.view(), pattern::random, 3);
            for (std::int64_t i = 0; i < rows * cols * channels; ++i)
                reinterpret_cast<float*>(weights.bytes.data())[i] = static_cast<float>(i * 7 % 61);
            if (type == dtype::f32)
                for (std::int64_t i = 0; i < rows * cols * 3; ++i)
                    reinterpret_cast<float*>(image.bytes.data())[i] = static_cast<float>(i * 11 % 509);
            const filter_options options{.window = {7, 9}, .border = border_mode::mirror};
            box_filter({.image = image.view(), .weights = weights.view()}, {mean.view(), count.view()}, options);
            test::device_images device(stream());
            const filter_inputs inputs{.image = device.upload(image.view()), .weights = device.upload(weights.view())};
            EXPECT_EQ(slide_means(inputs, options).refused, 0);
            const any_view means = device.allocate_like(mean.shape), counts = device.allocate_like(count.shape);
            cuda::box_filter(inputs, {means, counts}, stream(), options);
            test::host_image got(mean.shape), weight(count.shape);
            cuda::copy(means, got.view(), stream());
            cuda::copy(counts, weight.view(), stream());
            EXPECT_TRUE(got.bytes == mean.bytes) << name_of(type) << ", weights of " << channels;
            EXPECT_TRUE(weight.bytes == count.bytes) << name_of(type) << ", weights of " << channels;
        }
}

/// Quotients at and beside those that are rounded up, of few bits and of as many as sums have that slide.
TEST_F(real_windows_test, weighted_means_are_rounded_as_quotients_in_double_are) {
    constexpr std::int64_t rows = 64, cols = 256;
    for (const dtype type : {dtype::u8, dtype::u16, dtype::s16})
        for (const rounding_mode rounding : {rounding_mode::half_up, rounding_mode::floor}) {
            test::host_image image(test::packed(type, rows, cols, 1)), weights(test::packed(dtype::f32, rows, cols, 1)),
                mean(image.shape);
            std::mt19937_64 random(20261130);
            const int low = type == dtype::s16 ? -32768 : 0, high = type == dtype::u8 ? 255 : low + 65535;
            for (std::int64_t i = 0; i < rows * cols; i += 2) {
                // Two pixels that differ by one: with equal weights, or such whose sum is beside twice one of them.
                const int x = low + static_cast<int>(random() % static_cast<unsigned>(high - low));
                const auto a = static_cast<float>(8388608 + random() % 8388608),
                           beside = a + static_cast<float>(static_cast<int>(random() % 3) - 1);
                const int pair[] = {x, random() % 2 == 0 ? x + 1 : x};
                const float scales[] = {a, beside};
                for (std::int64_t k = 0; k < 2; ++k) {
                    reinterpret_cast<float*>(weights.bytes.data())[i + k] = scales[k];
                    if (type == dtype::u8)
                        reinterpret_cast<u8*>(image.bytes.data())[i + k] = static_cast<u8>(pair[k]);
                    else
                        reinterpret_cast<u16*>(image.bytes.data())[i + k] = static_cast<u16>(pair[k]);
                }
            }
            const filter_options options{.window = window_extents{0, 0, 0, 1}, .rounding = rounding};
            box_filter({.image = image.view(), .weights = weights.view()}, {mean.view()}, options);
            test::device_images device(stream());
            const filter_inputs inputs{.image = device.upload(image.view()), .weights = device.upload(weights.view())};
            EXPECT_EQ(slide_means(inputs, options).refused, 0);
            const any_view means = device.allocate_like(mean.shape);
            cuda::box_filter(inputs, {means}, stream(), options);
            test::host_image got(mean.shape);
            cuda::copy(means, got.view(), stream());
            EXPECT_TRUE(got.bytes == mean.bytes) << name_of(type) << ", " << static_cast<int>(rounding);
        }
}

/// As below, of weights: windows of one pixel are exact, the prefix sums before them are not; and a band's first
/// windows are, but not what a row with finer weights leaves of them.
TEST_F(real_windows_test, weights_whose_sums_are_not_exact_do_not_slide) {
    constexpr std::int64_t rows = 20, cols = 600;
    for (const dtype type : {dtype::u8, dtype::u16, dtype::f32})
        for (const bool enter : {false, true}) {
            const double largest = type == dtype::u16 ? 65535 : 255;
            test::host_image image(test::packed(type, rows, cols, 1)), weights(test::packed(dtype::f32, rows, cols, 1)),
                got(test::packed(dtype::f64, rows, cols, 1)), sum = got;
            auto* const scales = reinterpret_cast<float*>(weights.bytes.data());
            const auto huge = static_cast<float>((enter ? 0x1.fp40 : 0x1.fp46) / (largest + 1));
            for (std::int64_t i = 0; i < rows * cols; ++i) {
                const bool fine = (enter ? i % cols : i) % 8 == 0;
                const float small = !enter ? static_cast<float>(i % 100 + 1) : i / cols % 12 == 4 ? 3 * 0x1p-10f : 3;
                scales[i] = fine ? small : huge;
                if (type == dtype::u8)
                    reinterpret_cast<u8*>(image.bytes.data())[i] = 255;
                else if (type == dtype::u16)
                    reinterpret_cast<u16*>(image.bytes.data())[i] = 65535;
                else
                    reinterpret_cast<float*>(image.bytes.data())[i] = 255;
            }
            const filter_options options{.window = {enter ? 3 : 1, 1}};
            test::device_images device(stream());
            const filter_inputs inputs{.image = device.upload(image.view()), .weights = device.upload(weights.view())};
            EXPECT_GT(slide_means(inputs, options).refused, 0);
            const any_view counts = device.allocate(got.shape), sums = device.allocate(got.shape);
            cuda::local_statistics(inputs, {.sum = sums, .count = counts}, stream(), options);
            cuda::copy(counts, got.view(), stream());
            cuda::copy(sums, sum.view(), stream());
            const std::int64_t apart = enter ? 1 : 0;
            for (std::int64_t i = 0; i < rows * cols; ++i) {
                double all = 0;
                for (std::int64_t y = std::max<std::int64_t>(i / cols - apart, 0);
                     y <= std::min(i / cols + apart, rows - 1); ++y)
                    all += scales[y * cols + i % cols];
                ASSERT_EQ(reinterpret_cast<const double*>(got.bytes.data())[i], all) << name_of(type) << ", " << i;
                ASSERT_EQ(reinterpret_cast<const double*>(sum.bytes.data())[i], largest * all) << name_of(type);
            }
        }
}

/// A NaN that is left out beside weights of many magnitudes, which leave their block to additions.
TEST_F(real_windows_test, weights_of_many_magnitudes_leave_out_nan) {
    constexpr std::int64_t rows = 24, cols = 256, strange = 11 * cols + 100;
    test::host_image image(test::packed(dtype::f32, rows, cols, 1)),
        weights = image, got(test::packed(dtype::f64, rows, cols, 1)), count = got, expected = got,
        expected_count = got;
    auto* const pixels = reinterpret_cast<float*>(image.bytes.data());
    auto* const scales = reinterpret_cast<float*>(weights.bytes.data());
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        pixels[i] = static_cast<float>(i % 250);
        scales[i] = std::exp(-static_cast<float>(i % 17));
    }
    pixels[strange] = static_cast<float>(nan);
    const filter_options options{.window = {5, 5}, .nan = nan_mode::omit};
    test::device_images device(stream());
    const filter_inputs inputs{.image = device.upload(image.view()), .weights = device.upload(weights.view())};
    EXPECT_GT(slide_means(inputs, options).refused, 0);
    const any_view means = device.allocate(got.shape), counts = device.allocate(got.shape);
    cuda::local_statistics(inputs, {.mean = means, .count = counts}, stream(), options);
    cuda::copy(means, got.view(), stream());
    cuda::copy(counts, count.view(), stream());
    local_statistics({.image = image.view(), .weights = weights.view()},
                     {.mean = expected.view(), .count = expected_count.view()}, options);
    const auto of = [](const test::host_image& x, std::int64_t i) {
        return reinterpret_cast<const double*>(x.bytes.data())[i];
    };
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        ASSERT_NEAR(of(got, i), of(expected, i), 1e-11 * (1 + std::abs(of(expected, i)))) << i;
        ASSERT_NEAR(of(count, i), of(expected_count, i), 1e-13) << i;
    }
}

/// Moments that slide are those of exact sums, bit for bit, and of windows without a huge pixel the same where huge
/// pixels beside them leave the whole image to additions; also in parts. Results of 32f, and with some of 64f.
TEST_F(real_windows_test, moments_that_slide_are_exact_and_those_of_additions) {
    constexpr std::int64_t rows = 140, cols = 613, apart_rows = 20, apart_cols = 40;
    const view_shape shape = test::packed(dtype::f32, rows, cols, 1), real = test::packed(dtype::f64, rows, cols, 1);
    std::mt19937_64 random(20261130);
    for (const window_extents& reach : {window_extents{0, 0, 0, 0}, window_extents{2, 3, 4, 1},
                                        window_extents{9, 6, 12, 15}, window_extents{50, 60, 70, 90}})
        for (const border_mode border : {border_mode::shrink, border_mode::mirror, border_mode::constant}) {
            test::host_image image(shape), spoilt(shape);
            auto* const pixels = reinterpret_cast<float*>(image.bytes.data());
            auto* const huge = reinterpret_cast<float*>(spoilt.bytes.data());
            const auto is_huge = [&](std::int64_t r, std::int64_t c) {
                return r % apart_rows == 7 && c % apart_cols == 11;
            };
            for (std::int64_t i = 0; i < rows * cols; ++i) {
                pixels[i] = static_cast<float>(static_cast<int>(random() % 4096) - (i % cols < 300 ? 2048 : 0));
                if (i / cols < 60 && i % cols < 60) pixels[i] = 7;  // varies by nothing
                huge[i] = is_huge(i / cols, i % cols) ? 1e30f : pixels[i];
            }
            const filter_options options{.window = reach, .border = border, .border_value = 100};
            const filters::window_job job = filters::windows_of({shape}, options);
            ASSERT_TRUE(cuda::sliding_supports(job, true));
            test::device_images device(stream());
            const any_view from = device.upload(image.view()), of_huge = device.upload(spoilt.view());
            const auto moments = [&](const filter_inputs& inputs, const view_shape& s) {
                std::array<test::host_image, 3> got{test::host_image(s), test::host_image(s), test::host_image(s)};
                std::array<any_view, 3> to;
                for (std::size_t k = 0; k < 3; ++k) {
                    std::fill(got[k].bytes.begin(), got[k].bytes.end(), std::byte{0x5a});
                    to[k] = device.upload(got[k].view());
                }
                cuda::local_statistics(inputs, {.mean = to[0], .variance = to[1], .deviation = to[2]}, stream(),
                                       options);
                for (std::size_t k = 0; k < 3; ++k) cuda::copy(to[k], got[k].view(), stream());
                return got;
            };
            const auto wide = moments({from}, real), narrow = moments({from}, shape), added = moments({of_huge}, real),
                       added_narrow = moments({of_huge}, shape);
            // Of integers: sums of the extended image above and to the left.
            const std::int64_t tall = rows + reach.above + reach.below, broad = cols + reach.left + reach.right;
            using totals = std::array<std::int64_t, 4>;  // pixels, their sum, that of squares, huge ones
            std::vector<totals> table(static_cast<std::size_t>((tall + 1) * (broad + 1)), totals{});
            const auto entry = [&](std::int64_t r, std::int64_t c) -> totals& {
                return table[static_cast<std::size_t>(r * (broad + 1) + c)];
            };
            for (std::int64_t r = 0; r < tall; ++r)
                for (std::int64_t c = 0; c < broad; ++c) {
                    const std::int64_t row = job.rows.source(r - reach.above), col = job.cols.source(c - reach.left);
                    const bool inside = row >= 0 && col >= 0;
                    const auto v = static_cast<std::int64_t>(inside ? pixels[row * cols + col] : 100);
                    totals one{};
                    if (inside || border != border_mode::shrink) one = {1, v, v * v, inside && is_huge(row, col)};
                    for (std::size_t k = 0; k < 4; ++k)
                        entry(r + 1, c + 1)[k] = one[k] + entry(r, c + 1)[k] + entry(r + 1, c)[k] - entry(r, c)[k];
                }
            std::int64_t left = 0;
            for (std::int64_t i = 0; i < rows * cols; ++i) {
                const std::int64_t y = i / cols, x = i % cols, bottom = y + reach.above + reach.below + 1,
                                   right = x + reach.left + reach.right + 1;
                totals in{};
                for (std::size_t k = 0; k < 4; ++k)
                    in[k] = entry(bottom, right)[k] - entry(y, right)[k] - entry(bottom, x)[k] + entry(y, x)[k];
                const auto [n, sum, squares, huge_ones] = in;
                const bool any_huge = huge_ones > 0;
                const double mean = static_cast<double>(sum) / static_cast<double>(n),
                             variance = static_cast<double>(n * squares - sum * sum) / static_cast<double>(n * n);
                const double expected[] = {mean, variance, std::sqrt(variance)};
                for (std::size_t k = 0; k < 3; ++k) {
                    const double found = reinterpret_cast<const double*>(wide[k].bytes.data())[i];
                    const float rounded = reinterpret_cast<const float*>(narrow[k].bytes.data())[i];
                    ASSERT_EQ(found, expected[k]) << name_of(border) << ", " << k << ", " << y << ", " << x;
                    ASSERT_EQ(rounded, static_cast<float>(expected[k])) << k << ", " << y << ", " << x;
                    if (any_huge) continue;
                    ASSERT_EQ(reinterpret_cast<const double*>(added[k].bytes.data())[i], found) << k << ", " << i;
                    ASSERT_EQ(reinterpret_cast<const float*>(added_narrow[k].bytes.data())[i], rounded)
                        << k << ", " << i;
                }
                left += !any_huge;
            }
            EXPECT_TRUE(left > 0 || reach.above > 15);
            for (const row_range part : {row_range{0, 47}, {47, 48}, {48, 140}}) {
                filter_inputs some{from};
                some.results = part;
                const auto bits = moments(some, test::packed(dtype::f64, part.end - part.first, cols, 1));
                for (std::size_t k = 0; k < 3; ++k)
                    EXPECT_EQ(std::memcmp(bits[k].bytes.data(), wide[k].bytes.data() + part.first * cols * 8,
                                          bits[k].bytes.size()),
                              0);
            }
        }
}

/// Sums of these pixels are exact, those of their squares are not: by sums that slide variances would be off by far
/// more than they are.
TEST_F(real_windows_test, squares_that_are_not_exact_do_not_slide) {
    constexpr std::int64_t rows = 60, cols = 300, reach = 5;
    const view_shape shape = test::packed(dtype::f32, rows, cols, 1), real = test::packed(dtype::f64, rows, cols, 1);
    test::host_image image(shape), got(real);
    std::mt19937_64 random(20261201);
    auto* const pixels = reinterpret_cast<float*>(image.bytes.data());
    for (std::int64_t i = 0; i < rows * cols; ++i) pixels[i] = static_cast<float>(15000001 + random() % 4);
    test::device_images device(stream());
    const any_view to = device.allocate(real);
    cuda::local_statistics({device.upload(image.view())}, {.variance = to}, stream(), {.window = window_radius(reach)});
    cuda::copy(to, got.view(), stream());
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        std::int64_t n = 0, sum = 0, squares = 0;  // of what is above 15000001
        for (std::int64_t r = std::max<std::int64_t>(i / cols - reach, 0); r <= std::min(i / cols + reach, rows - 1);
             ++r)
            for (std::int64_t c = std::max<std::int64_t>(i % cols - reach, 0);
                 c <= std::min(i % cols + reach, cols - 1); ++c) {
                const auto x = static_cast<std::int64_t>(pixels[r * cols + c]) - 15000001;
                ++n;
                sum += x;
                squares += x * x;
            }
        const double variance = static_cast<double>(n * squares - sum * sum) / static_cast<double>(n * n);
        ASSERT_NEAR(reinterpret_cast<const double*>(got.bytes.data())[i], variance, 1e-12) << i;
    }
}

/// Of pixels of both signs sums of rows stay small where as many of the largest would not fit a double: blocks slide
/// whose windows reach beyond no side, or whose columns there are read. Not where the few columns of a thread may hold
/// too much.
TEST_F(real_windows_test, windows_of_both_signs_slide) {
    constexpr std::int64_t rows = 60, cols = 3000, reach = 15;
    const view_shape shape = test::packed(dtype::f32, rows, cols, 1), real = test::packed(dtype::f64, rows, cols, 1);
    for (const auto& [border, masked, large] : {std::tuple{border_mode::reflect, false, false},
                                                {border_mode::reflect, false, true},
                                                {border_mode::wrap, false, false},
                                                {border_mode::shrink, true, false}}) {
        const filter_options options{.window = window_radius(reach), .border = border};
        test::host_image image(shape), mask(test::packed(dtype::u8, rows, cols, 1)), got(real);
        auto* const pixels = reinterpret_cast<float*>(image.bytes.data());
        for (std::int64_t i = 0; i < rows * cols; ++i) {
            const float sign = (i / cols + i % cols) % 2 == 0 ? 1.0f : -1.0f;
            pixels[i] = i % 37 == 0 ? 0x1p-20f * static_cast<float>(1 + i % 5)
                                    : sign * ((large ? 0x1p26f : 0x1p23f) - 4 * static_cast<float>(i % 11));
            mask.bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(i % 41 != 0);
        }
        test::device_images device(stream());
        filter_inputs inputs{.image = device.upload(image.view())};
        if (masked) inputs.mask = device.upload(mask.view());
        const any_view to = device.allocate(real);
        const slid blocks = slide_means(inputs, options);
        ASSERT_GT(blocks.blocks, 2);
        if (large) {
            EXPECT_EQ(blocks.refused, blocks.blocks);
            continue;
        }
        const bool follow = border == border_mode::reflect;  // columns beyond a side
        EXPECT_EQ(blocks.refused > 0, follow);
        EXPECT_LT(blocks.refused, blocks.blocks);
        cuda::local_statistics(inputs, {.sum = to}, stream(), options);
        cuda::copy(to, got.view(), stream());
        const auto place = [border = border](std::int64_t at, std::int64_t n) {
            if (at >= 0 && at < n) return at;
            if (border == border_mode::wrap) return (at + n) % n;
            return border == border_mode::shrink ? -1 : at < 0 ? -1 - at : 2 * n - 1 - at;
        };
        for (std::int64_t i = 0; i < rows * cols; i += 13) {
            std::int64_t sum = 0;  // of 2^-20
            for (std::int64_t y = i / cols - reach; y <= i / cols + reach; ++y)
                for (std::int64_t x = i % cols - reach; x <= i % cols + reach; ++x) {
                    const std::int64_t row = place(y, rows), col = place(x, cols), at = row * cols + col;
                    if (row < 0 || col < 0 || (masked && at % 41 == 0)) continue;
                    sum += static_cast<std::int64_t>(double{pixels[at]} * 0x1p20);
                }
            ASSERT_EQ(reinterpret_cast<const double*>(got.bytes.data())[i], static_cast<double>(sum) * 0x1p-20) << i;
        }
    }
}

/// Sums of -0 are 0, whether they slide or, beside a NaN, are added.
TEST_F(real_windows_test, sums_of_negative_zeros_are_zero) {
    constexpr std::int64_t rows = 20, cols = 600;
    const view_shape shape = test::packed(dtype::f32, rows, cols, 1);
    test::host_image image(shape), got(shape);
    auto* const pixels = reinterpret_cast<float*>(image.bytes.data());
    std::fill_n(pixels, rows * cols, -0.0f);
    for (const bool added : {false, true}) {
        if (added) pixels[10 * cols + 300] = static_cast<float>(nan);
        for (const std::int64_t tall : {1, 2, 3, 5}) {
            test::device_images device(stream());
            const any_view to = device.allocate(shape);
            const filter_options options{.window = {tall, 1}};
            EXPECT_EQ(slide_means({device.upload(image.view())}, options).refused > 0, added);
            cuda::box_filter({device.upload(image.view())}, {to}, stream(), options);
            cuda::copy(to, got.view(), stream());
            const auto* const means = reinterpret_cast<const float*>(got.bytes.data());
            for (std::int64_t i = 0; i < rows * cols; ++i)
                if (!std::isnan(means[i])) {
                    ASSERT_FALSE(std::signbit(means[i])) << tall << ", " << i;
                }
        }
    }
}

/// Means alone are written in vectors and divided by a product and a correction, others by a division: tiny, huge and
/// infinite sums, windows that a border cuts, and columns that no vector holds among them.
TEST_F(real_windows_test, means_alone_have_the_bits_of_those_beside_sums) {
    constexpr std::int64_t rows = 60;
    std::mt19937_64 random(20261129);
    const auto expect_alone = [&]<typename T>(T, std::int64_t cols, const window_extents& reach, int kind) {
        const view_shape shape = test::packed(dtype_of<T>, rows, cols, 1),
                         real = test::packed(dtype::f64, rows, cols, 1);
        test::host_image image(shape), alone(real), beside(real), sums(real), counts(real), narrow(shape);
        auto* const pixels = reinterpret_cast<T*>(image.bytes.data());
        constexpr int most = std::is_same_v<T, double> ? 1000 : 120;
        for (std::int64_t i = 0; i < rows * cols; ++i) {
            const double x = static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63;
            const int power = static_cast<int>(random() % (2 * most)) - most;
            pixels[i] = static_cast<T>(kind == 0   ? x
                                       : kind == 1 ? std::ldexp(x, power)
                                       : kind == 2 ? std::ldexp(x, -most - 20 - static_cast<int>(random() % 50))
                                                   : 0);
            if (kind == 1 && random() % 500 == 0) pixels[i] = static_cast<T>(random() % 2 == 0 ? infinity : nan);
        }
        test::device_images device(stream());
        const any_view from = device.upload(image.view()), to = device.allocate(real), mean = device.allocate(real),
                       sum = device.allocate(real), count = device.allocate(real), small = device.allocate(shape);
        const filter_options options{.window = reach};
        cuda::local_statistics({from}, {.mean = to}, stream(), options);
        cuda::local_statistics({from}, {.mean = mean, .sum = sum, .count = count}, stream(), options);
        cuda::box_filter({from}, {small}, stream(), options);
        cuda::copy(to, alone.view(), stream());
        cuda::copy(mean, beside.view(), stream());
        cuda::copy(sum, sums.view(), stream());
        cuda::copy(count, counts.view(), stream());
        cuda::copy(small, narrow.view(), stream());
        for (std::int64_t i = 0; i < rows * cols; ++i) {
            const auto of = [i](const test::host_image& x) {
                return reinterpret_cast<const double*>(x.bytes.data())[i];
            };
            const std::string where = "kind " + std::to_string(kind) + ", element " + std::to_string(i);
            if (std::isnan(of(sums))) {
                ASSERT_TRUE(std::isnan(of(alone))) << where;
                continue;
            }
            ASSERT_EQ(of(alone), of(sums) / of(counts)) << where;
            ASSERT_EQ(of(beside), of(alone)) << where;
            const auto found = static_cast<double>(reinterpret_cast<const T*>(narrow.bytes.data())[i]);
            if (std::is_same_v<T, double> || std::isinf(found))
                ASSERT_EQ(found, of(alone)) << where;
            else
                ASSERT_NEAR(found, of(alone), 0x1p-23 * std::abs(of(alone)) + 0x1p-149) << where;
        }
    };
    for (int kind = 0; kind < 4; ++kind)
        for (const auto& [cols, reach] : {std::pair{300, window_extents{0, 0, 0, 0}},
                                          {299, {1, 1, 1, 1}},
                                          {300, {6, 7, 20, 19}},
                                          {300, {2, 2, 60, 61}}}) {
            expect_alone(double{}, cols, reach, kind);
            if (kind == 1) expect_alone(float{}, cols, reach, kind);
        }
}

/// Windows of a few pixels are exact, but the sum of a row's pixels before them is not: it is above 2^53, and has ones.
TEST_F(real_windows_test, prefixes_that_are_not_exact_are_not_taken) {
    constexpr std::int64_t rows = 20, cols = 600;
    const view_shape shape = test::packed(dtype::f32, rows, cols, 1), real = test::packed(dtype::f64, rows, cols, 1);
    test::host_image image(shape), got(real);
    auto* const pixels = reinterpret_cast<float*>(image.bytes.data());
    for (std::int64_t i = 0; i < rows * cols; ++i) pixels[i] = i % 8 != 0 ? 0x1.fp46f : static_cast<float>(i % 100 + 1);
    test::device_images device(stream());
    const any_view to = device.allocate(real);
    cuda::box_filter({device.upload(image.view())}, {to}, stream(), {.window = 1});
    cuda::copy(to, got.view(), stream());
    for (std::int64_t i = 0; i < rows * cols; ++i)
        ASSERT_EQ(reinterpret_cast<const double*>(got.bytes.data())[i], pixels[i]) << i;
}

/// A band's first windows are exact, and the row that enters for its second one has pixels too fine to be beside them.
TEST_F(real_windows_test, rows_that_enter_are_looked_at) {
    constexpr std::int64_t rows = 20, cols = 600;
    const view_shape shape = test::packed(dtype::f32, rows, cols, 1), real = test::packed(dtype::f64, rows, cols, 1);
    test::host_image image(shape), got(real);
    auto* const pixels = reinterpret_cast<float*>(image.bytes.data());
    for (std::int64_t i = 0; i < rows * cols; ++i)
        pixels[i] = i % cols % 8 != 0 ? 0x1.fp40f : i / cols % 12 == 4 ? 3 * 0x1p-10f : 3.0f;
    test::device_images device(stream());
    const any_view to = device.allocate(real);
    cuda::box_filter({device.upload(image.view())}, {to}, stream(), {.window = {3, 1}});
    cuda::copy(to, got.view(), stream());
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        double sum = 0, n = 0;
        for (std::int64_t y = std::max<std::int64_t>(i / cols - 1, 0); y <= std::min(i / cols + 1, rows - 1); ++y, ++n)
            sum += pixels[y * cols + i % cols];
        ASSERT_EQ(reinterpret_cast<const double*>(got.bytes.data())[i], sum / n) << i / cols << ", " << i % cols;
    }
}

/// A value that is not finite, or huge, changes the windows that hold it and not one bit of another.
TEST_F(real_windows_test, strange_pixels_stay_in_their_windows) {
    const std::int64_t rows = 70, cols = 200, row = 33, col = 120, above = 4, below = 9, left = 6, right = 17;
    const filter_options options{.window = window_extents{above, below, left, right}};
    for (const dtype type : {dtype::f32, dtype::f64})
        for (const double strange : {nan, infinity, -infinity, 1e30}) {
            const view_shape shape = test::packed(type, rows, cols, 1), real = test::packed(dtype::f64, rows, cols, 1);
            test::host_image image = test::random_image(shape, 4);
            std::vector<test::host_image> results[2];
            for (const bool with : {false, true}) {
                if (with) {
                    auto* const at =
                        image.bytes.data() + row * shape.row_stride + col * static_cast<std::int64_t>(size_of(type));
                    const auto narrow = static_cast<float>(strange);
                    if (type == dtype::f32)
                        std::memcpy(at, &narrow, sizeof narrow);
                    else
                        std::memcpy(at, &strange, sizeof strange);
                }
                test::device_images device(stream());
                const any_view from = device.upload(image.view());
                std::vector<any_view> to;
                for (int i = 0; i < 3; ++i) to.push_back(device.allocate(real));
                cuda::box_filter({from}, {to[0]}, stream(), options);
                cuda::local_statistics({from}, {to[1], to[2]}, stream(), options);
                for (const any_view& v : to) {
                    results[with].emplace_back(real);
                    cuda::copy(v, results[with].back().view(), stream());
                }
            }
            for (std::size_t i = 0; i < 3; ++i) {
                const auto* const clean = reinterpret_cast<const double*>(results[0][i].bytes.data());
                const auto* const spoilt = reinterpret_cast<const double*>(results[1][i].bytes.data());
                for (std::int64_t r = 0; r < rows; ++r)
                    for (std::int64_t c = 0; c < cols; ++c) {
                        const double a = clean[r * cols + c], b = spoilt[r * cols + c];
                        const bool holds = row - below <= r && r <= row + above && col - right <= c && c <= col + left;
                        if (!holds) {
                            ASSERT_EQ(std::memcmp(&a, &b, sizeof a), 0)
                                << strange << ", " << i << ", " << r << ", " << c;
                        } else if (strange == 1e30) {
                            ASSERT_GT(b, 1e26) << i << ", " << r << ", " << c;
                        } else if (i < 2) {
                            ASSERT_TRUE(std::isnan(strange) ? std::isnan(b) : b == strange)
                                << i << ", " << r << ", " << c;
                        } else {
                            ASSERT_TRUE(std::isnan(b)) << i << ", " << r << ", " << c;
                        }
                    }
            }
        }
}

TEST_F(real_windows_test, constant_windows_vary_by_nothing) {
    const double values[] = {0.1, -1.0 / 3, 1e30, 12345.678, 3e-20};
    for (const dtype type : {dtype::f32, dtype::f64})
        for (const double value : values) {
            const view_shape shape = test::packed(type, 50, 130, 1), real = test::packed(dtype::f64, 50, 130, 1);
            test::host_image image(shape), variance(real);
            for (std::int64_t i = 0; i < 50 * 130; ++i) {
                // Another value in one corner: it must not act on the rest.
                const double x = i % 130 < 10 && i / 130 < 10 ? -7 * value : value;
                if (type == dtype::f32)
                    reinterpret_cast<float*>(image.bytes.data())[i] = static_cast<float>(x);
                else
                    reinterpret_cast<double*>(image.bytes.data())[i] = x;
            }
            test::device_images device(stream());
            const any_view to = device.allocate(real);
            cuda::local_statistics({device.upload(image.view())}, {.variance = to}, stream(), {.window = {9, 31}});
            cuda::copy(to, variance.view(), stream());
            const auto* const got = reinterpret_cast<const double*>(variance.bytes.data());
            for (std::int64_t i = 0; i < 50 * 130; ++i) {
                const bool mixed = i / 130 - 4 < 10 && i % 130 - 15 < 10;
                const bool corner = i / 130 + 4 < 10 && i % 130 + 15 < 10;
                if (!mixed || corner)
                    ASSERT_EQ(got[i], 0) << name_of(type) << " " << value << ", " << i / 130 << ", " << i % 130;
                else
                    ASSERT_GT(got[i], 0);
            }
        }
}

}  // namespace
}  // namespace boxsum
