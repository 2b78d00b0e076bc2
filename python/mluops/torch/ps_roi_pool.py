# SPDX-License-Identifier: Apache-2.0
"""ps_roi_pool: position-sensitive average pooling, with the bins of torchvision or of R-FCN."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple, Union

import torch
import torch.fx
from torch import Tensor, nn

from .._library import BadParamError
from .._table import Table
from ._arguments import BroadcastingList2, number, pair, require_tensor_list, require_tensors
from ._context import context_of
from ._dispatch import skipping_dispatch
from ._operator import Saved, register
from ._tensors import as_type, compute_type, meta_outputs, packed
from .rfcn_ps_roi_pool import INPUT_SHAPE, input_sizes, rfcn_ps_roi_pool

_FORWARD = Table("torchvision_ps_roi_pool_forward", "ps_roi_pool", {"O": "C"})
_BACKWARD = Table(
    "torchvision_ps_roi_pool_backward",
    "ps_roi_pool_backward",
    {"grad_output": "grad", **INPUT_SHAPE},
)


def _kernel(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> Tensor:
    dtype = compute_type(_FORWARD, input, rois)
    x = packed(input, dtype)
    attributes = (pooled_height, pooled_width, spatial_scale)
    (output,) = context_of(x).run(_FORWARD, attributes, (x, packed(rois, dtype)))
    return as_type(output, input.dtype)


def _meta(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> Tensor:
    attributes = (pooled_height, pooled_width, spatial_scale)
    return meta_outputs(_FORWARD, attributes, (input, rois))[0]


def _backward_kernel(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    input_shape: List[int],
) -> Tensor:
    sizes = input_sizes(_BACKWARD, input_shape, grad)
    dtype = compute_type(_BACKWARD, grad, rois)
    g = packed(grad, dtype)
    attributes = (pooled_height, pooled_width, spatial_scale)
    (result,) = context_of(g).run(_BACKWARD, attributes, (g, packed(rois, dtype)), sizes)
    return as_type(result, grad.dtype)


def _backward_meta(
    grad: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    input_shape: List[int],
) -> Tensor:
    attributes = (pooled_height, pooled_width, spatial_scale)
    return meta_outputs(
        _BACKWARD, attributes, (grad, rois), input_sizes(_BACKWARD, input_shape, grad)
    )[0]


def _save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    input, rois, *ctx.attributes = inputs
    ctx.shape = input.shape
    return (rois,)


def _backward_save(ctx: Any, inputs: Any, output: Any) -> Tuple[Tensor, ...]:
    _, rois, *ctx.attributes, ctx.shape = inputs
    return (rois,)


def _pool(ctx: Any, saved: Saved, features: Tensor) -> Tensor:
    return _forward(features, *saved, *ctx.attributes)


def _spread(ctx: Any, saved: Saved, grad: Tensor) -> Tensor:
    return _backward_call(grad, *saved, *ctx.attributes, ctx.shape)


_forward = register(
    "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width) -> Tensor",
    _kernel,
    _meta,
    _save,
    backward=_spread,
    tangent=_pool,
)
_backward = register(
    "ps_roi_pool_backward(Tensor grad, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width, SymInt[] input_shape) -> Tensor",
    _backward_kernel,
    _backward_meta,
    _backward_save,
    backward=_pool,
    tangent=_spread,
)
_backward_call = skipping_dispatch(_backward, _backward_kernel)


def _boxes_as_rois(boxes: Union[Tensor, List[Tensor]], images: int) -> Tensor:
    if isinstance(boxes, Tensor):
        if boxes.dim() != 2 or boxes.size(1) != 5:
            raise ValueError(
                f"ps_roi_pool: boxes must have shape [K, 5] or be a list of [L, 4] per image, "
                f"got shape {list(boxes.shape)}"
            )
        if boxes.is_complex():
            raise ValueError(f"ps_roi_pool: boxes must be real, got {boxes.dtype}")
        return boxes
    if not torch.jit.is_scripting():
        if not isinstance(boxes, (list, tuple)):
            raise TypeError(
                "ps_roi_pool: boxes must be a Tensor[K, 5] or a list of Tensor[L, 4], "
                f"got {type(boxes).__name__}"
            )
        require_tensor_list("ps_roi_pool", "boxes", boxes)
    for i, image in enumerate(boxes):
        if image.dim() != 2 or image.size(1) != 4:
            raise ValueError(
                f"ps_roi_pool: boxes[{i}] must have shape [L, 4], got shape {list(image.shape)}"
            )
        if image.is_complex():
            raise ValueError(f"ps_roi_pool: boxes[{i}] must be real, got {image.dtype}")
        if image.device != boxes[0].device:
            raise ValueError(
                f"ps_roi_pool: boxes must be on one device, got {boxes[0].device} and "
                f"{image.device}"
            )
    if len(boxes) == 0:
        raise ValueError("ps_roi_pool: boxes must be a tensor or a list of tensors, got []")
    if len(boxes) > images:
        raise ValueError(
            f"ps_roi_pool: boxes must be a list of at most input.shape[0] = {images} tensors, "
            f"got {len(boxes)}"
        )
    # At least float32: half cannot represent all batch indices above 2048.
    dtype = torch.float64 if boxes[0].dtype == torch.float64 else torch.float32
    corners = torch.cat([image.to(dtype) for image in boxes])
    batch = [torch.full_like(image[:, :1].to(dtype), index) for index, image in enumerate(boxes)]
    return torch.cat([torch.cat(batch), corners], dim=1)


def _require_images(rois: Tensor, images: int) -> None:
    """Raises for a RoI whose batch index names no image. On CUDA this waits for the RoIs."""
    batch = rois[:, 0].trunc()  # -0.5 is image 0
    outside = ~((batch >= 0) & (batch < images))
    if bool(outside.any()):
        first = int(outside.nonzero()[0, 0])
        raise ValueError(
            f"ps_roi_pool: boxes[{first}, 0] must be in [0, {images}), got {float(rois[first, 0])}"
        )


def _require_channels(input: Tensor, height: int, width: int) -> None:
    if input.dim() != 4 or height < 1 or width < 1:
        return  # another check fails
    channels, bins = input.size(1), height * width
    if channels < 1 or channels % bins != 0:
        raise BadParamError(
            "ps_roi_pool: input.shape[1] must be a positive multiple of "
            f"output_size[0]*output_size[1] = {bins}, got {channels}"
        )


# As in torchvision: one node for torch.fx, and torch.jit.script can compile it. The latter needs
# the BroadcastingList2 annotation (a number or a pair) and f-strings without !r.
@torch.fx.wrap
def ps_roi_pool(
    input: Tensor,
    boxes: Union[Tensor, List[Tensor]],
    output_size: BroadcastingList2[int],
    spatial_scale: float = 1.0,
    semantics: str = "torchvision",
    validate: bool = False,
) -> Tensor:
    """Position-sensitive average pooling: each bin of a box reads its own channels.

    input: [N, C*pooled_height*pooled_width, H, W]; boxes: [R, 5] = batch, x1, y1, x2, y2, or a
    [L, 4] per image; output_size: (pooled_height, pooled_width) or one number. Returns
    [R, C, pooled_height, pooled_width].
    semantics "torchvision": drop-in for `torchvision.ops.ps_roi_pool`. Forward is bitwise equal to
    torchvision's on the CPU; the gradient matches forward. "rfcn": the operator of R-FCN and
    MLU-OPS. It rounds coordinates before scaling, includes the last pixel, clips at the edge of the
    map, and requires a square output_size, the group_size of R-FCN.
    A box whose batch index names no image gives zeros; validate=True raises a ValueError instead.

    >>> input = torch.arange(16.0).view(1, 4, 2, 2)
    >>> rois = torch.tensor([[0.0, 0, 0, 1, 1]])
    >>> ps_roi_pool(input, rois, 2, semantics="rfcn")
    tensor([[[[ 0.,  5.],
              [10., 15.]]]])
    """
    if torch.jit.is_scripting():
        height, width = output_size[0], output_size[1]
    else:
        if not isinstance(input, Tensor):
            require_tensors("ps_roi_pool", input=input)
        height, width = pair("ps_roi_pool", "output_size", output_size)
        spatial_scale = number("ps_roi_pool", "spatial_scale", spatial_scale)
        _require_channels(input, height, width)
    if input.dim() != 4:
        raise ValueError(
            f"ps_roi_pool: input must have shape [N, C, H, W], got {list(input.shape)}"
        )
    rois = _boxes_as_rois(boxes, input.size(0))
    if validate:
        _require_images(rois, input.size(0))
    if semantics == "torchvision":
        if torch.jit.is_scripting():
            return torch.ops.mluops.ps_roi_pool(input, rois, float(spatial_scale), height, width)
        else:  # torch.jit.script compiles what follows a return
            return _forward(input, rois, spatial_scale, height, width)
    if semantics != "rfcn":
        raise ValueError(
            f'ps_roi_pool: semantics must be "torchvision" or "rfcn", got "{semantics}"'
        )
    if height != width:
        raise ValueError(
            f"ps_roi_pool: output_size must be square with semantics rfcn, got {height} x {width}"
        )
    if torch.jit.is_scripting():
        return torch.ops.mluops.rfcn_ps_roi_pool(input, rois, float(spatial_scale), height)[0]
    else:
        return rfcn_ps_roi_pool(input, rois, spatial_scale, height)[0]


class PSRoIPool(nn.Module):
    """Drop-in for `torchvision.ops.PSRoIPool`; see `ps_roi_pool`.

    forward: input [N, C*pooled_height*pooled_width, H, W], rois [R, 5] or a [L, 4] per image;
    returns [R, C, pooled_height, pooled_width].

    >>> import torch
    >>> PSRoIPool(1, 1.0)(torch.ones(1, 2, 3, 3), torch.tensor([[0.0, 0, 0, 2, 2]])).flatten()
    tensor([1., 1.])
    """

    semantics = "torchvision"  # for modules pickled by torchvision
    validate = False

    def __init__(
        self,
        output_size: Union[int, Sequence[int]],
        spatial_scale: float,
        semantics: str = "torchvision",
        validate: bool = False,
    ):
        super().__init__()
        pair("PSRoIPool", "output_size", output_size)  # raises if it does not fit
        if semantics not in ("torchvision", "rfcn"):
            raise ValueError(
                f'PSRoIPool: semantics must be "torchvision" or "rfcn", got {semantics!r}'
            )
        self.output_size = output_size
        # torch.jit.script refuses an integer.
        self.spatial_scale = number("PSRoIPool", "spatial_scale", spatial_scale)
        self.semantics = semantics
        self.validate = validate

    def forward(self, input: Tensor, rois: Union[Tensor, List[Tensor]]) -> Tensor:
        """See `ps_roi_pool`."""
        return ps_roi_pool(
            input, rois, self.output_size, self.spatial_scale, self.semantics, self.validate
        )

    def __repr__(self) -> str:
        others = "" if self.semantics == "torchvision" else f", semantics={self.semantics!r}"
        if self.validate:
            others += ", validate=True"
        return (  # without the others, as torchvision's
            f"{self.__class__.__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale}{others})"
        )
