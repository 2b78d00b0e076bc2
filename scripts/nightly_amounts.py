# SPDX-License-Identifier: Apache-2.0
"""Reads the amount of work of a nightly step from its log: "1083 cases passed, 0 failed"."""

from __future__ import annotations

import re


def number(text: str) -> str:
    """Returns a number with separators.

    >>> number("1234567")
    '1,234,567'
    """
    return f"{int(text):,}"


def last(pattern: str, text: str) -> tuple[str, ...]:
    """Returns the groups of the last match; () if there is none.

    >>> last(r"(\\d+) passed", "3 passed\\n5 passed\\n"), last("(x)", "")
    (('5',), ())
    """
    found = list(re.finditer(pattern, text))
    return found[-1].groups() if found else ()


def cases(log: str) -> str:
    """Counts the cases of `mluop check`.

    >>> cases("1083 passed, 2 failed\\n"), cases("")
    ('1,083 cases passed, 2 failed', '')
    """
    counts = last(r"(\d+) passed, (\d+) failed", log)
    return f"{number(counts[0])} cases passed, {number(counts[1])} failed" if counts else ""


def ctest(log: str) -> str:
    """Counts the tests of ctest.

    >>> ctest("98% tests passed, 1 tests failed out of 51")
    '50 tests passed, 1 failed'
    """
    counts = last(r"tests passed, (\d+) tests? failed out of (\d+)", log)
    return f"{int(counts[1]) - int(counts[0])} tests passed, {counts[0]} failed" if counts else ""


def fuzz(log: str) -> str:
    """Adds the executions of the runs; the last line counts the judged calls of the commit.

    >>> fuzz("fuzz_runtime: 70 executions, none failed\\nfuzz: 1500 judged calls of abc\\n")
    '1,500 judged calls; 70 executions of the other targets'
    """
    judged = last(r"fuzz: (\d+) judged calls", log)
    others = sum(map(int, re.findall(r"fuzz_(?:runtime|descriptors): (\d+) executions", log)))
    return (
        f"{number(judged[0])} judged calls; {others:,} executions of the other targets"
        if judged
        else ""
    )


def coverage(log: str) -> str:
    """Returns the total of gcovr.

    >>> coverage("a.cc   10  9  90%  3\\nTOTAL    20000   19500    97%\\n")
    '19,500 of 20,000 lines of src/ (97.5 %)'
    """
    total = last(r"TOTAL\s+(\d+)\s+(\d+)", log)
    if not total:
        return ""
    share = 100 * int(total[1]) / int(total[0])
    return f"{number(total[1])} of {number(total[0])} lines of src/ ({share:.1f} %)"


def mutation(log: str) -> str:
    """Adds the families, and counts the survivors that have a class.

    >>> mutation("a: 1 of 3 detected {}\\n  survived (speed only): f\\n  survived (no class): g\\n"
    ...          "transpose: 2 of 2 detected {}, 5 possible")
    '3 of 5 mutants detected; 1 of 2 survivors classified'
    """
    counts = re.findall(r"^\w+: (\d+) of (\d+) detected", log, re.MULTILINE)
    detected, tested = (sum(int(row[i]) for row in counts) for i in (0, 1))
    survived = re.findall(r"^  survived \((.*?)\)", log, re.MULTILINE)
    classified = len(survived) - survived.count("no class")
    survivors = f"; {classified} of {len(survived)} survivors classified" if survived else ""
    return f"{detected} of {tested} mutants detected{survivors}" if counts else ""


def fresh_root(log: str) -> str:
    """Returns README's commands with their times.

    >>> fresh_root("make run: status 0 after 250 s, ends with: Report: x\\n")
    '`make run` 250 s'
    """
    runs = re.findall(r"^(make [\w-]+).*: status \d+ after (\d+) s", log, re.MULTILINE)
    return ", ".join(f"`{command}` {seconds} s" for command, seconds in runs)


def packages(log: str) -> str:
    """Returns the counts of the packages' test.

    >>> packages("packages: 5 installed, used and removed; both archives used\\n")
    '5 packages installed, used and removed; both archives used'
    """
    counts = last(r"packages: (\d+) (installed, .*)", log)
    return f"{counts[0]} packages {counts[1]}" if counts else ""


def report(log: str) -> str:
    """Returns the counts of the last verdict, and the time of `report --quick`.

    >>> report("Report after 72 s: build-nightly/quick/report.html\\n9 of 9 cases passed, 5 of 5 "
    ...        "broken rules were refused as the table says, 3 of 4 x")
    '9 of 9 cases passed, 5 of 5 broken rules were refused; --quick takes 72 s'
    """
    verdict = last(r"(\d+ of \d+ cases passed, \d+ of \d+ broken rules were refused)", log)
    quick = last(r"Report after (\d+ s): \S*/quick/", log)
    return (verdict[0] if verdict else "") + (f"; --quick takes {quick[0]}" if quick else "")
