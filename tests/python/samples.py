# SPDX-License-Identifier: Apache-2.0
"""One small call of every operator under torch.ops.mluops."""

from typing import Any, Callable, Dict, List, Tuple

import mluops.torch  # noqa: F401
import torch

ops = torch.ops.mluops
Sample = Tuple[Callable[..., Any], List[Any]]


def _rois(count: int, images: int, size: float) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    corners = torch.rand(count, 2, 2, generator=generator) * size
    batch = torch.randint(images, (count, 1), generator=generator).float()
    return torch.cat([batch, corners.amin(1), corners.amax(1)], dim=1)


def make(dtype: torch.dtype = torch.float32) -> Dict[str, Sample]:
    """Returns operator and arguments by name. The features are the first argument, in
    roiaware_pool3d the third."""
    generator = torch.Generator().manual_seed(7)

    def randn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator).to(dtype)

    rois = _rois(6, 2, 9)
    boxes = _rois(10, 1, 9)[:, 1:].view(2, 5, 4)
    argmax = torch.randint(4, (2, 3, 5, 4), generator=generator, dtype=torch.int32)
    mapping = torch.arange(8, dtype=torch.int32).view(2, 2, 2).expand(6, 2, 2, 2).contiguous()
    points = torch.rand(40, 3, generator=generator) * 4 - 2
    cars = torch.tensor([[0.0, 0, -1, 3, 2, 2, 0.3], [1, 1, -2, 2, 2, 4, -1.2]])
    rows = torch.tensor([0, 2, 3, 4], dtype=torch.int32)
    columns = torch.tensor([5, 0, 3, 1], dtype=torch.int32)
    samples: Dict[str, Sample] = {
        "psa_mask": (ops.psa_mask, [randn(2, 15, 4, 3), 0, 3, 5]),
        "psa_mask_backward": (ops.psa_mask_backward, [randn(2, 12, 4, 3), 1, 3, 5]),
        "border_align": (ops.border_align, [randn(2, 12, 7, 8), boxes, 3]),
        "border_align_backward": (
            ops.border_align_backward,
            [randn(2, 3, 5, 4), boxes, argmax, 3, 7, 8],
        ),
        "ps_roi_pool": (ops.ps_roi_pool, [randn(2, 12, 9, 8), rois, 0.5, 2, 3]),
        "ps_roi_pool_backward": (
            ops.ps_roi_pool_backward,
            [randn(6, 2, 2, 3), rois, 0.5, 2, 3, [2, 12, 9, 8]],
        ),
        "rfcn_ps_roi_pool": (ops.rfcn_ps_roi_pool, [randn(2, 8, 9, 8), rois, 0.5, 2]),
        "rfcn_ps_roi_pool_backward": (
            ops.rfcn_ps_roi_pool_backward,
            [randn(6, 2, 2, 2), rois, mapping, 0.5, [2, 8, 9, 8]],
        ),
        "masked_im2col": (ops.masked_im2col, [randn(1, 3, 5, 6), rows, columns, [3, 2], [1, 0]]),
        "masked_im2col_backward": (
            ops.masked_im2col_backward,
            [randn(18, 4), rows, columns, [3, 2], [1, 0], 5, 6],
        ),
        "masked_col2im": (ops.masked_col2im, [randn(3, 4), rows, columns, 5, 6]),
        "masked_col2im_backward": (
            ops.masked_col2im_backward,
            [randn(1, 3, 5, 6), rows, columns],
        ),
    }
    for method, name in enumerate(("roiaware_pool3d_max", "roiaware_pool3d_avg")):
        arguments = [cars, points, randn(40, 3), [2, 3, 2], 6, method]
        samples[name] = (ops.roiaware_pool3d, arguments)
        pooled, argmax_of, indices = ops.roiaware_pool3d(*arguments)
        samples[name + "_backward"] = (
            ops.roiaware_pool3d_backward,
            [
                torch.randn(pooled.shape, generator=generator).to(dtype),
                argmax_of,
                indices,
                method,
                40,
            ],
        )
    return samples


NAMES = sorted(make())


def make_without_derivatives() -> Dict[str, Sample]:
    """Returns the operators whose results are indices."""
    both = [torch.rand(2, 4, 3), torch.rand(2, 3, 7) + 0.1]
    names = ("points_in_boxes", "points_in_boxes_all")
    return {name: (getattr(ops, name), both) for name in names}


# Operators that choose a maximum; the others are linear in their features.
PIECEWISE = ["border_align", "roiaware_pool3d_max"]
LINEAR = [name for name in NAMES if name not in PIECEWISE]
# Operators that return channels_last results for channels_last features.
CHANNELS_LAST = ["border_align", "psa_mask", "rfcn_ps_roi_pool"]
IMAGES = [name for name in NAMES if make()[name][1][0].dim() == 4 and "masked" not in name]


def features_of(arguments: List[Any]) -> int:
    """Returns the index of the features in the arguments."""
    return 2 if arguments[0].shape == (2, 7) else 0


def outputs_of(result: Any) -> Tuple[torch.Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)
