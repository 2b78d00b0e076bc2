# SPDX-License-Identifier: Apache-2.0
"""The types of masked_im2col.py; `_types` explains the overloads."""

from typing import Any, Optional, overload

from numpy.typing import NDArray

from ._device import DeviceArray
from ._types import Array, F, Input, OnDevice, Output

@overload
def masked_im2col_forward(
    feature: NDArray[F],
    mask_h_idx: Input,
    mask_w_idx: Input,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    *,
    data_col: Optional[NDArray[F]] = ...,
    workspace: Optional[NDArray[Any]] = ...,
) -> NDArray[F]: ...
@overload
def masked_im2col_forward(
    feature: DeviceArray,
    mask_h_idx: Input,
    mask_w_idx: Input,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    *,
    data_col: Optional[OnDevice] = ...,
    workspace: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def masked_im2col_forward(
    feature: Input,
    mask_h_idx: Input,
    mask_w_idx: Input,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    *,
    data_col: Optional[Output] = ...,
    workspace: Optional[Output] = ...,
) -> Array: ...
@overload
def masked_im2col_backward(
    grad_col: NDArray[F],
    mask_h_idx: Input,
    mask_w_idx: Input,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    height: int,
    width: int,
    *,
    grad_feature: Optional[NDArray[F]] = ...,
    workspace: Optional[NDArray[Any]] = ...,
) -> NDArray[F]: ...
@overload
def masked_im2col_backward(
    grad_col: DeviceArray,
    mask_h_idx: Input,
    mask_w_idx: Input,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    height: int,
    width: int,
    *,
    grad_feature: Optional[OnDevice] = ...,
    workspace: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def masked_im2col_backward(
    grad_col: Input,
    mask_h_idx: Input,
    mask_w_idx: Input,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    height: int,
    width: int,
    *,
    grad_feature: Optional[Output] = ...,
    workspace: Optional[Output] = ...,
) -> Array: ...
@overload
def masked_col2im_forward(
    col: NDArray[F],
    mask_h_idx: Input,
    mask_w_idx: Input,
    height: int,
    width: int,
    *,
    im: Optional[NDArray[F]] = ...,
    workspace: Optional[NDArray[Any]] = ...,
) -> NDArray[F]: ...
@overload
def masked_col2im_forward(
    col: DeviceArray,
    mask_h_idx: Input,
    mask_w_idx: Input,
    height: int,
    width: int,
    *,
    im: Optional[OnDevice] = ...,
    workspace: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def masked_col2im_forward(
    col: Input,
    mask_h_idx: Input,
    mask_w_idx: Input,
    height: int,
    width: int,
    *,
    im: Optional[Output] = ...,
    workspace: Optional[Output] = ...,
) -> Array: ...
@overload
def masked_col2im_backward(
    grad_im: NDArray[F],
    mask_h_idx: Input,
    mask_w_idx: Input,
    *,
    grad_col: Optional[NDArray[F]] = ...,
) -> NDArray[F]: ...
@overload
def masked_col2im_backward(
    grad_im: DeviceArray,
    mask_h_idx: Input,
    mask_w_idx: Input,
    *,
    grad_col: Optional[OnDevice] = ...,
) -> DeviceArray: ...
@overload
def masked_col2im_backward(
    grad_im: Input, mask_h_idx: Input, mask_w_idx: Input, *, grad_col: Optional[Output] = ...
) -> Array: ...
def masked_im2col_forward_workspace_size(
    feature: Input,
    mask_h_idx: Input,
    mask_w_idx: Input,
    kernel_h: int,
    kernel_w: int,
    data_col: Input,
) -> int: ...
def masked_col2im_forward_workspace_size(
    col: Input, mask_h_idx: Input, mask_w_idx: Input, im: Input
) -> int: ...
