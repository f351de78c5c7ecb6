#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/filters/bands.hpp"
#include "cpu/filters/patch_kernels.hpp"
#include "cpu/filters/patch_rows.hpp"
#include "cpu/filters/rounded_row.hpp"
#include "cpu/filters/sampled_patches.hpp"
#include "filters/non_local_call.hpp"
#include "filters/window_axis.hpp"

#include <boxsum/non_local_means.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

namespace boxsum {
namespace {

using pixel_types = type_list<u8, u16, f32, f64>;

/// What a tile keeps pixels in, as which every pixel is exact, and weights. Floats of any size are added up in double.
template <typename T>
using kept = std::conditional_t<std::is_floating_point_v<T>, f64, f32>;

/// Squared differences of so many 8-bit samples have sums of 31 bits.
constexpr std::int64_t most_samples_in_32_bits = 33025;
/// So many distances' weights are added up in a pixel's type before they go to doubles.
constexpr int distances_together = 16;

using filters::doubling, filters::padded, filters::padding, filters::row_list, filters::span, filters::within;

/// Rows and columns that are computed at a time, so that sums and pixels stay in the cache.
struct tile_size {
    std::int64_t rows, cols;

    explicit tile_size(const filters::non_local_job& job)
        : rows(std::max<std::int64_t>(64, 2 * (job.patch.above + job.patch.below))),
          cols(std::max<std::int64_t>(512, 2 * (job.patch.left + job.patch.right))) {}
};

/// Tiles of one plane. For each distance between two pixels those weights that pairs so far apart have: a row of
/// squared differences enters, the sums of a patch's rows leave, and of their columns; a weight counts for both pixels.
/// Sums of type S: integers lose the row that leaves, doubles are added up only. Every sum has an order that does not
/// depend on tiles.
template <typename In, typename S, typename Out>
class tile_means {
    using T = kept<In>;
    using factor = filters::factor_of<S>;
    static constexpr bool slides = std::is_same_v<S, s32>;

  public:
    tile_means(const filters::non_local_job& job, const image_view<const In>& image, const image_view<Out>& result)
        : job_(job),
          kernels_(filters::patches_of_this_machine()),
          image_(image),
          result_(result),
          size_(job),
          down_(job.patch.above + job.patch.below + 1),
          across_(job.patch.left + job.patch.right + 1),
          above_(job.search.above + job.patch.above),
          left_(job.search.left + job.patch.left),
          pixel_rows_(size_.rows + above_ + job.search.below + job.patch.below),
          pixel_cols_(size_.cols + left_ + job.search.right + job.patch.right),
          // A distance's row is as wide as the tile, the distance and a patch.
          wide_(padded(size_.cols + std::max(job.search.left, job.search.right) + across_.width) + 2 * padding),
          row_axis_(image.rows(), 0, 0, job.border),
          col_axis_(image.cols(), 0, 0, job.border),
          pixels_(image.channels() * pixel_rows_ * pixel_cols_ + padding),
          sums_((image.channels() + 1) * size_.rows * size_.cols),
          totals_((image.channels() + 1) * size_.rows * size_.cols),
          rings_(slides ? wide_ : down_.levels * down_.width * wide_),
          lines_((across_.levels + 1) * wide_),
          weights_(wide_),
          shares_(wide_) {
        std::fill_n(pixels_.data(), image.channels() * plane_size() + padding, T{});
        std::fill_n(rings_.data(), slides ? wide_ : down_.levels * down_.width * wide_, S{});
        std::fill_n(lines_.data(), (across_.levels + 1) * wide_, S{});
        std::fill_n(shares_.data(), wide_, factor{});
    }

    void compute(span rows, std::int64_t plane) {
        plane_ = plane;
        for (rows_.first = rows.first; rows_.first < rows.end; rows_.first = rows_.end) {
            rows_.end = std::min(rows_.first + size_.rows, rows.end);
            for (cols_.first = 0; cols_.first < image_.cols(); cols_.first = cols_.end) {
                cols_.end = std::min(cols_.first + size_.cols, image_.cols());
                load();
                begin();
                int waiting = 0;
                for (std::int64_t down = 0; down <= std::max(job_.search.above, job_.search.below); ++down) {
                    const std::int64_t reach = std::max(job_.search.left, job_.search.right);
                    for (std::int64_t right = down > 0 ? -reach : 1; right <= reach; ++right) {
                        add(down, right);
                        if (++waiting == distances_together) flush();
                        waiting %= distances_together;
                    }
                }
                flush();
                store();
            }
        }
    }

