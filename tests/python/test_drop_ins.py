# SPDX-License-Identifier: Apache-2.0
"""In mmcv's and torchvision's places: names, arguments, texts and results are those of the
originals; install() reaches what a program has imported."""

import copy
import importlib
import importlib.util
import inspect
import io
import pickle
import sys

import numpy
import pytest

torch = pytest.importorskip("torch")

import mluops.compat.mmcv
import mluops.compat.torchvision
import mluops.torch as ours
from mluops.compat._install import Report
from mluops.torch import masked_conv

MMCV_NAMES = [
    "BorderAlign",
    "MaskedConv2d",
    "PSAMask",
    "RoIAwarePool3d",
    "border_align",
    "masked_conv2d",
    "psa_mask",
]


def randn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


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


# Signatures, attributes, texts.


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
def test_arguments_come_in_the_originals_order_with_their_defaults(function, names, defaults):
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
        (ours.RoIAwarePool3d(4), "RoIAwarePool3d()"),
        (ours.PSRoIPool((2, 3), 0.25), "PSRoIPool(output_size=(2, 3), spatial_scale=0.25)"),
        (
            ours.MaskedConv2d(3, 4, 5, padding=2),
            "MaskedConv2d(3, 4, kernel_size=(5, 5), stride=(1, 1), padding=(2, 2))",
        ),
    ],
    ids=name_of,
)
def test_modules_print_as_the_originals(module, text):
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
def test_modules_keep_their_arguments_under_the_originals_names(module, attributes):
    assert {name: getattr(module, name) for name in attributes} == attributes


@pytest.mark.parametrize("module", modules(), ids=name_of)
def test_modules_can_be_pickled_and_copied(module):
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
        assert repr(other) == repr(module)
        state = {key: value for key, value in vars(other).items() if not key.startswith("_")}
        assert state == {
            key: value for key, value in vars(module).items() if not key.startswith("_")
        }


def test_modules_saved_by_the_originals_can_be_loaded():
    """They have not the attributes that are only ours."""
    pool, voxels = ours.PSRoIPool(2, 1.0), ours.RoIAwarePool3d(1)
    del pool.semantics, voxels.box_origin
    pool, voxels = pickle.loads(pickle.dumps((pool, voxels)))
    rois = torch.tensor([[0.0, 0, 0, 2, 2]])
    x = randn(1, 4, 3, 3)
    assert torch.equal(pool(x, rois), ours.ps_roi_pool(x, rois, 2))
    box = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]])
    assert voxels(box, torch.tensor([[0.0, 0, 1]]), torch.ones(1, 1)).item() == 1


# What the originals refuse with an AssertionError.


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
        "boxes of five numbers",
        "channels not by four",
        "psa_type",
        "channels of another mask",
        "mode",
        "out_size of two",
        "mask of two dimensions",
        "mask of another size",
        "rois of four numbers",
        "boxes of five numbers in a list",
        "no boxes",
    ],
)
def test_what_the_originals_assert_is_asserted(call):
    with pytest.raises(AssertionError):
        call()


def test_channels_that_are_no_multiple_of_the_bins_are_a_runtime_error():
    with pytest.raises(RuntimeError):
        ours.ps_roi_pool(randn(1, 5, 3, 3), torch.zeros(1, 5), 2)


@pytest.mark.parametrize(
    "size",
    [3, numpy.int64(3), (3, 3), [3, 3], numpy.array([3, 3])],
    ids=lambda value: type(value).__name__,
)
def test_a_size_may_be_a_number_or_a_pair_of_any_kind(size):
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


# psa_mask.


def psa_mask_by_definition(x, psa_type, h_mask, w_mask):
    """A mask lies with its middle on each pixel: its elements go to the pixels they cover."""
    n, _, height, width = x.shape
    planes = {}
    for pixel in range(height * width):
        for element in range(h_mask * w_mask):
            row = pixel // width + element // w_mask - (h_mask - 1) // 2
            column = pixel % width + element % w_mask - (w_mask - 1) // 2
            if 0 <= row < height and 0 <= column < width:
                planes[row * width + column, pixel] = x[:, element].flatten(1)[:, pixel]
    size, zero = range(height * width), x.new_zeros(n)
    y = torch.stack(
        [
            torch.stack([planes.get((covered, pixel), zero) for pixel in size], dim=1)
            for covered in size
        ],
        dim=1,
    )
    return (y if psa_type == 0 else y.transpose(1, 2)).reshape(n, -1, height, width)


