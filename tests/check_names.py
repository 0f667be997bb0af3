#!/usr/bin/env python3
"""Checks that no class is defined twice, and that no two sources that are compiled together (cmake/quick_build.cmake)
have a helper function of the same name.

Two classes of one name in one namespace are undefined behaviour that no compiler reports: each name has one definition.
Classes in unnamed namespaces belong to their files.

A second helper of the same type is a compiler error, but of another type the wrong overload might be called. So a name
may be in one unnamed namespace of a folder, and in none of the folder's headers for tests.
"""
import argparse
import collections
import pathlib
import re
import sys

UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
FUNCTION = re.compile(r"^(?!using |namespace |struct |class |return |else )[A-Za-z_][\w:<>,&*\s\[\]()]*?[\s&*>]"
                      r"(?!__launch_bounds__)(\w+)\(", re.M)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{$")
END_OF_NAMESPACE = re.compile(r"^\}  // namespace")
TYPE = re.compile(r"^(?:struct|class|union|enum class|enum) (?:alignas\([^)]*\) )?(\w+)(?: final)?(?: : [^;{]*)? \{")
FOR_TESTS = re.compile(r"(\w*testing|test_folder)\.hpp")


def groups(root):
    """The sources that may be compiled together: those of each folder, tests separately, and all .cu files."""
    found = collections.defaultdict(list)
    for pattern in ("libdiopi/*/*.cpp", "libdiopi/*/*/*.cpp", "kernels/*/*.cpp", "kernels/*/*/*.cpp", "apps/diopi/*.cpp", "apps/diopi/gui/*.cpp",
                    "tests/*_test.cpp", "tests/mutation/*.cpp"):
        for path in sorted(root.glob(pattern)):
            found[(path.parent, path.stem.endswith("_test"), path.suffix)].append(path)
    # Those of several folders are compiled together (cmake/cuda.cmake).
    found[(root / "kernels", False, ".cu")] = sorted((root / "kernels").rglob("*.cu"))
    # These are compiled one by one: core for the exported libraries, kernels on the processor for their speed.
    return {key: paths for key, paths in found.items()
            if key[1] or key[2] == ".cu" or (key[0].name != "core" and root / "kernels" not in key[0].parents)}


def helpers_of(path):
    """Names of the functions in a source's unnamed namespaces."""
    return {name for block in UNNAMED.findall(path.read_text()) for name in FUNCTION.findall(block)}


def headers_of(paths, root):
    """The headers for tests that the sources include."""
    names = {name for path in paths for name in INCLUDE.findall(path.read_text())}
    places = [folder / name for name in sorted(names) if FOR_TESTS.search(name)
              for folder in (root / "libdiopi", root)]
    return [place for place in places if place.is_file()]


def check(paths, root):
    owners = collections.defaultdict(list)
    for path in paths:
        for name in helpers_of(path):
            owners[name].append(path)
    for header in headers_of(paths, root):
        for name in set(FUNCTION.findall(header.read_text())) & set(owners):
            owners[name].append(header)
    for name, places in sorted(owners.items()):
        if len(places) > 1:
            yield f"{name} stands in " + " and ".join(str(place.relative_to(root)) for place in places)


def types_of(path):
    """Qualified names of the classes and enumerations at namespace scope that other files could name, too."""
    namespaces = []
    for line in path.read_text().splitlines():
        if opened := NAMESPACE.match(line):
            namespaces.append(opened[1])
        elif END_OF_NAMESPACE.match(line) and namespaces:
            namespaces.pop()
        elif (found := TYPE.match(line)) and "" not in namespaces:
            yield "::".join([*namespaces, found[1]])


def doubled_types(root):
    owners = collections.defaultdict(list)
    tops = ("libdiopi", "kernels", "apps", "tests", "fuzz", "benchmarks")
    for path in sorted(path for top in tops for path in (root / top).rglob("*")):
        if path.suffix in (".hpp", ".cpp", ".cuh", ".cu", ".h"):
            for name in types_of(path):
                owners[name].append(path)
    for name, places in sorted(owners.items()):
        if len(places) > 1:
            yield f"{name} is defined in " + " and ".join(str(place.relative_to(root)) for place in places)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    root = parser.parse_args().root.resolve()
    together = groups(root)
    complaints = [complaint for key in sorted(together) for complaint in check(together[key], root)]
    complaints += doubled_types(root)
    for complaint in complaints:
        print(complaint)
    count = sum(map(len, together.values()))
    print(f"{count} sources of {len(together)} folders: {len(complaints) or 'no'} complaints")
    return 1 if complaints or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
