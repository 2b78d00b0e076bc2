# SPDX-License-Identifier: Apache-2.0
"""Defines the benchmarks of `peers.py`: pairs of an mluops call and its PyTorch equivalent.

A pair is measured at two levels. "library": each side has its preferred layout and preallocated
outputs; ours is called through NumPy. "drop-in": both sides convert a contiguous NCHW tensor to a
contiguous result."""

import dataclasses
from typing import Callable, Optional

import mluops
import mluops.torch as ours
import numpy as np
import torch
import torch.nn.functional as F
from compositions import (
    composed_border_align,
    composed_psa_mask,
    composed_psa_mask_backward,
    composed_roiaware_backward,
    roiaware_scene,
)

try:
    import torchvision
except ImportError:
    torchvision = None


@dataclasses.dataclass
class Pair:
    name: str
    level: str  # "library" or "drop-in"
    ours: Callable
    peer: Optional[Callable]  # None: there is none
    # True if the peer computes the same function. Otherwise results are not compared.
    same: bool = True
    tolerance: float = 0.0
    case: str = ""  # the case line of `mluop` with the same operator and sizes
    library: str = "torch composition"  # the library of the peer


def array(tensor):
    return np.ascontiguousarray(tensor.detach().numpy())


def nhwc(tensor):
    return array(tensor.permute(0, 2, 3, 1))


def both_directions(
    name, function, peer, x, same=(True, True), tolerance=0.0, cases=("", ""), parameters=()
):
    """Yields the drop-in pairs, forward and backward (through autograd). Backward computes the
    gradients of x and of the parameters."""
    leaf = x.clone().requires_grad_()

    def backward_of(function):
        y = function(leaf)
        grad = torch.rand(y.shape, generator=torch.Generator().manual_seed(1)).to(y.dtype)
        leaves = (leaf, *parameters)
        return lambda: torch.autograd.grad(y, leaves, grad, retain_graph=True)[0]

    forward = (lambda: function(x)), (peer and (lambda: peer(x)))
    yield Pair(f"{name}, forward", "drop-in", *forward, same[0], tolerance, cases[0])
    backward = backward_of(function), (peer and backward_of(peer))
    yield Pair(f"{name}, backward", "drop-in", *backward, same[1], tolerance, cases[1])


def pooling_cases(images, size, height, width, count, channels, scale):
    """The case lines of psroipool and of torchvision's ps_roi_pool, forward and backward."""
    map_size = f"H={height} W={width} R={count}"
    bins = f"pooled_height={size} pooled_width={size} spatial_scale={scale:g}"
    rfcn = (
        f"psroipool_forward N={images} {map_size} {bins} group_size={size} output_dim={channels}",
        f"psroipool_backward N={images} {map_size} {bins} output_dim={channels}",
    )
    name = "torchvision_ps_roi_pool"
    arguments = f"N={images} O={channels} {map_size} {bins}"
    return rfcn, (f"{name}_forward {arguments}", f"{name}_backward {arguments}")


def random_rois(count, images, height, width, scale):
    """Returns random RoIs inside the map, as [batch, x1, y1, x2, y2]."""
    corners = torch.rand(count, 2, 2) * torch.tensor([width - 1, height - 1]) / scale
    batch = torch.randint(images, (count, 1)).float()
    return torch.cat([batch, corners.amin(1), corners.amax(1)], dim=1)


def ps_roi_pool(images, size, height, width, count, channels, scale):
    """The peer is torchvision's ps_roi_pool. psroipool (R-FCN) is a different function."""
    x = torch.rand(images, channels * size * size, height, width)
    rois = random_rois(count, images, height, width, scale)
    shape = f"[{images},{channels * size * size},{height},{width}] R{count} k{size}"
    peer = from_last = None
    if torchvision is not None:
        peer = lambda x: torchvision.ops.ps_roi_pool(x, rois, size, scale)
        last = x.to(memory_format=torch.channels_last)
        from_last = lambda: torchvision.ops.ps_roi_pool(last, rois, size, scale)
    rfcn_cases, cases = pooling_cases(images, size, height, width, count, channels, scale)
    pairs = list(library_psroipool(shape, x, rois, (size, scale, channels), peer, from_last))
    pairs[0].case, pairs[-1].case = rfcn_cases
    name = "ps_roi_pool, torchvision " + shape
    function = lambda x: ours.ps_roi_pool(x, rois, size, scale)
    pairs += both_directions(name, function, peer, x, (True, False), cases=cases)
    function = lambda x: ours.ps_roi_pool(x, rois, size, scale, "rfcn")
    name = "ps_roi_pool, rfcn " + shape
    pairs += both_directions(name, function, peer, x, (False, False), cases=rfcn_cases)
    for pair in pairs:
        pair.library = "torchvision"
    yield from pairs


