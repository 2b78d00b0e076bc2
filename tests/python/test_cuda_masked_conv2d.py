# SPDX-License-Identifier: Apache-2.0
"""masked_conv2d on a CUDA device: results, gradients, waiting and graphs."""

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

from mluops.torch import MaskedConv2d

CUDA = torch.device("cuda", torch.cuda.current_device())


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
