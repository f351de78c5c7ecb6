#include "cuda/runtime/packed_copies.hpp"

#include "core/view_checks.hpp"
#include "cuda/runtime/strided_copy.hpp"

#include <boxsum/cuda/memory.hpp>

namespace boxsum::cuda {

void packed_copy::add(view_shape& shape, std::size_t& bytes) {
    if (is_plain(shape)) return;
    given_ = shape;
    packed_ = device_shape(shape.type, shape.rows, shape.cols, shape.channels, shape.planes);
    shape = packed_;
    offset_ = static_cast<std::int64_t>(bytes);
    bytes += (static_cast<std::size_t>(packed_.planes * packed_.plane_stride) + 255) / 256 * 256;
}

void packed_copy::add(std::optional<view_shape>& shape, std::size_t& bytes) {
    if (shape) add(*shape, bytes);
}

const void* packed_copy::fill(const void* from, void* space, stream_ref stream) const {
    if (!exists()) return from;
    enqueue_copy_strided(given_, from, strides_of(given_), at(space), strides_of(packed_), stream);
    return at(space);
}

void packed_copy::empty(void* to, void* space, stream_ref stream) const {
    if (exists()) enqueue_copy_strided(given_, at(space), strides_of(packed_), to, strides_of(given_), stream);
}

packed_copy packed_copy::of_type(dtype type) const noexcept {
    packed_copy same = *this;
    same.given_.type = same.packed_.type = type;
    return same;
}

packed_copies::packed_copies(problem& p) {
    image_.add(p.image, bytes_);
    if (p.histogram) {  // whose tables are plain
        weights_.add(p.histogram->weights, bytes_);
        return;
    }
    if (p.in_place) {
        table_ = image_.of_type(p.table.type);
        if (table_.exists()) p.table = table_.shape();
    } else {
        table_.add(p.table, bytes_);
    }
    squares_.add(p.squares, bytes_);
    above_.add(p.carries.above, bytes_);
    left_.add(p.carries.left, bytes_);
    squares_above_.add(p.squares_carries.above, bytes_);
    squares_left_.add(p.squares_carries.left, bytes_);
}

buffers packed_copies::pack(const buffers& given, void* space, stream_ref stream) const {
    buffers memory = given;
    memory.image = image_.fill(given.image, space, stream);
    memory.table = table_.place(given.table, space);
    memory.squares = squares_.place(given.squares, space);
    memory.weights = weights_.fill(given.weights, space, stream);
    memory.carries = {above_.fill(given.carries.above, space, stream), left_.fill(given.carries.left, space, stream)};
    memory.squares_carries = {squares_above_.fill(given.squares_carries.above, space, stream),
                              squares_left_.fill(given.squares_carries.left, space, stream)};
    return memory;
}

void packed_copies::unpack(const buffers& given, void* space, stream_ref stream) const {
    table_.empty(given.table, space, stream);
    squares_.empty(given.squares, space, stream);
}

problem packed(problem p) {
    (void)packed_copies(p);
    return p;
}

}  // namespace boxsum::cuda
