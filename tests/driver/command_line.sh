#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# command_line.sh <mluop>: tests the exit statuses, the error messages and the JSON of every command. Tests colours and
# the progress line on a terminal, and the files that perf and run write.
set -uo pipefail
mluop=$1
failed=0

# rejects <part of the message> <arguments of mluop>...
rejects() {
  local part=$1 output status
  shift
  output=$("$mluop" "$@" 2>&1)
  status=$?
  if [ $status != 2 ] || ! grep -qF -- "$part" <<<"$output"; then
    echo "mluop $*: must exit with 2 and print '$part', got $status and: $output" >&2
    failed=1
  fi
}

rejects 'the command must be one of list, describe, check, bitwise, perf, run, report, convert, got nosuch' nosuch
rejects 'got none'
rejects 'got nosuch' describe nosuch
rejects '--threads' check --threads 0
rejects '--set must be one of basic, documents, large, mlu, networks, got nosuch' check --set nosuch
rejects '--op must be an operator or a family, got nosuch; available:' check --op nosuch
rejects 'transpose: transpose' check --op nosuch
rejects 'none of --op transpose in --set large' check --op transpose --set large
rejects '--file must be a readable file, got /nosuch' check --file /nosuch
rejects '--isa must be all or one of' check --isa nosuch
rejects ', got nosuch' perf --isa AVX2,nosuch
# 2^62 elements: the bytes of a float tensor overflow to 0.
rejects 'input must have fewer than 2^60 elements' check 'transpose N=1 A=2147483648 B=2147483648'
rejects 'transpose: input: mluOpSetTensorDescriptor_v2: ' check 'transpose N=4294967296 A=4294967296 B=4294967296'
rejects 'N must be given once' check 'transpose N=1 N=2 A=4 B=4'

