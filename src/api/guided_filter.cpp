#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/filters/bands.hpp"
#include "cpu/filters/guided_bytes.hpp"
#include "cpu/filters/guided_fits.hpp"
#include "cpu/filters/guided_kernels.hpp"
#include "cpu/filters/rounded_row.hpp"
#include "filters/filter_jobs.hpp"
#include "filters/guided_job.hpp"
#include "filters/sample_row.hpp"

#include <boxsum/guided_filter.hpp>
#include <boxsum/memory.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace boxsum {
namespace {

using pixel_types = type_list<u8, u16, f32, f64>;

/// Memory that is taken again for every strip.
class arena {
  public:
    /// Bytes for the caller's, until release() goes back to before.
    void* take(std::int64_t bytes) {
        if (next_ == buffers_.size()) buffers_.emplace_back();
        host_buffer& buffer = buffers_[next_++];
        const auto size = static_cast<std::size_t>(bytes);
        if (buffer.size() < size) buffer = memory_pool::shared().acquire(size);
        return buffer.data();
    }
    std::size_t mark() const noexcept { return next_; }
    void release(std::size_t mark) noexcept { next_ = mark; }

  private:
    std::vector<host_buffer> buffers_;
    std::size_t next_ = 0;
};

/// Planes of one channel, of some rows of an image.
struct planes {
    const_any_view view;
    std::int64_t first = 0;

    /// Rows are numbered in the image.
    template <typename T>
    T* row(std::int64_t row, std::int64_t plane = 0) const {
        return image_view<T>(static_cast<T*>(const_cast<void*>(view.data)), view.shape).row(row - first, plane);
    }
    const_any_view some(std::int64_t plane, std::int64_t count) const {
        const_any_view v{static_cast<const std::byte*>(view.data) + plane * view.shape.plane_stride, view.shape};
        v.shape.planes = count;
        return v;
    }
    any_view to(std::int64_t plane, std::int64_t count) const {
        const const_any_view v = some(plane, count);
        return {const_cast<void*>(v.data), v.shape};
    }
};

template <typename T>
void load_row(f64* to, const T* x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<f64>(x[i]);
}

const_any_view plane_of(const_any_view view, std::int64_t plane) {
    if (view.shape.planes > 1) view.data = static_cast<const std::byte*>(view.data) + plane * view.shape.plane_stride;
    view.shape.planes = 1;
    return view;
}

any_view plane_of(const any_view& view, std::int64_t plane) {
    const const_any_view one = plane_of(const_any_view(view), plane);
    return {const_cast<void*>(one.data), one.shape};
}

/// One plane of all that a call is given; what is not given has null data.
struct plane_views {
    const_any_view image, guide, mask, weights;
    any_view result, count;
};

/// One plane, some rows at a time.
class guided_rows {
  public:
    guided_rows(const filters::guided_call& call, const plane_views& views, arena& memory)
        : call_(call),
          job_(call.job),
          image_(views.image),
          guide_(views.guide),
          result_(views.result),
          count_(views.count),
          samples_{views.image, views.mask, views.weights, call.samples.nan, call.samples.nodata},
          memory_(memory) {}

    void compute(row_range rows) const {
        memory_.release(0);
        const row_range fitted = within(rows, job_.means.above, job_.means.below);
        if (const auto scales = scales_of_bytes()) {
            for (std::int64_t k = 0; k < image_.shape.channels; ++k) {
                memory_.release(0);
                guide_bytes(k, rows, fitted, *scales);
            }
            return;
        }
        if (guide_.data == nullptr) {
            for (std::int64_t k = 0; k < image_.shape.channels; ++k) {
                memory_.release(0);
                guide_itself(k, rows, fitted);
            }
            return;
        }
        switch (guide_.shape.channels) {
            case 1:
                return guide<1>(rows, fitted);
            case 2:
                return guide<2>(rows, fitted);
            case 3:
                return guide<3>(rows, fitted);
            default:
                return guide<4>(rows, fitted);
        }
    }

