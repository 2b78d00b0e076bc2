# SPDX-License-Identifier: Apache-2.0
"""psamask of PSANet, on NHWC and on NCHW arrays."""

from __future__ import annotations

from typing import Any

from .._table import Table
from ._arrays import Array, as_input, as_output, current

_FORWARD = Table("psamask_forward")
_BACKWARD = Table("psamask_backward")
_NCHW_FORWARD = Table("psamask_nchw_forward")
_NCHW_BACKWARD = Table("psamask_nchw_backward")


def psamask_forward(
    x: Any, psa_type: int, h_mask: int, w_mask: int, *, y: Array | None = None
) -> Array:
    """Point-wise spatial attention: places the mask of each pixel on the map.

    x: [N, H, W, h_mask*w_mask], psa_type 0 (collect) or 1 (distribute); y: [N, H, W, H*W].

    >>> x = np.array([0, 1, 2, 10, 11, 12], np.float32).reshape(1, 1, 2, 3)
    >>> psamask_forward(x, 0, 1, 3)[0, 0]
    array([[ 1.,  2.],
           [10., 11.]], dtype=float32)
    """
    x = as_input(x, 4, "x")
    n, height, width, _ = x.shape
    y = as_output(y, (n, height, width, height * width), x, "y")
    current(x).call(_FORWARD, (psa_type, h_mask, w_mask), (x, y))
    return y


def psamask_backward(
    dy: Any, psa_type: int, h_mask: int, w_mask: int, *, dx: Array | None = None
) -> Array:
    """The gradient of `psamask_forward`: dy [N, H, W, H*W], dx [N, H, W, h_mask*w_mask].

    >>> psamask_backward(np.array([[[[1, 2], [3, 4]]]], np.float32), 0, 1, 3)[0, 0]
    array([[0., 1., 2.],
           [3., 4., 0.]], dtype=float32)
    """
    dy = as_input(dy, 4, "dy")
    dx = as_output(dx, (*dy.shape[:3], h_mask * w_mask), dy, "dx")
    current(dy).call(_BACKWARD, (psa_type, h_mask, w_mask), (dy, dx))
    return dx


def psamask_nchw_forward(
    x: Any, psa_type: int, h_mask: int, w_mask: int, *, y: Array | None = None
) -> Array:
    """`psamask_forward` on NCHW arrays: x [N, h_mask*w_mask, H, W], y [N, H*W, H, W].

    >>> x = np.array([[0, 10], [1, 11], [2, 12]], np.float32).reshape(1, 3, 1, 2)
    >>> psamask_nchw_forward(x, 0, 1, 3)[0, :, 0]
    array([[ 1., 10.],
           [ 2., 11.]], dtype=float32)
    """
    x = as_input(x, 4, "x")
    n, _, height, width = x.shape
    y = as_output(y, (n, height * width, height, width), x, "y")
    current(x).call(_NCHW_FORWARD, (psa_type, h_mask, w_mask), (x, y))
    return y


def psamask_nchw_backward(
    dy: Any, psa_type: int, h_mask: int, w_mask: int, *, dx: Array | None = None
) -> Array:
    """The gradient of `psamask_nchw_forward`: dy [N, H*W, H, W], dx [N, h_mask*w_mask, H, W].

    >>> dy = np.array([[1, 3], [2, 4]], np.float32).reshape(1, 2, 1, 2)
    >>> psamask_nchw_backward(dy, 0, 1, 3)[0, :, 0]
    array([[0., 3.],
           [1., 4.],
           [2., 0.]], dtype=float32)
    """
    dy = as_input(dy, 4, "dy")
    n, _, height, width = dy.shape
    dx = as_output(dx, (n, h_mask * w_mask, height, width), dy, "dx")
    current(dy).call(_NCHW_BACKWARD, (psa_type, h_mask, w_mask), (dy, dx))
    return dx
