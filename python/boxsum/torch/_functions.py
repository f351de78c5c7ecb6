"""Functions of tensors, made of the operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from boxsum._filters import ThresholdMethod
from boxsum._types import Border, BoxFormat, Corner, Layout, Size
from boxsum.errors import InvalidArgument, Unsupported
from boxsum.torch import _operators

_HALVES = (torch.float16, torch.bfloat16)
_BORDERS = ("shrink", "reflect", "replicate", "constant", "mirror", "wrap")


def _pair(value: Any, name: str) -> tuple[int, int]:
    both = (value, value) if isinstance(value, int) else tuple(value)
    if len(both) != 2 or not all(isinstance(one, int) for one in both):
        raise Unsupported(f"{name}: is {value!r}, must be an integer or a pair of them, rows and columns")
    return both[0], both[1]


def _extents(size: Any, origin: Any) -> list[int]:
    result = []
    for extent, moved in zip(_pair(size, "size"), _pair(origin, "origin"), strict=True):
        if extent < 1:
            raise InvalidArgument(f"size: is {extent}, must be at least 1")
        before = extent // 2 + moved
        if not 0 <= before < extent:
            raise InvalidArgument(f"origin: is {moved}, too much for a size of {extent}")
        result += [before, extent - 1 - before]
    return result


def _tensor(given: Tensor, name: str) -> Tensor:
    if not isinstance(given, Tensor):
        raise Unsupported(f"{name}: is of type {type(given).__name__}, must be a tensor")
    if given.is_nested or given.layout != torch.strided:
        kind = "nested" if given.is_nested else given.layout
        raise Unsupported(f"{name}: its layout is {kind}, must be torch.strided")
    return given


def _image(image: Tensor) -> Tensor:
    if _tensor(image, "image").dim() < 2:
        raise InvalidArgument(f"image: its shape is {tuple(image.shape)}, must have rows and columns")
    if image.dtype in _HALVES:
        return image.float()
    if image.dtype not in (torch.float32, torch.float64):
        raise Unsupported(f"image: its dtype is {image.dtype}, must be floating; boxsum's own functions take more")
    return image


def _border(border: str) -> str:
    if border not in _BORDERS:
        raise InvalidArgument(f"border: is {border!r}, must be one of {', '.join(map(repr, _BORDERS))}")
    return border


def sat(
    image: Tensor, *, layout: Layout = "inclusive", corner: Corner = "first", dtype: torch.dtype | None = None
) -> Tensor:
    """Summed area table of the last two axes; see `boxsum.sat`.

    Args:
        image: (..., rows, cols). Gradients are those of floating images.
        layout, corner: As of `boxsum.sat`. The gradient of a table is a table from the other corner.
        dtype: By default int64 for integer and bool images (whose bits are those of uint64 tables), float64 for
            floating ones.

    Returns:
        The table.

    Raises:
        InvalidArgument: a ValueError. Unsupported: a TypeError.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.sat(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[ 1.,  3.],
            [ 4., 10.]], dtype=torch.float64)
    """
    if _tensor(image, "image").dim() < 2:
        raise InvalidArgument(f"image: its shape is {tuple(image.shape)}, must have rows and columns")
    if layout not in ("inclusive", "exclusive", "padded"):
        raise InvalidArgument(f"layout: is {layout!r}, must be one of 'inclusive', 'exclusive', 'padded'")
    if corner not in ("first", "last"):
        raise InvalidArgument(f"corner: is {corner!r}, must be one of 'first', 'last'")
    if dtype is None:
        dtype = torch.float64 if image.dtype.is_floating_point else torch.int64
    if dtype not in _TABLES:
        raise Unsupported(f"dtype: is {dtype}, tables are of torch.int32, int64, float32 and float64")
    return _operators.sat(image.float() if image.dtype in _HALVES else image, layout, dtype, corner)


_TABLES = (torch.int32, torch.int64, torch.float32, torch.float64)


def sat_squares(
    image: Tensor,
    *,
    layout: Layout = "inclusive",
    dtype: torch.dtype | None = None,
    squares_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """The tables of the pixels and of their squares, in one pass; see `boxsum.sat_squares`.

    Args:
        image: (..., rows, cols). Gradients are those of floating images.
        layout, dtype: As of `sat`.
        squares_dtype: By default ``dtype``'s.

    Returns:
        The table of pixels and that of squares.

    Raises:
        InvalidArgument: a ValueError. Unsupported: a TypeError.

    >>> import torch, boxsum.torch
    >>> image = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> sums, squares = boxsum.torch.sat_squares(image)
    >>> squares[1, 1].backward()
    >>> sums[1, 1].item(), squares[1, 1].item(), image.grad
    (10.0, 30.0, tensor([[2., 4.],
            [6., 8.]]))
    """
    if _tensor(image, "image").dim() < 2:
        raise InvalidArgument(f"image: its shape is {tuple(image.shape)}, must have rows and columns")
    if layout not in ("inclusive", "exclusive", "padded"):
        raise InvalidArgument(f"layout: is {layout!r}, must be one of 'inclusive', 'exclusive', 'padded'")
    if dtype is None:
        dtype = torch.float64 if image.dtype.is_floating_point else torch.int64
    kinds = (dtype, dtype if squares_dtype is None else squares_dtype)
    for name, kind in zip(("dtype", "squares_dtype"), kinds, strict=True):
        if kind not in _TABLES:
            raise Unsupported(f"{name}: is {kind}, tables are of torch.int32, int64, float32 and float64")
    sums, squares = _operators.sat_squares(image.float() if image.dtype in _HALVES else image, layout, *kinds)
    return sums, squares


def table_sum(table: Tensor, boxes: Tensor, *, layout: Layout, format: BoxFormat = "rchw") -> Tensor:
    """Sums over boxes of whole pixels, from a table, with gradients for the table; see `boxsum.box_sum`.

    One table serves many calls: of `sat`, whose gradient goes on to the image, or of `sat_squares` for variances.

    Args:
        table: (..., rows, cols) of int32, int64, float32 or float64, as `sat` made it.
        boxes: (..., 4) of an integer dtype, on the table's device. Those with edges within pixels are `box_sum`'s.
        layout: Of the table.
        format: As of `boxsum.box_sum`.

    Returns:
        (*batch, *boxes' leading axes), of the table's dtype.

    Raises:
        InvalidArgument: a ValueError; also for a box on the CPU that is empty or outside the image.
        Unsupported: a TypeError.

    >>> import torch, boxsum.torch
    >>> image = torch.arange(12.0).reshape(3, 4).requires_grad_()
    >>> table = boxsum.torch.sat(image, layout="padded")
    >>> sums = boxsum.torch.table_sum(table, torch.tensor([[1, 1, 2, 2], [1, 2, 1, 2]]), layout="padded")
    >>> sums.sum().backward()
    >>> sums.detach(), image.grad
    (tensor([30., 13.], dtype=torch.float64), tensor([[0., 0., 0., 0.],
            [0., 1., 2., 1.],
            [0., 1., 1., 0.]]))
    """
    if _tensor(table, "table").dim() < 2:
        raise InvalidArgument(f"table: its shape is {tuple(table.shape)}, must have rows and columns")
    if table.dtype not in _TABLES:
        raise Unsupported(f"table: its dtype is {table.dtype}, tables are of torch.int32, int64, float32 and float64")
    if _tensor(boxes, "boxes").dim() < 1 or boxes.shape[-1] != 4:
        raise InvalidArgument(f"boxes: their shape is {tuple(boxes.shape)}, the last extent must be 4")
    if boxes.is_floating_point() or boxes.is_complex() or boxes.is_quantized or boxes.dtype == torch.bool:
        raise Unsupported(f"boxes: their dtype is {boxes.dtype}, must be integers; box_sum(image, boxes) takes others")
    if boxes.device != table.device:
        raise InvalidArgument(f"boxes: are on {boxes.device}, but table is on {table.device}")
    if layout not in ("inclusive", "exclusive", "padded"):
        raise InvalidArgument(f"layout: is {layout!r}, must be one of 'inclusive', 'exclusive', 'padded'")
    a, b, c, d = boxes.to(torch.int64).unbind(-1)
    orders = {"rchw": (a, b, c, d), "yxyx": (a, b, c - a, d - b), "xyxy": (b, a, d - b, c - a), "xywh": (b, a, d, c)}
    if format not in orders:
        raise InvalidArgument(f"format: is {format!r}, must be one of 'rchw', 'yxyx', 'xyxy', 'xywh'")
    found: Tensor = _operators.box_sums(table, torch.stack(orders[format], dim=-1), layout)
    return found


def box_filter(
    image: Tensor,
    size: Size,
    *,
    stat: Literal["mean", "sum"] = "mean",
    border: Border = "reflect",
    cval: float = 0,
    origin: Size = 0,
) -> Tensor:
    """Mean or sum of the window around every pixel of the last two axes; see `boxsum.box_filter`.

    Args:
        image: (..., rows, cols), floating; float16 and bfloat16 are summed as float32 is, in float64.
        size, stat, border, cval, origin: As of `boxsum.box_filter`. PyTorch's "reflect" is ``"mirror"`` here.

    Returns:
        A tensor of the image's shape and dtype.

    Raises:
        InvalidArgument: a ValueError. Unsupported: a TypeError.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.box_filter(torch.tensor([[0.0, 0.0, 9.0, 0.0, 0.0]]), (1, 3))
    tensor([[0., 3., 3., 3., 0.]])
    """
    if stat not in ("mean", "sum"):
        raise InvalidArgument(f"stat: is {stat!r}, must be one of 'mean', 'sum'")
    work = _image(image)
    result = _operators.box_filter(
        work, _extents(size, origin), _border(border), float(cval), stat == "mean", work.dtype
    )
    return result.to(image.dtype)


def _root(variance: Tensor) -> Tensor:
    """The square root, with a gradient of 0 where it is 0."""
    above = variance > 0
    return torch.where(above, torch.where(above, variance, 1).sqrt(), 0)


def local_statistics(
    image: Tensor,
    size: Size,
    *,
    results: Sequence[Literal["mean", "var", "std"]] = ("mean", "std"),
    border: Border = "reflect",
    cval: float = 0,
    origin: Size = 0,
) -> tuple[Tensor, ...]:
    """Mean, population variance and standard deviation of the window around every pixel; see
    `boxsum.local_statistics`.

    Args:
        image, size, border, cval, origin: As of `box_filter`.
        results: Which, in the order wanted: ``"mean"``, ``"var"``, ``"std"``.

    Returns:
        A tensor of the image's shape and dtype for each of ``results``. The gradient of a deviation of 0 is 0.

    Raises:
        InvalidArgument: a ValueError. Unsupported: a TypeError.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.local_statistics(torch.tensor([[1.0, 3.0, 5.0]]), (1, 3), border="shrink", results=("var",))
    (tensor([[1.0000, 2.6667, 1.0000]]),)
    """
    for name in results:
        if name not in ("mean", "var", "std"):
            raise InvalidArgument(f"results: is {name!r}, must be one of 'mean', 'var', 'std'")
    mean, variance = _operators.local_moments(_image(image), _extents(size, origin), _border(border), float(cval))
    made = {"mean": mean, "var": variance}
    if "std" in results:
        made["std"] = _root(variance)
    return tuple(made[name].to(image.dtype) for name in results)


def local_contrast(
    image: Tensor,
    size: Size = 15,
    *,
    epsilon: float = 1e-6,
    border: Border = "reflect",
    cval: float = 0,
    origin: Size = 0,
) -> Tensor:
    """Local contrast normalisation, (pixel - m) / max(s, epsilon); see `boxsum.local_contrast`.

    Args:
        image, size, border, cval, origin: As of `box_filter`.
        epsilon: The smallest divisor, above 0.

    Returns:
        A tensor of the image's shape and dtype.

    Raises:
        InvalidArgument: a ValueError. Unsupported: a TypeError.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.local_contrast(torch.tensor([[1.0, 3.0, 5.0]]), (1, 3), border="shrink")
    tensor([[-1.,  0.,  1.]])
    """
    if not epsilon > 0:
        raise InvalidArgument(f"epsilon: is {epsilon}, must be above 0")
    work = _image(image)
    mean, deviation = local_statistics(work, size, border=border, cval=cval, origin=origin)
    return ((work - mean) / deviation.clamp(min=epsilon)).to(image.dtype)


_DEFAULT_K = {
    "bradley": 0.15, "niblack": -0.2, "sauvola": 0.2, "wolf": 0.5, "nick": -0.2, "singh": 0.2, "phansalkar": 0.25
}  # fmt: skip


def threshold(
    image: Tensor,
    size: Size = 15,
    *,
    method: ThresholdMethod = "sauvola",
    k: float | Tensor | None = None,
    r: float | Tensor = 0.5,
    p: float | Tensor = 2.0,
    q: float | Tensor = 10.0,
    border: Border = "reflect",
    cval: float = 0,
    origin: Size = 0,
    result: Literal["mask", "threshold", "soft"] = "soft",
    sharpness: float | Tensor = 50.0,
) -> Tensor:
    """Adaptive threshold, by the formulas of `boxsum.threshold`, with gradients for the image and all numbers.

    Args:
        image, size, border, cval, origin: As of `box_filter`.
        method: As of `boxsum.threshold`.
        k, r, p, q: The formula's numbers, or tensors of them that are learned; ``k`` is by default the method's, ``r``
            that of images in 0 to 1.
        result: ``"threshold"`` is the threshold itself. ``"soft"`` is
            ``sigmoid(sharpness * (image - threshold))``, near 0 below it and near 1 above. ``"mask"`` is where the image
            is above it, as bool, without a gradient.
        sharpness: Of ``"soft"``: in units of one over the image's.

    Returns:
        A tensor of the image's shape and dtype, or of bool.

    Raises:
        InvalidArgument: a ValueError. Unsupported: a TypeError.

    >>> import torch, boxsum.torch
    >>> page = torch.tensor([[0.78, 0.82, 0.16, 0.80, 0.77]], requires_grad=True)
    >>> boxsum.torch.threshold(page, (1, 5), result="mask")
    tensor([[ True,  True, False,  True,  True]])
    >>> boxsum.torch.threshold(page, (1, 5)).sum().backward()
    """
    if method not in _DEFAULT_K:
        raise InvalidArgument(f"method: is {method!r}, must be one of {', '.join(map(repr, _DEFAULT_K))}")
    if result not in ("mask", "threshold", "soft"):
        raise InvalidArgument(f"result: is {result!r}, must be one of 'mask', 'threshold', 'soft'")
    work = _image(image)
    if k is None:
        k = _DEFAULT_K[method]
    if method in ("bradley", "singh"):
        mean = box_filter(work, size, border=border, cval=cval, origin=origin)
        deviation = mean
    else:
        mean, deviation = local_statistics(work, size, border=border, cval=cval, origin=origin)
    if method == "bradley":
        limit = mean * (1 - k)
    elif method == "niblack":
        limit = mean + k * deviation
    elif method == "sauvola":
        limit = mean * (1 + k * (deviation / r - 1))
    elif method == "wolf":
        largest = deviation.amax((-2, -1), keepdim=True)
        share = torch.where(largest > 0, deviation / torch.where(largest > 0, largest, 1), 0)
        limit = mean - k * (1 - share) * (mean - work.amin((-2, -1), keepdim=True))
    elif method == "nick":
        limit = mean + k * _root(deviation * deviation + mean * mean)
    elif method == "singh":
        most = 2 * r * (254 / 255)
        apart = (work - mean).abs()
        apart = torch.where(apart < most, apart, most)
        limit = mean * (1 + k * (apart / (2 * r - apart) - 1))
    else:
        limit = mean * (1 + p * torch.exp(-q * mean / (2 * r)) + k * (deviation / r - 1))
    if result == "threshold":
        return limit.to(image.dtype)
    if result == "mask":
        return work > limit
    return torch.sigmoid(sharpness * (work - limit)).to(image.dtype)


def _within(at: Tensor, last: int) -> Tensor:
    """Places cut off at the ends of a table; those at an end keep their gradients, which clamp() drops."""
    at = torch.where(at < 0, 0, at)
    return torch.where(at > last, last, at)


def read(table: Tensor, at: Tensor, axis: int) -> Tensor:
    """Entries of a padded table between its own, along an axis: (..., positions, ...), linear from one to the next.

    `at` has one axis. Positions beyond the table are its first and last: there the image is 0.
    """
    last = table.shape[axis] - 1
    at = _within(at, last)
    before = at.detach().floor().clamp(max=max(last - 1, 0)).to(torch.int64)
    share = at - before
    shape = [1] * table.dim()
    shape[axis] = -1
    share = share.reshape(shape)
    return table.index_select(axis, before) * (1 - share) + table.index_select(axis, before + 1) * share


def _edges(boxes: Tensor, format: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Top, left, bottom, right."""
    a, b, c, d = boxes.to(torch.float64).unbind(-1)
    if format == "rchw":
        return a, b, a + c, b + d
    if format == "yxyx":
        return a, b, c, d
    if format == "xyxy":
        return b, a, d, c
    if format == "xywh":
        return b, a, b + d, a + c
    raise InvalidArgument(f"format: is {format!r}, must be one of 'rchw', 'yxyx', 'xyxy', 'xywh'")


def _corner(table: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """The padded table at places between its entries: (*batch, places)."""
    rows, cols = table.shape[-2] - 1, table.shape[-1] - 1
    y, x = _within(y, rows), _within(x, cols)
    r = y.detach().floor().clamp(max=max(rows - 1, 0)).to(torch.int64)
    c = x.detach().floor().clamp(max=max(cols - 1, 0)).to(torch.int64)
    down, right = y - r, x - c
    flat = table.flatten(-2)
    step = cols + 1
    above = flat.index_select(-1, r * step + c) * (1 - right) + flat.index_select(-1, r * step + c + 1) * right
    below = flat.index_select(-1, (r + 1) * step + c) * (1 - right)
    below = below + flat.index_select(-1, (r + 1) * step + c + 1) * right
    return above * (1 - down) + below * down


def box_sum(image: Tensor, boxes: Tensor, *, format: BoxFormat = "rchw") -> Tensor:
    """Integrals of an image over boxes with edges anywhere, with gradients for the image and for the edges.

    Args:
        image: (..., rows, cols), floating. Pixel (r, c) is the square from (r, c) to (r + 1, c + 1); beyond the image
            there is 0.
        boxes: (..., 4) of any real dtype, as of `boxsum.box_sum`; the same for every image of the batch.
        format: As of `boxsum.box_sum`.

    Returns:
        (*batch, *boxes' leading axes) in the image's dtype, from a float64 table of the whole image. Where an edge is
        an integer its gradient is that towards larger numbers; at the image's end, towards the image.

    Raises:
        InvalidArgument: a ValueError. Unsupported: a TypeError.

    Source: Crow 1984; edges between pixels as in Burkov and Lempitsky 2018.

    >>> import torch, boxsum.torch
    >>> box = torch.tensor([0.5, 0.0, 1.0, 1.0], requires_grad=True)  # row, column, rows, columns
    >>> total = boxsum.torch.box_sum(torch.arange(12.0).reshape(3, 4), box)
    >>> total.backward()
    >>> total.item(), box.grad
    (2.0, tensor([4., 1., 4., 3.]))
    """
    work = _image(image)
    if 0 in work.shape[-2:]:
        raise InvalidArgument(f"image: its shape is {tuple(image.shape)}, it has no pixels")
    if _tensor(boxes, "boxes").dim() < 1 or boxes.shape[-1] != 4:
        raise InvalidArgument(f"boxes: their shape is {tuple(boxes.shape)}, the last extent must be 4")
    if boxes.is_complex() or boxes.is_quantized or boxes.dtype == torch.bool:
        raise Unsupported(f"boxes: their dtype is {boxes.dtype}, must be integers or real floating numbers")
    if boxes.device != image.device:
        raise InvalidArgument(f"boxes: are on {boxes.device}, but image is on {image.device}")
    table = _operators.sat(work, "padded", torch.float64, "first")
    leading = boxes.shape[:-1]
    top, left, bottom, right = (one.reshape(-1) for one in _edges(boxes, format))
    sums = _corner(table, bottom, right) - _corner(table, top, right)
    sums = sums - (_corner(table, bottom, left) - _corner(table, top, left))
    return sums.reshape((*image.shape[:-2], *leading)).to(image.dtype)


def box_mean(image: Tensor, boxes: Tensor, *, format: BoxFormat = "rchw") -> Tensor:
    """`box_sum` divided by the boxes' areas, also with gradients for the edges.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.box_mean(torch.arange(12.0).reshape(3, 4), torch.tensor([[1, 1, 2, 2]]))
    tensor([7.5000])
    """
    sums = box_sum(_image(image).to(torch.float64), boxes, format=format)
    top, left, bottom, right = _edges(boxes, format)
    return (sums / ((bottom - top) * (right - left))).to(image.dtype)


def box_pool2d(
    image: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """`torch.nn.functional.avg_pool2d` by running sums: the area of the kernel does not count.

    Args:
        image: (N, C, rows, cols) or (C, rows, cols), floating.
        kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: As of ``avg_pool2d``.

    Returns:
        What ``avg_pool2d`` returns, summed in float64. Means of whole kernels (without ceil_mode and divisors of their own)
        are one `box_filter` of the image, and one copy where a stride is above 1; on a GPU it launches no other kernels.

    Raises:
        InvalidArgument: a ValueError; a padding of more than half of the kernel, a kernel larger than the padded image.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.box_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    if _tensor(image, "image").dim() not in (3, 4):
        shape = tuple(image.shape)
        raise InvalidArgument(f"image: its shape is {shape}, must be (N, C, rows, cols) or (C, rows, cols)")
    work = _image(image)
    kernel, pad = _pair(kernel_size, "kernel_size"), _pair(padding, "padding")
    steps = kernel if stride is None else _pair(stride, "stride")
    if divisor_override == 0:
        raise InvalidArgument("divisor_override: is 0")
    extents: list[int] = []
    wanted: list[int] = []
    beyond: list[int] = []
    whole = count_include_pad and not ceil_mode and divisor_override is None  # windows, whose means are wanted
    shares: list[Tensor] = []
    for extent, size, step, margin in zip(image.shape[-2:], kernel, steps, pad, strict=True):
        if size < 1 or step < 1 or margin < 0 or 2 * margin > size:
            raise InvalidArgument(
                f"kernel_size: is {size} with a stride of {step} and a padding of {margin}; "
                "the first two must be at least 1, the last at most half of the kernel"
            )
        room = extent + 2 * margin - size
        count = (room + (step - 1 if ceil_mode else 0)) // step + 1
        if ceil_mode and (count - 1) * step >= extent + margin:
            count -= 1
        if room < 0 and count < 1:
            raise InvalidArgument(f"kernel_size: is {size}, the padded image has only {extent + 2 * margin}")
        extents += [margin, size - 1 - margin] if margin < size else [size - 1, 0]
        # Windows begin `margin` before the pixel that they are asked of; those of pixels beyond the image need some.
        beyond.append(max(0, (count - 1) * step + 1 - extent))
        wanted += [step, count]
        if whole:
            continue
        first = torch.arange(count, device=image.device) * step - margin
        last = (first + size).clamp(max=extent + margin)
        if not count_include_pad:
            first, last = first.clamp(min=0), last.clamp(max=extent)
        shares.append((last - first).to(torch.float64))
    if any(beyond):
        work = functional.pad(work, (0, beyond[1], 0, beyond[0]))
    row_step, rows, col_step, cols = wanted
    which = (..., slice(0, (rows - 1) * row_step + 1, row_step), slice(0, (cols - 1) * col_step + 1, col_step))
    if whole:
        means = _operators.box_filter(work, extents, "constant", 0.0, True, work.dtype)
        return means[which].contiguous().to(image.dtype)
    sums = _operators.box_filter(work, extents, "constant", 0.0, False, torch.float64)[which]
    area = shares[0][:, None] * shares[1][None, :] if divisor_override is None else divisor_override
    return (sums / area).to(image.dtype)
