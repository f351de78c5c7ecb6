"""The operators: what they compute, what shape that has, their gradients, and how they are mapped over batches.

Gradients are made of these operators and PyTorch's own, so gradients of gradients need no formulas. Each operator takes
all axes before the last two as a batch, so mapping one over a new axis is moving that axis to the front.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import library

import boxsum

_TYPES = {
    torch.int32: "int32",
    torch.int64: "int64",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.uint8: "uint8",
    torch.int16: "int16",
}

# Names of windows: how far they reach above, below, left and right of their pixel.
_library = library.Library("boxsum", "DEF")
_library.define("sat(Tensor image, str layout, ScalarType dtype, str corner) -> Tensor")
_library.define(
    "box_filter(Tensor image, int[] extents, str border, float cval, bool mean, ScalarType dtype) -> Tensor"
)
_library.define("local_moments(Tensor image, int[] extents, str border, float cval) -> (Tensor, Tensor)")
_library.define(
    "sat_squares(Tensor image, str layout, ScalarType dtype, ScalarType squares_dtype) -> (Tensor, Tensor)"
)
_library.define("box_sums(Tensor table, Tensor boxes, str layout) -> Tensor")


def _plain(image: Any) -> Any:
    # Packed, so that results are: their strides are a promise to torch.compile.
    image = image.detach() if image.requires_grad else image
    return image if image.is_contiguous() else image.contiguous()


def _window(extents: Any) -> dict[str, Any]:
    above, below, left, right = extents
    rows, cols = above + below + 1, left + right + 1
    return {"size": (rows, cols), "origin": (above - rows // 2, left - cols // 2)}


def _sat(image: Any, layout: Any, dtype: Any, corner: Any) -> Any:
    return boxsum.sat(_plain(image), layout=layout, dtype=_TYPES[dtype], corner=corner)


def _box_filter(image: Any, extents: Any, border: Any, cval: float, mean: bool, dtype: Any) -> Any:
    stat: Any = "mean" if mean else "sum"
    return boxsum.box_filter(
        _plain(image),
        stat=stat,
        border=border,
        cval=cval,
        dtype=_TYPES[dtype],
        **_window(extents),
    )


def _local_moments(image: Any, extents: Any, border: Any, cval: float) -> Any:
    return boxsum.local_statistics(
        _plain(image),
        results=("mean", "var"),
        border=border,
        cval=cval,
        **_window(extents),
    )


def _sat_squares(image: Any, layout: Any, dtype: Any, squares_dtype: Any) -> Any:
    # Tensors of int64 have the bits of uint64, which squares and tables of unsigned images are made in.
    unsigned = not (image.dtype.is_signed or image.dtype.is_floating_point)
    kinds = ["uint64" if kind == torch.int64 else _TYPES[kind] for kind in (dtype, squares_dtype)]
    sums = kinds[0] if unsigned else _TYPES[dtype]
    return boxsum.sat_squares(_plain(image), layout=layout, dtype=sums, squares_dtype=kinds[1])


def _box_sums(table: Any, boxes: Any, layout: Any) -> Any:
    return boxsum.box_sum(_plain(table), _plain(boxes), layout=layout)


for _backend in ("CPU", "CUDA"):
    _library.impl("sat", _sat, _backend)
    _library.impl("box_filter", _box_filter, _backend)
    _library.impl("local_moments", _local_moments, _backend)
    _library.impl("sat_squares", _sat_squares, _backend)
    _library.impl("box_sums", _box_sums, _backend)


def _fake_sat(image: Any, layout: str, dtype: Any, corner: str) -> Any:
    more = 1 if layout == "padded" else 0
    *batch, rows, cols = image.shape
    return image.new_empty((*batch, rows + more, cols + more), dtype=dtype)


def _fake_box_filter(image: Any, extents: Any, border: str, cval: float, mean: bool, dtype: Any) -> Any:
    return image.new_empty(image.shape, dtype=dtype)


def _moments_type(image: Any) -> Any:
    return torch.float32 if image.dtype == torch.float32 else torch.float64


def _fake_local_moments(image: Any, extents: Any, border: str, cval: float) -> Any:
    kind = _moments_type(image)
    return image.new_empty(image.shape, dtype=kind), image.new_empty(image.shape, dtype=kind)


def _fake_sat_squares(image: Any, layout: str, dtype: Any, squares_dtype: Any) -> Any:
    return _fake_sat(image, layout, dtype, "first"), _fake_sat(image, layout, squares_dtype, "first")


def _fake_box_sums(table: Any, boxes: Any, layout: str) -> Any:
    return table.new_empty((*table.shape[:-2], *boxes.shape[:-1]))


library.register_fake("boxsum::sat", _fake_sat, lib=_library)
library.register_fake("boxsum::sat_squares", _fake_sat_squares, lib=_library)
library.register_fake("boxsum::box_sums", _fake_box_sums, lib=_library)
library.register_fake("boxsum::box_filter", _fake_box_filter, lib=_library)
library.register_fake("boxsum::local_moments", _fake_local_moments, lib=_library)


def _remember_sat(ctx: Any, inputs: Any, output: Any) -> None:
    image, ctx.layout, _, ctx.corner = inputs
    ctx.kind = image.dtype


def _from_other_corner(grad: Any, layout: str, corner: str) -> Any:
    """The transpose of a table, in float64: the sum of all that follows a pixel, the table from the other corner."""
    first = corner == "first"
    if layout == "padded":
        grad = grad[..., 1:, 1:] if first else grad[..., :-1, :-1]
        layout = "inclusive"
    return sat(grad.to(torch.float64), layout, torch.float64, "last" if first else "first")


def _sat_backward(ctx: Any, grad: Any) -> Any:
    return _from_other_corner(grad, ctx.layout, ctx.corner).to(ctx.kind), None, None, None


def _remember_sat_squares(ctx: Any, inputs: Any, output: Any) -> None:
    image, ctx.layout, _, _ = inputs
    ctx.save_for_backward(image)


def _sat_squares_backward(ctx: Any, of_sums: Any, of_squares: Any) -> Any:
    (image,) = ctx.saved_tensors
    wide = image.to(torch.float64)
    result = torch.zeros_like(wide)
    if of_sums is not None:
        result = result + _from_other_corner(of_sums, ctx.layout, "first")
    if of_squares is not None:
        result = result + 2 * wide * _from_other_corner(of_squares, ctx.layout, "first")
    return result.to(image.dtype), None, None, None


def _corners(boxes: Any, layout: str, cols: int) -> Any:
    """Of the four entries that a box is read from: where they lie in the table, whether it has them, and their signs."""
    border = 0 if layout == "inclusive" else 1
    row, col, height, width = boxes.unbind(-1)
    top, left = row - 1 + border, col - 1 + border
    bottom, right = top + height, left + width
    for r, c, sign in ((bottom, right, 1), (top, right, -1), (bottom, left, -1), (top, left, 1)):
        there = (r >= 0) & (c >= 0)
        yield torch.where(there, r * cols + c, 0), there, sign


def _read_boxes(table: Any, boxes: Any, layout: str) -> Any:
    """`_box_sums` in PyTorch's own operators, of one table."""
    flat = table.flatten(-2)
    total = 0
    for at, there, sign in _corners(boxes, layout, table.shape[-1]):
        entries = flat.index_select(-1, at.reshape(-1)).reshape((*table.shape[:-2], *at.shape))
        total = total + sign * torch.where(there, entries, 0)
    return total


