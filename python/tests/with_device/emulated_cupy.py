"""A library of arrays on the emulated device, as much like CuPy as boxsum asks of it. Memory of that device is the
host's, so what an array's own library computes is NumPy's, read and written where the device has it.

`install()` makes it `cupy`, and the extension module the one of this interpreter (emulated_main.cpp).
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import sys
import types

import numpy as np


class _Memory:
    def __init__(self, size):
        import emulated_device

        self.ptr, self.device_id, self._give_back = emulated_device.allocate(size), 0, emulated_device.give_back

    def __del__(self):
        self._give_back(self.ptr)


class _Block(_Memory):
    """What is asked for by name: workspaces, and arrays with gaps."""

    count = 0

    def __init__(self, size):
        super().__init__(size)
        _Block.count += 1

    def __del__(self):
        _Block.count -= 1
        super().__del__()


class ndarray:
    def __init__(self, shape, dtype=np.float64, memptr=None, strides=None):
        host = np.empty(0, dtype)
        extents = tuple(int(extent) for extent in shape)
        size = int(np.prod(extents)) * host.itemsize
        if strides is not None and size:
            size = sum((n - 1) * step for n, step in zip(extents, strides, strict=True)) + host.itemsize
        self._memory = _Memory(size) if memptr is None else memptr
        raw = np.frombuffer((ctypes.c_char * max(size, 1)).from_address(self._memory.ptr), np.uint8)
        if memptr is None:
            raw[...] = 0xA5  # not what is expected by chance
        self._host = np.ndarray(extents, dtype, raw if size else None, strides=strides)

    @classmethod
    def _on(cls, memory, host):
        array = cls.__new__(cls)
        array._memory, array._host = memory, host
        return array

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self._host.ctypes.data, device_id=0)

    shape = property(lambda self: self._host.shape)
    strides = property(lambda self: self._host.strides)
    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self):
        return self

    def _view(self, host):
        return ndarray._on(self._memory, host)

    def __getitem__(self, key):
        return self._view(np.asarray(self._host[key]))

    def __setitem__(self, key, value):
        self._host[key] = _host(value)

    def transpose(self, *axes):
        return self._view(self._host.transpose(*axes))

    def view(self, dtype):
        return self._view(self._host.view(dtype))

    def reshape(self, *shape):
        return self._view(self._host.reshape(*shape, copy=False))

    def astype(self, dtype, order="K", copy=True):
        if not copy and np.dtype(dtype) == self.dtype:
            return self
        return asarray(self._host.astype(dtype, order=order))

    def sum(self, axis):
        return asarray(self._host.sum(axis))

    def __add__(self, other):
        return asarray(self._host + _host(other))

    def __sub__(self, other):
        return asarray(self._host - _host(other))

    def __truediv__(self, other):
        return asarray(self._host / _host(other))

    def __eq__(self, other):
        return asarray(self._host == _host(other))

    def __lt__(self, other):
        return asarray(self._host < _host(other))

    def __int__(self):
        return int(self._host)

    def get(self):
        return self._host.copy()


class _Shape(ctypes.Structure):
    """DLPack's description of an array."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("axes", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("extents", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Shape))
def _describe(array, shape):
    host = array._host
    steps = [stride // host.itemsize for stride in host.strides]
    array._described = [(ctypes.c_int64 * host.ndim)(*numbers) for numbers in (host.shape, steps)]
    extents, strides = (ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int64)) for numbers in array._described)
    code = {"i": 0, "u": 1, "f": 2, "b": 6}[host.dtype.kind]
    shape[0] = _Shape(host.ctypes.data, 2, 0, host.ndim, code, 8 * host.itemsize, 1, extents, strides, 0)
    exchanges.append("described")
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _current_stream(device_type, device, stream):
    stream[0] = None
    exchanges.append(("stream", device_type, device))
    return 0


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def _refuse(managed, array):
    return -1


class _Exchange(ctypes.Structure):
    """DLPack's table of functions."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_void_p) for name in ("previous", "allocate", "take", "make", "describe", "stream")]


exchanges = []
"""What was asked of the table."""
_NAME = b"dlpack_exchange_api"  # the capsule keeps its address only
_functions = (ctypes.cast(one, ctypes.c_void_p) for one in (_refuse, _describe, _current_stream))
_table = _Exchange(1, 3, None, None, None, *_functions)


class exchanging(ndarray):
    """Arrays that describe themselves by the table of functions, as PyTorch's do."""

    ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
    ctypes.pythonapi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    __module__ = "cupy"
    __dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(ctypes.addressof(_table), _NAME, None)


def _host(value):
    return value._host if isinstance(value, ndarray) else value


def empty(shape, dtype=np.float64):
    return ndarray(shape, dtype)


def asarray(values):
    if isinstance(values, ndarray):
        return values
    host = np.asarray(values)
    array = ndarray(host.shape, host.dtype)
    array._host[...] = host
    return array


def from_dlpack(array):
    return array.__dlpack__()


def ascontiguousarray(array, dtype=None):
    host = array._host
    if host.flags.c_contiguous and dtype in (None, host.dtype):
        return array
    return asarray(np.ascontiguousarray(host, dtype))


def sqrt(values, out):
    with np.errstate(invalid="ignore"):
        np.sqrt(values._host, out=out._host)


def _in_place(function):
    """Of numbers and arrays into one of these."""

    def computed(*values, out):
        function(*map(_host, values), out=out._host)
        return out

    return computed


class _Device:
    def __init__(self, number):
        assert number == 0

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return None


def install():
    class OfThisInterpreter:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != "boxsum._core":
                return None
            return importlib.util.spec_from_loader(name, importlib.machinery.BuiltinImporter)

    sys.meta_path.insert(0, OfThisInterpreter)
    stream = types.SimpleNamespace(ptr=0, is_capturing=lambda: False)
    library = types.ModuleType("cupy")
    library.cuda = types.SimpleNamespace(
        Device=_Device,
        alloc=_Block,
        get_current_stream=lambda device=-1: stream,
    )
    ndarray.__module__ = "cupy"
    for function in (ndarray, empty, asarray, from_dlpack, ascontiguousarray, sqrt):
        setattr(library, function.__name__, function)
    library.stack = lambda parts, axis: asarray(np.stack([part._host for part in parts], axis))
    library.moveaxis = lambda array, source, target: array._view(np.moveaxis(array._host, source, target))
    library.left_shift = lambda values, bits: asarray(values._host << bits)
    for name in ("subtract", "divide", "maximum"):
        setattr(library, name, _in_place(getattr(np, name)))
    library.copyto = lambda values, number, where: np.copyto(values._host, number, where=where._host)
    library.lent = lambda: _Block.count
    library.asnumpy = lambda array: array.get()
    library.dtype, library.uint32, library.uint64, library.int64 = np.dtype, np.uint32, np.uint64, np.int64
    sys.modules["cupy"] = library
