// Hensley: recursive doubling, two buffers in turn.
// Hensley, Scheuermann, Coombe, Singh, Lastra: Fast Summed-Area Table Generation and its Applications, 2005; as told in
// the notes 'How to compute integral image on GPU?'.
//
// Pass k adds to every element the one 2^k to its left; after log2(cols) passes rows are prefix sums. The same upwards
// for columns. A pass reads one buffer and writes the other, as textures in a graphics pipeline: it needs no
// communication inside a launch, at the price of log2 as much work and traffic.
//
//     a b c d e   +1:  a ab bc cd de   +2:  a ab abc abcd bcde   +4: ...    then the same downwards
//
// Cost: 2 reads (1 near the edge), 1 write per element and pass; ceil(log2 cols) + ceil(log2 rows) launches;
// rows cols threads; workspace 1 element per element; blocks exchange nothing but between launches.
// Limits: not in place, for the first pass may write the table.
// Differs from the paper: kernels instead of fragment programs.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>
#include <bit>

namespace boxsum {
namespace {

// Policy

constexpr int threads = 256, block_rows = 8;  // a block: 256 columns, 8 rows of each

/// Passes over lines of n elements.
std::int64_t passes_of(std::int64_t n) {
    return n > 1 ? static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1))) : 0;
}

#ifdef __CUDACC__

using namespace cuda;

// Kernel

/// A block owns 8 rows x 256 columns of the layer blockIdx.y. Reads the result of the pass before (the image, in the
/// first), writes x(r, c) + x(r - row_step, c - col_step) to another buffer. One of the steps is zero.
template <typename Pixel, typename Sum>
__global__ void double_recursively_kernel(layers<const Pixel> in, layers<Sum> out, std::int64_t row_step,
                                          std::int64_t col_step) {
    const layer<const Pixel> x = in[blockIdx.y];
    const layer<Sum> y = out[blockIdx.y];
    const std::int64_t strips = ceil_div(in.cols, threads);
    const std::int64_t c = blockIdx.x % strips * threads + threadIdx.x, first = blockIdx.x / strips * block_rows;
    if (c >= x.cols) return;
#pragma unroll
    for (int k = 0; k < block_rows; ++k) {
        const std::int64_t r = first + k;
        if (r >= x.rows) break;
        const Sum own = widen<Sum>(x.at(r, c));
        y.at(r, c) = r >= row_step && c >= col_step ? widen<Sum>(x.at(r - row_step, c - col_step)) + own : own;
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
        const layers<Sum> other = packed_layers(scratch, a.count(), a.rows, a.cols);
        const auto reading = [](const layers<Sum>& x) {
            return layers<const Sum>{x.data, x.rows, x.cols, x.row_stride, x.plane_stride, x.planes, x.channels};
        };
        const std::int64_t along_rows = passes_of(a.cols),
                           passes = std::max(along_rows + passes_of(a.rows), std::int64_t{1});
        const launch_shape shape{
            .grid = dim3(static_cast<unsigned>(ceil_div(a.cols, threads) * ceil_div(a.rows, block_rows)),
                         static_cast<unsigned>(a.count())),
            .block = threads};
        // The last pass writes the table, so the buffers take turns counting from there. A single pixel takes one pass
        // whose neighbour lies outside: a copy.
        for (std::int64_t pass = 0; pass < passes; ++pass) {
            const bool to_table = (passes - 1 - pass) % 2 == 0;
            const std::int64_t col_step = pass < along_rows ? std::int64_t{1} << pass : 0;
            const std::int64_t row_step = col_step == 0 ? std::int64_t{1} << (pass - along_rows) : 0;
            const layers<Sum>& out = to_table ? b : other;
            if (pass == 0)
                launch(double_recursively_kernel<Pixel, Sum>, shape, how.stream, a, out, row_step, col_step);
            else
                launch(double_recursively_kernel<Sum, Sum>, shape, how.stream, reading(to_table ? other : b), out,
                       row_step, col_step);
        }
    });
}

#endif  // __CUDACC__

/// A pass with step s reads the second summand of all but s elements of a line.
algorithm_cost cost(const problem& p, const parameter_values&) {
    const cuda::inclusive_core core = cuda::core_of(p);
    if (core.empty()) return {0, 0, cuda::border_launches(p), 0};
    const std::int64_t passes = std::max(passes_of(core.cols) + passes_of(core.rows), std::int64_t{1});
    double reads = static_cast<double>(passes);
    for (const std::int64_t n : {core.rows, core.cols})
        for (std::int64_t step = 1; step < n; step *= 2)
            reads += static_cast<double>(n - step) / static_cast<double>(n);
    return {reads, static_cast<double>(passes), passes + cuda::border_launches(p),
            cuda::ceil_div(core.cols, threads) * cuda::ceil_div(core.rows, block_rows) * core.layers * threads};
}

/// One addition a pass.
std::int64_t addition_depth(const problem& p, const parameter_values&) {
    return passes_of(p.image.cols) + passes_of(p.image.rows) + 1;
}

}  // namespace

constinit const algorithm_record sat_hensley_record{
    .info = {.what = operation::sat,
             .name = "hensley",
             .title = "recursive doubling, two buffers in turn",
             .paper = "Hensley et al. 2005",
             .cost = "2 reads, 1 write per element and pass; log2 rows + log2 cols passes",
             .where = backend::cuda,
             .built = cuda_built},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .addition_depth = addition_depth,
    .cost = cost,
};

}  // namespace boxsum
