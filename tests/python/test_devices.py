# SPDX-License-Identifier: Apache-2.0
"""The library, not the package, parses MLUOP_VISIBLE_DEVICES."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from mluops import _context
try:
    print(_context._ordinal(sys.argv[1]))
except Exception as error:
    print(type(error).__name__, error)
"""


def ordinal(device: str, visible: str) -> str:
    """Returns the output of a process with this list of devices."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, device],
        env={**os.environ, "MLUOP_VISIBLE_DEVICES": visible},
        capture_output=True,
        check=True,
        text=True,
    ).stdout.strip()


@pytest.mark.parametrize("visible", ["", "cpu"])
def test_cpu_is_device_0(visible):
    assert ordinal("cpu", visible) == "0"


def test_device_that_is_not_listed_is_refused():
    message = "name must be in MLUOP_VISIBLE_DEVICES = cpu, got cuda:0"
    assert ordinal("cuda:0", "cpu") == f"BadParamError mluOpGetDeviceOrdinal: {message}"


@pytest.mark.parametrize("visible", ["tpu", " cpu", "cpu,cpu", "cpu,"])
def test_malformed_list_is_refused_as_in_c(visible):
    assert ordinal("cpu", visible).startswith(
        "Error mluOpGetDeviceOrdinal: MLUOP_VISIBLE_DEVICES must be "
    )
