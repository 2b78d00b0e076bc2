# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Defines make_root and in_root for scripts that need a new Debian 12 root; source this file. Uses the package sources of this machine.
# Must be run as root. The root is deleted at exit unless FRESH_ROOT_KEEP=1.
source scripts/progress.sh

# make_root <packages, separated by commas> <log>: sets `root`.
make_root() {
  [ "$(id -u)" = 0 ] || { echo "only root can make a root file system" >&2; exit 2; }
  root=$(mktemp -d "${TMPDIR:-/tmp}/mluops-root.XXXXXX")
  chmod 755 "$root"  # mktemp makes a folder that only root may enter
  trap remove_root EXIT
  # The Debian 12 source and the proxy of this machine's apt.
  local mirror proxy
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 'Created-By: Packages' | head -n 1)
  [ -n "$mirror" ] || { echo "apt must know a source of Debian 12 (bookworm): run apt-get update" >&2; exit 2; }
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  echo "== a root in $root"
  with_progress debootstrap "$2" env http_proxy="${proxy:-${http_proxy-}}" unshare --mount debootstrap \
    --variant=minbase --include="$1" bookworm "$root" "$mirror" || { tail -n 20 "$2" >&2; echo "debootstrap failed" >&2; exit 2; }
  # This machine's package settings: sources, keys, certificates, pip's settings.
  rm -rf "$root/etc/apt"
  local path
  for path in /etc/apt /usr/share/keyrings /usr/local/share/ca-certificates /etc/pip.conf ~/.config/pip ~/.pip \
    /etc/hosts /etc/resolv.conf; do
    [ ! -e "$path" ] || { mkdir -p "$root${path%/*}" && cp -aLT "$path" "$root$path"; }
  done
  [ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  if [ -d "${PIP_FIND_LINKS-}" ]; then mkdir -p "$root$PIP_FIND_LINKS"; fi
}

# This shell sees no mounts in the root, so removing it deletes files only.
remove_root() {
  if [ "${FRESH_ROOT_KEEP-0}" = 1 ]; then echo "the root is $root"; else rm -rf --one-file-system "$root"; fi
}

# in_root <command>: runs it in the folder /mluops of the root. It has its own mount and process namespaces, so its
# mounts and processes end with it.
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
      chroot "$root" bash -o pipefail -ec "cd /mluops && $command"' in_root "$root" "$1" "${settings[@]}"
}
