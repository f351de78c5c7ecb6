#pragma once

#include "cuda/device/bulk_copy.cuh"
#include "cuda/device/layers.cuh"
#include "cuda/device/phase_barrier.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/tagged_words.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/device/workspace_slots.hpp"
#include "cuda/production/sat_pipeline_plan.hpp"
#include "cuda/production/sat_workspace.cuh"

#include <cuda/atomic>

#include <cstdint>

/// The single-pass summed area table for images that do not fit on the chip at once: one read, one write per element.
///
/// The table is cut into tiles of 64 rows. Persistent blocks draw tiles by ticket, row by row of tiles. Five roles,
/// each a warp or four, work on a block's tiles one after another, so that a tile is loaded while others wait for their
/// neighbours and one is stored:
///
///     sum      draws the ticket, loads the tile, publishes its row sums and column sums as soon as it has landed
///     left     adds the row sums of the tiles to the left within a group of tiles; the last of a group publishes the
///              group's
///     carry    adds those of whole groups to the left: now the row carries are known; publishes their total
///     above    adds column sums and carry totals of the tiles above within a group of tile rows to the finished table
///              row above the group; the last tile row of a group publishes the table row below itself
///     finish   (4 warps) scans the tile, adds carries and the table row above, stores
///
///     sums of a tile ---> left ---> carry ---> finish        so a carry is two hops away from the loads,
///          |                          |          ^           whatever the width; the only chain runs downwards and
///          +-------> above <----------+          |           has one hop per group of tile rows
///                      +-------------------------+
///
/// Emoto et al. 2018 carry everything through one look-back per tile; here nothing that a tile waits for was itself
/// waiting for a row of tiles. No block needs another to be resident: every wait is for lower tickets, which are drawn
/// in the order in which blocks run.
namespace boxsum::cuda {

// Words

/// Words of the rows of tiles in the ring. Positions are reused lap by lap; the tag holds the lap.
struct pipeline_words {
    pipeline_words(workspace_slots& slots, const pipeline_plan& p, int row_words, int col_words)
        : row_sums(slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.columns * row_words)),
          group_sums(slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.groups * p.g.channels * row_words)),
          col_sums(slots.take<tagged_word>(std::int64_t{p.ring_rows} * p.columns * col_words)),
          table_rows(slots.take<tagged_word>(std::int64_t{p.ring_rows} / p.group_rows * p.columns * col_words)),
          carry_totals(slots.take<tagged_word>(std::int64_t{p.ring_rows} / p.group_rows * p.columns * 16)) {}

    tagged_word* row_sums;      ///< [ring row][column][row], by `sum`
    tagged_word* group_sums;    ///< [ring row][group][row], by `left`
    tagged_word* col_sums;      ///< [ring row][column][col], by `sum`
    tagged_word* table_rows;    ///< [ring row / group_rows][column][col], by `above`
    tagged_word* carry_totals;  ///< [ring row / group_rows][column][16 words: a line of the cache], by `carry`
};

// Tiles

/// Where a ticket's tile lies. `sum` works it out and leaves it to the other roles in shared memory: its divisions take
/// as long as a look at the second-level cache.
struct tile_position {
    bool valid;                // false behind the last tile
    unsigned plane, row, col;  // row and column of tiles
    unsigned channel;
    unsigned column;    // among all columns of tiles: channel by channel
    unsigned group;     // of columns
    unsigned ring_row;  // where its words are
    unsigned lap;
    unsigned in_group;  // row within its group of rows

    __device__ tile_position(const pipeline_plan& p, unsigned ticket) {
        valid = ticket < p.tiles;
        const unsigned line = ticket / p.columns;  // a row of tiles of all channels
        const unsigned place = ticket - line * p.columns;
        plane = line < p.tile_rows ? 0 : line / p.tile_rows;
        row = line - plane * p.tile_rows;
        col = p.g.channels == 1 ? place : place / p.g.channels;
        channel = place - col * p.g.channels;
        column = channel * p.tile_cols + col;
        group = col / p.group_cols;
        const unsigned virtual_row = plane * p.rows_of_plane + row;
        lap = virtual_row < p.ring_rows ? 0 : virtual_row / p.ring_rows;
        ring_row = virtual_row - lap * p.ring_rows;
        in_group = row % p.group_rows;
    }
};

// Shared memory

/// At pipeline_shared::loaded: the lane that drew the ticket, when all is in place; with asynchronous copies, all lanes
/// too, when theirs are.
__device__ inline int arrivals_at_loaded(tile_load load) {
    return load == tile_load::chunks_16 || load == tile_load::chunks_4 ? 1 + 32 : 1;
}

template <typename Sum>
struct pipeline_shared {
    using tile = pipeline_tile<Sum>;

