# SPDX-License-Identifier: Apache-2.0
"""float64 is computed in double: gradcheck with its default settings, coordinates that float32
cannot represent, and the cases of torchvision's tests of ps_roi_pool."""

import math

import pytest

torch = pytest.importorskip("torch")

import mluops.torch as ours
import samples

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", samples.NAMES)
def test_gradcheck_with_default_settings(name, device):
    operator, arguments = samples.make(torch.float64)[name]
    arguments = [a.to(device) if isinstance(a, torch.Tensor) else a for a in arguments]
    at = samples.features_of(arguments)
    x = arguments[at].requires_grad_()

    def run(x):
        return samples.outputs_of(operator(*arguments[:at], x, *arguments[at + 1 :]))[0]

    assert torch.autograd.gradcheck(run, (x,), check_forward_ad=hasattr(torch, "func"))
    assert torch.autograd.gradgradcheck(run, (x,))


def at_the_border(device):
    """Functions of features, with boxes that reach over every border of the image."""
    rois = torch.tensor(
        [[0.0, -3, -2, 4, 3], [0, 3, 4, 9, 9], [0, 6.5, 5.5, 7, 6], [0, -9, -9, -5, -5]]
    ).to(device, torch.float64)
    boxes = rois[None, :, 1:].contiguous()
    mask = torch.zeros(1, 6, 7, device=device)
    mask[0, 0], mask[0, :, -1] = 1, 1
    weight = torch.randn(3, 4, 3, 3, dtype=torch.float64).to(device)
    return {
        "border_align": lambda x: ours.border_align(x, boxes, 3),
        "ps_roi_pool": lambda x: ours.ps_roi_pool(x, rois, 2),
        "ps_roi_pool rfcn": lambda x: ours.ps_roi_pool(x, rois, 2, semantics="rfcn"),
        "psa_mask collect": lambda x: ours.psa_mask(x, 0, (2, 2)),
        "psa_mask distribute": lambda x: ours.psa_mask(x, 1, (2, 2)),
        "masked_conv2d": lambda x: ours.masked_conv2d(x, mask, weight, padding=1),
    }


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", sorted(at_the_border("cpu")))
def test_gradcheck_at_image_borders(name, device):
    x = torch.randn(1, 4, 6, 7, dtype=torch.float64, device=device, requires_grad=True)
    assert torch.autograd.gradcheck(at_the_border(device)[name], (x,))


def test_gradcheck_of_masked_conv2d_for_weight_and_bias():
    x, mask = torch.randn(2, 4, 5, 5, dtype=torch.float64), torch.rand(2, 5, 5) > 0.5
    weight = torch.randn(3, 4, 3, 3, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(3, dtype=torch.float64, requires_grad=True)
    run = lambda w, b: ours.masked_conv2d(x, mask, w, b, padding=1)
    assert torch.autograd.gradcheck(run, (weight, bias))


@pytest.mark.parametrize("name", samples.NAMES)
def test_values_have_the_precision_of_double(name):
    """One third is not a float32: a float32 result would differ in the eighth digit."""
    operator, arguments = samples.make(torch.float64)[name]
    at = samples.features_of(arguments)
    whole = samples.outputs_of(operator(*arguments))[0]
    arguments[at] = arguments[at] / 3
    third = samples.outputs_of(operator(*arguments))[0]
    assert torch.allclose(third * 3, whole, rtol=1e-14, atol=1e-15)


class TestPSRoIPool:
    """The cases of torchvision's tests of PSRoIPool: forward and backward against loops, on both
    devices, contiguous and strided; and the arguments of the module."""

    pool_size = 5
    scale = 1.0

    def loops(self, x, rois, pool_h, pool_w, scale):
        n_output = x.size(1) // (pool_h * pool_w)
        y = torch.zeros(rois.size(0), n_output, pool_h, pool_w, dtype=x.dtype, device=x.device)
        for r, roi in enumerate(rois):
            x1, y1, x2, y2 = (round(v.item() * scale) for v in roi[1:])
            width, height = max(x2 - x1, 1), max(y2 - y1, 1)
            for i in range(pool_h):
                for j in range(pool_w):
                    rows = [math.floor(i * height / pool_h), math.ceil((i + 1) * height / pool_h)]
                    columns = [math.floor(j * width / pool_w), math.ceil((j + 1) * width / pool_w)]
                    h0, h1 = (min(max(v + y1, 0), x.size(2) - 1) for v in rows)
                    w0, w1 = (min(max(v + x1, 0), x.size(3) - 1) for v in columns)
                    if h1 <= h0 or w1 <= w0:
                        continue
                    for c in range(n_output):
                        part = x[int(roi[0]), (c * pool_h + i) * pool_w + j, h0:h1, w0:w1]
                        y[r, c, i, j] = part.mean()
        return y

    def inputs(self, device, dtype, contiguous):
        x = torch.rand(2, 2 * self.pool_size**2, 10, 10, dtype=dtype, device=device)
        rois = torch.tensor(
            [[0, 0, 0, 9, 9], [0, 0, 5, 4, 9], [0, 5, 5, 9, 9], [1, 0, 0, 9, 9]],
            dtype=dtype,
            device=device,
        )
        return (x if contiguous else x.permute(0, 1, 3, 2)), rois

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("contiguous", [True, False])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
    def test_forward(self, device, contiguous, dtype):
        x, rois = self.inputs(device, dtype, contiguous)
        y = ours.PSRoIPool(self.pool_size, self.scale)(x, rois)
        assert y.dtype == dtype
        expected = self.loops(x.double(), rois.double(), self.pool_size, self.pool_size, self.scale)
        tolerance = {torch.float16: 1e-3, torch.float32: 1e-5, torch.float64: 1e-14}[dtype]
        torch.testing.assert_close(y.double(), expected, rtol=tolerance, atol=tolerance)

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("contiguous", [True, False])
    @pytest.mark.parametrize("seed", range(10))
    def test_backward(self, device, contiguous, seed):
        torch.manual_seed(seed)
        pool = ours.PSRoIPool(2, 1.0)
        x = torch.rand(1, 2 * 4, 5, 5, dtype=torch.float64, device=device)
        x = (x if contiguous else x.permute(0, 1, 3, 2)).requires_grad_()
        rois = torch.tensor(
            [[0, 0, 0, 4, 4], [0, 0, 2, 3, 4], [0, 2, 2, 4, 4]], dtype=x.dtype, device=device
        )
        assert torch.autograd.gradcheck(lambda z: pool(z, rois), (x,))
        scripted = torch.jit.script(ours.ps_roi_pool)
        assert torch.autograd.gradcheck(lambda z: scripted(z, rois, 2), (x,))

    @pytest.mark.parametrize("device", DEVICES)
    def test_boxes_of_a_wrong_shape(self, device):
        x = torch.zeros(1, 4, 3, 3, device=device)
        for boxes in (torch.zeros(1, 4), [torch.zeros(1, 5)], torch.zeros(5)):
            moved = [b.to(device) for b in boxes] if isinstance(boxes, list) else boxes.to(device)
            with pytest.raises(ValueError, match="boxes"):
                ours.ps_roi_pool(x, moved, 2)

    def test_is_leaf_module(self):
        import torch.fx

        graph = torch.fx.symbolic_trace(ours.PSRoIPool(2, 1.0)).graph
        assert [n.name for n in graph.nodes if n.op == "call_function"] == ["ps_roi_pool"]

    def test_module_repr(self):
        assert repr(ours.PSRoIPool(3, 0.5)) == "PSRoIPool(output_size=3, spatial_scale=0.5)"
