#include <boxsum/blobs.hpp>
#include <boxsum/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace boxsum::blob_tests {
namespace {

/// scikit-image's boxes, pixel by pixel: those of the `rows` below r and the `cols` right of c.
template <typename T>
double sum(const image_view<const T>& image, std::int64_t r, std::int64_t c, std::int64_t rows, std::int64_t cols) {
    r = std::clamp<std::int64_t>(r, 0, image.rows() - 1);
    c = std::clamp<std::int64_t>(c, 0, image.cols() - 1);
    long double all = 0;
    for (std::int64_t y = r + 1; y <= std::min(r + rows, image.rows() - 1); ++y)
        for (std::int64_t x = c + 1; x <= std::min(c + cols, image.cols() - 1); ++x)
            all += static_cast<long double>(image(y, x));
    return std::max(0.0, static_cast<double>(all));
}

template <typename T>
double determinant(const image_view<const T>& image, std::int64_t r, std::int64_t c, double sigma, double unit) {
    const auto n = static_cast<std::int64_t>(3 * sigma);
    const std::int64_t l = n / 3, h = (n - 1) / 2;
    const auto s = [&](std::int64_t y, std::int64_t x, std::int64_t rows, std::int64_t cols) {
        return sum(image, y, x, rows, cols) / unit;
    };
    const double area = static_cast<double>(n) * static_cast<double>(n);
    const double dxy =
        (s(r - l, c - l, l, l) + s(r + 1, c + 1, l, l) - s(r - l, c + 1, l, l) - s(r + 1, c - l, l, l)) / area;
    const double dxx = (3 * s(r - l + 1, c - l / 2, 2 * l - 1, l) - s(r - l + 1, c - h, 2 * l - 1, n)) / area;
    const double dyy = (3 * s(r - l / 2, c - l + 1, l, 2 * l - 1) - s(r - h, c - l + 1, n, 2 * l - 1)) / area;
    return dxx * dyy - 0.81 * dxy * dxy;
}

template <typename T>
std::vector<T> random_pixels(std::int64_t count, double scale) {
    std::mt19937 random(21);
    std::vector<T> pixels(static_cast<std::size_t>(count));
    for (T& x : pixels) x = static_cast<T>(scale * static_cast<double>(random()) * 0x1p-32);
    return pixels;
}

template <typename T, typename Out>
void check_hessian(double scale, double unit, double tolerance) {
    constexpr std::int64_t rows = 19, cols = 23, planes = 2, gap = 2;
    const auto pixels = random_pixels<T>(planes * rows * cols, scale);
    const image_view<const T> image(pixels.data(), rows, cols, 0, 1, planes);
    for (const double sigma : {1.0, 1.4, 2.0, 3.5, 6.0, 40.0})
        for (const int threads : {1, 3}) {
            std::vector<Out> memory(static_cast<std::size_t>(planes * rows * (cols + gap)), Out{77});
            const image_view<Out> result(memory.data(), rows, cols,
                                         (cols + gap) * static_cast<std::int64_t>(sizeof(Out)), 1, planes);
            box_hessian({image}, {result}, {.sigma = sigma, .threads = threads});
            for (std::int64_t plane = 0; plane < planes; ++plane)
                for (std::int64_t r = 0; r < rows; ++r) {
                    const image_view<const T> one(image.row(0, plane), rows, cols);
                    for (std::int64_t c = 0; c < cols; ++c)
                        ASSERT_NEAR(result(r, c, 0, plane), determinant(one, r, c, sigma, unit), tolerance)
                            << sigma << " at " << plane << ", " << r << ", " << c;
                    for (std::int64_t i = cols; i < cols + gap; ++i) ASSERT_EQ(result.row(r, plane)[i], Out{77});
                }
        }
}

TEST(blobs, hessians_by_every_pixel) {
    check_hessian<std::uint8_t, double>(256, 255, 1e-13);
    check_hessian<std::uint16_t, float>(65536, 65535, 1e-6);
    check_hessian<float, double>(1, 1, 1e-11);
    check_hessian<double, double>(1, 1, 1e-11);
}

/// The definition of find_blobs(), from whole images of every scale.
std::vector<blob> expected(const image_view<const std::uint8_t>& image, const blob_options& options) {
    const auto rows = image.rows(), cols = image.cols();
    std::vector<std::vector<double>> cube;
    double least = 1e300, most = -1e300;
    for (const double sigma : options.sigmas) {
        std::vector<double> x(static_cast<std::size_t>(rows * cols));
        box_hessian({image}, {image_view<double>(x.data(), rows, cols)}, {.sigma = sigma});
        least = std::min(least, *std::min_element(x.begin(), x.end()));
        most = std::max(most, *std::max_element(x.begin(), x.end()));
        cube.push_back(x);
    }
    double threshold = options.threshold.value_or(least);
    if (options.relative_threshold) threshold = std::max(threshold, *options.relative_threshold * most);
    std::vector<blob> found;
    const auto scales = static_cast<std::int64_t>(cube.size());
    const auto at = [&](std::int64_t s, std::int64_t r, std::int64_t c) {
        return cube[static_cast<std::size_t>(s)][static_cast<std::size_t>(r * cols + c)];
    };
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < cols; ++c)
            for (std::int64_t s = 0; s < scales; ++s) {
                double greatest = -1e300;
                for (std::int64_t k = std::max<std::int64_t>(s - 1, 0); k <= std::min(s + 1, scales - 1); ++k)
                    for (std::int64_t y = std::max<std::int64_t>(r - 1, 0); y <= std::min(r + 1, rows - 1); ++y)
                        for (std::int64_t x = std::max<std::int64_t>(c - 1, 0); x <= std::min(c + 1, cols - 1); ++x)
                            greatest = std::max(greatest, at(k, y, x));
                if (at(s, r, c) == greatest && greatest > threshold)
                    found.push_back({r, c, options.sigmas[static_cast<std::size_t>(s)], greatest});
            }
    std::stable_sort(found.begin(), found.end(),
                     [](const blob& a, const blob& b) { return a.determinant > b.determinant; });
    return found;
}

