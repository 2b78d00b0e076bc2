#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# subproject.sh <source folder>: builds a project that has mluops as a subproject, and runs its program. mluops is a copy
# without tests, tools and examples and with a folder that op_list.inc does not name, which must not be compiled.
source "$(dirname "$0")/consumers.sh"
copy=$folder/mluops
mkdir "$copy"
cp -r "$1"/{CMakeLists.txt,cmake,include,src} "$copy"
mkdir -p "$copy/src/ops/stray/cpu"
echo '#error "op_list.inc does not name this folder"' | tee "$copy/src/ops/stray/stray.cc" >"$copy/src/ops/stray/cpu/forward.cc"

# Neither optimised nor for several instruction sets: this test is about the build.
cmake -S "$here/parent" -B "$folder/build" -G Ninja -DMLUOPS_SOURCE="$copy" -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON \
  -DCMAKE_CXX_FLAGS="-O0 -DHWY_COMPILE_ONLY_STATIC" >"$folder/log" || { cat "$folder/log"; fail "configuring failed"; }
cmake --build "$folder/build" >"$folder/log" || { tail -n 40 "$folder/log"; fail "building failed"; }
"$folder/build/consumer" || fail "the program ended with $?"
