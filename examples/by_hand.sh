#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# by_hand.sh <source> <build folder>: builds an example with the command in its first comment, and runs it.
set -euo pipefail
examples=$(cd "$(dirname "$0")" && pwd)
source=$1 build=$2 name=${1%.*}

command=$(sed -nE 's/^( \*|\/\/)   (cc|c\+\+) /\2 /p' "$examples/$source")
[ -n "$command" ] || { echo "$source: no command in its first comment" >&2; exit 1; }

# The command as it stands, in a folder that looks like the root of the project.
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
