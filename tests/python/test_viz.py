# SPDX-License-Identifier: Apache-2.0
"""mluops.viz: axes, labels, files. The test file of each family compares its pictures with the
operator: viz uses backward operators, the tests use forward ones."""

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.figure
from mluops import viz


@pytest.mark.parametrize("name", sorted(viz.PICTURES))
def test_labels_do_not_overlap(name):
    size, draw = viz.PICTURES[name]
    figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
    draw(figure)
    figure.draw_without_rendering()
    for ax in figure.axes:
        legend = ax.get_legend()
        texts = [
            *ax.texts,
            ax.title,
            ax.xaxis.label,
            ax.yaxis.label,
            *(legend.get_texts() if legend else ()),
        ]
        boxes = [
            text.get_window_extent().shrunk(0.9, 0.8)
            for text in texts
            if text.get_text() and not text.get_rotation() % 90
        ]
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:i]), (name, i)


def test_doctests():
    for module in pkgutil.iter_modules(viz.__path__):
        if not module.name.startswith("_"):
            result = doctest.testmod(importlib.import_module(f"mluops.viz.{module.name}"))
            assert result.failed == 0 and result.attempted > 0, module.name


def test_pictures_are_the_same_bytes_each_time(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "mluops.viz", str(tmp_path / "a")],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "red"}):  # a user's settings
        here = viz.write_pictures(tmp_path / "b")
    assert [path.name for path in here] == [f"{name}.svg" for name in viz.PICTURES]
    assert len(run.stdout.splitlines()) == len(here)
    for path in here:
        content = path.read_bytes()
        assert content == (tmp_path / "a" / path.name).read_bytes()
        assert b"<dc:date>" not in content and len(content) < 100_000


def test_missing_matplotlib_raises_with_message():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from mluops import viz\n"
        "viz.psroipool_bins((0, 0, 1, 1), (4, 4), 2)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.rstrip().endswith(
        "ImportError: mluops.viz needs matplotlib: pip install matplotlib"
    )


@pytest.mark.parametrize("option, status", [("--help", 0), ("--nosuch", 2)])
@pytest.mark.parametrize("module", ["mluops.viz", "mluops.onnx"])
def test_programs_take_no_options_as_folders(module, option, status, tmp_path):
    if module == "mluops.onnx":
        pytest.importorskip("torch")
    command = [sys.executable, "-m", module, option]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == status
    assert f"usage: python -m {module}" in run.stdout + run.stderr
    assert not list(tmp_path.iterdir())
