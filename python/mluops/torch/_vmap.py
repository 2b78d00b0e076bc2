# SPDX-License-Identifier: Apache-2.0
"""vmap of an operator: one call for each element of the batch."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import torch
from torch import Tensor


def _empty_batch(operator: Callable[..., Any], in_dims: Tuple[Any, ...], arguments: Any) -> Any:
    """Returns no results of the shapes that zeros as arguments give."""
    given = list(arguments)
    for i, dim in enumerate(in_dims):
        if isinstance(given[i], Tensor) and dim is not None:
            shape = list(given[i].shape)
            del shape[dim]
            given[i] = given[i].new_zeros(shape)
    result = operator(*given)
    if isinstance(result, tuple):
        return tuple(each.new_empty((0, *each.shape)) for each in result), (0,) * len(result)
    return result.new_empty((0, *result.shape)), 0


def register_vmap(library: torch.library.Library, name: str, operator: Callable[..., Any]) -> None:
    def run(info: Any, in_dims: Tuple[Any, ...], *arguments: Any) -> Any:
        """Calls the operator for each element of the batch."""

        def at(i: int) -> Any:
            return operator(
                *(
                    a.select(dim, i) if isinstance(a, Tensor) and dim is not None else a
                    for a, dim in zip(arguments, in_dims)
                )
            )

        if info.batch_size == 0:
            return _empty_batch(operator, in_dims, arguments)
        results = [at(i) for i in range(info.batch_size)]
        if isinstance(results[0], tuple):
            return tuple(torch.stack(each) for each in zip(*results)), (0,) * len(results[0])
        return torch.stack(results), 0

    if hasattr(torch.library, "register_vmap"):  # torch 2.5
        torch.library.register_vmap(f"mluops::{name}", run, lib=library)
