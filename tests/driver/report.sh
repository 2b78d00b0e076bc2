#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# report.sh <mluop> <folder of stubs>: tests the page, the JSON file and the exit status of `mluop report`. Runs on the
# CPU and on a stub of a CUDA device.
set -uo pipefail
mluop=$1 stubs=$2
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
pooling='psroipool_forward N=1 H=7 W=7 R=3 pooled_height=2 pooled_width=2 spatial_scale=0.0625 group_size=2 output_dim=3'
masks='masked_col2im_forward C=3 H=8 W=8 M=5 dtype=half'

# expect <status> <message> <command>...
expect() {
  local status=$1 message=$2 got
  shift 2
  "$@" >"$folder/stdout" 2>&1
  got=$?
  [ $got = "$status" ] || { echo "$message: must exit with $status, got $got: $(cat "$folder/stdout")" >&2; failed=1; }
}
# holds <message> <Python expression of the document d>: on the JSON of the last report.
holds() {
  python3 -c "import json, sys; d = json.load(open('$folder/out/report.json')); sys.exit(not ($2))" ||
    { echo "report: $1" >&2; failed=1; }
}
# shows <text>: the page has it.
shows() { grep -qF -- "$1" "$folder/out/report.html" || { echo "report: the page must have $1" >&2; failed=1; }; }
report() { "$mluop" report --quick --seconds 0.001 --out "$folder/out" "$@"; }

# One page and one file, with all sections.
expect 0 "report" report "$pooling" "$masks"
for key in machine command commit version date duration_s caches ceilings cases operators links summary verdict; do
  holds "the file must have $key" "'$key' in d"
done
holds "the machine must have a name, cores and a clock or caches" "d['machine']['name'] and d['machine']['cores'] > 0"
holds "the operators must be the operators of the cases" \
  "[o['name'] for o in d['operators']] == ['psroipool_forward', 'masked_col2im_forward']"
holds "every operator must say what it does" "all(o['description'] and o['criterion'] for o in d['operators'])"
holds "every size limit must have its reason" \
  "all(o['checklist']['size limits'] and all('because' in x for x in o['checklist']['size limits']) for o in d['operators'])"
holds "tests must count types, layouts, sizes and implementations" \
  "{'type float', 'layout NHWC', 'sizes off the tile boundaries'} <= {t['kind'] for t in d['operators'][0]['tests']}"
holds "the worst case must have its differences and its threshold" \
  "all(k in d['operators'][0]['worst'][0] for k in ('diff1', 'diff2', 'diff3', 'diff4', 'threshold', 'passed', 'case'))"
holds "every rule of the parameters must be refused" \
  "all(len(o['parameter_checks']) > 20 and all(c['passed'] for c in o['parameter_checks']) for o in d['operators'])"
holds "the workspace getter's rules must be checked too" \
  "'psroipool_forward_workspace' in {c['entry'] for c in d['operators'][0]['parameter_checks']}"
holds "every measurement must have both efficiencies" \
  "all(r['io_efficiency'] > 0 and 'compute_efficiency' in r and 'met' in r and 'reason' in r for r in d['cases'])"
# report writes its time; no test limits it (docs/report.md).
grep -qE "^Report after [0-9]+ s: $folder/out/report.html\$" "$folder/stdout" ||
  { echo "report: must end with its time and the page, got: $(tail -n 1 "$folder/stdout")" >&2; failed=1; }
holds "nothing may be wrong" "not any(part['items'] for part in d['summary'][:3])"
for text in '<h1>mluops: test report</h1>' 'id=summary' 'id=' '<h3>Checklist</h3>' '<h3>Functional tests</h3>' \
  '<h3>Parameter checks</h3>' 'because indices into a dim are int32' '<h3>Performance</h3>' '<svg' \
  'prefers-color-scheme: dark' "<code>${masks#* }</code>"; do
  shows "$text"
done

# docs/report.md names every key, of the benchmarks' files too.
sources=$(cd "$(dirname "$0")/../.." && pwd)
[ ! -e "$sources/docs/quality.json" ] ||
  holds "the links must have the dates of docs/quality.json" \
    "{l['how'][5:]: l['date'] for l in d['links'] if 'date' in l} == {k: v['date'] for k, v in json.load(open('$sources/docs/quality.json')).items() if k in ('valgrind', 'tsan', 'coverage')}"
