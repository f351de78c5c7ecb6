// The summed area table on the CPU: one read of the image, one write of the table.
//
// The table is cut into panels of rows and tiles of columns. A tile needs the table row above it and the sums of its
// rows left of it. A thread takes every n-th panel and goes through its tiles from left to right, keeping the row sums
// to itself; before each tile it waits until the panel above has finished the tile there. So the threads follow one
// another in a wavefront, nothing is read or written twice, and each entry is made by the same additions in the same
// order for any number of threads. (Papatriantafyllou and Sacharidis, Euro-Par 2016, order tiles in the same way.)
//
//     panel 0, thread 0:  [0][1][2][3]            time ->
//     panel 1, thread 1:     [0][1][2][3]
//     panel 2, thread 0:              [0][1][2][3]
//
// One thread takes the whole table as one tile, unless rows are so long that the row above would leave the cache.

#include "api/validate.hpp"
#include "core/visit_types.hpp"
#include "cpu/host.hpp"
#include "cpu/instruction_set.hpp"
#include "cpu/records.hpp"
#include "cpu/team.hpp"

#include <boxsum/cpu.hpp>
#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace boxsum {
namespace {

using cpu::kernel_id;
using cpu::kernel_set;
using cpu::tile;
using cpu::tile_function;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// Which kernel makes a table (of sums, or of squares), and up to how many columns: the narrow kernels need row sums
/// below 2^31. Beyond that `beyond` serves, or the scalar set where there is no wide kernel.
struct kernel_choice {
    dtype input;
    dtype table;
    kernel_id kernel;
    std::int64_t max_cols = unlimited;
    std::optional<kernel_id> beyond = {};
};

constexpr std::int64_t largest_sum = std::numeric_limits<std::int32_t>::max();

constexpr std::array<kernel_choice, 17> sum_kernels{{
    {dtype::u8, dtype::u32, kernel_id::u8_u32},
    {dtype::u8, dtype::s32, kernel_id::u8_u32},
    {dtype::u8, dtype::f32, kernel_id::u8_f32, largest_sum / 255},
    {dtype::u8, dtype::u64, kernel_id::u8_u64, largest_sum / 255},
    {dtype::u8, dtype::f64, kernel_id::u8_f64, largest_sum / 255},
    {dtype::u16, dtype::u32, kernel_id::u16_u32},
    {dtype::u16, dtype::u64, kernel_id::u16_u64, largest_sum / 65535, kernel_id::u16_u64_wide},
    {dtype::s16, dtype::s32, kernel_id::s16_u32},
    {dtype::s16, dtype::s64, kernel_id::s16_u64, largest_sum / 32768, kernel_id::s16_u64_wide},
    {dtype::u32, dtype::u32, kernel_id::u32_u32},
    {dtype::s32, dtype::s32, kernel_id::u32_u32},
    {dtype::u32, dtype::u64, kernel_id::u32_u64},
    {dtype::s32, dtype::s64, kernel_id::s32_u64},
    {dtype::f32, dtype::f32, kernel_id::f32_f32},
    {dtype::f32, dtype::f64, kernel_id::f32_f64},
    {dtype::f64, dtype::f64, kernel_id::f64_f64},
    {dtype::f16, dtype::f32, kernel_id::f16_f32},
}};

constexpr std::array<kernel_choice, 8> square_kernels{{
    {dtype::u8, dtype::u32, kernel_id::square_u8_u32},
    {dtype::u8, dtype::u64, kernel_id::square_u8_u64, largest_sum / (255 * 255), kernel_id::square_u8_u64_wide},
    {dtype::u8, dtype::f64, kernel_id::square_u8_f64, largest_sum / (255 * 255), kernel_id::square_u8_f64_wide},
    {dtype::u16, dtype::u64, kernel_id::square_u16_u64},
    {dtype::u16, dtype::f64, kernel_id::square_u16_f64},
    {dtype::f32, dtype::f32, kernel_id::square_f32_f32},
    {dtype::f32, dtype::f64, kernel_id::square_f32_f64},
    {dtype::f64, dtype::f64, kernel_id::square_f64_f64},
}};

const kernel_set::entry* find_entry(const kernel_set& set, std::span<const kernel_choice> choices, dtype input,
                                    dtype table, std::int64_t cols) {
    for (const kernel_choice& c : choices) {
        if (c.input != input || c.table != table) continue;
        const kernel_set& serving = cols > c.max_cols && !c.beyond ? cpu::scalar_kernels : set;
        const kernel_id kernel = cols > c.max_cols && c.beyond ? *c.beyond : c.kernel;
        return &serving.kernels[static_cast<std::size_t>(kernel)];
    }
    return nullptr;
}

/// One table to fill: where it is and what fills it. Offsets are in elements, strides in bytes.
struct pass {
    tile_function run = nullptr;
    std::byte* table = nullptr;  ///< first entry that is not of the zero row
    view_shape shape;
    std::int64_t element = 0;  ///< bytes
};

/// Everything that the threads share; read only but for `progress`.
struct wavefront {
    const std::byte* image = nullptr;
    view_shape image_shape;
    std::array<pass, 2> passes;  ///< squares first: an in-place table overwrites the image
    int pass_count = 0;

