# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by the tests that install: a temporary folder, and the two methods to find the library (CMake, pkg-config).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

# cmake_consumer <prefix> <build folder>: find_package(mluops).
cmake_consumer() {
  cmake -S "$here/consumer" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$1" -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$2" >/dev/null
  "$2/consumer" || fail "the CMake consumer of $1 ended with $?"
}

# pkg_config <prefix> <arguments>: searches the prefix first.
pkg_config() {
  local files
  files=$(dirname "$(find "$1" -name mluops.pc)")
  shift
  PKG_CONFIG_PATH=$files pkg-config "$@" mluops
}

# pkg_config_consumer <prefix> <program> [arguments of pkg-config]
pkg_config_consumer() {
  local prefix=$1 program=$2 flags libraries
  shift 2
  flags=$(pkg_config "$prefix" --cflags)
  libraries=$(pkg_config "$prefix" --libs "$@")
  # shellcheck disable=SC2086  # lists
  "${CC:-cc}" -std=c99 $flags "$here/consumer/consumer.c" $libraries \
    -Wl,-rpath,"$(pkg_config "$prefix" --variable=libdir)" -o "$program"
  "$program" || fail "the pkg-config consumer of $prefix ended with $?"
}