  private:
    std::int64_t cols() const { return image_.shape.cols; }

    /// The rows that windows around these reach.
    row_range within(row_range rows, std::int64_t above, std::int64_t below) const {
        if (rows.first == 0 && rows.end == image_.shape.rows) return rows;
        return {std::max<std::int64_t>(rows.first - above, 0), std::min(rows.end + below, image_.shape.rows)};
    }

    filter_options windows(const window& w) const {
        return {.window = w, .border = job_.border, .threads = job_.threads};
    }

    template <typename F>
    void for_each_row(row_range rows, F&& f) const {
        const std::int64_t count = rows.end - rows.first;
        filters::for_each_band(1, count, filters::used_threads(job_.threads, count * cols()),
                               [&](const filters::band& b, int) {
                                   for (std::int64_t r = b.first; r < b.end; ++r) f(rows.first + r);
                               });
    }

    planes allocate(dtype type, std::int64_t count, row_range rows) const {
        const view_shape shape = packed_shape(type, count, rows.end - rows.first, cols(), 1);
        return {{memory_.take(checked_span_bytes("image", shape)), shape}, rows.first};
    }

    /// Where all pixels count.
    filters::row_job windows_around(const planes& from, row_range results, const window& w) const {
        const filter_inputs in = part(from, from.view, results, {});
        view_shape shape = from.view.shape;
        shape.rows = results.end - results.first;
        return {filters::box_filter_job(filters::part_of(in), {shape}, windows(w)), in};
    }
    filters::row_job moments_around(const planes& from, row_range results) const {
        const filter_inputs in = part(from, from.view, results, {});
        const view_shape shape =
            packed_shape(dtype::f64, from.view.shape.planes, results.end - results.first, cols(), 1);
        return {filters::statistics_job(filters::part_of(in), {shape, shape, {}, {}, {}}, windows(job_.fits)), in};
    }

    any_view channel_of_result(std::int64_t channel) const {
        any_view result = result_;
        result.data =
            static_cast<std::byte*>(result.data) + channel * static_cast<std::int64_t>(size_of(result.shape.type));
        return result;
    }

    /// With samples_of() those rows, of which some planes may count none.
    filter_inputs part(const planes& from, const const_any_view& view, row_range results, const planes& samples) const {
        filter_inputs in{
            .image = view, .at = {from.first, 0}, .whole = {image_.shape.rows, cols()}, .results = results};
        if (samples.view.data != nullptr) (samples.view.shape.type == dtype::u8 ? in.mask : in.weights) = samples.view;
        return in;
    }

    /// A mask, or weights where they are given, that is 0 where a pixel of the channel does not count; nothing where
    /// all count.
    planes samples_of(std::int64_t channel, row_range rows) const {
        if (!call_.sampled) return {};
        const bool weighted = call_.samples.weighted;
        const planes to = allocate(weighted ? dtype::f32 : dtype::u8, 1, rows);
        const std::int64_t channels = image_.shape.channels, n = cols() * channels;
        visit_type(pixel_types{}, image_.shape.type, [&]<typename T>() {
            for_each_row(rows, [&](std::int64_t r) {
                const filters::sample_row<T> row(samples_, r, 0);
                const filters::work_buffer<u8> counts(n);
                const filters::work_buffer<f64> weights(weighted ? n : 0);
                row.find(counts.data());
                if (weighted) row.weigh(nullptr, nullptr, weights.data(), counts.data());
                for (std::int64_t c = 0; c < cols(); ++c) {
                    const std::int64_t i = c * channels + channel;
                    const bool counted = counts[i] != 0 && !lacks_guide(r, c);
                    if (weighted)
                        to.row<f32>(r)[c] = counted ? static_cast<f32>(weights[i]) : 0;
                    else
                        to.row<u8>(r)[c] = counted ? 1 : 0;
                }
            });
        });
        return to;
    }

