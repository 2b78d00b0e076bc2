#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the libFuzzer targets of build-fuzz/, one after the other.
#   scripts/fuzz.sh [target]...           each for FUZZ_SECONDS (default 30), or for FUZZ_RUNS executions; all targets
#                                         where none is named
#   scripts/fuzz.sh minimise [target]...  makes tests/fuzz/corpus/<target> anew, of the inputs that reach the most among
#                                         all that are known, at most FUZZ_FILES (default 64)
# A run starts from tests/fuzz/corpus/<target> and keeps what it learns in build-fuzz/corpus. An input that fails is
# written to build-fuzz/crashes and repeats with
#   build-fuzz/tests/fuzz/<target> build-fuzz/crashes/<input>
# build-fuzz/<target>.log ends with libFuzzer's figures and, for targets that make calls, how the calls ended.
set -euo pipefail
cd "$(dirname "$0")/.."

all=(fuzz_calls fuzz_cases fuzz_descriptors fuzz_runtime)
action=run
if [ "${1:-}" = minimise ]; then
  action=minimise
  shift
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")

# operator new gives NULL where there is no memory, as it does without the sanitizer.
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 FUZZ_TALLY=1

# fuzz <target> <arguments of libFuzzer>...
fuzz() {
  local target=$1
  shift
  # Counting how often each feature is seen would take a quarter of the time.
  local options=(-entropic=0 -timeout=20 -rss_limit_mb=4096 -artifact_prefix="build-fuzz/crashes/$target-")
  case $target in
    fuzz_calls) options+=(-max_len=128 -len_control=0) ;;  # a short input leaves most of its decisions at 0
    fuzz_cases) options+=(-max_len=256 -len_control=0) ;;
    *) options+=(-max_len=64) ;;  # a row of calls: the longer, the slower
  esac
  [ ! -f "tests/fuzz/$target.dict" ] || options+=(-dict="tests/fuzz/$target.dict")
  "build-fuzz/tests/fuzz/$target" "${options[@]}" "$@" >"build-fuzz/$target.log" 2>&1
}

run() {
  local target=$1 limit=(-max_total_time="${FUZZ_SECONDS:-30}")
  [ -z "${FUZZ_RUNS:-}" ] || limit=(-runs="$FUZZ_RUNS")
  mkdir -p "build-fuzz/corpus/$target" build-fuzz/crashes
  if ! fuzz "$target" "${limit[@]}" -print_final_stats=1 "build-fuzz/corpus/$target" "tests/fuzz/corpus/$target"; then
    tail -n 60 "build-fuzz/$target.log"
    echo "$target: failed"
    return 1
  fi
  echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$target.log") executions, none failed"
}

# Edges are enough for what is replayed at every test; how often each was taken is for the runs.
minimise() {
  local target=$1 folder=build-fuzz/minimised/$1
  rm -rf "$folder"
  mkdir -p "$folder/merged" "$folder/picked" "build-fuzz/corpus/$target" "tests/fuzz/corpus/$target" build-fuzz/crashes
  fuzz "$target" -set_cover_merge=1 -use_counters=0 -merge_control_file="$folder/control" "$folder/merged" \
    "tests/fuzz/corpus/$target" "build-fuzz/corpus/$target" || return 1
  python3 scripts/pick_corpus.py "$folder/control" "$folder/picked" "${FUZZ_FILES:-64}" || return 1
  find "tests/fuzz/corpus/$target" -type f -name '[0-9][0-9]' -delete  # what has a name stays
  cp "$folder"/picked/* "tests/fuzz/corpus/$target"
  echo "$target: $(find "$folder/picked" -type f | wc -l) inputs"
}

failed=0
for target in "${targets[@]}"; do "$action" "$target" || failed=1; done
exit "$failed"
