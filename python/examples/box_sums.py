"""Sums, means and variances of rectangles, from one pass over an image."""

# [readme]
import boxsum
import numpy as np

image = np.random.default_rng(1).integers(0, 256, (480, 640), dtype=np.uint8)

table = boxsum.Table.build(image, squares=True)  # one pass over the image
total = table[100:110, 200:212]  # four reads, however large the window
boxes = np.array([[100, 200, 10, 12], [0, 0, 480, 640]])  # row, column, rows, columns
means, variances = table.mean(boxes), table.var(boxes)
blurred = boxsum.box_filter(image, 101)  # running sums: no 10201 pixels are ever added up
# [readme]

print(int(total), means.round(2), variances.round(1))
assert int(total) == int(image[100:110, 200:212].sum())
assert blurred.shape == image.shape
np.testing.assert_allclose(means[1], image.mean())
np.testing.assert_allclose(variances[1], image.var())
