# SPDX-License-Identifier: Apache-2.0
"""mluops.compat.mmcv.install() replaces imported names, and creates missing modules."""

import importlib
import importlib.util
import io
import pickle
import sys

import pytest

torch = pytest.importorskip("torch")

import mluops.compat.mmcv
import mluops.torch as ours
from drop_ins import MMCV_NAMES, cars
from mluops.compat._install import Report


@pytest.fixture
def package_folder(monkeypatch, tmp_path):
    """A folder for packages. Removes its imports and all imports of mmcv after the test."""

    def is_ours(name):
        return name.partition(".")[0] in ("mmcv", "a_program")

    saved_modules = {name: module for name, module in sys.modules.items() if is_ours(name)}
    attributes = dict(vars(ours.psa_mask))
    for name in saved_modules:
        del sys.modules[name]
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if is_ours(name)]:
        del sys.modules[name]
    sys.modules.update(saved_modules)
    vars(ours.psa_mask).clear()
    vars(ours.psa_mask).update(attributes)


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    importlib.invalidate_caches()


MODULE_SOURCE = "import torch\nclass {0}(torch.nn.Module):\n    pass\n"
FUNCTION_SOURCE = "def {0}(*arguments):\n    raise RuntimeError('the original')\n"


@pytest.fixture
def full_mmcv(package_folder):
    """A package with the layout of mmcv, and a program that imports from it."""
    write(
        package_folder,
        {
            "mmcv/__init__.py": "",
            "mmcv/ops/__init__.py": "from .border_align import BorderAlign, border_align\n"
            "from .masked_conv import MaskedConv2d, masked_conv2d\n"
            "from .nms import nms\n"
            "from .psa_mask import PSAMask\n"
            "from .roiaware_pool3d import RoIAwarePool3d\n",
            "mmcv/ops/border_align.py": MODULE_SOURCE.format("BorderAlign")
            + FUNCTION_SOURCE.format("border_align"),
            "mmcv/ops/masked_conv.py": MODULE_SOURCE.format("MaskedConv2d")
            + FUNCTION_SOURCE.format("masked_conv2d"),
            "mmcv/ops/psa_mask.py": MODULE_SOURCE.format("PSAMask")
            + FUNCTION_SOURCE.format("psa_mask")
            + "class PSAMaskFunction:\n    pass\n",
            "mmcv/ops/roiaware_pool3d.py": MODULE_SOURCE.format("RoIAwarePool3d"),
            "mmcv/ops/nms.py": FUNCTION_SOURCE.format("nms"),
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


def test_install_replaces_every_name_of_mmcv(full_mmcv):
    report = mluops.compat.mmcv.install()
    ops = importlib.import_module("mmcv.ops")
    for name in MMCV_NAMES:
        assert getattr(ops, name) is getattr(ours, name)
        assert f"mmcv.ops.{name}" in report.replaced
    assert sys.modules["mmcv.ops.masked_conv"].MaskedConv2d is ours.MaskedConv2d
    assert report.created == []


def test_install_keeps_other_operators_of_mmcv(full_mmcv):
    nms = full_mmcv.nms
    mluops.compat.mmcv.install()
    assert sys.modules["mmcv.ops"].nms is full_mmcv.nms is nms
    assert not hasattr(sys.modules["mmcv.ops"], "points_in_boxes_all")


def test_install_replaces_names_imported_before(full_mmcv):
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


def test_install_reports_remaining_originals(full_mmcv):
    left = mluops.compat.mmcv.install().left
    assert left.count("an instance of mmcv.ops.border_align.BorderAlign") == 1
    assert "a_program.Derived is a subclass" in left
    assert "a_program.Settings.conv is mmcv.ops.masked_conv.MaskedConv2d" in left
    assert "a default of a_program.build is mmcv.ops.border_align.BorderAlign" in left
    assert "item 'Border' of a dictionary is mmcv.ops.border_align.BorderAlign" in left


def test_psa_mask_module_is_found_by_name_as_in_mmcv(full_mmcv):
    mluops.compat.mmcv.install()
    import mmcv.ops.psa_mask as module

    assert module.psa_mask is ours.psa_mask
    assert module.PSAMask is ours.PSAMask
    assert module.PSAMaskFunction.__module__ == "mmcv.ops.psa_mask"


def test_modules_pickled_with_mmcv_load_as_mluops(full_mmcv):
    kind = sys.modules["mmcv.ops"].RoIAwarePool3d
    original = kind()
    original.out_size, original.max_pts_per_voxel, original.mode = 1, 4, 0
    file = io.BytesIO(pickle.dumps(original))
    mluops.compat.mmcv.install()
    loaded = pickle.load(file)
    assert type(loaded) is ours.RoIAwarePool3d
    box = torch.tensor([[0.0, 0, 0, 2, 2, 2, 0]])
    assert loaded(box, torch.tensor([[0.0, 0, 1]]), torch.ones(1, 1)).item() == 1


def test_second_install_changes_nothing(full_mmcv):
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
def test_install_adds_operators_to_mmcv_without_them(package_folder, lite):
    write(
        package_folder,
        {"mmcv/__init__.py": "here = 'mmcv-lite'\n", "mmcv/image.py": "value = 3\n", **lite},
    )
    report = mluops.compat.mmcv.install()
    from mmcv.image import value

    ops = importlib.import_module("mmcv.ops")
    assert (sys.modules["mmcv"].here, value) == ("mmcv-lite", 3)
    assert "mmcv" not in report.created and "mmcv.ops" in report.created
    assert all(getattr(ops, name) is getattr(ours, name) for name in MMCV_NAMES)
    assert mluops.compat.mmcv.install() == Report()


@pytest.fixture
def no_mmcv(package_folder):
    if importlib.util.find_spec("mmcv") is not None:
        pytest.skip("mmcv is installed")
    return mluops.compat.mmcv.install()


def test_install_creates_mmcv_if_missing(no_mmcv):
    assert {"mmcv", "mmcv.utils", "mmcv.ops", "mmcv.ops.masked_conv"} <= set(no_mmcv.created)
    import mmcv.ops
    from mmcv.ops import BorderAlign
    from mmcv.ops.roiaware_pool3d import RoIAwarePool3d
    from mmcv.utils import IS_CUDA_AVAILABLE, IS_MLU_AVAILABLE

    assert BorderAlign is mmcv.ops.BorderAlign is ours.BorderAlign
    assert RoIAwarePool3d is ours.RoIAwarePool3d
    assert (torch.cuda.is_available(), False) == (IS_CUDA_AVAILABLE, IS_MLU_AVAILABLE)


def test_created_mmcv_has_a_spec_and_is_created_once(no_mmcv):
    for name in no_mmcv.created:
        assert importlib.util.find_spec(name).name == name
    assert mluops.compat.mmcv.install() == Report()


def test_created_mmcv_has_no_other_operators(no_mmcv):
    with pytest.raises(ImportError):
        from mmcv.ops import nms  # noqa: F401
    with pytest.raises(ImportError):
        import mmcv.cnn  # noqa: F401


def test_points_in_boxes_of_created_mmcv_agree_with_roiaware_pool3d(no_mmcv):
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


def test_report_lists_replaced_names():
    report = Report(created=["mmcv"], rebound=["a.b", "c.d"])
    assert str(report) == "created: mmcv\nrebound: a.b, c.d"
