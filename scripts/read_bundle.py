#!/usr/bin/env python3
"""Prints what a replay bundle holds: read_bundle.py FILE.h5."""
import json
import sys

import h5py
import numpy as np

with h5py.File(sys.argv[1]) as file:
    print(file.attrs["case"], file.attrs["step"], file.attrs["verdict"] + ":", file.attrs["reason"])
    [call] = json.loads(file["call"].attrs["call"])["calls"]
    print(call["function"], *(f"{name}={json.dumps(value)}" for name, value in call["args"].items()))
    for name, tensor in file["call/tensors"].items():
        print("input", name, tensor.attrs.get("dtype", tensor.dtype), tensor.shape)
    for name, expected in file.get("expected", {}).items():
        print("output", name, expected.dtype, expected.shape)
        if f"actual/{name}" in file:
            actual = file[f"actual/{name}"][()]
            print("    largest difference", np.abs(expected[()] - actual).max(initial=0))
