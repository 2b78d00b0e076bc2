#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [source ...]: runs clang-format, clang-tidy and cppcheck on the named C and C++ sources. Without arguments it
# checks all of them, and also runs ruff, shellcheck, check_includes.py, check_prose.py, count_mentions.py, a check of the
# figures in READMEs and `make odr`. clang-tidy and cppcheck skip sources that passed before and have not changed
# (scripts/analyse.py); `rm -r build-lint` resets this.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh

failed=0
run() { "$@" || failed=1; }
# run_silent <label> <command>...: shows progress on a terminal, and the output only of a failure.
run_silent() {
  local label=$1
  shift
  mkdir -p build-lint
  with_progress "$label" build-lint/step.log "$@" && return
  cat build-lint/step.log
  failed=1
}

format_only=()
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(find include src tools tests examples bench -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.cu' | sort)
  # clang-tidy and cppcheck do not know BANG C. tests/mlu/faults have long FAULT marks at line ends.
  mapfile -t format_only < <(find src -name '*.mlu' | sort)
  run scripts/ruff.sh format --check python tests/python bench scripts
  run scripts/ruff.sh check python tests/python bench scripts
  # The doctests show that each check can fail.
  for script in check_includes check_prose count_mentions; do
    run python3 -m doctest "scripts/$script.py"
    run "scripts/$script.py"
  done
  run python3 -m doctest scripts/bar_chart.py scripts/figures.py scripts/speed_tables.py scripts/mutants.py scripts/nightly.py scripts/nightly_amounts.py bench/results.py
  run_silent figures.py scripts/figures.py --check
  mapfile -t scripts < <(find scripts examples tests -name '*.sh' | sort)
  run_silent shellcheck shellcheck --severity=warning -x -P SCRIPTDIR .ci/run "${scripts[@]}"
fi
run_silent clang-format clang-format-14 --dry-run -Werror "${files[@]}" "${format_only[@]}"

# Configures to get the compile commands; builds nothing. clang cannot read g++'s precompiled headers.
run_silent configuring cmake --preset release -B build-lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
run scripts/analyse.py build-lint "${files[@]}"
if [ $# -eq 0 ]; then run make --no-print-directory odr; fi
if [ "$failed" = 0 ]; then echo "lint: ${#files[@]} files are clean"; fi
exit "$failed"
