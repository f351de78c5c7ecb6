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
#include <optional>
#include <string>
#include <utility>

namespace boxsum::cuda {
namespace {

filters::guided_shapes shapes_of(const guided_inputs& inputs, const filter_outputs& outputs, bool counts) {
    filters::refuse_samples(inputs.mask, inputs.weights, filters::guided_on_devices);
    const std::optional guide = filters::has_guide(inputs) ? std::optional(inputs.guide.shape) : std::nullopt;
    return {inputs.image.shape, guide, outputs.result.shape, counts};
}

std::size_t up(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/// A guided filter of images in device memory, checked, for the device that is current: everything but memory.
class planned_guided_filter {
  public:
    planned_guided_filter(const filters::guided_shapes& given, const guided_rule& rule, const filter_options& options)
        : job_(filters::guided_job_of(given, rule, options)), device_(current_device()), shapes_(given) {
        view_shape image = given.image, guide = given.guide.value_or(view_shape{}), result = given.result;
        image_.add(image, bytes_);
        if (given.guide) guide_.add(guide, bytes_);
        result_.add(result, bytes_);
        packed_bytes_ = bytes_;

        const auto is_double = [](const view_shape& s) { return s.type == dtype::f64; };
        colours_ = given.guide && given.guide->channels > 1;
        const bool doubles = is_double(image) || is_double(result) || (given.guide && is_double(*given.guide));
        const dtype type = doubles ? dtype::f64 : dtype::f32;
        const std::int64_t channels = colours_ ? 1 : image.channels;  // of several guides each of them is a plane
        plane_ = device_shape(type, image.rows, image.cols, channels);
        const view_shape moments = device_shape(dtype::f32, image.rows, image.cols, channels);
        fits_ = filters::windows_of({.image = moments}, windows(job_.fits));
        means_ = filters::box_filter_job({.image = plane_}, {plane_}, windows(job_.means));
        for (const auto& [what, extent] : {std::pair{"rows", image.rows}, {"cols", image.cols}})
            if (extent > largest_real_extent)
                throw unsupported("image: " + std::string(what) + " is " + std::to_string(extent) +
                                  ", which devices do not do yet");
        units_ = guided_units(means_, image.type, job_.epsilon);
        if (colours_) {
            bytes_ += guided_colour_bytes(colours({nullptr, image}, {nullptr, guide}, {nullptr, result}, nullptr));
            return;
        }
        for (std::size_t& at : planes_at_) {
            at = bytes_;
            bytes_ += up(span_bytes(plane_));
        }
        scratch_at_ = bytes_;
        const guided_fits fits{{&fits_, {nullptr, image}, {nullptr, guide}}, {nullptr, plane_}, {nullptr, plane_}};
        const guided_means means{&means_, 1, {{{nullptr, plane_}}}, {nullptr, plane_}};
        bytes_ += up(std::max(guided_scratch_bytes(fits), guided_means_bytes(means)));
    }

    int device() const noexcept { return device_; }
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t packed_bytes() const noexcept { return packed_bytes_; }

    /// Checked memory, and bytes() bytes at `space`.
    void enqueue(const void* image, const void* guide, void* result, void* space, stream_ref stream) const {
        const auto view = [](const void* data, const packed_copy& copy, const view_shape& given) {
            return any_view{const_cast<void*>(data), copy.exists() ? copy.shape() : given};
        };
        const const_any_view p = view(image_.fill(image, space, stream), image_, shapes_.image);
        const_any_view by;
        if (shapes_.guide) by = view(guide_.fill(guide, space, stream), guide_, *shapes_.guide);
        const any_view to = view(result_.place(result, space), result_, shapes_.result);
        for (std::int64_t plane = 0; plane < p.shape.planes; ++plane) {
            const auto of = [&](auto v) { return rows_of(v, v.shape.planes == 1 ? 0 : plane, 0, v.shape.rows); };
            enqueue_plane(of(p), by.data == nullptr ? by : of(by), of(to), space, stream);
        }
        result_.empty(result, space, stream);
    }

  private:
    filter_options windows(const window& w) const { return {.window = w, .border = job_.border}; }

    guided_colours colours(const const_any_view& image, const const_any_view& guide, const any_view& result,
                           void* space) const {
        return {&fits_,       &means_, image,         guide, result,
                job_.epsilon, units_,  job_.rounding, space, colour_rows_at_once(image.shape)};
    }

    void enqueue_plane(const const_any_view& image, const const_any_view& guide, const any_view& result, void* space,
                       stream_ref stream) const {
        const auto at = [&](std::size_t offset) { return static_cast<std::byte*>(space) + offset; };
        if (colours_) return enqueue_guided_colours(colours(image, guide, result, at(packed_bytes_)), stream);
        const any_view a{at(planes_at_[0]), plane_}, b{at(planes_at_[1]), plane_};
        void* const scratch = at(scratch_at_);
        enqueue_guided_fits({{&fits_, image, guide, job_.epsilon, scratch}, a, b, units_}, stream);
        enqueue_guided_result({&means_, 1, {{a}}, b, units_, scratch}, guide.data == nullptr ? image : guide, result, 0,
                              job_.rounding, stream);
    }

    filters::guided_job job_;
    int device_;
    filters::guided_shapes shapes_;
    packed_copy image_, guide_, result_;
    bool colours_ = false;  ///< the guide has several channels
    view_shape plane_;      ///< of fits
    guided_units units_;
    filters::window_job fits_, means_;
    std::array<std::size_t, 2> planes_at_{};  ///< a and b
    std::size_t scratch_at_ = 0, bytes_ = 0, packed_bytes_ = 0;
};

}  // namespace

/// The smallest blocks that read at most a third more than they have results for, of bands as high as leaves a device
/// of some 2000 resident warps eight of each: in fewer, the last ones are waited for. On an H100 bands of 32 rows take
/// 0.7 to 0.8 of the time of 64 at 4096 x 4096, and of 16 0.95 to 0.98 of that up to radius 17; at 16384 x 16384 and
/// radius 60, blocks of 128 threads 0.85 of that of 64.
fused_shape guided_shape_of(const filters::window_job& job) {
    constexpr std::int64_t K = slide_columns, most_threads = 256, resident_warps = planned_multiprocessors * 16;
    const auto up_to = [](std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit; };
    const std::int64_t width = job.cols.extent, rows = job.end_row - job.first_row;
    const std::int64_t taken = job.rows.before + job.rows.after, beyond = job.cols.before + job.cols.after + K;
    std::int64_t threads = 32;
    while (threads < most_threads && 4 * beyond > threads * K && width + beyond > threads * K) threads *= 2;
    const std::int64_t fits = width + beyond <= threads * K ? width : std::max((threads * K - beyond) / K * K, K);
    const std::int64_t strip = up_to(up_to(width, up_to(width, fits)), K) * K, strips = up_to(width, strip);
    std::int64_t band = 128;
    const auto held = [&] { return strips * job.shape.channels * up_to(rows, band) * (threads / 32) / resident_warps; };
    const std::int64_t least = taken > 34 ? 32 : 16;  // a band begins with the rows of its first windows
    while (band > least && held() < 8) band /= 2;
    while (band > 8 && held() < 1) band /= 2;
    fused_shape shape;
    shape.threads = static_cast<int>(threads);
    shape.strip_cols = static_cast<int>(strip);
    shape.strips = static_cast<int>(strips);
    shape.band_rows = static_cast<int>(std::min(band, rows));
    shape.bands = static_cast<int>(up_to(rows, shape.band_rows));
    const std::int64_t segments = 2 * (shape.bands - 1 + taken / shape.band_rows) + 1;
    shape.prepared = taken > 64 && shape.bands > 1 && segments <= 65535;  // a side of a grid
    if (!shape.prepared) return shape;
    shape.segments = static_cast<int>(segments);
    shape.first_segment = static_cast<int>(-up_to(job.cols.before + 1, K) * K);
    shape.segment_cols = static_cast<int>(up_to(width + job.cols.after - shape.first_segment, K) * K);
    return shape;
}

// ---- plans ----------------------------------------------------------------------------------------------------------

struct guided_filter_plan::state {
    planned_view image, guide, result;
    planned_guided_filter filter;

