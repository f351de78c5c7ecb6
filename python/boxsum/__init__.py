"""Summed area tables (integral images), box queries, window filters and integral histograms at the speed of memory.

>>> import numpy as np, boxsum
>>> image = np.arange(12, dtype=np.uint8).reshape(3, 4)
>>> table = boxsum.Table.build(image)                  # one pass over the image
>>> int(table[1:3, 1:3])                               # the sum of any window: four reads
30
>>> boxsum.box_filter(image, 3)                        # a blur by running sums
array([[2, 2, 3, 4],
       [4, 5, 6, 7],
       [7, 8, 9, 9]], dtype=uint8)
"""

import importlib as _importlib
import importlib.util as _importlib_util
import sys as _sys
import typing as _typing

if _importlib_util.find_spec("boxsum._core") is None:
    raise ImportError(
        f"boxsum: {__path__[0]} has no compiled module for Python {_sys.version.split()[0]}"
        f"{'' if getattr(_sys, '_is_gil_enabled', lambda: True)() else ' without the lock, for which there is none'}. "
        "In a folder of the sources Python finds these first: run it in another folder, where boxsum is installed "
        "(pip install . in a clone)"
    )

from boxsum import cuda, errors, memory
from boxsum._blobs import box_hessian, find_blobs
from boxsum._core import version as _version
from boxsum._depths import circles_of_confusion, variance_shadows
from boxsum._filters import (
    box_filter,
    convolve,
    guided_filter,
    local_contrast,
    local_statistics,
    non_local_means,
    threshold,
    variable_blur,
    variable_box_filter,
)
from boxsum._histograms import (
    Binning,
    HistogramTable,
    Match,
    TasksReport,
    TaskWorker,
    histogram_distance,
    histogram_tasks,
    integral_histogram,
)
from boxsum._information import algorithms, get_num_threads, info, num_threads, set_num_threads, verify
from boxsum._pipelines import FrameRequest, FrameResult, HistogramPipeline, PipelineReport, histogram_pipeline
from boxsum._rows import filter_rows
from boxsum._tables import (
    Table,
    box_mean,
    box_sum,
    box_var,
    box_var_bound,
    image_means,
    largest_safe_box,
    sat,
    sat_rows,
    sat_squares,
)
from boxsum._tracking import track
from boxsum._types import Box
from boxsum.errors import CudaError, Error, InvalidArgument, OutOfMemory, Unsupported

if _typing.TYPE_CHECKING:
    from boxsum import compat as compat
    from boxsum import torch as torch
else:

    def __getattr__(name: str) -> object:
        # These import other libraries, so they are imported when they are first named.
        if name in ("compat", "torch"):
            return _importlib.import_module(f"boxsum.{name}")
        raise AttributeError(f"module 'boxsum' has no attribute {name!r}")


__version__: str = _version()

__all__ = [
    "Binning",
    "Box",
    "CudaError",
    "Error",
    "FrameRequest",
    "FrameResult",
    "HistogramPipeline",
    "HistogramTable",
    "InvalidArgument",
    "Match",
    "OutOfMemory",
    "PipelineReport",
    "Table",
    "TaskWorker",
    "TasksReport",
    "Unsupported",
    "__version__",
    "algorithms",
    "box_filter",
    "box_hessian",
    "box_mean",
    "box_sum",
    "box_var",
    "box_var_bound",
    "circles_of_confusion",
    "convolve",
    "cuda",
    "errors",
    "filter_rows",
    "find_blobs",
    "get_num_threads",
    "guided_filter",
    "histogram_distance",
    "histogram_pipeline",
    "histogram_tasks",
    "image_means",
    "info",
    "integral_histogram",
    "largest_safe_box",
    "local_contrast",
    "local_statistics",
    "non_local_means",
    "memory",
    "num_threads",
    "sat",
    "sat_rows",
    "sat_squares",
    "set_num_threads",
    "threshold",
    "track",
    "variable_blur",
    "variable_box_filter",
    "variance_shadows",
    "verify",
]
