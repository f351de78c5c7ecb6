#pragma once

#include "cuda/device/bulk_copy.cuh"
#include "cuda/device/channels.cuh"
#include "cuda/device/ptx.cuh"
#include "cuda/device/word_gather.cuh"
#include "cuda/production/sat/carries.cuh"
#include "cuda/production/sat/pixels.cuh"
#include "cuda/production/sat/shared.cuh"

#include <cuda/atomic>

#include <algorithm>
#include <cstdint>
#include <type_traits>

/// The roles of the aligned pipeline that know nothing about how a tile learns the table row above it: `sum`, `left`
/// and `carry`. kernel.cuh has the picture.
namespace boxsum::cuda {

template <typename Pixel, typename Sum, tile_kernel K>
struct tile_roles {
    using tile = tile_shape<Sum>;
    static constexpr tile_store Store = K.store;
    static constexpr int Channels = K.channels;
    static constexpr bool whole_sectors = Store == tile_store::whole_sectors;
    using pixels = tile_pixels<Pixel, Sum, K.load>;
    using value_words = words_of_value<Sum>;
    using sum_in_tile = tile_sum<Pixel, Sum>;
    using sum_in_group = group_sum<Pixel, Sum>;
    /// What `finish` scans. Carries of channels that share a row are added to it, so it is the table's type there.
    using scanned = std::conditional_t<Channels == 1, sum_in_tile, Sum>;
    static constexpr int panels = K.panels;
    using of_panel = std::conditional_t<panels == 1, sum_in_tile, tile_word<Pixel, Sum>>;
    static constexpr tile_policy tuned = policy_of(types_of<Pixel, Sum>, K);
    static constexpr int rows_on_their_way = tuned.rows_on_their_way;
    static constexpr bool one_behind = Store == tile_store::one_behind;
    static constexpr int ends_unit = Channels == 1 ? 32 : 16;  // see row_ends
    static constexpr int tile_slots = tuned.slots;
    using shared_memory = tile_memory<Sum, sum_in_group, of_panel, scanned, tile_slots, Channels, panels,
                                      K.columns == tile_columns::chain, rows_on_their_way, ends_unit, whole_sectors>;
    using tile_counter = cuda::tile_counter<shared_memory::slots>;
    static constexpr int lane_cols = tile::lane_cols;
    static constexpr bool chain = K.columns == tile_columns::chain;
    static_assert(!chain || (Channels == 1 && Store == tile_store::straight && K.load == tile_load::box));
    static_assert(panels == 1 || (!one_behind && K.load == tile_load::box));
    using channels = channels_of_lane<Channels, lane_cols>;
    /// Of the table of sums; beside it there may be that of squares.
    using table_sum = typename tables_of<Sum>::sum;
    static constexpr bool has_squares = is_sum_and_squares<Sum>;
    static_assert(has_square<Pixel> == has_squares);
    static_assert(!whole_sectors || (Channels == 1 && sizeof(Sum) == 4 && std::is_same_v<Pixel, std::uint8_t> &&
                                     !chain && panels == 1 && K.load == tile_load::box));
    static_assert(!has_squares || (Channels == 1 && !chain && Store != tile_store::anywhere));
    static constexpr int cols_of_tile = panels * tile::cols;
    static constexpr int row_words = Channels * tile::row_words;  // of a tile: [channel][row]
    static constexpr int col_words = panels * tile::col_words;    // of a tile: [panel][column]
    /// Panels that `left`, `carry` and `above` have code for, each by itself. One code for both is better where there
    /// is much, see tile_finish::together.
    // H200, 13.0: one code for 8u32u with 3 and 4 channels 0.93, 0.98 at 4096; for 8u64u 1.01
    static constexpr int panels_unrolled = Channels == 1 && std::is_same_v<Pixel, std::uint8_t> ? panels : 1;
    /// Two rows a lane of one warp, or one row a lane of two: with a chain there is a warp to spare.
    static constexpr int left_warps = chain ? 2 : 1;
    /// What a tile publishes of its rows: a lane's are those at the places `lane` and `lane` + 32 of every channel.
    /// With a chain a row has words of its own, because a lane of `left` has one row.
    using row_values = std::conditional_t<chain, sum_in_tile, tile_word<Pixel, Sum>>;
    using row_sum_words =
        std::conditional_t<chain, words_of_value<row_values>, words_of_lane<row_values, 2 * Channels>>;
    using col_sum_words = words_of_lane<tile_word<Pixel, Sum>, lane_cols>;
    using group_sum_words = words_of_lane<sum_in_group, 2 * Channels>;
    using group_row_words = words_of_lane<sum_in_group, 1>;  // one row of them
    using table_row_words = words_of_lane<Sum, lane_cols>;
    static_assert(sizeof(row_sum_words) * (chain ? 2 : 1) * 32 <= sizeof(tagged_word) * row_words);
    static_assert(sizeof(col_sum_words) * 32 <= sizeof(tagged_word) * tile::col_words);
    /// Tiles or groups whose words a lane looks at together: 8 words, if one has no more, of at most 4. A lane with one
    /// row of a tile looks at 8. Sums of 4 bytes of three and four channels come from two at a time nevertheless.
    // H200, 13.0: two at a time for 32f32f with 4 channels 0.96 at 4096; three 1.04
    template <typename Words>
    static constexpr int batch_of = std::clamp(static_cast<int>(8 * sizeof(tagged_word) / sizeof(Words)),
                                               Channels > 2 && sizeof(Words) <= 16 * Channels ? 2 : 1,
                                               std::is_same_v<Words, words_of_value<row_values>> ? 8 : 4);

