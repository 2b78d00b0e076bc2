# SPDX-License-Identifier: Apache-2.0
"""An extension of Griffe: doctests in docstrings become code blocks of the site."""

import re

try:
    import griffe
except ImportError:  # the doctest below runs without Griffe
    griffe = None

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?!\s*$).*)*", re.M)


def with_fences(text):
    """Returns a docstring with code blocks around its examples.

    >>> with_fences("Adds.\\n\\n    >>> add(1)\\n    2\\n\\nMore.")
    'Adds.\\n\\n```pycon\\n>>> add(1)\\n2\\n```\\n\\nMore.'
    """

    def fence(match):
        indent = len(match.group(1))
        lines = [line[indent:] for line in match.group(0).split("\n")]
        return "\n".join(["```pycon", *lines, "```"])

    return EXAMPLE.sub(fence, text)


class DoctestBlocks(griffe.Extension if griffe else object):
    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = with_fences(obj.docstring.value)
