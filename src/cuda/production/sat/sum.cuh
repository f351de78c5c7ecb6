#pragma once

#include "cuda/device/bulk_copy.cuh"
#include "cuda/production/sat/block.cuh"

#include <cuda/atomic>

#include <cstdint>

/// Role `sum`: draws a ticket, starts the tile's copy, adds up its rows and publishes them. And what words of the ring
/// wait for before they are replaced. kernel.cuh has the picture.
namespace boxsum::cuda {

/// A tile's plane, and its row and column of tiles, which count from the origin on.
struct box_place {
    int plane, row, col;
    bool up = false, left = false;
};

__device__ inline int at_most_int(std::int64_t x) {
    return static_cast<int>(x < 1 << 30 ? x : 1 << 30);
}

template <typename B>
__device__ inline box_place box_of(const B& b, unsigned ticket) {
    const unsigned line = b.p.by_tile_cols.quotient(ticket), plane = b.p.by_tile_rows.quotient(line);
    box_place at{static_cast<int>(plane), static_cast<int>(line - plane * b.p.tile_rows),
                 static_cast<int>(ticket - line * b.p.tile_cols)};
    if constexpr (B::outwards) {
        at.up = at.row < static_cast<int>(b.p.up_rows);
        at.left = at.col < static_cast<int>(b.p.left_cols);
        at.row -= at.up ? 0 : static_cast<int>(b.p.up_rows);
        at.col -= at.left ? 0 : static_cast<int>(b.p.left_cols);
    }
    return at;
}

/// The pixels of a tile, the upper left one first.
template <typename B>
__device__ inline int first_row_of(const B& b, const box_place& at) {
    if constexpr (B::outwards)
        return static_cast<int>(b.p.up) + (at.up ? -1 - at.row : at.row) * B::tile::rows;
    else
        return at.row * B::pixels::phase_rows;
}

template <typename B>
__device__ inline int first_col_of(const B& b, const box_place& at) {
    if constexpr (B::outwards)
        return static_cast<int>(b.p.left) + (at.left ? -1 - at.col : at.col) * B::cols_of_tile;
    else
        return at.col * B::cols_of_tile;
}

/// What a plan has of the side of the origin on which a tile is: rows and columns of tiles and of sums, and how many
/// are before them in a row of tiles, or of groups, or in the ring.
struct tile_side {
    unsigned tile_rows, tile_cols, rows_in_groups;
    std::int64_t rows, cols;
    unsigned lined_up = 0, tiles = 0, groups = 0;
};

template <typename B>
__device__ inline tile_side side_of(const B& b, [[maybe_unused]] bool up, [[maybe_unused]] bool left) {
    tile_side side{b.p.tile_rows, b.p.tile_cols, b.p.rows_of_plane, b.p.rows, b.p.cols};
    if constexpr (B::outwards) {
        side.tile_rows = up ? b.p.up_rows : b.p.tile_rows - b.p.up_rows;
        side.rows_in_groups = up ? b.p.up_lined_up : b.p.rows_of_plane - b.p.up_lined_up;
        side.rows = up ? b.p.up : b.p.rows - b.p.up;
        side.lined_up = up ? 0 : b.p.up_lined_up;
        side.tile_cols = left ? b.p.left_cols : b.p.tile_cols - b.p.left_cols;
        side.cols = left ? b.p.left : b.p.cols - b.p.left;
        side.tiles = left ? 0 : b.p.left_cols;
        side.groups = left ? 0 : b.p.left_groups;
    }
    return side;
}

/// Tiles are numbered row by row, plane by plane, and `box` is the ticket's. `lined_up` counts rows of tiles with
/// every plane filled up to whole groups, so that a group lies in the ring without a gap.
template <typename B>
__device__ inline tile_position position_of(const B& b, unsigned ticket, const box_place& box) {
    tile_position at{};
    if (ticket >= b.p.tiles) return at;
    at.plane = static_cast<unsigned>(box.plane);
    at.row = static_cast<unsigned>(box.row);
    at.col = static_cast<unsigned>(box.col);
    const tile_side side = side_of(b, box.up, box.left);
    const unsigned lined_up = at.plane * b.p.rows_of_plane + side.lined_up + at.row;
    at.lap = b.p.by_ring_rows.quotient(lined_up);
    at.ring_row = lined_up - at.lap * b.p.ring_rows;
    at.in_group = at.row - b.p.by_group_rows.quotient(at.row) * b.p.by_group_rows.divisor();
    at.group = b.p.by_group_cols.quotient(at.col);
    at.before = at.col - at.group * b.p.by_group_cols.divisor();
    at.place = at.ring_row * b.p.tile_cols + side.tiles + at.col;
    at.group_place = at.ring_row * b.p.groups + side.groups;
    const unsigned group_row = at.ring_row - at.in_group;  // the first of its group of rows
    const unsigned ring_group = b.p.by_group_rows.quotient(group_row);
    at.tag = b.tag_of_lap(at.lap);
    at.tag_above = group_row > 0 ? at.tag : b.tag_of_lap(at.lap - 1);
    at.rows_place = ring_group * b.p.tile_cols + side.tiles + at.col;
    at.rows_place_above = ((group_row > 0 ? ring_group : b.p.ring_groups) - 1) * b.p.tile_cols + side.tiles + at.col;
    at.last_col = at.col + 1 == side.tile_cols;
    at.ends_group = at.before + 1 == b.p.by_group_cols.divisor() && !at.last_col;
    at.ends_rows = at.in_group + 1 == b.p.by_group_rows.divisor() && at.row + 1 < side.tile_rows;
    at.has_above = at.row > at.in_group;
    std::int64_t row = std::int64_t{at.row} * B::tile::rows;
    std::int64_t col = std::int64_t{at.col} * B::cols_of_tile;
    at.valid_rows = at_most_int(side.rows - row);
    at.valid_cols = at_most_int(side.cols - col);
    if constexpr (B::outwards) {
        // Between the quarters there are a row and a column of zeros, where `sums` has those of the last pixels below.
        at.up = box.up;
        at.left = box.left;
        row = at.up ? b.p.up - 2 - row : b.p.up + row;
        col = at.left ? b.p.left - 2 - col : b.p.left + col;
    }
    at.to = b.p.sums + at.plane * b.p.plane_stride + row * b.p.row_stride +
            col * static_cast<std::int64_t>(sizeof(typename B::table_sum));
    return at;
}

/// Words are replaced when all tiles that look at them have finished: one counter of them a lane, those of the row
/// of tiles a lap before and of the group below it. count_as_read() is the other side.
///
/// Relaxed on both sides, because a release at device scope waits for all stores that the multiprocessor has under
/// way (10 us a tile). It is safe because no value passes through the counter. A tile counts only after its roles
/// have accepted their words, by their tags: they arrive at `carried` and `topped` (with a chain, at the second
/// barrier of `finish`) after that, and the counting threads wait for both. Words are replaced only after all have
/// counted. Neither an addition nor a store is carried out before the branches that it depends on are decided, so a
/// look cannot return the word that replaces the one it was for; and one that did would find another lap's tag,
/// never another value.
///
/// It is enough that `sum` waits: `left`, `carry`, `above` and `finish` publish for a tile after barriers that
/// `sum` arrives at behind this wait. And it ends: the tiles waited for are in rows of tiles above this one (the
/// ring is longer than a group and a counter's rows), so their tickets are lower.
struct earlier_readers {
    std::uint32_t* counter = nullptr;
    std::uint32_t target = 0, seen = 0;

