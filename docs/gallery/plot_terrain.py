"""
Gaps in a terrain model
=======================

Elevation models mark what was not measured by a value of its own. ``nodata=`` takes such pixels out of every window, so a mean
fills small gaps; ``min_count=`` leaves the large ones open.
"""

import matplotlib.pyplot as plt
import numpy as np

import boxsum

rng = np.random.default_rng(2)
rough = rng.normal(0, 400, (300, 400)).astype(np.float32)
heights = 800 + boxsum.box_filter(boxsum.box_filter(rough, 41), 41) * 8
surveyed = heights.copy()
surveyed[rng.random(surveyed.shape) < 0.15] = -9999
surveyed[120:190, 150:260] = -9999

wrong = boxsum.box_filter(surveyed, 9)
filled = boxsum.box_filter(surveyed, 9, nodata=-9999, min_count=8, fill=np.nan)

figure, axes = plt.subplots(1, 3, figsize=(10, 2.9), layout="constrained")
pictures = (np.where(surveyed == -9999, np.nan, surveyed), wrong, filled)
for axis, picture, title in zip(axes, pictures, ("surveyed", "gaps as heights", "gaps left out"), strict=True):
    axis.imshow(picture, cmap="terrain", vmin=heights.min(), vmax=heights.max())
    axis.set_title(title)
    axis.axis("off")

known = ~np.isnan(filled)
print(f"error where filled: {np.abs(filled - heights)[known].mean():.2f} m; still open: {1 - known.mean():.1%} of the area")