  private:
    std::int64_t channels() const { return image_.channels(); }
    bool shrinks() const { return job_.border == border_mode::shrink; }
    const auto& of_pixels() const { return std::get<filters::patch_pixel_kernels<T>>(kernels_.pixel); }
    const auto& of_sums() const { return std::get<filters::patch_sum_kernels<S>>(kernels_.sum); }
    std::int64_t plane_size() const { return pixel_rows_ * pixel_cols_; }

    /// Places are those in the image.
    T* pixel(std::int64_t row, std::int64_t col, std::int64_t channel = 0) const {
        return pixels_.data() + channel * plane_size() + (row - rows_.first + above_) * pixel_cols_ + col -
               cols_.first + left_;
    }
    /// Sums of weights are kept before those of channel 0.
    static constexpr std::int64_t weight = -1;
    template <typename Sum>
    Sum* sum(const filters::work_buffer<Sum>& sums, std::int64_t row, std::int64_t col, std::int64_t channel) const {
        return sums.data() + ((channel + 1) * size_.rows + row - rows_.first) * size_.cols + col - cols_.first;
    }

    /// The tile's pixels and those around it.
    void load() const {
        const auto beyond = static_cast<T>(job_.border == border_mode::constant ? job_.border_value : 0);
        const span rows{rows_.first - above_, rows_.end + job_.search.below + job_.patch.below};
        const span cols{cols_.first - left_, cols_.end + job_.search.right + job_.patch.right};
        for (std::int64_t r = rows.first; r < rows.end; ++r) {
            const std::int64_t source = row_axis_.source(r);
            for (std::int64_t k = 0; k < channels(); ++k) {
                T* const to = pixel(r, cols.first, k);
                if (source < 0) {
                    std::fill_n(to, cols.size(), beyond);
                    continue;
                }
                const In* const from = image_.row(source, plane_) + k;
                for (std::int64_t c = cols.first; c < cols.end; ++c) {
                    const std::int64_t i = col_axis_.source(c);
                    to[c - cols.first] = i < 0 ? beyond : static_cast<T>(from[i * channels()]);
                }
            }
        }
    }

    /// A pixel's own weight is 1.
    void begin() const {
        std::fill_n(sums_.data(), (channels() + 1) * size_.rows * size_.cols, T{});
        for (std::int64_t r = rows_.first; r < rows_.end; ++r) {
            std::fill_n(sum(totals_, r, cols_.first, weight), cols_.size(), 1.0);
            for (std::int64_t k = 0; k < channels(); ++k)
                std::copy_n(pixel(r, cols_.first, k), cols_.size(), sum(totals_, r, cols_.first, k));
        }
    }

    void flush() const {
        for (std::int64_t k = weight; k < channels(); ++k)
            for (std::int64_t r = rows_.first; r < rows_.end; ++r)
                of_pixels().flush(sum(totals_, r, cols_.first, k), sum(sums_, r, cols_.first, k), cols_.size());
    }

    void store() const {
        for (std::int64_t r = rows_.first; r < rows_.end; ++r) {
            const f64* const w = sum(totals_, r, cols_.first, weight);
            for (std::int64_t k = 0; k < channels(); ++k) {
                f64* const v = sum(totals_, r, cols_.first, k);
                for (std::int64_t c = 0; c < cols_.size(); ++c) v[c] /= w[c];
                filters::store_rounded(result_.row(r, plane_) + cols_.first * channels() + k, channels(), v,
                                       cols_.size(), job_.rounding);
            }
        }
    }

    /// Places, along one axis, whose patch is compared with the one `by` further: all of those given or, where nothing
    /// is beyond the image, those with both in it.
    span compared(span given, std::int64_t extent, std::int64_t by) const {
        return shrinks() ? within(given, {std::max<std::int64_t>(0, -by), std::min(extent, extent - by)}) : given;
    }

