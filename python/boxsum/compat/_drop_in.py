"""Functions in the place of another library's: what they do not cover goes to the original, and both are counted."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from boxsum.errors import Error, InvalidArgument, OutOfMemory, Unsupported

F = TypeVar("F", bound=Callable[..., Any])

LIBRARIES = {
    "skimage": ("skimage.transform", "skimage.filters", "skimage.feature"),
    "scipy": ("scipy.ndimage",),
    "cv2": ("cv2",),
    "astropy": ("astropy.convolution",),
    "kornia": ("kornia.filters",),
    "cucim": ("cucim.skimage.transform", "cucim.skimage.filters"),
}
"""The modules that have drop-ins, by library; ``boxsum.compat.`` before each is where they are."""


class NotCovered(Exception):
    """Raised by a drop-in, with a reason, before it has written anything: the original takes the call."""


class Calls(NamedTuple):
    """How often a function was called while it was replaced."""

    computed: int
    """By boxsum."""
    passed_on: int
    """To the original."""
    reasons: dict[str, int]
    """Why, and how often."""


class _Counter:
    def __init__(self) -> None:
        self.computed = 0
        self.reasons: dict[str, int] = {}


class DropIn(NamedTuple):
    """A replaced function: where the original is defined, and what stands in its place."""

    module: str
    name: str
    function: Callable[..., Any]

    def original(self) -> Callable[..., Any]:
        return _original(self.module, self.name)


_lock = threading.Lock()
_counters: dict[str, _Counter] = {}
_originals: dict[tuple[str, str], Callable[..., Any]] = {}
_strict = False
_drop_ins: dict[str, list[DropIn]] = {}


def _original(module: str, name: str) -> Callable[..., Any]:
    """The library's own function, also while it is replaced: it is looked up once, before that."""
    key = (module, name)
    if key not in _originals:
        function = getattr(importlib.import_module(module), name)
        _originals[key] = function
    return _originals[key]


def drop_in(where: str, *, defined_in: str | None = None) -> Callable[[F], F]:
    """Makes a function stand in for ``module.name`` (given as "module:name"), which is defined in `defined_in`."""
    module, name = where.split(":")
    label = f"{module}.{name}"
    library = module.partition(".")[0]

    def decorate(function: F) -> F:
        counter = _counters.setdefault(label, _Counter())
        key = (defined_in or module, name)
        try:
            signature: inspect.Signature | None = inspect.signature(_original(*key))
        except ValueError:  # of a function in C
            signature = None

        @functools.wraps(function)
        def replacing(*args: Any, **kwargs: Any) -> Any:
            try:
                result = function(*args, **kwargs)
            except OutOfMemory:
                raise
            except NotCovered as one:
                reason = str(one)
            except (Error, TypeError) as one:
                # Arguments that boxsum does not take, or nobody: the original says which.
                reason = f"{type(one).__name__}: {one}"
            else:
                with _lock:
                    counter.computed += 1
                return result
            if _strict:
                raise Unsupported(f"boxsum.compat: {label} is not covered here: {reason}")
            with _lock:
                counter.reasons[reason] = counter.reasons.get(reason, 0) + 1
            return _original(*key)(*args, **kwargs)

        replacing.__doc__ = f"``{label}``, computed by boxsum where it can be. {function.__doc__ or ''}".rstrip()
        if signature is not None:
            replacing.__signature__ = signature  # type: ignore[attr-defined]
        _drop_ins.setdefault(library, []).append(DropIn(key[0], name, replacing))
        return replacing  # type: ignore[return-value]

    return decorate


def drop_ins(library: str) -> list[DropIn]:
    """Those of a library, which is imported for it. Raises InvalidArgument for a name that has none."""
    if library not in LIBRARIES:
        raise InvalidArgument(f"libraries: {library!r} is none of {', '.join(map(repr, LIBRARIES))}")
    for module in LIBRARIES[library]:
        importlib.import_module(f"boxsum.compat.{module}")
    return _drop_ins[library]


