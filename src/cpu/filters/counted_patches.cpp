#include "core/visit_types.hpp"
#include "cpu/filters/bands.hpp"
#include "cpu/filters/patch_kernels.hpp"
#include "cpu/filters/patch_rows.hpp"
#include "cpu/filters/rounded_row.hpp"
#include "cpu/filters/sampled_patches.hpp"
#include "filters/exponential.hpp"
#include "filters/sample_row.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

namespace boxsum::filters {
namespace {

using pixel_types = type_list<u8, u16, f32, f64>;

constexpr std::int64_t tile_rows = 64, tile_cols = 512;
/// So many distances' weights are added up in a pixel's type before they go to doubles.
constexpr int distances_together = 16;
/// The mean of smaller ones in single precision is not within its bound.
constexpr f64 least_weights = 0x1p-8;
/// Differences of patches of so many bytes are below 2^24, and so many pairs below 2^7.
constexpr std::int64_t most_samples_in_32_bits = 258, most_pairs_in_32_bits = 127;

/// Tiles of one plane, as those of images whose pixels all count: per distance between two pixels sums down a patch's
/// rows, then of its columns, and a weight for both pixels. Pixels are held with a 1 behind their channels; those that
/// do not count, and those that there are not, are 0 with a 0. T: f32 for bytes, whose differences and pairs are one
/// exact sum; else f64, whose differences are added up only.
template <typename T>
class counted_tile {
    static constexpr bool slides = std::is_same_v<T, f32>;
    using S = std::conditional_t<slides, s32, f64>;

  public:
    counted_tile(const non_local_call& call, const sampled_image& from, const filter_outputs& outputs)
        : call_(call),
          job_(call.job),
          kernels_(patches_of_this_machine()),
          from_(from),
          outputs_(outputs),
          channels_(from.image.shape.channels),
          image_cols_(from.image.shape.cols),
          down_(job_.patch.above + job_.patch.below + 1),
          across_(job_.patch.left + job_.patch.right + 1),
          above_(job_.search.above + job_.patch.above),
          left_(job_.search.left + job_.patch.left),
          pixel_rows_(tile_rows + above_ + job_.search.below + job_.patch.below + 2),
          pixel_cols_(tile_cols + left_ + job_.search.right + job_.patch.right),
          // A distance's row is as wide as the tile, the distance and a patch.
          wide_(padded(tile_cols + std::max(job_.search.left, job_.search.right) + across_.width) + 2 * padding),
          row_axis_(from.image.shape.rows, 0, 0, job_.border),
          col_axis_(image_cols_, 0, 0, job_.border),
          found_(pixel_rows_ * image_cols_ * channels_),
          pixels_((channels_ + 1) * plane_size() + padding),
          sums_((channels_ + 1) * tile_rows * tile_cols),
          counts_(tile_rows * tile_cols),
          totals_((channels_ + 1) * tile_rows * tile_cols),
          rings_(ring_size()),
          lines_((across_.levels + 1) * wide_),
          pairs_(slides ? 0 : wide_),
          pair_lines_(slides ? 0 : (across_.levels + 1) * wide_),
          weights_(wide_) {
        std::fill_n(pixels_.data(), (channels_ + 1) * plane_size() + padding, T{});
        std::fill_n(rings_.data(), ring_size(), S{});
        std::fill_n(lines_.data(), (across_.levels + 1) * wide_, S{});
        if (!slides) std::fill_n(pair_lines_.data(), (across_.levels + 1) * wide_, s32{});
    }

    void compute(span rows, std::int64_t plane) {
        plane_ = plane;
        for (rows_.first = rows.first; rows_.first < rows.end; rows_.first = rows_.end) {
            rows_.end = std::min(rows_.first + tile_rows, rows.end);
            visit_type(pixel_types{}, from_.image.shape.type, [&]<typename In>() { find<In>(); });
            for (cols_.first = 0; cols_.first < image_cols_; cols_.first = cols_.end) {
                cols_.end = std::min(cols_.first + tile_cols, image_cols_);
                visit_type(pixel_types{}, from_.image.shape.type, [&]<typename In>() { load<In>(); });
                compute_tile();
                store();
            }
        }
    }

