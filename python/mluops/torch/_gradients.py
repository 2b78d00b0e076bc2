# SPDX-License-Identifier: Apache-2.0
"""The gradients of the operators. `keep(ctx, inputs, output)` saves the data that backward needs.
`backward(ctx, *grads)` returns the gradients of the inputs; boxes, points and indices have none."""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import torch
from torch import Tensor

ops = torch.ops.mluops
Rule = Tuple[Callable[[Any, Any, Any], None], Callable[..., Any]]


def _psa_mask_keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.attributes = inputs[1:]


def _psa_mask(ctx: Any, grad: Tensor) -> Any:
    return (ops.psa_mask_backward(grad, *ctx.attributes), None, None, None)


def _psa_mask_backward(ctx: Any, grad: Tensor) -> Any:
    return (ops.psa_mask(grad, *ctx.attributes), None, None, None)


def _border_align_keep(ctx: Any, inputs: Any, output: Any) -> None:
    input, boxes, ctx.pool_size = inputs
    ctx.size = input.shape[2:]
    ctx.save_for_backward(boxes, output[1])


def _border_align(ctx: Any, grad: Tensor, _: Any) -> Any:
    boxes, argmax = ctx.saved_tensors
    return (ops.border_align_backward(grad, boxes, argmax, ctx.pool_size, *ctx.size), None, None)


def _ps_roi_pool_keep(ctx: Any, inputs: Any, output: Any) -> None:
    input, rois, *ctx.attributes = inputs
    ctx.shape = input.shape
    ctx.save_for_backward(rois)


def _ps_roi_pool(ctx: Any, grad: Tensor) -> Any:
    (rois,) = ctx.saved_tensors
    grad = ops.ps_roi_pool_backward(grad, rois, *ctx.attributes, ctx.shape)
    return (grad, None, None, None, None)


def _ps_roi_pool_backward_keep(ctx: Any, inputs: Any, output: Any) -> None:
    _, rois, *attributes = inputs
    ctx.attributes = attributes[:3]
    ctx.save_for_backward(rois)


def _ps_roi_pool_backward(ctx: Any, grad: Tensor) -> Any:
    (rois,) = ctx.saved_tensors
    return (ops.ps_roi_pool(grad, rois, *ctx.attributes), None, None, None, None, None)


def _rfcn_keep(ctx: Any, inputs: Any, output: Any) -> None:
    input, rois, ctx.spatial_scale, _ = inputs
    ctx.shape = input.shape
    ctx.save_for_backward(rois, output[1])


def _rfcn(ctx: Any, grad: Tensor, _: Any) -> Any:
    rois, mapping = ctx.saved_tensors
    grad = ops.rfcn_ps_roi_pool_backward(grad, rois, mapping, ctx.spatial_scale, ctx.shape)
    return (grad, None, None, None)


def _rfcn_backward_keep(ctx: Any, inputs: Any, output: Any) -> None:
    grad, rois, _, ctx.spatial_scale, _ = inputs
    ctx.group_size = grad.shape[2]
    ctx.save_for_backward(rois)


def _rfcn_backward(ctx: Any, grad: Tensor) -> Any:
    (rois,) = ctx.saved_tensors
    output, _ = ops.rfcn_ps_roi_pool(grad, rois, ctx.spatial_scale, ctx.group_size)
    return (output, None, None, None, None)


def _roiaware_keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.points, ctx.pool_method = inputs[2].shape[0], inputs[5]
    ctx.save_for_backward(output[1], output[2])


def _roiaware(ctx: Any, grad: Tensor, *_: Any) -> Any:
    grad = ops.roiaware_pool3d_backward(grad, *ctx.saved_tensors, ctx.pool_method, ctx.points)
    return (None, None, grad, None, None, None)


def _im2col_keep(ctx: Any, inputs: Any, output: Any) -> None:
    input, mask_h_idx, mask_w_idx, ctx.kernel, ctx.padding = inputs
    ctx.size = input.shape[2:]
    ctx.save_for_backward(mask_h_idx, mask_w_idx)


def _im2col(ctx: Any, grad: Tensor) -> Any:
    grad = ops.masked_im2col_backward(grad, *ctx.saved_tensors, ctx.kernel, ctx.padding, *ctx.size)
    return (grad, None, None, None, None)


def _im2col_backward_keep(ctx: Any, inputs: Any, output: Any) -> None:
    _, mask_h_idx, mask_w_idx, ctx.kernel, ctx.padding = inputs[:5]
    ctx.save_for_backward(mask_h_idx, mask_w_idx)


def _im2col_backward(ctx: Any, grad: Tensor) -> Any:
    grad = ops.masked_im2col(grad, *ctx.saved_tensors, ctx.kernel, ctx.padding)
    return (grad, None, None, None, None, None, None)


def _col2im_keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[1], inputs[2])


def _col2im(ctx: Any, grad: Tensor) -> Any:
    grad = ops.masked_col2im_backward(grad, *ctx.saved_tensors)
    return (grad, None, None, None, None)


def _col2im_backward_keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.size = inputs[0].shape[2:]
    ctx.save_for_backward(inputs[1], inputs[2])


def _col2im_backward(ctx: Any, grad: Tensor) -> Any:
    grad = ops.masked_col2im(grad, *ctx.saved_tensors, *ctx.size)
    return (grad, None, None)


def _keep_nothing(ctx: Any, inputs: Any, output: Any) -> None:
    pass


def _only_once(ctx: Any, grad: Tensor) -> Any:
    raise NotImplementedError("mluops: border_align and roiaware_pool3d have no second derivative")


RULES: Dict[str, Rule] = {
    "psa_mask": (_psa_mask_keep, _psa_mask),
    "psa_mask_backward": (_psa_mask_keep, _psa_mask_backward),
    "border_align": (_border_align_keep, _border_align),
    "border_align_backward": (_keep_nothing, _only_once),
    "ps_roi_pool": (_ps_roi_pool_keep, _ps_roi_pool),
    "ps_roi_pool_backward": (_ps_roi_pool_backward_keep, _ps_roi_pool_backward),
    "rfcn_ps_roi_pool": (_rfcn_keep, _rfcn),
    "rfcn_ps_roi_pool_backward": (_rfcn_backward_keep, _rfcn_backward),
    "roiaware_pool3d": (_roiaware_keep, _roiaware),
    "roiaware_pool3d_backward": (_keep_nothing, _only_once),
    "masked_im2col": (_im2col_keep, _im2col),
    "masked_im2col_backward": (_im2col_backward_keep, _im2col_backward),
    "masked_col2im": (_col2im_keep, _col2im),
    "masked_col2im_backward": (_col2im_backward_keep, _col2im_backward),
}
