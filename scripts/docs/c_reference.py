# SPDX-License-Identifier: Apache-2.0
"""Makes the C reference: a page of Markdown per public header.

A header has sections, `/* ------ title`, and comments. A comment describes the declarations up to
the next blank line. Every function, type and constant gets an anchor; names in comments link to
it. A declaration that the parser does not understand is an error, so that none is missing.
"""

import dataclasses
import re

HEADERS = ("include/mlu_op.h", "include/mluops/extensions.h", "include/mluops/runtime.h")
SECTION = re.compile(r"^-{10,}\s*(.+)")
FUNCTION = re.compile(r"\b(\w+)\((?!\*)")
TYPE = re.compile(r"\}\s*(\w+);$|^typedef .*?(\w+);$", re.S)
NAME = re.compile(r"\b((?:mluOp|cnrt[A-Z]|MLUOP_)\w+)(?:\(\))?")
CODE = re.compile(
    r"""\#(?:[^\n]*\\\n)*[^\n]*\n                   # a directive, with its continuation lines
    | extern\ "C(\+\+)?"\ \{\n | \}\ *(/\*.*\*/)?\n  # the start and the end of a linkage block
    | [^;{}]*\)\s*\{(?:[^{}]|\{[^{}]*\})*\}\n     # an inline function
    | (?:[^;{}]*\{[^{}]*\})?[^;{}]*;[^\n]*\n       # any other declaration""",
    re.X,
)
SKIPPED = re.compile(r"#(include|if|ifdef|ifndef|else|elif|endif|pragma)\b|extern \"C|\}\s|\}$")
# Declarations that implement others: of compatibility with callers in C.
INTERNAL = re.compile(r"static inline|#define (MLUOPS_\w+|\w+_H_|mluOp\w+\()")


@dataclasses.dataclass
class Item:
    """A comment and the declarations that it describes. A section's introduction may have none."""

    comment: str
    declarations: list
    section: str
    is_introduction: bool = False  # the comment describes the section


def comment_text(raw):
    """Returns a comment's lines without its delimiters and the stars on the left.

    >>> comment_text("/* One.\\n *   two */")
    'One.\\n  two'
    """
    first, *others = raw.strip()[2:-2].rstrip().split("\n")
    return "\n".join([first.strip(), *(re.sub(r"^( \* ?|   )", "", line) for line in others)])


def tokens(text):
    """Yields ("comment" | "code" | "blank", text) of a header, one per comment, statement, gap."""
    position = 0
    while position < len(text):
        rest = text[position:]
        if match := re.match(r"[ \t]*\n", rest):
            kind = "blank"
        elif match := re.match(r"/\*.*?\*/[ \t]*\n", rest, re.S):
            kind = "comment"
        elif match := CODE.match(rest):
            kind = "code"
        else:
            raise SystemExit(f"c_reference.py: cannot parse {rest[:200]!r}")
        yield kind, match.group(0)
        position += match.end()


def parse(text):
    """Returns the title comment and the items of a header.

    >>> title, items = parse("/* SPDX */\\n/* Title. */\\n\\n/* Adds. */\\nint add(int a);\\n")
    >>> title, items[0].comment, items[0].declarations
    ('Title.', 'Adds.', ['int add(int a);'])
    """
    title, items, section, current = "", [], "Constants", None
    for kind, token in tokens(text):
        if kind == "blank":
            current = None
        elif kind == "comment":
            comment = comment_text(token)
            if comment.startswith(("SPDX", "MLU_OP_H_", "MLUOPS_")):
                continue
            if not title:
                title = comment
                continue
            if match := SECTION.match(comment):
                section, comment = match.group(1), comment[match.end() :].strip("\n")
            current = Item(comment, [], section, match is not None)
            items.append(current)
        elif not SKIPPED.match(token) and not INTERNAL.match(token):
            if current is None:
                current = Item("", [], section)
                items.append(current)
            current.declarations.append(re.sub(r"\) \{.*", ");", token.rstrip(), flags=re.S))
    items = [item for item in items if item.declarations or item.is_introduction]
    return title, with_overloads_in_place(items)


def with_overloads_in_place(items):
    """Returns the items with each overload in the section of the function that it overloads."""
    home = {}
    for item in items:
        for declaration in item.declarations:
            item.section = home.setdefault(names_of(declaration)[0], item.section)
    order = list(dict.fromkeys(item.section for item in items))
    return sorted(items, key=lambda item: order.index(item.section))


def names_of(declaration):
    """Returns the names that a declaration defines, the one for its heading first.

    >>> names_of("MLUOP_WIN_API int mluOpF(int a);"), names_of("#define MLUOP_MAX 8")
    (['mluOpF'], ['MLUOP_MAX'])
    >>> names_of("typedef enum { A = 1, B } mluOpE_t;"), names_of("typedef struct s* mluOpS_t;")
    (['mluOpE_t', 'A', 'B'], ['mluOpS_t'])
    """
    if match := re.match(r"#define (\w+)", declaration):
        return [match.group(1)]
    bare = re.sub(r"/\*.*?\*/", "", declaration, flags=re.S).strip()
    if match := re.search(r"enum\s*\{(.*)\}", bare, re.S):
        values = re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", match.group(1).strip())
        return re.findall(r"\}\s*(\w+);", bare) + values
    if bare.startswith("typedef"):
        found = TYPE.search(bare)
        return [found.group(1) or found.group(2)]
    if found := FUNCTION.search(bare.replace("MLUOP_WIN_API ", "")):
        return [found.group(1)]
    raise SystemExit(f"c_reference.py: no name in {declaration!r}")


