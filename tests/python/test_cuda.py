# SPDX-License-Identifier: Apache-2.0
"""PyTorch tensors on a CUDA device: results, streams, graphs and compilation."""

import copy
import threading

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

import drop_ins
import samples
from mluops.torch import border_align, psa_mask
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
