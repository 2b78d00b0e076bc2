# SPDX-License-Identifier: Apache-2.0
"""Adapts Markdown as GitHub reads it to Python-Markdown: lists."""

import re

ITEM = re.compile(r"^( *)([-*]|\d+\.) +")


def with_wide_lists(text):
    """Returns Markdown whose lists have four spaces per level and a blank line before them.

    >>> with_wide_lists("a\\n- b\\n  c\\n\\n  ```\\n  d\\n  ```\\ne")
    'a\\n\\n- b\\n    c\\n\\n    ```\\n    d\\n    ```\\ne'
    >>> with_wide_lists("1. b\\n   - c\\n     d")
    '1. b\\n    - c\\n        d'
    >>> with_wide_lists("```\\n- b\\n  c\\n```")
    '```\\n- b\\n  c\\n```'
    """
    result = []
    columns = []  # where the text of each open item starts, outermost first
    fence = None  # the indentation of the open code block
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        item = ITEM.match(line)
        if line.strip() and fence is None:
            while columns and indent < columns[-1]:
                columns.pop()
        level = len(columns)
        text_column = columns[-1] if columns else 0
        content = line[min(text_column, indent) :]
        if line.lstrip().startswith("```"):
            fence = None if fence is not None else indent
        elif item and fence is None:
            starts_list = bool(result) and result[-1].strip() and not ITEM.match(result[-1])
            if starts_list and not result[-1].startswith("    "):
                result.append("")
            columns.append(len(item.group(0)))
            content = line.strip()
        result.append(" " * 4 * level + content if line.strip() else "")
    return "\n".join(result)


def sections(text):
    """Returns {heading: text} of the sections of level 2, and the text before them as "".

    >>> sections("# T\\nx\\n## A\\ny\\n```\\n## no\\n```\\n")
    {'': '# T\\nx\\n', 'A': '## A\\ny\\n```\\n## no\\n```\\n'}
    """
    found, name, is_code = {"": ""}, "", False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        if line.startswith("## ") and not is_code:
            name = line[3:].strip()
            found[name] = ""
        found[name] += line
    return found
