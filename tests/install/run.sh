#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh <build folder>: installs, builds consumers with CMake and pkg-config, moves the installation, and builds them again.
source "$(dirname "$0")/consumers.sh"
build=$1
cmake --install "$build" --prefix "$folder/first" >/dev/null

cmake_consumer "$folder/first" "$folder/cmake"
pkg_config_consumer "$folder/first" "$folder/by_pkg_config"

version=$(sed -nE 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
[ "$(pkg_config "$folder/first" --modversion)" = "$version" ] || fail "mluops.pc is not of version $version"
pkg_config "$folder/first" --validate

# A program for MLU-OPS links -lcnrt and -lcndrv, whose linker scripts must find libmluops in their folder.
libdir=$(pkg_config "$folder/first" --variable=libdir)
"${CXX:-c++}" -I"$folder/first/include" "$here/../../examples/mlu_style.cc" \
  -L"$libdir" -lmluops -lcnrt -lcndrv -Wl,-rpath,"$libdir" -o "$folder/mlu_style"
"$folder/mlu_style"
"$folder/first/bin/mluop" list >/dev/null

# The example of docs/bang.md, with the installed mluops_add_bang_library. As printed there, without -G: Makefiles fail
# on an include folder that does not exist, Ninja does not.
if [ -e "$folder/first/bin/bang_translate" ]; then
  cmake -S "$here/../../examples/bang" -B "$folder/bang" -DCMAKE_PREFIX_PATH="$folder/first" >/dev/null
  cmake --build "$folder/bang" >/dev/null
  "$folder/bang/vector_add_example" || fail "the BANG C example ended with $?"
  MLUOP_VISIBLE_DEVICES=cpu,mlu:0 "$folder/first/bin/mluop" check --device mlu:0 \
    'psamask_forward N=1 H=7 W=10 psa_type=0 h_mask=3 w_mask=5' || fail "the installed driver does not find mlu:0"
fi

mv "$folder/first" "$folder/second"
cmake_consumer "$folder/second" "$folder/cmake_moved"
pkg_config_consumer "$folder/second" "$folder/by_pkg_config_moved"
if found=$(grep -rIl -e "$folder/first" -e "$build" "$folder/second"); then
  fail "these installed files contain a path of the build machine: $found"
fi
