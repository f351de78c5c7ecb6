// The record `fast`: the production summed area table. Where everything fits on the chip at once wave.cuh, else the
// tile pipeline of kernel.cuh. Every layout is written in the same pass.

#include "core/algorithm_record.hpp"
#include "cuda/production/records.hpp"
#include "cuda/record.hpp"

#ifdef __CUDACC__
#include "core/visit_types.hpp"
#include "cuda/production/sat/column_parts.hpp"
#include "cuda/production/sat/prepared.hpp"
#endif

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace boxsum {
namespace {

enum class path : std::uint8_t { automatic, wave, tiles };
constexpr std::string_view path_values[] = {"auto", "wave", "tiles"};
constexpr parameter parameters[] = {{"path", "by size, or one wave of tiles, or the pipeline of tiles", path_values}};

path path_of(const parameter_values& values) {
    return static_cast<path>(values.choice[0]);
}

}  // namespace
#ifdef __CUDACC__
namespace {

using namespace cuda;

sat_geometry sums_of(const problem& p, const buffers& memory) {
    return {p, memory.image, p.table, memory.table, p.carries};
}

sat_geometry squares_of(const problem& p, const buffers& memory) {
    return {p, memory.image, *p.squares, memory.squares, p.squares_carries};
}

int bytes_of(dtype type) {
    return static_cast<int>(size_of(type));
}

/// Columns of a tile of one panel: 16 bytes of sums a lane.
int tile_cols_of(dtype sum) {
    return 32 * 16 / bytes_of(sum);
}

/// Of a table of sums, or of squares.
struct table_types {
    dtype pixel, sum;
    bool square;

    /// As the kernels' listed_in_every_layout.
    bool listed() const {
        return !square && ((pixel == dtype::u8 && (sum == dtype::u32 || sum == dtype::s32)) ||
                           (pixel == dtype::f32 && sum == dtype::f32));
    }
};

/// Rows of a warp where one wave computes the table, or 0 where the tile pipeline does. One wave reads and writes
/// several channels one by one, which pays only where everything is latency.
// H200, 13.0, 8u32u, us by one wave and by the pipeline: 4 channels 10.5, 11.6 at 256 and 22.6, 14.4 at 512
int wave_rows_of(const sat_geometry& g, const table_types& types, const device_limits& limits, path forced) {
    if (forced == path::tiles) return 0;
    const int rows = one_wave_rows(g, tile_cols_of(types.sum), limits.multiprocessors, types.listed());
    if (forced == path::wave) return rows > 0 ? rows : types.listed() ? 16 : 8;
    return g.channels > 1 && rows > (types.listed() ? 4 : 8) ? 0 : rows;
}

/// Tiles of 128 rows, with 16 bytes of sums a lane, of an image or of a list.
double tiles_of_128_rows(const view_shape& table) {
    return static_cast<double>(table.planes) * static_cast<double>(table.channels) *
           std::ceil(static_cast<double>(table.rows) / 128) *
           std::ceil(static_cast<double>(table.cols) * static_cast<double>(size_of(table.type)) / 512);
}

support supported(const problem& p, const parameter_values& values) {
    if (p.squares ? !contains(cuda_squares_triples{}, p.triple()) : !contains(cuda_type_pairs{}, p.types()))
        return {false, "types " + (p.squares ? name_of(p.triple()) : name_of(p.types())) +
                           " were not compiled (BOXSUM_TYPES)"};
    if (p.in_place && p.squares) return {false, "it computes no squares in place"};
    if (!tiles_can_be_counted(p.table) || (p.squares && !tiles_can_be_counted(*p.squares)))
        return {false, "more than 2 * 10^8 tiles of 64 rows"};
    constexpr double most = 1e4;
    const double tiles = std::max(tiles_of_128_rows(p.table), p.squares ? tiles_of_128_rows(*p.squares) : 0.0);
    if (path_of(values) == path::wave && tiles > most)
        return {false, "path=wave: every tile looks at all others above and to the left, so 10^4 tiles are the most"};
    return {};
}

std::size_t bytes_of_table(const sat_geometry& g, const table_types& types, const device_limits& limits, path forced) {
    if (g.empty()) return 0;
    if (const int wave_rows = wave_rows_of(g, types, limits, forced); wave_rows > 0)
        return wave_workspace_bytes(g, bytes_of(types.sum), wave_rows);
    const column_parts parts(g);
    const auto bytes_of_part = [&](std::int64_t k) {
        return tiles_workspace_bytes(parts.part(g, k), bytes_of(types.pixel), bytes_of(types.sum),
                                     limits.multiprocessors);
    };
    return std::max(bytes_of_part(0), bytes_of_part(parts.count() - 1));
}

/// Whether both tables come from one launch, unless rows of image or tables are in the way.
bool takes_both(const problem& p, const device_limits& limits, path forced) {
    if (!p.squares || p.image.channels > 1 || !limits.copy_engine || !kernels_have_squares(p.triple())) return false;
    const sat_geometry squares = squares_of(p, {});
    // As wide as the tiles of tables of 8 bytes, whatever the types.
    return squares.rows > squares.origin && squares.cols > squares.origin && !squares.empty() &&
           column_parts(squares).count() == 1 &&
           wave_rows_of(squares, {p.image.type, dtype::u64, true}, limits, forced) == 0;
}

std::size_t workspace_bytes(const problem& p, const parameter_values& values) {
    const device_limits limits = limits_of_device();
    const path forced = path_of(values);
    const sat_geometry sums = sums_of(p, {});
    const std::size_t bytes = bytes_of_table(sums, {p.image.type, p.table.type, false}, limits, forced);
    if (!p.squares) return bytes;
    const sat_geometry squares = squares_of(p, {});
    return std::max({bytes, bytes_of_table(squares, {p.image.type, p.squares->type, true}, limits, forced),
                     takes_both(p, limits, forced)
                         ? both_tables_workspace_bytes(sums, squares, bytes_of(p.image.type), bytes_of(p.table.type),
                                                       bytes_of(p.squares->type), limits.multiprocessors)
                         : 0});
}

/// f.template operator()<Pixel>() for the kernels' pixels.
template <typename F>
void visit_pixels(dtype image, dtype sum, F&& f) {
    visit_dtype(image, [&]<typename Input>() {
        if constexpr (std::is_integral_v<Input> && sizeof(Input) == 4) {
            if (size_of(sum) == 4) return f.template operator()<u32>();
            f.template operator()<Input>();
        } else if constexpr (sizeof(Input) < 8 || std::is_same_v<Input, f64>) {
            f.template operator()<Input>();
        }
    });
}

/// Null for an empty table.
std::unique_ptr<const prepared_table> prepare_table(const sat_geometry& g, const table_types& types,
                                                    const device_limits& limits, path forced) {
    std::unique_ptr<const prepared_table> prepared;
    const auto [pixel, sum, square] = types;
    if (g.empty()) return prepared;
    visit_pixels(pixel, sum, [&]<typename Pixel>() {
        const auto prepare_part = [&](const sat_geometry& part) {
            return part.channels > 1 ? prepare_tiles_of_channels<Pixel>(part, sum, square, limits)
                                     : prepare_tiles<Pixel>(part, sum, square, limits);
        };
        if (const int wave_rows = wave_rows_of(g, types, limits, forced); wave_rows > 0)
            prepared = prepare_wave<Pixel>(g, sum, square, limits, wave_rows);
        else if (column_parts(g).count() > 1)
            prepared = std::make_unique<prepared_columns>(g, bytes_of(pixel), bytes_of(sum), prepare_part);
        else
            prepared = prepare_part(g);
    });
    return prepared;
}

class prepared_fast final : public prepared_problem {
  public:
    prepared_fast(const problem& p, const parameter_values& values) : bytes_(boxsum::workspace_bytes(p, values)) {
        const device_limits limits = limits_of_device();
        const path forced = path_of(values);
        const sat_geometry sums = sums_of(p, {});
        sums_ = prepare_table(sums, {p.image.type, p.table.type, false}, limits, forced);
        if (!p.squares) return;
        const sat_geometry squares = squares_of(p, {});
        squares_ = prepare_table(squares, {p.image.type, p.squares->type, true}, limits, forced);
        if (takes_both(p, limits, forced))
            both_ = p.image.type == dtype::u8 ? prepare_tiles_with_squares<u8>(sums, squares, p.triple(), limits)
                                              : prepare_tiles_with_squares<f32>(sums, squares, p.triple(), limits);
    }

    std::size_t workspace_bytes() const noexcept override { return bytes_; }

    void run(const buffers& memory, const execution& how) const override {
        if (both_ &&
            both_->run({memory.image, memory.table, memory.squares, memory.carries, memory.squares_carries}, how))
            return;
        if (sums_) (void)sums_->run({memory.image, memory.table, nullptr, memory.carries}, how);
        if (squares_) (void)squares_->run({memory.image, memory.squares, nullptr, memory.squares_carries}, how);
    }

  private:
    std::size_t bytes_;
    std::unique_ptr<const prepared_table> sums_, squares_;
    std::unique_ptr<const prepared_table>
        both_;  ///< rather than the two others, where memory starts at the right places
};

std::unique_ptr<const prepared_problem> prepare(const problem& p, const parameter_values& values) {
    return std::make_unique<prepared_fast>(p, values);
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    prepared_fast(p, how.parameters).run(memory, how);
}

/// A list's tables of sums, or of squares: those that one wave takes, and the others, which have launches of their own.
struct list_parts {
    std::vector<sat_geometry> together, alone;

    /// Of those images that have no launches of their own anyway.
    list_parts(std::span<const problem> problems, std::span<const buffers> memory, bool square,
               const device_limits& limits, path forced) {
        for (std::size_t i = 0; i < problems.size(); ++i) {
            if (is_alone(problems[i], limits, forced)) continue;
            const buffers at = memory.empty() ? buffers{} : memory[i];
            const sat_geometry g = square ? squares_of(problems[i], at) : sums_of(problems[i], at);
            if (g.empty()) continue;
            (wave_rows_of(g, types_of(problems[i], square), limits, forced) > 0 ? together : alone).push_back(g);
        }
    }

    /// Whether both tables come from one launch, or are parts of larger ones, which launches of many do not make.
    static bool is_alone(const problem& p, const device_limits& limits, path forced) {
        return p.has_carries() || takes_both(p, limits, forced);
    }

    static table_types types_of(const problem& p, bool square) {
        return {p.image.type, square ? p.squares->type : p.table.type, square};
    }
};

std::size_t list_workspace_bytes(std::span<const problem> problems, const parameter_values& values) {
    const device_limits limits = limits_of_device();
    const path forced = path_of(values);
    std::size_t bytes = 0;
    for (const problem& p : problems)
        if (list_parts::is_alone(p, limits, forced)) bytes = std::max(bytes, workspace_bytes(p, values));
    for (const bool square : {false, true}) {
        if (square && !problems[0].squares) continue;
        const table_types types = list_parts::types_of(problems[0], square);
        const list_parts parts(problems, {}, square, limits, forced);
        bytes = std::max(bytes, wave_list_workspace_bytes(parts.together, bytes_of(types.sum)));
        for (const sat_geometry& g : parts.alone) bytes = std::max(bytes, bytes_of_table(g, types, limits, forced));
    }
    return bytes;
}

void enqueue_list(std::span<const problem> problems, std::span<const buffers> memory, const execution& how) {
    const device_limits limits = limits_of_device();
    const path forced = path_of(how.parameters);
    for (std::size_t i = 0; i < problems.size(); ++i)
        if (list_parts::is_alone(problems[i], limits, forced)) enqueue(problems[i], memory[i], how);
    for (const bool square : {false, true}) {
        if (square && !problems[0].squares) continue;
        const table_types types = list_parts::types_of(problems[0], square);
        const list_parts parts(problems, memory, square, limits, forced);
        visit_pixels(types.pixel, types.sum, [&]<typename Pixel>() {
            enqueue_wave_lists<Pixel>(parts.together, types.sum, square, limits, how);
        });
        for (const sat_geometry& g : parts.alone)
            (void)prepare_table(g, types, limits, forced)->run({g.image, g.table}, how);
    }
}

}  // namespace
#endif  // __CUDACC__

namespace {

/// The longest chain leads from a pixel through the row sums of its tile (at most 34 additions, 64 with two channels),
/// those of its group of tiles and of the groups to the left, the carries of the tile (64) and the rows of tiles below;
/// several channels share a tile, which is so much narrower. One wave adds up rows and columns of tiles one by one, and
/// its threads share the tiles above to the left.
std::int64_t addition_depth(const problem& p, const parameter_values& values) {
    const std::int64_t tile_rows = (p.table.rows + 31) / 32;
    const std::int64_t tile_cols = (p.table.cols * p.table.channels + 63) / 64;
    const auto roots = static_cast<std::int64_t>(std::ceil(2 * std::sqrt(static_cast<double>(tile_cols))));
    const std::int64_t downwards = (p.table.channels == 1 ? 128 : 160) + tile_rows;
    const std::int64_t across = path_of(values) == path::wave ? tile_cols + tile_rows * tile_cols / 256
                                                              : std::min<std::int64_t>(tile_cols, 16 + 2 * roots);
    return std::min(serial_addition_depth(p, {}), across + downwards);
}

/// Of two launches where there are squares, as on any device; see takes_both() for where one reads the image once.
algorithm_cost cost(const problem& p, const parameter_values&) {
    const double tables = p.squares ? 2 : 1;
    return {tables, tables, p.squares ? 2 : 1, 0};
}

}  // namespace

constinit const algorithm_record sat_fast_record{
    .info = {.what = operation::sat,
             .name = "fast",
             .title = "single pass, tiles in a pipeline of warp roles; one wave where everything fits on the chip",
             .paper = "boxsum",
             .cost = "1 read, 1 write per element and table; 1 launch per table, or 1 read and 1 launch for both",
             .where = backend::cuda,
             .built = cuda_built,
             .in_place = true,
             .carries = true,
             .parameters = parameters},
    .supports = BOXSUM_DEVICE_FUNCTION(supported),
    .workspace_bytes = BOXSUM_DEVICE_FUNCTION(workspace_bytes),
    .enqueue = BOXSUM_DEVICE_FUNCTION(enqueue),
    .prepare = BOXSUM_DEVICE_FUNCTION(prepare),
    .leaves = workspace_content::tagged,
    .list_workspace_bytes = BOXSUM_DEVICE_FUNCTION(list_workspace_bytes),
    .enqueue_list = BOXSUM_DEVICE_FUNCTION(enqueue_list),
    .addition_depth = addition_depth,
    .cost = cost,
};

}  // namespace boxsum
