# SPDX-License-Identifier: Apache-2.0
"""Records calls with MLUOP_GEN_CASE, and replays them with the driver. NumPy reads the library's
files, and the driver reads NumPy's."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch

HERE = Path(__file__).resolve().parent
DRIVER = HERE.parent.parent / "build" / "mluop"
STEP = """
import sys, torch
from network import Network, batch
device = sys.argv[1]
network = Network().to(device)
loss = network(**{name: value.to(device) for name, value in batch(2).items()})
loss.backward()
print(repr(loss.item()))
"""
OPERATORS = {
    "border_align_nchw_backward",
    "border_align_nchw_forward",
    "masked_im2col_backward",
    "masked_im2col_forward",
    "psamask_nchw_backward",
    "psamask_nchw_forward",
    "psroipool_nchw_backward",
    "psroipool_nchw_forward",
    "roiaware_pool3d_backward",
    "roiaware_pool3d_forward",
    "torchvision_ps_roi_pool_backward",
    "torchvision_ps_roi_pool_forward",
}
# The five documents' functions, in the C layouts.
ARRAYS = """
import mluops, numpy
random = numpy.random.default_rng(0)
rand = lambda *shape: random.random(shape, dtype=numpy.float32)
pts, features = rand(50, 3), rand(50, 4)
masks = mluops.psamask_forward(rand(2, 5, 6, 3 * 5), 0, 3, 5)
mluops.psamask_backward(masks, 1, 3, 5)
rois = numpy.array([[0, 0, 0, 9, 7], [1, 2, 1, 5, 6]], numpy.float32)
mluops.psroipool_forward(rand(2, 8, 8, 12), rois, 2, 2, 0.5, 2, 3)
mluops.border_align_forward(rand(2, 8, 8, 12), 7 * rand(2, 5, 4), 4)
at = random.integers(-1, 8, 7, dtype=numpy.int32)
mluops.masked_im2col_forward(rand(1, 3, 8, 8), at, at, 3, 3, 1, 1)
box = numpy.array([[0.5, 0.5, 0, 1, 1, 1, 0.3]], numpy.float32)
pooled, argmax, indices = mluops.roiaware_pool3d_forward(box, pts, features, 0, 8, 2, 2, 2)
mluops.roiaware_pool3d_backward(indices, argmax, pooled, 0, 50)
"""
# The operators of mlu:0 in the training step and in ARRAYS.
ON_MLU = {"masked_im2col_forward", "roiaware_pool3d_backward"}
ARRAYS_ON_MLU = ON_MLU | {
    "border_align_forward",
    "psamask_backward",
    "psamask_forward",
    "psroipool_forward",
}
DEVICES = ["cpu"] + (["cuda:0"] if torch.cuda.is_available() else [])

pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="make build builds the driver")


def train(device, **variables):
    """Trains the toy network for one step in a separate process. Returns the loss."""
    return run(STEP, device, **variables)


def run(program, *arguments, **variables):
    """Runs a Python program in a separate process. Returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=HERE,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout


