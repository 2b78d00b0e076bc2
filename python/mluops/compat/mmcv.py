# SPDX-License-Identifier: Apache-2.0
"""Replaces mmcv's operators with operators of mluops: `mluops.compat.mmcv.install()`.

With mmcv installed, `install` replaces the names in `mmcv.ops`, in the modules below it, and in
modules that imported them before. With mmcv-lite, which has no operators, or without mmcv, it
creates an `mmcv.ops` with these names and the `points_in_boxes_*` that programs import together
with RoIAwarePool3d.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from typing import Any, Dict

from .. import torch as ours
from . import _points_in_boxes
from ._install import Report, list_left, make, put, rebind

__all__ = ["Report", "install"]

# The module under mmcv.ops in which mmcv defines each name.
_PLACES = {
    "border_align": ("border_align", "BorderAlign"),
    "masked_conv": ("masked_conv2d", "MaskedConv2d"),
    "psa_mask": ("psa_mask", "PSAMask"),
    "roiaware_pool3d": ("RoIAwarePool3d",),
}


def _mmcv(report: Report) -> None:
    """Imports mmcv, or creates a stub with the other names that programs import from it."""
    if "mmcv" in sys.modules or importlib.util.find_spec("mmcv") is not None:
        importlib.import_module("mmcv")
        return
    make("mmcv", report).__version__ = "2.1.0"  # our names and signatures are of this version
    utils = make("mmcv.utils", report, package=False)
    for flag in (
        "IS_CUDA_AVAILABLE",
        "IS_MLU_AVAILABLE",
        "IS_MPS_AVAILABLE",
        "IS_MUSA_AVAILABLE",
        "IS_NPU_AVAILABLE",
    ):
        setattr(utils, flag, False)
    from torch import cuda

    utils.IS_CUDA_AVAILABLE = cuda.is_available()  # type: ignore[attr-defined]


def _ops(report: Report) -> types.ModuleType:
    try:
        return importlib.import_module("mmcv.ops")
    except ImportError:  # mmcv-lite has no mmcv.ops, or one without its binary
        for name in [name for name in sys.modules if name.startswith("mmcv.ops.")]:
            del sys.modules[name]
        package = make("mmcv.ops", report)
        for module in (package, make("mmcv.ops.points_in_boxes", report, package=False)):
            for name in _points_in_boxes.__all__:
                setattr(module, name, getattr(_points_in_boxes, name))
        return package


def install() -> Report:
    """Replaces mmcv's operators and returns the changes. A second call has no effect."""
    report = Report()
    originals: Dict[int, Any] = {}
    _mmcv(report)
    package = _ops(report)
    for module_name, names in _PLACES.items():
        full_name = f"mmcv.ops.{module_name}"
        if full_name not in sys.modules:
            make(full_name, report, package=False)
        for name in names:
            put(sys.modules[full_name], name, getattr(ours, name), report, originals)
    # After the modules: border_align and psa_mask are also names of modules, and the functions must
    # replace these.
    for names in _PLACES.values():
        for name in names:
            put(package, name, getattr(ours, name), report, originals)
    # In mmcv, mmcv.ops.psa_mask is the module. The function gets the module's attributes.
    vars(ours.psa_mask).update(
        {
            name: value
            for name, value in vars(sys.modules["mmcv.ops.psa_mask"]).items()
            if getattr(value, "__module__", "").startswith(("mmcv.ops.psa_mask", "mluops."))
        }
    )
    rebind(report, originals)
    list_left(report, originals)
    return report
