# SPDX-License-Identifier: Apache-2.0
"""masked_conv2d and MaskedConv2d: conv2d times the mask, with its gradients; page and picture."""

import mluops
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
from drawings import filled, needs_matplotlib
from drop_ins import randn
from mluops import viz
from mluops.torch import _masked_columns, _masked_rows
from pages import NAN, assert_close, floats, functions


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize(
    "kernel, window",
    [
        ((1, 1), (1, 1, 0, 0, 1, 1)),
        ((3, 3), (1, 1, 1, 1, 1, 1)),
        ((3, 2), (2, 1, 0, 1, 1, 3)),
        ((2, 3), (1, 2, 9, 4, 3, 1)),  # windows outside the map
    ],
)
def test_numpy_function_is_the_formula_of_the_page(random, dtype, kernel, window):
    features, weight = floats(random, 2, 3, 7, 6), floats(random, 5, 3, *kernel)
    mask, bias = floats(random, 2, 6, 5), floats(random, 5)
    mask[0, 0, :3] = NAN, 0.0, -0.0
    inputs = [x.astype(dtype) for x in (features, mask, weight, bias)]
    assert_close(
        mluops.masked_conv2d_forward(*inputs, *window),
        functions("masked_conv2d")["masked_conv2d_forward"](*inputs, *window),
        {np.float32: 1e-5, np.float16: 2e-3, np.float64: 1e-12}[dtype],
    )


def test_numpy_function_writes_to_the_output():
    inputs = [np.ones(s, np.float32) for s in ((1, 2, 3, 3), (1, 3, 3), (4, 2, 1, 1), (4,))]
    output = np.zeros((1, 4, 3, 3), np.float32)
    assert mluops.masked_conv2d_forward(*inputs, 1, 1, 0, 0, 1, 1, output=output) is output
    assert (output == 3).all()


def test_numpy_function_raises_for_empty_weights():
    features, mask = np.ones((1, 2, 3, 3), np.float32), np.ones((1, 3, 3), np.float32)
    weight, bias = np.ones((0, 2, 1, 1), np.float32), np.ones(0, np.float32)
    with pytest.raises(mluops.BadParamError, match="weight must not be empty"):
        mluops.masked_conv2d_forward(features, mask, weight, bias, 1, 1, 0, 0, 1, 1)


@needs_matplotlib
def test_windows_are_the_pixels_that_forward_reads():
    size, mask = (6, 8), np.array([[1, 0, 0], [0, -1, 2]])
    arguments = ((3, 2), (3, 2), (1, 0), (1, 2))  # kernel, stride, pad, dilation
    left = viz.masked_conv2d_windows(mask, size, *arguments)
    right = viz.masked_conv2d_output(mask, size, *arguments)
    expected = {(0, 0): {(y, x) for y in (0, 1) for x in (0, 2)}}
    expected[1, 2] = {(y, x) for y in (2, 3, 4) for x in (4, 6)}
    counts = np.zeros(mask.shape, int)
    for (p, q), pixels in expected.items():
        assert filled(left, f"position {p},{q}") == pixels
        assert filled(right, f"position {p},{q}") == {(p, q)}
        counts[p, q] = len(pixels)
    assert [int(text.get_text()) for text in right.texts] == counts.flatten().tolist()
    assert not filled(left, "position 1,1")


