#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the cases of tests/driver/valgrind_cases.txt under valgrind's memcheck, with the driver of build/: against
# the reference, on every instruction set that valgrind knows (AVX2 at most), on VALGRIND_THREADS threads
# (default 2). An error or a leak of ours fails it; so does an operator without a case.
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
