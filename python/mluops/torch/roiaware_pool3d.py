# SPDX-License-Identifier: Apache-2.0
"""roiaware_pool3d: pools the points of rotated boxes into grids of voxels (PartA2)."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple, Union

import torch
import torch.fx
from torch import Tensor, nn

from .._library import BadParamError
from .._table import Table
from ._arguments import BroadcastingList3, integer, require_tensors, sizes
from ._context import context_of
from ._dispatch import skipping_dispatch
from ._operator import Saved, register
from ._tensors import as_type, compute_type, meta_outputs, packed
from ._tensors import indices as index_tensors

_MAX, _AVERAGE = 0, 1
_FORWARD = Table(
    "roiaware_pool3d_forward",
    "roiaware_pool3d",
    {
        "pts_idx_of_voxels": "indices",
        "boxes_num": "rois.shape[0]",
        "pts_num": "pts_feature.shape[0]",
        "channels": "pts_feature.shape[1]",
        "max_pts_each_voxel": "max_pts_per_voxel",
        "out_x": "out_size[0]",
        "out_y": "out_size[1]",
        "out_z": "out_size[2]",
    },
    features="pts_feature",
)
_BACKWARD = Table(
    "roiaware_pool3d_backward",
    "roiaware_pool3d_backward",
    {
        "grad_out": "grad",
        "pts_idx_of_voxels": "indices",
        "boxes_num": "grad.shape[0]",
        "out_x": "grad.shape[1]",
        "out_y": "grad.shape[2]",
        "out_z": "grad.shape[3]",
        "channels": "grad.shape[4]",
        "max_pts_each_voxel": "indices.shape[4]",
        "P": "pts_num",
    },
)


def _attributes(
    rois: Tensor, pts_feature: Tensor, out_size: Sequence[int], max_pts: int, pool_method: int
) -> Tuple[Any, ...]:
    if len(out_size) != 3:
        raise BadParamError(f"roiaware_pool3d: out_size must be 3 numbers, got {list(out_size)}")
    points, channels = pts_feature.shape if pts_feature.dim() == 2 else (1, 1)
    boxes = rois.shape[0] if rois.dim() == 2 else 1
    return (pool_method, boxes, points, channels, max_pts, *out_size)


def _kernel(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: List[int],
    max_pts_each_voxel: int,
    pool_method: int,
) -> Tuple[Tensor, Tensor, Tensor]:
    dtype = compute_type(_FORWARD, pts_feature, rois, pts)
    attributes = _attributes(rois, pts_feature, out_size, max_pts_each_voxel, pool_method)
    inputs = (packed(rois, dtype), packed(pts, dtype), packed(pts_feature, dtype))
    argmax, indices, pooled = context_of(inputs[0]).run(_FORWARD, attributes, inputs)
    if pool_method == _MAX and not (pts_feature.numel() and rois.numel()):
        argmax.fill_(-1)
    return as_type(pooled, pts_feature.dtype), argmax, indices


def _meta(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: List[int],
    max_pts_each_voxel: int,
    pool_method: int,
) -> Tuple[Tensor, Tensor, Tensor]:
    attributes = _attributes(rois, pts_feature, out_size, max_pts_each_voxel, pool_method)
    argmax, indices, pooled = meta_outputs(
        _FORWARD, attributes, (rois, pts, pts_feature), like=pts_feature
    )
    return pooled, argmax, indices


def _backward_attributes(grad: Tensor, indices: Tensor, pool_method: int) -> Tuple[Any, ...]:
    if grad.dim() != 5 or indices.dim() != 5:
        return (pool_method, 1, 1, 1, 1, 1, 1)  # the library reports the ranks
    return (pool_method, *grad.shape, indices.shape[4])


def _backward_kernel(
    grad: Tensor, argmax: Tensor, indices: Tensor, pool_method: int, pts_num: int
) -> Tensor:
    g = packed(grad, compute_type(_BACKWARD, grad))
    attributes = _backward_attributes(grad, indices, pool_method)
    inputs = (*index_tensors(_BACKWARD, indices, argmax), g)
    (result,) = context_of(g).run(_BACKWARD, attributes, inputs, (("P", pts_num),))
    return as_type(result, grad.dtype)


def _backward_meta(
    grad: Tensor, argmax: Tensor, indices: Tensor, pool_method: int, pts_num: int
) -> Tensor:
    attributes = _backward_attributes(grad, indices, pool_method)
    inputs = (indices, argmax, grad)
    return meta_outputs(_BACKWARD, attributes, inputs, (("P", pts_num),), like=grad)[0]


def _gather(pts_feature: Tensor, argmax: Tensor, indices: Tensor, pool_method: int) -> Tensor:
    """Pools the points that argmax and indices name: the operator at fixed indices, which is
    linear. Made of torch's operators, so it has derivatives of any order."""
    points, channels = pts_feature.shape
    if not (points and argmax.numel()):
        return pts_feature.new_zeros(argmax.shape)
    if pool_method == _MAX:
        flat = argmax.view(-1, channels).long()
        inside = (flat >= 0) & (flat < points)
        values = pts_feature.gather(0, flat.clamp(0, points - 1))
        return torch.where(inside, values, torch.zeros_like(values)).view(argmax.shape)
    slots = indices.view(-1, indices.shape[4]).long()
    count = slots[:, 0].clamp(0, indices.shape[4] - 1)
    features = pts_feature.to(torch.promote_types(pts_feature.dtype, torch.float32))
    result = features.new_zeros((slots.shape[0], channels))
    for k in range(1, indices.shape[4]):
        used = (count >= k) & (slots[:, k] >= 0) & (slots[:, k] < points)
        values = features[slots[:, k].clamp(0, points - 1)]
        result = result + torch.where(used[:, None], values, torch.zeros_like(values))
    result = result / count.clamp(min=1)[:, None]
    return result.to(pts_feature.dtype).view(argmax.shape)


