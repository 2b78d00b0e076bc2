# SPDX-License-Identifier: Apache-2.0
"""mluops.compat.pcdet: OpenPCDet's names, signatures and box convention."""

import doctest
import io
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
from drop_ins import cars, randn
from mluops.compat import pcdet

UTILS = "pcdet.ops.roiaware_pool3d.roiaware_pool3d_utils"


@pytest.fixture
def clean():
    yield
    for name in [name for name in sys.modules if name == "pcdet" or name.startswith("pcdet.")]:
        del sys.modules[name]


def centred(boxes):
    boxes = boxes.clone()
    boxes[:, 2] += boxes[:, 5] / 2
    return boxes


def test_install_creates_the_module_and_is_idempotent(clean):
    assert UTILS in pcdet.install().created
    from pcdet.ops.roiaware_pool3d import roiaware_pool3d_utils as utils

    assert utils.RoIAwarePool3d is pcdet.RoIAwarePool3d
    assert str(pcdet.install()) == "nothing to do"


def test_install_replaces_the_names_of_an_installed_pcdet(clean):
    pcdet.install()
    module, original = sys.modules[UTILS], lambda points, boxes: None
    module.points_in_boxes_gpu = original
    user = type(sys)("user")
    user.test = original
    sys.modules["pcdet.user"] = user
    report = pcdet.install()
    assert f"{UTILS}.points_in_boxes_gpu" in report.replaced
    assert user.test is pcdet.points_in_boxes_gpu


@pytest.mark.parametrize("method", ["max", "avg"])
def test_pooling_equals_that_of_bottom_boxes_in_both_directions(method):
    boxes, points = cars()
    results = []
    for pool, rois, arguments in (
        (pcdet.RoIAwarePool3d((2, 3, 2), max_pts_each_voxel=8), centred(boxes), (method,)),
        (ours.RoIAwarePool3d((2, 3, 2), 8, method), boxes, ()),
    ):
        features = randn(60, 4).requires_grad_()
        pooled = pool(rois, points, features, *arguments)
        pooled.square().sum().backward()
        results.append((pooled, features.grad))
    assert results[0][0].abs().sum() > 0
    for a, b in zip(*results):
        assert torch.equal(a, b)


def by_definition(points, boxes):
    inside = np.zeros((len(boxes), len(points)), np.int32)
    for t, (cx, cy, cz, dx, dy, dz, yaw) in enumerate(boxes.double().tolist()):
        for m, (x, y, z) in enumerate(points.double().tolist()):
            along = (x - cx) * np.cos(yaw) + (y - cy) * np.sin(yaw)
            across = (y - cy) * np.cos(yaw) - (x - cx) * np.sin(yaw)
            inside[t, m] = abs(along) < dx / 2 and abs(across) < dy / 2 and abs(z - cz) <= dz / 2
    return inside


