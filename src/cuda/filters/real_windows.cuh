#pragma once

#include "core/visit_types.hpp"
#include "cuda/device/ptx.cuh"
#include "cuda/device/streaming.cuh"
#include "cuda/device/warp_scan.cuh"
#include "cuda/filters/real_pixels.cuh"
#include "cuda/runtime/launch.cuh"

#include <cmath>
#include <cstdint>
#include <type_traits>

/// Windows in double without a table, by additions only: nothing is ever subtracted from a sum, so a pixel acts on the
/// windows that hold it and on no other, and errors do not pile up along the image.
///
/// Down the columns. Rows of results are cut into bands of B rows, at most as many as a window has. Then all windows of
/// a band share a core, and each is
///
///     trailing rows of the band from its own first on   +   core   +   leading rows of the band before its own last
///
/// where trailing rows are the B first of the first window and leading ones the B behind it. A band is worked on in
/// batches of G rows. The core and the batches that trail behind are summed once, backwards, batch by batch, and kept;
/// the leading batches are added up as they come. Within a batch G - 1 additions each way do the rest, in registers. A
/// row is read some three times, mostly from a cache.
///
/// Along the row. Columns are cut into blocks of a power of two, narrower than a window. A window then begins in one
/// block and ends in a later one: it is the sum from its first column to the end of the block, at most a few whole
/// blocks, and the sum from the start of a block to its last column. Prefixes and suffixes of blocks are made by the
/// lanes of a warp, and lie in shared memory in planes by column modulo K, so that every access is of 16 neighbouring
/// bytes a thread.
///
/// So only parts of a column are added, and then neighbouring whole columns of a window: where a kernel slides
/// (sliding_samples.cuh) it knows that these are exact.
///
/// Bands and blocks begin where the whole image's and the window's extents put them: parts have the bits of the whole.
/// A pixel is added at most (rows + cols) times.
namespace boxsum::cuda {

inline constexpr int most_real_threads = 512;

// ---- sums -----------------------------------------------------------------------------------------------------------

/// Plain doubles, and behind them pairs of doubles whose second one holds what rounding takes from the first (Ogita,
/// Rump and Oishi 2005).
template <int Plain, int Pairs>
struct real_sums {
    static constexpr int values = Plain + 2 * Pairs, plain = Plain;
    double v[values];

    __device__ void clear() {
#pragma unroll
        for (int k = 0; k < values; ++k) v[k] = 0;
    }

    __device__ void add(const real_sums& b) {
#pragma unroll
        for (int k = 0; k < Plain; ++k) v[k] += b.v[k];
#pragma unroll
        for (int k = Plain; k < values; k += 2) {  // Knuth's sum of two
            const double sum = v[k] + b.v[k], of_b = sum - v[k];
            const double error = (v[k] - (sum - of_b)) + (b.v[k] - of_b);
            v[k + 1] = (v[k + 1] + b.v[k + 1]) + error;
            v[k] = sum;
        }
    }

