// A row of windows: the sums of the columns between its two table rows are a difference of these, and the sums of
// windows a difference of those sums, `window columns` entries apart. Zeros before the first column and copies of the
// last one's sum behind it make the windows at both borders no case of their own.
//
//     row below the window:    b0 b1 b2 b3 b4 b5
//     row above it:            t0 t1 t2 t3 t4 t5
//     upto:               0 0  d0 d1 d2 d3 d4 d5  d5        d = b - t, sums of all columns up to each
//     windows of 1 left, 1 right:  d1 - 0, d2 - 0, d3 - d0, d4 - d1, d5 - d2, d5 - d3

#include "cpu/queries/window_queries.hpp"

#include "core/box_variance.hpp"
#include "cpu/host.hpp"
#include "cpu/queries/window_rows.hpp"
#include "cpu/team.hpp"

#include <boxsum/memory.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace boxsum::cpu {
namespace {

constexpr std::int64_t largest_team = 256;

/// What all rows share. Extents of the window are within the image.
struct rows_of_windows {
    const window_query& query;
    const window_row_kernels& kernels;
    std::int64_t rows, cols, channels, n;      ///< of the image; elements of a row
    std::int64_t above, below, before, right;  ///< `before`: columns from the pixel's to the one left of the window
    f64* counts = nullptr;                     ///< columns of each window
    f64* shares = nullptr;                     ///< their inverses
    std::byte* scratch = nullptr;
    std::size_t scratch_bytes = 0;  ///< of a thread
};

/// Rows of scratch of one thread: each has room for `upto` of 8-byte entries.
enum scratch_row { upto_row, sums_row, squares_row, first_row, second_row, result_row, scratch_rows };

template <typename Use>
void visit_table_rows(const window_row_kernels& kernels, dtype type, const Use& use) {
    std::apply(
        [&](const auto&... k) {
            (..., (dtype_of<typename std::remove_cvref_t<decltype(k)>::entry> == type ? use(k) : void()));
        },
        kernels.table);
}

/// The windows of one row of pixels.
class row_of_windows {
  public:
    row_of_windows(const rows_of_windows& all, int thread, std::int64_t plane, std::int64_t row)
        : all_(all),
          scratch_(all.scratch + static_cast<std::size_t>(thread) * all.scratch_bytes),
          plane_(plane),
          row_(row),
          top_(std::max(row - all.above, std::int64_t{0})),
          bottom_(std::min(row + all.below, all.rows - 1)) {}

    void answer() {
        const any_view& out = all_.query.out;
        std::byte* const to =
            static_cast<std::byte*>(out.data) + plane_ * out.shape.plane_stride + row_ * out.shape.row_stride;
        if (all_.query.wanted == window_result::sums) {
            sum(all_.query.sums, to);
            return put_offset_back(to);
        }
        if (all_.query.wanted == window_result::means) return mean(to);
        const bool narrow = out.shape.type == dtype::f32;
        f64* const result = narrow ? at<f64>(result_row) : reinterpret_cast<f64*>(to);
        vary(result);
        if (narrow) all_.kernels.narrow(reinterpret_cast<f32*>(to), result, all_.n);
    }

  private:
    template <typename T>
    T* at(scratch_row which) const {
        return reinterpret_cast<T*>(scratch_ + all_.scratch_bytes / scratch_rows * which);
    }
    f64 height() const { return static_cast<f64>(bottom_ - top_ + 1); }

