"""
A blur whose radius differs from pixel to pixel
===============================================

A lens blurs what is not at the depth that it is focused on (Potmesil and Chakravarty 1981). With a table, a mean over any
window is four reads (Crow 1984), so that each pixel may have its own; a table of a table makes a tent of the box (Heckbert
1986), whose blur has no edges.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import boxsum

photo = data.astronaut()
rows, cols, _ = photo.shape
away = np.hypot(np.arange(rows)[:, None] - 100, np.arange(cols)[None, :] - 220)
depth = 1 + np.clip(away - 70, 0, None) / 150  # as if all lay the deeper, the farther it is from the face
radius = boxsum.circles_of_confusion(depth, focus=1, aperture=40, largest_radius=30)
box = boxsum.variable_box_filter(photo, radius, channel_axis=-1)
tent = boxsum.variable_blur(photo, radius // 2, channel_axis=-1)

figure, axes = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
names = ("photograph", "radius", "box", "tent")
for axis, picture, title in zip(axes, (photo, radius, box, tent), names, strict=True):
    axis.imshow(picture)
    axis.set_title(title)
    axis.axis("off")

print(f"radii of 0 to {radius.max()}; where it is 0 the photograph is as it was:", (tent == photo)[radius == 0].all())
