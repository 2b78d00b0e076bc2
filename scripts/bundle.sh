#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes dist/mluops-bundle (library, headers, driver, examples, tests, and the shared libraries they need) and its
# tarball from build/. The tree is relocatable and runs on any Linux whose glibc is not older than that of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
bundle=dist/mluops-bundle
limit_kib=$((40 * 1024))
unset LD_LIBRARY_PATH

fail() {
  echo "bundle: $*" >&2
  exit 1
}
is_elf() { [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; }
# Prints "name path" of every shared library that a program or library loads, except glibc's.
libraries_of() {
  ldd "$1" | awk '$2 == "=>" { print $1, $3 }' |
    grep -vE '^(libc|libm|libmvec|libpthread|libdl|librt|libresolv)\.so' || true
}

rm -rf "$bundle" "$bundle.tar.gz"
cmake --install build --strip --prefix "$bundle" >/dev/null
# The C++ runtime libraries are for our programs only and are in a separate folder. Another program that loads
# libmluops.so must use its own, which may be newer and required by its other libraries.
mkdir -p "$bundle/lib/runtime"

tests=()
while read -r program; do
  is_elf "$program" || continue
  cp "$program" "$bundle/bin/"
  strip "$bundle/bin/${program##*/}"
  tests+=("${program##*/}")
done < <(find build/tests build/examples -name CMakeFiles -prune -o -name '*.so*' -prune -o \
           -path '*/static/*' -prune -o -type f -perm -u+x -print | sort)
[ ${#tests[@]} -gt 0 ] || fail "no tests in build/"

while read -r name path; do
  case $name in
    libmluops.so*) ;;
    libstdc++.so* | libgcc_s.so*) cp -L "$path" "$bundle/lib/runtime/$name" ;;
    *) cp -L "$path" "$bundle/lib/$name" ;;
  esac
done < <(for program in "$bundle"/bin/* "$bundle"/lib/libmluops.so; do libraries_of "$program"; done | sort -u)

# RPATH, not RUNPATH: a program's RPATH also applies to indirect dependencies.
for program in "$bundle"/bin/*; do
  patchelf --force-rpath --set-rpath '$ORIGIN/../lib:$ORIGIN/../lib/runtime' "$program"
done
for library in "$bundle"/lib/*.so.*; do
  [ -L "$library" ] || patchelf --force-rpath --set-rpath '$ORIGIN' "$library"
done

cat >"$bundle/bin/run_tests" <<END
#!/bin/sh
# Runs every test program of this bundle, from any folder.
cd "\$(dirname "\$0")" || exit 1
export GTEST_FILTER='-CudaLibrary.*:CudaDriver.*'  # the stubs that they load are not in the bundle
passed=0 failed=0
for program in ${tests[*]}; do
  echo "== \$program"
  if ./"\$program"; then passed=\$((passed + 1)); else failed=\$((failed + 1)); echo "\$program failed"; fi
done
echo "\$passed passed, \$failed failed"
[ \$failed = 0 ]
END
chmod +x "$bundle/bin/run_tests"
cp LICENSE "$bundle/"

# Checks that a moved copy runs with an empty environment and loads only glibc from the system.
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
cp -a "$bundle" "$elsewhere/moved"
for program in "$elsewhere"/moved/bin/*; do
  is_elf "$program" || continue
  outside=$(libraries_of "$program" | grep -vF "$elsewhere/moved/" || true)
  [ -z "$outside" ] || fail "${program##*/} loads from outside: $outside"
done
outside=$(libraries_of "$elsewhere/moved/lib/libmluops.so" | grep -vF "$elsewhere/moved/" |
  grep -vE '^(libstdc\+\+|libgcc_s)\.so' || true)
[ -z "$outside" ] || fail "libmluops.so loads from outside: $outside"
env -i "$elsewhere/moved/bin/mluop" list >/dev/null || fail "mluop list does not run"

size_kib=$(du -sk "$bundle" | cut -f 1)
[ "$size_kib" -le "$limit_kib" ] || fail "must be at most $limit_kib KiB, got $size_kib"
tar -C dist -czf "$bundle.tar.gz" mluops-bundle
echo "$bundle: $size_kib KiB, ${#tests[@]} test programs; $bundle.tar.gz: $(du -k "$bundle.tar.gz" | cut -f 1) KiB"
