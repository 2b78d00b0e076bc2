# SPDX-License-Identifier: Apache-2.0
"""Converts tensors between the types and layouts of PyTorch and of the C library.

A result has the type of the features. The C library computes in the widest type of the floating
tensors of a call that it supports. So half features do not round boxes of higher precision. A
result has the memory format of the features: channels_last, which needs no copy, or else
contiguous.
"""

from __future__ import annotations

from typing import Any, Callable, List, NoReturn, Sequence, Tuple

import torch
from torch import Tensor

from .. import _context
from .._library import BadParamError
from .._table import Table
from ._context import context_of, cpu_context, strided

FLOATING = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def compute_type(table: Table, features: Tensor, *others: Tensor) -> torch.dtype:
    """Returns the type in which to compute. `others` are the other inputs of type T."""
    dtype = features.dtype
    if dtype not in FLOATING:
        raise BadParamError(
            f"{table.place(table.features)} must be a floating-point tensor, got {dtype}"
        )
    half = table.takes_half and dtype is torch.float16
    for other in others:
        given = other.dtype
        if given is torch.float64:
            dtype = torch.float64
        elif given not in FLOATING and given.is_complex:
            _fail_complex(table, others)
        half = half and given is torch.float16
    if _context.HAS_DOUBLE and dtype is torch.float64:
        return torch.float64
    return torch.float16 if half else torch.float32


def _fail_complex(table: Table, others: Sequence[Tensor]) -> NoReturn:
    rows = [row for row in table.inputs if not row.is_index and row.name != table.features]
    row, other = next((row, x) for row, x in zip(rows, others) if x.is_complex())
    raise BadParamError(f"{table.place(row.name)} must be real, got {other.dtype}")


def packed(x: Tensor, dtype: torch.dtype) -> Tensor:
    if x.dtype is not dtype:
        x = x.to(dtype)
    return x if x.is_contiguous() else x.contiguous()


def as_type(x: Tensor, dtype: torch.dtype) -> Tensor:
    return x if x.dtype is dtype else x.to(dtype)


def follows_channels_last(x: Tensor) -> bool:
    return not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last)


def in_format_of(features: Tensor, result: Tensor) -> Tensor:
    """Converts a result [N, C, H, W] to the memory format of the features. It permutes, because
    torch implements no memory formats under vmap."""
    if features.is_contiguous() or not features.permute(0, 2, 3, 1).is_contiguous():
        return result.contiguous()
    return result.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


def run_in_layout(
    nchw: Table,
    nhwc: Table,
    attributes: Tuple[Any, ...],
    features: Tensor,
    others: Tuple[Tensor, ...],
    sizes: Tuple[Tuple[str, int], ...] = (),
) -> List[Tensor]:
    """Calls the C operator of the layout of the features, [N, C, H, W]: NHWC if they are
    channels_last, else NCHW. The first result has their type. Results have their memory format, or
    the layout of the table if that is NHWC for indices of NCHW features."""
    real = others
    if nchw.has_indices:
        real = tuple(x for row, x in zip(nchw.inputs[1:], others) if not row.is_index)
    dtype, table = compute_type(nchw, features, *real), nchw
    if not features.is_contiguous() and features.dim() == 4 and follows_channels_last(features):
        table = nhwc
        inputs = [as_type(features, dtype).permute(0, 2, 3, 1)]
    else:
        inputs = [packed(features, dtype)]
    i = 1  # loops without zip and comprehensions: their objects cost 0.1 µs each
    for x in others:
        row = table.inputs[i]
        i += 1
        if row.is_index:  # in the layout of the table
            permuted = row.is_permuted and x.dim() == 4
            inputs += indices(nchw, x.permute(0, 2, 3, 1) if permuted else x)
        else:
            inputs.append(packed(x, dtype))
    results = context_of(features).run(table, attributes, inputs, sizes, True)
    if features.dtype is not dtype:
        results[0] = results[0].to(features.dtype)
    return results


def indices(table: Table, *tensors: Tensor) -> List[Tensor]:
    """Converts the tensors of indices, in the order of the table, to int32 for the C library.
    Clamping keeps outside indices outside."""
    for tensor in tensors:
        if tensor.dtype is not torch.int32 or not tensor.is_contiguous():
            break
    else:
        return list(tensors)
    _require_indices(table, tensors)
    return [
        packed(tensor.clamp(-(1 << 31), (1 << 31) - 1), torch.int32)
        if tensor.dtype is torch.int64
        else tensor.contiguous()
        for tensor in tensors
    ]


def _require_indices(table: Table, tensors: Sequence[Tensor]) -> None:
    rows = [row for row in table.inputs if row.is_index]
    for row, tensor in zip(rows, tensors):
        if tensor.dtype not in (torch.int32, torch.int64):
            raise BadParamError(
                f"{table.place(row.name)} must be int32 or int64, got {tensor.dtype}"
            )