@pytest.mark.parametrize("psa_type", [0, 1])
@pytest.mark.parametrize("mask_size", [(3, 5), (4, 2), (7, 7), (1, 1)])
def test_psa_mask_is_its_definition(psa_type, mask_size):
    x = randn(2, mask_size[0] * mask_size[1], 4, 3)
    y = ours.psa_mask(x, psa_type, mask_size)
    assert torch.equal(y, psa_mask_by_definition(x, psa_type, *mask_size))


@pytest.mark.parametrize("psa_type", [0, 1])
@pytest.mark.parametrize("shape", [(), (12, 1, 1), (2, 1, 4, 3)], ids=str)
def test_psa_mask_takes_expanded_gradients(psa_type, shape):
    """The first is that of sum()."""
    x = randn(2, 15, 4, 3).requires_grad_()
    expected = psa_mask_by_definition(x, psa_type, 3, 5)
    actual = ours.psa_mask(x, psa_type, (3, 5))
    grad = randn(*shape, seed=1).expand(expected.shape)
    assert 0 in grad.stride()
    grads = [torch.autograd.grad(y, x, grad)[0] for y in (actual, expected)]
    assert torch.equal(*grads)


def test_the_sum_of_a_psa_mask_has_a_gradient():
    x = torch.zeros(1, 9, 3, 3, requires_grad=True)
    ours.psa_mask(x, 0, (3, 3)).sum().backward()
    assert torch.equal(x.grad[0, 4], torch.ones(3, 3))
    assert x.grad[0, 0].tolist() == [[0, 0, 0], [0, 1, 1], [0, 1, 1]]


# RoIAwarePool3d.


def cars():
    boxes = torch.tensor(
        [[0.0, 0, -1, 3, 2, 2, 0.3], [1, 1, -2, 2, 2, 4, -1.2], [-1, 0.5, 0, 1, 3, 1, 2.0]]
    )
    points = torch.rand(60, 3, generator=torch.Generator().manual_seed(1)) * 4 - 2
    return boxes, points


@pytest.mark.parametrize("mode", ["max", "avg"])
def test_a_centred_box_is_the_bottom_box_half_its_height_lower(mode):
    boxes, points = cars()
    centred = boxes.clone()
    centred[:, 2] += boxes[:, 5] / 2
    features = randn(60, 4)
    bottom = ours.RoIAwarePool3d((2, 3, 2), 8, mode)(boxes, points, features)
    center = ours.RoIAwarePool3d((2, 3, 2), 8, mode, box_origin="center")(centred, points, features)
    assert bottom.abs().sum() > 0
    assert torch.equal(bottom, center)


def test_the_origin_of_a_box_matters_and_is_the_bottom_unless_named():
    box, point = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]]), torch.tensor([[0.0, 0, 1.5]])

    def pooled(**origin):
        return ours.RoIAwarePool3d(1, **origin)(box, point, torch.ones(1, 1)).item()

    assert (pooled(), pooled(box_origin="bottom"), pooled(box_origin="center")) == (1, 1, 0)


def test_an_unknown_origin_of_boxes_is_refused():
    with pytest.raises(AssertionError):
        ours.RoIAwarePool3d(1, box_origin="top")


# MaskedConv2d.