def library_psroipool(shape, x, rois, attributes, peer, from_last):
    size, scale, channels = attributes
    input, boxes = nhwc(x), array(rois)
    forward = (size, size, scale, size, channels)
    output, mapping = mluops.psroipool_forward(input, boxes, *forward)
    grad = np.ones_like(output)
    given = {"output": output, "mapping_channel": mapping}
    run = lambda: mluops.psroipool_forward(input, boxes, *forward, **given)[0]
    same = False  # torchvision rounds and clips differently
    yield Pair(f"psroipool {shape}, forward", "library", run, peer and (lambda: peer(x)), same)
    yield Pair(f"psroipool {shape}, forward of channels_last", "library", run, from_last, same)
    backward = (boxes, mapping, size, size, scale, channels, input.shape)
    bottom = np.empty_like(input)
    run = lambda: mluops.psroipool_backward(grad, *backward, bottom_grad=bottom)
    gradient = None
    if peer is not None:
        leaf = x.clone().requires_grad_()
        y = peer(leaf)
        ones = torch.ones_like(y)
        gradient = lambda: torch.autograd.grad(y, leaf, ones, retain_graph=True)[0]
    yield Pair(f"psroipool {shape}, backward", "library", run, gradient, same)


def border_align(height, width, count, pool_size, dtype=torch.float32):
    x = torch.rand(2, 1024, height, width).to(dtype)
    boxes = random_rois(2 * count, 1, height, width, 1.0)[:, 1:].view(2, count, 4).to(dtype)
    name = f"border_align [2,1024,{height},{width}] K{count} p{pool_size}"
    peer = lambda x: composed_border_align(x, boxes, pool_size)
    if dtype == torch.float16:  # grid_sample has no half on the CPU
        name, peer = name + " half", None
    sizes = f"N=2 H={height} W={width} C=256 K={count} pool_size={pool_size}"
    sizes += " dtype=half" if dtype == torch.float16 else ""
    cases = f"border_align_forward {sizes}", f"border_align_backward {sizes}"
    input, places = nhwc(x), array(boxes)
    output, argmax = mluops.border_align_forward(input, places, pool_size)
    given = {"output": output, "argmax_idx": argmax}
    run = lambda: mluops.border_align_forward(input, places, pool_size, **given)[0]
    expected = peer and (lambda: peer(x).permute(0, 2, 3, 1))
    yield Pair(f"{name}, forward", "library", run, expected, tolerance=1e-4, case=cases[0])
    grad, result = np.ones_like(output), np.empty_like(input)
    arguments = (grad, places, argmax, pool_size, height, width)
    run = lambda: mluops.border_align_backward(*arguments, grad_input=result)
    # If two samples are nearly equal, the argmax may differ, so gradients are not compared.
    function = lambda x: ours.border_align(x, boxes, pool_size)
    drop_in = list(both_directions(name, function, peer, x, (True, False), 1e-4, cases))
    yield Pair(f"{name}, backward", "library", run, drop_in[1].peer, same=False, case=cases[1])
    yield from drop_in


def psa_mask_cases(images, size, mask, kind, nchw=False):
    """Returns the case lines, forward and backward."""
    operator = "psamask_nchw" if nchw else "psamask"
    sizes = f"N={images} H={size} W={size} psa_type={kind} h_mask={mask} w_mask={mask}"
    return f"{operator}_forward {sizes}", f"{operator}_backward {sizes}"


