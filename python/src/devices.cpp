#include "devices.hpp"

#include "exchange.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace boxsum::python {

/// A workspace that calls take turns with.
struct kept_workspace {
    bool is_tensor;  ///< whose memory it has: PyTorch's or CuPy's
    int device;
    cuda::stream_ref stream;
    std::mutex turn;
    cuda::workspace memory;

    kept_workspace(bool tensor, int number, cuda::stream_ref of) : is_tensor(tensor), device(number), stream(of) {}
};

namespace {

/// boxsum._devices, which is imported at the first array on a device. Kept for the life of the interpreter.
nb::handle helpers() {
    static PyObject* const module = nb::module_::import_("boxsum._devices").release().ptr();
    return module;
}

nb::str text(std::string_view characters) {
    return nb::str(characters.data(), characters.size());
}

nb::object stolen(PyObject* object) {
    if (object == nullptr) throw nb::python_error();
    return nb::steal(object);
}

/// A function of boxsum._devices, looked up once by whoever keeps it.
PyObject* helper(const char* name) {
    return nb::object(helpers().attr(name)).release().ptr();
}

nb::object tuple_of(int count, const std::int64_t* values, std::int64_t unit = 1) {
    nb::object tuple = stolen(PyTuple_New(count));
    for (int i = 0; i < count; ++i)
        if (PyTuple_SetItem(tuple.ptr(), i, stolen(PyLong_FromLongLong(values[i] / unit)).release().ptr()) != 0)
            throw nb::python_error();
    return tuple;
}

/// An attribute, whose name is kept by whoever asks.
nb::object attribute(nb::handle of, PyObject* name) {
    return stolen(PyObject_GetAttr(of.ptr(), name));
}

enum class array_library { torch, cupy, other };

/// An array's library, for what is asked of it at every call.
array_library library_of(nb::handle array) {
    // The last type that was asked for, which nearly always is this one; kept, so that its address stays its own.
    static PyObject* last = nullptr;
    static array_library its = array_library::other;
    PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(array.ptr()));
    if (type == last) return its;
    static PyObject *const is_tensor = helper("is_tensor"), *const is_cupy = helper("is_cupy");
    its = nb::cast<bool>(nb::handle(is_tensor)(array)) ? array_library::torch
          : nb::cast<bool>(nb::handle(is_cupy)(array)) ? array_library::cupy
                                                       : array_library::other;
    Py_INCREF(type);
    Py_XDECREF(last);
    last = type;
    return its;
}

bool is_tensor(const strided& array) {
    return library_of(array.owner) == array_library::torch;
}

