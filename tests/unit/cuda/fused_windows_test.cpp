// Filters without a table against the CPU's: random shapes, windows, borders, strides and places in memory, with what
// lies between the rows of images and results. BOXSUM_FILTER_CASES is how many.

#include "cuda/filters/fused_windows.hpp"

#include "filters/filter_jobs.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/filters.hpp>

#include <cstdlib>
#include <random>

namespace boxsum {
namespace {

using test::filter_case;
using test::host_image;

int cases_wanted() {
    const char* const text = std::getenv("BOXSUM_FILTER_CASES");
    return text == nullptr ? 120 : std::atoi(text);
}

/// Rows of a shape further apart, and the image some elements into its memory.
struct placed {
    host_image memory;
    std::int64_t offset;

    placed(view_shape s, std::int64_t gap, std::int64_t first)
        : memory((s.row_stride += gap * size_in(s), s.plane_stride = s.rows * s.row_stride + gap * size_in(s), s)),
          offset(first * size_in(s)) {
        memory.bytes.resize(memory.bytes.size() + static_cast<std::size_t>(offset), std::byte{0x5a});
    }
    any_view view() { return {memory.bytes.data() + offset, memory.shape}; }

    static std::int64_t size_in(const view_shape& s) { return static_cast<std::int64_t>(size_of(s.type)); }
};

class fused_windows : public test::gpu_stream_test {
  protected:
    /// All bytes of a placed image on the device, and back.
    any_view upload(placed& image) {
        const auto bytes = static_cast<std::int64_t>(image.memory.bytes.size());
        memory_.emplace_back(static_cast<std::size_t>(bytes), stream());
        cuda::copy({image.memory.bytes.data(), test::packed(dtype::u8, 1, bytes, 1)},
                   {memory_.back().data(), test::packed(dtype::u8, 1, bytes, 1)}, stream());
        return {static_cast<std::byte*>(memory_.back().data()) + image.offset, image.memory.shape};
    }
    void expect_fetched(placed& expected, const any_view& result, const std::string& what) {
        const auto bytes = static_cast<std::int64_t>(expected.memory.bytes.size());
        std::vector<std::byte> got(expected.memory.bytes.size());
        cuda::copy({static_cast<std::byte*>(result.data) - expected.offset, test::packed(dtype::u8, 1, bytes, 1)},
                   {got.data(), test::packed(dtype::u8, 1, bytes, 1)}, stream());
        const auto differs = std::mismatch(got.begin(), got.end(), expected.memory.bytes.begin()).first - got.begin();
        const view_shape& s = expected.memory.shape;
        EXPECT_EQ(differs, bytes) << what << ": row " << (differs - expected.offset) / s.row_stride << ", byte "
                                  << (differs - expected.offset) % s.row_stride;
    }

    std::deque<cuda::device_buffer> memory_;
};

/// With those that tables do not know.
constexpr border_mode all_borders[] = {border_mode::shrink,   border_mode::reflect, border_mode::replicate,
                                       border_mode::constant, border_mode::mirror,  border_mode::wrap};

struct random_case {
    filter_case shape;
    std::int64_t gap, first, result_gap, result_first;
    pattern values;
};

/// Windows up to beyond the image, images of one strip and of several, mostly of one channel and on even addresses.
random_case draw(std::mt19937_64& random, const std::vector<dtype>& types) {
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    random_case c{};
    filter_case& s = c.shape;
    s.type = types[static_cast<std::size_t>(below(static_cast<std::int64_t>(types.size())))];
    s.border = all_borders[below(std::size(all_borders))];
    s.channels = below(3) == 0 ? 1 + below(4) : 1;
    s.planes = below(5) == 0 ? 2 : 1;
    s.rows = 1 + below(below(3) == 0 ? 150 : 30);
    s.cols = 1 + below(below(3) == 0 ? 700 : 80);
    const auto reach = [&](std::int64_t extent) {
        const std::int64_t kind = below(6);
        return kind == 0 ? 0 : kind < 4 ? below(8) : kind == 4 ? below(40) : below(extent + 1);
    };
    s.window = window(window_extents{reach(s.rows), reach(s.rows), reach(s.cols), reach(s.cols)});
    const auto gap = [&] { return below(2) == 0 ? (16 - s.cols * s.channels % 16) % 16 : below(7); };
    const auto first = [&] { return below(3) == 0 ? below(5) : 0; };
    c.gap = gap(), c.first = first(), c.result_gap = gap(), c.result_first = first();
    const auto patterns = patterns_for(s.type);
    c.values = patterns[static_cast<std::size_t>(below(static_cast<std::int64_t>(patterns.size())))];
    return c;
}

std::string text_of(const random_case& c) {
    return test::text_of(c.shape) + ", " + std::string(name_of(c.values)) + ", gaps " + std::to_string(c.gap) + ", " +
           std::to_string(c.result_gap) + ", from " + std::to_string(c.first) + ", " + std::to_string(c.result_first);
}

TEST_F(fused_windows, integers_have_the_results_of_the_cpu) {
    std::mt19937_64 random(20261125);
    const int wanted = cases_wanted();
    int fused = 0;
    for (int n = 0; n < wanted; ++n) {
        const random_case c = draw(random, {dtype::u8, dtype::u16, dtype::s16});
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
    EXPECT_GT(fused, wanted / 2);
}

/// Several bands whose first windows are made of prepared segments, and several warps a block.
TEST_F(fused_windows, large_windows_have_the_results_of_the_cpu) {
    for (const dtype type : {dtype::u8, dtype::u16})
        for (const border_mode border : all_borders)
            for (const window& w : {window(window_extents{70, 60, 9, 100}), window(window_radius(90, 120))}) {
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
                cuda::box_filter({upload(image)}, {result}, stream(), options);
                box_filter({image.view()}, {mean.view()}, options);
                expect_fetched(mean, result, test::text_of(s));
                memory_.clear();
                if (HasFailure()) return;
            }
}

}  // namespace
}  // namespace boxsum
