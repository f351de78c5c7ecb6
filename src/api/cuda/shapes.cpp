#include "core/validate.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>

#include <string>

namespace boxsum {
namespace cuda {

sat_shapes shapes_of(const sat_inputs& inputs, const sat_outputs& outputs) {
    const any_view &sums = outputs.sums.entries, &squares = outputs.squares.entries;
    sat_shapes shapes{inputs.image.shape, sums.shape};
    shapes.form = outputs.sums.form;
    shapes.in_place = inputs.image.data != nullptr && same_place(inputs.image, sums);
    shapes.carries = carry_shapes_of(inputs.carries);
    shapes.squares_carries = carry_shapes_of(inputs.squares_carries);
    if (squares.data == nullptr) return shapes;
    if (outputs.squares.form != outputs.sums.form)
        throw invalid_argument("squares: layout is " + std::string(name_of(outputs.squares.form.layout)) +
                               ", but that of sums is " + std::string(name_of(outputs.sums.form.layout)));
    shapes.squares = squares.shape;
    return shapes;
}

}  // namespace cuda
}  // namespace boxsum
