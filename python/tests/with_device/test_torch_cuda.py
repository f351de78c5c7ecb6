"""boxsum.torch on a GPU: the CPU's results and gradients, streams, CUDA graphs, memory of PyTorch's pool."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import library  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

import boxsum  # noqa: E402
import boxsum.torch  # noqa: E402

# Warnings of PyTorch about itself are none of this.
pytestmark = pytest.mark.filterwarnings("default")
BORDERS = ("shrink", "reflect", "replicate", "constant", "mirror", "wrap")
LAYOUTS = ("inclusive", "exclusive", "padded")


def image_of(*shape, dtype=torch.float64, seed=0, grad=False):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.float64).to(dtype).cuda().requires_grad_(grad)


def assert_as_on_the_cpu(function, *images, tolerance=1e-11):
    """Results and gradients."""
    there = [image.detach().requires_grad_() for image in images]
    here = [image.detach().cpu().requires_grad_() for image in images]
    result, expected = function(*there), function(*here)
    assert result.is_cuda
    assert result.dtype == expected.dtype
    torch.testing.assert_close(result.cpu(), expected, rtol=tolerance, atol=tolerance)
    weights = torch.linspace(0.5, 1.5, expected.numel(), dtype=expected.dtype).reshape(expected.shape)
    gradients = torch.autograd.grad((result * weights.cuda()).sum(), there)
    for got, right in zip(gradients, torch.autograd.grad((expected * weights).sum(), here), strict=True):
        torch.testing.assert_close(got.cpu(), right, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables(layout):
    assert_as_on_the_cpu(lambda x: boxsum.torch.sat(x, layout=layout), image_of(2, 3, 37, 53))
    assert_as_on_the_cpu(lambda x: boxsum.torch.sat(x, layout=layout, corner="last"), image_of(2, 3, 37, 53))
    small = image_of(4, 5, grad=True)
    assert gradcheck(lambda x: boxsum.torch.sat(x, layout=layout), small)
    assert gradgradcheck(lambda x: boxsum.torch.sat(x, layout=layout) ** 2, small)
    numbers = torch.randint(0, 256, (2, 50, 70), dtype=torch.uint8, device="cuda")
    table = boxsum.torch.sat(numbers, layout="inclusive")
    assert torch.equal(table, numbers.to(torch.int64).cumsum(-2).cumsum(-1))


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("stat", ["mean", "sum"])
def test_box_filters(border, stat):
    for size, origin in (((3, 3), (0, 0)), ((4, 2), (1, -1)), ((1, 5), (0, 2)), ((9, 7), (0, 0))):
        def ours(x, size=size, origin=origin):
            return boxsum.torch.box_filter(x, size, stat=stat, border=border, cval=0.5, origin=origin)

        assert_as_on_the_cpu(ours, image_of(2, 25, 36))
    small = image_of(4, 5, grad=True)
    assert gradcheck(lambda x: boxsum.torch.box_filter(x, (2, 3), stat=stat, border=border), small)
    assert gradgradcheck(lambda x: boxsum.torch.box_filter(x, (2, 3), stat=stat, border=border) ** 2, small)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        image = image_of(2, 25, 36, dtype=dtype)
        result = boxsum.torch.box_filter(image, 5, stat=stat, border=border)
        assert result.dtype == dtype
        expected = boxsum.torch.box_filter(image.cpu(), 5, stat=stat, border=border)
        torch.testing.assert_close(result.cpu(), expected)


@pytest.mark.parametrize("border", BORDERS)
def test_statistics(border):
    for name in ("mean", "var", "std"):
        assert_as_on_the_cpu(
            lambda x, n=name: boxsum.torch.local_statistics(x, (3, 2), results=(n,), border=border)[0],
            image_of(20, 31),
            tolerance=1e-9,
        )
    assert_as_on_the_cpu(
        lambda x: boxsum.torch.local_contrast(x, 3, epsilon=0.05, border=border), image_of(20, 31), tolerance=1e-9
    )


def test_boxes_pooling_and_modules():
    boxes = torch.tensor([[0.5, 1.25, 3.0, 4.5], [2.0, 3.0, 1.5, 2.25]], dtype=torch.float64, device="cuda")
    assert_as_on_the_cpu(boxsum.torch.box_sum, image_of(2, 9, 11), boxes)
    assert_as_on_the_cpu(boxsum.torch.box_mean, image_of(2, 9, 11), boxes)
    for arguments in ((3,), (3, 2, 1), ((4, 2), 1, (2, 1), True, False), (2, 2, 0, False, True, 5)):
        assert_as_on_the_cpu(lambda x, a=arguments: boxsum.torch.box_pool2d(x, *a), image_of(2, 3, 20, 31))
    torch.manual_seed(1)
    module = boxsum.torch.BoxConv2d(3, 2, 5).cuda()
    image = image_of(2, 3, 12, 15, dtype=torch.float32)
    result = module(image)
    result.sum().backward()
    expected = module.cpu()(image.cpu())
    torch.testing.assert_close(result.cpu(), expected, rtol=1e-5, atol=1e-5)
    assert module.edges.grad is not None


def test_pytorch_accepts_the_operators():
    image = image_of(2, 6, 7, grad=True)
    library.opcheck(torch.ops.boxsum.sat, (image, "padded", torch.float64, "last"))
    extents = [1, 1, 2, 2]
    library.opcheck(torch.ops.boxsum.box_filter, (image, extents, "wrap", 0.0, True, torch.float64))
    library.opcheck(torch.ops.boxsum.local_moments, (image, extents, "shrink", 0.0))


def test_compile_and_vmap():
    def function(x):
        return boxsum.torch.box_filter(x, 5, border="mirror") * 2 + boxsum.torch.sat(x).to(x.dtype)

    image = image_of(3, 20, 31, dtype=torch.float32)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(image), function(image))
    assert torch.equal(torch.vmap(function)(image), function(image))
    assert torch.equal(torch.compile(torch.vmap(function), backend="aot_eager")(image), function(image))


def test_bits_repeat():
    image = image_of(3, 200, 310, dtype=torch.float32)
    first = boxsum.sat(image, dtype="float32")
    for _ in range(20):
        assert torch.equal(boxsum.sat(image, dtype="float32"), first)


def everything(image, boxes):
    table = boxsum.sat(image, layout="padded", dtype="int64")
    sums = boxsum.box_sum(table, boxes, layout="padded")
    means = boxsum.box_filter(image, 31)
    binary = boxsum.threshold(image, 15)
    counts = boxsum.integral_histogram(image, 16).region(boxes)
    return table, sums, means, binary, counts


def in_ones_own_way(image, boxes):
    """In PyTorch's own arithmetic."""
    table = torch.nn.functional.pad(image.to(torch.int64).cumsum(-2).cumsum(-1), (1, 0, 1, 0))
    sums = torch.stack([image[r : r + h, c : c + w].sum() for r, c, h, w in boxes.tolist()])
    bins = [torch.bincount(image[r : r + h, c : c + w].flatten() // 16, minlength=16) for r, c, h, w in boxes.tolist()]
    return table, sums, torch.stack(bins)


def test_a_graph_is_captured_and_replayed():
    generator = torch.Generator(device="cuda").manual_seed(5)
    image = torch.zeros(200, 320, dtype=torch.uint8, device="cuda")
    boxes = torch.tensor([[0, 0, 200, 320], [3, 5, 100, 7]], device="cuda")
    everything(image, boxes)
    graphs = []
    for _ in range(2):  # each has a workspace of its own
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = everything(image, boxes)
        graphs.append((graph, results))
    larger = torch.zeros(1000, 1000, dtype=torch.uint8, device="cuda")
    for turn in range(1000):
        graph, results = graphs[turn % 2]
        image.random_(0, 256, generator=generator)
        graph.replay()
        boxsum.sat(larger)  # eager calls between, whose workspace grows
        if turn % 100 < 2:
            eager = everything(image, boxes)
            for one, other in zip(results, eager, strict=True):
                assert torch.equal(one.to(torch.int64), other.to(torch.int64))
            table, sums, counts = in_ones_own_way(image, boxes)
            assert torch.equal(results[0], table)
            assert torch.equal(results[1], sums)
            assert torch.equal(results[4].to(torch.int64), counts)


def test_graphs_of_gradients():
    image = image_of(64, 80, dtype=torch.float32, grad=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # as PyTorch's documentation asks
        for _ in range(2):
            boxsum.torch.box_filter(image, 7).square().sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    image.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        boxsum.torch.box_filter(image, 7).square().sum().backward()
    other = image_of(64, 80, dtype=torch.float32, seed=3)
    with torch.no_grad():
        image.copy_(other)
    image.grad.zero_()
    graph.replay()
    expected = other.clone().requires_grad_()
    boxsum.torch.box_filter(expected, 7).square().sum().backward()
    torch.testing.assert_close(image.grad, expected.grad)


def test_work_goes_to_the_current_stream():
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for turn in range(30):
        with torch.cuda.stream(streams[turn % 3]):
            torch.cuda._sleep(2_000_000)  # what is not behind it reads too early
            image = torch.full((300, 400), turn, dtype=torch.uint8, device="cuda")
            results.append(boxsum.sat(image)[-1, -1])
    torch.cuda.synchronize()
    assert [int(one) for one in results] == [turn * 300 * 400 for turn in range(30)]


def test_threads():
    images = [torch.randint(0, 256, (200 + 10 * i, 300), dtype=torch.uint8, device="cuda") for i in range(8)]
    expected = [image.to(torch.int64).cumsum(-2).cumsum(-1) for image in images]
    torch.cuda.synchronize()
    wrong = []

    def work(number):
        own = number % 2 == 0
        with torch.cuda.stream(torch.cuda.Stream() if own else torch.cuda.default_stream()):
            for _ in range(50):
                if not torch.equal(boxsum.sat(images[number]), expected[number]):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def launched(function):
    """How many kernels, copies and fills a call enqueues: those of a graph of it."""
    function()  # what is done once
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph):
        kept = function()
    driver, handle = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(graph.raw_cuda_graph())
    count = ctypes.c_size_t()
    assert driver.cuGraphGetNodes(handle, None, ctypes.byref(count)) == 0
    nodes = (ctypes.c_void_p * count.value)()
    assert driver.cuGraphGetNodes(handle, nodes, ctypes.byref(count)) == 0
    total = 0
    for node in nodes:
        kind = ctypes.c_int()
        assert driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind)) == 0
        total += kind.value in (0, 1, 2)  # CU_GRAPH_NODE_TYPE_KERNEL, _MEMCPY, _MEMSET
    del kept
    return total


