// Convolution, written for the machine: SSAM with two columns a lane, and large kernels in parts.
//
// A warp holds 64 columns, columns 2 l and 2 l + 1 in lane l, and makes 8 rows of results. Of the two partial sums of a
// row the even one moves to the odd one within the lane, and only the odd one to the next lane: half the shuffles, and
// 65 - M of 64 columns are results where the paper has 33 - M of 32. The kernel is taken in parts of at most 8 rows and
// 16 columns, so that registers hold 15 rows of data whatever N is, and M costs a warp no more than 15 of its columns.
// Results stay in registers until all parts are added. A warp whose pixels all lie in the image checks no borders and
// reads and writes pairs.
//
//     lane l:   even   odd        one step, from the right to the left:
//     sums       e      o          o <- e + data of the odd column * w[m]
//                  ->     -> l + 1  e <- o of lane l - 1 + data of the even column * w[m]
//
// Parts are of one size, so the last ones reach back over columns and rows that an earlier part had, with weights of
// zero.
//
// Cost: 1 write, and (15 / 8) (64 / V) reads of the first-level cache per element and part; 1 launch; 32 / (8 V)
// threads per element, V = 64 less the columns of a part. Limits: none of its own.

#include "cuda/convolve/bordered.cuh"
#include "cuda/convolve/kernels.hpp"
#include "cuda/device/systolic.cuh"
#include "cuda/runtime/launch.cuh"

#include <algorithm>

namespace boxsum::cuda {
namespace {

// Policy

constexpr int outputs = 8, warps = 4;         // rows of results of a warp; warps of a block, one below the other
constexpr int most_rows = 8, most_cols = 16;  // of a part
constexpr int columns = 2 * warp_size;        // of a warp
constexpr int padded(int rows) {              // weights of a column of a part, for loads of 16 bytes
    return (rows + 3) / 4 * 4;
}

/// How a kernel of N x M is cut.
struct parts {
    int rows, cols;    ///< of a part
    int down, across;  ///< parts
    int odd;           ///< columns that a warp's data begin earlier, so that pairs of pixels are aligned
    int valid;         ///< columns of results of a warp

    explicit parts(const convolution::job& j)
        : down((j.rows + most_rows - 1) / most_rows), across((j.cols + most_cols - 1) / most_cols) {
        rows = (j.rows + down - 1) / down;
        cols = (j.cols + across - 1) / across;
        odd = across == 1 ? j.left % 2 : 0;
        valid = (columns - cols - odd + 1) / 2 * 2;
    }
    int first_row(const convolution::job& j, int k) const { return std::min(k * rows, j.rows - rows); }
    int first_col(const convolution::job& j, int k) const { return std::min(k * cols, j.cols - cols); }
    int count() const { return down * across; }
};

/// A part as the kernel gets it: where its data begin, and its weights, [m][n].
struct part_place {
    int row, col;
};

template <typename Sum>
struct systolic_call {
    const Sum* weights;  ///< of one part behind the other, cols x padded(rows)
    int rows, cols;      ///< of the kernel
    int part_cols, down, across;
    int above, left, odd, valid;
    unsigned blocks_across;