std::byte* address(nb::handle number) {
    void* const at = PyLong_AsVoidPtr(number.ptr());
    if (at == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
    return static_cast<std::byte*>(at);
}

/// Reads extents and strides in units of so many bytes.
void read_axes(const nb::object& shape, const nb::object& strides, std::int64_t unit, strided& result) {
    result.axes = static_cast<int>(nb::len(shape));
    if (result.axes > max_axes)
        throw invalid_argument(std::string(result.name) + ": has " + std::to_string(result.axes) + " axes, at most " +
                               std::to_string(max_axes) + " are taken");
    for (int i = 0; i < result.axes; ++i) {
        const auto at = static_cast<std::size_t>(i);
        result.extent[at] = integer_argument(nb::object(shape[i]), result.name);
        result.stride[at] = unit * integer_argument(nb::object(strides[i]), result.name);
        if (result.extent[at] == 0) result.empty = true;
    }
}

/// Where an array of CuPy's lies.
std::byte* memory_of(nb::handle cupy) {
    static PyObject *const data = PyUnicode_InternFromString("data"), *const ptr = PyUnicode_InternFromString("ptr");
    return address(attribute(attribute(cupy, data), ptr));
}

strided open_cupy(nb::handle array, std::string_view name) {
    static PyObject
        *const shape = PyUnicode_InternFromString("shape"),
               *const strides = PyUnicode_InternFromString("strides"),
               *const kind = PyUnicode_InternFromString("dtype"), *const data = PyUnicode_InternFromString("data"),
               *const device = PyUnicode_InternFromString("device_id"), *const ptr = PyUnicode_InternFromString("ptr");
    static PyObject* const current_stream =
        nb::object(nb::module_::import_("cupy").attr("cuda").attr("get_current_stream")).release().ptr();
    strided result;
    result.owner = nb::borrow(array);
    result.name = name;
    const nb::object memory = attribute(array, data), number = attribute(memory, device);
    result.data = address(attribute(memory, ptr));
    result.type = element_of_kind(attribute(array, kind));
    read_axes(attribute(array, shape), attribute(array, strides), 1, result);
    result.writable = true;
    const nb::object stream = attribute(nb::handle(current_stream)(number), ptr);
    result.device =
        device_place{static_cast<int>(integer_argument(number, name)), reinterpret_cast<CUstream_st*>(address(stream))};
    return result;
}

/// Whether elements follow each other, at one distance, in the order of the axes, and have these extents.
bool lies_like(const strided& array, int axes, const std::int64_t* extent) {
    if (array.axes != axes || !std::equal(extent, extent + axes, array.extent.begin())) return false;
    std::int64_t step = array.stride[static_cast<std::size_t>(axes) - 1];
    for (int i = axes; i-- > 0; step *= extent[i])
        if (array.stride[static_cast<std::size_t>(i)] != step) return false;
    return true;
}

/// A new packed tensor beside another one; null, with Python's error set, where PyTorch makes none.
nb::object new_tensor(const strided& beside, element type, int axes, const std::int64_t* extent) {
    static std::array<PyObject*, static_cast<std::size_t>(element::other)> keywords{};
    PyObject*& of_type = keywords[static_cast<std::size_t>(type)];
    if (of_type == nullptr) {
        nb::dict words;
        words["dtype"] = helpers().attr("torch_type")(text(name_of(type)));
        of_type = words.release().ptr();
    }
    // Extents are what PyTorch takes longest to read. Where elements lie at a distance, the new ones do not.
    if (lies_like(beside, axes, extent)) {
        static PyObject* const empty_like =
            nb::object(nb::module_::import_("torch").attr("empty_like")).release().ptr();
        const nb::object arguments = stolen(PyTuple_Pack(1, beside.owner.ptr()));
        return nb::steal(PyObject_Call(empty_like, arguments.ptr(), of_type));
    }
    static PyObject* const method = PyUnicode_InternFromString("new_empty");
    const nb::object make = stolen(PyObject_GetAttr(beside.owner.ptr(), method));
    const nb::object shape = tuple_of(axes, extent);
    const nb::object arguments = axes > 0 ? shape : stolen(PyTuple_Pack(1, shape.ptr()));
    return nb::steal(PyObject_Call(make.ptr(), arguments.ptr(), of_type));
}

/// A new packed array of CuPy's beside another one.
nb::object new_cupy_array(const strided& beside, element type, int axes, const std::int64_t* extent) {
    static PyObject* const make = nb::object(nb::module_::import_("cupy").attr("ndarray")).release().ptr();
    static std::array<PyObject*, static_cast<std::size_t>(element::other)> types{};
    PyObject*& kind = types[static_cast<std::size_t>(type)];
    if (kind == nullptr)
        kind = nb::object(nb::module_::import_("numpy").attr("dtype")(text(name_of(type)))).release().ptr();
    const device_turn turn(beside);
    const nb::object shape = tuple_of(axes, extent);
    return stolen(PyObject_CallFunctionObjArgs(make, shape.ptr(), kind, nullptr));
}

std::string place_of(const strided& array) {
    return array.device ? "on cuda:" + std::to_string(array.device->number) : "in host memory";
}

/// Blocks of a library's pool that workspaces have, by address; the objects give them back.
struct lent_blocks {
    std::mutex mutex;
    std::map<void*, PyObject*> objects;
};

lent_blocks& lent() {
    static auto* const blocks = new lent_blocks;  // outlives the workspaces, which outlive the interpreter
    return *blocks;
}

void* allocate_block(const char* library, std::size_t bytes) {
    const nb::gil_scoped_acquire held;
    const nb::object pair = helpers().attr("block")(library, cuda::current_device(), bytes);
    nb::object memory = pair[0];
    void* const data = address(nb::object(pair[1]));
    lent_blocks& blocks = lent();
    const std::lock_guard lock(blocks.mutex);
    blocks.objects[data] = memory.release().ptr();
    return data;
}

void give_back_block(void*, void* data, std::size_t, CUstream_st*) noexcept {
    if (Py_IsInitialized() == 0) return;
    PyObject* memory = nullptr;
    {
        lent_blocks& blocks = lent();
        const std::lock_guard lock(blocks.mutex);
        const auto found = blocks.objects.find(data);
        memory = found->second;
        blocks.objects.erase(found);
    }
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(memory);
    PyGILState_Release(state);
}

/// The memory of PyTorch's or CuPy's pool, whose blocks belong to the current stream: that of the call.
cuda::allocator allocator_of(bool is_tensor) {
    cuda::allocator from{.name = is_tensor ? "PyTorch's pool" : "CuPy's pool"};
    from.allocate = is_tensor ? [](void*, std::size_t bytes, CUstream_st*) { return allocate_block("torch", bytes); }
                              : [](void*, std::size_t bytes, CUstream_st*) { return allocate_block("cupy", bytes); };
    from.deallocate = give_back_block;
    return from;
}

constexpr std::size_t most_workspaces = 32;

struct workspace_cache {
    std::mutex mutex;
    std::list<std::shared_ptr<kept_workspace>> kept;  ///< the last used first
};

workspace_cache& workspaces() {
    static auto* const all = new workspace_cache;  // never destroyed: device and interpreter may be gone by then
    return *all;
}

/// The kept workspace of a device and a stream; the one that was used longest ago goes for a new one.
std::shared_ptr<kept_workspace> workspace_of(bool is_tensor, int device, cuda::stream_ref stream) {
    workspace_cache& all = workspaces();
    std::shared_ptr<kept_workspace> dropped;  // after the lock, as it waits for the interpreter
    const std::lock_guard lock(all.mutex);
    for (auto one = all.kept.begin(); one != all.kept.end(); ++one)
        if ((*one)->is_tensor == is_tensor && (*one)->device == device && (*one)->stream == stream) {
            all.kept.splice(all.kept.begin(), all.kept, one);
            return all.kept.front();
        }
    if (all.kept.size() == most_workspaces) {
        dropped = std::move(all.kept.back());
        all.kept.pop_back();
    }
    all.kept.push_front(std::make_shared<kept_workspace>(is_tensor, device, stream));
    return all.kept.front();
}

}  // namespace