def psa_mask(images, size, mask):
    last = torch.rand(images, size, size, mask * mask)
    grad = torch.rand(images, size, size, size * size)
    first, first_grad = (t.permute(0, 3, 1, 2).contiguous() for t in (last, grad))
    x, dy = array(last), array(grad)
    y, dx = np.empty_like(dy), np.empty_like(x)
    for kind, word in enumerate(("collect", "distribute")):
        name = f"psa_mask, {word} [{images},{mask * mask},{size},{size}]"
        cases = psa_mask_cases(images, size, mask, kind)
        first_cases = psa_mask_cases(images, size, mask, kind, nchw=True)
        yield Pair(
            f"{name}, forward",
            "library",
            lambda k=kind: mluops.psamask_forward(x, k, mask, mask, y=y),
            lambda k=kind: composed_psa_mask(last, mask, k),
            case=cases[0],
        )
        yield Pair(
            f"{name}, backward",
            "library",
            lambda k=kind: mluops.psamask_backward(dy, k, mask, mask, dx=dx),
            lambda k=kind: composed_psa_mask_backward(grad, mask, k),
            case=cases[1],
        )

        def peer(x, function, k=kind):
            result = function(x.permute(0, 2, 3, 1).contiguous(), mask, k)
            return result.permute(0, 3, 1, 2).contiguous()

        yield Pair(
            f"{name}, forward",
            "drop-in",
            lambda k=kind: torch.ops.mluops.psa_mask(first, k, mask, mask),
            lambda p=peer: p(first, composed_psa_mask),
            case=first_cases[0],
        )
        yield Pair(
            f"{name}, backward",
            "drop-in",
            lambda k=kind: torch.ops.mluops.psa_mask_backward(first_grad, k, mask, mask),
            lambda p=peer: p(first_grad, composed_psa_mask_backward),
            case=first_cases[1],
        )


def conv_case(height, width, masks):
    """The case line of a 3x3 convolution. masks: the share of masked positions, in words."""
    window = "kernel_h=3 kernel_w=3 stride_h=1 stride_w=1 pad_h=1 pad_w=1 dilation_h=1 dilation_w=1"
    sizes = f"N=1 C=256 H={height} W={width} P={height} Q={width} O=256"
    return f"masked_conv2d_forward {sizes} {window} masks={masks}"