  private:
    const auto& of_pixels() const { return std::get<patch_pixel_kernels<T>>(kernels_.pixel); }
    const auto& of_counted() const { return std::get<counted_pixel_kernels<T>>(kernels_.counted); }
    const auto& of_sums() const { return std::get<patch_sum_kernels<S>>(kernels_.sum); }
    std::int64_t plane_size() const { return pixel_rows_ * pixel_cols_; }
    std::int64_t ring_size() const { return slides ? wide_ : down_.levels * down_.width * wide_; }
    s32 least() const {
        return static_cast<s32>(std::min<std::int64_t>(call_.samples.min_count, std::numeric_limits<s32>::max()));
    }

    /// Places are those in the image; behind the channels is what counts.
    T* pixel(std::int64_t row, std::int64_t col, std::int64_t channel = 0) const {
        return pixels_.data() + channel * plane_size() + (row - rows_.first + above_) * pixel_cols_ + col -
               cols_.first + left_;
    }
    const T* counted(std::int64_t row, std::int64_t col) const { return pixel(row, col, channels_); }
    /// A row in which nothing counts: the last two held are that.
    const T* nothing(std::int64_t channel) const {
        return pixels_.data() + channel * plane_size() + (pixel_rows_ - 2) * pixel_cols_;
    }
    static constexpr std::int64_t weight = -1;
    template <typename E>
    E* sum(const work_buffer<E>& of, std::int64_t row, std::int64_t col, std::int64_t channel) const {
        return of.data() + ((channel + 1) * tile_rows + row - rows_.first) * tile_cols + col - cols_.first;
    }
    T* count(std::int64_t row, std::int64_t col) const {
        return counts_.data() + (row - rows_.first) * tile_cols + col - cols_.first;
    }

    span held_rows() const { return {rows_.first - above_, rows_.end + job_.search.below + job_.patch.below}; }

    /// Which elements of the tiles' rows count.
    template <typename In>
    void find() const {
        for (std::int64_t r = held_rows().first; r < held_rows().end; ++r)
            if (const std::int64_t y = row_axis_.source(r); y >= 0) sample_row<In>(from_, y, plane_).find(found(r));
    }
    u8* found(std::int64_t r) const { return found_.data() + (r - rows_.first + above_) * image_cols_ * channels_; }

    template <typename In>
    void load() const {
        const bool is_constant = job_.border == border_mode::constant;
        const bool beyond = is_constant && !is_nodata(job_.border_value, call_.samples.nan, call_.samples.nodata);
        const span cols{cols_.first - left_, cols_.end + job_.search.right + job_.patch.right};
        for (std::int64_t r = held_rows().first; r < held_rows().end; ++r) {
            const std::int64_t y = row_axis_.source(r);
            const In* const x = y < 0 ? nullptr : row_of<In>(from_.image, y, plane_);
            const u8* const counts = found(r);
            T* const to = pixel(r, cols.first);
            for (std::int64_t c = cols.first; c < cols.end; ++c) {
                const std::int64_t i = y < 0 ? -1 : col_axis_.source(c), at = c - cols.first;
                bool counts_all = i >= 0 || beyond;
                for (std::int64_t k = 0; i >= 0 && k < channels_; ++k)
                    counts_all = counts_all && counts[i * channels_ + k] != 0;
                for (std::int64_t k = 0; k < channels_; ++k)
                    to[k * plane_size() + at] = !counts_all ? T{}
                                                : i < 0     ? static_cast<T>(job_.border_value)
                                                            : static_cast<T>(x[i * channels_ + k]);
                to[channels_ * plane_size() + at] = counts_all ? 1 : 0;
            }
        }
    }

