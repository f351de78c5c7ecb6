"""
A blur whose radius differs from pixel to pixel
===============================================

With a table, a mean over any window is four reads (Crow 1984), so that each pixel may have its own: here the radius grows
with the distance from a plane in focus.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import boxsum

photo = data.astronaut()
rows, cols, _ = photo.shape
depth = np.hypot(np.arange(rows)[:, None] - 100, np.arange(cols)[None, :] - 220)
radius = np.clip((depth - 110) / 12, 0, 24).astype(np.uint8)
blurred = boxsum.variable_box_filter(photo, radius, channel_axis=-1)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for axis, picture, title in zip(axes, (photo, radius, blurred), ("photograph", "radius", "result"), strict=True):
    axis.imshow(picture)
    axis.set_title(title)
    axis.axis("off")

print(f"radii of 0 to {radius.max()}; where it is 0 the photograph is as it was:", (blurred == photo)[radius == 0].all())
