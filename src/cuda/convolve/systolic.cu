// Convolution with small kernels, written for the machine: SSAM with two columns a lane.
//
// A warp holds 64 columns, columns 2 l and 2 l + 1 in lane l, and makes 8 rows of results. Of the two partial sums of a
// row the even one moves to the odd one within the lane, and only the odd one to the next lane: half the shuffles, and
// 63 - M to 65 - M of 64 columns are results (an even number) where the paper has 33 - M of 32. A warp whose pixels all
// lie in the image checks no borders and reads and writes pairs.
//
//     lane l:   even   odd        one step, from the right to the left:
//     sums       e      o          o <- e + data of the odd column * w[m]
//                  ->     -> l + 1  e <- o of lane l - 1 + data of the even column * w[m]
//
// Cost: 1 write, and ((N + 7) / 8) (64 / V) reads of the first-level cache per element; 1 launch; 32 / (8 V) threads
// per element, V of these columns. Limits: 25 weights, of which `tiled` is slower (in square kernels of
// 32f; others were not measured), in at most 8 rows and 16 columns.

#include "cuda/convolve/bordered.cuh"
#include "cuda/convolve/kernels.hpp"
#include "cuda/device/systolic.cuh"
#include "cuda/runtime/launch.cuh"

namespace boxsum::cuda {
namespace {

// Policy

constexpr int outputs = 8, warps = 4;  // rows of results of a warp; warps of a block, one below the other
constexpr int most_weights = 25, most_rows = 8, most_cols = 16;  // of a kernel
constexpr int columns = 2 * warp_size;                           // of a warp
constexpr int padded(int rows) {                                 // weights of a column, for loads of 16 bytes
    return (rows + 3) / 4 * 4;
}

template <typename Sum>
struct systolic_call {
    const Sum* weights;  ///< [m][n], columns padded
    int cols;            ///< of the kernel
    int above, left;
    int odd;    ///< columns that a warp's data begin earlier, so that pairs of pixels are aligned
    int valid;  ///< columns of results of a warp
    unsigned blocks_across;
};

template <typename T>
struct alignas(2 * sizeof(T)) pair_of {
    T even, odd;
};

// Kernel

/// The rows of a warp's data, two columns a lane, of which all are in the image.
template <int Rows, typename Pixel, typename Sum>
__device__ void load_inside(Sum (&even)[Rows], Sum (&odd)[Rows], const layer<const Pixel>& image, std::int64_t r,
                            std::int64_t c, bool pairs) {
    line<const Pixel> x{&image.at(r, c), image.row_stride};
    if (pairs) {
#pragma unroll
        for (int s = 0; s < Rows; ++s) {
            const auto both = *reinterpret_cast<const pair_of<Pixel>*>(x.first);
            even[s] = widen<Sum>(both.even);
            odd[s] = widen<Sum>(both.odd);
            x.first = &x[1];
        }
    } else {
        const std::int64_t next = image.col_stride / static_cast<std::int64_t>(sizeof(Pixel));
#pragma unroll
        for (int s = 0; s < Rows; ++s) {
            even[s] = widen<Sum>(x.first[0]);
            odd[s] = widen<Sum>(x.first[next]);
            x.first = &x[1];
        }
    }
}

/// A warp owns `outputs` rows and `valid` columns of layer blockIdx.y. `aligned`: pairs of pixels and of results may be
/// read and written as such.
template <int N, typename Pixel, typename Sum>
__global__ void __launch_bounds__(warps* warp_size)
    systolic_kernel(convolved<Pixel, Sum> all, systolic_call<Sum> call, bool aligned) {
    alignas(16) __shared__ Sum weights[most_cols * padded(1)];
    for (int i = static_cast<int>(threadIdx.x); i < call.cols * padded(N); i += warps * warp_size)
        weights[i] = call.weights[i];
    __syncthreads();  // the weights are there

    const std::int64_t tile = blockIdx.x % call.blocks_across;
    const std::int64_t row = (std::int64_t{blockIdx.x / call.blocks_across} * warps + warp_id()) * outputs;
    const std::int64_t col = tile * call.valid - call.left - call.odd;  // of the warp's first pixel
    const std::int64_t r = row - call.above, c = col + 2 * lane_id();
    const bordered<Pixel, Sum> in = all.input(blockIdx.y);
    const bool inside = r >= 0 && r + outputs + N - 1 <= in.image.rows && col >= 0 && col + columns <= in.image.cols;

    Sum x[outputs + N - 1], y[outputs + N - 1];  // of the even and the odd column
    if (inside) {
        load_inside(x, y, in.image, r, c, aligned);
    } else {
        const auto left = in.column(c), right = in.column(c + 1);
#pragma unroll
        for (int s = 0; s < outputs + N - 1; ++s) {
            x[s] = left.at(r + s);
            y[s] = right.at(r + s);
        }
    }
    Sum even[outputs] = {}, odd[outputs] = {};  // partial sums
    for (int m = 0; m < call.cols; ++m) {
        if (m > 0) {
#pragma unroll
            for (int i = 0; i < outputs; ++i) {
                const Sum from_left = shuffle_up(odd[i], 1);
                odd[i] = even[i];
                even[i] = from_left;
            }
        }
        add_column<N>(even, x, &weights[m * padded(N)]);
        add_column<N>(odd, y, &weights[m * padded(N)]);
    }

    // Position p = 2 l or 2 l + 1 of the warp ends with the result of column `first` + p, from p = unused on.
    const int unused = call.cols - 1 + call.odd;
    const layer<Sum> out = all.result[blockIdx.y];
    const std::int64_t first = tile * call.valid - unused;
    if (inside && aligned && row + outputs <= out.rows) {
        // Pairs begin at even columns of the result: where `unused` is odd, with the odd sum of the lane on the left.
        const int shift = unused & 1;
        const int p = 2 * lane_id() - shift;  // of the pair
        const bool mine = p >= unused && p < unused + call.valid;
        line<Sum> to{mine ? &out.at(row, first + p) : out.data, out.row_stride};
#pragma unroll
        for (int i = 0; i < outputs; ++i) {
            const Sum left = shuffle_up(odd[i], 1);
            if (mine)
                *reinterpret_cast<pair_of<Sum>*>(to.first) =
                    shift != 0 ? pair_of<Sum>{left, even[i]} : pair_of<Sum>{even[i], odd[i]};
            to.first = &to[1];
        }
        return;
    }
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        const int p = 2 * lane_id() + side;
        if (p < unused || p >= unused + call.valid || first + p >= out.cols) continue;
        const line<Sum> to = out.column(first + p);
#pragma unroll
        for (int i = 0; i < outputs; ++i)
            if (row + i < out.rows) to[row + i] = side == 0 ? even[i] : odd[i];
    }
}

// Host

const char* refuses(const convolution::job& j) {
    if (j.rows * j.cols <= most_weights && j.rows <= most_rows && j.cols <= most_cols) return nullptr;
    return "kernels of up to 25 weights in up to 8 rows and 16 columns";
}

/// Column by column.
std::vector<double> weights_of(const convolution::job& j) {
    std::vector<double> turned(static_cast<std::size_t>(j.cols * padded(j.rows)));
    for (int m = 0; m < j.cols; ++m)
        for (int n = 0; n < j.rows; ++n)
            turned[static_cast<std::size_t>(m * padded(j.rows) + n)] =
                j.weights[static_cast<std::size_t>(n * j.cols + m)];
    return turned;
}

bool is_even(const void* data, const view_shape& s, std::int64_t bytes) {
    return s.channels == 1 && reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0 &&
           s.row_stride % bytes == 0 && (s.planes == 1 || s.plane_stride % bytes == 0);
}

void enqueue(const convolution::job& j, const void* image, void* result, const void* weights, stream_ref stream) {
    visit_convolved(j, image, result, [&]<typename Pixel, typename Sum>(const convolved<Pixel, Sum>& all) {
        const int odd = j.left % 2, valid = (columns - j.cols - odd + 1) / 2 * 2;
        const std::int64_t across = ceil_div(j.image.cols, valid), down = ceil_div(j.image.rows, outputs * warps);
        const systolic_call<Sum> call{.weights = static_cast<const Sum*>(weights),
                                      .cols = j.cols,
                                      .above = j.above,
                                      .left = j.left,
                                      .odd = odd,
                                      .valid = valid,
                                      .blocks_across = static_cast<unsigned>(across)};
        const bool aligned = is_even(image, j.image, 2 * sizeof(Pixel)) && is_even(result, j.result, 2 * sizeof(Sum));
        visit_rows<1, most_rows>(j.rows, [&]<int N>() {
            launch(systolic_kernel<N, Pixel, Sum>,
                   {.grid = dim3(static_cast<unsigned>(across * down), static_cast<unsigned>(all.image.count())),
                    .block = warps * warp_size},
                   stream, all, call, aligned);
        });
    });
}

}  // namespace

const convolve_algorithm convolve_systolic{"systolic", refuses, weights_of, enqueue};

}  // namespace boxsum::cuda