def test_pooling_launches_one_filter():
    if not hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph"):
        pytest.skip("this PyTorch shows no graphs")
    for dtype in (torch.float32, torch.float64):
        image = image_of(2, 3, 200, 300, dtype=dtype)
        one = launched(lambda x=image: boxsum.torch.box_filter(x, 31, border="constant"))
        assert one > 0
        assert launched(lambda x=image: boxsum.torch.box_pool2d(x, 31, 1, 15)) == one
        assert launched(lambda x=image: boxsum.torch.box_pool2d(x, 31, 2, 15)) <= one + 1
        assert launched(lambda x=image: boxsum.torch.box_pool2d(x, 4)) <= one + 1
        module = boxsum.torch.BoxPool2d(31, stride=1, padding=15)
        assert launched(lambda x=image: module(x)) == one


def test_the_second_device():
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one device")
    image = torch.randint(0, 256, (300, 400), dtype=torch.uint8, device="cuda:1")
    table = boxsum.sat(image)
    assert table.device == image.device
    assert torch.cuda.current_device() == 0
    assert torch.equal(table, image.to(torch.int64).cumsum(-2).cumsum(-1))
    with pytest.raises(boxsum.InvalidArgument, match="out: is on cuda:0, but image is on cuda:1"):
        boxsum.sat(image, out=torch.empty(300, 400, dtype=torch.int64, device="cuda:0"))


