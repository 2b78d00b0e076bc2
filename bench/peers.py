#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our operators beside what PyTorch people use today, in one process, from contiguous NCHW tensors
to contiguous results, every conversion of layout included.

The peers are torchvision's ps_roi_pool where torchvision is installed, and else what one would
compose from torch's own operators. Prints a Markdown table of ratios: how many times longer the
peer takes. With --overhead, the cost of a call on a tiny problem instead.
"""

import argparse
import contextlib
import statistics
import sys
import time

import mluops
import mluops.torch as ours
import numpy as np
import torch
import torch.nn.functional as F

try:
    import torchvision
except ImportError:
    torchvision = None


def measure(run, seconds):
    """(least, median) seconds of a call."""
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times), statistics.median(times)


def directions(function, x):
    """Calls of forward, and of backward alone."""
    y = function(x)
    grad = torch.rand_like(y)
    return lambda: function(x.detach()), lambda: torch.autograd.grad(y, x, grad, retain_graph=True)


def random_rois(count, images, height, width, scale):
    corners = torch.rand(count, 2, 2) * torch.tensor([width, height]) / scale
    batch = torch.randint(images, (count, 1)).float()
    return torch.cat([batch, corners.amin(1), corners.amax(1)], dim=1)


def psroipool(images, size, height, width, rois, channels, scale):
    x = torch.rand(images, channels * size * size, height, width, requires_grad=True)
    boxes = random_rois(rois, images, height, width, scale)
    peer = None
    if torchvision is not None:
        peer = lambda x: torchvision.ops.ps_roi_pool(x, boxes, size, scale)
    for semantics in ("torchvision", "rfcn"):
        name = (
            f"ps_roi_pool, {semantics} [{images},{channels * size * size},{height},{width}] "
            f"R{rois} k{size}"
        )
        yield name, lambda x, s=semantics: ours.ps_roi_pool(x, boxes, size, scale, s), peer, x


def composed_border_align(x, boxes, pool_size):
    height, width = x.shape[2:]
    x1, y1, x2, y2 = boxes.unbind(-1)
    t = torch.linspace(0, 1, pool_size + 1)
    across, down = (
        x1[..., None] + (x2 - x1)[..., None] * t,
        y1[..., None] + (y2 - y1)[..., None] * t,
    )
    lines = [
        (across, y1[..., None].expand_as(across)),
        (x1[..., None].expand_as(down), down),
        (across.flip(-1), y2[..., None].expand_as(across)),
        (x2[..., None].expand_as(down), down.flip(-1)),
    ]
    results = []
    for (xs, ys), part in zip(lines, x.chunk(4, dim=1)):
        grid = torch.stack([2 * xs / (width - 1) - 1, 2 * ys / (height - 1) - 1], dim=-1)
        results.append(F.grid_sample(part, grid, align_corners=True).amax(-1))
    return torch.stack(results, dim=-1)


def border_align(height, width, boxes_per_image, pool_size, dtype=torch.float32):
    x = torch.rand(2, 1024, height, width, dtype=dtype, requires_grad=True)
    boxes = random_rois(2 * boxes_per_image, 1, height, width, 1.0)[:, 1:]
    boxes = boxes.view(2, boxes_per_image, 4).to(dtype)
    name = f"border_align [2,1024,{height},{width}] K{boxes_per_image} p{pool_size}"
    if dtype == torch.float16:
        name += " half"
    yield (
        name,
        lambda x: ours.border_align(x, boxes, pool_size),
        lambda x: composed_border_align(x, boxes, pool_size),
        x,
    )


def psa_mask(images, size, mask):
    """The composed one gathers with an index that is worked out once."""
    x = torch.rand(images, mask * mask, size, size, requires_grad=True)
    at = torch.arange(size)
    offset = at[:, None] - at + (mask - 1) // 2  # [r, h]: the mask row that h puts at r
    inside = (offset >= 0) & (offset < mask)
    index = offset[:, None, :, None] * mask + offset[None, :, None, :]
    index = torch.where(inside[:, None, :, None] & inside[None, :, None, :], index, mask * mask)
    index = index.view(1, size * size, size * size)

    def composed(x, kind):
        padded = F.pad(x.flatten(2), (0, 0, 0, 1))
        y = padded.gather(1, index.expand(images, -1, -1))
        return (y if kind == 0 else y.transpose(1, 2).contiguous()).view(images, -1, size, size)

    for kind, word in enumerate(("collect", "distribute")):
        yield (
            f"psa_mask, {word} [{images},{mask * mask},{size},{size}]",
            lambda x, k=kind: ours.psa_mask(x, k, mask),
            lambda x, k=kind: composed(x, k),
            x,
        )


def masked_im2col(size, masks, sort=True):
    height, width = size
    x = torch.rand(1, 256, height, width, requires_grad=True)
    places = torch.randperm(height * width)[:masks]
    if sort:
        places = places.sort().values
    order = "sorted" if sort else "random"
    rows, columns = (places // width).int(), (places % width).int()
    taps_h = (rows.long()[None] + torch.arange(3)[:, None])[:, None]
    taps_w = (columns.long()[None] + torch.arange(3)[:, None])[None]

    def composed(x):
        return F.pad(x, (1, 1, 1, 1))[0][:, taps_h, taps_w].reshape(256 * 9, masks)

    yield (
        f"masked_im2col [1,256,{height},{width}] M{masks} k3 {order}",
        lambda x: torch.ops.mluops.masked_im2col(x, rows, columns, [3, 3], [1, 1]),
        composed,
        x,
    )

    col = torch.rand(256, masks, requires_grad=True)
    yield (
        f"masked_col2im [256,{masks}] to {height} x {width} {order}",
        lambda col: torch.ops.mluops.masked_col2im(col, rows, columns, height, width),
        lambda col: torch.zeros(256, height * width).index_copy(1, places, col),
        col,
    )
    if not sort:
        return
    conv, mask = torch.nn.Conv2d(256, 256, 3, padding=1), torch.zeros(1, height, width)
    mask[0, rows.long(), columns.long()] = 1
    yield (
        f"masked_conv2d [1,256,{height},{width}] M{masks} k3",
        lambda x: ours.masked_conv2d(x, mask, conv.weight, conv.bias, 1),
        lambda x: conv(x) * mask,
        x,
    )


def roiaware():
    """The composed backward adds with index_add_ over what forward found; forward has no peer."""
    features = torch.rand(16000, 16, requires_grad=True)
    pts = torch.rand(16000, 3) * torch.tensor([70.0, 80.0, 4.0])
    cars = torch.cat(
        [
            pts[torch.randint(16000, (128,))] - torch.tensor([0, 0, 0.8]),
            torch.tensor([3.9, 1.6, 1.56]).expand(128, 3),
            torch.rand(128, 1) * 6,
        ],
        dim=1,
    )
    for method, word in enumerate(("max", "avg")):
        pooled, argmax, indices = torch.ops.mluops.roiaware_pool3d(
            cars, pts, features, [12, 12, 12], 128, method
        )
        grad = torch.rand_like(pooled)

        def composed(method=method, argmax=argmax, indices=indices, grad=grad):
            result = torch.zeros(16000, 16)
            if method == 0:
                flat = argmax.view(-1, 16).long()
                return result.scatter_add_(0, flat.clamp(min=0), grad.view(-1, 16) * (flat >= 0))
            slots = indices.view(-1, 128)
            counts = slots[:, 0].long()
            voxels = torch.repeat_interleave(torch.arange(counts.numel()), counts)
            within = torch.arange(voxels.numel()) - (counts.cumsum(0) - counts)[voxels]
            points = slots[voxels, within + 1].long()
            return result.index_add_(0, points, (grad.view(-1, 16)[voxels] / counts[voxels, None]))

        run = lambda p=pooled, g=grad: torch.autograd.grad(p, features, g, retain_graph=True)
        yield f"roiaware_pool3d backward, {word}, PartA2", run, composed
        forward = lambda m=method: torch.ops.mluops.roiaware_pool3d(
            cars, pts, features.detach(), [12, 12, 12], 128, m
        )
        yield f"roiaware_pool3d forward, {word}, PartA2", forward, None


def rows(seconds):
    for case in [
        psroipool(1, 7, 14, 14, 320, 8, 1.0),
        psroipool(2, 3, 14, 14, 493, 21, 0.0625),
        psroipool(1, 7, 38, 63, 300, 81, 0.0625),
        border_align(7, 10, 70, 10),
        border_align(25, 38, 950, 10),
        border_align(25, 38, 950, 10, torch.float16),
        masked_im2col((20, 20), 200),
        masked_im2col((100, 152), 4000),
        masked_im2col((100, 152), 4000, sort=False),
        psa_mask(1, 30, 59),
        psa_mask(1, 60, 119),
        psa_mask(2, 60, 119),
        psa_mask(1, 97, 97),
    ]:
        for name, own, peer, x in case:
            mine = [measure(run, seconds)[0] for run in directions(own, x)]
            theirs = [None, None]
            if peer is not None:
                with contextlib.suppress(NotImplementedError, RuntimeError):  # halves
                    theirs = [measure(run, seconds)[0] for run in directions(peer, x)]
            for word, own_time, peer_time in zip(("forward", "backward"), mine, theirs):
                yield f"{name}, {word}", own_time, peer_time
    for name, own, peer in roiaware():
        yield name, measure(own, seconds)[0], peer and measure(peer, seconds)[0]


def table(seconds):
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, "
        f"torchvision {torchvision.__version__ if torchvision else 'absent'}\n"
    )
    print("| operator, shape | ours, ms | peer / ours |\n|---|---|---|")
    for name, own, peer in rows(seconds):
        ratio = "no peer" if peer is None else f"{peer / own:.1f}"
        print(f"| {name} | {own * 1e3:.3f} | {ratio} |", flush=True)


def overhead(seconds):
    torch.set_num_threads(1)
    mluops.set_num_threads(1)
    x = torch.rand(1, 9, 2, 2)
    array = np.zeros((1, 2, 2, 9), np.float32)
    result = np.zeros((1, 2, 2, 4), np.float32)
    leaf = x.clone().requires_grad_()
    y = ours.psa_mask(leaf, 0, 3)
    grad = torch.rand_like(y)
    calls = {
        "NumPy, result given": lambda: mluops.psamask_forward(array, 0, 3, 3, y=result),
        "NumPy": lambda: mluops.psamask_forward(array, 0, 3, 3),
        "torch": lambda: ours.psa_mask(x, 0, 3),
        "torch, recording the gradient": lambda: ours.psa_mask(leaf, 0, 3),
        "torch, backward": lambda: torch.autograd.grad(y, leaf, grad, retain_graph=True),
    }
    print("| call of psamask on a 2 x 2 map | µs, least | µs, median |\n|---|---|---|")
    for name, run in calls.items():

        def many(run=run):
            for _ in range(200):
                run()

        least, median = measure(many, seconds)
        print(f"| {name} | {least / 200 * 1e6:.1f} | {median / 200 * 1e6:.1f} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.3, help="per call that is measured")
    parser.add_argument("--threads", type=int, default=0, help="0: torch's own choice")
    parser.add_argument("--overhead", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    (overhead if options.overhead else table)(options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
