#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make_run.sh <mluop>: tests that scripts/run.sh checks again only after a failure or after a change of the driver or of
# the cases.
set -uo pipefail
mluop=$1
sources=$(cd "$(dirname "$0")/../.." && pwd)
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

path=$folder/bin:/usr/bin:/bin
export CUDA_HOME=$folder/cuda

# A tree with one case. cmake builds nothing.
mkdir -p "$folder/scripts" "$folder/build" "$folder/bench/results" "$folder/bin"
# The script sees a GPU if the file gpu exists.
sed "s|/dev/nvidia0|$folder/gpu|" "$sources/scripts/run.sh" >"$folder/scripts/run.sh"
chmod +x "$folder/scripts/run.sh"
cp "$sources"/bench/results/peers_*.json "$folder/bench/results"
printf '[cpu]\nmasked_col2im_forward C=3 H=8 W=8 M=5\n' >"$folder/bench/run_cases.txt"
printf '#!/bin/sh\nexit 0\n' >"$folder/bin/cmake"
chmod +x "$folder/bin/cmake"
# drive <command line>: sets the driver of the tree.
drive() {
  printf '#!/bin/sh\n%s\n' "$1" >"$folder/build/mluop"
  chmod +x "$folder/build/mluop"
}
# verdict <status> <message> <pattern of the verdict>: runs the script.
verdict() {
  local got=0
  PATH=$path "$folder/scripts/run.sh" >"$folder/out" 2>&1 || got=$?
  if [ $got != "$1" ] || ! grep -q "^Verdict: $3" "$folder/out"; then
    echo "$2: must exit with $1 and print 'Verdict: $3', got $got and: $(cat "$folder/out")" >&2
    failed=1
  fi
}
checked='1 of 1 checks passed on '
skipped='measured on .*\. All checks passed before, on 20[0-9-]* [0-9:]* UTC\.$'

drive "exec '$mluop' \"\$@\""
verdict 0 'first run' "$checked"
[ -s "$folder/build/run.html" ] || { echo 'the first run must write build/run.html' >&2; failed=1; }
verdict 0 'second run' "$skipped"
verdict 0 'third run' "$skipped"
echo 'masked_col2im_forward C=4 H=8 W=8 M=5' >>"$folder/bench/run_cases.txt"
verdict 0 'another case' '2 of 2 checks passed on '
verdict 0 'another case, again' "$skipped"
drive "exec '$mluop' \"\$@\"  # changed"
verdict 0 'another driver' '2 of 2 checks passed on '
drive 'case "$*" in *--checked*) echo Verdict: skipped ;; *) echo Verdict: 1 of 2 checks passed ;; esac; exit 1'
verdict 1 'failed check' '1 of 2 '
verdict 1 'failed check, again' '1 of 2 '

# A GPU: nvcc is found in CUDA_HOME too; without nvcc a message says that the GPU is not used.
drive 'echo "Verdict: $*"'
touch "$folder/gpu"
missing='GPU found, nvcc missing: measured on the CPU only'
if ! PATH=$path command -v nvcc >/dev/null; then
  verdict 0 'GPU without nvcc' 'run --file '
  grep -qxF "$missing" "$folder/out" || { echo "run.sh must print '$missing', got: $(cat "$folder/out")" >&2; failed=1; }
fi
mkdir -p "$folder/cuda/bin" "$folder/build-gpu"
touch "$folder/build-gpu/libmluops_cuda.so"
printf '#!/bin/sh\n' >"$folder/cuda/bin/nvcc"
chmod +x "$folder/cuda/bin/nvcc"
verdict 0 'GPU with nvcc in CUDA_HOME' 'run --file .* --device cuda:0$'
exit $failed
