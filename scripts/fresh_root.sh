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
[ "$(id -u)" = 0 ] || fail "only root can make a root file system"

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

root=$(mktemp -d "${TMPDIR:-/tmp}/mluops-root.XXXXXX")
# This shell sees no mounts in the root, so removing it deletes files only.
clean_up() {
  if [ "${FRESH_ROOT_KEEP-0}" = 1 ]; then echo "the root is $root"; else rm -rf --one-file-system "$root"; fi
}
trap clean_up EXIT
mkdir -p build-fresh

# The Debian 12 source and the proxy of this machine's apt.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 'Created-By: Packages' | head -n 1)
[ -n "$mirror" ] || fail "apt must know a source of Debian 12 (bookworm): run apt-get update"
eval "$(apt-config shell proxy Acquire::http::Proxy)"
echo "== a root in $root"
http_proxy=${proxy:-${http_proxy-}} unshare --mount debootstrap --variant=minbase --include=ca-certificates,git,make,g++,python3 \
  bookworm "$root" "$mirror" >build-fresh/debootstrap.log 2>&1 ||
  { tail -n 20 build-fresh/debootstrap.log >&2; fail "debootstrap failed"; }

# This machine's package settings: sources, keys, certificates, pip's settings.
rm -rf "$root/etc/apt"
for path in /etc/apt /usr/share/keyrings /usr/local/share/ca-certificates /etc/pip.conf ~/.config/pip ~/.pip \
  /etc/hosts /etc/resolv.conf; do
  [ ! -e "$path" ] || { mkdir -p "$root${path%/*}" && cp -aLT "$path" "$root$path"; }
done
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
if [ -d "${PIP_FIND_LINKS-}" ]; then mkdir -p "$root$PIP_FIND_LINKS"; fi
git clone --quiet --no-hardlinks "$PWD" "$root/mluops"
git -C "$root/mluops" log -1 --format='HEAD is %h %s'

# A separate namespace: its mounts and processes end with the command.
in_root() {
  local settings=()
  mapfile -t settings < <(env | grep -E '^(PIP_[A-Z_]+|(http|https|no)_proxy|(HTTP|HTTPS|NO)_PROXY)=' || true)
  unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 command=$2
    shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    [ ! -d "${PIP_FIND_LINKS-}" ] || mount --bind -o ro "$PIP_FIND_LINKS" "$root$PIP_FIND_LINKS"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$HOME" TERM=dumb "$@" \
      chroot "$root" bash -c "cd /mluops && $command"' in_root "$root" "$1" "${settings[@]}"
}

failed=0
for i in "${!commands[@]}"; do
  command=${commands[$i]} log=build-fresh/$i.log start=$SECONDS status=0
  echo "== $command"
  in_root "$command" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" != 0 ]; then
    tail -n 40 "$log"
    failed=1
  fi
  echo "${command%%  *}: status $status after $((SECONDS - start)) s, ends with: $(tail -n 1 "$log")"
done
exit "$failed"
