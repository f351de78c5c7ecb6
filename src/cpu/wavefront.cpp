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

#include "cpu/part_edges.hpp"
#include "cpu/table_job.hpp"
#include "cpu/team.hpp"

#include <boxsum/table.hpp>

#include <algorithm>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace boxsum::cpu {
namespace {

/// Everything that the threads share; read only but for `progress`.
struct wavefront {
    const table_job& job;
    std::int64_t panel_rows = 0;
    std::int64_t tile_elements = 0;
    std::int64_t panels = 0;  ///< of a plane
    std::int64_t tiles = 0;   ///< of a panel

    std::byte* scratch = nullptr;
    std::size_t scratch_bytes = 0;  ///< of a thread: a row buffer, row sums and a border column, of both passes
    std::size_t row_sum_bytes = 0;
    progress_counter* progress = nullptr;  ///< of each thread

    /// Whether the pass's kernel starts rows right of an origin: their left parts lie in the first tile.
    bool starts_rows(const table_pass& p) const { return p.starts_rows && job.left_elements <= tile_elements; }
    bool starts_rows() const {
        return starts_rows(job.passes[0]) && starts_rows(job.passes[static_cast<std::size_t>(job.pass_count - 1)]);
    }

    int busy_threads(int most_threads) const {
        return static_cast<int>(std::clamp<std::int64_t>(job.image_shape.planes * panels, 1, most_threads));
    }
};

constexpr std::size_t row_buffer_bytes(std::int64_t tile_elements) {
    return static_cast<std::size_t>(tile_elements) * 8;
}

void run_tile(const wavefront& w, std::byte* scratch, std::int64_t plane, std::int64_t panel, std::int64_t column) {
    const table_job& job = w.job;
    const std::int64_t row = panel * w.panel_rows;
    const std::int64_t start = column * w.tile_elements;
    for (int i = 0; i < job.pass_count; ++i) {
        const table_pass& p = job.passes[static_cast<std::size_t>(i)];
        tile t = tile_of(job, p, plane, row, std::min(w.panel_rows, job.rows - row), start,
                         std::min(w.tile_elements, job.elements - start));
        std::byte* const own = scratch + static_cast<std::size_t>(i) * (w.scratch_bytes / 2);
        t.row_buffer = own;
        const bool from_origin = column == 0 && job.left_elements > 0;
        const bool from_edge = column == 0 && p.left_edge != nullptr;
        t.carry = w.tiles > 1 || from_edge || from_origin ? own + row_buffer_bytes(w.tile_elements) : nullptr;
        t.carry_in = column > 0 || from_edge || from_origin;
        if (from_edge) put_row_sums(job, p, plane, row, t.rows, t.carry);
        if (from_origin) {
            const bool by_kernel = w.starts_rows(p);
            if (by_kernel) t.left_elements = job.left_elements;
            start_rows_at_origin(job, p, t, by_kernel ? std::min(rows_per_pass, t.rows) : t.rows,
                                 static_cast<std::byte*>(t.carry) + w.row_sum_bytes);
        }
        if (job.offsets_are_zero && !t.negated) t.offsets = nullptr;  // as a plain table
        p.run(t);
    }
}

void run_panels(void* context, int thread, int threads) {
    wavefront& w = *static_cast<wavefront*>(context);
    std::byte* const scratch = w.scratch + static_cast<std::size_t>(thread) * w.scratch_bytes;
    progress_counter& own = w.progress[thread];
    const std::int64_t all = w.job.image_shape.planes * w.panels;
    for (std::int64_t unit = thread; unit < all; unit += threads) {
        const std::int64_t panel = unit % w.panels;
        for (std::int64_t column = 0; column < w.tiles; ++column) {
            // The panel above is the previous unit, and its thread counts tiles through all units.
            if (panel > 0 && threads > 1)
                wait_until(w.progress[(unit - 1) % threads], (unit - 1) * w.tiles + column + 1);
            run_tile(w, scratch, unit / w.panels, panel, column);
            // Pairs with the acquire in wait_until: the tile's entries before its count.
            own.done.store(unit * w.tiles + column + 1, std::memory_order_release);
        }
    }
}

/// A division takes as long as the checks of a small table do.
constexpr std::int64_t pieces(std::int64_t all, std::int64_t each) {
    return all <= each ? 1 : (all + each - 1) / each;
}

/// Columns of a tile and rows of a panel. One thread: everything at once while the row above stays in the second-level
/// cache (32768 entries; narrower tiles brought nothing up to 8192 columns). More threads: some tens of panels, for
/// balance, and tiles so narrow that the next thread starts soon.
void cut(wavefront& w, int threads) {
    const std::int64_t rows = w.job.rows;
    const std::int64_t elements = std::max<std::int64_t>(w.job.elements, 1);  // none beside an exclusive table's border
    constexpr std::int64_t widest = 32768, tallest_with_edge = 4096;          // its row sums: 128 KiB of scratch
    constexpr std::int64_t most_bytes_left = 128 << 10;
    if (threads == 1) {
        w.tile_elements = std::min(round_up(elements, tile_columns_unit), widest);
        w.panel_rows = elements > widest ? 256 : w.job.has_left_edge() ? std::min(rows, tallest_with_edge) : rows;
        if (w.job.left_elements > 0 && !w.starts_rows()) {  // read twice, once from the second-level cache
            const std::int64_t row_bytes =
                w.job.left_elements * static_cast<std::int64_t>(size_of(w.job.image_shape.type));
            w.panel_rows = std::min(
                w.panel_rows, std::max(rows_per_pass, most_bytes_left / row_bytes / rows_per_pass * rows_per_pass));
        }
    } else {
        w.tile_elements = std::clamp(round_up(elements / 4, tile_columns_unit), std::int64_t{256}, std::int64_t{4096});
        w.panel_rows = std::clamp(round_up((rows + 8 * threads - 1) / (8 * threads), rows_per_pass), std::int64_t{16},
                                  std::int64_t{64});
    }
    w.panels = pieces(rows, w.panel_rows);
    w.tiles = pieces(elements, w.tile_elements);
}

}  // namespace

