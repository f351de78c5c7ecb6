// Bilgic: work-efficient scan, transposition, scan, transposition.
// Blelloch: Vector Models for Data-Parallel Computing, 1990; Sengupta, Harris, Zhang, Owens: Scan Primitives for GPU
// Computing, 2007; Bilgic, Horn, Masaki: Efficient Integral Image Computation on the GPU, 2010; as told in the notes
// 'How to compute integral image on GPU?'.
//
// All rows are one long vector with a head flag at the start of each row: a segmented scan scans them all. A block
// scans 1024 elements as a balanced tree in shared memory: the up-sweep leaves partial sums, the down-sweep pushes the
// sums of what is to the left down to the leaves. Between the sweeps of a block, the sums of the blocks, with their
// flags, are scanned in the same way: they seed the root. The exclusive result plus the element is inclusive. Then the
// image is transposed, and the same again.
//
//     3 1 7 0 4 1 6 3   up-sweep   3 4 7 11 4 5 6 25   root <- seed   down-sweep   0 3 4 11 11 15 16 22
//     level 0: blocks of the vector -> level 1: their sums -> ... -> level n: one block
//
// Cost: 6 reads, 4 writes per element + O(1/1024); 2 (2 levels - 1) + 2 launches; rows cols / 2 threads; workspace 2
// elements per element; blocks exchange nothing but between launches.
// Limits: none of its own.
// Differs from the papers: the down-sweep launch repeats the up-sweep in shared memory, where Sengupta stores the
// trees; flags of the image are computed, not stored; line 12 of the segmented down-sweep (unset flag) has no reader.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/record.hpp"
#include "cuda/zoo/records.hpp"

#ifdef __CUDACC__
#include "cuda/device/inclusive.cuh"
#include "cuda/device/transpose.cuh"
#include "cuda/device/workspace_slots.hpp"
#endif

#include <algorithm>
#include <array>

namespace boxsum {
namespace {

// Policy

constexpr int threads = 512, block_items = 2 * threads;
constexpr int transpose_size = 32, transpose_lines = 8;
constexpr int max_levels = 6;  // 1024^6 elements

/// Levels of the tree of blocks over n elements.
int levels_of(std::int64_t n) {
    int levels = 1;
    for (; n > block_items; n = cuda::ceil_div(n, block_items)) ++levels;
    return levels;
}

#ifdef __CUDACC__

using namespace cuda;

/// Level 0: the image as a vector, row after row, layer after layer; heads where rows start. A block starts at `start`,
/// so that its elements are found by divisions of 32 bits.
template <typename Pixel, typename Sum>
struct image_vector {
    layers<const Pixel> image;

    struct position {
        std::int64_t layer;
        unsigned row, col;
    };
    __device__ position start(std::int64_t first) const {
        const std::int64_t row = first / image.cols;
        return {row / image.rows, static_cast<unsigned>(row % image.rows), static_cast<unsigned>(first % image.cols)};
    }
    __device__ void get(const position& start, unsigned k, Sum& value, unsigned char& head) const {
        const unsigned cols = static_cast<unsigned>(image.cols), rows = static_cast<unsigned>(image.rows);
        const unsigned col = start.col + k, row = start.row + col / cols;
        value = widen<Sum>(image[start.layer + row / rows].at(row % rows, col % cols));
        head = col % cols == 0;
    }
};

/// Higher levels: sums and flags of blocks.
template <typename Sum>
struct sum_vector {
    Sum* sums;
    unsigned char* heads;