def meta_outputs(
    table: Table,
    attributes: Tuple[Any, ...],
    inputs: Sequence[Tensor],
    sizes: Tuple[Tuple[str, Any], ...] = (),
    like: Tensor | None = None,
) -> List[Tensor]:
    """Returns meta tensors for the outputs of a C operator, with the type and memory format of
    `like`, the first input by default. Runs the checks of the call."""
    like = inputs[0] if like is None else like
    rows = list(zip(table.inputs, inputs))
    others = [x for row, x in rows if not row.is_index and row.name != table.features]
    compute_type(table, like, *others)
    _require_indices(table, [x for row, x in rows if row.is_index])
    given = [
        _permute(x.shape, (0, 2, 3, 1)) if row.is_permuted else tuple(x.shape)
        for row, x in zip(table.inputs, inputs)
    ]
    shapes = table.shapes(attributes, given, dict(sizes))
    _check(table, attributes, given, shapes, sizes)
    return [
        _like(like, shape, row.is_permuted, torch.int32 if row.is_index else like.dtype)
        for row, shape in zip(table.outputs, shapes)
    ]


def _permute(shape: Sequence[Any], order: Tuple[int, ...]) -> Tuple[Any, ...]:
    return tuple(shape[i] for i in order) if len(shape) == len(order) else tuple(shape)


def _like(like: Tensor, shape: Tuple[Any, ...], permuted: bool, dtype: torch.dtype) -> Tensor:
    if not permuted:
        return like.new_empty(shape, dtype=dtype)
    if follows_channels_last(like):
        return empty_channels_last(like, shape, dtype)
    return like.new_empty(_permute(shape, (0, 3, 1, 2)), dtype=dtype)


def empty_channels_last(like: Tensor, shape: Tuple[Any, ...], dtype: torch.dtype) -> Tensor:
    """Returns an uninitialised channels_last tensor; shape: [N, H, W, C]. In one call: torch fails
    on functions of new meta tensors with symbolic sizes."""
    return like.new_empty_strided(*strided(shape, True), dtype=dtype)


def _check(
    table: Table,
    attributes: Tuple[Any, ...],
    given: Sequence[Tuple[Any, ...]],
    shapes: Sequence[Tuple[Any, ...]],
    sizes: Tuple[Tuple[str, Any], ...],
) -> None:
    """Runs the library's checks. Symbolic shapes are checked twice: with the sizes that torch
    traces, and symbolically, so that compiled code checks the sizes of later calls."""
    if any(type(size) is not int for shape in (*given, *shapes) for size in shape):
        _check_traced(table, attributes, given, sizes)
        _check_symbolic(table, attributes, given)
        return
    context = cpu_context()
    types = [torch.int32 if row.is_index else torch.float32 for row in table.tensors]
    plan = context.plan(table, attributes, tuple(zip(types, (*given, *shapes))))
    context.check(plan)


def _check_traced(
    table: Table,
    attributes: Tuple[Any, ...],
    given: Sequence[Tuple[Any, ...]],
    sizes: Tuple[Tuple[str, Any], ...],
) -> None:
    """Runs the library's checks with the sizes of the traced call, if all of them are known."""
    attributes = tuple(_traced(value, (), table) for value in attributes)
    sizes = tuple((name, _traced(size, (name,), table)) for name, size in sizes)
    dims = [
        row.dims if len(shape) == len(row.dims) else ((),) * len(shape)
        for row, shape in zip(table.inputs, given)
    ]
    given = [
        tuple(_traced(size, dim, table) for size, dim in zip(*pair)) for pair in zip(given, dims)
    ]
    numbers = (*attributes, *(size for shape in given for size in shape), *dict(sizes).values())
    if None not in numbers:  # else the operator checks when it runs
        _check(table, attributes, given, table.shapes(attributes, given, dict(sizes)), sizes)


def require_equal(size: Any, wanted: Any, message: Callable[[Any, Any], str]) -> None:
    """Raises unless two sizes are equal. They may be symbolic; compiled code checks them again."""
    if type(size) is int and size == wanted:
        return
    known = _traced_number(size), _traced_number(wanted)
    if None not in known and known[0] != known[1]:
        raise BadParamError(message(*known))
    torch._check(size == wanted, lambda: message(size, wanted))


def _traced_number(size: Any) -> Any:
    """Returns the value of a SymInt in the traced call, None if it depends on data."""
    node = getattr(size, "node", None)
    if node is None:
        return size
    return type(node.hint)(node.hint) if node.has_hint() else None


def _traced(size: Any, dim: Tuple[Any, ...], table: Table) -> Any:
    """Returns the size in the traced call. If that depends on data, any size serves for a free
    symbol of the table, and None is returned otherwise."""
    number = _traced_number(size)
    is_free = len(dim) == 1 and isinstance(dim[0], str) and dim[0] not in table.attributes
    return 1 if number is None and is_free else number


def _check_symbolic(
    table: Table, attributes: Tuple[Any, ...], given: Sequence[Tuple[Any, ...]]
) -> None:
    """Checks ranks and sizes. torch.compile turns a size it does not know into a runtime check."""
    values = dict(zip(table.attributes, attributes))
    for row, shape in zip(table.inputs, given):
        place = table.place(row.name)
        if len(shape) != len(row.dims):
            raise BadParamError(
                f"{place} must be a tensor of {len(row.dims)} dims, got {len(shape)}"
            )
        for i, (dim, size) in enumerate(zip(row.dims, shape)):
            if len(dim) > 1 or isinstance(dim[0], int):
                continue
            known = values.setdefault(dim[0], size)
            if known is not size:
                at = (0, 2, 3, 1)[i] if row.is_permuted else i
                message = f"{place}.shape[{at}] must be {table.translate(dim[0])}"
                torch._check(known == size, lambda message=message: message)
