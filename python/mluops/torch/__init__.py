# SPDX-License-Identifier: Apache-2.0
"""The operators for PyTorch: functions, modules, and `torch.ops.mluops.*` under both.

Every operator has a gradient for its features, works on float32 and float16, and on bfloat16 and
float64 by conversion to float32; takes any strides, and channels_last without a copy; can be traced
by torch.compile and torch.export. `torch.set_num_threads` and
`torch.use_deterministic_algorithms` hold. Under autocast nothing is cast: a result has the type of
the features it was given.
"""

from .functional import border_align, masked_conv2d, ps_roi_pool, psa_mask, roiaware_pool3d
from .modules import BorderAlign, MaskedConv2d, PSAMask, PSRoIPool, RoIAwarePool3d

__all__ = [
    "BorderAlign",
    "MaskedConv2d",
    "PSAMask",
    "PSRoIPool",
    "RoIAwarePool3d",
    "border_align",
    "masked_conv2d",
    "ps_roi_pool",
    "psa_mask",
    "roiaware_pool3d",
]
