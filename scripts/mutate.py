#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: changes one operator sign, bound, constant or table entry of a family's CPU
code, or of the shared code (`core`), at a time. Tests whether `mluop check` and the C++ tests
detect it.

    scripts/mutate.py [--mutants 20] [--seed 1] [--minutes M] [--since COMMIT] [--isa avx512]
        [--quick] [--again] [family...]

A mutant that does not compile, or that compiles to the same machine code, is replaced by another
one. Code that is not compiled for AVX-512 is tested in a second build, for AVX2. Survivors are
printed with their line and their class in docs/notes/mutation_survivors.json; docs/mutation.md
explains the classes. Fails if a survivor has no class, or if less than 90 % of a family's mutants
are detected, equivalent or affect only speed. --again tests only the mutants that have survived so
far; --since mutates only lines that have changed since a commit. --minutes ends the run after as
much time, shared by the families. An interrupted run goes on where it stopped: with unchanged
sources, a result in build-mutants/mutants.jsonl is not computed again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from mutants import Mutant, added_lines, changes_of, class_of, load_classes, passes
from terminal import Terminal

ROOT = Path(__file__).resolve().parent.parent
SURVIVORS = ROOT / "docs/notes/mutation_survivors.json"

CONFIGURATIONS = {
    "avx512": "-march=skylake-avx512 -DHWY_COMPILE_ONLY_STATIC",
    "avx2": "-march=haswell -DHWY_COMPILE_ONLY_STATIC",
}
VALIDATION = "*Generated*:CheckAttributes*:Document*"


DEADLOCK_SECONDS = 1200  # longer than any step

SHARED = "core"  # stands for src/core and src/cpu, which all families share


def child_seconds() -> float:
    """Returns the CPU time of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def families() -> list[str]:
    text = (ROOT / "src/ops/op_list.inc").read_text(encoding="utf-8")
    return [*re.findall(r"^MLUOP_FAMILY\((\w+)\)", text, re.MULTILINE), SHARED]


def suites(family: str) -> str:
    """Returns the suites of the family's test.cc as a GoogleTest filter."""
    if family == SHARED:
        return "*"
    text = (ROOT / f"src/ops/{family}/test.cc").read_text(encoding="utf-8")
    names = re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+)", text, re.MULTILINE)
    return ":".join(f"{prefix}{name}.*" for name in sorted(set(names)) for prefix in ("", "*/"))