def masks(n, height, width):
    mask = torch.rand(n, height, width, generator=torch.Generator().manual_seed(5)) - 0.6
    if n > 1:
        mask[-1] = -1  # one image of the batch has no place at all
    return mask


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    "arguments",
    [
        dict(kernel_size=3, padding=1),
        dict(kernel_size=3),
        dict(kernel_size=1, stride=2),
        dict(kernel_size=3, padding=1, bias=False),
        dict(kernel_size=(3, 2), padding=(2, 1), stride=(2, 1)),
        dict(kernel_size=3, padding=2, dilation=2),
        dict(kernel_size=(2, 3), padding=(0, 3), dilation=(1, 3), stride=(3, 2), groups=2),
        dict(kernel_size=3, padding=1, groups=4, bias=False),
    ],
    ids=str,
)
def test_masked_convolution_and_its_gradients_are_those_of_conv2d_times_mask(arguments, n):
    conv = ours.MaskedConv2d(4, 8, **arguments)
    plain = torch.nn.Conv2d(4, 8, **arguments).double()
    plain.load_state_dict(conv.state_dict())
    x = randn(n, 4, 9, 8).requires_grad_()
    reference_x = x.detach().double().requires_grad_()
    expected = plain(reference_x)
    mask = masks(n, *expected.shape[2:])
    expected = expected * (mask > 0)[:, None]
    actual = conv(x, mask)
    torch.testing.assert_close(actual, expected.float(), rtol=1e-4, atol=1e-5)
    grad = randn(*expected.shape, seed=2)
    actual.backward(grad)
    expected.backward(grad.double())
    pairs = [(x, reference_x), (conv.weight, plain.weight), (conv.bias, plain.bias)]
    for ours_one, reference in pairs[: 2 if conv.bias is None else 3]:
        torch.testing.assert_close(ours_one.grad, reference.grad.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("arguments", [dict(), dict(stride=2), dict(padding=2)], ids=str)
def test_of_a_mask_of_the_features_size_the_upper_left_part_counts(arguments):
    conv, x = ours.MaskedConv2d(2, 3, 5, **arguments), randn(2, 2, 9, 9)
    mask = (torch.rand(2, 9, 9, generator=torch.Generator().manual_seed(5)) > 0.5).float()
    full = conv(x)
    expected = full * mask[:, None, : full.shape[2], : full.shape[3]]
    torch.testing.assert_close(conv(x, mask), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.float16, torch.int64])
def test_a_mask_may_have_any_type(dtype):
    conv, x, mask = ours.MaskedConv2d(2, 3, 3, padding=1), randn(1, 2, 5, 5), torch.eye(5)[None]
    assert torch.equal(conv(x, mask.to(dtype)), conv(x, mask))


def test_a_mask_may_have_a_dimension_for_its_channel():
    conv, x, mask = ours.MaskedConv2d(2, 3, 3, padding=1), randn(2, 2, 5, 5), masks(2, 5, 5)
    assert torch.equal(conv(x, mask[:, None]), conv(x, mask))


def test_an_empty_mask_gives_contiguous_zeros_and_zero_gradients():
    conv = ours.MaskedConv2d(2, 3, 3, padding=1)
    x = randn(1, 2, 5, 5).requires_grad_()
    y = conv(x, torch.zeros(1, 5, 5))
    assert y.is_contiguous() and torch.equal(y, torch.zeros(1, 3, 5, 5))
    y.sum().backward()
    for parameter in (x, conv.weight, conv.bias):
        assert torch.equal(parameter.grad, torch.zeros_like(parameter))


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e38])
def test_where_the_mask_is_empty_no_feature_is_looked_at(value):
    y = ours.MaskedConv2d(2, 3, 3, padding=1)(torch.full((1, 2, 5, 5), value), torch.zeros(1, 5, 5))
    assert torch.equal(y, torch.zeros(1, 3, 5, 5))


def test_masked_conv2d_takes_mmcv_s_arguments_by_place():
    x, weight, bias, mask = randn(1, 2, 5, 5), randn(3, 2, 3, 3), randn(3), masks(1, 5, 5)
    expected = torch.nn.functional.conv2d(x, weight, bias, padding=1) * (mask > 0)
    actual = ours.masked_conv2d(x, mask, weight, bias, 1, 1)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_without_a_mask_it_is_conv2d():
    conv, plain = ours.MaskedConv2d(2, 3, 3, padding=1), torch.nn.Conv2d(2, 3, 3, padding=1)
    plain.load_state_dict(conv.state_dict())
    x = randn(2, 2, 5, 5)
    assert torch.equal(conv(x), plain(x))


@pytest.mark.parametrize("bias", [True, False])
def test_the_state_of_a_masked_convolution_is_that_of_conv2d(bias):
    conv, plain = ours.MaskedConv2d(4, 6, 3, bias=bias), torch.nn.Conv2d(4, 6, 3, bias=bias)
    assert isinstance(conv, torch.nn.Conv2d)
    shapes = [
        {key: value.shape for key, value in module.state_dict().items()} for module in (conv, plain)
    ]
    assert shapes[0] == shapes[1]


# ps_roi_pool.


