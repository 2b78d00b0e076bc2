#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# by_hand.sh <source> <build folder>: builds an example with the command in its first comment, and runs it.
set -euo pipefail
examples=$(cd "$(dirname "$0")" && pwd)
source=$1 build=$2 name=${1%.*}

command=$(sed -nE 's/^( \*|\/\/)   (cc|c\+\+) /\2 /p' "$examples/$source")
[ -n "$command" ] || { echo "$source: no command in its first comment" >&2; exit 1; }

# Runs the command unchanged, in a folder with the layout of the project's root.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$examples" examples
ln -s "$examples/../include" include
ln -s "$build" build
cc() { "${CC:-cc}" "$@"; }
c++() { "${CXX:-c++}" "$@"; }
echo "$command"
eval "$command"
"./$name"
