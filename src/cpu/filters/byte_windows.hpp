#pragma once

#include "cpu/filters/extend_row.hpp"
#include "cpu/filters/integer_windows.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

/// Windows of 8-bit images, fused with what becomes of them (byte_windows_impl.hpp has the layout).
/// Column sums of windows of up to 257 rows fit 16 bits, of up to 128 rows so do their differences along the row; of
/// taller windows, and with spreads of more than 128 rows, the row that enters less the row that leaves is summed along
/// the row and added to a window per pixel.
namespace boxsum::filters {

/// Whether the fused kernels do these windows. `spread`: with P = x (255 - x) / 2, whose sums have to fit 32 bits.
inline bool has_byte_windows(const row_job& job, bool spread) {
    return job.shape.type == dtype::u8 && !job.weighted && !job.rows.reduced() && !job.cols.reduced() &&
           job.largest_window <= (spread ? 500000 : largest_32_bit_window<u8>);
}

/// Planes of even and odd elements, with room for what lies beyond both ends of the row.
class byte_planes {
  public:
    explicit byte_planes(const row_job& job) : channels_(job.shape.channels) {
        const window_axis& axis = job.cols;
        const std::int64_t block = job.kernels->byte->block;
        const std::int64_t margin = (std::max(axis.before + 1, axis.after) * channels_ / block + 2) * block / 2;
        const std::int64_t length = margin * 2 + (job.n() + block) / 2 + 1;
        memory_ = work_buffer<u16>(2 * length);
        std::fill_n(memory_.data(), 2 * length, u16{0});
        even = memory_.data() + margin;
        odd = even + length;
    }

    /// Continues the row beyond its ends, on the left by one column more; `constant`: columns beyond a constant border.
    void extend(const window_axis& axis, u16 constant) const {
        const std::int64_t first = -axis.before - 1, end = axis.extent + axis.after;
        if (axis.border == border_mode::constant) {
            const auto fill = [&](std::int64_t begin, std::int64_t stop) {
                for (std::int64_t k = 0; k < 2; ++k)
                    std::fill(plane(k) + elements_before(begin * channels_, k),
                              plane(k) + elements_before(stop * channels_, k), constant);
            };
            fill(first, 0);
            fill(axis.extent, end);
        }
        if (!axis.continues()) return;  // columns beyond a cut are 0 as they were
        const auto run = [&](std::int64_t to, std::int64_t from, std::int64_t count, std::int64_t step) {
            if (channels_ > 1) return copy_columns(to, from, count, step);
            for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 2); ++i) {  // every other column
                u16* const put = plane(to + i) + elements_before(to + i, to + i);
                const std::int64_t source = from + i * step, many = (count - i + 1) / 2;
                const u16* const x = plane(source) + elements_before(source, source);
                if (step > 0)
                    std::copy_n(x, many, put);
                else if (step < 0)
                    copy_mirrored(put, x, many, 1);
                else
                    std::fill_n(put, many, *x);
            }
        };
        for_each_run(axis, first, 0, run);
        for_each_run(axis, axis.extent, end, run);
    }

    u16 *even = nullptr, *odd = nullptr;

  private:
    /// Elements of the parity of `k`.
    u16* plane(std::int64_t k) const { return (k & 1) != 0 ? odd : even; }
    /// How many elements of that parity lie between element 0 and `e`; negative before it.
    static std::int64_t elements_before(std::int64_t e, std::int64_t k) { return (e + 1 - (k & 1)) >> 1; }
    u16& at(std::int64_t e) const { return plane(e)[e >> 1]; }

    void copy_columns(std::int64_t to, std::int64_t from, std::int64_t count, std::int64_t step) const {
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t k = 0; k < channels_; ++k)
                at((to + i) * channels_ + k) = at((from + i * step) * channels_ + k);
    }

    std::int64_t channels_;
    work_buffer<u16> memory_;
};

/// Rows of P = x (255 - x) / 2.
class spread_rows final : public row_source<u16> {
  public:
    spread_rows(row_source<u8>& rows, std::int64_t n) : rows_(rows), n_(n) {
        for (auto& row : kept_) row = work_buffer<u16>(n);
    }
    static u16 of(u32 x) { return static_cast<u16>(x * (255 - x) / 2); }

    const u16* row(std::int64_t row) override {
        const u8* const x = rows_.row(row);
        u16* const to = kept_[turn_ ^= 1].data();
        for (std::int64_t i = 0; i < n_; ++i) to[i] = of(x[i]);
        return to;
    }

