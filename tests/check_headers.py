#!/usr/bin/env python3
"""Checks that no include points up. With --alone, also that each header compiles alone, the public ones also as C
(two minutes).

MAY_INCLUDE has the rooms (folders) that a room may include, TESTS_MAY_INCLUDE further ones for its tests: an unused entry
is an error, too. No two files include each other in a circle, where a header and the source of the same name count as
one file.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# The rooms, from the vocabulary to the program. "diopi" is the public headers, libdiopi/include/diopi.
MAY_INCLUDE = {
    "include": "diopi",
    "core": "diopi",
    "runtime": "diopi core",
    "schema": "diopi",
    "kernels": "diopi core runtime",
    "aten": "schema",
    "torch": "diopi runtime schema aten",  # kernels/torch, a library of its own
    "backend": "core runtime schema kernels",  # kernels: FOR_TABLES
    "call": "diopi core runtime schema backend",
    "infer": "core schema call",
    "check": "core schema",
    "json": "core",
    "file": "core runtime",
    "cases": "core runtime schema call infer check json",
    "hard": "core schema cases",
    "capture": "core runtime call infer check json file",
    "journal": "core check json file",
    "baseline": "core runtime json file",
    "profile_data": "core runtime check json file",
    "intercept": "core runtime schema backend call infer check json capture journal",
    "worker": "core runtime backend file",
    "state": "",
    "target": "runtime backend journal intercept worker",
    "timing": "core runtime backend call infer check profile_data",
    "step": "core runtime backend call infer check cases file journal baseline intercept worker state",
    "conformance": "core backend call infer cases hard file capture journal baseline worker state step",
    "replay": "core runtime backend call check cases file capture journal intercept worker timing step conformance",
    "profile": "core backend call infer cases profile_data intercept worker timing step replay",
    "shrink": "core runtime cases file journal worker conformance",
    "runtime_suite": "diopi core runtime backend call journal worker conformance",
    "report": "core schema backend check json cases file journal baseline profile_data",
    "gui": "core call cases check capture journal report",
    "apps": "core runtime backend cases file capture journal profile_data intercept worker target "
            "conformance replay profile shrink runtime_suite report gui",
    "tests": "diopi core runtime schema kernels backend call infer check cases file step hard conformance replay "
             "profile intercept worker",
    "fuzz": "cases file capture journal baseline",
    "benchmarks": "diopi core runtime kernels backend call check timing",
}
TESTS_MAY_INCLUDE = {
    "check": "runtime",
    "runtime": "file",
    "kernels": "check",
    "capture": "intercept",
    "intercept": "diopi file timing",
    "timing": "profile",
    "step": "schema timing",
    "profile": "runtime",
    "shrink": "backend",
    "runtime_suite": "file",
}
# Rooms that have only tests.
FOR_TESTS_ALONE = ("tests", "fuzz", "benchmarks")
# Headers that only tests include.
TEST_HEADER = re.compile(r"(\w*testing|test_folder)\.hpp")
# Folders that kernels may include besides their own. The reference shares no arithmetic.
SHARED_BY = {"kernels/reference": ("kernels/entries",),
             "kernels/operands": ("kernels/entries",),
             "kernels/cpu": ("kernels/entries", "kernels/operands"),
             "kernels/cuda": ("kernels/entries", "kernels/operands")}
# The kernels' headers that backends are made of.
FOR_TABLES = ("operators.hpp", "tf32.hpp", "blas.hpp")
# Headers that are slow to compile: only sources may include them.
NOT_IN_HEADERS = re.compile(r"iostream|regex|nlohmann/(?!json_fwd).*|CLI/.*")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def place(path, root):
    """(room, its folder) of one of our files: the name in MAY_INCLUDE, and the folder that a kernel must stay in."""
    parts = path.relative_to(root).parts
    room = parts[1] if parts[0] == "libdiopi" or parts[:2] == ("kernels", "torch") else parts[0]
    return room, "/".join(parts[:2])


def ours(path, quoted, target, root):
    """Our file that an include names; None for one of the system or of a dependency."""
    folders = [root / "libdiopi", root / "libdiopi" / "include", root]
    if quoted:
        folders.insert(0, path.parent)
    return next((folder / target for folder in folders if (folder / target).is_file()), None)


def is_test(path, room):
    return path.stem.endswith("_test") or room in FOR_TESTS_ALONE or bool(TEST_HEADER.fullmatch(path.name))


def unit(path):
    """A header and the source of the same name are one unit; a test is not part of what it tests."""
    return path.with_suffix("")


class Includes:
    """The includes of all files, and their violations of the tables above."""

    def __init__(self, root):
        self.root = root
        self.graph = collections.defaultdict(set)  # of units
        self.used = set()                          # (table, room, other room)

    def check(self, path):
        name = path.relative_to(self.root)
        room, folder = place(path, self.root)
        if room not in MAY_INCLUDE:
            yield f"{name}: {room} is no room of tests/check_headers.py"
            return
        for bracket, target in INCLUDE.findall(path.read_text()):
            found = ours(path, bracket == '"', target, self.root)
            if found is None:
                if path.suffix in (".hpp", ".h") and room != "apps" and NOT_IN_HEADERS.fullmatch(target):
                    yield f"{name} includes <{target}>: too heavy for a header"
                continue
            found = found.resolve()
            if unit(found) != unit(path):
                self.graph[unit(name)].add(unit(found.relative_to(self.root)))
            other, other_folder = place(found, self.root)
            other = "diopi" if other == "include" else other
            if not self.allows(path, room, other):
                yield f"{name} includes {target}: {room} may not include {other}"
            elif room == other == "kernels" and other_folder not in (folder, *SHARED_BY.get(folder, ())):
                yield f"{name} includes {target}: a backend shares no code with another"
            elif room == "backend" and other == "kernels" and found.name not in FOR_TABLES:
                yield f"{name} includes {target}: of the kernels only {' and '.join(FOR_TABLES)} are for the tables"
            elif TEST_HEADER.fullmatch(found.name) and not is_test(path, room):
                yield f"{name} includes {target}, which is for tests"

    def allows(self, path, room, other):
        if other == room:
            return True
        is_test_of_a_room = is_test(path, room) and room not in FOR_TESTS_ALONE
        if other in MAY_INCLUDE[room].split():
            if not is_test_of_a_room:
                self.used.add((id(MAY_INCLUDE), room, other))
            return True
        self.used.add((id(TESTS_MAY_INCLUDE), room, other))
        return is_test_of_a_room and other in TESTS_MAY_INCLUDE.get(room, "").split()

    def unused(self):
        for table, what in ((MAY_INCLUDE, "may include"), (TESTS_MAY_INCLUDE, "tests may include")):
            for room, others in table.items():
                for other in others.split():
                    if (id(table), room, other) not in self.used:
                        yield f"tests/check_headers.py: {room} {what} {other}, but no file does: remove the allowance"


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
    parser.add_argument("--alone", action="store_true", help="compile each header alone, too")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    args = parser.parse_args()
    root = args.root.resolve()

    tops = ("libdiopi", "kernels", "apps", *FOR_TESTS_ALONE)
    files = [path for top in tops for path in sorted((root / top).rglob("*"))
             if path.suffix in (".h", ".hpp", ".c", ".cpp", ".inc", ".cu", ".cuh")]
    includes = Includes(root)
    complaints = [complaint for path in files for complaint in includes.check(path)]
    complaints += includes.unused()
    complaints += ["a circle of includes: " + " -> ".join(map(str, cycle)) for cycle in cycles(includes.graph)]

    paths = ["-Ilibdiopi/include", "-Ilibdiopi", "-I."]
    cxx = [*args.cxx.split(), "-x", "c++", "-std=c++20", "-march=x86-64-v2", "-fopenmp", *paths]
    c = [*args.cc.split(), "-x", "c", "-std=c11", "-pedantic", *paths]
    alone = ("libdiopi", "kernels")
    headers = [path.relative_to(root) for path in files
               if path.suffix in (".h", ".hpp") and path.relative_to(root).parts[0] in alone
               and place(path, root)[0] != "torch"]  # they need PyTorch's headers
    jobs = [(header, cxx, root) for header in headers] if args.alone else []
    jobs += [(header, c, root) for header, *_ in jobs if "include" in header.parts]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for errors in pool.map(compile_alone, jobs):
            complaints += errors
    for complaint in complaints:
        print(complaint)
    print(f"{len(files)} files checked, {len(jobs)} headers compiled: {len(complaints) or 'no'} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
