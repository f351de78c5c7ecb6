#pragma once

#include "filters/sampling.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace boxsum::filters {

/// An image, its pixels side by side, and what says which of them count.
struct sampled_image {
    const_any_view image;
    const_any_view mask;     ///< null data without one
    const_any_view weights;  ///< null data without
    nan_mode nan = nan_mode::propagate;
    std::optional<double> nodata = {};  ///< of the image's type
};

/// One row of a plane: its pixels, and what a mask and weights say of them.
template <typename T>
class sample_row {
  public:
    sample_row(const sampled_image& of, std::int64_t row, std::int64_t plane)
        : of_(of),
          channels_(of.image.shape.channels),
          n_(of.image.shape.cols * channels_),
          pixels_(at<T>(of.image, row, plane)),
          mask_(at<std::uint8_t>(of.mask, row, plane)),
          weights_(at<float>(of.weights, row, plane)) {}

    /// 1 or 0 for each element.
    void find(std::uint8_t* counts) const {
        if (of_.nodata || of_.nan == nan_mode::omit)
            for (std::int64_t i = 0; i < n_; ++i)
                counts[i] = is_nodata(number_of(pixels_[i]), of_.nan, of_.nodata) ? 0 : 1;
        else
            std::fill_n(counts, n_, std::uint8_t{1});
        if (mask_ != nullptr)
            with(of_.mask, mask_, [&](std::int64_t i, std::uint8_t m) {
                counts[i] = static_cast<std::uint8_t>(counts[i] & (m != 0 ? 1 : 0));
            });
        if (weights_ != nullptr)
            with(of_.weights, weights_, [&](std::int64_t i, float w) {
                counts[i] = static_cast<std::uint8_t>(counts[i] & (is_weight(w) ? 1 : 0));
            });
    }

    void keep(T* to, const std::uint8_t* counts) const {
        for (std::int64_t i = 0; i < n_; ++i) to[i] = counts[i] != 0 ? pixels_[i] : T{};
    }

    /// Weights, and pixels and their squares times weights; those that are not wanted are null.
    void weigh(double* sums, double* squares, double* weights, const std::uint8_t* counts) const {
        with(of_.weights, weights_, [&](std::int64_t i, float given) {
            const bool kept = counts[i] != 0;
            const auto w = static_cast<double>(given), x = static_cast<double>(number_of(pixels_[i]));
            if (sums != nullptr) sums[i] = kept ? w * x : 0;
            if (squares != nullptr) squares[i] = kept ? w * x * x : 0;
            if (weights != nullptr) weights[i] = kept ? w : 0;
        });
    }

  private:
    static float number_of(float16 pixel) { return to_float(pixel); }
    template <typename E>
    static E number_of(E pixel) {
        return pixel;
    }

    template <typename E>
    static const E* at(const const_any_view& view, std::int64_t row, std::int64_t plane) {
        if (view.data == nullptr) return nullptr;
        const std::int64_t from = (view.shape.planes == 1 ? 0 : plane) * view.shape.plane_stride;
        return reinterpret_cast<const E*>(static_cast<const std::byte*>(view.data) + from +
                                          row * view.shape.row_stride);
    }

    /// f(i, value) for the value that goes with each element: one of its own, or its pixel's.
    template <typename E, typename F>
    void with(const const_any_view& view, const E* values, F&& f) const {
        if (view.shape.channels == channels_)
            for (std::int64_t i = 0; i < n_; ++i) f(i, values[i]);
        else
            for (std::int64_t i = 0; i < n_; ++i) f(i, values[i / channels_]);
    }

    const sampled_image& of_;
    std::int64_t channels_, n_;
    const T* pixels_;
    const std::uint8_t* mask_;
    const float* weights_;
};

}  // namespace boxsum::filters
