# SPDX-License-Identifier: Apache-2.0
"""The drop-ins for mmcv and torchvision: names, arguments, repr, errors and results."""

import copy
import inspect
import pickle

import numpy
import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
from drop_ins import randn


def modules():
    return [
        ours.BorderAlign(2),
        ours.PSAMask("distribute", (3, 5)),
        ours.RoIAwarePool3d((2, 3, 4), 16, "avg"),
        ours.PSRoIPool((2, 3), 0.5),
        ours.MaskedConv2d(4, 6, 3, padding=1, groups=2),
    ]


def name_of(value):
    return getattr(value, "__name__", type(value).__name__)


# Signatures, attributes, repr.


@pytest.mark.parametrize(
    "function, names, defaults",
    [
        (ours.border_align, ["input", "boxes", "pool_size"], {}),
        (ours.psa_mask, ["input", "psa_type", "mask_size"], {}),
        (
            ours.masked_conv2d,
            ["features", "mask", "weight", "bias", "padding", "stride"],
            {"padding": 0, "stride": 1},
        ),
        (
            ours.ps_roi_pool,
            ["input", "boxes", "output_size", "spatial_scale"],
            {"spatial_scale": 1.0},
        ),
        (ours.BorderAlign, ["pool_size"], {}),
        (ours.BorderAlign.forward, ["self", "input", "boxes"], {}),
        (ours.PSAMask, ["psa_type", "mask_size"], {"mask_size": None}),
        (ours.PSAMask.forward, ["self", "input"], {}),
        (
            ours.RoIAwarePool3d,
            ["out_size", "max_pts_per_voxel", "mode"],
            {"max_pts_per_voxel": 128, "mode": "max"},
        ),
        (ours.RoIAwarePool3d.forward, ["self", "rois", "pts", "pts_feature"], {}),
        (
            ours.MaskedConv2d,
            [
                "in_channels",
                "out_channels",
                "kernel_size",
                "stride",
                "padding",
                "dilation",
                "groups",
                "bias",
            ],
            {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "bias": True},
        ),
        (ours.MaskedConv2d.forward, ["self", "input", "mask"], {"mask": None}),
        (ours.PSRoIPool, ["output_size", "spatial_scale"], {}),
        (ours.PSRoIPool.forward, ["self", "input", "rois"], {}),
    ],
    ids=lambda value: getattr(value, "__qualname__", None),
)
def test_signatures_equal_the_originals(function, names, defaults):
    parameters = inspect.signature(function).parameters
    assert list(parameters)[: len(names)] == names
    assert {name: parameters[name].default for name in defaults} == defaults
    for extra in list(parameters)[len(names) :]:
        assert parameters[extra].default is not inspect.Parameter.empty


@pytest.mark.parametrize(
    "module, text",
    [
        (ours.BorderAlign(3), "BorderAlign(pool_size=3)"),
        (ours.PSAMask("collect", (3, 5)), "PSAMask(psa_type=collect, mask_size=(3, 5))"),
        (ours.PSAMask("distribute"), "PSAMask(psa_type=distribute, mask_size=None)"),
        (ours.PSRoIPool((2, 3), 0.25), "PSRoIPool(output_size=(2, 3), spatial_scale=0.25)"),
        (
            ours.MaskedConv2d(3, 4, 5, padding=2),
            "MaskedConv2d(3, 4, kernel_size=(5, 5), stride=(1, 1), padding=(2, 2))",
        ),
    ],
    ids=name_of,
)
def test_repr_equals_the_originals(module, text):
    assert repr(module) == text


@pytest.mark.parametrize(
    "module, attributes",
    [
        (ours.BorderAlign(3), {"pool_size": 3}),
        (
            ours.PSAMask("collect", (3, 5)),
            {"psa_type": "collect", "psa_type_enum": 0, "mask_size": (3, 5)},
        ),
        (ours.PSAMask("distribute", 3), {"psa_type_enum": 1, "mask_size": 3}),
        (ours.RoIAwarePool3d(4), {"out_size": 4, "max_pts_per_voxel": 128, "mode": 0}),
        (
            ours.RoIAwarePool3d((1, 2, 3), 7, "avg"),
            {"out_size": (1, 2, 3), "max_pts_per_voxel": 7, "mode": 1},
        ),
        (ours.PSRoIPool(7, 0.25), {"output_size": 7, "spatial_scale": 0.25}),
    ],
    ids=name_of,
)
def test_attribute_names_equal_the_originals(module, attributes):
    assert {name: getattr(module, name) for name in attributes} == attributes


@pytest.mark.parametrize("module", modules(), ids=name_of)
def test_modules_can_be_pickled_and_copied(module):
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert repr(other) == repr(module)
        state = {key: value for key, value in vars(other).items() if not key.startswith("_")}
        assert state == {
            key: value for key, value in vars(module).items() if not key.startswith("_")
        }


