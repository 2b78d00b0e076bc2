# SPDX-License-Identifier: Apache-2.0
"""rfcn_ps_roi_pool: position-sensitive average pooling as in R-FCN and MLU-OPS. The function
`ps_roi_pool` calls it with semantics "rfcn"."""

from __future__ import annotations

import math
from typing import Any, List, Sequence, Tuple

from torch import Tensor

from .._library import BadParamError
from .._table import Table
from ._dispatch import skipping_dispatch
from ._operator import Saved, register
from ._tensors import meta_outputs, require_equal, run_in_layout

INPUT_SHAPE = {"N": "input_shape[0]", "H": "input_shape[2]", "W": "input_shape[3]"}
_NAMES = {"pooled_height": "group_size", "pooled_width": "group_size", "output_dim": "C"}
_BACKWARD_NAMES = {
    "top_grad": "grad",
    "mapping_channel": "mapping",
    "output_dim": "grad.shape[1]",
    "pooled_height": "grad.shape[2]",
    "pooled_width": "grad.shape[3]",
    **INPUT_SHAPE,
}
_FORWARD = Table("psroipool_forward", "rfcn_ps_roi_pool", _NAMES)
_BACKWARD = Table("psroipool_backward", "rfcn_ps_roi_pool_backward", _BACKWARD_NAMES)
_NCHW_FORWARD = Table("psroipool_nchw_forward", "rfcn_ps_roi_pool", _NAMES)
_NCHW_BACKWARD = Table("psroipool_nchw_backward", "rfcn_ps_roi_pool_backward", _BACKWARD_NAMES)


def input_sizes(table: Table, shape: Sequence[Any], grad: Tensor) -> Tuple[Tuple[str, Any], ...]:
    """Returns N, H and W of an input shape [N, C*height*width, H, W]."""
    if len(shape) != 4:
        raise BadParamError(f"{table.called}: input_shape must be a list of 4, got {list(shape)}")
    if grad.dim() == 4:
        require_equal(
            shape[1],
            math.prod(grad.shape[1:]),
            lambda got, channels: (
                f"{table.called}: input_shape[1] must be the product of grad.shape[1:] = "
                f"{channels}, got {got}"
            ),
        )
    return (("N", shape[0]), ("H", shape[2]), ("W", shape[3]))


def _attributes(
    channels: Any, spatial_scale: float, group_size: int
) -> Tuple[int, int, float, int, Any]:
    output_dim = channels // (group_size * group_size or 1) or 1  # max would take 0.1 µs
    return (group_size, group_size, spatial_scale, group_size, output_dim)


def _kernel(
    input: Tensor, rois: Tensor, spatial_scale: float, group_size: int
) -> Tuple[Tensor, Tensor]:
    channels = input.shape[1] if input.dim() == 4 else 0
    attributes = _attributes(channels, spatial_scale, group_size)
    output, mapping = run_in_layout(_NCHW_FORWARD, _FORWARD, attributes, input, (rois,))
    return output, mapping


def _meta(
    input: Tensor, rois: Tensor, spatial_scale: float, group_size: int
) -> Tuple[Tensor, Tensor]:
    channels = input.shape[1] if input.dim() == 4 else 0
    attributes = _attributes(channels, spatial_scale, group_size)
    output, mapping = meta_outputs(_FORWARD, attributes, (input, rois))
    return output, mapping


def _backward_attributes(grad: Tensor, spatial_scale: float) -> Tuple[Any, ...]:
    channels, height, width = grad.shape[1:] if grad.dim() == 4 else (1, 1, 1)
    return (height, width, spatial_scale, channels)


def _backward_kernel(
    grad: Tensor, rois: Tensor, mapping: Tensor, spatial_scale: float, input_shape: List[int]
) -> Tensor:
    sizes = input_sizes(_BACKWARD, input_shape, grad)
    attributes = _backward_attributes(grad, spatial_scale)
    tables = _NCHW_BACKWARD, _BACKWARD
    return run_in_layout(*tables, attributes, grad, (rois, mapping), sizes)[0]


def _backward_meta(
    grad: Tensor, rois: Tensor, mapping: Tensor, spatial_scale: float, input_shape: List[int]
) -> Tensor:
    sizes = input_sizes(_BACKWARD, input_shape, grad)
    attributes = _backward_attributes(grad, spatial_scale)
    return meta_outputs(_BACKWARD, attributes, (grad, rois, mapping), sizes)[0]


def _save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    input, rois, ctx.spatial_scale, ctx.group_size = inputs
    ctx.shape = input.shape
    return rois, output[1]


def _backward_save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    grad, rois, mapping, ctx.spatial_scale, ctx.shape = inputs
    ctx.group_size = grad.shape[2]
    return rois, mapping


def _pool(ctx: Any, saved: Saved, features: Tensor) -> Tensor:
    return rfcn_ps_roi_pool(features, saved[0], ctx.spatial_scale, ctx.group_size)[0]


def _spread(ctx: Any, saved: Saved, grad: Tensor) -> Tensor:
    return _backward_call(grad, *saved, ctx.spatial_scale, ctx.shape)


rfcn_ps_roi_pool = register(
    "rfcn_ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int group_size) "
    "-> (Tensor, Tensor)",
    _kernel,
    _meta,
    _save,
    backward=_spread,
    tangent=_pool,
)
_backward = register(
    "rfcn_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor mapping, float spatial_scale, "
    "SymInt[] input_shape) -> Tensor",
    _backward_kernel,
    _backward_meta,
    _backward_save,
    backward=_pool,
    tangent=_spread,
)
_backward_call = skipping_dispatch(_backward, _backward_kernel)
