// Convolution on a device against the definition: every algorithm, kernels of every number of rows, images of every
// kind.

#include "api/registry.hpp"
#include "convolve/oracle.hpp"
#include "convolve/problem.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "support/gpu.hpp"
#include "support/strided_block.hpp"
#include "verify/convolve_conformance.hpp"

#include <boxsum/cuda/convolve.hpp>
#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/table.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace boxsum {
namespace {

class device_convolve : public test::gpu_stream_test {
  protected:
    /// The bytes of a strided image on the device, gaps too.
    template <typename T>
    cuda::device_buffer upload(const test::strided<T>& image) const {
        const auto elements = static_cast<std::int64_t>(image.memory.size());
        cuda::device_buffer buffer(image.memory.size() * sizeof(T), stream());
        cuda::copy(image_view<const T>(image.memory.data(), 1, elements),
                   image_view<T>(static_cast<T*>(buffer.data()), 1, elements), stream());
        return buffer;
    }
    template <typename T>
    void download(const cuda::device_buffer& buffer, test::strided<T>& image) const {
        const auto elements = static_cast<std::int64_t>(image.memory.size());
        cuda::copy(image_view<const T>(static_cast<const T*>(buffer.data()), 1, elements),
                   image_view<T>(image.memory.data(), 1, elements), stream());
    }

    /// As plans of other operations want to find it.
    bool is_zero(cuda::workspace& workspace) const {
        const auto bytes = static_cast<std::int64_t>(workspace.bytes());
        std::vector<std::uint8_t> found(workspace.bytes(), 1);
        const cuda::workspace_use use(workspace, 0, workspace.device(), stream(), cuda::all_of_workspace);
        if (bytes > 0)
            cuda::copy(image_view<const std::uint8_t>(static_cast<const std::uint8_t*>(use.data()), 1, bytes),
                       image_view<std::uint8_t>(found.data(), 1, bytes), stream());
        return std::all_of(found.begin(), found.end(), [](std::uint8_t x) { return x == 0; });
    }

    struct shape {
        std::int64_t rows, cols, channels, planes, n, m;
    };

