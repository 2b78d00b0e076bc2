# SPDX-License-Identifier: Apache-2.0
"""Replaces operators of mmcv and torchvision with operators of mluops."""
