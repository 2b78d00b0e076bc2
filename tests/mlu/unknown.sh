#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unknown.sh <compiler> <source folder>: calls of intrinsics whose behaviour is not known do not compile, and the message
# says why.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
names="__sync_cluster_arrive __sync_cluster_wait __sync_all_arrive __sync_all_wait __bang_incseq
  __cn_vector_sin_f32 __bang_float2half_rm __bang_float2half_sr __bang_float2int32_rm __bang_int322float_sr
  __float2half_rm __float2half_sr __float2int_rm __float2int32_rm __half2int_rm __half2int32_sr"
# Forms of intrinsics that are simulated in other forms.
forms="__bang_maximum(h,h,64,128) __bang_minimum(h,h,64,128) __bang_band(i,i,i,64) __bang_bor(s,s,s,64)
  __bang_bxor(i,i,i,64) __bang_bnot(s,s,64) __bang_cycle_band(i,i,i,64,32)"
{
  echo '#include "bang.h"'
  echo 'void Call() {'
  for name in $names; do echo "  $name(1, 2, 3);"; done
  echo '}'
  echo 'void Forms(half* h, short* s, int* i) {'
  for form in $forms; do echo "  $form;"; done
  echo '}'
} >"$folder/calls.cc"
# The device has no double.
printf '#include "bang.h"\nhalf Twice(half x) { return x * 2.0; }\n' >"$folder/double.cc"
"$1" -std=c++20 -fsyntax-only -I"$2/src/mlu/include" -I"$2/include" "$folder/double.cc" 2>"$folder/messages" &&
  { echo "half * double compiles"; exit 1; }
grep -q deleted "$folder/messages" || { cat "$folder/messages"; exit 1; }
# Clang stops after 20 errors by default.
limit=
if "$1" --version | grep -q clang; then limit=-ferror-limit=0; fi
"$1" -std=c++20 -fsyntax-only $limit -I"$2/src/mlu/include" -I"$2/include" "$folder/calls.cc" \
  2>"$folder/messages" && { echo "compiles"; exit 1; }
for name in $names $(sed "s/([^ ]*)//g" <<<"$forms"); do
  grep -q "$name: not simulated: [a-z]" "$folder/messages" || { echo "no message for $name"; exit 1; }
done
