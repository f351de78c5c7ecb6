"""boxsum.torch on the CPU, beside PyTorch's own arithmetic, gradients by differences, and its checks of operators."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest
import torch
from torch import library
from torch.autograd import gradcheck, gradgradcheck
from torch.nn import functional

import boxsum
import boxsum.torch
import boxsum.torch._functions

# Warnings of PyTorch about itself are none of this.
pytestmark = pytest.mark.filterwarnings("default")
BORDERS = ("shrink", "reflect", "replicate", "constant", "mirror", "wrap")
LAYOUTS = ("inclusive", "exclusive", "padded")


def image_of(*shape, dtype=torch.float64, seed=0, grad=False):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)


def test_examples_in_the_documentation():
    for module in (boxsum.torch, boxsum.torch._functions, boxsum.torch._modules):
        assert doctest.testmod(module).failed == 0
    for name in boxsum.torch.__all__:
        assert ">>> " in (getattr(boxsum.torch, name).__doc__ or ""), name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables(layout):
    image = image_of(2, 3, 5, 7)
    expected = image.cumsum(-2).cumsum(-1)
    if layout == "padded":
        expected = functional.pad(expected, (1, 0, 1, 0))
    if layout == "exclusive":
        expected = functional.pad(expected[..., :-1, :-1], (1, 0, 1, 0))
    torch.testing.assert_close(boxsum.torch.sat(image, layout=layout), expected, rtol=1e-14, atol=1e-14)
    numbers = torch.randint(0, 256, (2, 5, 7), dtype=torch.uint8)
    table = boxsum.torch.sat(numbers, layout="inclusive")
    assert table.dtype == torch.int64
    assert torch.equal(table, numbers.to(torch.int64).cumsum(-2).cumsum(-1))
    mirrored = boxsum.torch.sat(image.flip((-2, -1)), layout=layout).flip((-2, -1))
    torch.testing.assert_close(boxsum.torch.sat(image, layout=layout, corner="last"), mirrored, rtol=1e-14, atol=1e-14)
    one = image_of(4, 5, grad=True)
    for corner in ("first", "last"):
        assert gradcheck(lambda x: boxsum.torch.sat(x, layout=layout, corner=corner), one)
        assert gradgradcheck(lambda x: boxsum.torch.sat(x, layout=layout, corner=corner) ** 2, one)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_of_squares(layout):
    image = image_of(2, 3, 5, 7)
    sums, squares = boxsum.torch.sat_squares(image, layout=layout)
    for table, pixels in ((sums, image), (squares, image**2)):
        expected = boxsum.torch.sat(pixels, layout=layout)
        torch.testing.assert_close(table, expected, rtol=1e-14, atol=1e-14)
    for kind, least in ((torch.uint8, 0), (torch.int16, -300), (torch.int8, -128), (torch.bool, 0)):
        numbers = torch.randint(least, 120, (2, 5, 7)).to(kind)
        for table, power in zip(boxsum.torch.sat_squares(numbers), (1, 2), strict=True):
            assert table.dtype == torch.int64
            assert torch.equal(table, (numbers.to(torch.int64) ** power).cumsum(-2).cumsum(-1))
    one = image_of(4, 5, grad=True)
    assert gradcheck(lambda x: boxsum.torch.sat_squares(x, layout=layout), one)
    assert gradgradcheck(lambda x: boxsum.torch.sat_squares(x, layout=layout), one)


INSIDE = [[0, 0, 1, 1], [1, 2, 2, 3], [0, 1, 3, 2], [2, 0, 1, 4], [1, 2, 2, 3]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_of_tables(layout):
    image = image_of(2, 5, 6, grad=True)
    boxes = torch.tensor([INSIDE, INSIDE[::-1]])
    table = boxsum.torch.sat(image, layout=layout)
    sums = boxsum.torch.table_sum(table, boxes, layout=layout)
    expected = torch.stack(
        [image[:, r : r + h, c : c + w].sum((-2, -1)) for r, c, h, w in boxes.reshape(-1, 4).tolist()], dim=-1
    ).reshape(2, 2, 5)
    torch.testing.assert_close(sums, expected, rtol=1e-13, atol=1e-13)
    weights = image_of(*sums.shape, seed=1)
    (got,) = torch.autograd.grad((sums * weights).sum(), image)
    (right,) = torch.autograd.grad((expected * weights).sum(), image)
    torch.testing.assert_close(got, right, rtol=1e-12, atol=1e-12)
    entries = image_of(5, 6, grad=True)
    assert gradcheck(lambda x: boxsum.torch.table_sum(x, boxes[0], layout=layout), entries)
    assert gradgradcheck(lambda x: boxsum.torch.table_sum(x, boxes[0], layout=layout) ** 2, entries)
    # The variance of boxes, from both tables, learns the image.
    sums, squares = (boxsum.torch.table_sum(one, boxes[0], layout=layout) for one in boxsum.torch.sat_squares(image, layout=layout))
    pixels = boxes[0, :, 2] * boxes[0, :, 3]
    variances = squares / pixels - (sums / pixels) ** 2
    (got,) = torch.autograd.grad(variances.sum(), image)
    by_parts = sum(image[:, r : r + h, c : c + w].var((-2, -1), correction=0).sum() for r, c, h, w in INSIDE)
    torch.testing.assert_close(got, torch.autograd.grad(by_parts, image)[0], rtol=1e-11, atol=1e-12)
    numbers = torch.randint(-9, 9, (5, 6), dtype=torch.int32)
    whole = boxsum.torch.table_sum(boxsum.torch.sat(numbers, layout=layout), boxes[0], layout=layout)
    assert whole.tolist() == [numbers[r : r + h, c : c + w].sum().item() for r, c, h, w in INSIDE]
    # In every format, and mapped over tables, boxes and both.
    a, b, h, w = boxes[0].unbind(-1)
    formats = {"yxyx": (a, b, a + h, b + w), "xyxy": (b, a, b + w, a + h), "xywh": (b, a, w, h)}
    plain = table.detach()
    for name, order in formats.items():
        got = boxsum.torch.table_sum(plain, torch.stack(order, -1), layout=layout, format=name)
        assert torch.equal(got, boxsum.torch.table_sum(plain, boxes[0], layout=layout))

    def of(x, y):
        return boxsum.torch.table_sum(x, y, layout=layout)

    for dims, expected in (
        ((0, None), of(plain, boxes[0])),
        ((None, 0), of(plain[0], boxes)),
        ((0, 0), torch.stack([of(plain[0], boxes[0]), of(plain[1], boxes[1])])),
    ):
        given = [one if dim is not None else one[0] for one, dim in zip((plain, boxes), dims, strict=True)]
        torch.testing.assert_close(torch.vmap(of, in_dims=dims)(*given), expected, rtol=1e-13, atol=1e-13)
    gradients = torch.vmap(torch.func.grad(lambda x, y: of(x, y).square().sum()), in_dims=(0, 0))(plain, boxes)
    for i in range(2):
        one = plain[i].clone().requires_grad_()
        of(one, boxes[i]).square().sum().backward()
        torch.testing.assert_close(gradients[i], one.grad, rtol=1e-13, atol=1e-13)


METHODS = ("bradley", "niblack", "sauvola", "wolf", "nick", "singh", "phansalkar")


@pytest.mark.parametrize("method", METHODS)
def test_thresholds_and_their_gradients(method):
    image = image_of(2, 6, 7, grad=True)
    for border in BORDERS:
        for options in ({}, {"k": 0.3, "r": 0.4}, {"origin": (1, -2)}):
            given = options if method in ("sauvola", "singh", "phansalkar") else {k: v for k, v in options.items() if k != "r"}
            got = boxsum.torch.threshold(image, (3, 4), method=method, border=border, result="threshold", **given)
            expected = boxsum.threshold(
                image.detach(), (3, 4), method=method, border=border, result="threshold", **given
            )
            torch.testing.assert_close(got.detach(), expected, rtol=1e-11, atol=1e-12)
    mask = boxsum.torch.threshold(image, 5, method=method, result="mask")
    assert torch.equal(mask, boxsum.threshold(image.detach(), 5, method=method))
    k = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x, y: boxsum.torch.threshold(x, 3, method=method, k=y, sharpness=3.0), (image, k))
    assert gradgradcheck(lambda x, y: boxsum.torch.threshold(x, 3, method=method, k=y, sharpness=3.0), (image, k))
    flat = torch.full((4, 5), 0.5, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(boxsum.torch.threshold(flat, 3, method=method).sum(), flat)
    assert gradient.isfinite().all()


def test_a_threshold_is_learned():
    page = image_of(24, 24)
    wanted = boxsum.torch.threshold(page, 7, method="niblack", k=0.4, result="threshold")
    layer = boxsum.torch.Threshold2d(7, method="niblack", result="threshold", learned=True).double()
    assert {name for name, _ in layer.named_parameters()} == {"k", "sharpness"}
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        (layer(page) - wanted).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(layer.k.detach(), torch.tensor(0.4, dtype=torch.float64), rtol=0, atol=1e-3)
    fixed = boxsum.torch.Threshold2d(7)
    assert list(fixed.parameters()) == [] and set(fixed.state_dict()) == {"k", "sharpness"}
    torch.testing.assert_close(fixed.double()(page), boxsum.torch.threshold(page, 7, k=fixed.k), rtol=0, atol=0)
    assert "7, method='sauvola'" in repr(fixed)


def by_hand(image, size, border, origin, mean, cval):
    """The filter in PyTorch's own operators, which differentiate themselves."""
    rows, cols = size
    above, left = rows // 2 + origin[0], cols // 2 + origin[1]
    height, width = image.shape[-2:]
    at = [range(-above, height + rows - 1 - above), range(-left, width + cols - 1 - left)]
    extended = image
    inside = torch.ones_like(image)
    for axis, places, extent in ((-2, at[0], height), (-1, at[1], width)):
        index, within = [], []
        for place in places:
            within.append(0 <= place < extent)
            if border == "replicate":
                place = min(max(place, 0), extent - 1)
            elif border == "reflect":
                place = [*range(extent), *range(extent - 1, -1, -1)][place % (2 * extent)]
            elif border == "mirror":
                place = [*range(extent), *range(extent - 2, 0, -1)][place % max(2 * extent - 2, 1)]
            index.append(place % extent)
        extended = extended.index_select(axis, torch.tensor(index))
        mask = torch.tensor(within, dtype=image.dtype).reshape([-1, 1] if axis == -2 else [1, -1])
        inside = inside.index_select(axis, torch.tensor(index)) * mask
    if border == "constant":
        extended = extended * inside + cval * (1 - inside)
    if border == "shrink":
        extended = extended * inside
    windows = extended.unfold(-2, rows, 1).unfold(-2, cols, 1)
    sums = windows.sum((-2, -1))
    counts = inside.unfold(-2, rows, 1).unfold(-2, cols, 1).sum((-2, -1)) if border == "shrink" else rows * cols
    return sums / counts if mean else sums


