#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda.sh <mluop> check|bitwise: all cases on the first CUDA device. 77, which ctest knows as "skipped", where there is none.
set -uo pipefail
mluop=$1 command=$2
if ! reason=$("$mluop" check --device cuda:0 "transpose N=0 A=1 B=1" 2>&1 >/dev/null); then
  echo "${reason#mluop: }"
  [ ! -e /dev/nvidia0 ] || exit 1  # there is a GPU, and it does not work
  exit 77
fi
exec "$mluop" "$command" --device cuda:0
