# SPDX-License-Identifier: Apache-2.0
"""Reads the pictures of mluops.viz."""

import importlib.util

import numpy as np
import pytest

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="mluops.viz needs matplotlib"
)


def filled(ax, name, first=0.0):
    """Returns the pixels (y, x) inside the patch of that name."""
    found = [patch for patch in ax.patches if patch.get_label() == f"_{name}"]
    if not found:
        return set()
    corners = found[0].get_path().vertices.reshape(-1, 5, 2)[:, :4]
    return {(round(y - first), round(x - first)) for x, y in corners.mean(axis=1)}


def line(ax, name):
    """Returns the points (x, y) of the line of that name."""
    (found,) = [artist for artist in ax.lines if artist.get_label() == f"_{name}"]
    return np.stack(found.get_data(), axis=1)


def one_hot_images(size):
    """Returns one map per pixel, with 1 at the pixel: [H*W, H, W]."""
    return np.eye(size[0] * size[1], dtype=np.float32).reshape(-1, *size)
