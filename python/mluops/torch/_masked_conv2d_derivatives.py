# SPDX-License-Identifier: Apache-2.0
"""Derivatives of masked_conv2d, of every order and kind.

The result F(x, w, b) is linear in the features x, and in the weight w with the bias b. Its
gradients B(g, x, w) are linear in g, x and w. So every derivative is F or B of other arguments.
Only F and B look for the pixels of a mask. So no tensor here has a size that depends on data, which
vmap and torch.compile do not take.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from ._masked_arguments import check, complete, fitted, make_geometry
from ._operator import run_recorded
from ._tensors import in_format_of

Given = Optional[Tensor]
_FEATURES, _WEIGHT = [True, False, False], [False, True, False]


def _forward(features: Tensor, *others: Any) -> Tensor:
    """F in the types of its arguments, which autocast would cast. Meta tensors have no autocast."""
    device = features.device.type
    off = nullcontext() if device == "meta" else torch.autocast(device, enabled=False)
    with off:
        return torch.ops.mluops.masked_conv2d.default(features, *others)


def _backward(*arguments: Any) -> Tuple[Tensor, ...]:
    return torch.ops.mluops.masked_conv2d_backward.default(*arguments)


def _add(a: Given, b: Given) -> Given:
    return b if a is None else a if b is None else a + b


def _derivative(saved: Sequence[Tensor], attributes: Sequence[Any], *given: Given) -> Tensor:
    """The change of the result with `given`, the changes of features, weight and bias."""
    features, mask, weight = saved
    x, w, b = given
    result = None if x is None else _forward(x, mask, weight, b, *attributes)
    if w is not None:
        other = b if x is None else None
        result = _add(result, _forward(features, mask, w, other, *attributes))
    if result is not None:
        return result
    *geometry, groups = attributes
    size = check(features, mask, weight, None, make_geometry(*geometry), groups)
    bias = weight.new_zeros(weight.size(0)) if b is None else b
    is_chosen = (fitted(mask, size) > 0).unsqueeze(1)
    values = torch.where(is_chosen, bias.view(-1, 1, 1), torch.zeros_like(bias[0]))
    return in_format_of(features, values)


class Forward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Any, *arguments: Any) -> Tensor:
        features, mask, weight, _, *ctx.attributes = complete(arguments)
        ctx.absent = (None,) * (len(arguments) - 4)
        ctx.save_for_backward(features, mask, weight)
        ctx.save_for_forward(features, mask, weight)
        ctx.set_materialize_grads(False)
        return run_recorded(function, arguments)

    @staticmethod
    def backward(ctx: Any, grad: Given) -> Any:
        if grad is None:
            return (None,) * (5 + len(ctx.absent))
        wanted = [ctx.needs_input_grad[i] for i in (1, 3, 4)]
        found = _backward(grad, *ctx.saved_tensors, *ctx.attributes, wanted)
        for_features, for_weight, for_bias = (g if w else None for g, w in zip(found, wanted))
        return (None, for_features, None, for_weight, for_bias, *ctx.absent)

    @staticmethod
    def jvp(ctx: Any, *tangents: Given) -> Tensor:
        _, features, _, weight, bias = tangents[:5]
        return _derivative(ctx.saved_tensors, ctx.attributes, features, weight, bias)


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Any, *arguments: Any) -> Tuple[Tensor, ...]:
        ctx.attributes, ctx.wanted = arguments[4:8], list(arguments[8])
        ctx.save_for_backward(*arguments[:4])
        ctx.save_for_forward(*arguments[:4])
        ctx.set_materialize_grads(False)
        results = run_recorded(function, arguments)
        ctx.mark_non_differentiable(*(r for r, want in zip(results, ctx.wanted) if not want))
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Given) -> Any:
        grad, features, mask, weight = ctx.saved_tensors
        x, w, b = (g if want else None for g, want in zip(grads, ctx.wanted))
        results: List[Given] = [None] * 3
        if ctx.needs_input_grad[1] and not (x is None and w is None and b is None):
            results[0] = _derivative((features, mask, weight), ctx.attributes, x, w, b)
        if ctx.needs_input_grad[2] and w is not None:
            results[1] = _backward(grad, features, mask, w, *ctx.attributes, _FEATURES)[0]
        if ctx.needs_input_grad[4] and x is not None:
            results[2] = _backward(grad, x, mask, weight, *ctx.attributes, _WEIGHT)[1]
        for_grad, for_features, for_weight = results
        return (None, for_grad, for_features, None, for_weight, *(None,) * 5)

    @staticmethod
    def jvp(ctx: Any, *tangents: Given) -> Tuple[Given, ...]:
        grad, features, mask, weight = ctx.saved_tensors
        _, g, x, _, w = tangents[:5]
        results: List[Given] = [None] * 3
        if g is not None:
            results = list(_backward(g, features, mask, weight, *ctx.attributes, ctx.wanted))
        if w is not None and ctx.wanted[0]:
            term = _backward(grad, features, mask, w, *ctx.attributes, _FEATURES)[0]
            results[0] = _add(results[0], term)
        if x is not None and ctx.wanted[1]:
            term = _backward(grad, x, mask, weight, *ctx.attributes, _WEIGHT)[1]
            results[1] = _add(results[1], term)
        if ctx.wanted[0] and results[0] is None:
            results[0] = torch.zeros_like(features)
        if ctx.wanted[1] and results[1] is None:
            results[1] = torch.zeros_like(weight)
        if ctx.wanted[2] and results[2] is None:
            results[2] = weight.new_zeros(weight.size(0))
        return tuple(result if want else None for result, want in zip(results, ctx.wanted))
