# SPDX-License-Identifier: Apache-2.0
"""Checks that must precede the computation of shapes: ranks, lengths of lists, attributes. The C
library makes all other checks. The functions take the operator's arguments, also meta tensors."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Sequence

from torch import Tensor

from .._library import BadParamError


class Check:
    """The rules of one operator. Its name starts every error message."""

    def __init__(self, op: str):
        self._op = op

    def _fail(self, name: str, rule: str, value: Any) -> None:
        raise BadParamError(f"{self._op}: {name} must be {rule}, got {value}")

    def rank(self, name: str, tensor: Tensor, rank: int) -> None:
        if tensor.dim() != rank:
            self._fail(name, f"a tensor of {rank} dims", tensor.dim())

    def length(self, name: str, values: Sequence[Any], count: int) -> None:
        if len(values) != count:
            self._fail(name, f"a list of {count}", list(values))

    def at_least(self, name: str, value: int, least: int) -> None:
        if value < least:
            self._fail(name, f"at least {least}", value)

    def one_of(self, name: str, value: int, first: int, second: int) -> None:
        if value not in (first, second):
            self._fail(name, f"{first} or {second}", value)

    def scale(self, value: float) -> None:
        if not (value > 0 and math.isfinite(value)):
            self._fail("spatial_scale", "greater than 0 and finite", value)

    def pooled(self, height: int, width: int) -> None:
        self.at_least("pooled_height", height, 1)
        self.at_least("pooled_width", width, 1)

    def places(self, mask_h_idx: Tensor, mask_w_idx: Tensor) -> None:
        self.rank("mask_h_idx", mask_h_idx, 1)
        self.rank("mask_w_idx", mask_w_idx, 1)

    def window(self, kernel: Sequence[int], padding: Sequence[int]) -> None:
        self.length("kernel", kernel, 2)
        self.length("padding", padding, 2)
        for size in kernel:
            self.at_least("kernel", size, 1)


def _psa_mask(c: Check, x: Tensor, psa_type: int, h_mask: int, w_mask: int) -> None:
    c.rank("input", x, 4)
    c.one_of("psa_type", psa_type, 0, 1)
    c.at_least("h_mask", h_mask, 1)
    c.at_least("w_mask", w_mask, 1)


def _border_align(c: Check, input: Tensor, boxes: Tensor, pool_size: int) -> None:
    c.rank("input", input, 4)
    c.rank("boxes", boxes, 3)
    c.at_least("pool_size", pool_size, 1)


def _border_align_backward(
    c: Check, grad: Tensor, boxes: Tensor, argmax: Tensor, pool_size: int, *_: Any
) -> None:
    _border_align(c, grad, boxes, pool_size)
    c.rank("argmax", argmax, 4)


def _ps_roi_pool(
    c: Check, x: Tensor, rois: Tensor, scale: float, height: int, width: int, shape: Any = None
) -> None:
    c.rank("input", x, 4)
    c.rank("rois", rois, 2)
    c.scale(scale)
    c.pooled(height, width)
    if shape is not None:
        c.length("input_shape", shape, 4)


def _rfcn(c: Check, input: Tensor, rois: Tensor, scale: float, group_size: int) -> None:
    c.rank("input", input, 4)
    c.rank("rois", rois, 2)
    c.scale(scale)
    c.at_least("group_size", group_size, 1)


def _rfcn_backward(
    c: Check, grad: Tensor, rois: Tensor, mapping: Tensor, scale: float, shape: Any
) -> None:
    c.rank("grad", grad, 4)
    c.rank("rois", rois, 2)
    c.rank("mapping", mapping, 4)
    c.scale(scale)
    c.length("input_shape", shape, 4)


def _roiaware(
    c: Check,
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: Sequence[int],
    max_pts: int,
    pool_method: int,
) -> None:
    c.rank("rois", rois, 2)
    c.rank("pts", pts, 2)
    c.rank("pts_feature", pts_feature, 2)
    c.length("out_size", out_size, 3)
    for size in out_size:
        c.at_least("out_size", size, 1)
    c.at_least("max_pts_each_voxel", max_pts, 1)
    c.one_of("pool_method", pool_method, 0, 1)


def _roiaware_backward(
    c: Check, grad: Tensor, argmax: Tensor, indices: Tensor, pool_method: int, *_: Any
) -> None:
    for name, tensor in (("grad", grad), ("argmax", argmax), ("indices", indices)):
        c.rank(name, tensor, 5)
    c.one_of("pool_method", pool_method, 0, 1)


def _im2col(c: Check, x: Tensor, mask_h: Tensor, mask_w: Tensor, kernel: Any, padding: Any) -> None:
    c.rank("input", x, 4)
    c.places(mask_h, mask_w)
    c.window(kernel, padding)


def _im2col_backward(
    c: Check, grad: Tensor, mask_h: Tensor, mask_w: Tensor, kernel: Any, padding: Any, *_: Any
) -> None:
    c.rank("grad", grad, 2)
    c.places(mask_h, mask_w)
    c.window(kernel, padding)


def _col2im(c: Check, col: Tensor, mask_h: Tensor, mask_w: Tensor, *_: Any) -> None:
    c.rank("col", col, 2)
    c.places(mask_h, mask_w)


def _col2im_backward(c: Check, grad: Tensor, mask_h: Tensor, mask_w: Tensor) -> None:
    c.rank("grad", grad, 4)
    c.places(mask_h, mask_w)


CHECKS: Dict[str, Callable[..., None]] = {
    "psa_mask": _psa_mask,
    "psa_mask_backward": _psa_mask,
    "border_align": _border_align,
    "border_align_backward": _border_align_backward,
    "ps_roi_pool": _ps_roi_pool,
    "ps_roi_pool_backward": _ps_roi_pool,
    "rfcn_ps_roi_pool": _rfcn,
    "rfcn_ps_roi_pool_backward": _rfcn_backward,
    "roiaware_pool3d": _roiaware,
    "roiaware_pool3d_backward": _roiaware_backward,
    "masked_im2col": _im2col,
    "masked_im2col_backward": _im2col_backward,
    "masked_col2im": _col2im,
    "masked_col2im_backward": _col2im_backward,
}
