#pragma once

#include "cuda/device/bulk_copy.cuh"
#include "cuda/device/channels.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/row_store.cuh"
#include "cuda/device/word_gather.cuh"
#include "cuda/production/sat_aligned_pixels.cuh"
#include "cuda/production/sat_aligned_tile.cuh"

#include <cuda/atomic>

#include <algorithm>
#include <cstdint>
#include <type_traits>

/// The roles of the aligned pipeline that know nothing about how a tile learns the table row above it: `sum`, `left`,
/// `carry`, and the way `finish` stores. sat_aligned_kernel.cuh has the picture.
namespace boxsum::cuda {

template <typename Pixel, typename Sum, aligned_columns Columns, aligned_load Load, aligned_store Store, int Channels>
struct aligned_roles {
    using tile = aligned_tile<Sum>;
    using pixels = aligned_pixels<Pixel, Sum, Load>;
    using value_words = words_of_value<Sum>;
    using sum_in_tile = tile_sum<Pixel, Sum>;
    /// What `finish` scans. Carries of channels that share a row are added to it, so it is the table's type there.
    using scanned = std::conditional_t<Channels == 1, sum_in_tile, Sum>;
    using shared_memory = aligned_shared<Sum, sum_in_tile, scanned, aligned_slots(sizeof(Pixel)), Channels,
                                         Columns == aligned_columns::chain>;
    using tile_counter = cuda::tile_counter<shared_memory::slots>;
    static constexpr int lane_cols = tile::lane_cols;
    static constexpr bool chain = Columns == aligned_columns::chain;
    static_assert(!chain || Channels == 1);
    /// Whether a tile may store the last sum of the tile to its left instead of its own, see row_place: where all rows
    /// start one before a multiple of 16 bytes, or, with two sums in 16 bytes, any that is not aligned (padded 8u64u at
    /// 8192 0.93 of the time). With four sums it would be every fourth row (32f32f 0.99, 8u32u 1.01), and beside
    /// aligned_load::rows, whose roles have more to do, it costs more than it gains (1.04).
    static constexpr bool may_take_left = Store == aligned_store::anywhere && Channels == 1;
    static constexpr bool pairs_take_left = may_take_left && lane_cols == 2 && Load == aligned_load::box;
    __device__ bool takes_left() const { return may_take_left && (pairs_take_left || p.one_behind); }
    using channels = channels_of_lane<Channels, lane_cols>;
    static constexpr int row_words = Channels * tile::row_words;  // of a tile: [channel][row]
    /// Two rows a lane of one warp, or one row a lane of two: with a chain there is a warp to spare.
    static constexpr int left_warps = chain ? 2 : 1;
    /// What a tile publishes of its rows: a lane's are those at the places `lane` and `lane` + 32 of every channel.
    /// With a chain a row has words of its own, because a lane of `left` has one row.
    using row_values = std::conditional_t<chain, sum_in_tile, tile_word<Pixel, Sum>>;
    using row_sum_words =
        std::conditional_t<chain, words_of_value<row_values>, words_of_lane<row_values, 2 * Channels>>;
    using col_sum_words = words_of_lane<tile_word<Pixel, Sum>, lane_cols>;
    using group_sum_words = words_of_lane<Sum, 2 * Channels>;
    using table_row_words = words_of_lane<Sum, lane_cols>;
    static_assert(sizeof(row_sum_words) * (chain ? 2 : 1) * 32 <= sizeof(tagged_word) * row_words);
    static_assert(sizeof(col_sum_words) * 32 <= sizeof(tagged_word) * tile::col_words);
    /// Tiles whose words a lane looks at together: 8 words, if a tile has no more, of at most 4 tiles. A lane with one
    /// row of a tile looks at 8.
    template <typename Words>
    static constexpr int batch_of = std::clamp(static_cast<int>(8 * sizeof(tagged_word) / sizeof(Words)), 1,
                                               std::is_same_v<Words, words_of_value<row_values>> ? 8 : 4);

    using maps_of_image = aligned_maps<pixels::phases>;

    const aligned_plan& p;
    const maps_of_image& maps;
    const aligned_words& words;
    workspace_header* header;
    shared_memory& shared;
    std::byte* slots;  // pixels of the tiles
    const tag_maker tag_of_lap;
    const std::uint64_t keep = keep_in_l2();
    const int lane = threadIdx.x % 32;