class MutationBuild:
    """A copy of the sources, built in one or two configurations, to which mutants are applied."""

    def __init__(self, folder: Path, names: list[str], quick: bool):
        self.folder, self.tree, self.quick = folder, folder / "tree", quick
        self.tree.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
        ).stdout
        files = set(listed.split("\0")[:-1])
        for file in files:
            self._copy(file)
        self.state = self._hash(sorted(files))
        for path in self.tree.rglob("*"):  # removes files that no longer exist
            if path.is_file() and str(path.relative_to(self.tree)) not in files:
                path.unlink()
        has_avx512 = " avx512dq" in Path("/proc/cpuinfo").read_text(encoding="ascii")
        self.names = [name for name in names if name != "avx512" or has_avx512]
        for name in self.names:
            flags = CONFIGURATIONS[name]
            self._run(
                ["cmake", "--preset", "release", "-B", folder / name, "-DMLUOPS_CUDA=OFF",
                 f"-DCMAKE_CXX_FLAGS={flags}", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
                 "-DMLUOPS_WERROR=OFF"], check=True
            )  # fmt: skip
            if not self.build(name):
                sys.exit(f"mutate.py: the unchanged sources do not build for {name}")
        self.original = {name: self.code(name) for name in self.names}

    def _copy(self, file: str) -> None:
        """Skips files that have not changed, so that they are not compiled again."""
        source, target = ROOT / file, self.tree / file
        if source.is_symlink() or not source.is_file():
            return
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)

    def _hash(self, files: list[str]) -> str:
        """Returns a hash of all files that a test depends on."""
        total = hashlib.sha256()
        for file in files:
            if file.startswith(("include/", "src/", "tools/", "tests/", "CMake", "cmake/")):
                path = ROOT / file
                total.update(file.encode() + (path.read_bytes() if path.is_file() else b""))
        return total.hexdigest()[:16]

    def _run(self, command: list, cpu_seconds: int = 0, check: bool = False) -> bool:
        """0 is no limit. Limits CPU time because other work may delay a test; a deadlock uses none,
        and needs a limit of real time."""
        words = [str(word) for word in command]
        limit = ["prlimit", f"--cpu={cpu_seconds}"] if cpu_seconds else []
        try:
            done = subprocess.run(
                limit + words, cwd=self.tree, timeout=DEADLOCK_SECONDS if cpu_seconds else None,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=check,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def build(self, name: str) -> bool:
        return self._run(["ninja", "-C", self.folder / name, "mluop", "mluops_tests"])

    def code(self, name: str) -> str:
        """Returns the hash of the driver, which contains the library."""
        return hashlib.sha256((self.folder / name / "mluop").read_bytes()).hexdigest()

    def sources(self, family: str) -> list[str]:
        """Returns the family's files from which the library is compiled."""
        deps = subprocess.run(
            ["ninja", "-C", str(self.folder / self.names[0]), "-t", "deps"],
            capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        own = rf"src/ops/{family}/\S+"
        if family == SHARED:  # not headers: each would compile everything again
            own = r"src/(?:core|cpu)/\S+\.cc\b"
        found = set()
        for block in deps.split("\n\n"):
            if re.search(f"mluops_core.dir/{own}", block.split("\n")[0]):
                found.update(re.findall(own, block.split("\n", 1)[1]))
        return sorted(found)

    def steps(self, name: str, family: str) -> dict[str, list]:
        driver, tests = self.folder / name / "mluop", self.folder / name / "tests/mluops_tests"
        chosen = [] if family == SHARED else ["--op", family]
        steps = {
            "check basic": [driver, "check", *chosen, "--set", "basic"],
            "tests": [tests, f"--gtest_filter={suites(family)}:{VALIDATION}"],
        }
        return steps if self.quick else {**steps, "check": [driver, "check", *chosen]}

    def measure_time_limits(self, family: str) -> None:
        """Measures the steps on the unchanged sources, which must pass, and limits the CPU time."""
        self.limits = {}
        self.build(self.names[0])  # the current build may be of the last mutant
        for step, command in self.steps(self.names[0], family).items():
            start = child_seconds()
            if not self._run(command):
                sys.exit(f"mutate.py: {family}: {step} fails on the unchanged sources")
            self.limits[step] = 20 + round(5 * (child_seconds() - start))

    def detected_by(self, name: str, family: str) -> str:
        """Returns the first step that fails or times out; '' if none does."""
        for step, command in self.steps(name, family).items():
            if not self._run(command, self.limits[step]):
                return step
        return ""

    def test_mutant(self, mutant: Mutant, family: str) -> str:
        """Returns the step that detected it, 'survived', 'no build', 'same code' or 'gone'."""
        path = self.tree / mutant.file
        text = path.read_text()
        lines = text.split("\n")
        changed = mutant.applied_to(lines[mutant.line - 1])
        if not changed:
            return "gone"
        lines[mutant.line - 1] = changed
        path.write_text("\n".join(lines))
        try:
            for name in self.names:
                if not self.build(name):
                    return "no build"
                if self.code(name) != self.original[name]:
                    return self.detected_by(name, family) or "survived"
            return "same code"
        finally:
            path.write_text(text)


def candidates(build_tree: MutationBuild, family: str, since: str, seed: int) -> list[Mutant]:
    """Returns the possible mutants in a random order."""
    mutants = []
    for file in build_tree.sources(family):
        lines = (build_tree.tree / file).read_text().split("\n")
        wanted = set(range(1, len(lines) + 1))
        if since:
            diff = ["git", "diff", "-U0", since, "--", file]
            wanted = added_lines(subprocess.check_output(diff, cwd=ROOT, text=True))
        for number, line in enumerate(lines, 1):
            if number in wanted:
                mutants += [Mutant(file, number, *change) for change in changes_of(line)]
    random.Random(f"{seed} {family}").shuffle(mutants)
    return mutants


class Results:
    """The results of all mutants so far, one per line of build-mutants/mutants.jsonl."""

    def __init__(self, path: Path, state: str):
        self.path, self.state = path, state

    def of(self, family: str, state: str = "") -> dict[Mutant, str]:
        """Returns the last result of each mutant: with the sources of one state, or with all."""
        last = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            entry = json.loads(line)
            outcome, of = entry.pop("outcome"), (entry.pop("family"), entry.pop("state", ""))
            if of == (family, state or of[1]):
                last[Mutant(**entry)] = outcome
        return last

    def survivors(self, family: str) -> list[Mutant]:
        return [mutant for mutant, last in self.of(family).items() if last == "survived"]

    def add(self, family: str, mutant: Mutant, outcome: str) -> None:
        entry = {"family": family, "state": self.state, "outcome": outcome, **asdict(mutant)}
        with open(self.path, "a", encoding="ascii") as log:
            print(json.dumps(entry), file=log)


def test_family(
    build_tree: MutationBuild, family: str, pool: list[Mutant], wanted: int, deadline: float,
    results: Results, known: dict[Mutant, str],
) -> bool:  # fmt: skip
    terminal = Terminal(sys.stderr)
    outcomes: Counter = Counter()
    survivors = []
    build_tree.limits = {}
    for mutant in pool:
        if outcomes.total() >= wanted or (outcomes.total() > 0 and time.monotonic() > deadline):
            break
        terminal.show(f"{family} {outcomes.total()}/{wanted} {mutant.file}:{mutant.line}")
        outcome = known.get(mutant, "")
        if not outcome:
            if not build_tree.limits:
                build_tree.measure_time_limits(family)
            outcome = build_tree.test_mutant(mutant, family)
            results.add(family, mutant, outcome)
        if outcome in ("no build", "same code", "gone"):
            continue
        outcomes[outcome] += 1
        if outcome == "survived":
            survivors.append(mutant)
    detected = outcomes.total() - outcomes["survived"]
    counts = f"{detected} of {outcomes.total()} detected {dict(outcomes)}"
    print(f"{family}: {counts}, {len(pool)} possible")
    known_classes, classes = load_classes(SURVIVORS), []
    for mutant in survivors:
        line = (build_tree.tree / mutant.file).read_text().split("\n")[mutant.line - 1]
        classes.append(class_of(mutant, line, known_classes))
        change = f"{mutant.file}:{mutant.line}: '{mutant.before}' -> '{mutant.after}'"
        print(f"  survived ({classes[-1] or 'no class'}): {change}")
    sys.stdout.flush()
    return outcomes.total() >= min(wanted, 1, len(pool)) and passes(detected, classes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--mutants", type=int, default=20, help="per family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build-mutants")
    parser.add_argument("--minutes", type=float, default=0, help="for the mutants; 0: no limit")
    parser.add_argument("--since", default="", help="only lines that have changed since a commit")
    parser.add_argument("--isa", default="avx512,avx2", help="the builds; avx512 alone saves time")
    parser.add_argument("--quick", action="store_true", help="check only the basic cases")
    parser.add_argument("--again", action="store_true", help="only mutants that survived before")
    parser.add_argument("family", nargs="*", help=", ".join(families()))
    options = parser.parse_args()
    unknown = set(options.family) - set(families())
    if unknown:
        parser.error(f"the families are {', '.join(families())}, got {', '.join(sorted(unknown))}")
    if set(options.isa.split(",")) - set(CONFIGURATIONS):
        parser.error(f"the builds are {', '.join(CONFIGURATIONS)}, got {options.isa}")
    build_tree = MutationBuild(options.folder, options.isa.split(","), options.quick)
    good, results = True, Results(options.folder / "mutants.jsonl", build_tree.state)
    end = time.monotonic() + 60 * options.minutes if options.minutes > 0 else float("inf")
    chosen = options.family or families()
    for i, family in enumerate(chosen):
        deadline = time.monotonic() + (end - time.monotonic()) / (len(chosen) - i)
        if options.again:
            pool, known = results.survivors(family), {}
        else:
            pool = candidates(build_tree, family, options.since, options.seed)
            known = results.of(family, build_tree.state)
        wanted = len(pool) if options.again else options.mutants
        good &= test_family(build_tree, family, pool, wanted, deadline, results, known)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    os.environ.setdefault("MLUOP_VISIBLE_DEVICES", "cpu")
    main()
