# SPDX-License-Identifier: Apache-2.0
"""Our position-sensitive pooling in torchvision's place: `mluops.compat.torchvision.install()`.

The values stay torchvision's, to the bit on the CPU; the gradient at the map's edge becomes right,
and all cores work.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Dict

from .. import torch as ours
from ._install import Report, list_left, put, rebind

__all__ = ["Report", "install"]


def install() -> Report:
    """Puts ours in place of torchvision's `ps_roi_pool` and `PSRoIPool` and says what changed."""
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
