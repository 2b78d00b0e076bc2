#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ruff.sh <arguments>: runs ruff from .venv-build, which gets it on the first use.
set -euo pipefail
source "$(dirname "$0")/progress.sh"
tools="$(dirname "$0")/../.venv-build"
[ -x "$tools/bin/python" ] || python3 -m venv "$tools"
[ -x "$tools/bin/ruff" ] || or_tail ruff "$tools/pip.log" "$tools/bin/pip" install ruff
exec "$tools/bin/ruff" "$@"
