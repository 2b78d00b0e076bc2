# SPDX-License-Identifier: Apache-2.0
"""Makes the performance page: charts and tables of bench/results.

Charts are SVG inside the page, so that their colours follow the page's light or dark scheme
(docs/assets/site.css).
"""

import html
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import figures  # noqa: E402
import speed_tables  # noqa: E402

WIDTH, VALUE = 500, 105  # pixels: the chart, the column of values; a phone shows 360
CHARACTERS = 72  # of a label; a mean one is 6 pixels wide
LINE, BAR, GAP = 16, 13, 12  # heights of a label, a bar, the space between cases


def inline(svg):
    """Returns an SVG file as HTML for a page, which brings its own colours."""
    svg = re.sub(r'<style>.*?</style>\n?|<rect class="ground"[^>]*/>\n?', "", svg, flags=re.S)
    return f'<div class="chart">{svg.strip()}</div>'


def labels(cases):
    """Returns short labels: the operator, and the words in which its cases differ.

    >>> labels(["f N=1 H=2 T=3", "f N=1 H=4 T=3 x=y", "g N=1"])
    ['f H=2', 'f H=4 x=y', 'g']
    """
    words = [case.split() for case in cases]
    common = {}
    for name, *rest in words:
        common[name] = common.get(name, set(rest)) & set(rest)
    return [" ".join([name, *(w for w in rest if w not in common[name])]) for name, *rest in words]


def chart(rows):
    """Returns bars of time / floor, one per case, type and mode."""
    cases = speed_tables.grouped(rows)
    mains = {
        case: {name: speed_tables.headline(group) for name, group in variants.items()}
        for case, variants in cases.items()
    }
    variants = list(dict.fromkeys(name for group in mains.values() for name in group))
    longest = max(row["ratio_to_floor"] for group in mains.values() for row in group.values())
    scale = (WIDTH - VALUE) / max(longest, 1)
    body, y = [], 30
    for label, group in zip(labels(mains), mains.values()):
        for line in textwrap.wrap(label, CHARACTERS):
            body.append(f'<text x="0" y="{y + 11}">{html.escape(line)}</text>')
            y += LINE
        for name, row in group.items():
            length = row["ratio_to_floor"] * scale
            value = f"{row['ratio_to_floor']:.2f}, {speed_tables.number(row['min_s'] * 1e6)} µs"
            kind = variants.index(name)
            body.append(
                f'<rect class="v{kind}" x="0" y="{y}" width="{length:.1f}" height="{BAR - 2}"/>'
                f'<text class="faint" x="{length + 6:.1f}" y="{y + 10}">{value}</text>'
            )
            y += BAR
        # The floor: across the bars, not across the labels.
        body.append(
            f'<line class="axis" x1="{scale:.1f}" y1="{y - BAR * len(group) - 3}" '
            f'x2="{scale:.1f}" y2="{y + 1}"/>'
        )
        y += GAP
    keys, x = [], 0
    for kind, name in enumerate(variants):
        keys.append(
            f'<rect class="v{kind}" x="{x}" y="2" width="11" height="11"/>'
            f'<text class="faint" x="{x + 17}" y="12">{html.escape(name)}</text>'
        )
        x += 40 + 7 * len(name)
    return (
        f'<div class="chart"><svg viewBox="0 0 {WIDTH} {y}" role="img" width="{WIDTH}">'
        + "".join(keys + body)
        + "</svg></div>"
    )


INTRODUCTION = """# Performance

`scripts/figures.py` and `make docs` make every figure of this page from the files in
`bench/results`. [The test report](report.md) describes the files and how efficiency is computed.

## Against other libraries

The peer's time divided by ours, from a contiguous input to a contiguous output: longer is better.
[The Python page](python.md#speed) has more shapes.
"""

AGAINST_FLOOR = """## Against the floor

Bars show time / floor: shorter is better, and the line is 1. The floor is the time to move the
bytes that the operator must move. It is measured over its own buffers on the CPU, as a copy of as
many bytes on CUDA. Labels have the words in which the cases of an operator differ. `bench/results`
has the whole case lines.
"""


def page():
    """Returns the performance page. Links are links of the site."""
    peers = figures.load()
    parts = [INTRODUCTION, inline(figures.chart(peers, figures.mmcv_ratios()))]
    parts += [figures.source(file) for file in peers.values()]
    parts.append(AGAINST_FLOOR)
    operators = speed_tables.families()
    for file in speed_tables.load():
        parts.append(f"### {file['machine']['name']}")
        setting = speed_tables.setting(file, file["cases"])
        parts.append(f"{setting}, `{speed_tables.command(file)}`.")
        for family in dict.fromkeys(operators.values()):
            rows = [row for row in file["cases"] if operators.get(row["op"]) == family]
            if rows:
                parts += [f"#### [{family}](operators/{family}.md#speed)", chart(rows)]
    return "\n\n".join(parts) + "\n"