    // A tile goes through its slot's barriers once a phase.
    phase_barrier loaded[tile::slots];      // position and pixels are there: `sum`, see arrivals_at_loaded()
    phase_barrier read[tile::slots];        // nobody needs the pixels, nor the ticket: 8 warps
    phase_barrier rows_added[tile::slots];  // own_rows: `sum`
    phase_barrier cols_added[tile::slots];  // own_cols: `sum`
    phase_barrier left_added[tile::slots];  // left: `left`
    phase_barrier carried[tile::slots];     // carry: `carry`
    phase_barrier topped[tile::slots];      // top: `above`
    phase_barrier finished[tile::slots];    // carry and top are in the registers of `finish`: 4 warps

    alignas(tile_position) std::byte position[tile::slots][sizeof(tile_position)];  // see at()
    alignas(16) Sum own_cols[tile::slots][tile::cols];                              // column sums of the tile
    alignas(16) Sum top[tile::slots][tile::cols];                                   // the table row above the tile
    alignas(16) Sum bottom[2][tile::finish_warps - 1][tile::cols];  // last rows of the warps of `finish`, by turns
    alignas(16) Sum own_rows[tile::slots][tile::rows];              // row sums of the tile
    alignas(16) Sum left[tile::slots][tile::rows];                  // those of the tiles to the left in the group
    alignas(16) Sum carry[tile::slots][tile::rows];                 // row carries, summed downwards

    __device__ tile_position& at(int slot) { return *reinterpret_cast<tile_position*>(position[slot]); }
};

// Arithmetic

/// A pixel as a summand of the table, or of the table of squares.
template <typename Sum, bool Square, typename Pixel>
__device__ inline Sum summand(Pixel x) {
    const Sum y = widen<Sum>(x);
    return Square ? y * y : y;
}

/// Adds 16 bytes of pixels to four partial sums.
template <bool Square, typename Pixel, typename Partial>
__device__ inline void add_chunk(uint4 chunk, Partial (&sum)[4]) {
    if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
        const auto add = [](std::uint32_t four, std::uint32_t s) {
            return __dp4a(four, Square ? four : 0x01010101u, s);
        };
        sum[0] = add(chunk.x, sum[0]);
        sum[1] = add(chunk.y, sum[1]);
        sum[2] = add(chunk.z, sum[2]);
        sum[3] = add(chunk.w, sum[3]);
    } else {
        constexpr int count = 16 / sizeof(Pixel);
        vector_of<Pixel, count> pixels;
        memcpy(&pixels, &chunk, 16);
#pragma unroll
        for (int i = 0; i < count; ++i) sum[i % 4] += summand<Partial, Square>(pixels.x[i]);
    }
}

// Roles

template <typename Pixel, typename Sum, bool Square>
struct pipeline_block {
    using tile = pipeline_tile<Sum>;
    static constexpr int lane_cols = tile::lane_cols;
    static constexpr int row_bytes = tile::cols * static_cast<int>(sizeof(Pixel));
    /// Rows that come in aligned words and are then shifted have one word more: room for it where pixels are small.
    static constexpr int raw_pitch = row_bytes + 4;
    static constexpr int slot_bytes = tile::rows * (sizeof(Pixel) < 4 ? raw_pitch : row_bytes);

    const pipeline_plan& p;
    const pipeline_words& words;
    workspace_header* header;
    pipeline_shared<Sum>& shared;
    std::byte* pixels;  // [slot][row][col]
    const tag_maker tag_of_lap;
    const std::uint64_t keep = keep_in_l2();
    const int lane = threadIdx.x % 32;
    int slot = 0;
    std::uint32_t parity = 0;

    __device__ pipeline_block(const pipeline_plan& p, const pipeline_words& words, workspace_header* header,
                              pipeline_shared<Sum>& shared, std::byte* pixels)
        : p(p), words(words), header(header), shared(shared), pixels(pixels), tag_of_lap(header) {}

    __device__ void next_slot() {
        if (++slot == tile::slots) {
            slot = 0;
            parity ^= 1;
        }
    }
    __device__ std::byte* slot_pixels(int s) const { return pixels + s * slot_bytes; }
    __device__ const std::byte* pixel_row(int s, int row) const { return slot_pixels(s) + row * row_bytes; }
    __device__ void arrive(phase_barrier& barrier) const {
        __syncwarp();  // the other lanes' accesses to shared memory come before lane 0's arrival
        if (lane == 0) barrier.arrive();
    }

    // Role `sum`