    /// Whether NaN in the guide takes a pixel out.
    bool lacks_guide(std::int64_t r, std::int64_t c) const {
        if (guide_.data == nullptr || !is_floating(guide_.shape.type) || call_.samples.nan != nan_mode::omit)
            return false;
        const auto any_nan = [&]<typename T>() {
            const image_view<const T> guide(static_cast<const T*>(guide_.data), guide_.shape);
            for (std::int64_t k = 0; k < guide.channels(); ++k)
                if (std::isnan(guide(r, c, k))) return true;
            return false;
        };
        return guide_.shape.type == dtype::f32 ? any_nan.template operator()<f32>()
                                               : any_nan.template operator()<f64>();
    }

    /// 1 where the window of a fit has so much that counts that there is one, else 0; nothing where all count. Writes
    /// what counts around the pixels of `rows`, if that is wanted.
    planes existing(const planes& image, const planes& samples, std::int64_t channel, row_range rows,
                    row_range fitted) const {
        if (!call_.sampled && count_.data == nullptr) return {};
        const planes counts = allocate(dtype::f64, 1, fitted), exists = allocate(dtype::u8, 1, fitted);
        local_statistics(part(image, image.view, fitted, samples), {.count = counts.to(0, 1)}, windows(job_.fits));
        const filters::window_job& s = call_.samples;
        const f64 least = s.weighted ? s.min_weight : static_cast<f64>(s.min_count);
        for_each_row(fitted, [&](std::int64_t r) {
            const f64* const count = counts.row<const f64>(r);
            for (std::int64_t c = 0; c < cols(); ++c) exists.row<u8>(r)[c] = count[c] > 0 && count[c] >= least ? 1 : 0;
            if (count_.data == nullptr || r < rows.first || r >= rows.end) return;
            visit_type(type_list<u32, f32, f64>{}, count_.shape.type, [&]<typename T>() {
                T* const to = image_view<T>(static_cast<T*>(count_.data), count_.shape).row(r) + channel;
                for (std::int64_t c = 0; c < cols(); ++c) to[c * count_.shape.channels] = static_cast<T>(count[c]);
            });
        });
        return call_.sampled ? exists : planes{};
    }

    /// Channels first .. first + count - 1 of those rows of an image, as planes: its own memory where that is one.
    planes channels_of(const const_any_view& image, std::int64_t first, std::int64_t count, row_range rows) const {
        if (image.shape.channels == 1) {
            planes own{image, rows.first};
            own.view.data = static_cast<const std::byte*>(image.data) + rows.first * image.shape.row_stride;
            own.view.shape.rows = rows.end - rows.first;
            return own;
        }
        const planes copy = allocate(image.shape.type, count, rows);
        visit_type(pixel_types{}, image.shape.type, [&]<typename T>() {
            const image_view<const T> from(static_cast<const T*>(image.data), image.shape);
            for_each_row(rows, [&](std::int64_t r) {
                for (std::int64_t k = 0; k < count; ++k) {
                    const T* const x = from.row(r) + first + k;
                    T* const to = copy.row<T>(r, k);
                    for (std::int64_t c = 0; c < cols(); ++c) to[c] = x[c * image.shape.channels];
                }
            });
        });
        return copy;
    }

    /// mean(a) . guides + mean(b), of planes of `fits`, as channel `channel` of the result.
    void apply(const planes& fits, const planes& exists, const planes& guides, const planes& samples,
               std::int64_t channel, row_range rows) const {
        if (!call_.sampled)
            return filters::apply_fits(windows_around(fits, rows, job_.means), guides.view, guides.first, job_.rounding,
                                       channel_of_result(channel), result_.shape.channels);
        const std::int64_t g = guides.view.shape.planes;
        const planes means = allocate(dtype::f64, g + 1, rows), numbers = allocate(dtype::f32, g + 1, rows);
        box_filter(part(fits, fits.view, rows, exists), {means.to(0, g + 1), numbers.to(0, g + 1)},
                   windows(job_.means));
        visit_type(pixel_types{}, guides.view.shape.type, [&]<typename T>() {
            const auto add = std::get<filters::guide_kernels<T>>(kernels_.guide).add_product;
            for_each_row(rows, [&, n = cols()](std::int64_t r) {
                f64* const q = means.row<f64>(r, g);
                for (std::int64_t i = 0; i < g; ++i) add(q, means.row<f64>(r, i), guides.row<const T>(r, i), n);
                fill(q, numbers.row<const f32>(r, g), samples, r);
                store(r, channel, q);
            });
        });
    }

