"""
Float tables gone wrong, and right
==================================

A float32 table holds the sum of all pixels above and to the left in 24 bits. Far from the first corner there are none left for
a small box. Integer tables wrap and stay exact, and that is what ``boxsum`` makes of integer images.
"""

import matplotlib.pyplot as plt
import numpy as np

import boxsum

image = np.random.default_rng(1).integers(0, 256, (3000, 3000), dtype=np.uint8)
corners = np.arange(0, 2996, 4)
boxes = np.stack([corners, corners, np.full_like(corners, 4), np.full_like(corners, 4)], axis=1)
right = np.array([image[r : r + 4, c : c + 4].mean() for r, c, _, _ in boxes])

narrow = boxsum.Table.build(image, dtype=np.float32).mean(boxes)
exact = boxsum.Table.build(image).mean(boxes)

figure, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.plot(corners, np.abs(narrow - right), label="float32 table")
axis.plot(corners, np.abs(exact - right), label="uint64 table, the default")
axis.set_xlabel("row and column of the box")
axis.set_ylabel("error of the mean of 4 x 4 pixels")
axis.legend()

print("largest error:", np.abs(narrow - right).max(), "with float32,", np.abs(exact - right).max(), "with uint64")
print("boxes that are certain to be exact in uint32:", boxsum.largest_safe_box("uint8", "uint32"), "pixels")
