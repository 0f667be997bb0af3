#!/usr/bin/env python3
"""Fits the rates of libdiopi/conformance/cost.cpp to the seconds of a journal, and prints how well they balance shards.

    diopi test --jobs 1 --run ops; diopi test --jobs 1 --run resnet50 --model resnet50
    scripts/fit_cost.py build/release/bin/unit_tests ops/journal.jsonl resnet50/journal.jsonl

Least squares with rates of at least zero: the fixed cost of a case and of a step from the cases of under 10,000
elements and products, the other rates from all cases. Nothing else may run on the machine meanwhile.
"""
import heapq
import json
import subprocess
import sys

TEST = "work of the operator cases as CSV"
RATES = ["per_case", "per_step", "per_drawn", "per_expected", "per_function", "per_converted", "per_multiply_add"]
CONSTANTS = 2  # the fixed costs: the first two rates


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


def least_squares(rows, seconds):
    """Non-negative, by coordinate descent on the normal equations."""
    size = range(len(rows[0]))
    matrix = [[sum(row[i] * row[j] for row in rows) for j in size] for i in size]
    right = [sum(row[i] * s for row, s in zip(rows, seconds)) for i in size]
    rates = [0.0 for _ in size]
    for _ in range(20000):
        for i in size:
            rest = right[i] - sum(matrix[i][j] * rates[j] for j in size if j != i)
            rates[i] = max(0.0, rest / matrix[i][i])
    return rates


def fit(work, seconds):
    """Rates, in the order of RATES, for the cases of `work`."""
    small = [case for case, numbers in work.items() if sum(numbers[CONSTANTS:]) < 10000]
    constants = least_squares([work[c][:CONSTANTS] for c in small], [seconds[c] for c in small])
    rest = {c: seconds[c] - sum(rate * n for rate, n in zip(constants, work[c])) for c in work}
    return constants + least_squares([work[c][CONSTANTS:] for c in work], [rest[c] for c in work])


def balance(cases, costs, seconds, count):
    """Largest over mean of the shards' seconds, partitioned as libdiopi/conformance/shard.cpp does."""
    loads = [(0, number) for number in range(count)]
    spent = [0.0] * count
    for case in sorted(cases, key=lambda c: (-costs[c], c)):
        load, number = heapq.heappop(loads)
        spent[number] += seconds[case]
        heapq.heappush(loads, (load + costs[case], number))
    return max(spent) / (sum(spent) / count)


def main():
    seconds = seconds_of_cases(sys.argv[2:])
    work = {case: numbers for case, numbers in work_of_cases(sys.argv[1]).items() if case in seconds}
    cases = list(work)
    rates = fit(work, seconds)
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
