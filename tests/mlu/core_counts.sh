#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares the bits of the families' [mlu] cases across cluster counts and cards. Kernels with atomics are skipped: the
# order of their additions is not fixed.
#   core_counts.sh print_bits src/ops
set -euo pipefail
print_bits=$1
cases=$(for file in "$2"/*/cases.txt; do
  grep -q __bang_atomic "${file%/*}"/mlu/*.mlu 2>/dev/null || sed '1,/^\[mlu\]/d' "$file"
done | grep -v -e '^#' -e '^$')
expected=
for card in mlu370 mlu590; do
  for clusters in 8 1 3 16; do
    bits=$(MLUOP_VISIBLE_DEVICES=mlu:0 MLUOP_MLU_ARCH=$card MLUOP_MLU_CLUSTERS=$clusters \
           MLUOP_MLU_SEED=$clusters "$print_bits" <<<"$cases")
    if [ "$bits" != "${expected:=$bits}" ]; then
      echo "$card with $clusters clusters differs from mlu370 with 8:"
      diff <(echo "$expected") <(echo "$bits")
      exit 1
    fi
  done
done
echo "$expected"
