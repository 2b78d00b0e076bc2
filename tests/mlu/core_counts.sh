#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares the bits of a case over numbers of clusters and over cards. roiaware_pool3d is not here: the
# order of its atomics is free.
#   core_counts.sh print_bits
set -euo pipefail
print_bits=$1
cases=(
  'psroipool_forward N=2 H=9 W=13 R=33 pooled_height=3 pooled_width=3 spatial_scale=0.25 group_size=3 output_dim=5 rois=edge'
  'border_align_forward N=2 H=12 W=9 C=18 K=30 pool_size=10 boxes=outside'
  'border_align_forward N=2 H=12 W=9 C=18 K=30 pool_size=10 boxes=edge dtype=half'
  'psamask_forward N=3 H=5 W=7 psa_type=1 h_mask=4 w_mask=9'
  'psamask_backward N=3 H=5 W=7 psa_type=0 h_mask=4 w_mask=9'
  'masked_im2col_forward C=5 H=6 W=7 M=41 kernel_h=3 kernel_w=2 pad_h=1 pad_w=1'
)
for case in "${cases[@]}"; do
  expected=
  for card in mlu370 mlu590; do
    for clusters in 8 1 3 16; do
      bits=$(MLUOP_VISIBLE_DEVICES=mlu:0 MLUOP_MLU_ARCH=$card MLUOP_MLU_CLUSTERS=$clusters \
             MLUOP_MLU_SEED=$clusters "$print_bits" "$case")
      [ "$bits" = "${expected:=$bits}" ] || {
        echo "$case: $bits on $card with $clusters clusters, $expected on mlu370 with 8"
        exit 1
      }
    done
  done
  echo "$expected  $case"
done
