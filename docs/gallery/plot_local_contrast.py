"""
Vessels of a retina by local contrast
=====================================

Each pixel less the mean of its window, divided by the window's deviation: what is dim in a dim place looks as what is bright
in a bright one.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import boxsum

eye = data.retina()[::2, ::2, 1]
inside = eye > 12  # the camera's black frame does not count
contrast = boxsum.local_contrast(eye, 61, epsilon=2, mask=np.ascontiguousarray(inside), fill=0)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
axes[0].imshow(eye, cmap="gray")
axes[0].set_title("green channel")
axes[1].imshow(contrast, cmap="gray", vmin=-2.5, vmax=2.5)
axes[1].set_title("local contrast, 61 x 61")
for axis in axes:
    axis.axis("off")

for name, picture in (("green channel", eye), ("local contrast", contrast)):
    bright, dim = (boxsum.Table.build(picture)[row : row + 60, col : col + 60] / 3600 for row, col in ((330, 130), (200, 560)))
    print(f"{name}: mean of 60 x 60 pixels in a bright place {bright:.2f}, in a dim one {dim:.2f}")
