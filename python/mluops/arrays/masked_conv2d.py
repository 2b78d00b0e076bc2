# SPDX-License-Identifier: Apache-2.0
"""Convolution at the positions of a mask."""

from __future__ import annotations

from typing import Any

from .._table import Table
from ._arrays import Array, as_input, as_output, current

_FORWARD = Table("masked_conv2d_forward")


def masked_conv2d_forward(
    features: Any,
    mask: Any,
    weight: Any,
    bias: Any,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    *,
    output: Array | None = None,
) -> Array:
    """Convolves the features where the mask is above 0; zeros elsewhere.

    features: [N, C, H, W]; mask: [N, P, Q]; weight: [O, C, kernel_h, kernel_w]; bias: [O]; output:
    [N, O, P, Q]. All have one type. P and Q are free: features outside the map count as zeros.

    >>> features, mask = np.ones((1, 1, 3, 3), np.float32), np.eye(3, dtype=np.float32)[None]
    >>> weight, bias = np.ones((1, 1, 3, 3), np.float32), np.zeros(1, np.float32)
    >>> masked_conv2d_forward(features, mask, weight, bias, 1, 1, 1, 1, 1, 1)[0, 0]
    array([[4., 0., 0.],
           [0., 9., 0.],
           [0., 0., 4.]], dtype=float32)
    """
    features, mask = as_input(features, 4, "features"), as_input(mask, 3, "mask")
    weight, bias = as_input(weight, 4, "weight"), as_input(bias, 1, "bias")
    shape = (features.shape[0], weight.shape[0], *mask.shape[1:])
    output = as_output(output, shape, features, "output")
    window = (*weight.shape[2:], stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w)
    current(features).call(_FORWARD, window, (features, mask, weight, bias, output))
    return output
