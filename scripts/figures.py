#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills the tables of README and docs/python.md, the chart, and the section "Speed" of every family
with the measurements of bench/results.

A page has `<!-- figures: NAME -->` and `<!-- end of figures -->` around the generated text. Without
arguments the pages and the chart are rewritten; with --check the script fails where they differ
from the measurements.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import sys

import bar_chart
import speed_tables
from speed_tables import source, wrapped

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
CHART = ROOT / "docs" / "images" / "peers.svg"
POOLING = "H=38 W=63 R=300 pooled_height=7 pooled_width=7 spatial_scale=0.0625"
RFCN_FORWARD = f"N=1 {POOLING} group_size=7 output_dim=81"
RFCN_BACKWARD = f"N=1 {POOLING} output_dim=81"
PLANES = f"N=1 O=81 {POOLING}"
IM2COL = "C=256 H=100 W=152 M=4000 kernel_h=3 kernel_w=3 pad_h=1 pad_w=1 masks=sorted"
CONV = "N=1 C=256 H=100 W=152 P=100 Q=152 O=256 kernel_h=3 kernel_w=3 stride_h=1 stride_w=1 "
CONV += "pad_h=1 pad_w=1 dilation_h=1 dilation_w=1 masks=quarter"
VOXELS = "boxes_num=128 out_x=12 out_y=12 out_z=12 channels=16 max_pts_each_voxel=128"


@dataclasses.dataclass
class Family:
    name: str
    network: str
    types: str
    # Arguments of the representative case lines; "" if there is no peer.
    forward: str
    backward: str
    entry: str = ""  # the operator's name without the direction, if not the family's

    def cases(self, device):
        size = {"psamask": {"cpu": "N=1", "cuda": "N=8"}}.get(self.name, {}).get(device, "")
        entry = self.entry or self.name
        for direction, arguments in (("forward", self.forward), ("backward", self.backward)):
            if arguments:
                yield direction, " ".join(f"{entry}_{direction} {size} {arguments}".split())


MASKS = "H=60 W=60 psa_type=0 h_mask=119 w_mask=119"
BOXES = "N=2 H=25 W=38 C=256 K=950 pool_size=10"
FAMILIES = [
    Family("psamask", "PSANet", "float", MASKS, MASKS, "psamask_nchw"),
    Family("masked_im2col", "masked convolution", "half, float", IM2COL, IM2COL),
    Family("masked_conv2d", "masked convolution", "half, float", CONV, ""),
    Family("psroipool", "R-FCN", "float", RFCN_FORWARD, RFCN_BACKWARD),
    Family("border_align", "BorderDet", "half, float", BOXES, BOXES),
    Family("roiaware_pool3d", "PartA2", "half, float", "", f"P=16000 pool_method=0 {VOXELS}"),
    Family("torchvision_ps_roi_pool", "R-FCN in torchvision", "float", PLANES, PLANES),
    Family("points_in_boxes", "3D detectors", "float", "", ""),
]


def load(folder=RESULTS):
    """Returns the existing peers_*.json files by device: {"cpu": {...}, "cuda": {...}}."""
    files = [json.loads(path.read_text()) for path in sorted(folder.glob("peers_*.json"))]
    return {file["device"]: file for file in files}


def ratio_of(file, case):
    """Returns the speedup over the peer at level drop-in, or None.

    >>> row = {"case": "a", "level": "drop-in", "ratio": 2.0}
    >>> ratio_of({"cases": [row]}, "a"), ratio_of({"cases": [row]}, "b"), ratio_of(None, "a")
    (2.0, None, None)
    """
    for row in file["cases"] if file else []:
        if row["case"] == case and row["level"] == "drop-in" and "ratio" in row:
            return row["ratio"]
    return None


def ratios(family, device, file):
    """Returns [(direction, ratio or None)] of a family on a device."""
    return [(direction, ratio_of(file, case)) for direction, case in family.cases(device)]


# Shapes at which mmcv's kernels were timed, by family and direction.
LARGE_BOXES = "N=2 H=100 W=152 C=256 K=15200 pool_size=10"
POINTS = "pts_num=16000 channels=16 max_pts_each_voxel=128 out_x=12 out_y=12 out_z=12"
MMCV_CASES = {
    ("psamask", "forward"): f"psamask_forward N=8 {MASKS}",
    ("psamask", "backward"): f"psamask_backward N=8 {MASKS}",
    ("masked_im2col", "forward"): f"masked_im2col_forward {IM2COL}",
    ("border_align", "forward"): f"border_align_forward {LARGE_BOXES}",
    ("border_align", "backward"): f"border_align_backward {LARGE_BOXES}",
    ("roiaware_pool3d", "forward"): f"roiaware_pool3d_forward pool_method=0 boxes_num=128 {POINTS}",
    ("roiaware_pool3d", "backward"): f"roiaware_pool3d_backward P=16000 pool_method=0 {VOXELS}",
}


