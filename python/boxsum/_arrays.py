"""Arrays of other libraries as NumPy's and back, without a copy. NumPy's own never come here."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Sequence
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
ImageT = TypeVar("ImageT", bound=SupportsDLPack)
"""Of a class method, whose class has `ArrayT`."""
NumPyArray: TypeAlias = npt.NDArray[Any]
Wrap: TypeAlias = "Callable[[NumPyArray], Any] | None"

_DEVICES_OF_THE_HOST = (1, 3, 11, 13)  # kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged


def is_on_device(array: Any) -> bool:
    """Whether an array is in the memory of a CUDA GPU; False for what is no array."""
    if isinstance(array, type) or not hasattr(array, "__dlpack_device__"):
        return False
    try:
        return int(array.__dlpack_device__()[0]) == 2
    except (ValueError, TypeError, RuntimeError, BufferError):  # on no device that DLPack knows
        return False


def shape_of(array: Any, name: str) -> tuple[int, ...]:
    """Of an array of any library; raises Unsupported naming the argument for what is none."""
    shape = getattr(array, "shape", None)
    if isinstance(shape, tuple):
        return shape
    return adapt(array, name)[0].shape


def data_type(given: Any, name: str) -> np.dtype[Any]:
    """What a `dtype` argument means; raises Unsupported naming the argument for what is none."""
    try:
        known: np.dtype[Any] = np.dtype(given).newbyteorder("=")
    except (TypeError, ValueError) as problem:
        raise Unsupported(f"{name}: {problem}") from None
    return known


def numpy_of(values: Any, dtype: Any, copy: bool | None) -> NumPyArray:
    """What ``numpy.asarray`` makes of an object that has these values."""
    host = values if type(values) is np.ndarray else adapt(values, "values")[0]
    if copy:
        return np.array(host, dtype)
    result = np.asarray(host, dtype)
    if copy is False and result is not host:
        raise InvalidArgument(f"copy: is False, but values of {host.dtype} become {result.dtype}")
    return result


def repeated(array: NumPyArray, axis: int, shape: tuple[int, ...]) -> NumPyArray:
    """The array with one axis more, along which its values repeat."""
    return np.broadcast_to(np.expand_dims(array, axis), shape)


def is_sequence(value: Any) -> bool:
    """Whether it has items: a list, a tuple, an array with axes."""
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) > 0


def pair(value: Any, name: str, what: str) -> tuple[Any, Any]:
    """Two of something; raises Unsupported naming the argument for what is no pair."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise Unsupported(f"{name}: is {value!r}, must be {what}") from None
    return first, second


def items(value: Any, name: str, what: str) -> list[Any]:
    """The items of a sequence; raises Unsupported naming the argument for what has none."""
    try:
        if isinstance(value, str):
            raise TypeError
        return list(value)
    except TypeError:
        raise Unsupported(f"{name}: is {value!r}, must be {what}") from None


def real(value: Any, name: str) -> float:
    """A real number; raises Unsupported naming the argument for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise Unsupported(f"{name}: is {value!r}, must be a real number") from None


def whole(value: Any, name: str) -> int:
    """An integer; raises Unsupported naming the argument for what is none."""
    try:
        return operator.index(value)
    except TypeError:
        raise Unsupported(f"{name}: is {value!r}, must be an integer") from None


def _torch_result(result: NumPyArray) -> Any:
    """Unsigned 64-bit tables as signed ones, of the same bits: PyTorch computes with these."""
    torch = sys.modules["torch"]
    return torch.from_numpy(result.view(np.int64) if result.dtype == np.uint64 else result)


def count_widening(name: str, dtype: Any) -> None:
    """Of what is read as float32, which holds all of its values: a copy, so no result can be written to it."""
    if name.startswith("out"):
        raise Unsupported(f"{name}: its dtype is {dtype}, results are float32 or wider")
    _core.count_copy()


def plain_of_negative(tensor: Any, name: str) -> Any:
    """Of a tensor whose memory has its numbers with the other sign, a copy that has them; no result can be written so."""
    if name.startswith("out"):
        raise InvalidArgument(f"{name}: its memory has the negative numbers; resolve_neg() makes a tensor to write to")
    _core.count_copy()
    return tensor.detach().resolve_neg()


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
        if array.is_neg() and not array.is_complex():
            array = plain_of_negative(array, name)
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
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__") and not isinstance(array, type):
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
            f"{name}: is of type {type(array).__name__}, which is no array; {_what_makes_one(array, name)}"
        ) from None
    return np.asarray(memory), None


def _what_makes_one(value: Any, name: str) -> str:
    if isinstance(value, (str, os.PathLike)):
        return "what reads files (Pillow, OpenCV, imageio) makes one of an image's"
    if value is None and name == "image":
        return "cv2.imread() gives None for a file that it cannot read"
    return "numpy.asarray() makes one"
