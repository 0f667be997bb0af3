#!/usr/bin/env python3
"""Every kernel stands in a file of its operator's family.

A function diopiX under kernels/<backend>/ is defined in a file whose name is the family of its schema row or begins
with it: softmax, a row of activation.inc, in activation.cpp or activation_softmax.cpp. Helper files, which define no
function of the standard, have any name.
"""
import argparse
import pathlib
import re
import sys

BACKENDS = ("reference", "cpu", "cuda")
ROW = re.compile(r"^DIOPI_ROW\((diopi\w+)", re.M)
DEFINITION = re.compile(r"^(?:extern \"C\" )?diopiError_t (diopi\w+)\([^;{]*\)\s*\{", re.M)


def families(root):
    """The family of each function."""
    return {function: path.stem for path in sorted((root / "libdiopi" / "schema").glob("*.inc"))
            for function in ROW.findall(path.read_text())}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    root = parser.parse_args().root.resolve()
    family_of = families(root)
    complaints, count = [], 0
    for backend in BACKENDS:
        for path in sorted((root / "kernels" / backend).rglob("*")):
            if path.suffix not in (".cpp", ".cu", ".hpp", ".cuh") or path.stem.endswith("_test"):
                continue
            for function in DEFINITION.findall(path.read_text()):
                count += 1
                family = family_of.get(function)
                if family is None:
                    complaints.append(f"{path.relative_to(root)}: {function} has no schema row")
                elif path.stem != family and not path.stem.startswith(family + "_"):
                    complaints.append(f"{path.relative_to(root)}: {function} belongs into {family}{path.suffix} or "
                                      f"{family}_*{path.suffix}")
    for complaint in complaints:
        print(complaint)
    print(f"{count} kernels of {len(family_of)} functions: {len(complaints) or 'no'} complaints")
    return 1 if complaints or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
