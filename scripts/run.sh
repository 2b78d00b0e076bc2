#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh: builds the library and the driver in build/, checks every operator on shapes of its network, and measures it.
# If the machine has an NVIDIA GPU and nvcc, does the same on the GPU, with a CUDA library for that GPU only (build-gpu/).
# nvcc is in PATH, or in bin/ of CUDA_HOME (default /usr/local/cuda).
# Writes an HTML report per device, build/run.html and build/run_cuda.html. Returns 1 if a check failed.
# A later run only measures if all checks passed before with the same processor, driver, libraries and cases. The file
# *.checked beside a report has their hash and the date. Remove it to check again.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --build build --target mluops mluop
gpu=no
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
if [ -e /dev/nvidia0 ] && ! command -v nvcc >/dev/null; then
  echo 'GPU found, nvcc missing: measured on the CPU only' >&2
elif [ -e /dev/nvidia0 ]; then
  gpu=yes
  [ -e build-gpu/build.ninja ] || cmake --preset release -B build-gpu -DMLUOPS_CUDA_ARCHITECTURES=native \
    -DMLUOPS_TESTS=OFF -DMLUOPS_TOOLS=OFF >/dev/null
  cmake --build build-gpu --target mluops_cuda
fi

peers=$(find bench/results -name 'peers_*.json' | sort | paste -sd, -)
# run_on <set of cases> <page> <device's facts> <checked files> <arguments of mluop run>...
run_on() {
  local set=$1 page=$2 facts=$3 stamp=${2%.html}.checked hash checked=()
  local -a files
  read -ra files <<<"$4 bench/run_cases.txt"
  shift 4
  hash=$({ echo "$facts" && cat "${files[@]}"; } | sha256sum | cut -d ' ' -f 1)
  if [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$hash" ]; then checked=(--checked "$(tail -n 1 "$stamp")"); fi
  build/mluop run --file bench/run_cases.txt --set "$set" --seconds 0.06 --report "$page" --peers "$peers" \
    "${checked[@]}" "$@" || return
  [ ${#checked[@]} -gt 0 ] || printf '%s\n' "$hash" "$(date -u '+%F %R UTC')" >"$stamp"
}

status=0
# The driver contains the library. The flags decide which instruction sets run.
run_on cpu build/run.html "$(grep -m 1 -e '^flags' -e '^Features' /proc/cpuinfo)" build/mluop || status=$?
if [ $gpu = yes ]; then
  MLUOP_CUDA_LIBRARY=$PWD/build-gpu/libmluops_cuda.so run_on cuda build/run_cuda.html \
    "$(nvidia-smi --query-gpu=name,uuid,driver_version --format=csv,noheader || true)" \
    'build/mluop build-gpu/libmluops_cuda.so' --device cuda:0 || status=$?
fi
exit $status