WINDOWS = [((3, 3), (0, 0)), ((4, 2), (1, -1)), ((1, 5), (0, 2)), ((9, 7), (0, 0))]


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("stat", ["mean", "sum"])
def test_box_filters_and_their_gradients(border, stat):
    for size, origin in WINDOWS:
        image = image_of(2, 5, 6, grad=True)

        def ours(x, size=size, origin=origin):
            return boxsum.torch.box_filter(x, size, stat=stat, border=border, cval=0.5, origin=origin)

        def theirs(x, size=size, origin=origin):
            return by_hand(x, size, border, origin, stat == "mean", 0.5)

        result, expected = ours(image), theirs(image)
        torch.testing.assert_close(result, expected, rtol=1e-13, atol=1e-13)
        weights = image_of(*result.shape, seed=1)
        (got,) = torch.autograd.grad((result * weights).sum(), image)
        (right,) = torch.autograd.grad((expected * weights).sum(), image)
        torch.testing.assert_close(got, right, rtol=1e-12, atol=1e-12)
    small = image_of(4, 5, grad=True)
    assert gradcheck(lambda x: boxsum.torch.box_filter(x, (2, 3), stat=stat, border=border), small)
    assert gradgradcheck(lambda x: boxsum.torch.box_filter(x, (2, 3), stat=stat, border=border) ** 2, small)


