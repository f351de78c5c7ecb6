"""What boxsum raises. Every class is an `Error` and the class of Python's that callers expect."""


class Error(Exception):
    """A base of all errors of this package."""


class InvalidArgument(Error, ValueError):
    """A value breaks its contract: a box outside the image, an unknown word, an `out` of another shape."""


class Unsupported(Error, TypeError):
    """A type that a function does not take, or a pair of types that has no table."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory is exhausted. The library stays usable."""


class CudaError(Error, RuntimeError):
    """A call of CUDA's or a kernel failed."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """The `cudaError_t` value."""
