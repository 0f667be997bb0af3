#!/usr/bin/env python3
"""Says who is right where a library and the reference differ: judge_failures.py FOLDER [--elements N] [--markdown]

FOLDER has the replay bundles of failed calls (diopi test --save-failures FOLDER). For each output the elements that
differ most are computed again with 60 digits (mpmath), and both sides' errors are printed in units in the last place of
the output's dtype. Needs h5py, numpy and mpmath (python3-h5py, python3-mpmath).
"""
import argparse
import json
import pathlib

import h5py
import mpmath
import numpy as np
from mpmath import mpf

mpmath.mp.dps = 60
FORMATS = {"float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022)}


def number(value):
    """An argument of the call: {"dtype": "float64", "value": 1.5}, 2, True."""
    return mpf(value["value"] if isinstance(value, dict) else value)


def gelu(args, x):
    if args.get("approximate") == "tanh":
        return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpf("0.044715") * x ** 3)))
    return x / 2 * mpmath.erfc(-x / mpmath.sqrt(2))


def divided(args, x, y):
    quotient = x / y
    return {0: quotient, 1: mpmath.floor(quotient) if quotient >= 0 else mpmath.ceil(quotient),
            2: mpmath.floor(quotient)}[args["rounding_mode"]]


# {function: (the tensors that it takes an element of each, f(args, elements))}
FORMULAS = {
    "diopiSqrt": (["input"], lambda args, x: mpmath.sqrt(x)),
    "diopiErf": (["input"], lambda args, x: mpmath.erf(x)),
    "diopiGelu": (["input"], gelu),
    "diopiPow": (["input"], lambda args, x: mpmath.power(x, number(args["exponent"]))),
    "diopiPowScalar": (["exponent"], lambda args, x: mpmath.power(number(args["input"]), x)),
    "diopiPowTensor": (["input", "exponent"], lambda args, x, y: mpmath.power(x, y)),
    "diopiDiv": (["input", "other"], divided),
    "diopiDivScalar": (["input"], lambda args, x: divided(args, x, number(args["other"]))),
    "diopiCopyInp": (["src"], lambda args, x: x),
    "diopiCastDtype": (["input"], lambda args, x: x),
}


def formula_of(function):
    return FORMULAS.get(function) or FORMULAS.get(function.replace("Inp", ""))


def exact_values(call, tensors, shape, places):
    """The exact results at these positions; None where there is no formula."""
    args, function = call["args"], call["function"]
    if function == "diopiArange":
        return [number(args["start"]) + int(i) * number(args["step"]) for i in places]
    found = formula_of(function)
    if not found:
        return None
    names, f = found
    operands = [np.broadcast_to(tensors[name], shape).ravel() for name in names]
    return [f(args, *(mpf(float(operand[i])) for operand in operands)) for i in places]


def ulp_of(x, dtype):
    """The distance of neighbouring numbers at x."""
    digits, least = FORMATS[dtype]
    exponent = least if x == 0 else max(least, int(mpmath.floor(mpmath.log(abs(x), 2))))
    return mpf(2) ** (exponent - digits + 1)


def rounded(values, dtype):
    """The expected values as the output's dtype can hold them."""
    types = {"float16": np.float16, "float32": np.float32}
    return values.astype(types[dtype]).astype(float) if dtype in types else values


def judge(path, elements):
    """(case, function, dtype, judged elements, the library's error in ulp, the reference's) of each output."""
    with h5py.File(path) as file:
        [call] = json.loads(file["call"].attrs["call"])["calls"]
        tensors = {name: data[()] for name, data in file["call/tensors"].items()}
        for name, expected in file.get("expected", {}).items():
            about = f"{file.attrs['case']} {file.attrs['step']}"
            if f"actual/{name}" not in file:
                yield about, call["function"], "", 0, None, None
                continue
            stored = file[f"actual/{name}"]
            dtype = str(stored.attrs.get("dtype", stored.dtype))
            actual, wanted = stored[()].astype(float).ravel(), expected[()].astype(float).ravel()
            with np.errstate(all="ignore"):
                held = rounded(wanted, dtype)
                off = np.abs(actual - wanted) / np.maximum(np.abs(wanted), np.finfo(float).tiny)
            # Infinities and NaN are no question of precision.
            off[~(np.isfinite(actual) & np.isfinite(held))] = -1
            places = [place for place in np.argsort(-off)[:elements] if off[place] >= 0]
            exact = exact_values(call, tensors, expected.shape, places)
            if exact is None or dtype not in FORMATS:
                yield about, call["function"], dtype, 0, None, None
                continue
            errors = [[abs(mpf(side) - x) / ulp_of(x, dtype) for side, x in zip(values, exact)]
                      for values in (actual[places], held[places])]
            yield about, call["function"], dtype, len(places), *(float(max(side)) for side in errors)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--elements", type=int, default=200, help="elements of each output, those that differ most")
    options.add_argument("--markdown", action="store_true", help="print a table for a page")
    given = options.parse_args()
    if given.markdown:
        print("| case | function | dtype | library, ulp | reference, ulp |\n|---|---|---|---|---|")
    for path in sorted(given.folder.glob("*.h5")):
        for case, function, dtype, count, library, reference in judge(path, given.elements):
            sides = ("not judged: no formula, or no result", "") if count == 0 else (f"{library:.3g}", f"{reference:.3g}")
            print("| " + " | ".join((case, function, dtype, *sides)) + " |" if given.markdown else
                  f"{case}: {function} {dtype}: library {sides[0]} ulp, reference {sides[1]} ulp")


if __name__ == "__main__":
    main()
