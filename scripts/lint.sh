#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-format, clang-tidy and cppcheck over all C and C++ sources, or over those named on the command line; ruff
# over the Python ones.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(find include src tools tests examples -name '*.h' -o -name '*.cc' -o -name '*.c' | sort)
fi
failed=0
if [ $# -eq 0 ]; then
  tools=.venv-build
  [ -x "$tools/bin/python" ] || python3 -m venv "$tools"
  [ -x "$tools/bin/ruff" ] || "$tools/bin/pip" install --quiet ruff
  "$tools/bin/ruff" format --check python tests/python bench scripts || failed=1
  "$tools/bin/ruff" check python tests/python bench scripts || failed=1
fi
clang-format-14 --dry-run -Werror "${files[@]}" || failed=1

# Headers are seen through the sources here too; a configuration that none of them has is not worth a warning.
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '\.cc?$')
if [ ${#sources[@]} -gt 0 ]; then
  cppcheck --quiet --error-exitcode=1 -j "$(nproc)" --std=c++20 --library=googletest --enable=warning,performance,portability \
    --template='{file}:{line}: {severity}: {message} [{id}]' --suppressions-list=.cppcheck \
    -I. -Iinclude -Isrc -Itools/mluop "${sources[@]}" || failed=1
fi

# clang cannot read g++'s precompiled headers. Configuring writes the compilers' command lines; nothing is built.
cmake --preset release -B build-lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
# Headers are seen through the sources that include them; what is not compiled (a foreign consumer) has no flags.
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '\.cc?$' | while read -r file; do
  if grep -qF "\"$PWD/$file\"" build-lint/compile_commands.json; then echo "$file"; fi
done)
# The warnings that only g++ knows are in its command lines.
printf '%s\0' "${sources[@]}" |
  xargs -0 -P "$(nproc)" -n 1 clang-tidy-14 -p build-lint --quiet --extra-arg=-Wno-unknown-warning-option 2>&1 |
  { grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed |^Use -header-filter' || true; } || failed=1
if [ "$failed" = 0 ]; then echo "lint: ${#files[@]} files are clean"; fi
exit "$failed"
