#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/binning.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <optional>

namespace boxsum {

namespace convolution {
struct job;
}

/// What an integral histogram has beyond a table. Each bin has a table of "this pixel is in the bin", so
/// `problem::table` describes the tables of bin 0 (planes x rows x cols); that of bin b lies `b * bin_stride` bytes
/// behind.
struct histogram_problem {
    std::int64_t bins = 1;  ///< of the tensor
    std::int64_t bin_stride = 0;
    bin_rule rule = bin_rule::uniform;
    double lo = 0;  ///< `uniform`; `indices` is the uniform rule over [0, bins)
    double hi = 0;
    out_of_range outside = out_of_range::ignored;
    std::optional<view_shape> weights;

    /// A group of bins: the tensor holds bins first_bin .. first_bin + bins - 1 of a rule with `rule_bins` bins. 0: the
    /// tensor holds all bins of the rule. CUDA records only; validated problems hold all.
    std::int64_t first_bin = 0;
    std::int64_t rule_bins = 0;

    std::int64_t bins_of_rule() const noexcept { return rule_bins == 0 ? bins : rule_bins; }
};

/// A validated request, without its memory: everything that decides which kernels run and how. `image`, `table` and
/// `squares` have the same planes and channels; table extents follow from the image's and the form.
struct problem {
    operation what = operation::sat;
    view_shape image;
    view_shape table;
    std::optional<view_shape> squares;
    table_form form = {};                        ///< of both tables
    bool in_place = false;                       ///< the table is the image: same pointer, element size and strides
    std::optional<histogram_problem> histogram;  ///< exactly where what == operation::histogram
    const convolution::job* convolution =
        nullptr;                        ///< exactly where what == operation::convolve; `table` is the result
    carry_shapes carries = {};          ///< of the table
    carry_shapes squares_carries = {};  ///< of the table of squares

    bool has_carries() const noexcept { return carries || squares_carries; }

    /// Whether pixels lie side by side in all that is read and written. Of validated problems.
    bool has_packed_pixels() const noexcept {
        const auto packed = [](const std::optional<view_shape>& s) { return !s || s->col_stride == packed_pixels; };
        return packed(image) && packed(table) && packed(squares) && packed(carries.above) && packed(carries.left) &&
               packed(squares_carries.above) && packed(squares_carries.left);
    }

    type_pair types() const noexcept { return {image.type, table.type}; }
    squares_triple triple() const noexcept { return {image.type, table.type, squares ? squares->type : table.type}; }
};

/// Null where the problem has no such carry.
struct carry_data {
    const void* above = nullptr;
    const void* left = nullptr;
};

/// The memory of a problem; host or device, as the record's backend wants it.
struct buffers {
    const void* image = nullptr;
    void* table = nullptr;
    void* squares = nullptr;
    const void* weights = nullptr;          ///< histograms with weights; of convolutions on devices (cuda/convolve)
    const std::uint16_t* lookup = nullptr;  ///< histograms with the rule `lookup`: 256 or 65536 entries
    carry_data carries = {};
    carry_data squares_carries = {};
};

}  // namespace boxsum
