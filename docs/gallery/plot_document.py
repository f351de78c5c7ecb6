"""
Ink on a stained page
=====================

One threshold for all of a page takes stains for ink. A threshold from the mean and deviation of the window around each
pixel (Sauvola and Pietikainen 2000) does not.
"""

import matplotlib.pyplot as plt
from skimage import data

import boxsum

page = data.page()
everywhere = page < page.mean()
ink = ~boxsum.threshold(page, 31, method="sauvola", k=0.2)

figure, axes = plt.subplots(3, 1, figsize=(7, 8), layout="constrained")
for axis, picture, title in zip(axes, (page, ~everywhere, ~ink), ("page", "one threshold", "Sauvola, 31 x 31"), strict=True):
    axis.imshow(picture, cmap="gray")
    axis.set_title(title)
    axis.axis("off")

print(f"one threshold: {everywhere.mean():.1%} of the page is ink; Sauvola: {ink.mean():.1%}")
