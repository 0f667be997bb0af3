#!/usr/bin/env python3
"""The operators that every backend of ours has, as the schema's rows (libdiopi/schema/*.inc) say: those whose shape
rules are described. Prints them, or keeps README.md's numbers of them current. Other scripts read the rows through it.
"""
import argparse
import functools
import pathlib
import re
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "libdiopi" / "schema"
README_ROW = re.compile(r"^\| operators on both \| .* \|$", re.MULTILINE)
PRODUCTS = ("linear", "matmul", "add_product", "convolution")  # the shape rules of sums of products of two tensors

INCLUDE = re.compile(r'#include "schema/(\w+)\.inc"')
TEXT = r'"([^"]*)"'
ROW = re.compile(rf"DIOPI_ROW\((\w+),\s*{TEXT},\s*{TEXT},\s*(\w+),\s*(\w+),\s*(\w),\s*(\w+),((?:\s*{TEXT})+)\)")
# name(alias), marks, :roles, #list, =default: the grammar of schema.hpp.
ARG = re.compile(r"(\w+)(?:\((\w+)\))?([&?!%^@\d]*)((?::\w+(?:\([\w.]+\))?)*)(?:#(\w+))?(?:=(.*))?$")


@dataclass(frozen=True)
class Arg:
    name: str
    alias: str
    marks: str
    roles: tuple
    length_of: str  # the list whose length it is; empty: none
    default: str  # None: there is none


@dataclass(frozen=True)
class Row:
    family: str
    function: str
    op: str
    overload: str
    variant: str
    rule: str
    accuracy: str
    repeat: str
    args: tuple
    words: tuple


def parse_arg(text):
    name, alias, marks, roles, length_of, default = ARG.match(text).groups()
    return Arg(name, alias or "", marks, tuple(roles.split(":")[1:]), length_of or "", default)


@functools.cache
def rows():
    """{function: Row}, in the order of the backends' tables."""
    found = {}
    for family in INCLUDE.findall((SCHEMA / "all.inc").read_text()):
        for function, op, overload, variant, rule, accuracy, repeat, texts, _ in ROW.findall(
                (SCHEMA / f"{family}.inc").read_text()):
            args, _, words = "".join(re.findall(TEXT, texts)).partition(" | ")
            found[function] = Row(family, function, op, overload, variant, rule, accuracy, repeat,
                                  tuple(map(parse_arg, args.split(", "))) if args else (), tuple(words.split()))
    return found


def rows_of(op):
    return [row for row in rows().values() if row.op == op]


def complete():
    """The operators that every backend of ours has; utilities compute nothing."""
    return list(dict.fromkeys(row.op for row in rows().values()
                              if row.rule != "unknown" and row.variant != "utility"))


def counts():
    """"293: elementwise 55, activation 12, ..." """
    families = {}
    for op in complete():
        family = rows_of(op)[0].family
        families[family] = families.get(family, 0) + 1
    return f"{sum(families.values())}: " + ", ".join(f"{family} {count}" for family, count in families.items())


def products():
    """Those that sum products of two tensors."""
    return list(dict.fromkeys(row.op for row in rows().values() if row.rule in PRODUCTS))


def random():
    """Those that draw numbers, on a backend of ours or not."""
    return list(dict.fromkeys(row.op for row in rows().values() if row.accuracy == "F"))


def main():
    options = argparse.ArgumentParser(description="Print the operators that every backend of ours has.")
    options.add_argument("--update", action="store_true", help="write their numbers into README.md")
    options.add_argument("--check", action="store_true", help="exit code 1 where README.md has others")
    options = options.parse_args()
    readme = ROOT / "README.md"
    text = readme.read_text()
    wanted = README_ROW.sub(f"| operators on both | {counts()}; `diopi list operators` names them |", text)
    if options.update:
        readme.write_text(wanted)
    elif options.check:
        if len(README_ROW.findall(text)) != 1 or wanted != text:
            sys.exit("README.md has other numbers of operators than the schema's rows: run scripts/schema_rows.py --update")
    else:
        print("\n".join(complete()))


if __name__ == "__main__":
    main()
