#!/usr/bin/env python3
"""Prints one line per figure with its goal: summary.py BENCHMARKS.json PROCESSES.tsv.

BENCHMARKS.json is what diopi_bench --benchmark_out wrote. A line of PROCESSES.tsv is a name, seconds, the goal in
seconds and the worst exit code.
"""
import csv
import json
import pathlib
import sys


# The unit and the digits of each counter whose goal is an upper limit.
UNITS = {"overhead_ns": (" ns", 0), "load_ms": (" ms", 2)}


def verdict(met):
    return "met" if met else "NOT MET"


def benchmark_rows(path):
    text = path.read_text() if path.exists() else ""
    for run in json.loads(text)["benchmarks"] if text.strip() else []:
        if run["run_type"] != "iteration":
            continue
        name = run["name"].split("/manual_time")[0].split("/iterations:")[0]
        if run.get("error_occurred"):
            yield name, run["error_message"], "", "", "NOT MET"
            continue
        key = next((counter for counter in UNITS if counter in run), "ratio")
        unit, digits = UNITS.get(key, ("", 2))
        goal, outcome = "", ""
        if "goal" in run:
            goal = f"{'<' if unit else '>='} {run['goal']:g}{unit}"
            outcome = verdict(run[key] < run["goal"] if unit else run[key] >= run["goal"])
        interval = f"{run['low']:.{digits}f} to {run['high']:.{digits}f}"
        yield name, f"{run[key]:.{digits}f}{unit}", interval, goal, outcome


def process_rows(path):
    with path.open(newline="") as lines:
        for name, seconds, goal, status in csv.reader(lines, delimiter="\t"):
            outcome = verdict(float(seconds) < float(goal))
            if status != "0":
                outcome += f" (exit code {status})"
            yield name, f"{float(seconds):.2f} s", "", f"< {goal} s", outcome


def main():
    benchmarks, processes = map(pathlib.Path, sys.argv[1:3])
    rows = [("measure", "figure", "95% interval", "goal", "")]
    rows += [*benchmark_rows(benchmarks), *process_rows(processes)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()
