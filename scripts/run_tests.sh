#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_tests.sh NAME...: builds and runs tests. The names:
#   release  the C++ tests
#   asan     the C++ tests with ASan and UBSan
#   python   the Python package with the torch of this machine
#   torch    the Python package with the pinned newest torch
# The last line is "N passed, N failed" over all of them. A failed build, or a build without tests, counts as one
# failure.
set -euo pipefail
cd "$(dirname "$0")/.."

passed=0 failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# run_preset <make target> <ctest preset>
run_preset() {
  echo "== $2"
  if ! make --no-print-directory "$1"; then
    echo "$2: the build failed"
    failed=$((failed + 1))
    return
  fi
  local status=0 counts
  ctest --preset "$2" --parallel "$(nproc)" 2>&1 | tee "$output" || status=$?
  # "87% tests passed, 1 tests failed out of 8"
  counts=$(sed -nE 's/.*% tests passed, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$output")
  if [ -z "$counts" ]; then
    echo "$2: ctest found no tests"
    failed=$((failed + 1))
    return
  fi
  local bad=${counts% *} all=${counts#* } skipped
  # ctest counts a skipped test as passed; this script counts it as neither passed nor failed.
  skipped=$(grep -cE '^\s+[0-9]+ - .* \((Skipped|Disabled)\)' "$output" || true)
  [ "$skipped" = 0 ] || echo "$2: $skipped skipped"
  if [ "$status" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
  passed=$((passed + all - bad - skipped))
  failed=$((failed + bad))
}

# run_package <name> <environment of test_python.sh>
run_package() {
  echo "== $1"
  local status=0 line
  { make --no-print-directory wheel && scripts/test_python.sh "$2"; } 2>&1 | tee "$output" || status=$?
  line=$(grep -E '^(=+ )?([0-9]+ [a-z]+, )*[0-9]+ [a-z]+ in [0-9.]+s' "$output" | tail -n 1 || true)
  count() { sed -nE "s/.*\\b([0-9]+) $1.*/\\1/p; t; s/.*/0/p" <<<"$line"; }
  local bad=$(($(count failed) + $(count error)))
  if [ "$status" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
  passed=$((passed + $(count passed)))
  failed=$((failed + bad))
}

for name in "$@"; do
  case $name in
    release) run_preset build release ;;
    asan) run_preset asan asan ;;
    python) run_package python system ;;
    torch) run_package torch pinned ;;
    *) echo "run_tests.sh: the names are release, asan, python, torch, got $name" >&2; exit 2 ;;
  esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