def mmcv_ratios(folder=RESULTS):
    """Returns {(family, direction): mmcv's time over ours}, both on the H200, default mode."""
    peers = json.loads((folder / "elsewhere_h200.json").read_text())["cases"]
    ours = json.loads((folder / "h200.json").read_text())["cases"]
    peer_s = {row["case"]: row["peer_s"] for row in peers if row["peer"] == "mmcv"}
    ours_s = {row["case"]: row["min_s"] for row in ours if row["mode"] == "default"}
    return {key: peer_s[case] / ours_s[case] for key, case in MMCV_CASES.items()}


def cell(family, device, file):
    """Returns a cell of the table.

    >>> cell(Family("f", "", "", "A=1", "A=1"), "cuda", None)
    'to be measured'
    >>> rows = [{"case": "f_forward A=1", "level": "drop-in", "ratio": 2.04}]
    >>> cell(Family("f", "", "", "A=1", ""), "cpu", {"cases": rows})
    '2.0 forward'
    """
    if file is None:
        return "to be measured"
    texts = [
        f"{ratio:.1f} {direction}" for direction, ratio in ratios(family, device, file) if ratio
    ]
    return ", ".join(texts) or "no peer"


def table(files):
    lines = [
        "| operator | network | devices | types | × peer, CPU | × peer, GPU |",
        "|---|---|---|---|---|---|",
    ]
    for family in FAMILIES:
        link = f"[{family.name}](src/ops/{family.name}/README.md)"
        simulated = (ROOT / "src" / "ops" / family.name / "mlu").exists()
        devices = "CPU, CUDA" + (", simulated MLU" if simulated else "")
        cells = [cell(family, device, files.get(device)) for device in ("cpu", "cuda")]
        lines.append(
            f"| {link} | {family.network} | {devices} | {family.types}, double "
            f"| {cells[0]} | {cells[1]} |"
        )
    for device, file in sorted(files.items()):
        name = "CPU" if device == "cpu" else "GPU"
        lines += ["", *wrapped(f"{name}: {source(file)} {slower(file)}")]
    return "\n".join(lines)


def slower(file):
    """Returns which drop-ins are slower than their peers, as a statement.

    >>> row = {"name": "a [1,2]", "level": "drop-in", "ratio": 0.5}
    >>> slower({"cases": [row, {**row, "ratio": 1.5}, {**row, "level": "library"}]})
    'Slower than the peer: 1 of 2 drop-in rows (a from 0.50x the speed).'
    >>> slower({"cases": []})
    'No measured shape is slower than the peer.'
    """
    ratios = {}
    rows = [row for row in file["cases"] if row["level"] == "drop-in" and "ratio" in row]
    for row in rows:
        if row["ratio"] < 1:
            name = re.split(r" [\[(]", row["name"])[0] + " in half" * ("float16" in row["name"])
            ratios.setdefault(name, []).append(row["ratio"])
    if not ratios:
        return "No measured shape is slower than the peer."
    names = ", ".join(f"{name} from {min(each):.2f}x the speed" for name, each in ratios.items())
    slow = sum(map(len, ratios.values()))
    return f"Slower than the peer: {slow} of {len(rows)} drop-in rows ({names})."


def pairs_table(file):
    """Returns the table of all pairs, a column per level. A star marks a different function.

    >>> row = {"name": "a", "level": "library", "ratio": 2.0, "same_function": False}
    >>> other = {"name": "b", "level": "drop-in", "ours_s": 0.001}
    >>> pairs_table({"cases": [row, other]}).splitlines()[2:]
    ['| a* | 2.0 |  |', '| b |  | no peer (1.000 ms) |']
    """
    cells = {}  # by name and level
    for row in file["cases"]:
        star = "" if row.get("same_function", True) else "*"
        text = (
            f"{row['ratio']:.1f}" if "ratio" in row else f"no peer ({row['ours_s'] * 1e3:.3f} ms)"
        )
        cells.setdefault(row["name"] + star, {})[row["level"]] = text
    lines = ["| operator, shape | library | drop-in |", "|---|---|---|"]
    for name, levels in cells.items():
        lines.append(f"| {name} | {levels.get('library', '')} | {levels.get('drop-in', '')} |")
    return "\n".join(lines)


