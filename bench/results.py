# SPDX-License-Identifier: Apache-2.0
"""Files of bench/results: objects with machine, command, commit, ceilings and cases.

docs/report.md describes them; `mluop perf --json` and `mluop report` write the same.
"""

import json
import pathlib
import subprocess


def machine_name():
    """Returns the CPU model and the number of cores from /proc/cpuinfo."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    flags = next((line for line in lines if line.startswith("flags")), "")
    vectors = ", AVX-512" if " avx512f " in flags else ", AVX2" if " avx2 " in flags else ""
    return f"{models[0] if models else 'CPU'} ({len(models)} cores{vectors})"


def commit():
    """The last commit that changed the library, with a mark if its sources differ from HEAD."""
    folder = pathlib.Path(__file__).parent
    sources = [str(folder.parent / name) for name in ("include", "python", "src")]
    git = lambda *words: subprocess.run(
        ["git", "-C", str(folder), *words, "--", *sources], capture_output=True, text=True
    )
    clean = git("diff", "--quiet", "HEAD").returncode == 0
    return git("log", "-1", "--format=%H").stdout.strip() + ("" if clean else " with changes")


def merge(old, new):
    """`new`, with the cases of `old` that it lacks if both are of one machine, commit and command.

    >>> base = {"machine": "m", "commit": "c", "command": "x"}
    >>> base["cases"] = [{"name": "a", "level": "l"}]
    >>> more = {**base, "cases": [{"name": "b", "level": "l"}]}
    >>> [row["name"] for row in merge(base, more)["cases"]]
    ['a', 'b']
    >>> [row["name"] for row in merge({**base, "commit": "d"}, more)["cases"]]
    ['b']
    >>> [row["name"] for row in merge(base, base)["cases"]]
    ['a']
    """
    facts = ("machine", "commit", "command")
    if any(old.get(key) != new[key] for key in facts):
        return new
    names = {(row["name"], row["level"]) for row in new["cases"]}
    kept = [row for row in old["cases"] if (row["name"], row["level"]) not in names]
    return {**new, "cases": kept + new["cases"]}


def save(path, command, facts, rows):
    """Writes the rows as cases to `path`. `facts`: device, versions; may name another machine."""
    file = pathlib.Path(path)
    machine = {"name": facts.get("machine") or machine_name()}
    new = {"command": command, "commit": commit(), **facts, "machine": machine}
    new |= {"ceilings": [], "cases": rows}
    if file.exists():
        new = merge(json.loads(file.read_text()), new)
    file.write_text(json.dumps(new, indent=1) + "\n")