    __device__ static std::uint32_t look(std::uint32_t* counter) {
        return ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>(*counter).load(
            ::cuda::memory_order_relaxed);
    }
    __device__ void wait() const {
        std::uint32_t now = seen;
        while (static_cast<std::int32_t>(now - target) < 0) now = look(counter);
        __syncwarp();
    }
};

template <typename B>
__device__ inline earlier_readers look_at_readers(const B& b, const tile_position& at) {
    earlier_readers readers;
    // The rows whose words this tile's replace, a ring before, and those that read them: as many as a group below.
    const unsigned first = at.ring_row >> b.p.counter_shift;
    const unsigned last = (at.ring_row + b.p.by_group_rows.divisor()) >> b.p.counter_shift;
    if (at.lap == 0 || first + b.lane > last) return readers;
    const unsigned counters = b.p.ring_rows >> b.p.counter_shift;
    const bool next_lap = first + b.lane >= counters;
    readers.counter = b.header->reserved + first_reader_counter + (first + b.lane - (next_lap ? counters : 0));
    readers.target = (at.lap - 1 + (next_lap ? 1 : 0) + 1) * (b.p.tile_cols << b.p.counter_shift);
    readers.seen = earlier_readers::look(readers.counter);
    return readers;
}

/// By one warp of `finish`, behind all looks at the ring for this tile. Of one lane's loop the compiler makes a
/// page of code, in the way of all that follows.
template <typename B>
__device__ inline void count_as_read(const B& b, const tile_position& at) {
    // The last row of tiles of a plane counts for the rows that fill up its group, a lane each.
    const tile_side side = side_of(b, at.up, at.left);
    const int rows = at.row + 1 < side.tile_rows ? 1 : static_cast<int>(side.rows_in_groups - at.row);
    if (b.p.ring_reused && b.lane < rows)
        add_relaxed(&b.header->reserved[first_reader_counter + ((at.ring_row + b.lane) >> b.p.counter_shift)], 1);
}

/// By all threads of the launch's last block: waits until every tile has been counted.
template <typename B>
__device__ inline void settle_counters(const B& b) {
    const unsigned counters = b.p.ring_reused ? b.p.ring_rows >> b.p.counter_shift : 0;
    const unsigned rows = b.p.tiles / (b.p.tile_rows * b.p.tile_cols) * b.p.rows_of_plane;
    const unsigned laps = b.p.by_ring_rows.quotient(rows), begun = rows - laps * b.p.ring_rows;
    for (unsigned i = threadIdx.x; i < counters; i += B::tile::threads) {
        const unsigned first = i << b.p.counter_shift, last = (i + 1) << b.p.counter_shift;
        const unsigned in_last_lap = begun <= first ? 0 : (begun < last ? begun : last) - first;
        const unsigned all = ((laps << b.p.counter_shift) + in_last_lap) * b.p.tile_cols;
        std::uint32_t* const counter = b.header->reserved + first_reader_counter + i;
        while (earlier_readers::look(counter) != all) {
        }
    }
    __syncthreads();
}

/// Starts copies of the tile's panels, or of their rows of every phase, one a lane.
template <typename B>
__device__ inline void copy_boxes(const B& b, const box_place& at, unsigned slot, std::uint64_t policy) {
    constexpr int boxes = B::panels * B::pixels::phases;
    static_assert(boxes <= 32);
    if (b.lane == 0)
        expect(b.shared.loaded[slot],
               B::panels * B::tile::rows * B::pixels::pitch + (B::whole_sectors ? beside_bytes : 0));
    if constexpr (boxes > 1) __syncwarp();
    const int panel = b.lane / B::pixels::phases, phase = b.lane % B::pixels::phases;
    if (b.lane < boxes)
        copy_box(b.slots + b.offset_of(slot, panel) + phase * B::pixels::phase_bytes, b.maps.of_phase[phase],
                 first_col_of(b, at) + panel * B::tile::cols, first_row_of(b, at), at.plane, b.shared.loaded[slot],
                 policy);
    if constexpr (B::whole_sectors)
        if (b.lane == 0)
            copy_box(b.pixels_beside(slot), b.maps.beside, (at.col + 1) * B::tile::cols, at.row * B::tile::rows,
                     at.plane, b.shared.loaded[slot], policy);
}

/// Starts copies of the tile's rows, 16 bytes a lane.
template <typename B>
__device__ inline void copy_chunks(const B& b, const box_place& at, unsigned slot) {
    constexpr int lanes = B::pixels::chunks, rows_at_once = 32 / lanes;  // of a row, rows of the warp
    const std::int64_t first_row = std::int64_t{at.row} * B::tile::rows;
    const std::int64_t first_col = std::int64_t{at.col} * B::cols_of_tile;
    const std::byte* const first = b.p.image + at.plane * b.p.image_plane_stride + first_row * b.p.image_row_stride +
                                   first_col * int{sizeof(typename B::pixel)};
    const int bytes = at_most_int((b.p.cols - first_col) * int{sizeof(typename B::pixel)});
    const int rows = bytes > 0 ? at_most_int(b.p.rows - first_row) : 0;
    const typename B::pixels to = b.pixels_of(slot, 0, {});
    const int lane_row = b.lane / lanes, lane_chunk = b.lane % lanes;
    const auto skip_of = [](const std::byte* row) { return reinterpret_cast<std::uintptr_t>(row) % 16; };
    // Where rows go by boxes if they can, others need not be fast.
    constexpr bool all_by_lanes = may_lack_copy_engine || !rows_in_boxes(sizeof(typename B::pixel));
    if (all_by_lanes && rows >= B::tile::rows && bytes >= B::pixels::row_bytes &&
        b.p.image_end - first >= (B::tile::rows - 1) * b.p.image_row_stride + B::pixels::row_bytes + 16) {
        const std::byte* row = first + lane_row * b.p.image_row_stride + lane_chunk * 16;
        std::byte* const lane_to = to.row(lane_row) + lane_chunk * 16;
#pragma unroll 4
        for (int r = 0; r < B::tile::rows; r += rows_at_once, row += rows_at_once * b.p.image_row_stride)
            copy_async<16, true>(
                B::pixels::phases == 1 ? lane_to + r * B::pixels::pitch : to.row(r + lane_row) + lane_chunk * 16,
                row - skip_of(row), 16);
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const std::byte* const behind = first + (b.lane + 32 * k) * b.p.image_row_stride + B::pixels::row_bytes;
            copy_async<16, true>(to.row(b.lane + 32 * k) + B::pixels::row_bytes, behind - skip_of(behind), 16);
        }
        return;
    }
    const auto copy = [&](int r, int chunk) {
        const std::byte* const row = first + r * b.p.image_row_stride;
        const int skip = static_cast<int>(skip_of(row));
        if (r >= rows || chunk * 16 >= skip + bytes) return;
        const std::byte* const from = row - skip + chunk * 16;
        std::byte* const where = to.row(r) + chunk * 16;
        if (b.p.image_end - from >= 16) {
            copy_async<16>(where, from, 16);
        } else {  // the end of the image, perhaps of its memory: at most 15 bytes of the last row go one by one
#pragma unroll 1
            for (int i = 0; from + i < b.p.image_end; ++i) where[i] = from[i];
        }
    };
#pragma unroll 1
    for (int r = lane_row; r < B::tile::rows; r += rows_at_once) copy(r, lane_chunk);
#pragma unroll 1
    for (int r = b.lane; r < B::tile::rows; r += 32) copy(r, lanes);
    __syncwarp();  // lane 0, which arrives for the position, releases those bytes, too
}

