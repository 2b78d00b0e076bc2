#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures mluops against its peers, alternating in one process.

The peers are torchvision's ps_roi_pool where torchvision is installed, otherwise compositions of
torch operators (`pairs.py`). Where a peer computes the same function, the results are compared
first. Prints a Markdown table of ratios: the peer's minimum time divided by ours.
--overhead measures the overhead per call on tiny inputs instead, on one thread. With --device cuda
it measures the host's time without waiting for the device, in multiples of an empty kernel launch,
and counts the launches of each call.
--json writes the times too, with machine, commit and command. Rows of an earlier run of the same
machine and commit stay in the file unless --only measures them again.
"""

import argparse
import contextlib
import importlib
import itertools
import sys
import time

import mluops
import mluops.torch as ours
import numpy as np
import torch
from pairs import all_pairs, torchvision
from results import save


def seconds_of(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def minimum_times(runs, seconds):
    """Returns the minimum time of each function. Alternates, so that noise affects all of them."""
    times = [[] for _ in runs]
    end = time.perf_counter() + seconds * len(runs)
    while len(times[0]) < 3 or time.perf_counter() < end:
        for own, run in zip(times, runs):
            run()
            own.append(min(seconds_of(run) for _ in range(3)))
    return [min(own) for own in times]


def check_same(pair):
    mine, theirs = (torch.as_tensor(run()).float() for run in (pair.ours, pair.peer))
    if mine.shape != theirs.shape:
        raise SystemExit(f"{pair.name}: ours is {mine.shape}, the peer's {theirs.shape}")
    difference = (mine - theirs).abs().max().item()
    if not difference <= pair.tolerance * max(1.0, theirs.abs().max().item()):
        raise SystemExit(f"{pair.name}: the peer's result differs by {difference}")


def measured(seconds, chosen):
    """Yields (pair, our minimum time, the peer's or None). Compares the results first."""
    for pair in all_pairs():
        if chosen not in pair.name:
            continue
        if pair.peer is not None and pair.same:
            check_same(pair)
        runs = [pair.ours] + ([pair.peer] if pair.peer is not None else [])
        times = minimum_times(runs, seconds)
        yield pair, times[0], times[1] if pair.peer is not None else None


def row_of(pair, own, peer):
    row = {"name": pair.name, "level": pair.level, "case": pair.case, "ours_s": own}
    if peer is not None:
        row |= {
            "peer": pair.library,
            "same_function": pair.same,
            "peer_s": peer,
            "ratio": peer / own,
        }
    return row


def versions():
    return {
        "torch": torch.__version__,
        "torchvision": torchvision.__version__ if torchvision else "absent",
    }


def table(options):
    print(
        f"torch {versions()['torch']}, {torch.get_num_threads()} threads, "
        f"torchvision {versions()['torchvision']}; "
        "(*): the peer is another function of about the same work\n"
    )
    print("| operator, shape | level | ours, ms | peer / ours |\n|---|---|---|---|")
    rows = []
    for pair, own, peer in measured(options.seconds, options.only):
        rows.append(row_of(pair, own, peer))
        name = pair.name + ("" if pair.same else " (*)")
        ratio = "no peer" if peer is None else f"{peer / own:.1f}"
        print(f"| {name} | {pair.level} | {own * 1e3:.3f} | {ratio} |", flush=True)
    if options.json:
        threads = torch.get_num_threads()
        facts = {"device": "cpu", "threads": threads, **versions()}
        command = f"python bench/peers.py --threads {threads} --seconds {options.seconds:g}"
        save(options.json, command, facts, rows)


class Plain(torch.autograd.Function):
    """The unit of --overhead: a minimal autograd.Function."""

    @staticmethod
    def forward(ctx, x):
        return x.relu()

    @staticmethod
    def backward(ctx, grad):
        return grad


def tiny_calls(device="cpu"):
    """Calls on tiny inputs, by name, with the target in multiples of Plain's call."""
    with torch.device(device):  # set_default_device would slow every later call of torch down
        x, features, boxes = torch.rand(1, 9, 2, 2), torch.rand(1, 8, 4, 4), torch.rand(1, 3, 4) * 3
        leaf, grad = x.clone().requires_grad_(), torch.rand(1, 4, 2, 2)
        rois, points = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]]), torch.rand(5, 3)
        weight, mask = torch.rand(3, 8, 3, 3), torch.eye(4)[None]
    frames = itertools.cycle([torch.rand(n, 3, device=device) for n in range(1, 700)])

    def pool_next_frame():  # more shapes than the cache of calls holds
        frame = next(frames)
        return ours.roiaware_pool3d(rois, frame, frame, 2, 4)

    array, result = np.zeros((1, 2, 9), np.float32), np.zeros((1, 9, 2), np.float32)
    return {
        "transpose, NumPy": (lambda: mluops.transpose(array, output=result), None),
        "psa_mask, inference mode": (lambda: ours.psa_mask(x, 0, 3), 1.6),
        "psa_mask, grad mode": (lambda: ours.psa_mask(x, 0, 3), 2),
        "psa_mask, recording": (lambda: ours.psa_mask(leaf, 0, 3), 3.5),
        "psa_mask, forward and backward": (
            lambda: torch.autograd.grad(ours.psa_mask(leaf, 0, 3), leaf, grad),
            10,
        ),
        "border_align": (lambda: ours.border_align(features, boxes, 3), 3.5),
        "roiaware_pool3d": (lambda: ours.roiaware_pool3d(rois, points, points, 2, 4), 4),
        "roiaware_pool3d, new shape": (pool_next_frame, None),
        "masked_conv2d": (lambda: ours.masked_conv2d(features, mask, weight, padding=1), 12),
    }


