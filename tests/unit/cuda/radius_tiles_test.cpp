// Means with small radii for every pixel, whose tables are those of blocks: against the CPU, bit for bit, whatever the
// border, where pixels may not count, too.

#include "cuda/filters/radius_tiles.hpp"

#include "core/visit_types.hpp"
#include "cuda/filters/device_strips.hpp"
#include "filters/filter_jobs.hpp"
#include "support/filter_images.hpp"
#include "support/gpu.hpp"
#include "support/samples.hpp"

#include <boxsum/cuda/filters.hpp>
#include <boxsum/filters.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <string>

namespace boxsum {
namespace {

using test::all_borders;
using test::below;
using test::device_images;
using test::host_image;
using test::packed;

/// What a call is given; the rest is random.
struct tile_case {
    dtype type = dtype::u8, result = dtype::u8, map = dtype::u8;
    std::int64_t rows = 1, cols = 1, channels = 1, planes = 1, most = 0;
    bool masked = false, counted = false;
    std::int64_t mask_channels = 1;
    bool planes_apart = false;  ///< each plane has its own radii and mask
    dtype count = dtype::u32;
    filter_options how;

    std::string text() const {
        return std::string(name_of(type)) + " to " + std::string(name_of(result)) + ", radii of " +
               std::string(name_of(map)) + " up to " + std::to_string(most) + ", " + std::to_string(rows) + " x " +
               std::to_string(cols) + " x " + std::to_string(channels) + ", " + std::string(name_of(how.border)) +
               (masked ? ", masked" : "") + (counted ? ", counted" : "");
    }
    bool sampled() const { return masked || how.nodata || how.min_count > 1; }
};

/// Pixels, radii and a mask of a case, and what the CPU makes of them.
struct expected_means {
    host_image image, radii, mask, result, count;

    expected_means(const tile_case& c, std::mt19937_64& random)
        : image(test::random_image(packed(c.type, c.rows, c.cols, c.channels, c.planes),
                                   static_cast<unsigned>(random()))),
          radii(packed(c.map, c.rows, c.cols, 1, c.planes_apart ? c.planes : 1)),
          mask(packed(dtype::u8, c.rows, c.cols, c.mask_channels, c.planes_apart ? c.planes : 1)),
          result(packed(c.result, c.rows, c.cols, c.channels, c.planes)),
          count(packed(c.count, c.rows, c.cols, c.channels, c.planes)) {
        if (below(random, 3) == 0) {  // means next to halves, and the largest sums
            const auto value = static_cast<std::uint64_t>(below(random, 3) == 0 ? 254 : below(random, 255));
            for (std::byte& x : image.bytes) x = static_cast<std::byte>(value + random() % 2);
        }
        for (std::byte& x : mask.bytes) x = static_cast<std::byte>(random() % 3 == 0 ? 0 : 1 + random() % 255);
        set_radii([&](std::int64_t) { return below(random, 4) == 0 ? c.most : below(random, c.most + 1); });
        variable_inputs in{.image = image.view(), .radius = radii.view()};
        if (c.masked) in.mask = mask.view();
        filter_outputs to{.result = result.view()};
        if (c.counted) to.count = count.view();
        variable_box_filter(in, to, c.how);
    }

