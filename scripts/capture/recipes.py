"""Recipes: how the values of a storage are made again from a few numbers (docs/capture.md)."""
import math

import numpy as np


def text_of(number):
    """A number as JSON has it; texts for what it has no number for."""
    if isinstance(number, float) and not math.isfinite(number):
        return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
    return number


def short(number):
    """Six digits are enough for a recipe."""
    return float(f"{number:.6g}")


def above(high, low):
    """An upper bound that is short, not below `high` and above `low`."""
    bound = short(high)
    if bound < high or bound <= low:
        bound = short(high + max(abs(high), abs(low)) * 1e-5)
    return bound


def recipe_of(values, dtype):
    """The recipe of an array. Floats that never change their sign stay so: a root of them must work."""
    values = np.asarray(values).reshape(-1)
    if values.size == 0:
        return {"kind": "constant", "dtype": dtype, "value": 0}
    first = values[0]
    if np.all(values == first) or (values != values).all():
        value = first.item()
        number = value.real if isinstance(value, complex) else value
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
    low, high = float(finite.min()), float(finite.max())
    if low == high:
        return {"kind": "constant", "dtype": dtype, "value": short(low)}
    if low >= 0 or high <= 0:
        low = short(low)
        return {"kind": "uniform", "dtype": dtype, "low": low, "high": above(high, low) if high > 0 else short(high)}
    return {"kind": "normal", "dtype": dtype, "mean": short(finite.mean()), "std": short(finite.std())}
