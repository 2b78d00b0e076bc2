# SPDX-License-Identifier: Apache-2.0
"""Forward-mode derivatives, second derivatives and torch.func, compared with each other and with
compositions of torch operators."""

import importlib

import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
import samples
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

needs_func = pytest.mark.skipif(
    not hasattr(torch.library, "register_vmap"), reason="torch.func of operators needs torch 2.5"
)


TORCH_2 = hasattr(torch, "func")
# Operators with a second output, of indices, have no forward mode in torch 1.
FORWARD_MODE = [
    name
    for name in samples.NAMES
    if TORCH_2 or len(samples.make()[name][0].default._schema.returns) == 1
]


def prepare(name):
    """Returns the operator as a function of its features, and the features."""
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)

    def run(features):
        return samples.outputs_of(operator(*arguments[:at], features, *arguments[at + 1 :]))[0]

    return run, arguments[at]


def like(x, seed=1):
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", sorted(set(samples.NAMES) - set(FORWARD_MODE)))
def test_forward_mode_raises_in_torch_1(name):
    run, x = prepare(name)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="needs torch 2"):
        run(forward_ad.make_dual(x, like(x)))


def region_of(name):
    """Returns the index of the operator's RoIs, boxes or points, or None."""
    _, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    others = [i for i, a in enumerate(arguments) if i != at and torch.is_tensor(a)]
    return next((i for i in others if arguments[i].is_floating_point()), None)


REGIONS = [n for n in FORWARD_MODE if "conv" not in n and region_of(n) is not None]


@pytest.mark.parametrize("name", REGIONS)
def test_forward_mode_of_regions_raises(name):
    operator, arguments = samples.make()[name]
    i = region_of(name)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="only the features"):
        regions = forward_ad.make_dual(arguments[i], like(arguments[i]))
        operator(*arguments[:i], regions, *arguments[i + 1 :])


@pytest.mark.parametrize("name", FORWARD_MODE)
def test_tangent_is_the_adjoint_of_the_gradient(name):
    """<J t, g> = <t, J' g>."""
    run, x = prepare(name)
    t = like(x)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(run(forward_ad.make_dual(x, t))).tangent
    assert tangent is not None and tangent.abs().max() > 0
    leaf = x.clone().requires_grad_()
    y = run(leaf)
    g = like(y, 2)
    (gradient,) = torch.autograd.grad(y, leaf, g)
    scale = (tangent * g).abs().sum()
    assert abs((tangent * g).sum() - (t * gradient).sum()) < 1e-5 * scale


@pytest.mark.parametrize("name", [n for n in samples.CHANNELS_LAST if n in FORWARD_MODE])
def test_tangents_of_channels_last_features(name):
    run, x = prepare(name)
    tangents = []
    for memory_format in (torch.contiguous_format, torch.channels_last):
        pair = (each.contiguous(memory_format=memory_format) for each in (x, like(x)))
        with forward_ad.dual_level():
            tangents.append(forward_ad.unpack_dual(run(forward_ad.make_dual(*pair))).tangent)
    assert torch.equal(*tangents)


@pytest.mark.parametrize("name", FORWARD_MODE)
def test_second_derivative_is_the_tangent(name):
    """The gradient J' g is linear in g, and its adjoint is J."""
    run, x = prepare(name)
    leaf = x.clone().requires_grad_()
    y = run(leaf)
    g = torch.zeros_like(y).requires_grad_()
    (gradient,) = torch.autograd.grad(y, leaf, g, create_graph=True)
    t = like(x)
    (second,) = torch.autograd.grad(gradient, g, t)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(run(forward_ad.make_dual(x, t))).tangent
    assert torch.allclose(second, tangent, atol=1e-6)


@needs_func
@pytest.mark.parametrize("name", samples.NAMES)
def test_torch_func_equals_autograd(name):
    run, x = prepare(name)
    y, pullback = torch.func.vjp(run, x)
    g, t = like(y, 2), like(x)
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(run(leaf), leaf, g)
    assert torch.equal(pullback(g)[0], gradient)
    value, tangent = torch.func.jvp(run, (x,), (t,))
    with forward_ad.dual_level():
        expected = forward_ad.unpack_dual(run(forward_ad.make_dual(x, t))).tangent
    assert torch.equal(value, y) and torch.equal(tangent, expected)
    (second,) = torch.func.jvp(torch.func.grad(lambda x: (run(x) ** 2).sum()), (x,), (t,))[1:]
    (first,) = torch.autograd.grad((run(leaf) ** 2).sum(), leaf, create_graph=True)
    (expected,) = torch.autograd.grad((first * t).sum(), leaf)
    assert torch.allclose(second, expected, atol=1e-5)


