#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each libFuzzer target of build-fuzz/ for FUZZ_SECONDS (default 30). What it learns stays in
# build-fuzz/corpus; an input that fails is written to build-fuzz/crashes and repeats with
#   build-fuzz/tests/fuzz/<target> build-fuzz/crashes/<input>
set -euo pipefail
cd "$(dirname "$0")/../build-fuzz"

# operator new gives NULL where there is no memory, as it does without the sanitizer.
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
failed=0
for target in fuzz_calls fuzz_descriptors; do
  mkdir -p "corpus/$target" crashes
  if "tests/fuzz/$target" -max_total_time="${FUZZ_SECONDS:-30}" -timeout=20 -max_len=512 -print_final_stats=1 \
    -artifact_prefix="crashes/$target-" "corpus/$target" >"$target.log" 2>&1; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$target.log") inputs, none failed"
  else
    tail -n 60 "$target.log"
    echo "$target: failed"
    failed=1
  fi
done
exit "$failed"
