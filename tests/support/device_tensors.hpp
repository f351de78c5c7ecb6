#pragma once

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/table.hpp>

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace boxsum::test {

/// Pixels that differ from place to place, the same for a seed.
template <typename T>
std::vector<T> random_pixels(std::int64_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<T> pixels(static_cast<std::size_t>(count));
    for (T& p : pixels) p = static_cast<T>(random() % 251);
    return pixels;
}

/// Host values in device memory, as `view()`.
template <typename T>
class on_device {
  public:
    on_device(std::span<const T> values, std::int64_t rows, std::int64_t cols, cuda::stream_ref stream)
        : image_(rows, cols, stream) {
        cuda::copy(image_view<const T>(values.data(), rows, cols), image_.view(), stream);
    }
    image_view<T> view() const { return image_.view(); }

  private:
    cuda::image<T> image_;
};

/// Histograms in device memory, on the host.
template <typename T>
histogram_table<T> fetch(const cuda::histogram_table<T>& table, cuda::stream_ref stream) {
    const histogram_view<T> from = table.view();
    histogram_table<T> to(from.bins(), from.image_rows(), from.image_cols(), from.form(), from.planes());
    for (std::int64_t plane = 0; plane < from.planes(); ++plane)
        for (std::int64_t bin = 0; bin < from.bins(); ++bin)
            cuda::copy(from.bin(bin, plane).entries(), to.view().bin(bin, plane).entries(), stream);
    return to;
}

/// Whether two tensors hold the same bits.
template <typename T>
bool same_entries(const histogram_view<const T>& first, const histogram_view<const T>& second) {
    const tensor_view<const T>&a = first.entries(), &b = second.entries();
    for (std::int64_t plane = 0; plane < a.planes(); ++plane)
        for (std::int64_t bin = 0; bin < a.bins(); ++bin)
            for (std::int64_t r = 0; r < a.rows(); ++r)
                for (std::int64_t c = 0; c < a.cols(); ++c)
                    if (a(bin, r, c, plane) != b(bin, r, c, plane)) return false;
    return true;
}

}  // namespace boxsum::test