    /// Window sums in the table's type.
    void sum(const const_any_table_view& table, void* out) const {
        visit_table_rows(all_.kernels, table.entries.shape.type, [&]<typename T>(const table_row_kernels<T>& k) {
            const view_shape& s = table.entries.shape;
            const std::int64_t border = table.form.border(), channels = all_.channels;
            const auto entries = [&](std::int64_t r) {
                return reinterpret_cast<const T*>(static_cast<const std::byte*>(table.entries.data) +
                                                  plane_ * s.plane_stride + r * s.row_stride) +
                       border * channels;
            };
            const std::int64_t over = top_ - 1 + border;
            T* const upto = at<T>(upto_row);
            T* const first = upto + all_.before * channels;
            std::fill(upto, first, T{});
            k.differences(first, entries(bottom_ + border), over < 0 ? nullptr : entries(over), all_.n);
            if (table.form.origin.col > 0) {  // what lies before the first column is no zero then
                k.differences(upto, entries(bottom_ + border) - channels, entries(over) - channels, channels);
                for (T* x = upto + channels; x < first; ++x) *x = x[-channels];
            }
            for (std::int64_t i = all_.n; i < all_.n + all_.right * channels; ++i) first[i] = first[i - channels];
            k.sums(static_cast<T*>(out), upto, (all_.before + all_.right) * channels, all_.n);
        });
    }
    void convert(dtype type, f64* out, const void* sums) const {
        visit_table_rows(all_.kernels, type, [&]<typename T>(const table_row_kernels<T>& k) {
            k.convert(out, static_cast<const T*>(sums), all_.n);
        });
    }
    void widen(dtype type, u64* out, const void* sums) const {
        visit_table_rows(all_.kernels, type, [&]<typename T>(const table_row_kernels<T>& k) {
            k.widen(out, static_cast<const T*>(sums), all_.n);
        });
    }

    /// Adds the form's offset to sums of the image.
    void put_offset_back(std::byte* sums) const {
        const const_any_table_view& table = all_.query.sums;
        if (!table.form.has_offset()) return;
        visit_table_rows(all_.kernels, table.entries.shape.type, [&]<typename T>(const table_row_kernels<T>&) {
            T* const s = reinterpret_cast<T*>(sums);
            for (std::int64_t i = 0; i < all_.n; ++i)
                s[i] = boxsum::detail::with_offset(s[i], offset_of<T>(i), bottom_ - top_ + 1,
                                                   static_cast<std::int64_t>(all_.counts[i]));
        });
    }
    /// What was taken from element i of a row.
    template <typename T>
    f64 offset_of(std::int64_t i) const {
        return static_cast<f64>(
            static_cast<T>(all_.query.sums.form.offset_of(i % all_.channels, plane_, all_.channels)));
    }

    /// Means of pixels less the offset, and the offset, both in 64f.
    void shifted_mean(std::byte* to) const {
        const bool narrow = all_.query.out.shape.type == dtype::f32;
        f64* const means = narrow ? at<f64>(result_row) : reinterpret_cast<f64*>(to);
        visit_table_rows(all_.kernels, all_.query.sums.entries.shape.type,
                         [&]<typename T>(const table_row_kernels<T>& k) {
                             k.means_64f(means, at<T>(sums_row), height(), all_.counts, all_.n);
                             for (std::int64_t i = 0; i < all_.n; ++i) means[i] += offset_of<T>(i);
                         });
        if (narrow) all_.kernels.narrow(reinterpret_cast<f32*>(to), means, all_.n);
    }

    void mean(std::byte* to) const {
        sum(all_.query.sums, at<void>(sums_row));
        if (all_.query.sums.form.has_offset()) return shifted_mean(to);
        visit_table_rows(
            all_.kernels, all_.query.sums.entries.shape.type, [&]<typename T>(const table_row_kernels<T>& k) {
                if (all_.query.out.shape.type == dtype::f32)
                    k.means_32f(reinterpret_cast<f32*>(to), at<T>(sums_row), 1 / height(), all_.shares, all_.n);
                else
                    k.means_64f(reinterpret_cast<f64*>(to), at<T>(sums_row), height(), all_.counts, all_.n);
            });
    }

