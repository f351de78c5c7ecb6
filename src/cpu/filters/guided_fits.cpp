#include "cpu/filters/guided_fits.hpp"

#include "cpu/filters/guided_kernels.hpp"
#include "cpu/filters/moments.hpp"
#include "cpu/filters/rounded_row.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <tuple>
#include <type_traits>
#include <utility>

namespace boxsum::filters {
namespace {

using pixel_types = type_list<u8, u16, f32, f64>;
using floating_types = type_list<f32, f64>;

/// Sums of two planes, whose variances tell covariances. A row is made whenever it is asked for.
template <typename X, typename Y>
class sum_rows final : public row_source<f64> {
  public:
    struct plane {
        const row_job& job;
        std::int64_t number;
    };

    sum_rows(const plane& x, const plane& y)
        : x_(x),
          y_(y),
          pitch_(whole_vectors(x.job.n()) + 8),  // never all rows in the same sets of a cache
          sums_(live * pitch_) {}

    const f64* row(std::int64_t row) override {
        f64* const to = sums_.data() + next_ * pitch_;
        next_ = (next_ + 1) % live;
        const std::int64_t n = x_.job.n();
        std::get<sample_kernels<X>>(x_.job.kernels->sample).load(to, x_.job.template pixels<X>(row, x_.number), n);
        std::get<sample_kernels<Y>>(y_.job.kernels->sample).add(to, to, y_.job.template pixels<Y>(row, y_.number), n);
        return to;
    }

  private:
    static constexpr std::int64_t live = 16;

    plane x_, y_;
    std::int64_t pitch_, next_ = 0;
    work_buffer<f64> sums_;
};

/// Moments of the windows around eight rows.
template <typename T, typename Rows>
class moments_of_eight {
  public:
    template <typename... Of>
    moments_of_eight(bool means, const row_job& job, Of&&... of)
        : rows_(std::forward<Of>(of)...), windows_(job, rows_, 0), n_(job.n()), variances_(8 * n_) {
        if (means) means_ = work_buffer<f64>(8 * n_);
    }

    /// Rows 8 group .. 8 group + 7 of the whole image. Groups must be asked for in increasing order.
    void compute(std::int64_t group) {
        const bool wanted = means_.data() != nullptr;
        std::array<f64*, 8> means{}, variances;
        for (std::size_t i = 0; i < 8; ++i) {
            if (wanted) means[i] = means_.data() + static_cast<std::int64_t>(i) * n_;
            variances[i] = variances_.data() + static_cast<std::int64_t>(i) * n_;
        }
        // What is not finite has NaN for its variance, and so for its fits.
        windows_.compute(group, wanted ? means.data() : nullptr, variances.data(), false);
    }
    const f64* mean(std::int64_t row) const { return means_.data() + row % 8 * n_; }
    const f64* variance(std::int64_t row) const { return variances_.data() + row % 8 * n_; }

  private:
    Rows rows_;
    group_moments<T> windows_;
    std::int64_t n_;
    work_buffer<f64> means_, variances_;
};

template <typename X, typename G>
class fits_of_eight {
  public:
    fits_of_eight(const row_job& image, const row_job& guide) : guides_(static_cast<std::size_t>(guide.shape.planes)) {
        for (std::int64_t i = 0; i < guide.shape.planes; ++i) {
            guide_.emplace_back(true, guide, guide, i);
            for (std::int64_t j = 0; j < i; ++j)
                between_.emplace_back(false, guide, pair<G, G>{guide, i}, pair<G, G>{guide, j});
        }
        for (std::int64_t k = 0; k < image.shape.planes; ++k) {
            image_.emplace_back(true, image, image, k);
            for (std::int64_t i = 0; i < guide.shape.planes; ++i)
                with_image_.emplace_back(false, image, pair<G, X>{guide, i}, pair<G, X>{image, k});
        }
    }

    void compute(std::int64_t group) {
        const auto each = [&](auto& all) {
            for (auto& windows : all) windows.compute(group);
        };
        each(guide_);
        each(between_);
        each(image_);
        each(with_image_);
    }

    /// Of image `k`, but for where they go.
    fit_rows moments(std::int64_t row, std::size_t k) const {
        fit_rows rows{};
        for (std::size_t i = 0; i < guides_; ++i) {
            rows.mean[i] = guide_[i].mean(row);
            rows.variance[i] = guide_[i].variance(row);
            rows.with_image[i] = with_image_[k * guides_ + i].variance(row);
        }
        for (std::size_t i = 0; i < between_.size(); ++i) rows.between[i] = between_[i].variance(row);
        rows.image_mean = image_[k].mean(row);
        rows.image_variance = image_[k].variance(row);
        return rows;
    }

