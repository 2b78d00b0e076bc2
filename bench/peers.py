#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures mluops against its peers, alternating in one process.

The peers are torchvision's ps_roi_pool where torchvision is installed, otherwise compositions of
torch operators (`pairs.py`). Where a peer computes the same function, the results are compared
first. Prints a Markdown table of ratios: the peer's minimum time divided by ours.
--overhead measures the overhead per call on a 2 x 2 map instead.
--json writes the times too, with machine, commit and command; rows of an earlier run of the same
machine and commit stay in the file unless they are measured again (`--only` measures some).
"""

import argparse
import statistics
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


def table(options):
    versions = {
        "torch": torch.__version__,
        "torchvision": torchvision.__version__ if torchvision else "absent",
    }
    print(
        f"torch {versions['torch']}, {torch.get_num_threads()} threads, "
        f"torchvision {versions['torchvision']}; "
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
        facts = {"device": "cpu", "threads": threads, **versions}
        command = f"python bench/peers.py --threads {threads} --seconds {options.seconds:g}"
        save(options.json, command, facts, rows)


def overhead(options):
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
    print("| call of psamask on a 2 x 2 map | µs, minimum | µs, median |\n|---|---|---|")
    for name, run in calls.items():
        many = lambda r=run: [r() for _ in range(200)]
        times = [seconds_of(many) / 200 for _ in range(50)]
        print(f"| {name} | {min(times) * 1e6:.1f} | {statistics.median(times) * 1e6:.1f} |")


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
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    mluops.set_num_threads(torch.get_num_threads())
    torch.manual_seed(0)
    (overhead if options.overhead else table)(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
