#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the calls that the families' MLU kernels refuse (src/ops/*/mlu/refused.txt) and compares status and
# message.
#   refusals.sh mluop src/ops
set -euo pipefail
mluop=$1
failed=0
while IFS='|' read -r card status message case; do
  [[ $card = \#* ]] && continue
  read -r card <<<"$card"
  read -r status <<<"$status"
  read -r message <<<"$message"
  output=$(MLUOP_VISIBLE_DEVICES=cpu,mlu:0 MLUOP_MLU_ARCH=$card "$mluop" perf --device mlu:0 "${case# }" 2>&1) && code=0 || code=$?
  if [ "$status" = SUCCESS ]; then
    [ "$code" = 0 ] && continue
  elif [[ $code != 0 && $output = *"MLUOP_STATUS_$status"* && $output = *"$message"* ]]; then
    continue
  fi
  failed=1
  echo "$card:$case: expected $status '$message', got exit status $code: $output"
done < <(cat "$2"/*/mlu/refused.txt)
exit "$failed"