def _remember_box_sums(ctx: Any, inputs: Any, output: Any) -> None:
    table, boxes, ctx.layout = inputs
    ctx.save_for_backward(boxes)
    ctx.extents, ctx.kind = tuple(table.shape), table.dtype


def _box_sums_backward(ctx: Any, grad: Any) -> Any:
    """What each box gives to the four entries that it is read from; summed in float64."""
    (boxes,) = ctx.saved_tensors
    *batch, rows, cols = ctx.extents
    boxes = boxes.reshape(-1, 4)
    grad = grad.reshape((*batch, boxes.shape[0])).to(torch.float64)
    result = grad.new_zeros((*batch, rows * cols))
    for at, there, sign in _corners(boxes, ctx.layout, cols):
        result = result.index_add(-1, at, sign * torch.where(there, grad, 0))
    return result.reshape((*batch, rows, cols)).to(ctx.kind), None, None


def _places(before: int, extent: int, after: int, border: str, device: Any) -> Any:
    """Which pixel continues the image at each place from `before` ahead of it to `after` behind it."""
    at = torch.arange(-before, extent + after, device=device)
    if border == "replicate":
        return at.clamp(0, extent - 1)
    if border == "wrap":
        return at.remainder(extent)
    period = 2 * extent if border == "reflect" else max(2 * extent - 2, 1)
    at = at.remainder(period)
    last = 2 * extent - 1 if border == "reflect" else 2 * extent - 2
    return torch.where(at < extent, at, last - at)


def counts(extents: Any, rows: int, cols: int, like: Any) -> Any:
    """How many pixels of the image the window of each has: (rows, cols)."""
    above, below, left, right = extents
    r, c = torch.arange(rows, device=like.device), torch.arange(cols, device=like.device)
    in_rows = (r + below).clamp(max=rows - 1) - (r - above).clamp(min=0) + 1
    in_cols = (c + right).clamp(max=cols - 1) - (c - left).clamp(min=0) + 1
    return (in_rows[:, None] * in_cols[None, :]).to(like.dtype)


def _folded(grad: Any, axis: int, before: int, extent: int, after: int, border: str) -> Any:
    """What lies beyond the border, added to the pixels that it is a copy of: a piece at a time in which no pixel comes
    twice, so that GPUs, which add in any order, have the same bits every time.
    """
    at = _places(before, extent, after, border, grad.device)
    step = max(extent - 1, 1) if border == "mirror" else extent
    pieces = [(max(end - step, 0), end) for end in range(before, 0, -step)]
    last = before + extent + after
    pieces += [(start, min(start + step, last)) for start in range(before + extent, last, step)]
    result = grad.narrow(axis, before, extent)
    for start, end in pieces:
        piece, places = grad.narrow(axis, start, end - start), at[start:end]
        if border == "replicate":
            piece, places = piece.sum(axis, keepdim=True), places[:1]
        result = result.index_add(axis, places, piece)
    return result


