#include "exchange.hpp"

#include <memory>

namespace boxsum::python {
namespace {

// The layout of DLPack 1.x, whose specification fixes it.
struct dl_device {
    std::int32_t type;
    std::int32_t number;
};
constexpr std::int32_t dl_host = 1, dl_cuda = 2;

struct dl_type {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
};
enum : std::uint8_t { dl_int = 0, dl_uint = 1, dl_float = 2, dl_bool = 6 };

struct dl_tensor {
    void* data;
    dl_device device;
    std::int32_t axes;
    dl_type type;
    std::int64_t* extent;
    std::int64_t* stride;  ///< in elements; null where the tensor is packed
    std::uint64_t byte_offset;
};

struct dl_version {
    std::uint32_t major;
    std::uint32_t minor;
};

struct dl_managed {
    dl_version version;
    void* context;
    void (*deleter)(dl_managed*);
    std::uint64_t flags;
    dl_tensor tensor;
};

struct type_row {
    element type;
    std::uint8_t code;
    std::uint8_t bits;
};
constexpr type_row type_rows[] = {
    {element::boolean, dl_bool, 8}, {element::u8, dl_uint, 8},    {element::s8, dl_int, 8},
    {element::u16, dl_uint, 16},    {element::s16, dl_int, 16},   {element::u32, dl_uint, 32},
    {element::s32, dl_int, 32},     {element::u64, dl_uint, 64},  {element::s64, dl_int, 64},
    {element::f16, dl_float, 16},   {element::f32, dl_float, 32}, {element::f64, dl_float, 64}};

/// What an exported tensor keeps.
struct kept {
    dl_managed managed{};
    std::array<std::int64_t, max_axes> extent{}, stride{};
    PyObject* numpy = nullptr;
};

/// Called by the library when the last tensor on the memory is gone, on any thread.
void give_back(dl_managed* managed) {
    std::unique_ptr<kept> all(static_cast<kept*>(managed->context));
    if (Py_IsInitialized() == 0) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(all->numpy);
    PyGILState_Release(state);
}

/// Of an answer; a library that does not know the question has no such arrays.
bool is_true(const nb::object& answer) {
    if (!answer.is_valid()) PyErr_Clear();
    return answer.ptr() == Py_True;
}

}  // namespace

struct exchange {
    dl_version version;
    const exchange* previous;
    void* allocate;
    void* from_object;
    int (*to_object)(dl_managed*, void**);
    int (*describe)(void*, dl_tensor*);
    int (*current_stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

const exchange* exchange_of(nb::handle array) {
    // The last type that was asked for, which nearly always is this one; kept, so that its address stays its own.
    static PyObject* last = nullptr;
    static const exchange* its = nullptr;
    PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(array.ptr()));
    if (type == last) return its;
    const exchange* found = nullptr;
    const nb::object own = nb::steal(PyObject_GetAttrString(type, "__dict__"));
    if (own.is_valid() && PyMapping_HasKeyString(own.ptr(), "__dlpack_c_exchange_api__") == 1) {
        const nb::object capsule = nb::steal(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
        if (capsule.is_valid() && PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") != 0) {
            found = static_cast<const exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
            while (found != nullptr && found->version.major != 1) found = found->previous;
            if (found != nullptr && (found->describe == nullptr || found->to_object == nullptr)) found = nullptr;
        }
    }
    PyErr_Clear();
    if (found != nullptr) {
        Py_INCREF(type);
        Py_XDECREF(last);
        last = type;
        its = found;
    }
    return found;
}

bool open_exchanged(const exchange& library, nb::handle array, std::string_view name, strided& result) {
    // Memory does not say that a gradient is wanted, nor (after imag of conj) that its numbers have another sign.
    static PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
    static PyObject* const is_negated = PyUnicode_InternFromString("is_neg");
    return !is_true(nb::steal(PyObject_GetAttr(array.ptr(), requires_grad))) &&
           !is_true(nb::steal(PyObject_CallMethodObjArgs(array.ptr(), is_negated, nullptr))) &&
           open_plain(library, array, name, {}, result);
}

bool open_plain(const exchange& library, nb::handle array, std::string_view name,
                const std::optional<device_place>& place, strided& result) {
    dl_tensor tensor{};
    if (library.describe(array.ptr(), &tensor) != 0) {
        PyErr_Clear();
        return false;
    }
    if (tensor.type.lanes != 1 || tensor.axes < 0 || tensor.axes > max_axes) return false;
    if (tensor.device.type == dl_cuda && place) {
        result.device = place;
    } else if (tensor.device.type == dl_cuda && library.current_stream != nullptr) {
        void* stream = nullptr;
        if (library.current_stream(dl_cuda, tensor.device.number, &stream) != 0) {
            PyErr_Clear();
            return false;
        }
        result.device = device_place{tensor.device.number, static_cast<CUstream_st*>(stream)};
    } else if (tensor.device.type != dl_host) {
        return false;
    }
    for (const type_row& row : type_rows)
        if (row.code == tensor.type.code && row.bits == tensor.type.bits) result.type = row.type;
    if (result.type == element::other) {
        result = {};
        return false;
    }
    const std::int64_t bytes = tensor.type.bits / 8;
    result.owner = nb::borrow(array);
    result.name = name;
    result.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
    result.axes = tensor.axes;
    result.writable = true;
    result.behaved = reinterpret_cast<std::uintptr_t>(result.data) % static_cast<std::uintptr_t>(bytes) == 0;
    result.exchanged_by = &library;
    std::int64_t packed = bytes;
    for (int i = tensor.axes; i-- > 0;) {
        const auto at = static_cast<std::size_t>(i);
        result.extent[at] = tensor.extent[i];
        result.stride[at] = tensor.stride != nullptr ? tensor.stride[i] * bytes : packed;
        packed *= tensor.extent[i];
        if (tensor.extent[i] == 0) result.empty = true;
    }
    return true;
}

nb::object exported(const exchange& library, const strided& numpy) {
    auto all = std::make_unique<kept>();
    dl_tensor& tensor = all->managed.tensor;
    for (const type_row& row : type_rows)
        if (row.type == (numpy.type == element::u64 ? element::s64 : numpy.type)) tensor.type = {row.code, row.bits, 1};
    const std::int64_t bytes = tensor.type.bits / 8;
    for (std::size_t i = 0; i < static_cast<std::size_t>(numpy.axes); ++i) {
        all->extent[i] = numpy.extent[i];
        all->stride[i] = numpy.stride[i] / bytes;
    }
    tensor.data = numpy.data;
    tensor.device = {dl_host, 0};
    tensor.axes = numpy.axes;
    tensor.extent = all->extent.data();
    tensor.stride = all->stride.data();
    all->managed.version = library.version;
    all->managed.context = all.get();
    all->managed.deleter = give_back;
    all->numpy = nb::object(numpy.owner).release().ptr();
    kept* const owned = all.release();
    void* result = nullptr;
    if (library.to_object(&owned->managed, &result) != 0) throw nb::python_error();
    return nb::steal(static_cast<PyObject*>(result));
}

}  // namespace boxsum::python
