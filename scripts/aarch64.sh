#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# aarch64.sh [ARGUMENTS OF mluop check]: cross-builds library and driver for 64-bit Arm into build-aarch64/. Runs
# `mluop check` under qemu with the given arguments. Without arguments it runs the basic cases of all families, one
# process per core, and ends with their sum. Arm's libraries are unpacked into build-aarch64/sysroot: no architecture is
# added to this machine's packages.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh
build=$PWD/build-aarch64
# Two of the packages contain headers only, which are the same on every architecture.
packages=(libhwy-dev libhwy1 libcli11-dev nlohmann-json3-dev zlib1g zlib1g-dev)

fill_sysroot() {
  local apt=$build/apt log=$build/apt.log
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$build/sysroot.new"
  : >"$apt/status"
  # Runs apt with a separate state, in which this machine is an Arm without installed packages.
  local options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
    -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache")
  or_tail "package lists for Arm" "$log" apt-get "${options[@]}" update
  (cd "$apt" && or_tail "packages for Arm" "$log" apt-get "${options[@]}" download "${packages[@]}")
  for package in "$apt"/*.deb; do dpkg -x "$package" "$build/sysroot.new"; done
  echo "${packages[*]}" >"$build/sysroot.new/packages"
  rm -rf "$build/sysroot"
  mv "$build/sysroot.new" "$build/sysroot"
  rm -rf "$apt"
}

if [ "$(cat "$build/sysroot/packages" 2>/dev/null)" != "${packages[*]}" ]; then
  echo "Unpacking ${packages[*]} for Arm"
  rm -rf "$build/sysroot.new"
  fill_sysroot
fi
if [ ! -f "$build/build.ninja" ] || [ CMakePresets.json -nt "$build/build.ninja" ]; then
  or_tail configuring "$build/configure.log" cmake --preset aarch64
fi
cmake --build "$build"

mluop() {
  qemu-aarch64-static -L /usr/aarch64-linux-gnu \
    -E "LD_LIBRARY_PATH=$build/sysroot/usr/lib/aarch64-linux-gnu:$build/sysroot/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib" \
    "$build/mluop" "$@"
}
# Prints a family's output when it ends, so that families do not mix.
check_family() {
  local output failed=0
  output=$(mluop check --op "$1" --set basic 2>&1) || failed=1
  echo "$1: $output"
  return "$failed"
}

start=$SECONDS status=0
if [ $# -gt 0 ]; then
  mluop check "$@" || status=$?
else
  export build
  export -f mluop check_family
  log=$build/check.log
  mluop list | grep -v '^ ' |
    xargs -P "$(nproc)" -I{} bash -c 'check_family {}' | tee "$log" || status=$?
  sed -nE 's/.*\b([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$log" |
    awk '{ passed += $1; failed += $2 } END { print passed + 0 " passed, " failed + 0 " failed" }'
fi
echo "aarch64: $((SECONDS - start)) s under qemu"
exit "$status"
