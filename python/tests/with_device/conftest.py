"""Which libraries have arrays on a device here: PyTorch and CuPy on a GPU, and a stand-in on the emulated device."""

from __future__ import annotations

import sys

import pytest

EMULATED = "emulated_device" in sys.builtin_module_names
if EMULATED:
    import emulated_cupy

    emulated_cupy.install()

import numpy as np  # noqa: E402


class Library:
    """What the tests need of a library."""

    def __init__(self, name):
        self.name = name
        self.module = pytest.importorskip(name)
        self.tensors = name == "torch"

    def up(self, array):
        """A NumPy array on the device, with the same strides."""
        base = np.asarray(array)
        order = sorted(range(base.ndim), key=lambda axis: -abs(base.strides[axis]))
        packed = np.ascontiguousarray(base.transpose(order))
        back = np.argsort(order).tolist()
        if self.tensors:
            return self.module.from_numpy(packed).cuda().permute(back)
        return self.module.asarray(packed).transpose(back)

    def down(self, array):
        assert type(array).__module__.partition(".")[0] == self.name
        return array.cpu().numpy() if self.tensors else self.module.asnumpy(array)

    def empty(self, shape, dtype):
        """On the device, of a type that its tables have."""
        name = np.dtype(dtype).name
        if self.tensors:
            kind = getattr(self.module, "int64" if name == "uint64" else name)
            return self.module.empty(shape, dtype=kind, device="cuda").fill_(1)
        array = self.module.empty(shape, name)
        array[...] = 1
        return array

    def dtype(self, dtype):
        """The type that a table of this one has in the library."""
        return np.dtype(np.int64 if self.tensors and np.dtype(dtype) == np.uint64 else dtype)


@pytest.fixture(params=["cupy"] if EMULATED else ["torch", "cupy"])
def library(request):
    return Library(request.param)


@pytest.fixture
def emulated():
    """The emulated device has kernels of few types, and is slow."""
    return EMULATED
