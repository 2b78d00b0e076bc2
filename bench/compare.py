# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of two builds: runs their drivers in turn on the same cases.

    python3 bench/compare.py BASE/build/mluop build/mluop --runs 3 --threads 2 --isa AVX2

Options that it does not know go to `mluop perf` of both builds. Measures the cases that the base
knows: its set `networks`, or --set. Prints the ratio new / base of every run, and their geometric
mean; --json writes them to a file. A star marks cases above --limit in every run.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile


def measure(driver, options, cases=()):
    """Returns {(case, instruction set): seconds}, the fastest run of each."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.json"
        if cases:
            lines = pathlib.Path(folder) / "cases.txt"
            lines.write_text("\n".join(cases) + "\n")
            options = [*options, "--file", str(lines)]
        command = [driver, "perf", *options, "--json", str(results)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(results.read_text())
    rows = rows if isinstance(rows, list) else rows["cases"]  # version 0.1 wrote a list
    return {(row["case"], row["isa"]): row["min_s"] for row in rows}


def geometric_mean(values):
    """
    >>> round(geometric_mean([1, 4]), 3)
    2.0
    """
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--set", default="networks")
    parser.add_argument("--op", nargs="*", default=[], help="operators or families; default: all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1.05)
    parser.add_argument("--json", type=pathlib.Path, help="write the ratios to this file")
    args, options = parser.parse_known_args()
    ratios = {}
    for op in args.op or [None]:
        chosen = ["--set", args.set, *(["--op", op] if op else [])]
        for _ in range(args.runs):
            base = measure(args.base, [*options, *chosen])
            new = measure(args.new, options, sorted({case for case, _ in base}))
            for key, seconds in base.items():
                ratios.setdefault(key, []).append((new[key] / seconds, seconds))
    for (case, isa), runs in sorted(ratios.items()):
        slow = "*" if min(ratio for ratio, _ in runs) > args.limit else " "
        values = " ".join(f"{ratio:5.2f}" for ratio, _ in runs)
        fastest = min(seconds for _, seconds in runs)
        print(f"{slow} {values}  {fastest * 1e6:9.1f} us  {isa}  {case}")
    means = [geometric_mean([ratio for ratio, _ in runs]) for runs in ratios.values()]
    mean = geometric_mean(means)
    print(f"geometric mean {mean:.3f} of {len(means)} cases")
    if args.json:
        rows = [
            {"case": case, "isa": isa, "ratios": [ratio for ratio, _ in runs]}
            for (case, isa), runs in sorted(ratios.items())
        ]
        args.json.write_text(json.dumps({"geometric_mean": mean, "cases": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
