#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the wording of all tracked text files and the line length of Markdown files.

    scripts/check_prose.py [file ...]

Prints `file:line: rule` and fails if a file uses a banned word, or if a line of Markdown is longer
than 100 characters. Tables and links may be longer. docs/glossary.md defines our terms.

>>> find_words("// the First cache holds so many rows")
['"first cache": write "L1"', '"so many": state the number or the limit']
>>> find_words("// the L1 holds 12 rows, somewhere sentenced")
[]
>>> find_words("# What a call returns."), find_words("# What next? Returns 0.")
(['"# what": start a comment with a statement'], [])
>>> find_words("## What a call returns")
[]
>>> is_too_long("x" * 101), is_too_long("| " + "x" * 101), is_too_long("[a](" + "x" * 101 + ")")
(True, False, False)
>>> is_too_long("a " * 50 + "b [a](https://example.org)")
True
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINE = 100

# Banned wording and its replacement. \b is added at both ends.
BANNED = {
    r"first cache": 'write "L1"',
    r"second cache": 'write "L2"',
    r"third cache": 'write "L3"',
    r"past the caches": 'write "non-temporal"',
    r"regroup(s|ed|ing)?": 'write "repack"',
    r"muster(s|ed|ing)?": "name the action",
    r"nowhere": "name the place or the absence",
    r"linger(s|ed|ing)?": 'write "spin" or "wait"',
    r"foretell(s|ing)?|foretold": 'write "predict"',
    r"so many": "state the number or the limit",
    r"sentences?": 'write "error message"',
    r"must be not": 'write "must not be"',
    r"on (its|their) way": 'write "in flight"',
    r"under way": 'write "in flight" or "running"',
    r"nobody": 'name the subject, or write "no thread", "no caller"',
    r"calls? for lines|calling for lines": 'write "prefetch"',
    r"alike": 'write "likewise" or "the same"',
    r"of (its|their|our) own(?! \w)": 'write "its own ..." or "separate"',
    r"who|whoever": "name the subject",
    r"those": "repeat the noun",
    r"hand(s|ed|ing)? over|hand-overs?": 'write "pass" or "synchronise"',
    r"let(s|ting)? go": 'write "release"',
    r"what binds": 'write "bottleneck" or "limited by"',
}
PATTERNS = {re.compile(rf"\b(?:{p})\b", re.IGNORECASE): hint for p, hint in BANNED.items()}
# A comment is a statement: it does not start with "What ...". "## What" is a Markdown heading.
PATTERNS[re.compile(r"(?://|/\*|(?<!#)#|\"{3}) *What\b(?!.*\?)")] = (
    "start a comment with a statement"
)

# Data and texts of others, and the list itself.
EXEMPT = ("LICENSE", "scripts/check_prose.py", "bench/results/", "tests/fuzz/corpus/")
EXEMPT_SUFFIXES = {".svg", ".png", ".json"}


def find_words(line: str) -> list[str]:
    """Returns the banned words of a line, each with its hint."""
    found = ((pattern.search(line), hint) for pattern, hint in PATTERNS.items())
    return [f'"{match.group(0).lower()}": {hint}' for match, hint in found if match]


def is_too_long(line: str) -> bool:
    """Returns whether to wrap a line of Markdown. A link is counted without its target; a table row
    and a case line stay whole."""
    if line.lstrip().startswith("|") or re.fullmatch(r"\w+( \w+=\S+)+", line):
        return False
    return len(re.sub(r"(?<=\])\([^)]*\)", "", line)) > MAX_LINE


def check(name: str, text: str) -> list[str]:
    """Returns the violations of a file, as `file:line: rule`."""
    is_markdown = name.endswith(".md")
    errors = []
    for number, line in enumerate(text.splitlines(), 1):
        rules = find_words(line)
        if is_markdown and is_too_long(line):
            rules.append(f"line has {len(line)} characters, at most {MAX_LINE} are allowed")
        errors += [f"{name}:{number}: {rule}" for rule in rules]
    return errors


def tracked_files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [
        name
        for name in listed.splitlines()
        if not name.startswith(EXEMPT) and Path(name).suffix not in EXEMPT_SUFFIXES
    ]


def main() -> int:
    errors = []
    for name in sys.argv[1:] or tracked_files():
        path = ROOT / name
        if path.is_file():
            errors += check(name, path.read_text(encoding="utf-8"))
    print("\n".join(errors), end="\n" if errors else "")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