def _save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    ctx.points, ctx.pool_method = inputs[2].shape[0], inputs[5]
    return output[1], output[2]


def _backward_save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    _, argmax, indices, ctx.pool_method, ctx.points = inputs
    return argmax, indices


def _scatter(ctx: Any, saved: Saved, grad: Tensor) -> Tensor:
    return _backward_call(grad, *saved, ctx.pool_method, ctx.points)


def _tangent(ctx: Any, saved: Saved, tangent: Tensor) -> Tensor:
    return _gather(tangent, *saved, ctx.pool_method)


_forward = register(
    "roiaware_pool3d(Tensor rois, Tensor pts, Tensor pts_feature, int[] out_size, "
    "int max_pts_each_voxel, int pool_method) -> (Tensor, Tensor, Tensor)",
    _kernel,
    _meta,
    _save,
    backward=_scatter,
    tangent=_tangent,
    features=2,
)
_backward = register(
    "roiaware_pool3d_backward(Tensor grad, Tensor argmax, Tensor indices, int pool_method, "
    "SymInt pts_num) -> Tensor",
    _backward_kernel,
    _backward_meta,
    _backward_save,
    backward=_tangent,  # the adjoint of the scatter is the gather
    tangent=_scatter,
)
_backward_call = skipping_dispatch(_backward, _backward_kernel)


def _method_of(mode: Union[int, str]) -> int:
    # torch.jit.script compiles this: it cannot load branches by type, and has no !r.
    is_name, text = isinstance(mode, str), str(mode)
    if text == ("max" if is_name else "0"):
        return 0
    if text == ("avg" if is_name else "1"):
        return 1
    raise ValueError(f'roiaware_pool3d: mode must be "max", "avg", 0 or 1, got {text}')


def _at_least_float(boxes: Tensor) -> Tensor:
    """Half would round the centre minus half the height."""
    if boxes.dtype == torch.float16 or boxes.dtype == torch.bfloat16:
        return boxes.to(torch.float32)
    return boxes


def with_bottom(boxes: Tensor) -> Tensor:
    """Converts boxes [..., 7] whose z is the centre to boxes whose z is the bottom."""
    boxes = _at_least_float(boxes)
    bottom = boxes[..., 2:3] - boxes[..., 5:6] / 2
    return torch.cat([boxes[..., :2], bottom, boxes[..., 3:]], dim=-1)


def _pool(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: List[int],
    max_pts_per_voxel: int,
    pool_method: int,
    box_origin: str,
) -> Tensor:
    if box_origin == "center":
        if rois.dim() != 2 or rois.size(1) != 7:
            raise ValueError(
                f"roiaware_pool3d: rois must have shape [B, 7], got {list(rois.shape)}"
            )
        rois = with_bottom(rois)
    elif box_origin != "bottom":
        raise ValueError(
            f'roiaware_pool3d: box_origin must be "bottom" or "center", got "{box_origin}"'
        )
    if torch.jit.is_scripting():
        return torch.ops.mluops.roiaware_pool3d(
            rois, pts, pts_feature, out_size, max_pts_per_voxel, pool_method
        )[0]
    else:  # torch.jit.script compiles what follows a return
        return _forward(rois, pts, pts_feature, out_size, max_pts_per_voxel, pool_method)[0]