  private:
    row_source<u8>& rows_;
    std::int64_t n_;
    std::array<work_buffer<u16>, 2> kept_;
    std::size_t turn_ = 0;
};

/// Rows of an image whose pixels may not count: those that do and 0 for others, and 1 and 0.
class sampled_bytes {
    struct kept {
        std::int64_t row = -1;
        work_buffer<u8> values, counts;
    };
    struct source final : row_source<u8> {
        source(sampled_bytes& rows, work_buffer<u8> kept::*which) : all(rows), part(which) {}
        const u8* row(std::int64_t row) override { return (all.find(row).*part).data(); }
        sampled_bytes& all;
        work_buffer<u8> kept::*part;
    };

  public:
    sampled_bytes(const row_job& job, std::int64_t plane)
        : values(*this, &kept::values), counts(*this, &kept::counts), job_(job), plane_(plane) {
        const std::int64_t blocks = job.n() + job.kernels->byte->block;
        for (kept& k : kept_) {
            k.values = work_buffer<u8>(blocks);
            k.counts = work_buffer<u8>(blocks);
        }
        if (job.masked && job.mask.shape.channels != job.shape.channels) mask_ = work_buffer<u8>(job.n());
    }

    /// Whether pixels beyond a constant border count.
    static bool counts_beyond(const row_job& job) {
        return job.rows.border == border_mode::constant && !(job.nodata && *job.nodata == job.border_value);
    }

    /// Before it is asked for.
    void fetch(std::int64_t row) const {
        if (row < 0) return;
        fetch_lines(job_.pixels<u8>(row, plane_), job_.n());
        if (job_.masked) fetch_lines(given_mask(row), job_.shape.cols * job_.mask.shape.channels);
    }

    source values, counts;  ///< of either the last two rows live

  private:
    const kept& find(std::int64_t row) {
        if (kept_[latest_].row == row) return kept_[latest_];
        kept& to = kept_[latest_ ^= 1];
        if (to.row == row) return to;
        to.row = row;
        job_.kernels->byte->sample(to.values.data(), to.counts.data(), job_.pixels<u8>(row, plane_), mask_of(row),
                                   job_.nodata ? static_cast<int>(*job_.nodata) : -1, job_.n());
        return to;
    }

    const u8* given_mask(std::int64_t row) const {
        return row_of<u8>(job_.mask, row - job_.part_row, job_.mask.shape.planes == 1 ? 0 : plane_);
    }

    /// Of every element; null without one.
    const u8* mask_of(std::int64_t row) {
        if (!job_.masked) return nullptr;
        const u8* const mask = given_mask(row);
        const std::int64_t channels = job_.shape.channels;
        if (job_.mask.shape.channels == channels) return mask;
        for (std::int64_t c = 0; c < job_.shape.cols; ++c) std::fill_n(mask_.data() + c * channels, channels, mask[c]);
        return mask_.data();
    }

    const row_job& job_;
    std::int64_t plane_;
    std::array<kept, 2> kept_;
    work_buffer<u8> mask_;
    std::size_t latest_ = 0;
};

class byte_window_rows {
  public:
    /// `most`: of a pixel. `beyond`: a pixel beyond a constant border, 0 with others.
    byte_window_rows(const row_job& job, row_source<u8>& rows, u8 most, u8 beyond, bool spread)
        : job_(job),
          source_(rows),
          beyond_(beyond),
          spread_(spread),
          runs_(job.rows.full * most > (spread ? 32767 : 65535)),
          wide_(!runs_ && job.rows.full * most > 32767),
          block_(job.kernels->byte->block),
          sums_(job),
          outside_(job.n() + block_),
          cols_(round_up(job.n())),
          col_reciprocals_(round_up(job.n())) {
        if (spread) spreads_.emplace(job);
        std::fill_n(outside_.data(), job.n() + block_, beyond);
        for (std::int64_t c = 0; c < round_up(job.n()); ++c) {
            const auto count = static_cast<u32>(c < job.n() ? job.cols.count(c / job.shape.channels) : 1);
            cols_[lane_order(c)] = count;
            col_reciprocals_[lane_order(c)] = 1 / static_cast<f32>(count);
        }
        const std::int64_t channels = job.shape.channels, end = job.cols.end_uncut() * channels;
        counts_ = {1,
                   cols_.data(),
                   col_reciprocals_.data(),
                   static_cast<u32>(job.cols.full),
                   round_up(job.cols.first_uncut() * channels),
                   end == job.n() ? round_up(end) : end / block_ * block_,
                   nullptr};
    }

