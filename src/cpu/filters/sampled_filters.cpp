#include "cpu/filters/filters.hpp"
#include "cpu/filters/sampled_windows.hpp"
#include "cpu/filters/thresholds.hpp"
#include "cpu/filters/write_row.hpp"

#include <mutex>

namespace boxsum::filters {
namespace {

/// Whether so much is enough for a result.
bool enough(const row_job& job, f64 count) {
    return job.weighted ? count > 0 && count >= job.min_weight : count >= static_cast<f64>(job.min_count);
}

/// Writes results of a row, `fill` where `given` says that there is none.
class filled_rows {
  public:
    filled_rows(const row_job& job, std::int64_t plane) : job_(job), plane_(plane) {}

    /// value(i) for elements of which given(i).
    template <typename Value, typename Given>
    void write(const any_view& result, const sampled_row& at, Value&& value, Given&& given) const {
        switch (result.shape.type) {
            case dtype::u8:
                return write_as<u8>(result, at, value, given);
            case dtype::u16:
                return write_as<u16>(result, at, value, given);
            case dtype::s16:
                return write_as<s16>(result, at, value, given);
            case dtype::u32:
                return write_as<u32>(result, at, value, given);
            case dtype::s32:
                return write_as<s32>(result, at, value, given);
            case dtype::s64:
                return write_as<s64>(result, at, value, given);
            case dtype::f32:
                return write_as<f32>(result, at, value, given);
            default:
                return write_as<f64>(result, at, value, given);
        }
    }

  private:
    template <typename T, typename Value, typename Given>
    void write_as(const any_view& result, const sampled_row& at, Value&& value, Given&& given) const {
        const T fill =
            static_cast<T>(job_.fill.value_or(std::is_integral_v<T> ? 0 : std::numeric_limits<f64>::quiet_NaN()));
        T* const to = job_.row_to<T>(result, at.row, plane_) + at.first;
        for (std::int64_t i = 0; i < at.n; ++i) to[i] = given(i) ? static_cast<T>(value(i)) : fill;
    }

