# SPDX-License-Identifier: Apache-2.0
"""Replaces operators of mmcv, torchvision and OpenPCDet with operators of mluops."""