    /// Where no fit exists, or nothing to apply it to.
    void fill(f64* q, const f32* numbers, const planes& samples, std::int64_t r) const {
        const f64 other = call_.samples.fill.value_or(std::numeric_limits<f64>::quiet_NaN());
        const auto lacks = [&](std::int64_t c) {
            if (guide_.data != nullptr) return lacks_guide(r, c);
            return call_.samples.weighted ? samples.row<const f32>(r)[c] == 0 : samples.row<const u8>(r)[c] == 0;
        };
        for (std::int64_t c = 0; c < cols(); ++c)
            if (numbers[c] == 0 || lacks(c)) q[c] = other;
    }

    void store(std::int64_t r, std::int64_t channel, const f64* x) const {
        visit_type(pixel_types{}, result_.shape.type, [&]<typename T>() {
            const image_view<T> to(static_cast<T*>(result_.data), result_.shape);
            filters::store_rounded(to.row(r) + channel, result_.shape.channels, x, cols(), job_.rounding);
        });
    }

    void guide_itself(std::int64_t channel, row_range rows, row_range fitted) const {
        const row_range read = within(fitted, job_.fits.above, job_.fits.below);
        const planes image = channels_of(image_, channel, 1, read), samples = samples_of(channel, read);
        const planes fits = allocate(dtype::f64, 2, fitted);
        const planes exists = existing(image, samples, channel, rows, fitted);
        if (!call_.sampled) {
            filters::find_fits(moments_around(image, fitted), job_.epsilon, fits.to(0, 2));
            return apply(fits, exists, image, samples, channel, rows);
        }
        local_statistics(part(image, image.view, fitted, samples), {.mean = fits.to(1, 1), .variance = fits.to(0, 1)},
                         windows(job_.fits));
        for_each_row(fitted, [&, n = cols()](std::int64_t r) {
            kernels_.fit_itself(fits.row<f64>(r, 0), fits.row<f64>(r, 1), job_.epsilon, n);
        });
        apply(fits, exists, image, samples, channel, rows);
    }

    /// What fits of bytes are multiplied by, where they become integers.
    std::optional<filters::byte_fit_scales> scales_of_bytes() const {
        const bool itself = guide_.data == nullptr;
        const bool bytes = image_.shape.type == dtype::u8 && result_.shape.type == dtype::u8 &&
                           (itself || guide_.shape.type == dtype::u8);
        if (!bytes || call_.sampled) return {};
        return filters::byte_fit_scales_of(job_.epsilon, call_.samples.largest_window,
                                           itself ? 0 : guide_.shape.channels);
    }

    void guide_bytes(std::int64_t channel, row_range rows, row_range fitted,
                     const filters::byte_fit_scales& scales) const {
        const row_range read = within(fitted, job_.fits.above, job_.fits.below);
        const bool itself = guide_.data == nullptr;
        const planes image = channels_of(image_, channel, 1, read);
        const std::int64_t guides = itself ? 1 : guide_.shape.channels;
        const planes guide = itself ? image : channels_of(guide_, 0, guides, read);
        existing(image, {}, channel, rows, fitted);                    // for the count alone
        const planes fits = allocate(dtype::f64, guides + 1, fitted);  // of integers, whose bytes are as many
        const filters::row_job of_image = windows_around(image, fitted, job_.fits),
                               of_guide = windows_around(guide, fitted, job_.fits);
        filters::find_byte_fits(of_image, itself ? nullptr : &of_guide, job_.epsilon, scales, fits.to(0, guides + 1));
        filters::apply_byte_fits(windows_around(fits, rows, job_.means), guide.view, guide.first, scales, job_.rounding,
                                 channel_of_result(channel), result_.shape.channels);
    }