    __device__ friend real_sums operator+(real_sums a, const real_sums& b) {
        a.add(b);
        return a;
    }
};

template <real_terms Terms>
using sums_of = std::conditional_t<
    Terms == real_terms::value, real_sums<1, 0>,
    std::conditional_t<Terms == real_terms::packed_squares || Terms == real_terms::weighted, real_sums<2, 0>,
                       std::conditional_t<Terms == real_terms::moments, real_sums<0, 2>, real_sums<0, 3>>>>;

/// a * b and what it is rounded by.
struct exact_product {
    double high, low;
};
__device__ inline exact_product multiplied(double a, double b) {
    const double high = a * b;
    return {high, __fma_rn(a, b, -high)};
}

template <real_terms Terms, typename X>
__device__ sums_of<Terms> terms_of_pixel(X pixel, float weight, double unit) {
    const auto x = static_cast<double>(pixel), w = static_cast<double>(weight);
    sums_of<Terms> s;
    s.clear();
    if constexpr (Terms == real_terms::value) {
        s.v[0] = x;
    } else if constexpr (Terms == real_terms::moments) {
        const exact_product square = multiplied(x, x);
        s.v[0] = x;
        s.v[2] = square.high;
        s.v[3] = square.low;
    } else if (weight > 0) {
        if constexpr (Terms == real_terms::packed_squares) {
            s.v[0] = x + unit;
            s.v[1] = x * x;
        }
        if constexpr (Terms == real_terms::weighted) {
            s.v[0] = w * x;
            s.v[1] = w;
        }
        if constexpr (Terms == real_terms::weighted_moments) {
            const exact_product once = multiplied(w, x), twice = multiplied(once.high, x);
            s.v[0] = once.high;
            s.v[1] = once.low;
            s.v[2] = twice.high;
            s.v[3] = twice.low + once.low * x;
            s.v[4] = w;
        }
    }
    return s;
}

/// a / b. With Moderate neither b nor a may be where b, 1 / b, a / b or 2^-53 a are subnormal or infinite, but a may be
/// 0: a division is these operations then, without its branch, across which nothing overlaps.
template <bool Moderate>
__device__ double quotient(double a, double b) {
    if constexpr (Moderate) {
        double y = inverse_approximately(b);
        const double error = __fma_rn(-b, y, 1.0);
        y = __fma_rn(__fma_rn(error, error, error), y, y);
        y = __fma_rn(__fma_rn(-b, y, 1.0), y, y);
        const double q = a * y;
        return __fma_rn(__fma_rn(-b, q, a), y, q);
    } else {
        return a / b;
    }
}

// ---- a block --------------------------------------------------------------------------------------------------------

/// What a kernel is made of.
template <typename PixelType, real_terms TermsOf>
struct real_kernel {
    using Pixel = PixelType;
    static constexpr real_terms Terms = TermsOf;
    static constexpr bool sampled = Terms != real_terms::value && Terms != real_terms::moments;
    static constexpr dtype type = std::is_same_v<Pixel, f64> ? dtype::f64 : dtype::f32;  // as far as it matters
    static constexpr terms_layout layout = layout_of(Terms, type);
    static constexpr int K = layout.cols, G = layout.rows;
    using held = held_pixel<Pixel>;
    static constexpr bool narrow = std::is_same_v<Pixel, narrow_pixel>;
    static_assert(!narrow || Terms == real_terms::weighted);
    using run = std::conditional_t<narrow, narrow_run<K>,
                                   std::conditional_t<sampled, weighted_run<held, K>, real_run<held, K>>>;
    using reader = real_reader<Pixel, run, K, sampled>;
    using sums = sums_of<Terms>;
    static_assert(sums::values == layout.values);

    struct columns {
        sums of[K];

        __device__ void clear() {
#pragma unroll
            for (int i = 0; i < K; ++i) of[i].clear();
        }
        __device__ void add(const columns& b) {
#pragma unroll
            for (int i = 0; i < K; ++i) of[i].add(b.of[i]);
        }
    };

    __device__ static sums term(const real_view& t, const run& r, int i) {
        if constexpr (narrow) {
            const auto w = static_cast<double>(r.w[i]);  // where there is none x is 0, too
            return {{w * static_cast<double>(r.x[i]), w}};
        } else {
            return terms_of_pixel<Terms>(r.x[i], r.weight(i), t.unit);
        }
    }

