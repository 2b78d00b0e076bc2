# SPDX-License-Identifier: Apache-2.0
"""Replaces torchvision's position-sensitive pooling: `mluops.compat.torchvision.install()`.

Values on the CPU stay bitwise the same. The gradient at the edge of the map is corrected, and the
operator uses all cores.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Dict

from .. import torch as ours
from ._install import Report, list_left, put, rebind

__all__ = ["Report", "install"]


def install() -> Report:
    """Replaces torchvision's `ps_roi_pool` and `PSRoIPool` and returns the changes."""
    report = Report()
    originals: Dict[int, Any] = {}
    package = importlib.import_module("torchvision.ops")
    inner = sys.modules["torchvision.ops.ps_roi_pool"]
    for module in (inner, package):
        put(module, "ps_roi_pool", ours.ps_roi_pool, report, originals)
        put(module, "PSRoIPool", ours.PSRoIPool, report, originals)
    rebind(report, originals)
    list_left(report, originals)
    return report
