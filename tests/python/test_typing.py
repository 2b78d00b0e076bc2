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
ARRAYS = pathlib.Path(mluops.arrays.__file__).parent


def mypy(*files):
    pytest.importorskip("mypy")
    pytest.importorskip("torch")
    options = ["--strict", "--no-incremental", "--follow-imports=silent", "--cache-dir=/dev/null"]
    run = [sys.executable, "-m", "mypy", *options, *(str(HERE / file) for file in files)]
    return subprocess.run(run, capture_output=True, text=True)


def test_mypy_strict_accepts_a_user_script():
    result = mypy("typed_script.py")
    assert result.returncode == 0, result.stdout


def test_mypy_strict_accepts_and_refuses_calls_of_the_numpy_level():
    """Each wrong call ignores the one error that it must give; an unused comment is an error."""
    result = mypy("typed_calls.py")
    assert result.returncode == 0, result.stdout


def stub_signatures():
    """Returns the arguments of every overload in the stubs, by function."""
    found: dict = {}
    for stub in ARRAYS.glob("[a-z]*.pyi"):
        for node in ast.parse(stub.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append(node.args)
    return found


def test_stubs_have_the_arguments_of_the_functions():
    stubs = stub_signatures()
    for name in mluops.arrays.__all__:
        real = getattr(mluops.arrays, name)
        if inspect.isclass(real) or name.endswith("num_threads"):
            continue
        parameters = inspect.signature(real).parameters.values()
        assert len(stubs[name]) == (1 if name.endswith("workspace_size") else 3), name
        for arguments in stubs.pop(name):
            assert [p.name for p in parameters if p.kind != p.KEYWORD_ONLY] == [
                argument.arg for argument in arguments.args
            ]
            assert [p.name for p in parameters if p.kind == p.KEYWORD_ONLY] == [
                argument.arg for argument in arguments.kwonlyargs
            ]
            assert not arguments.vararg and not arguments.kwarg, name
    assert not stubs


def test_every_public_name_has_a_docstring():
    for name in mluops.__all__:
        assert getattr(mluops, name).__doc__, name
