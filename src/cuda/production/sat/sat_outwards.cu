// The record `outwards`: tables that grow from an origin, of pixels less an offset (table_form).
// Hensley, Scheuermann, Coombe, Singh, Lastra: Fast Summed-Area Table Generation and its Applications, 2005, section 4.
//
// Four tables, each the plain one of a quarter of the image that is turned about the origin; the two on whose pixels
// row and column lie on different sides of the origin are negative, so that a box is the same four entries as ever.
//
//                c0                    A quarter is walked in strips of 32 rows, from the origin's row on: a first
//       up, +  <-|->  up, -            launch adds up the columns of every strip, a second one scans these sums from
//     -----------+----------- r0       strip to strip, a last one begins the strip's columns with them and accumulates
//     down, -  <-|->  down, +          its rows from the origin's column on.
//
// The offset is taken from a pixel when it has been loaded, in the table's type, so that no sum ever has it. Strips are
// those of the exhibit partial-column-row: 2 reads and 1 write, in any form and of any types.
//
// Large tables of the types that such forms are for come from the pipeline of the record `fast` (kernel.cuh), which
// reads once and turns the tiles of each quarter.

#include "core/algorithm_record.hpp"
#include "cuda/device/inclusive_core.hpp"
#include "cuda/production/records.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "core/visit_types.hpp"
#include "cuda/device/inclusive.cuh"
#include "cuda/device/line_scan.cuh"
#include "cuda/device/register_matrix.cuh"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat/prepared.hpp"
#include "cuda/production/sat/types.cuh"
#endif

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace boxsum {
namespace {

// Policy

enum class path : std::uint8_t { automatic, strips, tiles };
constexpr std::string_view path_values[] = {"auto", "strips", "tiles"};
constexpr parameter parameters[] = {{"path", "by size, or strips, or the pipeline of tiles", path_values}};

path path_of(const parameter_values& values) {
    return static_cast<path>(values.choice[0]);
}

/// Types that the pipeline has: floats, which such forms are for, and bytes, whose sums lose the offset modulo 2^32.
bool has_tiles_of(type_pair types) {
    if (types.input == dtype::u8) return types.table == dtype::u32 || types.table == dtype::s32;
    return types.input == dtype::f32 && is_floating(types.table);
}

/// What the pipeline makes where it can: tables of one channel, of any size.
// H100, 13.0, 32f32f, us by the pipeline and by strips: 7.1, 15.8 at 64; 8.0, 17.7 at 512; 10.4, 19.8 at 1024
bool tiles_pay(const problem& p) {
    return has_tiles_of(p.types()) && p.image.channels == 1;
}

constexpr int strip_rows = 32;
constexpr int sum_threads = 128;    // kernels 1 and 2: a column each
constexpr int table_threads = 512;  // kernel 3; halved for 8-byte tables, to spare registers

#ifdef __CUDACC__

using namespace cuda;

constexpr int offsets_of_launch = 64;  // kernel parameters end at 4 KiB

// What kernels are told

/// From `begin` in both directions: backwards to 0, forwards to `end`, in units of so many pixels.
struct two_ways {
    std::int64_t begin, end;
    std::int64_t backwards, all;  ///< units

    two_ways(std::int64_t origin, std::int64_t extent, int unit)
        : begin(origin),
          end(extent),
          backwards(ceil_div(origin, unit)),
          all(backwards + ceil_div(extent - origin, unit)) {}

    __device__ bool turned(std::int64_t number) const { return number < backwards; }
    /// Of a way.
    __device__ std::int64_t extent(bool turned) const { return turned ? begin : end - begin; }
    /// Counted from the origin on.
    __device__ std::int64_t of_way(std::int64_t number) const {
        return number < backwards ? number : number - backwards;
    }
};

/// Layers are `first_layer + blockIdx.y`.
template <typename Sum>
struct outward_job {
    two_ways strips, pieces;  ///< of rows, and of columns
    std::int64_t first_layer;
    Sum offsets[offsets_of_launch];  ///< of the launch's layers; all the same where there are more

    __device__ std::int64_t layer() const { return first_layer + blockIdx.y; }

    /// What is added up of a pixel on one side of the origin, or on both.
    template <bool Squared>
    __device__ Sum term(Sum pixel, bool negative) const {
        const Sum less = pixel - offsets[blockIdx.y % offsets_of_launch];
        const Sum own = Squared ? less * less : less;
        return negative ? Sum{} - own : own;
    }

    /// A quarter of an image, or with `border` 1 of the core of a table: element (0, 0) is the origin's neighbour.
    template <typename T>
    __device__ cuda::layer<T> quarter(const cuda::layer<T>& whole, bool up, bool left, int border) const {
        return {
            &whole.at(up ? strips.begin - 1 - border : strips.begin, left ? pieces.begin - 1 - border : pieces.begin),
            strips.extent(up), pieces.extent(left), up ? -whole.row_stride : whole.row_stride,
            left ? -whole.col_stride : whole.col_stride};
    }
    /// The place of a quarter's column among the strips' sums.
    __device__ std::int64_t column(bool left, std::int64_t c) const { return left ? c : pieces.begin + c; }
};

// Kernels

/// Zeros of the origin's row and column. A thread owns an entry of each.
template <typename Sum>
__global__ void clear_cross_kernel(layers<Sum> tables, std::int64_t row, std::int64_t col, std::int64_t first_layer) {
    const layer<Sum> table = tables[first_layer + blockIdx.y];
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < table.cols) table.at(row, i) = Sum{};
    if (i < table.rows) table.at(i, col) = Sum{};
}

/// A block owns a piece of a strip, a thread one of its columns: reads I, writes the sum of the 32 elements.
template <bool Squared, typename Pixel, typename Sum>
__global__ void sum_strip_columns_kernel(layers<const Pixel> in, layers<Sum> strip_sums, const outward_job<Sum> job) {
    const std::int64_t strip = blockIdx.x / job.pieces.all, piece = blockIdx.x % job.pieces.all;
    const bool up = job.strips.turned(strip), left = job.pieces.turned(piece);
    const layer<const Pixel> image = job.quarter(in[job.layer()], up, left, 0);
    const std::int64_t c = job.pieces.of_way(piece) * sum_threads + threadIdx.x;
    if (c >= image.cols) return;
    const std::int64_t first = job.strips.of_way(strip) * strip_rows, below = image.rows - first;
    const int rows = below < strip_rows ? static_cast<int>(below) : strip_rows;
    line<const Pixel> x = image.column(c);
    x.first = &x[first];
    Sum sum{};
#pragma unroll
    for (int i = 0; i < strip_rows; ++i) {
        if (i < rows) sum += job.template term<Squared>(widen<Sum>(*x.first), up != left);
        x.first = &x[1];
    }
    strip_sums[job.layer()].at(strip, job.column(left, c)) = sum;
}

/// A thread owns a column: makes the sums of strips, in place, sums from the origin's row on, in both directions.
template <typename Sum>
__global__ void scan_strip_sums_kernel(layers<Sum> strip_sums, const outward_job<Sum> job) {
    const std::int64_t c = std::int64_t{blockIdx.x} * sum_threads + threadIdx.x;
    if (c >= strip_sums.cols) return;
    line<Sum> x = strip_sums[job.layer()].column(c);
    scan_line_in_place<16>(x, job.strips.backwards);
    x.first = &x[job.strips.backwards];
    scan_line_in_place<16>(x, job.strips.all - job.strips.backwards);
}

/// A block owns a strip on one side of the origin's column, a warp 32 of its columns at each step away from it. Reads I
/// and the sums of the strips before, writes the table. `sides`: of the origin's column that have pixels.
template <bool Squared, typename Pixel, typename Sum>
__global__ void __launch_bounds__(table_threads)
    finish_strips_kernel(layers<const Pixel> in, layers<const Sum> strip_sums, layers<Sum> table,
                         const outward_job<Sum> job, unsigned sides) {
    constexpr int max_warps = table_threads / warp_size;
    __shared__ Sum warp_sums[max_warps][strip_rows];
    const std::int64_t strip = blockIdx.x / sides;
    const bool up = job.strips.turned(strip);
    const bool left = sides == 2 ? blockIdx.x % 2 == 1 : job.pieces.backwards > 0;
    const layer<const Pixel> image = job.quarter(in[job.layer()], up, left, 0);
    const layer<Sum> out = job.quarter(table[job.layer()], up, left, 1);
    const layer<const Sum> before_strips = strip_sums[job.layer()];
    const std::int64_t row = job.strips.of_way(strip) * strip_rows;
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    Sum carry{};  // of row + lane: all steps before
    for (std::int64_t step = 0; step < image.cols; step += warps * warp_size) {
        const std::int64_t col = step + warp_id() * warp_size, c = col + lane_id();
        Sum data[strip_rows];
        load_matrix(data, image, row, col);
        // What is outside the image and now the offset is behind all that is stored.
#pragma unroll
        for (int i = 0; i < strip_rows; ++i) data[i] = job.template term<Squared>(data[i], up != left);
        if (row > 0 && c < image.cols) data[0] += before_strips.at(strip - 1, job.column(left, c));
        scan_registers(data);

#pragma unroll
        for (int i = 0; i < strip_rows; ++i) data[i] = warp_scan(data[i]);
        if (lane_id() == warp_size - 1) {
#pragma unroll
            for (int i = 0; i < strip_rows; ++i) warp_sums[warp_id()][i] = data[i];
        }
        __syncthreads();
        Sum before = carry;  // lane i: of row i
        for (int w = 0; w < warps; ++w) {
            if (w == warp_id()) before = carry;
            carry += warp_sums[w][lane_id()];
        }
#pragma unroll
        for (int i = 0; i < strip_rows; ++i) data[i] = __shfl_sync(whole_warp, before, i) + data[i];
        store_matrix(data, out, row, col);
        __syncthreads();  // before the next step overwrites the sums
    }
}

// Host

/// f.template operator()<Squared, Pixel, Sum>() for each table of the problem, and its shape.
template <typename F>
void visit_tables(const problem& p, F&& f) {
    if (!p.squares)
        return visit_sum_types(
            p, [&]<typename Pixel, typename Sum>() { f.template operator()<false, Pixel, Sum>(p.table); });
    visit_squares_triple(cuda_squares_triples{}, p.triple(), [&]<typename Input, typename Sum, typename Squares>() {
        if constexpr (std::is_floating_point_v<Sum> && std::is_floating_point_v<Squares>) {
            f.template operator()<false, Input, Sum>(p.table);
            f.template operator()<true, Input, Squares>(*p.squares);
        }
    });
}

struct strip_parts {
    inclusive_core core;
    two_ways strips, pieces;

    explicit strip_parts(const problem& p)
        : core(core_of(p)),
          strips(p.form.origin.row, core.rows, strip_rows),
          pieces(p.form.origin.col, core.cols, sum_threads) {}
};

support tiles_supported(const problem& p) {
    if (!has_tiles_of(p.types()) || !contains(cuda_type_pairs{}, p.types()))
        return {false, "path=tiles: there are none of " + name_of(p.types())};
    if (p.image.channels > 1) return {false, "path=tiles: it has one channel"};
    if (p.form.offsets != nullptr && p.image.planes > offsets_of_launch)
        return {false, "path=tiles: offsets of more than 64 planes"};
    if (core_of(p).empty() || !tiles_can_be_counted(p.table)) return {false, "path=tiles: no table of its size"};
    if (!limits_of_device().copy_engine) return {false, "path=tiles: needs compute capability 9.0"};
    return {};
}

bool takes_tiles(const problem& p, path forced) {
    return forced != path::strips && (forced == path::tiles || tiles_pay(p)) && tiles_supported(p);
}

support supported(const problem& p, const parameter_values& values) {
    if (path_of(values) == path::tiles)
        if (support tiles = tiles_supported(p); !tiles) return tiles;
    if (!p.squares) return supports_inclusive(p);
    if (p.in_place) return {false, "it computes no squares in place"};
    if (!is_floating(p.table.type) || !is_floating(p.squares->type))
        return {false,
                "squares of integers are exact without an offset or an origin; it computes those of floating tables"};
    if (!contains(cuda_squares_triples{}, p.triple()))
        return {false, "types " + name_of(p.triple()) + " were not compiled (BOXSUM_TYPES)"};
    problem sums = p;
    sums.squares.reset();
    return supports_inclusive(sums);
}

std::size_t strips_workspace_bytes(const problem& p) {
    const strip_parts parts(p);
    std::size_t most = 0;
    visit_tables(p, [&]<bool, typename, typename Sum>(const view_shape&) {
        workspace_slots slots;
        slots.take<Sum>(parts.core.layers * parts.strips.all * parts.core.cols);
        most = std::max(most, slots.bytes());
    });
    return most;
}

template <typename T>
layers<T> layers_of(T* data, const view_shape& s) {
    return {data, s.rows, s.cols, s.row_stride, s.plane_stride, s.planes, s.channels};
}

/// The table of the layers from `first` on, as many as there are offsets for.
template <bool Squared, typename Pixel, typename Sum>
void enqueue_layers(const problem& p, layers<const Pixel> image, layers<Sum> table, std::int64_t first,
                    std::int64_t count, const execution& how) {
    const strip_parts parts(p);
    outward_job<Sum> job{parts.strips, parts.pieces, first, {}};
    for (int i = 0; i < offsets_of_launch; ++i) {
        const std::int64_t k = first + std::min<std::int64_t>(i, count - 1);
        const double offset = p.form.offset_of(k % p.image.channels, k / p.image.channels, p.image.channels);
        if constexpr (std::is_floating_point_v<Sum>)
            job.offsets[i] = static_cast<Sum>(offset);
        else
            job.offsets[i] = static_cast<Sum>(static_cast<std::int64_t>(offset));
    }
    const auto blocks = [&](std::int64_t number) {
        return dim3(static_cast<unsigned>(number), static_cast<unsigned>(count));
    };
    if (p.form.border() != 0) {
        launch(clear_cross_kernel<Sum>, {.grid = blocks(ceil_div(std::max(table.rows, table.cols), 256)), .block = 256},
               how.stream, table, p.form.origin.row, p.form.origin.col, first);
        table.data = &reinterpret_cast<Sum*>(reinterpret_cast<char*>(table.data) + table.row_stride)[table.channels];
    }
    if (parts.core.empty()) return;
    workspace_slots slots(how.workspace);
    Sum* const scratch = slots.take<Sum>(parts.core.layers * parts.strips.all * parts.core.cols);
    const layers<Sum> strip_sums = packed_layers(scratch, parts.core.layers, parts.strips.all, parts.core.cols);
    const layers<const Sum> strip_sums_in =
        packed_layers<const Sum>(scratch, parts.core.layers, parts.strips.all, parts.core.cols);
    const unsigned sides = (p.form.origin.col > 0 ? 1 : 0) + (p.form.origin.col < parts.core.cols ? 1 : 0);
    launch(sum_strip_columns_kernel<Squared, Pixel, Sum>,
           {.grid = blocks(parts.strips.all * parts.pieces.all), .block = sum_threads}, how.stream, image, strip_sums,
           job);
    launch(scan_strip_sums_kernel<Sum>, {.grid = blocks(ceil_div(parts.core.cols, sum_threads)), .block = sum_threads},
           how.stream, strip_sums, job);
    launch(finish_strips_kernel<Squared, Pixel, Sum>,
           {.grid = blocks(parts.strips.all * sides), .block = sizeof(Sum) == 8 ? table_threads / 2 : table_threads},
           how.stream, image, strip_sums_in, table, job, sides);
}

/// Zeros its scratch behind it: `fast` and the pipeline here take any other word for one of theirs.
void enqueue_strips(const problem& p, const buffers& memory, const execution& how) {
    visit_tables(p, [&]<bool Squared, typename Pixel, typename Sum>(const view_shape& shape) {
        const auto image = layers_of(static_cast<const Pixel*>(memory.image), p.image);
        const auto table = layers_of(static_cast<Sum*>(Squared ? memory.squares : memory.table), shape);
        const std::int64_t all = image.count(), at_once = p.form.offsets == nullptr ? all : offsets_of_launch;
        for (std::int64_t first = 0; first < all; first += at_once)
            enqueue_layers<Squared, Pixel, Sum>(p, image, table, first, std::min(at_once, all - first), how);
    });
    if (const std::size_t bytes = strips_workspace_bytes(p); bytes > 0)
        BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, bytes, how.stream.get()));
}

