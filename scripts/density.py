#!/usr/bin/env python3
"""Lines of kernel code per function and family: scripts/density.py

Counts the lines with code (no blank ones, no comments, no tests) of kernels/reference and kernels/cpu by the family in
the file's name, and the functions of the family's schema rows.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


def code_lines(file):
    text = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def main():
    schema = ROOT / "libdiopi/schema"
    functions = {}
    for file in sorted(schema.glob("*.inc")):
        count = len(re.findall(r"^DIOPI_ROW\(", file.read_text(encoding="utf-8"), flags=re.M))
        if count > 0:
            functions[file.stem] = count
    lines = {}
    for backend in ("reference", "cpu"):
        for file in sorted((ROOT / "kernels" / backend).glob("*.[ch]pp")):
            if "test" in file.stem:
                continue
            family = file.stem.split("_")[0]
            key = (family if family in functions else "shared", backend)
            lines[key] = lines.get(key, 0) + code_lines(file)
    print(f"{'family':12} functions  reference    cpu  both per function")
    for family, count in functions.items():
        own = [lines.get((family, backend), 0) for backend in ("reference", "cpu")]
        if sum(own) > 0:
            print(f"{family:12} {count:9}  {own[0]:9}  {own[1]:5}  {sum(own) / count:17.1f}")
    print(f"{'shared':12} {'':9}  {lines['shared', 'reference']:9}  {lines['shared', 'cpu']:5}")
    plain = [family for family in functions if family not in ("pool", "vision", "linear")]
    total = sum(lines.get((family, backend), 0) for family in plain for backend in ("reference", "cpu"))
    print(f"without pool, vision and linear: {total / sum(functions[family] for family in plain):.1f} per function")


if __name__ == "__main__":
    main()
