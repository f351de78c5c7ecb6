"""boxsum for PyTorch: with gradients of any order, `torch.vmap` and `torch.compile(fullgraph=True)`; on the CPU and, in
builds with CUDA, on GPUs, where calls only enqueue and can be captured into CUDA graphs.

Functions of the main package take tensors, too, when no gradient is wanted. Here are operators
(``torch.ops.boxsum.*``) with all that PyTorch asks of one, functions that are made of them, and modules.

>>> import torch, boxsum.torch
>>> image = torch.ones(2, 3, 32, 32, requires_grad=True)
>>> boxsum.torch.box_filter(image, 5).sum().backward()
>>> boxsum.torch.box_pool2d(image, 4).shape
torch.Size([2, 3, 8, 8])
"""

from boxsum.torch._functions import (
    box_filter,
    box_mean,
    box_pool2d,
    box_sum,
    local_contrast,
    local_statistics,
    sat,
    sat_squares,
    table_sum,
    threshold,
)
from boxsum.torch._modules import BoxConv2d, BoxFilter2d, BoxPool2d, LocalContrastNorm2d, Threshold2d

__all__ = [
    "BoxConv2d",
    "BoxFilter2d",
    "BoxPool2d",
    "LocalContrastNorm2d",
    "Threshold2d",
    "box_filter",
    "box_mean",
    "box_pool2d",
    "box_sum",
    "local_contrast",
    "local_statistics",
    "sat",
    "sat_squares",
    "table_sum",
    "threshold",
]