void drop_workspaces() {
    std::list<std::shared_ptr<kept_workspace>> dropped;
    const std::lock_guard lock(workspaces().mutex);
    dropped.swap(workspaces().kept);
}

std::optional<strided> open_device_array(nb::handle array, std::string_view name) {
    const array_library its = library_of(array);
    if (its == array_library::cupy) return open_cupy(array, name);
    if (its == array_library::other) {
        static PyObject* const carry = helper("carried");
        const nb::object found = nb::handle(carry)(array, text(name));
        if (found.is_none()) return {};
        std::optional<strided> result = open_device_array(nb::object(found[0]), name);
        if (const nb::object wrap = found[1]; !wrap.is_none()) result->wrap = wrap;
        return result;
    }
    static PyObject* const describe = helper("describe");
    const nb::object found = nb::handle(describe)(array, text(name));
    if (found.is_none()) return {};
    const auto part = [&](std::size_t i) { return nb::object(found[i]); };
    strided result;
    result.owner = part(0);
    result.name = name;
    result.data = address(part(1));
    result.type = element_of_kind(part(5));
    read_axes(part(2), part(3), integer_argument(part(4), name), result);
    result.writable = true;
    result.device = device_place{static_cast<int>(integer_argument(part(6), name)),
                                 reinterpret_cast<CUstream_st*>(address(part(7)))};
    return result;
}

void require_cuda(std::string_view name) {
    if (cuda::built()) return;
    const nb::object how = nb::module_::import_("boxsum.cuda").attr("HOW_TO_BUILD");
    throw unsupported(std::string(name) + ": is in the memory of a GPU, but " + std::string(text_argument(how, "")));
}

void require_same_place(const strided& array, const strided& image, std::string_view image_name) {
    const bool same = array.device ? image.device && array.device->number == image.device->number : !image.device;
    if (!same)
        throw invalid_argument(std::string(array.name) + ": is " + place_of(array) + ", but " +
                               std::string(image_name) + " is " + place_of(image));
}