/// Of the table of sums, or of squares.
sat_geometry geometry_of(const problem& p, const view_shape& table) {
    sat_geometry g(p, nullptr, table, nullptr);
    g.up = p.form.origin.row;
    g.left = p.form.origin.col;
    return g;
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    std::size_t bytes = strips_workspace_bytes(p);
    if (!takes_tiles(p, path_of(values))) return bytes;
    const int multiprocessors = limits_of_device().multiprocessors;
    for (const std::optional<view_shape>& table : {std::optional(p.table), p.squares})
        if (table)
            bytes = std::max(bytes,
                             outwards_workspace_bytes(geometry_of(p, *table), static_cast<int>(size_of(p.image.type)),
                                                      static_cast<int>(size_of(table->type)), multiprocessors));
    return bytes;
}

class prepared_outwards final : public prepared_problem {
  public:
    prepared_outwards(const problem& p, const parameter_values& values)
        : p_(p), bytes_(boxsum::workspace_bytes(p, values)) {
        const bool many = p.form.offsets != nullptr;
        const std::int64_t layers = p.image.planes * p.image.channels;
        for (std::int64_t k = 0; k < (many ? layers : 1); ++k)
            offsets_.push_back(p.form.offset_of(k % p.image.channels, k / p.image.channels, p.image.channels));
        if (many) p_.form.offsets = offsets_.data();
        if (!takes_tiles(p, path_of(values))) return;
        const device_limits limits = limits_of_device();
        const auto tiles_of = [&](const view_shape& table, bool square) {
            sat_geometry g = geometry_of(p, table);
            g.offsets = offsets_;
            return p.image.type == dtype::u8 ? prepare_outwards<u8>(g, table.type, square, limits)
                                             : prepare_outwards<f32>(g, table.type, square, limits);
        };
        sums_ = tiles_of(p.table, false);
        if (p.squares) squares_ = tiles_of(*p.squares, true);
    }