def _adjoint(grad: Any, extents: Any, border: str, mean: bool) -> Any:
    """The transpose of box_filter, in float64."""
    above, below, left, right = extents
    rows, cols = grad.shape[-2:]
    grad = grad.to(torch.float64)
    if mean:
        if border == "shrink":
            grad = grad / counts(extents, rows, cols, grad)
        else:
            grad = grad / ((above + below + 1) * (left + right + 1))
    mirrored = [below, above, right, left]
    if border in ("shrink", "constant"):
        return box_filter(grad, mirrored, "constant", 0.0, False, torch.float64)
    grad = torch.nn.functional.pad(grad, (left, right, above, below))
    grad = box_filter(grad, mirrored, "constant", 0.0, False, torch.float64)
    return _folded(_folded(grad, -2, above, rows, below, border), -1, left, cols, right, border)


def _remember_box_filter(ctx: Any, inputs: Any, output: Any) -> None:
    image, ctx.extents, ctx.border, _, ctx.mean, _ = inputs
    ctx.kind = image.dtype


def _box_filter_backward(ctx: Any, grad: Any) -> Any:
    return _adjoint(grad, ctx.extents, ctx.border, ctx.mean).to(ctx.kind), None, None, None, None, None


def _remember_local_moments(ctx: Any, inputs: Any, output: Any) -> None:
    image, ctx.extents, ctx.border, _ = inputs
    ctx.save_for_backward(image, output[0])


def _local_moments_backward(ctx: Any, of_mean: Any, of_variance: Any) -> Any:
    image, mean = ctx.saved_tensors
    wide, mean = image.to(torch.float64), mean.to(torch.float64)
    result = torch.zeros_like(wide)
    if of_mean is not None:
        result = result + _adjoint(of_mean, ctx.extents, ctx.border, True)
    if of_variance is not None:
        of_variance = of_variance.to(torch.float64)
        result = result + 2 * wide * _adjoint(of_variance, ctx.extents, ctx.border, True)
        result = result - 2 * _adjoint(of_variance * mean, ctx.extents, ctx.border, True)
    return result.to(image.dtype), None, None, None


# PyTorch has no public names for these questions; without one of them the operator is always called.
_transformed = getattr(torch._C, "_are_functorch_transforms_active", None)
_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)


def _is_plain(image: Any) -> bool:
    """Whether nothing but the result is wanted: no gradient, no subclass, nothing that looks on."""
    return (
        type(image) is torch.Tensor
        and _modes is not None
        and _modes() == 0
        and not (image.requires_grad and torch.is_grad_enabled())
    )


def _differentiable(
    name: str, compute: Any, remember: Any, backward: Any, results: int, by_hand: Any = None
) -> Any:
    """An operator with its gradient and its rule for batches, and the function to call it by. `by_hand` is the same of
    PyTorch's operators, for batches of a second tensor.

    torch.func.grad() knows the gradients of a Function, and everything else those of an operator: both have the same.
    An operator costs some 10 microseconds, a Function more, so what is plain goes past both.
    """
    operator = getattr(torch.ops.boxsum, name).default

    def mapped(call: Any, in_dims: Any, image: Any, *rest: Any) -> Any:
        if by_hand is not None and in_dims[1] is not None:
            return torch.vmap(lambda one, other: by_hand(one, other, *rest[1:]), in_dims[:2])(image, rest[0]), 0
        return call(image.movedim(in_dims[0], 0), *rest), 0 if results == 1 else (0,) * results

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(*arguments: Any) -> Any:
            return operator(*arguments)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            remember(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return backward(ctx, *gradients)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *arguments: Any) -> Any:
            return mapped(Function.apply, in_dims, *arguments)

    def rule(info: Any, in_dims: Any, *arguments: Any) -> Any:
        return mapped(operator, in_dims, *arguments)

    Function.__name__ = name
    library.register_autograd(f"boxsum::{name}", backward, setup_context=remember, lib=_library)
    library.register_vmap(f"boxsum::{name}", rule, lib=_library)

    def call(image: Any, *rest: Any) -> Any:
        if torch.compiler.is_compiling():  # PyTorch 2.11 cannot follow a Function here
            return operator(image, *rest)
        if _transformed is not None and _transformed():
            return Function.apply(image, *rest)
        if _is_plain(image) and image.device.type in ("cpu", "cuda"):
            return compute(image, *rest)
        return operator(image, *rest)

    return call


sat = _differentiable("sat", _sat, _remember_sat, _sat_backward, 1)
box_filter = _differentiable("box_filter", _box_filter, _remember_box_filter, _box_filter_backward, 1)
local_moments = _differentiable("local_moments", _local_moments, _remember_local_moments, _local_moments_backward, 2)
sat_squares = _differentiable("sat_squares", _sat_squares, _remember_sat_squares, _sat_squares_backward, 2)
box_sums = _differentiable("box_sums", _box_sums, _remember_box_sums, _box_sums_backward, 1, by_hand=_read_boxes)
