#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the checks that are too slow for .ci/run, and writes docs/quality.md.

    scripts/nightly.py [--again] [step ...]     # all steps, or the named ones
    scripts/nightly.py --page                   # only rewrites docs/quality.md
    scripts/nightly.py --remark STEP TEXT [--part]

A step that passed on the commit is not repeated: an interrupted run goes on where it stopped.
--again repeats it. A step that fails is recorded, and the next one runs. The commit is the newest
one that changes more than the page; with uncommitted changes every step runs.

--remark sets the remark on the last run of a step, for what its log does not tell; "" removes it.
--part marks the run as a part of its step, for example with fewer commands. The next run of the
step replaces both.

Logs and stamps are in build-nightly/<commit>/. docs/quality.json keeps the last result of each
step, from which the page is written. On a terminal a line shows the running step; NO_COLOR disables
it.
Exit status: 0 if all steps passed, 1 if one failed, 2 if the arguments are wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nightly_amounts as amounts
from terminal import Terminal

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / "build-nightly"
RECORD = ROOT / "docs/quality.json"
PAGE = ROOT / "docs/quality.md"
GENERATED = [":!docs/quality.json", ":!docs/quality.md"]
MUTATED_SINCE = "fbd6b1d"  # version 0.1.0

INTRODUCTION = """\
# Quality

`.ci/run` runs the tests and the analysers on every change. `make nightly` runs the checks below,
which take longer. `make nightly STEPS="fuzz aarch64"` runs two of them, and `scripts/nightly.py
--help` explains how an interrupted run goes on. This page is generated: each row is the last
recorded run of its step, so the commits differ. Steps run at low priority beside other work, so
their times vary. "Part" marks a run of less than the whole step. Remarks are written by hand
(`scripts/nightly.py --remark`); the other columns come from the logs. Fuzzing counts judged calls:
calls whose results are compared with the reference.

"""


@dataclass(frozen=True)
class Step:
    what: str
    command: str
    # Returns the amount of work from the lines of the log: "1083 cases", "".
    amount: Callable[[str], str]


# The cheapest first, because a run may be cut.
STEPS = {
    "valgrind": Step("memcheck", "make valgrind", amounts.cases),
    "aarch64": Step("64-bit Arm under qemu", "make aarch64", amounts.cases),
    "tsan": Step("ThreadSanitizer, the simulated MLU included", "make tsan", amounts.ctest),
    "report": Step(
        "test report",
        "make build && build/mluop report --quick --out build-nightly/quick && "
        "build/mluop report --out build-nightly/report",
        amounts.report,
    ),
    "package": Step(
        "packages in a new Debian root", "make package && make package-test", amounts.packages
    ),
    "coverage": Step("line coverage", "make coverage", amounts.coverage),
    "fresh-root": Step(
        "README's commands in a new Debian root", "make fresh-root", amounts.fresh_root
    ),
    "mutation": Step(
        f"mutation testing of the lines changed since {MUTATED_SINCE}",
        f"scripts/mutate.py --since ${{MUTATE_SINCE:-{MUTATED_SINCE}}} "
        "--seed ${MUTATE_SEED:-$(date +%j)} --minutes ${MUTATE_MINUTES:-60}",
        amounts.mutation,
    ),
    "fuzz": Step(
        "fuzzing with ASan and UBSan", "FUZZ_CALLS=${FUZZ_CALLS:-1000000} make fuzz", amounts.fuzz
    ),
}


def git(*arguments: str) -> str:
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()


def commit() -> tuple[str, bool]:
    """Returns the commit whose sources are tested, and whether there are uncommitted changes."""
    name = git("log", "-1", "--format=%h", "--abbrev=10", "--", ".", *GENERATED)
    return name, bool(git("status", "--porcelain", "--", ".", *GENERATED))