    void compute_tile() const {
        std::fill_n(sums_.data(), (channels_ + 1) * tile_rows * tile_cols, T{});
        std::fill_n(totals_.data(), (channels_ + 1) * tile_rows * tile_cols, 0.0);
        std::fill_n(counts_.data(), tile_rows * tile_cols, T{});
        const std::int64_t reach = std::max(job_.search.left, job_.search.right);
        int waiting = 0;
        for (std::int64_t down = 0; down <= std::max(job_.search.above, job_.search.below); ++down)
            for (std::int64_t right = down > 0 ? -reach : 0; right <= reach; ++right) {
                add(down, right);
                if (++waiting == distances_together) flush();
                waiting %= distances_together;
            }
        flush();
    }

    void flush() const {
        for (std::int64_t k = weight; k < channels_; ++k)
            for (std::int64_t r = rows_.first; r < rows_.end; ++r)
                of_pixels().flush(sum(totals_, r, cols_.first, k), sum(sums_, r, cols_.first, k), cols_.size());
    }

    /// The weights between pixels and those `down` rows, at least 0, and `right` columns from them.
    void add(std::int64_t down, std::int64_t right) const {
        const window& s = job_.search;
        const bool there = down <= s.below && right <= s.right && -right <= s.left;
        const bool back = (down > 0 || right > 0) && down <= s.above && right <= s.left && -right <= s.right;
        if (!there && !back) return;
        const span back_rows{rows_.first - down, rows_.end - down}, back_cols{cols_.first - right, cols_.end - right};
        const auto joined = [&](span a, span b) {
            return !there ? b : !back ? a : span{std::min(a.first, b.first), std::max(a.end, b.end)};
        };
        const span rows = joined(rows_, back_rows), cols = joined(cols_, back_cols);
        for (std::int64_t r = rows.first - job_.patch.above; r < rows.end + job_.patch.below; ++r) {
            const std::int64_t number = r - rows.first + job_.patch.above;
            enter(r, number, {cols.first - job_.patch.left, cols.end + job_.patch.right}, down, right);
            const std::int64_t p = r - job_.patch.below;
            if (p < rows.first) continue;
            weigh(number, cols.size());
            // A pixel's sums take the weights of pixels above it first.
            const T* const w = weights_.data() - cols.first;
            const bool there_now = there && rows_.contains(p);
            if (there_now && down == 0) accumulate(w, p, cols_, p, right, 0);
            if (back && back_rows.contains(p)) accumulate(w, p + down, back_cols, p, 0, right);
            if (there_now && down > 0) accumulate(w, p, cols_, p + down, right, 0);
        }
    }

    /// The pixels of row `row`, `from` columns from those of `cols`, times their weights, w[col], to the sums of row
    /// `to`, `by` columns from there.
    void accumulate(const T* w, std::int64_t to, span cols, std::int64_t row, std::int64_t from,
                    std::int64_t by) const {
        const std::int64_t n = cols.size(), at = cols.first + from;
        const auto values = [&](std::int64_t channel) { return sum(sums_, to, cols.first + by, channel); };
        of_counted().accumulate(values(weight), values(0), w + cols.first, pixel(row, at), counted(row, at), n);
        for (std::int64_t k = 1; k < channels_; ++k)
            of_counted().accumulate_values(values(k), w + cols.first, pixel(row, at, k), counted(row, at), n);
        if (outputs_.count.data != nullptr)
            of_counted().accumulate_counts(count(to, cols.first + by), w + cols.first, counted(row, at), n);
    }

    /// Sums of 2^level rows of squared differences that end with the `number`-th; of integers those of a patch's rows.
    S* ring(int level, std::int64_t number) const {
        return slides ? rings_.data() : rings_.data() + (level * down_.width + number % down_.width) * wide_;
    }