    /// Adds rows first .. end - 1.
    __device__ static void add_rows(columns& to, const real_view& t, const reader& from, int first, int end) {
        constexpr int together = 4;
#pragma unroll 1
        for (int y = first; y < end; y += together) {
            run rows[together];
            from.read(rows, y, end);
            from.settle(rows, y, end);
#pragma unroll
            for (int i = 0; i < K; ++i) {
                sums all = term(t, rows[together - 1], i);
#pragma unroll
                for (int j = together - 2; j >= 0; --j) all = term(t, rows[j], i) + all;
                to.of[i].add(all);
            }
        }
    }
};

/// Whether windows around rows first_row .. end_row - 1 and columns first_col .. end_col - 1 are wanted.
__device__ inline bool wanted(const real_view& t, int channel, int first_row, int end_row, int first_col, int end_col) {
    const refused_blocks& r = t.refused;
    if (r.words == nullptr) return true;
    const int width = static_cast<int>(t.cols.extent);
    const int top = (first_row > t.first_row ? first_row : t.first_row) - t.first_row,
              bottom = (end_row < t.end_row ? end_row : t.end_row) - t.first_row;
    const int left = first_col > 0 ? first_col : 0, right = end_col < width ? end_col : width;
    if (top >= bottom || left >= right) return false;
    for (int band = top / r.band_rows; band <= (bottom - 1) / r.band_rows; ++band)
        for (int strip = left / r.strip_cols; strip <= (right - 1) / r.strip_cols; ++strip)
            if (r.words[(channel * r.bands + band) * r.strips + strip] != 0) return true;
    return false;
}

/// Sums of the rows of a segment. The core of band k reaches from row (k + 1) B - before to row k B + after. Even
/// segments begin where a core does and end where an earlier one does, odd ones reach from there to the next core.
template <typename Kernel>
__global__ __launch_bounds__(128) void real_segment_kernel(const __grid_constant__ real_view t) {
    constexpr int K = Kernel::K;
    const int slot = static_cast<int>(blockIdx.x) * 128 + static_cast<int>(threadIdx.x);
    if (slot * K >= t.segment_cols) return;
    const int segment = static_cast<int>(blockIdx.y), channel = static_cast<int>(blockIdx.z);
    const int core = static_cast<int>(t.rows.width()) - t.band_rows, rest = core % t.band_rows;
    const int begin = (t.first_band + 1 + segment / 2) * t.band_rows - static_cast<int>(t.rows.before);
    const int first = segment % 2 == 0 ? begin : begin + rest,
              end = segment % 2 == 0 ? begin + rest : begin + t.band_rows;
    const int col = t.first_segment + slot * K;
    if (t.refused.words != nullptr) {  // all that bands and strips take from it
        const auto down = [](int n, int unit) { return n < 0 ? 0 : n / unit * unit; };
        const int first_row = first - static_cast<int>(t.rows.after), end_row = end + static_cast<int>(t.rows.before);
        const int first_col = col - static_cast<int>(t.cols.after), end_col = col + K + static_cast<int>(t.cols.before);
        if (!wanted(t, channel, down(first_row, t.band_rows), down(end_row, t.band_rows) + t.band_rows,
                    down(first_col, t.strip_cols), down(end_col, t.strip_cols) + t.strip_cols))
            return;
    }
    typename Kernel::columns sums;
    sums.clear();
    Kernel::add_rows(sums, t, typename Kernel::reader(t, col, channel, true), first, end);
    auto* const to = static_cast<typename Kernel::columns*>(t.segments);
    to[(static_cast<std::int64_t>(channel) * t.segment_count + segment) * (t.segment_cols / K) + slot] = sums;
}

/// 16 bytes of prefixes or suffixes.
struct alignas(16) sum_unit {
    double v[2];
};

/// Shared memory of a block: prefixes, then suffixes.
template <typename Kernel>
struct real_planes {
    static constexpr int K = Kernel::K, G = Kernel::G, values = Kernel::sums::values, units = G * values / 2,
                         together = values % 2 == 0 ? 1 : G;  ///< rows that are stored at once
    using sums = typename Kernel::sums;
    sum_unit* memory;
    int pitch;

    static constexpr std::size_t bytes(int threads) { return planes_bytes({values, K, G}, threads); }

    /// Rows from `row` on, of column `plane` modulo K, the `at`-th of those.
    __device__ void store(int part, int row, int plane, int at, const sums (&rows)[together]) const {
        const auto value = [&](int k) { return rows[k / values].v[k % values]; };
        const int first = part * units + row * values / 2;
#pragma unroll
        for (int u = 0; u < together * values / 2; ++u)
            memory[((first + u) * K + plane) * pitch + at] = {{value(2 * u), value(2 * u + 1)}};
    }
    /// One of some rows of a thread, which lie in units from `slot` on.
    __device__ void put(int slot, int row, int at, const sums& one) const {
#pragma unroll
        for (int k = 0; k < values; k += values % 2 == 0 ? 2 : 1) {
            const int value = row * values + k;
            sum_unit& unit = memory[(slot + value / 2) * pitch + at];
            if constexpr (values % 2 == 0)
                unit = {{one.v[k], one.v[k + 1]}};
            else
                unit.v[value % 2] = one.v[k];
        }
    }
    __device__ sums get(int slot, int row, int at) const {
        sums one;
#pragma unroll
        for (int k = 0; k < values; k += values % 2 == 0 ? 2 : 1) {
            const int value = row * values + k;
            const sum_unit& unit = memory[(slot + value / 2) * pitch + at];
            if constexpr (values % 2 == 0) {
                one.v[k] = unit.v[0];
                one.v[k + 1] = unit.v[1];
            } else {
                one.v[k] = unit.v[value % 2];
            }
        }
        return one;
    }
    __device__ void load(int part, int plane, int at, sums (&rows)[G]) const {
#pragma unroll
        for (int u = 0; u < units; ++u) {
            const sum_unit unit = memory[((part * units + u) * K + plane) * pitch + at];
            rows[2 * u / values].v[2 * u % values] = unit.v[0];
            rows[(2 * u + 1) / values].v[(2 * u + 1) % values] = unit.v[1];
        }
    }
};

/// Sums of a block's threads before and behind each one, for all rows, by the lanes of a warp: a lane takes a row, a
/// direction and a run of threads. Lanes that each scanned their own sums would shuffle five times as much. In memory
/// that the warp's prefixes and suffixes will have: sums of threads in that of suffixes, results in that of prefixes of
/// the same rows.
template <typename Kernel>
struct thread_scan {
    static constexpr int K = Kernel::K, G = Kernel::G;
    using planes = real_planes<Kernel>;
    using sums = typename Kernel::sums;
    static constexpr int own_slot = planes::units * K, runs = warp_size / (2 * G), length = 2 * G;
    static_assert(K >= 2);

