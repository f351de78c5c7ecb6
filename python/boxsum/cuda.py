"""What this build can do on GPUs."""

from __future__ import annotations

from typing import NamedTuple

from boxsum import _core


class Device(NamedTuple):
    """What `describe` says."""

    number: int
    name: str
    major: int
    """Of the compute capability."""
    minor: int
    multiprocessors: int
    memory_bytes: int
    free_bytes: int
    driver_version: int
    """13000 is 13.0; the driver's, and below that of the runtime in this package."""
    runtime_version: int


HOW_TO_BUILD = (
    "boxsum was built without CUDA; with a CUDA toolkit, "
    "'pip install --config-settings=cmake.define.BOXSUM_CUDA=ON .' in a clone builds it"
)


def built() -> bool:
    """Whether the package has code for GPUs: then arrays that lie there are computed there. If not, `HOW_TO_BUILD` says
    how to change that. Arrays in host memory are computed on the CPU in every build.

    >>> import boxsum
    >>> boxsum.cuda.built() in (True, False)
    True
    """
    return _core.cuda_built()


def device_count() -> int:
    """GPUs that the driver offers; 0 without a driver, and without CUDA in the package.

    >>> import boxsum
    >>> boxsum.cuda.device_count() == boxsum.info().devices
    True
    """
    return _core.device_count()


def trim() -> None:
    """Gives the working memory that is kept for each device and stream back to the library that it is of: PyTorch's
    ``torch.cuda.empty_cache`` and CuPy's ``free_all_blocks`` can then return it to the driver. Graphs keep theirs.

    >>> import boxsum
    >>> boxsum.cuda.trim()
    """
    _core.drop_workspaces()


def describe(device: int = 0) -> Device:
    """What the driver says of a GPU. Raises Unsupported where there is none of this number.

    >>> import boxsum
    >>> [boxsum.cuda.describe(number).number for number in range(boxsum.cuda.device_count())] == list(
    ...     range(boxsum.cuda.device_count())
    ... )
    True
    """
    return Device(*_core.describe_device(device))