def test_points_in_boxes_equal_the_definition():
    boxes, points = cars()
    boxes = centred(boxes)
    expected = by_definition(points, boxes)
    assert 0 < expected.sum() < expected.size
    assert np.array_equal(pcdet.points_in_boxes_cpu(points, boxes).numpy(), expected)
    from_arrays = pcdet.points_in_boxes_cpu(points.numpy(), boxes.numpy())
    assert isinstance(from_arrays, np.ndarray) and np.array_equal(from_arrays, expected)
    first = pcdet.points_in_boxes_gpu(points[None], boxes[None])[0]
    inside = expected.any(0)
    assert (first.numpy()[~inside] == -1).all()
    assert np.array_equal(first.numpy()[inside], expected.argmax(0)[inside])


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8"])
def test_points_in_boxes_cpu_takes_integers(dtype):
    points, boxes = (
        np.array([[1, 1, 0], [5, 1, 0]], dtype),
        np.array([[1, 1, 0, 3, 3, 2, 0]], dtype),
    )
    for a, b in ((points, boxes), (points.astype("float32"), boxes), (points, boxes.astype("f8"))):
        assert pcdet.points_in_boxes_cpu(a, b).tolist() == [[1, 0]]
        tensors = torch.from_numpy(a), torch.from_numpy(b)
        assert pcdet.points_in_boxes_cpu(*tensors).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: pcdet.points_in_boxes_cpu([[0, 0, 0]], torch.zeros(1, 7)), TypeError, "points"),
        (
            lambda: pcdet.points_in_boxes_cpu(torch.zeros(1, 4), torch.zeros(1, 7)),
            ValueError,
            "M, 3",
        ),
        (
            lambda: pcdet.points_in_boxes_gpu(torch.zeros(2, 1, 3), torch.zeros(1, 1, 7)),
            ValueError,
            r"boxes.shape\[0\]",
        ),
        (
            lambda: pcdet.RoIAwarePool3d(1)(
                torch.zeros(1, 7), torch.zeros(1, 3), torch.zeros(1, 1), "min"
            ),
            ValueError,
            "pool_method",
        ),
    ],
)
def test_wrong_arguments_raise(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_boxes_in_double_keep_their_precision():
    points = torch.tensor([[500000.3, 0, 0]])
    x = points[0, 0].double() + 0.012  # in float: the point itself
    box = torch.tensor([[x, 0, 0, 0.02, 1, 1, 0]], dtype=torch.float64)
    assert pcdet.points_in_boxes_cpu(points, box).tolist() == [[0]]
    assert pcdet.points_in_boxes_gpu(points[None], box[None]).tolist() == [[-1]]


def test_docstring_examples_run():
    result = doctest.testmod(pcdet)
    assert result.failed == 0 and result.attempted > 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_boxes_are_not_rounded(dtype):
    """The bottom of the box, 20.625 - 0.8125 / 2 = 20.21875, is 20.25 in bfloat16."""
    boxes = torch.tensor([[10, 10, 20.625, 4, 2, 0.8125, 0.5]]).to(dtype)
    points = torch.rand(2000, 3, generator=torch.Generator().manual_seed(1)) * 3
    points += torch.tensor([8.5, 8.5, 18.5])
    expected = pcdet.points_in_boxes_cpu(points, boxes.float())
    assert expected.sum() > 0
    assert torch.equal(pcdet.points_in_boxes_cpu(points, boxes), expected)


def test_a_scripted_module_can_be_loaded():
    boxes, points = cars()
    inputs = (centred(boxes), points, randn(60, 4))
    module, file = pcdet.RoIAwarePool3d((2, 3, 2), max_pts_each_voxel=8), io.BytesIO()
    torch.jit.save(torch.jit.script(module), file)
    file.seek(0)
    assert torch.equal(torch.jit.load(file)(*inputs), module(*inputs))


def test_wrong_arguments_of_the_module_raise():
    with pytest.raises(ValueError, match="RoIAwarePool3d: out_size must be a number or 3 numbers"):
        pcdet.RoIAwarePool3d((4, 4))
    with pytest.raises(TypeError, match="RoIAwarePool3d: max_pts_each_voxel must be an integer"):
        pcdet.RoIAwarePool3d(4, "x")


def test_points_may_be_integers_and_arrays_that_torch_refuses():
    boxes, points = cars()
    boxes, points = centred(boxes), (points * 2).round()
    expected = pcdet.points_in_boxes_gpu(points[None], boxes[None])
    assert expected.max() >= 0
    assert torch.equal(pcdet.points_in_boxes_gpu(points[None].int(), boxes[None]), expected)
    array = points.numpy()
    expected = pcdet.points_in_boxes_cpu(array, boxes.numpy())
    backwards = pcdet.points_in_boxes_cpu(array[::-1], boxes.numpy())
    np.testing.assert_array_equal(backwards, expected[:, ::-1])
    for each in (array.astype(">f4"), np.frombuffer(array.tobytes(), np.float32).reshape(-1, 3)):
        np.testing.assert_array_equal(pcdet.points_in_boxes_cpu(each, boxes.numpy()), expected)
    with pytest.raises(TypeError, match="points_in_boxes_cpu: points must consist of numbers"):
        pcdet.points_in_boxes_cpu(array.astype(object), boxes.numpy())
