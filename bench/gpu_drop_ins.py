#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the drop-ins and their peers on a CUDA device, from contiguous NCHW tensors to
contiguous results, conversions included.

The peer is torchvision's ps_roi_pool or mmcv's operator where these are installed, else a
composition of torch operators (`pairs.py`). Calls are captured into a CUDA graph over more inputs
than the caches hold, and replayed. Backward of masked_conv2d waits for the device, so the clock
times it. The table shows device time per call, the minimum of ten replays. The last column is the
host's time for one call. `--deterministic` sets `torch.use_deterministic_algorithms(True)`.
`--json` writes the times with machine and commit. `--device cpu` tries it without a GPU.
"""

import argparse
import dataclasses
import functools
import sys
import time
from typing import Callable, Optional

import compositions
import mluops.torch as ours
import pairs
import torch
from pairs import torchvision
from results import save

try:
    import mmcv.ops as mmcv
except ImportError:
    mmcv = None

ROTATION = 256 << 20  # bytes
DEVICE = "cuda"
ROWS = []


@dataclasses.dataclass
class Peer:
    library: str
    forward: Callable  # of the arguments of ours
    backward: Optional[Callable] = None  # of a gradient; None: through autograd


def size_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


def clock_seconds(run, sets):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run(*sets[0])
        times.append(time.perf_counter() - start)
    return min(times)


@functools.cache
def bench_stream():
    """Returns the CUDA stream of all measured calls."""
    return torch.cuda.Stream()


def device_seconds(run, sets):
    if DEVICE == "cpu":
        return clock_seconds(run, sets)
    side = bench_stream()
    with torch.cuda.stream(side):  # scratch grows before the capture
        for arguments in sets:
            run(*arguments)
    torch.cuda.synchronize()
    graph, calls = torch.cuda.CUDAGraph(), max(len(sets), 10)
    with torch.cuda.graph(graph, stream=side):
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
    for _ in range(20 if DEVICE == "cuda" else 1):
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        run(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def sets_of(run, arguments, most):
    """Returns copies of the arguments, at most `most`. Inputs and results exceed ROTATION bytes."""
    with torch.no_grad():
        count = max(2, min(most, ROTATION // size_of([*arguments, run(*arguments)])))
    copy = lambda t: t.clone() if isinstance(t, torch.Tensor) else t
    return [[copy(t) for t in arguments] for _ in range(count)]


def forward_seconds(run, arguments):
    with torch.no_grad():
        return device_seconds(run, sets_of(run, arguments, 64))


def gradient_of(function, x, rest):
    """Returns (backward, grad): backward(grad) runs the backward operator through autograd."""
    leaf = x.clone().requires_grad_()
    if DEVICE == "cuda":
        with torch.cuda.stream(bench_stream()):  # backward runs on forward's stream
            y = function(leaf, *rest)
        torch.cuda.synchronize()
    else:
        y = function(leaf, *rest)
    return lambda g: torch.autograd.grad(y, leaf, g, retain_graph=True)[0], torch.randn_like(y)


def record(name, case, own, peer, library, host=None):
    row = {"name": name, "level": "drop-in", "case": case, "ours_s": own}
    if peer is not None:
        row |= {"peer": library, "peer_s": peer, "ratio": peer / own}
    ROWS.append(row)
    texts = [
        f"{own * 1e6:.1f}",
        "" if peer is None else f"{peer * 1e6:.1f} ({library})",
        "" if host is None else f"{host * 1e6:.1f}",
    ]
    print(f"| {name} | {' | '.join(texts)} |", flush=True)


def both(name, cases, function, peer, x, *rest):
    """Measures forward and backward of our function and of the peer, which may be None."""
    library = peer and peer.library
    theirs = peer and forward_seconds(peer.forward, (x, *rest))
    host = host_seconds(function, (x, *rest))
    own = forward_seconds(function, (x, *rest))
    record(f"{name}, forward", cases[0], own, theirs, library, host)
    run, grad = gradient_of(function, x, rest)
    own = device_seconds(run, sets_of(run, (grad,), 16))
    if peer is None:
        record(f"{name}, backward", cases[1], own, None, library)
        return
    peer_run = peer.backward or gradient_of(peer.forward, x, rest)[0]
    theirs = device_seconds(peer_run, sets_of(run, (grad,), 16))
    record(f"{name}, backward", cases[1], own, theirs, library)


def ps_roi_pool(images, size, height, width, count, channels, scale):
    x = torch.randn(images, channels * size * size, height, width, device=DEVICE)
    r = pairs.random_rois(count, images, height, width, scale).to(DEVICE)
    shape = f"[{images},{channels * size * size},{height},{width}] R{count} k{size}"
    rfcn_cases, cases = pairs.pooling_cases(images, size, height, width, count, channels, scale)
    peer = None
    if torchvision is not None:
        peer = Peer("torchvision", lambda x, r: torchvision.ops.ps_roi_pool(x, r, size, scale))
    function = lambda x, r: ours.ps_roi_pool(x, r, size, scale)
    both(f"ps_roi_pool {shape}", cases, function, peer, x, r)
    rfcn = lambda x, r: ours.ps_roi_pool(x, r, size, scale, "rfcn")
    both(f"ps_roi_pool, rfcn {shape}", rfcn_cases, rfcn, peer, x, r)


def border_align(height, width, dtype):
    count = height * width
    x = torch.randn(2, 1024, height, width, device=DEVICE, dtype=dtype)
    boxes = pairs.random_rois(2 * count, 1, height, width, 1.0)[:, 1:].view(2, count, 4)
    peer = Peer("torch composition", lambda x, b: compositions.composed_border_align(x, b, 10))
    if mmcv is not None:
        peer = Peer("mmcv", lambda x, b: mmcv.border_align(x, b, 10))
    name = f"border_align [2,1024,{height},{width}] K{count} {str(dtype)[6:]}"
    sizes = f"N=2 H={height} W={width} C=256 K={count} pool_size=10"
    sizes += " dtype=half" if dtype == torch.float16 else ""
    cases = f"border_align_forward {sizes}", f"border_align_backward {sizes}"
    both(name, cases, lambda x, b: ours.border_align(x, b, 10), peer, x, boxes.to(DEVICE, dtype))


def psa_mask(images, size, mask, kind):
    def composed(function):
        def run(x):
            result = function(x.permute(0, 2, 3, 1).contiguous(), mask, kind)
            return result.permute(0, 3, 1, 2).contiguous()

        return run

    x = torch.randn(images, mask * mask, size, size, device=DEVICE)
    word = ("collect", "distribute")[kind]
    forward = composed(compositions.composed_psa_mask)
    peer = Peer("torch composition", forward, composed(compositions.composed_psa_mask_backward))
    if mmcv is not None:
        peer = Peer("mmcv", lambda x: mmcv.psa_mask(x, word, (mask, mask)))
    name = f"psa_mask [{images},{mask * mask},{size},{size}] {word}"
    cases = pairs.psa_mask_cases(images, size, mask, kind, nchw=True)
    both(name, cases, lambda x: ours.psa_mask(x, kind, mask), peer, x)


def masked(dtype):
    x = torch.randn(1, 256, 100, 152, device=DEVICE, dtype=dtype)
    positions = torch.randperm(15200)[:4000].sort().values.to(DEVICE)
    rows, columns = (positions // 152).int(), (positions % 152).int()
    steps = torch.arange(3, device=DEVICE)[:, None]
    taps_h, taps_w = rows.long()[None] + steps, columns.long()[None] + steps
    taps = (taps_h[:, None] * (152 + 2) + taps_w[None]).flatten()

    def windows(x, h, w):
        padded = torch.nn.functional.pad(x, (1, 1, 1, 1)).view(256, -1)
        return padded.index_select(1, taps).view(256 * 9, 4000)

    type_name, directions = str(dtype)[6:], ("forward", "backward")
    half = " dtype=half" if dtype == torch.float16 else ""
    sizes = "C=256 H=100 W=152 M=4000"
    kernel = "kernel_h=3 kernel_w=3 pad_h=1 pad_w=1 "
    function = lambda x, h, w: torch.ops.mluops.masked_im2col(x, h, w, [3, 3], [1, 1])
    cases = [f"masked_im2col_{way} {sizes} {kernel}masks=sorted{half}" for way in directions]
    name = f"masked_im2col [1,256,100,152] M4000 {type_name}"
    both(name, cases, function, Peer("torch composition", windows), x, rows, columns)
    col = torch.randn(256, 4000, device=DEVICE, dtype=dtype)
    zeros = lambda col: torch.zeros(256, 15200, device=DEVICE, dtype=col.dtype)
    scatter = lambda col, h, w: zeros(col).index_copy(1, positions, col).view(1, 256, 100, 152)
    function = lambda col, h, w: torch.ops.mluops.masked_col2im(col, h, w, 100, 152)
    cases = [f"masked_col2im_{direction} {sizes} masks=sorted{half}" for direction in directions]
    name = f"masked_col2im [256,4000] to [1,256,100,152] {type_name}"
    both(name, cases, function, Peer("torch composition", scatter), col, rows, columns)


def waiting_seconds(run):
    """The time of a call that waits for the device, which a graph cannot capture."""
    if DEVICE == "cpu":
        return clock_seconds(run, [()])
    times = []
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(5):
            run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / 5)
    return min(times)


def masked_conv2d(percent, dtype):
    """The peer is the dense convolution of torch, without TF32."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    make = lambda *shape: torch.randn(*shape, device=DEVICE, dtype=dtype)
    x, weight, bias = make(1, 256, 100, 152), make(256, 256, 3, 3) * 0.02, make(256)
    mask = (torch.rand(1, 100, 152, device=DEVICE) * 100 < percent).to(dtype)
    dense = lambda x, m: torch.nn.functional.conv2d(x, weight, bias, padding=1)
    sparse = lambda x, m: ours.masked_conv2d(x, m, weight, bias, padding=1)
    name = f"masked_conv2d [1,256,100,152] to 256, {percent} % {str(dtype)[6:]}"
    forward = [forward_seconds(f, (x, mask)) for f in (sparse, dense)]
    case = pairs.conv_case(100, 152, {10: "tenth", 26: "quarter", 50: "half"}[percent])
    half = " dtype=half" if dtype == torch.float16 else ""
    record(f"{name}, forward", case + half, *forward, "conv2d", host_seconds(sparse, (x, mask)))
    leaves = [t.requires_grad_() for t in (x, weight, bias)]

    def backward_seconds(function):
        y = function(x, mask)
        grad = torch.randn_like(y)
        return waiting_seconds(lambda: torch.autograd.grad(y, leaves, grad, retain_graph=True))

    backward = [backward_seconds(f) for f in (sparse, dense)]
    record(f"{name}, backward", "", *backward, "conv2d")