@torch.fx.wrap
def roiaware_pool3d(
    rois: Tensor,
    pts: Tensor,
    pts_feature: Tensor,
    out_size: BroadcastingList3[int],
    max_pts_per_voxel: int = 128,
    mode: Union[int, str] = "max",
    box_origin: str = "bottom",
) -> Tensor:
    """Pools the points inside each rotated box into a grid of voxels (PartA2).

    rois: [B, 7] = x, y, z, dx, dy, dz, yaw; pts: [P, 3]; pts_feature: [P, C]; out_size:
    (x, y, z) or one number; mode "max" or "avg" (0 or 1). Returns [B, out_x, out_y, out_z, C].
    box_origin "bottom": z is the bottom face, as in mmcv; "center": z is the centre, as in
    OpenPCDet. At most max_pts_per_voxel-1 points of a voxel are pooled.

    >>> pts = torch.tensor([[0.5, 0.5, 0.5], [-0.5, 0.5, 0.5]])
    >>> rois = torch.tensor([[0.0, 0, 0, 2, 2, 1, 0]])
    >>> roiaware_pool3d(rois, pts, torch.tensor([[7.0], [8.0]]), (2, 1, 1)).flatten()
    tensor([8., 7.])
    """
    if torch.jit.is_scripting():
        grid = [out_size[0], out_size[1], out_size[2]]
    else:
        if not (
            isinstance(rois, Tensor) and isinstance(pts, Tensor) and isinstance(pts_feature, Tensor)
        ):
            require_tensors("roiaware_pool3d", rois=rois, pts=pts, pts_feature=pts_feature)
        grid = list(sizes("roiaware_pool3d", "out_size", out_size, 3))
        if type(max_pts_per_voxel) is not int or max_pts_per_voxel.bit_length() > 63:
            max_pts_per_voxel = integer("roiaware_pool3d", "max_pts_per_voxel", max_pts_per_voxel)
    method = _method_of(mode)
    return _pool(rois, pts, pts_feature, grid, max_pts_per_voxel, method, box_origin)


class RoIAwarePool3d(nn.Module):
    """Drop-in for `mmcv.ops.RoIAwarePool3d`; see `roiaware_pool3d`.

    forward: rois [B, 7], pts [P, 3], pts_feature [P, C]; returns [B, out_x, out_y, out_z, C].

    >>> import torch
    >>> pool = RoIAwarePool3d((1, 1, 1), mode="avg", box_origin="center")
    >>> pts = torch.tensor([[0.0, 0, 0], [0, 0, 0.25]])
    >>> pool(torch.tensor([[0.0, 0, 0, 1, 1, 1, 0]]), pts, torch.tensor([[2.0], [4.0]])).flatten()
    tensor([3.])
    """

    box_origin = "bottom"  # for modules pickled by mmcv

    def __init__(
        self,
        out_size: Union[int, Sequence[int]],
        max_pts_per_voxel: int = 128,
        mode: str = "max",
        box_origin: str = "bottom",
    ):
        super().__init__()
        sizes("RoIAwarePool3d", "out_size", out_size, 3)  # raises if it does not fit
        self.out_size = out_size
        self.max_pts_per_voxel = integer("RoIAwarePool3d", "max_pts_per_voxel", max_pts_per_voxel)
        if mode not in ("max", "avg"):
            raise ValueError(f'RoIAwarePool3d: mode must be "max" or "avg", got {mode!r}')
        self.mode = _MAX if mode == "max" else _AVERAGE
        if box_origin not in ("bottom", "center"):
            raise ValueError(
                f'RoIAwarePool3d: box_origin must be "bottom" or "center", got {box_origin!r}'
            )
        self.box_origin = box_origin

    def forward(self, rois: Tensor, pts: Tensor, pts_feature: Tensor) -> Tensor:
        """See `roiaware_pool3d`."""
        return roiaware_pool3d(
            rois,
            pts,
            pts_feature,
            self.out_size,
            self.max_pts_per_voxel,
            self.mode,
            self.box_origin,
        )

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}(out_size={self.out_size}, "
            f"max_pts_per_voxel={self.max_pts_per_voxel}, "
            f"mode={('max', 'avg')[self.mode]!r}, box_origin={self.box_origin!r})"
        )
