# SPDX-License-Identifier: Apache-2.0
"""Registers operators in PyTorch: kernels, meta functions, and derivatives of every kind."""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ._dispatch import (
    PASSES_KEYS,
    BelowAutograd,
    below_autograd,
    in_torch_func,
    is_forward_mode,
    plain_kernels,
    require_one_device,
)
from ._vmap import register_vmap

library = torch.library.Library("mluops", "DEF")

Saved = Tuple[Tensor, ...]  # the tensors that the derivatives need

_is_grad_enabled = torch.is_grad_enabled
_IS_TORCH_2 = hasattr(torch, "func")


def _register_autograd(
    name: str, kernel: Callable[..., Any], run: Callable[[Callable[..., Any], Tuple[Any, ...]], Any]
) -> None:
    """Registers an autograd kernel, `run(function, arguments)`. `function` is the device's kernel
    where that suffices (a second dispatch costs 2 µs), else the operator."""
    operator = getattr(torch.ops.mluops, name).default
    if not PASSES_KEYS:
        library.impl(name, lambda *arguments: run(operator, arguments), "Autograd")
        return
    kernels = plain_kernels(name, kernel, "Autograd")

    def autograd(keys: Any, *arguments: Any) -> Any:
        return run(kernels.get(keys.raw_repr(), operator), arguments)

    library.impl(name, autograd, "Autograd", with_keyset=True)


def run_recorded(function: Callable[..., Any], inputs: Tuple[Any, ...]) -> Any:
    """Calls an operator or its kernel in the forward pass of an autograd.Function."""
    if in_torch_func():  # the transforms around this one differentiate too
        with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
            return below_autograd(function, inputs)
    return below_autograd(function, inputs)


def _make_function(
    name: str,
    operator: Callable[..., Any],
    features: int,
    save: Callable[..., Saved],
    backward: Callable[[Any, Saved, Tensor], Optional[Tensor]],
    tangent: Callable[[Any, Saved, Tensor], Tensor],
) -> Any:
    count = len(operator._schema.arguments)  # type: ignore[attr-defined]
    # No gradients: the function, the arguments around the features.
    before = (None,) * (1 + features)
    after = (None,) * (count - 1 - features)

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, function: Callable[..., Any], *inputs: Any) -> Any:
            # forward does not record the calls of a kernel
            is_kernel = function is not operator
            output = function(*inputs) if is_kernel else run_recorded(function, inputs)
            saved = save(ctx, inputs, output)
            if saved:
                ctx.save_for_backward(*saved)
                ctx.save_for_forward(*saved)
            # Index outputs, 100 MB in PartA2, have no gradient. jvp sees which tangents are given.
            ctx.set_materialize_grads(False)
            if isinstance(output, tuple):
                ctx.mark_non_differentiable(*output[1:])
                ctx.output_count = len(output)
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if grads[0] is None:
                return (*before, None, *after)
            # Once, and with autograd: torch.utils.checkpoint computes them again here.
            return (*before, backward(ctx, ctx.saved_tensors, grads[0]), *after)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            count = getattr(ctx, "output_count", 1)
            if count > 1 and not _IS_TORCH_2:  # torch 1 fails on outputs of indices
                raise NotImplementedError(f"{name}: forward-mode differentiation needs torch 2")
            given = tangents[1 + features]
            if given is None or sum(each is not None for each in tangents) > 1:
                raise NotImplementedError(f"{name}: only the features have a derivative")
            result = tangent(ctx, ctx.saved_tensors, given)
            return result if count == 1 else (result, *[None] * (count - 1))

    return Function