    using position = std::int64_t;
    __device__ position start(std::int64_t first) const { return first; }
    __device__ void get(position start, unsigned k, Sum& value, unsigned char& head) const {
        value = sums[start + k];
        head = heads[start + k];
    }
};

// Shared memory

/// A place after every 32, so that the strides of the tree do not meet in one bank.
__device__ constexpr int padded(int i) {
    return i + i / 32;
}

template <typename Sum>
struct tree_shared {
    Sum x[padded(block_items)];               // leaves, then partial sums, then exclusive sums
    unsigned char flag[padded(block_items)];  // of partial sums: a row starts in them
    unsigned char head[block_items];          // of leaves
};

// Kernels

/// Loads the block's elements into the leaves: x[2] and head flags of elements threadIdx.x and threadIdx.x + threads.
template <typename Vector, typename Sum>
__device__ void load_leaves(tree_shared<Sum>& s, const Vector& vector, std::int64_t n, Sum (&own)[2]) {
    __shared__ typename Vector::position start;
    const std::int64_t first = std::int64_t{blockIdx.x} * block_items;
    if (threadIdx.x == 0) start = vector.start(first);
    __syncthreads();
    for (int q = 0; q < 2; ++q) {
        const int k = static_cast<int>(threadIdx.x) + q * threads;
        unsigned char head = 0;
        own[q] = Sum{};
        if (first + k < n) vector.get(start, static_cast<unsigned>(k), own[q], head);
        s.x[padded(k)] = own[q];
        s.flag[padded(k)] = s.head[k] = head;
    }
}

/// Up-sweep (reduce): node right of d leaves adds node left, unless a row starts in its own leaves.
template <typename Sum>
__device__ void up_sweep(tree_shared<Sum>& s) {
    for (int d = 1; d < block_items; d *= 2) {
        __syncthreads();
        const int right = (static_cast<int>(threadIdx.x) + 1) * 2 * d - 1, left = right - d;
        if (right >= block_items) continue;
        if (!s.flag[padded(right)]) s.x[padded(right)] = s.x[padded(left)] + s.x[padded(right)];
        s.flag[padded(right)] |= s.flag[padded(left)];
    }
    __syncthreads();
}

/// Down-sweep: what is to the left goes to the left child; the right child gets it and the left child's sum, or less if
/// a row starts between (Sengupta et al. 2007, algorithm 4).
template <typename Sum>
__device__ void down_sweep(tree_shared<Sum>& s, Sum seed) {
    if (threadIdx.x == 0) s.x[padded(block_items - 1)] = s.head[0] ? Sum{} : seed;
    for (int d = block_items / 2; d > 0; d /= 2) {
        __syncthreads();
        const int right = (static_cast<int>(threadIdx.x) + 1) * 2 * d - 1, left = right - d;
        if (right >= block_items) continue;
        const Sum sum = s.x[padded(left)];
        s.x[padded(left)] = s.x[padded(right)];
        if (s.head[left + 1])
            s.x[padded(right)] = Sum{};
        else if (s.flag[padded(left)])
            s.x[padded(right)] = sum;
        else
            s.x[padded(right)] = s.x[padded(right)] + sum;
    }
    __syncthreads();
}

/// A block owns 1024 elements of a level: writes their sum since the last head, and whether there is a head.
template <typename Vector, typename Sum>
__global__ void __launch_bounds__(threads) reduce_blocks_kernel(Vector vector, std::int64_t n, sum_vector<Sum> blocks) {
    __shared__ tree_shared<Sum> s;
    Sum own[2];
    load_leaves(s, vector, n, own);
    up_sweep(s);
    if (threadIdx.x == 0) {
        blocks.sums[blockIdx.x] = s.x[padded(block_items - 1)];
        blocks.heads[blockIdx.x] = s.flag[padded(block_items - 1)];
    }
}

/// A block owns 1024 elements of a level: writes their inclusive segmented prefix sums, after the level above has those
/// of the blocks (none above the top level). `sums` may be the vector.
template <typename Vector, typename Sum>
__global__ void __launch_bounds__(threads)
    scan_blocks_kernel(Vector vector, std::int64_t n, const Sum* block_prefixes, Sum* sums) {
    __shared__ tree_shared<Sum> s;
    Sum own[2];
    load_leaves(s, vector, n, own);
    up_sweep(s);
    down_sweep(s, blockIdx.x > 0 ? block_prefixes[blockIdx.x - 1] : Sum{});
    for (int q = 0; q < 2; ++q) {
        const int k = static_cast<int>(threadIdx.x) + q * threads;
        const std::int64_t i = std::int64_t{blockIdx.x} * block_items + k;
        if (i < n) sums[i] = s.x[padded(k)] + own[q];
    }
}

/// A block owns 32 x 32 elements of the layer blockIdx.y.
template <typename Sum>
__global__ void transpose_kernel(layers<const Sum> in, layers<Sum> out) {
    transpose_tile<transpose_size, transpose_lines>(in[blockIdx.y], out[blockIdx.y], blockIdx.x);
}

// Host

template <typename Sum>
struct scratch {
    Sum *upright, *transposed;
    std::array<sum_vector<Sum>, max_levels> level{};  // from 1
    int levels;

