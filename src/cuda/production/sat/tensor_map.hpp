#pragma once

#include "cuda/runtime/driver_function.hpp"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace boxsum::cuda {

/// What the copy engine asks memory for where a box needs less: no more than is needed for boxes 512 bytes wide, of
/// pixels as wide as sums (docs/decisions/warp-roles.md); their neighbour's as well for narrower ones; the rest of
/// their lines for those of 528 bytes, of rows that start anywhere.
// H200, 13.0, at 8192: 0.98, 0.99, 0.985 of the time of other choices
constexpr CUtensorMapL2promotion fetched_by_boxes(int row_bytes) {
    return row_bytes < 512   ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B
           : row_bytes > 512 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                             : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

/// Planes of rows x cols elements for copies of box_rows x box_cols. False where hardware has no such map (extents or
/// strides out of its range).
inline bool encode_tensor_map(CUtensorMap& map, int element_bytes, const void* data, std::int64_t planes,
                              std::int64_t rows, std::int64_t cols, std::int64_t row_stride, std::int64_t plane_stride,
                              int box_rows, int box_cols) {
    using encoder = CUresult(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                             const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                             CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    static encoder* const encode = driver_function<encoder>("cuTensorMapEncodeTiled", 12000);
    constexpr std::int64_t coordinates = std::int64_t{1} << 31;
    if (encode == nullptr || rows >= coordinates || cols >= coordinates || planes >= coordinates) return false;
    const CUtensorMapDataType type = element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                     : element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                     : element_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                          : CU_TENSOR_MAP_DATA_TYPE_UINT64;
    const cuuint64_t extents[3] = {static_cast<cuuint64_t>(cols), static_cast<cuuint64_t>(rows),
                                   static_cast<cuuint64_t>(planes)};
    const cuuint64_t strides[2] = {static_cast<cuuint64_t>(row_stride),
                                   static_cast<cuuint64_t>(planes > 1 ? plane_stride : row_stride)};
    const cuuint32_t box[3] = {static_cast<cuuint32_t>(box_cols), static_cast<cuuint32_t>(box_rows), 1};
    const cuuint32_t steps[3] = {1, 1, 1};
    return encode(&map, type, 3, const_cast<void*>(data), extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_NONE, fetched_by_boxes(box_cols * element_bytes),
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace boxsum::cuda