    /// The weights between pixels and those `down` rows, at least 0, and `right` columns from them.
    void add(std::int64_t down, std::int64_t right) {
        const window& s = job_.search;
        const bool forwards = down <= s.below && right <= s.right && -right <= s.left;
        const bool backwards = down <= s.above && right <= s.left && -right <= s.right;
        const span none{0, 0};
        const span there_rows = forwards ? compared(rows_, image_.rows(), down) : none;
        const span there_cols = forwards ? compared(cols_, image_.cols(), right) : none;
        const span back_rows = backwards ? compared({rows_.first - down, rows_.end - down}, image_.rows(), down) : none;
        const span back_cols =
            backwards ? compared({cols_.first - right, cols_.end - right}, image_.cols(), right) : none;
        const bool there = there_rows.size() > 0 && there_cols.size() > 0;
        const bool back = back_rows.size() > 0 && back_cols.size() > 0;
        if (!there && !back) return;
        const auto joined = [&](span a, span b) {
            return !there ? b : !back ? a : span{std::min(a.first, b.first), std::max(a.end, b.end)};
        };
        const span rows = joined(there_rows, back_rows), cols = joined(there_cols, back_cols);
        set_shares(cols, right);
        const span reached{cols.first - job_.patch.left, cols.end + job_.patch.right};
        const span real = compared(reached, image_.cols(), right);
        for (std::int64_t r = rows.first - job_.patch.above; r < rows.end + job_.patch.below; ++r) {
            const std::int64_t number = r - rows.first + job_.patch.above;
            enter(r, number, reached, real, down, right);
            const std::int64_t p = r - job_.patch.below;
            if (p < rows.first) continue;
            weigh(patch_rows(number, reached.size()), row_share(p, down), cols.size());
            // A pixel's sums take the weights of pixels above it first.
            const T* const w = weights_.data() - cols.first;
            const bool there_now = there && there_rows.contains(p);
            if (there_now && down == 0) accumulate(w, p, there_cols, p, right, 0);
            if (back && back_rows.contains(p)) accumulate(w, p + down, back_cols, p, 0, right);
            if (there_now && down > 0) accumulate(w, p, there_cols, p + down, right, 0);
        }
    }

    /// The pixels of row `row`, `from` columns from those of `cols`, times their weights, w[col], to the sums of row
    /// `to`, `by` columns from there.
    void accumulate(const T* w, std::int64_t to, span cols, std::int64_t row, std::int64_t from,
                    std::int64_t by) const {
        const auto values = [&](std::int64_t channel) { return sum(sums_, to, cols.first + by, channel); };
        of_pixels().accumulate(values(weight), values(0), w + cols.first, pixel(row, cols.first + from), cols.size());
        for (std::int64_t k = 1; k < channels(); ++k)
            of_pixels().accumulate_values(values(k), w + cols.first, pixel(row, cols.first + from, k), cols.size());
    }

    /// Sums of 2^level rows of squared differences that end with the `number`-th; of integers those of a patch's rows.
    S* ring(int level, std::int64_t number) const {
        return slides ? rings_.data() : rings_.data() + (level * down_.width + number % down_.width) * wide_;
    }

    /// Squared differences of row r, which is the `number`-th of this distance, between `reached` and what is `right`
    /// and `down` from there; those outside `real` are 0.
    void enter(std::int64_t r, std::int64_t number, span reached, span real, std::int64_t down,
               std::int64_t right) const {
        const auto is_real = [&](std::int64_t row) { return !shrinks() || (row >= 0 && row + down < image_.rows()); };
        S* const line = ring(0, number);
        S* const there = line + real.first - reached.first;
        const std::int64_t n = real.end == reached.end ? padded(real.size()) : real.size();
        if (slides ? number == 0 : !is_real(r) || real.size() < reached.size())
            std::fill_n(line, padded(reached.size()), S{});
        if constexpr (slides) {
            // A row that there is not differs nowhere from itself.
            const T* const same = pixel(rows_.first, real.first);
            const std::int64_t last = r - down_.width;
            const bool enters = is_real(r), leaves = number >= down_.width && is_real(last);
            if (enters || leaves)
                kernels_.slide(there, enters ? pixel(r, real.first) : same,
                               enters ? pixel(r + down, real.first + right) : same,
                               leaves ? pixel(last, real.first) : same,
                               leaves ? pixel(last + down, real.first + right) : same, channels(), plane_size(), n);
        } else {
            if (is_real(r))
                of_pixels().differences(there, pixel(r, real.first), pixel(r + down, real.first + right), channels(),
                                        plane_size(), n);
            for (int level = 1; level < down_.levels; ++level) {
                const std::int64_t half = std::int64_t{1} << (level - 1);
                if (number + 1 < 2 * half) break;
                const std::array<const S*, 2> halves{ring(level - 1, number - half), ring(level - 1, number)};
                of_sums().add(ring(level, number), halves.data(), 2, padded(reached.size()));
            }
        }
    }

    /// Sums of a patch's rows, the last of which is the `number`-th.
    const S* patch_rows(std::int64_t number, std::int64_t n) const {
        if constexpr (slides) return rings_.data();
        const std::int64_t first = number + 1 - down_.width;
        row_list<S> rows(of_sums(), lines_.data(), padded(n));
        down_.for_each_part([&](int level, std::int64_t offset) {
            rows.add(ring(level, first + offset + (std::int64_t{1} << level) - 1));
        });
        return rows.sum();
    }

