#pragma once

#include "core/table_types.hpp"
#include "cuda/queries/box_kernels.hpp"

#include <boxsum/cuda/box.cuh>

#include <cstdint>
#include <type_traits>

namespace boxsum::cuda {

using word32 = std::uint32_t;
using word64 = std::uint64_t;

/// What every pixel of a table is less, as its type has it.
struct table_offset {
    bool any = false;
    word64 whole = 0;  ///< of integers, modulo 2^64
    double real = 0;

    explicit table_offset(const queried_table& t) : any(t.table.form.has_offset()) {
        const view_shape& s = t.table.entries.shape;
        const double offset = t.table.form.offset_of(t.channel, t.plane, s.channels);
        visit_type(table_types{}, s.type, [&]<typename T>() {
            real = static_cast<double>(static_cast<T>(offset));
            if constexpr (std::is_integral_v<T>) whole = static_cast<word64>(static_cast<std::int64_t>(offset));
        });
    }

    /// To the sum of the box's pixels less the offset.
    template <typename T>
    __device__ T added_to_sum(T sum, const box& b) const {
        if (!any) return sum;
        if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(static_cast<word64>(sum) +
                                  whole * static_cast<word64>(b.rows) * static_cast<word64>(b.cols));
        } else {
#ifdef __CUDA_ARCH__
            const double added = __dmul_rn(real, box_detail::pixels(b));  // never fused with the sum: the host's bits
#else
            const double added = real * box_detail::pixels(b);
#endif
            return static_cast<T>(static_cast<double>(sum) + added);
        }
    }
    __device__ double added_to_mean(double mean) const {
        return any ? mean + real : mean;
    }
};

}  // namespace boxsum::cuda
