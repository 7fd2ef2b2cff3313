#!/usr/bin/env python3
"""Checks that the folders keep their order: who may include whom.

The tables below are the project's layering (docs/architecture.md). Each finding is one line, FILE:LINE: what is
wrong and why. Exit code 0 if there is none, 1 if there are some.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path, PurePosixPath

# folder: what it may include, besides itself and what those may include in turn.
LAYERS = {
    "core/base": [],
    "core/device": ["core/base"],
    "core/tensor": ["core/device"],
    "core/ops": ["core/tensor"],
    "core/comm": ["core/tensor"],
    "core/nn": ["core/ops"],
    "core/telemetry": ["core/comm"],
    "core/checkpoint": ["core/comm"],
    "optim": ["core/nn"],
    "dataloader": ["core/tensor"],
    "models": ["core/nn", "core/comm", "core/checkpoint"],
    "ddp": ["core/nn", "core/comm", "optim"],
}
# Programs stand on top: they may include anything, and nothing below includes them.
PROGRAMS = ["examples", "bench", "tests"]

# Folders in which a backend hides. Their headers are private to their row: code above sees the row's own headers.
BACKENDS = {"cpu", "cuda", "self", "threads", "mpi", "nccl"}
# A backend that is built on another may see its headers.
BUILT_ON = {"nccl": "cuda"}

# System headers that only one kind of backend folder may see: (pattern, folder name).
BACKEND_HEADERS = [
    (re.compile(r"mpi(-ext)?\.h$"), "mpi"),
    (re.compile(r"nccl\w*\.h$"), "nccl"),
    (re.compile(r"(cuda|cublas|cudnn|cub/|nv).*"), "cuda"),
]

SOURCES = {".h", ".hpp", ".cuh", ".cpp", ".cc", ".cu"}
HEADERS = {".h", ".hpp", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
SWITCH = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*(CUDA|NCCL|MPI)")


def allowed_folders():
    """The table, followed to its end: folder → every folder that it may include."""
    closed = {}
    for folder, uses in LAYERS.items():  # rows only use rows above them
        closed[folder] = {folder}.union(*(closed[used] for used in uses))
    return closed


ALLOWED = allowed_folders()


def row_of(path):
    """The row of the table that a file belongs to, or None."""
    for row in [*LAYERS, *PROGRAMS]:
        if PurePosixPath(row) in PurePosixPath(path).parents:
            return row
    return None


def backend_of(path):
    """The backend folder that a file lies in, or None."""
    return next((part for part in PurePosixPath(path).parent.parts if part in BACKENDS), None)


def sources_of(root):
    """Every C++ and CUDA file, as paths relative to the root; hidden folders, builds and runs are left out."""
    for folder, subfolders, files in os.walk(root):
        if Path(folder) == root:
            subfolders[:] = [s for s in subfolders if not s.startswith((".", "build")) and s != "runs"]
        for name in files:
            if Path(name).suffix in SOURCES:
                yield (Path(folder) / name).relative_to(root).as_posix()


def is_generated(root, name):
    """Headers that CMake writes into the build folder: some CMakeLists.txt of ours names them."""
    lists = [path for folder in [*LAYERS, *PROGRAMS] for path in (root / folder).rglob("CMakeLists.txt")]
    return any(name in path.read_text(encoding="utf-8") for path in lists)


def check_project_include(root, source, target):
    """What is wrong with `#include "target"` in `source`, or None."""
    if not (root / target).is_file():
        beside = (root / source).parent / target
        if beside.is_file():
            rooted = os.path.relpath(beside, root)
            return f'"{target}" is relative to its own folder; include it from the root: "{rooted}"'
        return None if is_generated(root, target) else f'"{target}" is no file of this project (system headers take <>)'
    row, target_row = row_of(source), row_of(target)
    if row in PROGRAMS:
        return None
    if target_row not in ALLOWED[row]:
        uses = ", ".join(sorted(ALLOWED[row] - {row})) or "nothing of the project"
        return f'"{target}": {row} may not include {target_row or "that folder"} (it may use {uses})'
    backend = backend_of(target)
    if backend and row != target_row and backend not in (backend_of(source), BUILT_ON.get(backend_of(source))):
        return f'"{target}" is private to {target_row}: include that folder\'s own headers'
    return None


def check_system_include(root, source, header):
    """What is wrong with `#include <header>` in `source`, or None."""
    if (root / header).is_file():
        return f'<{header}> is a header of this project: write "{header}"'
    if row_of(source) in PROGRAMS:
        return None
    for pattern, backend in BACKEND_HEADERS:
        if pattern.match(header) and backend not in PurePosixPath(source).parts:
            return f"<{header}> outside a {backend}/ folder: a backend's library stays behind its interface"
    return None


def check_line(root, source, line):
    include = INCLUDE.match(line)
    if include:
        quoted, bracketed = include.groups()
        if quoted:
            return check_project_include(root, source, quoted)
        return check_system_include(root, source, bracketed)
    switch = SWITCH.match(line)
    if switch and not backend_of(source):
        return f"a switch on {switch[1]}: a backend is chosen in CMake, by folder, never by #if"
    return None


def check_file(root, source):
    """All findings of one file, as lines."""
    if row_of(source) is None:
        return [f"{source}:1: lies in no folder of the table in scripts/check_includes.py"]
    lines = (root / source).read_text(encoding="utf-8").splitlines()
    findings = []
    if Path(source).suffix in HEADERS and "#pragma once" not in lines:
        findings.append(f"{source}:1: a header without #pragma once")
    for number, line in enumerate(lines, 1):
        problem = check_line(root, source, line)
        if problem:
            findings.append(f"{source}:{number}: {problem}")
    return findings


def check_alone(root, header, command):
    """Compiles a header on its own with a neighbour's compile command; returns findings."""
    arguments = shlex.split(command)
    flags = [a for i, a in enumerate(arguments[1:], 1) if a.startswith("-") and a not in ("-c", "-o")
             or arguments[i - 1] == "-isystem"]
    run = subprocess.run([arguments[0], *flags, "-fsyntax-only", "-x", "c++", "-"],
                         input=f'#include "{header}"\n', cwd=root, capture_output=True, text=True)
    if run.returncode == 0:
        return []
    first = next((line for line in run.stderr.splitlines() if "error" in line), run.stderr.strip())
    return [f"{header}:1: does not compile alone: {first}"]