    using maps_of_image = image_maps<pixels::phases, whole_sectors>;

    const tile_plan& p;
    const maps_of_image& maps;
    const exchange_words& words;
    workspace_header* header;
    shared_memory& shared;
    std::byte* slots;  // pixels of the tiles
    const tag_maker tag_of_lap;
    const std::uint64_t keep = keep_in_l2();
    const int lane = threadIdx.x % 32;

    __device__ tile_roles(const tile_plan& p, const maps_of_image& maps, const exchange_words& words,
                          workspace_header* header, shared_memory& shared, std::byte* slots)
        : p(p), maps(maps), words(words), header(header), shared(shared), slots(slots), tag_of_lap(header) {}

    /// By one thread, before a block barrier.
    __device__ static void initialize(shared_memory& shared) {
        const auto expect_warps = [](phase_barrier& barrier, int warps) { barrier.initialize(32 * warps); };
        for (int s = 0; s < shared_memory::slots; ++s) {
            // The lane that drew the ticket; where rows start anywhere also every lane, when its copies are done.
            shared.loaded[s].initialize(pixels::shifted ? 1 + 32 : 1);
            expect_warps(shared.read[s], tile::finish_warps + 4);
            expect_warps(shared.left_added[s], left_warps);
            expect_warps(shared.finished[s], tile::finish_warps);
            for (phase_barrier* one : {shared.rows_added, shared.cols_added, shared.carried, shared.topped})
                expect_warps(one[s], 1);
            if constexpr (whole_sectors) expect_warps(shared.beside.there[s], 1);
        }
        announce_barriers();
    }

    /// Of a tile in shared memory: the pixels of its panels, and of those beside it.
    static constexpr unsigned slot_bytes = panels * pixels::bytes + (whole_sectors ? beside_bytes : 0);

    __device__ static unsigned offset_of(unsigned slot, int panel) {
        return slot * slot_bytes + static_cast<unsigned>(panel) * pixels::bytes;
    }

    __device__ pixels pixels_of(unsigned slot, int panel) const { return {slots + offset_of(slot, panel)}; }
    __device__ std::byte* pixels_beside(unsigned slot) const { return slots + offset_of(slot, panels); }

