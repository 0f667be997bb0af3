"""Recipes: a few numbers from which the values of a storage are made again (docs/capture.md)."""
import math

import numpy as np


def text_of(number):
    """A number for JSON; a text for the numbers that JSON lacks."""
    if isinstance(number, float) and not math.isfinite(number):
        return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
    return number


def short(number):
    """Six digits are enough for a recipe."""
    return float(f"{number:.6g}")


def recipe_of(values, dtype):
    """The recipe of an array. Floats of one sign keep it: a root of them must work."""
    values = np.asarray(values).reshape(-1)
    if values.size == 0:
        return {"kind": "constant", "dtype": dtype, "value": 0}
    first = values[0]
    if np.all(values == first) or (values != values).all():
        number = first.real if values.dtype.kind == "c" else first
        number = number.item() if values.dtype.kind in "fc" else int(number)
        return {"kind": "constant", "dtype": dtype, "value": text_of(number)}
    if values.dtype == np.bool_:
        return {"kind": "integers", "dtype": dtype, "low": 0, "high": 2}
    if values.dtype.kind in "iu":
        return {"kind": "integers", "dtype": dtype, "low": int(values.min()), "high": int(values.max()) + 1}
    if values.dtype.kind == "c":
        values = np.concatenate([values.real, values.imag])
    finite = values[np.isfinite(values)].astype(np.float64)
    if finite.size == 0:
        return {"kind": "constant", "dtype": dtype, "value": text_of(float(first.real))}
    low, high = short(finite.min()), short(finite.max())
    if low == high:
        return {"kind": "constant", "dtype": dtype, "value": low}
    if low >= 0 or high <= 0:
        return {"kind": "uniform", "dtype": dtype, "low": low, "high": high}
    return {"kind": "normal", "dtype": dtype, "mean": short(finite.mean()), "std": short(finite.std())}
