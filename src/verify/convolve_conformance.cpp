#include "verify/convolve_conformance.hpp"

#include "api/registry.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"

#include <boxsum/cuda/convolve.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/table.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

namespace boxsum {
namespace {

/// Elements with gaps behind rows and planes.
template <typename T>
struct gapped {
    std::vector<T> memory;
    image_view<T> view;

    gapped(const convolve_case& c, T fill) {
        const std::int64_t row = c.cols * c.channels + 3, plane = c.rows * row + 5;
        memory.assign(static_cast<std::size_t>(c.planes * plane), fill);
        constexpr auto bytes = static_cast<std::int64_t>(sizeof(T));
        view = {memory.data(), c.rows, c.cols, row * bytes, c.channels, c.planes, plane * bytes};
    }
};

template <typename F>
void for_each_element(const convolve_case& c, F&& f) {
    for (std::int64_t p = 0; p < c.planes; ++p)
        for (std::int64_t r = 0; r < c.rows; ++r)
            for (std::int64_t col = 0; col < c.cols; ++col)
                for (std::int64_t k = 0; k < c.channels; ++k) f(p, r, col, k);
}

constexpr double border_value = 0.75;

/// Where the extended image has its sample i, walked step by step; -1: the border's value.
std::int64_t sample_at(std::int64_t i, std::int64_t n, border_mode border) {
    while (i < 0 || i >= n) {
        if (border == border_mode::constant) return -1;
        if (border == border_mode::replicate) return i < 0 ? 0 : n - 1;
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
    }
    return i;
}

struct exact_sum {
    long double sum = 0;
    long double magnitude = 0;
};

template <typename Pixel>
exact_sum exact_at(const convolve_case& c, const image_view<Pixel>& image, const std::vector<double>& weights,
                   std::int64_t p, std::int64_t r, std::int64_t col, std::int64_t k) {
    const bool turned = c.direction == kernel_direction::convolution;
    const std::int64_t up = (c.kernel_rows - (turned ? 1 : 0)) / 2, left = (c.kernel_cols - (turned ? 1 : 0)) / 2;
    exact_sum s;
    for (std::int64_t i = 0; i < c.kernel_rows; ++i)
        for (std::int64_t j = 0; j < c.kernel_cols; ++j) {
            const std::int64_t at = i * c.kernel_cols + j;
            const auto w = static_cast<long double>(
                weights[static_cast<std::size_t>(turned ? c.kernel_rows * c.kernel_cols - 1 - at : at)]);
            const std::int64_t y = sample_at(r + i - up, c.rows, c.border),
                               x = sample_at(col + j - left, c.cols, c.border);
            const auto pixel =
                static_cast<long double>(y < 0 || x < 0 ? border_value : static_cast<double>(image(y, x, k, p)));
            s.sum += w * pixel;
            s.magnitude += std::fabs(w * pixel);
        }
    return s;
}

/// Memory with its gaps to a device, or back.
template <typename T>
void copy_all(const T* from, T* to, std::size_t elements, cuda::stream_ref stream) {
    const auto n = static_cast<std::int64_t>(elements);
    cuda::copy(image_view<const T>(from, 1, n), image_view<T>(to, 1, n), stream);
}

template <typename Pixel, typename Result>
void call(const algorithm_record& record, const gapped<Pixel>& image, const image_view<const double>& kernel,
          gapped<Result>& result, const convolve_options& options) {
    if (record.info.where == backend::cpu) return convolve({image.view, kernel}, {result.view}, options);
    const cuda::stream stream;
    const cuda::device_buffer from(image.memory.size() * sizeof(Pixel), stream),
        to(result.memory.size() * sizeof(Result), stream);
    copy_all(image.memory.data(), static_cast<Pixel*>(from.data()), image.memory.size(), stream);
    copy_all<Result>(result.memory.data(), static_cast<Result*>(to.data()), result.memory.size(), stream);
    cuda::convolve({const_any_view{from.data(), image.view.shape()}, kernel}, {{to.data(), result.view.shape()}},
                   stream, options);
    copy_all<Result>(static_cast<const Result*>(to.data()), result.memory.data(), result.memory.size(), stream);
}

template <typename Pixel, typename Result>
std::optional<std::string> check(const algorithm_record& record, const convolve_case& c) {
    constexpr Result poison = -12345;
    std::minstd_rand random(c.seed);
    gapped<Pixel> image(c, Pixel{77});
    for_each_element(c, [&](auto p, auto r, auto col, auto k) {
        const std::uint32_t bits = static_cast<std::uint32_t>(random()) >> 3;
        if constexpr (std::is_integral_v<Pixel>)
            image.view(r, col, k, p) = static_cast<Pixel>(bits);
        else
            image.view(r, col, k, p) = static_cast<Pixel>(static_cast<double>(bits % 65536) / 32768 - 1);
    });
    std::vector<double> weights(static_cast<std::size_t>(c.kernel_rows * c.kernel_cols));
    for (double& w : weights) w = (static_cast<double>(random() >> 3 & 0xffff) - 30000) / 32768;
    gapped<Result> result(c, poison);
    call(record, image, {weights.data(), c.kernel_rows, c.kernel_cols}, result,
         {.direction = c.direction,
          .border = c.border,
          .border_value = border_value,
          .algorithm = std::string(record.info.name)});

    const auto steps = static_cast<long double>(c.kernel_rows * c.kernel_cols + 1);
    const long double u = std::is_same_v<Result, float> ? 0x1p-24L : 0x1p-53L, gamma = steps * u / (1 - steps * u);
    std::vector<bool> inside(result.memory.size());
    std::optional<std::string> wrong;
    for_each_element(c, [&](auto p, auto r, auto col, auto k) {
        const Result& found = result.view(r, col, k, p);
        inside[static_cast<std::size_t>(&found - result.memory.data())] = true;
        const exact_sum exact = exact_at(c, image.view, weights, p, r, col, k);
        // Long double has rounding of its own.
        const long double bound = gamma * exact.magnitude * 1.01L + (std::is_same_v<Result, float> ? 1e-37L : 0);
        if (wrong || std::fabs(static_cast<long double>(found) - exact.sum) <= bound) return;
        wrong = "plane " + std::to_string(p) + ", row " + std::to_string(r) + ", column " + std::to_string(col) +
                ", channel " + std::to_string(k) + ": is " + text_of(static_cast<double>(found)) + ", must be " +
                text_of(static_cast<double>(exact.sum));
    });
    for (std::size_t i = 0; i < inside.size() && !wrong; ++i)
        if (!inside[i] && std::memcmp(&result.memory[i], &poison, sizeof poison) != 0)
            wrong = "wrote outside of the result, at element " + std::to_string(i);
    return wrong;
}

struct extents {
    std::int64_t rows, cols, channels, planes, kernel_rows, kernel_cols;
};

/// Images larger and smaller than the kernel, one row, one column, the ends of vectors and warps.
constexpr extents some[] = {{9, 200, 1, 1, 3, 3}, {7, 67, 3, 2, 5, 4},    {4, 5, 2, 1, 6, 7},  {1, 130, 1, 1, 1, 9},
                            {40, 1, 1, 2, 4, 1},  {12, 33, 4, 1, 20, 20}, {33, 40, 1, 1, 2, 2}},
                  more[] = {{3, 70, 1, 1, 64, 64}, {35, 150, 1, 1, 9, 17}, {20, 97, 1, 1, 33, 16},
                            {1, 1, 1, 1, 2, 2},    {64, 128, 1, 1, 7, 7},  {40, 255, 1, 1, 1, 64}};

}  // namespace

std::string describe(const convolve_case& c) {
    return name_of(type_pair{c.image, c.result}) + ", " + std::to_string(c.rows) + " x " + std::to_string(c.cols) +
           " x " + std::to_string(c.channels) + " x " + std::to_string(c.planes) + ", kernel " +
           std::to_string(c.kernel_rows) + " x " + std::to_string(c.kernel_cols) + ", border " +
           std::string(name_of(c.border)) +
           (c.direction == kernel_direction::convolution ? ", convolution" : ", correlation");
}

std::vector<convolve_case> convolve_cases(effort e) {
    std::vector<extents> shapes(std::begin(some), std::end(some));
    if (e == effort::full) shapes.insert(shapes.end(), std::begin(more), std::end(more));
    std::vector<convolve_case> cases;
    std::uint32_t seed = 0;
    for (const type_pair types :
         {type_pair{dtype::u8, dtype::f32}, type_pair{dtype::u16, dtype::f32}, type_pair{dtype::s16, dtype::f32},
          type_pair{dtype::f32, dtype::f32}, type_pair{dtype::u8, dtype::f64}, type_pair{dtype::f64, dtype::f64}})
        for (const extents& x : shapes)
            for (const border_mode border : {border_mode::constant, border_mode::replicate, border_mode::reflect}) {
                ++seed;
                cases.push_back({types.input, types.table, x.rows, x.cols, x.channels, x.planes, x.kernel_rows,
                                 x.kernel_cols, border,
                                 seed % 2 != 0 ? kernel_direction::correlation : kernel_direction::convolution, seed});
            }
    return cases;
}

support supports_case(const algorithm_record& record, const convolve_case& c) {
    view_shape image;
    image.type = c.image;
    image.rows = c.rows;
    image.cols = c.cols;
    image.channels = c.channels;
    image.planes = c.planes;
    image.row_stride = c.cols * c.channels * static_cast<std::int64_t>(size_of(c.image));
    image.plane_stride = c.rows * image.row_stride;
    const std::vector<double> weights(static_cast<std::size_t>(c.kernel_rows * c.kernel_cols));
    return supports(record.info, image, {weights.data(), c.kernel_rows, c.kernel_cols}, c.result,
                    {.direction = c.direction, .border = c.border});
}

std::optional<std::string> check_convolution(const algorithm_record& record, const convolve_case& c) {
    std::optional<std::string> wrong;
    visit_type(filter_types{}, c.image, [&]<typename Pixel>() {
        visit_type(type_list<f32, f64>{}, c.result,
                   [&]<typename Result>() { wrong = check<Pixel, Result>(record, c); });
    });
    return wrong;
}

}  // namespace boxsum
