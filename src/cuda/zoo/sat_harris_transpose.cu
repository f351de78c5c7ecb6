// Harris' transposition: Kogge-Stone scan of rows, transposition, the same again.
// Harris, Sengupta, Owens: Parallel Prefix Sum (Scan) with CUDA, 2007; as told by Ha, Choi, Jun, Kim, Byun, Han:
// Bandwidth Efficient Summed Area Table Generation for CUDA, 2012, section 3.3, whose comparator it is.
//
// Columns cannot be read coalesced by a scan along them, so the image is transposed between two scans of rows. Channels
// are de-interlaced first, into planes of the table's type. A block scans a row; a block of 256 threads transposes a
// sub-image of 16 x 16 through shared memory.
//
//     RGBA -> planes   rows ->   transpose   rows ->   transpose   table
//     rgbargba rrgg    a ab abc  .|.|.       ------    back
//
// Cost: 4 reads, 4 writes per element, 8wh together (the paper's 6wh ends with the table transposed; 1 + 1 more for
// several channels, which it does not count); 4 launches (5); rows cols threads; workspace 2 elements per element; no
// exchange between blocks.
// Limits: none of its own.
// Differs from the paper: the final transposition; rows longer than a block are scanned in steps with a carry, where
// CUDPP combines partial results by more launches; shuffles instead of shared memory within a warp.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/block_scan.cuh"
#include "cuda/device/inclusive.cuh"
#include "cuda/device/transpose.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr int scan_threads = 512;
constexpr int transpose_size = 16;  // the paper's: 16 x 16 = 256 threads, one per element
constexpr int split_threads = 256;

#ifdef __CUDACC__

using namespace cuda;

// Kernels

/// A thread owns a pixel column c of row blockIdx.x of the plane blockIdx.y: reads its interlaced channels, writes them
/// to planes of the table's type.
template <typename Pixel, typename Sum>
__global__ void split_channels_kernel(layers<const Pixel> in, layers<Sum> planes) {
    const std::int64_t r = blockIdx.x;
    for (std::int64_t c = threadIdx.x; c < in.cols; c += split_threads)
        for (std::int64_t k = blockIdx.y * in.channels; k < (blockIdx.y + 1) * in.channels; ++k)
            planes[k].at(r, c) = widen<Sum>(in[k].at(r, c));
}

/// A block owns row blockIdx.x of the layer blockIdx.y: its prefix sums. `in` may be `out`.
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(scan_threads) scan_rows_kernel(layers<const Pixel> in, layers<Sum> out) {
    const line<const Pixel> x = in[blockIdx.y].row(blockIdx.x);
    const line<Sum> y = out[blockIdx.y].row(blockIdx.x);
    Sum carry{};
    for (std::int64_t first = 0; first < in.cols; first += scan_threads) {
        const std::int64_t c = first + threadIdx.x;
        Sum total;
        const Sum sum = block_scan<scan_threads>(c < in.cols ? widen<Sum>(x[c]) : Sum{}, total);
        if (c < in.cols) y[c] = carry + sum;
        carry = carry + total;
    }
}

/// A block owns a sub-image of 16 x 16 of the layer blockIdx.y.
template <typename Sum>
__global__ void transpose_kernel(layers<const Sum> in, layers<Sum> out) {
    transpose_tile<transpose_size, transpose_size>(in[blockIdx.y], out[blockIdx.y], blockIdx.x);
}

// Host

support supported(const problem& p, const parameter_values&) {
    return supports_inclusive(p);
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    const inclusive_core core = core_of(p);
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() {
        slots.take<Sum>(core.layers * core.rows * core.cols);
        slots.take<Sum>(core.layers * core.rows * core.cols);
    });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        workspace_slots slots(how.workspace);
        const std::int64_t count = a.count(), elements = count * a.rows * a.cols;
        Sum* const upright = slots.take<Sum>(elements);
        Sum* const transposed = slots.take<Sum>(elements);
        const auto per_row = [&](std::int64_t rows, std::int64_t layers, int threads) {
            return launch_shape{.grid = dim3(static_cast<unsigned>(rows), static_cast<unsigned>(layers)),
                                .block = static_cast<unsigned>(threads)};
        };
        const launch_shape per_tile = per_row(ceil_div(a.rows, transpose_size) * ceil_div(a.cols, transpose_size),
                                              count, transpose_size * transpose_size);
        const layers<Sum> rows_out = packed_layers(upright, count, a.rows, a.cols);
        const layers<const Sum> rows_in = packed_layers<const Sum>(upright, count, a.rows, a.cols);
        const layers<Sum> cols_out = packed_layers(transposed, count, a.cols, a.rows);
        const layers<const Sum> cols_in = packed_layers<const Sum>(transposed, count, a.cols, a.rows);

        if (a.channels > 1) {
            launch(split_channels_kernel<Pixel, Sum>, per_row(a.rows, a.planes, split_threads), how.stream, a,
                   rows_out);
            launch(scan_rows_kernel<Sum, Sum>, per_row(a.rows, count, scan_threads), how.stream, rows_in, rows_out);
        } else {
            launch(scan_rows_kernel<Pixel, Sum>, per_row(a.rows, count, scan_threads), how.stream, a, rows_out);
        }
        launch(transpose_kernel<Sum>, per_tile, how.stream, rows_in, cols_out);
        launch(scan_rows_kernel<Sum, Sum>, per_row(a.cols, count, scan_threads), how.stream, cols_in, cols_out);
        launch(transpose_kernel<Sum>, per_tile, how.stream, cols_in, b);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values&) {
    const cuda::inclusive_core core = cuda::core_of(p);
    const int split = p.image.channels > 1 ? 1 : 0;
    const std::int64_t tiles = cuda::ceil_div(core.rows, transpose_size) * cuda::ceil_div(core.cols, transpose_size);
    return {4.0 + split, 4.0 + split, 4 + split + cuda::border_launches(p),
            core.layers * std::max(std::max(core.rows, core.cols) * scan_threads, tiles * 256)};
}

}  // namespace

constinit const algorithm_record sat_harris_transpose_record{
    .info = {.what = operation::sat,
             .name = "harris-transpose",
             .title = "scan of rows, transposition, and again",
             .paper = "Harris et al. 2007; Ha et al. 2012, 3.3",
             .cost = "4 reads, 4 writes per element; 4 launches",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