"$mluop" check --help | grep -qF 'basic, documents, large, mlu, networks' || { echo "--help must name the sets" >&2; failed=1; }
"$mluop" describe roiaware_pool3d_forward | grep -qF 'argmax=given|absent' ||
  { echo "describe must name the tensor that may be absent" >&2; failed=1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
case_line='masked_col2im_forward C=3 H=8 W=8 M=5'

# A log is a case file.
MLUOP_VERBOSE=2 "$mluop" check --threads 1 "$case_line" >/dev/null 2>"$folder/log"
if ! grep -qF 'masked_col2im_forward C=3 M=5 H=8 W=8 dtype=float  # cpu, ' "$folder/log" ||
  ! "$mluop" check --threads 1 --file "$folder/log" >/dev/null; then
  echo "check must run the log of MLUOP_VERBOSE" >&2
  failed=1
fi

# perf writes one object per case and one page, hot and cold.
for caches in '' --cold; do
  # shellcheck disable=SC2086  # no argument, or one
  "$mluop" perf $caches --seconds 0.001 --json "$folder/a.json" --report "$folder/a.html" "$case_line" >"$folder/out"
  for key in machine command commit version date ceilings cases \
    case op device isa dtype threads min_s median_s bytes workspace_bytes floor_s ratio_to_floor io_efficiency operations \
    compute_efficiency bound met reason remarks plain_loops_s speedup; do
    grep -q "\"$key\"" "$folder/a.json" || { echo "perf --json has no $key" >&2; failed=1; }
  done
  grep -qF "<code>${case_line#* }</code>" "$folder/a.html" || { echo "perf --report lacks the case" >&2; failed=1; }
  caches_name=hot
  [ -z "$caches" ] || caches_name=cold
  grep -qF "case ($caches_name caches)" "$folder/out" || { echo "perf must say that the caches are $caches_name" >&2; failed=1; }
done
[ "$(grep -c '<div class=case>' "$folder/a.html")" = 1 ] || { echo "perf --report must show a case once" >&2; failed=1; }
grep -qF "<b>$(sed -n 1p "$folder/out")</b>" "$folder/a.html" || { echo "perf --report must name the machine" >&2; failed=1; }

# require <message> <command>...: the command must succeed.
require() {
  local message=$1
  shift
  "$@" || { echo "$message" >&2; failed=1; }
}

# A case that the library refuses is a failed check with its message; the next case runs.
refused='masked_col2im_forward C=3 H=8 W=0 M=5'
for command in check bitwise; do
  status=0
  "$mluop" $command "$refused" "$case_line" >"$folder/out" 2>&1 || status=$?
  require "$command '$refused' must exit with 1, got $status" [ "$status" = 1 ]
  require "$command must print the library's message" grep -qF 'im must not be empty, got 0 elements' "$folder/out"
  require "$command must run the other case" grep -qxF '1 passed, 1 failed' "$folder/out"
  require "$command must name no implementation of a refused call, got $(grep ' (' "$folder/out")" \
    test -z "$(grep -F -e '(,' -e ', ,' "$folder/out")"
done

# Tables fit 120 columns and have a heading per operator, also if the cases of two operators alternate.
long='torchvision_ps_roi_pool_forward N=1 O=3 H=7 W=7 R=3 pooled_height=2 pooled_width=2 spatial_scale=0.0625'
"$mluop" perf --seconds 0.001 "$long" "$case_line" "$long seed=2" \
  'roiaware_pool3d_backward P=16 pool_method=0 boxes_num=128 out_x=2 out_y=2 out_z=12 channels=16 max_pts_each_voxel=8' \
  >"$folder/out"
require "perf must print at most 120 columns, got $(awk 'length > 120' "$folder/out")" \
  test -z "$(awk 'length > 120' "$folder/out")"
require "perf must print a heading per operator" test "$(grep -c '^torchvision_ps_roi_pool_forward$' "$folder/out")" = 1

# Peers are shown beside ours, from a file of bench/peers.py.
cat >"$folder/peers.json" <<PEERS
{"machine": {"name": "a & b"}, "commit": "0123456789abcdef", "command": "peers.py", "device": "cpu", "cases": [
  {"case": "$case_line", "level": "drop-in", "peer": "torchvision", "ours_s": 1, "peer_s": 3},
  {"case": "$case_line", "level": "library", "peer": "torchvision", "ours_s": 1, "peer_s": 7.25}]}
PEERS
"$mluop" perf --seconds 0.001 --report "$folder/a.html" --peers "$folder/peers.json" "$case_line" >/dev/null
require "perf --peers must show the ratio of the library" grep -qF '7.2 × mluops, library' "$folder/a.html"
require "perf --peers must show a peer once" test "$(grep -c "bar peer' style" "$folder/a.html")" = 1
require "perf --peers must name the peer's machine" grep -qF 'measured on a &amp; b, commit 0123456789' "$folder/a.html"
rejects '--peers must be a file written by bench/peers.py --json, got /nosuch' perf --seconds 0.001 --peers /nosuch "$case_line"

# run checks, measures, and ends with a summary and the path of the report.
"$mluop" run --seconds 0.001 --report "$folder/run.html" "$case_line" >"$folder/out" || failed=1
require "run must say how many checks passed" grep -q '^Verdict: 1 of 1 checks passed on ' "$folder/out"
require "run must say how fast it is" grep -q 'x the speed of plain loops (median [0-9.]*x)\.$' "$folder/out"
require "run must end with the path of the report" test "$(tail -n 1 "$folder/out")" = "Report: $folder/run.html"

# The help of a command names the devices that it takes.
"$mluop" run --help >"$folder/out"
require "run --help must not offer mlu:0" test "$(grep -c 'mlu:0' "$folder/out")" = 0
"$mluop" report --help >"$folder/out"
require "report --help must offer mlu:0" grep -qF 'cpu, cuda:0 and so on, or mlu:0' "$folder/out"

# Exit statuses: 0, 1 (the cases leave an implementation unchosen) and 2 (above).
"$mluop" --help >"$folder/out"
for status in '0    success' '1    a check failed' '2    wrong arguments' '135, 139  a memory fault'; do
  require "--help must document the exit status $status" grep -qF -- "  $status" "$folder/out"
done
for command in list describe check bitwise perf run report convert; do
  "$mluop" $command --help >"$folder/out"
  require "$command --help must document the exit statuses" grep -qF 'Exit status:' "$folder/out"
done
"$mluop" --version >"$folder/out" || { echo "--version must exit with 0" >&2; failed=1; }
require "--version must print version and commit, got $(cat "$folder/out")" \
  grep -qxE 'mluops [0-9]+\.[0-9]+\.[0-9]+, commit ([0-9a-f]{10,}|unknown).*' "$folder/out"
for arguments in list --help; do
  status=0
  "$mluop" $arguments >/dev/full 2>"$folder/out" || status=$?
  require "$arguments must exit with 1 if stdout is full, got $status" [ "$status" = 1 ]
  require "$arguments must say that stdout is full" grep -qF 'mluop: stdout must be writable' "$folder/out"
done
"$mluop" check "$case_line" >/dev/null || { echo "check must exit with 0 if all cases pass" >&2; failed=1; }
"$mluop" check --coverage --json "$folder/a.json" "$long" >"$folder/out"
[ $? = 1 ] || { echo "check --coverage must exit with 1 if an implementation is never chosen" >&2; failed=1; }
require "check --coverage must count failures in its JSON" python3 -c "
import json, sys
d = json.load(open('$folder/a.json'))
sys.exit(not (d['failed'] > 0 and d['failed'] == sum(not i['chosen'] for i in d['implementations'])))"
rejects '--json must be a writable file, got /nosuch/a.json' list --json /nosuch/a.json
# The file is checked before the cases run, which may take an hour.
for option in --json --report; do
  output=$("$mluop" perf --seconds 0.001 "$option" /nosuch/a "$case_line" 2>/dev/null) && failed=1
  [ -z "$output" ] || { echo "perf $option /nosuch/a must fail before it measures, got $output" >&2; failed=1; }
  rejects "$option must be a writable file, got $folder" perf --seconds 0.001 "$option" "$folder" "$case_line"
done
for seconds in -1 0 nan inf 1x ''; do
  rejects "--seconds: must be a number of seconds in (0, 3600], got $seconds" perf --seconds "$seconds" "$case_line"
done

# json <Python expression of the document d> <arguments of mluop>...: stdout has one object and nothing else.
json() {
  local expression=$1
  shift
  "$mluop" "$@" --json - >"$folder/a.json" 2>"$folder/text" || { echo "mluop $*: failed" >&2; failed=1; }
  python3 -c "import json, sys; d = json.load(open('$folder/a.json')); sys.exit(not ($expression))" ||
    { echo "mluop $* --json -: must hold: $expression, got: $(head -c 400 "$folder/a.json")" >&2; failed=1; }
  require "mluop $* --json - must print its text to stderr" test -s "$folder/text"
}
json "any(o['name'] == 'transpose' and o['implementations'] for f in d['families'] for o in f['operators'])" list
json "d['operator'] == 'roiaware_pool3d_forward' and d['attributes'][0]['rule'] and d['tensors'][0]['shape'] and \
  {'name': 'argmax', 'choices': ['given', 'absent']} in d['options']" describe roiaware_pool3d_forward
json "d['plans'][0]['implementation'] and d['plans'][0]['scratch_bytes'] >= 0 and \
  any(line.startswith('loop of ') for line in d['plans'][0]['details'])" describe --plan "$case_line"
json "(d['passed'], d['failed']) == (1, 0) and d['cases'] == [{'case': '$case_line', 'result': 'passed'}]" \
  check "$case_line"
json "(d['passed'], d['failed'], d['device']) == (1, 0, 'cpu')" bitwise "$case_line"
json "d['cases'][0]['min_s'] > 0" perf --seconds 0.001 "$case_line"
json "d['checks']['passed'] == 1 and d['cases'][0]['min_s'] > 0" run --seconds 0.001 "$case_line"
json "d['verdict'] and d['operators'][0]['passed'] == 1" report --quick --seconds 0.001 --out "$folder/report" "$case_line"

# Colours and progress: on a terminal only, and not with NO_COLOR.
escape=$'\033'
if command -v script >/dev/null; then
  on_terminal() { TERM=xterm script -qec "'$mluop' check '$case_line'" /dev/null </dev/null; }
  on_terminal >"$folder/out"
  require "check must show progress on a terminal" grep -qF "[1/1] $case_line" "$folder/out"
  require "check must show the verdict in colour" grep -qF "${escape}[32m1 passed, 0 failed${escape}[0m" "$folder/out"
  NO_COLOR=1 on_terminal >"$folder/out"
  require "NO_COLOR must disable colours and progress, got $(cat "$folder/out")" \
    test "$(tr -d '\r' <"$folder/out")" = '1 passed, 0 failed'
fi
"$mluop" check "$case_line" >"$folder/out" 2>&1
require "check must print no escape sequence to a pipe" test "$(cat "$folder/out")" = '1 passed, 0 failed'

# Every case of `make run` is also in a cases.txt or in bench/gpu_shapes.txt.
sources=$(cd "$(dirname "$0")/../.." && pwd)
while read -r line; do
  grep -qF -- "$line" "$sources"/src/ops/*/cases.txt "$sources"/bench/gpu_shapes.txt ||
    { echo "bench/run_cases.txt has a case that is in no other file: $line" >&2; failed=1; }
done < <(grep -v -e '^#' -e '^\[' -e '^$' "$sources/bench/run_cases.txt")

# A row for every number of threads and every instruction set.
"$mluop" perf --seconds 0.001 --threads 1,2 --isa all --json "$folder/a.json" "$case_line" >"$folder/out"
for threads in 1 2; do
  sets=$(grep -c "^$threads threads, .*GFLOP/s" "$folder/out")
  rows=$(grep -A 6 '"case"' "$folder/a.json" | grep -c "\"threads\": $threads,")
  [ "$rows" -gt 0 ] && [ "$rows" = "$sets" ] ||
    { echo "perf must have a row for each of $sets instruction sets at $threads threads, got $rows" >&2; failed=1; }
done

# MLUOP_CUDA_LIBRARY names code to load, so a set-uid program ignores it. (Skipped if not root, if the file system or the
# process cannot change identity, and under a sanitizer.)
no_such=/nosuch/libmluops_cuda.so
MLUOP_CUDA_LIBRARY=$no_such rejects "$no_such" check --device cuda:99
if [ "$(id -u)" = 0 ] && grep -q '^NoNewPrivs:.*0' /proc/self/status && ! ldd "$mluop" | grep -q libasan &&
  ! findmnt -no OPTIONS -T "$folder" | grep -qw nosuid; then
  chmod 755 "$folder"
  install -m 4755 "$mluop" "$folder/set_uid"
  MLUOP_CUDA_LIBRARY=$no_such setpriv --reuid 65534 --clear-groups \
    "$folder/set_uid" check --device cuda:99 >"$folder/out" 2>&1
  grep -qF -- '--device must be one of' "$folder/out" && ! grep -qF "$no_such" "$folder/out" ||
    { echo "a set-uid program must ignore MLUOP_CUDA_LIBRARY, got: $(cat "$folder/out")" >&2; failed=1; }
fi
exit $failed
