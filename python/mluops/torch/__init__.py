# SPDX-License-Identifier: Apache-2.0
"""The operators for PyTorch: functions, modules, and `torch.ops.mluops.*` under both.

Every operator has a gradient for its features. It accepts float32 and float16, and converts
bfloat16 and float64 to float32. It accepts any strides, channels_last without a copy. torch.compile
and torch.export can trace it. `torch.set_num_threads` and `torch.use_deterministic_algorithms`
apply. Autocast casts nothing: a result has the type of the features.
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
