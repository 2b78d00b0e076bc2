# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/operators: signatures, calls, links and pictures. The test file of each family
compares the values of its page with the library."""

import importlib
import inspect
import re

import mluops
import pytest
from pages import NAMES, PAGES, blocks, functions, text_between


@pytest.mark.parametrize("name", NAMES)
def test_page_has_the_signatures_of_the_library(name):
    ours = {key: value for key, value in functions(name).items() if key in mluops.arrays.__all__}
    module = vars(importlib.import_module(f"mluops.arrays.{name}"))
    expected = {key for key in module if key in mluops.arrays.__all__}
    expected = {key for key in expected if "_nchw_" not in key and "workspace" not in key}
    assert set(ours) == expected and ours
    for key, function in ours.items():
        library = [
            parameter.name
            for parameter in inspect.signature(getattr(mluops, key)).parameters.values()
            if parameter.kind is not parameter.KEYWORD_ONLY
        ]
        assert list(inspect.signature(function).parameters) == library, key


@pytest.mark.parametrize("name", NAMES)
def test_calls_of_the_page_run(name):
    for block in blocks(text_between(name, "## Calls", "Kernels")):
        if "mluops.torch" in block:
            pytest.importorskip("torch")
        exec(block, {})


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_links_and_pictures_exist(page):
    links = re.findall(r"!?\[[^\]]*\]\(([^)#]+)[^)]*\)", page.read_text())
    assert links
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_every_page_is_in_the_index_and_has_a_picture_below_100_kb():
    index = (PAGES / "README.md").read_text()
    for name in NAMES:
        assert f"({name}.md)" in index
        assert f"(images/{name}.svg)" in (PAGES / f"{name}.md").read_text()
        assert (PAGES / "images" / f"{name}.svg").stat().st_size < 100_000
