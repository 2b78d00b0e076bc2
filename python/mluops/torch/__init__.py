# SPDX-License-Identifier: Apache-2.0
"""The operators for PyTorch: functions, modules, and `torch.ops.mluops.*` under both.

Every operator has derivatives of every kind for its features: reverse and forward mode, of any
order, and torch.func. It accepts float16, float32 and float64, and converts bfloat16 to float32. It
accepts any strides, channels_last without a copy. torch.compile and torch.export can trace it.
`torch.set_num_threads` and `torch.use_deterministic_algorithms` apply. Autocast has no effect: a
result has the type of the features. Only masked_conv2d follows autocast, as conv2d does.
"""

from .border_align import BorderAlign, border_align
from .masked_conv2d import MaskedConv2d, masked_conv2d
from .points_in_boxes import points_in_boxes, points_in_boxes_all
from .ps_roi_pool import PSRoIPool, ps_roi_pool
from .psa_mask import PSAMask, psa_mask
from .roiaware_pool3d import RoIAwarePool3d, roiaware_pool3d

__all__ = [
    "BorderAlign",
    "MaskedConv2d",
    "PSAMask",
    "PSRoIPool",
    "RoIAwarePool3d",
    "border_align",
    "masked_conv2d",
    "points_in_boxes",
    "points_in_boxes_all",
    "ps_roi_pool",
    "psa_mask",
    "roiaware_pool3d",
]
