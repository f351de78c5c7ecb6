// A Python interpreter in which boxsum._core computes on the emulated device, and a module that gives out memory of it.
#include <boxsum/cuda/memory.hpp>

#include <Python.h>

#include <cstdint>
#include <map>

extern "C" PyObject* PyInit__core();

namespace {

std::map<std::uintptr_t, boxsum::cuda::device_buffer>& blocks() {
    static auto* const all = new std::map<std::uintptr_t, boxsum::cuda::device_buffer>;
    return *all;
}

/// allocate(bytes) -> address, of the first device.
PyObject* allocate(PyObject*, PyObject* bytes) {
    const std::size_t size = PyLong_AsSize_t(bytes);
    if (PyErr_Occurred() != nullptr) return nullptr;
    boxsum::cuda::device_buffer block(size == 0 ? 1 : size, boxsum::cuda::stream_ref::legacy_default());
    const auto address = reinterpret_cast<std::uintptr_t>(block.data());
    blocks().emplace(address, std::move(block));
    return PyLong_FromUnsignedLongLong(address);
}

PyObject* give_back(PyObject*, PyObject* address) {
    const std::uintptr_t at = PyLong_AsUnsignedLongLong(address);
    if (PyErr_Occurred() != nullptr) return nullptr;
    blocks().erase(at);
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"allocate", allocate, METH_O, nullptr}, {"give_back", give_back, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition{
    PyModuleDef_HEAD_INIT, "emulated_device", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

PyObject* make_module() {
    return PyModule_Create(&definition);
}

}  // namespace

int main(int argc, char** argv) {
    PyImport_AppendInittab("boxsum._core", PyInit__core);
    PyImport_AppendInittab("emulated_device", make_module);
    return Py_BytesMain(argc, argv);
}