def check_headers_alone(root, build):
    """Every header with the flags of a source of its own row, from the build's compile_commands.json. Headers of device
    code (.cuh) are compiled by their sources alone, those of a backend that the build leaves out not at all."""
    commands, built = {}, set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = os.path.relpath(entry["file"], root)
        built.add((row_of(source), backend_of(source)))
        if Path(source).suffix == ".cpp":
            commands.setdefault(row_of(source), entry["command"])
    headers = [s for s in sources_of(root) if Path(s).suffix in HEADERS - {".cuh"} and row_of(s) in commands
               and (not backend_of(s) or (row_of(s), backend_of(s)) in built)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for findings in pool.map(lambda h: check_alone(root, h, commands[row_of(h)]), headers):
            yield from findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent,
                        help="the project's root (default: the one that this script lies in)")
    parser.add_argument("--self-contained", metavar="BUILD", type=Path,
                        help="also compile each header alone, with the flags of this build folder (minutes)")
    options = parser.parse_args()
    root = options.root.resolve()

    sources = sorted(sources_of(root))
    findings = [finding for source in sources for finding in check_file(root, source)]
    if options.self_contained:
        findings += check_headers_alone(root, options.self_contained)
    for finding in findings:
        print(finding)
    print(f"{len(sources)} files, {len(findings)} findings" if findings else f"includes: {len(sources)} files in order")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
