"""Arrays in the memory of a GPU: PyTorch's and CuPy's, and through these those of others that speak DLPack.

The extension module asks these functions for what only an array's own library can do: its memory, its stream, new
arrays and copies. Nothing is imported that the caller has not.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from boxsum import _core
from boxsum._arrays import adapt, count_widening, is_on_device, plain_of_negative
from boxsum.errors import InvalidArgument, OutOfMemory, Unsupported


def is_tensor(array: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_cupy(array: Any) -> bool:
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def carried(array: Any, name: str) -> Any:
    """(an array of PyTorch's or CuPy's on the memory of another library's, what makes one of that library of one of
    theirs); None where an array is not in the memory of a GPU.
    """
    if not is_on_device(array):
        return None
    wrap = array.__array_namespace__().from_dlpack if hasattr(array, "__array_namespace__") else None
    return _carrier(name).from_dlpack(array), wrap


def own(array: Any, name: str) -> Any:
    """An array of a GPU's memory as one of PyTorch's or CuPy's."""
    if is_cupy(array):
        return array
    return _plain_tensor(array, name) if is_tensor(array) else own(carried(array, name)[0], name)


def describe(tensor: Any, name: str) -> Any:
    """(tensor, address, shape, strides, their unit in bytes, name of its dtype, device, stream); None where a tensor is
    not in the memory of a GPU.
    """
    if tensor.device.type != "cuda":
        return None
    torch = sys.modules["torch"]
    tensor = _plain_tensor(tensor, name)
    device, kind = tensor.get_device(), tensor.dtype
    name_of_kind = _torch_names.get(kind)
    if name_of_kind is None:
        name_of_kind = _torch_names[kind] = str(kind).rpartition(".")[2]
    unit, stream = tensor.element_size(), _stream_of(torch, device)
    return tensor, tensor.data_ptr(), tensor.shape, tensor.stride(), unit, name_of_kind, device, stream


def _plain_tensor(tensor: Any, name: str) -> Any:
    """One that has memory of its own numbers, of a type that others have, too."""
    torch = sys.modules["torch"]
    if tensor.layout != torch.strided:
        raise Unsupported(f"{name}: its layout is {tensor.layout}, must be torch.strided")
    if tensor.requires_grad and torch.is_grad_enabled():
        raise InvalidArgument(f"{name}: requires a gradient, which boxsum.torch records and this does not; detach() it")
    if tensor.is_neg():
        tensor = plain_of_negative(tensor, name)
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        count_widening(name, tensor.dtype)
        tensor = tensor.float()
    return tensor


_torch_names: dict[Any, str] = {}


def _stream_of(torch: Any, device: int) -> int:
    """The current stream's handle. PyTorch's private name for it makes no object, and need not be there."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(raw(device) if raw is not None else torch.cuda.current_stream(device).cuda_stream)


def _carrier(name: str) -> Any:
    """A library that takes other libraries' arrays."""
    for library in ("cupy", "torch"):
        if library in sys.modules:
            return sys.modules[library]
    for library in ("cupy", "torch"):
        try:
            return importlib.import_module(library)
        except ImportError:
            continue
    raise Unsupported(
        f"{name}: is in the memory of a GPU; arrays of its library go through CuPy or PyTorch, and neither is installed"
    )


_torch_types: dict[str, Any] = {}


def torch_type(dtype: str) -> Any:
    """Unsigned 64-bit tables are signed ones, of the same bits: PyTorch computes with these."""
    kind = _torch_types.get(dtype)
    if kind is None:
        kind = _torch_types[dtype] = getattr(sys.modules["torch"], "int64" if dtype == "uint64" else dtype)
    return kind


def empty_at(like: Any, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: str) -> tuple[Any, int]:
    """`empty`, and the address of its memory."""
    array = empty(like, shape, strides, dtype)
    return array, array.data_ptr() if is_tensor(array) else array.data.ptr


def empty(like: Any, shape: tuple[int, ...], strides: Any, dtype: str) -> Any:
    """A new array on the device of another one and of its library; strides in elements, None of packed tensors."""
    if is_tensor(like):
        torch = sys.modules["torch"]
        try:
            if strides is None:
                return like.new_empty(shape, dtype=torch_type(dtype))
            return like.new_empty_strided(shape, strides, dtype=torch_type(dtype))
        except torch.OutOfMemoryError as problem:
            raise OutOfMemory(f"out: {problem}") from None
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(like.data.device_id):
        size = cupy.dtype(dtype).itemsize
        span = (1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))) * size
        memory = cupy.cuda.alloc(span if all(shape) else size)
        return cupy.ndarray(shape, dtype, memory, tuple(stride * size for stride in strides))


