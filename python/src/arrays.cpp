#include "arrays.hpp"

#include "devices.hpp"
#include "exchange.hpp"

#include <boxsum/error.hpp>
#include <boxsum/memory.hpp>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#include <numpy/arrayobject.h>
#if NPY_ABI_VERSION < 0x02000000
#error "headers of NumPy 2 are needed; a module that is built with them works with NumPy 1.26, too"
#endif

#include <algorithm>
#include <atomic>
#include <memory>

namespace boxsum::python {
namespace {

std::atomic<std::uint64_t> copied{0};

/// Below this NumPy's own small blocks are faster than the pool's.
constexpr std::int64_t smallest_pooled_bytes = 16384;
/// Above this the library stores past the caches, whole lines wherever rows start.
constexpr std::int64_t largest_cached_bytes = std::int64_t{32} << 20;
constexpr std::int64_t page_bytes = 4096;

struct element_row {
    element type;
    int numpy;
    std::string_view name;
    std::optional<dtype> read_as;
};

constexpr std::array<element_row, 12> element_rows{{{element::boolean, NPY_BOOL, "bool", dtype::u8},
                                                    {element::u8, NPY_UINT8, "uint8", dtype::u8},
                                                    {element::s8, NPY_INT8, "int8", {}},
                                                    {element::u16, NPY_UINT16, "uint16", dtype::u16},
                                                    {element::s16, NPY_INT16, "int16", dtype::s16},
                                                    {element::u32, NPY_UINT32, "uint32", dtype::u32},
                                                    {element::s32, NPY_INT32, "int32", dtype::s32},
                                                    {element::u64, NPY_UINT64, "uint64", dtype::u64},
                                                    {element::s64, NPY_INT64, "int64", dtype::s64},
                                                    {element::f16, NPY_FLOAT16, "float16", dtype::f16},
                                                    {element::f32, NPY_FLOAT32, "float32", dtype::f32},
                                                    {element::f64, NPY_FLOAT64, "float64", dtype::f64}}};

const element_row& row_of(element type) {
    return element_rows[static_cast<std::size_t>(type)];
}

std::int64_t bytes_of(element type) {
    switch (type) {
        case element::boolean:
        case element::u8:
        case element::s8:
            return 1;
        case element::u16:
        case element::s16:
        case element::f16:
            return 2;
        case element::u32:
        case element::s32:
        case element::f32:
            return 4;
        case element::u64:
        case element::s64:
        case element::f64:
        case element::other:
            break;
    }
    return 8;
}

element element_of_numpy(int number) {
    // long and long long are one of them by their size.
    if (number == NPY_LONGLONG) number = NPY_INT64;
    if (number == NPY_ULONGLONG) number = NPY_UINT64;
    for (const element_row& row : element_rows)
        if (row.numpy == number) return row.type;
    return element::other;
}

PyArrayObject* as_numpy(nb::handle array) {
    return reinterpret_cast<PyArrayObject*>(array.ptr());
}

nb::object stolen(PyObject* object) {
    if (object == nullptr) throw nb::python_error();
    return nb::steal(object);
}

strided open_numpy(nb::handle array, std::string_view name) {
    PyArrayObject* const numpy = as_numpy(array);
    strided result;
    result.owner = nb::borrow(array);
    result.name = name;
    result.data = reinterpret_cast<std::byte*>(PyArray_BYTES(numpy));
    result.type = element_of_numpy(PyArray_TYPE(numpy));
    result.axes = PyArray_NDIM(numpy);
    if (result.axes > max_axes)
        throw invalid_argument(std::string(name) + ": has " + std::to_string(result.axes) + " axes, at most " +
                               std::to_string(max_axes) + " are taken");
    result.writable = PyArray_ISWRITEABLE(numpy);
    result.behaved = PyArray_ISBEHAVED_RO(numpy);
    for (int i = 0; i < result.axes; ++i) {
        const auto at = static_cast<std::size_t>(i);
        result.extent[at] = PyArray_DIM(numpy, i);
        result.stride[at] = PyArray_STRIDE(numpy, i);
        if (result.extent[at] == 0) result.empty = true;
    }
    return result;
}

/// A copy with its axes again in the order of the array, so that the roles stay what they are.
strided in_axes_of(const strided& packed, const strided& from, const axis_roles& roles) {
    strided result = packed;
    for (std::size_t i = 0; i < static_cast<std::size_t>(roles.axes); ++i) {
        const auto axis = static_cast<std::size_t>(roles.order[i]);
        result.extent[axis] = packed.extent[i];
        result.stride[axis] = packed.stride[i];
    }
    result.wrap = from.wrap;
    result.exchanged_by = from.exchanged_by;
    return result;
}

/// A C-contiguous copy of the array with its axes in another order, as elements of `type`.
strided packed_copy(const strided& from, const axis_roles& roles, element type) {
    ++copied;
    if (from.device) return in_axes_of(packed_device_copy(from, roles, type), from, roles);
    std::array<npy_intp, max_axes> order;
    for (int i = 0; i < roles.axes; ++i) order[static_cast<std::size_t>(i)] = roles.order[static_cast<std::size_t>(i)];
    PyArray_Dims permutation{order.data(), roles.axes};
    const nb::object whole = from.as_numpy();
    const nb::object transposed = stolen(PyArray_Transpose(as_numpy(whole), &permutation));
    const nb::object copy = stolen(PyArray_FromArray(as_numpy(transposed), PyArray_DescrFromType(row_of(type).numpy),
                                                     NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED |
                                                         NPY_ARRAY_ENSURECOPY | NPY_ARRAY_FORCECAST));
    return in_axes_of(open_numpy(copy, from.name), from, roles);
}

/// The array with one axis more, along which its values repeat, in the same memory.
strided repeated(const strided& from, int axis, std::int64_t times) {
    nb::list shape;
    for (int i = 0; i < from.axes; ++i) {
        if (i == axis) shape.append(times);
        shape.append(from.extent[static_cast<std::size_t>(i)]);
    }
    if (axis == from.axes) shape.append(times);
    const nb::module_ helpers = nb::module_::import_(from.device ? "boxsum._devices" : "boxsum._arrays");
    return open_array(helpers.attr("repeated")(from.device ? from.owner : from.as_numpy(), axis, nb::tuple(shape)),
                      from.name);
}

/// The shape of the library's view of an array, or nothing where its strides are none that a view has.
std::optional<view_shape> view_of(const strided& array, const axis_roles& roles, dtype type) {
    const auto element = static_cast<std::int64_t>(size_of(type));
    const auto row = static_cast<std::size_t>(roles.rows()), col = static_cast<std::size_t>(roles.cols());
    view_shape s{type, 1, array.extent[row], array.extent[col], 1, array.stride[row], 0};
    std::int64_t pixel = element;
    if (roles.interleaved) {
        const auto channel = static_cast<std::size_t>(roles.order[static_cast<std::size_t>(roles.batch) + 2]);
        s.channels = array.extent[channel];
        if (s.channels > 4 || (s.channels > 1 && array.stride[channel] != element)) return {};
        pixel *= s.channels;
    }
    if (s.cols > 1 && array.stride[col] != pixel) return {};
    if (s.rows == 1) s.row_stride = s.cols * pixel;
    if (s.row_stride < s.cols * pixel || s.row_stride % element != 0) return {};
    // The batch is one row of planes: each axis steps over all of the next.
    for (int i = roles.batch - 1; i >= 0; --i) {
        const auto axis = static_cast<std::size_t>(roles.order[static_cast<std::size_t>(i)]);
        const std::int64_t extent = array.extent[axis], stride = array.stride[axis];
        if (extent == 1) continue;
        if (s.planes == 1) {
            if (stride < (s.rows - 1) * s.row_stride + s.cols * pixel || stride % element != 0) return {};
            s.plane_stride = stride;
        } else if (stride != s.planes * s.plane_stride) {
            return {};
        }
        s.planes *= extent;
    }
    return s;
}

/// -1 for None.
int channel_axis_argument(nb::handle axis, int axes) {
    if (axis.is_none()) return -1;
    const std::int64_t given = integer_argument(axis, "channel_axis");
    if (given < -axes || given >= axes)
        throw invalid_argument("channel_axis: is " + std::to_string(given) + ", but the image has " +
                               std::to_string(axes) + " axes");
    return static_cast<int>(given < 0 ? given + axes : given);
}

axis_roles roles_of(const strided& array, int channel_axis, const role_rules& rules) {
    axis_roles roles;
    roles.axes = array.axes;
    std::size_t count = 0;
    for (int i = 0; i < array.axes; ++i)
        if (i != channel_axis) roles.order[count++] = i;
    roles.batch = static_cast<int>(count) - 2;
    if (channel_axis >= 0) {
        const auto channel = static_cast<std::size_t>(channel_axis);
        const std::int64_t channels = array.extent[channel];
        // Channels of a single pixel lie side by side in planes, too: then the order of the axes says which.
        const bool planes = array.extent[static_cast<std::size_t>(roles.order[count - 1])] == 1 &&
                            array.extent[static_cast<std::size_t>(roles.order[count - 2])] == 1 &&
                            channel_axis < roles.order[count - 1];
        roles.interleaved = channels <= 4 && (rules.interleave || channels == 1 ||
                                              (array.stride[channel] == bytes_of(array.type) && !planes));
        if (roles.interleaved) {
            roles.order[count] = channel_axis;
        } else {  // planes of their own
            roles.order[count] = roles.order[count - 1];
            roles.order[count - 1] = roles.order[count - 2];
            roles.order[count - 2] = channel_axis;
            roles.planar = true;
            ++roles.batch;
        }
    }
    // In Fortran order the columns lie where rows do: the table of the transposed image is the transposed table.
    const auto row = static_cast<std::size_t>(roles.rows()), col = static_cast<std::size_t>(roles.cols());
    const std::int64_t pixel =
        bytes_of(array.type) * (roles.interleaved ? array.extent[static_cast<std::size_t>(channel_axis)] : 1);
    if (rules.may_swap && array.stride[row] == pixel && array.extent[col] > 1 &&
        array.stride[col] >= array.extent[row] * pixel && array.extent[row] > 1) {
        std::swap(roles.order[static_cast<std::size_t>(roles.batch)],
                  roles.order[static_cast<std::size_t>(roles.batch) + 1]);
        roles.swapped = true;
    }
    return roles;
}

void give_back(PyObject* capsule) noexcept {
    delete static_cast<host_buffer*>(PyCapsule_GetPointer(capsule, "boxsum memory"));
}

/// An array of NumPy's on memory of the pool, from `ahead` bytes before the start of a page on (or on memory of NumPy,
/// where it is small and packed).
nb::object new_array(element type, int axes, const std::int64_t* extents_of, const std::int64_t* strides,
                     std::int64_t bytes, bool packed, std::int64_t ahead = 0) {
    static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
    const auto* const extent = reinterpret_cast<const npy_intp*>(extents_of);
    const auto* const stride = reinterpret_cast<const npy_intp*>(strides);
    const int number = row_of(type).numpy;
    if (packed && bytes < smallest_pooled_bytes)
        return stolen(PyArray_New(&PyArray_Type, axes, extent, number, nullptr, nullptr, 0, 0, nullptr));
    const std::int64_t skipped = ahead > 0 ? page_bytes - ahead : 0;
    auto memory = std::make_unique<host_buffer>(static_cast<std::size_t>(std::max<std::int64_t>(bytes + skipped, 1)));
    void* const data = static_cast<std::byte*>(memory->data()) + skipped;
    const nb::object capsule = stolen(PyCapsule_New(memory.get(), "boxsum memory", give_back));
    memory.release();
    nb::object array = stolen(PyArray_New(&PyArray_Type, axes, extent, number, stride, data, 0,
                                          NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, nullptr));
    if (PyArray_SetBaseObject(as_numpy(array), nb::object(capsule).release().ptr()) != 0) throw nb::python_error();
    return array;
}

std::string text_of(const std::int64_t* extent, int axes) {
    std::string text = "(";
    for (int i = 0; i < axes; ++i) text.append(i == 0 ? "" : ", ").append(std::to_string(extent[i]));
    return text.append(axes == 1 ? ",)" : ")");
}

void check_out(const strided& out, element type, const std::int64_t* extent, int axes) {
    const std::string name(out.name);
    // PyTorch computes with int64 and hardly with uint64; the bits are the same.
    const bool same_bits =
        type == element::u64 && out.type == element::s64 && (out.exchanged_by != nullptr || out.wrap || out.device);
    if (out.type != type && !same_bits)
        throw unsupported(name + ": its dtype is " + std::string(name_of(out.type)) + ", must be " +
                          std::string(name_of(type)));
    if (out.axes != axes || !std::equal(extent, extent + axes, out.extent.begin()))
        throw invalid_argument(name + ": its shape is " + text_of(out.extent.data(), out.axes) + ", must be " +
                               text_of(extent, axes));
    if (!out.writable) throw invalid_argument(name + ": is read-only");
    if (!out.behaved) throw invalid_argument(name + ": is not aligned, or not of this machine's byte order");
}

}  // namespace

namespace {

/// Of an argument that NumPy makes nothing of: its words, with the argument's name.
[[noreturn]] void refuse_as_numpy_does(std::string_view name) {
    const nb::python_error error;
    if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw error;
    throw unsupported(std::string(name) + ": " + nb::str(error.value()).c_str());
}

}  // namespace

element element_of(dtype type) noexcept {
    for (const element_row& row : element_rows)
        if (row.type != element::boolean && row.read_as == type) return row.type;
    return element::other;
}

std::optional<dtype> dtype_of_element(element type) noexcept {
    return type == element::other ? std::optional<dtype>{} : row_of(type).read_as;
}

std::string_view name_of(element type) noexcept {
    return type == element::other ? "a type that boxsum does not take" : row_of(type).name;
}

element element_of_kind(nb::handle kind) {
    if (PyArray_DescrCheck(kind.ptr())) return element_of_numpy(reinterpret_cast<PyArray_Descr*>(kind.ptr())->type_num);
    const std::string_view name = text_argument(kind, "dtype");
    for (const element_row& row : element_rows)
        if (row.name == name) return row.type;
    return element::other;
}

element element_argument(nb::handle dtype, element fallback, std::string_view name) {
    if (dtype.is_none()) return fallback;
    PyArray_Descr* descr = nullptr;
    if (PyArray_DescrConverter(dtype.ptr(), &descr) == NPY_FAIL) refuse_as_numpy_does(name);
    const nb::object owner = nb::steal(reinterpret_cast<PyObject*>(descr));
    const element type = element_of_numpy(descr->type_num);
    if (type == element::other)
        throw unsupported(std::string(name) + ": is " + nb::str(owner).c_str() + ", no type of tables");
    if (!PyDataType_ISNOTSWAPPED(descr))
        throw unsupported(std::string(name) + ": is " + nb::str(owner).c_str() +
                          ", results are of this machine's byte order");
    return type;
}

namespace {
int import_array_or_fail() {
    import_array1(-1);
    return 0;
}
}  // namespace

void import_numpy() {
    if (import_array_or_fail() != 0) throw nb::python_error();
}

namespace {

/// (an array of NumPy's, what makes one of the library's of it or None)
nb::object adapted(nb::handle array, std::string_view name) {
    const nb::object adapt = nb::module_::import_("boxsum._arrays").attr("adapt");
    return adapt(array, nb::str(name.data(), name.size()));
}

strided with_element(strided array) {
    if (array.type == element::other)
        throw unsupported(std::string(array.name) + ": its dtype is " +
                          nb::str(nb::object(array.owner.attr("dtype"))).c_str() +
                          ", must be bool, an integer or a real floating type of at most 64 bits");
    return array;
}

}  // namespace

nb::object strided::as_numpy() const {
    if (PyArray_Check(owner.ptr())) return owner;
    return adapted(owner, name)[0];
}

nb::object strided::in_its_library(const nb::object& result) const {
    if (exchanged_by != nullptr && !device) return exported(*exchanged_by, open_numpy(result, name));
    return wrap.is_valid() ? nb::object(wrap(result)) : result;
}

strided open_array(nb::handle array, std::string_view name) {
    strided result;
    if (PyArray_CheckExact(array.ptr())) {
        result = open_numpy(array, name);
        if (result.type == element::other) result = open_numpy(nb::object(adapted(array, name)[0]), name);
        return with_element(std::move(result));
    }
    const exchange* const library = exchange_of(array);
    if (library != nullptr && open_exchanged(*library, array, name, result)) {
    } else if (auto on_device = PyArray_Check(array.ptr()) ? std::nullopt : open_device_array(array, name)) {
        result = std::move(*on_device);
    } else {
        const nb::object pair = adapted(array, name);
        result = open_numpy(nb::object(pair[0]), name);
        if (!pair[1].is_none()) result.wrap = pair[1];
    }
    if (result.device) require_cuda(name);
    return with_element(std::move(result));
}

std::string text_of_extents(const strided& array) {
    return text_of(array.extent.data(), array.axes);
}

image_argument::image_argument(nb::handle image, std::string_view name, nb::handle channel_axis,
                               const role_rules& rules)
    : array(open_array(image, name)) {
    const int channel = channel_axis_argument(channel_axis, array.axes);
    const int spatial = array.axes - (channel >= 0 ? 1 : 0);
    if (spatial < 2)
        throw invalid_argument(
            std::string(name) + ": its shape is " + text_of_extents(array) + ", must have rows and columns" +
            (channel >= 0 ? " beside channels" : "; numpy.atleast_2d() makes one row of what has one axis"));
    roles = roles_of(array, channel, rules);
    empty = array.empty;
}

void image_argument::read_as(element type) {
    if (empty) return;
    const auto same_memory = type == array.type || (array.type == element::boolean && type == element::u8);
    if (same_memory && array.behaved) {
        if (const auto shape = view_of(array, roles, *dtype_of_element(type))) {
            view = {array.data, *shape};
            return;
        }
    }
    const element own = array.type;
    array = packed_copy(array, roles, type);
    view = {array.data, view_of(array, roles, *dtype_of_element(type)).value()};
    array.type = own;  // by which results are chosen, whether or not it was copied
}

void image_argument::match_planes(const image_argument& image) {
    if (empty || image.empty) return;
    const auto batch_of = [](const image_argument& one, int axes) {
        extents batch;
        for (int i = 0; i < axes; ++i)
            batch.push_back(one.array.extent[static_cast<std::size_t>(one.roles.order[static_cast<std::size_t>(i)])]);
        return batch;
    };
    const extents batch = batch_of(*this, roles.batch);
    if (std::all_of(batch.begin(), batch.end(), [](std::int64_t extent) { return extent == 1; })) return;
    const axis_roles& whole = image.roles;
    if (batch != batch_of(image, whole.batch - (whole.planar ? 1 : 0)))
        throw invalid_argument(std::string(array.name) + ": its shape is " + text_of_extents(array) +
                               ", but the batch must be that of the image, " + text_of_extents(image.array) +
                               (whole.planar || whole.interleaved ? " with channels" : ""));
    if (!whole.planar) return;
    const int added = roles.rows();
    const int channel_axis = whole.order[static_cast<std::size_t>(whole.batch) - 1];
    array = repeated(array, added, image.array.extent[static_cast<std::size_t>(channel_axis)]);
    for (int& axis : roles.order) axis += axis >= added ? 1 : 0;
    const auto at = roles.order.begin() + roles.batch;
    std::copy_backward(at, roles.order.begin() + roles.axes, roles.order.begin() + roles.axes + 1);
    *at = added;
    ++roles.batch;
    ++roles.axes;
}

companion_argument::companion_argument(nb::handle companion, std::string_view name, const image_argument& image)
    : array(open_array(companion, name)) {
    require_same_place(array, image.array);
    // The image's axes in its order, less the batch where only rows and columns are given, and less that of channels.
    const axis_roles& whole = image.roles;
    const auto all = static_cast<std::size_t>(whole.batch) + 2;
    const int channel_axis = whole.planar        ? whole.order[static_cast<std::size_t>(whole.batch) - 1]
                             : whole.interleaved ? whole.order[all]
                                                 : -1;
    std::vector<int> axes(whole.order.begin(), whole.order.begin() + static_cast<std::ptrdiff_t>(all));
    if (whole.planar) axes.erase(axes.end() - 3);
    if (array.axes == 2) axes.erase(axes.begin(), axes.end() - 2);
    if (static_cast<std::size_t>(array.axes) != axes.size())
        throw invalid_argument(std::string(name) + ": its shape is " + text_of_extents(array) +
                               ", must be rows and columns of the image, or with its batch before them");
    axis_roles roles;
    roles.axes = array.axes;
    roles.batch = array.axes - 2;
    roles.swapped = whole.swapped;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        // Which of the axes that both have, in the order of the memory's description.
        const auto before = std::count_if(axes.begin(), axes.end(), [&](int axis) { return axis < axes[i]; });
        roles.order[i] = static_cast<int>(before);
        if (array.extent[static_cast<std::size_t>(before)] != image.array.extent[static_cast<std::size_t>(axes[i])])
            throw invalid_argument(std::string(name) + ": its shape is " + text_of_extents(array) +
                                   ", which is not that of the image, " + text_of_extents(image.array) +
                                   (channel_axis < 0 ? "" : " with channels"));
    }
    if (array.empty) return;
    if (whole.planar && array.axes > 2) {  // every channel is a plane, which wants one of its own
        array = repeated(array, channel_axis, image.array.extent[static_cast<std::size_t>(channel_axis)]);
        roles = whole;
    }
    const element type = array.type == element::boolean ? element::u8 : array.type;
    const auto as = dtype_of_element(type);
    if (!as)
        throw unsupported(std::string(name) + ": its dtype is " + std::string(name_of(type)) +
                          ", which is not taken here");
    if (array.behaved) {
        if (const auto shape = view_of(array, roles, *as)) {
            view = {array.data, *shape};
            return;
        }
    }
    const element own = array.type;
    array = packed_copy(array, roles, type);
    view = {array.data, view_of(array, roles, *as).value()};
    array.type = own;
}

