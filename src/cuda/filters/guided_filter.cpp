#include "core/view_checks.hpp"
#include "cuda/filters/filter_calls.hpp"
#include "cuda/filters/guided_kernels.hpp"
#include "cuda/filters/planned_filter.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/device_limits.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/filter_jobs.hpp"
#include "filters/guided_job.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/guided_filter.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace boxsum::cuda {
namespace {

std::size_t up(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/// All views of a call; those without data are not given.
struct guided_views {
    const_any_view image, guide, mask, weights;
    any_view result, count;

    guided_views(const guided_inputs& inputs, const filter_outputs& outputs)
        : image(inputs.image),
          guide(inputs.guide),
          mask(inputs.mask),
          weights(inputs.weights),
          result(outputs.result),
          count(outputs.count) {}

    /// Of one plane, of what has one for all the only one.
    guided_views plane(std::int64_t plane) const {
        guided_views one = *this;
        const auto take = [plane](auto& v) {
            if (v.data != nullptr) v = rows_of(v, v.shape.planes == 1 ? 0 : plane, 0, v.shape.rows);
        };
        take(one.image);
        take(one.guide);
        take(one.mask);
        take(one.weights);
        take(one.result);
        take(one.count);
        return one;
    }
};

/// A guided filter of images in device memory, checked, for the device that is current: everything but memory.
class planned_guided_filter {
  public:
    planned_guided_filter(const filters::guided_shapes& given, const guided_rule& rule, const filter_options& options)
        : call_(filters::guided_call_of(given, rule, options)), device_(current_device()), shapes_(given) {
        image_.add(shapes_.image, bytes_);
        guide_.add(shapes_.guide, bytes_);
        mask_.add(shapes_.mask, bytes_);
        weights_.add(shapes_.weights, bytes_);
        result_.add(shapes_.result, bytes_);
        count_.add(shapes_.count, bytes_);
        packed_bytes_ = bytes_;

        const view_shape& image = shapes_.image;
        const auto is_double = [](const view_shape& s) { return s.type == dtype::f64; };
        colours_ = given.guide && given.guide->channels > 1;
        const bool doubles = is_double(image) || is_double(given.result) || (given.guide && is_double(*given.guide));
        const dtype type = doubles ? dtype::f64 : dtype::f32;
        const std::int64_t channels = colours_ ? 1 : image.channels;  // of several guides each of them is a plane
        plane_ = device_shape(type, image.rows, image.cols, channels);
        const view_shape moments = device_shape(dtype::f32, image.rows, image.cols, channels);
        fits_ = filters::windows_of({.image = moments}, windows(call_.job.fits));
        means_ = filters::box_filter_job({.image = plane_}, {plane_}, windows(call_.job.means));
        for (const auto& [what, extent] : {std::pair{"rows", image.rows}, {"cols", image.cols}})
            if (extent > largest_real_extent)
                throw unsupported("image: " + std::string(what) + " is " + std::to_string(extent) +
                                  ", which devices do not do yet");
        units_ = guided_units(means_, image.type, call_.job.epsilon);
        const view_shape none;
        const guided_views views({{nullptr, image},
                                  {nullptr, shapes_.guide.value_or(none)},
                                  {nullptr, shapes_.mask.value_or(none)},
                                  {nullptr, shapes_.weights.value_or(none)}},
                                 {{nullptr, shapes_.result}, {nullptr, shapes_.count.value_or(none)}});
        std::size_t scratch = 0;
        if (colours_) {
            scratch = guided_colour_bytes(colours(views, nullptr));
        } else {
            const auto place = [&](const view_shape& shape) {
                const std::size_t at = bytes_;
                bytes_ += up(span_bytes(shape));
                return at;
            };
            for (std::size_t& at : planes_at_) at = place(plane_);
            if (call_.sampled) {
                exists_at_ = place(plane_of(dtype::u8));
                samples_at_ = place(samples_shape());
            }
            scratch = std::max(guided_scratch_bytes(fits(views, nullptr)), guided_means_bytes(means(nullptr)));
        }
        if (counts_alone())
            scratch = std::max(scratch, real_scratch_bytes(call_.samples, false, 0, call_.samples.rows.extent));
        scratch_at_ = bytes_;
        bytes_ += up(scratch);
    }

    int device() const noexcept { return device_; }
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t packed_bytes() const noexcept { return packed_bytes_; }

    /// Of checked memory, and bytes() bytes at `space`.
    void enqueue(const guided_inputs& inputs, const filter_outputs& outputs, void* space, stream_ref stream) const {
        guided_views all(inputs, outputs);
        const auto fill = [&](const packed_copy& copy, const_any_view& view) {
            if (view.data != nullptr && copy.exists()) view = {copy.fill(view.data, space, stream), copy.shape()};
        };
        fill(image_, all.image);
        fill(guide_, all.guide);
        fill(mask_, all.mask);
        fill(weights_, all.weights);
        if (result_.exists()) all.result = {result_.at(space), result_.shape()};
        if (count_.exists()) all.count = {count_.at(space), count_.shape()};
        for (std::int64_t plane = 0; plane < shapes_.image.planes; ++plane)
            enqueue_plane(all.plane(plane), space, stream);
        result_.empty(outputs.result.data, space, stream);
        count_.empty(outputs.count.data, space, stream);
    }

  private:
    filter_options windows(const window& w) const { return {.window = w, .border = call_.job.border}; }

    /// A count is wanted, though all pixels count.
    bool counts_alone() const { return shapes_.count && !call_.sampled; }

    /// Without a space there is no memory, as where bytes are counted.
    static void* at(void* space, std::size_t offset) {
        return space == nullptr ? nullptr : static_cast<std::byte*>(space) + offset;
    }

    guided_gaps gaps(const guided_views& plane, void* space) const {
        guided_gaps g;
        if (!call_.sampled) return g;
        g.fill = call_.samples.fill.value_or(std::numeric_limits<double>::quiet_NaN());
        g.omits_nan = shapes_.guide && is_floating(shapes_.guide->type) && call_.samples.nan == nan_mode::omit;
        if (!shapes_.guide) g.weights = samples(space);
        return g;
    }

    guided_colours colours(const guided_views& plane, void* space) const {
        guided_colours c{&fits_,
                         &means_,
                         plane.image,
                         plane.guide,
                         plane.result,
                         call_.job.epsilon,
                         units_,
                         call_.job.rounding,
                         at(space, scratch_at_),
                         colour_rows_at_once(plane.image.shape)};
        if (!call_.sampled) return c;
        c.samples = &call_.samples;
        c.mask = plane.mask;
        c.weights = plane.weights;
        c.count = plane.count;
        c.gaps = gaps(plane, space);
        return c;
    }

    view_shape plane_of(dtype type) const { return device_shape(type, plane_.rows, plane_.cols, plane_.channels); }
    view_shape samples_shape() const { return plane_of(call_.samples.weighted ? dtype::f32 : dtype::u8); }
    any_view exists(void* space) const { return {at(space, exists_at_), plane_of(dtype::u8)}; }
    const_any_view samples(void* space) const { return {at(space, samples_at_), samples_shape()}; }
    any_view fit_plane(std::size_t offset, void* space) const { return {at(space, offset), plane_}; }

    guided_fits fits(const guided_views& plane, void* space) const {
        guided_fits f{{&fits_, plane.image, plane.guide, call_.job.epsilon, at(space, scratch_at_)},
                      fit_plane(planes_at_[0], space),
                      fit_plane(planes_at_[1], space),
                      units_};
        if (!call_.sampled) return f;
        static_cast<guided_windows&>(f).weights = samples(space);
        f.exists = exists(space);
        f.least = least_of(call_.samples);
        f.count = plane.count;
        return f;
    }

    guided_means means(void* space) const {
        guided_means m{&means_,
                       1,
                       {{fit_plane(planes_at_[0], space)}},
                       fit_plane(planes_at_[1], space),
                       units_,
                       at(space, scratch_at_)};
        if (call_.sampled) m.exists = exists(space);
        return m;
    }

    void enqueue_plane(const guided_views& plane, void* space, stream_ref stream) const {
        if (counts_alone())
            enqueue_real_statistics({.job = &call_.samples,
                                     .image = plane.image,
                                     .end_row = call_.samples.rows.extent,
                                     .scratch = at(space, scratch_at_)},
                                    {.count = plane.count}, stream);
        if (colours_) return enqueue_guided_colours(colours(plane, space), stream);
        const guided_gaps gaps = this->gaps(plane, space);
        if (call_.sampled) {
            const const_any_view samples = this->samples(space);
            enqueue_guided_weights({&call_.samples,
                                    plane.image,
                                    plane.mask,
                                    plane.weights,
                                    gaps.omits_nan ? plane.guide : const_any_view{},
                                    {const_cast<void*>(samples.data), samples.shape}},
                                   stream);
        }
        enqueue_guided_fits(fits(plane, space), stream);
        enqueue_guided_result(means(space), plane.guide.data == nullptr ? plane.image : plane.guide, plane.result, 0,
                              call_.job.rounding, gaps, stream);
    }

    filters::guided_call call_;
    int device_;
    filters::guided_shapes shapes_;  ///< as kernels see them
    packed_copy image_, guide_, mask_, weights_, result_, count_;
    bool colours_ = false;  ///< the guide has several channels
    view_shape plane_;      ///< of fits
    guided_units units_;
    filters::window_job fits_, means_;
    std::array<std::size_t, 2> planes_at_{};      ///< a and b
    std::size_t exists_at_ = 0, samples_at_ = 0;  ///< where pixels may not count: which fits exist, and their weights
    std::size_t scratch_at_ = 0, bytes_ = 0, packed_bytes_ = 0;
};

}  // namespace

/// The smallest blocks that read at most a third more than they have results for.
///
/// Bands of windows that begin with segments are as high as leaves a device of some 2000 resident warps eight of each:
/// in fewer, the last ones are waited for. On an H100 bands of 32 rows take 0.7 to 0.8 of the time of 64 at 4096 x
/// 4096; at 16384 x 16384 and radius 60, blocks of 128 threads 0.85 of that of 64. Others are those of which whole
/// waves take least, each as long as its rows and some four more, and a part of one as long as half of that part and
/// half of a whole one: on an H200, at 4096 x 4096, within 3 % of the best of all of these bands at radius 3 and 15.
fused_shape guided_shape_of(const filters::window_job& job, int sums) {
    constexpr std::int64_t K = slide_columns, most_threads = 256;
    const auto up_to = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit; };
    const std::int64_t width = job.cols.extent, rows = job.end_row - job.first_row;
    const std::int64_t taken = job.rows.before + job.rows.after, beyond = job.cols.before + job.cols.after + K;
    std::int64_t threads = 32;
    while (threads < most_threads && 4 * beyond > threads * K && width + beyond > threads * K) threads *= 2;
    const std::int64_t fits = width + beyond <= threads * K ? width : std::max((threads * K - beyond) / K * K, K);
    const std::int64_t strip = up_to(up_to(width, up_to(width, fits)), K) * K, strips = up_to(width, strip);
    const std::int64_t warps_of_row = strips * job.shape.channels * (threads / 32);
    const bool prepares = taken > 64;
    std::int64_t band = 128;
    if (prepares) {
        constexpr std::int64_t resident_warps = planned_multiprocessors * 16;
        const auto held = [&] { return warps_of_row * up_to(rows, band) / resident_warps; };
        while (band > 32 && held() < 8) band /= 2;
        while (band > 8 && held() < 1) band /= 2;
    } else {
        const double resident_warps = planned_multiprocessors * (sums > 2 ? 12 : 16);  // by their registers
        double least = 0;
        for (const std::int64_t candidate : {8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 50, 52, 56, 60, 76, 92, 124}) {
            const double held = static_cast<double>(warps_of_row * up_to(rows, candidate)) / resident_warps;
            const double waves = std::max(1.0, (held + std::ceil(held)) / 2) + 0.25;
            const double cost = waves * static_cast<double>(candidate + 4);
            if (least != 0 && cost >= least) continue;
            least = cost;
            band = candidate;
        }
    }
    fused_shape shape;
    shape.threads = static_cast<int>(threads);
    shape.strip_cols = static_cast<int>(strip);
    shape.strips = static_cast<int>(strips);
    shape.band_rows = static_cast<int>(std::min(band, rows));
    shape.bands = static_cast<int>(up_to(rows, shape.band_rows));
    const std::int64_t segments = 2 * (shape.bands - 1 + taken / shape.band_rows) + 1;
    shape.prepared = prepares && shape.bands > 1 && segments <= 65535;  // a side of a grid
    if (!shape.prepared) return shape;
    shape.segments = static_cast<int>(segments);
    shape.first_segment = static_cast<int>(-up_to(job.cols.before + 1, K) * K);
    shape.segment_cols = static_cast<int>(up_to(width + job.cols.after - shape.first_segment, K) * K);
    return shape;
}

