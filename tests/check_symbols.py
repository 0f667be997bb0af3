#!/usr/bin/env python3
"""Finds kernels whose type or place is wrong, which neither the compiler nor the linker reports.

A function of the standard is declared weak in its backend's namespace. A definition with another parameter type is an
overload of its own, and the table keeps its null; two definitions of one function are merged without a message. So:

- every defined diopi::<backend>::diopi... in the program and in the kernels' object files must be one that the
  backends' tables ask for, by the mangled name;
- no two object files of kernels may define the same one.
"""
import argparse
import collections
import re
import subprocess
import sys

FUNCTION = re.compile(r"diopi::(\w+)::(diopi\w+)(\(.*\))?")


def symbols(nm, path, option):
    """(kind, mangled name) of each symbol; clones that the compiler split off have the name of their function."""
    table = subprocess.run([nm, option, path], capture_output=True, text=True, check=True).stdout
    for line in table.splitlines():
        *_, kind, name = line.split()
        if name.startswith("_ZN5diopi"):
            yield kind, name.split(".")[0].split("@")[0]


def demangled(filt, names):
    names = sorted(names)
    text = subprocess.run([filt], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, text.splitlines()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("objects", nargs="+", help="object files of the kernels and of the backends' tables")
    parser.add_argument("--table", default="static_backends", help="part of the name of the object with the tables")
    parser.add_argument("--program", required=True)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--cxxfilt", default="c++filt")
    args = parser.parse_args()
    # The objects of a target include its precompiled header.
    args.objects = [path for path in args.objects if not path.endswith(".gch")]

    wanted = {name for path in args.objects if args.table in path
              for kind, name in symbols(args.nm, path, "--undefined-only")}
    places = collections.defaultdict(list)
    for path in [*(p for p in args.objects if args.table not in p), args.program]:
        for name in {name for kind, name in symbols(args.nm, path, "--defined-only") if kind in "TtWwiu"}:
            places[name].append(path)
    texts = demangled(args.cxxfilt, wanted | places.keys())

    known = {}  # (backend, function) -> signature
    for name in wanted:
        if match := FUNCTION.fullmatch(texts[name]):
            known[match[1], match[2]] = texts[name]
    functions = {function for _, function in known}
    if not known:
        print(f"no object called *{args.table}* asks for functions of the standard")
        return 1

    complaints, checked = [], 0
    for name, paths in places.items():
        match = FUNCTION.fullmatch(texts[name])
        if not match:
            continue
        checked += 1
        backend, function = match[1], match[2]
        where = ", ".join(paths)
        if function not in functions:
            complaints.append(f"{texts[name]} is no function of the standard ({where})")
        elif name not in wanted:
            complaints.append(f"{texts[name]} is an overload that no table knows; declared is "
                              f"{known.get((backend, function), 'none in that namespace')} ({where})")
        kernels = [path for path in paths if path != args.program]
        if len(kernels) > 1:
            complaints.append(f"{texts[name]} is defined {len(kernels)} times: {', '.join(kernels)}")
    if not checked:
        complaints.append("no kernel is defined anywhere")
    for complaint in sorted(complaints):
        print(complaint)
    print(f"{checked} kernels of {len(known)} functions checked: {len(complaints) or 'no'} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