    template <int Bytes>
    __device__ void start_copies(const tile_position& at, int s) const {
        constexpr int pitch = row_bytes;
        constexpr int chunks = row_bytes / Bytes;  // of a row
        const std::int64_t first_row = std::int64_t{at.row} * tile::rows - p.g.origin;
        const std::int64_t first_byte = (std::int64_t{at.col} * tile::cols - p.g.origin) * int{sizeof(Pixel)};
        const std::int64_t bytes = (p.g.cols - p.g.origin) * int{sizeof(Pixel)};  // of an image row
        const std::int64_t rows = p.g.rows - p.g.origin;
        const auto* const image = static_cast<const std::byte*>(p.g.image) + at.plane * p.g.image_plane_stride;
        const int chunk = lane % chunks;
        if (first_row >= 0 && first_row + tile::rows <= rows && first_byte >= 0 && first_byte + row_bytes <= bytes) {
            constexpr int together = 32 / chunks > 0 ? 32 / chunks : 1;  // rows that the warp covers at once
            constexpr int steps = chunks > 32 ? chunks / 32 : 1;
            const std::byte* from =
                image + (first_row + lane / chunks % together) * p.g.image_row_stride + first_byte + chunk * Bytes;
            std::byte* to = slot_pixels(s) + lane / chunks % together * pitch + chunk * Bytes;
#pragma unroll 8
            for (int row = 0; row < tile::rows; row += together) {
#pragma unroll
                for (int i = 0; i < steps; ++i) copy_async<Bytes>(to + i * 32 * Bytes, from + i * 32 * Bytes, Bytes);
                from += together * p.g.image_row_stride;
                to += together * pitch;
            }
        } else {
            for (int i = lane; i < tile::rows * chunks; i += 32) {
                const int row = i / chunks;
                const std::int64_t r = first_row + row, b = first_byte + i % chunks * Bytes;
                const bool inside = r >= 0 && r < rows && b >= 0 && b < bytes;
                const std::int64_t rest = bytes - b;
                copy_async<Bytes>(slot_pixels(s) + row * pitch + i % chunks * Bytes,
                                  inside ? image + r * p.g.image_row_stride + b : image,
                                  inside ? static_cast<int>(rest < Bytes ? rest : Bytes) : 0);
            }
        }
    }

    /// First byte of an image row as the tile sees it, or null for a row outside.
    __device__ const std::byte* image_row(const tile_position& at, int row) const {
        const std::int64_t r = std::int64_t{at.row} * tile::rows - p.g.origin + row;
        if (r < 0 || r >= p.g.rows - p.g.origin) return nullptr;
        return static_cast<const std::byte*>(p.g.image) + at.plane * p.g.image_plane_stride + r * p.g.image_row_stride;
    }

    /// Bytes between the aligned word in which a row of the tile starts and that start.
    __device__ unsigned bytes_before(const tile_position& at, int row) const {
        const std::int64_t first_byte = (std::int64_t{at.col} * tile::cols - p.g.origin) * int{sizeof(Pixel)};
        return static_cast<unsigned>((reinterpret_cast<std::uintptr_t>(image_row(at, row)) + first_byte) % 4);
    }

    /// tile_load::words: the aligned words that hold a row, one more than a row has. A word with a byte of the row is
    /// in the image's memory as a whole, except at the image's very end.
    __device__ void start_word_copies(const tile_position& at, int s) const {
        constexpr int count = row_bytes / 4;
        const std::int64_t first_row = std::int64_t{at.row} * tile::rows - p.g.origin;
        const std::int64_t first_byte = (std::int64_t{at.col} * tile::cols - p.g.origin) * int{sizeof(Pixel)};
        const std::int64_t bytes = (p.g.cols - p.g.origin) * int{sizeof(Pixel)};
        const auto aligned = [](const std::byte* from) { return from - reinterpret_cast<std::uintptr_t>(from) % 4; };
        if (first_row >= 0 && first_row + tile::rows <= p.g.rows - p.g.origin && first_byte >= 0 &&
            first_byte + row_bytes + 4 <= bytes) {
            const std::byte* const first = image_row(at, 0) + first_byte;
            const std::byte* row_start = first;
            std::byte* to = slot_pixels(s) + lane * 4;
#pragma unroll 8
            for (int row = 0; row < tile::rows; ++row, row_start += p.g.image_row_stride, to += raw_pitch)
#pragma unroll
                for (int i = 0; i < count; i += 32)
                    if (i + lane < count) copy_async<4>(to + i * 4, aligned(row_start) + (i + lane) * 4, 4);
            for (int row = lane; row < tile::rows; row += 32)
                copy_async<4>(slot_pixels(s) + row * raw_pitch + row_bytes,
                              aligned(first + row * p.g.image_row_stride) + row_bytes, 4);
            return;
        }
        for (int row = 0; row < tile::rows; ++row) {
            const std::byte* const begin = image_row(at, row);
            for (int i = lane; i <= count; i += 32) {
                const std::byte* const from = aligned(begin + first_byte) + i * 4;
                const bool inside = begin != nullptr && from + 4 > begin && from < begin + bytes;
                const std::int64_t rest = begin + bytes - from;
                copy_async<4>(slot_pixels(s) + row * raw_pitch + i * 4,
                              inside ? from : aligned(static_cast<const std::byte*>(p.g.image)),
                              inside ? static_cast<int>(rest < 4 ? rest : 4) : 0);
            }
        }
    }

