"""`kornia.filters` with `box_blur` by boxsum, with gradients."""

from __future__ import annotations

from typing import Any

import torch

from boxsum import cuda
from boxsum._types import Border
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of
from boxsum.torch import box_filter

__getattr__, __dir__ = rest_of("kornia.filters")

_BORDERS: dict[str, Border] = {
    "constant": "constant",
    "reflect": "mirror",
    "replicate": "replicate",
    "circular": "wrap",
}


@drop_in("kornia.filters:box_blur", defined_in="kornia.filters.blur")
def box_blur(input: Any, kernel_size: Any, border_type: str = "reflect", separable: bool = True) -> Any:
    """Tensors (B, C, H, W) on the CPU, in builds with CUDA on GPUs, too; integers as float32."""
    if not isinstance(input, torch.Tensor) or input.dim() != 4 or input.numel() == 0:
        raise NotCovered("an image that is no tensor (B, C, H, W)")
    if input.device.type != "cpu" and not (input.device.type == "cuda" and cuda.built()):
        raise NotCovered(f"tensors on {input.device.type}")
    if border_type not in _BORDERS:
        raise NotCovered(f"border_type={border_type!r}")
    sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
    if len(sizes) != 2 or any(not isinstance(one, int) or one < 1 for one in sizes):
        raise NotCovered(f"kernel_size={kernel_size!r}")
    if border_type in ("reflect", "circular") and any(
        one // 2 >= extent for one, extent in zip(sizes, input.shape[-2:], strict=True)
    ):
        raise NotCovered("a window that continues a small image more than once")
    image = input if input.is_floating_point() else input.to(torch.float32)
    # Of an even size Kornia's window begins (size - 1) / 2 before its pixel, rounded down.
    rows, cols = ((one - 1) // 2 - one // 2 for one in sizes)
    return box_filter(image, (sizes[0], sizes[1]), border=_BORDERS[border_type], origin=(rows, cols))
