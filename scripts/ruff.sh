#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ruff.sh <arguments>: runs ruff from .venv-build, which gets it on the first use.
set -euo pipefail
tools="$(dirname "$0")/../.venv-build"
[ -x "$tools/bin/python" ] || python3 -m venv "$tools"
[ -x "$tools/bin/ruff" ] || "$tools/bin/pip" install --quiet ruff
exec "$tools/bin/ruff" "$@"