    state(const filters::guided_shapes& s, const guided_rule& rule, const filter_options& options)
        : image("image", s.image, access::read),
          guide("guide", s.guide, access::read),
          result("result", s.result, access::write),
          filter(s, rule, options) {}
};

guided_filter_plan::guided_filter_plan(const guided_inputs& inputs, const filter_outputs& outputs,
                                       const guided_rule& rule, const filter_options& options)
    : state_(std::make_shared<const state>(shapes_of(inputs, outputs, outputs.count.shape.rows != 0), rule, options)) {}

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
    if (outputs.count.data != nullptr) throw unsupported("count: a guided filter on devices counts none");
    filters::refuse_samples(inputs.mask, inputs.weights, filters::guided_on_devices);
    call_memory arguments(s.filter.device());
    arguments.add(s.image, inputs.image);
    arguments.add(s.result, outputs.result);
    if (s.guide.name != nullptr)
        arguments.add(s.guide, inputs.guide);
    else if (filters::has_guide(inputs))
        throw invalid_argument("guide: given, but the plan was made without");
    if (arguments.meet()) filters::check_memory(inputs, outputs);
    const workspace_end space(workspace, s.filter.bytes(), s.filter.bytes(), s.filter.device(), stream, 0);
    const device_scope scope(s.filter.device());
    s.filter.enqueue(inputs.image.data, inputs.guide.data, outputs.result.data, space.data(), stream);
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
    filters::refuse_samples(inputs.mask, inputs.weights, filters::guided_on_devices);
    filters::check_memory(inputs, outputs);
    views_on_device views(inputs.image.data, stream);
    guided_inputs in{views.input("image", inputs.image)};
    const filter_outputs to{views.output("result", outputs.result)};
    if (filters::has_guide(inputs)) in.guide = views.input("guide", inputs.guide);
    const planned_guided_filter filter(shapes_of(in, to, outputs.count.data != nullptr), rule, options);
    const device_buffer space(filter.bytes(), stream);
    views.run([&] { filter.enqueue(in.image.data, in.guide.data, to.result.data, space.data(), stream); });
}

}  // namespace boxsum::cuda
