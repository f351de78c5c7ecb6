#include "core/exhausted_memory.hpp"
#include "core/hessian_terms.hpp"
#include "core/view_checks.hpp"
#include "cpu/filters/bands.hpp"
#include "filters/blob_job.hpp"

#include <boxsum/blobs.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

namespace boxsum {
namespace {

/// An inclusive table of one plane.
class plane_table {
  public:
    plane_table(const const_any_view& image, std::int64_t plane, int threads)
        : sums_(image.shape.rows * image.shape.cols), view_(sums_.data(), image.shape.rows, image.shape.cols) {
        const_any_view one = image;
        one.shape.planes = 1;
        if (image.shape.planes > 1)
            one.data = static_cast<const std::byte*>(image.data) + plane * image.shape.plane_stride;
        sat({one}, {table_view<double>(view_)}, {.threads = threads});
    }
    std::int64_t rows() const { return view_.rows(); }
    std::int64_t cols() const { return view_.cols(); }
    const double* row(std::int64_t r) const { return view_.row(r); }

  private:
    filters::work_buffer<double> sums_;
    image_view<double> view_;
};

/// Determinants of rows of one scale.
class scale {
  public:
    scale(double sigma, dtype image) : terms_(sigma, image) {}

    /// `work`: eight rows.
    void determinants(double* to, const plane_table& table, std::int64_t r, double* work) const {
        const std::int64_t cols = table.cols();
        std::array<const double*, 8> rows;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            double* const sums = work + static_cast<std::int64_t>(i) * cols;
            sum_row(sums, table, r, terms_.boxes[i]);
            rows[i] = sums;
        }
        const auto [tl, br, bl, tr, x_middle, x_side, y_middle, y_side] = rows;
        const double weight = terms_.weight, unit = terms_.unit;
        for (std::int64_t c = 0; c < cols; ++c)
            to[c] = hessian_determinant(tl[c], br[c], bl[c], tr[c], x_middle[c], x_side[c], y_middle[c], y_side[c],
                                        weight, unit);
    }

  private:
    static void sum_row(double* to, const plane_table& table, std::int64_t r, const hessian_box& b) {
        const std::int64_t rows = table.rows(), cols = table.cols();
        const std::int64_t first = std::clamp<std::int64_t>(r + b.rows.from, 0, rows - 1);
        const double *const above = table.row(first), *const last = table.row(std::min(first + b.rows.count, rows - 1));
        const auto clamped = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t c = begin; c < end; ++c) {
                const std::int64_t left = std::clamp<std::int64_t>(c + b.cols.from, 0, cols - 1);
                const std::int64_t right = std::min(left + b.cols.count, cols - 1);
                to[c] = std::max(0.0, above[left] + last[right] - above[right] - last[left]);
            }
        };
        // Columns whose boxes need no clamping.
        const std::int64_t begin = std::clamp<std::int64_t>(-b.cols.from, 0, cols);
        const std::int64_t end = std::clamp(cols - b.cols.from - b.cols.count, begin, cols);
        clamped(0, begin);
        const std::int64_t from = b.cols.from, up_to = from + b.cols.count;
        for (std::int64_t c = begin; c < end; ++c) {
            const double sum = above[c + from] + last[c + up_to] - above[c + up_to] - last[c + from];
            to[c] = sum > 0 ? sum : 0.0;
        }
        clamped(end, cols);
    }

    hessian_scale terms_;
};

/// Goes down the rows of a band with three rows of every scale, and a column beyond both ends that exceeds nothing.
class maxima_finder {
  public:
    maxima_finder(const plane_table& table, const std::vector<double>& sigmas, dtype image, double threshold)
        : table_(table),
          sigmas_(sigmas),
          threshold_(threshold),
          pitch_(table.cols() + 2),
          values_(3 * static_cast<std::int64_t>(sigmas.size()) * pitch_),
          work_(8 * table.cols()) {
        for (const double sigma : sigmas) scales_.emplace_back(sigma, image);
    }

    void find(std::int64_t first, std::int64_t end, filters::blob_maxima& found) {
        compute(first - 1);
        compute(first);
        for (std::int64_t r = first; r < end; ++r) {
            compute(r + 1);
            for (std::size_t s = 0; s < scales_.size(); ++s) compare(r, s, found);
        }
    }

  private:
    double* row(std::int64_t r, std::size_t s) const {
        return values_.data() +
               ((r + 3) % 3 * static_cast<std::int64_t>(scales_.size()) + static_cast<std::int64_t>(s)) * pitch_ + 1;
    }

