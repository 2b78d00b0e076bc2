#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cuda.sh <mluop> COMMAND [OPTION...]: runs all cases on the first CUDA device. Returns 77 (ctest: skipped) if there is none.
set -uo pipefail
mluop=$1
shift
if ! reason=$("$mluop" check --device cuda:0 "transpose N=0 A=1 B=1" 2>&1 >/dev/null); then
  echo "${reason#mluop: }"
  [ ! -e /dev/nvidia0 ] || exit 1  # a GPU is present but does not work
  exit 77
fi
exec "$mluop" "$@" --device cuda:0
