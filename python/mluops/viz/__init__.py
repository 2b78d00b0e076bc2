# SPDX-License-Identifier: Apache-2.0
"""Pictures of the elements that the operators read: bins, borders, voxels, masks and windows.

The pictures show results of the operators. The gradient of one output element, passed through the
backward operator, gives the pixels that the element read, with their weights. Every function draws
into a matplotlib Axes, `ax` or a new one, and returns it. `python -m mluops.viz FOLDER` writes the
pictures of docs/operators as SVG. Needs matplotlib: pip install matplotlib.
"""

from .border_align import border_align_samples
from .masked_conv2d import masked_conv2d_output, masked_conv2d_windows
from .masked_im2col import masked_im2col_columns, masked_im2col_windows
from .pictures import PICTURES, write_pictures
from .points_in_boxes import points_in_boxes_scene
from .psamask import psamask_matrix, psamask_window
from .psroipool import psroipool_bins
from .roiaware_pool3d import roiaware_voxels

__all__ = [
    "PICTURES",
    "border_align_samples",
    "masked_conv2d_output",
    "masked_conv2d_windows",
    "masked_im2col_columns",
    "masked_im2col_windows",
    "points_in_boxes_scene",
    "psamask_matrix",
    "psamask_window",
    "psroipool_bins",
    "roiaware_voxels",
    "write_pictures",
]
