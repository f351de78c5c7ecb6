#pragma once

#include "core/algorithm_record.hpp"
#include "core/packed_views.hpp"
#include "core/view_checks.hpp"

#include <boxsum/sat.hpp>

namespace boxsum {

/// The inputs and outputs as algorithms take them: rows and planes in any order, pixels side by side.
struct packed_call {
    packed_input image;
    packed_output sums, squares;
    packed_input above, left, squares_above, squares_left;
    sat_inputs inputs;
    sat_outputs outputs;

    packed_call(const sat_inputs& in, const sat_outputs& out)
        : image(in.image, has_packed_pixels),
          sums(out.sums.entries, has_packed_pixels),
          squares(out.squares.entries, has_packed_pixels),
          above(in.carries.above, has_packed_pixels),
          left(in.carries.left, has_packed_pixels),
          squares_above(in.squares_carries.above, has_packed_pixels),
          squares_left(in.squares_carries.left, has_packed_pixels),
          inputs{image.view(), {above.view(), left.view()}, {squares_above.view(), squares_left.view()}},
          outputs{{sums.view(), out.sums.form}, {squares.view(), out.squares.form}} {}

    std::size_t copied_bytes() const noexcept {
        return image.copied_bytes() + sums.copied_bytes() + squares.copied_bytes() + above.copied_bytes() +
               left.copied_bytes() + squares_above.copied_bytes() + squares_left.copied_bytes();
    }
};

inline execution execution_of(const sat_options& options, const parameter_values& parameters) {
    execution how;
    how.parameters = parameters;
    how.threads = options.threads;
    how.store = options.store;
    return how;
}

}  // namespace boxsum