    scratch(workspace_slots& slots, const inclusive_core& core) {
        std::int64_t n = core.layers * core.rows * core.cols;
        upright = slots.take<Sum>(n);
        transposed = slots.take<Sum>(n);
        levels = levels_of(n);
        for (int k = 1; k < levels; ++k) {
            n = ceil_div(n, block_items);
            level[static_cast<std::size_t>(k)] = {slots.take<Sum>(n), slots.take<unsigned char>(n)};
        }
    }
};

/// Segmented scan of the rows of an image of n elements into packed memory.
template <typename Pixel, typename Sum>
void scan_rows(layers<const Pixel> image, std::int64_t n, const scratch<Sum>& g, Sum* out, stream_ref stream) {
    const image_vector<Pixel, Sum> bottom{image};
    std::array<std::int64_t, max_levels> size{n};
    const auto shape = [&](int k) {
        return launch_shape{.grid = static_cast<unsigned>(ceil_div(size[static_cast<std::size_t>(k)], block_items)),
                            .block = threads};
    };
    const auto level = [&](int k) { return g.level[static_cast<std::size_t>(k)]; };
    for (int k = 0; k + 1 < g.levels; ++k) {
        const std::int64_t count = size[static_cast<std::size_t>(k)];
        if (k == 0)
            launch(reduce_blocks_kernel<image_vector<Pixel, Sum>, Sum>, shape(0), stream, bottom, count, level(1));
        else
            launch(reduce_blocks_kernel<sum_vector<Sum>, Sum>, shape(k), stream, level(k), count, level(k + 1));
        size[static_cast<std::size_t>(k) + 1] = ceil_div(count, block_items);
    }
    for (int k = g.levels - 1; k >= 0; --k) {
        const std::int64_t count = size[static_cast<std::size_t>(k)];
        const Sum* const above = k + 1 < g.levels ? level(k + 1).sums : nullptr;
        if (k == 0)
            launch(scan_blocks_kernel<image_vector<Pixel, Sum>, Sum>, shape(0), stream, bottom, count, above, out);
        else
            launch(scan_blocks_kernel<sum_vector<Sum>, Sum>, shape(k), stream, level(k), count, above, level(k).sums);
    }
}

support supported(const problem& p, const parameter_values&) {
    return supports_inclusive(p);
}

std::size_t workspace_bytes(const problem& p, const parameter_values&) {
    workspace_slots slots;
    visit_sum_types(p, [&]<typename, typename Sum>() { scratch<Sum>(slots, core_of(p)); });
    return slots.bytes();
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    enqueue_inclusive(p, memory, how.stream, [&]<typename Pixel, typename Sum>(layers<const Pixel> a, layers<Sum> b) {
        workspace_slots slots(how.workspace);
        const scratch<Sum> g(slots, core_of(p));
        const std::int64_t count = a.count(), n = count * a.rows * a.cols;
        const launch_shape per_tile{
            .grid = dim3(static_cast<unsigned>(ceil_div(a.rows, transpose_size) * ceil_div(a.cols, transpose_size)),
                         static_cast<unsigned>(count)),
            .block = transpose_size * transpose_lines};
        const auto upright = packed_layers<const Sum>(g.upright, count, a.rows, a.cols);
        const auto transposed = packed_layers<const Sum>(g.transposed, count, a.cols, a.rows);
        scan_rows(a, n, g, g.upright, how.stream);
        launch(transpose_kernel<Sum>, per_tile, how.stream, upright,
               packed_layers(g.transposed, count, a.cols, a.rows));
        scan_rows(transposed, n, g, g.transposed, how.stream);
        launch(transpose_kernel<Sum>, per_tile, how.stream, transposed, b);
    });
}

#endif  // __CUDACC__

algorithm_cost cost(const problem& p, const parameter_values&) {
    const cuda::inclusive_core core = cuda::core_of(p);
    if (core.empty()) return {0, 0, cuda::border_launches(p), 0};
    std::int64_t n = core.layers * core.rows * core.cols;
    const std::int64_t blocks = cuda::ceil_div(n, block_items);
    const int levels = levels_of(n);
    // Per direction: each level is read twice, but the top once, and written once; a seed is read by all blocks but the
    // first. Sums of blocks are written once more by the level below.
    double reads = 0, writes = 0;
    for (int k = 0; k < levels; ++k, n = cuda::ceil_div(n, block_items)) {
        const auto size = static_cast<double>(n);
        reads += (k + 1 < levels ? 2 : 1) * size + static_cast<double>(cuda::ceil_div(n, block_items) - 1);
        writes += size * (k > 0 ? 2 : 1);
    }
    return {2 * reads / core.elements() + 2, 2 * writes / core.elements() + 2,
            2 * (2 * levels - 1) + 2 + cuda::border_launches(p), blocks * threads};
}

}  // namespace

constinit const algorithm_record sat_bilgic_record{
    .info = {.what = operation::sat,
             .name = "bilgic",
             .title = "work-efficient segmented scan, transposition, and again",
             .paper = "Blelloch 1990; Sengupta et al. 2007; Bilgic et al. 2010",
             .cost = "6 reads, 4 writes per element; 2 (2 levels - 1) + 2 launches",
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
