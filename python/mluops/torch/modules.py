# SPDX-License-Identifier: Apache-2.0
"""The operators as modules, with the names, arguments and repr texts of mmcv and torchvision."""

from __future__ import annotations

from typing import List, Optional, Sequence, Union

from torch import Tensor, nn

from . import functional

__all__ = ["BorderAlign", "MaskedConv2d", "PSAMask", "PSRoIPool", "RoIAwarePool3d"]


class BorderAlign(nn.Module):
    """Drop-in for `mmcv.ops.BorderAlign`; see `border_align`.

    >>> import torch
    >>> BorderAlign(2)(torch.ones(1, 4, 3, 3), torch.tensor([[[0.0, 0.0, 2.0, 2.0]]]))
    tensor([[[[1., 1., 1., 1.]]]])
    """

    def __init__(self, pool_size: int):
        super().__init__()
        self.pool_size = pool_size

    def forward(self, input: Tensor, boxes: Tensor) -> Tensor:
        return functional.border_align(input, boxes, self.pool_size)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(pool_size={self.pool_size})"


class PSAMask(nn.Module):
    """Drop-in for `mmcv.ops.PSAMask`; see `psa_mask`.

    >>> import torch
    >>> PSAMask("collect", (1, 1))(torch.ones(1, 1, 1, 2))[0, :, 0]
    tensor([[1., 0.],
            [0., 1.]])
    """

    def __init__(self, psa_type: str, mask_size: Union[int, Sequence[int], None] = None):
        super().__init__()
        assert psa_type in ["collect", "distribute"]
        self.psa_type_enum = 0 if psa_type == "collect" else 1
        self.mask_size = mask_size
        self.psa_type = psa_type

    def forward(self, input: Tensor) -> Tensor:
        assert self.mask_size is not None
        return functional.psa_mask(input, self.psa_type_enum, self.mask_size)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(psa_type={self.psa_type}, mask_size={self.mask_size})"


class RoIAwarePool3d(nn.Module):
    """Drop-in for `mmcv.ops.RoIAwarePool3d`; see `roiaware_pool3d`.

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
        self.out_size = out_size
        self.max_pts_per_voxel = max_pts_per_voxel
        assert mode in ["max", "avg"]
        self.mode = 0 if mode == "max" else 1
        assert box_origin in ["bottom", "center"]
        self.box_origin = box_origin

    def forward(self, rois: Tensor, pts: Tensor, pts_feature: Tensor) -> Tensor:
        return functional.roiaware_pool3d(
            rois,
            pts,
            pts_feature,
            self.out_size,
            self.max_pts_per_voxel,
            self.mode,
            self.box_origin,
        )


class PSRoIPool(nn.Module):
    """Drop-in for `torchvision.ops.PSRoIPool`; see `ps_roi_pool`.

    >>> import torch
    >>> PSRoIPool(1, 1.0)(torch.ones(1, 2, 3, 3), torch.tensor([[0.0, 0, 0, 2, 2]])).flatten()
    tensor([1., 1.])
    """

    semantics = "torchvision"  # for modules pickled by torchvision

    def __init__(
        self,
        output_size: Union[int, Sequence[int]],
        spatial_scale: float,
        semantics: str = "torchvision",
    ):
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.semantics = semantics

    def forward(self, input: Tensor, rois: Union[Tensor, List[Tensor]]) -> Tensor:
        return functional.ps_roi_pool(
            input, rois, self.output_size, self.spatial_scale, self.semantics
        )

    def __repr__(self) -> str:
        return (
            f"{self.__class__.__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale})"
        )


class MaskedConv2d(nn.Conv2d):
    """Drop-in for `mmcv.ops.MaskedConv2d`: a convolution that takes a mask; see `masked_conv2d`.

    >>> import torch
    >>> conv = MaskedConv2d(3, 8, 3, padding=1, bias=False)
    >>> conv(torch.ones(2, 3, 5, 5), torch.zeros(2, 5, 5)).abs().max().item()
    0.0
    """

    def forward(self, input: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        if mask is None:
            return super().forward(input)
        if self.padding_mode != "zeros" or isinstance(self.padding, str):
            raise NotImplementedError(
                "MaskedConv2d: padding must be numbers with padding_mode 'zeros', got "
                f"{self.padding!r} with {self.padding_mode!r}"
            )
        return functional.masked_conv2d(
            input,
            mask,
            self.weight,
            self.bias,
            self.padding,
            self.stride,
            self.dilation,
            self.groups,
        )
