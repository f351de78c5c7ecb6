"""
The background of a field of stars
==================================

The sky between stars is what a window's pixels say without those that are stars. Pixels that are masked do not count, so the
mean of a large window is the sky's; a second round leaves out what the first shows to be bright.
"""

import matplotlib.pyplot as plt
import numpy as np

import boxsum

rng = np.random.default_rng(4)
rows, cols = 400, 600
glow = 100 + 40 * np.linspace(0, 1, cols)[None, :] + 20 * np.linspace(0, 1, rows)[:, None]
field = glow + rng.normal(0, 3, (rows, cols))
for _ in range(300):
    r, c = rng.integers(3, rows - 3), rng.integers(3, cols - 3)
    field[r - 3 : r + 4, c - 3 : c + 4] += rng.gamma(1, 150) * np.exp(-np.add.outer(*[np.arange(-3, 4) ** 2 / 3] * 2))

sky = np.ones(field.shape, bool)
for _ in range(3):
    mean, std = boxsum.local_statistics(field, 81, border="shrink", mask=sky)
    sky = field < mean + 3 * std

figure, axes = plt.subplots(1, 3, figsize=(10, 2.9), layout="constrained")
for axis, picture, title in zip(axes, (field, mean, field - mean), ("field", "background", "stars alone"), strict=True):
    low, high = np.percentile(picture, (1, 99.5))
    axis.imshow(picture, cmap="gray", vmin=low, vmax=high)
    axis.set_title(title)
    axis.axis("off")

plain = boxsum.box_filter(field, 81, border="shrink")
print(f"error of the background: {np.abs(mean - glow).mean():.2f}; of a mean with the stars: {np.abs(plain - glow).mean():.2f}")
