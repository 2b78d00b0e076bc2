# SPDX-License-Identifier: Apache-2.0
"""Draws the chart of README as SVG."""

STYLE = """.ground { fill: #ffffff; } text { font: 12px system-ui, sans-serif; fill: #1f2328; }
.faint { fill: #59636e; } .cpu { fill: #0072b2; } .cuda { fill: #00805c; } .mmcv { fill: #b35900; }
.axis { stroke: #d1d9e0; }
@media (prefers-color-scheme: dark) {
.ground { fill: #0d1117; } text { fill: #e6edf3; } .faint { fill: #9198a1; }
.cpu { fill: #4da3e0; } .cuda { fill: #2fbf93; } .mmcv { fill: #e8973a; }
.axis { stroke: #30363d; } }"""
# Pixels: label column, value column, total, a bar, the title and the keys.
LEFT, RIGHT, WIDTH, BAR, HEAD = 225, 40, 520, 12, 76


def draw(title, groups, keys):
    """Returns an SVG with horizontal bars, from 0, with a line at 1.

    groups: [[(label, {kind: ratio})]]; a gap follows each group. keys: {kind: text}. A kind is a
    class of STYLE.

    >>> svg = draw("t", [[("a", {"cpu": 2.0, "cuda": 4.0})], [("b", {})]], {"cpu": "c"})
    >>> svg.count('rx="2"'), ">4.0<" in svg, ">b<" in svg
    (3, True, False)
    """
    longest = max((r for rows in groups for _, bars in rows for r in bars.values()), default=1)
    scale = (WIDTH - LEFT - RIGHT) / longest
    body, y = [], HEAD
    for rows in groups:
        before = y
        for label, bars in rows:
            for kind, ratio in bars.items():
                body += bar(y, label, kind, ratio, scale)
                label, y = "", y + BAR + 2
            y += 4 if bars else 0
        y += 8 if y > before else 0
    one = LEFT + scale
    body.append(f'<line class="axis" x1="{one:.1f}" y1="{HEAD - 6}" x2="{one:.1f}" y2="{y}"/>')
    body.append(f'<text class="faint" x="{one:.1f}" y="{y + 14}">1 = equal</text>')
    keyed = [
        f'<rect class="{kind}" x="10" y="{26 + 15 * i}" width="12" height="12" rx="2"/>'
        f'<text class="faint" x="28" y="{36 + 15 * i}">{key}</text>'
        for i, (kind, key) in enumerate(keys.items())
    ]
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'viewBox="0 0 {WIDTH} {y + 22}" role="img">',
        f"<title>{title}</title>\n<style>{STYLE}</style>",
        '<rect class="ground" width="100%" height="100%"/>',
        f'<text x="10" y="18" style="font-weight:600">{title}</text>',
    ]
    return "\n".join([*head, *keyed, *body, "</svg>\n"])


def bar(top, label, kind, ratio, scale):
    length, base = ratio * scale, top + BAR - 2
    return [
        f'<text x="{LEFT - 8}" y="{base}" text-anchor="end">{label}</text>',
        f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2"/>',
        f'<text x="{LEFT + length + 6:.1f}" y="{base}">{ratio:.1f}</text>',
    ]
