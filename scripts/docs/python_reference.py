# SPDX-License-Identifier: Apache-2.0
"""Makes the pages of the Python reference, which mkdocstrings fills with signatures and docstrings.

The public names are read from the package's sources; nothing is imported, so that no library has to
be built.
"""

import ast
import re

# Module, title, source below python/.
MODULES = (
    ("mluops", "mluops: errors", "mluops/__init__.py"),
    ("mluops.arrays", "mluops: NumPy arrays", "mluops/arrays/__init__.py"),
    ("mluops.torch", "mluops.torch", "mluops/torch/__init__.py"),
    ("mluops.compat.mmcv", "mluops.compat.mmcv", "mluops/compat/mmcv.py"),
    ("mluops.compat.pcdet", "mluops.compat.pcdet", "mluops/compat/pcdet.py"),
    ("mluops.compat.torchvision", "mluops.compat.torchvision", "mluops/compat/torchvision.py"),
    ("mluops.onnx", "mluops.onnx", "mluops/onnx.py"),
    ("mluops.viz", "mluops.viz", "mluops/viz/__init__.py"),
)


def public_names(text, module, package):
    """Returns the public names of a module of a package as (place of definition, name).

    >>> public_names("from .a import f\\nfrom ._b import g as _g\\ndef h(): pass", "p.m", "p")
    [('p.a', 'f'), ('p.m', 'h')]
    >>> public_names('from .a import f, g\\n__all__ = ["g"]', "m", "m")
    [('m.a', 'g')]
    """
    found, exported = [], None
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            place = f"{package}.{node.module}" if node.module else package
            found += [(place, name.name) for name in node.names if not name.asname]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.append((module, node.name))
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            exported = {item.value for item in node.value.elts if isinstance(item, ast.Constant)}
    is_public = lambda name: name in exported if exported else not name.startswith("_")
    return [(place, name) for place, name in found if is_public(name) and name != "*"]


def in_source_order(names, root):
    """Returns names with the functions of each file in the order of the file: forward first."""

    def line(entry):
        place, name = entry
        file = root / "python" / (place.replace(".", "/") + ".py")
        text = file.read_text() if file.exists() else ""
        found = re.search(rf"^(?:def|class) {name}\b", text, re.M)
        return places.index(place), found.start() if found else 0

    places = list(dict.fromkeys(place for place, _ in names))
    return sorted(names, key=line)


def page_of(module, title, source, root):
    """Returns the page of a module: its docstring, then its names by the file that defines them."""
    text = (root / "python" / source).read_text()
    docstring = ast.get_docstring(ast.parse(text))
    lines = [f"# {title}", "", docstring]
    last = module
    package = module if source.endswith("__init__.py") else module.rpartition(".")[0]
    for place, name in in_source_order(public_names(text, module, package), root):
        file = place.split(".")[-1]
        if place != last and not file.startswith("_") and module != "mluops":
            lines += ["", f"## {file}"]
        last = place
        lines += ["", f"::: {place}.{name}"]
    return "\n".join(lines) + "\n"


def pages(root):
    """Returns {page: Markdown} of the Python reference."""
    return {
        f"reference/{module}.md": page_of(module, title, source, root)
        for module, title, source in MODULES
    }