    template <typename Pixel, typename Result>
    void check(const shape& s, const convolve_options& options, std::uint32_t seed, bool packed = false) {
        constexpr Result poison = -12345;
        test::strided<Pixel> image(s.rows, s.cols, s.channels, s.planes, Pixel{77});
        test::strided<double> same(s.rows, s.cols, s.channels, s.planes, 0);
        test::strided<Result> result(s.rows, s.cols, s.channels, s.planes, poison);
        if (packed) {  // rows of a multiple of 16 bytes: pairs of pixels and results
            image.view = {image.memory.data(), s.rows, s.cols};
            result.view = {result.memory.data(), s.rows, s.cols};
        }
        test::fill(image, same, seed);
        const std::vector<double> weights = test::random_weights(s.n * s.m, seed);
        const image_view<const double> kernel(weights.data(), s.n, s.m);
        const cuda::device_buffer d_image = upload(image), d_result = upload(result);
        const const_any_view in{d_image.data(), image.view.shape()};
        const convolve_outputs out{{d_result.data(), result.view.shape()}};
        const cuda::convolve_plan plan({in, kernel}, out, options);
        EXPECT_EQ(plan.packed_bytes(), 0);
        cuda::workspace workspace(plan.workspace_bytes(), stream());
        plan.run_async({in}, out, workspace, stream());
        stream().synchronize();
        download(d_result, result);
        const std::string wrong = test::compare<Result>(result, poison, same.view, kernel, options);
        ASSERT_EQ(wrong, "") << options.algorithm << ", " << s.rows << " x " << s.cols << " x " << s.channels
                             << ", kernel " << s.n << " x " << s.m << ", border " << name_of(options.border);
    }
};

/// Views of any strides through copies, with and without a plan; the same bits.
TEST_F(device_convolve, takes_any_strides) {
    std::mt19937_64 random(3);
    const std::vector<double> weights = test::random_weights(15, 3);
    const image_view<const double> kernel(weights.data(), 3, 5);
    cuda::workspace workspace(0, stream());
    for (int i = 0; i < 10; ++i) {
        const std::int64_t rows = 1 + i * 5, cols = 40 - i * 3, channels = 1 + i % 3, planes = 1 + i % 2;
        const test::block<float> strided(rows, cols, channels, planes, test::lying::repeated, random),
            result(rows, cols, channels, planes, test::lying::anyhow, random),
            plain(rows, cols, channels, planes, test::lying::row_major, random),
            expected(rows, cols, channels, planes, test::lying::row_major, random);
        strided.for_each([&](auto, auto, auto, auto, float& x) { x = static_cast<float>(random() % 200); });
        plain.for_each([&](auto p, auto r, auto c, auto k, float& x) { x = strided.view()(r, c, k, p); });
        const auto convolved = [&](const test::block<float>& image, const test::block<float>& to) {
            const auto there = [&](const test::block<float>& b) {
                cuda::device_buffer memory(b.bytes().size(), stream());
                const auto bytes = static_cast<std::int64_t>(b.bytes().size());
                const auto* const first = reinterpret_cast<const std::uint8_t*>(b.bytes().data());
                cuda::copy(image_view<const std::uint8_t>(first, 1, bytes),
                           image_view<std::uint8_t>(static_cast<std::uint8_t*>(memory.data()), 1, bytes), stream());
                return memory;
            };
            const cuda::device_buffer d_image = there(image), d_to = there(to);
            const auto at = [](const cuda::device_buffer& d, const test::block<float>& b) {
                return any_view{static_cast<std::byte*>(d.data()) + b.offset(), b.view().shape()};
            };
            const convolve_inputs in{at(d_image, image), kernel};
            const convolve_outputs out{at(d_to, to)};
            if (i % 3 == 0) {
                cuda::convolve(in, out, stream());
            } else if (i % 3 == 1) {
                cuda::convolve_async(in, out, workspace, stream());
            } else {
                const cuda::convolve_plan plan(in, out);
                workspace.reserve(plan.workspace_bytes(), stream());
                plan.run_async(in, out, workspace, stream());
            }
            cuda::copy(at(d_to, to), to.view(), stream());
        };
        convolved(strided, result);
        convolved(plain, expected);
        EXPECT_TRUE(is_zero(workspace));
        expected.for_each([&](auto p, auto r, auto c, auto k, float& x) {
            ASSERT_EQ(std::memcmp(&x, &result.view()(r, c, k, p), sizeof x), 0)
                << test::text_of(strided.view().shape());
        });
        EXPECT_TRUE(result.is_untouched_between());
    }
}

constexpr border_mode borders[] = {border_mode::constant, border_mode::replicate, border_mode::reflect};

TEST_F(device_convolve, every_algorithm_agrees_with_the_definition) {
    std::uint32_t seed = 0;
    for (const char* const algorithm : {"direct", "ssam", "tiled"})
        for (std::int64_t n = 2; n <= 20; ++n) {
            const convolve_options options{
                .direction = n % 2 == 0 ? kernel_direction::correlation : kernel_direction::convolution,
                .border = borders[n % 3],
                .border_value = -0.5,
                .algorithm = algorithm};
            const std::int64_t m = 2 + (n * 7) % 19;
            check<float, float>({13 + n, 70 + n, 1, 1, n, m}, options, ++seed);
            if (n % 5 == 0) check<float, float>({9, 40, 3, 2, n, m}, options, ++seed);
        }
}

/// Wide images whose inner warps check no borders; rows that start at multiples of 16 bytes, and others.
TEST_F(device_convolve, systolic_takes_small_kernels_with_pairs_of_pixels_where_rows_are_aligned) {
    std::uint32_t seed = 200;
    for (std::int64_t n = 1; n <= 8; ++n)
        for (std::int64_t m = 1; m <= 16 && n * m <= 25; ++m) {
            const convolve_options options{
                .border = borders[(n + m) % 3], .border_value = -0.5, .algorithm = "systolic"};
            check<float, float>({40, 256, 1, 1, n, m}, options, ++seed, true);
            check<float, float>({40, 255, 1, 1, n, m}, options, ++seed);
            if (n % 5 == 0) check<float, float>({9, 40, 3, 2, n, m}, options, ++seed);
            if (m % 4 == 1) check<std::uint8_t, float>({40, 256, 1, 1, n, m}, options, ++seed, true);
        }
}

/// Images with tiles that touch no border: kernels of one part and of several, with rows that two parts share, of every
/// number of columns of a last chunk; results in vectors, where the image ends with a tile and where it does not, and
/// one by one.
TEST_F(device_convolve, tiles_take_kernels_of_every_size) {
    std::uint32_t seed = 400;
    for (std::int64_t m = 1; m <= 13; ++m) {
        const convolve_options options{.border = borders[m % 3], .border_value = 0.5, .algorithm = "tiled"};
        const std::int64_t n = 1 + m * 7 % 17;
        check<float, float>({70, 264, 1, 1, n, m}, options, ++seed, true);
        check<float, float>({33, 256, 1, 1, n, m}, options, ++seed, true);
        check<float, float>({70, 267, 1, 1, n, m}, options, ++seed);
    }
    for (const auto& [n, m] : {std::pair{1, 64}, {64, 1}, {33, 16}, {64, 64}})
        check<float, float>({35, 150, 1, 1, n, m}, {.border = border_mode::reflect, .algorithm = "tiled"}, ++seed);
}

TEST_F(device_convolve, tiles_of_other_types_and_of_channels) {
    const convolve_options options{.border = border_mode::replicate, .algorithm = "tiled"};
    check<float, float>({70, 264, 3, 1, 5, 6}, options, 500);
    check<std::uint8_t, float>({70, 264, 1, 2, 9, 7}, options, 501);
    check<std::uint8_t, float>({70, 264, 1, 1, 6, 5}, options, 502, true);
#if !defined(BOXSUM_TYPES_MIN)
    check<std::uint16_t, float>({70, 264, 3, 1, 3, 9}, options, 503);
    for (std::int64_t m = 1; m <= 5; ++m) {
        check<double, double>({70, 192, 1, 1, 1 + m * 5 % 11, m}, options, 503 + static_cast<std::uint32_t>(m), true);
        check<double, double>({70, 191, 1, 1, 1 + m * 5 % 11, m}, options, 603 + static_cast<std::uint32_t>(m));
    }
    check<double, double>({82, 146, 1, 1, 31, 24}, options, 510);  // in two bands
#endif
}

/// Weights of zero that fill up a part or a chunk would make a NaN of an infinity beside the window.
TEST_F(device_convolve, what_is_not_finite_acts_on_its_windows_alone) {
    constexpr std::int64_t rows = 80, cols = 300;
    const std::vector<std::pair<std::int64_t, std::int64_t>> bad{{0, 0}, {41, 140}, {79, 260}};
    std::vector<float> pixels(rows * cols, 2), found(pixels.size());
    for (const auto& [r, c] : bad) pixels[static_cast<std::size_t>(r * cols + c)] = -INFINITY;
    const cuda::image<float> image(rows, cols, stream()), result(rows, cols, stream());
    cuda::copy(image_view<const float>(pixels.data(), rows, cols), image, stream());
    for (const char* const algorithm : {"direct", "ssam", "systolic", "tiled"})
        for (const auto& [n, m] : {std::pair{2, 2}, {3, 5}, {5, 6}, {7, 3}, {9, 11}, {11, 16}, {17, 9}}) {
            if (algorithm == std::string("systolic") && n * m > 25) continue;
            const std::vector<double> weights(static_cast<std::size_t>(n * m), 0.25);
            const convolve_inputs in{image, {weights.data(), n, m}};
            cuda::convolve(in, {result}, stream(), {.algorithm = algorithm});
            cuda::copy(result, image_view<float>(found.data(), rows, cols), stream());
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < cols; ++c) {
                    const bool holds = std::any_of(bad.begin(), bad.end(), [&](const auto& b) {
                        const std::int64_t i = b.first - r + n / 2, j = b.second - c + m / 2;
                        return i >= 0 && i < n && j >= 0 && j < m;
                    });
                    ASSERT_EQ(std::isfinite(found[static_cast<std::size_t>(r * cols + c)]), !holds)
                        << algorithm << ", row " << r << ", column " << c << ", kernel " << n << " x " << m;
                }
        }
}