def span(seconds: float) -> str:
    """Returns a duration in words.

    >>> span(59.6), span(61), span(7260)
    ('60 s', '1 min 1 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole <= 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def run(name: str, log: Path, terminal: Terminal) -> tuple[int, float]:
    """Runs a step. Returns its exit status and seconds."""
    start = time.monotonic()
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(
            ["bash", "-c", STEPS[name].command], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            while process.poll() is None:
                seconds = span(time.monotonic() - start)
                terminal.show(f"{name} {seconds}: {last_line(log) if terminal.rich else ''}")
                time.sleep(1)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)  # bash and what it started
            raise
    return process.returncode, time.monotonic() - start


def row_of(name: str, row: dict | None) -> str:
    """Returns a row of the page.

    >>> row_of("tsan", None)
    '| ThreadSanitizer, the simulated MLU included (`tsan`) | | | | not run | |'
    >>> row = {"amount": "9 cases", "date": "2030-01-02", "commit": "ab", "status": 1, "seconds": 7}
    >>> row_of("valgrind", row)
    '| memcheck (`valgrind`) | 9 cases | 2030-01-02 | ab | **failed** after 7 s | |'
    >>> row_of("valgrind", {**row, "status": 0, "part": True, "remark": "4 left"}).split(" | ")[4:]
    ['part, passed in 7 s', '4 left |']
    """
    what = f"{STEPS[name].what} (`{name}`)"
    if row is None:
        return f"| {what} | | | | not run | |"
    verdict = "passed in" if row["status"] == 0 else "**failed** after"
    result = f"{'part, ' if row.get('part') else ''}{verdict} {span(row['seconds'])}"
    cells = [what, row["amount"], row["date"], row["commit"], result, row.get("remark", "")]
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def load_record() -> dict:
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def write_page(record: dict) -> None:
    rows = ["| what | how much | when | commit | result | remark |", "|---|---|---|---|---|---|"]
    rows += [row_of(name, record.get(name)) for name in STEPS]
    PAGE.write_text(INTRODUCTION + "\n".join(rows) + "\n", encoding="utf-8")


def with_remark(row: dict, remark: str, part: bool) -> dict:
    """Returns the row of a run with another remark.

    >>> with_remark({"status": 0, "remark": "old", "part": True}, "new", False)
    {'status': 0, 'remark': 'new'}
    >>> with_remark({"status": 0, "remark": "old"}, "", True)
    {'status': 0, 'part': True}
    """
    kept = {key: value for key, value in row.items() if key not in ("remark", "part")}
    return kept | ({"remark": remark} if remark else {}) | ({"part": True} if part else {})


def store(name: str, row: dict) -> None:
    """Writes the record and the page. A later step may be interrupted."""
    record = load_record()
    record[name] = row
    ordered = {step: record[step] for step in STEPS if step in record}
    RECORD.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    write_page(ordered)


def has_passed(stamp: Path) -> bool:
    return stamp.exists() and json.loads(stamp.read_text())["status"] == 0


def run_steps(names: list[str], again: bool) -> int:
    terminal, failed = Terminal(sys.stdout), 0
    tested, changed = commit()
    folder = STATE / (tested + ("+changes" if changed else ""))
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        stamp, log = folder / f"{name}.json", folder / f"{name}.log"
        if not changed and not again and has_passed(stamp):
            terminal.end(f"{name}: has passed on {tested}")
            continue
        status, seconds = run(name, log, terminal)
        row = {
            "status": status,
            "amount": STEPS[name].amount(log.read_text(errors="replace")),
            "seconds": round(seconds),
            "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
            "commit": folder.name,
        }
        stamp.write_text(json.dumps(row))
        store(name, row)
        failed += status != 0
        verdict = terminal.paint(31, "failed") if status else terminal.paint(32, "passed")
        terminal.end(f"{name}: {verdict} in {span(seconds)}: {row['amount'] or last_line(log)}")
        if status:
            print(f"  log: {log.relative_to(ROOT)}", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--again", action="store_true", help="repeat steps that passed")
    parser.add_argument("--page", action="store_true", help="only rewrite docs/quality.md")
    parser.add_argument("--remark", nargs=2, metavar=("STEP", "TEXT"), help="of the last run")
    parser.add_argument("--part", action="store_true", help="with --remark: not the whole step")
    parser.add_argument("step", nargs="*", help=", ".join(STEPS))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # run() then ends the step too
    unknown = [name for name in options.step if name not in STEPS]
    if unknown:
        parser.error(f"the steps are {', '.join(STEPS)}, got {', '.join(unknown)}")
    if options.remark:
        name, text = options.remark
        row = load_record().get(name)
        if row is None:
            parser.error(f"--remark must name a step that has run, got {name}")
        store(name, with_remark(row, text, options.part))
        return 0
    if options.part:
        parser.error("--part needs --remark")
    if options.page:
        write_page(load_record())
        return 0
    return run_steps(options.step or list(STEPS), options.again)


if __name__ == "__main__":
    sys.exit(main())
