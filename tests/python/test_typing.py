# SPDX-License-Identifier: Apache-2.0
"""Type annotations, as mypy and a user's editor see them."""

import inspect
import pathlib
import subprocess
import sys

import pytest

import mluops

HERE = pathlib.Path(__file__).parent


def test_mypy_strict_accepts_a_user_script():
    pytest.importorskip("mypy")
    pytest.importorskip("torch")
    result = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent"]
        + ["--cache-dir=/dev/null", str(HERE / "typed_script.py")],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout


def test_stub_lists_the_functions_with_their_arguments():
    """arrays/__init__.pyi has the signatures of the functions."""
    stub = (pathlib.Path(mluops.__file__).parent / "arrays" / "__init__.pyi").read_text()
    namespace: dict = {}
    plain = stub.replace("from ._device import", "from mluops.arrays._device import")
    exec(compile(plain.replace("@overload\n", ""), "stub", "exec"), namespace)
    for name in mluops.arrays.__all__:
        real = getattr(mluops.arrays, name)
        if inspect.isclass(real):
            continue
        ours, theirs = (inspect.signature(f).parameters for f in (real, namespace[name]))
        assert list(ours) == list(theirs), name
        for parameter, other in zip(ours.values(), theirs.values()):
            assert parameter.kind == other.kind
            assert (parameter.default is inspect._empty) == (other.default is inspect._empty)


def test_help_shows_no_internals():
    for name in mluops.__all__:
        assert getattr(mluops, name).__doc__, name
