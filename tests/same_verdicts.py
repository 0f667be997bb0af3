#!/usr/bin/env python3
"""Compares the verdicts of two sets of runs: each case, and each call of it, must have the same one in both.

Usage: same_verdicts.py FOLDER FOLDER    each folder has run folders of the same names (diopi test --run)
"""
import json
import sys
from pathlib import Path


def verdicts_of(run: Path) -> dict[str, str]:
    verdicts, journal = {}, run / "journal.jsonl"
    for line in journal.read_text().splitlines()[1:] if journal.exists() else []:
        case = json.loads(line)
        verdicts[case["case"]] = case["verdict"]
        for step in case["steps"]:
            verdicts[f"{case['case']}, {step['step']} ({step['function']})"] = step["verdict"]
    return verdicts


def main() -> None:
    first, second = Path(sys.argv[1]), Path(sys.argv[2])
    runs = sorted(journal.parent.name for journal in first.glob("*/journal.jsonl"))
    count, differences = 0, []
    for run in runs:
        one, other = verdicts_of(first / run), verdicts_of(second / run)
        count += len(one)
        differences += [f"{call}: {one.get(call, 'absent')} in {first}, {other.get(call, 'absent')} in {second}"
                        for call in sorted(one.keys() | other.keys()) if one.get(call) != other.get(call)]
    print("\n".join(differences))
    print(f"{count} verdicts of {len(runs)} operators: {len(differences)} differ")
    if differences or count == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