    /// A plane, by number, of a set of them.
    struct summand {
        const planes& of;
        std::int64_t plane;
    };
    using pair_list = std::vector<std::pair<summand, summand>>;

    template <typename Sum, typename X, typename Y>
    void sum(const planes& to, const pair_list& pairs, row_range rows) const {
        for_each_row(rows, [&](std::int64_t r) {
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                const X* const x = pairs[i].first.of.template row<const X>(r, pairs[i].first.plane);
                const Y* const y = pairs[i].second.of.template row<const Y>(r, pairs[i].second.plane);
                Sum* const sums = to.row<Sum>(r, static_cast<std::int64_t>(i));
                for (std::int64_t c = 0; c < cols(); ++c)
                    sums[c] = static_cast<Sum>(static_cast<Sum>(x[c]) + static_cast<Sum>(y[c]));
            }
        });
    }

    /// Variances of sums of two planes each; one plane for none.
    planes variances_of_sums(const pair_list& pairs, row_range fitted, const planes& samples) const {
        const auto count = static_cast<std::int64_t>(pairs.size());
        const planes variances = allocate(dtype::f64, std::max<std::int64_t>(count, 1), fitted);
        if (count == 0) return variances;
        const row_range read = within(fitted, job_.fits.above, job_.fits.below);
        const dtype x = pairs.front().first.of.view.shape.type, y = pairs.front().second.of.view.shape.type;
        const bool bytes = x == dtype::u8 && y == dtype::u8;
        const planes sums = allocate(bytes ? dtype::u16 : dtype::f64, count, read);
        if (bytes)
            sum<u16, u8, u8>(sums, pairs, read);
        else
            visit_type(pixel_types{}, x, [&]<typename X>() {
                visit_type(pixel_types{}, y, [&]<typename Y>() { sum<f64, X, Y>(sums, pairs, read); });
            });
        local_statistics(part(sums, sums.view, fitted, samples), {.variance = variances.to(0, count)},
                         windows(job_.fits));
        return variances;
    }

    /// Means and variances, in this order, of all planes.
    planes moments_of(const planes& from, row_range fitted, const planes& samples) const {
        const std::int64_t count = from.view.shape.planes;
        const planes moments = allocate(dtype::f64, 2 * count, fitted);
        local_statistics(part(from, from.view, fitted, samples),
                         {.mean = moments.to(0, count), .variance = moments.to(count, count)}, windows(job_.fits));
        return moments;
    }

    /// Some channels at once, for which windows of the guide are made once.
    void guide_floats(const planes& guide, row_range rows, row_range fitted) const {
        constexpr std::int64_t most = 3;
        const std::int64_t each = guide.view.shape.planes + 1;
        const std::size_t before = memory_.mark();
        for (std::int64_t first = 0; first < image_.shape.channels; first += most) {
            memory_.release(before);
            const std::int64_t channels = std::min(most, image_.shape.channels - first);
            const planes image = channels_of(image_, first, channels, within(fitted, job_.fits.above, job_.fits.below));
            const planes fits = allocate(dtype::f64, channels * each, fitted);
            filters::find_fits(moments_around(image, fitted), moments_around(guide, fitted), job_.epsilon,
                               fits.to(0, channels * each));
            const std::size_t mark = memory_.mark();
            for (std::int64_t k = 0; k < channels; ++k) {
                memory_.release(mark);
                existing({image.some(k, 1), image.first}, {}, first + k, rows, fitted);  // for the count alone
                apply({fits.some(k * each, each), fits.first}, {}, guide, {}, first + k, rows);
            }
        }
    }

