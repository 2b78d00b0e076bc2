# SPDX-License-Identifier: Apache-2.0
"""masked_conv2d: memory formats of its results, autocast, masks with grad, torch.compile."""

import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
from torch.autograd import forward_ad

LAST = torch.channels_last
GEOMETRY = ([0, 0], [1, 1], [1, 1], 1)
FEATURES = {
    "NCHW": lambda: torch.randn(2, 4, 6, 5),
    "channels_last": lambda: torch.randn(2, 4, 6, 5).contiguous(memory_format=LAST),
    "every second image": lambda: torch.randn(4, 4, 6, 5).contiguous(memory_format=LAST)[::2],
    "some channels": lambda: torch.randn(2, 8, 6, 5).contiguous(memory_format=LAST)[:, :4],
    "transposed": lambda: torch.randn(2, 4, 5, 6).transpose(2, 3),
    "expanded": lambda: torch.randn(1, 4, 6, 5).expand(2, 4, 6, 5),
    "one of two": lambda: torch.randn(2, 4, 6, 5).contiguous(memory_format=LAST)[1:],
    "large": lambda: torch.randn(4, 20, 60, 60).contiguous(memory_format=LAST)[::2],
}


def on_meta(x):
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")


@pytest.mark.parametrize("name", sorted(FEATURES))
def test_meta_kernels_have_the_strides_of_the_results(name):
    x = FEATURES[name]()
    weight, mask = torch.randn(5, x.size(1), 1, 1), torch.rand(x.size(0), *x.shape[2:]) > 0.5
    forward, backward = torch.ops.mluops.masked_conv2d, torch.ops.mluops.masked_conv2d_backward
    result = forward(x, mask, weight, None, *GEOMETRY)
    expected = torch.conv2d(x, weight) * mask[:, None]
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
    meta = forward(on_meta(x), on_meta(mask), on_meta(weight), None, *GEOMETRY)
    assert result.stride() == meta.stride()
    inputs = (torch.ones_like(result), x, mask, weight)
    found = backward(*inputs, *GEOMETRY, [True] * 3)
    metas = backward(*map(on_meta, inputs), *GEOMETRY, [True] * 3)
    assert [each.stride() for each in found] == [each.stride() for each in metas]


def test_backward_computes_in_the_types_of_forward_under_autocast():
    x, weight = torch.randn(1, 16, 12, 12), torch.randn(8, 16, 3, 3, requires_grad=True)
    for second in (False, True):
        result = ours.masked_conv2d(x, torch.ones(1, 12, 12), weight, padding=1).square().sum()
        expected = torch.autograd.grad(result, weight, create_graph=second, retain_graph=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = torch.autograd.grad(result, weight, create_graph=second)
        assert torch.equal(found[0], expected[0])


def test_second_derivatives_ignore_autocast():
    x, weight = torch.randn(1, 16, 12, 12), torch.randn(8, 16, 3, 3, requires_grad=True)
    result = ours.masked_conv2d(x, torch.ones(1, 12, 12), weight, padding=1).square().sum()
    (grad,) = torch.autograd.grad(result, weight, create_graph=True)
    (expected,) = torch.autograd.grad(grad.square().sum(), weight, retain_graph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (found,) = torch.autograd.grad(grad.square().sum(), weight)
    assert torch.equal(found, expected)


def test_second_derivatives_on_meta_tensors():
    x, weight = (torch.empty(2, 4, 3, 3, device="meta", requires_grad=True) for _ in range(2))
    result = ours.masked_conv2d(x, torch.empty(2, 1, 1, device="meta"), weight).square().sum()
    (grad,) = torch.autograd.grad(result, weight, create_graph=True)
    assert torch.autograd.grad(grad.square().sum(), x)[0].shape == x.shape


@pytest.mark.filterwarnings("error::DeprecationWarning:mluops")
@pytest.mark.filterwarnings("error:.*autocast.*deprecated")
def test_autocast_uses_no_deprecated_function():
    x, weight = torch.randn(1, 2, 4, 4), torch.randn(3, 2, 1, 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ours.masked_conv2d(x, torch.ones(1, 4, 4), weight).dtype is torch.bfloat16


def test_a_mask_has_no_gradient():
    x, weight = torch.randn(1, 2, 4, 4), torch.randn(3, 2, 1, 1)
    mask = torch.rand(1, 4, 4, requires_grad=True)
    assert not ours.masked_conv2d(x, mask, weight).requires_grad
    assert ours.masked_conv2d(x.requires_grad_(), mask, weight).requires_grad


needs_compiled_transforms = pytest.mark.skipif(
    not hasattr(torch.library, "register_vmap"), reason="torch.func of operators needs torch 2.5"
)


def loss(x):
    weight = torch.linspace(-1, 1, 54).view(3, 2, 3, 3)
    mask = torch.arange(36).view(1, 6, 6) % 5 - 1
    return ours.masked_conv2d(x, mask, weight, padding=1).square().sum()


def tangent(x, t):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(loss(forward_ad.make_dual(x, t))).tangent


@needs_compiled_transforms
@pytest.mark.parametrize(
    "transform",
    [
        lambda x, t: torch.func.grad(loss)(x),
        lambda x, t: torch.func.jvp(loss, (x,), (t,))[1],
        lambda x, t: torch.func.jacfwd(loss)(x),
        lambda x, t: torch.func.jvp(torch.func.grad(loss), (x,), (t,))[1],
    ],
    ids=["grad", "jvp", "jacfwd", "hessian"],
)
@pytest.mark.parametrize("fullgraph", [True, False])
def test_compiled_derivatives_of_torch_func(transform, fullgraph):
    torch._dynamo.reset()
    x, t = torch.randn(1, 2, 6, 6), torch.randn(1, 2, 6, 6)
    compiled = torch.compile(transform, backend="eager", fullgraph=fullgraph)
    torch.testing.assert_close(compiled(x, t), transform(x, t))


@needs_compiled_transforms
def test_forward_mode_in_a_compiled_function():
    torch._dynamo.reset()
    x, t = torch.randn(1, 2, 6, 6), torch.randn(1, 2, 6, 6)
    torch.testing.assert_close(torch.compile(tangent, backend="eager")(x, t), tangent(x, t))


@needs_compiled_transforms
@pytest.mark.parametrize("at", [0, 1], ids=["features", "weight"])
def test_gradients_that_a_tangent_does_not_change_have_zero_tangents(at):
    arguments = [torch.randn(1, 2, 6, 6), torch.randn(3, 2, 3, 3), torch.randn(3)]

    def total(x, weight, bias):
        return ours.masked_conv2d(x, torch.eye(6)[None], weight, bias, padding=1).sum()

    def gradients(argument):
        return torch.func.grad(total, (0, 1, 2))(*arguments[:at], argument, *arguments[at + 1 :])

    _, tangents = torch.func.jvp(gradients, (arguments[at],), (torch.ones_like(arguments[at]),))
    assert [bool(each.any()) for each in tangents] == [at == 1, at == 0, False]
