#!/usr/bin/env python3
"""Checks that every kernel is in a file of its operator's family.

A function diopiX under kernels/<backend>/ is defined in a file whose name is the family of its schema row or begins
with it: softmax, a row of activation.inc, is in activation.cpp or activation_softmax.cpp. Helper files, which define no
function of the standard, have any name.
"""
import argparse
import pathlib
import re
import subprocess
import sys

BACKENDS = ("reference", "cpu", "cuda")
ROW = re.compile(r"^DIOPI_ROW\((diopi\w+)", re.M)
DEFINITION = re.compile(r"\bdiopiError_t (diopi\w+)\([^;{]*\)\s*\{")
LIST = re.compile(r'^#include "(kernels/entries/\w+\.inc)"', re.M)


def families(root):
    """The family of each function."""
    return {function: path.stem for path in sorted((root / "libdiopi" / "schema").glob("*.inc"))
            for function in ROW.findall(path.read_text())}


def entries_of(path, root, cxx):
    """The functions that a list defines, by the preprocessor."""
    text = f'#include "kernels/entries/entries.hpp"\n#include "{path}"\n'
    folders = [f"-I{root / folder}" for folder in (".", "libdiopi", "libdiopi/include")]
    done = subprocess.run([*cxx.split(), "-E", "-P", "-std=c++20", *folders, "-x", "c++", "-"], input=text,
                          capture_output=True, text=True, check=True)
    return DEFINITION.findall(done.stdout)


def functions_of(path, root, lists):
    """(function, its file) of each function that a source defines, and complaints about its lists."""
    text, found, complaints = path.read_text(), [], []
    name = path.relative_to(root)
    found += [(function, name) for function in DEFINITION.findall(text)]
    for entries in LIST.findall(text):
        found += [(function, entries) for function in lists[entries]]
        if pathlib.Path(entries).stem != path.stem:
            complaints.append(f"{name} includes {entries}: a list belongs to the sources of its name")
    return found, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--cxx", default="c++")
    args = parser.parse_args()
    root = args.root.resolve()
    family_of = families(root)
    lists = {str(path.relative_to(root)): entries_of(path.relative_to(root), root, args.cxx)
             for path in sorted((root / "kernels" / "entries").glob("*.inc"))}
    complaints, count = [], 0
    for backend in BACKENDS:
        for path in sorted((root / "kernels" / backend).rglob("*")):
            if path.suffix not in (".cpp", ".cu", ".hpp", ".cuh") or path.stem.endswith("_test"):
                continue
            found, about_lists = functions_of(path, root, lists)
            complaints += about_lists
            count += len(found)
            for function, place in found:
                family = family_of.get(function)
                if family is None:
                    complaints.append(f"{place}: {function} has no schema row")
                elif path.stem != family and not path.stem.startswith(family + "_"):
                    complaints.append(f"{path.relative_to(root)}: {function} belongs into {family}{path.suffix} or "
                                      f"{family}_*{path.suffix}")
    for complaint in complaints:
        print(complaint)
    print(f"{count} kernels of {len(family_of)} functions: {len(complaints) or 'no'} complaints")
    return 1 if complaints or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
