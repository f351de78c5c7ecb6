"""Tensors as they come: views with a sign or strides of their own, other layouts, gradients. Results are those of a plain
copy; what has no numbers that can be read raises one error that names the argument.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import boxsum
import boxsum.torch

pytestmark = pytest.mark.filterwarnings("default")
IMAGE = torch.rand(6, 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
NUMBERS = (IMAGE * 90).to(torch.uint8)


class Tensor(torch.Tensor):
    pass


def inferred():
    with torch.inference_mode():
        return torch.rand(6, 7)


PLAIN = {
    "flipped": IMAGE.flip(0),
    "transposed": IMAGE.T,
    "every second": IMAGE[:, ::2],
    "one row": IMAGE[:1].expand(6, 7),
    "one column": IMAGE[:, :1].expand(6, 7),
    "one number": IMAGE[:1, :1].expand(6, 7),
    "overlapping rows": torch.as_strided(IMAGE, (5, 6), (2, 1)),
    "channels last": IMAGE.expand(2, 3, 6, 7).to(memory_format=torch.channels_last),
    "other sign": torch._neg_view(IMAGE),
    "imaginary part": torch.complex(IMAGE, IMAGE).conj().imag,
    "not aligned": torch.frombuffer(bytearray(6 * 7 * 4 + 1), dtype=torch.uint8)[1:43].view(6, 7),
    "float16": IMAGE.half(),
    "bfloat16": IMAGE.bfloat16(),
    "bool": IMAGE > 0.5,
    "int8": NUMBERS.to(torch.int8),
    "int16": -NUMBERS.to(torch.int16),
    "uint16": NUMBERS.to(torch.uint16),
    "uint32": NUMBERS.to(torch.uint32),
    "int32": NUMBERS.to(torch.int32),
    "subclass": IMAGE.as_subclass(Tensor),
    "of inference": inferred(),
    "no rows": IMAGE[:0],
}
FILTERS = {
    "sat": boxsum.sat,
    "sums": lambda x: boxsum.box_filter(x, 3, stat="sum", border="mirror"),
    "means": lambda x: boxsum.box_filter(x, 3, dtype="float64"),
    "statistics": lambda x: boxsum.local_statistics(x, 3)[1],
    "contrast": lambda x: boxsum.local_contrast(x, 3, dtype="float64"),
    "threshold": lambda x: boxsum.threshold(x, 3),
    "histogram": lambda x: boxsum.integral_histogram(x, 4, range=(0, 100)).region([0, 0, 2, 2]),
    "windows of histograms": lambda x: boxsum.integral_histogram(x, 4, range=(0, 100)).windows(2),
    "rows": lambda x: next(boxsum.filter_rows(boxsum.box_filter, [x], 3)),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_what_it_gives_of_a_plain_copy(kind):
    tensor = PLAIN[kind]
    wide = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
    plain = np.array(wide.detach().resolve_neg().numpy(), order="C")
    for name, call in FILTERS.items():
        try:
            expected = call(plain)
        except (boxsum.Error, StopIteration) as error:
            with pytest.raises(type(error)):
                call(tensor)
            continue
        result = call(tensor)
        assert isinstance(result, torch.Tensor), name
        numbers = result.numpy()
        assert numbers.dtype == (np.int64 if expected.dtype == np.uint64 else expected.dtype), name
        np.testing.assert_allclose(numbers.astype(np.float64), expected.astype(np.float64), 1e-12, 1e-12, err_msg=name)


WITHOUT_NUMBERS = {  # made when asked for: PyTorch warns of some
    "sparse": lambda: IMAGE.to_sparse(),
    "rows of a sparse one": lambda: IMAGE.to_sparse_csr(),
    "nested": lambda: torch.nested.nested_tensor([IMAGE, IMAGE[:3]]),
    "complex": lambda: torch.complex(IMAGE, IMAGE),
    "conjugate": lambda: torch.complex(IMAGE, IMAGE).conj(),
    "quantised": lambda: torch.quantize_per_tensor(IMAGE.float(), 0.1, 0, torch.quint8),
    "8-bit floats": lambda: IMAGE.to(torch.float8_e4m3fn),
    "meta": lambda: IMAGE.to("meta"),
    "no axes": lambda: torch.tensor(3.0),
}
NAMED = re.compile(r"(image|boxes|mask|radius|kernel|target|out|values|blocks|table)(\[\d\])?: ")
OF_TORCH = {
    "sat": boxsum.torch.sat,
    "box_filter": lambda x: boxsum.torch.box_filter(x, 3),
    "local_statistics": lambda x: boxsum.torch.local_statistics(x, 3),
    "local_contrast": lambda x: boxsum.torch.local_contrast(x, 3),
    "box_pool2d": lambda x: boxsum.torch.box_pool2d(x, 2),
    "box_sum": lambda x: boxsum.torch.box_sum(x, torch.ones(4)),
    "box_sum, boxes": lambda x: boxsum.torch.box_sum(IMAGE, x),
    "box_mean": lambda x: boxsum.torch.box_mean(x, torch.ones(4)),
}


@pytest.mark.parametrize("kind", WITHOUT_NUMBERS)
def test_what_has_no_numbers_is_named(kind):
    tensor = WITHOUT_NUMBERS[kind]()
    calls = {
        **FILTERS,
        "boxes": lambda x: boxsum.box_sum(IMAGE, x, layout="inclusive"),
        "mask": lambda x: boxsum.box_filter(IMAGE, 3, mask=x),
        "radius": lambda x: boxsum.variable_box_filter(IMAGE, x),
        "kernel": lambda x: boxsum.convolve(IMAGE, x),
        "target": lambda x: boxsum.integral_histogram(NUMBERS, 4).search(x, 2),
        "out": lambda x: boxsum.sat(IMAGE, out=x),
        "table": lambda x: boxsum.box_sum(x, [0, 0, 1, 1], layout="inclusive"),
    }
    if kind != "meta":  # which boxsum.torch takes
        calls.update({f"torch.{name}": call for name, call in OF_TORCH.items()})
    for name, call in calls.items():
        if kind == "8-bit floats" and "boxes" in name:
            continue
        with pytest.raises(boxsum.Error, match=NAMED) as raised:
            call(tensor)
        assert isinstance(raised.value, (ValueError, TypeError)), name


def test_gradients_are_not_lost():
    wanted = IMAGE.clone().requires_grad_()
    for call in (
        lambda: boxsum.sat(wanted),
        lambda: boxsum.sat(torch.nn.Parameter(IMAGE)),
        lambda: boxsum.sat(IMAGE, out=torch.zeros(6, 7, dtype=torch.float64, requires_grad=True)),
        lambda: boxsum.box_sum(IMAGE, torch.tensor([0.0, 0, 2, 2], requires_grad=True), layout="inclusive"),
        lambda: boxsum.convolve(IMAGE, torch.ones(3, 3, requires_grad=True)),
    ):
        with pytest.raises(boxsum.InvalidArgument, match="requires a gradient, which boxsum.torch records"):
            call()
    with torch.no_grad():
        assert torch.equal(boxsum.sat(wanted), boxsum.sat(IMAGE))


def test_results_are_written_where_they_are_read():
    for out in (torch._neg_view(torch.zeros(6, 7, dtype=torch.float64)), torch.complex(IMAGE, IMAGE).conj().imag):
        with pytest.raises(boxsum.InvalidArgument, match="out: its memory has the negative numbers"):
            boxsum.sat(IMAGE, out=out)
    with pytest.raises(boxsum.InvalidArgument, match="out: its strides are none"):
        boxsum.sat(IMAGE, out=torch.zeros(1, 7, dtype=torch.float64).expand(6, 7))
    with pytest.raises(boxsum.InvalidArgument, match="out: overlaps table"):
        table = boxsum.sat(IMAGE)
        boxsum.box_sum(table, [[0, 0, 1, 1]], layout="inclusive", out=table[0, :1])
    with pytest.raises(boxsum.Unsupported, match="image: is of type ndarray, must be a tensor"):
        boxsum.torch.sat(IMAGE.numpy())
    with pytest.raises(boxsum.InvalidArgument, match="image: its shape is .0, 7., it has no pixels"):
        boxsum.torch.box_sum(IMAGE[:0], torch.ones(4))
    with pytest.raises(boxsum.InvalidArgument, match="boxes: are on meta, but image is on cpu"):
        boxsum.torch.box_sum(IMAGE, torch.ones(4, device="meta"))
