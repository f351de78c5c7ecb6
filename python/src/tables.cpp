#include "tables.hpp"

#include "devices.hpp"
#include "module.hpp"
#include "samples.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>
#include <boxsum/sat.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace boxsum::python {
namespace {

/// The type of a table where none is asked for: it holds the sum of every image, and is never a 32-bit float.
element default_table(element image) {
    switch (image) {
        case element::boolean:
        case element::u8:
        case element::u16:
        case element::u32:
        case element::u64:
            return element::u64;
        case element::s8:
        case element::s16:
        case element::s32:
        case element::s64:
            return element::s64;
        case element::f16:
        case element::f32:
        case element::f64:
        case element::other:
            break;
    }
    return element::f64;
}

bool is_unsigned(element type) {
    return type == element::boolean || type == element::u8 || type == element::u16 || type == element::u32 ||
           type == element::u64;
}

/// The types as which an image may be read without losing anything: its own first.
std::array<element, 3> readings(element image) {
    switch (image) {
        case element::boolean:
            return {element::u8, element::other, element::other};
        case element::s8:
            return {element::s16, element::f32, element::other};
        case element::u16:
        case element::s16:
        case element::f16:
            return {image, element::f32, element::f64};
        case element::u32:
        case element::s32:
        case element::f32:
            return {image, element::f64, element::other};
        default:
            return {image, element::other, element::other};
    }
}

/// The unsigned type of the same bits: a table of an unsigned image has the same bits in both.
element unsigned_of(element table) {
    return table == element::s32 ? element::u32 : table == element::s64 ? element::u64 : table;
}

std::string list_of_tables(element image) {
    std::string list;
    for (const element table : {element::u32, element::s32, element::u64, element::s64, element::f32, element::f64})
        for (const element reading : readings(image)) {
            const auto from = dtype_of_element(reading);
            const auto same = is_unsigned(image) ? unsigned_of(table) : table;
            const auto exists = [&](element t) {
                const auto pairs = type_pairs();
                return from &&
                       std::find(pairs.begin(), pairs.end(), type_pair{*from, *dtype_of_element(t)}) != pairs.end();
            };
            if (!exists(table) && !exists(same)) continue;
            list.append(list.empty() ? "" : ", ").append(name_of(table));
            break;
        }
    return list;
}

/// How one table is computed.
struct table_way {
    element read_as = element::other;
    dtype entries = dtype::u64;
    bool by_halves = false;  ///< 64-bit integers on a device: as two 32-bit channels
};

/// Whether a device has kernels for a pair that the CPU has.
bool on_devices(type_pair pair) {
    const bool wide = pair.input == dtype::u64 || pair.input == dtype::s64;
    return !wide && !(pair.table == dtype::f64 && (pair.input == dtype::u16 || pair.input == dtype::s16));
}

table_way way_of(element image, element table, bool on_device) {
    const auto pairs = type_pairs();
    const bool same_bits = is_unsigned(image);
    for (const element reading : readings(image)) {
        const auto from = dtype_of_element(reading);
        if (reading == element::other || !from) continue;
        for (const element entries : {table, same_bits ? unsigned_of(table) : table}) {
            const type_pair pair{*from, *dtype_of_element(entries)};
            if (std::find(pairs.begin(), pairs.end(), pair) != pairs.end() && (!on_device || on_devices(pair)))
                return {reading, pair.table, false};
        }
    }
    const bool wide = image == element::u64 || image == element::s64;
    if (on_device && wide && (table == element::s64 || (table == element::u64 && same_bits)))
        return {image, dtype::u64, true};
    throw unsupported("dtype: " + std::string(name_of(image)) + " images have no tables of " +
                      std::string(name_of(table)) + ", but of " + list_of_tables(image));
}

/// How tables of pixels and of their squares are computed in one pass.
table_way squares_way(element image_type, element type, element squares_type, bool on_device) {
    element read_as = element::other;
    boxsum::dtype entries{};
    for (const squares_triple& triple : squares_triples()) {
        for (const element reading : readings(image_type)) {
            if (on_device && !on_devices({triple.input, triple.table})) continue;
            const element same = is_unsigned(image_type) ? unsigned_of(type) : type;
            const auto from = dtype_of_element(reading);
            if (reading == element::other || read_as != element::other || triple.input != from ||
                triple.squares != dtype_of_element(squares_type))
                continue;
            if (triple.table != dtype_of_element(type) && triple.table != dtype_of_element(same)) continue;
            read_as = reading;
            entries = triple.table;
        }
    }
    if (read_as == element::other) {
        std::string list;
        for (const squares_triple& triple : squares_triples()) {
            const auto allowed = readings(image_type);
            if (std::find(allowed.begin(), allowed.end(), element_of(triple.input)) == allowed.end()) continue;
            list.append(list.empty() ? "" : ", ").append(name_of(element_of(triple.table)));
            list.append(" and ").append(name_of(element_of(triple.squares)));
        }
        throw unsupported("dtype: " + std::string(name_of(image_type)) + " images have no tables of " +
                          std::string(name_of(type)) + " and " + std::string(name_of(squares_type)) + " for squares" +
                          (list.empty() ? "" : ", but of " + list));
    }
    return {read_as, entries, false};
}

sat_options options_of(nb::handle threads, nb::handle algorithm) {
    sat_options options;
    options.threads = threads_argument(threads);
    options.algorithm = text_argument(algorithm, "algorithm");
    return options;
}

result_shape table_shape(const image_argument& image, element type, const table_form& form, nb::handle row_alignment) {
    const auto rows = image.array.extent[static_cast<std::size_t>(image.roles.rows())];
    const auto cols = image.array.extent[static_cast<std::size_t>(image.roles.cols())];
    result_shape shape{type, form.table_extent(rows), form.table_extent(cols),
                       integer_argument(row_alignment, "row_alignment")};
    // Sums begin behind the zeros of a padded table, and whole vectors of them on lines of memory.
    if (shape.row_alignment > 1 && form.layout == table_layout::padded && form.origin.col == 0 && !image.empty)
        shape.ahead = image.view.shape.channels * static_cast<std::int64_t>(size_of(*dtype_of_element(type)));
    return shape;
}

/// An image on a device has pixels.
void refuse_empty(const image_argument& in) {
    if (in.empty)
        throw invalid_argument("image: its shape is " + text_of_extents(in.array) +
                               ", on a device it must have pixels");
}

/// Zeros where an image without pixels has a table with entries: the first row and column of padded tables.
void clear(const any_view& view) {
    if (view.data == nullptr) return;
    const view_shape& s = view.shape;
    for (std::int64_t plane = 0; plane < s.planes; ++plane)
        for (std::int64_t r = 0; r < s.rows; ++r)
            std::memset(static_cast<std::byte*>(view.data) + plane * s.plane_stride + r * s.row_stride, 0,
                        static_cast<std::size_t>(s.cols * s.channels) * size_of(s.type));
}

/// The same memory from its last pixel on.
any_view from_last(any_view view) {
    view_shape& s = view.shape;
    auto* const first = static_cast<std::byte*>(view.data);
    const std::int64_t col_stride = s.pixel_stride();
    if (first != nullptr) view.data = first + (s.rows - 1) * s.row_stride + (s.cols - 1) * col_stride;
    s.row_stride = -s.row_stride;
    s.col_stride = -col_stride;
    return view;
}

const_any_view from_last(const const_any_view& view) {
    return from_last(any_view{const_cast<void*>(view.data), view.shape});
}

/// What the whole table holds around the part that the image is: `given` is None or (above, left), each None or its
/// entries as (batch, entries, channels), the corner of `above` first where it has one.
class carries_argument {
  public:
    explicit carries_argument(nb::handle given) : given_(given) {}

