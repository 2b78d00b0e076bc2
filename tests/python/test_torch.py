# SPDX-License-Identifier: Apache-2.0
"""Properties of every operator under torch.ops.mluops, on torch 1.13 and later."""

import copy
import doctest
import importlib
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

import mluops
import samples

DIFFERENTIABLE = [
    name
    for name in samples.NAMES
    if name
    not in ("border_align_backward", "roiaware_pool3d_max_backward", "roiaware_pool3d_avg_backward")
]
LINEAR = [name for name in DIFFERENTIABLE if name not in ("border_align", "roiaware_pool3d_max")]


def call(name, change=lambda features: features, dtype=torch.float32):
    operator, arguments = samples.make(dtype)[name]
    at = samples.features_of(arguments)
    arguments[at] = change(arguments[at])
    return samples.outputs_of(operator(*arguments))


def strided(x):
    """The same values, with gaps between them."""
    return torch.stack([x, torch.full_like(x, float("nan"))], dim=-1)[..., 0]


@pytest.mark.parametrize("name", samples.NAMES)
def test_feature_strides_do_not_change_results(name):
    for expected, actual in zip(call(name), call(name, strided)):
        assert torch.equal(expected, actual)
        assert actual.stride() == expected.stride()


@pytest.mark.parametrize("name", samples.NAMES)
def test_expanded_features_are_accepted(name):
    def same_everywhere(x):
        return x[:1, :1].expand_as(x)

    expected = call(name, lambda x: same_everywhere(x).contiguous())
    for a, b in zip(expected, call(name, same_everywhere)):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    "name",
    [n for n in samples.NAMES if not n.startswith("roiaware") and not n.startswith("masked")],
)
def test_channels_last_gives_equal_values(name):
    expected, *_ = call(name)
    actual, *_ = call(name, lambda x: x.contiguous(memory_format=torch.channels_last))
    assert torch.equal(expected, actual)
    if not name.startswith("ps_roi_pool"):  # torchvision's layout is NCHW in C too
        assert actual.is_contiguous(memory_format=torch.channels_last)
    assert expected.is_contiguous()


@pytest.mark.parametrize("name", samples.NAMES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_results_have_the_type_of_the_features(name, dtype):
    operator, arguments = samples.make(dtype)[name]
    at = samples.features_of(arguments)
    actual, *rest = samples.outputs_of(operator(*arguments))
    assert actual.dtype == dtype
    arguments[at] = arguments[at].float()
    expected, *expected_rest = samples.outputs_of(operator(*arguments))
    # Boxes are float32 here, so features are computed in float32 and rounded once.
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float64: 0}[dtype]
    assert torch.allclose(actual.float(), expected, rtol=tolerance, atol=1e-6)
    for a, b in zip(rest, expected_rest):
        assert torch.equal(a, b)


def test_half_features_do_not_round_float_boxes():
    input = torch.arange(64.0).view(1, 1, 8, 8).repeat(1, 4, 1, 1).half()
    boxes = torch.tensor([[[0.3001, 0.3001, 5.7003, 5.7003]]])  # not representable in half
    exact = mluops.torch.border_align(input.float(), boxes, 4)
    assert torch.equal(mluops.torch.border_align(input, boxes, 4), exact.half())
    rounded = mluops.torch.border_align(input.float(), boxes.half().float(), 4)
    assert not torch.equal(rounded.half(), exact.half())


@pytest.mark.parametrize("name", samples.NAMES)
def test_integer_features_raise(name):
    with pytest.raises(mluops.BadParamError, match="floating-point"):
        call(name, lambda x: x.long())


@pytest.mark.parametrize("name", samples.NAMES)
def test_meta_tensors_have_shape_type_and_strides(name):
    operator, arguments = samples.make()[name]
    for memory_format in (torch.contiguous_format, torch.channels_last):
        at = samples.features_of(arguments)
        if arguments[at].dim() == 4:
            arguments[at] = arguments[at].contiguous(memory_format=memory_format)
        real = samples.outputs_of(operator(*arguments))
        on_meta = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments]
        for expected, actual in zip(real, samples.outputs_of(operator(*on_meta))):
            assert actual.device.type == "meta"
            assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
            assert actual.stride() == expected.stride()


@pytest.mark.parametrize("name", LINEAR)
def test_gradient_is_the_adjoint(name):
    """<F x, g> = <x, F' g> to rounding, in double sums."""
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


@pytest.mark.parametrize("name", [n for n in LINEAR if n != "roiaware_pool3d_avg"])
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


