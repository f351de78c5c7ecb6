#pragma once

#include "cuda/device/bulk_copy.cuh"
#include "cuda/device/layers.cuh"
#include "cuda/production/sat_pipeline_tile.cuh"
#include "cuda/production/sat_workspace.cuh"

#include <cuda/atomic>

#include <cstdint>

/// Role `sum` of the general pipeline: brings tiles, whose rows may start anywhere, into shared memory, and publishes
/// their sums. sat_pipeline.cuh has the picture.
namespace boxsum::cuda {

template <typename Pixel, typename Sum, bool Square>
struct pipeline_sum {
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

    __device__ pipeline_sum(const pipeline_plan& p, const pipeline_words& words, workspace_header* header,
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
    using value_words = words_of_value<Sum>;
    __device__ void publish_rows(tagged_word* where, const Sum (&row)[2], std::uint32_t tag) const {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int r = lane + 32 * i;
            value_words::of(row[i], tag).publish_at(where + (words_of<Sum> == 1 ? r : r % 2 * 64 + r / 2 * 2), keep);
        }
    }
};

}  // namespace boxsum::cuda