    /// The weights of n patches from sums of their rows.
    void weigh(const S* rows, factor row_share, std::int64_t n) const {
        n = padded(n);
        const auto line = [&](int level) { return level == 0 ? rows : lines_.data() + level * wide_; };
        for (int level = 1; level < across_.levels; ++level) {
            const std::int64_t half = std::int64_t{1} << (level - 1);
            const std::array<const S*, 2> halves{line(level - 1), line(level - 1) + half};
            of_sums().add(lines_.data() + level * wide_, halves.data(), 2, padded(n + across_.width - 2 * half));
        }
        row_list<S> patch(of_sums(), lines_.data() + across_.levels * wide_, n);
        across_.for_each_part([&](int level, std::int64_t offset) { patch.add(line(level) + offset); });
        const auto noise = static_cast<factor>(job_.noise);
        const auto scale = static_cast<factor>(std::min<double>(job_.scale, std::numeric_limits<factor>::max()));
        if constexpr (std::is_same_v<T, f64>)
            kernels_.weights_64f(weights_.data(), patch.rows(), patch.count(), row_share, shares_.data(), noise, scale,
                                 n);
        else
            of_sums().weights_32f(weights_.data(), patch.rows(), patch.count(), row_share, shares_.data(), noise, scale,
                                  n);
    }

    /// One over the rows of the patch around row p that both places have.
    factor row_share(std::int64_t p, std::int64_t down) const {
        const span patch{p - job_.patch.above, p + job_.patch.below + 1};
        return 1 / static_cast<factor>(compared(patch, image_.rows(), down).size());
    }

    /// The same of columns, times channels, for all of `cols`.
    void set_shares(span cols, std::int64_t right) const {
        for (std::int64_t c = cols.first; c < cols.end; ++c) {
            const span patch{c - job_.patch.left, c + job_.patch.right + 1};
            shares_[c - cols.first] =
                1 / static_cast<factor>(channels() * compared(patch, image_.cols(), right).size());
        }
    }

    const filters::non_local_job& job_;
    const filters::patch_kernels& kernels_;
    const image_view<const In>& image_;
    const image_view<Out>& result_;
    tile_size size_;
    doubling down_, across_;
    std::int64_t above_, left_, pixel_rows_, pixel_cols_, wide_;
    filters::window_axis row_axis_, col_axis_;
    filters::work_buffer<T> pixels_, sums_;  ///< sums of a few distances
    filters::work_buffer<f64> totals_;
    filters::work_buffer<S> rings_, lines_;
    filters::work_buffer<T> weights_;
    filters::work_buffer<factor> shares_;
    std::int64_t plane_ = 0;
    span rows_{}, cols_{};
};

}  // namespace

void non_local_means(const non_local_inputs& inputs, const filter_outputs& outputs, const non_local_rule& rule,
                     const filter_options& options) try {
    const filters::non_local_call call = filters::make_non_local_call(inputs, outputs, rule, options);
    const filters::non_local_job& job = call.job;
    const packed_input image(inputs.image, is_plain);
    const packed_output result(outputs.result, is_plain);
    if (call.sampled) {
        const packed_input mask(inputs.mask, is_plain), weights(inputs.weights, is_plain);
        const packed_output count(outputs.count, is_plain);
        filters::sampled_non_local_means(call, {image.view(), mask.view(), weights.view()},
                                         {result.view(), count.view()});
        result.unpack();
        count.unpack();
        return;
    }
    const view_shape& s = image.view().shape;
    const auto pixels_of = [](const window& w) { return (w.above + w.below + 1) * (w.left + w.right + 1); };
    const int threads =
        filters::used_threads(job.threads, s.planes * s.rows * s.cols * s.channels * pixels_of(job.search));
    const bool in_32_bits = pixels_of(job.patch) * s.channels <= most_samples_in_32_bits;
    visit_type(pixel_types{}, s.type, [&]<typename In>() {
        visit_type(type_list<In, f32, f64>{}, result.view().shape.type, [&]<typename Out>() {
            const image_view<const In> from(static_cast<const In*>(image.view().data), s);
            const image_view<Out> to(static_cast<Out*>(result.view().data), result.view().shape);
            const auto in_bands = [&]<typename S>(S) {
                filters::for_each_band(s.planes, s.rows, threads, [&](const filters::band& b, int) {
                    tile_means<In, S, Out>(job, from, to).compute({b.first, b.end}, b.plane);
                });
            };
            if constexpr (std::is_same_v<In, u8>) {
                if (in_32_bits) return in_bands(s32{});
            }
            in_bands(f64{});
        });
    });
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
