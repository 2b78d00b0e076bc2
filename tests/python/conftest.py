# SPDX-License-Identifier: Apache-2.0
"""Fixtures of several files."""

import os
import sys

import numpy as np
import pytest

os.environ["MPLBACKEND"] = "Agg"  # pictures need no display


@pytest.fixture
def random():
    return np.random.RandomState(1)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):  # boxes of NaN and infinity
        yield


@pytest.fixture(autouse=True)
def close_pictures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