    template <typename F>
    void set_radii(F radius) {
        visit_dtype(radii.shape.type, [&]<typename T>() {
            if constexpr (std::is_integral_v<T>)
                for (std::int64_t i = 0; i < radii.shape.planes * radii.shape.rows * radii.shape.cols; ++i)
                    reinterpret_cast<T*>(radii.bytes.data())[i] = static_cast<T>(radius(i));
        });
    }
};

class radius_tiles : public test::gpu_stream_test {
  protected:
    /// A plan whose map has radii that are out of range, too, and the call that waits.
    void check(const tile_case& c, std::mt19937_64& random) {
        SCOPED_TRACE(c.text());
        expected_means e(c, random);
        const bool of_tiles =
            c.most <= 31 &&
            (c.type == dtype::u8 || (!c.sampled() && !c.counted && c.how.rounding == rounding_mode::half_up));
        const auto sums = c.type == dtype::u8 ? type_pair{dtype::u8, dtype::u32} : type_pair{dtype::u16, dtype::u32};
        if (!of_tiles && !contains(cuda_type_pairs{}, sums)) return;  // the build has no such tables
        for (const bool padded : {true, false}) {  // rows that begin with whole words, and packed ones
            device_images device(stream());
            const auto upload = [&](host_image& host) {
                return padded ? device.upload(host.view()) : device.upload_packed(host.view());
            };
            variable_inputs in{.image = upload(e.image), .radius = upload(e.radii)};
            if (c.masked) in.mask = upload(e.mask);
            host_image got(e.result.shape), count(e.count.shape);
            const any_view d_result = upload(got), d_count = upload(count);
            filter_outputs to{.result = d_result};
            if (c.counted) to.count = d_count;
            const auto expect_same = [&](const char* form) {
                cuda::copy(d_result, got.view(), stream());
                cuda::copy(d_count, count.view(), stream());
                ASSERT_TRUE(got.bytes == e.result.bytes)
                    << form << ", largest difference " << test::largest_difference(got, e.result);
                ASSERT_TRUE(!c.counted || count.bytes == e.count.bytes) << form;
                std::fill(got.bytes.begin(), got.bytes.end(), std::byte{0x5a});
                cuda::copy(got.view(), d_result, stream());
            };
            if (padded) {
                cuda::variable_box_filter(in, to, stream(), c.how);
                expect_same("waiting");
            }
            in.largest_radius = c.most;
            in.radius = upload(e.radii);
            if (c.map == dtype::s32 || c.map == dtype::u32) {
                // Radii out of range count as 0 and as the largest one.
                host_image wild = e.radii;
                auto* const values = reinterpret_cast<std::int32_t*>(wild.bytes.data());
                for (std::int64_t i = 0; i < wild.shape.planes * c.rows * c.cols; ++i) {
                    if (values[i] == 0 && c.map == dtype::s32) values[i] = static_cast<std::int32_t>(-1 - i);
                    if (values[i] == c.most)
                        values[i] = static_cast<std::int32_t>(c.map == dtype::s32 ? c.most + i : -1 - i);
                }
                in.radius = upload(wild);
            }
            const cuda::variable_box_filter_plan plan(in, to, c.how);
            ASSERT_EQ(plan.workspace_bytes() == 0, of_tiles);
            cuda::workspace workspace(plan.workspace_bytes(), stream());
            plan.run_async(in, to, workspace, stream());
            expect_same(padded ? "planned" : "planned, packed");
            if (HasFatalFailure()) return;
        }
    }

