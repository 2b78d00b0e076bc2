#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the libFuzzer targets of build-fuzz/, one after the other.
#   scripts/fuzz.sh [target]...           runs each target, or all, for FUZZ_SECONDS (default 30) or FUZZ_RUNS executions.
#                                         With FUZZ_CALLS, then runs fuzz_calls and fuzz_cases in turn until FUZZ_CALLS
#                                         judged calls of this commit are done; runs that were interrupted do not count
#   scripts/fuzz.sh minimise [target]...  regenerates tests/fuzz/corpus/<target> from all known inputs: the ones with the
#                                         most coverage, at most FUZZ_FILES (default 64)
# An input that takes longer than FUZZ_TIMEOUT (default 20) seconds fails.
# A run starts from tests/fuzz/corpus/<target> and stores new inputs in build-fuzz/corpus. A failing input is written to
# build-fuzz/crashes. To reproduce it:
#   build-fuzz/tests/fuzz/<target> build-fuzz/crashes/<input>
# build-fuzz/<target>.log ends with libFuzzer's statistics and, for targets that make calls, the results of the calls.
# build-fuzz/runs.txt has a line per complete run: commit, target, executions, judged calls.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh

all=(fuzz_calls fuzz_cases fuzz_descriptors fuzz_runtime)
action=run
if [ "${1:-}" = minimise ]; then
  action=minimise
  shift
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
# The newest commit that changes more than the generated page, as in nightly.py.
commit=$(git log -1 --format=%h --abbrev=10 -- . ':!docs/quality.*' 2>/dev/null || echo unknown)
mkdir -p build-fuzz
touch build-fuzz/runs.txt

# operator new fails if out of memory, as without the sanitizer, instead of aborting.
export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 FUZZ_TALLY=1

# fuzz <target> <arguments of libFuzzer>...
fuzz() {
  local target=$1
  shift
  # Disables the entropic schedule: its feature counts would take a quarter of the time.
  local options=(-entropic=0 -timeout="${FUZZ_TIMEOUT:-20}" -rss_limit_mb=4096 -artifact_prefix="build-fuzz/crashes/$target-")
  case $target in
    fuzz_calls) options+=(-max_len=128 -len_control=0) ;;  # in a short input most decisions are 0
    fuzz_cases) options+=(-max_len=256 -len_control=0) ;;
    *) options+=(-max_len=64) ;;  # a sequence of calls: longer inputs are slower
  esac
  [ ! -f "tests/fuzz/$target.dict" ] || options+=(-dict="tests/fuzz/$target.dict")
  with_progress "$target" "build-fuzz/$target.log" "build-fuzz/tests/fuzz/$target" "${options[@]}" "$@"
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
  local executions judged
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$target.log")
  judged=$(sed -n 's/^tally: \([0-9]*\) judged calls$/\1/p' "build-fuzz/$target.log")
  echo "$commit $target $executions ${judged:-0}" >>build-fuzz/runs.txt
  echo "$target: $executions executions, ${judged:+$judged judged calls, }none failed"
}

judged_calls() { awk -v commit="$commit" '$1 == commit { sum += $4 } END { print sum + 0 }' build-fuzz/runs.txt; }

# A slice is short, because an interrupted one is lost.
judge() {
  local FUZZ_SECONDS=${FUZZ_SLICE:-120}
  while [ "$(judged_calls)" -lt "$FUZZ_CALLS" ]; do
    for target in fuzz_calls fuzz_cases; do run "$target" || return 1; done
  done
  echo "fuzz: $(judged_calls) judged calls of $commit, none failed"
}

# The replayed corpus is picked by edges only, without the counts that fuzzing uses.
minimise() {
  local target=$1 folder=build-fuzz/minimised/$1
  rm -rf "$folder"
  mkdir -p "$folder/merged" "$folder/picked" "build-fuzz/corpus/$target" "tests/fuzz/corpus/$target" build-fuzz/crashes
  fuzz "$target" -set_cover_merge=1 -use_counters=0 -merge_control_file="$folder/control" "$folder/merged" \
    "tests/fuzz/corpus/$target" "build-fuzz/corpus/$target" || return 1
  python3 scripts/pick_corpus.py "$folder/control" "$folder/picked" "${FUZZ_FILES:-64}" || return 1
  find "tests/fuzz/corpus/$target" -type f -name '[0-9][0-9]' -delete  # keeps inputs with names
  cp "$folder"/picked/* "tests/fuzz/corpus/$target"
  echo "$target: $(find "$folder/picked" -type f | wc -l) inputs"
}

failed=0
for target in "${targets[@]}"; do "$action" "$target" || failed=1; done
if [ "$action" = run ] && [ -n "${FUZZ_CALLS:-}" ]; then judge || failed=1; fi
exit "$failed"
