"""Runs a capture's calls with PyTorch, from its two files alone."""
import inspect
import json
import math

import h5py
import numpy as np
import torch

from form import SOURCE  # noqa: F401  (puts scripts/ on the path)
from capture import standard
from functions import ACTIVATION, ELEMENTWISE, INDEX, REDUCTION, SHAPE
from layers import LAYERS

FUNCTIONS = ELEMENTWISE | ACTIVATION | REDUCTION | INDEX | SHAPE | LAYERS


def is_same(a, b):
    return a.shape == b.shape and bool(((a == b) | (a.isnan() & b.isnan())).all())


class Replay:
    def __init__(self, path):
        self.capture = json.loads(path.read_text())
        self.file = h5py.File(path.parent / self.capture["values"], "r")
        self.memory = {}
        for name, storage in self.capture["storages"].items():
            filled = self.file["storages"].get(name)
            if (filled is not None) != ("fill" in storage):
                raise AssertionError(f"storage {name}: fill and values do not agree")
            self.memory[name] = self.begin(storage["nbytes"], filled)

    def begin(self, nbytes, filled):
        """Unfilled memory has numbers that make a result wrong."""
        if filled is None:
            return torch.full((nbytes,), 0x7F, dtype=torch.uint8)
        return torch.frombuffer(bytearray(filled[()].tobytes()), dtype=torch.uint8).clone()

    def tensor(self, name):
        described = self.capture["tensors"][name]
        memory = self.memory[described["storage"]]
        dtype = getattr(torch, described["dtype"])
        count = memory.numel() // torch.empty(0, dtype=dtype).element_size()
        elements = memory.view(dtype) if count else torch.empty(0, dtype=dtype)
        return elements.as_strided(described["shape"], described["strides"], described["offset"])

    def recorded(self, call, place):
        dataset = self.file[f"calls/{call}"].get(place) if f"calls/{call}" in self.file else None
        return None if dataset is None else torch.as_tensor(np.asarray(dataset[()]))

    def run(self):
        """[(call, place)] of the differences from the recording, which must have a value for each last write."""
        different, compared = [], 0
        for i, call in enumerate(self.capture["calls"]):
            if "function" not in call:
                continue
            parameters = standard.functions()[call["function"]]
            values = {p.name: self.value(p, call["args"][p.name]) for p in parameters}
            outputs = [p for p in parameters if p.returned or (p.writes and not p.reads)]
            if any(p.kind == "generator" for p in parameters):
                self.draw(i, call["function"], values, outputs)
            else:
                outputs = [p for p in outputs if not p.overwritten]
                self.store(values, outputs, self.compute(FUNCTIONS[call["function"]], values, outputs))
            for p in parameters:
                if p.returned:
                    compared += 1
                    different += [] if values[p.name] == call["args"][p.name] else [(i, call["overload"], p.name)]
            for place, tensor in self.written(parameters, values):
                recorded = self.recorded(i, place)
                if recorded is not None:
                    compared += 1
                    if not is_same(recorded, tensor.to(recorded.dtype)):
                        different.append((i, call["overload"], place))
        return different, compared

    def value(self, parameter, value):
        if parameter.kind == "tensor" and value is not None:
            return self.tensor(value)
        if parameter.kind == "tensors":
            return [None if name is None else self.tensor(name) for name in value]
        if parameter.kind == "scalar" and value is not None:
            value = float(value["value"]) if value["dtype"] == "float64" else value["value"]
        return math.nan if value == "nan" else value

    def draw(self, call, function, values, outputs):
        """PyTorch's numbers are those of the recording."""
        self.store(values, outputs, [self.recorded(call, p.name) for p in outputs])

    @staticmethod
    def compute(run, values, outputs):
        """The results of a computation of `functions`."""
        names = {p.name for p in outputs}
        inputs = {name: value for name, value in values.items() if name not in names}
        if not inspect.isfunction(run):
            results = run(*inputs.values())
        else:
            parameters = inspect.signature(run).parameters
            takes_all = any(p.kind == inspect.Parameter.VAR_KEYWORD for p in parameters.values())
            results = run(**{name: value for name, value in values.items()
                             if name in parameters or (takes_all and name in inputs)})
        return results if isinstance(results, (tuple, list)) else [results]

    @classmethod
    def store(cls, values, outputs, results):
        for parameter, result in zip(outputs, results):
            value = values[parameter.name]
            if parameter.returned:
                values[parameter.name] = result
            elif parameter.kind == "tensors":
                values[parameter.name] = [cls.stored(tensor, part) for tensor, part in zip(value, result)]
            elif value is not None and result is not None:
                cls.stored(value, result)

    @staticmethod
    def stored(tensor, result):
        """The tensor with the result; the result itself where the function makes the tensor."""
        if tensor is None:
            return result
        if tensor.numel() != result.numel():
            raise AssertionError(f"{tuple(result.shape)}, recorded as {tuple(tensor.shape)}")
        return tensor.copy_(result.reshape(tensor.shape))

    @staticmethod
    def written(parameters, values):
        for parameter in parameters:
            if parameter.writes and values[parameter.name] is not None:
                if parameter.kind == "tensor":
                    yield parameter.name, values[parameter.name]
                else:
                    yield from ((f"{parameter.name}.{i}", t) for i, t in enumerate(values[parameter.name]))
