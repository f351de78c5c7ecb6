"""Memory of results: blocks that are kept for the next ones, because fresh memory costs more than a table in it."""

from __future__ import annotations

from typing import NamedTuple

from boxsum import _core


class Usage(NamedTuple):
    """What `usage` says."""

    limit_bytes: int
    """Of free blocks, kept at most."""
    cached_bytes: int
    """Of free blocks, kept now."""
    used_bytes: int
    """Of results that live."""
    reused: int
    """Requests served from kept blocks."""
    fresh: int
    """Requests served by the operating system."""


def usage() -> Usage:
    """What the pool has: bytes that it keeps at most, keeps now and has lent, and how many requests it served from
    kept blocks and from the operating system.

    >>> import boxsum
    >>> boxsum.memory.usage().limit_bytes > 0
    True
    """
    return Usage(*_core.pool_usage())


def set_limit(bytes: int) -> None:
    """How many bytes of freed blocks are kept at most; what exceeds it is given back at once. The environment variable
    BOXSUM_POOL_LIMIT (bytes, or with K, M or G) says it for a whole process. Raises InvalidArgument below 0.

    >>> import boxsum
    >>> before = boxsum.memory.usage().limit_bytes
    >>> boxsum.memory.set_limit(0)  # nothing is kept
    >>> boxsum.memory.usage().limit_bytes
    0
    >>> boxsum.memory.set_limit(before)
    """
    _core.set_pool_limit(bytes)


def trim() -> None:
    """Gives all kept blocks back to the operating system.

    >>> import boxsum
    >>> boxsum.memory.trim()
    >>> boxsum.memory.usage().cached_bytes
    0
    """
    _core.trim_pool()


def copies() -> int:
    """How many arrays had to be copied since the start, because of their strides or dtype.

    >>> import numpy as np, boxsum
    >>> before = boxsum.memory.copies()
    >>> _ = boxsum.sat(np.zeros((8, 8), np.uint8)[:, ::2])
    >>> boxsum.memory.copies() - before
    1
    """
    return _core.copies()
