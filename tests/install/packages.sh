#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh: tests the packages of dist/ (make package). Checks their files and runs lintian; unpacks both archives in a
# new Debian 12 root without a compiler, and runs the driver and the tests of threads there. Then installs the .debs; builds
# consumers with pkg-config, with find_package and from BANG C, and runs them; removes the packages and checks that no file
# stays.
# Must be run as root.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/debian_root.sh

fail() {
  echo "packages.sh: $*" >&2
  exit 1
}
# step <label> <command in the root>: shows progress on a terminal, then the output.
step() {
  local log=build-package/test.log
  or_tail "$1" $log in_root "$2" && cat $log
}
mapfile -t packages < <(find dist -name '*.deb' | sort)
[ ${#packages[@]} -ge 4 ] || fail "dist/ has ${#packages[@]} packages: run make package"
mkdir -p build-package
packaging/check.sh

make_root ca-certificates build-package/debootstrap.log
mkdir -p "$root/mluops/debs" "$root/mluops/archives"
cp dist/*.tar.gz "$root/mluops/archives/"
echo "== the archives, without a compiler"
step 'the archives' 'cd archives && for file in *.tar.gz; do tar xzf $file; done && mluops-*/bin/mluop list >/dev/null &&
  mluops-*/bin/mluop check --op psamask --set basic | tail -n 1 && mluops-*/tests/mluops_thread_tests | tail -n 1'

echo "== the Debian packages"
cp "${packages[@]}" "$root/mluops/debs/"
cp -r tests/install/consumer examples "$root/mluops/"
step installing 'export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -y -qq --no-install-recommends cmake ninja-build g++ pkg-config >/dev/null
  dpkg -l | sed -nE "s/^ii +([^ ]+).*/\1/p" | sort >before
  apt-get install -y -qq --no-install-recommends ./debs/*.deb >/dev/null
  for deb in debs/*.deb; do dpkg-deb -f "$deb" Package; done >names
  xargs dpkg -L <names | sort -u >files'
step 'the consumers' 'cc -std=c99 $(pkg-config --cflags mluops) consumer/consumer.c $(pkg-config --libs mluops) -o by_pkg_config && ./by_pkg_config
  cmake -S consumer -B by_cmake -G Ninja >/dev/null && cmake --build by_cmake >/dev/null && by_cmake/consumer
  c++ examples/mlu_style.cc -lmluops -lcnrt -lcndrv -o mlu_style && ./mlu_style >/dev/null
  cmake -S examples/bang -B bang -G Ninja >/dev/null && cmake --build bang >/dev/null && bang/vector_add_example >/dev/null
  mluop check --op psamask --set basic | tail -n 1
  MLUOP_VISIBLE_DEVICES=mlu:0 mluop check --device mlu:0 --op psamask --set mlu | tail -n 1' || fail "a consumer failed"

echo "== removing them"
step removing 'xargs apt-get purge -y -qq <names >/dev/null 2>&1
  while read -r path; do if [ -f "$path" ]; then echo "$path" >>left; fi; done <files
  [ ! -e left ] || { cat left; exit 1; }
  ! ./by_pkg_config 2>/dev/null' || fail "files of the packages stayed"
echo "packages: ${#packages[@]} installed, used and removed; both archives used"
