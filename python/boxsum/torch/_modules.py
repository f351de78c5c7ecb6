"""Modules."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from boxsum._filters import ThresholdMethod
from boxsum._types import Border, Size
from boxsum.errors import InvalidArgument
from boxsum.torch import _operators
from boxsum.torch._functions import _DEFAULT_K, _image, box_filter, box_pool2d, local_contrast, read, threshold


class BoxFilter2d(torch.nn.Module):
    """`boxsum.torch.box_filter` as a module: (..., rows, cols) to the same shape.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.BoxFilter2d((1, 3), border="replicate")(torch.tensor([[0.0, 3.0, 6.0]]))
    tensor([[1., 3., 5.]])
    """

    def __init__(
        self,
        size: Size,
        *,
        stat: Literal["mean", "sum"] = "mean",
        border: Border = "reflect",
        cval: float = 0,
        origin: Size = 0,
    ) -> None:
        super().__init__()
        self.size, self.stat, self.border, self.cval, self.origin = size, stat, border, cval, origin

    def forward(self, image: Tensor) -> Tensor:
        return box_filter(
            image, self.size, stat=self.stat, border=self.border, cval=self.cval, origin=self.origin
        )

    def extra_repr(self) -> str:
        return f"{self.size}, stat={self.stat!r}, border={self.border!r}"


class BoxPool2d(torch.nn.Module):
    """`torch.nn.AvgPool2d` by running sums; see `boxsum.torch.box_pool2d`.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.BoxPool2d(2)(torch.arange(8.0).reshape(1, 1, 2, 4))
    tensor([[[[2.5000, 4.5000]]]])
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.arguments = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    def forward(self, image: Tensor) -> Tensor:
        return box_pool2d(image, *self.arguments)

    def extra_repr(self) -> str:
        return f"{self.arguments[0]}, stride={self.arguments[1]}, padding={self.arguments[2]}"


class LocalContrastNorm2d(torch.nn.Module):
    """`boxsum.torch.local_contrast` as a module: (..., rows, cols) to the same shape.

    >>> import torch, boxsum.torch
    >>> boxsum.torch.LocalContrastNorm2d((1, 3))(torch.tensor([[0.0, 0.0, 3.0]])).round(decimals=2)
    tensor([[ 0.0000, -0.7100,  0.7100]])
    """

    def __init__(self, size: Size = 15, *, epsilon: float = 1e-6, border: Border = "reflect") -> None:
        super().__init__()
        self.size, self.epsilon, self.border = size, epsilon, border

    def forward(self, image: Tensor) -> Tensor:
        return local_contrast(image, self.size, epsilon=self.epsilon, border=self.border)

    def extra_repr(self) -> str:
        return f"{self.size}, epsilon={self.epsilon}, border={self.border!r}"


class Threshold2d(torch.nn.Module):
    """`boxsum.torch.threshold` as a module: (..., rows, cols) to the same shape. Sauvola's, where nothing else is said.

    Args:
        size, method, r, border, result, sharpness: As of `boxsum.torch.threshold`.
        k: The formula's k, by default the method's.
        learned: Whether k and the sharpness are parameters, or constants.

    >>> import torch, boxsum.torch
    >>> page = torch.tensor([[0.9, 0.9, 0.1, 0.9, 0.9]])
    >>> boxsum.torch.Threshold2d((1, 5), result="mask")(page)
    tensor([[ True,  True, False,  True,  True]])
    """

    k: Tensor
    sharpness: Tensor

    def __init__(
        self,
        size: Size = 15,
        *,
        method: ThresholdMethod = "sauvola",
        k: float | None = None,
        r: float = 0.5,
        border: Border = "reflect",
        result: Literal["mask", "threshold", "soft"] = "soft",
        sharpness: float = 50.0,
        learned: bool = False,
    ) -> None:
        super().__init__()
        if method not in _DEFAULT_K:
            raise InvalidArgument(f"method: is {method!r}, must be one of {', '.join(map(repr, _DEFAULT_K))}")
        self.size, self.method, self.r, self.border, self.result = size, method, r, border, result
        numbers = {"k": _DEFAULT_K[method] if k is None else k, "sharpness": sharpness}
        for name, number in numbers.items():
            value = torch.tensor(float(number))
            if learned:
                self.register_parameter(name, torch.nn.Parameter(value))
            else:
                self.register_buffer(name, value)

    def forward(self, image: Tensor) -> Tensor:
        return threshold(
            image,
            self.size,
            method=self.method,
            k=self.k,
            r=self.r,
            border=self.border,
            result=self.result,
            sharpness=self.sharpness,
        )

    def extra_repr(self) -> str:
        return f"{self.size}, method={self.method!r}, r={self.r}, border={self.border!r}, result={self.result!r}"


class BoxConv2d(torch.nn.Module):
    """Means over boxes around every pixel, whose edges are learned: box convolution.

    (N, channels, rows, cols) to (N, channels * boxes, rows, cols). Edges lie between pixels, in pixels from the middle
    of the pixel that a window belongs to; beyond the image there is 0. The time does not depend on the boxes' sizes.

    Args:
        channels: Of the input; each has boxes of its own.
        boxes: How many for each channel.
        largest: Edges begin at random within half of it, (rows, cols) or one number.

    Source: Burkov and Lempitsky, "Deep neural networks with box convolutions", 2018.

    >>> import torch, boxsum.torch
    >>> convolution = boxsum.torch.BoxConv2d(channels=3, boxes=2, largest=9)
    >>> convolution(torch.ones(1, 3, 16, 16)).shape
    torch.Size([1, 6, 16, 16])
    """

    edges: torch.nn.Parameter
    """(channels, boxes, 4): top, left, bottom and right of each box."""

    def __init__(self, channels: int, boxes: int, largest: Size) -> None:
        super().__init__()
        rows, cols = (largest, largest) if isinstance(largest, int) else largest
        if channels < 1 or boxes < 1 or rows < 1 or cols < 1:
            raise InvalidArgument(f"channels, boxes, largest: are {channels}, {boxes}, {largest}; must be at least 1")
        half = torch.tensor([rows, cols], dtype=torch.get_default_dtype()) / 2
        far = torch.rand(channels, boxes, 2) * half
        near = -torch.rand(channels, boxes, 2) * half
        # No box begins empty: at least a pixel between the edges.
        self.edges = torch.nn.Parameter(torch.cat([near - 0.5, far + 0.5], dim=-1))

    def forward(self, image: Tensor) -> Tensor:
        channels, boxes, _ = self.edges.shape
        if image.dim() != 4 or image.shape[1] != channels:
            raise InvalidArgument(f"image: its shape is {tuple(image.shape)}, must be (N, {channels}, rows, cols)")
        table = _operators.sat(_image(image), "padded", torch.float64, "first")
        rows, cols = image.shape[-2:]
        r = torch.arange(rows, device=image.device, dtype=torch.float64) + 0.5
        c = torch.arange(cols, device=image.device, dtype=torch.float64) + 0.5
        edges = self.edges.to(torch.float64)
        results = []
        for channel in range(channels):
            one = table[:, channel]
            for box in range(boxes):
                top, left, bottom, right = edges[channel, box].unbind()
                high = read(one, r + bottom, -2) - read(one, r + top, -2)
                sums = read(high, c + right, -1) - read(high, c + left, -1)
                results.append(sums / ((bottom - top) * (right - left)))
        return torch.stack(results, dim=1).to(image.dtype)

    def extra_repr(self) -> str:
        return f"{self.edges.shape[0]}, {self.edges.shape[1]}"