    void compute(std::int64_t r) {
        constexpr double nothing = -std::numeric_limits<double>::infinity();
        for (std::size_t s = 0; s < scales_.size(); ++s) {
            double* const to = row(r, s);
            if (r < 0 || r >= table_.rows()) {
                std::fill_n(to - 1, pitch_, nothing);
                continue;
            }
            to[-1] = to[table_.cols()] = nothing;
            scales_[s].determinants(to, table_, r, work_.data());
        }
    }

    void compare(std::int64_t r, std::size_t s, filters::blob_maxima& found) const {
        const double* const x = row(r, s);
        for (std::int64_t c = 0; c < table_.cols(); ++c) {
            found.least = std::min(found.least, x[c]);
            found.most = std::max(found.most, x[c]);
            if (x[c] > threshold_ && x[c] >= x[c - 1] && x[c] >= x[c + 1] && is_maximum(r, s, c))
                found.found.push_back({{r, c, sigmas_[s], x[c]}, s});
        }
    }

    bool is_maximum(std::int64_t r, std::size_t s, std::int64_t c) const {
        const double value = row(r, s)[c];
        for (std::size_t k = s - (s > 0 ? 1 : 0); k <= std::min(s + 1, scales_.size() - 1); ++k)
            for (std::int64_t y = r - 1; y <= r + 1; ++y) {
                const double* const x = row(y, k) + c;
                if (!(value >= x[-1] && value >= x[0] && value >= x[1])) return false;
            }
        return true;
    }

    const plane_table& table_;
    const std::vector<double>& sigmas_;
    double threshold_;
    std::int64_t pitch_;
    filters::work_buffer<double> values_, work_;
    std::vector<scale> scales_;
};

template <typename Out>
void store_determinants(const any_view& result, std::int64_t plane, std::int64_t r, const double* x) {
    const image_view<Out> to(static_cast<Out*>(result.data), result.shape);
    for (std::int64_t c = 0; c < result.shape.cols; ++c) to(r, c, 0, plane) = static_cast<Out>(x[c]);
}

}  // namespace

void box_hessian(const blob_inputs& inputs, const hessian_outputs& outputs, const hessian_options& options) try {
    const const_any_view& image = inputs.image;
    const any_view& result = outputs.determinant;
    filters::check_hessian(image.shape, result.shape, options);
    check_read("image", image);
    check_written("determinant", result);
    if (overlap(result, image)) throw invalid_argument("determinant: overlaps image");
    const view_shape &from = image.shape, &to = result.shape;
    const scale one(options.sigma, from.type);
    const int used = filters::used_threads(options.threads, from.rows * from.cols * 16);
    for (std::int64_t plane = 0; plane < from.planes; ++plane) {
        const plane_table table(image, plane, options.threads);
        filters::for_each_band(1, from.rows, used, [&](const filters::band& b, int) {
            const filters::work_buffer<double> work(9 * from.cols);
            double* const x = work.data() + 8 * from.cols;
            for (std::int64_t r = b.first; r < b.end; ++r) {
                one.determinants(x, table, r, work.data());
                to.type == dtype::f32 ? store_determinants<float>(result, plane, r, x)
                                      : store_determinants<double>(result, plane, r, x);
            }
        });
    }
} catch (...) {
    rethrow_as_ours();
}

std::vector<blob> find_blobs(const blob_inputs& inputs, const blob_options& options) try {
    const const_any_view& image = inputs.image;
    filters::check_blobs(image.shape, options);
    check_read("image", image);
    const plane_table table(image, 0, options.threads);
    const double threshold = filters::blob_threshold(options);
    const auto scales = static_cast<std::int64_t>(options.sigmas.size());
    const int used = filters::used_threads(options.threads, table.rows() * table.cols() * 16 * scales);
    filters::blob_maxima all;
    std::mutex mutex;
    filters::for_each_band(1, table.rows(), used, [&](const filters::band& b, int) {
        filters::blob_maxima found;
        maxima_finder(table, options.sigmas, image.shape.type, threshold).find(b.first, b.end, found);
        const std::lock_guard lock(mutex);
        all.found.insert(all.found.end(), found.found.begin(), found.found.end());
        all.least = std::min(all.least, found.least);
        all.most = std::max(all.most, found.most);
    });
    return filters::blobs_of(std::move(all), options);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