def cuda_calls():
    """The calls on CUDA tensors. An operator of one or two launches has the target 7."""
    calls = {name: run for name, (run, _) in tiny_calls("cuda").items() if "NumPy" not in name}
    leaf, one = torch.rand(1, 12, 4, 4, device="cuda"), torch.zeros(1, device="cuda")
    rois = torch.tensor([[0.0, 0, 0, 3, 3]], device="cuda")
    boxes, points = torch.rand(1, 2, 7, device="cuda"), torch.rand(1, 5, 3, device="cuda")
    return {
        "torch: x.add_(1) of one element": lambda: one.add_(1),
        **calls,
        "ps_roi_pool": lambda: ours.ps_roi_pool(leaf, rois, 2),
        "ps_roi_pool, rfcn": lambda: ours.ps_roi_pool(leaf, rois, 2, semantics="rfcn"),
        "points_in_boxes": lambda: ours.points_in_boxes(points, boxes),
    }


def least_time(run, device):
    """The minimum time of a call on the host, of 300 times 10 calls."""
    many = lambda: [run() for _ in range(10)]
    times = []
    for _ in range(300):
        if device == "cuda":  # an empty queue never makes the host wait
            torch.cuda.synchronize()
        times.append(seconds_of(many) / 10)
    return min(times)


def launches_of(run):
    """Counts the kernels, copies and fills of a call. The profiler slows later launches down."""
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    on_device = torch.autograd.DeviceType.CUDA
    return sum(event.device_type == on_device for event in profile.events())


def timed_rows(label, unit, calls, device):
    rows = [{"name": label, "level": "call", "ours_s": unit, "units": 1}]
    for name, (run, target) in calls.items():
        with torch.inference_mode("inference" in name):
            seconds = least_time(run, device)
        row = {"name": name, "level": "call", "ours_s": seconds, "units": seconds / unit}
        rows.append(row | ({"target": target} if target else {}))
    return rows


def cpu_overhead():
    leaf, label = torch.rand(1, 9, 2, 2, requires_grad=True), "a plain autograd.Function"
    unit = least_time(lambda: Plain.apply(leaf), "cpu")
    rows = timed_rows(label, unit, tiny_calls(), "cpu")
    print(f"torch {torch.__version__}, cpu\n")
    print(f"| call | least time, µs | / {label} | target |\n|---|---|---|---|")
    for row in rows:
        cells = row["name"], f"{row['ours_s'] * 1e6:.1f}", f"{row['units']:.1f}"
        print(f"| {' | '.join(cells)} | {row.get('target', '')} |")
    return rows


def cuda_overhead():
    calls, label = cuda_calls(), "an empty launch"
    unit = least_time(lambda: torch.cuda._sleep(0), "cuda")  # a kernel that returns at once
    rows = timed_rows(label, unit, {name: (run, None) for name, run in calls.items()}, "cuda")
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}\n")
    print(f"| call | launches | host, µs | / {label} | target |\n|---|---|---|---|---|")
    for row in rows:
        run = calls.get(row["name"])
        row["launches"] = 1 if run is None else launches_of(run)
        is_one_operator = run is not None and not row["name"].startswith("torch")
        is_one_operator = is_one_operator and not row["name"].endswith("backward")
        if is_one_operator and row["launches"] in (1, 2):
            row["target"] = 7
        cells = row["name"], str(row["launches"]), f"{row['ours_s'] * 1e6:.1f}"
        print(f"| {' | '.join(cells)} | {row['units']:.1f} | {row.get('target', '')} |")
    return rows


def overhead(options):
    """Prints the minimum times of calls on tiny inputs, on one thread."""
    with contextlib.suppress(ImportError):  # loaded by torch.compile and torch.optim
        importlib.import_module("torch._dynamo")
    torch.set_num_threads(1)
    mluops.set_num_threads(1)
    rows = cuda_overhead() if options.device == "cuda" else cpu_overhead()
    if options.json:
        facts = {"device": options.device, "threads": 1, **versions()}
        flag = ""
        if options.device == "cuda":
            flag, facts["machine"] = " --device cuda", torch.cuda.get_device_name()
        save(options.json, f"python bench/peers.py --overhead{flag}", facts, rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.3, help="per call that is measured")
    parser.add_argument(
        "--threads", type=int, default=0, help="number of threads; 0: torch's default"
    )
    parser.add_argument("--only", default="", help="only rows whose name contains this text")
    parser.add_argument("--json", help="write the times to this file")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of --overhead")
    options = parser.parse_args()
    if options.device == "cuda" and not (options.overhead and torch.cuda.is_available()):
        parser.error("--device cuda needs --overhead and a CUDA device")
    if options.threads:
        torch.set_num_threads(options.threads)
    mluops.set_num_threads(torch.get_num_threads())
    torch.manual_seed(0)
    (overhead if options.overhead else table)(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
