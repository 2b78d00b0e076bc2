# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of the operators under torch.ops.mluops raise exceptions with a message."""

import subprocess
import sys

import numpy
import pytest

torch = pytest.importorskip("torch")

import mluops.torch
import mluops.torch as ours
import samples

ONES = torch.ones(1, 9, 6, 6)


def convolve(mask=ONES[:, 0], **options):
    return ours.masked_conv2d(ONES, mask, torch.ones(2, 9, 3, 3), **options)


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
        (
            "masked_im2col",
            1,
            torch.zeros(4),
            "mask_h_idx must be int32 or int64, got torch.float32",
        ),
    ],
)
def test_broken_rule_raises_with_message_even_for_empty_tensors(name, at, value, message):
    operator, arguments = samples.make()[name]
    arguments[at] = value
    with pytest.raises(mluops.BadParamError, match=message):
        operator(*arguments)
    on_meta = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments]
    with pytest.raises(mluops.BadParamError, match=message):
        operator(*on_meta)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: ours.psa_mask(torch.zeros(1, 8, 3, 3), 0, 3),
            "psa_mask: input.shape[1] must be h_mask*w_mask = 9, got 8",
        ),
        (
            lambda: ours.border_align(torch.zeros(1, 6, 3, 3), torch.zeros(1, 2, 4), 2),
            "border_align: input.shape[1] must be 4*C = 4, got 6",
        ),
        (
            lambda: ours.border_align(torch.zeros(1, 8, 3, 3), torch.zeros(2, 2, 4), 2),
            "border_align: boxes.shape[0] must be N = 1, got 2",
        ),
        (
            lambda: torch.ops.mluops.border_align_backward(
                torch.zeros(1, 2, 5, 4),
                torch.zeros(1, 6, 4),
                torch.zeros(1, 5, 4, 2).int(),
                2,
                3,
                3,
            ),
            "border_align_backward: boxes.shape[1] must be K = 5, got 6",
        ),
        (
            lambda: ours.ps_roi_pool(torch.zeros(1, 6, 3, 3), torch.zeros(1, 5), 2),
            "ps_roi_pool: input.shape[1] must be a positive multiple of "
            "output_size[0]*output_size[1] = 4, got 6",
        ),
    ],
)
def test_messages_have_the_names_and_the_layout_of_pytorch(call, message):
    with pytest.raises(mluops.BadParamError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: ours.psa_mask(numpy.zeros((1, 9, 3, 3)), 0, 3), TypeError, "got numpy.ndarray"),
        (lambda: ours.border_align(torch.zeros(1, 4, 3, 3), [[1, 2]], 2), TypeError, "got list"),
        (lambda: ours.ps_roi_pool(torch.zeros(1, 4, 3, 3), torch.zeros(5), 2), ValueError, "K, 5"),
        (lambda: ours.ps_roi_pool(torch.zeros(1, 4, 3, 3), [], 2), ValueError, "got []"),
        (
            lambda: ours.ps_roi_pool(torch.zeros(1, 4, 3, 3), [numpy.zeros((1, 4))], 2),
            TypeError,
            "boxes[0] must be a torch.Tensor",
        ),
        (
            lambda: ours.psa_mask(torch.zeros(1, 9, 3, 3), 0, (3, 3, 3)),
            ValueError,
            "mask_size must be a number or 2 numbers, got (3, 3, 3)",
        ),
        (
            lambda: ours.psa_mask(torch.zeros(1, 9, 3, 3), 0, (3, 2.5)),
            TypeError,
            "mask_size must consist of integers",
        ),
        (
            lambda: ours.masked_conv2d(
                torch.zeros(1, 1, 4, 4), torch.zeros(1, 3, 3), torch.zeros(1, 1, 3, 3), padding=1
            ),
            ValueError,
            "mask must have the size of the result, 4 x 4, or of the features, got 3 x 3",
        ),
        (lambda: ours.psa_mask(ONES, 0, numpy.array(2.5)), TypeError, "mask_size must consist of"),
        (
            lambda: ours.ps_roi_pool(ONES, ONES[0, 0, :1, :5], 1, 10**400),
            ValueError,
            "ps_roi_pool: spatial_scale must be finite",
        ),
        (lambda: convolve(padding=1 << 40), ValueError, "masked_conv2d: padding must fit in int32"),
        (
            lambda: convolve(padding=1 << 40, dilation=1 << 40),
            ValueError,
            "masked_conv2d: padding must fit in int32",
        ),
        (lambda: convolve(padding=1 << 30), ValueError, "masked_conv2d: padding must give a"),
        (lambda: ours.PSAMask("collect", "x"), ValueError, "PSAMask: mask_size must be a number"),
        (lambda: ours.BorderAlign("3"), TypeError, "BorderAlign: pool_size must be an integer"),
        (lambda: ours.PSRoIPool(2, "x"), TypeError, "PSRoIPool: spatial_scale must be a number"),
        (
            lambda: ours.RoIAwarePool3d(2, "x"),
            TypeError,
            "RoIAwarePool3d: max_pts_per_voxel must be an integer",
        ),
    ],
)
def test_objects_of_wrong_kinds_raise(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert message in str(caught.value)


def test_errors_are_raised_under_python_o():
    code = (
        "import torch, mluops.torch as o\n"
        "try: o.masked_conv2d(torch.zeros(1, 1, 4, 4), torch.zeros(1, 3, 3), "
        "torch.zeros(1, 1, 3, 3), padding=1)\n"
        "except ValueError: pass\n"
        "else: raise SystemExit('accepted')\n"
    )
    subprocess.run([sys.executable, "-O", "-c", code], check=True)


def test_validate_raises_for_a_batch_index_without_an_image():
    x, rois = torch.zeros(2, 4, 3, 3), torch.tensor([[1.0, 0, 0, 2, 2], [2, 0, 0, 2, 2]])
    assert ours.ps_roi_pool(x, rois, 2)[1].abs().sum() == 0
    with pytest.raises(ValueError, match=r"boxes\[1, 0\] must be in \[0, 2\), got 2.0"):
        ours.ps_roi_pool(x, rois, 2, validate=True)
    assert ours.ps_roi_pool(x, rois[:1], 2, validate=True).shape[0] == 1


def test_half_features_with_float_weights_raise_as_in_conv2d():
    x, mask, weight = torch.zeros(1, 1, 4, 4).half(), torch.ones(1, 4, 4), torch.zeros(1, 1, 3, 3)
    with pytest.raises(RuntimeError):
        torch.nn.functional.conv2d(x, weight)
    with pytest.raises(RuntimeError):
        ours.masked_conv2d(x, mask, weight, padding=1)


def test_tensors_of_two_devices_raise():
    operator, arguments = samples.make()["ps_roi_pool"]
    arguments[1] = arguments[1].to("meta")
    with pytest.raises(mluops.BadParamError, match="one device"):
        operator(*arguments)


def test_tensors_of_an_absent_device_raise():
    from mluops.torch._context import TorchContext

    with pytest.raises(mluops.NotSupportedError, match="tensors on cuda:7 need the CUDA library"):
        TorchContext("cuda:7")


def test_messages_about_large_numbers_have_all_digits():
    x, boxes = torch.zeros(1, 4, 3, 3), torch.zeros(1, 1, 4)
    for size in (1 << 40, 1 << 70, -(1 << 70)):
        with pytest.raises(ValueError, match=f"^border_align: pool_size must .*got {size}$"):
            ours.border_align(x, boxes, size)
    for size in (1 << 70, (3, 1 << 70), [1 << 70, 3]):
        with pytest.raises(ValueError, match=f"^psa_mask: mask_size must .*got {1 << 70}$"):
            ours.psa_mask(torch.zeros(1, 9, 3, 3), 0, size)


def test_a_string_is_no_number():
    with pytest.raises(TypeError, match=r"spatial_scale must be a number, got '0\.5'"):
        ours.ps_roi_pool(torch.zeros(1, 4, 3, 3), torch.zeros(1, 5), 2, "0.5")


def test_sizes_may_be_tensors_and_arrays_of_one_number():
    expected = ours.psa_mask(ONES, 0, 3)
    for size in (torch.tensor(3), numpy.array(3), numpy.int64(3), torch.tensor([3, 3])):
        assert torch.equal(ours.psa_mask(ONES, 0, size), expected)


@pytest.mark.skipif(not hasattr(torch, "float8_e5m2"), reason="needs torch 2.1")
def test_a_mask_of_float8_raises():
    with pytest.raises(mluops.BadParamError, match=r"masked_conv2d: mask must .*float8_e5m2"):
        convolve(ONES[:, 0].to(torch.float8_e5m2), padding=1)


def test_a_module_with_an_integer_scale_can_be_scripted():
    module, rois = ours.PSRoIPool(3, 1), torch.tensor([[0.0, 0, 0, 3, 3]])
    assert torch.equal(torch.jit.script(module)(ONES, rois), module(ONES, rois))
