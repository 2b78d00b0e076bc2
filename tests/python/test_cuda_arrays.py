# SPDX-License-Identifier: Apache-2.0
"""The NumPy level with arrays on a CUDA device."""

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

import mluops
import numpy as np

CUDA = torch.device("cuda", torch.cuda.current_device())


def example():
    x = np.random.default_rng(1).standard_normal((1, 4, 3, 15)).astype(np.float32)
    return x, mluops.psamask_forward(x, 0, 3, 5)


def test_device_arrays_give_device_arrays():
    x, expected = example()
    result = mluops.psamask_forward(torch.from_numpy(x).to(CUDA), 0, 3, 5)
    assert isinstance(result, mluops.DeviceArray)
    assert np.array_equal(result.numpy(), expected)
    assert np.array_equal(torch.as_tensor(result, device=CUDA).cpu().numpy(), expected)
    assert np.array_equal(torch.from_dlpack(result).cpu().numpy(), expected)


def test_device_output_argument_is_filled():
    x, expected = example()
    y = torch.full(expected.shape, float("nan"), device=CUDA)
    mluops.psamask_forward(torch.from_numpy(x).to(CUDA), 0, 3, 5, y=y)
    assert np.array_equal(y.cpu().numpy(), expected)


class OnStream:
    """A tensor whose __cuda_array_interface__ names the stream that writes it."""

    def __init__(self, tensor, stream):
        self.__cuda_array_interface__ = {
            **tensor.__cuda_array_interface__,
            "stream": stream.cuda_stream,
        }


def test_call_waits_for_streams_of_its_arrays():
    x = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4)
    wanted = np.tile(np.float32([0.5, 1, 2, 2.5]), (1, 16, 1))
    features, source = torch.from_numpy(x).to(CUDA), torch.from_numpy(wanted).to(CUDA)
    boxes, late = torch.zeros_like(source), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(late):
        torch.cuda._sleep(100_000_000)  # some tens of milliseconds
        boxes.copy_(source)
    early = OnStream(features, torch.cuda.Stream())
    result = mluops.border_align_forward(early, OnStream(boxes, late), 2)
    for got, expected in zip(result, mluops.border_align_forward(x, wanted, 2)):
        assert np.array_equal(got.numpy(), expected)


class OnlyDlpack:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **arguments):
        return self.tensor.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_dlpack_device_inputs_are_accepted():
    x, expected = example()
    result = mluops.psamask_forward(OnlyDlpack(torch.from_numpy(x).to(CUDA)), 0, 3, 5)
    assert np.array_equal(result.numpy(), expected)


def test_cupy_arrays_are_accepted():
    cupy = pytest.importorskip("cupy")
    x, expected = example()
    result = mluops.psamask_forward(cupy.asarray(x), 0, 3, 5)
    assert np.array_equal(cupy.asnumpy(cupy.asarray(result)), expected)


def test_arrays_of_two_devices_raise():
    boxes = np.zeros((1, 1, 4), np.float32)
    with pytest.raises(mluops.BadParamError, match="one device"):
        mluops.border_align_forward(torch.zeros(1, 2, 2, 4, device=CUDA), boxes, 1)
    with pytest.raises(mluops.BadParamError, match="one device"):
        mluops.border_align_forward(
            np.zeros((1, 2, 2, 4), np.float32), torch.zeros(1, 1, 4, device=CUDA), 1
        )


def test_strided_device_arrays_raise():
    x = torch.zeros(1, 3, 4, 15, device=CUDA).transpose(1, 2)
    with pytest.raises(mluops.BadParamError, match="packed"):
        mluops.psamask_forward(x, 0, 3, 5)
