#include "cuda/runtime/plan_checks.hpp"

#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/error.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace boxsum::cuda {

void require_planned(std::string_view argument, std::string_view what, std::int64_t value, std::int64_t planned) {
    if (value != planned)
        throw invalid_argument(std::string(argument) + ": " + std::string(what) + " is " + std::to_string(value) +
                               ", but the plan was made for " + std::to_string(planned));
}

void require_type(std::string_view argument, dtype got, dtype planned) {
    if (got != planned)
        throw invalid_argument(std::string(argument) + ": element type is " + std::string(name_of(got)) +
                               ", but the plan was made for " + std::string(name_of(planned)));
}

void require_shape(std::string_view argument, const view_shape& got, const view_shape& planned) {
    if (got == planned) return;
    require_type(argument, got.type, planned.type);
    require_planned(argument, "planes", got.planes, planned.planes);
    require_planned(argument, "rows", got.rows, planned.rows);
    require_planned(argument, "cols", got.cols, planned.cols);
    require_planned(argument, "channels", got.channels, planned.channels);
    require_planned(argument, "row_stride", got.row_stride, planned.row_stride);
    if (planned.planes > 1) require_planned(argument, "plane_stride", got.plane_stride, planned.plane_stride);
    if (planned.cols > 1) require_planned(argument, "col_stride", got.pixel_stride(), planned.pixel_stride());
}

void require_histograms(const histogram_shape& histograms, const histogram_shape& plan) {
    const tensor_shape &got = histograms.entries, &planned = plan.entries;
    if (histograms.form.layout != plan.form.layout)
        throw invalid_argument("histograms: layout is " + std::string(name_of(histograms.form.layout)) +
                               ", but the plan was made for " + std::string(name_of(plan.form.layout)));
    require_type("histograms", got.type, planned.type);
    require_planned("histograms", "planes", got.planes, planned.planes);
    require_planned("histograms", "bins", got.bins, planned.bins);
    require_planned("histograms", "rows", got.rows, planned.rows);
    require_planned("histograms", "cols", got.cols, planned.cols);
    require_planned("histograms", "row_stride", got.row_stride, planned.row_stride);
    if (planned.bins > 1) require_planned("histograms", "bin_stride", got.bin_stride, planned.bin_stride);
    if (planned.planes > 1) require_planned("histograms", "plane_stride", got.plane_stride, planned.plane_stride);
}

void check_range(const memory_range& range, std::size_t element, int device) {
    const auto address = reinterpret_cast<std::uintptr_t>(range.data);
    if (address == 0) throw invalid_argument(std::string(range.argument) + ": data is null");
    if (address % element != 0)
        throw invalid_argument(std::string(range.argument) + ": data is not aligned to its element size of " +
                               std::to_string(element) + " bytes");
    const auto before = static_cast<std::uintptr_t>(-range.first);
    if (address < before || address - before > std::numeric_limits<std::uintptr_t>::max() - range.bytes)
        throw invalid_argument(std::string(range.argument) + ": " + std::to_string(range.bytes) +
                               " bytes reach beyond the end of the address space");
    check_device_pointer(range.argument, range.data, device);
}

bool any_meet(std::span<const memory_range> ranges) noexcept {
    for (std::size_t i = 0; i < ranges.size(); ++i)
        for (std::size_t j = i + 1; j < ranges.size(); ++j) {
            const memory_range &a = ranges[i], &b = ranges[j];
            const auto first = reinterpret_cast<std::uintptr_t>(a.data) + static_cast<std::uintptr_t>(a.first),
                       second = reinterpret_cast<std::uintptr_t>(b.data) + static_cast<std::uintptr_t>(b.first);
            if ((a.written || b.written) && first < second + b.bytes && second < first + a.bytes) return true;
        }
    return false;
}

void call_memory::add(const planned_view& planned, const const_any_view& view) {
    require_shape(planned.name, view.shape, planned.shape);
    memory_range& range = ranges_[count_++];
    range = {planned.name, view.data, static_cast<std::size_t>(planned.reach.bytes()), planned.written,
             planned.reach.first};
    check_range(range, size_of(planned.shape.type), device_);
}

void call_memory::add_optional(const char* argument, const planned_view& planned, const const_any_view& view) {
    if (planned.name != nullptr)
        add(planned, view);
    else if (view.data != nullptr)
        throw invalid_argument(std::string(argument) + ": given, but the plan was made without");
}

bool call_memory::meet() const noexcept {
    return any_meet(std::span(ranges_).first(count_));
}

}  // namespace boxsum::cuda
