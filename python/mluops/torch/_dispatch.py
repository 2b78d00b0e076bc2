# SPDX-License-Identifier: Apache-2.0
"""PyTorch's dispatch keys: which code takes part in a call of an operator."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Callable, Dict, Tuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .._library import BadParamError

BelowAutograd = torch._C._AutoDispatchBelowAutograd
in_torch_func: Callable[[], bool] = getattr(
    torch._C, "_are_functorch_transforms_active", lambda: False
)
PASSES_KEYS = "with_keyset" in inspect.signature(torch.library.Library.impl).parameters  # torch 2.5
_is_grad_enabled = torch.is_grad_enabled
_tracing_state = torch._C._get_tracing_state
_modules = sys.modules
_is_forward_enabled = getattr(torch._C, "_is_fwd_grad_enabled", lambda: True)
_count_modes: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 0)
_unpack_dual = torch._C._VariableFunctions._unpack_dual
_is_profiling = torch._C._autograd._profiler_enabled


def require_one_device(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds a check to the CUDA and Meta functions, which can be called with several devices."""

    def run(*arguments: Any) -> Any:
        device = None
        for argument in arguments:
            if not isinstance(argument, Tensor):
                continue
            if device is None:
                device = argument.device
            elif argument.device != device:
                devices = sorted({str(a.device) for a in arguments if isinstance(a, Tensor)})
                raise BadParamError(f"{name}: tensors must be on one device, got {devices}")
        return function(*arguments)

    return run


def _keys(*names: str) -> int:
    result = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, names[0]))
    for name in names[1:]:
        result = result | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, name))
    return result.raw_repr()


def plain_kernels(
    name: str, kernel: Callable[..., Any], *prefixes: str, others: Tuple[str, ...] = ()
) -> Dict[int, Callable[..., Any]]:
    """Returns the kernels by the dispatch keys of ordinary tensors: the device, the prefixes with
    the device, and others. No mode, tensor subclass or lazy negation applies to such a call, so the
    device's kernel may run directly."""
    functions = {"CPU": kernel, "CUDA": require_one_device(name, kernel)}
    return {
        _keys(device, *(prefix + device for prefix in prefixes), *others): function
        for device, function in functions.items()
    }


def below_autograd(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> Any:
    guard = BelowAutograd()  # active until it is deleted
    try:
        return function(*arguments)
    finally:
        del guard


def _in_jvp() -> bool:
    """Whether one of the active transforms of torch.func is jvp."""
    functions = torch._C._functorch
    if not hasattr(functions, "get_interpreter_stack"):  # torch 2.0 compiles no transforms
        return False
    jvp = functions.TransformType.Jvp
    return any(each.key() == jvp for each in functions.get_interpreter_stack() or ())


def is_forward_mode(arguments: Tuple[Any, ...]) -> bool:
    """Whether tangents may be given. Graphs of torch.compile enter forward mode in C++, without
    `forward_ad`; this then asks the interpreters of torch.func and each tensor. The tensors are the
    first arguments."""
    if forward_ad._current_level >= 0:
        return True
    if "torch._dynamo" not in _modules:  # nothing is compiled
        return False
    if in_torch_func():
        return _in_jvp()
    if not _is_forward_enabled() or _tracing_state() is not None:
        return False
    guard = torch._C._DisableTorchDispatch() if _count_modes() else None  # no part of a graph
    try:
        return _has_tangent(arguments)
    except RuntimeError:  # a batch of gradients; the operator sees its elements
        return True
    finally:
        del guard


def _has_tangent(arguments: Tuple[Any, ...]) -> bool:
    for each in arguments:
        if isinstance(each, Tensor):
            if _unpack_dual(each, level=0)[1] is not None:
                return True
        elif each is not None:  # an absent bias
            return False
    return False


def _is_differentiating(grad: Tensor) -> bool:
    return _is_grad_enabled() or in_torch_func() or is_forward_mode((grad,))


def skipping_dispatch(
    operator: Callable[..., Any], kernel: Callable[..., Any]
) -> Callable[..., Any]:
    """Returns a function that calls the operator. In a backward pass on ordinary tensors it calls
    the kernel, which saves a dispatch (4 µs); a profiler still sees the operator. The tensors are
    the first arguments."""
    name = operator._schema.name.partition("::")[2]  # type: ignore[attr-defined]
    if not PASSES_KEYS:

        def call_below(*arguments: Any) -> Any:
            if _is_differentiating(arguments[0]):
                return operator(*arguments)
            return below_autograd(operator, arguments)

        return call_below
    types = [str(each.type) for each in operator._schema.arguments]  # type: ignore[attr-defined]
    others = tuple(range(1, types.count("Tensor")))  # after the gradient
    kernels = plain_kernels(name, kernel, "Autograd", "Autocast", others=("ADInplaceOrView",))
    keys_of = torch._C._dispatch_keys

    def call(*arguments: Any) -> Any:
        if (
            _is_profiling()
            or _count_modes()
            or _tracing_state() is not None
            or _is_differentiating(arguments[0])
        ):
            return operator(*arguments)
        keys = keys_of(arguments[0]).raw_repr()
        function = kernels.get(keys, operator)
        for i in others:
            if keys_of(arguments[i]).raw_repr() != keys:
                function = operator
        return function(*arguments)

    return call