def masks(n, height, width):
    mask = torch.rand(n, height, width, generator=torch.Generator().manual_seed(5)) - 0.6
    if n > 1:
        mask[-1] = -1  # one image of the batch has an empty mask
    return mask


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    "arguments",
    [
        dict(kernel_size=3, padding=1),
        dict(kernel_size=3),
        dict(kernel_size=1, stride=2),
        dict(kernel_size=3, padding=1, bias=False),
        dict(kernel_size=(3, 2), padding=(2, 1), stride=(2, 1)),
        dict(kernel_size=3, padding=2, dilation=2),
        dict(kernel_size=(2, 3), padding=(0, 3), dilation=(1, 3), stride=(3, 2), groups=2),
        dict(kernel_size=3, padding=1, groups=4, bias=False),
    ],
    ids=str,
)
def test_masked_conv2d_equals_conv2d_times_mask_in_both_directions(arguments, n):
    conv = ours.MaskedConv2d(4, 8, **arguments)
    plain = torch.nn.Conv2d(4, 8, **arguments).double()
    plain.load_state_dict(conv.state_dict())
    x = randn(n, 4, 9, 8).requires_grad_()
    reference_x = x.detach().double().requires_grad_()
    expected = plain(reference_x)
    mask = masks(n, *expected.shape[2:])
    expected = expected * (mask > 0)[:, None]
    actual = conv(x, mask)
    torch.testing.assert_close(actual, expected.float(), rtol=1e-4, atol=1e-5)
    grad = randn(*expected.shape, seed=2)
    actual.backward(grad)
    expected.backward(grad.double())
    pairs = [(x, reference_x), (conv.weight, plain.weight), (conv.bias, plain.bias)]
    for ours_one, reference in pairs[: 2 if conv.bias is None else 3]:
        torch.testing.assert_close(ours_one.grad, reference.grad.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("arguments", [dict(), dict(stride=2), dict(padding=2)], ids=str)
def test_mask_of_the_feature_size_uses_its_upper_left_part(arguments):
    conv, x = ours.MaskedConv2d(2, 3, 5, **arguments), randn(2, 2, 9, 9)
    mask = (torch.rand(2, 9, 9, generator=torch.Generator().manual_seed(5)) > 0.5).float()
    full = conv(x)
    expected = full * mask[:, None, : full.shape[2], : full.shape[3]]
    torch.testing.assert_close(conv(x, mask), expected, rtol=1e-4, atol=1e-5)


def test_mask_of_the_feature_size_has_zeros_beyond_the_features():
    conv, x = ours.MaskedConv2d(3, 6, 1, padding=(1, 2)), randn(2, 3, 4, 5)
    mask = masks(2, 4, 5)
    expected = conv(x) * torch.nn.functional.pad(mask > 0, (0, 4, 0, 2))[:, None]
    torch.testing.assert_close(conv(x, mask), expected, rtol=1e-4, atol=1e-5)
    conv(x, mask).sum().backward()
    torch.testing.assert_close(conv.bias.grad, (mask > 0).sum().expand(6).float())


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.float16, torch.int64])
def test_mask_may_have_any_type(dtype):
    conv, x, mask = ours.MaskedConv2d(2, 3, 3, padding=1), randn(1, 2, 5, 5), torch.eye(5)[None]
    assert torch.equal(conv(x, mask.to(dtype)), conv(x, mask))


def test_mask_may_have_a_channel_dim():
    conv, x, mask = ours.MaskedConv2d(2, 3, 3, padding=1), randn(2, 2, 5, 5), masks(2, 5, 5)
    assert torch.equal(conv(x, mask[:, None]), conv(x, mask))


def test_empty_mask_gives_contiguous_zeros_and_zero_gradients():
    conv = ours.MaskedConv2d(2, 3, 3, padding=1)
    x = randn(1, 2, 5, 5).requires_grad_()
    y = conv(x, torch.zeros(1, 5, 5))
    assert y.is_contiguous() and torch.equal(y, torch.zeros(1, 3, 5, 5))
    y.sum().backward()
    for parameter in (x, conv.weight, conv.bias):
        assert torch.equal(parameter.grad, torch.zeros_like(parameter))


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 1e38])
def test_empty_mask_reads_no_feature(value):
    y = ours.MaskedConv2d(2, 3, 3, padding=1)(torch.full((1, 2, 5, 5), value), torch.zeros(1, 5, 5))
    assert torch.equal(y, torch.zeros(1, 3, 5, 5))


