"""What type checkers make of the signatures: assert_type() is an error for mypy where it finds another type."""

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
assert_type(boxsum.Table.build(image), boxsum.Table[Array])
assert_type(boxsum.largest_safe_box("uint8", np.uint32), int)