def times_table(file):
    """Returns the table of device times.

    >>> row = {"name": "a", "ours_s": 2e-6, "peer": "torchvision", "peer_s": 3e-6}
    >>> times_table({"cases": [row, {"name": "b", "ours_s": 1e-5}]}).splitlines()[2:]
    ['| a | 2.0 | 3.0 (torchvision) |', '| b | 10.0 |  |']
    """
    lines = ["| operator, shape | mluops, µs | peer, µs |", "|---|---|---|"]
    for row in file["cases"]:
        peer = f"{row['peer_s'] * 1e6:.1f} ({row['peer']})" if "peer_s" in row else ""
        lines.append(f"| {row['name']} | {row['ours_s'] * 1e6:.1f} | {peer} |")
    return "\n".join(lines)


def overhead_table(file):
    """Returns the table of the time of calls on tiny inputs.

    >>> row = {"name": "a", "ours_s": 2.5e-6, "units": 1.25, "target": 1.6}
    >>> overhead_table({"cases": [row, {"name": "b", "ours_s": 3e-6, "units": 1}]}).splitlines()[2:]
    ['| a | 2.5 | 1.2 | 1.6 |', '| b | 3.0 | 1.0 |  |']
    """
    lines = ["| call | least time, µs | / plain Function | target |", "|---|---|---|---|"]
    for row in file["cases"]:
        figures = f"{row['ours_s'] * 1e6:.1f} | {row['units']:.1f} | {row.get('target', '')}"
        lines.append(f"| {row['name']} | {figures} |")
    return "\n".join(lines)


PEER_NAMES = {"torch composition": "torch compositions"}


def chart(files, mmcv):
    """Returns the chart: forward and backward of every family, a bar per device, and one for mmcv's
    kernels. `mmcv`: as mmcv_ratios returns it."""
    groups = []
    for family in FAMILIES:
        rows = []
        for direction in ("forward", "backward"):
            found = {d: dict(ratios(family, d, files[d])).get(direction) for d in files}
            found["mmcv"] = mmcv.get((family.name, direction))
            rows.append((f"{family.name}, {direction}", {d: r for d, r in found.items() if r}))
        groups.append(rows)
    rows = [row for file in files.values() for row in file["cases"]]
    peers = sorted({row["peer"] for row in rows if "peer" in row}, reverse=True)
    others = " or ".join(PEER_NAMES.get(name, name) for name in peers)
    keys = {device: f"than {others}, {file['machine']['name']}" for device, file in files.items()}
    keys["mmcv"] = "than mmcv's CUDA kernels, NVIDIA H200"
    return bar_chart.draw("Times faster than other implementations", groups, keys)


def filled(page, blocks):
    """Returns the page with each block between its markers.

    >>> filled("<!-- figures: a -->\\nold\\n<!-- end of figures -->", {"a": "new"})
    '<!-- figures: a -->\\nnew\\n<!-- end of figures -->'
    """
    for name, text in blocks.items():
        start, end = f"<!-- figures: {name} -->\n", "<!-- end of figures -->"
        if start not in page or end not in page.split(start, 1)[1]:
            raise SystemExit(f"figures.py: each page must have {start.strip()} and {end}")
        before, rest = page.split(start, 1)
        page = before + start + text + "\n" + end + rest.split(end, 1)[1]
    return page


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing; fail if outdated")
    options = parser.parse_args()
    files = load()
    readme, page = ROOT / "README.md", ROOT / "docs/python.md"
    pairs = pairs_table(files["cpu"]) + "\n\n" + "\n".join(wrapped(source(files["cpu"])))
    times = times_table(files["cuda"]) + "\n\n" + "\n".join(wrapped(source(files["cuda"])))
    calls = json.loads((RESULTS / "overhead.json").read_text())
    overhead = overhead_table(calls) + "\n\n" + "\n".join(wrapped(source(calls)))
    wanted = {
        readme: filled(readme.read_text(), {"peers": table(files)}),
        page: filled(page.read_text(), {"pairs": pairs, "times": times, "overhead": overhead}),
        CHART: chart(files, mmcv_ratios()),
    }
    measured = speed_tables.load()
    for family in dict.fromkeys(speed_tables.families().values()):
        path = ROOT / "src" / "ops" / family / "README.md"
        section = speed_tables.section(family, measured)
        wanted[path] = filled(path.read_text(), {"speed": section})
    failed = 0
    for path, text in wanted.items():
        if path.exists() and path.read_text() == text:
            continue
        if options.check:
            print(f"{path.relative_to(ROOT)} is older than bench/results: run scripts/figures.py")
            failed = 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return failed


if __name__ == "__main__":
    sys.exit(main())
