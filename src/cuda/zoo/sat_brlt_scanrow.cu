// BRLT-ScanRow: transpose in registers, then a serial scan by each thread; twice.
// Chen, Wahib, Takizawa, Takano, Matsuoka: Efficient Algorithms for the Summed Area Tables Primitive on GPUs, 2018,
// section IV.B.
//
// A block owns 32 rows and walks along them; each of its warps holds 32 x 32 elements in registers, one column a lane.
// Transposed through shared memory (BRLT, algorithm 5), a lane holds 32 neighbours of one row: their prefix sums are 31
// additions without any communication. The sums of the warps pass through shared memory. The result is written as it
// lies, transposed, so the same kernel, called again, scans the columns and turns the table back.
//
//     32 rows  | warp 0 | warp 1 | ... | -> next step       transposed result
//              | 32x32  | 32x32  |     |                    warp 0  32 wide
//         BRLT: lane l = row l, registers = columns         warp 1
//
// Cost: 2 reads, 2 writes per element; 2 launches; max(rows, cols) / 32 blocks; workspace 1 element per element; no
// exchange between blocks.
// Limits: none of its own.
// Differs from the paper: the barrier of algorithm 5 is met by all warps; shared memory for S = 32 / sizeof(T) warps
// serves the others in turn, as printed. The sums of the warps (figure 3c) are not scanned in shared memory, which
// takes a barrier more: every lane adds up those before its own.

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
    {"threads", "a block; halved for 8-byte tables; the paper's is 1024", threads_values}};

/// Threads of a block: the paper's 1024, halved for 8-byte types to spare registers, or fewer.
int threads_of(const problem& p, const parameter_values& values) {
    const int threads = number_of(parameters, values, 0);
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
template <typename Pixel, typename Sum>
__global__ void __launch_bounds__(most_matrix_threads<Sum>)
    brlt_scan_row_kernel(layers<const Pixel> in, layers<Sum> out_transposed) {
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
        transpose_matrix_in_turn(data, s.slots);

        // Serial scan of 32 neighbours of row + lane
        s.sums.of[warp_id()][lane_id()] = scan_registers(data);
        __syncthreads();

        // Partial sums of the warps before this one; the sum of all is the carry of the next step
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
        launch(brlt_scan_row_kernel<Pixel, Sum>, shape(a.rows), how.stream, a, transposed);
        launch(brlt_scan_row_kernel<Sum, Sum>, shape(a.cols), how.stream, transposed_in, b);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values& values) {
    const cuda::inclusive_core core = cuda::core_of(p);
    return {2, 2, 2 + cuda::border_launches(p),
            cuda::ceil_div(std::max(core.rows, core.cols), 32) * core.layers * threads_of(p, values)};
}

}  // namespace

constinit const algorithm_record sat_brlt_scanrow_record{
    .info = {.what = operation::sat,
             .name = "brlt-scanrow",
             .title = "transpose in registers, serial scan per thread, twice",
             .paper = "Chen et al. 2018, IV.B",
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