def test_memory_is_pytorchs():
    image = torch.randint(0, 256, (3000, 4000), dtype=torch.uint8, device="cuda")
    boxsum.sat(image)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(10):
        boxsum.sat(image)
        boxsum.box_filter(image, 101)
    torch.cuda.synchronize()
    first = torch.cuda.memory_allocated()
    for _ in range(10):
        boxsum.sat(image)
        boxsum.box_filter(image, 101)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == first  # results go back, and the workspace has grown once
    assert first - before < 200e6
    with pytest.raises(MemoryError):
        boxsum.sat(torch.zeros(1, dtype=torch.uint8, device="cuda").expand(400_000, 400_000))


def test_more_than_2_to_the_31_entries():
    free, _ = torch.cuda.mem_get_info()
    rows, cols = 50_000, 50_000
    if free < 5 * rows * cols + 2e9:
        pytest.skip("not enough memory")
    image = torch.ones(rows, cols, dtype=torch.uint8, device="cuda")
    table = boxsum.sat(image, dtype="int32")
    assert int(table[-1, -1].to(torch.int64)) % 2**32 == rows * cols % 2**32
    at = torch.arange(1, cols + 1, dtype=torch.int64, device="cuda")
    for row in (0, 42_949, 42_950, rows - 1):
        assert torch.equal(table[row].to(torch.int64) & 0xFFFFFFFF, at * (row + 1) & 0xFFFFFFFF)


def test_tensors_with_gradients_and_other_layouts_are_refused():
    image = image_of(5, 6, grad=True)
    with pytest.raises(boxsum.InvalidArgument, match="requires a gradient"):
        boxsum.sat(image)
    with torch.no_grad():
        boxsum.sat(image)
    with pytest.raises(boxsum.Unsupported, match="layout is torch.sparse_coo"):
        boxsum.sat(image.detach().to_sparse())
    narrow = image.detach().bfloat16()
    assert torch.equal(boxsum.sat(narrow), boxsum.sat(narrow.float()))
    with pytest.raises(boxsum.Unsupported, match="out: its dtype is torch.bfloat16, results are float32 or wider"):
        boxsum.box_filter(narrow, 3, out=narrow.clone())
    negative = torch._neg_view(narrow.double())
    assert torch.equal(boxsum.sat(negative), boxsum.sat(negative.resolve_neg()))
    with pytest.raises(boxsum.InvalidArgument, match="out: its memory has the negative numbers"):
        boxsum.sat(narrow.double(), out=negative)
    with pytest.raises(boxsum.InvalidArgument, match="boxes: are on cpu, but image is on cuda:0"):
        boxsum.torch.box_sum(image.detach(), torch.ones(4))
    for wrong in (torch.complex(narrow.double(), negative), narrow.double().to(torch.float8_e4m3fn)):
        with pytest.raises(boxsum.Unsupported, match="image: its dtype is"):
            boxsum.sat(wrong)
    host = np.zeros((5, 6), np.uint8)
    with pytest.raises(boxsum.InvalidArgument, match="out: is on cuda:0, but image is in host memory"):
        boxsum.sat(host, out=torch.empty(5, 6, dtype=torch.int64, device="cuda"))