    void vary(f64* result) const {
        const dtype type = all_.query.sums.entries.shape.type, of_squares = all_.query.squares.entries.shape.type;
        sum(all_.query.sums, at<void>(sums_row));
        sum(all_.query.squares, at<void>(squares_row));
        if (is_floating(type) || is_floating(of_squares)) {
            convert(type, at<f64>(first_row), at<void>(sums_row));
            convert(of_squares, at<f64>(second_row), at<void>(squares_row));
            return all_.kernels.variances(result, at<f64>(first_row), at<f64>(second_row), height(), all_.counts,
                                          all_.n);
        }
        u64* const s = at<u64>(first_row);
        u64* const q = at<u64>(second_row);
        widen(type, s, at<void>(sums_row));
        widen(of_squares, q, at<void>(squares_row));
        const std::int64_t most = (bottom_ - top_ + 1) * std::min(all_.before + all_.right, all_.cols);
        // Squares below 0, which signed entries that wrapped make, have all 64 bits.
        const u64 bits = (is_signed(type) ? all_.kernels.magnitude_bits : all_.kernels.bits)(s, all_.n);
        if (std::bit_width(static_cast<u64>(most)) + std::bit_width(all_.kernels.bits(q, all_.n)) <= 64 &&
            std::bit_width(bits) <= 32)
            return all_.kernels.exact_variances(result, s, q, height(), all_.counts, all_.n);
        for (std::int64_t i = 0; i < all_.n; ++i)
            result[i] = variance_of(as_scalar(type, s[i]), as_scalar(of_squares, q[i]),
                                    pixels_of(bottom_ - top_ + 1, static_cast<std::int64_t>(all_.counts[i])));
    }
    static scalar as_scalar(dtype type, u64 bits) {
        scalar x;
        x.type = type;
        if (is_signed(type))
            x.s = static_cast<s64>(bits);
        else
            x.u = bits;
        return x;
    }

    const rows_of_windows& all_;
    std::byte* scratch_;
    std::int64_t plane_, row_, top_, bottom_;
};

void run(void* context, int thread, int threads) {
    const rows_of_windows& all = *static_cast<const rows_of_windows*>(context);
    const std::int64_t rows = all.query.out.shape.planes * all.rows;
    for (std::int64_t i = rows * thread / threads; i < rows * (thread + 1) / threads; ++i)
        row_of_windows(all, thread, i / all.rows, i % all.rows).answer();
}

}  // namespace

void answer_windows(const window_query& query, int threads) {
    const view_shape& s = query.out.shape;
    const window& w = query.window;
    rows_of_windows all{query,
                        window_rows_of_this_machine(),
                        s.rows,
                        s.cols,
                        s.channels,
                        s.cols * s.channels,
                        std::min(w.above, s.rows),
                        std::min(w.below, s.rows),
                        w.left < s.cols ? w.left + 1 : s.cols,
                        std::min(w.right, s.cols - 1)};
    const std::int64_t bytes = s.planes * s.rows * all.n * 16;
    const int team =
        static_cast<int>(std::min({std::int64_t{choose_threads(bytes, threads)}, s.planes * s.rows, largest_team}));
    const auto padded = static_cast<std::size_t>((all.n + (all.before + all.right) * s.channels + 7) / 8 * 64);
    all.scratch_bytes = scratch_rows * padded;
    const host_buffer scratch =
        memory_pool::shared().acquire(2 * padded + all.scratch_bytes * static_cast<std::size_t>(team));
    all.counts = static_cast<f64*>(scratch.data());
    all.shares = all.counts + padded / sizeof(f64);
    all.scratch = static_cast<std::byte*>(scratch.data()) + 2 * padded;
    for (std::int64_t c = 0; c < s.cols; ++c) {
        const std::int64_t first = std::max(c - all.before + 1, std::int64_t{0});
        const std::int64_t last = std::min(c + all.right, s.cols - 1);
        const auto count = static_cast<f64>(last - first + 1);
        std::fill_n(all.counts + c * s.channels, s.channels, count);
        std::fill_n(all.shares + c * s.channels, s.channels, 1 / count);
    }
    run_team(team, run, &all);
}

}  // namespace boxsum::cpu
