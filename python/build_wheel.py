# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel. scikit-build-core compiles and packs it. auditwheel adds the shared libraries
that a machine may lack, under unique names, and sets the platform tag.

The CUDA library takes minutes to compile. It is part of the wheel if MLUOPS_CUDA=ON is set in the
environment or by --config-settings=cmake.define.MLUOPS_CUDA=ON, or else if the machine has a GPU
driver."""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

from scikit_build_core import build as _build
from scikit_build_core.build import (  # noqa: F401  (the hooks that pip calls)
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)


def _has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _with_cuda(config_settings):
    """Adds the choice of CUDA to the settings, unless they have one."""
    name = "cmake.define.MLUOPS_CUDA"
    wanted = os.environ.get("MLUOPS_CUDA") or ("ON" if _has_driver() else "OFF")
    return {name: wanted, **(config_settings or {})}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    config_settings = _with_cuda(config_settings)
    with tempfile.TemporaryDirectory() as folder:
        bare = pathlib.Path(folder) / _build.build_wheel(
            folder, config_settings, metadata_directory
        )
        repaired = pathlib.Path(folder) / "repaired"
        subprocess.run(
            [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", repaired, bare],
            check=True,
        )
        (wheel,) = repaired.glob("*.whl")
        wheel.replace(pathlib.Path(wheel_directory) / wheel.name)
        return wheel.name
