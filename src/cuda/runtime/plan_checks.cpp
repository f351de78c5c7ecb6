#include "cuda/runtime/plan_checks.hpp"

#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/error.hpp>

#include <cstdint>
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
    require_type(argument, got.type, planned.type);
    require_planned(argument, "planes", got.planes, planned.planes);
    require_planned(argument, "rows", got.rows, planned.rows);
    require_planned(argument, "cols", got.cols, planned.cols);
    require_planned(argument, "channels", got.channels, planned.channels);
    require_planned(argument, "row_stride", got.row_stride, planned.row_stride);
    if (planned.planes > 1) require_planned(argument, "plane_stride", got.plane_stride, planned.plane_stride);
}

void check_workspace(const workspace_ref& workspace, std::size_t needed, int device) {
    if (needed == 0) return;
    if (workspace.bytes < needed)
        throw invalid_argument("workspace: has " + std::to_string(workspace.bytes) + " bytes, but the plan needs " +
                               std::to_string(needed));
    if (workspace.data == nullptr) throw invalid_argument("workspace: data is null");
    if (reinterpret_cast<std::uintptr_t>(workspace.data) % 256 != 0)
        throw invalid_argument("workspace: data is not aligned to 256 bytes");
    check_device_pointer("workspace", workspace.data, device);
}

void check_apart(const workspace_ref& workspace, std::size_t needed, std::string_view argument, const void* data,
                 std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(workspace.data),
               second = reinterpret_cast<std::uintptr_t>(data);
    if (needed != 0 && first < second + bytes && second < first + workspace.bytes)
        throw invalid_argument("workspace: overlaps " + std::string(argument));
}

}  // namespace boxsum::cuda
