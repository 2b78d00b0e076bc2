# SPDX-License-Identifier: Apache-2.0
"""Calls of the NumPy level with their types, for mypy --strict: test_typing.py checks it."""

from __future__ import annotations

from typing import Any, Tuple, Union

import mluops
import mluops.torch as ours
import numpy as np
import torch
from numpy.typing import NDArray
from typing_extensions import assert_type

Floats = NDArray[np.float32]
Indices = NDArray[np.int32]
Array = Union[NDArray[Any], mluops.DeviceArray]


def of_numpy(x: Floats, at: Indices, half: NDArray[np.float16]) -> None:
    """Results have the element type of the values; indices are int32."""
    assert_type(mluops.transpose(x), Floats)
    assert_type(mluops.transpose(half, output=half), NDArray[np.float16])
    assert_type(mluops.masked_im2col_forward(x, at, at, 3, 3, 1, 1), Floats)
    assert_type(mluops.masked_conv2d_forward(x, x, x, x, 1, 1, 1, 1, 1, 1), Floats)
    assert_type(mluops.points_in_boxes(x, [[[0.0] * 7]]), Indices)
    assert_type(mluops.psroipool_forward(x, x, 2, 2, 1, 2, 1), Tuple[Floats, Indices])
    assert_type(mluops.masked_col2im_forward_workspace_size(x, at, at, x), int)


def of_devices(x: mluops.DeviceArray, tensor: torch.Tensor) -> None:
    assert_type(mluops.transpose(x), mluops.DeviceArray)
    assert_type(mluops.transpose(x, output=tensor), mluops.DeviceArray)
    assert_type(mluops.transpose(tensor), Array)
    assert_type(mluops.transpose([[[1.0]]]), Array)


def refused(x: Floats, at: Indices, device: mluops.DeviceArray) -> None:
    mluops.transpose(x, x)  # type: ignore[call-overload]
    mluops.transpose(3.5)  # type: ignore[call-overload]
    mluops.transpose(None)  # type: ignore[call-overload]
    mluops.transpose(x, result=x)  # type: ignore[call-overload]
    mluops.transpose(x, output=3.5)  # type: ignore[call-overload]
    mluops.transpose(device, output=[1.0])  # type: ignore[call-overload]
    mluops.points_in_boxes(x)  # type: ignore[call-overload]
    mluops.points_in_boxes(x, None)  # type: ignore[call-overload]
    mluops.masked_im2col_forward(x, at, at, 3, 3, 1)  # type: ignore[call-overload]
    mluops.masked_im2col_forward(x, at, at, "3", 3, 1, 1)  # type: ignore[call-overload]
    mluops.masked_col2im_backward(x, at, 2.5)  # type: ignore[call-overload]
    mluops.masked_col2im_forward(x, at, at, 2.5, 3)  # type: ignore[call-overload]
    mluops.masked_col2im_forward_workspace_size(x, at, at)  # type: ignore[call-arg]
    mluops.set_num_threads("2")  # type: ignore[arg-type]


def of_torch(x: torch.Tensor, boxes: torch.Tensor) -> None:
    ours.psa_mask(x, 0, 3)
    ours.psa_mask(x, 0, (3, 5))
    ours.psa_mask(x, 0, "a")  # type: ignore[arg-type]
    ours.ps_roi_pool(x, boxes, 2.5)  # type: ignore[arg-type]
    ours.masked_conv2d(x, x, x, padding="same")  # type: ignore[arg-type]
    ours.roiaware_pool3d(x, x, x, None)  # type: ignore[arg-type]