TEST_F(device_convolve, small_kernels_have_an_algorithm_of_their_own) {
    const view_shape image = image_view<const float>(nullptr, 20, 30).shape();
    const auto chosen = [&](std::int64_t n, std::int64_t m) {
        const std::vector<double> weights(static_cast<std::size_t>(n * m), 1);
        const convolution::job job = convolution::make_job(image, {weights.data(), n, m}, image, {});
        return choose(convolution::as_problem(job), backend::cuda, "auto", "").record->info.name;
    };
    for (const auto& [n, m] : {std::pair{5, 5}, {8, 3}, {1, 16}}) EXPECT_EQ(chosen(n, m), "systolic");
    for (const auto& [n, m] : {std::pair{2, 13}, {9, 1}, {1, 17}}) EXPECT_EQ(chosen(n, m), "tiled");
}

TEST_F(device_convolve, other_types) {
    const convolve_options options{.border = border_mode::reflect};
    check<std::uint8_t, float>({30, 140, 1, 2, 5, 5}, {.border = border_mode::reflect, .threads = 3}, 300);
#if !defined(BOXSUM_TYPES_MIN)
    for (const char* const algorithm : {"direct", "ssam", "tiled"})
        check<double, double>({30, 140, 1, 1, 7, 6}, {.border = border_mode::reflect, .algorithm = algorithm}, 301);
    check<double, double>({30, 140, 1, 1, 5, 4}, {.border = border_mode::reflect, .algorithm = "systolic"}, 302);
#endif
}

