#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# subproject.sh <source folder> <build folder>: builds a project that has mluops as a subproject, and runs its program.
# Builds mluops from symbolic links without tests, tools and examples. Adds a folder that op_list.inc does not list; its
# sources must not be compiled. The build folder is kept, so that a second run compiles only what changed.
source "$(dirname "$0")/consumers.sh"
source=$1 build=$2
tree=$build/tree
rm -rf "$tree"
mkdir -p "$tree/src/ops/stray/cpu"
ln -s "$source"/{CMakeLists.txt,cmake,include} "$tree"
ln -s "$source"/src/{core,cpu,cuda,mluops.map} "$tree/src"
ln -s "$source"/src/ops/* "$tree/src/ops"
echo '#error "op_list.inc does not name this folder"' >"$tree/src/ops/stray/stray.cc"
cp "$tree/src/ops/stray/stray.cc" "$tree/src/ops/stray/cpu/forward.cc"

# Builds without optimisation and for one instruction set, to save time.
cmake -S "$here/parent" -B "$build" -G Ninja -DMLUOPS_SOURCE="$tree" -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON \
  -DCMAKE_CXX_FLAGS="-O0 -DHWY_COMPILE_ONLY_STATIC" >"$folder/log" || { cat "$folder/log"; fail "configuring failed"; }
cmake --build "$build" >"$folder/log" || { tail -n 40 "$folder/log"; fail "building failed"; }
"$build/consumer" || fail "the program ended with $?"
