"""
A box that is learned
=====================

The mean over a box with fractional edges is smooth in its edges: moving the lower edge adds a row of pixels, so the
derivative of the integral is the integral along that edge, which is again a box of the same table. Here gradient descent
finds the box that a detector looked at, from its answers alone. ``boxsum.torch.box_mean`` has these gradients for PyTorch,
and ``BoxConv2d`` learns many such boxes (Burkov and Lempitsky 2018).
"""

import matplotlib.pyplot as plt
import numpy as np

import boxsum

rows, cols = 48, 64
rng = np.random.default_rng(3)
images = boxsum.box_filter(rng.normal(size=(400, rows, cols)), 9)  # what is near looks alike
tables = boxsum.Table.build(images)
hidden = np.array([11.3, 20.6, 29.7, 47.2])  # first row and column, and those behind the last
answers = tables.mean(hidden, format="yxyx")


def along_edges(edges):
    """The mean of the image along each edge, (images, 4): boxes of the pixels that the edges run through."""
    top, left, bottom, right = edges
    row, col = np.floor([top, bottom]), np.floor([left, right])
    lines = [
        [row[0], left, row[0] + 1, right],
        [top, col[0], bottom, col[0] + 1],
        [row[1], left, row[1] + 1, right],
        [top, col[1], bottom, col[1] + 1],
    ]
    return tables.mean(np.array(lines), format="yxyx")


edges = np.array([20.0, 12.0, 40.0, 36.0])
path, losses = [edges], []
for _ in range(300):
    top, left, bottom, right = edges
    means = tables.mean(edges, format="yxyx")
    error = means - answers
    losses.append((error**2).mean())
    # Of a mean: what the edge adds differs from what is there, in the share that it adds.
    share = np.array([-1 / (bottom - top), -1 / (right - left), 1 / (bottom - top), 1 / (right - left)])
    gradient = 2 * (error[:, None] * (along_edges(edges) - means[:, None]) * share).mean(0)
    edges = np.clip(edges - 4000 * gradient, 0, [rows - 1.01, cols - 1.01, rows - 1.01, cols - 1.01])
    path.append(edges)

figure, (left_axis, right_axis) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left_axis.imshow(images[0], cmap="gray")
for box, colour, name in ((path[0], "C1", "start"), (edges, "C0", "learned"), (hidden, "C2", "hidden")):
    top, left, bottom, right = box - 0.5  # a pixel's middle is its coordinate here
    line = "--" if name == "hidden" else "-"
    left_axis.plot([left, right, right, left, left], [top, top, bottom, bottom, top], colour, ls=line, label=name)
left_axis.legend(loc="lower right", fontsize=8)
left_axis.axis("off")
right_axis.semilogy(losses)
right_axis.set_xlabel("step")
right_axis.set_ylabel("mean squared error")

print("learned:", edges.round(3), "hidden:", hidden)
