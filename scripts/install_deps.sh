#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install_deps.sh [GROUP...]: installs the missing Debian packages of the groups (default: build). `wanted` below lists the
# groups. Checks for the tools and headers, not for packages, so tools from other sources are found too.
set -euo pipefail
source "$(dirname "$0")/progress.sh"

have_tool() { command -v "$1" >/dev/null; }

have_header() {
  have_tool g++ && printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" |
    g++ -std=c++20 -E -x c++ - >/dev/null 2>&1
}

# CMake 3.25 is the first version that supports our presets.
have_cmake() {
  have_tool cmake && [ "$(printf '3.25\n%s\n' "$(cmake --version | sed -n '1s/[^0-9]*//p')" |
    sort -V | head -n 1)" = 3.25 ]
}

# clang without its runtime library compiles, but fails to link with a sanitizer.
have_fuzzer() {
  have_tool clang++-14 && [ -n "$(find "$(clang++-14 -print-resource-dir)/lib" \
    -name 'libclang_rt.fuzzer*' -print -quit 2>/dev/null)" ]
}

# Checks Debian's Python, even if another one is first in PATH.
have_module() { [ -x /usr/bin/python3 ] && /usr/bin/python3 -c "import $1" 2>/dev/null; }

# Python may be installed without the venv module.
have_venv() { have_tool python3 && python3 -c 'import ensurepip' 2>/dev/null; }

# One "check|package" per line.
wanted() {
  case $1 in
    build) cat <<'LIST' ;;
have_cmake|cmake
have_tool ninja|ninja-build
have_tool g++|g++
have_tool pkg-config|pkg-config
have_tool patchelf|patchelf
have_header hwy/highway.h|libhwy-dev
have_header gtest/gtest.h|libgtest-dev
have_header nlohmann/json.hpp|nlohmann-json3-dev
have_header CLI/CLI.hpp|libcli11-dev
have_header zlib.h|zlib1g-dev
LIST
    clients) cat <<'LIST' ;;
have_tool clang++-14|clang-14
LIST
    lint) cat <<'LIST' ;;
have_tool clang-format-14|clang-format-14
have_tool clang-tidy-14|clang-tidy-14
have_tool cppcheck|cppcheck
have_tool shellcheck|shellcheck
LIST
    fuzz) cat <<'LIST' ;;
have_tool clang++-14|clang-14
have_fuzzer|libclang-rt-14-dev
LIST
    valgrind) cat <<'LIST' ;;
have_tool valgrind|valgrind
have_header valgrind/memcheck.h|valgrind
LIST
    coverage) cat <<'LIST' ;;
have_tool gcovr|gcovr
LIST
    aarch64) cat <<'LIST' ;;
have_tool aarch64-linux-gnu-g++|g++-aarch64-linux-gnu
have_tool qemu-aarch64-static|qemu-user-static
LIST
    fresh-root) cat <<'LIST' ;;
have_tool debootstrap|debootstrap
LIST
    abi) cat <<'LIST' ;;
have_tool abidw|abigail-tools
LIST
    package) cat <<'LIST' ;;
have_tool dpkg-shlibdeps|dpkg-dev
have_tool fakeroot|fakeroot
have_tool lintian|lintian
LIST
    venv) cat <<'LIST' ;;
have_tool python3|python3
have_venv|python3-venv
LIST
    python) cat <<'LIST' ;;
have_module torch|python3-torch
have_module numpy|python3-numpy
have_module pytest|python3-pytest
have_module ensurepip|python3-venv
LIST
    *) echo "install_deps.sh: group must be build, clients, lint, fuzz, valgrind, coverage, aarch64, fresh-root, abi, package, venv or python, got $1" >&2; exit 2 ;;
  esac
}

missing() {
  local group check package
  for group in "$@"; do
    wanted "$group" | while IFS='|' read -r check package; do
      $check || echo "$package"
    done
  done
}

groups=("${@:-build}")
packages=$(missing "${groups[@]}" | tr '\n' ' ')
[ -n "$packages" ] || exit 0

if [ "$(id -u)" != 0 ] || ! have_tool apt-get; then
  echo "These packages (Debian's names) are missing, and only root can install them with apt-get:" >&2
  echo "  apt-get install $packages" >&2
  exit 1
fi
echo "Installing $packages"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A failed update is not fatal: another package source may be unreachable. The installation decides.
apt-get update -qq || echo "apt-get update failed; using the existing package lists" >&2
# shellcheck disable=SC2086  # a list
with_progress apt-get "$log" apt-get install -y -q --no-install-recommends $packages || { tail -n 20 "$log" >&2; exit 1; }

packages=$(missing "${groups[@]}" | tr '\n' ' ')
if [ -n "$packages" ]; then
  echo "Still missing after the installation: $packages" >&2
  exit 1
fi
