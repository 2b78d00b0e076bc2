#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the include rules of docs/design.md in src/. Prints `file:line: rule` for each include
that breaks a rule, and fails if there is one.

    scripts/check_includes.py
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
DEVICES = ("cpu", "cuda", "mlu")
LISTS = ("ops/op_list.inc", "ops/family_list.inc")
# The files of a family that are not part of the library.
TEST_FILES = ("reference.cc", "test.cc", "inputs.h", "scenes.h")
# HWY_TARGET_INCLUDE names a file that foreach_target.h includes.
INCLUDE = re.compile(r'\s*#\s*(?:include|define\s+HWY_TARGET_INCLUDE)\s+["<]([^">]+)[">]')
# Headers of a device's SDK or instruction set, and the devices that may include them.
SDK = re.compile(
    r"(?P<cpu>hwy/.*|\w*intrin\.h|arm_neon\.h)$|(?P<cuda>cuda\w*\.h)$|(?P<mlu>bang.*\.h)$"
)


def broken_rule(file: str, included: str) -> str:
    """Returns the rule that `file` breaks if it includes `included` (paths below src/), or "".

    core and the devices:
    >>> broken_rule("core/handle.h", "core/device.h")
    ''
    >>> broken_rule("core/handle.h", "cpu/scratch.h")
    'core includes only core'
    >>> broken_rule("cpu/device.cc", "core/device.h")
    ''
    >>> broken_rule("cuda/context.cc", "cpu/scratch.h")
    'a device includes only core and itself'

    A family, its devices and the shared folder roi:
    >>> broken_rule("ops/one/one.cc", "ops/one/cpu/operators.h")
    'only files in ops/<family>/cpu include cpu/ (cuda likewise)'
    >>> broken_rule("ops/cpu_list.cc", "cpu/context.h")
    ''
    >>> broken_rule("ops/one/one.cc", "cpu/scratch.h")
    'only files in ops/<family>/cpu include cpu/ (cuda likewise)'
    >>> broken_rule("ops/one/cpu/forward.cc", "cpu/simd-inl.h")
    ''
    >>> broken_rule("ops/one/cpu/forward.cc", "cuda/context.h")
    'only files in ops/<family>/cpu include cpu/ (cuda likewise)'
    >>> broken_rule("ops/one/cpu/forward.cc", "ops/one/cuda/kernels.h")
    'only files in ops/<family>/cpu include cpu/ (cuda likewise)'
    >>> broken_rule("ops/two/cuda/forward.cu", "ops/roi/cuda/small_map.h")
    ''
    >>> broken_rule("ops/two/cpu/forward.cc", "ops/one/problem.h")
    'a family includes no other family'
    >>> broken_rule("ops/roi/cuda/small_map.h", "ops/two/problem.h")
    'a family includes no other family'
    >>> broken_rule("ops/one/problem.h", "testing/case.h")
    'only test files include testing or test files'
    >>> broken_rule("ops/one/one.cc", "ops/one/inputs.h")
    'only test files include testing or test files'

    Tests, references, and the code that the driver and the tests share:
    >>> broken_rule("ops/one/test.cc", "testing/case.h")
    ''
    >>> broken_rule("ops/one/test.cc", "ops/one/cpu/order.h")
    ''
    >>> broken_rule("ops/one/reference.cc", "ops/one/cpu/order.h")
    'only files in ops/<family>/cpu include cpu/ (cuda likewise)'
    >>> broken_rule("testing/registry.cc", "ops/op_list.inc")
    ''
    >>> broken_rule("testing/work.cc", "ops/one/problem.h")
    'testing includes only core and itself'

    Headers of instruction sets and SDKs belong to their device. The instruction sets of the CPU are
    also forced by testing:
    >>> broken_rule("core/handle.h", "hwy/highway.h"), broken_rule("core/handle.h", "immintrin.h")
    ('only cpu includes hwy/highway.h', 'only cpu includes immintrin.h')
    >>> broken_rule("core/handle.h", "cuda_runtime.h")
    'only cuda includes cuda_runtime.h'
    >>> broken_rule("ops/one/problem.h", "cuda_fp16.h")
    'only cuda includes cuda_fp16.h'
    >>> broken_rule("cpu/simd-inl.h", "hwy/highway.h")
    ''
    >>> broken_rule("testing/isa.cc", "hwy/highway.h")
    ''
    >>> broken_rule("ops/one/cuda/a.cu", "cuda_fp16.h"), broken_rule("ops/one/mlu/a.mlu", "bang.h")
    ('', '')
    """
    if sdk := SDK.match(included):
        allowed = sdk.lastgroup in file.split("/") or file.startswith("testing/")
        return "" if allowed else f"only {sdk.lastgroup} includes {included}"
    folder, target = file.split("/")[0], included.split("/")[0]
    if folder == "core":
        return "" if target == "core" else "core includes only core"
    if folder in DEVICES:
        return "" if target in ("core", folder) else "a device includes only core and itself"
    if folder == "testing":
        allowed = target in ("core", "testing") or included in LISTS
        return "" if allowed else "testing includes only core and itself"
    return broken_rule_of_family(file.split("/")[1:], included.split("/"))


def broken_rule_of_family(file: list[str], included: list[str]) -> str:
    """Returns the broken rule, or "". `file` is below src/ops, `included` below src."""
    if included[0] == "core" or "/".join(included) in LISTS:
        return ""
    if included[0] == "testing" or (included[0] == "ops" and included[-1] in TEST_FILES):
        if file[-1] not in TEST_FILES:
            return "only test files include testing or test files"
        if included[0] == "testing":
            return ""
    own_device = file[1] if len(file) > 1 and file[1] in DEVICES else None
    if len(file) == 1:  # cpu_list.cc lists the families' CPU implementations
        own_device = file[0].removesuffix("_list.cc")
    if included[0] == "ops":
        if included[1] not in (file[0], "roi"):
            return "a family includes no other family"
        device = included[2] if included[2] in DEVICES else None
        is_own_test = file[-1] == "test.cc" and included[1] == file[0]
        if device in (None, own_device) or is_own_test:
            return ""
    elif included[0] == own_device:
        return ""
    return "only files in ops/<family>/cpu include cpu/ (cuda likewise)"


def target_of(file: Path, name: str) -> str | None:
    """Returns the path below src/ of `#include "name"` in `file`, or the name of a header of an
    SDK; None for another header outside src."""
    for path in (SOURCE / name, file.parent / name):
        if path.exists():
            return path.resolve().relative_to(SOURCE).as_posix()
    # A missing file still belongs to a folder of src/; the public headers do not.
    folders = ("core", "ops", "testing", *DEVICES)
    return name if name.split("/")[0] in folders or SDK.match(name) else None


def main() -> None:
    broken = files = 0
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in (".h", ".cc", ".cu", ".mlu", ".c", ".inc"):
            continue
        files += 1
        file = path.relative_to(SOURCE).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            target = target_of(path, found[1]) if found else None
            rule = broken_rule(file, target) if target else ""
            if rule:
                broken += 1
                print(f"src/{file}:{number}: {rule}, got {target}")
    print(f"check_includes.py: {files} files, {broken} violations")
    sys.exit(1 if broken or not files else 0)


if __name__ == "__main__":
    main()
