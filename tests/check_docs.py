"""Runs every ```sh block of README.md and docs/*.md with the built program on the PATH.

A block runs in an empty folder of its document, so that the blocks of one document may build on each other. Lines that
name a script of the repository are only checked for existence: the scripts run these tests themselves. README.md's
numbers of operators are those of the schema's rows.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def check_script(source: Path, line: str) -> list[str]:
    script = source / line.split()[0]
    if not os.access(script, os.X_OK):
        return [f"{line}: no such executable script"]
    return []


def run_document(document: Path, source: Path, environment: dict) -> list[str]:
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for block in BLOCK.findall(document.read_text()):
            lines = block.splitlines()
            problems += [p for line in lines if line.startswith("scripts/") for p in check_script(source, line)]
            script = "\n".join(line for line in lines if not line.startswith("scripts/"))
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment,
                                  capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                problems.append(f"{document.name}: exit code {done.returncode} of\n{script}\n{done.stderr[-2000:]}")
    return problems


def check_operators(source: Path) -> list[str]:
    done = subprocess.run([sys.executable, "-B", source / "scripts" / "schema_rows.py", "--check"], capture_output=True,
                          text=True, timeout=60)
    return [] if done.returncode == 0 else [done.stderr.strip()]


def main() -> int:
    source, program = Path(sys.argv[1]), Path(sys.argv[2])
    environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", DIOPI_SOURCE=str(source))
    documents = [source / "README.md", *sorted((source / "docs").glob("*.md"))]
    blocks = sum(len(BLOCK.findall(d.read_text())) for d in documents)
    problems = check_operators(source) + [p for d in documents for p in run_document(d, source, environment)]
    print("\n".join(problems) or f"{blocks} blocks of {len(documents)} documents run")
    return 1 if problems or blocks == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
