# SPDX-License-Identifier: Apache-2.0
"""Tables of `mluop perf --json`: one per family and file of bench/results, for the READMEs.

A table has a row per case line. Its columns are the types and atomics modes that were measured. On
the CPU they are also the plain loops, cold caches, fewer threads and other instruction sets, if the
file has them. Only the large shapes of `make run` are shown. The files have all; docs/report.md
describes them.
"""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
# The path of the link is that of a family's page.
FLOOR = "[floor](../../../docs/glossary.md#results)"
INSTRUCTION_SETS = ("AVX3", "AVX2", "SSE4", "SSSE3", "SSE2")  # the widest first


def load(folder=RESULTS):
    """Returns the files that the driver wrote, the CPU's first. Other benchmarks have no min_s."""
    files = [
        {"file": path.name, **json.loads(path.read_text())}
        for path in sorted(folder.glob("*.json"))
    ]
    driver = [file for file in files if file["cases"] and "min_s" in file["cases"][0]]
    return sorted(driver, key=lambda file: file["cases"][0]["device"] != "cpu")


def families(root=ROOT):
    """Returns {operator: family}, in the order of the families' lists of cases."""
    found = {}
    for path in sorted((root / "src" / "ops").glob("*/cases.txt")):
        for line in path.read_text().splitlines():
            if line and line[0].isalpha():
                found.setdefault(line.split()[0], path.parent.name)
    return found


def source(file):
    """Returns the machine, the mode on CUDA, the versions and the command of a file of results.

    >>> file = {"machine": {"name": "GPU"}, "device": "cuda", "torch": 2, "torchvision": 1}
    >>> source({**file, "commit": "a", "command": "b"})
    'GPU, atomics allowed (the default in PyTorch), torch 2, torchvision 1, commit a, `b`.'
    >>> source({**file, "commit": "a", "command": "b --deterministic"}).split(", ")[1]
    'reproducible (`use_deterministic_algorithms`)'
    """
    mode = ""
    if file["device"] == "cuda":
        reproducible = "--deterministic" in file["command"].split()
        mode = "reproducible (`use_deterministic_algorithms`), " if reproducible else ""
        mode = mode or "atomics allowed (the default in PyTorch), "
    return (
        f"{file['machine']['name']}, {mode}torch {file['torch']}, "
        f"torchvision {file['torchvision']}, commit {file['commit'][:10]}, `{file['command']}`."
    )


def wrapped(text, width=100):
    """Returns lines of at most `width` characters. A link is counted without its target.

    >>> wrapped("aa bb cc", 5), wrapped("aa [b](c) dd", 6)
    (['aa bb', 'cc'], ['aa [b](c)', 'dd'])
    """
    lines = [""]
    for word in text.split():
        line = re.sub(r"(?<=\])\([^)]*\)", "", f"{lines[-1]} {word}")
        if lines[-1] and len(line) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def width(row):
    """Returns a number that is smaller for wider vectors.

    >>> width({"isa": "AVX3_ZEN4"}), width({"isa": "AVX2"}), width({"isa": "EMU128"}), width({})
    (0, 1, 5, 5)
    """
    isa = row.get("isa", "").split("_")[0]
    return INSTRUCTION_SETS.index(isa) if isa in INSTRUCTION_SETS else len(INSTRUCTION_SETS)


def isa_name(isa):
    """Returns the usual name of a target of Highway.

    >>> isa_name("AVX3_DL"), isa_name("AVX2")
    ('AVX-512', 'AVX2')
    """
    return "AVX-512" if isa.startswith("AVX3") else isa


def headline(rows):
    """Returns the row that the others are compared with: hot, all threads, the widest vectors."""
    return min(rows, key=lambda row: (row["caches"] == "cold", -row.get("threads", 1), width(row)))


def variant(row):
    """Returns the name of a column: type and atomics mode.

    >>> variant({"dtype": "half", "mode": "allowed"}), variant({"dtype": "float"})
    ('half, atomics allowed', 'float')
    """
    return row["dtype"] + (", atomics allowed" if row.get("mode") == "allowed" else "")


def short(case):
    """Returns a case line without its type.

    >>> short("f_forward N=1 dtype=half")
    'f_forward N=1'
    """
    return " ".join(word for word in case.split() if not word.startswith("dtype="))


