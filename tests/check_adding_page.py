#!/usr/bin/env python3
"""Checks that docs/adding-an-operator.md shows the sources as they are, and that its numbers of lines are right.

A comment in front of a block names the file in which the block stands word for word, as whole lines:

    <!-- FILE -->

A section states the lines of its blocks, together with those of the files that a pattern names if there is one; empty
lines do not count:

    The blocks have 12 lines          The blocks and the files `norm_group.*` have 400 lines
"""
import argparse
import pathlib
import re
import sys

BLOCK = re.compile(r"^<!-- (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(?!sh$)\w+$", re.MULTILINE)
STATED = re.compile(r"The blocks(?: and the files `([^`]+)`)? have (\d+)\s+lines")
SOURCES = ("libdiopi", "kernels")


def count(text):
    return sum(1 for line in text.splitlines() if line.strip())


def complaints_about(section, root):
    """What is wrong in a section, and its number of lines."""
    blocks = BLOCK.findall(section)
    title = section.splitlines()[0]
    if len(FENCE.findall(section)) != len(blocks):
        yield f"{title}: a block has no comment that names its file"
    for name, block in blocks:
        path = root / name
        if not path.is_file():
            yield f"{title}: there is no file {name}"
        elif "\n" + block not in "\n" + path.read_text():
            yield f"{title}: these lines do not stand in {name}:\n{block}"
    stated = STATED.search(section)
    if not stated:
        yield f"{title}: no number of lines is stated"
        return
    lines = sum(count(block) for _, block in blocks)
    if stated[1]:
        files = [path for top in SOURCES for path in sorted((root / top).rglob(stated[1])) if path.is_file()]
        shown = {name for name, _ in blocks}
        lines += sum(count(path.read_text()) for path in files if str(path.relative_to(root)) not in shown)
        if not files:
            yield f"{title}: no file has a name like {stated[1]}"
    if lines != int(stated[2]):
        yield f"{title}: {lines} lines, stated are {stated[2]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    root = parser.parse_args().root.resolve()
    page = (root / "docs" / "adding-an-operator.md").read_text()
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    complaints = [complaint for section in sections for complaint in complaints_about(section, root)]
    print("\n".join(complaints) or f"{len(BLOCK.findall(page))} blocks of {len(sections)} sections stand in their files")
    return 1 if complaints or not BLOCK.search(page) else 0


if __name__ == "__main__":
    sys.exit(main())
