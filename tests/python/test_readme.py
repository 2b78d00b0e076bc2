# SPDX-License-Identifier: Apache-2.0
"""Runs the Python code of README.md, docs/python.md and docs/start/python.md."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ("README.md", "docs/python.md", "docs/start/python.md")
BLOCKS = [
    (page, number, block)
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    )
]


@pytest.mark.parametrize("page, number, block", BLOCKS, ids=[f"{p}-{n}" for p, n, _ in BLOCKS])
def test_python_runs_as_printed(page, number, block, tmp_path):
    if "torch" in block or "mmcv" in block:
        pytest.importorskip("torch")
    subprocess.run([sys.executable, "-c", block], check=True, timeout=120, cwd=tmp_path)


def test_pages_have_python_blocks():
    assert {page for page, _, _ in BLOCKS} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_no_placeholders(page):
    assert not re.search(
        r"^(PEERS|OVERHEAD|MEASURED|TODO)$", (ROOT / page).read_text(), re.MULTILINE
    )


@pytest.mark.parametrize(
    "page",
    sorted(ROOT.glob("*.md"))
    + sorted(ROOT.glob("docs/**/*.md"))
    + sorted(ROOT.glob("src/ops/*/README.md")),
    ids=lambda p: str(p.name),
)
def test_links_exist(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