result_argument::result_argument(nb::handle out, std::string_view name, const image_argument& image,
                                 const result_shape& shape) {
    const axis_roles& roles = image.roles;
    const auto axes = static_cast<std::size_t>(roles.axes);
    std::array<std::int64_t, max_axes> extent = image.array.extent;
    extent[static_cast<std::size_t>(roles.rows())] = shape.rows;
    extent[static_cast<std::size_t>(roles.cols())] = shape.cols;
    const bool no_elements = std::find(extent.begin(), extent.begin() + roles.axes, 0) != extent.begin() + roles.axes;
    const dtype type = *dtype_of_element(shape.type);

    strided result;
    if (!out.is_none()) {
        given_ = true;
        result = open_array(out, name);
        require_same_place(result, image.array);
        check_out(result, shape.type, extent.data(), roles.axes);
        array = nb::borrow(out);
    } else {
        std::array<std::int64_t, max_axes> extents_of{}, strides{};
        std::int64_t step = bytes_of(shape.type);
        for (std::size_t i = axes; i-- > 0;) {
            const auto axis = static_cast<std::size_t>(roles.order[i]);
            strides[axis] = step;
            if (__builtin_mul_overflow(step, extent[axis], &step))
                throw out_of_memory(std::string(name) + ": a result of shape " + text_of(extent.data(), roles.axes) +
                                    " does not fit a 64-bit address space");
            if (static_cast<int>(i) == roles.batch + 1)
                step = (step + shape.row_alignment - 1) / shape.row_alignment * shape.row_alignment;
            extents_of[axis] = extent[axis];
        }
        bool packed = shape.row_alignment == 1;
        for (std::size_t i = 0; i < axes; ++i) packed = packed && roles.order[i] == static_cast<int>(i);
        if (image.array.device) {
            result = new_device_array(image.array, shape.type, roles.axes, extents_of.data(), strides.data(), packed);
            array = result.owner;
        } else {
            const std::int64_t ahead = step <= largest_cached_bytes ? shape.ahead : 0;
            array = new_array(shape.type, roles.axes, extents_of.data(), strides.data(), step, packed, ahead);
            result = open_numpy(array, name);
        }
    }
    if (no_elements) return;
    const auto as_view = view_of(result, roles, type);
    if (!as_view)
        throw invalid_argument(std::string(name) +
                               ": its strides are none that results are written with (it is never copied); "
                               "rows must be packed and in the order of the image's");
    data = result.data;
    view = {data, *as_view};
}

