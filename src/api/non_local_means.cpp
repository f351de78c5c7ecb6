#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/filters/bands.hpp"
#include "cpu/filters/patch_kernels.hpp"
#include "cpu/filters/rounded_row.hpp"
#include "filters/non_local_job.hpp"
#include "filters/window_axis.hpp"

#include <boxsum/non_local_means.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

namespace boxsum {
namespace {

using pixel_types = type_list<u8, u16, f32, f64>;

/// What a tile keeps pixels in: every value of these types is one of its own.
template <typename T>
using kept = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;

/// Samples of boxes of a fixed width by doubling: sums of 1, 2, 4, .. samples, and of these, one for each bit of the
/// width.
struct doubling {
    std::int64_t width;
    int levels = 1;

    explicit doubling(std::int64_t samples) : width(samples) {
        while ((std::int64_t{1} << levels) <= width) ++levels;
    }

    /// Calls part(level, offset) for the sums that make a box, from its first sample on.
    template <typename F>
    void for_each_part(F&& part) const {
        std::int64_t offset = 0;
        for (int level = levels; level-- > 0;) {
            if ((width >> level & 1) == 0) continue;
            part(level, offset);
            offset += std::int64_t{1} << level;
        }
    }
};

/// Adds rows up as they come, four at a time.
class row_sum {
  public:
    row_sum(const filters::patch_kernels& kernels, f64* to, std::int64_t n) : kernels_(kernels), to_(to), n_(n) {}

    void add(const f64* row) {
        rows_[static_cast<std::size_t>(count_++)] = row;
        if (count_ == 4) flush();
    }
    /// The sum: of one row, the row itself.
    const f64* result() {
        if (count_ > 1) flush();
        return rows_[0];
    }

  private:
    void flush() {
        kernels_.add(to_, rows_.data(), count_, n_);
        rows_[0] = to_;
        count_ = 1;
    }

    const filters::patch_kernels& kernels_;
    f64* to_;
    std::int64_t n_;
    std::array<const f64*, 4> rows_{};
    int count_ = 0;
};

struct span {
    std::int64_t first, end;

    std::int64_t size() const { return end - first; }
    bool contains(std::int64_t i) const { return first <= i && i < end; }
};

span within(span a, span b) {
    return {std::max(a.first, b.first), std::min(a.end, b.end)};
}

/// Rows and columns that are computed at a time, so that sums and pixels stay in the cache.
struct tile_size {
    std::int64_t rows, cols;

    explicit tile_size(const filters::non_local_job& job)
        : rows(std::max<std::int64_t>(64, 2 * (job.patch.above + job.patch.below))),
          cols(std::max<std::int64_t>(256, 2 * (job.patch.left + job.patch.right))) {}
};

/// Tiles of one plane. For each distance d between two pixels, those whose weight is w(p, p + d): a row of squared
/// differences enters, the sums of a patch's rows leave, and of their columns; the weight counts for p and, as it is
/// the same from there, for p + d. Every sum has an order that does not depend on tiles.
template <typename In, typename Out>
class tile_means {
    using T = kept<In>;

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
          wide_(size_.cols + std::max(job.search.left, job.search.right) + across_.width),
          row_axis_(image.rows(), 0, 0, job.border),
          col_axis_(image.cols(), 0, 0, job.border),
          pixels_(image.channels() * pixel_rows_ * pixel_cols_),
          sums_((image.channels() + 1) * size_.rows * size_.cols),
          rings_(down_.levels * down_.width * wide_),
          lines_((across_.levels + 3) * wide_) {}

    void compute(span rows, std::int64_t plane) {
        plane_ = plane;
        for (rows_.first = rows.first; rows_.first < rows.end; rows_.first = rows_.end) {
            rows_.end = std::min(rows_.first + size_.rows, rows.end);
            for (cols_.first = 0; cols_.first < image_.cols(); cols_.first = cols_.end) {
                cols_.end = std::min(cols_.first + size_.cols, image_.cols());
                load();
                begin();
                for (std::int64_t down = 0; down <= std::max(job_.search.above, job_.search.below); ++down) {
                    const std::int64_t reach = std::max(job_.search.left, job_.search.right);
                    for (std::int64_t right = down > 0 ? -reach : 1; right <= reach; ++right) add(down, right);
                }
                store();
            }
        }
    }

  private:
    std::int64_t channels() const { return image_.channels(); }
    bool shrinks() const { return job_.border == border_mode::shrink; }
    span image_rows() const { return {0, image_.rows()}; }
    span image_cols() const { return {0, image_.cols()}; }