    /// Modulo 16 it does not matter which tile of the plane it is: they are 64 rows and multiples of 64 bytes apart.
    __device__ row_shifts shifts_of(unsigned plane) const {
        if constexpr (!pixels::shifted) return {};
        return {static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p.image)) +
                    plane * static_cast<std::uint32_t>(p.image_plane_stride),
                static_cast<std::uint32_t>(p.image_row_stride)};
    }

    // What the whole table holds around the part that this launch computes. It enters where tiles learn of others: what
    // is left of the part with the row carries of `carry`, which go to the tiles below with its totals, and what is
    // above it in place of the table row above the first group of tiles.

    __device__ carry_reader<Sum> part_carries() const { return {p.carries, p.squares_carries, Channels}; }

    /// In a row of the tile, less in the row above the tile. Rows below the last one count for nothing.
    __device__ Sum left_of_part(const tile_position& at, int row, int channel) const {
        const std::int64_t first = std::int64_t{at.row} * tile::rows;
        return part_carries().step(at.plane, min(first + row, p.rows - 1), min(first, p.rows) - 1, channel);
    }

    /// Above neighbours of the part's row of elements, as far as it goes.
    template <int N>
    __device__ void above_part(Sum (&x)[N], const tile_position& at, std::int64_t first) const {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = first + i < p.cols ? part_carries().above(at.plane, first + i) : Sum{};
    }

    /// Whether a tile's group of rows starts at the part's first row, above which there are carries.
    __device__ bool is_below_carries(const tile_position& at) const {
        return p.has_above && !at.has_above;
    }

    /// The element of the part's rows that is the first of a panel.
    __device__ static std::int64_t first_element(const tile_position& at, int panel) {
        return std::int64_t{at.col} * cols_of_tile + panel * tile::cols;
    }

    /// By all lanes: an arrival releases what its own thread did. One lane's, behind a __syncwarp(), says the same and
    /// is no faster, but racecheck does not take it for that.
    __device__ static void arrive(phase_barrier& barrier) {
        barrier.arrive();
    }

    // Role `sum`

    /// A tile's plane, and its row and column of tiles.
    struct box_place {
        int plane, row, col;
    };
    __device__ box_place box_of(unsigned ticket) const {
        const unsigned line = p.by_tile_cols.quotient(ticket), plane = p.by_tile_rows.quotient(line);
        return {static_cast<int>(plane), static_cast<int>(line - plane * p.tile_rows),
                static_cast<int>(ticket - line * p.tile_cols)};
    }

    /// Tiles are numbered row by row, plane by plane, and `box` is the ticket's. `lined_up` counts rows of tiles with
    /// every plane filled up to whole groups, so that a group lies in the ring without a gap.
    __device__ tile_position position_of(unsigned ticket, const box_place& box) const {
        tile_position at{};
        if (ticket >= p.tiles) return at;
        at.plane = static_cast<unsigned>(box.plane);
        at.row = static_cast<unsigned>(box.row);
        at.col = static_cast<unsigned>(box.col);
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
        at.tag = tag_of_lap(at.lap);
        at.tag_above = group_row > 0 ? at.tag : tag_of_lap(at.lap - 1);
        at.rows_place = ring_group * p.tile_cols + at.col;
        at.rows_place_above = ((group_row > 0 ? ring_group : p.ring_groups) - 1) * p.tile_cols + at.col;
        at.last_col = at.col + 1 == p.tile_cols;
        at.ends_group = at.before + 1 == p.by_group_cols.divisor() && !at.last_col;
        at.ends_rows = at.in_group + 1 == p.by_group_rows.divisor() && at.row + 1 < p.tile_rows;
        at.has_above = at.row > at.in_group;
        const std::int64_t row = std::int64_t{at.row} * tile::rows;
        const std::int64_t col = std::int64_t{at.col} * cols_of_tile;
        at.valid_rows = at_most_int(p.rows - row);
        at.valid_cols = at_most_int(p.cols - col);
        at.to = p.sums + at.plane * p.plane_stride + row * p.row_stride +
                col * static_cast<std::int64_t>(sizeof(table_sum));
        return at;
    }

    __device__ static int at_most_int(std::int64_t x) {
        return static_cast<int>(x < 1 << 30 ? x : 1 << 30);
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

    __device__ earlier_readers look_at_readers(const tile_position& at) const {
        earlier_readers readers;
        // The rows whose words this tile's replace, a ring before, and those that read them: as many as a group below.
        const unsigned first = at.ring_row >> p.counter_shift;
        const unsigned last = (at.ring_row + p.by_group_rows.divisor()) >> p.counter_shift;
        if (at.lap == 0 || first + lane > last) return readers;
        const unsigned counters = p.ring_rows >> p.counter_shift;
        const bool next_lap = first + lane >= counters;
        readers.counter = header->reserved + first_reader_counter + (first + lane - (next_lap ? counters : 0));
        readers.target = (at.lap - 1 + (next_lap ? 1 : 0) + 1) * (p.tile_cols << p.counter_shift);
        readers.seen = earlier_readers::look(readers.counter);
        return readers;
    }

    /// By one warp of `finish`, behind all looks at the ring for this tile. Of one lane's loop the compiler makes a
    /// page of code, in the way of all that follows.
    __device__ void count_as_read(const tile_position& at) const {
        // The last row of tiles of a plane counts for the rows that fill up its group, a lane each.
        const int rows = at.row + 1 < p.tile_rows ? 1 : static_cast<int>(p.rows_of_plane - at.row);
        if (p.ring_reused && lane < rows)
            add_relaxed(&header->reserved[first_reader_counter + ((at.ring_row + lane) >> p.counter_shift)], 1);
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
            std::uint32_t* const counter = header->reserved + first_reader_counter + i;
            while (earlier_readers::look(counter) != all) {
            }
        }
        __syncthreads();
    }

    /// Starts copies of the tile's panels, or of their rows of every phase, one a lane.
    __device__ void copy_boxes(const box_place& at, unsigned slot, std::uint64_t policy) const {
        constexpr int boxes = panels * pixels::phases;
        static_assert(boxes <= 32);
        if (lane == 0)
            expect(shared.loaded[slot], panels * tile::rows * pixels::pitch + (whole_sectors ? beside_bytes : 0));
        if constexpr (boxes > 1) __syncwarp();
        const int panel = lane / pixels::phases, phase = lane % pixels::phases;
        if (lane < boxes)
            copy_box(slots + offset_of(slot, panel) + phase * pixels::phase_bytes, maps.of_phase[phase],
                     at.col * cols_of_tile + panel * tile::cols, at.row * pixels::phase_rows, at.plane,
                     shared.loaded[slot], policy);
        if constexpr (whole_sectors)
            if (lane == 0)
                copy_box(pixels_beside(slot), maps.beside, (at.col + 1) * tile::cols, at.row * tile::rows, at.plane,
                         shared.loaded[slot], policy);
    }

    /// Starts copies of the tile's rows, 16 bytes a lane.
    __device__ void copy_chunks(const box_place& at, unsigned slot) const {
        constexpr int lanes = pixels::chunks, together = 32 / lanes;  // of a row, rows of the warp
        const std::int64_t first_row = std::int64_t{at.row} * tile::rows;
        const std::int64_t first_col = std::int64_t{at.col} * cols_of_tile;
        const std::byte* const first =
            p.image + at.plane * p.image_plane_stride + first_row * p.image_row_stride + first_col * int{sizeof(Pixel)};
        const int bytes = at_most_int((p.cols - first_col) * int{sizeof(Pixel)});
        const int rows = bytes > 0 ? at_most_int(p.rows - first_row) : 0;
        const pixels to = pixels_of(slot, 0);
        const int lane_row = lane / lanes, lane_chunk = lane % lanes;
        const auto skip_of = [](const std::byte* row) { return reinterpret_cast<std::uintptr_t>(row) % 16; };
        // Where rows go by boxes if they can, others need not be fast.
        constexpr bool all_by_lanes = may_lack_copy_engine || !rows_in_boxes(sizeof(Pixel));
        if (all_by_lanes && rows >= tile::rows && bytes >= pixels::row_bytes &&
            p.image_end - first >= (tile::rows - 1) * p.image_row_stride + pixels::row_bytes + 16) {
            const std::byte* row = first + lane_row * p.image_row_stride + lane_chunk * 16;
            std::byte* const lane_to = to.row(lane_row) + lane_chunk * 16;
#pragma unroll 4
            for (int r = 0; r < tile::rows; r += together, row += together * p.image_row_stride)
                copy_async<16, true>(
                    pixels::phases == 1 ? lane_to + r * pixels::pitch : to.row(r + lane_row) + lane_chunk * 16,
                    row - skip_of(row), 16);
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                const std::byte* const behind = first + (lane + 32 * k) * p.image_row_stride + pixels::row_bytes;
                copy_async<16, true>(to.row(lane + 32 * k) + pixels::row_bytes, behind - skip_of(behind), 16);
            }
            return;
        }
        const auto copy = [&](int r, int chunk) {
            const std::byte* const row = first + r * p.image_row_stride;
            const int skip = static_cast<int>(skip_of(row));
            if (r >= rows || chunk * 16 >= skip + bytes) return;
            const std::byte* const from = row - skip + chunk * 16;
            std::byte* const where = to.row(r) + chunk * 16;
            if (p.image_end - from >= 16) {
                copy_async<16>(where, from, 16);
            } else {  // the end of the image, perhaps of its memory: at most 15 bytes of the last row go one by one
#pragma unroll 1
                for (int i = 0; from + i < p.image_end; ++i) where[i] = from[i];
            }
        };