def roiaware_pool3d(dense):
    """Measures backward of max pooling. A graph cannot capture the peer of avg: it synchronises."""
    argmax, indices, points = compositions.roiaware_scene(dense)
    argmax, indices = (torch.from_numpy(a).to(DEVICE) for a in (argmax, indices))
    grad = torch.randn(argmax.shape, device=DEVICE)
    run = lambda g, a, i: torch.ops.mluops.roiaware_pool3d_backward(g, a, i, 0, points)
    composed = lambda g, a, i: compositions.composed_roiaware_backward(g, a, i, 0, points)
    own, peer = (forward_seconds(f, (grad, argmax, indices)) for f in (run, composed))
    sizes = "boxes_num=128 out_x=12 out_y=12 out_z=12 channels=16 max_pts_each_voxel=128"
    case = f"roiaware_pool3d_backward P={points} pool_method=0 {sizes}"
    case += " scene=dense" if dense else ""
    name = f"roiaware_pool3d, max, PartA2 {'dense' if dense else 'sparse'}, backward"
    record(name, case, own, peer, "torch composition")


def measure_all(only):
    float32, float16 = torch.float32, torch.float16
    jobs = [
        (ps_roi_pool, (1, 7, 14, 14, 320, 8, 1.0)),
        (ps_roi_pool, (2, 3, 14, 14, 493, 21, 0.0625)),
        (ps_roi_pool, (1, 7, 38, 63, 300, 81, 0.0625)),
        *((border_align, (*size, dtype)) for dtype in (float32, float16) for size in SIZES),
        *((masked, (dtype,)) for dtype in (float32, float16)),
        *((masked_conv2d, (p, dtype)) for dtype in (float32, float16) for p in (10, 26, 50)),
        *((psa_mask, (*size, kind)) for size in MASKS for kind in (0, 1)),
        *((roiaware_pool3d, (dense,)) for dense in (False, True)),
    ]
    for function, arguments in jobs:
        if only in function.__name__:
            function(*arguments)


SIZES = ((25, 38), (100, 152))
MASKS = ((8, 60, 119), (8, 30, 59), (1, 97, 97))


def main():
    global DEVICE
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--deterministic", action="store_true")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--only", default="", help="only operators whose name contains this text")
    parser.add_argument("--json", help="write the times to this file")
    options = parser.parse_args()
    DEVICE = options.device
    torch.use_deterministic_algorithms(options.deterministic)
    torch.manual_seed(0)
    machine = "CPU" if DEVICE == "cpu" else torch.cuda.get_device_name()
    print(f"{machine}, torch {torch.__version__}\n")
    print("| operator, shape | device, µs | peer, µs | host, µs |\n|---|---|---|---|")
    measure_all(options.only)
    if options.json:
        facts = {"device": DEVICE, "machine": machine, "torch": torch.__version__}
        facts["torchvision"] = torchvision.__version__ if torchvision else "absent"
        flags = " --deterministic" if options.deterministic else ""
        save(options.json, f"python bench/gpu_drop_ins.py{flags}", facts, ROWS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
