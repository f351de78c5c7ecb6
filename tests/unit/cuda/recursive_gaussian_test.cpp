// The recursive Gaussian of the zoo: every pixel against the recursion itself, walked over whole lines in double, and
// against the Gaussian that it stands for, as scipy.ndimage.gaussian_filter(mode='constant') defines it.

#include "cuda/zoo/recursive_gaussian.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "support/complaint.hpp"
#include "support/gpu.hpp"

#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace boxsum {
namespace {

using line = std::vector<double>;

/// y(i) = gain x(i) + a[0] y(i - 1) + a[1] y(i - 2) + a[2] y(i - 3), whose response there and back has the variance of
/// sigma; found otherwise than the exhibit finds it: from the response itself.
struct filter {
    double gain = 1, a[3] = {};

    explicit filter(double scale) {
        const double radius = std::pow(std::abs(std::complex<double>(1.41650, 1.00829)), -1 / scale),
                     angle = std::arg(std::complex<double>(1.41650, 1.00829)) / scale,
                     third = std::pow(1.86543, -1 / scale);
        const double pair = 2 * radius * std::cos(angle), product = radius * radius;
        a[0] = pair + third;
        a[1] = -(product + pair * third);
        a[2] = product * third;
        gain = 1 - a[0] - a[1] - a[2];
    }

    static filter of_sigma(double sigma) {
        double low = sigma / 4, high = sigma;
        for (int i = 0; i < 60; ++i)
            ((filter((low + high) / 2).variance() < sigma * sigma) ? low : high) = (low + high) / 2;
        return filter(low);
    }

    void walk(line& x) const {
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] *= gain;
            for (std::size_t k = 0; k < 3 && k < i; ++k) x[i] += a[k] * x[i - 1 - k];
        }
    }
    /// Of zeros around.
    line there_and_back(const line& x, std::size_t tail) const {
        line y(1);  // an element before the first, so that every value has three before it or zeros
        y.insert(y.end(), x.begin(), x.end());
        y.resize(y.size() + tail);
        walk(y);
        y.push_back(0);
        std::reverse(y.begin(), y.end());
        walk(y);
        std::reverse(y.begin(), y.end());
        return {y.begin() + 1, y.begin() + 1 + static_cast<std::ptrdiff_t>(x.size())};
    }
    double variance() const {
        line impulse(4001);
        impulse[2000] = 1;
        const line y = there_and_back(impulse, 0);
        double sum = 0, square = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            const double d = static_cast<double>(i) - 2000;
            sum += y[i];
            square += d * d * y[i];
        }
        return square / sum;
    }
};

line gaussian(const line& x, double sigma) {
    const auto radius = static_cast<std::int64_t>(4 * sigma + 0.5), size = static_cast<std::int64_t>(x.size());
    line weights;
    double sum = 0;
    for (std::int64_t d = -radius; d <= radius; ++d) {
        weights.push_back(std::exp(-0.5 * static_cast<double>(d * d) / (sigma * sigma)));
        sum += weights.back();
    }
    line y(x.size());
    for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t d = std::max(-radius, -i); d <= std::min(radius, size - 1 - i); ++d)
            y[static_cast<std::size_t>(i)] +=
                weights[static_cast<std::size_t>(d + radius)] / sum * x[static_cast<std::size_t>(i + d)];
    return y;
}

struct image {
    std::int64_t rows, cols;
    line values;

    template <typename F>
    image along_both(F&& f) const {
        image result = *this;
        line x(static_cast<std::size_t>(cols));
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto from = result.values.begin() + r * cols;
            std::copy(from, from + cols, x.begin());
            const line y = f(x);
            std::copy(y.begin(), y.end(), from);
        }
        line column(static_cast<std::size_t>(rows));
        for (std::int64_t c = 0; c < cols; ++c) {
            for (std::int64_t r = 0; r < rows; ++r)
                column[static_cast<std::size_t>(r)] = result.values[static_cast<std::size_t>(r * cols + c)];
            const line y = f(column);
            for (std::int64_t r = 0; r < rows; ++r)
                result.values[static_cast<std::size_t>(r * cols + c)] = y[static_cast<std::size_t>(r)];
        }
        return result;
    }
};

double greatest_difference(const image& a, const image& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const double d = std::fabs(a.values[i] - b.values[i]);
        if (!(d <= most)) most = d;  // keeps NaN
    }
    return most;
}

