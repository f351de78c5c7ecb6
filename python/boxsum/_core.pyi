# The extension module. Arguments are those of the public functions, by position; a test compares the names.
from collections.abc import Callable
from typing import Any

def sat(
    image: Any,
    form: Any,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    threads: int,
    algorithm: str,
    row_alignment: int,
    corner: str,
    around: tuple[Any, Any] | None,
    /,
) -> Any: ...
def sat_squares(
    image: Any,
    form: Any,
    dtype: Any,
    squares_dtype: Any,
    channel_axis: Any,
    out: Any,
    squares_out: Any,
    threads: int,
    algorithm: str,
    row_alignment: int,
    around: tuple[Any, Any] | None,
    squares_around: tuple[Any, Any] | None,
    /,
) -> Any: ...
def sat_counted(
    image: Any,
    form: Any,
    dtype: Any,
    squares_dtype: Any,
    channel_axis: Any,
    threads: int,
    algorithm: str,
    row_alignment: int,
    samples: Any,
    with_squares: bool,
    /,
) -> Any: ...
def image_means(image: Any, channel_axis: Any, /) -> Any: ...
def box_query(
    stat: str,
    table: Any,
    squares: Any,
    boxes: Any,
    form: Any,
    format: str,
    channel_axis: Any,
    out: Any,
    counting: Any,
    /,
) -> Any: ...
def numbers(given: Any, name: str, /) -> Any: ...
def largest_safe_box(image_dtype: Any, table_dtype: Any, squares: bool, /) -> int: ...
def box_filter(
    image: Any,
    size: Any,
    stat: str,
    border: str,
    cval: float,
    origin: Any,
    sampling: Any,
    rounding: str,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    count: Any,
    threads: int,
    /,
) -> Any: ...
def variable_box_filter(
    image: Any,
    radius: Any,
    largest_radius: int | None,
    border: str,
    cval: float,
    sampling: Any,
    rounding: str,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    count: Any,
    threads: int,
    /,
) -> Any: ...
def variable_blur(
    image: Any,
    radius: Any,
    order: int,
    largest_radius: int | None,
    rounding: str,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    threads: int,
    /,
) -> Any: ...
def variance_shadows(
    table: Any,
    squares: Any,
    form: Any,
    receiver: Any,
    rectangle: Any,
    min_variance: float,
    bleeding: float,
    out: Any,
    threads: int,
    /,
) -> Any: ...
def circles_of_confusion(
    depth: Any, focus: float, aperture: float, largest_radius: int, dtype: Any, out: Any, /
) -> Any: ...
def local_statistics(
    image: Any,
    size: Any,
    results: Any,
    border: str,
    cval: float,
    origin: Any,
    sampling: Any,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    threads: int,
    /,
) -> Any: ...
def threshold(
    image: Any,
    size: Any,
    method: str,
    parameters: Any,
    border: str,
    cval: float,
    origin: Any,
    sampling: Any,
    result: str,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    count: Any,
    threads: int,
    /,
) -> Any: ...
def local_contrast(
    image: Any,
    size: Any,
    epsilon: float,
    border: str,
    cval: float,
    origin: Any,
    sampling: Any,
    channel_axis: Any,
    out: Any,
    count: Any,
    threads: int,
    /,
) -> Any: ...
def contrast_terms(
    image: Any,
    size: Any,
    border: str,
    cval: float,
    origin: Any,
    sampling: Any,
    channel_axis: Any,
    out: Any,
    count: Any,
    threads: int,
    /,
) -> tuple[Any, Any, Any, int, int]: ...
def guided_filter(
    image: Any,
    size: Any,
    guide: Any,
    epsilon: float | None,
    border: str,
    origin: Any,
    sampling: Any,
    rounding: str,
    dtype: Any,
    channel_axis: Any,
    guide_channel_axis: Any,
    out: Any,
    count: Any,
    threads: int,
    /,
) -> Any: ...
def non_local_means(
    image: Any,
    size: Any,
    patch: Any,
    strength: float | None,
    noise: float,
    border: str,
    cval: float,
    origin: Any,
    sampling: Any,
    rounding: str,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    count: Any,
    threads: int,
    /,
) -> Any: ...
def convolve(
    image: Any,
    kernel: Any,
    direction: str,
    border: str,
    cval: float,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    threads: int,
    algorithm: str,
    /,
) -> Any: ...
def box_hessian(image: Any, sigma: float, dtype: Any, out: Any, threads: int, /) -> Any: ...
def find_blobs(
    image: Any,
    sigmas: Any,
    threshold: float | None,
    relative_threshold: float | None,
    overlap: float,
    threads: int,
    /,
) -> Any: ...
def window_query(
    stat: str,
    table: Any,
    squares: Any,
    size: Any,
    origin: Any,
    form: Any,
    dtype: Any,
    channel_axis: Any,
    out: Any,
    threads: int,
    /,
) -> Any: ...
def integral_histogram(
    image: Any, bins: Any, weights: Any, layout: str, dtype: Any, out: Any, threads: int, algorithm: str, /
) -> Any: ...
def histogram_tasks(
    image: Any,
    bins: Any,
    weights: Any,
    layout: str,
    dtype: Any,
    out: Any,
    threads: int,
    algorithm: str,
    devices: Any,
    cpu_workers: int,
    bins_per_task: int,
    /,
) -> tuple[Any, tuple[Any, ...]]: ...
def box_histograms(values: Any, layout: str, boxes: Any, /) -> Any: ...
def window_histograms(values: Any, layout: str, grid: Any, /) -> Any: ...
def best_windows(
    values: Any, layout: str, grids: Any, target: Any, distance: str, count: int, plane: int, largest_overlap: float, /
) -> list[tuple[int, int, int, int, float]]: ...
def histogram_distance(a: Any, b: Any, distance: str, /) -> float: ...
def open_pipeline(
    frame: Any,
    weighted: bool,
    bins: Any,
    request: Any,
    layout: str,
    dtype: Any,
    buffers: int,
    device: Any,
    threads: int,
    algorithm: str,
    /,
) -> Any: ...
def put_frame(pipeline: Any, frame: Any, weights: Any, until_read: bool, /) -> None: ...
def put_request(pipeline: Any, request: Any, /) -> None: ...
def next_frame(pipeline: Any, /) -> tuple[Any, ...]: ...
def pipeline_report(pipeline: Any, /) -> tuple[int, float, dict[str, float]]: ...
def close_pipeline(pipeline: Any, /) -> None: ...
def algorithms(operation: str, /) -> list[tuple[Any, ...]]: ...
def verify(
    operation: str, algorithm: str, thorough: bool, report: Callable[[str, str, str], None] | None, /
) -> tuple[int, int, int]: ...
def describe_cpu() -> tuple[str, int, int, int, int]: ...
def describe_device(device: int, /) -> tuple[Any, ...]: ...
def device_count() -> int: ...
def cuda_built() -> bool: ...
def drop_workspaces() -> None: ...
def version() -> str: ...
def build_description() -> str: ...
def pool_usage() -> tuple[int, int, int, int, int]: ...
def set_pool_limit(bytes: int, /) -> None: ...
def trim_pool() -> None: ...
def copies() -> int: ...
def count_copy() -> None: ...
def type_pairs() -> list[tuple[str, str]]: ...
def squares_triples() -> list[tuple[str, str, str]]: ...
def set_threads(threads: int, /) -> None: ...
def threads() -> int: ...