    std::int64_t channels = 1;
    std::int64_t rows = 0;      ///< of the table, without its zero row
    std::int64_t elements = 0;  ///< of a table row, with its zero column
    std::int64_t lead = 0;      ///< elements of the zero column
    std::int64_t panel_rows = 0;
    std::int64_t tile_elements = 0;
    std::int64_t panels = 0;  ///< of a plane
    std::int64_t tiles = 0;   ///< of a panel

    std::byte* scratch = nullptr;
    std::size_t scratch_bytes = 0;  ///< of a thread: row buffers, then carries, of both passes

    struct alignas(64) counter {  // a cache line each: they are spun on
        std::atomic<std::int64_t> tiles_done{0};
    };
    std::unique_ptr<counter[]> progress;
};

constexpr std::size_t row_buffer_bytes(std::int64_t tile_elements) {
    return static_cast<std::size_t>(tile_elements) * 8;
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

void wait_until(const std::atomic<std::int64_t>& value, std::int64_t least) {
    // Spins for some tens of microseconds, as long as a tile may take, then lets others run: there may be more threads
    // than cores.
    for (int i = 0; value.load(std::memory_order_acquire) < least; ++i) {
        if (i > 2000)
            std::this_thread::yield();
        else
#if defined(__x86_64__)
            _mm_pause();
#else
            std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
    }
}

void run_tile(const wavefront& w, std::byte* scratch, std::int64_t plane, std::int64_t panel, std::int64_t column) {
    const std::int64_t row = panel * w.panel_rows;
    const std::int64_t start = column * w.tile_elements;
    for (int i = 0; i < w.pass_count; ++i) {
        const pass& p = w.passes[static_cast<std::size_t>(i)];
        tile t{};
        t.lead = column == 0 ? w.lead : 0;
        // With a zero column, entry `start` is of pixel `start - lead`.
        t.image = w.image + plane * w.image_shape.plane_stride + row * w.image_shape.row_stride +
                  (start - w.lead + t.lead) * static_cast<std::int64_t>(size_of(w.image_shape.type));
        t.image_stride = w.image_shape.row_stride;
        std::byte* const table = p.table + plane * p.shape.plane_stride + row * p.shape.row_stride + start * p.element;
        t.table = table;
        t.table_stride = p.shape.row_stride;
        t.above = panel == 0 ? nullptr : table - p.shape.row_stride;
        std::byte* const own = scratch + static_cast<std::size_t>(i) * (w.scratch_bytes / 2);
        t.row_buffer = own;
        t.carry = w.tiles > 1 ? own + row_buffer_bytes(w.tile_elements) : nullptr;
        t.carry_in = column > 0;
        t.rows = std::min(w.panel_rows, w.rows - row);
        t.elements = std::min(w.tile_elements, w.elements - start);
        t.channels = w.channels;
        p.run(t);
    }
}

void run_panels(void* context, int thread, int threads) {
    wavefront& w = *static_cast<wavefront*>(context);
    std::byte* const scratch = w.scratch + static_cast<std::size_t>(thread) * w.scratch_bytes;
    std::atomic<std::int64_t>& done = w.progress[static_cast<std::size_t>(thread)].tiles_done;
    const std::int64_t all = w.image_shape.planes * w.panels;
    for (std::int64_t unit = thread; unit < all; unit += threads) {
        const std::int64_t panel = unit % w.panels;
        for (std::int64_t column = 0; column < w.tiles; ++column) {
            // The panel above is the previous unit, and its thread counts tiles through all units.
            if (panel > 0 && threads > 1)
                wait_until(w.progress[static_cast<std::size_t>((unit - 1) % threads)].tiles_done,
                           (unit - 1) * w.tiles + column + 1);
            run_tile(w, scratch, unit / w.panels, panel, column);
            // Pairs with the acquire in wait_until: the tile's entries before its count.
            done.store(unit * w.tiles + column + 1, std::memory_order_release);
        }
    }
}

/// The zero row of `exclusive` and `padded`.
void clear_first_rows(const view_shape& s, void* table) {
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        std::memset(static_cast<std::byte*>(table) + plane * s.plane_stride, 0,
                    static_cast<std::size_t>(s.cols * s.channels) * size_of(s.type));
}

/// What is decided before any thread starts.
struct plan {
    const kernel_set* set = nullptr;
    int threads = 1;
    store_policy store = store_policy::cached;
};

std::int64_t view_bytes(const view_shape& s) {
    return s.planes * s.rows * s.cols * s.channels * static_cast<std::int64_t>(size_of(s.type));
}

bool rows_aligned(const void* data, const view_shape& s, std::size_t unit) {
    const auto is_multiple = [&](std::uint64_t value) { return value % unit == 0; };
    return is_multiple(reinterpret_cast<std::uintptr_t>(data)) &&
           is_multiple(static_cast<std::uint64_t>(s.row_stride)) &&
           (s.planes == 1 || is_multiple(static_cast<std::uint64_t>(s.plane_stride)));
}

constexpr std::int64_t most_threads = 256;

plan decide(const problem& p, const kernel_set& set, const void* table, const void* squares, int threads,
            store_policy store) {
    plan decided;
    decided.set = &set;
    const std::int64_t table_bytes = view_bytes(p.table) + (p.squares ? view_bytes(*p.squares) : 0);
    const bool aligned = rows_aligned(table, p.table, set.vector_bytes) &&
                         (!p.squares || rows_aligned(squares, *p.squares, set.vector_bytes)) && set.vector_bytes > 1;
    decided.store = cpu::choose_store(view_bytes(p.image) + table_bytes, aligned, store);
    decided.threads = static_cast<int>(
        std::min<std::int64_t>(cpu::choose_threads(view_bytes(p.image) + table_bytes, threads), most_threads));
    return decided;
}

pass make_pass(const kernel_set& set, std::span<const kernel_choice> choices, const problem& p, const view_shape& shape,
               void* table, store_policy store) {
    const kernel_set::entry* e = find_entry(set, choices, p.image.type, shape.type, p.image.cols);
    if (p.image.channels > e->max_channels) {
        const kernel_set& scalar = cpu::scalar_kernels;
        e = find_entry(scalar, choices, p.image.type, shape.type, p.image.cols);
    }
    pass result;
    const bool one = p.image.channels == 1;
    result.run = one ? e->cached : e->interleaved;
    const tile_function streaming = one ? e->streaming : e->interleaved_streaming;
    if (store == store_policy::streaming && streaming != nullptr) result.run = streaming;
    result.table = static_cast<std::byte*>(table) + (p.layout == table_layout::inclusive ? 0 : shape.row_stride);
    result.shape = shape;
    result.element = static_cast<std::int64_t>(size_of(shape.type));
    return result;
}

/// Columns of a tile and rows of a panel. One thread: everything at once while the row above stays in the second-level
/// cache (32768 entries; narrower tiles brought nothing up to 8192 columns). More threads: some tens of panels, for
/// balance, and tiles so narrow that the next thread starts soon.
void cut(wavefront& w, int threads) {
    constexpr std::int64_t widest = 32768;
    if (threads == 1) {
        w.tile_elements = std::min(round_up(w.elements, cpu::tile_columns_unit), widest);
        w.panel_rows = w.elements <= widest ? w.rows : 256;
    } else {
        w.tile_elements =
            std::clamp(round_up(w.elements / 4, cpu::tile_columns_unit), std::int64_t{256}, std::int64_t{4096});
        w.panel_rows = std::clamp(round_up((w.rows + 8 * threads - 1) / (8 * threads), cpu::rows_per_pass),
                                  std::int64_t{16}, std::int64_t{64});
    }
    w.panels = (w.rows + w.panel_rows - 1) / w.panel_rows;
    w.tiles = (w.elements + w.tile_elements - 1) / w.tile_elements;
}

void fill_tables(const problem& p, const buffers& memory, const plan& decided) {
    if (p.layout != table_layout::inclusive) {
        clear_first_rows(p.table, memory.table);
        if (p.squares) clear_first_rows(*p.squares, memory.squares);
    }
    wavefront w;
    w.image = static_cast<const std::byte*>(memory.image);
    w.image_shape = p.image;
    w.channels = p.image.channels;
    w.rows = p.table.rows - (p.layout == table_layout::inclusive ? 0 : 1);
    w.elements = p.table.cols * p.table.channels;
    w.lead = p.layout == table_layout::inclusive ? 0 : p.image.channels;
    if (w.rows == 0) return;  // exclusive table of one row
    if (p.squares)
        w.passes[static_cast<std::size_t>(w.pass_count++)] =
            make_pass(*decided.set, square_kernels, p, *p.squares, memory.squares, decided.store);
    w.passes[static_cast<std::size_t>(w.pass_count++)] =
        make_pass(*decided.set, sum_kernels, p, p.table, memory.table, decided.store);

    cut(w, decided.threads);
    const int threads = static_cast<int>(std::min<std::int64_t>(decided.threads, p.image.planes * w.panels));
    const std::size_t carries = static_cast<std::size_t>(round_up(w.panel_rows * w.channels, 8)) * cpu::carry_bytes;
    host_buffer scratch;
    if (w.tiles > 1 || decided.store == store_policy::streaming) {
        w.scratch_bytes = 2 * (row_buffer_bytes(w.tile_elements) + (w.tiles > 1 ? carries : 0));
        scratch = memory_pool::shared().acquire(w.scratch_bytes * static_cast<std::size_t>(threads));
        w.scratch = static_cast<std::byte*>(scratch.data());
    }
    w.progress = std::make_unique<wavefront::counter[]>(static_cast<std::size_t>(threads));
    cpu::run_team(threads, run_panels, &w);
}

// ---- The record --------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 6> instruction_set_values{"auto",   "scalar",      "avx2",
                                                                 "avx512", "avx512-vnni", "neon"};
constexpr std::array<parameter, 1> parameters{
    {{"isa", "instruction set of the kernels; auto is the best that the machine has", instruction_set_values}}};

const kernel_set* kernels_of(const parameter_values& values) {
    return cpu::find_kernels(instruction_set_values[values.choice[0]]);
}

support supports(const problem& p, const parameter_values& values) {
    const kernel_set* set = kernels_of(values);
    if (set == nullptr)
        return {false, "this machine or build has no " + std::string(instruction_set_values[values.choice[0]])};
    if (find_entry(*set, sum_kernels, p.image.type, p.table.type, 1) == nullptr ||
        (p.squares && find_entry(*set, square_kernels, p.image.type, p.squares->type, 1) == nullptr))
        return {false, "no kernel for these types"};
    return {};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    fill_tables(p, memory,
                decide(p, *kernels_of(how.parameters), memory.table, memory.squares, how.threads, how.store));
}

/// A row sum is a chain over vectors, each of which adds at most 3 times within a block, 2 across blocks and 2 to join
/// them; 1 more rounds the square or the conversion. It never exceeds the number of columns, since adding zero is
/// exact.
std::int64_t addition_depth(const problem& p, const parameter_values& values) {
    const kernel_set* set = kernels_of(values);
    const auto widest = static_cast<std::int64_t>(size_of(p.squares ? p.squares->type : p.table.type));
    const auto lanes =
        std::max<std::int64_t>(static_cast<std::int64_t>(set->vector_bytes) / std::max<std::int64_t>(widest, 8), 1);
    const std::int64_t vectors =
        set->vector_bytes == 1 ? p.image.cols : (p.image.cols * p.image.channels + lanes) / lanes + 1;
    return p.image.rows + std::min(p.image.cols, vectors + 8);
}

algorithm_cost cost(const problem& p, const parameter_values&) {
    return {1, p.squares ? 2.0 : 1.0, 0, cpu::choose_threads(view_bytes(p.image) + view_bytes(p.table), 0)};
}

}  // namespace

constinit const algorithm_record simd_sat_record{
    .info = {.what = operation::sat,
             .name = "simd",
             .title = "row scans in vector registers, running column sums, tiles in a wavefront of threads",
             .paper = "boxsum; wavefront as in Papatriantafyllou and Sacharidis, Euro-Par 2016",
             .cost = "1 read, 1 write per element",
             .where = backend::cpu,
             .in_place = true,
             .parameters = parameters},
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .enqueue = enqueue,
    .addition_depth = addition_depth,
    .cost = cost,
};

cpu_decision decide_sat(const const_any_view& image, const any_view& table, const sat_options& options) {
    if (options.threads < 0)
        throw invalid_argument("threads: is " + std::to_string(options.threads) + ", must be 0 (automatic) or more");
    const problem p = make_problem(image, table, std::nullopt, options.layout);
    const parameter_values values = parse_parameters(simd_sat_record, options.parameters);
    if (const support s = supports(p, values); !s) throw unsupported("algorithm 'simd': " + s.reason);
    const plan decided = decide(p, *kernels_of(values), table.data, nullptr, options.threads, options.store);
    return {decided.set->name, decided.threads, decided.store};
}

}  // namespace boxsum