@pytest.mark.parametrize("name", ["border_align", "roiaware_pool3d_max"])
def test_gradient_agrees_with_finite_differences_away_from_ties(name):
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    x = arguments[at].clone()
    count = x.numel()
    # Values one step apart, so that a small change moves no maximum.
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


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_expanded_gradients_are_accepted(name):
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    grads = []
    for one in (torch.ones, lambda shape: torch.ones(()).expand(shape)):
        x = arguments[at] = arguments[at].detach().requires_grad_()
        y = samples.outputs_of(operator(*arguments))[0]
        grads += torch.autograd.grad(y, x, one(y.shape))
    assert torch.equal(*grads)


@pytest.mark.parametrize("name", samples.NAMES)
def test_bits_do_not_depend_on_the_number_of_threads(name):
    before = torch.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            torch.set_num_threads(count)
            results.append(call(name))
    finally:
        torch.set_num_threads(before)
    for a, b in zip(*results):
        assert torch.equal(a, b)


def test_set_num_threads_changes_the_handle():
    from mluops.torch._context import context_of

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert context_of(torch.zeros(1)).num_threads == 3
    finally:
        torch.set_num_threads(before)


def test_deterministic_algorithms_select_the_atomics_mode():
    from mluops import _context
    from mluops.torch._context import context_of

    try:
        torch.use_deterministic_algorithms(True)
        assert context_of(torch.zeros(1))._atomics == _context.ATOMICS_NOT_ALLOWED
        torch.use_deterministic_algorithms(False)
        assert context_of(torch.zeros(1))._atomics == _context.ATOMICS_ALLOWED
    finally:
        torch.use_deterministic_algorithms(False)