#pragma unroll 1
        for (int r = lane_row; r < tile::rows; r += together) copy(r, lane_chunk);
#pragma unroll 1
        for (int r = lane; r < tile::rows; r += 32) copy(r, lanes);
        __syncwarp();  // lane 0, which arrives for the position, releases those bytes, too
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
        const box_place box = box_of(ticket);
        if (ticket < p.tiles) {  // first the copy, then all else about the tile
            if (has_copy_engine && (!pixels::shifted || (rows_in_boxes(sizeof(Pixel)) && maps.valid)))
                copy_boxes(box, slot, policy);
            else
                copy_chunks(box, slot);
        }
        if constexpr (pixels::shifted) shared.loaded[slot].arrive_after_copies();
        const tile_position at = position_of(ticket, box);
        if (lane == 0) {
            shared.position[next.position()] = at;
            shared.loaded[slot].arrive();  // releases the position; a phase without a tile ends with it
        }
        ++next.n;
        // Looked at while the copy is under way, waited for when it has landed: usually all have finished long ago.
        if (at.valid()) readers = look_at_readers(at);
        return at.valid();
    }

    /// The first tiles of all blocks, whoever gets which, on their way from memory while the tickets are.
    // H200, 13.0: 8u32u 0.97 at 4096; boxes 512 bytes wide 1.02
    __device__ void prefetch_tile(unsigned ticket) const {
        if (lane > 0 || ticket >= p.tiles) return;
        const box_place at = box_of(ticket);
        for (int panel = 0; panel < panels; ++panel)
            prefetch_box(maps.of_phase[0], at.col * cols_of_tile + panel * tile::cols, at.row * tile::rows, at.plane);
    }

    static constexpr unsigned first_tiles = tuned.first_tiles;

    __device__ void run_sum() const {
        // H200, 13.0: unranked for dropped, 32f32f 0.98 at 32768; 8u32u 1.01
        const std::uint64_t policy = pixels::row_bytes < 512 ? drop_from_l2() : unranked_in_l2();
        tile_counter now, next;
        earlier_readers readers;
        bool more = true;
        if constexpr (!pixels::shifted && pixels::row_bytes < 512) prefetch_tile(blockIdx.x);
        for (;; ++now.n) {
            while (more && next.n < (now.n > 0 ? now.n + 1 : first_tiles)) more = start_next(next, policy, readers);
            const unsigned slot = now.slot();
            const tile_position& at = shared.position[now.position()];
            shared.loaded[slot].wait(now.parity());
            if (!at.valid()) break;
            // So far `readers` are those of the tile that was started last, of two perhaps the second one.
            if constexpr (first_tiles > 1)
                if (now.n < first_tiles) readers = look_at_readers(at);
            sum_in_tile row[Channels][2];
#pragma unroll 1
            for (int panel = 0; panel < panels; ++panel) {
                if (panel > 0) leave_panel_rows(place_of(now), panel - 1, row);
                const pixels panel_pixels = pixels_of(slot, panel);
                if constexpr (Channels == 1)
                    panel_pixels.add_rows(row[0], shifts_of(at.plane), lane);
                else
                    panel_pixels.add_rows_by_channel(row, first_channel(at.col, panel, 0), shifts_of(at.plane), lane);
            }
            // The slot's next copy comes behind what was moved in it.
            if constexpr (pixels::shifted) announce_barriers();
            if constexpr (panels > 1) add_panel_rows(row, place_of(now));
            readers.wait();
            publish_rows(words.row_sums + std::size_t{at.place} * row_words, row, at.tag);
#pragma unroll
            for (int c = 0; c < Channels; ++c) {
                shared.own_rows[slot][c * tile::rows + pixels::row_at(lane)] = static_cast<sum_in_group>(row[c][0]);
                shared.own_rows[slot][c * tile::rows + pixels::row_at(lane + 32)] =
                    static_cast<sum_in_group>(row[c][1]);
            }
            arrive(shared.rows_added[slot]);
            arrive(shared.read[slot]);
        }
    }

    /// A panel's row sums for run_carry(), which needs them to the left of the next panel.
    __device__ void leave_panel_rows(unsigned place, int panel, const sum_in_tile (&row)[Channels][2]) const {
#pragma unroll
        for (int i = 0; i < 2 * Channels; ++i)
            shared.panel_rows[place][panel][i / 2 * tile::rows + pixels::row_at(lane + 32 * (i % 2))] =
                static_cast<of_panel>(row[i / 2][i % 2]);
    }

    /// Adds the rows of the panels before the last one to those of the last one.
    __device__ void add_panel_rows(sum_in_tile (&row)[Channels][2], unsigned place) const {
#pragma unroll
        for (int panel = 0; panel < panels - 1; ++panel)
#pragma unroll
            for (int i = 0; i < 2 * Channels; ++i)
                row[i / 2][i % 2] +=
                    shared.panel_rows[place][panel][i / 2 * tile::rows + pixels::row_at(lane + 32 * (i % 2))];
    }

    /// Where what a panel leaves to others lies.
    __device__ static unsigned place_of(const tile_counter& now) {
        return now.n % shared_memory::kept;
    }

    /// The sums beside the tile.
    __device__ beside_sums* beside_of(const tile_counter& now) const {
        if constexpr (whole_sectors)
            return &shared.beside.sums[now.n % (shared_memory::slots + 1)];
        else
            return nullptr;
    }

    /// The channel of the first of the lane's elements in a panel of a tile.
    __device__ static unsigned first_channel(unsigned tile_col, int panel, int lane) {
        const auto element = static_cast<unsigned>(lane * lane_cols);
        if constexpr (tile::cols % Channels == 0)
            return channels::first(element);
        else
            return channels::first((tile_col * panels + static_cast<unsigned>(panel)) * (tile::cols % Channels) +
                                   element);
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

    /// Before pixels are read: `sum` moves rows that start anywhere.
    __device__ void wait_for_moved_rows(const tile_counter& now) const {
        if constexpr (pixels::shifted) shared.rows_added[now.slot()].wait(now.parity());
    }

    // Role `left`

    /// `warp`: of left_warps.
    __device__ void run_left(int warp) const {
        constexpr int rows = 2 / left_warps;     // of a lane: the first, and 32 rows below it
        const int first_row = 32 * warp + lane;  // its place, see tile_pixels
        const int word = row_sum_words::first(chain ? first_row : lane);
        for (tile_counter now;; ++now.n) {
            const unsigned slot = now.slot();
            const tile_position& at = shared.position[now.position()];
            shared.loaded[slot].wait(now.parity());
            if (!at.valid()) {
                arrive(shared.left_added[slot]);
                break;
            }
            // Own rows first: by then those of the neighbours are there, and little is looked at twice. And words may
            // be replaced then, see earlier_readers. Until then the columns, which `sum` has no time for: one warp that
            // did both took longer for a tile of 8u than memory does. They wait in own_cols, whose reader has left the
            // place, see tile_memory::kept.
            if constexpr (!chain) {
                wait_for_moved_rows(now);
#pragma unroll(panels_unrolled)
                for (int panel = 0; panel < panels; ++panel) {
                    sum_in_tile col[lane_cols];
                    pixels_of(slot, panel).add_cols(col, lane);
                    of_panel own[lane_cols];
#pragma unroll
                    for (int i = 0; i < lane_cols; ++i) own[i] = static_cast<of_panel>(col[i]);
                    store_neighbours(shared.own_cols[place_of(now)][panel], own, lane);
                }
            }
            if constexpr (whole_sectors) add_beside(*beside_of(now), pixels_beside(slot), lane);
            shared.rows_added[slot].wait(now.parity());
            if constexpr (!chain) {
#pragma unroll(panels_unrolled)
                for (int panel = 0; panel < panels; ++panel) {
                    of_panel own[lane_cols];
                    load_neighbours(own, shared.own_cols[place_of(now)][panel], lane);
                    publish_cols(words.col_sums + std::size_t{at.place} * col_words + panel * tile::col_words, own,
                                 at.tag);
                }
                arrive(shared.cols_added[slot]);
            }
            sum_in_group left[rows * Channels]{};
            // Published by run_sum() in tiles with lower tickets.
            gather_by_warp<batch_of<row_sum_words>, row_sum_words>(
                words.row_sums + std::size_t{at.place - at.before} * row_words + word, row_words,
                static_cast<int>(at.before), at.tag, keep, [&](const row_sum_words& found) {
                    if constexpr (chain)
                        left[0] += static_cast<sum_in_group>(found.value());
                    else
                        found.add_to(left);
                });
            if (at.ends_group) {
                // For run_carry() of the tiles to the right of this group.
                tagged_word* const where = words.group_sums + std::size_t{at.group_place + at.group} * row_words;
#pragma unroll
                for (int i = 0; i < rows * Channels; ++i) {
                    const int row = pixels::row_at(first_row + 32 * (i % rows)), channel = i / rows;
                    const sum_in_group sum[1] = {left[i] + shared.own_rows[slot][channel * tile::rows + row]};
                    group_row_words::of(sum, at.tag).publish_at(where + word_of_group_row(row, channel), keep);
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
    __device__ void publish_cols(tagged_word* where, const of_panel (&col)[lane_cols], std::uint32_t tag) const {
        tile_word<Pixel, Sum> x[lane_cols];
#pragma unroll
        for (int i = 0; i < lane_cols; ++i) x[i] = static_cast<tile_word<Pixel, Sum>>(col[i]);
        col_sum_words::of(x, tag).publish_at(where + col_sum_words::first(lane), keep);
    }

    /// A lane of `carry` finds rows 2 l and 2 l + 1 of every channel in this order in its group_sum_words.
    __device__ static int word_of_group_row(int row, int channel) {
        const int word = (channel * 2 + row % 2) * words_of<sum_in_group>;  // of the lane's
        return 64 * (word / 2) + row / 2 * 2 + word % 2;
    }

    // Role `carry`

    /// store_carries(position): the border of a part of a larger table.
    template <typename StoreCarries>
    __device__ void run_carry(StoreCarries store_carries) const {
        for (tile_counter now;; ++now.n) {
            const unsigned slot = now.slot();
            const tile_position& at = shared.position[now.position()];
            shared.left_added[slot].wait(now.parity());
            if (!at.valid()) break;
            Sum carry[2 * Channels];
#pragma unroll
            for (int i = 0; i < 2 * Channels; ++i)
                carry[i] = static_cast<Sum>(shared.own_rows[slot][i / 2 * tile::rows + 2 * lane + i % 2]);
            arrive(shared.read[slot]);
            // Published by run_left() in the last tiles of the groups to the left.
            gather_by_warp<batch_of<group_sum_words>, group_sum_words>(
                words.group_sums + std::size_t{at.group_place} * row_words + group_sum_words::first(lane), row_words,
                static_cast<int>(at.group), at.tag, keep, [&](const group_sum_words& found) { found.add_to(carry); });
#pragma unroll(panels_unrolled)
            for (int panel = 0; panel < panels; ++panel) {
                Sum upper[Channels], downwards[Channels];
#pragma unroll
                for (int c = 0; c < Channels; ++c) {
#pragma unroll
                    for (int i = 0; i < 2; ++i)
                        if (panel > 0)
                            carry[2 * c + i] += static_cast<Sum>(
                                shared.panel_rows[place_of(now)][panel - 1][c * tile::rows + 2 * lane + i]);
                    downwards[c] = warp_scan(carry[2 * c] + carry[2 * c + 1]);
                    upper[c] = carry[2 * c] + exclusive_of(downwards[c]);
                    if (p.has_left) {
                        upper[c] += left_of_part(at, 2 * lane, c);
                        downwards[c] += left_of_part(at, 2 * lane + 1, c);
                    }
                    if constexpr (!chain) {
                        // For run_above() of the tiles below in this group of rows.
                        if (panel == 0 && lane == 31)
                            value_words::of(downwards[c], at.tag)
                                .publish_at(words.total_of(at.rows_place, Channels, at.in_group, c, words_of<Sum>),
                                            keep);
                    }
                }
                if (panel == 0) shared.finished[slot].wait(now.parity() ^ 1);
#pragma unroll
                for (int c = 0; c < Channels; ++c) {
                    shared.carry[slot][panel][2 * lane * Channels + c] = upper[c];
                    shared.carry[slot][panel][(2 * lane + 1) * Channels + c] = downwards[c];
                }
            }
            arrive(shared.carried[slot]);
            if (p.is_part) store_carries(at);
        }
    }
};

}  // namespace boxsum::cuda
