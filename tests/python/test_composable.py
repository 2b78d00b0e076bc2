# SPDX-License-Identifier: Apache-2.0
"""torch.library.opcheck, torch.compile and torch.export: they need a recent torch."""

import shutil

import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch.library, "opcheck"):
    pytest.skip("torch.library.opcheck needs torch 2.4", allow_module_level=True)

import samples
from mluops.torch import MaskedConv2d
from network import OPERATORS, Network, batch


@pytest.mark.parametrize("name", samples.NAMES)
def test_opcheck(name):
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    torch.library.opcheck(operator, tuple(arguments))
    arguments[at] = arguments[at].requires_grad_()
    torch.library.opcheck(operator, tuple(arguments))


@pytest.mark.parametrize("name", samples.CHANNELS_LAST)
def test_opcheck_with_channels_last(name):
    operator, arguments = samples.make()[name]
    arguments[0] = arguments[0].contiguous(memory_format=torch.channels_last).requires_grad_()
    torch.library.opcheck(operator, tuple(arguments))


# "aot_eager" traces the graph and its gradient without the slow compilation to C++.
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_network_equals_eager_in_both_directions(dynamic):
    network, inputs = Network(), batch(2)
    expected = network(**inputs)
    expected.backward()
    gradients = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    actual = compiled(**inputs)
    actual.backward()
    assert torch.allclose(actual, expected)
    for expected_gradient, parameter in zip(gradients, network.parameters()):
        assert torch.allclose(parameter.grad, expected_gradient, atol=1e-6)


def test_exported_network_equals_eager():
    network, inputs = Network().eval(), batch(2)
    program = torch.export.export(network, (), inputs)
    called = {node.target for node in program.graph.nodes if node.op == "call_function"}
    for name in OPERATORS:
        assert getattr(torch.ops.mluops, name).default in called
    assert torch.allclose(program.module()(**inputs), network(**inputs))


def test_masked_conv2d_can_be_exported():
    module, features = MaskedConv2d(3, 4, 3, padding=1), torch.randn(2, 3, 6, 5)
    mask = torch.rand(2, 6, 5) > 0.5
    program = torch.export.export(module, (features, mask)).module()
    for other in (mask, ~mask, torch.zeros_like(mask)):
        assert torch.allclose(program(features, other), module(features, other))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_masked_conv2d_compiles_without_a_graph_break(backend):
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor needs a C++ compiler")
    module, features = MaskedConv2d(3, 4, 3, padding=1).eval(), torch.randn(2, 3, 6, 5)
    mask = torch.rand(2, 6, 5) > 0.5
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    with torch.no_grad():
        for other in (mask, ~mask, torch.zeros_like(mask)):
            assert torch.allclose(compiled(features, other), module(features, other), atol=1e-6)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_masked_conv2d_trains_when_compiled(backend):
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor needs a C++ compiler")
    module, features = MaskedConv2d(3, 4, 3, padding=1), torch.randn(1, 3, 6, 5)
    mask = torch.rand(1, 6, 5) > 0.5
    module(features, mask).square().sum().backward()
    expected = module.weight.grad.clone()
    module.zero_grad()
    compiled = torch.compile(module, fullgraph=True, backend=backend)
    compiled(features, mask).square().sum().backward()
    assert torch.allclose(module.weight.grad, expected, atol=1e-5)


@pytest.mark.parametrize("last", [False, True])
def test_opcheck_of_masked_conv2d(last):
    features, mask = torch.randn(2, 3, 6, 5), torch.rand(2, 6, 5) > 0.5
    if last:
        features = features.contiguous(memory_format=torch.channels_last)
    weight, bias = torch.randn(4, 3, 3, 3), torch.randn(4)
    geometry = ([1, 1], [1, 1], [1, 1], 1)
    for tensors in ((features, mask, weight, None), (features, mask, weight, bias)):
        for each in tensors[::2]:
            if each is not None:
                each.requires_grad_()
        torch.library.opcheck(torch.ops.mluops.masked_conv2d, (*tensors, *geometry))
    # torch cannot trace the second derivative: the number of masked pixels depends on the data.
    tensors = (torch.randn(2, 4, 6, 5), features.detach(), mask, weight.detach())
    for wanted in ([True, True, True], [False, True, False]):
        arguments = (*tensors, *geometry, wanted)
        torch.library.opcheck(torch.ops.mluops.masked_conv2d_backward, arguments)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("mask", [(2, 4, 3), (2, 6, 5), (2, 1, 6, 5)], ids=str)
def test_meta_function_of_masked_conv2d_takes_symbolic_masks(mask, last):
    """The mask has the size of the result or of the features, and may have a channel dim."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    features = torch.randn(2, 3, 6, 5)
    if last:
        features = features.contiguous(memory_format=torch.channels_last)
    inputs = features, torch.ones(mask), torch.randn(4, 3, 3, 3)
    geometry = None, [0, 0], [1, 1], [1, 1], 1
    real = torch.ops.mluops.masked_conv2d(*inputs, *geometry)
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        fake = torch.ops.mluops.masked_conv2d(*map(mode.from_tensor, inputs), *geometry)
    assert (fake.shape, fake.stride()) == (real.shape, real.stride())
