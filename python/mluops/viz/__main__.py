# SPDX-License-Identifier: Apache-2.0
"""python -m mluops.viz FOLDER"""

import argparse

from .pictures import write_pictures

parser = argparse.ArgumentParser(
    "python -m mluops.viz", description="Writes the pictures of the operators' pages (SVG)."
)
parser.add_argument("folder")
for written in write_pictures(parser.parse_args().folder):
    print(written)
