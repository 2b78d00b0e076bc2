#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_python.sh system|pinned: installs the wheel of dist/ into a virtual environment and runs the
# package's tests there. `system` uses the torch that python3 finds, or Debian's if it finds none.
# `pinned` uses the torch of tests/python/requirements.txt. Installed packages are not fetched again.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh

case ${1-} in
  system)
    venv=.venv-system
    python=python3
    if ! python3 -c 'import torch' 2>/dev/null; then
      scripts/install_deps.sh python
      python=/usr/bin/python3
    fi
    ;;
  pinned)
    venv=.venv-torch
    python=python3
    ;;
  *)
    echo "test_python.sh: the argument must be system or pinned, got '${1-}'" >&2
    exit 2
    ;;
esac

if [ ! -x "$venv/bin/python" ]; then
  if [ "$1" = system ]; then
    "$python" -m venv --system-site-packages "$venv"
  else
    "$python" -m venv "$venv"
  fi
fi
if [ "$1" = pinned ]; then
  if ! cmp -s tests/python/requirements.txt "$venv/requirements.txt"; then
    or_tail "torch" $venv/pip.log "$venv/bin/pip" install -r tests/python/requirements.txt
    cp tests/python/requirements.txt "$venv/requirements.txt"
  fi
else
  "$venv/bin/python" -c 'import numpy, pytest' 2>/dev/null ||
    or_tail "numpy, pytest" $venv/pip.log "$venv/bin/pip" install numpy pytest
fi
wheel=$(ls dist/mluops-*.whl)
if [ "$(sha256sum <"$wheel")" != "$(cat "$venv/wheel.sha256" 2>/dev/null)" ]; then
  or_tail "the wheel" $venv/pip.log "$venv/bin/pip" install --no-deps --force-reinstall "$wheel"
  sha256sum <"$wheel" >"$venv/wheel.sha256"
fi
"$venv/bin/python" -c 'import torch; print("torch", torch.__version__)'
echo "$wheel, sha256 $(sha256sum <"$wheel" | cut -c1-16)"
"$venv/bin/python" -m pytest -p no:cacheprovider --no-header -q tests/python