    bool given() const noexcept { return !given_.is_none(); }

    /// Of a table whose entries are written as `entries`, which has the bits of `type`.
    table_carries of(const image_argument& in, element type, dtype entries) {
        if (!given()) return {};
        if (in.empty)
            throw invalid_argument("image: its shape is " + text_of_extents(in.array) + ", a part must have pixels");
        if (in.array.device) throw unsupported("image: is on a GPU, parts of tables are made in host memory");
        table_carries result;
        const nb::object above = given_[0], left = given_[1];
        if (!above.is_none()) result.above = viewed(above, type, entries, in, memory_[0], false);
        if (!left.is_none()) result.left = viewed(left, type, entries, in, memory_[1], true);
        return result;
    }

  private:
    static const_any_view viewed(nb::handle numbers, element type, dtype entries, const image_argument& in,
                                 std::vector<std::byte>& memory, bool down) {
        const view_shape& image = in.view.shape;
        const void* data = nullptr;
        std::int64_t count = 0;
        const nb::object owner = packed_array(numbers, type, &data, &count);
        const auto size = static_cast<std::int64_t>(size_of(entries));
        const std::int64_t length = count / (image.planes * image.channels);
        const auto* const from = static_cast<const std::byte*>(data);
        memory.assign(from, from + count * size);
        if (in.roles.planar) {  // planes of one channel each
            const std::int64_t channels =
                in.array.extent[static_cast<std::size_t>(in.roles.order[static_cast<std::size_t>(in.roles.batch) - 1])];
            for (std::int64_t i = 0; i < count; ++i) {
                const std::int64_t one = i / channels, plane = one / length * channels + i % channels;
                std::memcpy(memory.data() + (plane * length + one % length) * size, from + i * size,
                            static_cast<std::size_t>(size));
            }
        }
        view_shape shape{entries, image.planes, down ? length : 1, down ? 1 : length, image.channels};
        shape.row_stride = shape.cols * shape.channels * size;
        shape.plane_stride = shape.rows * shape.row_stride;
        return {memory.data(), shape};
    }

