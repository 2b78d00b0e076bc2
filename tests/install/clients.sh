#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clients.sh <build folder> <C compiler> <C++ compiler>: programs for MLU-OPS build without a warning against an installed
# mluops, in C99 and C++11, with one include path, and pass. The client that calls every function is two programs,
# because a client has at most 200 lines: every_operator.c calls the operators, every_function.c all other functions.
# Exits with 77 (skipped) if a compiler is absent.
source "$(dirname "$0")/consumers.sh"
cc=$2 cxx=$3
for compiler in "$cc" "$cxx"; do
  command -v "$compiler" >/dev/null && continue
  echo "SKIPPED: $compiler is absent (scripts/install_deps.sh clients installs clang)"
  exit 77
done
cmake --install "$1" --prefix "$folder/prefix" >/dev/null
include=$folder/prefix/include
libdir=$(pkg_config "$folder/prefix" --variable=libdir)
flags=(-I"$include" -Wall -Wextra -Wpedantic -Werror)

# build <compiler and flags> <source>
build() {
  # shellcheck disable=SC2086  # a list
  $1 "${flags[@]}" "$2" -L"$libdir" -lmluops -lcnrt -lcndrv -Wl,-rpath,"$libdir" -o "$folder/client"
}
# build_and_run <compiler and flags> <source>
build_and_run() {
  echo "$1 $2"
  build "$1" "$here/clients/$2" || fail "$1 does not compile $2"
  "$folder/client" || fail "$2 of $1 ended with $?"
}

build_and_run "$cc -std=c99" client.c
build_and_run "$cxx -std=c++11" client.cc
for source in every_function.c every_operator.c; do
  build_and_run "$cc -std=c99" $source
  build_and_run "$cxx -std=c++11 -x c++" $source
done
for header in cnrt.h cn_api.h; do
  printf '#include <%s>\nint main(void) { return cnrtSetDevice(0); }\n' $header >"$folder/runtime.c"
  build "$cc -std=c99" "$folder/runtime.c" && "$folder/client" || fail "a client of <$header> fails"
done
# 15 arguments fit neither form.
sed -E 's/rois_dev, output_desc/rois_dev, NULL, output_desc/' "$here/clients/client.c" >"$folder/wrong.c"
! build "$cc -std=c99" "$folder/wrong.c" 2>/dev/null || fail "$cc compiles a call with 15 arguments"

# Together every_function.c and every_operator.c call each function of the headers.
for name in $(printf '#include "mluops/extensions.h"\n' | "$cc" -std=c99 -E -P -I"$include" -x c - |
  grep -oE '\b(mluOp|cnrt)[A-Za-z0-9_]+ *\(' | tr -d ' (' | sort -u); do
  grep -qE "\b$name\(" "$here"/clients/every_*.c || fail "every_function.c and every_operator.c do not call $name"
done
for source in "$here"/clients/*; do
  [ "$(wc -l <"$source")" -le 200 ] || fail "a client must have at most 200 lines: $source"
done