    /// The windows around `row`: the first of a band, then one after the other.
    void move_to(std::int64_t row, bool first) {
        const byte_kernels& kernels = *job_.kernels->byte;
        const u8 *in = nullptr, *out = nullptr;
        if (first) {
            start(row);
            in = out = outside_.data();  // no change
        } else {
            in = pixels(job_.rows.source(row + job_.rows.after));
            out = pixels(job_.rows.source(row - job_.rows.before - 1));
        }
        if (spread_)
            kernels.change_both(sums_.even, sums_.odd, spreads_->even, spreads_->odd, in, out, !runs_, job_.n());
        else
            kernels.change(sums_.even, sums_.odd, in, out, !runs_, job_.n());
        sums_.extend(job_.cols, static_cast<u16>(runs_ ? 0 : beyond_ * static_cast<u32>(job_.rows.full)));
        if (spread_) spreads_->extend(job_.cols, 0);
        counts_.rows = static_cast<u32>(job_.rows.count(row));
    }

    byte_windows sums() const { return windows(sums_, runs_ ? running_.data() : nullptr, wide_); }
    /// Of P; only with `spread`.
    byte_windows spreads() const { return windows(*spreads_, running_spreads_.data(), false); }

    const byte_counts& counts() const { return counts_; }

  private:
    std::int64_t round_up(std::int64_t n) const { return (n + block_ - 1) / block_ * block_; }
    std::int64_t lane_order(std::int64_t c) const {
        return c / block_ * block_ + c % 4 * (block_ / 4) + c % block_ / 4;
    }
    const u8* pixels(std::int64_t row) const { return row < 0 ? outside_.data() : source_.row(row); }

    void start(std::int64_t row) {
        if (runs_) {
            running_ = windows_at<u8>(row, source_, beyond_);
        } else {
            for (std::int64_t i = row - job_.rows.before; i <= row + job_.rows.after; ++i)
                if (const std::int64_t from = job_.rows.source(i); from >= 0 || beyond_ != 0)
                    job_.kernels->byte->change(sums_.even, sums_.odd, pixels(from), zeros(), true, job_.n());
        }
        if (!spread_) return;
        spread_rows rows(source_, job_.n());
        running_spreads_ = windows_at<u16>(row, rows, spread_rows::of(beyond_));
    }

    /// Rows of zeros that are not those of a constant border.
    const u8* zeros() {
        if (beyond_ == 0) return outside_.data();
        if (zeros_.data() == nullptr) {
            zeros_ = work_buffer<u8>(job_.n() + block_);
            std::fill_n(zeros_.data(), job_.n() + block_, u8{0});
        }
        return zeros_.data();
    }

    /// The windows of one row, by sums of all their rows.
    template <typename T>
    work_buffer<u32> windows_at(std::int64_t row, row_source<T>& rows, u32 constant) const {
        work_buffer<u32> all(round_up(job_.n()));
        std::fill_n(all.data(), round_up(job_.n()), 0u);
        column_sums<T, u32, false> columns(job_, rows);
        row_windows<u32> windows(job_, constant);
        columns.start(row);
        windows.start(columns.data(), row);
        for (std::int64_t first = 0; first < job_.n(); first += tile) {
            const std::int64_t n = std::min(tile, job_.n() - first);
            const u32* const w = windows.next(first, n);
            for (std::int64_t i = 0; i < n; ++i) all[lane_order(first + i)] = w[i];
        }
        return all;
    }

    byte_windows windows(const byte_planes& p, u32* running, bool wide) const {
        const auto shifted = [&](std::int64_t offset, const u16*& even, const u16*& odd) {
            if ((offset & 1) == 0) {
                even = p.even + offset / 2;
                odd = p.odd + offset / 2;
            } else {  // what even pixels take is in odd columns
                even = p.odd + (offset - 1) / 2;
                odd = p.even + (offset + 1) / 2;
            }
        };
        byte_windows w{};
        w.channels = job_.shape.channels;
        shifted(job_.cols.after * w.channels, w.in_even, w.in_odd);
        shifted((-job_.cols.before - 1) * w.channels, w.out_even, w.out_odd);
        job_.kernels->byte->totals(w.before, p.even, p.odd, -job_.cols.before - 1,
                                   job_.cols.before + job_.cols.after + 1, w.channels, running != nullptr);
        w.running = running;
        w.wide = wide;
        return w;
    }