def mluop(*arguments, status=0):
    done = subprocess.run(
        [DRIVER, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module", params=DEVICES)
def recorded(request, tmp_path_factory):
    """The .txt files of a recorded training step."""
    folder = tmp_path_factory.mktemp("gen_case")
    loss = train(request.param, MLUOP_GEN_CASE="2", MLUOP_GEN_CASE_DIR=str(folder))
    assert loss == train(request.param)
    return sorted(folder.glob("*/*.txt"))


def test_training_step_records_every_operator(recorded):
    assert {path.parent.name for path in recorded} >= OPERATORS
    assert all(path.name.startswith(path.parent.name + "_") for path in recorded)


def test_numpy_reads_the_inputs(recorded):
    for path in recorded:
        with numpy.load(path.with_suffix(".npz")) as arrays:
            assert arrays.files
            for name in arrays.files:
                assert arrays[name].dtype in (numpy.float32, numpy.int32), (path, name)
                assert arrays[name].flags.c_contiguous
    (path,) = (path for path in recorded if path.parent.name == "roiaware_pool3d_forward")
    with numpy.load(path.with_suffix(".npz")) as arrays:
        assert sorted(arrays.files) == ["pts", "pts_feature", "rois"]
        assert arrays["pts"].shape == (50, 3)
        assert abs(arrays["pts"]).max() <= 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("command", ["check", "bitwise"])
def test_replay_agrees(recorded, command, device):
    output = mluop(command, "--device", device, "--file", *recorded)
    assert output.endswith(f"{len(recorded)} passed, 0 failed\n"), output


def test_replay_on_the_simulated_mlu(recorded):
    assert replay_each_on_mlu(recorded) == ON_MLU


def replay_each_on_mlu(files):
    """Replays every file on mlu:0. Returns the operators that it has; the others are refused."""
    supported = set()
    for path in files:
        done = subprocess.run(
            [DRIVER, "check", "--device", "mlu:0", "--file", path],
            capture_output=True,
            text=True,
            check=False,
        )
        if "not implemented on device mlu:0" in done.stderr:
            assert done.returncode == 2
            continue
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.endswith("1 passed, 0 failed\n"), done.stdout
        supported.add(path.parent.name)
    return supported


def test_calls_of_numpy_are_replayed_on_every_device(tmp_path):
    run(ARRAYS, MLUOP_GEN_CASE="2", MLUOP_GEN_CASE_DIR=str(tmp_path))
    files = sorted(tmp_path.glob("*/*.txt"))
    assert {path.parent.name for path in files} == ARRAYS_ON_MLU | {"roiaware_pool3d_forward"}
    for device in DEVICES:
        output = mluop("check", "--device", device, "--file", *files)
        assert output.endswith(f"{len(files)} passed, 0 failed\n"), output
    assert replay_each_on_mlu(files) == ARRAYS_ON_MLU


@pytest.mark.parametrize("device", DEVICES)
def test_perf_takes_recorded_calls(recorded, device):
    output = mluop("perf", "--device", device, "--seconds", "0.001", "--file", *recorded)
    assert "border_align_nchw_backward" in output


CASE = "masked_im2col_forward C=2 H=3 W=4 M=5 kernel_h=2 kernel_w=2 pad_h=0 pad_w=0"


def inputs():
    random = numpy.random.default_rng(1)
    return {
        "feature": random.random((1, 2, 3, 4), dtype=numpy.float32),
        "mask_h_idx": random.integers(-2, 5, 5, dtype=numpy.int32),
        "mask_w_idx": random.integers(-2, 5, 5, dtype=numpy.int32),
    }


@pytest.mark.parametrize("device", [*DEVICES, "mlu:0"])
@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed])
def test_load_takes_arrays_of_numpy(save, device, tmp_path):
    save(tmp_path / "x.npz", **inputs())
    load = ("check", "--device", device, "--load")
    assert "1 passed, 0 failed" in mluop(*load, tmp_path / "x.npz", CASE)
    half = {k: v.astype(numpy.float16) if v.dtype.kind == "f" else v for k, v in inputs().items()}
    save(tmp_path / "half.npz", **half)
    assert "1 passed, 0 failed" in mluop(*load, tmp_path / "half.npz", CASE + " dtype=half")


def test_load_uses_the_arrays(tmp_path):
    """Means of zeros are exact, means of random numbers are rounded."""
    case = "psroipool_forward N=1 H=7 W=7 R=1 pooled_height=1 pooled_width=1 spatial_scale=1 "
    case += "group_size=1 output_dim=20"
    rois = numpy.array([[0, 0, 0, 6, 6]], numpy.float32)
    random = numpy.random.default_rng(1).random((1, 7, 7, 20), dtype=numpy.float32)
    for feature, exact in ((numpy.zeros_like(random), True), (random, False)):
        numpy.savez(tmp_path / "x.npz", input=feature, rois=rois)
        text = mluop("check", "-v", "--load", tmp_path / "x.npz", case)
        assert ("diff1=0 " in text) == exact, text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"mask_h_idx": None},
            "must hold the inputs of masked_im2col_forward: feature, mask_h_idx",
        ),
        ({"other": numpy.zeros(3)}, "must hold only the inputs of masked_im2col_forward"),
        ({"mask_w_idx": numpy.zeros(5, numpy.int64)}, "mask_w_idx must have the type <i4, got <i8"),
        ({"feature": numpy.zeros((1, 2, 3, 4), ">f4")}, "feature must have the type <f4, got >f4"),
        ({"feature": numpy.zeros((2, 3, 4), numpy.float32)}, "feature.shape must be [1, 2, 3, 4]"),
        (
            {"feature": numpy.zeros((4, 3, 2, 1), numpy.float32).T},
            "feature must be in C order (numpy.ascontiguousarray), got Fortran order",
        ),
    ],
)
def test_other_arrays_are_refused(change, message, tmp_path):
    arrays = {name: array for name, array in {**inputs(), **change}.items() if array is not None}
    numpy.savez(tmp_path / "x.npz", **arrays)
    assert message in mluop("check", "--load", tmp_path / "x.npz", CASE, status=2)


def test_cut_and_damaged_files_are_refused(recorded, tmp_path):
    path = recorded[0]
    data = path.with_suffix(".npz").read_bytes()
    (tmp_path / "a.txt").write_text(path.read_text())
    assert "a.npz: must be a readable file" in mluop(
        "check", "--file", tmp_path / "a.txt", status=2
    )
    (tmp_path / "a.npz").write_bytes(data[: len(data) // 2])
    assert "a.npz: is not an .npz file, or is truncated" in mluop(
        "check", "--file", tmp_path / "a.txt", status=2
    )
    numpy.savez_compressed(tmp_path / "b.npz", **inputs())
    packed = bytearray((tmp_path / "b.npz").read_bytes())
    packed[200] ^= 0xFF
    (tmp_path / "b.npz").write_bytes(packed)
    assert "the file is damaged" in mluop("check", "--load", tmp_path / "b.npz", CASE, status=2)