/// Every record of a device, over the cases of verify() that its kernels were compiled for.
TEST_F(device_convolve, registered_algorithms_agree_with_the_definition) {
    for (const algorithm_record* record : registry(operation::convolve)) {
        if (record->info.where != backend::cuda) continue;
        int checked = 0;
        for (const convolve_case& c : convolve_cases(effort::quick)) {
            if (!supports_case(*record, c)) continue;
            const auto wrong = check_convolution(*record, c);
            ASSERT_FALSE(wrong) << record->info.name << ": " << describe(c) << ": " << *wrong;
            ++checked;
        }
        EXPECT_GE(checked, record->info.name == "ssam" ? 6 : 42) << record->info.name;
    }
}

TEST_F(device_convolve, bad_arguments_are_named) {
    const std::vector<double> weights(9, 1);
    const image_view<const double> kernel(weights.data(), 3, 3), flat(weights.data(), 1, 9);
    const view_shape image = image_view<const float>(nullptr, 20, 30).shape(), other = {dtype::f32, 1, 20, 31, 1, 124};
    const auto refuses = [](auto call, const std::string& words) {
        try {
            call();
            ADD_FAILURE() << words;
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
        }
    };
    const convolve_inputs in{{nullptr, image}, kernel};
    const convolve_outputs out{{nullptr, image}};
    refuses([&] { cuda::convolve_plan(in, out, {.algorithm = "fft"}); }, "'fft'");
    refuses([&] { cuda::convolve_plan(in, out, {.threads = -1}); }, "threads: is -1, must be 0 (automatic) or more");
    refuses([&] { cuda::convolve_plan({{nullptr, image}, flat}, out, {.algorithm = "ssam"}); }, "2 x 2 to 20 x 20");
    refuses(
        [&] {
            cuda::convolve_plan({{nullptr, image_view<const std::int16_t>(nullptr, 20, 30).shape()}, kernel}, out);
        },
        "no convolve algorithm on cuda supports this problem (16s32f)");
    refuses([&] { cuda::convolve_plan(in, {{nullptr, other}}); }, "result: has 31 columns");
    const cuda::convolve_plan plan(in, out);
    const cuda::device_buffer memory(20 * 31 * 4, stream());
    std::vector<float> host(20 * 30);
    cuda::workspace workspace(plan.workspace_bytes(), stream());
    const auto run = [&](const const_any_view& from) {
        plan.run_async({from}, {{memory.data(), image}}, workspace, stream());
    };
    refuses([&] { run({memory.data(), other}); }, "image");
    refuses([&] { run({memory.data(), image}); }, "result: overlaps");
    refuses([&] { run({host.data(), image}); }, "image");
    view_shape turned = image;
    turned.row_stride = -image.row_stride;
    const cuda::convolve_plan copies({{nullptr, turned}, kernel}, out);
    EXPECT_EQ(copies.packed_bytes(), copies.workspace_bytes());
    const cuda::device_buffer result(20 * 30 * 4, stream());
    const std::byte* const last_row = static_cast<const std::byte*>(memory.data()) + 19 * image.row_stride;
    refuses(
        [&] {
            copies.run_async({{last_row, turned}}, {{result.data(), image}}, workspace, stream());
        },
        "workspace: has");
}

class convolve_on_two_devices : public test::two_gpus_test {};

TEST_F(convolve_on_two_devices, a_plan_runs_on_its_own) {
    const int mine = cuda::current_device(), other = mine == 0 ? 1 : 0;
    const std::vector<double> weights(9, 1);
    const std::vector<float> pixels(20 * 30, 2);
    std::vector<float> found(20 * 30, -1);
    cuda::set_device(other);
    {
        const cuda::stream there;
        const cuda::image<float> image(20, 30, there), result(20, 30, there);
        const convolve_inputs inputs{image, {weights.data(), 3, 3}};
        const cuda::convolve_plan plan(inputs, {result}, {.border = border_mode::replicate});
        cuda::workspace workspace(plan.workspace_bytes(), there);
        cuda::copy(image_view<const float>(pixels.data(), 20, 30), image, there);
        cuda::set_device(mine);
        plan.run_async(inputs, {result}, workspace, there);
        cuda::copy(result, image_view<float>(found.data(), 20, 30), there);
    }
    EXPECT_EQ(found, std::vector<float>(20 * 30, 18));
}

}  // namespace
}  // namespace boxsum
