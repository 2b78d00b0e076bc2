#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy and cppcheck over C and C++ sources. Each tool reads only the sources that
changed since it last passed them.

    scripts/analyse.py FOLDER [source ...]

FOLDER is a configured build folder: its compile_commands.json has the flags. FOLDER/passed holds a
stamp per tool and source, the hashes of:

- the tool's version, options and configuration;
- the source's compile command;
- the source and every header that it includes.

A source without a compile command (a client's program) is read by cppcheck only.
"""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from terminal import Terminal

ROOT = Path(__file__).resolve().parent.parent
INCLUDES = ["-Iinclude", "-Isrc", "-Itools/mluop", "-I."]
# g++'s command lines have warnings that clang does not know.
TIDY = ["clang-tidy-14", "--quiet", "--extra-arg=-Wno-unknown-warning-option"]
CPPCHECK = [
    "cppcheck", "--quiet", "--error-exitcode=1", "--std=c++20", "--library=googletest",
    "--enable=warning,performance,portability", "--suppressions-list=.cppcheck",
    "--template={file}:{line}: {severity}: {message} [{id}]", *INCLUDES,
]  # fmt: skip
NOISE = re.compile(
    r"^\d+ (warnings?|errors?) (and|generated|treated)|^Suppressed |^Use -header-filter"
    r"|^Error while processing|.*\[toomanyconfigs\]$"
)


@functools.cache
def hash_of(path: str) -> str:
    """Returns the hash of a file's content; "" if the file does not exist."""
    try:
        return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
    except OSError:
        return ""


@dataclass
class Tool:
    command: list[str]
    configuration: str  # its configuration file

    @functools.cached_property
    def identity(self) -> str:
        version = subprocess.run(
            [self.command[0], "--version"], capture_output=True, check=True, text=True
        ).stdout
        return "\n".join([version, *self.command, hash_of(self.configuration)])


@dataclass
class Job:
    tool: Tool
    source: str
    compile_commands: list[str]
    stamp: Path

    def key(self) -> str:
        text = "\n".join([self.tool.identity, *self.compile_commands])
        return hashlib.sha256(text.encode()).hexdigest()

    def passed_before(self) -> bool:
        try:
            stamp = json.loads(self.stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        # The list of headers cannot change unless one of these files does.
        return stamp["key"] == self.key() and all(
            hash_of(path) == before for path, before in stamp["files"].items()
        )

    def run(self) -> tuple[bool, str, float]:
        """Runs the tool. Returns (passed, output, seconds)."""
        start = time.monotonic()
        files = files_of(self.source, tuple(self.compile_commands))
        hashes = {path: hash_of(path) for path in files}  # of the files that the tool reads
        done = subprocess.run(
            [*self.tool.command, self.source], cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        passed = done.returncode == 0 and files != []
        if passed:
            self.stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp = json.dumps({"key": self.key(), "files": hashes}, indent=0)
            self.stamp.write_text(stamp, encoding="utf-8")
        else:
            self.stamp.unlink(missing_ok=True)
        lines = [line for line in done.stdout.splitlines() if not NOISE.match(line)]
        return passed, "\n".join(lines), time.monotonic() - start


@functools.cache
def files_of(source: str, compile_commands: tuple[str, ...]) -> list[str]:
    """Returns the source and all headers that it includes, also system headers. Returns [] if the
    preprocessor fails."""
    found = {source}
    for command in compile_commands or [shlex.join(["cc", *INCLUDES, source])]:
        done = subprocess.run(
            [*shlex.split(command), "-M", "-MG"], cwd=ROOT, capture_output=True, text=True
        )
        if done.returncode != 0:
            return []
        rule = done.stdout.replace("\\\n", " ").split(": ", 1)[1]
        found.update(shlex.split(rule))
    return sorted(found)


def read_compile_commands(folder: Path) -> dict[str, list[str]]:
    """Returns the commands of each source, without output files and duplicates. Writes FOLDER/tidy
    in the same way, because clang-tidy reads a source once per command."""
    entries: dict[str, dict[str, dict]] = {}
    for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
        source = os.path.relpath(entry["file"], ROOT)
        words = shlex.split(entry["command"])
        for option in ("-o", "-c"):
            if option in words:
                at = words.index(option)
                del words[at : at + (2 if option == "-o" else 1)]
        command = shlex.join(words)
        entry = {"directory": str(ROOT), "file": entry["file"], "command": command}
        entries.setdefault(source, {})[command] = entry
    (folder / "tidy").mkdir(exist_ok=True)
    once = [entry for by_command in entries.values() for entry in by_command.values()]
    (folder / "tidy/compile_commands.json").write_text(json.dumps(once, indent=0))
    return {source: sorted(by_command) for source, by_command in entries.items()}


def jobs_for(folder: Path, sources: list[str]) -> list[Job]:
    commands = read_compile_commands(folder)
    tools = {
        "tidy": Tool([*TIDY, "-p", str(folder / "tidy")], ".clang-tidy"),
        "cppcheck": Tool(CPPCHECK, ".cppcheck"),
    }
    return [
        Job(tool, source, commands.get(source, []), folder / "passed" / name / (source + ".json"))
        for name, tool in tools.items()
        for source in sources
        if name == "cppcheck" or source in commands
    ]


def main() -> None:
    terminal = Terminal(sys.stderr)
    folder = ROOT / sys.argv[1]
    sources = [os.path.relpath(path, ROOT) for path in sys.argv[2:]]
    jobs = jobs_for(folder, [path for path in sources if path.endswith((".c", ".cc"))])
    changed = [job for job in jobs if not job.passed_before()]
    # The largest first, because they probably take longest.
    changed.sort(key=lambda job: -(ROOT / job.source).stat().st_size)
    failed, seconds = [], 0.0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for i, (job, (passed, output, taken)) in enumerate(
            zip(changed, pool.map(Job.run, changed))
        ):
            seconds += taken
            terminal.show(f"{i + 1}/{len(changed)} {job.tool.command[0]} {job.source}")
            if not passed:
                failed.append(job)
                terminal.show("")
                print(output or f"{job.source}: {job.tool.command[0]} failed", flush=True)
    terminal.show("")
    print(
        f"analyse.py: {len(jobs)} analyses, {len(changed)} of changed sources "
        f"({seconds:.0f} s of tools), {len(failed)} failed"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
