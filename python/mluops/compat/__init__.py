# SPDX-License-Identifier: Apache-2.0
"""Puts our operators into the places where programs look for mmcv's and torchvision's."""
