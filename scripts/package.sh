#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the packages to dist/:
#   *.deb                                   one per component (cmake/package.cmake); built in build-package/ for /usr
#   mluops-<version>-linux-<machine>.tar.gz         library, headers, driver, CUDA and MLU libraries; relocatable
#   mluops-<version>-linux-<machine>-tests.tar.gz   the test programs; unpack it in the same folder
# The archives are made from build/ and run on any Linux whose glibc is not older than that of this machine.
# `make package` builds build/ and the wheel first.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh
unset LD_LIBRARY_PATH

fail() {
  echo "package.sh: $*" >&2
  exit 1
}
is_elf() { [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; }
# Prints "name path" of every shared library that a program or library loads, except glibc's.
libraries_of() {
  ldd "$1" | awk '$2 == "=>" { print $1, $3 }' |
    grep -vE '^(libc|libm|libmvec|libpthread|libdl|librt|libresolv)\.so' || true
}

debian_packages() {
  local settings=()
  mkdir -p build-package
  if [ -f build/libmluops_cuda.so ]; then  # cpack strips only what it built
    strip --strip-unneeded -o build-package/libmluops_cuda.so build/libmluops_cuda.so
    settings=(-DMLUOPS_CUDA_LIBRARY="$PWD/build-package/libmluops_cuda.so")
  fi
  cmake --preset release -B build-package -DCMAKE_INSTALL_PREFIX=/usr -DMLUOPS_TESTS=OFF -DMLUOPS_CUDA=OFF \
    -DMLUOPS_PACKAGES=ON "${settings[@]}" >/dev/null
  cmake --build build-package
  rm -f dist/*.deb
  or_tail cpack build-package/cpack.log env -C build-package cpack -G DEB || fail "cpack failed"
  mv build-package/*.deb dist/
}

# copy_libraries <folder> <lib>: copies the shared libraries that the programs of the folder load to <folder>/<lib>. The C++
# runtime libraries are for our programs only, in a separate folder. Another program that loads libmluops.so must use
# its own, which may be newer and required by its other libraries.
copy_libraries() {
  local name path
  mkdir -p "$1/lib/runtime" "$1/$2"
  while read -r name path; do
    if [ -e "$1/lib/$name" ] || [ -e "$1/lib/runtime/$name" ]; then continue; fi
    case $name in
      libmluops.so*) ;;
      libstdc++.so* | libgcc_s.so*) cp -L "$path" "$1/lib/runtime/$name" ;;
      *) cp -L "$path" "$1/$2/$name" ;;
    esac
  done < <(find "$1" -type f \( -path '*/bin/*' -o -path '*/tests/*' -o -name 'lib*.so*' \) -print | sort |
    while read -r program; do if is_elf "$program"; then libraries_of "$program"; fi; done | sort -u)
}

# RPATH, not RUNPATH: a program's RPATH also applies to indirect dependencies.
# set_path <path> <file>...
set_path() {
  local path=$1 file
  shift
  for file in "$@"; do
    if [ -f "$file" ] && [ ! -L "$file" ] && is_elf "$file"; then patchelf --force-rpath --set-rpath "$path" "$file"; fi
  done
}
set_paths() {
  set_path '$ORIGIN/../lib:$ORIGIN/../lib/runtime' "$1"/bin/*
  set_path '$ORIGIN' "$1"/lib/*.so*
  set_path '$ORIGIN/lib:$ORIGIN/../lib:$ORIGIN/../lib/runtime' "$1"/tests/*
  set_path '$ORIGIN:$ORIGIN/../../lib' "$1"/tests/lib/*
}

copy_tests() {
  local program tests=()
  mkdir -p "$1/tests"
  while read -r program; do
    is_elf "$program" || continue
    cp "$program" "$1/tests/"
    strip "$1/tests/${program##*/}"
    tests+=("${program##*/}")
  done < <(find build/tests build/examples -name CMakeFiles -prune -o -name '*.so*' -prune -o -path '*/static/*' -prune -o \
    -path '*/subproject/*' -prune -o -type f -perm -u+x -print | sort)
  [ ${#tests[@]} -gt 0 ] || fail "no tests in build/"
  sed "s/@tests@/${tests[*]}/" packaging/run_tests >"$1/tests/run_tests"
  chmod +x "$1/tests/run_tests"
}

# Checks that a moved copy runs with an empty environment and loads only glibc from the system.
check_moved() {
  local moved=$1/moved program outside
  cp -a "$2" "$moved"
  for program in "$moved"/{bin,tests}/* "$moved/lib/libmluops.so"; do
    if [ ! -f "$program" ] || ! is_elf "$program"; then continue; fi
    outside=$(libraries_of "$program" | grep -vF "$moved/" || true)
    if [ "${program##*/}" = libmluops.so ]; then outside=$(grep -vE '^(libstdc\+\+|libgcc_s)\.so' <<<"$outside" || true); fi
    [ -z "$outside" ] || fail "${program##*/} loads from outside: $outside"
  done
  env -i "$moved/bin/mluop" list >/dev/null || fail "mluop list does not run"
}

# archive <file> <file or folder of the tree>...
archive() {
  local file=$1
  shift
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -cf - "${@/#/$name/}" | gzip -9n >"dist/$file"
  echo "dist/$file: $(du -k "dist/$file" | cut -f 1) KiB"
}

mkdir -p dist
debian_packages
version=$(sed -nE 's/^CMAKE_PROJECT_VERSION:STATIC=//p' build/CMakeCache.txt)
name=mluops-$version work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install build --strip --prefix "$work/$name" >/dev/null
cp LICENSE THIRD_PARTY.md "$work/$name/"
copy_libraries "$work/$name" lib
(cd "$work/$name" && ls) >"$work/library_files"
copy_tests "$work/$name"
copy_libraries "$work/$name" tests/lib  # only the tests load these
set_paths "$work/$name"
check_moved "$work" "$work/$name"
rm -f dist/mluops-*.tar.gz
mapfile -t library_files <"$work/library_files"
archive "$name-linux-$(uname -m).tar.gz" "${library_files[@]}"
archive "$name-linux-$(uname -m)-tests.tar.gz" tests
for package in dist/*.deb; do echo "$package: $(du -k "$package" | cut -f 1) KiB"; done