    /// Moves rows that came in aligned words to where the other loads put them, and clears the column left of the
    /// image.
    __device__ void shift_rows(const tile_position& at, int s) const {
        constexpr int count = row_bytes / 4;
        constexpr int steps = count > 32 ? count / 32 : 1;
        constexpr int batch = 8 / steps > 0 ? 8 / steps : 1;
        for (int row = 0; row < tile::rows; row += batch) {
            std::uint32_t x[batch][steps];
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                const unsigned bits_before = 8 * bytes_before(at, row + k);
                const auto* const from = reinterpret_cast<const std::uint32_t*>(slot_pixels(s) + (row + k) * raw_pitch);
#pragma unroll
                for (int i = 0; i < steps; ++i) {
                    const int word = i * 32 + lane;
                    if (word < count) x[k][i] = __funnelshift_r(from[word], from[word + 1], bits_before);
                }
            }
            __syncwarp();  // read before overwritten; rows move towards the front, so later ones stay whole
#pragma unroll
            for (int k = 0; k < batch; ++k)
#pragma unroll
                for (int i = 0; i < steps; ++i)
                    if (i * 32 + lane < count)
                        reinterpret_cast<std::uint32_t*>(slot_pixels(s) + (row + k) * row_bytes)[i * 32 + lane] =
                            x[k][i];
            __syncwarp();
        }
        if (p.g.origin > 0 && at.col == 0) {
            for (int row = lane; row < tile::rows; row += 32)
                *reinterpret_cast<Pixel*>(slot_pixels(s) + row * row_bytes) = Pixel{};
            __syncwarp();
        }
    }

    __device__ void load_elements(const tile_position& at, int s) const {
        const std::int64_t first_row = std::int64_t{at.row} * tile::rows - p.g.origin;
        const std::int64_t first_col = std::int64_t{at.col} * tile::cols - p.g.origin;
        const layer<const Pixel> image{reinterpret_cast<const Pixel*>(static_cast<const std::byte*>(p.g.image) +
                                                                      at.plane * p.g.image_plane_stride) +
                                           at.channel,
                                       p.g.rows - p.g.origin, p.g.cols - p.g.origin, p.g.image_row_stride,
                                       p.g.channels * std::int64_t{sizeof(Pixel)}};
        constexpr int batch = 16;
        for (int i = 0; i < tile::rows * tile::cols / 32; i += batch) {
            Pixel x[batch];
#pragma unroll
            for (int k = 0; k < batch; ++k) {
                const int e = (i + k) * 32 + lane;
                const std::int64_t r = first_row + e / tile::cols, c = first_col + e % tile::cols;
                x[k] = r >= 0 && r < image.rows && c >= 0 && c < image.cols ? image.at(r, c) : Pixel{};
            }
#pragma unroll
            for (int k = 0; k < batch; ++k) reinterpret_cast<Pixel*>(slot_pixels(s))[(i + k) * 32 + lane] = x[k];
        }
    }

    /// Rows of tiles whose words this tile's words replace, and those that read them: all of them finished? One counter
    /// a lane; count_as_read() is the other side.
    ///
    /// Relaxed on both sides, because a fence would wait for all stores that the multiprocessor has under way (it cost
    /// 10 us a tile). It is safe because no value passes through the counter. A reader counts only after it has
    /// accepted its words, by their tags; the words are replaced only after all have counted; and neither an addition
    /// nor a store is carried out before the branch that it depends on is decided. So no reader can still be waiting
    /// for a word when it is replaced, and one that were would find another tag, not another value.
    __device__ void wait_for_readers(const tile_position& at) const {
        const unsigned virtual_row = at.lap * p.ring_rows + at.ring_row;
        if (virtual_row < p.ring_rows) return;
        const unsigned first = (virtual_row - p.ring_rows) / p.rows_per_counter;
        const unsigned last = (virtual_row - p.ring_rows + p.group_rows) / p.rows_per_counter;
        const unsigned counters = p.ring_rows / p.rows_per_counter;
        for (unsigned i = first + lane; i <= last; i += 32) {
            ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> count(
                header->reserved[pipeline_first_counter + i % counters]);
            const std::uint32_t target = (i / counters + 1) * p.rows_per_counter * p.columns;
            while (static_cast<std::int32_t>(count.load(::cuda::memory_order_relaxed) - target) < 0) {
            }
        }
        __syncwarp();
    }

    __device__ void run_sum() {
        const std::uint64_t drop = drop_from_l2();
        int free_slot = 0;
        std::uint32_t free_parity = 1;
        bool more = true;
        // No tile follows: a single arrival must complete the phase, whatever asynchronous copies would have counted.
        const auto complete = [&](phase_barrier& loaded) {
            __syncwarp();
            if (arrivals_at_loaded(p.load) > 1) loaded.arrive();
            if (lane == 0) loaded.arrive();
        };
        const auto start_next = [&] {
            if (!more) return;
            shared.read[free_slot].wait(free_parity);
            unsigned ticket = 0;
            // Only now: a ticket that is drawn is a tile that others wait for.
            if (lane == 0) ticket = atomicAdd(&header->ticket, 1u);
            const tile_position at(p, __shfl_sync(whole_warp, ticket, 0));
            phase_barrier& loaded = shared.loaded[free_slot];
            if (lane == 0) shared.at(free_slot) = at;
            __syncwarp();
            more = at.valid;
            if (more) {
                switch (p.load) {
                    case tile_load::box:
                        if (lane == 0) {
                            arrive_expecting(loaded, tile::rows * row_bytes);
                            copy_box(slot_pixels(free_slot), p.map, static_cast<int>(at.col) * tile::cols - p.g.origin,
                                     static_cast<int>(at.row) * tile::rows - p.g.origin, static_cast<int>(at.plane),
                                     loaded, drop);
                        }
                        break;
                    case tile_load::chunks_16:
                        start_copies<16>(at, free_slot);
                        break;
                    case tile_load::chunks_4:
                        start_copies<4>(at, free_slot);
                        break;
                    case tile_load::words:
                        if constexpr (sizeof(Pixel) < 4) start_word_copies(at, free_slot);
                        break;
                    case tile_load::elements:
                        load_elements(at, free_slot);
                        break;
                }
            }
            // What releases the position too. Where rows are shifted first, the arrival comes behind that.
            if (!more || p.load == tile_load::elements) {
                complete(loaded);
            } else if (p.load == tile_load::chunks_16 || p.load == tile_load::chunks_4) {
                loaded.arrive_after_copies();
                if (lane == 0) loaded.arrive();
            }
            if (++free_slot == tile::slots) {
                free_slot = 0;
                free_parity ^= 1;
            }
        };
        for (int i = 0; i < tile::slots - 1; ++i) start_next();
        for (;; next_slot()) {
            const tile_position at = shared.at(slot);  // of this warp's making
            if (!at.valid) break;
            const std::uint32_t tag = tag_of_lap(at.lap);
            wait_for_readers(at);  // while the tile is on its way
            if constexpr (sizeof(Pixel) < 4) {
                if (p.load == tile_load::words) {
                    asm volatile("cp.async.wait_all;" ::: "memory");
                    __syncwarp();
                    shift_rows(at, slot);
                    arrive(shared.loaded[slot]);
                }
            }
            shared.loaded[slot].wait(parity);
            // The next tile's load overlaps with this one's sums if its slot is free already.
            const bool early = more && shared.read[free_slot].passed(free_parity);
            if (early) start_next();
            Sum row[2];
            add_rows(row);
            const std::size_t place = std::size_t{at.ring_row} * p.columns + at.column;
            publish_rows(words.row_sums + place * tile::row_words, row, tag);
            shared.own_rows[slot][lane] = row[0];
            shared.own_rows[slot][lane + 32] = row[1];
            arrive(shared.rows_added[slot]);
            Sum col[lane_cols];
            add_cols(col);
            if (p.group_rows > 1)
                col_sum_words::of(col, tag).publish_at(words.col_sums + place * tile::col_words + 2 * lane, keep);
            store_lane(shared.own_cols[slot], col);
            arrive(shared.cols_added[slot]);
            arrive(shared.read[slot]);
            if (!early) start_next();
        }
    }

    /// Sums of the rows `lane` and `lane + 32`. A lane reads chunks of 16 bytes from its own rows, rotated by its
    /// number so that no two lanes meet in a bank.
    __device__ void add_rows(Sum (&row)[2]) const {
        constexpr int chunks = row_bytes / 16;
        using partial = std::conditional_t<std::is_same_v<Pixel, std::uint8_t>, std::uint32_t, Sum>;
        partial a[4]{}, b[4]{};
        const std::byte* const upper = pixel_row(slot, lane);
        const std::byte* const lower = pixel_row(slot, lane + 32);
#pragma unroll(chunks < 8 ? chunks : 8)
        for (int i = 0; i < chunks; ++i) {
            const int offset = (i + lane) % chunks * 16;
            add_chunk<Square, Pixel>(*reinterpret_cast<const uint4*>(upper + offset), a);
            add_chunk<Square, Pixel>(*reinterpret_cast<const uint4*>(lower + offset), b);
        }
        row[0] = static_cast<Sum>((a[0] + a[1]) + (a[2] + a[3]));
        row[1] = static_cast<Sum>((b[0] + b[1]) + (b[2] + b[3]));
    }

    /// Sums of the lane's columns.
    __device__ void add_cols(Sum (&col)[lane_cols]) const {
        if constexpr (std::is_same_v<Pixel, std::uint8_t> && !Square && lane_cols == 4) {
            std::uint32_t even = 0, odd = 0;  // two sums of 16 bits each: 64 * 255 fits
#pragma unroll 16
            for (int k = 0; k < tile::rows; ++k) {
                const std::uint32_t x = reinterpret_cast<const std::uint32_t*>(pixel_row(slot, k))[lane];
                even += x & 0x00ff00ffu;
                odd += (x >> 8) & 0x00ff00ffu;
            }
            col[0] = static_cast<Sum>(even & 0xffffu);
            col[1] = static_cast<Sum>(odd & 0xffffu);
            col[2] = static_cast<Sum>(even >> 16);
            col[3] = static_cast<Sum>(odd >> 16);
        } else {
            Sum other[lane_cols]{};
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) col[i] = Sum{};
#pragma unroll 8
            for (int k = 0; k < tile::rows; k += 2) {
                const auto x = load_lane(slot, k), y = load_lane(slot, k + 1);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) {
                    col[i] += summand<Sum, Square>(x.x[i]);
                    other[i] += summand<Sum, Square>(y.x[i]);
                }
            }
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) col[i] += other[i];
        }
    }

    __device__ vector_of<Pixel, lane_cols> load_lane(int s, int row) const {
        return reinterpret_cast<const vector_of<Pixel, lane_cols>*>(pixel_row(s, row))[lane];
    }
    __device__ static void load_lane(Sum (&x)[lane_cols], const Sum* from, int lane) {
        const auto chunk = reinterpret_cast<const vector_of<Sum, lane_cols>*>(from)[lane];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) x[i] = chunk.x[i];
    }
    __device__ void store_lane(Sum* to, const Sum (&x)[lane_cols]) const {
        vector_of<Sum, lane_cols> chunk;
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) chunk.x[i] = x[i];
        reinterpret_cast<vector_of<Sum, lane_cols>*>(to)[lane] = chunk;
    }

    /// Rows lie among the words so that the lane that reads rows 2 l and 2 l + 1 reads pairs at [64 * i + 2 * l].
    using row_sum_words = words_of_lane<Sum, 2>;
    using col_sum_words = words_of_lane<Sum, lane_cols>;
    __device__ void publish_rows(tagged_word* where, const Sum (&row)[2], std::uint32_t tag) const {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int r = lane + 32 * i;
            value_words::of(row[i], tag).publish_at(where + (words_of<Sum> == 1 ? r : r % 2 * 64 + r / 2 * 2), keep);
        }
    }

    // Role `left`

    __device__ void run_left() {
        for (;; next_slot()) {
            shared.loaded[slot].wait(parity);
            const tile_position at = shared.at(slot);
            if (!at.valid) {
                arrive(shared.left_added[slot]);
                break;
            }
            const std::uint32_t tag = tag_of_lap(at.lap);
            const int before = static_cast<int>(at.col - at.group * p.group_cols);
            // Own rows first: by then those of the neighbours are there, and nothing is looked at twice.
            shared.rows_added[slot].wait(parity);
            Sum left[2]{};
            // The words of publish_rows() in tiles with lower tickets.
            gather<4 / words_of<Sum>, row_sum_words>(
                words.row_sums + (std::size_t{at.ring_row} * p.columns + at.column - before) * tile::row_words +
                    2 * lane,
                tile::row_words, before, tag, keep, left);
            if (before == p.group_cols - 1 && at.col + 1 < p.tile_cols) {
                const Sum total[2] = {left[0] + shared.own_rows[slot][2 * lane],
                                      left[1] + shared.own_rows[slot][2 * lane + 1]};
                row_sum_words::of(total, tag).publish_at(group_words(at, at.group), keep);
            }
            shared.left[slot][2 * lane] = left[0];
            shared.left[slot][2 * lane + 1] = left[1];
            arrive(shared.left_added[slot]);
            arrive(shared.read[slot]);
        }
    }

    __device__ tagged_word* group_words(const tile_position& at, unsigned group) const {
        const std::size_t place = (std::size_t{at.ring_row} * p.g.channels + at.channel) * p.groups + group;
        return words.group_sums + place * tile::row_words + 2 * lane;
    }

    __device__ std::size_t group_of_rows(const tile_position& at) const {
        return std::size_t{at.ring_row / p.group_rows} * p.columns + at.column;
    }

    // Role `carry`

    __device__ void run_carry() {
        for (;; next_slot()) {
            shared.left_added[slot].wait(parity);
            const tile_position at = shared.at(slot);
            if (!at.valid) break;
            Sum carry[2] = {shared.left[slot][2 * lane], shared.left[slot][2 * lane + 1]};
            arrive(shared.read[slot]);
            const std::uint32_t tag = tag_of_lap(at.lap);
            // The words that run_left() publishes in the last tiles of the groups to the left.
            gather<4 / words_of<Sum>, row_sum_words>(group_words(at, 0), tile::row_words, static_cast<int>(at.group),
                                                     tag, keep, carry);
            const Sum downwards = warp_scan(carry[0] + carry[1]);
            if (lane == 31) {
                tagged_word* const where = words.carry_totals + group_of_rows(at) * 16 + at.in_group * words_of<Sum>;
                value_words::of(downwards, tag).publish_at(where, keep);
            }
            const Sum upper = exclusive_of(downwards) + carry[0];
            shared.finished[slot].wait(parity ^ 1);
            shared.carry[slot][2 * lane] = upper;
            shared.carry[slot][2 * lane + 1] = downwards;
            arrive(shared.carried[slot]);
        }
    }

    using value_words = words_of_value<Sum>;

    // Role `above`

    __device__ void run_above() {
        for (;; next_slot()) {
            shared.loaded[slot].wait(parity);
            const tile_position at = shared.at(slot);
            if (!at.valid) break;
            const std::uint32_t tag = tag_of_lap(at.lap);
            const int before = static_cast<int>(at.in_group);
            const unsigned group_ring_row = at.ring_row - at.in_group;
            const bool publishes = before == p.group_rows - 1 && at.row + 1 < p.tile_rows;
            const bool below_group = at.row > at.in_group;

            // First looks at everything, for the words are usually there and a look takes long.
            // The words of run_carry() in the tiles above; for the table row that this tile publishes, its own too.
            const tagged_word* const totals = words.carry_totals + group_of_rows(at) * 16 + lane * words_of<Sum>;
            const bool has_total = lane < before + (publishes ? 1 : 0);
            value_words total;
            if (has_total) total.look_at(totals, keep);
            // The words that this role publishes in the last row of tiles of the group above, perhaps a lap before.
            const bool same_lap = group_ring_row > 0;
            const unsigned group_above = (same_lap ? group_ring_row : p.ring_rows) / p.group_rows - 1;
            const std::uint32_t tag_above = same_lap ? tag : tag_of_lap(at.lap - 1);
            const tagged_word* const row_above =
                words.table_rows + (std::size_t{group_above} * p.columns + at.column) * tile::col_words + 2 * lane;
            col_sum_words top;
            if (below_group) top.look_at(row_above, keep);

            Sum cols[lane_cols]{};
            // The words of run_sum() in the tiles above.
            gather<3, col_sum_words>(
                words.col_sums + (std::size_t{group_ring_row} * p.columns + at.column) * tile::col_words + 2 * lane,
                p.columns * tile::col_words, before, tag, keep, cols);
            shared.cols_added[slot].wait(parity);
            Sum own[lane_cols];
            load_lane(own, shared.own_cols[slot], lane);
            arrive(shared.read[slot]);
            warp_scan_row(cols);
            if (publishes) warp_scan_row(own);
            if (has_total)
                while (!total.has(tag)) total.look_at(totals, keep);
            __syncwarp();
            const Sum carry = has_total ? total.value() : Sum{};
            const Sum above = warp_sum(lane < before ? carry : Sum{});
            const Sum own_carry = __shfl_sync(whole_warp, carry, before);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) cols[i] += above;
            if (below_group) {
                while (!top.has(tag_above)) top.look_at(row_above, keep);
                top.add_to(cols);
            }
            if (publishes) {
                Sum below[lane_cols];
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) below[i] = cols[i] + (own[i] + own_carry);
                col_sum_words::of(below, tag)
                    .publish_at(words.table_rows + group_of_rows(at) * tile::col_words + 2 * lane, keep);
            }
            shared.finished[slot].wait(parity ^ 1);
            store_lane(shared.top[slot], cols);
            arrive(shared.topped[slot]);
        }
    }

    // Role `finish`

    /// By one thread, behind all looks at the ring for this tile: `left`, `carry` and `above` arrived, after theirs, at
    /// barriers that it waited for. See wait_for_readers().
    __device__ void count_as_read(const tile_position& at) const {
        const unsigned counters = p.ring_rows / p.rows_per_counter;
        const unsigned virtual_row = at.lap * p.ring_rows + at.ring_row;
        // The last row of tiles of a plane counts for the rows that fill up its group.
        const unsigned end = at.row + 1 < p.tile_rows ? virtual_row + 1 : (at.plane + 1) * p.rows_of_plane;
        for (unsigned v = virtual_row; v < end; ++v) {
            ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> count(
                header->reserved[pipeline_first_counter + v / p.rows_per_counter % counters]);
            count.fetch_add(1, ::cuda::memory_order_relaxed);
        }
    }

    __device__ void run_finish() {
        constexpr int rows = tile::warp_rows;
        const int warp = threadIdx.x / 32;
        int turn = 0;
        for (;; next_slot()) {
            shared.loaded[slot].wait(parity);
            const tile_position at = shared.at(slot);
            if (!at.valid) break;
            Sum x[rows][lane_cols];
#pragma unroll
            for (int k = 0; k < rows; ++k) {
                const auto from = load_lane(slot, warp * rows + k);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) x[k][i] = summand<Sum, Square>(from.x[i]);
            }
            arrive(shared.read[slot]);
#pragma unroll
            for (int k = 0; k < rows; ++k) {
                warp_scan_row(x[k]);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    if (k > 0) x[k][i] += x[k - 1][i];
            }
            if (warp < tile::finish_warps - 1) store_lane(shared.bottom[turn][warp], x[rows - 1]);
            sync_warps(1, 32 * tile::finish_warps);
            Sum top[lane_cols]{};
#pragma unroll
            for (int w = 0; w < tile::finish_warps - 1; ++w) {
                if (w >= warp) break;
                Sum bottom[lane_cols];
                load_lane(bottom, shared.bottom[turn][w], lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) top[i] += bottom[i];
            }
            turn ^= 1;
            shared.carried[slot].wait(parity);
            const Sum carries = shared.carry[slot][warp * rows + lane % rows];
            shared.topped[slot].wait(parity);
            {
                Sum above[lane_cols];
                load_lane(above, shared.top[slot], lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) top[i] += above[i];
            }
            arrive(shared.finished[slot]);
            if (threadIdx.x == 0) count_as_read(at);
            store(at, warp, x, top, carries);
        }
    }

    __device__ void store(const tile_position& at, int warp, Sum (&x)[tile::warp_rows][lane_cols],
                          const Sum (&top)[lane_cols], Sum carries) const {
        constexpr int rows = tile::warp_rows;
        const std::int64_t row = std::int64_t{at.row} * tile::rows + warp * rows;
        const std::int64_t col = std::int64_t{at.col} * tile::cols + lane * lane_cols;
        std::byte* to = static_cast<std::byte*>(p.g.table) + at.plane * p.g.table_plane_stride +
                        row * p.g.table_row_stride +
                        (col * p.g.channels + at.channel) * static_cast<std::int64_t>(sizeof(Sum));
        const int valid_rows = static_cast<int>(p.g.rows - row < rows ? p.g.rows - row : rows);
        const int valid_cols =
            static_cast<int>(p.g.cols - col < lane_cols ? (p.g.cols > col ? p.g.cols - col : 0) : lane_cols);
        const bool whole = p.g.cols - std::int64_t{at.col} * tile::cols >= tile::cols;
#pragma unroll
        for (int k = 0; k < rows; ++k) {
            const Sum carry = __shfl_sync(whole_warp, carries, k);
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] += top[i] + carry;
        }
        if (p.store == tile_store::chunks && (whole || valid_cols == lane_cols)) {
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.g.table_row_stride)
                if (k < valid_rows) store_streaming(reinterpret_cast<Sum*>(to), x[k]);
        } else if (whole && p.store == tile_store::shifted) {
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.g.table_row_stride) {
                if (k >= valid_rows) break;
                store_shifted(reinterpret_cast<Sum*>(to), x[k]);
            }
        } else {
            const std::int64_t step = p.g.channels;
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.g.table_row_stride) {
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    if (k < valid_rows && i < valid_cols)
                        store_streaming(reinterpret_cast<Sum*>(to) + i * step, x[k][i]);
            }
        }
    }

    /// A row whose start is not aligned to 16 bytes: a lane stores the aligned 16 bytes in which its first element
    /// lies, some of which come from the lane before; both ends of the row go element by element.
    __device__ void store_shifted(Sum* to, const Sum (&x)[lane_cols]) const {
        const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(Sum) % lane_cols);
        if (shift == 0) {
            store_streaming(to, x);
            return;
        }
        Sum chunk[lane_cols];
