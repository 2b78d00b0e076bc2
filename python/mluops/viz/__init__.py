# SPDX-License-Identifier: Apache-2.0
"""Pictures of what the operators touch: bins, borders, voxels, masks and windows.

What a picture shows is asked of the operators: a gradient of one element goes through the backward
operator, and what comes out are the pixels that the element has read, with their weights. Every
function draws into a matplotlib Axes, `ax` or a new one, and returns it. `python -m mluops.viz
FOLDER` writes the pictures of docs/operators as SVG. matplotlib is needed: pip install mluops[viz].
"""

from .border_align import border_align_samples
from .masked_im2col import masked_im2col_columns, masked_im2col_windows
from .pictures import PICTURES, write_pictures
from .psamask import psamask_matrix, psamask_window
from .psroipool import psroipool_bins
from .roiaware_pool3d import roiaware_voxels

__all__ = [
    "PICTURES",
    "border_align_samples",
    "masked_im2col_columns",
    "masked_im2col_windows",
    "psamask_matrix",
    "psamask_window",
    "psroipool_bins",
    "roiaware_voxels",
    "write_pictures",
]
