#!/usr/bin/env python3
"""Writes a baseline of one `add` case: write_baseline.py FILE.h5 [CASE]."""
import sys

import h5py
import numpy as np

path, case = sys.argv[1], (sys.argv[2:] or ["pointwise_binary.add.0"])[0]
rng = np.random.default_rng(0)
input, other = rng.standard_normal((2, 4, 5)).astype(np.float32)

with h5py.File(path, "w") as file:
    file.attrs["diopi_format"] = 1
    file.attrs["generator"] = "numpy " + np.__version__
    file[f"{case}/inputs/input"] = input
    file[f"{case}/inputs/other"] = other
    file[f"{case}/forward/out"] = input + other
    file[f"{case}/forward/out"].attrs["dtype"] = "float32"