/// The next tile, into the slot that `next` names; whether there is one, and the readers that its words wait for.
template <typename B>
__device__ inline bool start_next(const B& b, typename B::tile_counter& next, std::uint64_t policy,
                                  earlier_readers& readers) {
    const unsigned slot = next.slot();
    // The slot's last readers arrive at `read` behind their looks at it: the copy engine may write.
    b.shared.read[slot].wait(next.parity() ^ 1);
    unsigned ticket = 0;
    // Only now: a ticket that is drawn is a tile that others wait for.
    if (b.lane == 0) ticket = atomicAdd(&b.header->ticket, 1u);
    ticket = __shfl_sync(whole_warp, ticket, 0);
    const box_place box = box_of(b, ticket);
    if (ticket < b.p.tiles) {  // first the copy, then all else about the tile
        if (has_copy_engine && (!B::pixels::shifted || (rows_in_boxes(sizeof(typename B::pixel)) && b.maps.valid)))
            copy_boxes(b, box, slot, policy);
        else
            copy_chunks(b, box, slot);
    }
    if constexpr (B::pixels::shifted) b.shared.loaded[slot].arrive_after_copies();
    const tile_position at = position_of(b, ticket, box);
    if (b.lane == 0) {
        b.shared.position[next.position()] = at;
        b.shared.loaded[slot].arrive();  // releases the position; a phase without a tile ends with it
    }
    ++next.n;
    // Looked at while the copy is under way, waited for when it has landed: usually all have finished long ago.
    if (at.valid()) readers = look_at_readers(b, at);
    return at.valid();
}