    template <std::size_t guides>
    void guide(row_range rows, row_range fitted) const {
        constexpr auto g = static_cast<std::int64_t>(guides);
        const row_range read = within(fitted, job_.fits.above, job_.fits.below);
        const planes guide = channels_of(guide_, 0, g, read);
        if (!call_.sampled && is_floating(image_.shape.type) && is_floating(guide_.shape.type))
            return guide_floats(guide, rows, fitted);
        planes guide_moments, between;
        const auto measure_guide = [&](const planes& samples) {
            guide_moments = moments_of(guide, fitted, samples);
            pair_list pairs;
            for (std::int64_t i = 1; i < g; ++i)
                for (std::int64_t j = 0; j < i; ++j) pairs.push_back({{guide, i}, {guide, j}});
            between = variances_of_sums(pairs, fitted, samples);
        };
        if (!call_.sampled) measure_guide({});
        const std::size_t mark = memory_.mark();
        for (std::int64_t k = 0; k < image_.shape.channels; ++k) {
            memory_.release(mark);
            const planes samples = samples_of(k, read);
            if (call_.sampled) measure_guide(samples);
            const planes image = channels_of(image_, k, 1, read), image_moments = moments_of(image, fitted, samples);
            pair_list pairs;
            for (std::int64_t i = 0; i < g; ++i) pairs.push_back({{guide, i}, {image, 0}});
            const planes with_image = variances_of_sums(pairs, fitted, samples),
                         exists = existing(image, samples, k, rows, fitted), fits = allocate(dtype::f64, g + 1, fitted);
            for_each_row(fitted, [&](std::int64_t r) {
                filters::fit_rows row{};
                for (std::size_t i = 0; i < guides; ++i) {
                    const auto plane = static_cast<std::int64_t>(i);
                    row.mean[i] = guide_moments.row<f64>(r, plane);
                    row.variance[i] = guide_moments.row<f64>(r, g + plane);
                    row.with_image[i] = with_image.row<f64>(r, plane);
                    row.to[i] = fits.row<f64>(r, plane);
                }
                for (std::size_t i = 0; i < guides * (guides - 1) / 2; ++i)
                    row.between[i] = between.row<f64>(r, static_cast<std::int64_t>(i));
                row.image_mean = image_moments.row<f64>(r, 0);
                row.image_variance = image_moments.row<f64>(r, 1);
                row.to[guides] = fits.row<f64>(r, g);
                kernels_.fit[guides - 1](row, job_.epsilon, cols());
            });
            apply(fits, exists, guide, samples, k, rows);
        }
    }

    const filters::guided_call& call_;
    const filters::guided_job& job_;
    const const_any_view &image_, &guide_;
    const any_view &result_, &count_;
    filters::sampled_image samples_;
    arena& memory_;
    const filters::guided_kernels& kernels_ = filters::guided_of_this_machine();
};

}  // namespace

void guided_filter(const guided_inputs& inputs, const filter_outputs& outputs, const guided_rule& rule,
                   const filter_options& options) try {
    const filters::guided_call call = filters::make_guided_call(inputs, outputs, rule, options);
    const packed_input image(inputs.image, is_plain), guide(inputs.guide, is_plain), mask(inputs.mask, is_plain),
        weights(inputs.weights, is_plain);
    const packed_output result(outputs.result, is_plain), count(outputs.count, is_plain);
    const view_shape& s = image.view().shape;
    const std::int64_t strip = call.job.strip;
    const auto given_plane = [](const auto& packed, std::int64_t plane) {
        return packed.view().data == nullptr ? decltype(plane_of(packed.view(), plane)){}
                                             : plane_of(packed.view(), plane);
    };
    arena memory;
    for (std::int64_t plane = 0; plane < s.planes; ++plane) {
        const plane_views views{given_plane(image, plane),   given_plane(guide, plane),  given_plane(mask, plane),
                                given_plane(weights, plane), given_plane(result, plane), given_plane(count, plane)};
        const guided_rows rows(call, views, memory);
        for (std::int64_t r = 0; r < s.rows; r += strip) rows.compute({r, std::min(r + strip, s.rows)});
    }
    result.unpack();
    count.unpack();
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