def rois(count, images, size):
    """Inside and outside, inverted and empty boxes."""
    generator = torch.Generator().manual_seed(11)
    boxes = torch.rand(count, 4, generator=generator) * 3 * size - size
    boxes[::3, 2:] = boxes[::3, :2] + torch.rand(len(boxes[::3]), 2, generator=generator) * size
    boxes[1::7, 2:] = boxes[1::7, :2]
    boxes[2::7] = boxes[2::7].round() + 0.5
    batch = torch.randint(images, (count, 1), generator=generator).float()
    return torch.cat([batch, boxes], dim=1)


def test_a_list_of_boxes_is_the_tensor_with_the_batch_before_it():
    x = randn(3, 8, 6, 7)
    boxes = torch.tensor([[0.0, 0, 4, 5], [1, 2, 6, 3], [2, 1, 3, 6]]).repeat(3, 1)
    parts = [boxes[:4], boxes[4:4], boxes[4:]]
    batch = torch.tensor([0.0] * 4 + [2.0] * 5)[:, None]
    expected = ours.ps_roi_pool(x, torch.cat([batch, boxes], dim=1), 2)
    assert torch.equal(ours.ps_roi_pool(x, parts, 2), expected)
    assert torch.equal(ours.ps_roi_pool(x, tuple(parts), 2), expected)
    assert torch.equal(ours.PSRoIPool(2, 1.0)(x, parts), expected)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_ps_roi_pool_can_be_scripted_as_torchvision_s():
    scripted = torch.jit.script(ours.ps_roi_pool)
    x, boxes = randn(2, 8, 6, 7).requires_grad_(), rois(9, 2, 7)
    expected, actual = ours.ps_roi_pool(x, boxes, 2, 0.5), scripted(x, boxes, 2, 0.5)
    assert torch.equal(actual, expected)
    grads = [torch.autograd.grad(y.square().sum(), x)[0] for y in (actual, expected)]
    assert torch.equal(*grads)


def test_ps_roi_pool_is_one_node_for_torch_fx_as_torchvision_s():
    module = ours.PSRoIPool((2, 4), 0.5)
    traced = torch.fx.symbolic_trace(module)
    called = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert called == [ours.ps_roi_pool]
    x, boxes = randn(2, 8, 6, 7), rois(9, 2, 7)
    assert torch.equal(traced(x, boxes), module(x, boxes))


def test_an_unknown_semantics_is_a_value_error():
    with pytest.raises(ValueError, match="semantics"):
        ours.ps_roi_pool(randn(1, 4, 3, 3), torch.zeros(1, 5), 2, semantics="caffe")


@pytest.fixture
def torchvision():
    """torchvision, whose operators are its own again after the test."""
    module = pytest.importorskip("torchvision")
    ops = importlib.import_module("torchvision.ops")
    places = [ops, sys.modules["torchvision.ops.ps_roi_pool"]]
    names = ("ps_roi_pool", "PSRoIPool")
    kept = [(place, name, getattr(place, name)) for place in places for name in names]
    yield module
    for place, name, value in kept:
        setattr(place, name, value)


@pytest.mark.parametrize(
    "shape, bins, scale",
    [
        ((2, 8, 9, 11), 2, 1.0),
        ((1, 18, 16, 5), (3, 2), 0.5),
        ((3, 49, 8, 8), 7, 1 / 16),
        ((2, 5, 7, 7), 1, 1.3),
        ((1, 12, 1, 1), (4, 3), 2.0),
    ],
    ids=str,
)
def test_installed_ps_roi_pool_equals_torchvision_s_to_the_bit(torchvision, shape, bins, scale):
    original = torchvision.ops.ps_roi_pool
    mluops.compat.torchvision.install()
    installed = torchvision.ops.ps_roi_pool
    assert installed is ours.ps_roi_pool is not original
    x, boxes = randn(*shape), rois(64, shape[0], max(shape[2:]) / scale)
    for form in (boxes, [boxes[index :: shape[0], 1:] for index in range(shape[0])]):
        expected, actual = original(x, form, bins, scale), installed(x, form, bins, scale)
        assert torch.equal(actual.view(torch.int32), expected.view(torch.int32))
        assert actual.stride() == expected.stride()