/// The first tiles of all blocks, whoever gets which, on their way from memory while the tickets are.
// H200, 13.0: 8u32u 0.97 at 4096; boxes 512 bytes wide 1.02
template <typename B>
__device__ inline void prefetch_tile(const B& b, unsigned ticket) {
    if (b.lane > 0 || ticket >= b.p.tiles) return;
    const box_place at = box_of(b, ticket);
    for (int panel = 0; panel < B::panels; ++panel)
        prefetch_box(b.maps.of_phase[0], first_col_of(b, at) + panel * B::tile::cols, first_row_of(b, at), at.plane);
}

/// A panel's row sums for run_carry(), which needs them to the left of the next panel.
template <typename B>
__device__ inline void leave_panel_rows(const B& b, unsigned place, int panel,
                                        const typename B::sum_in_tile (&row)[B::channels][2]) {
#pragma unroll
    for (int i = 0; i < 2 * B::channels; ++i)
        b.shared.panel_rows[place][panel][i / 2 * B::tile::rows + B::pixels::row_at(b.lane + 32 * (i % 2))] =
            static_cast<typename B::of_panel>(row[i / 2][i % 2]);
}

/// Adds the rows of the panels before the last one to those of the last one.
template <typename B>
__device__ inline void add_panel_rows(const B& b, typename B::sum_in_tile (&row)[B::channels][2], unsigned place) {
#pragma unroll
    for (int panel = 0; panel < B::panels - 1; ++panel)
#pragma unroll
        for (int i = 0; i < 2 * B::channels; ++i)
            row[i / 2][i % 2] +=
                b.shared.panel_rows[place][panel][i / 2 * B::tile::rows + B::pixels::row_at(b.lane + 32 * (i % 2))];
}