@needs_func
@pytest.mark.parametrize("name", samples.NAMES)
def test_jacrev_equals_jacfwd(name):
    run, x = prepare(name)
    assert torch.allclose(torch.func.jacrev(run)(x), torch.func.jacfwd(run)(x), atol=1e-6)


@needs_func
@pytest.mark.parametrize("name", samples.NAMES)
def test_vmap_equals_a_loop(name):
    run, x = prepare(name)
    batch = torch.stack([x, 2 * x, like(x)], dim=1)
    expected = torch.stack([run(each) for each in batch.unbind(1)])
    assert torch.equal(torch.func.vmap(run, in_dims=1)(batch), expected)


@needs_func
def test_vmap_of_grad_over_masks_equals_a_loop():
    x, weight = torch.randn(1, 2, 4, 4), torch.randn(3, 2, 3, 3)
    masks = torch.rand(3, 1, 4, 4, generator=torch.Generator().manual_seed(1)) - 0.5

    def loss(x, weight, mask):
        return ours.masked_conv2d(x, mask, weight, padding=1).square().sum()

    run = torch.func.grad(loss, argnums=(0, 1))
    results = torch.func.vmap(run, in_dims=(None, None, 0))(x, weight, masks)
    for i, mask in enumerate(masks):
        for result, expected in zip(results, run(x, weight, mask)):
            assert torch.allclose(result[i], expected, atol=1e-5)
    run = torch.func.hessian(loss)
    results = torch.func.vmap(run, in_dims=(None, None, 0))(x, weight, masks)
    for mask, result in zip(masks, results):
        assert torch.allclose(result, run(x, weight, mask), atol=1e-5)


@pytest.mark.parametrize("name", samples.NAMES)
def test_checkpoint_computes_the_same_gradient(name):
    run, x = prepare(name)
    gradients = []
    for call in (run, lambda x: checkpoint(run, x, use_reentrant=False)):
        leaf = x.clone().requires_grad_()
        gradients += torch.autograd.grad(call(leaf).square().sum(), leaf)
    assert torch.equal(*gradients)


@pytest.mark.parametrize("name", REGIONS)
def test_forward_mode_of_features_and_regions_raises(name):
    operator, arguments = samples.make()[name]
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="only the features"):
        for i in (samples.features_of(arguments), region_of(name)):
            arguments[i] = forward_ad.make_dual(arguments[i], like(arguments[i]))
        operator(*arguments)


@needs_func
@pytest.mark.parametrize("name", REGIONS)
def test_jvp_of_features_and_regions_raises(name):
    operator, arguments = samples.make()[name]
    places = samples.features_of(arguments), region_of(name)

    def run(*given):
        for i, each in zip(places, given):
            arguments[i] = each
        return samples.outputs_of(operator(*arguments))[0]

    inputs = tuple(arguments[i] for i in places)
    with pytest.raises(NotImplementedError, match="only the features"):
        torch.func.jvp(run, inputs, tuple(map(like, inputs)))


@needs_func
@pytest.mark.parametrize("name", samples.CHANNELS_LAST)
def test_jacfwd_of_channels_last_features(name):
    run, x = prepare(name)
    last = x.contiguous(memory_format=torch.channels_last)
    expected = torch.func.jacfwd(run)(x)
    assert torch.equal(torch.func.jacfwd(run)(last), expected)
    assert torch.allclose(torch.func.jacrev(run)(last), expected, atol=1e-6)


@needs_func
@pytest.mark.parametrize("at", [0, 1], ids=["features", "weight"])
def test_jacfwd_of_channels_last_masked_conv2d(at):
    inputs = [torch.randn(1, 2, 4, 5), torch.randn(3, 2, 3, 3)]
    mask = torch.rand(1, 4, 5, generator=torch.Generator().manual_seed(1)) > 0.5

    def run(x, weight):
        return ours.masked_conv2d(x, mask, weight, padding=1)

    expected = torch.func.jacfwd(run, argnums=at)(*inputs)
    inputs = [each.contiguous(memory_format=torch.channels_last) for each in inputs]
    assert run(*inputs).is_contiguous(memory_format=torch.channels_last)
    assert torch.allclose(torch.func.jacfwd(run, argnums=at)(*inputs), expected, atol=1e-6)
    assert torch.allclose(torch.func.jacrev(run, argnums=at)(*inputs), expected, atol=1e-6)