nb::object result_argument::finish(const image_argument& image) const {
    return given_ ? array : image.array.in_its_library(array);
}

packed_result::packed_result(nb::handle out, std::string_view name, const extents& shape, element type,
                             const strided& argument)
    : name_(name) {
    const int axes = static_cast<int>(shape.size());
    if (!out.is_none()) {
        given_ = true;
        const strided result = open_array(out, name);
        require_same_place(result, argument, argument.name);
        check_out(result, type, shape.data(), axes);
        std::int64_t packed = bytes_of(type);
        bool gaps = false;
        for (std::size_t i = shape.size(); i-- > 0; packed *= shape[i])
            gaps = gaps || (shape[i] > 1 && result.stride[i] != packed);
        if (gaps && !result.empty)
            throw invalid_argument(std::string(name) + ": is not C-contiguous (it is never copied)");
        array = nb::borrow(out);
        data = result.data;
        bytes_ = result.empty ? 0 : packed;
        return;
    }
    std::array<std::int64_t, max_axes> extent{}, stride{};
    std::int64_t step = bytes_of(type);
    for (std::size_t i = shape.size(); i-- > 0;) {
        extent[i] = shape[i];
        stride[i] = step;
        if (__builtin_mul_overflow(step, shape[i], &step))
            throw out_of_memory(std::string(name) + ": a result of shape " + text_of(shape.data(), axes) +
                                " does not fit a 64-bit address space");
    }
    if (argument.device) {
        const strided result = new_device_array(argument, type, axes, extent.data(), stride.data(), true);
        array = result.owner;
        data = result.data;
        return;
    }
    array = new_array(type, axes, extent.data(), stride.data(), step, true);
    data = reinterpret_cast<std::byte*>(PyArray_BYTES(as_numpy(array)));
}