    std::size_t workspace_bytes() const noexcept override { return bytes_; }

    void run(const buffers& memory, const execution& how) const override {
        const bool has_sums = sums_ && sums_->run({memory.image, memory.table}, how);
        const bool has_squares = has_sums && squares_ && squares_->run({memory.image, memory.squares}, how);
        if (!has_sums || (p_.squares && !has_squares)) enqueue_strips(p_, memory, how);
    }

  private:
    problem p_;
    std::size_t bytes_;
    std::vector<double> offsets_;
    std::unique_ptr<const prepared_table> sums_, squares_;  ///< null: by strips
};

std::unique_ptr<const prepared_problem> prepare(const problem& p, const parameter_values& values) {
    return std::make_unique<prepared_outwards>(p, values);
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    prepared_outwards(p, how.parameters).run(memory, how);
}

#endif  // __CUDACC__

/// Strips are added up one by one, and a strip's rows and the steps along it, too; a difference takes one more.
std::int64_t addition_depth(const problem& p, const parameter_values& values) {
    return serial_addition_depth(p, values) + 2;
}

/// The pipeline's blocks are as many as the device has room for.
algorithm_cost cost(const problem& p, const parameter_values& values) {
    const double tables = p.squares ? 2 : 1;
    if (path_of(values) == path::tiles || (path_of(values) == path::automatic && tiles_pay(p)))
        return {tables, tables, p.squares ? 2 : 1, 0};
    const cuda::inclusive_core core = cuda::core_of(p);
    const auto units = [](std::int64_t origin, std::int64_t extent, std::int64_t unit) {
        return cuda::ceil_div(origin, unit) + cuda::ceil_div(extent - origin, unit);
    };
    const std::int64_t strips = units(p.form.origin.row, core.rows, strip_rows);
    const double per_strip =
        static_cast<double>(core.layers) * static_cast<double>(core.cols) / std::max(1.0, core.elements());
    const double sums = static_cast<double>(strips) * per_strip;
    return {tables * (2 + 2 * sums), tables * (1 + 2 * sums),
            static_cast<std::int64_t>(tables) * (3 + cuda::border_launches(p)),
            core.layers * strips *
                std::max<std::int64_t>(units(p.form.origin.col, core.cols, sum_threads) * sum_threads, table_threads)};
}

}  // namespace

constinit const algorithm_record sat_outwards_record{
    .info = {.what = operation::sat,
             .name = "outwards",
             .title = "from an origin outwards, of pixels less an offset; in strips of 32 rows, 8u and 32f as fast",
             .paper = "boxsum; forms of Hensley et al. 2005",
             .cost = "2 reads, 1 write per element and table, 3 launches a table; 8u and 32f 1 read, 1 write, 1 launch",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true,
             .parameters = parameters},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .prepare = BOXSUM_DEVICE_FUNCTION(prepare),
    .shifts = true,
    .leaves = workspace_content::tagged,
    .addition_depth = addition_depth,
    .cost = cost,
};

}  // namespace boxsum