    /// Squared differences of row r, which is the `number`-th of this distance, between `reached` and what is `right`
    /// and `down` from there, and how many are of two pixels that count.
    void enter(std::int64_t r, std::int64_t number, span reached, std::int64_t down, std::int64_t right) const {
        const std::int64_t n = padded(reached.size()), last = r - down_.width;
        const bool leaves = number >= down_.width;
        if constexpr (slides) {
            if (number == 0) std::fill_n(rings_.data(), n, S{});
            kernels_.slide_counted(rings_.data(), pixel(r, reached.first), pixel(r + down, reached.first + right),
                                   leaves ? pixel(last, reached.first) : nothing(0),
                                   leaves ? pixel(last + down, reached.first + right) : nothing(0), channels_,
                                   plane_size(), n);
        } else {
            if (number == 0) std::fill_n(pairs_.data(), n, s32{});
            of_counted().slide_pairs(pairs_.data(), counted(r, reached.first), counted(r + down, reached.first + right),
                                     leaves ? counted(last, reached.first) : nothing(channels_),
                                     leaves ? counted(last + down, reached.first + right) : nothing(channels_), n);
            of_counted().differences(ring(0, number), pixel(r, reached.first), pixel(r + down, reached.first + right),
                                     channels_, plane_size(), n);
            for (int level = 1; level < down_.levels; ++level) {
                const std::int64_t half = std::int64_t{1} << (level - 1);
                if (number + 1 < 2 * half) break;
                const std::array<const S*, 2> halves{ring(level - 1, number - half), ring(level - 1, number)};
                of_sums().add(ring(level, number), halves.data(), 2, n);
            }
        }
    }

    /// The box sums of rows that are `memory`'s first line, or in `rows` where that is not null.
    template <typename E>
    const E* across(const E* rows, const work_buffer<E>& memory, std::int64_t n) const {
        const auto& kernels = std::get<patch_sum_kernels<E>>(kernels_.sum);
        const auto line = [&](int level) { return level == 0 ? rows : memory.data() + level * wide_; };
        for (int level = 1; level < across_.levels; ++level) {
            const std::int64_t half = std::int64_t{1} << (level - 1);
            const std::array<const E*, 2> halves{line(level - 1), line(level - 1) + half};
            kernels.add(memory.data() + level * wide_, halves.data(), 2, padded(n + across_.width - 2 * half));
        }
        row_list<E> patch(kernels, memory.data() + across_.levels * wide_, n);
        across_.for_each_part([&](int level, std::int64_t offset) { patch.add(line(level) + offset); });
        return patch.sum();
    }

    /// The weights of n patches whose last row is the `number`-th.
    void weigh(std::int64_t number, std::int64_t n) const {
        n = padded(n);
        const auto noise = static_cast<T>(job_.noise), channels = static_cast<T>(channels_);
        const auto scale = static_cast<T>(std::min<double>(job_.scale, std::numeric_limits<T>::max()));
        if constexpr (slides) {
            kernels_.counted_weights_32f(weights_.data(), across(rings_.data(), lines_, n), least(), channels, noise,
                                         scale, n);
        } else {
            const std::int64_t first = number + 1 - down_.width;
            row_list<S> rows(of_sums(), lines_.data(), padded(n + across_.width));
            down_.for_each_part([&](int level, std::int64_t offset) {
                rows.add(ring(level, first + offset + (std::int64_t{1} << level) - 1));
            });
            kernels_.counted_weights_64f(weights_.data(), across(rows.sum(), lines_, n),
                                         across(pairs_.data(), pair_lines_, n), least(), channels, noise, scale, n);
        }
    }

    /// The sums of a pixel by the definition, in double.
    void sum_in_double(std::int64_t r, std::int64_t c) const {
        const window &s = job_.search, &p = job_.patch;
        f64 weights = 0;
        std::array<f64, 4> values{};
        for (std::int64_t y = r - s.above; y <= r + s.below; ++y)
            for (std::int64_t x = c - s.left; x <= c + s.right; ++x) {
                if (*counted(y, x) == 0) continue;
                f64 differences = 0, pairs = 0;
                for (std::int64_t i = -p.above; i <= p.below; ++i)
                    for (std::int64_t j = -p.left; j <= p.right; ++j) {
                        if (*counted(y + i, x + j) == 0 || *counted(r + i, c + j) == 0) continue;
                        pairs += 1;
                        for (std::int64_t k = 0; k < channels_; ++k) {
                            const auto d = static_cast<f64>(*pixel(y + i, x + j, k) - *pixel(r + i, c + j, k));
                            differences += d * d;
                        }
                    }
                if (pairs < least()) continue;
                const f64 beyond = differences / (static_cast<f64>(channels_) * pairs) - job_.noise,
                          w = beyond <= 0 ? 1 : exponential(-beyond * job_.scale);
                weights += w;
                for (std::int64_t k = 0; k < channels_; ++k)
                    values[static_cast<std::size_t>(k)] += w * static_cast<f64>(*pixel(y, x, k));
            }
        *sum(totals_, r, c, weight) = weights;
        for (std::int64_t k = 0; k < channels_; ++k) *sum(totals_, r, c, k) = values[static_cast<std::size_t>(k)];
    }