def number(value):
    """Returns a time or a ratio with two or three digits.

    >>> number(0.9876), number(14.678), number(1234.5)
    ('0.99', '14.7', '1234')
    """
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def extra_columns(main, rows):
    """Returns {column: text} of the CPU: plain loops, cold caches, fewer threads, narrower vectors.

    >>> main = {"caches": "hot", "threads": 2, "isa": "AVX3", "min_s": 1.0, "speedup": 8.0}
    >>> extra_columns(main, [main, {**main, "isa": "AVX2", "min_s": 1.5}])
    {'× plain loops': '8.00', 'AVX2, × time': '1.50'}
    >>> extra_columns(main, [{**main, "caches": "cold", "min_s": 3.0, "ratio_to_floor": 2.0}])
    {'× plain loops': '8.00', 'cold, × floor': '2.00'}
    """
    columns = {}
    if "speedup" in main:
        columns["× plain loops"] = number(main["speedup"])
    setting = lambda row: (row["caches"], row.get("threads"), row.get("isa"))
    for row in rows:
        changed = [a != b for a, b in zip(setting(row), setting(main))]
        ratio = number(row["min_s"] / main["min_s"])
        if changed == [True, False, False]:
            columns[f"{row['caches']}, × floor"] = number(row["ratio_to_floor"])
        elif changed == [False, True, False]:
            count = row["threads"]
            columns[f"{count} thread{'s' if count > 1 else ''}, × time"] = ratio
        elif changed == [False, False, True]:
            columns[f"{isa_name(row['isa'])}, × time"] = ratio
    return columns


def grouped(rows):
    """Returns {case without type: {variant: [rows]}} in the order of the file."""
    cases = {}
    for row in rows:
        cases.setdefault(short(row["case"]), {}).setdefault(variant(row), []).append(row)
    return cases


def cells_of(variants):
    """Returns {column: text} of a row of the table."""
    mains = {name: headline(rows) for name, rows in variants.items()}
    names = list(dict.fromkeys(row["implementation"] for row in mains.values()))
    cells = {"implementation": ", ".join(f"`{name}`" for name in names)}
    for name, row in mains.items():
        cells[name] = f"{number(row['min_s'] * 1e6)} ({number(row['ratio_to_floor'])})"
    first = next(iter(variants))
    return {**cells, **extra_columns(mains[first], variants[first])}


def main_cases(root=ROOT):
    """Returns the cases of `make run`, without types."""
    lines = (root / "bench" / "run_cases.txt").read_text().splitlines()
    return {short(line) for line in lines if line and line[0].isalpha()}


def shown(rows, cases):
    """Returns the rows of the main cases, or of all cases if no case is a main one.

    Leaves out cases with less than half of the bytes of their operator's largest row.

    >>> row = lambda case, bytes: {"case": case, "op": case[0], "bytes": bytes}
    >>> rows = [row("a N=2", 20), row("a N=2 dtype=half", 10), row("a N=1", 9), row("b N=1", 9)]
    >>> [row["case"] for row in shown(rows, {"a N=1", "a N=2"})]
    ['a N=2', 'a N=2 dtype=half']
    >>> [row["case"] for row in shown(rows[2:], {"c"})]
    ['a N=1', 'b N=1']
    """
    rows = [row for row in rows if short(row["case"]) in cases] or rows
    largest, of_case = {}, {}
    for row in rows:
        for most, key in (largest, row["op"]), (of_case, short(row["case"])):
            most[key] = max(most.get(key, 0), row["bytes"])
    return [row for row in rows if of_case[short(row["case"])] >= largest[row["op"]] / 2]


def table(rows):
    """Returns the table of a family's rows.

    >>> row = {"case": "f N=1", "dtype": "float", "implementation": "a", "caches": "rotated",
    ...        "min_s": 2e-6, "ratio_to_floor": 1.5}
    >>> print(table([row, {**row, "case": "f N=1 dtype=half", "dtype": "half", "min_s": 1e-6}]))
    | case | implementation | float | half |
    |---|---|---|---|
    | `f N=1` | `a` | 2.00 (1.50) | 1.00 (1.50) |
    """
    lines = {case: cells_of(variants) for case, variants in grouped(rows).items()}
    columns = list(dict.fromkeys(name for cells in lines.values() for name in cells))
    # Types and modes first, then comparisons, although a later row may add a type.
    columns.sort(key=lambda name: "×" in name)
    text = ["| case | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for case, cells in lines.items():
        text.append(f"| `{case}` | " + " | ".join(cells.get(name, "") for name in columns) + " |")
    return "\n".join(text)


def setting(file, rows):
    """Returns the machine, the setting and the commit of a file."""
    main = headline(rows)
    parts = [file["machine"]["name"]]
    if "threads" in main:
        parts.append(f"{main['threads']} thread{'s' if main['threads'] > 1 else ''}")
    if "isa" in main:
        parts.append(isa_name(main["isa"]))
    return ", ".join(parts) + f", commit {file['commit'][:10]}"


def command(file):
    """Returns the command of a file, without the name of its output."""
    return file["command"].split(" --json")[0]


def section(family, files):
    """Returns the generated part of a family's section "Speed"."""
    operators, cases = families(), main_cases()
    parts = []
    for file in files:
        measured = [row for row in file["cases"] if operators.get(row["op"]) == family]
        rows = shown(measured, cases)
        if rows:
            label = f"{setting(file, rows)} (`bench/results/{file['file']}`)"
            text = f"{label}: least µs (× {FLOOR})."
            columns = table(rows)
            if "× plain loops" in columns:
                text += " × plain loops: their time over ours."
            if "× time" in columns:
                text += " × time: the time with that setting over ours."
            parts += ["\n".join(wrapped(text)), columns]
    return "\n\n".join(parts) if parts else "Not measured yet."