def rest_of(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a drop-in module: everything that it does not replace is the library's own."""

    def get(name: str) -> Any:
        # Of the names that Python looks for, those that programs ask for; not __path__, which would make packages of all.
        if name.startswith("__") and name not in ("__all__", "__version__"):
            raise AttributeError(f"module 'boxsum.compat.{module}' has no attribute {name!r}")
        if any(f"{module}.{name}" in modules for modules in LIBRARIES.values()):
            return importlib.import_module(f"boxsum.compat.{module}.{name}")
        return getattr(importlib.import_module(module), name)

    def names() -> list[str]:
        return dir(importlib.import_module(module))

    return get, names


def _put(replacements: dict[int, Callable[..., Any]]) -> list[tuple[ModuleType, str, Any]]:
    """Replaces functions, which are known by their identity, in all loaded modules."""
    done = []
    for name, module in list(sys.modules.items()):
        if not isinstance(module, ModuleType) or name.partition(".")[0] == "boxsum":
            continue
        for attribute, value in list(vars(module).items()):
            if callable(value) and id(value) in replacements:
                done.append((module, attribute, value))
                setattr(module, attribute, replacements[id(value)])
    return done


def install(*libraries: str) -> Callable[[], None]:
    """Replaces the functions of libraries until the returned function is called.

    >>> import boxsum, scipy.ndimage
    >>> own = scipy.ndimage.uniform_filter
    >>> remove = boxsum.compat.install("scipy")
    >>> scipy.ndimage.uniform_filter is own
    False
    >>> remove()
    >>> scipy.ndimage.uniform_filter is own
    True
    """
    replacements = {id(one.original()): one.function for library in libraries for one in drop_ins(library)}
    done = _put(replacements)

    def remove() -> None:
        for module, attribute, value in done:
            setattr(module, attribute, value)

    return remove


@contextmanager
def patched(*libraries: str) -> Iterator[None]:
    """Replaces functions of libraries, in all modules that have them by name, for the length of a block.

    Args:
        libraries: "skimage", "scipy", "cv2", "astropy", "kornia", "cucim".

    Raises:
        InvalidArgument: a ValueError; a library without drop-ins.
        ImportError: a library that is not installed.

    >>> import boxsum, numpy as np, scipy.ndimage
    >>> boxsum.compat.reset()
    >>> with boxsum.compat.patched("scipy"):
    ...     scipy.ndimage.uniform_filter(np.array([[0, 3, 6]], np.uint8), (1, 3))
    array([[1, 3, 5]], dtype=uint8)
    >>> boxsum.compat.report()["scipy.ndimage.uniform_filter"].computed
    1
    """
    remove = install(*libraries)
    try:
        yield
    finally:
        remove()


@contextmanager
def strict() -> Iterator[None]:
    """For the length of a block, calls that boxsum does not cover raise `boxsum.Unsupported` and are not passed on.

    >>> import boxsum, numpy as np
    >>> from boxsum.compat.scipy import ndimage
    >>> with boxsum.compat.strict():
    ...     ndimage.uniform_filter(np.ones(4, complex))
    Traceback (most recent call last):
        ...
    boxsum.errors.Unsupported: boxsum.compat: scipy.ndimage.uniform_filter is not covered here: results of complex128
    """
    global _strict
    before, _strict = _strict, True
    try:
        yield
    finally:
        _strict = before


def report() -> dict[str, Calls]:
    """Calls of replaced functions since `reset`, by name; those that were never called are left out.

    >>> import boxsum, numpy as np
    >>> from boxsum.compat.scipy import ndimage
    >>> boxsum.compat.reset()
    >>> _ = ndimage.uniform_filter(np.ones((4, 4), complex))  # SciPy computes it
    >>> boxsum.compat.report()
    {'scipy.ndimage.uniform_filter': Calls(computed=0, passed_on=1, reasons={'results of complex128': 1})}
    """
    with _lock:
        return {
            name: Calls(one.computed, sum(one.reasons.values()), dict(one.reasons))
            for name, one in sorted(_counters.items())
            if one.computed or one.reasons
        }


def reset() -> None:
    """Sets all counts to 0.

    >>> import boxsum
    >>> boxsum.compat.reset()
    >>> boxsum.compat.report()
    {}
    """
    with _lock:
        for one in _counters.values():
            one.computed = 0
            one.reasons.clear()


def lines_of_report() -> list[str]:
    """`report` as text."""
    lines = []
    for name, calls in report().items():
        lines.append(f"{name}: {calls.computed} by boxsum, {calls.passed_on} by the original")
        lines.extend(f"    {count} x {reason}" for reason, count in sorted(calls.reasons.items()))
    return lines or ["none of the functions that boxsum has was called"]
