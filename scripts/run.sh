#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh: builds the library and the driver in build/, checks every operator on shapes of its network, and measures it.
# If the machine has an NVIDIA GPU and nvcc, does the same on the GPU, with a CUDA library for that GPU only (build-gpu/).
# Writes an HTML report per device, build/run.html and build/run_cuda.html. Returns 1 if a check failed.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --build build --target mluops mluop
gpu=no
if [ -e /dev/nvidia0 ] && command -v nvcc >/dev/null; then
  gpu=yes
  [ -e build-gpu/build.ninja ] || cmake --preset release -B build-gpu -DMLUOPS_CUDA_ARCHITECTURES=native \
    -DMLUOPS_TESTS=OFF -DMLUOPS_TOOLS=OFF >/dev/null
  cmake --build build-gpu --target mluops_cuda
fi

peers=$(find bench/results -name 'peers_*.json' | sort | paste -sd, -)
# run_on <set of cases> <page> <arguments of mluop run>...
run_on() {
  local set=$1 page=$2
  shift 2
  build/mluop run --file bench/run_cases.txt --set "$set" --seconds 0.06 --report "$page" --peers "$peers" "$@"
}

status=0
run_on cpu build/run.html || status=$?
if [ $gpu = yes ]; then
  MLUOP_CUDA_LIBRARY=$PWD/build-gpu/libmluops_cuda.so run_on cuda build/run_cuda.html --device cuda:0 || status=$?
fi
exit $status
