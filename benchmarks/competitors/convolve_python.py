#!/usr/bin/env python3
"""conv2d of PyTorch for figure 4 of Chen et al. 2019 (SSAM), where installed; one JSON object a line, as gpu_sat_bench prints."""

import json
import statistics

N = 8192
SIDES = (*range(2, 21), 31, 64)
REPETITIONS = 7


def line(**fields):
    print(json.dumps({"section": "convolve", **fields}), flush=True)


def main():
    try:
        import torch
    except ImportError:
        line(peer="PyTorch", side=0, note="not installed")
        return
    torch.backends.cudnn.allow_tf32 = False  # 32f, as the others
    torch.backends.cudnn.benchmark = True    # the best of cuDNN's algorithms
    with torch.no_grad():
        images = [torch.rand(1, 1, N, N, device="cuda") for _ in range(2)]
        for side in SIDES:
            weights = torch.rand(1, 1, side, side, device="cuda") - 0.5
            try:
                for image in images:
                    torch.nn.functional.conv2d(image, weights, padding="same")
                times = []
                for i in range(REPETITIONS):
                    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                    start.record()
                    torch.nn.functional.conv2d(images[i % 2], weights, padding="same")
                    end.record()
                    end.synchronize()
                    times.append(1000 * start.elapsed_time(end))
            except RuntimeError as problem:
                line(peer="PyTorch", side=side, note=str(problem).splitlines()[0])
                continue
            line(algorithm=f"PyTorch {torch.__version__} conv2d", side=side, n=N, us=round(statistics.median(times), 2))


if __name__ == "__main__":
    main()
