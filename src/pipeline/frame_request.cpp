#include "pipeline/frame_request.hpp"

#include "core/view_checks.hpp"
#include "core/window_grids.hpp"

#include <boxsum/error.hpp>

#include <cmath>
#include <string>

namespace boxsum::detail {
namespace {

box moved(const box& b, const box& region) {
    return {b.row - region.row, b.col - region.col, b.rows, b.cols};
}

/// Adds what the box is to the message of a check.
template <typename Check>
void named(const std::string& name, Check&& check) {
    try {
        check();
    } catch (const invalid_argument& e) {
        throw invalid_argument("request: " + name + ": " + e.what());
    }
}

}  // namespace

box region_of(const frame_request& request, const frame_format& format) {
    return request.region.value_or(box{0, 0, format.rows, format.cols});
}

histogram_inputs part_of_frame(const histogram_inputs& frame, const box& region) {
    const auto part_of = [&](const const_any_view& whole) {
        const_any_view part = whole;
        part.shape.rows = region.rows;
        part.shape.cols = region.cols;
        part.data = static_cast<const std::byte*>(whole.data) + region.row * whole.shape.row_stride +
                    region.col * static_cast<std::int64_t>(size_of(whole.shape.type));
        return part;
    };
    return {part_of(frame.image), frame.weights.data != nullptr ? part_of(frame.weights) : const_any_view{}};
}

std::vector<box> boxes_in_region(const frame_request& request, const box& region) {
    std::vector<box> result;
    for (const box& b : request.boxes) result.push_back(moved(b, region));
    return result;
}

std::vector<window_grid> grids_in_region(const frame_request& request, const box& region) {
    std::vector<window_grid> result = request.grids;
    for (window_grid& g : result)
        if (g.region) g.region = moved(*g.region, region);
    return result;
}

void check_request(const frame_request& request, const frame_format& format, const binning& bins) {
    if (!request.tensor && request.boxes.empty() && request.grids.empty())
        throw invalid_argument("request: asks for nothing: neither the tensor, nor boxes, nor grids");
    const box region = region_of(request, format);
    named("region", [&] { check_box(region, format.rows, format.cols); });
    for (std::size_t i = 0; i < request.boxes.size(); ++i)
        named("boxes[" + std::to_string(i) + "]", [&] {
            check_box(request.boxes[i], format.rows, format.cols);
            check_box(moved(request.boxes[i], region), region.rows, region.cols);
        });
    for (const window_grid& g : grids_in_region(request, region))
        named("grids", [&] { (void)window_count(g, region.rows, region.cols); });
    if (request.grids.empty()) return;
    if (request.count < 1)
        throw invalid_argument("request: count is " + std::to_string(request.count) + ", must be at least 1");
    if (static_cast<std::int64_t>(request.target.size()) != bins.bins())
        throw invalid_argument("request: target has " + std::to_string(request.target.size()) +
                               " values, but there are " + std::to_string(bins.bins()) + " bins");
    for (const double value : request.target)
        if (!std::isfinite(value) || value < 0)
            throw invalid_argument("request: target has the value " + text_of(value) +
                                   ", must be finite and not negative");
    check_total("request: target", request.target);
}

}  // namespace boxsum::detail