void packed_result::require_apart(const strided& read) const {
    if (bytes_ == 0 || read.empty) return;
    const std::byte *first = read.data, *last = read.data + bytes_of(read.type);
    for (std::size_t i = 0; i < static_cast<std::size_t>(read.axes); ++i)
        (read.stride[i] < 0 ? first : last) += (read.extent[i] - 1) * read.stride[i];
    if (data < last && first < data + bytes_)
        throw invalid_argument(std::string(name_).append(": overlaps ").append(read.name));
}

nb::object packed_result::finish(const strided& argument) const {
    return given_ ? array : argument.in_its_library(array);
}

number_argument::number_argument(nb::handle numbers, std::string_view name) {
    nb::object given;
    if (PyArray_CheckExact(numbers.ptr())) {
        given = nb::borrow(numbers);
    } else if (PyArray_Check(numbers.ptr())) {
        given = adapted(numbers, name)[0];
    } else if (nb::hasattr(numbers, "__dlpack__") && PyType_Check(numbers.ptr()) == 0) {
        given = open_array(numbers, name).as_numpy();
    } else {
        given = nb::steal(PyArray_FromAny(numbers.ptr(), nullptr, 0, 0, 0, nullptr));
        if (!given.is_valid()) refuse_as_numpy_does(name);
    }
    const int number = PyArray_TYPE(as_numpy(given));
    floating = PyTypeNum_ISFLOAT(number);
    if (!floating && !PyTypeNum_ISINTEGER(number))
        throw unsupported(std::string(name) + ": its dtype is " + nb::str(nb::object(given.attr("dtype"))).c_str() +
                          ", must be integers or floating numbers");
    array = stolen(PyArray_FromArray(as_numpy(given), PyArray_DescrFromType(floating ? NPY_FLOAT64 : NPY_INT64),
                                     NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST));
    PyArrayObject* const packed = as_numpy(array);
    data = PyArray_DATA(packed);
    shape.assign(PyArray_DIMS(packed), PyArray_DIMS(packed) + PyArray_NDIM(packed));
}