void wait_until(const progress_counter& counter, std::int64_t least) {
    for (int i = 0; counter.done.load(std::memory_order_acquire) < least; ++i) {
        if (i > 200)
            std::this_thread::yield();
        else
#if defined(__x86_64__)
            _mm_pause();
#else
            std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
    }
}

int threads_in_wavefront(const table_job& job, int most_threads) {
    wavefront w{job};
    cut(w, most_threads);
    return w.busy_threads(most_threads);
}

void compute_in_wavefront(const table_job& job, int most_threads) {
    wavefront w{job};
    cut(w, most_threads);
    const int threads = w.busy_threads(most_threads);
    w.row_sum_bytes = static_cast<std::size_t>(round_up(w.panel_rows * job.channels, 8)) * carry_bytes;
    const bool keeps_row_sums = w.tiles > 1 || job.has_left_edge();
    // Nothing to keep or to share, and over before another caller asks who is at work.
    constexpr std::int64_t most_unnoticed = 1 << 16;
    if (threads == 1 && w.panels == 1 && !keeps_row_sums && !job.streaming &&
        job.rows * job.elements < most_unnoticed) {
        for (std::int64_t plane = 0; plane < job.image_shape.planes; ++plane) run_tile(w, nullptr, plane, 0, 0);
        return;
    }
    host_buffer scratch;
    if (keeps_row_sums || job.streaming) {
        w.scratch_bytes = 2 * (row_buffer_bytes(w.tile_elements) + (keeps_row_sums ? 2 * w.row_sum_bytes : 0));
        scratch = memory_pool::shared().acquire(w.scratch_bytes * static_cast<std::size_t>(threads));
        w.scratch = static_cast<std::byte*>(scratch.data());
    }
    progress_counter own;
    progress_counters several;
    if (threads > 1) several = std::make_unique<progress_counter[]>(static_cast<std::size_t>(threads));
    w.progress = threads > 1 ? several.get() : &own;
    run_team(threads, run_panels, &w);
}

}  // namespace boxsum::cpu
