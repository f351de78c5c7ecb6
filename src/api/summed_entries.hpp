#pragma once

#include <boxsum/table_view.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace boxsum {

/// A channel of a plane of a table in host memory, as weighted_sum() reads it: what was summed, without the form's
/// offset.
template <typename T>
class summed_entries {
  public:
    explicit summed_entries(const const_any_table_view& table, std::int64_t channel = 0, std::int64_t plane = 0)
        : shape_(table.entries.shape),
          first_(static_cast<const std::byte*>(table.entries.data) + plane * shape_.plane_stride +
                 channel * static_cast<std::int64_t>(sizeof(T))),
          border_(table.form.border()) {}

    T at(std::int64_t r, std::int64_t c) const {
        r += border_ - 1;
        c += border_ - 1;
        if (r < 0 || c < 0) return T{};
        return *reinterpret_cast<const T*>(first_ + r * shape_.row_stride + c * shape_.pixel_stride());
    }
    static T minus(T a, T b) {
        using word = std::conditional_t<std::is_floating_point_v<T>, T,
                                        std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>>;
        return static_cast<T>(static_cast<word>(a) - static_cast<word>(b));
    }
    static double value(T sum, std::int64_t, std::int64_t) { return static_cast<double>(sum); }

  private:
    const view_shape& shape_;
    const std::byte* first_;
    std::int64_t border_;
};

}  // namespace boxsum