def test_installing_into_torchvision_reports_and_is_done_once(torchvision):
    before = torchvision.ops.PSRoIPool(2, 1.0)
    report = mluops.compat.torchvision.install()
    assert "torchvision.ops.PSRoIPool" in report.replaced
    assert "torchvision.ops.ps_roi_pool.ps_roi_pool" in report.replaced
    assert "an instance of torchvision.ops.ps_roi_pool.PSRoIPool" in report.left
    assert repr(torchvision.ops.PSRoIPool(2, 1.0)) == repr(before)
    assert torchvision.ops.PSRoIPool is ours.PSRoIPool
    assert str(mluops.compat.torchvision.install()) == "nothing to do"


def test_torchvision_finds_the_installed_pool_a_leaf(torchvision):
    extraction = pytest.importorskip("torchvision.models.feature_extraction")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.pool = torchvision.ops.PSRoIPool(2, 1.0)

        def forward(self, x, boxes):
            return self.pool(x, boxes)

    mluops.compat.torchvision.install()
    assert extraction.get_graph_node_names(Net()) == (["x", "boxes", "pool"],) * 2


# mluops.compat.mmcv.install().


@pytest.fixture
def places(monkeypatch, tmp_path):
    """A folder for packages; what was imported from it, and every mmcv, is forgotten after."""

    def own(name):
        return name.partition(".")[0] in ("mmcv", "a_program")

    kept = {name: module for name, module in sys.modules.items() if own(name)}
    attributes = dict(vars(ours.psa_mask))
    for name in kept:
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if own(name)]:
        del sys.modules[name]
    sys.modules.update(kept)
    vars(ours.psa_mask).clear()
    vars(ours.psa_mask).update(attributes)


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    importlib.invalidate_caches()


MODULE = "import torch\nclass {0}(torch.nn.Module):\n    pass\n"
FUNCTION = "def {0}(*arguments):\n    raise RuntimeError('the original')\n"


@pytest.fixture
def full_mmcv(places):
    """A package shaped as mmcv, and a program that has imported from it."""
    write(
        places,
        {
            "mmcv/__init__.py": "",
            "mmcv/ops/__init__.py": "from .border_align import BorderAlign, border_align\n"
            "from .masked_conv import MaskedConv2d, masked_conv2d\n"
            "from .nms import nms\n"
            "from .psa_mask import PSAMask\n"
            "from .roiaware_pool3d import RoIAwarePool3d\n",
            "mmcv/ops/border_align.py": MODULE.format("BorderAlign")
            + FUNCTION.format("border_align"),
            "mmcv/ops/masked_conv.py": MODULE.format("MaskedConv2d")
            + FUNCTION.format("masked_conv2d"),
            "mmcv/ops/psa_mask.py": MODULE.format("PSAMask")
            + FUNCTION.format("psa_mask")
            + "class PSAMaskFunction:\n    pass\n",
            "mmcv/ops/roiaware_pool3d.py": MODULE.format("RoIAwarePool3d"),
            "mmcv/ops/nms.py": FUNCTION.format("nms"),
            "a_program.py": "import mmcv.ops.psa_mask as module\n"
            "from mmcv.ops import BorderAlign, border_align, nms\n"
            "from mmcv.ops import MaskedConv2d as Conv\n"
            "from mmcv.ops.psa_mask import psa_mask\n"
            "made = BorderAlign()\n"
            "class Derived(Conv):\n    pass\n"
            "class Settings:\n    conv = Conv\n"
            "def build(kind=BorderAlign):\n    return kind\n"
            "registry = {'Border': BorderAlign}\n",
        },
    )
    return importlib.import_module("a_program")


def test_every_name_of_an_installed_mmcv_becomes_ours(full_mmcv):
    report = mluops.compat.mmcv.install()
    ops = importlib.import_module("mmcv.ops")
    for name in MMCV_NAMES:
        assert getattr(ops, name) is getattr(ours, name)
        assert f"mmcv.ops.{name}" in report.replaced
    assert sys.modules["mmcv.ops.masked_conv"].MaskedConv2d is ours.MaskedConv2d
    assert report.created == []


def test_other_operators_of_an_installed_mmcv_stay(full_mmcv):
    nms = full_mmcv.nms
    mluops.compat.mmcv.install()
    assert sys.modules["mmcv.ops"].nms is full_mmcv.nms is nms
    assert not hasattr(sys.modules["mmcv.ops"], "points_in_boxes_all")