    /// Places are those in the image.
    T* pixel(std::int64_t row, std::int64_t col, std::int64_t channel) const {
        return pixels_.data() + (channel * pixel_rows_ + row - rows_.first + above_) * pixel_cols_ + col - cols_.first +
               left_;
    }
    f64* weights(std::int64_t row, std::int64_t col) const { return values(row, col, -1); }
    f64* values(std::int64_t row, std::int64_t col, std::int64_t channel) const {
        return sums_.data() + ((channel + 1) * size_.rows + row - rows_.first) * size_.cols + col - cols_.first;
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
        for (std::int64_t r = rows_.first; r < rows_.end; ++r) {
            std::fill_n(weights(r, cols_.first), cols_.size(), 1.0);
            for (std::int64_t k = 0; k < channels(); ++k)
                std::copy_n(pixel(r, cols_.first, k), cols_.size(), values(r, cols_.first, k));
        }
    }

    void store() const {
        for (std::int64_t r = rows_.first; r < rows_.end; ++r) {
            const f64* const w = weights(r, cols_.first);
            for (std::int64_t k = 0; k < channels(); ++k) {
                f64* const v = values(r, cols_.first, k);
                for (std::int64_t c = 0; c < cols_.size(); ++c) v[c] /= w[c];
                filters::store_rounded(result_.row(r, plane_) + cols_.first * channels() + k, channels(), v,
                                       cols_.size(), job_.rounding);
            }
        }
    }

    /// Places, along one axis, whose patch is compared with the one `by` further: those of the tile, of the image where
    /// nothing is beyond it.
    span compared(span of_tile, span of_image, std::int64_t by) const {
        if (!shrinks()) return of_tile;
        return within(of_tile,
                      {std::max(of_image.first, of_image.first - by), std::min(of_image.end, of_image.end - by)});
    }

    /// The weights between pixels and those `down` rows, at least 0, and `right` columns from them.
    void add(std::int64_t down, std::int64_t right) {
        const window& s = job_.search;
        const bool forwards = down <= s.below && right <= s.right && -right <= s.left;
        const bool backwards = down <= s.above && right <= s.left && -right <= s.right;
        const span none{0, 0};
        const span there_rows = forwards ? compared(rows_, image_rows(), down) : none;
        const span there_cols = forwards ? compared(cols_, image_cols(), right) : none;
        const span back_rows = backwards ? compared({rows_.first - down, rows_.end - down}, image_rows(), down) : none;
        const span back_cols =
            backwards ? compared({cols_.first - right, cols_.end - right}, image_cols(), right) : none;
        const bool there = there_rows.size() > 0 && there_cols.size() > 0,
                   back = back_rows.size() > 0 && back_cols.size() > 0;
        if (!there && !back) return;
        const auto joined = [&](span a, span b) {
            return !there ? b : !back ? a : span{std::min(a.first, b.first), std::max(a.end, b.end)};
        };
        const span rows = joined(there_rows, back_rows), cols = joined(there_cols, back_cols);
        const f64* const shares = shares_of(cols, right);
        f64* const w = lines_.data() + across_.levels * wide_;
        for (std::int64_t r = rows.first - job_.patch.above; r < rows.end + job_.patch.below; ++r) {
            enter(r, r - rows.first + job_.patch.above, cols, down, right);
            const std::int64_t p = r - job_.patch.below;
            if (p < rows.first) continue;
            kernels_.weights(w, box_sums(r - rows.first + job_.patch.above, cols.size()), row_share(p, down), shares,
                             job_.noise, job_.scale, cols.size());
            // A pixel's sums take the weights to pixels above it first.
            if (there && down == 0 && there_rows.contains(p)) accumulate(w - cols.first, p, there_cols, p, right, 0);
            if (back && back_rows.contains(p)) accumulate(w - cols.first, p + down, back_cols, p, 0, right);
            if (there && down > 0 && there_rows.contains(p))
                accumulate(w - cols.first, p, there_cols, p + down, right, 0);
        }
    }

    /// The pixels of row `row`, `from` columns from those of `cols`, times their weights, w[col], to the sums of row
    /// `to`, `by` columns from there.
    void accumulate(const f64* w, std::int64_t to, span cols, std::int64_t row, std::int64_t from,
                    std::int64_t by) const {
        const f64* const of_cols = w + cols.first;
        f64* const sums = weights(to, cols.first + by);
        const std::array<const f64*, 2> both{sums, of_cols};
        kernels_.add(sums, both.data(), 2, cols.size());
        for (std::int64_t k = 0; k < channels(); ++k)
            std::get<filters::patch_pixel_kernels<T>>(kernels_.pixel)
                .accumulate(values(to, cols.first + by, k), of_cols, pixel(row, cols.first + from, k), cols.size());
    }

    f64* ring(int level, std::int64_t number) const {
        return rings_.data() + (level * down_.width + number % down_.width) * wide_;
    }