    __device__ part_place place(int k, int part_rows) const {
        const int r = k / across * part_rows, c = k % across * part_cols;
        return {r < rows - part_rows ? r : rows - part_rows, c < cols - part_cols ? c : cols - part_cols};
    }
};

template <typename T>
struct alignas(2 * sizeof(T)) pair_of {
    T even, odd;
};

// Kernel

/// The rows of one part's data, two columns a lane, of which all are in the image.
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
template <int K, typename Pixel, typename Sum>
__global__ void __launch_bounds__(warps* warp_size)
    systolic_kernel(convolved<Pixel, Sum> all, systolic_call<Sum> call, bool aligned) {
    const int part_weights = call.part_cols * padded(K);
    auto* const weights = dynamic_shared<Sum>();
    for (int i = static_cast<int>(threadIdx.x); i < part_weights * call.down * call.across; i += warps * warp_size)
        weights[i] = call.weights[i];
    __syncthreads();

    const std::int64_t tile = blockIdx.x % call.blocks_across;
    const std::int64_t row = (std::int64_t{blockIdx.x / call.blocks_across} * warps + warp_id()) * outputs;
    const std::int64_t col = tile * call.valid - call.left - call.odd;  // of the warp's first pixel, but for the part's
    const bordered<Pixel, Sum> in = all.input(blockIdx.y);
    const bool inside = row >= call.above && row - call.above + outputs + call.rows - 1 <= in.image.rows && col >= 0 &&
                        col + columns + call.cols - call.part_cols <= in.image.cols;
    const bool pairs = aligned && call.across == 1;

    Sum even[outputs] = {}, odd[outputs] = {};  // results
    for (int k = 0; k < call.down * call.across; ++k) {
        const part_place at = call.place(k, K);
        const std::int64_t r = row - call.above + at.row, c = col + at.col + 2 * lane_id();
        Sum x[outputs + K - 1], y[outputs + K - 1];  // of the even and the odd column
        if (inside) {
            load_inside(x, y, in.image, r, c, pairs);
        } else {
            const auto left = in.column(c), right = in.column(c + 1);
#pragma unroll
            for (int s = 0; s < outputs + K - 1; ++s) {
                x[s] = left.at(r + s);
                y[s] = right.at(r + s);
            }
        }
        Sum e[outputs] = {}, o[outputs] = {};  // partial sums of this part
        for (int m = 0; m < call.part_cols; ++m) {
            if (m > 0) {
#pragma unroll
                for (int i = 0; i < outputs; ++i) {
                    const Sum from_left = shuffle_up(o[i], 1);
                    o[i] = e[i];
                    e[i] = from_left;
                }
            }
            const Sum* const w = &weights[k * part_weights + m * padded(K)];
            add_column<K>(e, x, w);
            add_column<K>(o, y, w);
        }
#pragma unroll
        for (int i = 0; i < outputs; ++i) {
            even[i] += e[i];
            odd[i] += o[i];
        }
    }

    // Position p = 2 l or 2 l + 1 of the warp ends with the result of column `first` + p, from p = unused on.
    const int unused = call.part_cols - 1 + call.odd;
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

const char* refuses(const convolution::job&) {
    return nullptr;
}

/// Part by part, column by column; zeros where a part reaches back over weights that another part has.
std::vector<double> weights_of(const convolution::job& j) {
    const parts cut(j);
    std::vector<double> all(static_cast<std::size_t>(cut.count() * cut.cols * padded(cut.rows)));
    std::vector<bool> taken(j.weights.size());
    for (int k = 0; k < cut.count(); ++k)
        for (int m = 0; m < cut.cols; ++m)
            for (int n = 0; n < cut.rows; ++n) {
                const int r = cut.first_row(j, k / cut.across) + n, c = cut.first_col(j, k % cut.across) + m;
                const auto from = static_cast<std::size_t>(r * j.cols + c);
                if (taken[from]) continue;
                taken[from] = true;
                all[static_cast<std::size_t>((k * cut.cols + m) * padded(cut.rows) + n)] = j.weights[from];
            }
    return all;
}

bool is_even(const void* data, const view_shape& s, std::int64_t bytes) {
    return s.channels == 1 && reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0 &&
           s.row_stride % bytes == 0 && (s.planes == 1 || s.plane_stride % bytes == 0);
}

template <int K, typename F>
void visit_part_rows(int rows, F&& f) {
    if (rows == K) return f.template operator()<K>();
    if constexpr (K < most_rows) visit_part_rows<K + 1>(rows, f);
}

void enqueue(const convolution::job& j, const void* image, void* result, const void* weights, stream_ref stream) {
    visit_convolved(j, image, result, [&]<typename Pixel, typename Sum>(const convolved<Pixel, Sum>& all) {
        const parts cut(j);
        const std::int64_t across = ceil_div(j.image.cols, cut.valid), down = ceil_div(j.image.rows, outputs * warps);
        const systolic_call<Sum> call{static_cast<const Sum*>(weights),
                                      j.rows,
                                      j.cols,
                                      cut.cols,
                                      cut.down,
                                      cut.across,
                                      j.above,
                                      j.left,
                                      cut.odd,
                                      cut.valid,
                                      static_cast<unsigned>(across)};
        const bool aligned = is_even(image, j.image, 2 * sizeof(Pixel)) && is_even(result, j.result, 2 * sizeof(Sum));
        visit_part_rows<1>(cut.rows, [&]<int K>() {
            launch(systolic_kernel<K, Pixel, Sum>,
                   {.grid = dim3(static_cast<unsigned>(across * down), static_cast<unsigned>(all.image.count())),
                    .block = warps * warp_size,
                    .shared_bytes = static_cast<std::size_t>(cut.count() * cut.cols * padded(K)) * sizeof(Sum)},
                   stream, all, call, aligned);
        });
    });
}

}  // namespace

const convolve_algorithm convolve_systolic{"systolic", refuses, weights_of, enqueue};

}  // namespace boxsum::cuda