def test_names_that_a_program_imported_before_become_ours(full_mmcv):
    report = mluops.compat.mmcv.install()
    assert full_mmcv.BorderAlign is ours.BorderAlign
    assert full_mmcv.Conv is ours.MaskedConv2d
    assert full_mmcv.border_align is ours.border_align
    assert full_mmcv.psa_mask is ours.psa_mask
    assert full_mmcv.module.PSAMask is ours.PSAMask
    assert sorted(place for place in report.rebound if place.startswith("a_program.")) == [
        "a_program.BorderAlign",
        "a_program.Conv",
        "a_program.border_align",
        "a_program.psa_mask",
    ]


def test_what_still_holds_an_original_is_reported(full_mmcv):
    left = mluops.compat.mmcv.install().left
    assert left.count("an instance of mmcv.ops.border_align.BorderAlign") == 1
    assert "a_program.Derived is a subclass" in left
    assert "a_program.Settings.conv is mmcv.ops.masked_conv.MaskedConv2d" in left
    assert "a default of a_program.build is mmcv.ops.border_align.BorderAlign" in left
    assert "item 'Border' of a dictionary is mmcv.ops.border_align.BorderAlign" in left


def test_the_module_psa_mask_is_reached_by_name_as_in_mmcv(full_mmcv):
    mluops.compat.mmcv.install()
    import mmcv.ops.psa_mask as module

    assert module.psa_mask is ours.psa_mask
    assert module.PSAMask is ours.PSAMask
    assert module.PSAMaskFunction.__module__ == "mmcv.ops.psa_mask"


def test_modules_saved_with_mmcv_load_as_ours(full_mmcv):
    kind = sys.modules["mmcv.ops"].RoIAwarePool3d
    original = kind()
    original.out_size, original.max_pts_per_voxel, original.mode = 1, 4, 0
    file = io.BytesIO(pickle.dumps(original))
    mluops.compat.mmcv.install()
    loaded = pickle.load(file)
    assert type(loaded) is ours.RoIAwarePool3d
    box = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]])
    assert loaded(box, torch.tensor([[0.0, 0, 1]]), torch.ones(1, 1)).item() == 1


def test_installing_twice_changes_nothing_more(full_mmcv):
    mluops.compat.mmcv.install()
    before = dict(vars(sys.modules["mmcv.ops"]))
    assert mluops.compat.mmcv.install() == Report()
    assert vars(sys.modules["mmcv.ops"]) == before


@pytest.mark.parametrize(
    "lite",
    [
        {},
        {"mmcv/ops/__init__.py": "import mmcv._ext\n"},
        {"mmcv/ops/__init__.py": "from . import nms\nimport mmcv._ext\n", "mmcv/ops/nms.py": ""},
    ],
    ids=["no operators", "no binary", "no binary, found late"],
)
def test_an_mmcv_without_operators_gets_ours(places, lite):
    write(
        places, {"mmcv/__init__.py": "here = 'mmcv-lite'\n", "mmcv/image.py": "value = 3\n", **lite}
    )
    report = mluops.compat.mmcv.install()
    from mmcv.image import value

    ops = importlib.import_module("mmcv.ops")
    assert (sys.modules["mmcv"].here, value) == ("mmcv-lite", 3)
    assert "mmcv" not in report.created and "mmcv.ops" in report.created
    assert all(getattr(ops, name) is getattr(ours, name) for name in MMCV_NAMES)
    assert mluops.compat.mmcv.install() == Report()


@pytest.fixture
def no_mmcv(places):
    if importlib.util.find_spec("mmcv") is not None:
        pytest.skip("there is an mmcv")
    return mluops.compat.mmcv.install()


def test_where_there_is_no_mmcv_one_is_made(no_mmcv):
    assert {"mmcv", "mmcv.utils", "mmcv.ops", "mmcv.ops.masked_conv"} <= set(no_mmcv.created)
    import mmcv.ops
    from mmcv.ops import BorderAlign
    from mmcv.ops.roiaware_pool3d import RoIAwarePool3d
    from mmcv.utils import IS_CUDA_AVAILABLE, IS_MLU_AVAILABLE

    assert BorderAlign is mmcv.ops.BorderAlign is ours.BorderAlign
    assert RoIAwarePool3d is ours.RoIAwarePool3d
    assert (torch.cuda.is_available(), False) == (IS_CUDA_AVAILABLE, IS_MLU_AVAILABLE)