def masked_convolution(height, width, masks, sort=True):
    x = torch.rand(1, 256, height, width)
    places = torch.randperm(height * width)[:masks]
    places = places.sort().values if sort else places
    order = "sorted" if sort else "random"
    rows, columns = (places // width).int(), (places % width).int()
    taps_h = rows.long()[None] + torch.arange(3)[:, None]
    taps_w = columns.long()[None] + torch.arange(3)[:, None]
    taps = (taps_h[:, None] * (width + 2) + taps_w[None]).flatten()

    def windows(x):
        padded = F.pad(x, (1, 1, 1, 1)).view(256, -1)
        return padded.index_select(1, taps).view(256 * 9, masks)

    name = f"masked_im2col [1,256,{height},{width}] M{masks} k3 {order}"
    sizes = f"C=256 H={height} W={width} M={masks}"
    kernel = "kernel_h=3 kernel_w=3 pad_h=1 pad_w=1 "
    forward, backward = (
        f"masked_im2col_{direction} {sizes} {kernel}masks={order}"
        for direction in ("forward", "backward")
    )
    at = array(rows), array(columns)
    feature, data_col = array(x), np.empty((256 * 9, masks), np.float32)
    yield Pair(
        f"{name}, forward",
        "library",
        lambda: mluops.masked_im2col_forward(feature, *at, 3, 3, 1, 1, data_col=data_col),
        lambda: windows(x),
        case=forward,
    )
    function = lambda x: torch.ops.mluops.masked_im2col(x, rows, columns, [3, 3], [1, 1])
    cases = forward, backward
    yield from both_directions(name, function, windows, x, tolerance=1e-4, cases=cases)
    name = f"masked_col2im [256,{masks}] to {height} x {width} {order}"
    function = lambda col: torch.ops.mluops.masked_col2im(col, rows, columns, height, width)
    scatter = lambda col: torch.zeros(256, height * width).index_copy(1, places, col)
    peer = lambda col: scatter(col).view(1, 256, height, width)
    cases = [
        f"masked_col2im_{direction} {sizes} masks={order}" for direction in ("forward", "backward")
    ]
    yield from both_directions(name, function, peer, torch.rand(256, masks), cases=cases)
    if sort:
        conv, mask = torch.nn.Conv2d(256, 256, 3, padding=1), torch.zeros(1, height, width)
        mask[0, rows.long(), columns.long()] = 1
        name = f"masked_conv2d [1,256,{height},{width}] M{masks} k3"
        function = lambda x: ours.masked_conv2d(x, mask, conv.weight, conv.bias, 1)
        peer, weights = lambda x: conv(x) * mask, tuple(conv.parameters())
        cases = conv_case(height, width, "half" if 3 * masks > height * width else "quarter"), ""
        yield from both_directions(
            name, function, peer, x, tolerance=1e-3, cases=cases, parameters=weights
        )


def roiaware_pool3d(dense):
    argmax, indices, points = roiaware_scene(dense)
    grad = np.random.default_rng(2).random(argmax.shape, np.float32)
    result = np.empty((points, argmax.shape[-1]), np.float32)
    for method, word in enumerate(("max", "avg")):
        name = f"roiaware_pool3d, {word}, PartA2 {'dense' if dense else 'sparse'}, backward"
        run = lambda m=method: mluops.roiaware_pool3d_backward(
            indices, argmax, grad, m, points, grad_in=result
        )
        saved = (*(torch.from_numpy(a) for a in (grad, argmax, indices)), method, points)
        peer = lambda s=saved: composed_roiaware_backward(*s)
        case = (
            f"roiaware_pool3d_backward P={points} pool_method={method} boxes_num=128 out_x=12 "
            "out_y=12 out_z=12 channels=16 max_pts_each_voxel=128"
        )
        case += " scene=dense" if dense else ""
        yield Pair(name, "library", run, peer, tolerance=1e-4, case=case)
        backward = lambda s=saved: torch.ops.mluops.roiaware_pool3d_backward(*s)
        yield Pair(name, "drop-in", backward, peer, tolerance=1e-4, case=case)


def roiaware_pool3d_forward():
    """Yields forward on car-sized boxes. It has no peer in torch."""
    features = torch.rand(16000, 16)
    pts = torch.rand(16000, 3) * torch.tensor([70.0, 80.0, 4.0])
    centres = pts[torch.randint(16000, (128,))] - torch.tensor([0, 0, 0.8])
    sizes = torch.tensor([3.9, 1.6, 1.56]).expand(128, 3)
    cars = torch.cat([centres, sizes, torch.rand(128, 1) * 6], dim=1)
    for method, word in enumerate(("max", "avg")):
        run = lambda m=method: torch.ops.mluops.roiaware_pool3d(
            cars, pts, features, [12, 12, 12], 128, m
        )
        yield Pair(f"roiaware_pool3d, {word}, PartA2, forward", "drop-in", run, None)


def all_pairs():
    yield from ps_roi_pool(1, 7, 14, 14, 320, 8, 1.0)
    yield from ps_roi_pool(2, 3, 14, 14, 493, 21, 0.0625)
    yield from ps_roi_pool(1, 7, 38, 63, 300, 81, 0.0625)
    yield from border_align(7, 10, 70, 10)
    yield from border_align(25, 38, 950, 10)
    yield from border_align(25, 38, 950, 10, torch.float16)
    yield from masked_convolution(20, 20, 200)
    yield from masked_convolution(100, 152, 4000)
    yield from masked_convolution(100, 152, 4000, sort=False)
    yield from psa_mask(1, 30, 59)
    yield from psa_mask(1, 60, 119)
    yield from psa_mask(2, 60, 119)
    yield from psa_mask(1, 97, 97)
    yield from roiaware_pool3d(dense=False)
    yield from roiaware_pool3d(dense=True)
    yield from roiaware_pool3d_forward()
