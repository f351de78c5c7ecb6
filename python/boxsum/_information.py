"""What this build and this machine are, which algorithms there are, and whether they compute what they should."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

from boxsum import _core
from boxsum.errors import Unsupported

Operation = Literal["sat", "histogram", "convolve"]


class Parameter(NamedTuple):
    """What an algorithm can be told."""

    name: str
    description: str
    values: tuple[str, ...]
    """The first is the default."""


class Algorithm(NamedTuple):
    """What `algorithms` says of each."""

    operation: str
    name: str
    title: str
    paper: str
    cost: str
    backend: str
    """"cpu" or "cuda"."""
    built: bool
    in_place: bool
    parameters: tuple[Parameter, ...]


class Info(NamedTuple):
    """What `info` says."""

    version: str
    build: str
    instruction_set: str
    """Of the kernels that this processor runs."""
    threads: int
    """At most used by default."""
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    cuda_built: bool
    devices: int
    type_pairs: tuple[tuple[str, str], ...]
    """Images and their tables that need no conversion."""


class Verification(NamedTuple):
    """What `verify` says of each algorithm."""

    algorithm: str
    passed: int
    failed: int
    skipped: int


def info() -> Info:
    """Version, build, processor and GPUs: what a bug report wants.

    >>> import boxsum
    >>> boxsum.info().version == boxsum.__version__
    True
    """
    return Info(
        _core.version(),
        _core.build_description(),
        *_core.describe_cpu(),
        _core.cuda_built(),
        _core.device_count(),
        tuple(_core.type_pairs()),
    )


def algorithms(operation: Operation = "sat") -> list[Algorithm]:
    """The registered algorithms of an operation, best first, each with its paper. The same in every build: ``built``
    says whether this one has the code.

    Raises InvalidArgument for an unknown operation.

    >>> import boxsum
    >>> "reference" in [one.name for one in boxsum.algorithms()]
    True
    """
    found = [Algorithm(*row) for row in _core.algorithms(operation)]
    return [one._replace(parameters=tuple(Parameter(*part) for part in one.parameters)) for one in found]


def verify(
    operation: Operation = "sat",
    algorithm: str | None = None,
    *,
    thorough: bool = False,
    report: Callable[[str, str, str], None] | None = None,
) -> list[Verification]:
    """Runs algorithms on this machine against the definition in wide types, on poisoned memory.

    Args:
        operation: "sat", "histogram" or "convolve".
        algorithm: One, or all that can run here.
        thorough: The list of the test suite (minutes) instead of a short one (seconds).
        report: Hears of every case: what it is, "passed", "failed" or "skipped", and why.

    Returns:
        Totals, one for each algorithm.

    Raises:
        InvalidArgument: a ValueError; an unknown operation or algorithm.
        Unsupported: a TypeError; an algorithm without code or device here.

    >>> import boxsum
    >>> [result.failed for result in boxsum.verify("histogram", "sequential")]
    [0]
    """
    names = [algorithm] if algorithm is not None else _that_run_here(operation)
    if report is not None and not callable(report):
        raise Unsupported(f"report: is {report!r}, must be a function")
    return [Verification(name, *_core.verify(operation, name, bool(thorough), report)) for name in names]


def _that_run_here(operation: Operation) -> list[str]:
    devices = _core.device_count()
    return [one.name for one in algorithms(operation) if one.built and (one.backend == "cpu" or devices > 0)]


def set_num_threads(threads: int) -> None:
    """How many threads calls with ``threads=0`` use, of the whole process; 0 chooses by size. Raises InvalidArgument
    below 0.

    >>> import boxsum
    >>> boxsum.set_num_threads(2)
    >>> boxsum.get_num_threads()
    2
    >>> boxsum.set_num_threads(0)
    """
    _core.set_threads(threads)


def get_num_threads() -> int:
    """What `set_num_threads` said, 0 at first.

    >>> import boxsum
    >>> boxsum.get_num_threads()
    0
    """
    return _core.threads()


@contextmanager
def num_threads(threads: int) -> Iterator[None]:
    """`set_num_threads` for the length of a block.

    >>> import boxsum
    >>> with boxsum.num_threads(1):
    ...     boxsum.get_num_threads()
    1
    """
    before = _core.threads()
    _core.set_threads(threads)
    try:
        yield
    finally:
        _core.set_threads(before)
