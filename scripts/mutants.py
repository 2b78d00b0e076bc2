# SPDX-License-Identifier: Apache-2.0
"""The changes that scripts/mutate.py makes, and the classes of the mutants that survived."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

MIN_HARMLESS = 0.9  # the fraction of a family's mutants that must be detected or harmless
HARMLESS = ("speed only", "equivalent")  # classes whose mutants change no result
CLASSES = (*HARMLESS, "sanitizer only")

# The replacements. clang-format puts spaces around binary operators, none around template brackets.
SWAPS = {
    " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ",
    " + ": " - ", " - ": " + ", " * ": " + ", " / ": " * ", " % ": " / ", " += ": " -= ",
    " && ": " || ", " || ": " && ", " & ": " | ", " | ": " & ", " << ": " >> ", " >> ": " << ",
    "std::min": "std::max", "std::max": "std::min", "hn::Min": "hn::Max", "hn::Max": "hn::Min",
    "hn::Add": "hn::Sub", "hn::Sub": "hn::Add", "hn::Mul(": "hn::Add(", "hn::Lt": "hn::Le",
    "hn::Le": "hn::Lt", "hn::Gt": "hn::Ge", "hn::Ge": "hn::Gt", "hn::And(": "hn::Or(",
    "std::floor": "std::ceil", "std::ceil": "std::floor", "true": "false", "false": "true",
    "kSkip": "kReject", "kReject": "kSkip", "kPositive": "kAny", "++": "--",
}  # fmt: skip
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
# Lines that are not mutated: a change affects only speed or an error message. kGrain determines the
# ranges of the threads.
SKIPPED_LINES = re.compile(
    r"^\s*(//|#|static_assert|template|namespace|using |HWY_EXPORT)|Fail\(|assert\(|kGrain|Prefetch"
)


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int  # from 1
    column: int
    before: str
    after: str

    def applied_to(self, line: str) -> str:
        """Returns the changed line; "" if the line is not the one of the mutant.

        >>> Mutant("a.h", 1, 4, "2", "3").applied_to("f(2, 2)")
        ''
        >>> Mutant("a.h", 1, 5, "2", "3").applied_to("f(2, 2)")
        'f(2, 3)'
        """
        end = self.column + len(self.before)
        if line[self.column : end] != self.before:
            return ""
        return line[: self.column] + self.after + line[end:]


def changes_of(text: str) -> list[tuple[int, str, str]]:
    """Returns the possible changes of a line as (column, before, after)."""
    if SKIPPED_LINES.search(text):
        return []
    code = re.sub(r'"[^"]*"', lambda found: "\0" * len(found[0]), text.split("//")[0])
    changes = [
        (at.start(), before, after)
        for before, after in SWAPS.items()
        for at in re.finditer(re.escape(before), code)
    ]
    changes += [(at.start(), at[0], str(int(at[0]) + 1)) for at in NUMBER.finditer(code)]
    return changes


def added_lines(diff: str) -> set[int]:
    """Returns the lines that `git diff -U0` of one file adds or changes.

    >>> sorted(added_lines("@@ -3,0 +4,2 @@ f\\n+a\\n+b\\n@@ -9 +12 @@\\n-c\\n+d\\n@@ -2 +1,0 @@"))
    [4, 5, 12]
    """
    lines: set[int] = set()
    for start, count in re.findall(r"^@@ \S+ \+(\d+)(?:,(\d+))? @@", diff, re.MULTILINE):
        lines.update(range(int(start), int(start) + int(count or 1)))
    return lines


def load_classes(path: Path) -> dict[tuple[str, str, str], str]:
    """Returns {(file, line, changed line): class} of the classified survivors. The lines are
    stripped and have no number, so that an entry outlives changes of other lines."""
    classes = {}
    for row in json.loads(path.read_text(encoding="utf-8")) if path.exists() else []:
        if row["class"] not in CLASSES or not row["reason"]:
            raise ValueError(f"{path}: class must be one of {CLASSES}, with a reason, got {row}")
        classes[row["file"], row["line"], row["mutant"]] = row["class"]
    return classes


def class_of(mutant: Mutant, line: str, classes: dict[tuple[str, str, str], str]) -> str:
    """Returns the class of a survivor on this line of the sources; "" if it has none.

    >>> classes = {("a.h", "int a = 2;", "int a = 3;"): "equivalent"}
    >>> mutant = Mutant("a.h", 1, 10, "2", "3")
    >>> class_of(mutant, "  int a = 2;", classes), class_of(mutant, "  int b = 2;", classes)
    ('equivalent', '')
    """
    return classes.get((mutant.file, line.strip(), mutant.applied_to(line).strip()), "")


def passes(detected: int, survivors: list[str]) -> bool:
    """Returns whether a family passes, given the classes of its survivors: each has one, and 90 %
    of the mutants are detected or harmless.

    >>> passes(1, ["speed only", "equivalent"]), passes(9, ["sanitizer only"])
    (True, True)
    >>> passes(99, [""]), passes(8, ["speed only", "sanitizer only", "sanitizer only"])
    (False, False)
    """
    harmless = detected + sum(name in HARMLESS for name in survivors)
    return all(survivors) and harmless >= MIN_HARMLESS * (detected + len(survivors))
