#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records and checks the ABI of libmluops.so: functions, types and enumerators that a linked program depends on.
#   scripts/abi.sh check           compares the sources with abi/<version>.abi; fails on any difference
#   scripts/abi.sh dump            rewrites abi/<version>.abi and abi/README.md after an intended change
#   scripts/abi.sh dump-of FOLDER  writes the dump of the sources in another folder, such as an old release
# Builds the library with debug information into build-abi/: not optimised, for one instruction set, in under a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh

fail() {
  echo "abi.sh: $*" >&2
  exit 1
}
# version_of <source folder>
version_of() {
  sed -nE 's/^#define MLUOP_(MAJOR|MINOR|PATCHLEVEL) ([0-9]+)$/\2/p' "$1/include/mlu_op.h" | paste -sd.
}
# dump <source folder> <file>
dump() {
  local build
  build=build-abi/$(version_of "$1")
  mkdir -p "$build"
  or_tail configuring "$build/log" cmake -S "$1" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DMLUOPS_TESTS=OFF \
    -DMLUOPS_TOOLS=OFF -DMLUOPS_CUDA=OFF -DMLUOPS_MLU=OFF -DCMAKE_CXX_FLAGS='-g -O0 -DHWY_COMPILE_ONLY_STATIC' ||
    fail "the configuration failed"
  or_tail "the library" "$build/log" cmake --build "$build" --target mluops || fail "the build failed"
  or_tail abidw "$build/log" abidw --exported-interfaces-only --headers-dir "$1/include" --drop-private-types \
    --no-corpus-path --no-show-locs --no-comp-dir-path --no-elf-needed --out-file "$2" "$build/libmluops.so"
  sed -i "s|path='$(realpath "$1")/|path='|" "$2"
}
# write_page <previous version>: rewrites abi/README.md with abidiff's report of the changes since that version.
write_page() {
  local previous=$1 differences
  differences=$(abidiff --no-added-syms "abi/$previous.abi" "abi/$version.abi" || true)
  {
    cat <<END
# ABI

\`<version>.abi\` describes what \`libmluops.so\` of that version exports (\`abidw\`).
\`scripts/abi.sh check\` fails if the sources differ from the dump of their version;
\`scripts/abi.sh dump\` accepts a change.

## $previous to $version

The soname changed, so programs linked with $previous must be linked again. Added functions break
nothing and are not listed. abidiff's report of changed and removed functions and types:

END
    echo '```'
    sed -E 's/[[:space:]]+$//' <<<"$differences"
    echo '```'
  } >abi/README.md
}

version=$(version_of .)
mkdir -p build-abi
case ${1-} in
  check)
    [ -e "abi/$version.abi" ] || fail "abi/$version.abi is missing: run scripts/abi.sh dump"
    dump . build-abi/now.abi
    abidiff --fail-no-debug-info "abi/$version.abi" build-abi/now.abi >build-abi/report 2>&1 || {
      cat build-abi/report
      fail "the ABI differs from abi/$version.abi: restore it, or run scripts/abi.sh dump and say why in CHANGELOG.md"
    }
    echo "abi.sh: $(grep -c '<function-decl' build-abi/now.abi) functions as in abi/$version.abi"
    ;;
  dump)
    dump . "abi/$version.abi"
    previous=$(find abi -name '*.abi' -printf '%f\n' | sed 's/\.abi$//' | sort -V | grep -B1 -x "$version" | head -n 1)
    [ "$previous" = "$version" ] || write_page "$previous"
    echo "abi/$version.abi: $(grep -c '<function-decl' "abi/$version.abi") functions"
    ;;
  dump-of)
    dump "$(realpath "$2")" "abi/$(version_of "$2").abi"
    ;;
  *)
    echo "usage: scripts/abi.sh check | dump | dump-of FOLDER" >&2
    exit 2
    ;;
esac
