#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fresh_root.sh [COMMAND...]: tests README's first commands on a minimal machine. Creates a Debian 12 root in a
# temporary folder, with git, make, a compiler and python3, and clones HEAD into it. Runs the commands there as printed:
# all of them, or the commands that start with an argument ('make run'). Uses the package sources of this machine. Output is
# kept in build-fresh/; the root is deleted at the end unless FRESH_ROOT_KEEP=1. Must be run as root.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "fresh_root.sh: $*" >&2
  exit 2
}
mapfile -t printed < <(awk '/^```sh$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' README.md | grep '^make ')
commands=()
for line in "${printed[@]}"; do
  if [ $# = 0 ]; then commands+=("$line"); fi
  for wanted in "$@"; do
    case $line in "$wanted"*) commands+=("$line") ;; esac
  done
done
[ ${#commands[@]} -gt 0 ] || fail "no command of README's first block starts with '$*'; the commands are: ${printed[*]-none}"
[ -z "$(git status --porcelain)" ] || echo "fresh_root.sh: tests HEAD, without the uncommitted changes" >&2

mkdir -p build-fresh
source scripts/debian_root.sh
make_root ca-certificates,git,make,g++,python3 build-fresh/debootstrap.log
git clone --quiet --no-hardlinks "$PWD" "$root/mluops"
git -C "$root/mluops" log -1 --format='HEAD is %h %s'

failed=0
for i in "${!commands[@]}"; do
  command=${commands[$i]} log=build-fresh/$i.log start=$SECONDS status=0
  echo "== $command"
  with_progress "${command%%  *}" "$log" in_root "$command" || status=$?
  if [ "$status" != 0 ]; then
    tail -n 40 "$log"
    failed=1
  fi
  echo "${command%%  *}: status $status after $((SECONDS - start)) s, ends with: $(tail -n 1 "$log")"
done
exit "$failed"
