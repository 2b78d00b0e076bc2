# SPDX-License-Identifier: Apache-2.0
"""Forward mode inside of compiled functions, whose graphs do not enter it through forward_ad."""

import pytest

torch = pytest.importorskip("torch")

import samples
from torch.autograd import forward_ad

pytestmark = pytest.mark.skipif(
    not hasattr(torch.library, "register_vmap"), reason="torch.func of operators needs torch 2.5"
)
NAMES = [name for name in samples.NAMES if not name.endswith("backward") and "masked" not in name]


def run_of(name):
    """Returns the operator as a function of its features, with the features as one more term."""
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)

    def run(x):
        given = [*arguments[:at], x, *arguments[at + 1 :]]
        return samples.outputs_of(operator(*given))[0].square().sum() + x.sum()

    return run


def inputs(name):
    """Returns features and their tangent."""
    _, arguments = samples.make()[name]
    features = arguments[samples.features_of(arguments)]
    return features, torch.randn(features.shape, generator=torch.Generator().manual_seed(2))


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()


def tangent_of(function):
    def run(x, t):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(function(forward_ad.make_dual(x, t))).tangent

    return run


TRANSFORMS = {
    "jvp": lambda f: lambda x, t: torch.func.jvp(f, (x,), (t,))[1],
    "jacfwd": lambda f: lambda x, t: torch.func.jacfwd(f)(x),
    "dual_level": tangent_of,
    "hessian": lambda f: lambda x, t: torch.func.jvp(torch.func.grad(f), (x,), (t,))[1],
}


@pytest.mark.parametrize(
    "transform, backend",
    [*((each, "eager") for each in sorted(TRANSFORMS)), ("jvp", "aot_eager")],
)
@pytest.mark.parametrize("name", NAMES)
def test_forward_mode_in_a_compiled_function(name, transform, backend):
    run = TRANSFORMS[transform](run_of(name))
    expected = run(*inputs(name))
    compiled = torch.compile(run, backend=backend, fullgraph=transform != "dual_level")
    torch.testing.assert_close(compiled(*inputs(name)), expected)


@pytest.mark.parametrize("name", NAMES)
def test_tangents_of_gradients_without_forward_ad(name):
    """The dual level of a compiled graph, with forward and backward in it."""
    x, t = inputs(name)
    _, expected = torch.func.jvp(torch.func.grad(run_of(name)), (x,), (t,))
    level = torch._C._enter_dual_level()
    try:
        leaf = x.clone().requires_grad_()
        dual = torch._VF._make_dual(leaf, t, level=level)
        (gradient,) = torch.autograd.grad(run_of(name)(dual), dual)
        tangent = torch._VF._unpack_dual(gradient, level=level)[1]
    finally:
        torch._C._exit_dual_level(level=level)
    torch.testing.assert_close(tangent, expected)


def test_tangents_of_regions_without_forward_ad_raise():
    operator, (x, boxes, size) = samples.make()["border_align"]
    level = torch._C._enter_dual_level()
    try:
        dual = torch._VF._make_dual(boxes, boxes, level=level)
        with pytest.raises(NotImplementedError, match="border_align: only the features"):
            operator(x, dual, size)
    finally:
        torch._C._exit_dual_level(level=level)
