# SPDX-License-Identifier: Apache-2.0
"""The navigation of the site. A page that no list names is added to the section "Project"."""

START = ("index", "python", "c", "cpp", "cmake", "mlu_ops", "bang")
GUIDES = ("python.md", "c.md", "report.md")
C_PAGES = ("mlu_op.h", "extensions.h", "runtime.h")
QUALITY = ("quality.md", "coverage.md", "mutation.md", "fuzzing.md")
PROJECT = ("design.md", "adding_an_operator.md", "glossary.md")


def navigation(pages, families):
    """Returns the navigation as nested lists: [title, pages] or a page.

    >>> pages = ["index.md", "start/c.md", "operators/index.md", "operators/f.md", "new.md",
    ...          "source/x.c.md"]
    >>> for entry in navigation(pages, ["f"]): print(entry)
    ['Home', ['index.md']]
    ['Getting started', ['start/c.md']]
    ['Operators', ['operators/index.md', ['f', ['operators/f.md']]]]
    ['Project', ['new.md', ['Source files', ['source/x.c.md']]]]
    """
    left = list(pages)

    def take(names):
        taken = [name for name in names if name in left]
        for name in taken:
            left.remove(name)
        return taken

    def folder(name):
        """Returns the pages of a folder, its index first."""
        found = [page for page in left if page.startswith(name + "/")]
        return take(
            sorted(
                found, key=lambda page: (not page.endswith("/index.md"), page.removesuffix(".md"))
            )
        )

    def named(pages):
        """Titles each page but an index by its file: its heading is longer."""
        stem = lambda page: page.rsplit("/", 1)[1].removesuffix(".md")
        return [page if stem(page) == "index" else [stem(page), [page]] for page in pages]

    # Applied in this order: a folder stands for the files in it that no list names.
    home = take(["index.md"])
    start = take([f"start/{name}.md" for name in START]) + folder("start")
    operators = take(["operators/index.md"])
    operators += [[name, take([f"operators/{name}.md"])] for name in families]
    guides = take(GUIDES)
    c_pages = take([f"reference/{name}.md" for name in C_PAGES])
    python_pages = named(folder("reference"))
    performance = take(["performance.md"])
    simulated = take(["bang.md"]) + named(folder("mlu"))
    quality = take(QUALITY)
    decisions, notes, sources = folder("decisions"), folder("notes"), folder("source")
    project = take(PROJECT) + [["Quality", quality], ["Decisions", decisions]]
    project += [["Lab notebook", notes], *left, ["Source files", sources]]
    sections = [
        ["Home", home],
        ["Getting started", start],
        ["Operators", operators],
        ["Reference", [*guides, ["C", c_pages], ["Python", python_pages]]],
        ["Performance", performance],
        ["Simulated MLU", simulated],
        ["Project", project],
    ]
    return without_empty(sections)


def without_empty(entries):
    """Returns the entries without sections that have no page.

    >>> without_empty([["A", [["B", []]]], "c.md"])
    ['c.md']
    """
    kept = []
    for entry in entries:
        if isinstance(entry, list):
            inner = without_empty(entry[1])
            if inner:
                kept.append([entry[0], inner])
        else:
            kept.append(entry)
    return kept


def yaml_of(entries, indent="  "):
    """Returns the navigation as YAML.

    >>> print(yaml_of([["A", ["a.md", ["B", ["b.md"]]]], ["C", ["c.md"]]]), end="")
      - "A":
        - a.md
        - "B": b.md
      - "C": c.md
    """
    text = ""
    for entry in entries:
        if isinstance(entry, str):
            text += f"{indent}- {entry}\n"
        elif len(entry[1]) == 1 and isinstance(entry[1][0], str):
            text += f'{indent}- "{entry[0]}": {entry[1][0]}\n'
        else:
            text += f'{indent}- "{entry[0]}":\n' + yaml_of(entry[1], indent + "  ")
    return text