holds "the file must have the peers of the page" "{p['machine']['name'] for p in d['peers']} >= {'Tesla V100-SXM2 16GB'}"
python3 - "$sources/docs/report.md" "$folder/out/report.json" "$sources"/bench/results/*.json <<'CHECK' || failed=1
import json, re, sys

def keys(value):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        if isinstance(key, str):
            yield key
        if key not in ("checklist", "sets"):  # their keys are words
            yield from keys(part)

page = re.sub(r"```.*?```", "", open(sys.argv[1]).read(), flags=re.S)
documented = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", page))))
missing = [(file, key) for file in sys.argv[2:] for key in set(keys(json.load(open(file)))) - documented]
for file, key in missing:
    print(f"report: docs/report.md must name the key {key} of {file}", file=sys.stderr)
sys.exit(bool(missing))
CHECK

# --op restricts it; --link shows the file and its date.
touch -d 2026-01-02T03:04:05Z "$folder/coverage.txt"
expect 0 "report --op" report --op masked_col2im_forward --set basic --link "coverage=$folder/coverage.txt"
holds "--op must restrict it to one operator" "[o['name'] for o in d['operators']] == ['masked_col2im_forward']"
shows '2026-01-02T03:04:05Z'
# Recorded calls: two files with equal lines and other inputs, and a file without data.
python3 - "$folder" <<'RECORD'
import sys, zipfile

def npy(kind, values, shape):
    import struct
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{'f' if kind == '<f4' else 'i'}", *values)

for name, first in (("a", 1), ("b", 2)):
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.npz", "w") as archive:
        archive.writestr("col.npy", npy("<f4", [first, 2], (1, 2)))
        archive.writestr("mask_h_idx.npy", npy("<i4", [0, 2], (2,)))
        archive.writestr("mask_w_idx.npy", npy("<i4", [1, 1], (2,)))
    open(f"{sys.argv[1]}/{name}.txt", "w").write("masked_col2im_forward C=1 M=2 H=3 W=2 data=file\n")
open(f"{sys.argv[1]}/lines.txt", "w").write("masked_col2im_backward C=1 M=2 H=3 W=2\nmasked_col2im_forward C=1 M=2 H=3 W=2\n")
RECORD
expect 0 "report --file" report --op masked_col2im_forward --file "$folder"/a.txt "$folder"/b.txt "$folder/lines.txt"
holds "--file must test and measure every recorded call" "d['operators'][0]['cases'] == d['operators'][0]['passed'] == 3 and len(d['cases']) == 3"
expect 0 "report --load" report --load "$folder/a.npz" 'masked_col2im_forward C=1 M=2 H=3 W=2'
holds "--load must measure the case" "[c['case'] for c in d['cases']] == ['masked_col2im_forward C=1 M=2 H=3 W=2 data=file']"
expect 2 "report --link of no file" report --link coverage=/nosuch "$masks"
expect 2 "report --device" report --device nosuch "$masks"
expect 2 "report --out" report --out "$folder/coverage.txt" "$masks"

# On a CUDA device; the stubs are not built under a sanitizer.
if [ -e "$stubs/libhost_cuda.so" ]; then
  export MLUOP_CUDA_LIBRARY=$stubs/libhost_cuda.so LD_LIBRARY_PATH=$stubs/timing_driver
  expect 0 "report --device cuda:0" report --device cuda:0 "$pooling" "$masks"
  holds "the machine must be the GPU" "d['machine']['name'] == 'Stub GPU' and d['machine']['sm_count'] == 132"
  holds "operations must be counted" "d['cases'][0]['operations'] > 0 and d['cases'][0]['compute_efficiency'] > 0"
  holds "the host's time must be there" "all(r['host_s'] > 0 for r in d['cases'])"
  holds "the arithmetic peak must be measured" "any(c.get('peak_gflop_s', 0) > 0 for c in d['ceilings'])"
  shows '<b>Stub GPU</b>'
  # A wrong result is named in the page and in the summary, and the exit status says so.
  MLUOP_STUB_WRONG=1 expect 1 "report of a wrong result" report --device cuda:0 "$pooling" "$masks"
  holds "the failed case must be in the summary" "any('masked_col2im_forward' in item for item in d['summary'][0]['items'])"
  holds "a case that failed must not be measured" "d['cases'] == []"
  shows "repeat: <code>mluop check --device cuda:0 &#39;$masks&#39;"
  # A memory fault prints the command that repeats it, with the device. Bit 10 of SigCgt: SIGSEGV has a handler.
  "$mluop" bitwise --device cuda:0 >"$folder/stdout" 2>&1 &
  pid=$!
  until [ ! -e /proc/$pid ] || (((0x$(awk '/SigCgt/ { print $2 }' /proc/$pid/status) & 0x400) != 0)); do sleep 0.1; done
  sleep 0.3
  kill -SEGV $pid
  wait $pid
  status=$?
  if [ $status != 139 ] || ! grep -qF "repeat: mluop bitwise --device cuda:0 '" "$folder/stdout"; then
    echo "report: a memory fault must exit with 139 and print the device, got $status: $(cat "$folder/stdout")" >&2
    failed=1
  fi
fi
exit $failed