std::int64_t number_argument::count() const noexcept {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

nb::object packed_array(nb::handle numbers, element type, const void** data, std::int64_t* count) {
    nb::object array =
        stolen(PyArray_FromAny(numbers.ptr(), PyArray_DescrFromType(row_of(type).numpy), 1, 1,
                               NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST, nullptr));
    *data = PyArray_DATA(as_numpy(array));
    *count = PyArray_SIZE(as_numpy(array));
    return array;
}

std::uint64_t copies() noexcept {
    return copied;
}

void count_copy() noexcept {
    ++copied;
}

std::string_view text_argument(nb::handle text, std::string_view name) {
    Py_ssize_t size = 0;
    if (!PyUnicode_Check(text.ptr()))
        throw unsupported(std::string(name) + ": is " + nb::repr(text).c_str() + ", must be a str");
    const char* const characters = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (characters == nullptr) {
        PyErr_Clear();
        throw unsupported(std::string(name) + ": is " + nb::repr(text).c_str() + ", which is no text");
    }
    return {characters, static_cast<std::size_t>(size)};
}

std::int64_t integer_argument(nb::handle number, std::string_view name) {
    const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
    if (!index.is_valid()) {
        PyErr_Clear();
        throw unsupported(std::string(name) + ": is " + nb::repr(number).c_str() + ", must be an integer");
    }
    const long long value = PyLong_AsLongLong(index.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw invalid_argument(std::string(name) + ": is " + nb::repr(number).c_str() + ", which 64 bits do not hold");
    }
    return value;
}

std::int64_t length_of(nb::handle sequence) {
    if (PySequence_Check(sequence.ptr()) == 0 || PyUnicode_Check(sequence.ptr())) return -1;
    const Py_ssize_t length = PySequence_Size(sequence.ptr());
    if (length < 0) PyErr_Clear();  // of an array without axes
    return length;
}

double real_argument(nb::handle number, std::string_view name) {
    const double value = PyFloat_AsDouble(number.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw unsupported(std::string(name) + ": is " + nb::repr(number).c_str() + ", must be a real number");
    }
    return value;
}

}  // namespace boxsum::python
