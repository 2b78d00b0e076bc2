#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills the tables of docs/mlu/*.md with the counters of the simulated MLU.

    scripts/mlu_pages.py build/mluop            # rewrite the tables
    scripts/mlu_pages.py build/mluop --check    # fail where they differ

A page has `<!-- counters`, a case line per row, `-->`, the table, and `<!-- end of counters -->`.
The counters do not depend on the machine.
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


def table_of(mluop: str, cases: list[str]) -> str:
    head = [
        "| shape | card | read KiB | written KiB | minimum KiB | ratio | NRAM peak KiB "
        "| partition KiB | overlapped | balance |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    rows = [
        row(case, architecture, counters_of(mluop, case, architecture))
        for case in cases
        for architecture in ARCHITECTURES
    ]
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
            r"(<!-- counters\n(.*?)-->\n).*?(<!-- end of counters -->)",
            lambda m: m[1] + table_of(options.mluop, m[2].splitlines()) + "\n" + m[3],
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
