#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collects the pages of the site in build-site/, for MkDocs.

    scripts/docs/stage.py build-site

Writes build-site/docs/ and build-site/mkdocs.yml, which inherits mkdocs.yml and has the navigation.
Sources: docs/, README.md and the other pages of the root, the families' READMEs and bench/results.
The references are made from the headers and, by MkDocs, from the Python package.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import c_reference
import performance
import python_reference
from links import ROOT, Rewriter, place, relative
from navigation import START, navigation, yaml_of
from page_text import sections, with_wide_lists
from performance import figures

CODE = re.compile(r"^<!-- code: (\S+) -->$", re.M)
LANGUAGES = {
    ".c": "c",
    ".cc": "cpp",
    ".mlu": "cpp",
    ".txt": "cmake",
    ".sh": "bash",
    ".py": "python",
}
ASSETS = {".css", ".js", ".json", ".png", ".svg"}


def families():
    """Returns the families in the order of op_list.inc."""
    return re.findall(r"^MLUOP_FAMILY\((\w+)\)", (ROOT / "src/ops/op_list.inc").read_text(), re.M)


def listed(pattern):
    """Returns the files of the repository that match a pattern, also if they are new."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(name for name in names.splitlines() if (ROOT / name).is_file())


def code_block(path):
    """Returns a source file as a code block, without its license line."""
    text = (ROOT / path).read_text()
    text = re.sub(r"^(//|#|/\*) SPDX-License-Identifier.*\n", "", text)
    language = LANGUAGES.get(pathlib.PurePath(path).suffix, "text")
    return f'```{language} title="{path}"\n{text.rstrip()}\n```'


def source_page(path):
    """Returns a page with the code of a file. The search leaves it out: it would hide the pages."""
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n{code_block(path)}\n"


def functions_of(family, anchors):
    """Returns the C functions of a family's operators."""
    operators = re.findall(
        r"^([a-z]\w+) ", (ROOT / f"src/ops/{family}/cases.txt").read_text(), re.M
    )
    names = {"mluop" + operator.replace("_", "") for operator in operators}
    return [name for name in anchors if name.lower() in names]


class Stage:
    """The pages of the site, by their paths below build-site/docs."""

    def __init__(self):
        self.pages = {}
        self.rewriter = Rewriter()

    def read(self, origin, page):
        """Returns a page of the repository with links of the site and code in place."""
        text = self.rewriter.text((ROOT / origin).read_text(), origin, page)
        return CODE.sub(lambda match: code_block(match.group(1)), text)

    def add_documents(self):
        for origin in [*listed("docs/*.md"), *listed("*.md")]:
            page = place(origin)
            if not origin.startswith(("src/ops/", "tests/", ".github/")) and page not in self.pages:
                self.pages[page] = self.read(origin, page)

    def add_operators(self, anchors):
        """Joins an operator's page with the rules, implementations and speed of its README."""
        for family in families():
            page = f"operators/{family}.md"
            readme = sections(self.read(f"src/ops/{family}/README.md", page))
            if page in self.pages:
                # The last paragraph leads to the README.
                parts = [self.pages[page].rstrip().rsplit("\n\n", 1)[0]]
            else:
                parts = [readme[""], readme["Formula and shapes"]]
            parts += [readme[name] for name in ("Decisions", "Implementations", "Speed")]
            parts.append(self.more(family, page, anchors))
            self.pages[page] = "\n\n".join(part.strip() for part in parts) + "\n"

    def more(self, family, page, anchors):
        lines = ["## More", ""]
        functions = [
            f"[`{name}`]({relative('reference/' + anchors[name], page)})"
            for name in functions_of(family, anchors)
        ]
        lines.append("- C reference: " + ", ".join(functions))
        for folder, title in (("mlu", "on the simulated MLU"), ("notes", "lab notebook")):
            if f"{folder}/{family}.md" in self.pages:
                lines.append(f"- [{family}, {title}](../{folder}/{family}.md)")
        return "\n".join(lines)

    def add_cards(self):
        """Adds links to the first steps to the home page, after the introduction."""
        cards = []
        for page in [f"start/{name}.md" for name in START[1:]]:
            if page in self.pages:
                title, first = re.match(r"# ([^\n]+)\n\n(.+?\.)\s", self.pages[page], re.S).groups()
                cards.append(f"- [**{title}**]({page})\n\n    {' '.join(first.split())}\n")
        grid = '<div class="grid cards" markdown>\n\n' + "\n".join(cards) + "\n</div>"
        found = re.fullmatch(r"(.+?)\n\n!\[[^\n]+\n\n(.+)", self.pages["index.md"], re.S)
        if not found:
            raise SystemExit("README.md: a chart must follow the introduction")
        introduction, rest = found.groups()
        chart = performance.inline(figures.CHART.read_text())
        self.pages["index.md"] = "\n\n".join(
            ["---\nhide: [navigation]\n---", introduction, grid, chart, rest]
        )

    def add_indexes(self):
        """Adds a list of pages to each folder that has no index page."""
        titles = {"decisions": "Decisions", "notes": "Lab notebook"}
        for folder, title in titles.items():
            entries = [
                f"- [{self.title(page)}]({page.split('/')[1]})"
                for page in sorted(self.pages)
                if page.startswith(f"{folder}/") and page != f"{folder}/index.md"
            ]
            self.pages.setdefault(
                f"{folder}/index.md", f"# {title}\n\n" + "\n".join(entries) + "\n"
            )

    def add_sources(self):
        """Adds a page for each source file or folder that a page links to."""
        for path in sorted(self.rewriter.sources):
            if (ROOT / path).is_dir():
                files = [name for name in listed(path) if place(name).startswith("source/")]
                entries = [f"- [{name}]({relative(place(name), place(path))})" for name in files]
                self.pages[place(path)] = f"# {path}\n\n" + "\n".join(entries) + "\n"
                self.pages.update({place(name): source_page(name) for name in files})
            else:
                self.pages[place(path)] = source_page(path)

    def title(self, page):
        return re.match(r"# (.+)", self.pages[page]).group(1)

    def write(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        for page, text in self.pages.items():
            file = folder / "docs" / page
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(with_wide_lists(text))
        for name in listed("docs/*"):
            if pathlib.PurePath(name).suffix in ASSETS:
                file = folder / "docs" / name.removeprefix("docs/")
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, file)
        nav = navigation(sorted(self.pages), families())
        settings = f"INHERIT: ../mkdocs.yml\nsite_dir: {ROOT / 'site'}\nnav:\n{yaml_of(nav)}"
        (folder / "mkdocs.yml").write_text(settings)


def main():
    stage = Stage()
    stage.add_documents()
    reference = c_reference.pages(ROOT)
    stage.pages.update(reference)
    stage.pages.update(python_reference.pages(ROOT))
    stage.add_operators(c_reference.anchors(ROOT))
    stage.pages["performance.md"] = performance.page()
    stage.add_cards()
    stage.add_indexes()
    stage.add_sources()
    stage.write(pathlib.Path(sys.argv[1]))
    print(f"stage.py: {len(stage.pages)} pages")


if __name__ == "__main__":
    main()