def packed(array: Any, order: tuple[int, ...], dtype: str) -> Any:
    """A packed copy with the axes in another order and elements of a type that holds all of the array's."""
    if is_tensor(array):
        turned = array.permute(order)
        return empty(array, tuple(turned.shape), None, dtype).copy_(turned)
    return array.transpose(order).astype(dtype, order="C", copy=True)


def repeated(array: Any, axis: int, shape: tuple[int, ...]) -> Any:
    """The array with one axis more, along which its values repeat."""
    if is_tensor(array):
        return array.unsqueeze(axis).expand(shape)
    cupy = sys.modules["cupy"]
    return cupy.broadcast_to(cupy.expand_dims(array, axis), shape)


def captures(tensors: bool) -> Callable[[], bool]:
    """What says whether the current stream, of PyTorch or of CuPy, records a graph. What CuPy gives then it would give
    to others again, while the graph still writes there, so its captures are refused; PyTorch keeps such memory for the
    graph.
    """
    if tensors:
        found: Callable[[], bool] = sys.modules["torch"].cuda.is_current_stream_capturing
        return found
    current = sys.modules["cupy"].cuda.get_current_stream

    def refused() -> bool:
        if current().is_capturing():
            raise Unsupported("image: its stream is being captured, and CuPy keeps no memory for graphs; PyTorch does")
        return False

    return refused


def block(library: str, device: int, size: int) -> tuple[Any, int]:
    """Bytes of a library's pool, and their address, for work on the current stream from here on."""
    if library == "torch":
        torch = sys.modules["torch"]
        try:
            memory = torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")
        except torch.OutOfMemoryError as problem:
            raise OutOfMemory(f"workspace: {problem}") from None
        return memory, memory.data_ptr()
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(device):
        memory = cupy.cuda.alloc(size)
    return memory, memory.ptr


def on_device_of(like: Any, host: Any) -> Any:
    """A copy of an array of NumPy's on the device of another array, of its library."""
    if is_tensor(like):
        return sys.modules["torch"].from_numpy(host).to(like.device)
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(like.data.device_id):
        return cupy.asarray(host)


def _stack(like: Any, parts: list[Any]) -> Any:
    if isinstance(like, np.ndarray):
        return np.stack(parts, -1)
    return sys.modules["torch" if is_tensor(like) else "cupy"].stack(parts, -1)


def boxes_on_device(table: Any, boxes: Any, format: str, swapped: bool, whole: bool) -> tuple[Any, Any]:
    """(boxes in the table's order on its device, the same on the host if they were there): 64-bit integers, or edges in
    64-bit floats unless they must be `whole`.
    """
    if not is_on_device(boxes):
        numbers = np.asarray(adapt(boxes, "boxes")[0] if hasattr(boxes, "__dlpack__") else boxes)
        _check_boxes(numbers.dtype.kind, numbers.dtype, numbers.shape, whole)
        wide = numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64)
        host = np.ascontiguousarray(in_order(wide, format, swapped, wide.dtype.kind == "f"))
        return on_device_of(table, host), host
    found = own(boxes, "boxes")
    if is_tensor(found):
        torch = sys.modules["torch"]
        floating = found.is_floating_point()
        _check_boxes("f" if floating else "b" if found.dtype == torch.bool else "i", found.dtype, found.shape, whole)
        wide = found.to(torch.float64 if floating else torch.int64)
        return in_order(wide, format, swapped, floating).contiguous(), None
    cupy = sys.modules["cupy"]
    floating = found.dtype.kind == "f"
    _check_boxes(found.dtype.kind, found.dtype, found.shape, whole)
    wide = found.astype("float64" if floating else "int64", copy=False)
    return cupy.ascontiguousarray(in_order(wide, format, swapped, floating)), None


def _check_boxes(kind: str, dtype: Any, shape: Any, whole: bool) -> None:
    if kind not in ("iu" if whole else "iuf"):
        what = "histograms take boxes of whole pixels" if whole else "they must be integers or floating numbers"
        raise Unsupported(f"boxes: their dtype is {dtype}; {what}")
    if len(shape) == 0 or shape[-1] != 4:
        raise InvalidArgument(f"boxes: their shape is {tuple(shape)}, the last extent must be 4")


