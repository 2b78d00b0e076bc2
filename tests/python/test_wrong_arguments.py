# SPDX-License-Identifier: Apache-2.0
"""Gives every argument of every public function a wrong type, rank, element type or device. Each
error is a TypeError or ValueError whose message names the function and the argument."""

import inspect

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


@pytest.mark.parametrize("function, name, wrong", wrong_calls())
def test_wrong_argument_is_named(function, name, wrong):
    with pytest.raises((TypeError, ValueError)) as caught:
        getattr(ours, function)(**{**CALLS[function], name: wrong})
    message = str(caught.value)
    assert function in message.partition(": ")[0], message
    on_devices = torch.is_tensor(wrong) and wrong.is_meta
    names = ("one device",) if on_devices else (name, PARTS.get(name, name))
    assert any(each in message for each in names), message


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