/// For run_left() of the tiles to the right in this group.
template <typename B>
__device__ inline void publish_rows(const B& b, tagged_word* where,
                                    const typename B::sum_in_tile (&row)[B::channels][2], std::uint32_t tag) {
    if constexpr (B::chain) {
#pragma unroll
        for (int k = 0; k < 2; ++k)
            B::row_sum_words::of(row[0][k], tag)
                .publish_at(where + (b.lane + 32 * k) * words_of<typename B::row_values>, b.keep);
    } else {
        typename B::row_values x[2 * B::channels];
#pragma unroll
        for (int i = 0; i < 2 * B::channels; ++i) x[i] = static_cast<typename B::row_values>(row[i / 2][i % 2]);
        B::row_sum_words::of(x, tag).publish_at(where + B::row_sum_words::first(b.lane), b.keep);
    }
}

template <typename B>
__device__ inline void run_sum(const B& b) {
    // H200, 13.0: unranked for dropped, 32f32f 0.98 at 32768; 8u32u 1.01
    const std::uint64_t policy = B::pixels::row_bytes < 512 ? drop_from_l2() : unranked_in_l2();
    typename B::tile_counter now, next;
    earlier_readers readers;
    bool more = true;
    if constexpr (!B::pixels::shifted && B::pixels::row_bytes < 512) prefetch_tile(b, blockIdx.x);
    for (;; ++now.n) {
        while (more && next.n < (now.n > 0 ? now.n + 1 : B::first_tiles)) more = start_next(b, next, policy, readers);
        const unsigned slot = now.slot();
        const tile_position& at = b.shared.position[now.position()];
        b.shared.loaded[slot].wait(now.parity());
        if (!at.valid()) break;
        // So far `readers` are those of the tile that was started last, of two perhaps the second one.
        if constexpr (B::first_tiles > 1)
            if (now.n < B::first_tiles) readers = look_at_readers(b, at);
        typename B::sum_in_tile row[B::channels][2];
#pragma unroll 1
        for (int panel = 0; panel < B::panels; ++panel) {
            if (panel > 0) leave_panel_rows(b, b.place_of(now), panel - 1, row);
            const typename B::pixels panel_pixels = b.pixels_of(slot, panel, at);
            if constexpr (B::channels == 1)
                panel_pixels.add_rows(row[0], b.shifts_of(at.plane), b.lane);
            else
                panel_pixels.add_rows_by_channel(row, b.first_channel(at.col, panel, 0), b.shifts_of(at.plane), b.lane);
        }
        // The slot's next copy comes behind what was moved in it.
        if constexpr (B::pixels::shifted) announce_barriers();
        if constexpr (B::panels > 1) add_panel_rows(b, row, b.place_of(now));
        readers.wait();
        publish_rows(b, b.words.row_sums + std::size_t{at.place} * B::row_words, row, at.tag);
#pragma unroll
        for (int c = 0; c < B::channels; ++c) {
            b.shared.own_rows[slot][c * B::tile::rows + B::pixels::row_at(b.lane)] =
                static_cast<typename B::sum_in_group>(row[c][0]);
            b.shared.own_rows[slot][c * B::tile::rows + B::pixels::row_at(b.lane + 32)] =
                static_cast<typename B::sum_in_group>(row[c][1]);
        }
        b.arrive(b.shared.rows_added[slot]);
        b.arrive(b.shared.read[slot]);
    }
}

}  // namespace boxsum::cuda