// ---- plans ----------------------------------------------------------------------------------------------------------

struct guided_filter_plan::state {
    planned_view image, guide, mask, weights, result, count;
    planned_guided_filter filter;

    state(const filters::guided_shapes& s, const guided_rule& rule, const filter_options& options)
        : image("image", s.image, access::read),
          guide("guide", s.guide, access::read),
          mask("mask", s.mask, access::read),
          weights("weights", s.weights, access::read),
          result("result", s.result, access::write),
          count("count", s.count, access::write),
          filter(s, rule, options) {}
};

guided_filter_plan::guided_filter_plan(const guided_inputs& inputs, const filter_outputs& outputs,
                                       const guided_rule& rule, const filter_options& options)
    : state_(std::make_shared<const state>(filters::guided_shapes(inputs, outputs), rule, options)) {}

std::size_t guided_filter_plan::workspace_bytes() const noexcept {
    return state_->filter.bytes();
}

std::size_t guided_filter_plan::packed_bytes() const noexcept {
    return state_->filter.packed_bytes();
}

int guided_filter_plan::device() const noexcept {
    return state_->filter.device();
}

void guided_filter_plan::run_async(const guided_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                                   stream_ref stream) const {
    const state& s = *state_;
    call_memory arguments(s.filter.device());
    arguments.add(s.image, inputs.image);
    arguments.add(s.result, outputs.result);
    arguments.add_optional("guide", s.guide, inputs.guide);
    arguments.add_optional("mask", s.mask, inputs.mask);
    arguments.add_optional("weights", s.weights, inputs.weights);
    arguments.add_optional("count", s.count, outputs.count);
    if (arguments.meet()) filters::check_memory(inputs, outputs);
    const workspace_end space(workspace, s.filter.bytes(), s.filter.bytes(), s.filter.device(), stream);
    const device_scope scope(s.filter.device());
    s.filter.enqueue(inputs, outputs, space.data(), stream);
    space.leave();
}

// ---- without a plan -------------------------------------------------------------------------------------------------

void guided_filter_async(const guided_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                         stream_ref stream, const guided_rule& rule, const filter_options& options) {
    enqueue_unplanned<guided_filter_plan>(inputs, outputs, workspace, stream, rule, options);
}

void guided_filter(const guided_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                   const guided_rule& rule, const filter_options& options) {
    const device_scope scope(device_of(stream));
    filters::check_memory(inputs, outputs);
    views_on_device views(inputs.image.data, stream);
    const auto input = [&](const char* name, const const_any_view& view) {
        return view.shape.rows == 0 ? view : views.input(name, view);
    };
    const guided_inputs in{views.input("image", inputs.image), input("guide", inputs.guide), input("mask", inputs.mask),
                           input("weights", inputs.weights)};
    filter_outputs to{views.output("result", outputs.result)};
    if (outputs.count.data != nullptr) to.count = views.output("count", outputs.count);
    const planned_guided_filter filter(filters::guided_shapes(in, to), rule, options);
    const device_buffer space(filter.bytes(), stream);
    views.run([&] { filter.enqueue(in, to, space.data(), stream); });
}

}  // namespace boxsum::cuda
