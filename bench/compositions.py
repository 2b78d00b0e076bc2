# SPDX-License-Identifier: Apache-2.0
"""Compositions of torch operators that compute the same as ours: the peers of `pairs.py`. Also the
scene that roiaware_pool3d needs as input."""

import numpy as np
import torch
import torch.nn.functional as F


def composed_border_align(x, boxes, pool_size):
    """grid_sample along the four sides, then the maximum."""
    height, width = x.shape[2:]
    x1, y1, x2, y2 = boxes.unbind(-1)
    t = torch.linspace(0, 1, pool_size + 1, dtype=x.dtype, device=x.device)
    across = x1[..., None] + (x2 - x1)[..., None] * t
    down = y1[..., None] + (y2 - y1)[..., None] * t
    lines = [
        (across, y1[..., None].expand_as(across)),
        (x1[..., None].expand_as(down), down),
        (across.flip(-1), y2[..., None].expand_as(across)),
        (x2[..., None].expand_as(down), down.flip(-1)),
    ]
    results = []
    for (xs, ys), part in zip(lines, x.chunk(4, dim=1)):
        grid = torch.stack([2 * xs / (width - 1) - 1, 2 * ys / (height - 1) - 1], dim=-1)
        sampled = F.grid_sample(part, grid, align_corners=True, padding_mode="border")
        results.append(sampled.amax(-1))
    return torch.stack(results, dim=-1)


def shifted(x, size, mask, distribute):
    """Returns a strided view [N, p, q] of x: each mask row starts at its first element inside the
    map. Requires mask >= 2*size - 1."""
    n, rows, area = x.shape[0], size * mask * mask, mask * mask
    strides = (size * rows, rows - mask, area - 1, mask, 1)
    half = (mask - 1) // 2
    view = x.as_strided((n, size, size, size, size), strides, half * mask + half)
    if distribute:
        view = view.permute(0, 3, 4, 1, 2)
    return view


def composed_psa_mask(x, mask, distribute):
    """From and to NHWC: masks padded to cover the map, then one strided copy."""
    n, size = x.shape[:2]
    padded_mask = max(2 * size - 1, mask)
    if padded_mask > mask:
        pad = (padded_mask - mask) // 2
        x = F.pad(x.view(n, size, size, mask, mask), (pad, pad, pad, pad)).flatten(3)
    return shifted(x, size, padded_mask, distribute).reshape(n, size, size, size * size)


def composed_psa_mask_backward(grad, mask, distribute):
    n, size = grad.shape[:2]
    padded_mask = max(2 * size - 1, mask)
    result = grad.new_zeros((n, size, size, padded_mask * padded_mask))
    target = shifted(result, size, padded_mask, distribute)
    target.copy_(grad.view(target.shape))
    if padded_mask > mask:
        pad = (padded_mask - mask) // 2
        inner = result.view(n, size, size, padded_mask, padded_mask)[
            ..., pad : pad + mask, pad : pad + mask
        ]
        result = inner.reshape(n, size, size, mask * mask)
    return result


def composed_roiaware_backward(grad, argmax, indices, method, points):
    """scatter_add_ of the maxima, index_add_ of the means."""
    channels = grad.shape[-1]
    result = torch.zeros(points, channels, device=grad.device)
    grad = grad.view(-1, channels)
    if method == 0:
        flat = argmax.view(-1, channels).long()
        return result.scatter_add_(0, flat.clamp(min=0), grad * (flat >= 0))
    slots = indices.view(-1, indices.shape[-1])
    counts = slots[:, 0].long()
    voxels = torch.arange(counts.numel(), device=grad.device).repeat_interleave(counts)
    within = torch.arange(voxels.numel(), device=grad.device) - (counts.cumsum(0) - counts)[voxels]
    point_indices = slots[voxels, within + 1].long()
    return result.index_add_(0, point_indices, grad[voxels] / counts[voxels, None])


def roiaware_scene(dense):
    """Generates forward's outputs for 128 boxes of 12 x 12 x 12 voxels, as `mluop perf` does.

    Sparse: 20 % of the voxels have points, 1.3 on average. Dense: 0 to 127 points per voxel."""
    random = np.random.default_rng(1)
    voxels, slots, points, channels = 128 * 12**3, 128, 16000, 16
    counts = random.integers(0, slots, voxels)
    if not dense:
        counts = np.minimum(random.geometric(0.75, voxels), slots - 1)
        counts *= random.integers(0, 5, voxels) == 0
    point_indices = random.integers(0, points, (voxels, slots), np.int32)
    point_indices *= np.arange(slots) <= counts[:, None]
    point_indices[:, 0] = counts
    winners = 1 + random.integers(0, np.maximum(counts, 1)[:, None], (voxels, channels))
    argmax = np.where(counts[:, None] > 0, np.take_along_axis(point_indices, winners, 1), -1)
    shape = (128, 12, 12, 12)
    return (
        argmax.astype(np.int32).reshape(*shape, channels),
        point_indices.reshape(*shape, slots),
        points,
    )
