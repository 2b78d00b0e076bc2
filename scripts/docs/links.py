# SPDX-License-Identifier: Apache-2.0
"""Places of the repository's files in the site, and rewriting of links between them.

Pages link to each other by their paths in the repository, so that they work there. In the site
docs/ is the root, and a family's README is part of its operator's page. A source file that a page
links to becomes a page with its code.
"""

import pathlib
import posixpath
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
# README.md alone is a family's or any other one.
CODE_PATH = re.compile(r"(?<!\[)`(?!README)((?:docs/|src/|[A-Z_]+\.md)[\w./-]*)`(?!\])")
# A layout, [row][column], which Markdown could read as a link to a definition.
LAYOUT = re.compile(r"`[^`]*`|(?:\[[\w /]+\]){2,}(?!\()")
FENCE = re.compile(r"^ *(```|~~~)")


def place(path):
    """Returns the page of a repository's file or folder; None for one that has no page.

    >>> place("README.md"), place("docs/mlu/README.md"), place("docs/c.md")
    ('index.md', 'mlu/index.md', 'c.md')
    >>> place("src/ops/f/README.md"), place("CONTRIBUTING.md")
    ('operators/f.md', 'project/contributing.md')
    >>> place("docs/decisions"), place("examples"), place("examples/plain_c.c")
    ('decisions/index.md', 'source/examples/index.md', 'source/examples/plain_c.c.md')
    """
    if path == "README.md":
        return "index.md"
    if path.startswith("src/ops/") and path.endswith("/README.md"):
        return f"operators/{path.split('/')[2]}.md"
    if path.endswith("/README.md"):
        path = path.replace("README.md", "index.md")
    is_folder = (ROOT / path).is_dir()
    if is_folder:
        path += "/index.md"
    if path.startswith("docs/"):
        return path[len("docs/") :]
    if is_folder:
        return f"source/{path}"
    if path.endswith(".md"):
        return f"project/{path.lower().replace('/index.md', '.md')}"
    return f"source/{path}.md"


def relative(target, page):
    """Returns a link from a page to a file of the site.

    >>> relative("c.md", "operators/a.md"), relative("a/b.md", "a/c.md")
    ('../c.md', 'b.md')
    """
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


class Rewriter:
    """Rewrites the links of Markdown. `sources` collects the files that need a page of code."""

    def __init__(self):
        self.sources = set()

    def target(self, link, origin, page):
        """Returns a link of the file `origin` as a link of the page `page`."""
        if "://" in link or link.startswith(("#", "mailto:")):
            return link
        path, _, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        if not (ROOT / path).exists():
            raise SystemExit(f"{origin}: the link to {link} has no target")
        place_of_path = place(path)
        if place_of_path.startswith("source/"):
            self.sources.add(path)
        return relative(place_of_path, page) + ("#" + anchor if anchor else "")

    def line(self, text, origin, page):
        def code_path(match):
            path = match.group(1)
            is_page = path.endswith(".md") and (ROOT / path).exists()
            if not is_page or place(path) == page:
                return match.group(0)
            return f"[`{path}`]({relative(place(path), page)})"

        def link(match):
            mark, label, target = match.groups()
            return f"{mark}[{label}]({self.target(target, origin, page)})"

        def layout(match):
            found = match.group(0)
            return found if found.startswith("`") else re.sub(r"([\[\]])", r"\\\1", found)

        text = LAYOUT.sub(layout, text)
        return CODE_PATH.sub(code_path, LINK.sub(link, text))

    def text(self, text, origin, page):
        """Returns a file's Markdown for the site. Code blocks stay as they are.

        >>> Rewriter().text("[C](docs/c.md)\\n```\\n[C](docs/c.md)\\n```", "README.md", "index.md")
        '[C](c.md)\\n```\\n[C](docs/c.md)\\n```'
        >>> Rewriter().text("see `docs/glossary.md`", "docs/c.md", "c.md")
        'see [`docs/glossary.md`](glossary.md)'
        >>> Rewriter().text("its `README.md`", "docs/c.md", "c.md")
        'its `README.md`'
        >>> Rewriter().text("`[a][b]` in [row][column] order", "docs/c.md", "c.md")
        '`[a][b]` in \\\\[row\\\\]\\\\[column\\\\] order'
        """
        parts, is_code, prose = [], False, []

        def flush():
            if prose:
                parts.append(self.line("\n".join(prose), origin, page))
                prose.clear()

        for line in text.split("\n"):
            if FENCE.match(line):
                flush()
                is_code = not is_code
                parts.append(line)
            elif is_code:
                parts.append(line)
            else:
                prose.append(line)
        flush()
        return "\n".join(parts)
