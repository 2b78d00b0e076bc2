#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the driver of build/ under valgrind's memcheck on the cases of tests/driver/valgrind_cases.txt. Compares with
# the reference on every instruction set that valgrind supports (AVX2 at most), on VALGRIND_THREADS threads
# (default 2). Fails on an error or a leak in mluops, and if an operator has no case.
set -euo pipefail
cd "$(dirname "$0")/.."

cases=tests/driver/valgrind_cases.txt
missing=$(build/mluop list | awk -v file="$cases" '
  BEGIN { while ((getline line < file) > 0) { split(line, words, " "); seen[words[1]] = 1 } }
  /^ / && !($1 in seen) { print $1 }')
if [ -n "$missing" ]; then
  echo "valgrind.sh: $cases has no case of ${missing//$'\n'/ }" >&2
  exit 1
fi
valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
  --fair-sched=try \
  build/mluop check --threads "${VALGRIND_THREADS:-2}" --file "$cases" "$@"