@pytest.mark.parametrize("border", BORDERS)
def test_statistics_and_their_gradients(border):
    image = image_of(4, 5, grad=True)
    mean, variance, deviation = boxsum.torch.local_statistics(
        image, (3, 2), results=("mean", "var", "std"), border=border
    )
    first = by_hand(image, (3, 2), border, (0, 0), True, 0)
    second = by_hand(image**2, (3, 2), border, (0, 0), True, 0)
    torch.testing.assert_close(mean, first, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(variance, second - first**2, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(deviation, variance.sqrt(), rtol=1e-13, atol=0)
    for name in ("mean", "var", "std"):
        assert gradcheck(lambda x, n=name: boxsum.torch.local_statistics(x, 3, results=(n,), border=border), image)
    assert gradgradcheck(lambda x: boxsum.torch.local_statistics(x, 3, results=("var",), border=border), image)
    assert gradcheck(lambda x: boxsum.torch.local_contrast(x, 3, epsilon=0.05, border=border), image)
    assert gradgradcheck(lambda x: boxsum.torch.local_contrast(x, 3, epsilon=0.05, border=border), image)
    moved = {"epsilon": 0.05, "border": border, "origin": (-1, 1)}
    expected = boxsum.local_contrast(image.detach(), (2, 3), dtype="float64", **moved)
    torch.testing.assert_close(boxsum.torch.local_contrast(image, (2, 3), **moved).detach(), expected, rtol=1e-11, atol=0)


def test_a_constant_window_has_a_gradient():
    image = torch.ones(4, 5, dtype=torch.float64, requires_grad=True)
    (deviation,) = boxsum.torch.local_statistics(image, 3, results=("std",))
    deviation.sum().backward()
    assert torch.equal(image.grad, torch.zeros(4, 5, dtype=torch.float64))


def test_boxes_with_edges_anywhere():
    image = image_of(2, 6, 7, grad=True)
    boxes = torch.tensor(
        [[0.3, 0.7, 2.2, 3.1], [1.4, 2.6, 0.3, 0.2], [0.0, 0.0, 6.0, 7.0], [2.5, 3.5, 3.3, 3.2]], dtype=torch.float64
    )
    table = boxsum.Table.build(image.detach())
    torch.testing.assert_close(boxsum.torch.box_sum(image, boxes), table.sum(boxes), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(boxsum.torch.box_mean(image, boxes), table.mean(boxes), rtol=1e-12, atol=1e-12)
    inner = boxes[[0, 1, 3]].clone().requires_grad_()  # edges at integers have a gradient on one side only
    for function in (boxsum.torch.box_sum, boxsum.torch.box_mean):
        assert gradcheck(function, (image, inner))
        assert gradgradcheck(function, (image, inner))
    formats = {"rchw": (0, 1, 2, 3), "xywh": (1, 0, 3, 2)}
    for name, order in formats.items():
        got = boxsum.torch.box_sum(image, boxes[:, list(order)], format=name)
        torch.testing.assert_close(got, table.sum(boxes), rtol=1e-12, atol=1e-12)
    edges = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], dim=1)
    got = boxsum.torch.box_sum(image, edges, format="yxyx")
    torch.testing.assert_close(got, table.sum(boxes), rtol=1e-12, atol=1e-12)
    got = boxsum.torch.box_sum(image, edges[:, [1, 0, 3, 2]], format="xyxy")
    torch.testing.assert_close(got, table.sum(boxes), rtol=1e-12, atol=1e-12)
    # What lies beyond the image is 0.
    outside = torch.tensor([[-2.0, -3.0, 20.0, 30.0], [10.0, 10.0, 2.0, 2.0]], dtype=torch.float64)
    got = boxsum.torch.box_sum(image[0], outside)
    torch.testing.assert_close(got, torch.stack([image[0].sum(), torch.zeros((), dtype=torch.float64)]))


def test_pooling_is_average_pooling():
    checked = 0
    for extent, kernel, stride, padding, ceil, include in itertools.product(
        ((7, 9), (8, 5)), (1, 2, 3, (4, 3)), (None, 1, 2, 3), (0, 1, (2, 1)), (False, True), (False, True)
    ):
        image = image_of(2, 3, *extent, grad=True)
        arguments = (kernel, stride, padding, ceil, include)
        try:
            expected = functional.avg_pool2d(image, *arguments)
        except RuntimeError:
            with pytest.raises(boxsum.InvalidArgument):
                boxsum.torch.box_pool2d(image, *arguments)
            continue
        got = boxsum.torch.box_pool2d(image, *arguments)
        torch.testing.assert_close(got, expected, rtol=1e-13, atol=1e-13, msg=str(arguments))
        weights = image_of(*got.shape, seed=2)
        (ours,) = torch.autograd.grad((got * weights).sum(), image)
        (theirs,) = torch.autograd.grad((expected * weights).sum(), image)
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
        checked += 1
    assert checked > 200
    image = image_of(1, 8, 8)
    torch.testing.assert_close(
        boxsum.torch.box_pool2d(image, 3, 2, divisor_override=5), functional.avg_pool2d(image, 3, 2, divisor_override=5)
    )


def test_box_convolution():
    torch.manual_seed(3)
    layer = boxsum.torch.BoxConv2d(2, 3, 5).double()
    image = image_of(2, 2, 6, 7, grad=True)
    result = layer(image)
    assert result.shape == (2, 6, 6, 7)
    edges = layer.edges.detach()
    for channel, box in itertools.product(range(2), range(3)):
        top, left, bottom, right = edges[channel, box].tolist()
        for r, c in ((0, 0), (3, 4), (5, 6)):
            one = torch.tensor([r + 0.5 + top, c + 0.5 + left, r + 0.5 + bottom, c + 0.5 + right], dtype=torch.float64)
            expected = boxsum.torch.box_mean(image[:, channel], one, format="yxyx")
            torch.testing.assert_close(result[:, 3 * channel + box, r, c], expected, rtol=1e-12, atol=1e-12)

    def of_both(x, edges):
        return torch.func.functional_call(layer, {"edges": edges}, (x,))

    assert gradcheck(of_both, (image, layer.edges))

    # It learns: a box that is moved by what it should say.
    target = boxsum.torch.BoxConv2d(1, 1, 9).double()
    learner = boxsum.torch.BoxConv2d(1, 1, 9).double()
    with torch.no_grad():
        target.edges.copy_(torch.tensor([[[-1.3, -2.2, 2.6, 0.9]]]))
        learner.edges.copy_(torch.tensor([[[-0.8, -0.9, 0.9, 0.8]]]))
    pictures = image_of(4, 1, 24, 24)
    optimizer = torch.optim.Adam(learner.parameters(), lr=0.05)
    losses = []
    for _ in range(300):
        optimizer.zero_grad()
        loss = ((learner(pictures) - target(pictures).detach()) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 100
    torch.testing.assert_close(learner.edges, target.edges, rtol=0, atol=0.1)


OPERATORS = {
    "sat": lambda x: (x, "padded", torch.float64, "last"),
    "box_filter": lambda x: (x, [1, 2, 0, 1], "reflect", 0.0, True, x.dtype),
    "local_moments": lambda x: (x, [1, 1, 2, 2], "shrink", 0.0),
    "sat_squares": lambda x: (x, "padded", torch.float64, torch.float64),
    "box_sums": lambda x: (x, torch.tensor(INSIDE), "inclusive"),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_pytorch_accepts_the_operators(name, dtype):
    operator = getattr(torch.ops.boxsum, name).default
    for image in (
        image_of(5, 6, dtype=dtype),
        image_of(2, 5, 6, dtype=dtype, grad=True),
        image_of(2, 3, 5, 6, dtype=dtype).to(memory_format=torch.channels_last).requires_grad_(),
        image_of(6, 5, dtype=dtype).T.requires_grad_(),
    ):
        library.opcheck(operator, OPERATORS[name](image))


def everything(x):
    return (
        boxsum.torch.sat(x, layout="padded"),
        boxsum.torch.box_filter(x, (3, 4), border="mirror"),
        *boxsum.torch.local_statistics(x, 3, border="shrink"),
        boxsum.torch.local_contrast(x, 3),
        boxsum.torch.box_pool2d(x, 3, 2, 1),
        boxsum.torch.box_mean(x, torch.tensor([[0.5, 0.5, 2.0, 2.0]], dtype=torch.float64)),
        *boxsum.torch.sat_squares(x, layout="exclusive"),
        boxsum.torch.table_sum(x, torch.tensor(INSIDE), layout="inclusive"),
        boxsum.torch.threshold(x, 3),
    )


def test_vmap():
    images = image_of(4, 2, 5, 6)
    for in_dim in (0, 1, 3):
        given = images.movedim(0, in_dim)
        mapped = torch.vmap(everything, in_dims=in_dim)(given)
        for got, *each in zip(mapped, *(everything(one) for one in images), strict=True):
            torch.testing.assert_close(got, torch.stack(each), rtol=0, atol=1e-15)
    gradients = torch.vmap(torch.func.grad(lambda x: boxsum.torch.box_filter(x, 3).square().sum()))(images)
    one = images[1].clone().requires_grad_()
    boxsum.torch.box_filter(one, 3).square().sum().backward()
    torch.testing.assert_close(gradients[1], one.grad, rtol=0, atol=1e-14)
    # The operators themselves, too.
    tables = torch.vmap(lambda x: torch.ops.boxsum.sat(x, "padded", torch.float64, "first"), in_dims=3)(images.movedim(0, 3))
    torch.testing.assert_close(tables, boxsum.torch.sat(images, layout="padded"), rtol=0, atol=0)
    jacobian = torch.func.jacrev(lambda x: boxsum.torch.sat(x))(images[0, 0, :2, :2])
    assert jacobian.sum() == 9 and jacobian[0, 0].sum() == 1 and jacobian[1, 1].sum() == 4


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile(backend):
    torch.compiler.reset()
    image = image_of(2, 3, 9, 10, dtype=torch.float32, grad=True)
    weights = image_of(2, 3, 9, 10, dtype=torch.float32, seed=4)

    def network(x):
        work = boxsum.torch.local_contrast(boxsum.torch.box_filter(x.relu(), 3, border="mirror"), 5, epsilon=0.1)
        sums, squares = boxsum.torch.sat_squares(x, layout="padded")
        boxes = torch.tensor([[0, 0, 3, 4], [2, 1, 3, 4]])
        total = boxsum.torch.table_sum(sums, boxes, layout="padded").sum() + squares.mean()
        total = total + boxsum.torch.threshold(x, 5, sharpness=2.0).sum()
        total = total + (work * weights).sum() + boxsum.torch.box_pool2d(x, 3, 2).sum()
        return total + boxsum.torch.sat(x).mean()

    expected = network(image)
    (right,) = torch.autograd.grad(expected, image)
    compiled = torch.compile(network, fullgraph=True, backend=backend)
    got = compiled(image)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=0)
    torch.testing.assert_close(torch.autograd.grad(got, image)[0], right, rtol=1e-4, atol=1e-5)


def test_compile_of_transforms():
    torch.compiler.reset()
    images = image_of(3, 9, 10, dtype=torch.float32)
    gradients = torch.vmap(torch.func.grad(lambda x: boxsum.torch.box_filter(x, 3).square().sum()))
    compiled = torch.compile(gradients, backend="aot_eager")
    torch.testing.assert_close(compiled(images), gradients(images), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_narrow_types(dtype):
    image = image_of(3, 20, 30, dtype=dtype)
    wide = image.double()
    eps = torch.finfo(dtype).eps
    got = boxsum.torch.box_filter(image, 9)
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), boxsum.torch.box_filter(wide, 9), rtol=eps, atol=0)
    pooled = boxsum.torch.box_pool2d(image, 5, 2)
    assert pooled.dtype == dtype
    torch.testing.assert_close(pooled.double(), boxsum.torch.box_pool2d(wide, 5, 2), rtol=eps, atol=0)
    assert boxsum.torch.sat(image).dtype == torch.float64


def test_bfloat16_is_read_as_float32():
    image = image_of(5, 7, dtype=torch.bfloat16)
    copies = boxsum.memory.copies()
    table = boxsum.sat(image)
    assert boxsum.memory.copies() == copies + 1
    assert torch.equal(table, boxsum.sat(image.float())) and table.dtype == torch.float64
    assert torch.equal(boxsum.box_filter(image, 3), boxsum.box_filter(image.float(), 3))
    with pytest.raises(boxsum.Unsupported, match="out: its dtype is torch.bfloat16, results are float32 or wider"):
        boxsum.box_filter(image, 3, out=image.clone())


def test_bits_repeat():
    torch.use_deterministic_algorithms(True)
    try:
        image = image_of(2, 64, 80, dtype=torch.float32, grad=True)
        gradients = []
        for threads in (1, 2, 1, 2):
            with boxsum.num_threads(threads):
                (one,) = torch.autograd.grad(boxsum.torch.local_contrast(image, 15).pow(3).sum(), image)
            gradients.append(one)
        assert all(torch.equal(gradients[0], one) for one in gradients[1:])
    finally:
        torch.use_deterministic_algorithms(False)


def test_modules():
    image = image_of(2, 3, 12, 10, dtype=torch.float32)
    network = torch.nn.Sequential(
        boxsum.torch.LocalContrastNorm2d(5, epsilon=0.1),
        boxsum.torch.BoxFilter2d((3, 5), border="mirror"),
        boxsum.torch.BoxConv2d(3, 2, 5),
        boxsum.torch.BoxPool2d(4, 2),
    )
    assert network(image).shape == (2, 6, 5, 4)
    text = repr(network)
    assert "BoxFilter2d((3, 5), stat='mean', border='mirror')" in text and "BoxPool2d(4, stride=2, padding=0)" in text
    torch.testing.assert_close(network[1](image), boxsum.torch.box_filter(image, (3, 5), border="mirror"))
    again = boxsum.torch.BoxConv2d(3, 2, 5)
    again.load_state_dict(network[2].state_dict())
    assert torch.equal(again(image), network[2](image))


def test_tensors_in_the_main_functions():
    numbers = torch.randint(0, 256, (6, 7), dtype=torch.uint8)
    array = numbers.numpy()
    table = boxsum.sat(numbers)
    assert isinstance(table, torch.Tensor) and table.dtype == torch.int64
    np.testing.assert_array_equal(table.numpy(), boxsum.sat(array).view(np.int64))
    blurred = boxsum.box_filter(numbers, 3)
    assert isinstance(blurred, torch.Tensor) and torch.equal(blurred, torch.from_numpy(boxsum.box_filter(array, 3)))
    out = torch.empty(6, 7, dtype=torch.uint8)
    assert boxsum.box_filter(numbers, 3, out=out) is out and torch.equal(out, blurred)
    radius = torch.ones(6, 7, dtype=torch.int64)
    assert torch.equal(boxsum.variable_box_filter(numbers, radius), blurred)
    squares = boxsum.Table.build(numbers, squares=True)
    std = torch.empty(1, dtype=torch.float64)
    assert squares.std([[0, 0, 3, 3]], out=std) is std
    assert std.item() == pytest.approx(array[:3, :3].std())
    with pytest.raises(boxsum.InvalidArgument, match="image: requires a gradient, which boxsum.torch records"):
        boxsum.box_filter(image_of(4, 5, grad=True), 3)
    with torch.no_grad():
        assert boxsum.box_filter(image_of(4, 5, grad=True), 3).shape == (4, 5)
    sums = torch.zeros(6, 7, dtype=torch.int64)
    assert boxsum.sat(numbers, out=sums) is sums and torch.equal(sums, table)


ELEMENTS = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
ELEMENTS += ["float16", "float32", "float64"]


def test_frames_that_are_tensors():
    frames = torch.stack([image_of(9, 11, seed=seed) for seed in range(3)]).mul(40).to(torch.uint8)
    request = boxsum.FrameRequest(boxes=[[1, 2, 3, 4]], tensor=True, sizes=3, target=torch.ones(4), match_histograms=True)
    for result, frame in zip(boxsum.histogram_pipeline(frames, request, 4), frames, strict=True):
        alone = boxsum.integral_histogram(frame, 4)
        for ours, right in (
            (result.histograms, alone.region([[1, 2, 3, 4]])),
            (result.tensor.values, alone.values),
            (result.match_histograms, alone.region([list(result.matches[0].box)])),
        ):
            assert type(ours) is torch.Tensor and ours.dtype == right.dtype
            assert np.array_equal(ours.numpy(), right.numpy())
    with pytest.raises(boxsum.InvalidArgument, match="frames: requires a gradient"):
        boxsum.histogram_pipeline([torch.ones(3, 4, requires_grad=True)], request, 4, range=(0, 1))


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_memory_of_tensors_is_read_as_it_lies(dtype):
    kind = getattr(torch, dtype)
    whole = (torch.arange(6 * 8 * 10).reshape(6, 8, 10) % 2).to(kind)
    for tensor in (whole, whole[1], whole[::2, 1:, 2:7], whole[0].T, whole[:, ::2], whole[1:1], whole[..., ::3]):
        expected = boxsum.sat(tensor.numpy())
        copies = boxsum.memory.copies()
        got = boxsum.sat(tensor)
        assert got.dtype == (torch.float64 if kind.is_floating_point else torch.int64)
        np.testing.assert_array_equal(got.numpy(), expected.view(got.numpy().dtype))
        boxsum.sat(tensor.numpy())
        assert boxsum.memory.copies() - copies in (0, 2)  # as many of the tensor as of the array


def test_results_own_their_memory():
    boxsum.memory.trim()
    used = boxsum.memory.usage().used_bytes
    results = [boxsum.sat(torch.ones(300, 300)) for _ in range(20)]
    assert boxsum.memory.usage().used_bytes - used >= 20 * 300 * 300 * 8
    part = results[7][10:20, 5]
    del results
    assert 300 * 300 * 8 <= boxsum.memory.usage().used_bytes - used < 2 * 300 * 300 * 8
    assert part.tolist() == [6.0 * (row + 1) for row in range(10, 20)]
    del part
    assert boxsum.memory.usage().used_bytes == used


def test_tensors_without_readable_memory_are_refused():
    from torch._subclasses.fake_tensor import FakeTensorMode

    cases = [
        ("image: its layout is torch.sparse_coo", lambda: boxsum.sat(torch.ones(3, 3).to_sparse())),
        ("image: its dtype is complex64", lambda: boxsum.sat(torch.ones(3, 3, dtype=torch.complex64))),
        ("image: has no memory.*conjugate bit", lambda: boxsum.sat(torch.ones(3, 3, dtype=torch.complex64).conj())),
        ("image: has no memory", lambda: torch.vmap(boxsum.sat)(torch.ones(2, 3, 3))),
        ("image: is on meta", lambda: boxsum.sat(torch.ones(3, 3, device="meta"))),
    ]
    for words, call in cases:
        with pytest.raises(boxsum.Unsupported, match=words):
            call()
    with FakeTensorMode(), pytest.raises(boxsum.Unsupported, match="image: has no memory"):
        boxsum.sat(torch.ones(3, 3))


def test_arguments_are_named():
    image = image_of(4, 5)
    cases = [
        (ValueError, "size: is 0", lambda: boxsum.torch.box_filter(image, 0)),
        (TypeError, "size: is .3, 3, 3.", lambda: boxsum.torch.box_filter(image, (3, 3, 3))),
        (ValueError, "origin: is 2, too much for a size of 3", lambda: boxsum.torch.box_filter(image, 3, origin=2)),
        (ValueError, "border: is 'edge', must be one of", lambda: boxsum.torch.box_filter(image, 3, border="edge")),
        (ValueError, "stat: is 'max'", lambda: boxsum.torch.box_filter(image, 3, stat="max")),
        (TypeError, "image: its dtype is torch.int64", lambda: boxsum.torch.box_filter(image.long(), 3)),
        (ValueError, "image: its shape is .5,.", lambda: boxsum.torch.box_filter(image[0], 3)),
        (ValueError, "layout: is 'none'", lambda: boxsum.torch.sat(image, layout="none")),
        (TypeError, "dtype: is torch.float16", lambda: boxsum.torch.sat(image, dtype=torch.float16)),
        (ValueError, "results: is 'max'", lambda: boxsum.torch.local_statistics(image, 3, results=("max",))),
        (ValueError, "epsilon: is 0", lambda: boxsum.torch.local_contrast(image, 3, epsilon=0)),
        (ValueError, "boxes: their shape is .3,.", lambda: boxsum.torch.box_sum(image, torch.ones(3))),
        (ValueError, "format: is 'x'", lambda: boxsum.torch.box_sum(image, torch.ones(4), format="x")),
        (ValueError, "layout: is 'none'", lambda: boxsum.torch.sat_squares(image, layout="none")),
        (TypeError, "squares_dtype: is torch.uint8", lambda: boxsum.torch.sat_squares(image, squares_dtype=torch.uint8)),
        (TypeError, "boxes: their dtype is torch.float32", lambda: boxsum.torch.table_sum(image, torch.ones(4), layout="padded")),
        (ValueError, "boxes: their shape", lambda: boxsum.torch.table_sum(image, torch.tensor([1, 2]), layout="padded")),
        (TypeError, "table: its dtype", lambda: boxsum.torch.table_sum(image.half(), torch.tensor(INSIDE), layout="padded")),
        (ValueError, "format: is 'x'", lambda: boxsum.torch.table_sum(image, torch.tensor(INSIDE), layout="padded", format="x")),
        (ValueError, r"boxes\[0\]", lambda: boxsum.torch.table_sum(image, torch.tensor([[0, 0, 9, 1]]), layout="padded")),
        (ValueError, "method: is 'otsu'", lambda: boxsum.torch.threshold(image, method="otsu")),
        (ValueError, "method: is 'otsu'", lambda: boxsum.torch.Threshold2d(method="otsu")),
        (ValueError, "result: is 'binary'", lambda: boxsum.torch.threshold(image, result="binary")),
        (ValueError, "image: its shape is .4, 5.", lambda: boxsum.torch.box_pool2d(image, 3)),
        (ValueError, "divisor_override: is 0", lambda: boxsum.torch.box_pool2d(image[None], 3, divisor_override=0)),
        (ValueError, "image: its shape is", lambda: boxsum.torch.BoxConv2d(2, 1, 3)(image[None, None])),
        (ValueError, "channels, boxes, largest", lambda: boxsum.torch.BoxConv2d(0, 1, 3)),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words) as raised:
            call()
        assert isinstance(raised.value, boxsum.Error)
