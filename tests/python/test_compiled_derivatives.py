# SPDX-License-Identifier: Apache-2.0
"""Forward mode inside of compiled functions, whose graphs do not enter it through forward_ad."""

import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
from torch.autograd import forward_ad

pytestmark = pytest.mark.skipif(
    not hasattr(torch.library, "register_vmap"), reason="torch.func of operators needs torch 2.5"
)
BOXES = torch.tensor([[[0.5, 0.5, 4.0, 3.0], [1, 2, 5, 5]]])
ROIS = torch.tensor([[0.0, 0, 0, 4, 4], [0, 1, 1, 3, 5]])
CARS = torch.tensor([[0.0, 0, -1, 3, 2, 2, 0.3]])
POINTS = torch.rand(8, 3, generator=torch.Generator().manual_seed(1)) * 2 - 1
OPERATORS = {
    "border_align": lambda x: ours.border_align(x, BOXES, 3),
    "ps_roi_pool": lambda x: ours.ps_roi_pool(x, ROIS, 2),
    "ps_roi_pool rfcn": lambda x: ours.ps_roi_pool(x, ROIS, 2, semantics="rfcn"),
    "psa_mask": lambda x: ours.psa_mask(x, 0, (2, 4)),
    "roiaware_pool3d": lambda x: ours.roiaware_pool3d(CARS, POINTS, x.sum((0, 3)), 2, 6, "avg"),
}
WEIGHT = torch.rand(3, 8, 3, 3, generator=torch.Generator().manual_seed(3))


def inputs():
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(1, 8, 6, 6, generator=generator) for _ in range(2)]


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()


def loss_of(name):
    return lambda x: OPERATORS[name](x).square().sum() + x.sum()


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
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_forward_mode_in_a_compiled_function(name, transform, backend):
    run = TRANSFORMS[transform](loss_of(name))
    expected = run(*inputs())
    compiled = torch.compile(run, backend=backend, fullgraph=transform != "dual_level")
    torch.testing.assert_close(compiled(*inputs()), expected)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_tangents_of_gradients_without_forward_ad(name):
    """The dual level of a compiled graph, with forward and backward in it."""
    x, t = inputs()
    _, expected = torch.func.jvp(torch.func.grad(loss_of(name)), (x,), (t,))
    level = torch._C._enter_dual_level()
    try:
        leaf = x.clone().requires_grad_()
        dual = torch._VF._make_dual(leaf, t, level=level)
        (gradient,) = torch.autograd.grad(loss_of(name)(dual), dual)
        tangent = torch._VF._unpack_dual(gradient, level=level)[1]
    finally:
        torch._C._exit_dual_level(level=level)
    torch.testing.assert_close(tangent, expected)


def test_tangents_of_regions_without_forward_ad_raise():
    level = torch._C._enter_dual_level()
    try:
        boxes = torch._VF._make_dual(BOXES, BOXES, level=level)
        with pytest.raises(NotImplementedError, match="border_align: only the features"):
            ours.border_align(inputs()[0], boxes, 3)
    finally:
        torch._C._exit_dual_level(level=level)


@pytest.mark.parametrize("transform", ["grad", "jvp", "jacfwd"])
def test_compiled_derivatives_of_masked_conv2d_raise(transform):
    x, t = inputs()
    transforms = {**TRANSFORMS, "grad": lambda f: lambda x, t: torch.func.grad(f)(x)}
    mask = torch.ones(1, 6, 6)
    run = transforms[transform](
        lambda x: ours.masked_conv2d(x, mask, WEIGHT, padding=1).square().sum()
    )
    with pytest.raises(Exception, match=r"masked_conv2d: torch\.compile of"):
        torch.compile(run, backend="eager", fullgraph=True)(x, t)


def test_compiled_forward_mode_of_masked_conv2d():
    x, t = inputs()
    mask = torch.ones(1, 6, 6)
    run = tangent_of(lambda x: ours.masked_conv2d(x, mask, WEIGHT, padding=1))
    compiled = torch.compile(run, backend="eager")
    torch.testing.assert_close(compiled(x, t), run(x, t))
