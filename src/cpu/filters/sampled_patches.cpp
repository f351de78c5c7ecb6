#include "cpu/filters/sampled_patches.hpp"

#include "core/visit_types.hpp"
#include "cpu/filters/bands.hpp"
#include "cpu/filters/rounded_row.hpp"
#include "filters/exponential.hpp"
#include "filters/sample_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace boxsum::filters {
namespace {

using pixel_types = type_list<u8, u16, f32, f64>;

/// Rows that are computed at a time.
constexpr std::int64_t tile_rows = 32;

/// Some rows of one plane: for each distance between two pixels, what pairs so far apart have, by sums of a patch's
/// columns and then of its rows. All sums are of what a pixel's own patches hold, in one order.
class sampled_tile {
  public:
    sampled_tile(const non_local_call& call, const sampled_image& from)
        : job_(call.job),
          samples_(call.samples),
          from_(from),
          channels_(from.image.shape.channels),
          cols_(from.image.shape.cols),
          above_(job_.search.above + job_.patch.above),
          left_(job_.search.left + job_.patch.left),
          held_rows_(tile_rows + above_ + job_.search.below + job_.patch.below),
          held_cols_(cols_ + left_ + job_.search.right + job_.patch.right),
          row_axis_(from.image.shape.rows, 0, 0, job_.border),
          col_axis_(cols_, 0, 0, job_.border),
          pixels_(channels_ * held_rows_ * held_cols_),
          weights_(held_rows_ * held_cols_),
          pairs_(cols_ + job_.patch.left + job_.patch.right),
          differences_(cols_ + job_.patch.left + job_.patch.right),
          shares_((tile_rows + job_.patch.above + job_.patch.below) * cols_),
          distances_((tile_rows + job_.patch.above + job_.patch.below) * cols_),
          share_(cols_),
          distance_(cols_),
          similar_(tile_rows * cols_),
          counts_(tile_rows * cols_),
          sums_(channels_ * tile_rows * cols_),
          found_(cols_ * channels_),
          given_(cols_ * channels_) {}

    void compute(std::int64_t first, std::int64_t end, std::int64_t plane) {
        first_ = first;
        rows_ = end - first;
        load(plane);
        for (const auto* sums : {&similar_, &counts_}) std::fill_n(sums->data(), tile_rows * cols_, 0.0);
        std::fill_n(sums_.data(), channels_ * tile_rows * cols_, 0.0);
        for (std::int64_t down = -job_.search.above; down <= job_.search.below; ++down)
            for (std::int64_t right = -job_.search.left; right <= job_.search.right; ++right) add(down, right);
    }

    void store(const filter_outputs& outputs, std::int64_t plane) const {
        const f64 other = samples_.fill.value_or(std::numeric_limits<f64>::quiet_NaN());
        for (std::int64_t r = 0; r < rows_; ++r)
            for (std::int64_t k = 0; k < channels_; ++k) {
                const f64 *const w = similar_.data() + r * cols_, *const v = sum(r, k);
                for (std::int64_t c = 0; c < cols_; ++c) distance_[c] = w[c] == 0 ? other : v[c] / w[c];
                visit_type(pixel_types{}, outputs.result.shape.type, [&]<typename T>() {
                    store_rounded(row_of<T>(outputs.result, first_ + r, plane) + k, channels_, distance_.data(), cols_,
                                  job_.rounding);
                });
                if (outputs.count.data == nullptr) continue;
                visit_type(type_list<f32, f64>{}, outputs.count.shape.type, [&]<typename T>() {
                    T* const to = row_of<T>(outputs.count, first_ + r, plane) + k;
                    for (std::int64_t c = 0; c < cols_; ++c) to[c * channels_] = static_cast<T>(counts_[r * cols_ + c]);
                });
            }
    }

  private:
    /// Places are those of the tile's rows and the image's columns.
    std::int64_t held(std::int64_t r, std::int64_t c) const { return (r + above_) * held_cols_ + c + left_; }
    const f64* pixels(std::int64_t r, std::int64_t c, std::int64_t k) const {
        return pixels_.data() + k * held_rows_ * held_cols_ + held(r, c);
    }
    const f64* weights(std::int64_t r, std::int64_t c) const { return weights_.data() + held(r, c); }
    f64* sum(std::int64_t r, std::int64_t k) const { return sums_.data() + (k * tile_rows + r) * cols_; }

    /// The tile and what is around it: pixels that do not count, and those that there are not, are 0 with weight 0.
    void load(std::int64_t plane) {
        const f64 value = job_.border == border_mode::constant ? job_.border_value : 0;
        const bool beyond = job_.border == border_mode::constant && !is_nodata(value, samples_.nan, samples_.nodata);
        visit_type(pixel_types{}, from_.image.shape.type, [&]<typename T>() {
            for (std::int64_t r = -above_; r < rows_ + job_.search.below + job_.patch.below; ++r) {
                const std::int64_t y = row_axis_.source(first_ + r);
                const T* const x = y < 0 ? nullptr : row_of<T>(from_.image, y, plane);
                if (y >= 0) {
                    const sample_row<T> row(from_, y, plane);
                    row.find(found_.data());
                    std::fill_n(given_.data(), cols_ * channels_, 1.0);
                    row.weigh(nullptr, nullptr, given_.data(), found_.data());
                }
                for (std::int64_t c = -left_; c < held_cols_ - left_; ++c) {
                    const std::int64_t from = y < 0 ? -1 : col_axis_.source(c);
                    bool counted = from < 0 ? beyond : true;
                    for (std::int64_t k = 0; from >= 0 && k < channels_; ++k)
                        counted = counted && found_[from * channels_ + k] != 0;
                    weights_[held(r, c)] = !counted ? 0 : from < 0 ? 1 : given_[from * channels_];
                    for (std::int64_t k = 0; k < channels_; ++k)
                        pixels_[k * held_rows_ * held_cols_ + held(r, c)] =
                            !counted   ? 0
                            : from < 0 ? value
                                       : static_cast<f64>(x[from * channels_ + k]);
                }
            }
        });
    }

