# SPDX-License-Identifier: Apache-2.0
"""Position-sensitive pooling with the bins of torchvision."""

from __future__ import annotations

from typing import Any, Tuple

from .._table import Table
from ._arrays import Array, as_input, as_output, current

_FORWARD = Table("torchvision_ps_roi_pool_forward")
_BACKWARD = Table("torchvision_ps_roi_pool_backward")


def torchvision_ps_roi_pool_forward(
    input: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    *,
    output: Array | None = None,
) -> Array:
    """Position-sensitive average pooling, bitwise equal to torchvision's CPU version.

    input: [N, C, H, W]; rois: [R, 5] = batch, x1, y1, x2, y2; output: [R, C/(pooled_height*
    pooled_width), pooled_height, pooled_width].

    >>> input = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    >>> torchvision_ps_roi_pool_forward(input, np.array([[0, 0, 0, 2, 2]], np.float32), 1, 1, 1.0)
    array([[[[2.]]]], dtype=float32)
    """
    input, rois = as_input(input, 4, "input"), as_input(rois, 2, "rois")
    channels = input.shape[1] // max(pooled_height * pooled_width, 1)
    shape = (rois.shape[0], channels, pooled_height, pooled_width)
    output = as_output(output, shape, input, "output")
    pooled = (pooled_height, pooled_width, spatial_scale)
    current(input).call(_FORWARD, pooled, (input, rois, output))
    return output


def torchvision_ps_roi_pool_backward(
    grad_output: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    input_shape: Tuple[int, int, int, int],
    *,
    grad_input: Array | None = None,
) -> Array:
    """The gradient of `torchvision_ps_roi_pool_forward`, of shape [N, C, H, W].

    >>> rois = np.array([[0, 0, 0, 2, 2]], np.float32)
    >>> torchvision_ps_roi_pool_backward(np.ones((1, 1, 1, 1), np.float32), rois, 1, 1, 1.0,
    ...                                  (1, 1, 3, 3))[0, 0]
    array([[0.25, 0.25, 0.  ],
           [0.25, 0.25, 0.  ],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """
    grad_output, rois = as_input(grad_output, 4, "grad_output"), as_input(rois, 2, "rois")
    grad_input = as_output(grad_input, tuple(input_shape), grad_output, "grad_input")
    pooled = (pooled_height, pooled_width, spatial_scale)
    current(grad_output).call(_BACKWARD, pooled, (grad_output, rois, grad_input))
    return grad_input
