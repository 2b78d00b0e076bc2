# SPDX-License-Identifier: Apache-2.0
"""Types of the functions: NumPy arrays give NumPy arrays, other arrays an Array."""

from typing import Any, Optional, Tuple, Union, overload

import numpy.typing as npt

from ._device import DeviceArray

Array = Union[npt.NDArray[Any], DeviceArray]
_NumPy = npt.NDArray[Any]

@overload
def border_align_backward(
    grad_output: _NumPy,
    boxes: Any,
    argmax_idx: Any,
    pool_size: int,
    height: int,
    width: int,
    *,
    grad_input: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def border_align_backward(grad_output: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def border_align_forward(
    input: _NumPy,
    boxes: Any,
    pool_size: int,
    *,
    output: Optional[_NumPy] = ...,
    argmax_idx: Optional[_NumPy] = ...,
) -> Tuple[_NumPy, _NumPy]: ...
@overload
def border_align_forward(input: Any, *arguments: Any, **outputs: Any) -> Tuple[Array, Array]: ...
def get_num_threads() -> int: ...
@overload
def masked_col2im_backward(
    grad_im: _NumPy,
    mask_h_idx: Any,
    mask_w_idx: Any,
    *,
    grad_col: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def masked_col2im_backward(grad_im: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def masked_col2im_forward(
    col: _NumPy,
    mask_h_idx: Any,
    mask_w_idx: Any,
    height: int,
    width: int,
    *,
    im: Optional[_NumPy] = ...,
    workspace: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def masked_col2im_forward(col: Any, *arguments: Any, **outputs: Any) -> Array: ...
def masked_col2im_forward_workspace_size(
    col: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    im: Any,
) -> int: ...
@overload
def masked_im2col_backward(
    grad_col: _NumPy,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    height: int,
    width: int,
    *,
    grad_feature: Optional[_NumPy] = ...,
    workspace: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def masked_im2col_backward(grad_col: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def masked_im2col_forward(
    feature: _NumPy,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    *,
    data_col: Optional[_NumPy] = ...,
    workspace: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def masked_im2col_forward(feature: Any, *arguments: Any, **outputs: Any) -> Array: ...
def masked_im2col_forward_workspace_size(
    feature: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel_h: int,
    kernel_w: int,
    data_col: Any,
) -> int: ...
@overload
def points_in_boxes(
    points: _NumPy,
    boxes: Any,
    *,
    points_indices: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def points_in_boxes(points: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def points_in_boxes_all(
    points: _NumPy,
    boxes: Any,
    *,
    inside: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def points_in_boxes_all(points: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def psamask_backward(
    dy: _NumPy,
    psa_type: int,
    h_mask: int,
    w_mask: int,
    *,
    dx: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def psamask_backward(dy: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def psamask_forward(
    x: _NumPy,
    psa_type: int,
    h_mask: int,
    w_mask: int,
    *,
    y: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def psamask_forward(x: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def psamask_nchw_backward(
    dy: _NumPy,
    psa_type: int,
    h_mask: int,
    w_mask: int,
    *,
    dx: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def psamask_nchw_backward(dy: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def psamask_nchw_forward(
    x: _NumPy,
    psa_type: int,
    h_mask: int,
    w_mask: int,
    *,
    y: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def psamask_nchw_forward(x: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def psroipool_backward(
    top_grad: _NumPy,
    rois: Any,
    mapping_channel: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    output_dim: int,
    input_shape: Tuple[int, int, int, int],
    *,
    bottom_grad: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def psroipool_backward(top_grad: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def psroipool_forward(
    input: _NumPy,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    *,
    output: Optional[_NumPy] = ...,
    mapping_channel: Optional[_NumPy] = ...,
    workspace: Optional[_NumPy] = ...,
) -> Tuple[_NumPy, _NumPy]: ...
@overload
def psroipool_forward(input: Any, *arguments: Any, **outputs: Any) -> Tuple[Array, Array]: ...
def psroipool_forward_workspace_size(
    input: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    output_dim: int,
) -> int: ...
@overload
def roiaware_pool3d_backward(
    pts_idx_of_voxels: _NumPy,
    argmax: Any,
    grad_out: Any,
    pool_method: int,
    pts_num: int,
    *,
    grad_in: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def roiaware_pool3d_backward(pts_idx_of_voxels: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def roiaware_pool3d_forward(
    rois: _NumPy,
    pts: Any,
    pts_feature: Any,
    pool_method: int,
    max_pts_each_voxel: int,
    out_x: int,
    out_y: int,
    out_z: int,
    *,
    argmax: Optional[_NumPy] = ...,
    pts_idx_of_voxels: Optional[_NumPy] = ...,
    pooled_features: Optional[_NumPy] = ...,
    workspace: Optional[_NumPy] = ...,
) -> Tuple[_NumPy, _NumPy, _NumPy]: ...
@overload
def roiaware_pool3d_forward(
    rois: Any, *arguments: Any, **outputs: Any
) -> Tuple[Array, Array, Array]: ...
def roiaware_pool3d_forward_workspace_size(
    rois: Any,
    pts: Any,
    pts_feature: Any,
) -> int: ...
def set_num_threads(
    count: int,
) -> None: ...
@overload
def torchvision_ps_roi_pool_backward(
    grad_output: _NumPy,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    input_shape: Tuple[int, int, int, int],
    *,
    grad_input: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def torchvision_ps_roi_pool_backward(
    grad_output: Any, *arguments: Any, **outputs: Any
) -> Array: ...
@overload
def torchvision_ps_roi_pool_forward(
    input: _NumPy,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    *,
    output: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def torchvision_ps_roi_pool_forward(input: Any, *arguments: Any, **outputs: Any) -> Array: ...
@overload
def transpose(
    input: _NumPy,
    *,
    output: Optional[_NumPy] = ...,
) -> _NumPy: ...
@overload
def transpose(input: Any, *arguments: Any, **outputs: Any) -> Array: ...

__all__ = [
    "DeviceArray",
    "border_align_backward",
    "border_align_forward",
    "get_num_threads",
    "masked_col2im_backward",
    "masked_col2im_forward",
    "masked_col2im_forward_workspace_size",
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
