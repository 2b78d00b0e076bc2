# SPDX-License-Identifier: Apache-2.0
"""Region operators of detection and segmentation networks, forward and backward.

- `mluops`: functions on NumPy arrays, one per entry point of the C library (`mluops.arrays`);
- `mluops.torch`: functions and modules for PyTorch, registered under `torch.ops.mluops`;
- `mluops.compat`: replaces the operators of mmcv, torchvision and OpenPCDet with them;
- `mluops.onnx`: exports them to ONNX, one node per operator;
- `mluops.viz`: pictures of the pixels that a box edge, a bin or a mask reads.
"""

from ._library import AllocFailedError, BadParamError, Error, NotSupportedError
from ._library import version as _version
from .arrays import *  # noqa: F403
from .arrays import __all__ as _functions

for _class in (AllocFailedError, BadParamError, DeviceArray, Error, NotSupportedError):  # noqa: F405
    _class.__module__ = __name__  # the name that help() and tracebacks show

__version__ = _version()
__all__ = ["AllocFailedError", "BadParamError", "Error", "NotSupportedError", *_functions]
