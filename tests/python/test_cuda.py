# SPDX-License-Identifier: Apache-2.0
"""Tensors on a CUDA device: results, streams, graphs and compilation."""

import copy
import threading

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

import drop_ins
import mluops
import numpy as np
import samples
from mluops.torch import MaskedConv2d, border_align, psa_mask
from network import Network, batch

CUDA = torch.device("cuda", torch.cuda.current_device())
# Copies and indices are equal; sums are close.
EXACT = ("psa_mask", "masked_im2col", "masked_col2im")


def to(value, device):
    return value.to(device) if isinstance(value, torch.Tensor) else value


def on_cuda(arguments):
    return [to(value, CUDA) for value in arguments]


def results(name, device, dtype=torch.float32):
    operator, arguments = samples.make(dtype)[name]
    return samples.outputs_of(operator(*(to(value, device) for value in arguments)))


def assert_same(name, expected, actual):
    for a, b in zip(expected, actual):
        assert b.is_cuda and a.dtype == b.dtype and a.stride() == b.stride()
        exact = not a.is_floating_point() or (name.startswith(EXACT) and "backward" not in name)
        tolerance = 0 if exact else 2e-3 if a.dtype == torch.float16 else 1e-5
        assert torch.allclose(a, b.cpu(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", samples.NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_results_equal_cpu(name, dtype):
    tolerance = {torch.bfloat16: 1e-2}.get(dtype)
    expected, actual = results(name, "cpu", dtype), results(name, CUDA, dtype)
    if tolerance is None:
        assert_same(name, expected, actual)
    for a, b in zip(expected, actual):
        assert torch.allclose(a.float(), b.cpu().float(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", samples.NAMES)
def test_deterministic_algorithms_repeat_bits(name):
    torch.use_deterministic_algorithms(True)
    try:
        first = results(name, CUDA)
        for _ in range(5):
            assert all(torch.equal(a, b) for a, b in zip(first, results(name, CUDA)))
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("name", samples.NAMES)
def test_work_runs_on_the_current_stream(name):
    operator, arguments = samples.make()[name]
    arguments = on_cuda(arguments)
    expected = samples.outputs_of(operator(*arguments))
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)  # tens of milliseconds
        actual = samples.outputs_of(operator(*arguments))
        assert not stream.query()  # the call did not wait
    stream.synchronize()
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(expected, actual))


@pytest.mark.parametrize("name", samples.NAMES)
def test_captured_graph_replays_with_other_values(name):
    operator, arguments = samples.make()[name]
    arguments, at = on_cuda(arguments), samples.features_of(arguments)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # scratch grows before the capture
        operator(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = samples.outputs_of(operator(*arguments))
    arguments[at].mul_(-2)
    graph.replay()
    torch.cuda.synchronize()
    expected = samples.outputs_of(operator(*arguments))
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(expected, captured))


@pytest.mark.skipif(not hasattr(torch.library, "opcheck"), reason="opcheck needs torch 2.4")
@pytest.mark.parametrize("name", samples.NAMES)
def test_opcheck(name):
    operator, arguments = samples.make()[name]
    arguments = on_cuda(arguments)
    torch.library.opcheck(operator, tuple(arguments))
    at = samples.features_of(arguments)
    arguments[at] = arguments[at].requires_grad_()
    torch.library.opcheck(operator, tuple(arguments))


def test_network_trains_as_on_cpu():
    network, inputs = Network(), batch(2)
    loss = network(**inputs)
    loss.backward()
    twin = copy.deepcopy(network).to(CUDA)
    twin.zero_grad()
    other = twin(**{key: to(value, CUDA) for key, value in inputs.items()})
    other.backward()
    assert torch.allclose(loss, other.cpu(), rtol=1e-4)
    for a, b in zip(network.parameters(), twin.parameters()):
        assert torch.allclose(a.grad, b.grad.cpu(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_network_equals_eager(backend):
    network = Network().to(CUDA)
    inputs = {key: to(value, CUDA) for key, value in batch(2).items()}
    expected = network(**inputs)
    actual = torch.compile(network, backend=backend)(**inputs)
    actual.backward()
    assert torch.allclose(actual, expected, rtol=1e-3)


def test_autocast_runs_in_half_if_supported():
    x = torch.randn(1, 16, 9, 9, device=CUDA, requires_grad=True)
    boxes = torch.tensor([[[0.0, 0, 5, 5], [1, 2, 8, 7]]], device=CUDA)
    with torch.autocast("cuda"):
        features = torch.nn.functional.conv2d(x, torch.randn(16, 16, 1, 1, device=CUDA))
        half = border_align(features, boxes, 5)
        mask = psa_mask(torch.randn(1, 15, 4, 3, device=CUDA), 0, (3, 5))
    assert features.dtype == half.dtype == torch.float16
    assert mask.dtype == torch.float32
    half.float().sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()


def test_threads_use_separate_streams_and_handles():
    network, inputs = Network().to(CUDA).eval(), batch(2)
    inputs = {key: to(value, CUDA) for key, value in inputs.items()}
    expected, failures = network(**inputs).detach(), []

    def run():
        with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
            for _ in range(20):
                if not torch.allclose(network(**inputs), expected, rtol=1e-4):
                    failures.append("differs")
        torch.cuda.current_stream().synchronize()

    torch.cuda.synchronize()
    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("name", sorted(drop_ins.module_calls()))
def test_drop_ins_and_gradients_equal_cpu(name):
    module, arguments, at = drop_ins.module_calls()[name]
    gradients = []
    for device in ("cpu", CUDA):
        inputs = [to(value, device) for value in arguments]
        x = inputs[at] = inputs[at].detach().requires_grad_()
        y = module.to(device)(*inputs)
        y.backward(torch.ones_like(y))
        gradients.append((y.detach().cpu(), x.grad.cpu()))
    for a, b in zip(*gradients):
        assert torch.allclose(a, b, atol=1e-4)


def test_masked_conv2d_equals_cpu():
    module, features = MaskedConv2d(3, 4, 3, padding=1), torch.randn(1, 3, 6, 5)
    mask = torch.rand(1, 6, 5) > 0.5
    expected = module(features, mask)
    actual = module.to(CUDA)(features.to(CUDA), mask.to(CUDA))
    assert torch.allclose(expected, actual.cpu(), atol=1e-4)


MASK_SHARES = [0.0, 0.1, 0.5, 1.0]


def conv_call(share, dtype, last=False, n=2):
    """Returns a module, features and a mask with this share of positive values."""
    torch.manual_seed(4)
    module = MaskedConv2d(40, 70, (3, 2), padding=(1, 0), stride=(1, 2)).to(CUDA, dtype)
    x = torch.randn(n, 40, 33, 36, device=CUDA, dtype=dtype)
    x = x.contiguous(memory_format=torch.channels_last) if last else x
    return module, x, (torch.rand(n, 33, 18, device=CUDA) < share).to(dtype)


def dense_conv(module, x, mask):
    """Returns the same in double."""
    arguments = (module.stride, module.padding)
    weights = module.weight.double(), module.bias.double()
    return torch.nn.functional.conv2d(x.double(), *weights, *arguments) * mask[:, None].double()


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("share", MASK_SHARES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_masked_conv2d_is_conv2d_at_the_masked_positions(share, dtype, last):
    module, x, mask = conv_call(share, dtype, last)
    y, expected = module.requires_grad_(False)(x, mask), dense_conv(module, x, mask)
    layout = torch.channels_last if last else torch.contiguous_format
    assert y.dtype == dtype and y.is_contiguous(memory_format=layout)
    assert not y[(mask == 0)[:, None].expand_as(y)].any()
    tolerance = 1e-3 if dtype == torch.float16 else 1e-5
    assert torch.allclose(y.double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("share", MASK_SHARES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_masked_conv2d_neither_waits_nor_allocates_by_the_mask(share, dtype):
    module, x, mask = conv_call(share, dtype)
    run = module.requires_grad_(False)
    run(x, mask)  # scratch grows
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.cuda._sleep(100_000_000)  # tens of milliseconds
        y = run(x, mask)
        assert not torch.cuda.current_stream().query()  # the call did not wait
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(y, run(x, mask))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_captured_masked_conv2d_replays_with_other_masks(dtype):
    module, x, mask = conv_call(0.5, dtype)
    run, graph = module.requires_grad_(False), torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):  # scratch grows before the capture
        run(x, mask)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        captured = run(x, mask)
    for share in (0.5, *MASK_SHARES):
        mask.copy_((torch.rand_like(mask, dtype=torch.float32) < share).to(dtype))
        x.mul_(-1)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(captured, run(x, mask)), share


@pytest.mark.parametrize("share", MASK_SHARES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_gradients_of_masked_conv2d_are_those_of_conv2d(share, dtype):
    module, x, mask = conv_call(share, dtype, n=1)
    inputs = [x.requires_grad_(), module.weight, module.bias]
    y, expected = module(x, mask), dense_conv(module, x, mask)
    grad = torch.randn_like(y)
    found = torch.autograd.grad(y, inputs, grad)
    wanted = torch.autograd.grad(expected, inputs, grad.double())
    tolerance = 1e-2 if dtype == torch.float16 else 1e-4
    for a, b in zip(found, wanted):
        assert torch.allclose(a, b, rtol=tolerance, atol=tolerance * 10)


# The NumPy level on device arrays.


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
