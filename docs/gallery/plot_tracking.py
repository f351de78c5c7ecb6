"""
Following a thing by its histogram
==================================

From an integral histogram the histogram of any window is four reads for each bin (Porikli 2005), so all windows around the last
place can be compared with what was in the first frame's box.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

import boxsum

cat = data.cat()[90:170, 170:260, 0]
background = data.gravel()
places = [(40 + 6 * step, 60 + int(60 * np.sin(step / 4)) + 8 * step) for step in range(24)]
frames = np.stack([background] * len(places))
for frame, (row, col) in zip(frames, places, strict=True):
    frame[row : row + cat.shape[0], col : col + cat.shape[1]] = cat

first = (*places[0], *cat.shape)
matches = list(boxsum.track(frames, first, bins=32, search=24))

figure, axis = plt.subplots(figsize=(5.4, 5), layout="constrained")
axis.imshow(frames[-1], cmap="gray")
rows, cols = zip(*((match.box.row + cat.shape[0] / 2, match.box.col + cat.shape[1] / 2) for match in matches), strict=True)
axis.plot(cols, rows, "o-", color="tab:orange")
axis.axis("off")

off = max(abs(match.box.row - row) + abs(match.box.col - col) for match, (row, col) in zip(matches, places, strict=True))
print(f"{len(matches)} frames, at most {off} pixels off")
