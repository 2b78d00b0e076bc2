# SPDX-License-Identifier: Apache-2.0
"""Replaces names in modules, including names that other modules imported earlier."""

from __future__ import annotations

import collections
import dataclasses
import gc
import importlib.util
import sys
import types
from typing import Any, Dict, List


@dataclasses.dataclass
class Report:
    """The changes of an installation. Entries have the form module.name."""

    created: List[str] = dataclasses.field(default_factory=list)  # new modules
    replaced: List[str] = dataclasses.field(default_factory=list)
    # Names in other modules that were bound to an original and are now bound to ours.
    rebound: List[str] = dataclasses.field(default_factory=list)
    # Objects that still hold an original and are not changed: see list_left.
    left: List[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{field.name}: {', '.join(places)}"
            for field in dataclasses.fields(self)
            for places in [getattr(self, field.name)]
            if places
        ]
        return "\n".join(lines) or "nothing to do"


def make(name: str, report: Report, package: bool = True) -> types.ModuleType:
    """Creates a module and binds it in its parent."""
    module = types.ModuleType(name, "Made by mluops.compat.")
    # importlib.util.find_spec and importlib.reload need it.
    module.__spec__ = importlib.util.spec_from_loader(name, loader=None, is_package=package)
    if package:
        module.__path__ = []
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)
    report.created.append(name)
    return module


def put(
    module: types.ModuleType, name: str, ours: Any, report: Report, originals: Dict[int, Any]
) -> None:
    """Binds module.name to ours. Records the previous value in `originals`, by its id."""
    if module.__dict__.get(name) is ours:
        return
    original = module.__dict__.get(name)
    if original is not None and not isinstance(original, types.ModuleType):
        originals[id(original)] = (original, ours)
    setattr(module, name, ours)
    report.replaced.append(f"{module.__name__}.{name}")


def rebind(report: Report, originals: Dict[int, Any]) -> None:
    """Replaces the originals in all modules of the process that hold them under any name."""
    for module in list(sys.modules.values()):
        if not isinstance(module, types.ModuleType):
            continue
        for name, value in list(vars(module).items()):
            found = originals.get(id(value))
            if found is not None:
                setattr(module, name, found[1])
                report.rebound.append(f"{module.__name__}.{name}")


def list_left(report: Report, originals: Dict[int, Any]) -> None:
    """Lists the other holders of an original: its instances and subclasses, attributes of classes,
    defaults of functions, items of dictionaries and lists (registries). Closures, tuples and
    objects without a dictionary are not searched."""
    if not originals:
        return
    classes = tuple(original for original, _ in originals.values() if isinstance(original, type))

    def note(value: Any, place: str) -> None:
        found = originals.get(id(value))
        if found is not None:
            report.left.append(f"{place} is {found[0].__module__}.{found[0].__qualname__}")

    instances: Dict[str, int] = collections.Counter()
    objects = gc.get_objects()
    told = set()  # dictionaries whose owner is reported by name
    for found in objects:
        kind = type(found)
        if kind is types.ModuleType:
            told.add(id(vars(found)))
        elif kind is types.FunctionType:
            named = found.__kwdefaults__ or {}
            told.add(id(named))
            for value in (*(found.__defaults__ or ()), *named.values()):
                note(value, f"a default of {found.__module__}.{found.__qualname__}")
        elif issubclass(kind, type):
            told.update(id(inner) for inner in gc.get_referents(vars(found)))
            for name, value in list(vars(found).items()):
                note(value, f"{found.__module__}.{found.__qualname__}.{name}")
            if id(found) not in originals and issubclass(found, classes):
                report.left.append(f"{found.__module__}.{found.__qualname__} is a subclass")
        elif issubclass(kind, classes):
            instances[f"{kind.__module__}.{kind.__qualname__}"] += 1
    report.left.extend(
        f"{count} instances of {name}" if count > 1 else f"an instance of {name}"
        for name, count in instances.items()
    )
    for found in objects:
        if type(found) is list:
            for value in found:
                note(value, "an item of a list")
        elif type(found) is dict and id(found) not in told:
            for key, value in list(found.items()):
                note(
                    value,
                    f"item {key!r} of a dictionary"
                    if isinstance(key, str)
                    else "an item of a dictionary",
                )