def test_masked_conv2d_accepts_positional_arguments_of_mmcv():
    x, weight, bias, mask = randn(1, 2, 5, 5), randn(3, 2, 3, 3), randn(3), masks(1, 5, 5)
    expected = torch.nn.functional.conv2d(x, weight, bias, padding=1) * (mask > 0)
    actual = ours.masked_conv2d(x, mask, weight, bias, 1, 1)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_masked_conv2d_without_mask_equals_conv2d():
    conv, plain = ours.MaskedConv2d(2, 3, 3, padding=1), torch.nn.Conv2d(2, 3, 3, padding=1)
    plain.load_state_dict(conv.state_dict())
    x = randn(2, 2, 5, 5)
    assert torch.equal(conv(x), plain(x))


@pytest.mark.parametrize("bias", [True, False])
def test_state_dict_equals_that_of_conv2d(bias):
    conv, plain = ours.MaskedConv2d(4, 6, 3, bias=bias), torch.nn.Conv2d(4, 6, 3, bias=bias)
    assert isinstance(conv, torch.nn.Conv2d)
    shapes = [
        {key: value.shape for key, value in module.state_dict().items()} for module in (conv, plain)
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", ["full", "partly", "empty"])
def test_masked_conv2d_has_the_type_of_conv2d_under_autocast(bias, kind, monkeypatch):
    # torch computes the product, and not every CPU supports bfloat16.
    monkeypatch.setattr(
        _masked_columns,
        "_product",
        lambda w, x, g: w.flatten(1).sum(1, keepdim=True) * x.sum(0, keepdim=True),
    )
    conv = ours.MaskedConv2d(2, 3, 3, padding=1, bias=bias)
    features, mask = torch.randn(2, 2, 4, 4), torch.ones(2, 4, 4)
    if kind != "full":
        mask[0] = 0
    if kind == "empty":
        mask[1] = 0
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert conv(features, mask).dtype == torch.bfloat16
        assert conv.double()(features.double(), mask).dtype == torch.float64


def test_masked_conv2d_accepts_an_empty_batch():
    conv = ours.MaskedConv2d(2, 3, 3, padding=1)
    assert conv(torch.zeros(0, 2, 5, 5), torch.zeros(0, 5, 5)).shape == (0, 3, 5, 5)


@pytest.mark.parametrize("options", [{"stride": 0}, {"dilation": 0}, {"padding": -3}])
def test_masked_conv2d_raises_where_conv2d_raises(options):
    with pytest.raises(ValueError, match="masked_conv2d: "):
        ours.masked_conv2d(
            torch.zeros(1, 1, 4, 4), torch.zeros(1, 4, 4), torch.zeros(1, 1, 3, 3), **options
        )


def test_masked_conv2d_raises_on_bias_of_wrong_size():
    with pytest.raises(ValueError, match="masked_conv2d: "):
        ours.masked_conv2d(
            torch.zeros(1, 1, 4, 4), torch.zeros(1, 4, 4), torch.zeros(3, 1, 1, 1), torch.zeros(1)
        )


def test_masked_conv2d_in_half():
    features, mask = torch.randn(1, 2, 5, 5), torch.ones(1, 5, 5)
    weight = torch.randn(3, 2, 3, 3)
    expected = ours.masked_conv2d(features.half().float(), mask, weight.half().float(), padding=1)
    actual = ours.masked_conv2d(features.half(), mask, weight.half(), padding=1)
    assert actual.dtype == torch.float16
    assert torch.equal(actual, expected.half())


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [dict(padding=1), dict(padding=(0, 2), stride=(2, 1), dilation=(1, 2)), dict(bias=False)],
    ids=str,
)
@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_rows_equal_columns_in_both_directions(arguments, last, block_bytes, monkeypatch):
    """A large image with many channels is convolved by products of rows, in several blocks."""
    monkeypatch.setattr(_masked_rows, "_TYPES", (torch.float64,))  # slow, but precise
    monkeypatch.setattr(_masked_rows, "_BLOCK_BYTES", block_bytes)
    conv = ours.MaskedConv2d(20, 6, 3, **arguments).double()
    x = randn(2, 20, 43, 41).double()
    assert _masked_rows.applies(x, conv.weight, 1)
    x = x.contiguous(memory_format=torch.channels_last) if last else x
    x.requires_grad_()
    dense = conv(x)
    mask = masks(2, *dense.shape[2:])
    grad = randn(*dense.shape, seed=2).double()
    grad = grad.contiguous(memory_format=torch.channels_last) if last else grad
    inputs = [x, *conv.parameters()]
    expected = dense * (mask > 0)[:, None]
    actual = conv(x, mask)
    torch.testing.assert_close(actual, expected)
    assert actual.stride() == dense.stride()
    for a, b in zip(
        torch.autograd.grad(actual, inputs, grad), torch.autograd.grad(expected, inputs, grad)
    ):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("last", [False, True])
