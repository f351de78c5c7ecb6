// SSAM: convolution as a software systolic array of the lanes of a warp.
// Chen, Wahib, Takizawa, Takano, Matsuoka: A Versatile Software Systolic Execution Model for GPU Memory-Bound Kernels,
// 2019; as told by the notes 'How to compute integral image on GPU?' (2025), 'SSAM for 2D conv.'.
//
// A lane reads C = P + N - 1 neighbours of a column into registers, the register cache, and makes P results. For each
// of the M columns of the kernel it adds N products to each of P partial sums, then hands these to the lane on its
// right: what a result needs of M columns it picks up on its way through M lanes. The first M - 1 lanes end with
// incomplete sums, so warps overlap by M - 1 columns and N - 1 rows.
//
//     lane      0    1    2   ... 31
//     column   c+0  c+1  c+2  ... c+31     C registers each
//     m = 0     s -> .    .                sums[i] += sum over n of data[i + n] * w[n][0]
//     m = 1          s -> .                             ...                     w[n][1]
//     m = 2               s                the result of column c + 2 - (M - 1) + M / 2
//
// Cost: 32 C / (P (33 - M)) reads of the first-level cache, 1 write per element; 1 launch; (P (33 - M) / 32)^-1 threads
// per element; latency of a result M N (add + shared read + 2 registers) + (M - 1) shuffles. Limits: kernels of 2 x 2
// to 20 x 20, as the paper has them; images of 32f and 64f. Differs from the paper: line 11 of listing 1 stores one
// weight a thread, which is wrong for M N above the threads of a block; borders other than zeros; 64-bit offsets;
// weights lie column by column, so that a lane's N follow each other.

#include "cuda/convolve/bordered.cuh"
#include "cuda/convolve/kernels.hpp"
#include "cuda/device/systolic.cuh"
#include "cuda/runtime/launch.cuh"

namespace boxsum::cuda {
namespace {

// Policy: the paper's, of all its measurements

constexpr int threads = 128, outputs = 4;  // B and P
constexpr int least = 2, most = 20;        // M and N

// Kernel

/// A warp owns `outputs` rows and 33 - M columns of layer blockIdx.y.
template <int N, typename T>
__global__ void __launch_bounds__(threads)
    ssam_kernel(convolved<T, T> all, const T* kernel, int M, int above, int left, unsigned blocks_across) {
    __shared__ T weights[most * N];  // [m][n]
    for (int i = static_cast<int>(threadIdx.x); i < M * N; i += threads) weights[i] = kernel[i];
    __syncthreads();

    const int valid = warp_size + 1 - M;
    const std::int64_t strip = std::int64_t{blockIdx.x % blocks_across} * (threads / warp_size) + warp_id();
    const std::int64_t row = std::int64_t{blockIdx.x / blocks_across} * outputs;
    const std::int64_t col = strip * valid - left + lane_id();  // that the lane reads

    // The register cache
    const auto column = all.input(blockIdx.y).column(col);
    T data[outputs + N - 1];
#pragma unroll
    for (int s = 0; s < outputs + N - 1; ++s) data[s] = column.at(row - above + s);

    // M steps of the systolic array
    T sums[outputs] = {};
    for (int m = 0; m < M; ++m) {
        if (m > 0) move_right(sums);
        add_column<N>(sums, data, &weights[m * N]);
    }

    // A lane ends with the sums of the M columns up to its own
    const std::int64_t to = col - (M - 1) + left;
    if (lane_id() < M - 1 || to >= all.result.cols) return;
    const line<T> result = all.result[blockIdx.y].column(to);
#pragma unroll
    for (int i = 0; i < outputs; ++i)
        if (row + i < all.result.rows) result[row + i] = sums[i];
}

// Host

const char* refuses(const convolution::job& j) {
    if (j.rows < least || j.rows > most || j.cols < least || j.cols > most) return "kernels of 2 x 2 to 20 x 20 alone";
    if (j.image.type != j.result.type) return "images of 32f and 64f alone, with results of the same type";
    return nullptr;
}

/// Column by column.
std::vector<double> weights_of(const convolution::job& j) {
    std::vector<double> turned;
    for (int m = 0; m < j.cols; ++m)
        for (int n = 0; n < j.rows; ++n) turned.push_back(j.weights[static_cast<std::size_t>(n * j.cols + m)]);
    return turned;
}

void enqueue(const convolution::job& j, const void* image, void* result, const void* weights, stream_ref stream) {
    visit_convolved(j, image, result, [&]<typename Pixel, typename Sum>(const convolved<Pixel, Sum>& all) {
        if constexpr (std::is_same_v<Pixel, Sum>)
            visit_rows<least, most>(j.rows, [&]<int N>() {
                const std::int64_t strips = ceil_div(j.image.cols, warp_size + 1 - j.cols);
                const std::int64_t across = ceil_div(strips, threads / warp_size),
                                   down = ceil_div(j.image.rows, outputs);
                launch(ssam_kernel<N, Sum>,
                       {.grid = dim3(static_cast<unsigned>(across * down), static_cast<unsigned>(all.image.count())),
                        .block = threads},
                       stream, all, static_cast<const Sum*>(weights), j.cols, j.above, j.left,
                       static_cast<unsigned>(across));
            });
    });
}

}  // namespace

const convolve_algorithm convolve_ssam{"ssam", refuses, weights_of, enqueue};

}  // namespace boxsum::cuda