    /// What pixels `down` rows and `right` columns away add to all of the tile's.
    void add(std::int64_t down, std::int64_t right) const {
        const window& p = job_.patch;
        const std::int64_t n = cols_ + p.left + p.right;
        for (std::int64_t r = -p.above; r < rows_ + p.below; ++r) {
            const f64 *const v = weights(r, -p.left), *const there = weights(r + down, right - p.left);
            std::fill_n(differences_.data(), n, 0.0);
            for (std::int64_t k = 0; k < channels_; ++k) {
                const f64 *const x = pixels(r, -p.left, k), *const y = pixels(r + down, right - p.left, k);
                for (std::int64_t c = 0; c < n; ++c) differences_[c] += (x[c] - y[c]) * (x[c] - y[c]);
            }
            for (std::int64_t c = 0; c < n; ++c) {
                pairs_[c] = v[c] * there[c];
                // 0 for no pair, whatever the difference to a pixel that counts.
                differences_[c] = pairs_[c] > 0 ? pairs_[c] * differences_[c] : 0;
            }
            add_across(shares_.data() + (r + p.above) * cols_, pairs_.data());
            add_across(distances_.data() + (r + p.above) * cols_, differences_.data());
        }
        const f64 least = samples_.min_weight;
        const auto channels = static_cast<f64>(channels_);
        for (std::int64_t r = 0; r < rows_; ++r) {
            add_down(share_.data(), shares_.data() + r * cols_);
            add_down(distance_.data(), distances_.data() + r * cols_);
            const f64* const v = weights(r + down, right);
            for (std::int64_t c = 0; c < cols_; ++c) {
                if (!(v[c] > 0) || !(share_[c] > 0) || share_[c] < least) continue;
                const f64 beyond = distance_[c] / (channels * share_[c]) - job_.noise;
                const f64 w = v[c] * (beyond <= 0 ? 1 : exponential(-beyond * job_.scale));  // NaN: NaN
                counts_[r * cols_ + c] += v[c];
                similar_[r * cols_ + c] += w;
                for (std::int64_t k = 0; k < channels_; ++k) sum(r, k)[c] += w * pixels(r + down, right, k)[c];
            }
        }
    }

    void add_across(f64* to, const f64* x) const {
        std::copy_n(x, cols_, to);
        for (std::int64_t j = 1; j <= job_.patch.left + job_.patch.right; ++j)
            for (std::int64_t c = 0; c < cols_; ++c) to[c] += x[c + j];
    }
    void add_down(f64* to, const f64* x) const {
        std::copy_n(x, cols_, to);
        for (std::int64_t i = 1; i <= job_.patch.above + job_.patch.below; ++i)
            for (std::int64_t c = 0; c < cols_; ++c) to[c] += x[i * cols_ + c];
    }

    const non_local_job& job_;
    const window_job& samples_;
    const sampled_image& from_;
    std::int64_t channels_, cols_, above_, left_, held_rows_, held_cols_;
    window_axis row_axis_, col_axis_;
    work_buffer<f64> pixels_, weights_;
    work_buffer<f64> pairs_, differences_;  ///< of a row
    work_buffer<f64> shares_, distances_;   ///< sums of them over the columns of patches, of the tile's rows
    work_buffer<f64> share_, distance_;     ///< over patches, of a row
    work_buffer<f64> similar_, counts_, sums_;
    work_buffer<u8> found_;
    work_buffer<f64> given_;
    std::int64_t first_ = 0, rows_ = 0;
};

}  // namespace

void sampled_non_local_means(const non_local_call& call, const non_local_inputs& inputs,
                             const filter_outputs& outputs) {
    const view_shape& s = inputs.image.shape;
    const window& w = call.job.search;
    const sampled_image from{inputs.image, inputs.mask, inputs.weights, call.samples.nan, call.samples.nodata};
    const int threads = used_threads(
        call.job.threads, s.planes * s.rows * s.cols * s.channels * (w.above + w.below + 1) * (w.left + w.right + 1));
    if (!call.samples.weighted) return counted_non_local_means(call, from, outputs, threads);
    for_each_band(s.planes, s.rows, threads, [&](const band& b, int) {
        sampled_tile tile(call, from);
        for (std::int64_t r = b.first; r < b.end; r += tile_rows) {
            tile.compute(r, std::min(r + tile_rows, b.end), b.plane);
            tile.store(outputs, b.plane);
        }
    });
}

}  // namespace boxsum::filters
