#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation into site/ and checks its links. Needs no compiler and no built library. The first run
# installs docs/requirements.txt into .venv-docs; later runs need no network.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh

venv=.venv-docs
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! cmp -s docs/requirements.txt "$venv/requirements.txt"; then
  mkdir -p build-site
  or_tail pip build-site/pip.log "$venv/bin/pip" install -r docs/requirements.txt
  cp docs/requirements.txt "$venv/requirements.txt"
fi
# The doctests show that each step can fail.
for script in scripts/docs/*.py; do python3 -m doctest "$script"; done
python3 scripts/docs/stage.py build-site
# Not --quiet, with which --strict misses warnings. NO_MKDOCS_2_WARNING: mkdocs-material prints a notice about
# another program's plans.
log=build-site/mkdocs.log
if ! with_progress mkdocs "$log" env NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --strict \
  --config-file build-site/mkdocs.yml; then
  grep -v '^INFO' "$log" >&2
  exit 1
fi
python3 scripts/docs/check_site.py site
echo "make docs: site/index.html"