    __device__ static int slot_of(int row, bool back) {
        return row / planes::together * planes::together * sums::values / 2 * K +
               (back ? planes::together * sums::values / 2 : 0);
    }
    __device__ static sums found(const planes& p, int row, bool back, int thread) {
        return p.get(slot_of(row, back), row % planes::together, thread);
    }

    /// Of blocks of `lanes` threads.
    __device__ static void make(const planes& p, const typename Kernel::columns (&all)[G], int lanes, int thread) {
#pragma unroll
        for (int j = 0; j < G; ++j) {
            sums own = all[j].of[0];
#pragma unroll
            for (int i = 1; i < K; ++i) own.add(all[j].of[i]);
            p.put(own_slot, j, thread, own);
        }
        __syncwarp();  // the warp's sums are there
        const int lane = thread % warp_size, place = lane % runs, row = lane / runs / 2;
        const bool back = lane / runs % 2 != 0;
        const int first = thread - lane + (back ? (runs - place) * length - 1 : place * length), step = back ? -1 : 1;
        sums before;  // of the run
        before.clear();
        if (lanes > length) {
            sums all_of_run = p.get(own_slot, row, first);
#pragma unroll
            for (int i = 1; i < length; ++i) all_of_run.add(p.get(own_slot, row, first + i * step));
            const int in_block = place & (lanes / length - 1);
            const auto from_before = [&](int distance) {
                sums other;
#pragma unroll
                for (int k = 0; k < sums::values; ++k)
                    other.v[k] = __shfl_up_sync(~0u, all_of_run.v[k], static_cast<unsigned>(distance));
                return other;
            };
#pragma unroll 1
            for (int distance = 1; distance < lanes / length; distance *= 2) {
                const sums other = from_before(distance);
                if (in_block >= distance) all_of_run.add(other);
            }
            const sums other = from_before(1);
            if (in_block > 0) before = other;
        }
#pragma unroll
        for (int i = 0; i < length; ++i) {
            const int at = first + i * step;
            if (((back ? at + 1 : at) & (lanes - 1)) == 0 && i > 0) before.clear();
            const sums own = p.get(own_slot, row, at);
            p.put(slot_of(row, back), row % planes::together, at, before);
            before.add(own);
        }
        __syncwarp();  // the warp's results are there
    }
};

/// Prefixes and suffixes of G rows of a thread's columns within blocks of `block_cols` columns, to shared memory: of as
/// few rows at once as have whole units of it, for registers.
template <typename Kernel>
__device__ void scan_blocks(const real_planes<Kernel>& planes, const typename Kernel::columns (&all)[Kernel::G],
                            int block_cols, int thread) {
    constexpr int K = Kernel::K, together = real_planes<Kernel>::together;
    using sums = typename Kernel::sums;
    const int in_thread = block_cols < K ? block_cols : K, lanes = block_cols < K ? 1 : block_cols / K;
    if (lanes > 1) thread_scan<Kernel>::make(planes, all, lanes, thread);
#pragma unroll
    for (int row = 0; row < Kernel::G; row += together) {
        const auto* const rows = all + row;
        sums before[together], behind[together];  // of the block's threads before and behind this one
#pragma unroll
        for (int j = 0; j < together; ++j) {
            before[j].clear(), behind[j].clear();
            if (lanes > 1) {
                before[j] = thread_scan<Kernel>::found(planes, row + j, false, thread);
                behind[j] = thread_scan<Kernel>::found(planes, row + j, true, thread);
            }
        }
        const auto store = [&](auto several) {  // blocks in a thread's columns
            constexpr bool within = decltype(several)::value;
            sums chain[together];
#pragma unroll
            for (int i = 0; i < K; ++i) {
                const bool begins = within && (i & (in_thread - 1)) == 0;
#pragma unroll
                for (int j = 0; j < together; ++j) {
                    if (i == 0)
                        chain[j] = within ? rows[j].of[0] : before[j] + rows[j].of[0];
                    else
                        chain[j] = begins ? rows[j].of[i] : chain[j] + rows[j].of[i];
                }
                planes.store(0, row, i, thread, chain);
            }
#pragma unroll
            for (int i = K - 1; i >= 0; --i) {
                const bool ends = within && ((i + 1) & (in_thread - 1)) == 0;
#pragma unroll
                for (int j = 0; j < together; ++j) {
                    if (i == K - 1)
                        chain[j] = within ? rows[j].of[i] : rows[j].of[i] + behind[j];
                    else
                        chain[j] = ends ? rows[j].of[i] : rows[j].of[i] + chain[j];
                }
                planes.store(1, row, i, thread, chain);
            }
        };
        lanes > 1 ? store(std::false_type()) : store(std::true_type());
    }
}

/// Windows around K columns of G rows, some of which have results.
template <typename Kernel>
struct real_windows_of_thread {
    int row, first, end;  ///< rows row + first .. row + end - 1
    int col, cols;        ///< columns col .. col + cols - 1
    int channel;
    typename Kernel::columns rows[Kernel::G];
};

/// Calls emit(real_windows_of_thread) for all windows of a block. Grid: strips * chunks, channels.
template <typename Kernel, typename Emit>
__device__ void for_each_real_window(const real_view& t, Emit emit) {
    constexpr int K = Kernel::K, G = Kernel::G;
    using sums = typename Kernel::sums;
    using columns = typename Kernel::columns;
    using run = typename Kernel::run;
    const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
    const int strip = static_cast<int>(blockIdx.x) % t.strips, chunk = static_cast<int>(blockIdx.x) / t.strips;
    const int before = static_cast<int>(t.rows.before), after = static_cast<int>(t.rows.after);
    const int tall = before + after + 1, wide = static_cast<int>(t.cols.width());
    const int left = static_cast<int>(t.cols.before), right = static_cast<int>(t.cols.after);
    const int width = static_cast<int>(t.cols.extent);
    const int B = t.band_rows, batches = B / G;

    const int first_col = strip * t.strip_cols;
    const int end_col = first_col + t.strip_cols < width ? first_col + t.strip_cols : width;
    const int first_read = (first_col - left) & ~(K - 1);  // a multiple of K, also below 0
    const int read_col = first_read + K * thread, skipped = first_col - left - first_read;
    const bool reads = read_col < end_col + right;
    const real_planes<Kernel> planes{dynamic_shared<sum_unit>(), threads + 1};
    real_windows_of_thread<Kernel> windows;
    windows.channel = static_cast<int>(blockIdx.y);
    windows.col = first_col + K * thread;
    windows.cols = windows.col + K <= end_col ? K : end_col - windows.col;
    const typename Kernel::reader reader(t, read_col, windows.channel, reads);

    const int first_band = t.first_band + chunk * t.chunk_bands;
    const int all_bands = t.first_band + t.bands;
    const int end_band = first_band + t.chunk_bands < all_bands ? first_band + t.chunk_bands : all_bands;
#pragma unroll 1
    for (int band = first_band; band < end_band; ++band) {
        const int R = band * B;  // its first row
        if (!wanted(t, windows.channel, R, R + B, first_col, end_col)) continue;
        columns trailing[most_batches];  // the core, and the batches of trailing rows behind each
        columns sum;
        sum.clear();
        if (tall > B) {
            if (t.segments != nullptr) {
                const int slots = t.segment_cols / K, count = 2 * ((tall - B) / B) + 1;
                const auto* from =
                    static_cast<const columns*>(t.segments) +
                    (static_cast<std::int64_t>(windows.channel) * t.segment_count + 2 * (band - t.first_band)) * slots +
                    (read_col - t.first_segment) / K;
                if (reads)
                    for (int g = 0; g < count; ++g) sum.add(from[static_cast<std::int64_t>(g) * slots]);
            } else {
                Kernel::add_rows(sum, t, reader, R + B - before, R + after + 1);
            }
        }
#pragma unroll 1
        for (int b = batches - 1; b > 0; --b) {
            trailing[b] = sum;
            run rows[G];
            reader.read(rows, R + b * G - before);
            reader.settle(rows, R + b * G - before);
#pragma unroll
            for (int i = 0; i < K; ++i) {
                sums all = Kernel::term(t, rows[G - 1], i);
#pragma unroll
                for (int j = G - 2; j >= 0; --j) all = Kernel::term(t, rows[j], i) + all;
                sum.of[i] = all + sum.of[i];
            }
        }
        trailing[0] = sum;
        columns leading;
        leading.clear();
        run trail[G], lead[G];
        const auto load = [&](int row) {
            reader.read(trail, row - before);
            reader.read(lead, row + after + 1);
        };
        load(R);
#pragma unroll 1
        for (int b = 0; b < batches; ++b) {
            const int row = R + b * G;
            if (row >= t.end_row) break;
            reader.settle(trail, row - before);
            reader.settle(lead, row + after + 1);
            columns(&V)[G] = windows.rows;
            if (tall >= G) {
                const columns& kept = trailing[b];
#pragma unroll
                for (int i = 0; i < K; ++i) {
                    sums back = kept.of[i] + leading.of[i];
#pragma unroll
                    for (int j = G - 1; j >= 0; --j) V[j].of[i] = back = Kernel::term(t, trail[j], i) + back;
                    sums front = Kernel::term(t, lead[0], i);
#pragma unroll
                    for (int j = 1; j < G; ++j) {
                        V[j].of[i].add(front);
                        front.add(Kernel::term(t, lead[j], i));
                    }
                    leading.of[i].add(front);
                }
            } else {  // row j + k of the trailing ones, which the leading ones follow
                const auto directly = [&](auto rows_of_window) {
                    constexpr int n = decltype(rows_of_window)::value;
#pragma unroll
                    for (int j = 0; j < G; ++j)
#pragma unroll
                        for (int i = 0; i < K; ++i) {
                            V[j].of[i].clear();  // so that -0 is 0, as where sums slide
                            V[j].of[i].add(Kernel::term(t, trail[j], i));
#pragma unroll
                            for (int k = 1; k < n; ++k)
                                V[j].of[i].add(j + k < G ? Kernel::term(t, trail[(j + k) % G], i)
                                                         : Kernel::term(t, lead[(j + k - n + G) % G], i));
                        }
                };
                if (tall == 1)
                    directly(std::integral_constant<int, 1>());
                else if constexpr (G > 2) {
                    if (tall == 2)
                        directly(std::integral_constant<int, 2>());
                    else
                        directly(std::integral_constant<int, 3>());
                }
            }
            if (b + 1 < batches) load(row + G);
            if (row + G <= t.first_row) continue;  // of all of the block
            __syncthreads();                       // the batch before has been read
            scan_blocks<Kernel>(planes, V, t.block_cols, thread);
            __syncthreads();  // prefixes and suffixes are there
            if (windows.cols <= 0) continue;
            const int shift = t.block_cols - 1;
#pragma unroll
            for (int i = 0; i < K; ++i) {
                // Planes are the same ones for all threads.
                const int first = skipped + i, begin = K * thread + first, end_of_first = first + wide - 1,
                          last = begin + wide - 1;
                sums window[G], part[G];
                planes.load(1, first & (K - 1), thread + first / K, window);
                if (wide > 1) {
#pragma unroll 1
                    for (int end = (begin | shift) + t.block_cols; end < (last | shift); end += t.block_cols) {
                        planes.load(0, end & (K - 1), static_cast<int>(static_cast<unsigned>(end) / K), part);
#pragma unroll
                        for (int j = 0; j < G; ++j) window[j].add(part[j]);
                    }
                    planes.load(0, end_of_first & (K - 1), thread + end_of_first / K, part);
#pragma unroll
                    for (int j = 0; j < G; ++j) window[j].add(part[j]);
                }
#pragma unroll
                for (int j = 0; j < G; ++j) V[j].of[i] = window[j];
            }
            windows.row = row;
            windows.first = row < t.first_row ? t.first_row - row : 0;
            windows.end = row + G <= t.end_row ? G : t.end_row - row;
            emit(windows);
        }
    }
}

// ---- results --------------------------------------------------------------------------------------------------------

/// One result; without data it is not wanted.
struct run_output {
    char* data = nullptr;
    std::int64_t row_stride = 0;
    dtype type = dtype::f32;
    double fill = 0;
    bool in_units = false;  ///< four elements of one channel can be written together

