#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"
#include "core/visit_types.hpp"
#include "cpu/filters/bands.hpp"
#include "cpu/filters/guided_kernels.hpp"
#include "cpu/filters/rounded_row.hpp"
#include "filters/guided_job.hpp"

#include <boxsum/guided_filter.hpp>
#include <boxsum/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// One plane of the image and its guide's, some rows at a time.
class guided_rows {
  public:
    guided_rows(const filters::guided_job& job, const const_any_view& image, const const_any_view& guide,
                const any_view& result, arena& memory)
        : job_(job), image_(image), guide_(guide), result_(result), memory_(memory) {}

    void compute(row_range rows) const {
        memory_.release(0);
        const row_range fitted = within(rows, job_.means.above, job_.means.below);
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

    filter_inputs part(const planes& from, const const_any_view& view, row_range results) const {
        return {.image = view, .at = {from.first, 0}, .whole = {image_.shape.rows, cols()}, .results = results};
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

    /// Means of a and b, which are planes of `fits`.
    planes averaged(const planes& fits, row_range rows) const {
        const planes means = allocate(dtype::f64, fits.view.shape.planes, rows);
        box_filter(part(fits, fits.view, rows), {means.to(0, fits.view.shape.planes)}, windows(job_.means));
        return means;
    }

    /// mean(a) . guides + mean(b), the last plane, as channel `channel` of the result.
    void evaluate(const planes& means, const planes& guides, std::int64_t channel, row_range rows) const {
        const std::int64_t g = guides.view.shape.planes;
        visit_type(pixel_types{}, guides.view.shape.type, [&]<typename T>() {
            const auto add = std::get<filters::guide_kernels<T>>(kernels_.guide).add_product;
            for_each_row(rows, [&, n = cols()](std::int64_t r) {
                f64* const q = means.row<f64>(r, g);
                for (std::int64_t i = 0; i < g; ++i) add(q, means.row<f64>(r, i), guides.row<const T>(r, i), n);
                store(r, channel, q);
            });
        });
    }

    void store(std::int64_t r, std::int64_t channel, const f64* x) const {
        visit_type(pixel_types{}, result_.shape.type, [&]<typename T>() {
            const image_view<T> to(static_cast<T*>(result_.data), result_.shape);
            filters::store_rounded(to.row(r) + channel, result_.shape.channels, x, cols(), job_.rounding);
        });
    }

    void guide_itself(std::int64_t channel, row_range rows, row_range fitted) const {
        const planes image = channels_of(image_, channel, 1, within(fitted, job_.fits.above, job_.fits.below));
        const planes fits = allocate(dtype::f64, 2, fitted);
        local_statistics(part(image, image.view, fitted), {.mean = fits.to(1, 1), .variance = fits.to(0, 1)},
                         windows(job_.fits));
        for_each_row(fitted, [&, n = cols()](std::int64_t r) {
            kernels_.fit_itself(fits.row<f64>(r, 0), fits.row<f64>(r, 1), job_.epsilon, n);
        });
        evaluate(averaged(fits, rows), image, channel, rows);
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
    planes variances_of_sums(const pair_list& pairs, row_range fitted) const {
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
        local_statistics(part(sums, sums.view, fitted), {.variance = variances.to(0, count)}, windows(job_.fits));
        return variances;
    }

    /// Means and variances, in this order, of all planes.
    planes moments_of(const planes& from, row_range fitted) const {
        const std::int64_t count = from.view.shape.planes;
        const planes moments = allocate(dtype::f64, 2 * count, fitted);
        local_statistics(part(from, from.view, fitted),
                         {.mean = moments.to(0, count), .variance = moments.to(count, count)}, windows(job_.fits));
        return moments;
    }

    template <std::size_t guides>
    void guide(row_range rows, row_range fitted) const {
        constexpr auto g = static_cast<std::int64_t>(guides);
        const row_range read = within(fitted, job_.fits.above, job_.fits.below);
        const planes guide = channels_of(guide_, 0, g, read), guide_moments = moments_of(guide, fitted);
        pair_list pairs;
        for (std::int64_t i = 1; i < g; ++i)
            for (std::int64_t j = 0; j < i; ++j) pairs.push_back({{guide, i}, {guide, j}});
        const planes between = variances_of_sums(pairs, fitted);
        const std::size_t mark = memory_.mark();
        for (std::int64_t k = 0; k < image_.shape.channels; ++k) {
            memory_.release(mark);
            const planes image = channels_of(image_, k, 1, read), image_moments = moments_of(image, fitted);
            pairs.clear();
            for (std::int64_t i = 0; i < g; ++i) pairs.push_back({{guide, i}, {image, 0}});
            const planes with_image = variances_of_sums(pairs, fitted), fits = allocate(dtype::f64, g + 1, fitted);
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
            evaluate(averaged(fits, rows), guide, k, rows);
        }
    }

    const filters::guided_job& job_;
    const const_any_view &image_, &guide_;
    const any_view& result_;
    arena& memory_;
    const filters::guided_kernels& kernels_ = filters::guided_of_this_machine();
};

}  // namespace

void guided_filter(const guided_inputs& inputs, const filter_outputs& outputs, const guided_rule& rule,
                   const filter_options& options) try {
    const filters::guided_job job = filters::make_guided_job(inputs, outputs, rule, options);
    const packed_input image(inputs.image, is_plain), guide(inputs.guide, is_plain);
    const packed_output result(outputs.result, is_plain);
    const view_shape& s = image.view().shape;
    arena memory;
    for (std::int64_t plane = 0; plane < s.planes; ++plane) {
        const const_any_view p = plane_of(image.view(), plane);
        const const_any_view g = guide.view().data == nullptr ? const_any_view{} : plane_of(guide.view(), plane);
        const const_any_view to = plane_of(result.view(), plane);
        const any_view out{const_cast<void*>(to.data), to.shape};
        const guided_rows rows(job, p, g, out, memory);
        for (std::int64_t r = 0; r < s.rows; r += job.strip) rows.compute({r, std::min(r + job.strip, s.rows)});
    }
    result.unpack();
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
