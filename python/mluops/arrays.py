# SPDX-License-Identifier: Apache-2.0
"""The operators on NumPy arrays: a function per entry point of the C library, in its layouts.

Arrays are float32 (or float16, where the operator takes half) and int32; anything with
`__array_interface__`, the buffer protocol or DLPack will do. Inputs that are not packed are copied.
Outputs are made, or given by keyword: then they are packed arrays of the right shape and type, and
are filled and returned. A broken rule raises `BadParamError` with the C library's sentence.
"""

from __future__ import annotations

import ctypes
import math
import operator
import threading
from typing import Any, Tuple

import numpy as np

from . import _context, _entries
from ._library import BadParamError, NotSupportedError

Array = np.ndarray

__all__ = [
    "border_align_backward",
    "border_align_forward",
    "get_num_threads",
    "masked_col2im_forward",
    "masked_col2im_forward_workspace_size",
    "masked_im2col_backward",
    "masked_im2col_forward",
    "masked_im2col_forward_workspace_size",
    "psamask_backward",
    "psamask_forward",
    "psamask_nchw_backward",
    "psamask_nchw_forward",
    "psroipool_backward",
    "psroipool_forward",
    "psroipool_forward_workspace_size",
    "roiaware_pool3d_backward",
    "roiaware_pool3d_forward",
    "roiaware_pool3d_forward_workspace_size",
    "set_num_threads",
    "torchvision_ps_roi_pool_backward",
    "torchvision_ps_roi_pool_forward",
    "transpose",
]

_from_buffer = (ctypes.c_char * 0).from_buffer
_addressof = ctypes.addressof


def _pointer(array: Array) -> int:
    try:  # a quarter of the time of array.ctypes.data
        return _addressof(_from_buffer(array))
    except TypeError:  # an input that cannot be written
        return array.ctypes.data


class _ArrayContext(_context.Context):
    types = {
        np.dtype(name): value
        for name, value in (
            ("float16", _context.HALF),
            ("float32", _context.FLOAT),
            ("float64", _context.DOUBLE),
            ("int8", _context.INT8),
            ("int16", _context.INT16),
            ("int32", _context.INT32),
            ("int64", _context.INT64),
            ("uint8", _context.UINT8),
            ("uint16", _context.UINT16),
            ("uint32", _context.UINT32),
            ("uint64", _context.UINT64),
            ("bool", _context.BOOL),
            ("complex64", _context.COMPLEX_FLOAT),
        )
    }
    pointer = staticmethod(_pointer)


_local = threading.local()
_num_threads = 0  # 0: what the C library finds


def _current() -> _ArrayContext:
    try:
        context = _local.context
    except AttributeError:
        context = _local.context = _ArrayContext()
        _local.found = context.num_threads
    context.use_threads(_num_threads or _local.found)
    return context


def set_num_threads(count: int) -> None:
    """How many threads a call may use, in all Python threads. 0: what the machine offers."""
    global _num_threads
    count = _count(count, "count")
    if count > 1024:
        raise BadParamError(f"set_num_threads: count must be in [0, 1024], got {count}")
    _num_threads = count


def _count(value: Any, name: str) -> int:
    """A size, or another attribute that shapes depend on."""
    try:
        number = operator.index(value)
    except TypeError:
        raise BadParamError(f"mluops: {name} must be an integer, got {value!r}") from None
    if not 0 <= number < 1 << 31:
        raise BadParamError(f"mluops: {name} must be in [0, 2^31), got {number}")
    return number


def get_num_threads() -> int:
    """How many threads a call may use."""
    return _current().num_threads


def _input(value: Any, rank: int, name: str) -> Array:
    if isinstance(value, np.ndarray):
        array = value
    elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        array = np.from_dlpack(value)
    else:
        array = np.asarray(value)
    if array.ndim != rank:
        raise BadParamError(f"mluops: {name} must be a tensor of {rank} dims, got {array.ndim}")
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.require(array, None, "CA")


def _output(given: Array | None, shape: tuple, dtype: Any, name: str) -> Array:
    if given is None:
        try:
            return np.empty(shape, dtype)
        except (TypeError, ValueError, MemoryError):
            if math.prod(_count(size, f"a size of {name}") for size in shape) < 1 << 31:
                raise
        raise NotSupportedError(f"mluops: {name} must have less than 2^31 elements, got {shape}")
    if not isinstance(given, np.ndarray):
        raise BadParamError(f"mluops: {name} must be a numpy.ndarray, got {type(given).__name__}")
    if not given.flags.carray:
        raise BadParamError(
            f"mluops: {name} must be packed, aligned and writable, got "
            f"strides {given.strides} of shape {given.shape}, writable: {given.flags.writeable}"
        )
    return given  # its shape and type are the C library's to check


