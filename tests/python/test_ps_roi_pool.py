# SPDX-License-Identifier: Apache-2.0
"""ps_roi_pool with the semantics of torchvision, and installed into torchvision."""

import importlib
import sys

import pytest

torch = pytest.importorskip("torch")

import mluops.compat.torchvision
import mluops.torch as ours
from drop_ins import randn


def rois(count, images, size):
    """Inside and outside, inverted and empty boxes."""
    generator = torch.Generator().manual_seed(11)
    boxes = torch.rand(count, 4, generator=generator) * 3 * size - size
    boxes[::3, 2:] = boxes[::3, :2] + torch.rand(len(boxes[::3]), 2, generator=generator) * size
    boxes[1::7, 2:] = boxes[1::7, :2]
    boxes[2::7] = boxes[2::7].round() + 0.5
    batch = torch.randint(images, (count, 1), generator=generator).float()
    return torch.cat([batch, boxes], dim=1)


def test_list_of_boxes_equals_tensor_with_batch_column():
    x = randn(3, 8, 6, 7)
    boxes = torch.tensor([[0.0, 0, 4, 5], [1, 2, 6, 3], [2, 1, 3, 6]]).repeat(3, 1)
    parts = [boxes[:4], boxes[4:4], boxes[4:]]
    batch = torch.tensor([0.0] * 4 + [2.0] * 5)[:, None]
    expected = ours.ps_roi_pool(x, torch.cat([batch, boxes], dim=1), 2)
    assert torch.equal(ours.ps_roi_pool(x, parts, 2), expected)
    assert torch.equal(ours.ps_roi_pool(x, tuple(parts), 2), expected)
    assert torch.equal(ours.PSRoIPool(2, 1.0)(x, parts), expected)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_ps_roi_pool_can_be_scripted():
    scripted = torch.jit.script(ours.ps_roi_pool)
    x, boxes = randn(2, 8, 6, 7).requires_grad_(), rois(9, 2, 7)
    expected, actual = ours.ps_roi_pool(x, boxes, 2, 0.5), scripted(x, boxes, 2, 0.5)
    assert torch.equal(actual, expected)
    grads = [torch.autograd.grad(y.square().sum(), x)[0] for y in (actual, expected)]
    assert torch.equal(*grads)


def test_ps_roi_pool_is_one_torch_fx_node():
    module = ours.PSRoIPool((2, 4), 0.5)
    traced = torch.fx.symbolic_trace(module)
    called = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert called == [ours.ps_roi_pool]
    x, boxes = randn(2, 8, 6, 7), rois(9, 2, 7)
    assert torch.equal(traced(x, boxes), module(x, boxes))


def test_unknown_semantics_raises_value_error():
    with pytest.raises(ValueError, match="semantics"):
        ours.ps_roi_pool(randn(1, 4, 3, 3), torch.zeros(1, 5), 2, semantics="caffe")


@pytest.fixture
def torchvision():
    """torchvision; its operators are restored after the test."""
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
def test_installed_ps_roi_pool_is_bitwise_equal_to_torchvision(torchvision, shape, bins, scale):
    original = torchvision.ops.ps_roi_pool
    mluops.compat.torchvision.install()
    installed = torchvision.ops.ps_roi_pool
    assert installed is ours.ps_roi_pool is not original
    x, boxes = randn(*shape), rois(64, shape[0], max(shape[2:]) / scale)
    for form in (boxes, [boxes[index :: shape[0], 1:] for index in range(shape[0])]):
        expected, actual = original(x, form, bins, scale), installed(x, form, bins, scale)
        assert torch.equal(actual.view(torch.int32), expected.view(torch.int32))
        assert actual.stride() == expected.stride()


def test_install_into_torchvision_reports_and_runs_once(torchvision):
    before = torchvision.ops.PSRoIPool(2, 1.0)
    report = mluops.compat.torchvision.install()
    assert "torchvision.ops.PSRoIPool" in report.replaced
    assert "torchvision.ops.ps_roi_pool.ps_roi_pool" in report.replaced
    assert "an instance of torchvision.ops.ps_roi_pool.PSRoIPool" in report.left
    assert repr(torchvision.ops.PSRoIPool(2, 1.0)) == repr(before)
    assert torchvision.ops.PSRoIPool is ours.PSRoIPool
    assert str(mluops.compat.torchvision.install()) == "nothing to do"


def test_installed_pool_is_a_leaf_for_torchvision_feature_extraction(torchvision):
    extraction = pytest.importorskip("torchvision.models.feature_extraction")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.pool = torchvision.ops.PSRoIPool(2, 1.0)

        def forward(self, x, boxes):
            return self.pool(x, boxes)

    mluops.compat.torchvision.install()
    assert extraction.get_graph_node_names(Net()) == (["x", "boxes", "pool"],) * 2


def test_half_boxes_keep_batch_indices_of_many_images():
    boxes = [torch.zeros(1, 4, dtype=torch.float16) for _ in range(2100)]
    import importlib

    _boxes_as_rois = importlib.import_module("mluops.torch.ps_roi_pool")._boxes_as_rois

    assert len(set(_boxes_as_rois(boxes, 2100)[:, 0].tolist())) == 2100


@pytest.mark.parametrize("semantics", ["torchvision", "rfcn"])
def test_no_rois_give_an_empty_result(semantics):
    y = ours.ps_roi_pool(torch.zeros(1, 4, 3, 3), torch.zeros(0, 5), 2, semantics=semantics)
    assert y.shape == (0, 1, 2, 2)


def test_module_checks_and_shows_its_arguments():
    assert repr(ours.PSRoIPool(2, 0.5)) == "PSRoIPool(output_size=2, spatial_scale=0.5)"
    module = ours.PSRoIPool(2, 0.5, semantics="rfcn", validate=True)
    assert repr(module).endswith("spatial_scale=0.5, semantics='rfcn', validate=True)")
    with pytest.raises(ValueError, match=r"boxes\[0, 0\] must be in \[0, 1\)"):
        module(torch.zeros(1, 4, 3, 3), torch.tensor([[1.0, 0, 0, 1, 1]]))
    for size, error in (("x", ValueError), ((2, 3, 4), ValueError), (2.5, TypeError)):
        with pytest.raises(error, match="PSRoIPool: output_size must"):
            ours.PSRoIPool(size, 1.0)
    with pytest.raises(ValueError, match="PSRoIPool: semantics must"):
        ours.PSRoIPool(2, 1.0, semantics="other")


@pytest.mark.parametrize("semantics", ["torchvision", "rfcn"])
def test_number_of_channels_must_fit_the_output_size(semantics):
    message = r"^ps_roi_pool: input.shape\[1\] must be a positive multiple of output_size\[0\]\*"
    for channels in (0, 8):
        message_of_count = rf"{message}output_size\[1\] = 9, got {channels}"
        with pytest.raises(ValueError, match=message_of_count):
            x, rois = torch.zeros(1, channels, 3, 3), torch.zeros(1, 5)
            ours.ps_roi_pool(x, rois, 3, semantics=semantics)


def test_validate_reads_batch_indices_as_the_operator_does():
    x, rois = torch.ones(1, 1, 3, 3), torch.tensor([[-0.5, 0, 0, 2, 2]])
    assert ours.ps_roi_pool(x, rois, 1, validate=True).item() == 1
    with pytest.raises(ValueError, match="got nan"):
        ours.ps_roi_pool(x, rois.fill_(float("nan")), 1, validate=True)