strided new_device_array(const strided& beside, element type, int axes, const std::int64_t* extent,
                         const std::int64_t* stride, bool packed) {
    const auto bytes = static_cast<std::int64_t>(size_of(*dtype_of_element(type)));
    strided result;
    // The quick way for PyTorch's; for its errors, and for all else, the other one.
    if (packed && beside.exchanged_by != nullptr && is_tensor(beside)) {
        const nb::object tensor = new_tensor(beside, type, axes, extent);
        PyErr_Clear();
        if (tensor.is_valid() && open_plain(*beside.exchanged_by, tensor, "out", beside.device, result)) {
            result.type = type;  // a table of 64-bit integers is signed there
            return result;
        }
        result = {};
    }
    if (packed && !is_tensor(beside)) {
        result.owner = new_cupy_array(beside, type, axes, extent);
        result.data = memory_of(result.owner);
    } else {
        nb::object strides = nb::none();
        if (!packed) strides = tuple_of(axes, stride, bytes);
        static PyObject* const empty_at = helper("empty_at");
        const nb::object pair =
            nb::handle(empty_at)(beside.owner, tuple_of(axes, extent), strides, text(name_of(type)));
        result.owner = pair[0];
        result.data = address(nb::object(pair[1]));
    }
    result.name = "out";
    result.type = type;
    result.axes = axes;
    result.writable = true;
    std::copy_n(extent, axes, result.extent.begin());
    std::copy_n(stride, axes, result.stride.begin());
    result.device = beside.device;
    return result;
}

strided packed_device_copy(const strided& from, const axis_roles& roles, element type) {
    nb::list order;
    for (int i = 0; i < roles.axes; ++i) order.append(roles.order[static_cast<std::size_t>(i)]);
    const nb::object copy = helpers().attr("packed")(from.owner, nb::tuple(order), text(name_of(type)));
    return open_array(copy, from.name);
}

nb::object on_device_of(const strided& beside, const nb::object& host) {
    return beside.in_its_library(helpers().attr("on_device_of")(beside.owner, host));
}

void refuse_device(const strided& array, std::string_view what) {
    if (!array.device) return;
    throw unsupported(std::string(array.name) + ": is " + place_of(array) + ", and " + std::string(what) +
                      " are made of arrays in host memory");
}

device_box_list::device_box_list(nb::handle boxes, std::string_view format, const strided& table, bool swapped,
                                 bool whole) {
    const nb::object pair = helpers().attr("boxes_on_device")(table.owner, boxes, text(format), swapped, whole);
    const nb::object on_host = pair[1];
    array = open_array(nb::object(pair[0]), "boxes");
    require_same_place(array, table, table.name);
    if (!on_host.is_none()) on_host_ = on_host;
    leading.assign(array.extent.begin(), array.extent.begin() + array.axes - 1);
    count = 1;
    for (const std::int64_t extent : leading) count *= extent;
}

device_turn::device_turn(const strided& array)
    : before_(cuda::current_device()), changed_(before_ != array.device->number) {
    if (changed_) cuda::set_device(array.device->number);
}

device_turn::~device_turn() {
    try {
        if (changed_) cuda::set_device(before_);
    } catch (const std::exception&) {  // it was the thread's before
    }
}

device_call::device_call(const strided& array) : array_(array) {
    is_tensor_ = is_tensor(array);
    captured_ = false;
    if (array.device->stream == cuda::stream_ref::legacy_default()) return;  // which no graph records
    static PyObject *of_torch = nullptr, *of_cupy = nullptr;
    PyObject*& asks = is_tensor_ ? of_torch : of_cupy;
    if (asks == nullptr) asks = nb::object(helpers().attr("captures")(is_tensor_)).release().ptr();
    captured_ = nb::handle(asks)().ptr() == Py_True;
}

device_call::lease::lease(const device_call& call) {
    const device_place& place = *call.array_.device;
    if (call.captured_) {
        own = cuda::workspace(0, place.stream, allocator_of(call.is_tensor_));
        workspace = &own;
        return;
    }
    kept = workspace_of(call.is_tensor_, place.number, place.stream);
    kept->turn.lock();
    workspace = &kept->memory;
    try {
        if (workspace->device() < 0) *workspace = cuda::workspace(0, place.stream, allocator_of(call.is_tensor_));
    } catch (...) {
        kept->turn.unlock();
        throw;
    }
}

device_call::lease::~lease() {
    if (kept) kept->turn.unlock();
}

}  // namespace boxsum::python