    tile_case any_case(std::int64_t most_rows, std::int64_t most_cols, std::mt19937_64& random) {
        constexpr dtype types[] = {dtype::u8, dtype::u16, dtype::s16},
                        maps[] = {dtype::u8, dtype::u16, dtype::u32, dtype::s32};
        constexpr std::int64_t mosts[] = {0, 1, 2, 7, 8, 15, 16, 23, 30, 31, 31, 32};
        tile_case c{.type = types[below(random, 5) < 3 ? 0 : 1 + below(random, 2)], .map = maps[below(random, 4)]};
        c.rows = 1 + below(random, most_rows);
        c.cols = 1 + below(random, most_cols);
        c.channels = below(random, 2) == 0 ? 1 : 1 + below(random, 4);
        c.planes = 1 + below(random, 2);
        c.planes_apart = below(random, 2) == 0;
        c.most = mosts[below(random, std::size(mosts))];
        constexpr dtype results[] = {dtype::f32, dtype::f64};
        c.result = below(random, 2) == 0 ? c.type : results[below(random, 2)];
        c.how.border = all_borders[static_cast<std::size_t>(below(random, std::size(all_borders)))];
        if (c.how.border == border_mode::constant) c.how.border_value = below(random, 2) == 0 ? 9 : 200;
        if (below(random, 2) == 0) return c;
        if (below(random, 3) == 0) c.how.rounding = rounding_mode::floor;
        c.masked = below(random, 2) == 0;
        c.mask_channels = below(random, 2) == 0 ? 1 : c.channels;
        c.counted = below(random, 2) == 0;
        constexpr dtype counts[] = {dtype::u32, dtype::f32, dtype::f64};
        c.count = counts[below(random, 3)];
        if (below(random, 2) == 0) c.how.nodata = 9;
        if (below(random, 2) == 0) c.how.min_count = 1 + below(random, 6);
        if (below(random, 2) == 0) c.how.fill = 17;
        return c;
    }
};

TEST_F(radius_tiles, of_small_images_are_those_of_the_cpu) {
    std::mt19937_64 random(test::random_seed(31));
    const int cases = test::random_cases(150);
    for (int i = 0; i < cases && !HasFatalFailure(); ++i) check(any_case(40, 60, random), random);
    tile_case one{.most = 31};
    for (const border_mode border : all_borders) {
        one.how.border = border;
        if (!HasFatalFailure()) check(one, random);
    }
}

/// Blocks and warps' turns in both directions, inside an image and at its sides.
TEST_F(radius_tiles, of_several_blocks_are_those_of_the_cpu) {
    std::mt19937_64 random(test::random_seed(32));
    for (const border_mode border : all_borders)
        for (int i = 0; i < 6 && !HasFatalFailure(); ++i) {
            tile_case c = any_case(1, 1, random);
            c.rows = 60 + below(random, 130);
            c.cols = 250 + below(random, 300);
            c.planes = 1;
            if (i % 3 < 2) {
                c.type = i % 3 == 0 ? dtype::u8 : dtype::u16;
                c.channels = c.mask_channels = 1;
                c.most = 3 + below(random, 29);
            }
            if (i % 3 == 0) c.masked = true;
            if (i == 3) c.cols = 456, c.most = 15;  // whose second block lacks one run of a warp's pixels
            if (!is_floating(c.result)) c.result = c.type;
            if (c.type != dtype::u8) c.masked = c.counted = false, c.how.nodata = {}, c.how.min_count = 1;
            c.how.border = border;
            check(c, random);
        }
}

/// Strips of host memory, and parts of images on the device, have the results of the whole.
TEST_F(radius_tiles, of_strips_and_parts_are_those_of_the_whole) {
    std::mt19937_64 random(test::random_seed(33));
    for (const border_mode border : all_borders)
        for (const bool masked : {false, true}) {
            tile_case c{
                .rows = 70, .cols = 50, .channels = 2, .planes = 2, .most = 9, .masked = masked, .counted = masked};
            c.mask_channels = 2;
            c.how.border = border;
            if (masked) c.how.nodata = 40, c.how.fill = 3;
            SCOPED_TRACE(c.text());
            expected_means e(c, random);
            const std::optional<view_shape> mask = masked ? std::optional(e.mask.shape) : std::nullopt,
                                            count = masked ? std::optional(e.count.shape) : std::nullopt;
            const filters::window_job job = filters::variable_job({.image = e.image.shape, .mask = mask}, e.radii.shape,
                                                                  {e.result.shape, count}, c.most, c.how);
            ASSERT_TRUE(cuda::radius_tiles_support(job, c.most, masked));
            const cuda::window_filter filter{
                .windows = job, .maker = cuda::window_maker::tiles, .consume = [&](const cuda::filter_step& at) {
                    cuda::enqueue_radius_tiles(at.task, job, at.real.mask, at.radius, c.most, at.results[0],
                                               at.results[4], at.stream);
                }};
            host_image got(e.result.shape), counted(e.count.shape);
            cuda::filter_memory memory{e.image.view(), {got.view()}, e.radii.view()};
            if (masked) memory.mask = e.mask.view(), memory.results[4] = counted.view();
            cuda::execute(filter, memory, stream(), 12 * e.image.shape.row_stride);
            ASSERT_TRUE(got.bytes == e.result.bytes);
            ASSERT_TRUE(!masked || counted.bytes == e.count.bytes);
            if (border == border_mode::wrap) continue;

            device_images device(stream());
            const auto some = [](any_view view, std::int64_t first, std::int64_t end) {
                view.data = static_cast<std::byte*>(view.data) + first * view.shape.row_stride;
                view.shape.rows = end - first;
                return view;
            };
            const any_view image = device.upload(e.image.view()), radii = device.upload(e.radii.view()),
                           d_mask = device.upload(e.mask.view()), result = device.upload(host_image(got.shape).view()),
                           d_count = device.upload(host_image(counted.shape).view());
            cuda::workspace workspace(0, stream());
            for (std::int64_t first = 0; first < c.rows; first += 25) {
                const std::int64_t end = std::min(first + 25, c.rows), from = std::max<std::int64_t>(first - c.most, 0),
                                   to = std::min(end + c.most, c.rows);
                variable_inputs part{.image = some(image, from, to),
                                     .radius = some(radii, first, end),
                                     .largest_radius = c.most,
                                     .at = {from, 0},
                                     .whole = {c.rows, c.cols}};
                filter_outputs results{.result = some(result, first, end)};
                if (masked) part.mask = some(d_mask, from, to), results.count = some(d_count, first, end);
                cuda::variable_box_filter_async(part, results, workspace, stream(), c.how);
            }
            host_image all(got.shape), numbers(counted.shape);
            cuda::copy(result, all.view(), stream());
            cuda::copy(d_count, numbers.view(), stream());
            EXPECT_TRUE(all.bytes == e.result.bytes);
            EXPECT_TRUE(!masked || numbers.bytes == e.count.bytes);
            if (HasFailure()) return;
        }
}

}  // namespace
}  // namespace boxsum
