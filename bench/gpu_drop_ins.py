#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The drop-ins on a CUDA device: from contiguous NCHW tensors to contiguous results, conversions
included, and torchvision's ps_roi_pool beside them where it is installed.

Calls are captured into a CUDA graph over as many inputs as outgrow the caches, and replayed: the
figures are the device's time per call, the least of ten replays. The last column is what the host
takes for one call. `--deterministic` asks torch, and so us, for reproducible algorithms.
"""

import argparse
import sys
import time

import mluops.torch as ours
import torch

try:
    import torchvision
except ImportError:
    torchvision = None

ROTATION = 256 << 20  # bytes
SIDE = torch.cuda.Stream()  # what is measured runs here


def size_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


def device_seconds(run, sets):
    with torch.cuda.stream(SIDE):  # scratch grows before the capture
        for arguments in sets:
            run(*arguments)
    torch.cuda.synchronize()
    graph, calls = torch.cuda.CUDAGraph(), max(len(sets), 10)
    with torch.cuda.graph(graph, stream=SIDE):
        for i in range(calls):
            run(*sets[i % len(sets)])
    times = []
    for _ in range(11):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e-3 / calls)
    return min(times[1:])


def host_seconds(run, arguments):
    times = []
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def measure(name, run, *arguments):
    with torch.no_grad():
        bytes_of_one = size_of(arguments) + size_of([run(*arguments)])
    count = max(2, min(64, ROTATION // bytes_of_one))
    copy = lambda t: t.clone() if isinstance(t, torch.Tensor) else t
    sets = [[copy(t) for t in arguments] for _ in range(count)]
    with torch.no_grad():
        device, host = device_seconds(run, sets), host_seconds(run, arguments)
    print(f"| {name} | {device * 1e6:.1f} | {host * 1e6:.1f} |", flush=True)


def backward(name, function, x, *rest):
    """The gradient's operator alone, through autograd."""
    leaf = x.clone().requires_grad_()
    with torch.cuda.stream(SIDE):  # a gradient runs where its forward ran
        y = function(leaf, *rest)
    torch.cuda.synchronize()
    grads = torch.randn_like(y)
    count = max(2, min(16, ROTATION // size_of([leaf, y])))
    run = lambda g: torch.autograd.grad(y, leaf, g, retain_graph=True)[0]
    sets = [[grads.clone()] for _ in range(count)]
    device = device_seconds(run, sets)
    print(f"| {name}, backward | {device * 1e6:.1f} | |", flush=True)


def both(name, function, x, *rest):
    measure(f"{name}, forward", function, x, *rest)
    backward(name, function, x, *rest)


def rois(count, images, height, width, scale):
    corners = torch.rand(count, 2, 2) * torch.tensor([width - 1, height - 1]) / scale
    batch = torch.randint(images, (count, 1)).float()
    return torch.cat([batch, corners.amin(1), corners.amax(1)], dim=1).cuda()


def ps_roi_pool(images, size, height, width, count, channels, scale):
    x = torch.randn(images, channels * size * size, height, width, device="cuda")
    r = rois(count, images, height, width, scale)
    shape = f"[{images},{channels * size * size},{height},{width}] R{count} k{size}"
    both(f"ps_roi_pool {shape}", lambda x, r: ours.ps_roi_pool(x, r, size, scale), x, r)
    rfcn = lambda x, r: ours.ps_roi_pool(x, r, size, scale, "rfcn")
    both(f"ps_roi_pool, rfcn {shape}", rfcn, x, r)
    if torchvision is not None:
        peer = lambda x, r: torchvision.ops.ps_roi_pool(x, r, size, scale)
        both(f"torchvision's ps_roi_pool {shape}", peer, x, r)


def border_align(height, width, dtype):
    count = height * width
    x = torch.randn(2, 1024, height, width, device="cuda", dtype=dtype)
    corners = torch.rand(2, count, 2, 2) * torch.tensor([width - 1, height - 1])
    boxes = torch.cat([corners.amin(2), corners.amax(2)], dim=-1).to("cuda", dtype)
    name = f"border_align [2,1024,{height},{width}] K{count} {str(dtype)[6:]}"
    both(name, lambda x, b: ours.border_align(x, b, 10), x, boxes)


def psa_mask(images, size, mask, kind):
    x = torch.randn(images, mask * mask, size, size, device="cuda")
    name = f"psa_mask [{images},{mask * mask},{size},{size}] {('collect', 'distribute')[kind]}"
    both(name, lambda x: ours.psa_mask(x, kind, mask), x)


def masked(dtype):
    x = torch.randn(1, 256, 100, 152, device="cuda", dtype=dtype)
    at = torch.randperm(15200)[:4000].sort().values.int().cuda()
    rows, columns = torch.div(at, 152, rounding_mode="floor").int(), at % 152
    name = f"masked_im2col [1,256,100,152] M4000 {str(dtype)[6:]}"
    both(
        name,
        lambda x, h, w: torch.ops.mluops.masked_im2col(x, h, w, [3, 3], [1, 1]),
        x,
        rows,
        columns,
    )
    col = torch.randn(256, 4000, device="cuda", dtype=dtype)
    name = f"masked_col2im [256,4000] to [1,256,100,152] {str(dtype)[6:]}"
    both(
        name, lambda x, h, w: torch.ops.mluops.masked_col2im(x, h, w, 100, 152), col, rows, columns
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--deterministic", action="store_true")
    options = parser.parse_args()
    torch.use_deterministic_algorithms(options.deterministic)
    torch.manual_seed(0)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    print("| operator, shape | device, µs | host, µs |\n|---|---|---|")
    ps_roi_pool(1, 7, 14, 14, 320, 8, 1.0)
    ps_roi_pool(2, 3, 14, 14, 493, 21, 0.0625)
    ps_roi_pool(1, 7, 38, 63, 300, 81, 0.0625)
    for dtype in (torch.float32, torch.float16):
        border_align(25, 38, dtype)
        border_align(100, 152, dtype)
        masked(dtype)
    for images, size, mask in ((8, 60, 119), (8, 30, 59), (1, 97, 97)):
        for kind in (0, 1):
            psa_mask(images, size, mask, kind)
    return 0


if __name__ == "__main__":
    sys.exit(main())