    /// How much of a pixel's patch counts: no other shares more with it.
    std::int64_t own_pairs(std::int64_t r, std::int64_t c) const {
        std::int64_t number = 0;
        for (std::int64_t i = -job_.patch.above; i <= job_.patch.below; ++i)
            for (std::int64_t j = -job_.patch.left; j <= job_.patch.right; ++j)
                number += *counted(r + i, c + j) > 0 ? 1 : 0;
        return number;
    }

    void store() const {
        const f64 fill = call_.samples.fill.value_or(std::numeric_limits<f64>::quiet_NaN());
        for (std::int64_t r = rows_.first; r < rows_.end; ++r) {
            const f64* const w = sum(totals_, r, cols_.first, weight);
            if (slides)
                for (std::int64_t c = cols_.first; c < cols_.end; ++c)
                    if (w[c - cols_.first] < least_weights && own_pairs(r, c) >= least()) sum_in_double(r, c);
            for (std::int64_t k = 0; k < channels_; ++k) {
                f64* const v = sum(totals_, r, cols_.first, k);
                for (std::int64_t c = 0; c < cols_.size(); ++c) v[c] = w[c] == 0 ? fill : v[c] / w[c];
                visit_type(pixel_types{}, outputs_.result.shape.type, [&]<typename Out>() {
                    store_rounded(row_of<Out>(outputs_.result, r, plane_) + cols_.first * channels_ + k, channels_, v,
                                  cols_.size(), job_.rounding);
                });
                if (outputs_.count.data == nullptr) continue;
                visit_type(type_list<u32, f32, f64>{}, outputs_.count.shape.type, [&]<typename Count>() {
                    Count* const to = row_of<Count>(outputs_.count, r, plane_) + cols_.first * channels_ + k;
                    for (std::int64_t c = 0; c < cols_.size(); ++c)
                        to[c * channels_] = static_cast<Count>(*count(r, cols_.first + c));
                });
            }
        }
    }

    const non_local_call& call_;
    const non_local_job& job_;
    const patch_kernels& kernels_;
    const sampled_image& from_;
    const filter_outputs& outputs_;
    std::int64_t channels_, image_cols_;
    doubling down_, across_;
    std::int64_t above_, left_, pixel_rows_, pixel_cols_, wide_;
    window_axis row_axis_, col_axis_;
    work_buffer<u8> found_;
    work_buffer<T> pixels_, sums_, counts_;  ///< sums of a few distances
    work_buffer<f64> totals_;
    work_buffer<S> rings_, lines_;
    work_buffer<s32> pairs_, pair_lines_;  ///< where they are not in the sums
    work_buffer<T> weights_;
    std::int64_t plane_ = 0;
    span rows_{}, cols_{};
};

}  // namespace

void counted_non_local_means(const non_local_call& call, const sampled_image& from, const filter_outputs& outputs,
                             int threads) {
    const view_shape& s = from.image.shape;
    const window& p = call.job.patch;
    const std::int64_t pairs = (p.above + p.below + 1) * (p.left + p.right + 1);
    const bool in_32_bits =
        s.type == dtype::u8 && pairs <= most_pairs_in_32_bits && pairs * s.channels <= most_samples_in_32_bits;
    const auto in_bands = [&]<typename T>(T) {
        for_each_band(s.planes, s.rows, threads, [&](const band& b, int) {
            counted_tile<T>(call, from, outputs).compute({b.first, b.end}, b.plane);
        });
    };
    if (in_32_bits)
        in_bands(f32{});
    else
        in_bands(f64{});
}

}  // namespace boxsum::filters
