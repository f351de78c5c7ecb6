#pragma once

// Tables of the host and of a device that hold the same, for queries that must find the same bits in both.

#include "cuda/runtime/cuda_try.hpp"

#include <boxsum/box.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>
#include <boxsum/table_view.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace boxsum::test {

inline constexpr dtype table_types[] = {dtype::u32, dtype::s32, dtype::u64, dtype::s64, dtype::f32, dtype::f64};
inline constexpr table_layout layouts[] = {table_layout::inclusive, table_layout::exclusive, table_layout::padded};

/// Extents and strides of entries, in elements. `first` is where entry (0, 0) lies in its memory.
struct entry_shape {
    std::int64_t rows, cols, channels = 1, planes = 1;
    std::int64_t row_gap = 0, plane_gap = 0, first = 0;
};

/// One entry; one row; one column; packed; rows and planes with gaps, which start at an odd element.
inline constexpr entry_shape entry_shapes[] = {
    {1, 1}, {1, 70}, {45, 1}, {33, 47}, {20, 31, 3, 2, 5, 7, 1}, {13, 17, 4, 3, 1, 3, 3}, {9, 300, 2, 1, 40, 0, 5}};

/// Small integers, which every type of tables holds and adds exactly, or any bits: integers that wrap, sums beyond
/// what 128 bits of products hold, and floats with infinities and NaN. `rounded` is small, but for 64f, whose
/// differences are what rounding leaves of large sums.
enum class contents : std::uint8_t { small, any_bits, rounded };

/// The same table in host and device memory.
class stored_table {
  public:
    stored_table(dtype type, const entry_shape& s, table_form form, contents what, std::uint64_t seed,
                 cuda::stream_ref stream)
        : form_(form), element_(static_cast<std::int64_t>(size_of(type))) {
        shape_ = {type, s.planes, s.rows, s.cols, s.channels, (s.cols * s.channels + s.row_gap) * element_, 0};
        shape_.plane_stride = (s.rows + s.plane_gap) * shape_.row_stride;
        first_ = s.first * element_;
        bytes_.resize(static_cast<std::size_t>(first_ + s.planes * shape_.plane_stride));
        std::mt19937_64 random(seed);
        if (what == contents::any_bits)
            for (std::byte& b : bytes_) b = static_cast<std::byte>(random());
        else
            for (std::int64_t i = 0; i < static_cast<std::int64_t>(bytes_.size()) / element_; ++i)
                put(i, static_cast<std::uint16_t>(random()), what);
        device_ = cuda::device_buffer(bytes_.size(), stream);
        BOXSUM_CUDA_TRY(
            cudaMemcpyAsync(device_.data(), bytes_.data(), bytes_.size(), cudaMemcpyHostToDevice, stream.get()));
        stream.synchronize();
    }

    const_any_table_view host() const { return {{bytes_.data() + first_, shape_}, form_}; }
    const_any_table_view device() const {
        return {{static_cast<const std::byte*>(device_.data()) + first_, shape_}, form_};
    }

  private:
    void put(std::int64_t i, std::uint16_t value, contents what) {
        const auto as = [&]<typename T>(T typed) { std::memcpy(bytes_.data() + i * element_, &typed, sizeof typed); };
        switch (shape_.type) {
            case dtype::f32:
                return as(static_cast<float>(value));
            case dtype::f64:
                return as(what == contents::rounded ? 1e9 + value % 3 * 0x1p-23 : static_cast<double>(value));
            default:
                return element_ == 4 ? as(std::uint32_t{value}) : as(std::uint64_t{value});
        }
    }

    table_form form_;
    std::int64_t element_, first_ = 0;
    view_shape shape_;
    std::vector<std::byte> bytes_;
    cuda::device_buffer device_;
};

template <typename T>
bool same_bits(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(a) && std::isnan(b)) return true;  // which NaN it is differs between processors
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Whether the host answers a box of either kind.
template <typename Box>
bool answered(const const_any_table_view& t, const Box& b) {
    try {
        check_box(b, t);
        return true;
    } catch (const invalid_argument&) {
        return false;
    }
}

}  // namespace boxsum::test