def _apply_in_torch_func(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> Any:
    """Calls `function` inside torch.func's transforms, which reach an operator one at a time."""
    from torch._functorch.autograd_function import enable_single_level_autograd_function

    with enable_single_level_autograd_function():
        return function(*arguments)


def _define(
    schema: str, kernel: Callable[..., Any], meta: Callable[..., Any]
) -> Callable[..., Any]:
    """Defines an operator without its autograd kernel."""
    name = schema.partition("(")[0]
    library.define(schema)
    operator = getattr(torch.ops.mluops, name).default
    library.impl(name, kernel, "CPU")
    library.impl(name, require_one_device(name, kernel), "CUDA")
    library.impl(name, require_one_device(name, meta), "Meta")
    register_vmap(library, name, operator)
    return operator


def register_without_derivatives(
    schema: str, kernel: Callable[..., Any], meta: Callable[..., Any]
) -> Callable[..., Any]:
    """Defines torch.ops.mluops.<name>, an operator whose results are indices, and returns it."""
    operator = _define(schema, kernel, meta)
    _register_autograd(schema.partition("(")[0], kernel, below_autograd)
    return operator


def register(
    schema: str,
    kernel: Callable[..., Any],
    meta: Callable[..., Any],
    save: Callable[..., Saved],
    backward: Callable[[Any, Saved, Tensor], Optional[Tensor]],
    tangent: Callable[[Any, Saved, Tensor], Tensor],
    features: int = 0,
) -> Callable[..., Any]:
    """Defines torch.ops.mluops.<name> and returns it.

    `kernel` and `meta` take the operator's arguments. `save(ctx, inputs, output)` returns the
    tensors that the derivatives need. `backward(ctx, saved, grad)` returns the gradient of the
    features, the argument of that index, and `tangent(ctx, saved, tangent)` the tangent of the
    first output. The other arguments have no gradient.
    """
    name = schema.partition("(")[0]
    operator = _define(schema, kernel, meta)
    recorded = _make_function(name, operator, features, save, backward, tangent)
    # Bypasses the Python part of Function.apply, which handles torch.func differently.
    apply = super(torch.autograd.Function, recorded).apply

    def run(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> Any:
        is_recorded = _is_grad_enabled() and arguments[features].requires_grad
        if is_recorded or is_forward_mode(arguments):
            if in_torch_func():
                return _apply_in_torch_func(apply, (operator, *arguments))
            return apply(function, *arguments)
        guard = BelowAutograd()
        try:
            return function(*arguments)
        finally:
            del guard

    _register_autograd(name, kernel, run)
    return operator


def _autocast_type(device: str) -> torch.dtype:
    if hasattr(torch, "get_autocast_dtype"):  # torch 2.4
        return torch.get_autocast_dtype(device)
    return torch.get_autocast_cpu_dtype() if device == "cpu" else torch.get_autocast_gpu_dtype()


def _cast_function(operator: Callable[..., Any], device: str, casts: Tuple[int, ...]) -> Any:
    """Under autocast: casts the arguments of these indices, as torch does for conv2d, and turns
    autocast off inside of the operator."""

    def cast(*arguments: Any) -> Any:
        dtype, given = _autocast_type(device), list(arguments)
        for i in casts:
            x = given[i]
            if x is not None and x.is_floating_point() and x.dtype is not torch.float64:
                given[i] = x.to(dtype)
        with torch.autocast(device, enabled=False):
            return operator(*given)

    return cast


def register_function(
    schema: str,
    kernel: Callable[..., Any],
    meta: Callable[..., Any],
    recorded: Any,
    casts: Tuple[int, ...] = (),
    mask: int = 1,
) -> Callable[..., Any]:
    """Defines torch.ops.mluops.<name> and returns it. `recorded` is an autograd.Function of a
    function, which computes the operator, and its arguments; `run_recorded` calls that function.
    The argument `mask` has no gradient. Autocast casts the arguments `casts`."""
    name = schema.partition("(")[0]
    operator = _define(schema, kernel, meta)
    apply = super(torch.autograd.Function, recorded).apply

    def run(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> Any:
        is_recorded = is_forward_mode(arguments)
        if not is_recorded and _is_grad_enabled():
            for i, each in enumerate(arguments):
                if i != mask and isinstance(each, Tensor) and each.requires_grad:
                    is_recorded = True
                    break
        if not is_recorded:
            return below_autograd(function, arguments)
        if in_torch_func():
            return _apply_in_torch_func(apply, (operator, *arguments))
        return apply(function, *arguments)

    _register_autograd(name, kernel, run)
    library.impl(name, _cast_function(operator, "cpu", casts), "AutocastCPU")
    library.impl(name, _cast_function(operator, "cuda", casts), "AutocastCUDA")
    return operator