  private:
    template <typename A, typename B>
    using pair = typename sum_rows<A, B>::plane;

    std::size_t guides_;
    // Not moved: windows know where their rows are.
    std::deque<moments_of_eight<G, image_rows<G>>> guide_;
    std::deque<moments_of_eight<f64, sum_rows<G, G>>> between_;
    std::deque<moments_of_eight<X, image_rows<X>>> image_;
    std::deque<moments_of_eight<f64, sum_rows<G, X>>> with_image_;
};

template <typename X, typename G>
void fit_band(const row_job& image, const row_job& guide, f64 epsilon, const any_view& fits, const band& b) {
    const guided_kernels& kernels = guided_of_this_machine();
    const std::int64_t guides = guide.shape.planes;
    fits_of_eight<X, G> windows(image, guide);
    for (std::int64_t group = b.first / 8; 8 * group < b.end; ++group) {
        windows.compute(group);
        for (std::int64_t row = std::max(8 * group, b.first); row < std::min(8 * group + 8, b.end); ++row)
            for (std::int64_t k = 0; k < image.shape.planes; ++k) {
                fit_rows rows = windows.moments(row, static_cast<std::size_t>(k));
                for (std::int64_t i = 0; i <= guides; ++i)
                    rows.to[i] = image.row_to<f64>(fits, row, k * (guides + 1) + i);
                kernels.fit[guides - 1](rows, epsilon, image.n());
            }
    }
}

}  // namespace

void find_fits(const row_job& image, f64 epsilon, const any_view& fits) {
    const guided_kernels& kernels = guided_of_this_machine();
    visit_type(pixel_types{}, image.shape.type, [&]<typename X>() {
        for_each_band_of_rows(image, [&](const band& b) {
            moments<X>(
                image, b,
                [&](std::int64_t row, std::int64_t first) {
                    return moment_rows<f64>{image.row_to<f64>(fits, row, 1) + first,
                                            image.row_to<f64>(fits, row, 0) + first};
                },
                [&](std::int64_t, std::int64_t, std::int64_t n, const moment_rows<f64>& at) {
                    kernels.fit_itself(at.spread, at.mean, epsilon, n);
                });
        });
    });
}

void find_fits(const row_job& image, const row_job& guide, f64 epsilon, const any_view& fits) {
    visit_type(floating_types{}, image.shape.type, [&]<typename X>() {
        visit_type(floating_types{}, guide.shape.type, [&]<typename G>() {
            for_each_band_of_rows(image, [&](const band& b) { fit_band<X, G>(image, guide, epsilon, fits, b); });
        });
    });
}

void apply_fits(const row_job& fits, const const_any_view& guide, std::int64_t guide_row, rounding_mode rounding,
                const any_view& result, std::int64_t step) {
    const std::int64_t guides = guide.shape.planes, n = fits.n();
    const work_buffer<f64> counts = floating_column_counts(fits);
    for_each_band_of_rows(fits, [&](const band& b) {
        std::deque<image_rows<f64>> rows;
        std::deque<group_sums<f64>> windows;
        for (std::int64_t i = 0; i <= guides; ++i) windows.emplace_back(fits, rows.emplace_back(fits, i), 0);
        const work_buffer<f64> sum(n), mean(n);
        for (std::int64_t row = b.first; row < b.end; ++row) {
            const auto average = [&](f64* to, std::int64_t i) {
                const f64* const sums = windows[static_cast<std::size_t>(i)].compute(row);
                fits.kernels->block.divide_64f(to, sums, static_cast<f64>(fits.rows.count(row)), counts.data(), n);
            };
            average(sum.data(), guides);
            visit_type(pixel_types{}, guide.shape.type, [&]<typename T>() {
                const auto add = std::get<guide_kernels<T>>(guided_of_this_machine().guide).add_product;
                for (std::int64_t i = 0; i < guides; ++i) {
                    average(mean.data(), i);
                    add(sum.data(), mean.data(), row_of<T>(guide, row - guide_row, i), n);
                }
            });
            visit_type(pixel_types{}, result.shape.type,
                       [&]<typename T>() { store_rounded(row_of<T>(result, row, 0), step, sum.data(), n, rounding); });
        }
    });
}

}  // namespace boxsum::filters
