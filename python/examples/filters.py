"""Filters by running sums, for small windows and large ones."""

import numpy as np

import boxsum

page = np.random.default_rng(2).integers(200, 221, (300, 400), dtype=np.uint8)
page[100:110, 50:350] = 20  # a line of ink

ink = ~boxsum.threshold(page, 31, method="sauvola", k=0.2)
background = boxsum.box_filter(page, 101, border="replicate", dtype=np.float32)
mean, deviation = boxsum.local_statistics(page, (15, 31), results=("mean", "std"))

print(f"{ink.mean():.3f} of the page is ink, its background is {background.mean():.1f}")
assert ink[102:108, 60:340].all() and not ink[200:].any()