    nb::handle given_;
    std::array<std::vector<std::byte>, 2> memory_;
};

nb::object py_sat(nb::handle image, nb::handle given_form, nb::handle dtype, nb::handle channel_axis, nb::handle out,
                  nb::handle threads, nb::handle algorithm, nb::handle row_alignment, nb::handle corner,
                  nb::handle around) {
    carries_argument carries(around);
    image_argument in(image, "image", channel_axis, {.may_swap = !carries.given()});
    const form_argument all(given_form);
    const table_form form = all.of(in.roles);
    const std::string_view from = text_argument(corner, "corner");
    if (from != "first" && from != "last") refuse_word("corner", from, "'first', 'last'");
    const element type = element_argument(dtype, default_table(in.array.type));
    const table_way way = way_of(in.array.type, type, in.array.device.has_value());
    const sat_options options = options_of(threads, algorithm);
    if (in.array.device && way.by_halves && !carries.given()) {
        const nb::object halves = nb::module_::import_("boxsum._devices").attr("sat_by_halves");
        const std::string_view kind = name_of(type);
        return halves(image, given_form, nb::str(kind.data(), kind.size()), channel_axis, out, algorithm, corner);
    }
    in.read_as(way.read_as);
    all.check_offsets(in.view.shape);
    result_argument result(out, "out", in, table_shape(in, type, form, row_alignment));
    any_table_view sums{result.view, form};
    sums.entries.shape.type = way.entries;
    sat_inputs inputs{in.view, carries.of(in, type, way.entries)};
    if (from == "last" && carries.given())
        throw invalid_argument("corner: is 'last', parts of tables are summed from the first");
    if (from == "last" && !in.empty) {
        in.view = from_last(in.view);
        sums.entries = from_last(sums.entries);
    }
    if (in.array.device) {
        refuse_empty(in);
        device_call call(in.array);
        nb::gil_scoped_release released;
        call.run([&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::sat_async({in.view}, {sums}, workspace, stream, options);
        });
    } else if (in.empty) {
        clear(sums.entries);
    } else {
        inputs.image = in.view;
        nb::gil_scoped_release released;
        sat(inputs, {sums}, options);
    }
    return result.finish(in);
}

nb::object py_sat_squares(nb::handle image, nb::handle given_form, nb::handle dtype, nb::handle squares_dtype,
                          nb::handle channel_axis, nb::handle out, nb::handle squares_out, nb::handle threads,
                          nb::handle algorithm, nb::handle row_alignment, nb::handle around,
                          nb::handle squares_around) {
    carries_argument carries(around), squares_carries(squares_around);
    image_argument in(image, "image", channel_axis, {.may_swap = !carries.given() && !squares_carries.given()});
    const form_argument all(given_form);
    const table_form form = all.of(in.roles);
    const element image_type = in.array.type;
    const element type = element_argument(dtype, default_table(image_type));
    const element squares_type = element_argument(squares_dtype, type, "squares_dtype");
    const table_way way = squares_way(image_type, type, squares_type, in.array.device.has_value());
    const sat_options options = options_of(threads, algorithm);
    in.read_as(way.read_as);
    all.check_offsets(in.view.shape);
    result_argument sums(out, "out[0]", in, table_shape(in, type, form, row_alignment));
    result_argument squares(squares_out, "out[1]", in, table_shape(in, squares_type, form, row_alignment));
    any_table_view sums_view{sums.view, form};
    sums_view.entries.shape.type = way.entries;
    const sat_inputs inputs{in.view, carries.of(in, type, way.entries),
                            squares_carries.of(in, squares_type, *dtype_of_element(squares_type))};
    if (in.array.device) {
        refuse_empty(in);
        device_call call(in.array);
        nb::gil_scoped_release released;
        call.run([&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::sat_async({in.view}, {sums_view, {squares.view, form}}, workspace, stream, options);
        });
    } else if (in.empty) {
        clear(sums.view);
        clear(squares.view);
    } else {
        nb::gil_scoped_release released;
        sat(inputs, {sums_view, {squares.view, form}}, options);
    }
    return nb::make_tuple(sums.finish(in), squares.finish(in));
}

/// The tables of pixels that count and of how many do, and between them that of squares or None. `samples` is (mask,
/// weights, nan, nodata).
nb::object py_sat_counted(nb::handle image, nb::handle given_form, nb::handle dtype, nb::handle squares_dtype,
                          nb::handle channel_axis, nb::handle threads, nb::handle algorithm, nb::handle row_alignment,
                          nb::handle samples, bool with_squares) {
    image_argument in(image, "image", channel_axis);
    const form_argument all(given_form);
    const table_form form = all.of(in.roles);
    const samples_argument sampling(samples, in);
    const bool weighted = sampling.weights.has_value();
    const element type = element_argument(dtype, weighted ? element::f64 : default_table(in.array.type));
    const element squares_type = element_argument(squares_dtype, type, "squares_dtype");
    const bool on_device = in.array.device.has_value();
    const table_way way = with_squares ? squares_way(in.array.type, type, squares_type, on_device)
                                       : way_of(in.array.type, type, on_device);
    if (way.by_halves)
        throw unsupported("image: its dtype is " + std::string(name_of(in.array.type)) +
                          ", of whose tables on a GPU every pixel counts");
    const sat_options options = options_of(threads, algorithm);
    in.read_as(way.read_as);
    all.check_offsets(in.view.shape);
    const view_shape& s = in.view.shape;
    const bool fits = in.empty || s.rows <= std::numeric_limits<std::uint32_t>::max() / s.cols;
    const element of_counts = weighted ? element::f64 : fits ? element::u32 : element::u64;
    const auto shape = [&](element t) { return table_shape(in, t, form, row_alignment); };
    result_argument sums(nb::none(), "sums", in, shape(type)), counts(nb::none(), "counts", in, shape(of_counts));
    std::optional<result_argument> squares;
    if (with_squares) squares.emplace(nb::none(), "squares", in, shape(squares_type));
    any_table_view sums_view{sums.view, form}, squares_view;
    sums_view.entries.shape.type = way.entries;
    if (squares) squares_view = {squares->view, form};
    if (on_device) refuse_empty(in);
    if (in.empty) {
        clear(sums.view);
        clear(counts.view);
        clear(squares_view.entries);
    } else {
        sat_inputs inputs{in.view};
        if (sampling.mask) inputs.mask = sampling.mask->view;
        if (sampling.weights) inputs.weights = sampling.weights->view;
        inputs.nan = sampling.nan;
        inputs.nodata = sampling.nodata;
        const sat_outputs outputs{sums_view, squares_view, {counts.view, form}};
        compute(
            in, [&] { sat(inputs, outputs, options); },
            [&](cuda::workspace& workspace, cuda::stream_ref stream) {
                cuda::sat_async(inputs, outputs, workspace, stream, options);
            });
    }
    return nb::make_tuple(sums.finish(in), squares ? squares->finish(in) : nb::none(), counts.finish(in));
}

/// Of every channel of every image.
nb::object py_image_means(nb::handle image, nb::handle channel_axis) {
    image_argument in(image, "image", channel_axis);
    if (in.empty) throw invalid_argument("image: its shape is " + text_of_extents(in.array) + ", it has no pixels");
    in.read_as(in.array.type == element::boolean ? element::u8 : readings(in.array.type).front());
    extents shape;
    for (std::size_t i = 0; i < static_cast<std::size_t>(in.roles.batch); ++i)
        shape.push_back(in.array.extent[static_cast<std::size_t>(in.roles.order[i])]);
    if (in.roles.interleaved) shape.push_back(in.view.shape.channels);
    const packed_result result(nb::none(), "means", shape, element::f64, in.array);
    compute(
        in,
        [&] {
            const std::vector<double> means = image_means(in.view);
            std::memcpy(result.data, means.data(), means.size() * sizeof(double));
        },
        [&](cuda::workspace& workspace, cuda::stream_ref stream) {
            cuda::image_means_async(in.view, reinterpret_cast<double*>(result.data), workspace, stream);
        });
    return result.finish(in.array);
}

}  // namespace

