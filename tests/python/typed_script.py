# SPDX-License-Identifier: Apache-2.0
"""A user's program, for mypy --strict: test_typing.py checks it."""

from __future__ import annotations

import mluops
import mluops.torch as ours
import numpy as np
import numpy.typing as npt
import torch
from mluops.compat import pcdet

Floats = npt.NDArray[np.float32]


def borders(x: Floats, boxes: Floats) -> Floats:
    output, argmax = mluops.border_align_forward(x, boxes, 3)
    gradient = mluops.border_align_backward(output, boxes, argmax, 3, x.shape[1], x.shape[2])
    result: Floats = gradient + output.sum()
    return result


def pooled(features: Floats, rois: Floats) -> Floats:
    output, mapping = mluops.psroipool_forward(features, rois, 2, 2, 1.0, 2, 1)
    assert mapping.dtype == np.int32
    return output.reshape(-1)


def transposed(x: Floats) -> tuple[int, ...]:
    return mluops.transpose(x).shape


class Head(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = ours.MaskedConv2d(3, 8, 3, padding=1)
        self.align = ours.BorderAlign(5)
        self.mask = ours.PSAMask("collect", (3, 3))

    def forward(self, x: torch.Tensor, mask: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.conv(x, mask)
        return ours.border_align(features, boxes, 5)


report: str = str(pcdet.install())
threads: int = mluops.get_num_threads()
