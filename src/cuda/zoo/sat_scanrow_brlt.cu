// ScanRow-BRLT: parallel warp scan of rows, then transpose in registers; twice.
// Chen, Wahib, Takizawa, Takano, Matsuoka: Efficient Algorithms for the Summed Area Tables Primitive on GPUs, 2018,
// section IV.A.
//
// Scan-transpose-scan (Bilgic et al. 2010) without a transposition in global memory. A block owns 32 rows and walks
// along them; each of its warps holds 32 x 32 elements in registers, scans each of the 32 rows across its lanes
// (Kogge-Stone, algorithm 3, or LF, algorithm 4), adds what the warps to the left have, and transposes through shared
// memory (BRLT, algorithm 5) before it writes. The same kernel, called again, scans the columns and turns the table
// back.
//
//     32 rows  | warp 0 | warp 1 | ... | -> next step       transposed result
//              | 32x32  | 32x32  |     |                    warp 0  32 wide
//         lane l = column l, registers = rows: warp scan of each register
//
// Cost: 2 reads, 2 writes per element; 2 launches; max(rows, cols) / 32 blocks; workspace 1 element per element; no
// exchange between blocks.
// Limits: none of its own.
// Differs from the paper: slips of algorithms 3, 4 and 5 (see warp_scan.cuh, register_matrix.cuh). The sums of the
// warps (figure 3c) are not scanned in shared memory: every lane adds up those before its own.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/parameters.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/register_matrix.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>

namespace boxsum {
namespace {

// Policy

constexpr std::string_view threads_values[] = {"256", "512", "1024"};
constexpr parameter parameters[] = {
    scan_parameter, {"threads", "a block; halved for 8-byte tables; the paper's is 1024", threads_values}};

/// Threads of a block: the paper's 1024, halved for 8-byte types to spare registers, or fewer.
int threads_of(const problem& p, const parameter_values& values) {
    const int threads = number_of(parameters, values, 1);
    return size_of(p.table.type) == 8 ? threads / 2 : threads;
}

#ifdef __CUDACC__

using namespace cuda;

// Shared memory

template <typename Sum>
struct scan_shared {
    matrix_slot<Sum> slots[32 / sizeof(Sum)];  // S of algorithm 5
    warp_partial_sums<Sum> sums;               // of 32 rows
};

// Kernels

/// A block owns rows 32 blockIdx.x .. + 31 of the layer blockIdx.y. Reads I (first call) or the transposed prefix sums
/// of its rows (second call), writes the prefix sums of its rows, transposed.
template <scan_network Network, typename Pixel, typename Sum>
__global__ void __launch_bounds__(most_matrix_threads<Sum>)
    scan_row_brlt_kernel(layers<const Pixel> in, layers<Sum> out_transposed) {
    __shared__ scan_shared<Sum> s;
    const layer<const Pixel> image = in[blockIdx.y];
    const layer<Sum> out = out_transposed[blockIdx.y];
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    const std::int64_t row = std::int64_t{blockIdx.x} * matrix_size;
    Sum carry{};  // of row + lane: all steps before
    for (std::int64_t step = 0; step < image.cols; step += warps * matrix_size) {
        const std::int64_t col = step + warp_id() * matrix_size;
        Sum data[matrix_size];
        load_matrix(data, image, row, col);

        // Warp scan of each of the 32 rows; the last lane has the partial sums
#pragma unroll
        for (int j = 0; j < matrix_size; ++j) data[j] = warp_scan<Network>(data[j]);
        if (lane_id() == warp_size - 1) {
#pragma unroll
            for (int j = 0; j < matrix_size; ++j) s.sums.of[warp_id()][j] = data[j];
        }
        transpose_matrix_in_turn(data, s.slots);  // its barriers are behind the partial sums, too

        // Partial sums of the warps before this one; transposed, a lane has one row and needs one of them
        const Sum before = before_this_warp(s.sums, carry);
#pragma unroll
        for (int j = 0; j < matrix_size; ++j) data[j] = before + data[j];
        store_matrix(data, out, col, row);
        __syncthreads();  // before the next step overwrites the partial sums
    }
}

// Host

support supported(const problem& p, const parameter_values&) {
    return supports_inclusive(p);
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    const inclusive_core core = core_of(p);
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() { slots.take<Sum>(core.layers * core.rows * core.cols); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        workspace_slots slots(how.workspace);
        Sum* const scratch = slots.take<Sum>(a.count() * a.rows * a.cols);
        const layers<Sum> transposed = packed_layers(scratch, a.count(), a.cols, a.rows);
        const layers<const Sum> transposed_in = packed_layers<const Sum>(scratch, a.count(), a.cols, a.rows);
        const auto shape = [&](std::int64_t rows) {
            return launch_shape{
                .grid = dim3(static_cast<unsigned>(ceil_div(rows, matrix_size)), static_cast<unsigned>(a.count())),
                .block = static_cast<unsigned>(threads_of(p, how.parameters))};
        };
        visit_scan_network(how.parameters.choice[0], [&]<scan_network Network>() {
            launch(scan_row_brlt_kernel<Network, Pixel, Sum>, shape(a.rows), how.stream, a, transposed);
            launch(scan_row_brlt_kernel<Network, Sum, Sum>, shape(a.cols), how.stream, transposed_in, b);
        });
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const cuda::inclusive_core core = cuda::core_of(p);
    return {2, 2, 2 + cuda::border_launches(p),
            cuda::ceil_div(std::max(core.rows, core.cols), 32) * core.layers * threads_of(p, values)};
}

}  // namespace

constinit const algorithm_record sat_scanrow_brlt_record{
    .info = {.what = operation::sat,
             .name = "scanrow-brlt",
             .title = "warp scan of rows, transpose in registers, twice",
             .paper = "Chen et al. 2018, IV.A",
             .cost = "2 reads, 2 writes per element; 2 launches",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true,
             .parameters = parameters},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
