# SPDX-License-Identifier: Apache-2.0
"""python -m mluops.viz FOLDER"""

import sys

from .pictures import write_pictures

if len(sys.argv) != 2:
    sys.exit("usage: python -m mluops.viz FOLDER")
for written in write_pictures(sys.argv[1]):
    print(written)
