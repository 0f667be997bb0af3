#!/usr/bin/env python3
"""Prints shape, dtype and mean of each expected output of a case: read_baseline.py FILE.h5 [CASE]."""
import sys

import h5py

with h5py.File(sys.argv[1]) as file:
    for case in sys.argv[2:] or sorted(file):
        for step in ("forward", "inplace", "backward"):
            for name, output in file[case].get(step, {}).items():
                values = output[()]
                mean = values.mean() if values.size else "-"
                print(case, step, name, values.shape, output.attrs.get("dtype", values.dtype), mean)
