#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills the tables of docs/mlu/*.md with the counters of the simulated MLU.

    scripts/mlu_pages.py build/mluop            # rewrite the tables
    scripts/mlu_pages.py build/mluop --check    # fail where they differ

A page has `<!-- counters: OPERATOR -->` and `<!-- end of counters -->` around a table. Its rows are
the shapes of the design documents below. The counters do not depend on the machine.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "mlu"
ARCHITECTURES = ("mlu370", "mlu590")
VOXELS = "boxes_num=128 out_x=12 out_y=12 out_z=12 channels=16 max_pts_each_voxel=128"
MASKS = "C=256 H=20 W=20 M=200"
CASES = {
    "psroipool_forward": [
        "N=1 H=14 W=14 R=320 pooled_height=7 pooled_width=7 spatial_scale=1 group_size=7 "
        "output_dim=8",
        "N=2 H=14 W=14 R=493 pooled_height=3 pooled_width=3 spatial_scale=0.0625 group_size=3 "
        "output_dim=21",
    ],
    "border_align_forward": [
        "N=2 H=7 W=10 C=256 K=70 pool_size=10",
        "N=2 H=7 W=10 C=256 K=70 pool_size=10 dtype=half",
        "N=2 H=25 W=38 C=256 K=950 pool_size=10",
        "N=2 H=10 W=7 C=128 K=70 pool_size=10",
    ],
    "roiaware_pool3d_backward": [
        f"P=16000 pool_method=0 {VOXELS}",
        f"P=16000 pool_method=1 {VOXELS}",
        f"P=16000 pool_method=1 {VOXELS} dtype=half",
    ],
    "psamask_forward": [
        "N=1 H=30 W=30 psa_type=0 h_mask=59 w_mask=59",
        "N=1 H=30 W=30 psa_type=1 h_mask=59 w_mask=59",
        "N=8 H=16 W=16 psa_type=1 h_mask=31 w_mask=31",
    ],
    "psamask_backward": [
        "N=1 H=30 W=30 psa_type=0 h_mask=59 w_mask=59",
        "N=1 H=30 W=30 psa_type=1 h_mask=59 w_mask=59",
    ],
    "masked_im2col_forward": [
        f"{MASKS} kernel_h=3 kernel_w=3 pad_h=1 pad_w=1",
        f"{MASKS} kernel_h=1 kernel_w=1 pad_h=1 pad_w=1",
        f"{MASKS} kernel_h=3 kernel_w=3 pad_h=1 pad_w=1 dtype=half",
    ],
}


def run_mluop(mluop: str, arguments: list[str], architecture: str) -> str:
    """Returns what a command of the driver prints on a card of 8 clusters."""
    environment = dict(os.environ, MLUOP_VISIBLE_DEVICES="cpu,mlu:0", MLUOP_MLU_ARCH=architecture)
    environment.pop("MLUOP_MLU_CLUSTERS", None)
    result = subprocess.run(
        [mluop, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        sys.exit(f"mluop {' '.join(arguments)}: {result.stdout}{result.stderr}")
    return result.stdout


def counters_of(mluop: str, case: str, architecture: str) -> dict[str, float]:
    """Returns the counters of one call and the size of its partition of NRAM."""
    text = run_mluop(mluop, ["perf", "--device", "mlu:0", case], architecture)
    plan = run_mluop(mluop, ["describe", "--device", "mlu:0", "--plan", case], architecture)

    def number(pattern: str, source: str = text) -> float:
        found = re.search(pattern, source)
        return float(found.group(1)) if found else 0

    gdram_to_gdram = number(r"GDRAM2GDRAM (\d+)")
    stored = number(r"NRAM2GDRAM (\d+)") + number(r"gdramset (\d+)")
    added = 4 * number(r"atomic instructions \d+, elements (\d+)")  # float
    return {
        "least": number(r"needed at least: bytes (\d+)"),
        "read": number(r"GDRAM2NRAM (\d+)") + gdram_to_gdram,
        "written": stored + gdram_to_gdram + added,
        "peak": number(r"NRAM peak (\d+)"),
        "partition": number(r"NRAM (\d+) bytes", plan),
        "copies": number(r"copies (\d+)"),
        "overlapped": number(r"overlapped with computation (\d+)"),
        "balance": number(r"balance ([0-9.]+)"),
    }


def kib(count: float) -> str:
    return f"{count / 1024:,.0f}"


def row(case: str, architecture: str, counted: dict[str, float]) -> str:
    moved = counted["read"] + counted["written"]
    share = counted["overlapped"] / counted["copies"] if counted["copies"] else 0
    cells = [
        f"`{case.split(' ', 1)[1]}`",
        architecture,
        kib(counted["read"]),
        kib(counted["written"]),
        kib(counted["least"]),
        f"{moved / counted['least']:.2f}",
        kib(counted["peak"]),
        kib(counted["partition"]) if counted["partition"] else "-",
        f"{share:.0%}",
        f"{counted['balance']:.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def table_of(mluop: str, operator: str) -> str:
    head = [
        "| shape | card | read KiB | written KiB | minimum KiB | ratio | NRAM peak KiB "
        "| partition KiB | overlapped | balance |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = []
    for arguments in CASES[operator]:
        case = f"{operator} {arguments}"
        for architecture in ARCHITECTURES:
            rows.append(row(case, architecture, counters_of(mluop, case, architecture)))
    return "\n".join(head + rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mluop", help="the driver")
    parser.add_argument("--check", action="store_true", help="fail where a table differs")
    options = parser.parse_args()
    stale = []
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text()
        new = re.sub(
            r"(<!-- counters: (\w+) -->\n).*?(<!-- end of counters -->)",
            lambda m: m[1] + table_of(options.mluop, m[2]) + "\n" + m[3],
            text,
            flags=re.DOTALL,
        )
        if new != text:
            stale.append(page.name)
            if not options.check:
                page.write_text(new)
    if options.check and stale:
        sys.exit(f"run scripts/mlu_pages.py: the tables of {', '.join(stale)} are stale")


if __name__ == "__main__":
    main()
