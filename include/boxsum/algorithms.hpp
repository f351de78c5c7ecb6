#pragma once

#include <boxsum/export.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace boxsum BOXSUM_EXPORT {

/// What an algorithm computes.
enum class operation : std::uint8_t { sat, histogram, convolve };

/// "sat", "histogram", "convolve"
std::string_view name_of(operation what) noexcept;

/// All of them.
inline constexpr operation operations[] = {operation::sat, operation::histogram, operation::convolve};

/// A choice that an algorithm offers: a tile width, a scan network. `values[0]` is the default.
struct parameter {
    std::string_view name;
    std::string_view description;
    std::span<const std::string_view> values;
};

/// What one registered algorithm is. Names are unique within an operation.
struct algorithm_info {
    operation what = operation::sat;
    std::string_view name;
    std::string_view title;  ///< one line
    std::string_view paper;  ///< authors, year, section; or "boxsum" for our own
    std::string_view cost;   ///< e.g. "1 read, 1 write per element; 1 launch"
    backend where = backend::cpu;
    bool built = true;      ///< false: listed, but its kernels were not compiled
    bool in_place = false;  ///< the table may be the image (see sat())
    bool carries = false;   ///< takes carries: the table may be a part of a larger one (see table_carries)
    std::span<const parameter> parameters = {};
};

/// Whether an algorithm can do something, and if not, why ("tile width 128 needs 66 KiB of shared memory, ...").
struct support {
    bool ok = true;
    std::string reason = {};

    explicit operator bool() const noexcept { return ok; }
};

/// All algorithms of an operation, best first. The same list in every build: those whose kernels were not compiled say
/// `built == false`.
std::span<const algorithm_info* const> algorithms(operation what);

/// Null for an unknown name.
const algorithm_info* find_algorithm(operation what, std::string_view name) noexcept;

/// Whether `algorithm`, of the operation `sat`, computes tables of this pair, in this form, for images of this shape
/// (on the current device). Throws invalid_argument for a shape that is wrong in itself and for parameters that the
/// algorithm does not have.
support supports(const algorithm_info& algorithm, const view_shape& image, dtype sums, table_form form = {},
                 std::optional<dtype> squares = {}, std::string_view parameters = {});

}  // namespace boxsum