/// Disks of some radii.
std::vector<std::uint8_t> disks(std::int64_t rows, std::int64_t cols,
                                const std::vector<std::tuple<double, double, double>>& of) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows * cols), 20);
    for (const auto& [y, x, radius] : of)
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = 0; c < cols; ++c)
                if (std::hypot(static_cast<double>(r) - y, static_cast<double>(c) - x) <= radius)
                    pixels[static_cast<std::size_t>(r * cols + c)] = 220;
    return pixels;
}

TEST(blobs, maxima_over_places_and_scales) {
    const auto noise = random_pixels<std::uint8_t>(40 * 31, 256);
    const image_view<const std::uint8_t> image(noise.data(), 40, 31);
    blob_options options{.sigmas = blob_scales(1, 6, 5), .threshold = 0.001, .overlap = 1};
    for (const int threads : {1, 4})
        for (const std::optional<double> relative : {std::optional<double>(), std::optional<double>(0.3)})
            for (const std::optional<double> threshold : {std::optional<double>(0.001), std::optional<double>()}) {
                options.threads = threads;
                options.relative_threshold = relative;
                options.threshold = threshold;
                const auto found = find_blobs({image}, options);
                ASSERT_GT(found.size(), 3U);
                ASSERT_EQ(found, expected(image, options));
            }
    const std::vector<std::uint8_t> flat(40 * 31, 9);
    options.threshold.reset();
    const image_view<const std::uint8_t> nothing(flat.data() + 5, 1, 1);
    EXPECT_TRUE(find_blobs({nothing}, options).empty());
}

TEST(blobs, disks_are_found_and_overlapping_ones_go) {
    const auto pixels = disks(120, 160, {{30, 40, 8}, {80, 110, 15}, {85, 30, 5}});
    const image_view<const std::uint8_t> image(pixels.data(), 120, 160);
    const blob_options all{.sigmas = blob_scales(3, 20, 18), .threshold = 0.005, .overlap = 1};
    const auto found = find_blobs({image}, {.sigmas = all.sigmas, .threshold = 0.005, .overlap = 0.3});
    for (const auto& [y, x, radius] :
         std::vector<std::tuple<double, double, double>>{{30, 40, 8}, {80, 110, 15}, {85, 30, 5}}) {
        const auto near = std::count_if(found.begin(), found.end(), [y = y, x = x, radius = radius](const blob& b) {
            return std::hypot(static_cast<double>(b.row) - y, static_cast<double>(b.col) - x) < 3 &&
                   std::abs(b.sigma - radius) < 0.4 * radius;
        });
        EXPECT_EQ(near, 1) << radius;
    }
    const auto unpruned = find_blobs({image}, all);
    EXPECT_GT(unpruned.size(), found.size());
    for (const blob& b : found) EXPECT_EQ(std::count(unpruned.begin(), unpruned.end(), b), 1);
}

TEST(blobs, scales) {
    EXPECT_EQ(blob_scales(1, 30, 1), std::vector<double>{1});
    EXPECT_EQ(blob_scales(2, 4, 3), (std::vector<double>{2, 3, 4}));
    const auto steps = blob_scales(1, 100, 3, scale_steps::logarithmic);
    EXPECT_NEAR(steps[1], 10, 1e-12);
    EXPECT_EQ(steps[2], 100);
}

TEST(blobs, refusals) {
    std::vector<std::uint8_t> bytes(96), out(32 * 8);
    const image_view<std::uint8_t> image(bytes.data(), 4, 8), colours(bytes.data(), 4, 8, 0, 3);
    const image_view<double> result(reinterpret_cast<double*>(out.data()), 4, 8);
    const auto message = [](auto&& call) {
        try {
            call();
        } catch (const std::exception& e) {
            return std::string(e.what());
        }
        return std::string("nothing thrown");
    };
    EXPECT_EQ(message([&] { box_hessian({image}, {result}, {.sigma = 0.9999999}); }),
              "sigma: is 0.9999999, must be 1 to 2^30");
    EXPECT_EQ(message([&] { box_hessian({colours}, {result}, {.sigma = 2}); }), "image: channels is 3, must be 1");
    EXPECT_EQ(message([&] { box_hessian({image}, {image}, {.sigma = 2}); }),
              "determinant: type is 8u, must be 32f or 64f");
    EXPECT_EQ(message([&] { find_blobs({image}, {.sigmas = {}}); }), "sigmas: there are none");
    EXPECT_EQ(message([&] { find_blobs({image}, {.sigmas = {3, 2}}); }), "sigmas: 2 follows 3, must ascend");
    EXPECT_EQ(message([&] { find_blobs({image}, {.overlap = 2}); }), "overlap: is 2, must be 0 to 1");
    EXPECT_EQ(message([&] { find_blobs({image}, {.threads = -1}); }), "threads: is -1, must be 0 (automatic) or more");
    EXPECT_EQ(message([&] { blob_scales(3, 2, 2); }), "most: is 2, must not be below the least, 3");
    for (const std::uint8_t x : out) EXPECT_EQ(x, 0);
}

}  // namespace
}  // namespace boxsum::blob_tests
