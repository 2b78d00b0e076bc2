# SPDX-License-Identifier: Apache-2.0
"""The operators on NumPy arrays: a function per entry point of the C library, in its layouts.

Values are float32, float64, or float16 where the operator supports half. Indices are int32. An
array is any object with `__array_interface__`, the buffer protocol or DLPack. Inputs that are not
packed are copied. Arrays on a CUDA device (`__cuda_array_interface__` or DLPack: CuPy, PyTorch,
JAX) are not copied: the call runs on their stream and returns `DeviceArray`s.

Outputs are allocated, or passed by keyword: packed arrays of the right shape and type, which are
filled and returned. A violated rule raises `BadParamError` with the C library's error message.
"""

from ._arrays import get_num_threads, set_num_threads
from ._device import DeviceArray
from .border_align import (
    border_align_backward,
    border_align_forward,
)
from .masked_conv2d import (
    masked_conv2d_forward,
)
from .masked_im2col import (
    masked_col2im_backward,
    masked_col2im_forward,
    masked_col2im_forward_workspace_size,
    masked_im2col_backward,
    masked_im2col_forward,
    masked_im2col_forward_workspace_size,
)
from .points_in_boxes import (
    points_in_boxes,
    points_in_boxes_all,
)
from .psamask import (
    psamask_backward,
    psamask_forward,
    psamask_nchw_backward,
    psamask_nchw_forward,
)
from .psroipool import (
    psroipool_backward,
    psroipool_forward,
    psroipool_forward_workspace_size,
)
from .roiaware_pool3d import (
    roiaware_pool3d_backward,
    roiaware_pool3d_forward,
    roiaware_pool3d_forward_workspace_size,
)
from .torchvision_ps_roi_pool import (
    torchvision_ps_roi_pool_backward,
    torchvision_ps_roi_pool_forward,
)
from .transpose import (
    transpose,
)

__all__ = [
    "DeviceArray",
    "border_align_backward",
    "border_align_forward",
    "get_num_threads",
    "masked_col2im_backward",
    "masked_col2im_forward",
    "masked_col2im_forward_workspace_size",
    "masked_conv2d_forward",
    "masked_im2col_backward",
    "masked_im2col_forward",
    "masked_im2col_forward_workspace_size",
    "points_in_boxes",
    "points_in_boxes_all",
    "psamask_backward",
    "psamask_forward",
    "psamask_nchw_backward",
    "psamask_nchw_forward",
    "psroipool_backward",
    "psroipool_forward",
    "psroipool_forward_workspace_size",
    "roiaware_pool3d_backward",
    "roiaware_pool3d_forward",
    "roiaware_pool3d_forward_workspace_size",
    "set_num_threads",
    "torchvision_ps_roi_pool_backward",
    "torchvision_ps_roi_pool_forward",
    "transpose",
]
