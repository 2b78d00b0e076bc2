#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# static.sh <source folder> <build folder>: C programs can link the libmluops.a of the preset `static`.
source "$(dirname "$0")/consumers.sh"
# Without optimisation the build takes a tenth of the time; this test only links.
cmake -S "$1" --preset static -B "$2" -DMLUOPS_TESTS=OFF -DMLUOPS_TOOLS=OFF -DMLUOPS_CUDA=OFF -DCMAKE_CXX_FLAGS_RELEASE=-O0 \
  -DCMAKE_CXX_FLAGS=-DHWY_COMPILE_ONLY_STATIC >/dev/null
cmake --build "$2" >/dev/null
cmake --install "$2" --prefix "$folder/prefix" >/dev/null
[ -z "$(find "$folder/prefix" -name 'libmluops.so*')" ] || fail "the static build installed a shared library"

cmake_consumer "$folder/prefix" "$folder/cmake"
pkg_config_consumer "$folder/prefix" "$folder/by_pkg_config" --static
! ldd "$folder/by_pkg_config" | grep libmluops || fail "the program needs a shared libmluops"