#pragma unroll
        for (int s = 1; s < lane_cols; ++s)
            if (s == shift) {
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    chunk[i] = i < s ? __shfl_up_sync(whole_warp, x[(i - s + lane_cols) % lane_cols], 1)
                                     : x[(i - s + lane_cols) % lane_cols];
            }
        if (lane > 0) {
            store_streaming(to - shift, chunk);
        } else {
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                if (i >= shift) store_streaming(to - shift + i, chunk[i]);
        }
        if (lane == 31) {
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                if (i >= lane_cols - shift) store_streaming(to + i, x[i]);
        }
    }
};

// Kernel

/// Computes all tiles of the plan. The header's ticket, finished count and counters are zero before, as every call on
/// the workspace leaves them; tags of this call's epoch are nowhere in the workspace.
template <typename Pixel, typename Sum, bool Square>
__global__ void __launch_bounds__(pipeline_tile<Sum>::threads, pipeline_tile<Sum>::blocks_per_multiprocessor)
    sat_pipeline_kernel(const __grid_constant__ pipeline_plan plan, const __grid_constant__ pipeline_words words,
                        workspace_header* header, std::byte* workspace, std::size_t workspace_bytes) {
    using tile = pipeline_tile<Sum>;
    extern __shared__ __align__(128) std::byte pixels[];
    __shared__ pipeline_shared<Sum> shared;
    if (threadIdx.x == 0) {
        for (int s = 0; s < tile::slots; ++s) {
            shared.loaded[s].initialize(arrivals_at_loaded(plan.load));
            shared.read[s].initialize(tile::finish_warps + 4);
            for (phase_barrier* one :
                 {shared.rows_added, shared.cols_added, shared.left_added, shared.carried, shared.topped})
                one[s].initialize(1);
            shared.finished[s].initialize(tile::finish_warps);
        }
    }
    __syncthreads();
    pipeline_block<Pixel, Sum, Square> block(plan, words, header, shared, pixels);
    // Registers move from the helpers to `finish`, which holds a tile in 64 of them.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define BOXSUM_REGISTERS(direction, count) asm volatile("setmaxnreg." direction ".sync.aligned.u32 " count ";")
#else
#define BOXSUM_REGISTERS(direction, count)
#endif
    const int warp = threadIdx.x / 32;
    if (warp < tile::finish_warps) {
        BOXSUM_REGISTERS("inc", "96");
        block.run_finish();
    } else {
        BOXSUM_REGISTERS("dec", "64");
        if (warp == tile::finish_warps) {
            block.run_sum();
        } else if (warp == tile::finish_warps + 1) {
            block.run_left();
        } else if (warp == tile::finish_warps + 2) {
            block.run_carry();
        } else {
            block.run_above();
        }
    }
#undef BOXSUM_REGISTERS
    leave_workspace(header, workspace, workspace_bytes, ::cuda::memory_order_acq_rel);
}

}  // namespace boxsum::cuda