def in_order(boxes: Any, format: str, swapped: bool, edges: bool = False) -> Any:
    """Boxes as row, column, rows, columns, or by their `edges`: top, left, bottom, right; of a transposed table column
    first.
    """
    if format not in ("rchw", "yxyx", "xyxy", "xywh"):
        raise InvalidArgument(f"format: is {format!r}, must be one of 'rchw', 'yxyx', 'xyxy', 'xywh'")
    by_edges = format in ("yxyx", "xyxy")
    if format in ("rchw", "yxyx") and by_edges == edges and not swapped:
        return boxes
    a, b, c, d = (boxes[..., i] for i in range(4))
    if format in ("xyxy", "xywh"):
        a, b, c, d = b, a, d, c
    if by_edges and not edges:
        c, d = c - a, d - b
    if edges and not by_edges:
        c, d = c + a, d + b
    return _stack(boxes, [b, a, d, c] if swapped else [a, b, c, d])


def moved(values: Any, source: int, target: int, out: Any) -> Any:
    """An array with an axis elsewhere; in `out` where there is one."""
    axes = list(range(values.ndim))
    axes.insert(target % values.ndim, axes.pop(source))
    result = values.permute(axes) if is_tensor(values) else values.transpose(axes)
    if out is None:
        return result
    if tuple(out.shape) != tuple(result.shape) or out.dtype != result.dtype:
        given, wanted = (f"{tuple(one.shape)} of {one.dtype}" for one in (out, result))
        raise InvalidArgument(f"out: its shape is {given}, must be {wanted}")
    out[...] = result
    return out


def sat_by_halves(
    image: Any, layout: str, dtype: str, channel_axis: Any, out: Any, algorithm: str, corner: str
) -> Any:
    """The table of 64-bit integers: modulo 2^64 the sum is that of the lower halves and 2^32 times that of the upper
    ones, and an image of 64-bit pixels is one of two 32-bit channels, lower half first.
    """
    tensor = is_tensor(image)
    xp = sys.modules["torch" if tensor else "cupy"]
    axis = 0 if channel_axis is None else channel_axis % image.ndim
    pixels = image if channel_axis is None else xp.moveaxis(image, axis, 0)
    pixels = pixels.contiguous() if tensor else xp.ascontiguousarray(pixels)
    halves = pixels.reshape(*pixels.shape, 1).view(xp.uint32)
    parts = _core.sat(halves, layout, "uint64", -1, None, 0, algorithm, 1, corner, None)
    high = parts[..., 1] << 32 if tensor else xp.left_shift(parts[..., 1], xp.uint64(32))
    table = parts[..., 0] + high
    if not tensor:
        table = table.view(dtype)
    if channel_axis is not None:
        table = xp.moveaxis(table, 0, axis)
    if out is None:
        return table if tensor else xp.ascontiguousarray(table)
    return moved(table, 0, 0, out)


def int32(radius: Any) -> Any:
    """Radii as a type that maps have; negative ones count as 0."""
    radius = own(radius, "radius")
    kind = getattr(radius.dtype, "kind", "") or str(radius.dtype).removeprefix("torch.")[0]
    if kind not in "iu":
        raise Unsupported(f"radius: its dtype is {radius.dtype}, must be an integer")
    if is_tensor(radius):
        return radius.to(sys.modules["torch"].int32)
    return radius.astype("int32")


def root(values: Any, negative: float | None) -> None:
    """The square roots, in place; where there are negative numbers, what is given for them."""
    missing = None if negative is None else values < 0
    if is_tensor(values):
        values.sqrt_()
        if missing is not None:
            values.masked_fill_(missing, negative)
    else:
        cupy = sys.modules["cupy"]
        cupy.sqrt(values, out=values)
        if missing is not None:
            cupy.copyto(values, negative, where=missing)


def contrast(pixels: Any, means: Any, deviations: Any, epsilon: float, marks: Any, fill: float) -> None:
    """Local contrasts where their means are: (pixels - means) / deviations, of at least epsilon; `fill` where the marks,
    if there are any, are -inf.
    """
    if is_tensor(means):
        means.neg_().add_(pixels.to(means.dtype)).div_(deviations.clamp_(min=epsilon))
        if marks is not None:
            means.masked_fill_(marks == -np.inf, fill)
        return
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(means.data.device_id):
        cupy.subtract(pixels, means, out=means)
        cupy.divide(means, cupy.maximum(deviations, epsilon, out=deviations), out=means)
        if marks is not None:
            cupy.copyto(means, fill, where=marks == -np.inf)


def shares(histograms: Any) -> Any:
    """Histograms divided by their totals; empty ones stay empty."""
    wide = histograms.double() if is_tensor(histograms) else histograms.astype("float64")
    totals = wide.sum(-1)[..., None]
    return wide / (totals + (totals == 0))


def to_host(values: Any, name: str) -> Any:
    """As an array of NumPy's, once what makes it has run."""
    found = own(values, name)
    return found.cpu().numpy() if is_tensor(found) else sys.modules["cupy"].asnumpy(found)
