#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds both flavours and runs all their tests. The last line is "N passed, N failed" over both; a build that
# fails, or that has no tests, counts as one failure.
set -euo pipefail
cd "$(dirname "$0")/.."

passed=0 failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# run_flavour <make target> <ctest preset>
run_flavour() {
  echo "== $2"
  if ! make --no-print-directory "$1"; then
    echo "$2: the build failed"
    failed=$((failed + 1))
    return
  fi
  local status=0 counts
  ctest --preset "$2" --parallel "$(nproc)" --progress 2>&1 | tee "$output" || status=$?
  # "87% tests passed, 1 tests failed out of 8"
  counts=$(sed -nE 's/.*% tests passed, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$output")
  if [ -z "$counts" ]; then
    echo "$2: ctest found no tests"
    failed=$((failed + 1))
    return
  fi
  local bad=${counts% *} all=${counts#* } skipped
  # ctest counts a skipped test as passed; we count it as neither.
  skipped=$(grep -cE '^\s+[0-9]+ - .* \((Skipped|Disabled)\)' "$output" || true)
  [ "$skipped" = 0 ] || echo "$2: $skipped skipped"
  if [ "$status" != 0 ] && [ "$bad" = 0 ]; then bad=1; fi
  passed=$((passed + all - bad - skipped))
  failed=$((failed + bad))
}

run_flavour build release
run_flavour asan asan
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
