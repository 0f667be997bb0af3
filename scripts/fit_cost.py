#!/usr/bin/env python3
"""Fits the rates of libdiopi/run/cost.cpp to the seconds of a journal, and says how well they balance shards.

    diopi test --jobs 1 --run ops; diopi test --jobs 1 --run resnet50 --model resnet50
    scripts/fit_cost.py build/release/bin/unit_tests ops/journal.jsonl resnet50/journal.jsonl

Least squares with rates of at least zero; a case weighs 1 / (seconds + 1 ms), so that long and short ones count alike in
a sum of seconds.
"""
import heapq
import json
import subprocess
import sys

TEST = "work of the operator cases as CSV"
RATES = ["per_case", "per_step", "per_drawn", "per_expected", "per_function", "per_converted", "per_multiply_add"]


def work_of_cases(unit_tests):
    """Per case id: 1, steps, and the other members of CaseWork."""
    out = subprocess.run([unit_tests, TEST], capture_output=True, text=True, check=True).stdout
    lines = [line.split(",") for line in out.splitlines() if line.startswith("work,")]
    return {case: [1, *map(int, numbers)] for _, case, *numbers in lines}


def seconds_of_cases(journals):
    seconds = {}
    for path in journals:
        with open(path, encoding="utf-8") as journal:
            for result in map(json.loads, list(journal)[1:]):
                if result["steps"] and result["verdict"] == "passed":
                    seconds[result["case"]] = result["seconds"]
    return seconds


def fit(rows, seconds):
    """Non-negative least squares by coordinate descent on the normal equations."""
    weights = [1 / (s + 1e-3) for s in seconds]
    size = len(RATES)
    matrix = [[sum(w * r[i] * r[j] for w, r in zip(weights, rows)) for j in range(size)] for i in range(size)]
    right = [sum(w * r[i] * s for w, r, s in zip(weights, rows, seconds)) for i in range(size)]
    rates = [0.0] * size
    for _ in range(20000):
        for i in range(size):
            rest = right[i] - sum(matrix[i][j] * rates[j] for j in range(size) if j != i)
            rates[i] = max(0.0, rest / matrix[i][i])
    return rates


def balance(cases, costs, seconds, count):
    """Largest over mean of the shards' seconds, cut as libdiopi/run/shard.cpp does."""
    loads = [(0, number) for number in range(count)]
    spent = [0.0] * count
    for case in sorted(cases, key=lambda c: (-costs[c], c)):
        load, number = heapq.heappop(loads)
        spent[number] += seconds[case]
        heapq.heappush(loads, (load + costs[case], number))
    return max(spent) / (sum(spent) / count)


def main():
    work, seconds = work_of_cases(sys.argv[1]), seconds_of_cases(sys.argv[2:])
    cases = [case for case in work if case in seconds]
    rates = fit([work[c] for c in cases], [seconds[c] for c in cases])
    print(f"{len(cases)} cases, {sum(seconds[c] for c in cases):.1f} s; nanoseconds:")
    for name, rate in zip(RATES, rates):
        print(f"    {name:17} {rate * 1e9:.3g}")
    suites = {"operator cases": [c for c in cases if c.startswith("ops/")],
              "model cases": [c for c in cases if not c.startswith("ops/")]}
    for suite, chosen in suites.items():
        for count in (2, 4, 8) if chosen else ():
            fitted = {c: sum(rate * n for rate, n in zip(rates, work[c])) for c in chosen}
            elements = {c: work[c][2] for c in chosen}
            print(f"{suite}, {count} shards, largest over mean seconds: {balance(chosen, fitted, seconds, count):.3f} "
                  f"(by elements of the inputs alone {balance(chosen, elements, seconds, count):.3f})")


if __name__ == "__main__":
    main()
