"""
Float tables gone wrong, and right
==================================

A float32 table holds the sum of all pixels above and to the left in 24 bits. Far from the first corner there are none left for
a small box. Integer tables wrap and stay exact, and that is what ``boxsum`` makes of integer images. Where a table must be
float32, it holds more of pixels less their mean, summed outwards from the middle (Hensley et al. 2005).
"""

import matplotlib.pyplot as plt
import numpy as np

import boxsum

image = np.random.default_rng(1).integers(0, 256, (3000, 3000), dtype=np.uint8)
corners = np.arange(0, 2996, 4)
boxes = np.stack([corners, corners, np.full_like(corners, 4), np.full_like(corners, 4)], axis=1)
right = np.array([image[r : r + 4, c : c + 4].mean() for r, c, _, _ in boxes])

narrow = boxsum.Table.build(image, dtype=np.float32).mean(boxes)
middle = boxsum.Table.build(
    image, dtype=np.float32, offset=boxsum.image_means(image), origin=(1500, 1500)
).mean(boxes)
exact = boxsum.Table.build(image).mean(boxes)

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.plot(corners, np.abs(narrow - right), label="float32 table")
axis.plot(corners, np.abs(middle - right), label="float32, less the mean, from the middle")
axis.plot(corners, np.abs(exact - right), label="uint64 table, the default")
axis.set_xlabel("row and column of the box")
axis.set_ylabel("error of the mean of 4 x 4 pixels")
axis.legend()

for name, means in (("float32", narrow), ("float32 from the middle", middle), ("uint64", exact)):
    print(f"largest error with {name}: {np.abs(means - right).max():.3g}")
print("boxes that are certain to be exact in uint32:", boxsum.largest_safe_box("uint8", "uint32"), "pixels")
