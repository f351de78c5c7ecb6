"""The drop-in for Kornia beside Kornia."""

from __future__ import annotations

import itertools

import pytest
import torch

from boxsum import compat

filters = pytest.importorskip("kornia.filters")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize("border", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8])
def test_box_blur(border, dtype):
    from boxsum.compat.kornia.filters import box_blur

    image = (torch.rand(2, 3, 12, 15, generator=torch.Generator().manual_seed(1)) * 255).to(dtype)
    for rows, cols in itertools.product((1, 2, 3, 4, 7), (1, 4, 5)):
        expected = filters.box_blur(image, (rows, cols), border)
        with compat.strict():
            got = box_blur(image, (rows, cols), border)
        assert got.dtype == expected.dtype
        torch.testing.assert_close(got, expected, rtol=2e-5 if got.dtype == torch.float32 else 1e-12, atol=1e-4)


def test_gradients_and_modules():
    image = torch.rand(1, 2, 9, 8, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(1, 2, 9, 8, dtype=torch.float64)
    layer = filters.BoxBlur((3, 5))
    (right,) = torch.autograd.grad((layer(image) * weights).sum(), image)
    compat.reset()
    with compat.patched("kornia"):
        (got,) = torch.autograd.grad((layer(image) * weights).sum(), image)
    assert compat.report()["kornia.filters.box_blur"].computed == 1
    torch.testing.assert_close(got, right, rtol=1e-12, atol=1e-12)


def test_what_is_not_covered_is_passed_on():
    from boxsum.compat.kornia.filters import box_blur

    compat.reset()
    with pytest.raises(Exception, match="."):
        box_blur(torch.rand(1, 1, 4, 4), 3, "mirror")
    assert compat.report()["kornia.filters.box_blur"].passed_on == 1
