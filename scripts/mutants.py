# SPDX-License-Identifier: Apache-2.0
"""The changes that scripts/mutate.py makes."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
