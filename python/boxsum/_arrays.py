"""Arrays of other libraries as NumPy's and back, without a copy. NumPy's own never come here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from boxsum import _core
from boxsum.errors import InvalidArgument, Unsupported


class SupportsDLPack(Protocol):
    """An array of any library that speaks DLPack."""

    def __dlpack__(self, *, stream: Any = ...) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


ArrayT = TypeVar("ArrayT", bound=SupportsDLPack)
NumPyArray: TypeAlias = npt.NDArray[Any]
Wrap: TypeAlias = "Callable[[NumPyArray], Any] | None"

_DEVICES_OF_THE_HOST = (1, 3, 11, 13)  # kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged


def is_on_device(array: Any) -> bool:
    """Whether an array is in the memory of a CUDA GPU; False for what is no array."""
    return hasattr(array, "__dlpack_device__") and int(array.__dlpack_device__()[0]) == 2


def _torch_result(result: NumPyArray) -> Any:
    """Unsigned 64-bit tables as signed ones, of the same bits: PyTorch computes with these."""
    torch = sys.modules["torch"]
    return torch.from_numpy(result.view(np.int64) if result.dtype == np.uint64 else result)


def count_widening(name: str, dtype: Any) -> None:
    """Of what is read as float32, which holds all of its values: a copy, so no result can be written to it."""
    if name.startswith("out"):
        raise Unsupported(f"{name}: its dtype is {dtype}, results are float32 or wider")
    _core.count_copy()


def adapt(array: Any, name: str) -> tuple[NumPyArray, Wrap]:
    """The memory of `array` as an array of NumPy's, and what makes an array of its library of one of NumPy's."""
    if isinstance(array, np.ma.MaskedArray):
        raise Unsupported(f"{name}: is a masked array; its data and its mask are two arrays here (.data, .mask)")
    if isinstance(array, np.ndarray):
        if array.dtype.name == "bfloat16":  # of ml_dtypes
            count_widening(name, array.dtype)
            return array.astype(np.float32), None
        return array.view(np.ndarray), None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        if array.device.type != "cpu":
            raise Unsupported(f"{name}: is on {array.device}; tensors on the CPU are taken here")
        if array.layout != torch.strided:
            raise Unsupported(f"{name}: its layout is {array.layout}, must be torch.strided")
        if array.requires_grad and torch.is_grad_enabled():
            raise InvalidArgument(
                f"{name}: requires a gradient, which boxsum.torch records and this does not; detach() it"
            )
        if array.dtype == torch.bfloat16:
            count_widening(name, array.dtype)
            return array.detach().float().numpy(), _torch_result
        try:
            return array.detach().numpy(), _torch_result
        except TypeError:
            raise Unsupported(f"{name}: its dtype is {array.dtype}, which NumPy does not have") from None
        except RuntimeError as problem:
            raise Unsupported(
                f"{name}: has no memory that can be read here ({problem}); under torch.compile and torch.func "
                "boxsum.torch has the functions to call"
            ) from None
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        device = array.__dlpack_device__()[0]
        if device not in _DEVICES_OF_THE_HOST:
            raise Unsupported(f"{name}: is on a device of DLPack's type {int(device)}; host memory is taken here")
        numpy = np.from_dlpack(array)
        if not hasattr(array, "__array_namespace__"):
            return numpy, None
        return numpy, array.__array_namespace__().from_dlpack
    try:
        memory = memoryview(array)
    except TypeError:
        raise Unsupported(
            f"{name}: is of type {type(array).__name__}, which is no array; numpy.asarray() makes one"
        ) from None
    return np.asarray(memory), None