def test_autocast_does_not_cast():
    operator, arguments = samples.make()["psa_mask"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert operator(*arguments).dtype == torch.float32
        arguments[0] = arguments[0].bfloat16()
        assert operator(*arguments).dtype == torch.bfloat16


def test_wrong_attribute_raises_the_message_of_the_library():
    operator, arguments = samples.make()["border_align"]
    arguments[1] = torch.zeros(2, 5, 6)
    with pytest.raises(
        mluops.BadParamError, match=r"border_align_forward: boxes.shape\[2\] must be 4, got 6"
    ):
        operator(*arguments)


def test_no_rois_give_an_empty_result():
    ops = torch.ops.mluops
    assert ops.rfcn_ps_roi_pool(torch.zeros(1, 4, 3, 3), torch.zeros(0, 5), 1.0, 2)[0].shape[0] == 0
    assert ops.ps_roi_pool(torch.zeros(1, 4, 3, 3), torch.zeros(0, 5), 1.0, 2, 2).shape[0] == 0
    assert ops.border_align(torch.zeros(1, 4, 3, 3), torch.zeros(1, 0, 4), 2)[0].numel() == 0
    pooled, argmax, _ = ops.roiaware_pool3d(
        torch.zeros(1, 7), torch.zeros(0, 3), torch.zeros(0, 2), [1, 1, 1], 4, 0
    )
    assert (pooled == 0).all() and (argmax == -1).all()


def test_no_rois_give_zero_gradients():
    for name in ("rfcn_ps_roi_pool", "ps_roi_pool"):
        operator, arguments = samples.make()[name]
        x = arguments[0] = arguments[0].requires_grad_()
        arguments[1] = arguments[1][:0]
        samples.outputs_of(operator(*arguments))[0].sum().backward()
        assert (x.grad == 0).all()


def test_col2im_gradient_of_duplicates_goes_to_the_last():
    col = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    at = torch.tensor([0, 1, 0])
    im = torch.ops.mluops.masked_col2im(col, at, at, 2, 2)
    assert im[0, 0].tolist() == [[3, 0], [0, 2]]
    im.sum().backward()
    assert col.grad.tolist() == [[0, 1, 1]]


def test_python_threads_are_independent():
    expected = {name: call(name) for name in samples.NAMES}
    failures = []

    def work():
        for name in samples.NAMES:
            for a, b in zip(call(name), expected[name]):
                if not torch.equal(a, b):
                    failures.append(name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_forked_child_computes_the_same_bits():
    code = (
        "import os, samples, torch\n"
        "operator, arguments = samples.make()['psa_mask']\n"
        "expected = operator(*arguments)\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0 if torch.equal(operator(*arguments), expected) else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        timeout=60,
        cwd=samples.__file__.rpartition("/")[0],
    )


def test_modules_can_be_copied_and_pickled():
    import pickle

    module = mluops.torch.BorderAlign(3)
    assert repr(copy.deepcopy(module)) == repr(pickle.loads(pickle.dumps(module))) == repr(module)


@pytest.mark.parametrize("name", ["border_align", "roiaware_pool3d_max"])
def test_maxima_can_be_differentiated_once(name):
    operator, arguments = samples.make()[name]
    at = samples.features_of(arguments)
    x = arguments[at] = arguments[at].requires_grad_()
    y = samples.outputs_of(operator(*arguments))[0]
    g = torch.ones_like(y).requires_grad_()
    (gradient,) = torch.autograd.grad(y, x, g, create_graph=True)
    with pytest.raises(NotImplementedError, match="once"):
        gradient.sum().backward()


@pytest.mark.parametrize("name", LINEAR)
def test_gradcheck_of_linear_operators(name):
    """With a step of 1 the differences of a linear operator are exact up to rounding in float32."""
    operator, arguments = samples.make(torch.float64)[name]
    at = samples.features_of(arguments)
    x = arguments[at] = arguments[at].requires_grad_()

    def forward(x):
        return samples.outputs_of(operator(*arguments[:at], x, *arguments[at + 1 :]))[0]

    assert torch.autograd.gradcheck(forward, (x,), eps=1.0, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "name, at, value, message",
    [
        ("psa_mask", 0, torch.zeros(15, 4, 3), "psa_mask: input must be a tensor of 4 dims, got 3"),
        ("psa_mask", 1, 2, "psa_type must be 0 or 1, got 2"),
        ("psa_mask_backward", 2, -1, "h_mask must be at least 1, got -1"),
        ("border_align", 2, 0, "pool_size must be at least 1, got 0"),
        ("ps_roi_pool", 3, 0, "pooled_height must be at least 1, got 0"),
        ("ps_roi_pool", 2, 0.0, "spatial_scale must be greater than 0 and finite, got 0.0"),
        ("ps_roi_pool_backward", 5, [1, 2], "input_shape must be a list of 4"),
        ("rfcn_ps_roi_pool", 3, 0, "group_size must be at least 1, got 0"),
        ("roiaware_pool3d_max", 3, [2, 2, 2, 7], "out_size must be a list of 3"),
        ("roiaware_pool3d_max", 5, 17, "pool_method must be 0 or 1, got 17"),
        ("roiaware_pool3d_max_backward", 0, torch.zeros(1, 2, 2, 2, 2, 2), "grad must be a tensor"),
        ("masked_im2col", 3, [3, 3, 9], "kernel must be a list of 2"),
        ("masked_im2col", 4, [1, 1, 0, 0, 7, 7], "padding must be a list of 2"),
        ("masked_im2col", 1, torch.zeros(4), "indices must be int32 or int64, got torch.float32"),
    ],
)
def test_broken_rule_raises_with_message_even_for_empty_tensors(name, at, value, message):
    operator, arguments = samples.make()[name]
    arguments[at] = value
    with pytest.raises(mluops.BadParamError, match=message):
        operator(*arguments)
    if "indices" in message:  # a type, which only the computation checks
        return
    on_meta = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in arguments]
    with pytest.raises(mluops.BadParamError, match=message):
        operator(*on_meta)


def test_tensors_of_two_devices_raise():
    operator, arguments = samples.make()["ps_roi_pool"]
    arguments[1] = arguments[1].to("meta")
    with pytest.raises(mluops.BadParamError, match="one device"):
        operator(*arguments)


def test_tensors_of_an_absent_device_raise():
    from mluops.torch._context import TorchContext

    with pytest.raises(mluops.NotSupportedError, match="tensors on cuda:7 need the CUDA library"):
        TorchContext("cuda:7")


def test_indices_beyond_int32_count_as_outside():
    feature = torch.ones(1, 1, 2, 2)
    far, near = torch.tensor([1 << 32, -(1 << 40)]), torch.tensor([0, 0])
    columns = torch.ops.mluops.masked_im2col(feature, far, near, [1, 1], [0, 0])
    assert columns.tolist() == [[0, 0]]


def test_infinite_gradients_do_not_reach_overwritten_columns():
    col, at = torch.zeros(1, 3, requires_grad=True), torch.tensor([0, 1, 0])
    im = torch.ops.mluops.masked_col2im(col, at, at, 2, 2)
    im.backward(torch.full_like(im, float("inf")))
    assert col.grad.tolist() == [[0, float("inf"), float("inf")]]


@pytest.mark.parametrize("name", ["functional", "masked_conv", "modules"])
def test_docstring_examples_run(name):
    module = importlib.import_module(f"mluops.torch.{name}")
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 1