def test_results_do_not_share_the_scratch_of_later_calls(last):
    conv, large, small = ours.MaskedConv2d(20, 6, 3, padding=1), (1, 20, 70, 60), (1, 20, 60, 60)

    def run(shape, seed):
        x = randn(*shape, seed=seed)
        x = x.contiguous(memory_format=torch.channels_last) if last else x
        assert not _masked_rows._TYPES or _masked_rows.applies(x, conv.weight, 1)
        y = conv(x.requires_grad_(), masks(1, *shape[2:]))
        y.backward(torch.ones_like(y))
        return y.detach(), x.grad

    with torch.inference_mode():  # scratch of this call must be usable outside of the mode
        conv(randn(*large), masks(1, *large[2:]))
    results = [run(large, 1), run(small, 2)]
    copies = [[each.clone() for each in pair] for pair in results]
    run(large, 3)
    for pair, copy in zip(results, copies):
        assert all(map(torch.equal, pair, copy))


def test_second_derivatives_equal_those_of_conv2d():
    x = randn(1, 2, 4, 5).double().requires_grad_()
    weight = randn(3, 2, 3, 3).double().requires_grad_()
    mask = masks(1, 4, 5)
    run = lambda x, w: ours.masked_conv2d(x, mask, w, padding=1)
    assert torch.autograd.gradgradcheck(run, (x, weight))


def wrong_backward_calls():
    """Yields a change of one argument of masked_conv2d_backward, and the message."""
    yield 0, lambda grad: grad[..., :4, :], "grad must have shape"
    yield 0, lambda grad: torch.cat([grad, grad], 3), "grad must have shape"
    yield 0, lambda grad: grad[0], "grad must have shape"
    yield 8, lambda wanted: wanted[:1], "wanted must be a list of 3"
    yield 8, lambda wanted: wanted * 2, "wanted must be a list of 3"


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_backward_checks_grad_and_wanted(device):
    tensors = randn(2, 3, 5, 6), randn(2, 2, 5, 6), randn(2, 5, 6), randn(3, 2, 3, 3)
    arguments = [*(x.to(device) for x in tensors), [1, 1], [1, 1], [1, 1], 1, [True] * 3]
    assert len(torch.ops.mluops.masked_conv2d_backward(*arguments)) == 3
    for i, change, message in wrong_backward_calls():
        wrong = [*arguments[:i], change(arguments[i]), *arguments[i + 1 :]]
        with pytest.raises(ValueError, match=f"^masked_conv2d_backward: {message}"):
            torch.ops.mluops.masked_conv2d_backward(*wrong)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_weights_paddings_and_types_are_checked(device):
    features, mask, weight = (
        x.to(device) for x in (randn(1, 2, 5, 6), randn(1, 5, 6), randn(3, 2, 3, 3))
    )

    def fails(message, features=features, weight=weight, padding=1):
        with pytest.raises(ValueError, match=f"^masked_conv2d: {message}"):
            ours.masked_conv2d(features, mask, weight, padding=padding)

    for empty in (weight[:0], weight[:, :, :0], weight[..., :0]):
        fails("weight must not be empty", weight=empty)
    fails("padding must be >= 0", padding=(-1, 0), weight=weight[:, :, :1, :1])
    if hasattr(torch, "float8_e5m2"):
        fp8 = torch.float8_e5m2
        fails("features must be a floating", features=features.to(fp8), weight=weight.to(fp8))
