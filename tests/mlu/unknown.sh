#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unknown.sh <compiler> <source folder>: calls of intrinsics whose behaviour is not known do not compile, and the message
# says why.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
names="__bang_active_abs __bang_active_sign __bang_active_exphp __bang_active_reciphp __bang_active_sqrthp
  __sync_cluster_arrive __sync_cluster_wait __sync_all_arrive __sync_all_wait __bang_max __bang_min __bang_incseq
  __cn_vector_sin_f32 __bang_float2half_rm __bang_float2half_sr __bang_float2int32_rm __bang_int322float_sr"
{
  echo '#include "bang.h"'
  echo 'void Call() {'
  for name in $names; do echo "  $name(1, 2, 3);"; done
  echo '}'
} >"$folder/calls.cc"
"$1" -std=c++20 -fsyntax-only -I"$2/src/mlu/include" -I"$2/include" "$folder/calls.cc" \
  2>"$folder/messages" && { echo "compiles"; exit 1; }
for name in $names; do
  grep -q "$name: not simulated: [a-z]" "$folder/messages" || { echo "no message for $name"; exit 1; }
done
