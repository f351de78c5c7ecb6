#pragma once

#include "core/rounding.hpp"
#include "cpu/filters/row_job.hpp"

#include <algorithm>
#include <cstdint>

namespace boxsum::filters {

/// Elements first .. first + n - 1 of a row of 16f, 32f or 64f; nothing where the result is not wanted.
inline void write_row(const row_job& job, const any_view& result, const f64* values, std::int64_t row,
                      std::int64_t first, std::int64_t n, std::int64_t plane) {
    if (result.data == nullptr) return;
    if (result.shape.type == dtype::f32)
        job.kernels->block.convert_32f(job.row_to<f32>(result, row, plane) + first, values, n);
    else if (result.shape.type == dtype::f16)
        std::transform(values, values + n, job.row_to<f16>(result, row, plane) + first, nearest_float16);
    else
        std::copy_n(values, n, job.row_to<f64>(result, row, plane) + first);
}

/// What windows divide by where every pixel counts; nothing where that is not wanted.
void write_counts(const row_job& job, const any_view& count);

}  // namespace boxsum::filters
