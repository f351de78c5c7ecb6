"""What type checkers make of the signatures: assert_type() is an error for mypy where it finds another type."""

from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import boxsum

Array = npt.NDArray[Any]
image = np.ones((4, 5), np.uint8)

assert_type(boxsum.sat(image), Array)
assert_type(boxsum.sat_squares(image, layout="padded"), tuple[Array, Array])
assert_type(boxsum.box_filter(image, (3, 5), border="replicate"), Array)
assert_type(boxsum.local_statistics(image, 3), tuple[Array, ...])
assert_type(boxsum.threshold(image, 3, method="wolf"), Array)
assert_type(boxsum.local_contrast(image, 3), Array)
assert_type(boxsum.variable_box_filter(image, image), Array)
assert_type(boxsum.integral_histogram(image, 4).region([0, 0, 1, 1]), Array)
assert_type(boxsum.integral_histogram(image, 4).search([1, 0, 0, 0], 2), list[boxsum.Match])
assert_type(boxsum.box_sum(boxsum.sat(image), [0, 0, 1, 1], layout="inclusive"), Array)
assert_type(boxsum.box_mean(boxsum.sat(image), [0, 0, 1, 1], layout="inclusive"), Array)
assert_type(boxsum.box_var(*boxsum.sat_squares(image), [0, 0, 1, 1], layout="inclusive"), Array)
assert_type(boxsum.box_var_bound(*boxsum.sat_squares(image), [0, 0, 1, 1], layout="inclusive"), Array)
assert_type(boxsum.sat(image, above=[1, 2, 3, 4, 5], left=image[:, 0]), Array)
assert_type(next(boxsum.sat_rows([image], layout="padded")), Array)
assert_type(boxsum.image_means(image), Array)
assert_type(boxsum.convolve(image, [[1, 2, 1]]), Array)
assert_type(boxsum.guided_filter(image, 3, guide=image), Array)
assert_type(boxsum.non_local_means(image, 3, patch=3), Array)
counted = np.empty(image.shape, np.uint32)
assert_type(boxsum.threshold(image, 3, origin=1, count=counted), Array)
assert_type(boxsum.local_contrast(image, 3, origin=(1, 0), count=counted), Array)
assert_type(boxsum.guided_filter(image, 3, origin=-1, count=counted), Array)
assert_type(boxsum.non_local_means(image, 3, patch=3, origin=1, count=counted), Array)
assert_type(boxsum.variable_box_filter(image, image, count=counted), Array)
assert_type(boxsum.variable_blur(image, image // 64, order=3), Array)
assert_type(boxsum.circles_of_confusion(image, focus=3, aperture=2), Array)
assert_type(boxsum.box_hessian(image, 2), Array)
assert_type(boxsum.find_blobs(image, (2, 3)), Array)
assert_type(
    boxsum.histogram_tasks(image, 4, cpu_workers=1), tuple[boxsum.HistogramTable[Array], boxsum.TasksReport]
)
pipeline = boxsum.histogram_pipeline([image], boxsum.FrameRequest(boxes=[0, 0, 1, 1]), 4)
assert_type(pipeline, boxsum.HistogramPipeline[Array])
assert_type(next(pipeline).histograms, Array | None)
assert_type(boxsum.histogram_pipeline(image[None], boxsum.FrameRequest(tensor=True)), boxsum.HistogramPipeline[Array])
assert_type(pipeline.report().frames_per_second, float)
assert_type(boxsum.histogram_distance([1, 2], [3, 4]), float)
assert_type(next(boxsum.track([image, image], (0, 0, 2, 2))), boxsum.Match)
assert_type([boxsum.filter_rows(boxsum.box_filter, [image], 3)][0], Iterator[Any])
assert_type(boxsum.integral_histogram(image, boxsum.Binning.uniform(4, 0, 256)), boxsum.HistogramTable[Array])
assert_type(boxsum.integral_histogram(image, 4).windows(2, step=(1, 2)), Array)

table = boxsum.Table.build(image, squares=True, nodata=7)
assert_type(table, boxsum.Table[Array])
for answer in (table.sum, table.mean, table.var, table.std, table.count):
    assert_type(answer([[0, 0, 2, 2]]), Array)
plain = boxsum.Table.build(image, squares=True)
for window in (plain.window_sums, plain.window_means, plain.window_variances):
    assert_type(window((3, 3), origin=1), Array)
assert_type(table.shape, tuple[int, ...])
assert_type(table.counts, Array | None)
assert_type(np.asarray(table), Array)
receiver, rectangle = np.ones((2, 2)), np.ones((2, 2, 4))
assert_type(boxsum.variance_shadows(plain, receiver, rectangle), Array)

assert_type(boxsum.info().version, str)
assert_type(boxsum.algorithms("sat")[0].parameters[0].values, tuple[str, ...])
assert_type(boxsum.verify("histogram", "sequential")[0].failed, int)
assert_type(boxsum.memory.usage().used_bytes, int)
assert_type(boxsum.memory.copies(), int)
assert_type(boxsum.cuda.device_count(), int)
assert_type(boxsum.get_num_threads(), int)
with boxsum.num_threads(1):
    boxsum.set_num_threads(1)
assert_type(boxsum.largest_safe_box("uint8", np.uint32), int)
