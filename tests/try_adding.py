#!/usr/bin/env python3
"""Follows docs/adding-an-operator.md exactly: applies its steps to a copy of the sources, builds the program there and
runs the page's commands, which must pass. The number of lines that a section states must be the number that it adds.

A comment in front of a block says what to do with it:

    <!-- FILE, after TEXT -->    behind the first line that begins with TEXT
    <!-- FILE, before TEXT -->   in front of it
    <!-- FILE, replace TEXT -->  in the place of as many lines, from it on
    <!-- FILE, new -->           a new file
    <!-- run -->                 commands
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

STEP = re.compile(r"^<!-- (.*?) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(\S+), (new|after|before|replace) ?(.*)")


def copy_sources(source, folder):
    names = subprocess.run(["git", "ls-files"], cwd=source, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, names):
        if (source / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, folder / name)


def apply(folder, place, block):
    matched = PLACE.fullmatch(place)
    if not matched:
        sys.exit(f"try_adding.py: '{place}' names no place")
    name, how, text = matched.groups()
    path = folder / name
    if how == "new":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
        return
    content = path.read_text()
    at = ("\n" + content).find("\n" + text.replace("\\n", "\n"))
    if at < 0:
        sys.exit(f"try_adding.py: no line of {name} begins with '{text}'")
    end = at
    for _ in range({"after": 1, "before": 0, "replace": block.count("\n")}[how]):
        end = content.index("\n", end) + 1
    path.write_text((content[:at] if how == "replace" else content[:end]) + block + content[end:])


def run_quietly(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-8000:]}\ntry_adding.py: '{' '.join(map(str, command))}' failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", action="store_true", help="compile the cuda kernels, too")
    cuda = "ON" if parser.parse_args().cuda else "OFF"
    source = pathlib.Path(__file__).resolve().parents[1]
    page = (source / "docs" / "adding-an-operator.md").read_text()
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_sources(source, folder)
        commands = []
        for section in sections:
            lines = 0
            for place, block in STEP.findall(section):
                if place == "run":
                    commands += block.splitlines()
                    continue
                apply(folder, place, block)
                lines += sum(1 for line in block.splitlines() if line.strip())
            stated = re.search(r"The steps take (\d+) lines", section)
            print(f"{section.splitlines()[0]}: {lines} lines")
            if not stated or int(stated[1]) != lines:
                sys.exit(f"try_adding.py: the section states {stated[1] if stated else 'no number of'} lines")
        options = ["-DCMAKE_BUILD_TYPE=Release", f"-DDIOPI_CUDA={cuda}", "-DDIOPI_TESTS=OFF", "-DDIOPI_BENCHMARKS=OFF"]
        run_quietly("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *options)
        run_quietly("cmake", "--build", folder / "build", "--target", "diopi")
        environment = dict(os.environ, PATH=f"{folder / 'build' / 'bin'}:{os.environ['PATH']}")
        for command in commands:
            done = subprocess.run(command + " --quiet", shell=True, cwd=folder, env=environment, capture_output=True,
                                  text=True)
            print(f"$ {command}\n{done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr}")
            if done.returncode != 0 or " passed" not in done.stdout or "not implemented (" in done.stdout:
                print(done.stdout + done.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