class recursive_gaussian : public test::gpu_test {
  protected:
    /// Noise of 0 to 1 in `layers` layers, filtered on the device: planes, or channels of one plane.
    template <typename T>
    void check(std::int64_t rows, std::int64_t cols, std::int64_t planes, std::int64_t channels, double sigma,
               double bound) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + ", sigma " + std::to_string(sigma));
        view_shape s{dtype_of<T>, planes, rows, cols, channels, (cols * channels + 5) * std::int64_t{sizeof(T)}, 0};
        s.plane_stride = (rows + 1) * s.row_stride;
        std::vector<T> values(static_cast<std::size_t>(planes * s.plane_stride) / sizeof(T));
        std::mt19937 random(3);
        for (T& v : values) v = static_cast<T>(static_cast<double>(random() >> 8) * 0x1p-24);
        std::vector<T> found(values.size(), T{-9});
        cuda::device_buffer from(values.size() * sizeof(T), stream_), to(values.size() * sizeof(T), stream_);
        const std::size_t bytes = cuda::recursive_gaussian_bytes(s);
        cuda::device_buffer workspace(bytes, stream_);
        const auto copy = [&](void* out, const void* in, std::size_t size, cudaMemcpyKind kind) {
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(out, in, size, kind, stream_.get()));
        };
        copy(from.data(), values.data(), from.size(), cudaMemcpyHostToDevice);
        copy(to.data(), found.data(), to.size(), cudaMemcpyHostToDevice);
        BOXSUM_CUDA_TRY(cudaMemsetAsync(workspace.data(), 0xff, bytes, stream_.get()));  // NaN
        cuda::enqueue_recursive_gaussian({from.data(), s}, {to.data(), s}, sigma, workspace.data(), stream_);
        copy(found.data(), to.data(), to.size(), cudaMemcpyDeviceToHost);
        stream_.synchronize();

        const filter f = filter::of_sigma(sigma);
        for (std::int64_t plane = 0; plane < planes; ++plane)
            for (std::int64_t channel = 0; channel < channels; ++channel) {
                image in{rows, cols, {}}, out{rows, cols, {}};
                for (std::int64_t r = 0; r < rows; ++r)
                    for (std::int64_t c = 0; c < cols; ++c) {
                        const auto at = static_cast<std::size_t>((plane * s.plane_stride + r * s.row_stride) /
                                                                     std::int64_t{sizeof(T)} +
                                                                 c * channels + channel);
                        in.values.push_back(static_cast<double>(values[at]));
                        out.values.push_back(static_cast<double>(found[at]));
                        found[at] = -9;
                    }
                const image exact = in.along_both(
                    [&](const line& x) { return f.there_and_back(x, static_cast<std::size_t>(60 * sigma)); });
                EXPECT_LE(greatest_difference(out, exact), bound);
                // What the filter is for: its response departs from a Gaussian's by half a per cent of the range.
                const image blurred = in.along_both([&](const line& x) { return gaussian(x, sigma); });
                EXPECT_LE(greatest_difference(out, blurred), sigma < 2 ? 0.03 : 0.006);
            }
        EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](T v) { return v == T{-9}; }))
            << "written beside the image";
    }

    cuda::stream stream_;
};

TEST_F(recursive_gaussian, every_pixel_and_what_it_stands_for) {
    check<float>(70, 133, 1, 1, 2, 2e-6);
    check<float>(1, 200, 1, 1, 1, 2e-6);
    check<float>(65, 1, 2, 1, 5, 2e-5);
    check<float>(96, 64, 1, 3, 10, 3e-4);
    check<double>(101, 87, 2, 2, 3, 1e-9);
    check<double>(45, 260, 1, 1, 30, 1e-8);  // the tail is longer than the image
}

TEST_F(recursive_gaussian, refusals) {
    const cuda::device_buffer memory(4096, stream_);
    const auto view = [&](dtype type, std::int64_t cols) {
        return any_view{memory.data(), {type, 1, 4, cols, 1, 256, 1024}};
    };
    const auto blur = [&](dtype type, std::int64_t cols, double sigma) {
        cuda::enqueue_recursive_gaussian(view(type, 8), view(type, cols), sigma, memory.data(), stream_);
    };
    EXPECT_COMPLAINT(blur(dtype::f32, 8, 0.9), "sigma: is 0.9");
    EXPECT_COMPLAINT(blur(dtype::f32, 8, std::nan("")), "sigma: is");
    EXPECT_COMPLAINT(blur(dtype::f32, 7, 2), "result: is 1 x 4 x 7 x 1 32f, must be as the image");
    EXPECT_THROW(blur(dtype::u8, 8, 2), unsupported);
}

}  // namespace
}  // namespace boxsum
