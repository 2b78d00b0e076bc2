# SPDX-License-Identifier: Apache-2.0
"""The arguments of masked_conv2d: defaults and checks."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor

from .._library import BadParamError
from ._masked_rows import Geometry
from ._tensors import FLOATING

_DEFAULTS = ([0, 0], [1, 1], [1, 1], 1)  # padding, stride, dilation, groups
_MAX_INT32, _MAX_ELEMENTS = (1 << 31) - 1, 1 << 59  # torch counts bytes in 63 bits
_MAX_CHECKED = 512  # the cache is emptied when it reaches this size
_checked: Dict[tuple, Tuple[Geometry, List[int]]] = {}


def complete(arguments: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Appends the defaults of the last arguments, which torch leaves out of a call."""
    return arguments + _DEFAULTS[len(arguments) - 4 :]


def _mask_shape(mask: Tensor) -> List[int]:
    """Returns the shape without a channel dim of size 1."""
    if mask.dim() == 4 and mask.size(1) == 1:
        return [mask.size(0), mask.size(2), mask.size(3)]
    return list(mask.shape)


def _check_shapes(
    features: Tensor, mask: Tensor, weight: Tensor, bias: Optional[Tensor], groups: int
) -> None:
    if features.dim() != 4 or weight.dim() != 4:
        raise ValueError(
            f"masked_conv2d: features and weight must have 4 dims, got {features.dim()} and "
            f"{weight.dim()}"
        )
    if len(_mask_shape(mask)) != 3 or mask.size(0) != features.size(0):
        raise ValueError(
            f"masked_conv2d: mask must have shape [N, h, w] or [N, 1, h, w] with N = "
            f"{features.size(0)}, got {_mask_shape(mask)}"
        )
    if groups < 1:
        raise ValueError(f"masked_conv2d: groups must be >= 1, got {groups}")
    if features.size(1) != weight.size(1) * groups or weight.size(0) % groups != 0:
        raise ValueError(
            f"masked_conv2d: weight must be [O, C/groups, kernel_h, kernel_w] with C = "
            f"{features.size(1)} and groups = {groups}, got {list(weight.shape)}"
        )
    if weight.size(0) == 0 or weight.size(2) == 0 or weight.size(3) == 0:
        raise ValueError(f"masked_conv2d: weight must not be empty, got {list(weight.shape)}")
    if bias is not None and (bias.dim() != 1 or bias.size(0) != weight.size(0)):
        raise ValueError(
            f"masked_conv2d: bias must have shape [{weight.size(0)}], got {list(bias.shape)}"
        )
    if features.dtype not in FLOATING:  # float8 is not
        raise BadParamError(
            f"masked_conv2d: features must be a floating-point tensor, got {features.dtype}"
        )
    if mask.is_complex() or (mask.is_floating_point() and mask.dtype not in FLOATING):
        raise BadParamError(
            "masked_conv2d: mask must be bool, integer, float16, bfloat16, float32 or float64, "
            f"got {mask.dtype}"
        )
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype != features.dtype:
            raise BadParamError(  # a RuntimeError, as in conv2d, and a ValueError
                f"masked_conv2d: {name} must have the type of the features, {features.dtype}, "
                f"got {other.dtype}"
            )


def _output_size(features: Tensor, weight: Tensor, geometry: Geometry) -> List[int]:
    padding, stride, dilation = geometry
    if min(stride[0], stride[1], dilation[0], dilation[1]) < 1:
        raise ValueError(
            f"masked_conv2d: stride and dilation must be >= 1, got {stride} and {dilation}"
        )
    if min(padding[0], padding[1]) < 0:
        raise ValueError(f"masked_conv2d: padding must be >= 0, got {padding}")
    for name, value in zip(geometry._fields, geometry):
        if max(value[0], value[1]) > _MAX_INT32:
            raise ValueError(f"masked_conv2d: {name} must fit in int32, got {value}")
    size: List[int] = []
    for i in range(2):
        extent = dilation[i] * (weight.size(2 + i) - 1) + 1
        size.append((features.size(2 + i) + 2 * padding[i] - extent) // stride[i] + 1)
    if size[0] < 1 or size[1] < 1:
        raise ValueError(
            f"masked_conv2d: the kernel must fit into the padded features, got features "
            f"{list(features.shape)}, weight {list(weight.shape)}, padding {padding}"
        )
    count = features.size(0) * weight.size(0) * size[0] * size[1]
    if type(count) is int and count > _MAX_ELEMENTS:
        raise ValueError(
            f"masked_conv2d: padding must give a result of at most 2^59 elements, got {padding}"
        )
    return size


def make_geometry(padding: List[int], stride: List[int], dilation: List[int]) -> Geometry:
    for name, value in (("padding", padding), ("stride", stride), ("dilation", dilation)):
        if len(value) != 2:
            raise BadParamError(f"masked_conv2d: {name} must be a list of 2, got {list(value)}")
    return Geometry(list(padding), list(stride), list(dilation))


def check(
    features: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Optional[Tensor],
    geometry: Geometry,
    groups: int,
) -> List[int]:
    """Checks the arguments and returns the size of the result, [h, w]."""
    _check_shapes(features, mask, weight, bias, groups)
    size = _output_size(features, weight, geometry)
    given = _mask_shape(mask)[1:]
    if given != size and given != list(features.shape[2:]):
        raise ValueError(
            f"masked_conv2d: mask must have the size of the result, {size[0]} x {size[1]}, or of "
            f"the features, got {given[0]} x {given[1]}"
        )
    return size


def check_backward(arguments: Tuple[Any, ...]) -> Tuple[Geometry, List[int]]:
    """Checks the arguments and returns how windows lie, and the size of the result."""
    grad, features, mask, weight, padding, stride, dilation, groups, wanted = arguments
    geometry = make_geometry(padding, stride, dilation)
    size = check(features, mask, weight, None, geometry, groups)
    shape = [features.size(0), weight.size(0), *size]
    if list(grad.shape) != shape:
        raise ValueError(
            f"masked_conv2d_backward: grad must have shape {shape}, got {list(grad.shape)}"
        )
    if len(wanted) != 3:
        raise BadParamError(
            f"masked_conv2d_backward: wanted must be a list of 3, got {list(wanted)}"
        )
    return geometry, size


def check_once(*arguments: Any) -> Tuple[Geometry, List[int]]:
    """Returns geometry and size of the result. Checks arguments of the same types and shapes once;
    shapes must be numbers."""
    features, mask, weight, bias, padding, stride, dilation, groups = arguments
    key = (
        features.shape,
        mask.shape,
        weight.shape,
        None if bias is None else (bias.shape, bias.dtype),
        (features.dtype, mask.dtype, weight.dtype),
        tuple(padding),
        tuple(stride),
        tuple(dilation),
        groups,
    )
    found = _checked.get(key)
    if found is None:
        geometry = make_geometry(padding, stride, dilation)
        found = geometry, check(features, mask, weight, bias, geometry, groups)
        if len(_checked) >= _MAX_CHECKED:
            _checked.clear()
        _checked[key] = found
    return found


def fitted(mask: Tensor, size: List[int]) -> Tensor:
    """Returns a mask of the size of the result, [N, h, w]: its upper left part, or with zeros."""
    if mask.dim() == 4:
        mask = mask[:, 0]
    height, width = mask.shape[1:]
    if [height, width] == size:
        return mask
    mask = mask[:, : size[0], : size[1]]
    if height >= size[0] and width >= size[1]:
        return mask
    return torch.nn.functional.pad(mask, (0, max(size[1] - width, 0), 0, max(size[0] - height, 0)))