table_layout layout_argument(nb::handle layout) {
    const std::string_view word = text_argument(layout, "layout");
    if (const auto known = layout_from_name(word)) return *known;
    refuse_word("layout", word, "'inclusive', 'exclusive', 'padded'");
}

form_argument::form_argument(nb::handle form) {
    if (!PyTuple_Check(form.ptr()) || nb::len(form) != 4) {
        form_ = layout_argument(form);
        return;
    }
    const nb::object layout = form[0], offset = form[3];
    form_ = {layout_argument(layout),
             {integer_argument(nb::object(form[1]), "origin"), integer_argument(nb::object(form[2]), "origin")}};
    if (PyFloat_Check(offset.ptr())) {
        form_.offset = real_argument(offset, "offset");
        return;
    }
    const void* numbers = nullptr;
    offsets_ = packed_array(offset, element::f64, &numbers, &count_);
    form_.offsets = static_cast<const double*>(numbers);
}

table_form form_argument::of(const axis_roles& roles) const {
    table_form result = form_;
    if (roles.swapped) std::swap(result.origin.row, result.origin.col);
    return result;
}

void form_argument::check_offsets(const view_shape& shape) const {
    if (form_.offsets != nullptr && count_ != shape.planes * shape.channels)
        throw invalid_argument("offset: has " + std::to_string(count_) + " numbers, but the image has " +
                               std::to_string(shape.planes) + " planes of " + std::to_string(shape.channels) +
                               " channels");
}

table_argument::table_argument(nb::handle table, std::string_view name, nb::handle given_form, nb::handle channel_axis,
                               const role_rules& rules)
    : image(table, name, channel_axis, rules) {
    const auto type = image.array.type;
    if (type != element::u32 && type != element::s32 && type != element::u64 && type != element::s64 &&
        type != element::f32 && type != element::f64)
        throw unsupported(std::string(name) + ": its dtype is " + std::string(name_of(type)) +
                          ", tables are uint32, int32, uint64, int64, float32 or float64");
    const form_argument form(given_form);
    if (image.empty)
        throw invalid_argument(std::string(name) + ": its shape is " + text_of_extents(image.array) +
                               ", it has no entries");
    image.read_as(type);
    form.check_offsets(image.view.shape);
    view = {image.view, form.of(image.roles)};
}

void bind_tables(nb::module_& module) {
    define(module, "sat", py_sat);
    define(module, "sat_squares", py_sat_squares);
    define(module, "sat_counted", py_sat_counted);
    define(module, "image_means", py_image_means);
}

}  // namespace boxsum::python
