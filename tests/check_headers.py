#!/usr/bin/env python3
"""Every header compiles alone, the public ones as C, too; and no include points up.

What a folder may include stands in MAY_INCLUDE. Tests (*_test.cpp) may include anything.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

CORE = {"core", "diopi"}  # diopi: the public headers
CALLS = CORE | {"runtime", "schema", "backend", "call"}
CHECK = CALLS | {"infer", "check"}
MAY_INCLUDE = {
    "include": {"diopi"},
    "core": CORE,
    "runtime": CORE | {"runtime"},
    "schema": CORE | {"schema"},
    "backend": CORE | {"runtime", "schema", "backend", "kernels"},  # kernels: FOR_TABLES
    "call": CALLS,
    "infer": CORE | {"runtime", "schema", "call", "infer"},
    "check": CHECK,
    "cases": CHECK | {"cases"},
    "store": CHECK | {"store"},
    "intercept": CHECK | {"store", "intercept"},
    "run": CHECK | {"cases", "store", "intercept", "run"},
    "report": CORE | {"check", "store", "report"},
    "apps": CHECK | {"cases", "store", "intercept", "run", "report", "apps"},
    "kernels": CORE | {"runtime", "kernels"},
}
# What the kernels of a folder may include besides their own. The reference shares no arithmetic.
SHARED_BY = {"kernels/reference": ("kernels/entries",),
             "kernels/cpu": ("kernels/entries", "kernels/operands"),
             "kernels/cuda": ("kernels/entries", "kernels/operands")}
# Of the kernels: what backends are made of.
FOR_TABLES = ("operators.hpp", "tf32.hpp")
# Slow to compile: sources may include them, headers may not.
NOT_IN_HEADERS = re.compile(r"iostream|regex|nlohmann/(?!json_fwd).*|CLI/.*")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def place(path, root):
    """(room, its folder) of a file of ours: the name in MAY_INCLUDE, and the folder that a kernel must stay in."""
    parts = path.relative_to(root).parts
    room = parts[1] if parts[0] == "libdiopi" else parts[0]
    return room, "/".join(parts[:2])


def ours(path, quoted, target, root):
    """The file of ours that an include names; None for one of the system or of a dependency."""
    folders = [root / "libdiopi", root / "libdiopi" / "include", root]
    if quoted:
        folders.insert(0, path.parent)
    return next((folder / target for folder in folders if (folder / target).is_file()), None)


def check_includes(path, root, graph):
    name = path.relative_to(root)
    room, folder = place(path, root)
    if room not in MAY_INCLUDE:
        yield f"{name}: {room} is no room of tests/check_headers.py"
        return
    for bracket, target in INCLUDE.findall(path.read_text()):
        found = ours(path, bracket == '"', target, root)
        if found is None:
            if path.suffix in (".hpp", ".h") and room != "apps" and NOT_IN_HEADERS.fullmatch(target):
                yield f"{name} includes <{target}>: too heavy for a header"
            continue
        other, other_folder = place(found.resolve(), root)
        graph.setdefault(name, []).append(found.resolve().relative_to(root))
        other = "diopi" if other == "include" else other
        if other not in MAY_INCLUDE[room]:
            yield f"{name} includes {target}: {room} may not include {other}"
        elif room == "kernels" and other == "kernels" and other_folder not in (folder, *SHARED_BY.get(folder, ())):
            yield f"{name} includes {target}: a backend shares no code with another"
        elif room == "backend" and other == "kernels" and found.name not in FOR_TABLES:
            yield f"{name} includes {target}: of the kernels only {' and '.join(FOR_TABLES)} are for the tables"


def cycles(graph):
    """Each cycle of includes once, as the files along it."""
    done, found = set(), []

    def walk(name, path):
        if name in path:
            found.append(path[path.index(name):] + [name])
        elif name not in done:
            for other in graph.get(name, []):
                walk(other, path + [name])
            done.add(name)

    for name in sorted(graph):
        walk(name, [])
    return found


def compile_alone(job):
    """The first errors of one header in a translation unit of its own."""
    header, command, root = job
    done = subprocess.run([*command, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-"], cwd=root,
                          input=f'#include "{header}"\n', capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    errors = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.splitlines()
    return [f"{header} does not compile alone: {line}" for line in errors[:3]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    args = parser.parse_args()
    root = args.root.resolve()

    files = [path for top in ("libdiopi", "kernels", "apps") for path in sorted((root / top).rglob("*"))
             if path.suffix in (".h", ".hpp", ".c", ".cpp", ".inc", ".cu", ".cuh")]
    graph = {}
    complaints = [c for path in files if not path.stem.endswith("_test") for c in check_includes(path, root, graph)]
    complaints += ["a cycle of includes: " + " -> ".join(map(str, cycle)) for cycle in cycles(graph)]

    paths = ["-Ilibdiopi/include", "-Ilibdiopi", "-I."]
    cxx = [*args.cxx.split(), "-x", "c++", "-std=c++20", "-march=x86-64-v3", *paths]
    c = [*args.cc.split(), "-x", "c", "-std=c11", "-pedantic", *paths]
    headers = [path.relative_to(root) for path in files if path.suffix in (".h", ".hpp") and "apps" not in path.parts]
    jobs = [(header, cxx, root) for header in headers]
    jobs += [(header, c, root) for header in headers if "include" in header.parts]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for errors in pool.map(compile_alone, jobs):
            complaints += errors
    for complaint in complaints:
        print(complaint)
    print(f"{len(files)} files and {len(headers)} headers checked: {len(complaints) or 'no'} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
