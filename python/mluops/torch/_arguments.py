# SPDX-License-Identifier: Apache-2.0
"""Checks and conversions of arguments that the operators cannot make: types of Python objects,
lists of sizes."""

from __future__ import annotations

import operator
from typing import Any, Iterable, Tuple

from torch import Tensor


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
    """Converts an integer of any type, or raises a TypeError."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} must be an integer, got {value!r}") from None


def number(function: str, name: str, value: Any) -> float:
    """Converts a number of any type, or raises a TypeError."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{function}: {name} must be a number, got {value!r}") from None


def sizes(function: str, name: str, value: Any, count: int) -> Tuple[int, ...]:
    """Converts a number or a sequence of `count` numbers to a tuple."""
    if type(value) is int:
        return (value,) * count
    values = tuple(value) if isinstance(value, Iterable) else (value,) * count
    if len(values) != count:
        raise ValueError(f"{function}: {name} must be a number or {count} numbers, got {value!r}")
    try:
        return tuple(operator.index(each) for each in values)
    except TypeError:
        raise TypeError(f"{function}: {name} must consist of integers, got {value!r}") from None


def pair(function: str, name: str, value: Any) -> Tuple[int, int]:
    if type(value) is int:
        return value, value
    first, second = sizes(function, name, value, 2)
    return first, second