@needs_func
@pytest.mark.filterwarnings("ignore:Please use")
@pytest.mark.parametrize("name", [n for n in samples.CHANNELS_LAST if n in FORWARD_MODE])
def test_gradcheck_of_batched_tangents_of_channels_last_features(name):
    operator, arguments = samples.make(torch.float64)[name]
    at = samples.features_of(arguments)
    x = arguments[at].contiguous(memory_format=torch.channels_last).requires_grad_()

    def run(features):
        given = (*arguments[:at], features, *arguments[at + 1 :])
        return samples.outputs_of(operator(*given))[0]

    options = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(run, (x,), **options)


@needs_func
@pytest.mark.parametrize("name", samples.NAMES)
def test_vmap_over_an_empty_batch(name):
    run, x = prepare(name)
    assert torch.func.vmap(run)(x.new_empty((0, *x.shape))).shape == (0, *run(x).shape)


@pytest.mark.parametrize("name", samples.NAMES)
def test_batches_of_gradients_equal_a_loop(name):
    if TORCH_2:
        importlib.import_module("torch._dynamo")  # calls then look for tangents
    run, x = prepare(name)
    leaf = x.clone().requires_grad_()
    y = run(leaf)
    grads = torch.stack([like(y, seed) for seed in (2, 3)])
    (batch,) = torch.autograd.grad(y, leaf, grads, retain_graph=True, is_grads_batched=True)
    for found, grad in zip(batch, grads):
        (expected,) = torch.autograd.grad(y, leaf, grad, retain_graph=True)
        assert torch.equal(found, expected)


@needs_func
@pytest.mark.parametrize("name", samples.NAMES)
def test_graphs_have_no_node_besides_the_operator(name):
    importlib.import_module("torch._dynamo")  # calls then look for tangents
    run, x = prepare(name)
    graph = torch.fx.experimental.proxy_tensor.make_fx(run)(x).graph
    called = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    assert [each for each in called if not each.startswith(("mluops.", "<built-in"))] == []


def half_cases(dtype):
    """Operators whose tangent is a gather, on maps and sums that half cannot represent exactly."""
    generator = torch.Generator().manual_seed(1)
    corners = torch.rand(1, 50, 2, 2, generator=generator) * torch.tensor([149, 99])
    boxes = torch.cat([corners.amin(2), corners.amax(2)], dim=-1)
    points = torch.rand(2000, 3, generator=generator) * 2 - 1
    cars = torch.tensor([[0.0, 0, -1, 2, 2, 2, 0]])
    image = torch.rand(1, 16, 100, 150, generator=generator).to(dtype)
    features = (torch.rand(2000, 4, generator=generator) * 10).to(dtype)
    half_boxes = boxes.to(dtype)
    return {
        "border_align": (lambda x: ours.border_align(x, boxes, 10), image),
        "border_align, boxes too": (lambda x: ours.border_align(x, half_boxes, 10), image),
        "roiaware": (lambda x: ours.roiaware_pool3d(cars, points, x, 2, 512, "avg"), features),
    }


@pytest.mark.skipif(not TORCH_2, reason="needs torch 2")
@pytest.mark.parametrize("name", sorted(half_cases(torch.float32)))
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_derivatives_of_half_features_are_rounded_once(dtype, name):
    """The operators are linear at fixed indices, so the tangent of x along x is the result."""
    run, x = half_cases(dtype)[name]
    with forward_ad.dual_level():
        y, tangent = forward_ad.unpack_dual(run(forward_ad.make_dual(x, x.clone())))
    leaf = x.clone().requires_grad_()
    result = run(leaf)
    g = torch.zeros_like(result).requires_grad_()
    (gradient,) = torch.autograd.grad(result, leaf, g, create_graph=True)
    (second,) = torch.autograd.grad(gradient, g, x)
    for each in (tangent, second):
        rounding = 2 * torch.finfo(dtype).eps
        torch.testing.assert_close(each.float(), y.float(), rtol=rounding, atol=1e-4)