    /// Squared differences of row r, which is the `number`-th of this distance, between `cols` with their patches and
    /// what is `right` from them; and the sums of 2, 4, .. rows that end with it.
    void enter(std::int64_t r, std::int64_t number, span cols, std::int64_t down, std::int64_t right) const {
        const span reached{cols.first - job_.patch.left, cols.end + job_.patch.right};
        const span real = shrinks() ? within(compared(reached, image_cols(), right), reached) : reached;
        f64* const line = ring(0, number);
        const bool real_row = !shrinks() || (r >= 0 && r + down < image_.rows());
        if (!real_row || real.size() < reached.size()) std::fill_n(line, reached.size(), 0.0);
        if (real_row)
            std::get<filters::patch_pixel_kernels<T>>(kernels_.pixel)
                .differences(line + real.first - reached.first, pixel(r, real.first, 0),
                             pixel(r + down, real.first + right, 0), channels(), pixel_rows_ * pixel_cols_,
                             real.size());
        for (int level = 1; level < down_.levels; ++level) {
            const std::int64_t half = std::int64_t{1} << (level - 1);
            if (number + 1 < 2 * half) break;
            const std::array<const f64*, 2> halves{ring(level - 1, number - half), ring(level - 1, number)};
            kernels_.add(ring(level, number), halves.data(), 2, reached.size());
        }
    }

    /// Sums of the patches whose last row is the `number`-th, n of them.
    const f64* box_sums(std::int64_t number, std::int64_t n) const {
        const std::int64_t first = number + 1 - down_.width, reached = n + across_.width - 1;
        row_sum rows(kernels_, lines_.data(), reached);
        down_.for_each_part([&](int level, std::int64_t offset) {
            rows.add(ring(level, first + offset + (std::int64_t{1} << level) - 1));
        });
        const f64* const own = rows.result();
        const auto line = [&](int level) { return level == 0 ? own : lines_.data() + level * wide_; };
        for (int level = 1; level < across_.levels; ++level) {
            const std::int64_t half = std::int64_t{1} << (level - 1);
            const std::array<const f64*, 2> halves{line(level - 1), line(level - 1) + half};
            kernels_.add(lines_.data() + level * wide_, halves.data(), 2, reached + 1 - 2 * half);
        }
        row_sum cols(kernels_, lines_.data() + across_.levels * wide_, n);
        across_.for_each_part([&](int level, std::int64_t offset) { cols.add(line(level) + offset); });
        return cols.result();
    }

    /// One over the rows of the patch around row p that both places have.
    f64 row_share(std::int64_t p, std::int64_t down) const {
        if (!shrinks()) return 1 / static_cast<f64>(down_.width);
        const span both = within({p - job_.patch.above, p + job_.patch.below + 1}, {0, image_.rows() - down});
        return 1 / static_cast<f64>(both.size());
    }

    /// The same of columns, times channels, for all of `cols`.
    const f64* shares_of(span cols, std::int64_t right) const {
        f64* const shares = lines_.data() + (across_.levels + 1) * wide_;
        const span real{std::max<std::int64_t>(0, -right), std::min(image_.cols(), image_.cols() - right)};
        for (std::int64_t c = cols.first; c < cols.end; ++c) {
            const span patch{c - job_.patch.left, c + job_.patch.right + 1};
            shares[c - cols.first] =
                1 / static_cast<f64>(channels() * (shrinks() ? within(patch, real) : patch).size());
        }
        return shares;
    }

    const filters::non_local_job& job_;
    const filters::patch_kernels& kernels_;
    const image_view<const In>& image_;
    const image_view<Out>& result_;
    tile_size size_;
    doubling down_, across_;
    std::int64_t above_, left_, pixel_rows_, pixel_cols_, wide_;
    filters::window_axis row_axis_, col_axis_;
    filters::work_buffer<T> pixels_;
    filters::work_buffer<f64> sums_, rings_, lines_;
    std::int64_t plane_ = 0;
    span rows_{}, cols_{};
};

}  // namespace

void non_local_means(const non_local_inputs& inputs, const filter_outputs& outputs, const non_local_rule& rule,
                     const filter_options& options) try {
    const filters::non_local_job job = filters::make_non_local_job(inputs, outputs, rule, options);
    const packed_input image(inputs.image, is_plain);
    const packed_output result(outputs.result, is_plain);
    const view_shape& s = image.view().shape;
    const std::int64_t searched = (job.search.above + job.search.below + 1) * (job.search.left + job.search.right + 1);
    const int threads = filters::used_threads(job.threads, s.planes * s.rows * s.cols * s.channels * searched);
    visit_type(pixel_types{}, s.type, [&]<typename In>() {
        visit_type(type_list<In, f32, f64>{}, result.view().shape.type, [&]<typename Out>() {
            const image_view<const In> from(static_cast<const In*>(image.view().data), s);
            const image_view<Out> to(static_cast<Out*>(result.view().data), result.view().shape);
            filters::for_each_band(s.planes, s.rows, threads, [&](const filters::band& b, int) {
                tile_means<In, Out>(job, from, to).compute({b.first, b.end}, b.plane);
            });
        });
    });
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
