#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh: checks the .debs of dist/: lintian finds no errors, and each has the files of contents.txt. The CUDA package is
# checked if it was built. After an intended change, `packaging/check.sh list >packaging/contents.txt` accepts it; add
# back the lines of a package that was not built.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints "package path" for every file, with placeholders for the version and the machine.
contents() {
  local deb package version triplet
  triplet=$(gcc -print-multiarch)
  for deb in dist/*.deb; do
    package=$(dpkg-deb -f "$deb" Package)
    version=$(dpkg-deb -f "$deb" Version)
    dpkg-deb --fsys-tarfile "$deb" | tar t | grep -v '/$' |
      sed -E "s|^\./|$package /|; s|/$triplet/|/@triplet@/|; s|\.so\.${version%-*}$|.so.@version@|"
  done | LC_ALL=C sort
}
if [ "${1-}" = list ]; then
  contents
  exit
fi
packages=$(for deb in dist/*.deb; do dpkg-deb -f "$deb" Package; done)
for package in $(cut -d ' ' -f 1 packaging/contents.txt | sort -u); do
  if ! grep -qx "$package" <<<"$packages" && [ "$package" != libmluops-cuda ]; then
    echo "check.sh: dist/ must have the package $package: run make package" >&2
    exit 1
  fi
done
if ! diff <(contents) <(grep -E "^($(paste -sd '|' <<<"$packages")) " packaging/contents.txt); then
  echo "check.sh: the packages must have the files of packaging/contents.txt (>: missing, <: unknown)" >&2
  exit 1
fi
lintian --allow-root --fail-on error --tag-display-limit 0 dist/*.deb || {
  echo "check.sh: lintian found errors" >&2
  exit 1
}
echo "packages: $(wc -w <<<"$packages") checked"
