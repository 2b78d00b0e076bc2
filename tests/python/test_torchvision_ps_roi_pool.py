# SPDX-License-Identifier: Apache-2.0
"""torchvision_ps_roi_pool: its page."""

import mluops
import pytest
from pages import assert_close, assert_same_bits, edge_case_rois, floats, functions


@pytest.mark.parametrize("scale", [1.0, 1 / 16, 0.3])
@pytest.mark.parametrize("size", [(7, 8), (1, 5)])
def test_torchvision_ps_roi_pool(random, scale, size):
    page, (height, width, dim) = functions("torchvision_ps_roi_pool"), (2, 3, 2)
    rois = edge_case_rois(random, 40, 2)
    if scale == 1.0:
        rois[:40, 1:] /= 12
    input = floats(random, 2, dim * height * width, *size)
    output = mluops.torchvision_ps_roi_pool_forward(input, rois, height, width, scale)
    assert_same_bits(
        output, page["torchvision_ps_roi_pool_forward"](input, rois, height, width, scale)
    )
    grad = floats(random, *output.shape)
    arguments = (grad, rois, height, width, scale, input.shape)
    assert_close(
        mluops.torchvision_ps_roi_pool_backward(*arguments),
        page["torchvision_ps_roi_pool_backward"](*arguments),
        1e-5,
    )
