#pragma once

#include <boxsum/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace boxsum::test {

/// How the elements of a batch lie in memory.
enum class lying : std::uint8_t {
    row_major,  ///< pixels side by side, rows and planes with or without gaps
    anyhow,     ///< rows, columns and planes in any order, with any gaps, forwards or backwards
    repeated,   ///< the same, and some of them all in one place
};

/// A batch of images or tables in memory of its own, with poison around and between its elements.
template <typename T>
class block {
  public:
    block(std::int64_t rows, std::int64_t cols, std::int64_t channels, std::int64_t planes, lying how,
          std::mt19937_64& random) {
        const auto pick = [&](std::int64_t n) {
            return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        };
        const std::array<std::int64_t, 3> extents{cols, rows, planes};
        std::array<std::int64_t, 3> strides{};  // in elements
        std::array<std::size_t, 3> order{0, 1, 2};
        if (how != lying::row_major) std::shuffle(order.begin(), order.end(), random);
        std::int64_t step = channels, first = 0;
        for (const std::size_t d : order) {
            const bool gaps = how != lying::row_major || d != 0;
            step += gaps && pick(2) == 0 ? pick(5) : 0;
            strides[d] = step;
            if (how == lying::repeated && pick(3) == 0) {
                strides[d] = 0;
                continue;
            }
            if (how != lying::row_major && pick(3) == 0) {
                strides[d] = -step;
                first += (extents[d] - 1) * step;
            }
            step *= extents[d];
        }
        const auto size = static_cast<std::int64_t>(sizeof(T));
        bytes_.assign(static_cast<std::size_t>((step + 2 * guard + 5) * size), poison);
        view_ = {reinterpret_cast<T*>(bytes_.data()) + guard + pick(5) + first,         rows,     cols,
                 view_strides{strides[1] * size, strides[0] * size, strides[2] * size}, channels, planes};
    }

    const image_view<T>& view() const { return view_; }

    /// All of the memory, and where in it the view's first element lies.
    const std::vector<std::byte>& bytes() const { return bytes_; }
    std::int64_t offset() const { return reinterpret_cast<const std::byte*>(view_.data()) - bytes_.data(); }

    /// f(plane, row, column, channel, element)
    template <typename F>
    void for_each(F&& f) const {
        for (std::int64_t plane = 0; plane < view_.planes(); ++plane)
            for (std::int64_t r = 0; r < view_.rows(); ++r)
                for (std::int64_t c = 0; c < view_.cols(); ++c)
                    for (std::int64_t channel = 0; channel < view_.channels(); ++channel)
                        f(plane, r, c, channel, view_(r, c, channel, plane));
    }

    /// Bytes that are no element are poison still.
    bool is_untouched_between() const {
        std::vector<bool> element(bytes_.size());
        for_each([&](auto, auto, auto, auto, T& value) {
            const auto first = static_cast<std::size_t>(reinterpret_cast<std::byte*>(&value) - bytes_.data());
            for (std::size_t i = 0; i < sizeof(T); ++i) element[first + i] = true;
        });
        for (std::size_t i = 0; i < bytes_.size(); ++i)
            if (!element[i] && bytes_[i] != poison) return false;
        return true;
    }

  private:
    static constexpr std::int64_t guard = 16;  // elements
    static constexpr std::byte poison{0xa5};
    std::vector<std::byte> bytes_;
    image_view<T> view_;
};

inline std::string text_of(const view_shape& s) {
    return "strides " + std::to_string(s.plane_stride) + ", " + std::to_string(s.row_stride) + ", " +
           std::to_string(s.pixel_stride());
}

}  // namespace boxsum::test
