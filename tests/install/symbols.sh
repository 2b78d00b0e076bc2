#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# symbols.sh <libmluops.so> <include folder>: the library exports the functions of the headers, and nothing else.
set -euo pipefail
library=$1 include=$2

soname=$(readelf -d "$library" | sed -nE 's/.*Library soname: \[(.*)\]/\1/p')
number() { sed -nE "s/#define MLUOP_$1 ([0-9]+)/\1/p" "$include/mlu_op.h"; }
expected_soname=libmluops.so.$(number MAJOR)
# While the major version is 0, every minor version may break the ABI.
if [ "$(number MAJOR)" = 0 ]; then expected_soname+=.$(number MINOR); fi
[ "$soname" = "$expected_soname" ] || { echo "SONAME must be $expected_soname, got $soname" >&2; exit 1; }

declared() {
  find "$include" -name '*.h' -printf '#include "%P"\n' | "${CC:-cc}" -std=c99 -E -P -I"$include" -x c - |
    grep -oE '\b(mluOp|cnrt)[A-Za-z0-9_]+ *\(' | tr -d ' (' | sort -u
}
exported() { nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | sort -u; }

[ "$(declared | wc -l)" -gt 70 ] || { echo "found too few functions in the headers" >&2; exit 1; }
diff <(declared) <(exported) || { echo "< declared and not exported, > exported and not declared" >&2; exit 1; }