def _space(workspace: Array | None) -> Tuple[int, int]:
    if workspace is None:
        return _entries.NO_WORKSPACE
    return _pointer(_output(workspace, (), None, "workspace")), workspace.nbytes


def psamask_forward(
    x: Any, psa_type: int, h_mask: int, w_mask: int, *, y: Array | None = None
) -> Array:
    """Point-wise spatial attention: spreads each pixel's mask over the map.

    x: [N, H, W, h_mask*w_mask], psa_type 0 (collect) or 1 (distribute); y: [N, H, W, H*W].

    >>> x = np.array([0, 1, 2, 10, 11, 12], np.float32).reshape(1, 1, 2, 3)
    >>> psamask_forward(x, 0, 1, 3)[0, 0]
    array([[ 1.,  2.],
           [10., 11.]], dtype=float32)
    """
    x = _input(x, 4, "x")
    n, height, width, _ = x.shape
    y = _output(y, (n, height, width, height * width), x.dtype, "y")
    _entries.psamask_forward(_current(), psa_type, x, h_mask, w_mask, y)
    return y


def psamask_backward(
    dy: Any, psa_type: int, h_mask: int, w_mask: int, *, dx: Array | None = None
) -> Array:
    """The gradient of `psamask_forward`: dy [N, H, W, H*W], dx [N, H, W, h_mask*w_mask].

    >>> psamask_backward(np.array([[[[1, 2], [3, 4]]]], np.float32), 0, 1, 3)[0, 0]
    array([[0., 1., 2.],
           [3., 4., 0.]], dtype=float32)
    """
    dy = _input(dy, 4, "dy")
    dx = _output(dx, (*dy.shape[:3], h_mask * w_mask), dy.dtype, "dx")
    _entries.psamask_backward(_current(), psa_type, dy, h_mask, w_mask, dx)
    return dx


def psamask_nchw_forward(
    x: Any, psa_type: int, h_mask: int, w_mask: int, *, y: Array | None = None
) -> Array:
    """`psamask_forward` on NCHW arrays: x [N, h_mask*w_mask, H, W], y [N, H*W, H, W].

    >>> x = np.array([[0, 10], [1, 11], [2, 12]], np.float32).reshape(1, 3, 1, 2)
    >>> psamask_nchw_forward(x, 0, 1, 3)[0, :, 0]
    array([[ 1., 10.],
           [ 2., 11.]], dtype=float32)
    """
    x = _input(x, 4, "x")
    n, _, height, width = x.shape
    y = _output(y, (n, height * width, height, width), x.dtype, "y")
    _entries.psamask_nchw_forward(_current(), psa_type, x, h_mask, w_mask, y)
    return y


def psamask_nchw_backward(
    dy: Any, psa_type: int, h_mask: int, w_mask: int, *, dx: Array | None = None
) -> Array:
    """The gradient of `psamask_nchw_forward`: dy [N, H*W, H, W], dx [N, h_mask*w_mask, H, W].

    >>> dy = np.array([[1, 3], [2, 4]], np.float32).reshape(1, 2, 1, 2)
    >>> psamask_nchw_backward(dy, 0, 1, 3)[0, :, 0]
    array([[0., 3.],
           [1., 4.],
           [2., 0.]], dtype=float32)
    """
    dy = _input(dy, 4, "dy")
    n, _, height, width = dy.shape
    dx = _output(dx, (n, h_mask * w_mask, height, width), dy.dtype, "dx")
    _entries.psamask_nchw_backward(_current(), psa_type, dy, h_mask, w_mask, dx)
    return dx


