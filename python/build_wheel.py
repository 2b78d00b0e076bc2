# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel. scikit-build-core compiles and packs it. auditwheel adds the shared libraries
that a machine may lack, under unique names, and sets the platform tag."""

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


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
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