def test_modules_pickled_by_the_originals_load():
    """Their state lacks the attributes that only mluops has."""
    pool, voxels = ours.PSRoIPool(2, 1.0), ours.RoIAwarePool3d(1)
    del pool.semantics, voxels.box_origin
    pool, voxels = pickle.loads(pickle.dumps((pool, voxels)))
    rois = torch.tensor([[0.0, 0, 0, 2, 2]])
    x = randn(1, 4, 3, 3)
    assert torch.equal(pool(x, rois), ours.ps_roi_pool(x, rois, 2))
    box = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]])
    assert voxels(box, torch.tensor([[0.0, 0, 1]]), torch.ones(1, 1)).item() == 1


# Calls for which the originals raise AssertionError. Ours raise under `python -O` too.


@pytest.mark.parametrize(
    "call",
    [
        lambda: ours.border_align(randn(1, 4, 3, 3), torch.zeros(3, 4), 2),
        lambda: ours.border_align(randn(1, 4, 3, 3), torch.zeros(1, 3, 5), 2),
        lambda: ours.border_align(randn(1, 6, 3, 3), torch.zeros(1, 3, 4), 2),
        lambda: ours.PSAMask("gather", (3, 3)),
        lambda: ours.psa_mask(randn(1, 8, 3, 3), 0, (3, 3)),
        lambda: ours.RoIAwarePool3d(2, mode="min"),
        lambda: ours.RoIAwarePool3d((2, 2))(
            torch.zeros(1, 7), torch.zeros(1, 3), torch.zeros(1, 1)
        ),
        lambda: ours.masked_conv2d(randn(1, 2, 5, 5), torch.ones(5, 5), randn(2, 2, 3, 3)),
        lambda: ours.masked_conv2d(randn(1, 2, 5, 5), torch.ones(1, 4, 4), randn(2, 2, 3, 3)),
        lambda: ours.ps_roi_pool(randn(1, 4, 3, 3), torch.zeros(1, 4), 2),
        lambda: ours.ps_roi_pool(randn(1, 4, 3, 3), [torch.zeros(1, 5)], 2),
        lambda: ours.ps_roi_pool(randn(1, 4, 3, 3), None, 2),
    ],
    ids=[
        "boxes of two dimensions",
        "boxes with 5 values",
        "channels not divisible by 4",
        "psa_type",
        "channels of another mask",
        "mode",
        "out_size of two",
        "mask of two dimensions",
        "mask of another size",
        "rois with 4 values",
        "boxes with 5 values in a list",
        "boxes is None",
    ],
)
def test_calls_that_the_originals_refuse_raise(call):
    with pytest.raises((TypeError, ValueError)):
        call()


def test_channels_not_a_multiple_of_the_bins_raise_runtime_error():
    with pytest.raises(RuntimeError):
        ours.ps_roi_pool(randn(1, 5, 3, 3), torch.zeros(1, 5), 2)


@pytest.mark.parametrize(
    "size",
    [3, numpy.int64(3), (3, 3), [3, 3], numpy.array([3, 3])],
    ids=lambda value: type(value).__name__,
)
def test_size_may_be_a_number_or_any_pair(size):
    x, rois = randn(1, 9, 4, 4), torch.tensor([[0.0, 0, 0, 3, 3]])
    assert torch.equal(ours.psa_mask(x, 0, size), ours.psa_mask(x, 0, (3, 3)))
    assert torch.equal(ours.ps_roi_pool(x, rois, size), ours.ps_roi_pool(x, rois, (3, 3)))


def test_results_of_contiguous_features_are_contiguous():
    boxes, x = torch.tensor([[[0.0, 0, 2, 2]]]), randn(1, 9, 3, 3)
    rois, box = torch.tensor([[0.0, 0, 0, 2, 2]]), torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]])
    results = [
        ours.border_align(x[:, :8], boxes, 2),
        ours.psa_mask(x, 0, 3),
        ours.psa_mask(x, 1, 3),
        ours.ps_roi_pool(x, rois, 3),
        ours.RoIAwarePool3d(2)(box, torch.zeros(1, 3), torch.ones(1, 3)),
    ]
    for result in results:
        assert result.is_contiguous()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("dilation", [1, 2])
def test_masked_conv2d_without_channels_gives_the_bias(dtype, dilation):
    x = torch.zeros(1, 0, 5, 5, dtype=dtype, requires_grad=True)
    weight = torch.zeros(3, 0, 3, 3, dtype=dtype, requires_grad=True)
    bias = torch.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
    y = ours.masked_conv2d(x, torch.eye(5)[None], weight, bias, dilation, 1, dilation)
    assert torch.equal(y[0], bias.view(3, 1, 1) * torch.eye(5, dtype=dtype))
    y.sum().backward()
    assert x.grad.shape == x.shape and weight.grad.shape == weight.shape
    assert torch.equal(bias.grad, torch.full((3,), 5, dtype=dtype))