def linked(text, anchors, page):
    """Returns text with links for the names of other declarations, and < and * kept as they are.

    >>> linked("see mluOpF, a*b", {"mluOpF": "x.md#mluOpF"}, "y.md")
    'see [`mluOpF`](x.md#mluOpF), a\\\\*b'
    """

    def link(match):
        target = anchors.get(match.group(1))
        if target is None:
            return f"`{match.group(0)}`"
        return f"[`{match.group(0)}`]({target.removeprefix(page)})"

    text = re.sub(r"([*\[\]])", r"\\\1", text.replace("<", "&lt;"))
    return NAME.sub(link, text)


def blocks(comment):
    """Yields ("text" | "list" | "code", lines) of a comment. Indented lines are code.

    >>> list(blocks("One\\ntwo.\\n- a\\n  b\\n  y = x"))
    [('text', ['One', 'two.']), ('list', ['- a', '  b', '  y = x'])]
    >>> list(blocks("One:\\n  y = x\\n\\n  z = y"))
    [('text', ['One:']), ('code', ['  y = x', '', '  z = y'])]
    """
    found = []
    for line in comment.split("\n"):
        last = found[-1][0] if found else ""
        if not line:
            kind = "code" if last == "code" else "gap"
        elif line.startswith("- "):
            kind = "list"
        elif line.startswith("  "):
            kind = last if last in ("list", "code") else "code"
        else:
            kind = "text"
        if kind != last or line.startswith("- "):
            found.append((kind, []))
        found[-1][1].append(line)
    yield from (block for block in found if block[0] != "gap")


def prose(comment, anchors, page):
    """Returns a comment as Markdown."""
    parts = []
    for kind, lines in blocks(comment):
        if kind == "code":
            while not lines[-1]:
                lines.pop()
            parts.append("```text\n" + "\n".join(line[2:] for line in lines) + "\n```")
        else:
            # Four spaces continue an item of a list in Python-Markdown.
            pad = "    " if kind == "list" else ""
            body = [lines[0]] + [pad + line.strip() for line in lines[1:]]
            parts.append(linked("\n".join(body), anchors, page))
    text = "\n\n".join(parts)
    return re.sub(r"\n\n(?=- )", "\n", text) if text.startswith("- ") else text


def heading(declarations, level, seen):
    """Returns a heading for declarations, with an anchor per name. An overload has another anchor.

    >>> seen = set()
    >>> heading(["int f(int);", "#define G 1"], "##", seen)
    '## `f` { #f }\\n<span id="G"></span>'
    >>> heading(["int f(void);"], "##", seen)
    '## `f` { #f-2 }\\n'
    """
    shown = [names_of(text)[0] for text in declarations if not text.startswith("#")]
    every = [name for text in declarations for name in names_of(text)]
    shown = shown or every
    anchors = [name + ("-2" if name in seen else "") for name in shown]
    spans = anchors[1:] + [name for name in every if name not in shown]
    seen.update(shown)
    title = ", ".join(f"`{name}`" for name in shown)
    return f"{level} {title} {{ #{anchors[0]} }}\n" + "".join(
        f'<span id="{anchor}"></span>' for anchor in spans
    )


def code(declarations):
    text = "\n".join(declarations).replace("MLUOP_WIN_API ", "")
    return "```c\n" + text + "\n```"


def page_name(header):
    return f"reference/{header.split('/')[-1]}.md"


def anchors_of(parsed):
    """Returns {name: page#anchor} over all headers."""
    return {
        name: f"{page_name(header).split('/')[-1]}#{name}"
        for header, (_, items) in parsed.items()
        for item in items
        for declaration in item.declarations
        for name in names_of(declaration)
    }


def render(header, parsed, anchors):
    """Returns the page of a header."""
    title, items = parsed[header]
    page = page_name(header).split("/")[-1]
    include = header.removeprefix("include/")
    title = re.sub(r"^\w+\.h: ", "", title)
    lines = [f"# {include}", "", prose(title[0].upper() + title[1:], anchors, page)]
    section, seen = "", set()
    has_sections = any(item.is_introduction for item in items)
    level = "###" if has_sections else "##"
    for item in items:
        if item.section != section and has_sections:
            section = item.section
            lines += ["", f"## {section if re.search('[_(]', section) else section.capitalize()}"]
        comment = ["", prose(item.comment, anchors, page)] if item.comment else []
        if item.is_introduction:
            lines += comment
        # Functions of an introduction, an operator, are long: each has its heading.
        groups = (
            [[text] for text in item.declarations] if item.is_introduction else [item.declarations]
        )
        for group in groups:
            lines += ["", heading(group, level, seen)]
            lines += [] if item.is_introduction else comment
            lines += ["", code(group)]
    return "\n".join(lines) + "\n"


def parsed_headers(root):
    return {header: parse((root / header).read_text()) for header in HEADERS}


def anchors(root):
    """Returns {name: page#anchor} of all declarations, for links from other pages."""
    return anchors_of(parsed_headers(root))


def pages(root):
    """Returns {page: Markdown} of the C reference."""
    parsed = parsed_headers(root)
    return {page_name(header): render(header, parsed, anchors(root)) for header in HEADERS}
