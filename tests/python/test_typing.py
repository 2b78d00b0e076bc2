# SPDX-License-Identifier: Apache-2.0
"""Type annotations, as mypy and a user's editor see them."""

import ast
import inspect
import pathlib
import subprocess
import sys

import mluops
import pytest

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
    first: dict = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.FunctionDef):
            first.setdefault(node.name, node.args)
    for name in mluops.arrays.__all__:
        real = getattr(mluops.arrays, name)
        if inspect.isclass(real):
            continue
        parameters = inspect.signature(real).parameters.values()
        assert [p.name for p in parameters if p.kind != p.KEYWORD_ONLY] == [
            argument.arg for argument in first[name].args
        ]
        assert [p.name for p in parameters if p.kind == p.KEYWORD_ONLY] == [
            argument.arg for argument in first[name].kwonlyargs
        ]


def test_every_public_name_has_a_docstring():
    for name in mluops.__all__:
        assert getattr(mluops, name).__doc__, name
