#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the built site. Every link and anchor inside it has a target. No page loads a script, a
style sheet, a picture or a font from another machine.

    scripts/docs/check_site.py site
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse

# Attributes that load a file when the page opens. An <a href> loads nothing.
LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}
EXTERNAL = re.compile(r"(?:[a-z]+:)?//", re.I)
CSS_URL = re.compile(r"(?:url\(|@import )\s*[\"']?((?:https?:)?//[^\"')\s]+)", re.I)


class Page(html.parser.HTMLParser):
    """The anchors, links and loaded files of a page.

    >>> page = Page('<a id="x" href="b.html#y">b</a><script src="//c.org/d.js"></script>')
    >>> page.anchors, page.links, page.loaded
    ({'x'}, ['b.html#y'], ['//c.org/d.js'])
    """

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif (tag, name) in LOADED:
                self.loaded.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


def broken_links(file, page, pages, root):
    """Yields the links of a page that have no target."""
    for link in page.links + page.loaded:
        if EXTERNAL.match(link) or link.startswith(("mailto:", "data:", "javascript:")):
            continue
        path, _, anchor = link.partition("#")
        path = urllib.parse.unquote(path.split("?")[0])
        target = (file.parent / path).resolve() if path else file
        if target.is_dir():
            target /= "index.html"
        if not target.is_relative_to(root) or not target.exists():
            yield f"{link}: no such file"
        elif (
            anchor and target in pages and urllib.parse.unquote(anchor) not in pages[target].anchors
        ):
            yield f"{link}: no such anchor"


def errors(root):
    """Returns the errors of a site and the number of links that were checked."""
    pages = {file: Page(file.read_text()) for file in sorted(root.rglob("*.html"))}
    found, count = [], 0
    for file, page in pages.items():
        if file.name == "404.html":  # its links start at the root of a server
            continue
        name = file.relative_to(root)
        count += len(page.links) + len(page.loaded)
        found += [f"{name}: {error}" for error in broken_links(file, page, pages, root)]
        found += [f"{name}: loads {link}" for link in page.loaded if EXTERNAL.match(link)]
    for file in [*root.rglob("*.css"), *root.rglob("*.svg"), *root.rglob("*.html")]:
        text = file.read_text()
        found += [f"{file.relative_to(root)}: loads {url}" for url in CSS_URL.findall(text)]
    return found, count


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found, count = errors(root)
    print("\n".join(found), end="\n" if found else "")
    print(f"check_site.py: {count} links, {len(found)} errors")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
