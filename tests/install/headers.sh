#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh <include folder>: every header compiles alone, and twice in one file, in C99 and in C++11.
set -euo pipefail
include=$1
flags=(-I"$include" -fsyntax-only -pedantic -Wall -Wextra -Wshadow -Wundef -Werror)

compilers=("gcc g++")
if command -v clang-14 clang++-14 >/dev/null; then compilers+=("clang-14 clang++-14"); fi
for pair in "${compilers[@]}"; do
  read -r cc cxx <<<"$pair"
  (cd "$include" && find . -name '*.h') | while read -r header; do
    text=$(printf '#include "%s"\n#include "%s"\nint main(void) { return 0; }\n' "$header" "$header")
    echo "$cc $header"
    "$cc" -std=c99 -Wstrict-prototypes "${flags[@]}" -x c - <<<"$text"
    "$cxx" -std=c++11 "${flags[@]}" -x c++ - <<<"$text"
  done
done
