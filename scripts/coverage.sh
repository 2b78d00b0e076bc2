#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of build-coverage/ and prints the lines of each file under src/ that no test ran. Fails below
# COVERAGE_PERCENT (default 95). COVERAGE_SETS (default basic) are the sets of cases that mluop check runs. Code that is
# compiled once per instruction set counts as run if one of them ran it. Writes HTML pages to build-coverage/html/. Not
# counted: CUDA, and the families' test.cc.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh
build="build-coverage"

find "$build" -name '*.gcda' -delete
# One process per program, not per test: each process writes the counters of all files when it exits. The tests with
# the largest tensors run no other lines than small ones.
for program in "$build"/tests/mluops_*tests; do
  log=$build/${program##*/}.log
  case $program in *_large_tests) continue ;; esac
  with_progress "${program##*/}" "$log" "$program" || { tail -n 40 "$log"; echo "coverage: ${program##*/} failed" >&2; exit 1; }
done
ctest --test-dir "$build" -R '^(fuzz|mlu)\.' --output-on-failure
for set in ${COVERAGE_SETS:-basic}; do "$build/mluop" check --set "$set"; done
tests/driver/command_line.sh "$build/mluop"

mkdir -p "$build/html"
gcovr --root . --object-directory "$build" -j "$(nproc)" --filter src/ \
  --exclude 'src/cuda/' --exclude 'src/ops/[a-z0-9_]*/test\.cc' --sort-percentage \
  --txt --html-details "$build/html/index.html" --fail-under-line "${COVERAGE_PERCENT:-95}"
