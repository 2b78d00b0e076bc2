# SPDX-License-Identifier: Apache-2.0
"""Registers the operators in PyTorch: `torch.ops.mluops.*`."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .._library import BadParamError
from . import _checks, _gradients, _kernels, _shapes

_SCHEMAS = [
    "psa_mask(Tensor input, int psa_type, int h_mask, int w_mask) -> Tensor",
    "psa_mask_backward(Tensor grad, int psa_type, int h_mask, int w_mask) -> Tensor",
    "border_align(Tensor input, Tensor boxes, int pool_size) -> (Tensor, Tensor)",
    "border_align_backward(Tensor grad, Tensor boxes, Tensor argmax, int pool_size, "
    "SymInt height, SymInt width) -> Tensor",
    "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width) -> Tensor",
    "ps_roi_pool_backward(Tensor grad, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width, SymInt[] input_shape) -> Tensor",
    "rfcn_ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int group_size) "
    "-> (Tensor, Tensor)",
    "rfcn_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor mapping, float spatial_scale, "
    "SymInt[] input_shape) -> Tensor",
    "roiaware_pool3d(Tensor rois, Tensor pts, Tensor pts_feature, int[] out_size, "
    "int max_pts_each_voxel, int pool_method) -> (Tensor, Tensor, Tensor)",
    "roiaware_pool3d_backward(Tensor grad, Tensor argmax, Tensor indices, int pool_method, "
    "SymInt pts_num) -> Tensor",
    "masked_im2col(Tensor input, Tensor mask_h_idx, Tensor mask_w_idx, int[] kernel, "
    "int[] padding) -> Tensor",
    "masked_im2col_backward(Tensor grad, Tensor mask_h_idx, Tensor mask_w_idx, int[] kernel, "
    "int[] padding, SymInt height, SymInt width) -> Tensor",
    "masked_col2im(Tensor col, Tensor mask_h_idx, Tensor mask_w_idx, SymInt height, SymInt width) "
    "-> Tensor",
    "masked_col2im_backward(Tensor grad, Tensor mask_h_idx, Tensor mask_w_idx) -> Tensor",
]

_library = torch.library.Library("mluops", "DEF")


def _checked(name: str, function: Callable[..., Any], mixed: bool) -> Callable[..., Any]:
    """Adds the checks to a function. `mixed`: also checks that all tensors are on one device.
    Only the CUDA and Meta functions can be called with tensors of several devices."""
    check, rules = _checks.CHECKS[name], _checks.Check(name)

    def run(*arguments: Any) -> Any:
        if mixed:
            devices = {str(a.device) for a in arguments if isinstance(a, torch.Tensor)}
            if len(devices) > 1:
                raise BadParamError(f"{name}: tensors must be on one device, got {sorted(devices)}")
        check(rules, *arguments)
        return function(*arguments)

    return run


def _differentiable(
    name: str, remember: Callable[..., None], gradients: Callable[..., Any]
) -> None:
    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        # Avoids zero gradients for index outputs, 100 MB in PartA2.
        ctx.set_materialize_grads(False)
        ctx.input_count = len(inputs)
        remember(ctx, inputs, output)

    def backward(ctx: Any, *grads: Any) -> Any:
        return gradients(ctx, *grads) if grads[0] is not None else (None,) * ctx.input_count

    if hasattr(torch.library, "register_autograd"):  # torch 2.4
        torch.library.register_autograd(
            f"mluops::{name}", backward, setup_context=keep, lib=_library
        )
        return
    operator = getattr(torch.ops.mluops, name)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            below_autograd = torch._C._AutoDispatchBelowAutograd()  # until it is deleted
            try:
                output = operator(*inputs)
            finally:
                del below_autograd
            keep(ctx, inputs, output)
            tensors = output if isinstance(output, tuple) else (output,)
            ctx.mark_non_differentiable(*(t for t in tensors if not t.is_floating_point()))
            return output

    Function.backward = staticmethod(backward)  # type: ignore[assignment]
    _library.impl(name, lambda *inputs: Function.apply(*inputs), "Autograd")


for _schema in _SCHEMAS:
    _name = _schema.partition("(")[0]
    _library.define(_schema)
    _library.impl(_name, _checked(_name, getattr(_kernels, _name), False), "CPU")
    _library.impl(_name, _checked(_name, getattr(_kernels, _name), True), "CUDA")
    _library.impl(_name, _checked(_name, getattr(_shapes, _name), True), "Meta")
    _differentiable(_name, *_gradients.RULES[_name])