    const row_job& job_;
    row_source<u8>& source_;
    u8 beyond_;
    bool spread_, runs_, wide_;
    std::int64_t block_;
    byte_planes sums_;
    std::optional<byte_planes> spreads_;
    work_buffer<u8> outside_, zeros_;
    work_buffer<u32> cols_, running_, running_spreads_;
    work_buffer<f32> col_reciprocals_;
    byte_counts counts_;
};

/// What a row's windows are made of: sums, with `spread` also those of P, and how many pixels count.
struct byte_row {
    std::int64_t row;
    byte_windows sums, spreads;
    byte_counts counts;
    const byte_samples* samples;  ///< null where all pixels count
    sampled_bytes* own;

    /// Of results that compare a pixel with its window: there is none where that pixel does not count.
    template <typename T>
    void fill_where_none(T* to, std::int64_t n) const {
        if (samples == nullptr) return;
        const u8* const counting = own->counts.row(row);
        const T fill = std::get<T>(std::tuple{samples->fill, samples->fill_real});
        for (std::int64_t i = 0; i < n; ++i) to[i] = counting[i] != 0 ? to[i] : fill;
    }
};

/// Calls f(byte_row) for each row of the band. Of images whose pixels may not count it finds their numbers, `numbered`
/// for f as well, and writes them to `count` if that has data; where all pixels count that is left to others.
template <typename F>
void for_each_byte_row(const row_job& job, const band& b, bool spread, const any_view& count, F&& f,
                       bool numbered = false) {
    const auto row_of_windows = [&](const byte_window_rows& rows, std::int64_t row) {
        const byte_windows sums = rows.sums();
        return byte_row{row, sums, spread ? rows.spreads() : sums, rows.counts(), nullptr, nullptr};
    };
    if (!job.sampled()) {
        image_rows<u8> image(job, b.plane);
        const bool constant = job.rows.border == border_mode::constant;
        byte_window_rows rows(job, image, 255, constant ? static_cast<u8>(job.border_value) : u8{0}, spread);
        for (std::int64_t row = b.first; row < b.end; ++row) {
            rows.move_to(row, row == b.first);
            f(row_of_windows(rows, row));
        }
        return;
    }
    sampled_bytes sampled(job, b.plane), own(job, b.plane);
    const bool beyond = sampled_bytes::counts_beyond(job);
    byte_window_rows rows(job, sampled.values, 255, beyond ? static_cast<u8>(job.border_value) : u8{0}, spread);
    byte_window_rows numbers(job, sampled.counts, 1, beyond ? u8{1} : u8{0}, false);
    const bool counting = count.data != nullptr, direct = counting && count.shape.type == dtype::u32;
    const std::int64_t blocks = job.n() + job.kernels->byte->block;
    const work_buffer<u32> cols(blocks);
    const work_buffer<f32> reciprocals(blocks);
    work_buffer<u32> counted;
    if ((counting && !direct) || numbered) counted = work_buffer<u32>(job.n());
    byte_samples samples{};
    samples.least = static_cast<u32>(std::min<std::int64_t>(job.min_count, std::int64_t{1} << 30));
    const f64 fill = job.fill.value_or(0);
    samples.fill = fill >= 0 && fill <= 255 ? static_cast<u8>(fill) : u8{0};  // else all results are floats
    samples.fill_real = static_cast<f32>(job.fill.value_or(std::numeric_limits<f64>::quiet_NaN()));
    samples.streaming = direct && job.streams(sizeof(u32));
    samples.cols = cols.data();
    samples.reciprocals = reciprocals.data();
    for (std::int64_t row = b.first; row < b.end; ++row) {
        rows.move_to(row, row == b.first);
        numbers.move_to(row, row == b.first);
        for (const std::int64_t next :
             {job.rows.source(row + 1 + job.rows.after), job.rows.source(row - job.rows.before)})
            sampled.fetch(next);
        samples.numbers = numbers.sums();
        samples.counted = direct ? job.row_to<u32>(count, row, b.plane) : counted.data();
        const bool some_have_none = job.kernels->byte->numbers(samples, job.n());
        byte_row at = row_of_windows(rows, row);
        at.counts = {1, cols.data(), reciprocals.data(), 1, 0, 0, some_have_none ? &samples : nullptr};
        at.samples = &samples;
        at.own = &own;
        f(at);
        if (!counting || direct) continue;
        if (count.shape.type == dtype::f32)
            std::copy_n(counted.data(), job.n(), job.row_to<f32>(count, row, b.plane));
        else
            std::copy_n(counted.data(), job.n(), job.row_to<f64>(count, row, b.plane));
    }
}

}  // namespace boxsum::filters
