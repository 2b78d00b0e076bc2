# SPDX-License-Identifier: Apache-2.0
"""Position-sensitive pooling of R-FCN."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np

from .._table import Table
from ._arrays import Array, as_input, as_output, current, space

_FORWARD = Table("psroipool_forward")
_FORWARD_SIZE = Table("psroipool_forward_workspace")
_BACKWARD = Table("psroipool_backward")


def psroipool_forward(
    input: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    *,
    output: Array | None = None,
    mapping_channel: Array | None = None,
    workspace: Array | None = None,
) -> Tuple[Array, Array]:
    """Position-sensitive average pooling of R-FCN: each bin of a RoI reads its own channels.

    input: [N, H, W, output_dim*pooled_height*pooled_width]; rois: [R, 5] = batch, x1, y1, x2, y2.
    Returns output and mapping_channel (int32), both [R, pooled_height, pooled_width, output_dim].

    >>> input = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    >>> output, mapping = psroipool_forward(input, np.array([[0, 0, 0, 1, 1]], np.float32),
    ...                                     2, 2, 1.0, 2, 1)
    >>> output[0, ..., 0], mapping[0, ..., 0]
    (array([[ 0.,  5.],
           [10., 15.]], dtype=float32), array([[0, 1],
           [2, 3]], dtype=int32))
    """
    input, rois = as_input(input, 4, "input"), as_input(rois, 2, "rois")
    shape = (rois.shape[0], pooled_height, pooled_width, output_dim)
    output = as_output(output, shape, input, "output")
    mapping_channel = as_output(mapping_channel, shape, input, "mapping_channel", np.int32)
    if input.size == 0:  # the C function then leaves its outputs unchanged
        output.fill(0)
        mapping_channel.fill(0)
    current(input).call(
        _FORWARD,
        (pooled_height, pooled_width, spatial_scale, group_size, output_dim),
        (input, rois, output, mapping_channel),
        space(workspace, input),
    )
    return output, mapping_channel


def psroipool_backward(
    top_grad: Any,
    rois: Any,
    mapping_channel: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    output_dim: int,
    input_shape: Tuple[int, int, int, int],
    *,
    bottom_grad: Array | None = None,
) -> Array:
    """The gradient of `psroipool_forward` with respect to its input, of shape [N, H, W, C].

    >>> rois = np.array([[0, 0, 0, 1, 1]], np.float32)
    >>> mapping = np.arange(4, dtype=np.int32).reshape(1, 2, 2, 1)
    >>> grad = psroipool_backward(np.ones((1, 2, 2, 1), np.float32), rois, mapping,
    ...                           2, 2, 1.0, 1, (1, 2, 2, 4))
    >>> grad[0, 1, 0]
    array([0., 0., 1., 0.], dtype=float32)
    """
    top_grad, rois = as_input(top_grad, 4, "top_grad"), as_input(rois, 2, "rois")
    mapping_channel = as_input(mapping_channel, 4, "mapping_channel")
    bottom_grad = as_output(bottom_grad, tuple(input_shape), top_grad, "bottom_grad")
    current(top_grad).call(
        _BACKWARD,
        (pooled_height, pooled_width, spatial_scale, output_dim),
        (top_grad, rois, mapping_channel, bottom_grad),
    )
    return bottom_grad


def psroipool_forward_workspace_size(
    input: Any, rois: Any, pooled_height: int, pooled_width: int, output_dim: int
) -> int:
    """Returns the workspace size in bytes with which `psroipool_forward` needs no scratch."""
    input, rois = as_input(input, 4, "input"), as_input(rois, 2, "rois")
    return current(input).size(
        _FORWARD_SIZE, (pooled_height, pooled_width, output_dim), (input, rois)
    )