    run_output() = default;
    run_output(const any_view& v, const filters::window_job& job)
        : data(static_cast<char*>(v.data)), row_stride(v.shape.row_stride), type(v.shape.type) {
        fill = job.fill.value_or(is_floating(type) ? std::nan("") : 0);
        const auto unit = static_cast<std::int64_t>(size_of(type)) * 4;
        in_units =
            v.shape.channels == 1 && reinterpret_cast<std::uintptr_t>(data) % unit == 0 && row_stride % unit == 0;
    }
};

/// One element, of any type.
__device__ __noinline__ inline void store_element(const run_output& to, int row, std::int64_t element, double x) {
    char* const at = to.data + row * to.row_stride;
    switch (to.type) {
        case dtype::u8:
            reinterpret_cast<u8*>(at)[element] = static_cast<u8>(x);
            break;
        case dtype::u16:
            reinterpret_cast<u16*>(at)[element] = static_cast<u16>(x);
            break;
        case dtype::s16:
            reinterpret_cast<s16*>(at)[element] = static_cast<s16>(x);
            break;
        case dtype::u32:
            reinterpret_cast<u32*>(at)[element] = static_cast<u32>(x);
            break;
        case dtype::s32:
            reinterpret_cast<s32*>(at)[element] = static_cast<s32>(x);
            break;
        case dtype::s64:
            reinterpret_cast<s64*>(at)[element] = static_cast<s64>(x);
            break;
        case dtype::f32:
            reinterpret_cast<f32*>(at)[element] = static_cast<f32>(x);
            break;
        default:
            reinterpret_cast<f64*>(at)[element] = x;
    }
}

template <typename T, int K>
__device__ void store_units(T* to, const T (&x)[K]) {
    constexpr int at_once = K * sizeof(T) > 16 ? 16 / static_cast<int>(sizeof(T)) : K;
#pragma unroll
    for (int k = 0; k < K; k += at_once) {
        T part[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) part[i] = x[k + i];
        store_streaming(to + k, part);
    }
}

/// K elements of one row, of which the first `cols` are wanted; fill where bit i of `given` is not set.
template <int K>
__device__ void store_row(const run_output& to, int row, int col, int cols, int channels, int channel,
                          const double (&x)[K], unsigned given) {
    if (to.data == nullptr) return;
    const auto value = [&](int i) { return (given >> i & 1u) != 0 ? x[i] : to.fill; };
    if (to.in_units && cols == K && to.type == dtype::f32) {
        float out[K];
#pragma unroll
        for (int i = 0; i < K; ++i) out[i] = static_cast<float>(value(i));
        return store_streaming(reinterpret_cast<float*>(to.data + row * to.row_stride) + col, out);
    }
    if (to.in_units && cols == K && to.type == dtype::f64) {
        double out[K];
#pragma unroll
        for (int i = 0; i < K; ++i) out[i] = value(i);
        return store_units(reinterpret_cast<double*>(to.data + row * to.row_stride) + col, out);
    }
    if constexpr (K == 4) {
        const auto together = [&](auto integer, auto sign) {
            using T = decltype(integer);
            T out[K];
#pragma unroll
            for (int i = 0; i < K; ++i) out[i] = static_cast<T>(static_cast<decltype(sign)>(value(i)));
            store_streaming(reinterpret_cast<T*>(to.data + row * to.row_stride) + col, out);
        };
        if (to.in_units && cols == K && to.type == dtype::u8) return together(u8{}, u8{});
        if (to.in_units && cols == K && (to.type == dtype::u16 || to.type == dtype::s16)) return together(u16{}, 0);
    }
#pragma unroll
    for (int i = 0; i < K; ++i)
        if (i < cols) store_element(to, row, std::int64_t{col + i} * channels + channel, value(i));
}

// ---- launches -------------------------------------------------------------------------------------------------------

inline double noise_of(const filters::window_job& job) {
    const auto depth = static_cast<double>(job.rows.width() + job.cols.width());
    return 4 * depth * depth * 0x1p-106;
}

template <typename Kernel>
real_view on_device(const real_windows& w, const real_shape& shape) {
    const filters::window_job& job = *w.job;
    const view_shape& s = w.image.shape;
    real_view t{};
    t.rows = job.rows;
    t.cols = job.cols;
    t.image = static_cast<const char*>(w.image.data);
    t.image_stride = s.row_stride;
    t.mask = static_cast<const char*>(w.mask.data);
    t.mask_stride = w.mask.shape.row_stride;
    t.weights = static_cast<const char*>(w.weights.data);
    t.weights_stride = w.weights.shape.row_stride;
    t.type = s.type;
    t.channels = static_cast<int>(s.channels);
    t.mask_channels = static_cast<int>(w.mask.shape.channels);
    t.weights_channels = static_cast<int>(w.weights.shape.channels);
    t.first_row = static_cast<int>(w.first_row);
    t.end_row = static_cast<int>(w.end_row);
    t.first_taken = static_cast<int>(w.first_row - job.rows.before);
    t.end_taken = static_cast<int>(w.end_row + job.rows.after);
    t.first_plain = std::max(t.first_taken, 0);
    t.end_plain = std::min(t.end_taken, static_cast<int>(job.rows.extent));
    t.band_rows = shape.band_rows;
    t.first_band = shape.first_band;
    t.bands = shape.bands;
    t.chunk_bands = shape.chunk_bands;
    t.strip_cols = shape.strip_cols;
    t.strips = shape.strips;
    t.block_cols = shape.block_cols;
    t.segments = shape.prepared ? w.scratch : nullptr;
    t.refused = w.refused;
    t.segment_count = shape.segments;
    t.segment_cols = shape.segment_cols;
    t.first_segment = shape.first_segment;
    t.unit = packed_unit(s.type);
    t.omits_nan = job.nan == nan_mode::omit;
    t.has_nodata = job.nodata.has_value();
    t.nodata = job.nodata.value_or(0);
    t.asks = t.weights == nullptr || t.mask != nullptr || t.has_nodata || (t.omits_nan && is_floating(s.type));
    if (job.rows.border == border_mode::constant) {
        const bool is_nan = job.border_value != job.border_value, nodata_is_nan = t.nodata != t.nodata;
        const bool counts = is_nan ? !(t.omits_nan || (t.has_nodata && nodata_is_nan))
                                   : !(t.has_nodata && job.border_value == t.nodata);
        t.outside_weight = counts ? 1 : 0;
        if (counts) t.outside = job.border_value;
    }
    if (std::is_same_v<typename Kernel::Pixel, u16> && s.type == dtype::s16) {  // held 32768 higher
        if (t.outside_weight > 0) t.outside += 32768;
        t.nodata += 32768;
    }
    const auto unit = [](dtype type) {
        return std::min<std::int64_t>(Kernel::K * static_cast<std::int64_t>(size_of(type)), 16);
    };
    t.in_units = lies_in_units(w.image, unit(s.type)) &&
                 (w.mask.data == nullptr || lies_in_units(w.mask, unit(dtype::u8))) &&
                 (w.weights.data == nullptr || lies_in_units(w.weights, unit(dtype::f32)));
    t.pixels = static_cast<double>(job.rows.full) * static_cast<double>(job.cols.full);
    t.inverse = 1 / t.pixels;
    t.first_uncut_row = static_cast<int>(job.rows.first_uncut());
    t.end_uncut_row = static_cast<int>(job.rows.end_uncut());
    t.first_uncut_col = static_cast<int>(job.cols.first_uncut());
    t.end_uncut_col = static_cast<int>(job.cols.end_uncut());
    t.noise = noise_of(job);
    return t;
}

/// Launches the segments where they are wanted, and `kernel`, whose first parameter is the view.
template <typename Kernel, typename... Parameters, typename... Arguments>
void launch_real(void (*kernel)(real_view, Parameters...), const real_windows& w, stream_ref stream,
                 const Arguments&... arguments) {
    const real_shape shape = real_shape_of(*w.job, Kernel::Terms, w.first_row, w.end_row);
    const real_view t = on_device<Kernel>(w, shape);
    const auto channels = static_cast<unsigned>(t.channels);
    if (shape.prepared) {
        const auto blocks = static_cast<unsigned>((shape.segment_cols / Kernel::K + 127) / 128);
        launch(real_segment_kernel<Kernel>,
               {.grid = {blocks, static_cast<unsigned>(shape.segments), channels}, .block = 128}, stream, t);
    }
    const int chunks = (shape.bands + shape.chunk_bands - 1) / shape.chunk_bands;
    launch(kernel,
           {.grid = {static_cast<unsigned>(shape.strips * chunks), channels, 1},
            .block = static_cast<unsigned>(shape.threads),
            .shared_bytes = real_planes<Kernel>::bytes(shape.threads)},
           stream, t, arguments...);
}

}  // namespace boxsum::cuda
