# SPDX-License-Identifier: Apache-2.0
"""An extension of Griffe: makes Markdown of docstrings. Doctests become code blocks, and products
of shapes, such as N*C, keep their stars."""

import re

try:
    import griffe
except ImportError:  # the doctest below runs without Griffe
    griffe = None

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?!\s*$).*)*", re.M)


def as_markdown(text):
    """Returns a docstring with code blocks around its examples and escaped stars.

    >>> as_markdown("[N, C*H*W] and `a*b`")
    '[N, C\\\\*H\\\\*W] and `a*b`'

    >>> as_markdown("Adds.\\n\\n    >>> add(1)\\n    2\\n\\nMore.")
    'Adds.\\n\\n```pycon\\n>>> add(1)\\n2\\n```\\n\\nMore.'
    """

    def fence(match):
        indent = len(match.group(1))
        lines = [line[indent:] for line in match.group(0).split("\n")]
        return "\n".join(["```pycon", *lines, "```"])

    # A star between two words, outside of examples and `code`.
    parts = re.split(r"(```pycon.*?```|`[^`\n]*`)", EXAMPLE.sub(fence, text), flags=re.S)
    return "".join(
        part if part.startswith("`") else re.sub(r"(?<=[\w)])\*(?=[\w(])", r"\\*", part)
        for part in parts
    )


class DocstringMarkdown(griffe.Extension if griffe else object):
    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
