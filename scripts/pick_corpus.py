# SPDX-License-Identifier: Apache-2.0
"""Picks the inputs of a fuzz target that the tests replay.

pick_corpus.py <control file of libFuzzer's -set_cover_merge> <folder> <limit>: copies inputs that
the control file names into the folder. Greedy set cover: each input adds the largest number of new
edges. libFuzzer's own choice continues until every edge is reached, which takes hundreds of inputs.
"""

import shutil
import sys
from pathlib import Path


def read_edges(control_file: Path) -> dict[str, set[int]]:
    """Returns the edges of each input. The file has the number of inputs, an unused number, the
    names, and a line "FT <input> <edge>..." for each input that ran."""
    lines = control_file.read_text().splitlines()
    count = int(lines[0])
    names = lines[2 : 2 + count]
    edges = {}
    for line in lines[2 + count :]:
        words = line.split()
        if words[0] == "FT":
            edges[names[int(words[1])]] = {int(word) for word in words[2:]}
    return edges


def pick(edges: dict[str, set[int]], at_most: int) -> list[str]:
    picked = []
    reached: set[int] = set()
    while len(picked) < at_most:
        best = max(edges, key=lambda name: (len(edges[name] - reached), name))
        if not edges[best] - reached:
            break
        picked.append(best)
        reached |= edges[best]
    return picked


def main() -> None:
    edges = read_edges(Path(sys.argv[1]))
    for number, name in enumerate(pick(edges, int(sys.argv[3]))):
        shutil.copyfile(name, Path(sys.argv[2]) / f"{number:02d}")


main()