    __device__ aligned_roles(const aligned_plan& p, const maps_of_image& maps, const aligned_words& words,
                             workspace_header* header, shared_memory& shared, std::byte* slots)
        : p(p), maps(maps), words(words), header(header), shared(shared), slots(slots), tag_of_lap(header) {}

    /// By one thread, before a block barrier.
    __device__ static void initialize(shared_memory& shared) {
        const auto expect_warps = [](phase_barrier& barrier, int warps) { barrier.initialize(32 * warps); };
        for (int s = 0; s < shared_memory::slots; ++s) {
            shared.loaded[s].initialize(1);
            expect_warps(shared.read[s], tile::finish_warps + 4);
            expect_warps(shared.left_added[s], left_warps);
            expect_warps(shared.finished[s], tile::finish_warps);
            for (phase_barrier* one : {shared.rows_added, shared.cols_added, shared.carried, shared.topped})
                expect_warps(one[s], 1);
        }
        announce_barriers();
    }

    __device__ pixels pixels_of(unsigned slot, unsigned plane) const {
        if constexpr (!pixels::shifted) return {slots + slot * pixels::bytes};
        // Modulo 16 it does not matter which tile of the plane it is: they are 64 rows and multiples of 64 bytes apart.
        return {slots + slot * pixels::bytes,
                static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p.image)) +
                    plane * static_cast<std::uint32_t>(p.image_plane_stride),
                static_cast<std::uint32_t>(p.image_row_stride)};
    }

    /// By all lanes: an arrival releases what its own thread did. One lane's, behind a __syncwarp(), says the same and
    /// is no faster, but racecheck does not take it for that.
    __device__ static void arrive(phase_barrier& barrier) { barrier.arrive(); }

    // Role `sum`

    /// Tiles are numbered row by row, plane by plane. `lined_up` counts rows of tiles with every plane filled up to
    /// whole groups, so that a group lies in the ring without a gap.
    __device__ aligned_position position_of(unsigned ticket) const {
        aligned_position at{};
        if (ticket >= p.tiles) return at;
        const unsigned line = p.by_tile_cols.quotient(ticket);  // a row of tiles
        at.plane = p.by_tile_rows.quotient(line);
        at.row = line - at.plane * p.tile_rows;
        at.col = ticket - line * p.tile_cols;
        const unsigned lined_up = at.plane * p.rows_of_plane + at.row;
        at.lap = p.by_ring_rows.quotient(lined_up);
        at.ring_row = lined_up - at.lap * p.ring_rows;
        at.in_group = at.row - p.by_group_rows.quotient(at.row) * p.by_group_rows.divisor();
        at.group = p.by_group_cols.quotient(at.col);
        at.before = at.col - at.group * p.by_group_cols.divisor();
        at.place = at.ring_row * p.tile_cols + at.col;
        at.group_place = at.ring_row * p.groups;
        const unsigned group_row = at.ring_row - at.in_group;  // the first of its group of rows
        const unsigned ring_group = p.by_group_rows.quotient(group_row);
        const unsigned ring_groups = p.by_group_rows.quotient(p.ring_rows);
        at.tag = tag_of_lap(at.lap);
        at.tag_above = group_row > 0 ? at.tag : tag_of_lap(at.lap - 1);
        at.rows_place = ring_group * p.tile_cols + at.col;
        at.rows_place_above = ((group_row > 0 ? ring_group : ring_groups) - 1) * p.tile_cols + at.col;
        at.last_col = at.col + 1 == p.tile_cols;
        at.ends_group = at.before + 1 == p.by_group_cols.divisor() && !at.last_col;
        at.ends_rows = at.in_group + 1 == p.by_group_rows.divisor() && at.row + 1 < p.tile_rows;
        at.has_above = at.row > at.in_group;
        const std::int64_t row = std::int64_t{at.row} * tile::rows;
        const std::int64_t col = std::int64_t{at.col} * tile::cols;
        const bool beside_border = p.border && (at.row == 0 || at.col == 0);
        at.straight = p.rows_aligned && !beside_border && row + tile::rows <= p.rows && col + tile::cols <= p.cols;
        at.to = p.sums + at.plane * p.plane_stride + row * p.row_stride + col * static_cast<std::int64_t>(sizeof(Sum));
        return at;
    }

    /// Words are replaced when all tiles that look at them have finished: one counter of them a lane, those of the row
    /// of tiles a lap before and of the group below it. count_as_read() is the other side.
    ///
    /// Relaxed on both sides, because a release at device scope waits for all stores that the multiprocessor has under
    /// way (10 us a tile). It is safe because no value passes through the counter. A tile counts only after its roles
    /// have accepted their words, by their tags: they arrive at `carried` and `topped` (with a chain, at the second
    /// barrier of `finish`) after that, and the counting thread waits for both. Words are replaced only after all have
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

    __device__ earlier_readers look_at_readers(const aligned_position& at) const {
        earlier_readers readers;
        // The rows whose words this tile's replace, a ring before, and those that read them: as many as a group below.
        const unsigned first = at.ring_row >> p.counter_shift;
        const unsigned last = (at.ring_row + p.by_group_rows.divisor()) >> p.counter_shift;
        if (at.lap == 0 || first + lane > last) return readers;
        const unsigned counters = p.ring_rows >> p.counter_shift;
        const bool next_lap = first + lane >= counters;
        readers.counter = header->reserved + aligned_first_counter + (first + lane - (next_lap ? counters : 0));
        readers.target = (at.lap - 1 + (next_lap ? 1 : 0) + 1) * (p.tile_cols << p.counter_shift);
        readers.seen = earlier_readers::look(readers.counter);
        return readers;
    }

    /// By one thread of `finish`, behind all looks at the ring for this tile.
    __device__ void count_as_read(const aligned_position& at) const {
        if (!p.ring_reused) return;
        // The last row of tiles of a plane counts for the rows that fill up its group.
        const unsigned end = at.row + 1 < p.tile_rows ? 1 : p.rows_of_plane - at.row;
        for (unsigned i = 0; i < end; ++i) {
            add_relaxed(&header->reserved[aligned_first_counter + ((at.ring_row + i) >> p.counter_shift)], 1);
        }
    }

    /// By all threads of the launch's last block: waits until every tile has been counted.
    __device__ void settle_counters() const {
        const unsigned counters = p.ring_reused ? p.ring_rows >> p.counter_shift : 0;
        const unsigned rows = p.tiles / (p.tile_rows * p.tile_cols) * p.rows_of_plane;
        const unsigned laps = p.by_ring_rows.quotient(rows), begun = rows - laps * p.ring_rows;
        for (unsigned i = threadIdx.x; i < counters; i += tile::threads) {
            const unsigned first = i << p.counter_shift, last = (i + 1) << p.counter_shift;
            const unsigned in_last_lap = begun <= first ? 0 : (begun < last ? begun : last) - first;
            const unsigned all = ((laps << p.counter_shift) + in_last_lap) * p.tile_cols;
            std::uint32_t* const counter = header->reserved + aligned_first_counter + i;
            while (earlier_readers::look(counter) != all) {
            }
        }
        __syncthreads();
    }

    /// A tile's plane, and its row and column of tiles.
    struct box_place {
        int plane, row, col;
    };
    __device__ box_place box_of(unsigned ticket) const {
        const unsigned line = p.by_tile_cols.quotient(ticket), plane = p.by_tile_rows.quotient(line);
        return {static_cast<int>(plane), static_cast<int>(line - plane * p.tile_rows),
                static_cast<int>(ticket - line * p.tile_cols)};
    }

    /// Starts a copy of the tile, or of its rows of every phase, one a lane.
    __device__ void copy_boxes(const box_place& at, unsigned slot, std::uint64_t policy) const {
        if (lane == 0) expect(shared.loaded[slot], tile::rows * pixels::pitch);
        if constexpr (pixels::phases > 1) __syncwarp();
        if (lane < pixels::phases)
            copy_box(slots + slot * pixels::bytes + lane * pixels::phase_bytes, maps.of_phase[lane],
                     at.col * tile::cols, at.row * pixels::phase_rows, at.plane, shared.loaded[slot], policy);
    }

    /// Starts copies of the tile's rows, two a lane.
    __device__ void copy_rows(const box_place& at, unsigned slot, std::uint64_t policy) const {
        const std::int64_t first_row = std::int64_t{at.row} * tile::rows;
        const std::int64_t bytes_left = (p.cols - std::int64_t{at.col} * tile::cols) * int{sizeof(Pixel)};
        const int bytes = bytes_left < pixels::row_bytes ? static_cast<int>(bytes_left) : pixels::row_bytes;
        const std::byte* const first = p.image + at.plane * p.image_plane_stride + first_row * p.image_row_stride +
                                       std::int64_t{at.col} * pixels::row_bytes;
        const pixels to{slots + slot * pixels::bytes};
        const std::byte* from[2];
        int whole[2];  // bytes that the copy engine brings; nothing behind the image
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int r = lane + 32 * k;
            const std::byte* const start = first + r * p.image_row_stride;
            const int skip = static_cast<int>(reinterpret_cast<std::uintptr_t>(start) % 16);
            from[k] = start - skip;
            whole[k] = 0;
            if (first_row + r >= p.rows || bytes <= 0) continue;
            const std::int64_t there = (p.image_end - from[k]) / 16 * 16;
            const int needed = skip + bytes;
            whole[k] = (needed + 15) / 16 * 16;
            if (whole[k] <= there) continue;
            // The end of the image, perhaps of its memory: at most 15 bytes of the last row go one by one.
            whole[k] = static_cast<int>(there);
            for (int i = whole[k]; i < needed; ++i) to.row(r)[i] = from[k][i];
            announce_barriers();  // the slot's next copy comes behind these stores
        }
        const int all = __reduce_add_sync(whole_warp, whole[0] + whole[1]);
        if (lane == 0) expect(shared.loaded[slot], all);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 2; ++k)
            if (whole[k] > 0) copy_bytes(to.row(lane + 32 * k), from[k], whole[k], shared.loaded[slot], policy);
        __syncwarp();
    }

    /// The next tile, into the slot that `next` names; whether there is one, and the readers that its words wait for.
    __device__ bool start_next(tile_counter& next, std::uint64_t policy, earlier_readers& readers) const {
        const unsigned slot = next.slot();
        // The slot's last readers arrive at `read` behind their looks at it: the copy engine may write.
        shared.read[slot].wait(next.parity() ^ 1);
        unsigned ticket = 0;
        // Only now: a ticket that is drawn is a tile that others wait for.
        if (lane == 0) ticket = atomicAdd(&header->ticket, 1u);
        ticket = __shfl_sync(whole_warp, ticket, 0);
        if (ticket < p.tiles) {  // first the copy, then all else about the tile
            const box_place at = box_of(ticket);
            if (!pixels::shifted || maps.valid)
                copy_boxes(at, slot, policy);
            else
                copy_rows(at, slot, policy);
        }
        const aligned_position at = position_of(ticket);
        if (lane == 0) {
            shared.position[next.position()] = at;
            shared.loaded[slot].arrive();  // releases the position; a phase without a tile ends with it
        }
        ++next.n;
        // Looked at while the copy is under way, waited for when it has landed: usually all have finished long ago.
        if (at.valid()) readers = look_at_readers(at);
        return at.valid();
    }

    /// The first tiles of all blocks, whoever gets which, on their way from memory while the tickets are. 8u32u: 0.97
    /// of the time at 4096, 0.99 at 8192; boxes 512 bytes wide: 1.02.
    __device__ void prefetch_tile(unsigned ticket) const {
        if (lane > 0 || ticket >= p.tiles) return;
        const box_place at = box_of(ticket);
        prefetch_box(maps.of_phase[0], at.col * tile::cols, at.row * tile::rows, at.plane);
    }

    __device__ void run_sum() const {
        // 32f32f: 0.99 at 8192 and 16384 and 0.98 at 32768 of the time with drop_from_l2(); 8u32u: 1.01.
        const std::uint64_t policy = pixels::row_bytes < 512 ? drop_from_l2() : unranked_in_l2();
        tile_counter now, next;
        earlier_readers readers;
        bool more = true;
        if constexpr (!pixels::shifted && pixels::row_bytes < 512) prefetch_tile(blockIdx.x);
        for (;; ++now.n) {
            if (more) more = start_next(next, policy, readers);
            const unsigned slot = now.slot();
            const aligned_position& at = shared.position[now.position()];
            shared.loaded[slot].wait(now.parity());
            if (!at.valid()) break;
            const pixels tile_pixels = pixels_of(slot, at.plane);
            sum_in_tile row[Channels][2];
            if constexpr (Channels == 1)
                tile_pixels.add_rows(row[0], lane);
            else
                tile_pixels.add_rows_by_channel(row, first_channel(at.col, 0), lane);
            readers.wait();
            publish_rows(words.row_sums + std::size_t{at.place} * row_words, row, at.tag);
#pragma unroll
            for (int c = 0; c < Channels; ++c) {
                shared.own_rows[slot][c * tile::rows + pixels::row_at(lane)] = static_cast<Sum>(row[c][0]);
                shared.own_rows[slot][c * tile::rows + pixels::row_at(lane + 32)] = static_cast<Sum>(row[c][1]);
            }
            arrive(shared.rows_added[slot]);
            arrive(shared.read[slot]);
        }
    }

    /// The channel of the first of the lane's elements in a tile.
    __device__ static unsigned first_channel(unsigned tile_col, int lane) {
        if constexpr (tile::cols % Channels == 0)
            return channels::first(static_cast<unsigned>(lane * lane_cols));
        else
            return channels::first(tile_col * (tile::cols % Channels) + static_cast<unsigned>(lane * lane_cols));
    }

    /// For run_left() of the tiles to the right in this group.
    __device__ void publish_rows(tagged_word* where, const sum_in_tile (&row)[Channels][2], std::uint32_t tag) const {
        if constexpr (chain) {
#pragma unroll
            for (int k = 0; k < 2; ++k)
                row_sum_words::of(row[0][k], tag).publish_at(where + (lane + 32 * k) * words_of<row_values>, keep);
        } else {
            row_values x[2 * Channels];
#pragma unroll
            for (int i = 0; i < 2 * Channels; ++i) x[i] = static_cast<row_values>(row[i / 2][i % 2]);
            row_sum_words::of(x, tag).publish_at(where + row_sum_words::first(lane), keep);
        }
    }

    // Role `left`

    /// `warp`: of left_warps.
    __device__ void run_left(int warp) const {
        constexpr int rows = 2 / left_warps;     // of a lane: the first, and 32 rows below it
        const int first_row = 32 * warp + lane;  // its place, see aligned_pixels
        const int word = row_sum_words::first(chain ? first_row : lane);
        for (tile_counter now;; ++now.n) {
            const unsigned slot = now.slot();
            const aligned_position& at = shared.position[now.position()];
            shared.loaded[slot].wait(now.parity());
            if (!at.valid()) {
                arrive(shared.left_added[slot]);
                break;
            }
            // Own rows first: by then those of the neighbours are there, and little is looked at twice. And words may
            // be replaced now, see earlier_readers. Until then the columns, which `sum` has no time for: one warp that
            // did both took longer for a tile of 8u than memory does (0.97 of the time at 8192 and 16384, 32f32f
            // 0.995).
            [[maybe_unused]] sum_in_tile col[lane_cols];
            if constexpr (!chain) pixels_of(slot, at.plane).add_cols(col, lane);
            shared.rows_added[slot].wait(now.parity());
            if constexpr (!chain) {
                publish_cols(words.col_sums + std::size_t{at.place} * tile::col_words, col, at.tag);
                store_neighbours(shared.own_cols[slot], col, lane);
                arrive(shared.cols_added[slot]);
            }
            Sum left[rows * Channels]{};
            // Published by run_sum() in tiles with lower tickets.
            gather_by_warp<batch_of<row_sum_words>, row_sum_words>(
                words.row_sums + std::size_t{at.place - at.before} * row_words + word, row_words,
                static_cast<int>(at.before), at.tag, keep, [&](const row_sum_words& found) {
                    if constexpr (chain)
                        left[0] += static_cast<Sum>(found.value());
                    else
                        found.add_to(left);
                });
            if (at.ends_group) {
                // For run_carry() of the tiles to the right of this group.
                tagged_word* const where = words.group_sums + std::size_t{at.group_place + at.group} * row_words;
#pragma unroll
                for (int i = 0; i < rows * Channels; ++i) {
                    const int row = pixels::row_at(first_row + 32 * (i % rows)), channel = i / rows;
                    value_words::of(left[i] + shared.own_rows[slot][channel * tile::rows + row], at.tag)
                        .publish_at(where + word_of_group_row(row, channel), keep);
                }
            }
#pragma unroll
            for (int i = 0; i < rows * Channels; ++i)
                shared.own_rows[slot][i / rows * tile::rows + pixels::row_at(first_row + 32 * (i % rows))] = left[i];
            arrive(shared.left_added[slot]);
            arrive(shared.read[slot]);
        }
    }

    /// For run_above() of the tiles below in this group of rows.
    __device__ void publish_cols(tagged_word* where, const sum_in_tile (&col)[lane_cols], std::uint32_t tag) const {
        tile_word<Pixel, Sum> x[lane_cols];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<tile_word<Pixel, Sum>>(col[i]);
        col_sum_words::of(x, tag).publish_at(where + col_sum_words::first(lane), keep);
    }

    /// A lane of `carry` finds rows 2 l and 2 l + 1 of every channel in this order in its group_sum_words.
    __device__ static int word_of_group_row(int row, int channel) {
        const int word = (channel * 2 + row % 2) * words_of<Sum>;  // of the lane's
        return 64 * (word / 2) + row / 2 * 2 + word % 2;
    }

    // Role `carry`

    __device__ void run_carry() const {
        for (tile_counter now;; ++now.n) {
            const unsigned slot = now.slot();
            const aligned_position& at = shared.position[now.position()];
            shared.left_added[slot].wait(now.parity());
            if (!at.valid()) break;
            Sum carry[2 * Channels];
#pragma unroll
            for (int i = 0; i < 2 * Channels; ++i)
                carry[i] = shared.own_rows[slot][i / 2 * tile::rows + 2 * lane + i % 2];
            arrive(shared.read[slot]);
            // Published by run_left() in the last tiles of the groups to the left.
            gather_by_warp<batch_of<group_sum_words>, group_sum_words>(
                words.group_sums + std::size_t{at.group_place} * row_words + group_sum_words::first(lane), row_words,
                static_cast<int>(at.group), at.tag, keep, [&](const group_sum_words& found) { found.add_to(carry); });
            Sum downwards[Channels];
#pragma unroll
            for (int c = 0; c < Channels; ++c) {
                downwards[c] = warp_scan(carry[2 * c] + carry[2 * c + 1]);
                if constexpr (!chain) {
                    // For run_above() of the tiles below in this group of rows.
                    if (lane == 31)
                        value_words::of(downwards[c], at.tag)
                            .publish_at(words.total_of(at.rows_place, Channels, at.in_group, c, words_of<Sum>), keep);
                }
                carry[2 * c] += exclusive_of(downwards[c]);
            }
            shared.finished[slot].wait(now.parity() ^ 1);
#pragma unroll
            for (int c = 0; c < Channels; ++c) {
                shared.carry[slot][2 * lane * Channels + c] = carry[2 * c];
                shared.carry[slot][(2 * lane + 1) * Channels + c] = downwards[c];
            }
            arrive(shared.carried[slot]);
        }
    }

    // Role `finish`

    /// This warp's 16 rows of the tile, scanned along both directions.
    __device__ void scan_rows(scanned (&x)[tile::warp_rows][lane_cols], unsigned slot, unsigned plane, int warp) const {
        const unsigned first = first_channel(0, lane);  // what the channels are called does not matter here
        const pixels tile_pixels = pixels_of(slot, plane);
        if constexpr (std::is_same_v<Pixel, std::uint8_t>) {
            scan_pairs_of_rows(x, slot, tile_pixels, first, warp);
        } else {
#pragma unroll
            for (int k = 0; k < tile::warp_rows; ++k) {
                const auto from = tile_pixels.of_lane(warp * tile::warp_rows + k, lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i) x[k][i] = widen<scanned>(from.x[i]);
            }
            arrive(shared.read[slot]);
#pragma unroll
            for (int k = 0; k < tile::warp_rows; ++k) {
                if constexpr (Channels == 1 && !chain)
                    warp_scan_row<scan_steps::predicated>(x[k]);
                else
                    warp_scan_channels<Channels>(x[k], first);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    if (k > 0) x[k][i] += x[k - 1][i];
            }
        }
    }

    /// The same with 16 bits for each of two rows, so that they share the exchanges of a scan.
    __device__ void scan_pairs_of_rows(scanned (&x)[tile::warp_rows][lane_cols], unsigned slot,
                                       const pixels& tile_pixels, unsigned first, int warp) const {
        static_assert(tile::cols * 255 < 1 << 16);
        // Four pixels of a channel instead of four channels of a pixel, which the other order of reading gives away.
        constexpr bool turned = Channels == 4 && lane_cols == 4 && !pixels::shifted;
        std::uint32_t pair[tile::warp_rows / 2][lane_cols];
#pragma unroll
        for (int k = 0; k < tile::warp_rows / 2; ++k) {
            const int row = warp * tile::warp_rows + 2 * k;
            if constexpr (turned) {
                const uint4 upper = tile_pixels.chunk(row, lane / 4), lower = tile_pixels.chunk(row + 1, lane / 4);
                const unsigned channel = lane % 4, select = channel | (channel + 4) << 8;
                pair[k][0] = __byte_perm(upper.x, lower.x, select) & 0x00ff00ffu;
                pair[k][1] = __byte_perm(upper.y, lower.y, select) & 0x00ff00ffu;
                pair[k][2] = __byte_perm(upper.z, lower.z, select) & 0x00ff00ffu;
                pair[k][3] = __byte_perm(upper.w, lower.w, select) & 0x00ff00ffu;
            } else {
                const auto upper = tile_pixels.of_lane(row, lane), lower = tile_pixels.of_lane(row + 1, lane);
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    pair[k][i] = std::uint32_t{upper.x[i]} | std::uint32_t{lower.x[i]} << 16;
            }
        }
        arrive(shared.read[slot]);
#pragma unroll
        for (int k = 0; k < tile::warp_rows; k += 2) {
            if constexpr (turned) {
                scan_turned_fours(pair[k / 2]);
                turn_fours(pair[k / 2]);
            } else {
                warp_scan_channels<Channels>(pair[k / 2], first);
            }
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) {
                x[k][i] = static_cast<scanned>(pair[k / 2][i] & 0xffffu);
                if (k > 0) x[k][i] += x[k - 1][i];
                x[k + 1][i] = x[k][i] + static_cast<scanned>(pair[k / 2][i] >> 16);
            }
        }
    }

    /// Adds the rows' carries to channels that share a row. A single channel's wait in a register a lane until store().
    __device__ void add_carries(Sum (&x)[tile::warp_rows][lane_cols], const aligned_position& at, unsigned slot,
                                int warp) const {
        const unsigned first = first_channel(at.col, lane);
        const Sum* const carry = shared.carry[slot] + warp * tile::warp_rows * Channels;
#pragma unroll
        for (int k = 0; k < tile::warp_rows; ++k) {
            Sum of_channel[lane_cols];
#pragma unroll
            for (int i = 0; i < lane_cols; ++i)
                of_channel[i] = i < Channels ? carry[k * Channels + (first + i) % Channels] : of_channel[i - Channels];
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) x[k][i] += of_channel[i];
        }
    }

    /// What lane l has for store(): the carry of row l, and lane l + 16 the sum left of the tile in that row, which is
    /// the one above the tile (`corner`) and all that lies left of the tile down to the row, its carry.
    __device__ Sum carries_and_left(Sum carry, Sum corner) const {
        return lane < tile::warp_rows ? carry : corner + carry;
    }

    /// Stores x + top + the row's carry, see carries_and_left(); with several channels x has them.
    __device__ void store(const aligned_position& at, int warp, const scanned (&x)[tile::warp_rows][lane_cols],
                          const Sum (&top)[lane_cols], Sum carries) const {
        constexpr int rows = tile::warp_rows;
        std::byte* to = at.to + warp * rows * p.row_stride;
        const auto sums_of = [&](Sum(&sums)[lane_cols], int k) {
            const Sum carry = Channels == 1 ? __shfl_sync(whole_warp, carries, k) : Sum{};
#pragma unroll
            for (int i = 0; i < lane_cols; ++i) sums[i] = static_cast<Sum>(x[k][i]) + (top[i] + carry);
        };
        const auto whole = [&] { return valid_rows_of(at) >= tile::rows && valid_cols_of(at) >= tile::cols; };
        // Rows of one channel that are aligned have kernels of their own.
        if (!may_take_left && at.straight) {
            to += lane * 16;
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.row_stride) {
                Sum sums[lane_cols];
                sums_of(sums, k);
                store_streaming(reinterpret_cast<Sum*>(to), sums);
            }
            return;
        }
        if (may_take_left && p.one_behind && whole()) {
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.row_stride) {
                Sum sums[lane_cols];
                sums_of(sums, k);
                const Sum left = __shfl_sync(whole_warp, carries, rows + k);
                store_row_one_behind(reinterpret_cast<Sum*>(to), sums, left, at.last_col, lane);
            }
        } else if (Store == aligned_store::anywhere && whole()) {
            const typename shared_memory::row_ends ends{shared.ends[warp]};
            const row_place place{pairs_take_left && at.col > 0, !pairs_take_left || at.last_col};
#pragma unroll
            for (int k = 0; k < rows; ++k, to += p.row_stride) {
                Sum sums[lane_cols];
                sums_of(sums, k);
                const Sum left = pairs_take_left ? __shfl_sync(whole_warp, carries, rows + k) : Sum{};
                store_row(reinterpret_cast<Sum*>(to), sums, left, place, ends, k, lane);
                if ((k + 1) % ends.rows == 0)
                    ends.store(to - (ends.rows - 1) * p.row_stride, p.row_stride, ends.rows, place, lane);
            }
        } else {
            store_part(at, warp, to, carries, sums_of);
        }
        if (p.border && (at.row == 0 || at.col == 0)) store_border(at, warp);
    }

    /// The part of a tile that is in the table. What takes few registers, for these tiles are few.
    template <typename SumsOf>
    __device__ void store_part(const aligned_position& at, int warp, std::byte* to, Sum carries, SumsOf sums_of) const {
        constexpr int rows = tile::warp_rows;
        const int valid_rows = valid_rows_of(at) - warp * rows;
        const auto takes_left = [&](const std::byte* row) {
            return this->takes_left() && elements_to_boundary(reinterpret_cast<const Sum*>(row)) == lane_cols - 1;
        };
        std::byte* const row_of_left = to + (lane - rows) * p.row_stride;
        if ((p.one_behind || at.col > 0) && lane >= rows && lane - rows < valid_rows && takes_left(row_of_left))
            store_streaming(reinterpret_cast<Sum*>(row_of_left) - 1, carries);
#pragma unroll
        for (int k = 0; k < rows; ++k, to += p.row_stride) {
            Sum sums[lane_cols];
            sums_of(sums, k);
            const int valid_cols =
                (!at.last_col && takes_left(to) ? tile::cols - 1 : valid_cols_of(at)) - lane * lane_cols;
            Sum* const chunk = reinterpret_cast<Sum*>(to + lane * 16);
            if (p.rows_aligned && k < valid_rows && valid_cols >= lane_cols) {
                store_streaming(chunk, sums);
            } else {
#pragma unroll
                for (int i = 0; i < lane_cols; ++i)
                    if (k < valid_rows && i < valid_cols) store_streaming(chunk + i, sums[i]);
            }
        }
    }

    /// Rows and columns of the tile that are in the table; perhaps more than it has.
    __device__ static int at_most_int(std::int64_t x) {
        return static_cast<int>(x < 1 << 30 ? x : 1 << 30);
    }
    __device__ int valid_rows_of(const aligned_position& at) const {
        return at_most_int(p.rows - std::int64_t{at.row} * tile::rows);
    }
    __device__ int valid_cols_of(const aligned_position& at) const {
        return at_most_int(p.cols - std::int64_t{at.col} * tile::cols);
    }

    /// The zeros beside a tile of the first row or column of tiles.
    __device__ void store_border(const aligned_position& at, int warp) const {
        if (at.row == 0 && warp == 0)
            store_zeros<lane_cols>(reinterpret_cast<Sum*>(at.to - p.row_stride), valid_cols_of(at), lane);
        if (at.col > 0) return;
        const int row = warp * tile::warp_rows + lane;
        Sum* const to = reinterpret_cast<Sum*>(at.to + row * p.row_stride) - Channels;
#pragma unroll
        for (int c = 0; c < Channels; ++c)
            if (lane < tile::warp_rows && row < valid_rows_of(at)) store_streaming(to + c, Sum{});
        // The corner, where the first row of tiles meets the first column.
        if (at.row == 0 && warp == 0 && lane < Channels)
            store_streaming(reinterpret_cast<Sum*>(at.to - p.row_stride) - Channels + lane, Sum{});
    }
};

}  // namespace boxsum::cuda