    const row_job& job_;
    std::int64_t plane_;
};

template <typename Pixel>
void statistics_band(const row_job& job, const window_outputs& outputs, const band& b) {
    const filled_rows rows(job, b.plane);
    const bool spread = outputs.variance.data != nullptr || outputs.deviation.data != nullptr;
    sampled_windows<Pixel>(job, b, spread, [&](const sampled_row& at) {
        const auto given = [&](std::int64_t i) { return enough(job, at.count[i]); };
        const auto write = [&](const any_view& result, auto&& value) {
            if (result.data != nullptr) rows.write(result, at, value, given);
        };
        if (outputs.mean.data != nullptr && is_floating(outputs.mean.shape.type))
            write(outputs.mean, [&](std::int64_t i) { return at.mean[i]; });
        else
            write(outputs.mean, [&](std::int64_t i) { return at.rounded[i]; });
        write(outputs.variance, [&](std::int64_t i) { return at.variance[i]; });
        write(outputs.deviation, [&](std::int64_t i) { return std::sqrt(at.variance[i]); });
        if (at.exact_sum != nullptr)
            write(outputs.sum, [&](std::int64_t i) { return at.exact_sum[i]; });
        else
            write(outputs.sum, [&](std::int64_t i) { return at.sum[i]; });
        if (outputs.count.data != nullptr)
            rows.write(
                outputs.count, at, [&](std::int64_t i) { return at.count[i]; }, [](std::int64_t) { return true; });
    });
}

/// Calls f(row, counts): which of the row's own pixels count.
template <typename Pixel, typename F>
void sampled_with_pixels(const row_job& job, const band& b, bool spread, F&& f) {
    sampled_rows<Pixel, f64> own(job, b.plane);
    sampled_windows<Pixel>(job, b, spread,
                           [&](const sampled_row& at) { f(at, own.at(at.row).counts.data() + at.first); });
}

template <typename Pixel>
std::vector<extremes> find_extremes(const row_job& job) {
    const std::int64_t channels = job.shape.channels;
    std::vector<extremes> planes(static_cast<std::size_t>(job.shape.planes));
    std::mutex joining;
    for_each_band(job, [&](const band& b, int) {
        extremes mine;
        sampled_with_pixels<Pixel>(job, b, true, [&](const sampled_row& at, const u8* own) {
            const Pixel* const x = job.pixels<Pixel>(at.row, b.plane) + at.first;
            for (std::int64_t i = 0; i < at.n; ++i) {
                if (!enough(job, at.count[i])) continue;
                const auto k = static_cast<std::size_t>(i % channels);
                const f64 deviation = std::sqrt(at.variance[i]), pixel = static_cast<f64>(x[i]);
                if (deviation > mine.largest_deviation[k]) mine.largest_deviation[k] = deviation;
                if (own[i] != 0 && pixel < mine.smallest_pixel[k]) mine.smallest_pixel[k] = pixel;
            }
        });
        const std::lock_guard lock(joining);
        planes[static_cast<std::size_t>(b.plane)].include(mine);
    });
    return planes;
}

template <typename Pixel>
void threshold(const row_job& job, const threshold_job& formula, const filter_outputs& outputs) {
    std::vector<extremes> planes;
    if (formula.method == threshold_method::wolf) planes = find_extremes<Pixel>(job);
    for_each_band(job, [&](const band& b, int) {
        const filled_rows rows(job, b.plane);
        threshold_rows<Pixel> all(job, formula, planes.empty() ? nullptr : &planes[static_cast<std::size_t>(b.plane)],
                                  outputs.result, b.plane);
        work_buffer<f64> deviation(job.n());
        sampled_with_pixels<Pixel>(job, b, !formula.of_means(), [&](const sampled_row& at, const u8* own) {
            if (at.variance != nullptr) job.kernels->block.square_root(deviation.data(), at.variance, at.n);
            all.write(at.row, at.first, at.n, at.mean, deviation.data());
            const std::int64_t row = at.row - job.first_row;
            const auto given = [&](std::int64_t i) { return own[i] != 0 && enough(job, at.count[i]); };
            const auto keep = [&]<typename T>() {
                const T* const written = row_of<T>(const_any_view(outputs.result), row, b.plane) + at.first;
                rows.write(
                    outputs.result, at, [&](std::int64_t i) { return written[i]; }, given);
            };
            if (outputs.result.shape.type == dtype::u8)
                keep.template operator()<u8>();
            else if (outputs.result.shape.type == dtype::f32)
                keep.template operator()<f32>();
            else
                keep.template operator()<f64>();
            if (outputs.count.data != nullptr)
                rows.write(
                    outputs.count, at, [&](std::int64_t i) { return at.count[i]; }, [](std::int64_t) { return true; });
        });
    });
}

template <typename Pixel>
void contrast_band(const row_job& job, double epsilon, const filter_outputs& outputs, const band& b) {
    const filled_rows rows(job, b.plane);
    sampled_with_pixels<Pixel>(job, b, true, [&](const sampled_row& at, const u8* own) {
        const Pixel* const x = job.pixels<Pixel>(at.row, b.plane) + at.first;
        rows.write(
            outputs.result, at,
            [&](std::int64_t i) {
                const f64 s = std::sqrt(at.variance[i]);
                return (static_cast<f64>(x[i]) - at.mean[i]) / (s < epsilon ? epsilon : s);
            },
            [&](std::int64_t i) { return own[i] != 0 && enough(job, at.count[i]); });
        if (outputs.count.data != nullptr)
            rows.write(
                outputs.count, at, [&](std::int64_t i) { return at.count[i]; }, [](std::int64_t) { return true; });
    });
}

}  // namespace

void sampled_statistics(const row_job& job, const window_outputs& outputs) {
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() {
        for_each_band(job, [&](const band& b, int) { statistics_band<Pixel>(job, outputs, b); });
    });
}

void sampled_threshold(const row_job& job, const threshold_job& formula, const filter_outputs& outputs) {
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() { threshold<Pixel>(job, formula, outputs); });
}

void sampled_contrast(const row_job& job, double epsilon, const filter_outputs& outputs) {
    visit_type(filter_types{}, job.shape.type, [&]<typename Pixel>() {
        for_each_band(job, [&](const band& b, int) { contrast_band<Pixel>(job, epsilon, outputs, b); });
    });
}

}  // namespace boxsum::filters
