# SPDX-License-Identifier: Apache-2.0
"""im2col and col2im of a masked convolution."""

from __future__ import annotations

from typing import Any, Tuple

from .._table import Table
from ._arrays import Array, as_input, as_output, current, space

_IM2COL = Table("masked_im2col_forward")
_IM2COL_SIZE = Table("masked_im2col_forward_workspace")
_IM2COL_BACKWARD = Table("masked_im2col_backward")
_COL2IM = Table("masked_col2im_forward")
_COL2IM_SIZE = Table("masked_col2im_forward_workspace")
_COL2IM_BACKWARD = Table("masked_col2im_backward")


def _places(mask_h_idx: Any, mask_w_idx: Any) -> Tuple[Array, Array]:
    return as_input(mask_h_idx, 1, "mask_h_idx"), as_input(mask_w_idx, 1, "mask_w_idx")


def masked_im2col_forward(
    feature: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    *,
    data_col: Array | None = None,
    workspace: Array | None = None,
) -> Array:
    """Copies the windows at the masked pixels into columns; zeros outside the map.

    feature: [1, C, H, W]; mask_h_idx, mask_w_idx: [M] int32; data_col: [C*kernel_h*kernel_w, M].

    >>> feature = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    >>> at = np.array([0, 1], np.int32)
    >>> masked_im2col_forward(feature, at, at, 1, 3, 0, 1)
    array([[0., 3.],
           [0., 4.],
           [1., 5.]], dtype=float32)
    """
    feature, at = as_input(feature, 4, "feature"), _places(mask_h_idx, mask_w_idx)
    shape = (feature.shape[1] * kernel_h * kernel_w, at[0].shape[0])
    data_col = as_output(data_col, shape, feature, "data_col")
    window = (kernel_h, kernel_w, pad_h, pad_w)
    current(feature).call(_IM2COL, window, (feature, *at, data_col), space(workspace, feature))
    return data_col


def masked_im2col_backward(
    grad_col: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    height: int,
    width: int,
    *,
    grad_feature: Array | None = None,
    workspace: Array | None = None,
) -> Array:
    """The gradient of `masked_im2col_forward`: adds the columns to the pixels that it read.

    grad_col: [C*kernel_h*kernel_w, M]; grad_feature: [1, C, height, width].

    >>> at = np.array([0, 1], np.int32)
    >>> masked_im2col_backward(np.ones((3, 2), np.float32), at, at, 1, 3, 0, 1, 2, 3)[0, 0]
    array([[1., 1., 0.],
           [1., 1., 1.]], dtype=float32)
    """
    grad_col, at = as_input(grad_col, 2, "grad_col"), _places(mask_h_idx, mask_w_idx)
    shape = (1, grad_col.shape[0] // max(kernel_h * kernel_w, 1), height, width)
    grad_feature = as_output(grad_feature, shape, grad_col, "grad_feature")
    window = (kernel_h, kernel_w, pad_h, pad_w)
    tensors = (grad_col, *at, grad_feature)
    current(grad_col).call(_IM2COL_BACKWARD, window, tensors, space(workspace, grad_col))
    return grad_feature


def masked_col2im_forward(
    col: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    height: int,
    width: int,
    *,
    im: Array | None = None,
    workspace: Array | None = None,
) -> Array:
    """Writes columns to the masked pixels of a map of zeros. The last mask at a pixel wins.

    col: [C, M]; im: [1, C, height, width].

    >>> at = np.array([0, 1], np.int32)
    >>> masked_col2im_forward(np.array([[5, 6]], np.float32), at, at, 2, 2)[0, 0]
    array([[5., 0.],
           [0., 6.]], dtype=float32)
    """
    col, at = as_input(col, 2, "col"), _places(mask_h_idx, mask_w_idx)
    im = as_output(im, (1, col.shape[0], height, width), col, "im")
    current(col).call(_COL2IM, (), (col, *at, im), space(workspace, col))
    return im


def masked_col2im_backward(
    grad_im: Any, mask_h_idx: Any, mask_w_idx: Any, *, grad_col: Array | None = None
) -> Array:
    """The gradient of `masked_col2im_forward`: 0 for columns that a later column overwrote.

    grad_im: [1, C, H, W]; grad_col: [C, M].

    >>> at = np.array([0, 1, 0], np.int32)
    >>> masked_col2im_backward(np.array([[[[5, 6], [7, 8]]]], np.float32), at, at)
    array([[0., 8., 5.]], dtype=float32)
    """
    grad_im, at = as_input(grad_im, 4, "grad_im"), _places(mask_h_idx, mask_w_idx)
    shape = (grad_im.shape[1], at[0].shape[0])
    grad_col = as_output(grad_col, shape, grad_im, "grad_col")
    current(grad_im).call(_COL2IM_BACKWARD, (), (grad_im, *at, grad_col))
    return grad_col


def masked_im2col_forward_workspace_size(
    feature: Any, mask_h_idx: Any, mask_w_idx: Any, kernel_h: int, kernel_w: int, data_col: Any
) -> int:
    """Returns the workspace size in bytes with which `masked_im2col_forward` needs no scratch."""
    feature, at = as_input(feature, 4, "feature"), _places(mask_h_idx, mask_w_idx)
    data_col = as_input(data_col, 2, "data_col")
    return current(feature).size(_IM2COL_SIZE, (kernel_h, kernel_w), (feature, *at, data_col))


def masked_col2im_forward_workspace_size(
    col: Any, mask_h_idx: Any, mask_w_idx: Any, im: Any
) -> int:
    """Returns the workspace size in bytes with which `masked_col2im_forward` needs no scratch."""
    col, at, im = as_input(col, 2, "col"), _places(mask_h_idx, mask_w_idx), as_input(im, 4, "im")
    return current(col).size(_COL2IM_SIZE, (), (col, *at, im))
