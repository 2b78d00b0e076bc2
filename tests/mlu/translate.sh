#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# translate.sh <bang_translate>: compares a translation with the expected text, and checks its error messages.
set -euo pipefail
translate=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/in.mlu" <<'SOURCE'
#include "bang.h"  // __nram__ int no[1];
__nram__ int8_t buffer[MAX_NRAM_SIZE];
__mlu_shared__ float shared[2][64];
template <typename T, int N>
__mlu_global__ void Add(const T* a, __nram__ T* b) {
  static __nram__ T local
      [N * 2];
  __nram__ float* pointer = 0;
  const char* text = "x<<<y>>>"; /* k<<<a, b, c>>>() */
  int shift = 1 << 3 >> 1;
  const long big = 1'000'000;
  __nram__ int count;
}
#define POINTER __nram__ float*  // k<<<a, b, c>>>
const __nram__ float* constant = (const __nram__ float*)0;
void Host() {
  Add<float, 3><<<dim, (cnrtFunctionType_t)(n > 3 ? 1 : 4),
                  queue>>>(a, b);
  ns::Plain<<<dim, type, queue>>>();
}
SOURCE
cat >"$folder/expected" <<SOURCE
#line 1 "$folder/in.mlu"
#include "bang.h"  // __nram__ int no[1];
static thread_local int8_t (&buffer)[MAX_NRAM_SIZE] = __bang_nram__(buffer);
static thread_local float (&shared)[2][64] = __bang_mlu_shared__(shared);
template <typename T, int N>
__mlu_global__ void Add(const T* a, __nram__ T* b) {
  static thread_local T (&local)
      [N * 2] = __bang_nram__(local);
  __nram__ float* pointer = 0;
  const char* text = "x<<<y>>>"; /* k<<<a, b, c>>>() */
  int shift = 1 << 3 >> 1;
  const long big = 1'000'000;
  static thread_local int (&count) = __bang_nram__(count);
}
#define POINTER __nram__ float*  // k<<<a, b, c>>>
const __nram__ float* constant = (const __nram__ float*)0;
void Host() {
  ::bang::Kernel<&Add<float, 3>>::Launch("Add<float,3>", dim, (cnrtFunctionType_t)(n > 3 ? 1 : 4),
                  queue)(a, b);
  ::bang::Kernel<&ns::Plain>::Launch("ns::Plain", dim, type, queue)();
}
SOURCE
"$translate" "$folder/in.mlu" "$folder/out.cc"
diff "$folder/expected" "$folder/out.cc"

for wrong in '__nram__ int a, b;' '__nram__ int a = 3;' '__nram__ float a[4], b[4];' \
  '__nram__ float a[4] = {0};' 'alignas(64) __nram__ float a[4];' 'const __nram__ int a;' \
  'extern __nram__ float a[4];' '#define RUN kernel<<<a, b, c>>>()' '#define BUFFER __nram__ float' \
  'void f() { <<<a, b, c>>>(); }' 'void f() { k<<<a, b, c(); }'; do
  printf '\n%s\n' "$wrong" >"$folder/wrong.mlu"
  if "$translate" "$folder/wrong.mlu" "$folder/wrong.cc" 2>"$folder/message"; then
    echo "accepted: $wrong" >&2
    exit 1
  fi
  grep -q "wrong.mlu:2: error: " "$folder/message" || { cat "$folder/message" >&2; exit 1; }
done
