#!/usr/bin/env python3
"""Makes the seeds that cannot be typed: make_seeds.py DIOPI writes corpus/journal again."""
import json
import pathlib
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus" / "journal"
GROUPS = [{"group": "g", "ops": ["add"], "dtypes": ["float32", "bool"], "inplace": True,
           "tensors": [{"name": "input", "shapes": [[2, 3]], "grad": True}, {"name": "other", "shapes": [[3]]}]}]


def run(program, folder, name, *args):
    """The journal of a run, without the members that differ between machines."""
    subprocess.run([program, "test", "--run", name, "--cases", "seed.json", *args], cwd=folder, capture_output=True)
    header, rest = (folder / name / "journal.jsonl").read_text().split("\n", 1)
    header = {**json.loads(header), "command": ["diopi", "test"], "started": "2026-11-21T12:00:00+0000"}
    (CORPUS / f"{name}.jsonl").write_text(f"{json.dumps(header)}\n{rest}")


def write_failed():
    """A failure with rare members, a line that is not JSON, and an incomplete line."""
    header, *lines = (CORPUS / "passed.jsonl").read_text().splitlines()
    failed = json.loads(lines[0])
    failed["verdict"], failed["reason"] = "failed", "out: 1 of 6 elements differ"
    failed["steps"][0].update(verdict="failed", warning="w")
    failed["steps"][0]["deviations"][0].update(max_ulp="inf", worst_actual="nan", worst_index=[1, 2], where="row 1")
    incomplete = [header, json.dumps(failed), "no JSON", json.dumps(failed), lines[0][:40]]
    (CORPUS / "failed_incomplete.jsonl").write_text("\n".join(incomplete))


def main():
    CORPUS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(sys.argv[1]).resolve()
        run(program, pathlib.Path(folder), "passed")
        run(program, pathlib.Path(folder), "skipped", "--filter-dtype", "bool")
    write_failed()


if __name__ == "__main__":
    main()
