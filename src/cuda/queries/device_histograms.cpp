#include "core/tensor_checks.hpp"
#include "core/visit_histogram.hpp"
#include "cuda/queries/frame_queries.hpp"
#include "cuda/queries/tensor_queries.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "pipeline/frame_request.hpp"

#include <boxsum/cuda/histogram_queries.hpp>
#include <boxsum/error.hpp>

#include <string>

namespace boxsum::cuda {
namespace {

int device_of(stream_ref stream) {
    return stream.get() == nullptr ? current_device() : stream_device(stream);
}

enum class kind : std::uint8_t { counts, sums, either };

/// One plane of a checked tensor.
const_any_tensor_view plane_of(const const_any_tensor_view& tensor, table_layout layout, std::int64_t plane, int device,
                               kind wanted = kind::counts) {
    check_tensor("tensor", tensor);
    const tensor_shape& s = tensor.shape;
    const bool counts = contains(histogram_counts{}, s.type), sums = s.type == dtype::f32;
    if (!(wanted == kind::counts ? counts : wanted == kind::sums ? sums : counts || sums))
        throw unsupported("tensor: type is " + std::string(name_of(s.type)) + ", " +
                          (wanted == kind::counts ? "counts on a device are 32u or 16u"
                           : wanted == kind::sums ? "sums of weights are 32f"
                                                  : "integral histograms are 32u, 16u or 32f"));
    if (layout == table_layout::exclusive)
        throw invalid_argument("layout: is exclusive, integral histograms are inclusive or padded");
    if (plane < 0 || plane >= s.planes)
        throw invalid_argument("plane: is " + std::to_string(plane) + ", but the tensor has " +
                               std::to_string(s.planes));
    check_device_pointer("tensor", tensor.data, device);
    const_any_tensor_view one{static_cast<const std::byte*>(tensor.data) + (plane == 0 ? 0 : plane * s.plane_stride),
                              s};
    one.shape.planes = 1;
    return one;
}

/// The request over a whole tensor.
frame_answer answer(const const_any_tensor_view& tensor, const frame_request& request, table_layout layout,
                    stream_ref stream) {
    const std::int64_t shift = layout == table_layout::padded ? 1 : 0;
    const box all{0, 0, tensor.shape.rows - shift, tensor.shape.cols - shift};
    frame_queries queries;
    queries.prepare(request, all, tensor.shape.bins, stream);
    queries.enqueue(tensor, layout, stream);
    stream.synchronize();
    frame_answer result;
    queries.collect(request, all, result);
    return result;
}

}  // namespace

void box_histograms_async(const const_any_tensor_view& tensor, const box* boxes, std::int64_t count, std::uint32_t* out,
                          table_layout layout, std::int64_t plane, stream_ref stream) {
    const int device = device_of(stream);
    const const_any_tensor_view one = plane_of(tensor, layout, plane, device);
    if (count < 0) throw invalid_argument("count: is " + std::to_string(count) + ", must be 0 or more");
    if (count == 0) return;
    check_device_pointer("boxes", boxes, device);
    check_device_pointer("out", out, device);
    const device_scope scope(device);
    enqueue_box_histograms({one, layout, 0}, boxes, count, out, stream);
}

namespace {

frame_answer answer_of_boxes(const const_any_tensor_view& tensor, std::span<const box> boxes, table_layout layout,
                             std::int64_t plane, stream_ref stream, kind wanted) {
    const int device = device_of(stream);
    const const_any_tensor_view one = plane_of(tensor, layout, plane, device, wanted);
    for (std::size_t i = 0; i < boxes.size(); ++i) try {
            const view_shape bin{.rows = one.shape.rows, .cols = one.shape.cols};
            check_box(boxes[i], {{nullptr, bin}, layout});
        } catch (const invalid_argument& e) {
            throw invalid_argument("boxes[" + std::to_string(i) + "]: " + e.what());
        }
    if (boxes.empty()) return {};
    const device_scope scope(device);
    frame_request request;
    request.boxes.assign(boxes.begin(), boxes.end());
    return answer(one, request, layout, stream);
}

}  // namespace

std::vector<std::uint32_t> box_histograms(const const_any_tensor_view& tensor, std::span<const box> boxes,
                                          table_layout layout, std::int64_t plane, stream_ref stream) {
    return answer_of_boxes(tensor, boxes, layout, plane, stream, kind::counts).histograms;
}

std::vector<float> box_sums(const const_any_tensor_view& tensor, std::span<const box> boxes, table_layout layout,
                            std::int64_t plane, stream_ref stream) {
    return answer_of_boxes(tensor, boxes, layout, plane, stream, kind::sums).sums;
}

std::vector<histogram_match> best_windows(const const_any_tensor_view& tensor, std::span<const window_grid> grids,
                                          std::span<const double> target, histogram_distance distance,
                                          std::int64_t count, table_layout layout, std::int64_t plane,
                                          stream_ref stream) {
    const int device = device_of(stream);
    const const_any_tensor_view one = plane_of(tensor, layout, plane, device, kind::either);
    if (grids.empty()) throw invalid_argument("grids: there is none");
    frame_request request;
    request.grids.assign(grids.begin(), grids.end());
    request.target.assign(target.begin(), target.end());
    request.distance = distance;
    request.count = count;
    const std::int64_t shift = layout == table_layout::padded ? 1 : 0;
    detail::check_request(request, {dtype::u8, one.shape.rows - shift, one.shape.cols - shift},
                          binning::indices(one.shape.bins));
    const device_scope scope(device);
    return answer(one, request, layout, stream).matches;
}

}  // namespace boxsum::cuda