def test_a_made_mmcv_has_a_spec_and_is_made_once(no_mmcv):
    for name in no_mmcv.created:
        assert importlib.util.find_spec(name).name == name
    assert mluops.compat.mmcv.install() == Report()


def test_a_made_mmcv_has_no_operators_but_those(no_mmcv):
    with pytest.raises(ImportError):
        from mmcv.ops import nms  # noqa: F401
    with pytest.raises(ImportError):
        import mmcv.cnn  # noqa: F401


def test_points_in_boxes_of_a_made_mmcv_are_the_points_that_roiaware_pool3d_pools(no_mmcv):
    from mmcv.ops import (
        RoIAwarePool3d,
        points_in_boxes_all,
        points_in_boxes_cpu,
        points_in_boxes_part,
    )

    boxes, points = cars()
    inside = points_in_boxes_all(points[None], boxes[None])
    pool = RoIAwarePool3d(1, 2, "max")
    expected = torch.stack(
        [pool(boxes, point[None], torch.ones(1, 1)).flatten() for point in points]
    ).to(torch.int32)
    assert inside.dtype == torch.int32 and 0 < expected.sum() < expected.numel()
    assert torch.equal(inside[0], expected)
    assert torch.equal(points_in_boxes_cpu(points[None], boxes[None]), inside)
    first = [next((index for index, hit in enumerate(row) if hit), -1) for row in expected.tolist()]
    part = points_in_boxes_part(points=points[None], boxes=boxes[None])
    assert part.dtype == torch.int32 and part[0].tolist() == first


def test_a_report_says_where_what_happened():
    report = Report(created=["mmcv"], rebound=["a.b", "c.d"])
    assert str(report) == "created: mmcv\nrebound: a.b, c.d"


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", ["full", "partly", "empty"])
def test_masked_conv2d_has_the_type_of_conv2d_under_autocast(bias, kind, monkeypatch):
    # The product itself is torch's, and bfloat16 is not every processor's.
    monkeypatch.setattr(
        masked_conv,
        "_product",
        lambda w, x, g: (
            w.flatten(1).bfloat16().sum(1, keepdim=True) * x.bfloat16().sum(0, keepdim=True)
        ),
    )
    conv = ours.MaskedConv2d(2, 3, 3, padding=1, bias=bias)
    features, mask = torch.randn(2, 2, 4, 4), torch.ones(2, 4, 4)
    if kind != "full":
        mask[0] = 0
    if kind == "empty":
        mask[1] = 0
    assert conv(features, mask).dtype == torch.bfloat16


def test_masked_conv2d_takes_an_empty_batch():
    conv = ours.MaskedConv2d(2, 3, 3, padding=1)
    assert conv(torch.zeros(0, 2, 5, 5), torch.zeros(0, 5, 5)).shape == (0, 3, 5, 5)


@pytest.mark.parametrize("options", [{"stride": 0}, {"dilation": 0}, {"padding": -3}])
def test_masked_conv2d_refuses_what_conv2d_refuses(options):
    with pytest.raises(AssertionError):
        ours.masked_conv2d(
            torch.zeros(1, 1, 4, 4), torch.zeros(1, 4, 4), torch.zeros(1, 1, 3, 3), **options
        )


def test_masked_conv2d_refuses_a_bias_of_another_size():
    with pytest.raises(AssertionError):
        ours.masked_conv2d(
            torch.zeros(1, 1, 4, 4), torch.zeros(1, 4, 4), torch.zeros(3, 1, 1, 1), torch.zeros(1)
        )


def test_masked_conv2d_of_halves():
    features, mask = torch.randn(1, 2, 5, 5), torch.ones(1, 5, 5)
    weight = torch.randn(3, 2, 3, 3)
    expected = ours.masked_conv2d(features.half().float(), mask, weight.half().float(), padding=1)
    actual = ours.masked_conv2d(features.half(), mask, weight.half(), padding=1)
    assert actual.dtype == torch.float16
    assert torch.equal(actual, expected.half())


def test_many_images_are_told_apart_with_boxes_of_halves():
    boxes = [torch.zeros(1, 4, dtype=torch.float16) for _ in range(2100)]
    from mluops.torch.functional import _boxes_as_rois

    assert len(set(_boxes_as_rois(boxes)[:, 0].tolist())) == 2100
