# SPDX-License-Identifier: Apache-2.0
"""Gives every argument of every public function a wrong type, rank, element type or device. Each
error is a TypeError or ValueError whose message names the function and the argument."""

import inspect
import pathlib
import subprocess
import sys

import numpy
import pytest

torch = pytest.importorskip("torch")

import drop_ins
import mluops
import mluops.torch as ours

CALLS = drop_ins.function_calls()
FUNCTIONS = [name for name in ours.__all__ if inspect.isfunction(getattr(ours, name))]
# The docstrings describe these arguments as pairs with these first elements.
PARTS = {"mask_size": "h_mask", "output_size": "pooled_height"}


def wrong_values(name, value):
    """Yields wrong values of an argument, by kind."""
    if isinstance(value, torch.Tensor):
        yield "array", numpy.zeros(tuple(value.shape), numpy.float32)
        yield "list", value.tolist()
        yield "rank", value[(None,) * 3]
        yield "1-d", value.flatten()[:, None].expand(-1, 2).flatten()
        yield "0-d", value.flatten()[0]
        yield "number", 3.5
        yield "complex", value.to(torch.complex64)
        yield "device", value.to("meta")
    elif isinstance(value, str):
        yield "word", "neither"
        yield "kind", 3.5
    elif isinstance(value, bool):
        return
    else:
        yield "string", "three"
        yield "none", None
        yield "negative", -1
        if isinstance(value, int):
            yield "fraction", 3.5
        if isinstance(value, tuple):
            yield "fractions", (3.5,) * len(value)
            yield "length", value * 3


def wrong_calls():
    for function in FUNCTIONS:
        for name, value in CALLS[function].items():
            tensors = sum(torch.is_tensor(each) for each in CALLS[function].values())
            for kind, wrong in wrong_values(name, value):
                if kind == "device" and tensors == 1:
                    continue  # meta is a device like any other
                yield pytest.param(function, name, wrong, id=f"{function}-{name}-{kind}")


def test_every_public_function_is_called_with_every_argument():
    for function in FUNCTIONS:
        parameters = inspect.signature(getattr(ours, function)).parameters
        assert list(CALLS[function]) == list(parameters), function
        getattr(ours, function)(**CALLS[function])


def complaint(function, name, wrong):
    """Returns what is wrong with the error of the call, or ""."""
    try:
        getattr(ours, function)(**{**CALLS[function], name: wrong})
    except (TypeError, ValueError) as error:
        message = str(error)
    except Exception as error:
        return f"{function}, {name}: {error!r}"
    else:
        return f"{function}, {name}: accepted"
    on_devices = torch.is_tensor(wrong) and wrong.is_meta
    names = ("one device",) if on_devices else (name, PARTS.get(name, name))
    is_named = function in message.partition(": ")[0] and any(each in message for each in names)
    return "" if is_named else f"{function}, {name}: {message}"


@pytest.mark.parametrize("function, name, wrong", list(wrong_calls()))
def test_wrong_argument_is_named(function, name, wrong):
    assert complaint(function, name, wrong) == ""


def test_wrong_arguments_are_named_under_python_o():
    code = (
        "import test_wrong_arguments as tests\n"
        "found = [tests.complaint(*each.values) for each in tests.wrong_calls()]\n"
        "raise SystemExit('\\n'.join(filter(None, found)) or 0 if len(found) > 100 else 'too few')"
    )
    folder = pathlib.Path(__file__).parent
    run = subprocess.run([sys.executable, "-O", "-c", code], cwd=folder, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()


@pytest.mark.parametrize(
    "boxes, message",
    [
        ([torch.zeros(1, 4, dtype=torch.complex64)], "boxes[0] must be real, got torch.complex64"),
        ([torch.zeros(1, 4), torch.zeros(1, 4, device="meta")], "boxes must be on one device, got"),
        ([torch.zeros(1, 4), torch.zeros(4)], "boxes[1] must have shape [L, 4], got shape [4]"),
        ([torch.zeros(1, 4), None], "boxes[1] must be a torch.Tensor, got NoneType"),
    ],
    ids=["complex", "devices", "rank", "none"],
)
def test_wrong_lists_of_boxes_raise(boxes, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        ours.ps_roi_pool(torch.zeros(2, 4, 3, 3), boxes, 2)
    assert str(caught.value).startswith(f"ps_roi_pool: {message}")


def test_more_lists_of_boxes_than_images_raise():
    with pytest.raises(ValueError, match=r"at most input.shape\[0\] = 1 tensors, got 2"):
        ours.ps_roi_pool(torch.zeros(1, 4, 3, 3), [torch.zeros(1, 4)] * 2, 2)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_masked_conv2d_of_integers_raises(device):
    call = {**CALLS["masked_conv2d"]}
    for name in ("features", "weight", "bias"):
        call[name] = call[name].int()
    call = {k: v.to(device) if torch.is_tensor(v) else v for k, v in call.items()}
    with pytest.raises(mluops.BadParamError, match="features must be a floating-point tensor"):
        ours.masked_conv2d(**call)
