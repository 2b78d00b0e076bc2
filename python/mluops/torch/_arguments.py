# SPDX-License-Identifier: Apache-2.0
"""Checks and conversions of arguments that the operators cannot make: types of Python objects,
lists of sizes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Iterable, Sequence, Tuple, TypeVar, Union

from torch import Tensor

if TYPE_CHECKING:  # torch's are Any; torch.jit.script knows these names
    _T = TypeVar("_T")
    BroadcastingList2 = Union[_T, Sequence[_T]]
    BroadcastingList3 = Union[_T, Sequence[_T]]
else:
    from torch.jit import annotations

    BroadcastingList2 = annotations.BroadcastingList2
    BroadcastingList3 = annotations.BroadcastingList3

_INT64 = 1 << 63


def require_tensors(function: str, **arguments: Any) -> None:
    """Raises a TypeError unless all arguments are tensors."""
    for name, value in arguments.items():
        if not isinstance(value, Tensor):
            kind = f"{type(value).__module__}.{type(value).__qualname__}".replace("builtins.", "")
            raise TypeError(
                f"{function}: {name} must be a torch.Tensor, got {kind}; "
                "torch.as_tensor converts arrays and lists"
            )


def require_tensor_list(function: str, name: str, values: Any) -> None:
    for i, value in enumerate(values):
        require_tensors(function, **{f"{name}[{i}]": value})


def integer(function: str, name: str, value: Any) -> int:
    """Converts an integer of any type, or raises a TypeError; a ValueError above int64."""
    try:
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} must be an integer, got {value!r}") from None
    if not -_INT64 <= result < _INT64:
        raise ValueError(f"{function}: {name} must fit in int64, got {result}")
    return result


def number(function: str, name: str, value: Any) -> float:
    """Converts a number of any type, or raises a TypeError."""
    try:
        if isinstance(value, str):
            raise TypeError
        return float(value)
    except OverflowError:
        raise ValueError(f"{function}: {name} must be finite, got {value!r}") from None
    except (TypeError, ValueError):
        raise TypeError(f"{function}: {name} must be a number, got {value!r}") from None


def sizes(function: str, name: str, value: Any, count: int) -> Tuple[int, ...]:
    """Converts a number or a sequence of `count` numbers to a tuple."""
    if type(value) is int:
        return (integer(function, name, value),) * count
    is_number = not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0
    values = (value,) * count if is_number else tuple(value)
    if len(values) != count:
        raise ValueError(f"{function}: {name} must be a number or {count} numbers, got {value!r}")
    try:
        values = tuple(operator.index(each) for each in values)
    except TypeError:
        raise TypeError(f"{function}: {name} must consist of integers, got {value!r}") from None
    return tuple(integer(function, name, each) for each in values)


def pair(function: str, name: str, value: Any) -> Tuple[int, int]:
    if type(value) is int and value.bit_length() < 64:
        return value, value
    if type(value) in (tuple, list) and len(value) == 2:
        first, second = value
        if type(first) is int and type(second) is int and (first | second).bit_length() < 64:
            return first, second
    first, second = sizes(function, name, value, 2)
    return first, second
