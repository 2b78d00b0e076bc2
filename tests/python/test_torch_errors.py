# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of the operators under torch.ops.mluops raise exceptions with a message."""

import pytest

torch = pytest.importorskip("torch")

import mluops.torch
import samples


@pytest.mark.parametrize("name", samples.NAMES)
def test_integer_features_raise(name):
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    arguments[at] = arguments[at].long()
    with pytest.raises(mluops.BadParamError, match="floating-point"):
        operator(*arguments)


def test_messages_have_the_names_of_the_operator():
    operator, arguments = samples.make()["border_align"]
    arguments[1] = torch.zeros(2, 5, 6)
    with pytest.raises(
        mluops.BadParamError, match=r"^border_align: boxes.shape\[2\] must be 4, got 6$"
    ):
        operator(*arguments)


@pytest.mark.parametrize(
    "name, at, value, message",
    [
        ("psa_mask", 0, torch.zeros(15, 4, 3), "psa_mask: input must be a tensor of 4 dims, got 3"),
        ("psa_mask", 1, 2, "psa_type must be 0 or 1, got 2"),
        ("psa_mask_backward", 2, -1, "h_mask must be >= 1, got -1"),
        ("border_align", 2, 0, "pool_size must be >= 1, got 0"),
        ("ps_roi_pool", 3, 0, "pooled_height must be >= 1, got 0"),
        ("ps_roi_pool", 2, 0.0, "spatial_scale must be > 0 and finite, got 0"),
        ("ps_roi_pool_backward", 5, [1, 2], "input_shape must be a list of 4"),
        ("rfcn_ps_roi_pool", 3, 0, "group_size must be >= 1, got 0"),
        ("roiaware_pool3d_max", 3, [2, 2, 2, 7], "out_size must be 3 numbers"),
        ("roiaware_pool3d_max", 5, 17, "pool_method must be 0 or 1, got 17"),
        ("roiaware_pool3d_max_backward", 0, torch.zeros(1, 2, 2, 2, 2, 2), "grad must be a tensor"),
        ("masked_im2col", 3, [3, 3, 9], "kernel must be a list of 2"),
        ("masked_im2col", 4, [1, 1, 0, 0, 7, 7], "padding must be a list of 2"),
        ("masked_im2col", 1, torch.zeros(4), "indices must be int32 or int64, got torch.float32"),
    ],
)
def test_broken_rule_raises_with_message_even_for_empty_tensors(name, at, value, message):
    operator, arguments = samples.make()[name]
    arguments[at] = value
    with pytest.raises(mluops.BadParamError, match=message):
        operator(*arguments)
    if "indices" in message:  # only the computation checks the type
        return
    on_meta = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments]
    with pytest.raises(mluops.BadParamError, match=message):
        operator(*on_meta)


def test_tensors_of_two_devices_raise():
    operator, arguments = samples.make()["ps_roi_pool"]
    arguments[1] = arguments[1].to("meta")
    with pytest.raises(mluops.BadParamError, match="one device"):
        operator(*arguments)


def test_tensors_of_an_absent_device_raise():
    from mluops.torch._context import TorchContext

    with pytest.raises(mluops.NotSupportedError, match="tensors on cuda:7 need the CUDA library"):
        TorchContext("cuda:7")
