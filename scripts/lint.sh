#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-format and clang-tidy over all sources, or over those named on the command line. build/ is configured.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(find include src tools tests examples -name '*.h' -o -name '*.cc' -o -name '*.c' | sort)
fi
failed=0
clang-format-14 --dry-run -Werror "${files[@]}" || failed=1

# Headers are seen through the sources that include them. What build/ does not compile (libFuzzer's
# targets, a foreign consumer) has no known flags.
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '\.cc?$' |
  while read -r file; do if grep -qF "\"$PWD/$file\"" build/compile_commands.json; then echo "$file"; fi; done)
printf '%s\0' "${sources[@]}" |
  xargs -0 -P "$(nproc)" -n 1 clang-tidy-14 -p build --quiet --extra-arg=-Wno-unknown-warning-option 2>&1 |
  grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed |^Use -header-filter' || [ "${PIPESTATUS[1]}" = 0 ] || failed=1
[ "$failed" = 0 ] && echo "lint: ${#files[@]} files are clean"
exit "$failed"
