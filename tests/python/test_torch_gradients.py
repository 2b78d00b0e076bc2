# SPDX-License-Identifier: Apache-2.0
"""Gradients of the operators under torch.ops.mluops, on torch 1.13 and later."""

import pytest

torch = pytest.importorskip("torch")

import mluops.torch  # noqa: F401
import samples


@pytest.mark.parametrize("name", samples.LINEAR)
def test_gradient_is_the_adjoint(name):
    """<F x, g> = <x, F' g> up to rounding, with sums in double."""
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    x = arguments[at] = arguments[at].requires_grad_()
    y = samples.outputs_of(operator(*arguments))[0]
    g = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad(y, x, g)
    forward = (y.double() * g.double()).sum()
    backward = (x.double() * gradient.double()).sum()
    scale = (y.double() * g.double()).abs().sum()
    assert abs(forward - backward) < 1e-6 * scale


@pytest.mark.parametrize("name", samples.LINEAR)
def test_gradient_of_the_gradient_is_the_operator(name):
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    x = arguments[at] = arguments[at].requires_grad_()
    y = samples.outputs_of(operator(*arguments))[0]
    g = torch.zeros_like(y).requires_grad_()
    (gradient,) = torch.autograd.grad(y, x, g, create_graph=True)
    direction = torch.randn(x.shape, generator=torch.Generator().manual_seed(2))
    (second,) = torch.autograd.grad(gradient, g, direction)
    arguments[at] = direction
    assert torch.allclose(second, samples.outputs_of(operator(*arguments))[0], atol=1e-6)


@pytest.mark.parametrize("name", samples.PIECEWISE)
def test_gradient_agrees_with_finite_differences_away_from_ties(name):
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    x = arguments[at].clone()
    count = x.numel()
    # Distinct values, so that a small change moves no maximum.
    x = (torch.randperm(count, generator=torch.Generator().manual_seed(5)).float() / 8).view(
        x.shape
    )

    def run(features):
        return samples.outputs_of(operator(*arguments[:at], features, *arguments[at + 1 :]))[0]

    features = x.clone().requires_grad_()
    y = run(features)
    g = torch.randn(y.shape, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad(y, features, g)
    for index in range(0, count, max(count // 60, 1)):
        step = torch.zeros(count)
        step[index] = 1 / 64
        step = step.view(x.shape)
        difference = ((run(x + step) - run(x - step)).double() * g.double()).sum() * 32
        assert abs(difference - gradient.flatten()[index]) < 2e-3


@pytest.mark.parametrize("name", samples.NAMES)
def test_expanded_gradients_are_accepted(name):
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    grads = []
    for one in (torch.ones, lambda shape: torch.ones(()).expand(shape)):
        x = arguments[at] = arguments[at].detach().requires_grad_()
        y = samples.outputs_of(operator(*arguments))[0]
        grads += torch.autograd.grad(y, x, one(y.shape))
    assert torch.equal(*grads)


def test_no_rois_give_zero_gradients():
    for name in ("rfcn_ps_roi_pool", "ps_roi_pool"):
        operator, arguments = samples.make()[name]
        x = arguments[0] = arguments[0].requires_grad_()
        arguments[1] = arguments[1][:0]
        samples.outputs_of(operator(*arguments))[0].sum().backward()
        assert (x.grad == 0).all()


@pytest.mark.parametrize("name", samples.LINEAR)
def test_gradcheck_of_linear_operators(name):
    """With a step of 1 the differences of a linear operator are exact up to rounding in float32."""
    operator, arguments = samples.make(torch.float64)[name]
    at = samples.features_of(arguments)
    x = arguments[at] = arguments[at].requires_grad_()

    def forward(x):
        return samples.outputs_of(operator(*arguments[:at], x, *arguments[at + 1 :]))[0]

    assert torch.autograd.gradcheck(forward, (x,), eps=1.0, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", [n for n in samples.NAMES if not n.endswith("_backward")])
def test_profiler_and_modes_see_the_operator_of_a_backward_pass(name):
    """The kernel replaces the operator in a backward pass only where nothing watches."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    arguments[at] = arguments[at].requires_grad_()
    y = samples.outputs_of(operator(*arguments))[0]
    with torch.profiler.profile() as profile:
        y.sum().backward(retain_graph=True)
    profiled = [event.name for event in profile.events() if event.name.startswith("mluops::")]
    with Watch():
        y.sum().backward()
    watched = [each for each in seen if each.startswith("mluops.")]
    assert profiled and watched
