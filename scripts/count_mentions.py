#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the files outside a family's folder that name the family: the files that change when a
family is added or renamed. Fails if a family is named in more files than a part of the tree allows:
the Python package with its tests, or everything else.

    scripts/count_mentions.py [--list] [family ...]

Not counted: documents, pictures, ABI dumps, benchmark results, fuzz corpora, and files whose own
path names the family.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {"library": 25, "Python": 20}
PYTHON = ("python/", "tests/python/")
SKIPPED = re.compile(
    r"\.(md|svg|abi|1)$|^docs/.*\.json$|^bench/results/|^tests/fuzz/corpus/|^scripts/count_mentions\.py$"
)
# Python's name of psamask has an underscore. transpose is also an ordinary word: only mentions of
# the operator count.
WORDS = {
    "psamask": "psa_?mask",
    "transpose": r"mluoptranspose|ops/transpose|y\(transpose|\btranspose n=|['\"]transpose\b",
}


def families() -> list[str]:
    text = (ROOT / "src/ops/op_list.inc").read_text(encoding="utf-8")
    return re.findall(r"^MLUOP_FAMILY\((\w+)\)", text, re.MULTILINE)


def pattern_of(family: str) -> re.Pattern[str]:
    """Matches the family's name in any case, with or without underscores.

    >>> bool(pattern_of("my_family").search("mluOpMyFamilyForward"))
    True
    >>> bool(pattern_of("my_family").search("my only family"))
    False
    >>> bool(pattern_of("my_family").search("TEST(TorchvisionMyFamily, Empty)"))
    False
    >>> bool(pattern_of("transpose").search("// Transposes a tile."))
    False
    >>> bool(pattern_of("transpose").search("transpose N=1 A=2 B=3"))
    True
    """
    name = WORDS.get(family, family.replace("_", "_?"))
    return re.compile(f"(?<!torchvision)(?:{name})", re.IGNORECASE)


def part_of(path: str) -> str:
    """
    >>> part_of("tests/python/samples.py"), part_of("bench/pairs.py")
    ('Python', 'library')
    """
    return "Python" if path.startswith(PYTHON) else "library"


def text_files() -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    paths = [path for path in listed.split("\0")[:-1] if not SKIPPED.search(path)]
    return {
        path: (ROOT / path).read_text(encoding="utf-8", errors="replace")
        for path in sorted(paths)
        if (ROOT / path).is_file()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the files")
    parser.add_argument("family", nargs="*")
    options = parser.parse_args()
    unknown = set(options.family) - set(families())
    if unknown:
        parser.error(f"the families are {', '.join(families())}, got {', '.join(sorted(unknown))}")
    texts = text_files()
    failed = False
    for family in options.family or families():
        pattern = pattern_of(family)
        files = [
            path
            for path, text in texts.items()
            if not (family in path or pattern.search(path)) and pattern.search(text)
        ]
        for part, limit in LIMITS.items():
            found = [path for path in files if part_of(path) == part]
            failed |= len(found) > limit
            print(
                f"count_mentions.py: {family} is named in {len(found)} files of the {part} part, "
                f"limit {limit}"
            )
            if options.list or len(found) > limit:
                print("".join(f"  {path}\n" for path in found), end="")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
