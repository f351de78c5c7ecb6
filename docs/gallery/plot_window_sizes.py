"""
What a larger window costs
==========================

Running sums add a pixel once, whatever the area of the windows that it is in: a window of 255 x 255 has 7225 times the pixels of
one of 3 x 3. What it does cost is its reach beyond the border. Cut off there (``"shrink"``) it costs little; continued
(``"reflect"``, the default), the continuation is summed, too, which adds little while the window is smaller than the image.
The windows of a table that exists (`Table.window_means`) are cut off, too, and cost nearly the same for every size.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import boxsum

image = np.random.default_rng(3).integers(0, 256, (1024, 1024), dtype=np.uint8)
out = np.empty_like(image)
sizes = [3, 7, 15, 31, 63, 127, 255]


table = boxsum.Table.build(image)
means = np.empty(image.shape)


def seconds_of(function):
    times = []
    for _ in range(15):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
ways = {
    'border="reflect"': lambda size: boxsum.box_filter(image, size, out=out, threads=1),
    'border="shrink"': lambda size: boxsum.box_filter(image, size, border="shrink", out=out, threads=1),
    "windows of a table": lambda size: table.window_means(size, out=means, threads=1),
}
for label, way in ways.items():
    seconds = [seconds_of(lambda: way(size)) for size in sizes]
    axis.plot(sizes, np.divide(seconds, seconds[0]), "o-", label=label)
    print(f"{label}: 255 x 255 takes {seconds[-1] / seconds[0]:.1f} times as long as 3 x 3")
axis.set_xscale("log", base=2)
axis.set_xticks(sizes, [str(size) for size in sizes])
axis.set_ylim(0)
axis.set_xlabel("rows and columns of the window")
axis.set_ylabel("time, of 3 x 3")
_ = axis.legend()