def masked_im2col_forward(
    feature: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    *,
    data_col: Array | None = None,
    workspace: Array | None = None,
) -> Array:
    """The windows around some pixels as columns; zeros outside the map.

    feature: [1, C, H, W]; mask_h_idx, mask_w_idx: [M] int32; data_col: [C*kernel_h*kernel_w, M].

    >>> feature = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    >>> at = np.array([0, 1], np.int32)
    >>> masked_im2col_forward(feature, at, at, 1, 3, 0, 1)
    array([[0., 3.],
           [0., 4.],
           [1., 5.]], dtype=float32)
    """
    feature = _input(feature, 4, "feature")
    mask_h_idx = _input(mask_h_idx, 1, "mask_h_idx")
    mask_w_idx = _input(mask_w_idx, 1, "mask_w_idx")
    shape = (feature.shape[1] * kernel_h * kernel_w, mask_h_idx.shape[0])
    data_col = _output(data_col, shape, feature.dtype, "data_col")
    _entries.masked_im2col_forward(
        _current(),
        feature,
        mask_h_idx,
        mask_w_idx,
        (kernel_h, kernel_w),
        (pad_h, pad_w),
        data_col,
        _space(workspace),
    )
    return data_col


def masked_im2col_backward(
    grad_col: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
    height: int,
    width: int,
    *,
    grad_feature: Array | None = None,
    workspace: Array | None = None,
) -> Array:
    """The gradient of `masked_im2col_forward`: columns added back where they were read.

    grad_col: [C*kernel_h*kernel_w, M]; grad_feature: [1, C, height, width].

    >>> at = np.array([0, 1], np.int32)
    >>> masked_im2col_backward(np.ones((3, 2), np.float32), at, at, 1, 3, 0, 1, 2, 3)[0, 0]
    array([[1., 1., 0.],
           [1., 1., 1.]], dtype=float32)
    """
    grad_col = _input(grad_col, 2, "grad_col")
    mask_h_idx = _input(mask_h_idx, 1, "mask_h_idx")
    mask_w_idx = _input(mask_w_idx, 1, "mask_w_idx")
    taps = max(kernel_h * kernel_w, 1)
    shape = (1, grad_col.shape[0] // taps, height, width)
    grad_feature = _output(grad_feature, shape, grad_col.dtype, "grad_feature")
    _entries.masked_im2col_backward(
        _current(),
        grad_col,
        mask_h_idx,
        mask_w_idx,
        (kernel_h, kernel_w),
        (pad_h, pad_w),
        grad_feature,
        _space(workspace),
    )
    return grad_feature


def masked_col2im_forward(
    col: Any,
    mask_h_idx: Any,
    mask_w_idx: Any,
    height: int,
    width: int,
    *,
    im: Array | None = None,
    workspace: Array | None = None,
) -> Array:
    """A map of zeros with columns put at some pixels; the last of equal places wins.

    col: [C, M]; im: [1, C, height, width].

    >>> at = np.array([0, 1], np.int32)
    >>> masked_col2im_forward(np.array([[5, 6]], np.float32), at, at, 2, 2)[0, 0]
    array([[5., 0.],
           [0., 6.]], dtype=float32)
    """
    col = _input(col, 2, "col")
    mask_h_idx = _input(mask_h_idx, 1, "mask_h_idx")
    mask_w_idx = _input(mask_w_idx, 1, "mask_w_idx")
    im = _output(im, (1, col.shape[0], height, width), col.dtype, "im")
    _entries.masked_col2im_forward(_current(), col, mask_h_idx, mask_w_idx, im, _space(workspace))
    return im


def psroipool_forward(
    input: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    *,
    output: Array | None = None,
    mapping_channel: Array | None = None,
    workspace: Array | None = None,
) -> Tuple[Array, Array]:
    """Position-sensitive average pooling of R-FCN: bin (i, j) of a roi reads its own channels.

    input: [N, H, W, output_dim*pooled_height*pooled_width]; rois: [R, 5] = batch, x1, y1, x2, y2.
    Returns output and mapping_channel (int32), both [R, pooled_height, pooled_width, output_dim].

    >>> input = np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4)
    >>> output, mapping = psroipool_forward(input, np.array([[0, 0, 0, 1, 1]], np.float32),
    ...                                     2, 2, 1.0, 2, 1)
    >>> output[0, ..., 0], mapping[0, ..., 0]
    (array([[ 0.,  5.],
           [10., 15.]], dtype=float32), array([[0, 1],
           [2, 3]], dtype=int32))
    """
    input, rois = _input(input, 4, "input"), _input(rois, 2, "rois")
    shape = (rois.shape[0], pooled_height, pooled_width, output_dim)
    output = _output(output, shape, input.dtype, "output")
    mapping_channel = _output(mapping_channel, shape, np.int32, "mapping_channel")
    if input.size == 0:  # which C leaves untouched
        output.fill(0)
        mapping_channel.fill(0)
    _entries.psroipool_forward(
        _current(),
        (pooled_height, pooled_width),
        spatial_scale,
        group_size,
        output_dim,
        input,
        rois,
        output,
        mapping_channel,
        _space(workspace),
    )
    return output, mapping_channel


def psroipool_backward(
    top_grad: Any,
    rois: Any,
    mapping_channel: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    output_dim: int,
    input_shape: Tuple[int, int, int, int],
    *,
    bottom_grad: Array | None = None,
) -> Array:
    """The gradient of `psroipool_forward` with respect to its input, of shape [N, H, W, C].

    >>> rois = np.array([[0, 0, 0, 1, 1]], np.float32)
    >>> mapping = np.arange(4, dtype=np.int32).reshape(1, 2, 2, 1)
    >>> grad = psroipool_backward(np.ones((1, 2, 2, 1), np.float32), rois, mapping,
    ...                           2, 2, 1.0, 1, (1, 2, 2, 4))
    >>> grad[0, 1, 0]
    array([0., 0., 1., 0.], dtype=float32)
    """
    top_grad, rois = _input(top_grad, 4, "top_grad"), _input(rois, 2, "rois")
    mapping_channel = _input(mapping_channel, 4, "mapping_channel")
    bottom_grad = _output(bottom_grad, tuple(input_shape), top_grad.dtype, "bottom_grad")
    _entries.psroipool_backward(
        _current(),
        (pooled_height, pooled_width),
        spatial_scale,
        output_dim,
        top_grad,
        rois,
        mapping_channel,
        bottom_grad,
    )
    return bottom_grad


def torchvision_ps_roi_pool_forward(
    input: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    *,
    output: Array | None = None,
) -> Array:
    """Position-sensitive average pooling as torchvision does it, to the bit.

    input: [N, C, H, W]; rois: [R, 5] = batch, x1, y1, x2, y2; output: [R, C/(pooled_height*
    pooled_width), pooled_height, pooled_width].

    >>> input = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    >>> torchvision_ps_roi_pool_forward(input, np.array([[0, 0, 0, 2, 2]], np.float32), 1, 1, 1.0)
    array([[[[2.]]]], dtype=float32)
    """
    input, rois = _input(input, 4, "input"), _input(rois, 2, "rois")
    channels = input.shape[1] // max(pooled_height * pooled_width, 1)
    shape = (rois.shape[0], channels, pooled_height, pooled_width)
    output = _output(output, shape, input.dtype, "output")
    _entries.torchvision_ps_roi_pool_forward(
        _current(), (pooled_height, pooled_width), spatial_scale, input, rois, output
    )
    return output


def torchvision_ps_roi_pool_backward(
    grad_output: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    input_shape: Tuple[int, int, int, int],
    *,
    grad_input: Array | None = None,
) -> Array:
    """The gradient that belongs to `torchvision_ps_roi_pool_forward`, of shape [N, C, H, W].

    >>> rois = np.array([[0, 0, 0, 2, 2]], np.float32)
    >>> torchvision_ps_roi_pool_backward(np.ones((1, 1, 1, 1), np.float32), rois, 1, 1, 1.0,
    ...                                  (1, 1, 3, 3))[0, 0]
    array([[0.25, 0.25, 0.  ],
           [0.25, 0.25, 0.  ],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """
    grad_output, rois = _input(grad_output, 4, "grad_output"), _input(rois, 2, "rois")
    grad_input = _output(grad_input, tuple(input_shape), grad_output.dtype, "grad_input")
    _entries.torchvision_ps_roi_pool_backward(
        _current(), (pooled_height, pooled_width), spatial_scale, grad_output, rois, grad_input
    )
    return grad_input


def border_align_forward(
    input: Any,
    boxes: Any,
    pool_size: int,
    *,
    output: Array | None = None,
    argmax_idx: Array | None = None,
) -> Tuple[Array, Array]:
    """The largest of pool_size+1 samples along each border of each box.

    input: [N, H, W, 4*C], a block of C channels per border (top, left, bottom, right);
    boxes: [N, K, 4] = x1, y1, x2, y2. Returns output and argmax_idx (int32), both [N, K, 4, C].

    >>> input = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1).repeat(4, axis=3)
    >>> output, argmax = border_align_forward(input, np.array([[[0, 0, 2, 2]]], np.float32), 2)
    >>> output[0, 0, :, 0], argmax[0, 0, :, 0]
    (array([2., 6., 8., 8.], dtype=float32), array([2, 2, 0, 0], dtype=int32))
    """
    input, boxes = _input(input, 4, "input"), _input(boxes, 3, "boxes")
    shape = (input.shape[0], boxes.shape[1], 4, input.shape[3] // 4)
    output = _output(output, shape, input.dtype, "output")
    argmax_idx = _output(argmax_idx, shape, np.int32, "argmax_idx")
    _entries.border_align_forward(_current(), input, boxes, pool_size, output, argmax_idx)
    return output, argmax_idx


def border_align_backward(
    grad_output: Any,
    boxes: Any,
    argmax_idx: Any,
    pool_size: int,
    height: int,
    width: int,
    *,
    grad_input: Array | None = None,
) -> Array:
    """The gradient of `border_align_forward`: to the neighbours of each chosen sample.

    grad_output, argmax_idx: [N, K, 4, C]; grad_input: [N, height, width, 4*C].

    >>> boxes, argmax = np.array([[[0, 0, 2, 2]]], np.float32), np.zeros((1, 1, 4, 1), np.int32)
    >>> grad = border_align_backward(np.ones((1, 1, 4, 1), np.float32), boxes, argmax, 2, 3, 3)
    >>> grad[0, 0, 0], grad[0, 2, 2]
    (array([1., 1., 0., 0.], dtype=float32), array([0., 0., 1., 1.], dtype=float32))
    """
    grad_output, boxes = _input(grad_output, 4, "grad_output"), _input(boxes, 3, "boxes")
    argmax_idx = _input(argmax_idx, 4, "argmax_idx")
    shape = (grad_output.shape[0], height, width, 4 * grad_output.shape[3])
    grad_input = _output(grad_input, shape, grad_output.dtype, "grad_input")
    _entries.border_align_backward(
        _current(), grad_output, boxes, argmax_idx, pool_size, grad_input
    )
    return grad_input


def roiaware_pool3d_forward(
    rois: Any,
    pts: Any,
    pts_feature: Any,
    pool_method: int,
    max_pts_each_voxel: int,
    out_x: int,
    out_y: int,
    out_z: int,
    *,
    argmax: Array | None = None,
    pts_idx_of_voxels: Array | None = None,
    pooled_features: Array | None = None,
    workspace: Array | None = None,
) -> Tuple[Array, Array, Array]:
    """Pools the points inside each rotated box into a grid of voxels.

    rois: [B, 7] = x, y, z of the bottom's centre, dx, dy, dz, yaw; pts: [P, 3]; pts_feature:
    [P, C]; pool_method 0 (max) or 1 (average). Returns pooled_features and argmax (int32), both
    [B, out_x, out_y, out_z, C], and pts_idx_of_voxels [B, out_x, out_y, out_z,
    max_pts_each_voxel] (int32): a count, then that many point indices.

    >>> pts = np.array([[0.5, 0.5, 0.5], [-0.5, 0.5, 0.5]], np.float32)
    >>> pooled, argmax, indices = roiaware_pool3d_forward(
    ...     np.array([[0, 0, 0, 2, 2, 1, 0]], np.float32), pts, np.array([[7], [8]], np.float32),
    ...     0, 4, 2, 1, 1)
    >>> pooled.ravel(), argmax.ravel(), indices[0, 0, 0, 0]
    (array([8., 7.], dtype=float32), array([1, 0], dtype=int32), array([1, 1, 0, 0], dtype=int32))
    """
    rois, pts = _input(rois, 2, "rois"), _input(pts, 2, "pts")
    pts_feature = _input(pts_feature, 2, "pts_feature")
    grid = (rois.shape[0], out_x, out_y, out_z)
    channels = pts_feature.shape[1]
    argmax = _output(argmax, (*grid, channels), np.int32, "argmax")
    pts_idx_of_voxels = _output(
        pts_idx_of_voxels, (*grid, max_pts_each_voxel), np.int32, "pts_idx_of_voxels"
    )
    pooled_features = _output(
        pooled_features, (*grid, channels), pts_feature.dtype, "pooled_features"
    )
    _entries.roiaware_pool3d_forward(
        _current(),
        pool_method,
        rois,
        pts,
        pts_feature,
        max_pts_each_voxel,
        (out_x, out_y, out_z),
        argmax,
        pts_idx_of_voxels,
        pooled_features,
        _space(workspace),
    )
    return pooled_features, argmax, pts_idx_of_voxels


def roiaware_pool3d_backward(
    pts_idx_of_voxels: Any,
    argmax: Any,
    grad_out: Any,
    pool_method: int,
    pts_num: int,
    *,
    grad_in: Array | None = None,
) -> Array:
    """The gradient of `roiaware_pool3d_forward` with respect to the features: [pts_num, C].

    `argmax` may be None where pool_method is 1 (average).

    >>> indices = np.array([2, 0, 1], np.int32).reshape(1, 1, 1, 1, 3)
    >>> roiaware_pool3d_backward(indices, None, np.full((1, 1, 1, 1, 1), 4, np.float32), 1, 2)
    array([[2.],
           [2.]], dtype=float32)
    """
    pts_idx_of_voxels = _input(pts_idx_of_voxels, 5, "pts_idx_of_voxels")
    argmax = None if argmax is None else _input(argmax, 5, "argmax")
    grad_out = _input(grad_out, 5, "grad_out")
    grad_in = _output(grad_in, (pts_num, grad_out.shape[4]), grad_out.dtype, "grad_in")
    _entries.roiaware_pool3d_backward(
        _current(), pool_method, pts_idx_of_voxels, argmax, grad_out, grad_in
    )
    return grad_in


def transpose(input: Any, *, output: Array | None = None) -> Array:
    """Matrices transposed on all cores: input [N, A, B], output [N, B, A]. NCHW and NHWC are
    transposes of each other, with A and B the channels and the pixels.

    >>> transpose(np.array([[[1, 2, 3], [4, 5, 6]]], np.float32))
    array([[[1., 4.],
            [2., 5.],
            [3., 6.]]], dtype=float32)
    """
    input = _input(input, 3, "input")
    n, rows, columns = input.shape
    output = _output(output, (n, columns, rows), input.dtype, "output")
    if output.shape != (n, columns, rows) or output.dtype != input.dtype:
        raise BadParamError(
            f"transpose: output must be {input.dtype} of shape "
            f"{(n, columns, rows)}, got {output.dtype} of shape {output.shape}"
        )
    _entries.transpose(_current(), input, output, n, rows, columns)
    return output


def psroipool_forward_workspace_size(
    input: Any, rois: Any, pooled_height: int, pooled_width: int, output_dim: int
) -> int:
    """Bytes of the workspace with which `psroipool_forward` needs no scratch of its own."""
    return _entries.psroipool_forward_workspace(
        _current(),
        (pooled_height, pooled_width),
        output_dim,
        _input(input, 4, "input"),
        _input(rois, 2, "rois"),
    )


def roiaware_pool3d_forward_workspace_size(rois: Any, pts: Any, pts_feature: Any) -> int:
    """Bytes of the workspace with which `roiaware_pool3d_forward` needs no scratch of its own."""
    return _entries.roiaware_pool3d_forward_workspace(
        _current(),
        _input(rois, 2, "rois"),
        _input(pts, 2, "pts"),
        _input(pts_feature, 2, "pts_feature"),
    )


def masked_im2col_forward_workspace_size(
    feature: Any, mask_h_idx: Any, mask_w_idx: Any, kernel_h: int, kernel_w: int, data_col: Any
) -> int:
    """Bytes of the workspace with which `masked_im2col_forward` needs no scratch of its own."""
    return _entries.masked_im2col_forward_workspace(
        _current(),
        _input(feature, 4, "feature"),
        _input(mask_h_idx, 1, "mask_h_idx"),
        _input(mask_w_idx, 1, "mask_w_idx"),
        (kernel_h, kernel_w),
        _input(data_col, 2, "data_col"),
    )


def masked_col2im_forward_workspace_size(
    col: Any, mask_h_idx: Any, mask_w_idx: Any, im: Any
) -> int:
    """Bytes of the workspace with which `masked_col2im_forward` needs no scratch of its own."""
    return _entries.masked_col2im_forward_workspace(
        _current(),
        _input(col, 2, "col"),
        _input(mask_h_idx, 1, "mask_h_idx"),
        _input(mask_w_idx, 1, "mask_w_idx"),
        _input(im, 4, "im"),
    )
