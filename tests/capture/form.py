"""Checks that a capture has the form of docs/capture.md and functions of tests/abi/signatures.txt. Needs no PyTorch."""
import functools
import math
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts"))

from capture import standard  # noqa: E402

BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
         "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
RECIPES = {"constant": ("value",), "normal": ("mean", "std"), "uniform": ("low", "high"), "integers": ("low", "high")}
PHASES = ("forward", "backward", "optimizer")


@functools.cache
def signatures():
    """{C name: [(type, name)] after ctx}."""
    text = (SOURCE / "tests/abi/signatures.txt").read_text()
    found = {}
    for name, parameters in re.findall(r"^(\w+)\(diopiContextHandle_t ctx(?:, )?(.*)\) -> diopiError_t$", text, re.M):
        words = [p.replace("const ", "").split() for p in parameters.split(", ") if p]
        found[name] = [("".join(w[:-1]), w[-1]) for w in words]
    return found


def is_number(value):
    return (isinstance(value, (int, float)) and not isinstance(value, bool)) or value in ("nan", "inf", "-inf")


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_scalar(value):
    return isinstance(value, dict) and list(value) == ["dtype", "value"] and value["dtype"] in BYTES and is_number(
        value["value"])


def is_generator(value):
    return isinstance(value, dict) and sorted(value) == ["offset", "seed"] and all(map(is_integer, value.values()))


SUITS = {
    "scalar": is_scalar,
    "integers": lambda v: isinstance(v, list) and all(map(is_integer, v)),
    "integer": is_integer,
    "floating": is_number,
    "boolean": lambda v: isinstance(v, bool),
    "text": lambda v: isinstance(v, str),
    "generator": is_generator,
    "pointer": lambda v: False,
}


def recipe_problem(recipe, nbytes):
    if not isinstance(recipe, dict) or recipe.get("kind") not in RECIPES or recipe.get("dtype") not in BYTES:
        return f"no recipe: {recipe}"
    names = RECIPES[recipe["kind"]]
    if sorted(recipe) != sorted(("kind", "dtype", *names)) or not all(is_number(recipe[n]) for n in names):
        return f"members of {recipe}"
    if "low" in recipe and not recipe["low"] < recipe["high"]:
        return f"empty range {recipe}"
    if recipe.get("std", 0) < 0:
        return f"negative std {recipe}"
    return "no whole number of elements" if nbytes % BYTES[recipe["dtype"]] else None


class Form:
    """`problems` lists what is wrong with a capture, in words."""

    def __init__(self, capture):
        self.capture, self.problems = capture, []
        self.storages, self.tensors = capture.get("storages", {}), capture.get("tensors", {})
        self.used, self.begun = set(), set()
        self.check_head()
        for name, storage in self.storages.items():
            problem = recipe_problem(storage["fill"], storage["nbytes"]) if "fill" in storage else None
            self.expect(problem is None, f"storage {name}: {problem}")
        for name, tensor in self.tensors.items():
            self.check_tensor(name, tensor)
        last = -1
        for i, call in enumerate(capture.get("calls", [])):
            self.check_call(f"call {i}", call)
            if call.get("phase") == "forward" and "forward_id" in call:
                self.expect(call["forward_id"] >= last, f"call {i}: forward_id {call['forward_id']} after {last}")
                last = call["forward_id"]
            self.expect(call.get("forward_id", 0) <= last or call.get("phase") == "forward",
                        f"call {i}: no forward operator {call.get('forward_id')}")
        unused = set(self.tensors) - self.used
        self.expect(not unused, f"no call uses {sorted(unused)[:3]}")

    def expect(self, holds, problem):
        if not holds:
            self.problems.append(problem)
        return holds

    def check_head(self):
        wanted = {"diopi_capture", "name", "storages", "tensors", "calls"}
        names = set(self.capture)
        self.expect(wanted <= names <= wanted | {"model", "generator", "values"}, f"members {sorted(names)}")
        self.expect(self.capture.get("diopi_capture") == 1, "format")

    def check_tensor(self, name, tensor):
        storage = self.storages.get(tensor["storage"])
        if not self.expect(storage is not None, f"{name}: no storage {tensor['storage']}"):
            return
        self.expect(len(tensor["shape"]) == len(tensor["strides"]), f"{name}: shape and strides differ in length")
        last = sum((size - 1) * stride for size, stride in zip(tensor["shape"], tensor["strides"]))
        count = 0 if 0 in tensor["shape"] else last + 1
        self.expect((tensor["offset"] + count) * BYTES[tensor["dtype"]] <= storage["nbytes"],
                    f"{name} reaches beyond {tensor['storage']}")
        if "grad_of" in tensor:
            self.expect(tensor["grad_of"] in self.tensors, f"{name}: grad_of {tensor['grad_of']}")

    def check_call(self, at, call):
        self.expect(isinstance(call.get("overload"), str) and call["overload"], f"{at}: no overload")
        self.expect(call.get("phase", "forward") in PHASES, f"{at}: phase {call.get('phase')}")
        source = call.get("source", "a.py:1")
        self.expect(re.fullmatch(r"[^/\s]\S*\.py:\d+", source), f"{at}: source {source}")
        if "function" in call:
            self.check_function(at, call["function"], call.get("args"))
            return
        for name in call["reads"]:
            self.touch(at, name, reads=True)
        for name, recipe in call["writes"].items():
            self.touch(at, name, writes=True)
            problem = recipe_problem(recipe, 0)
            self.expect(problem is None, f"{at}: {problem}")

    def check_function(self, at, function, args):
        at = f"{at}, {function}"
        signature = signatures().get(function)
        if not self.expect(signature is not None, f"{at}: not in the standard"):
            return
        if not self.expect(list(args) == [name for _, name in signature], f"{at}: arguments {list(args)}"):
            return
        roles = {parameter.name: parameter for parameter in standard.functions()[function]}
        for phase in ("reads", "writes"):
            for _, name in signature:
                if getattr(roles[name], phase) and roles[name].kind in ("tensor", "tensors"):
                    self.check_tensors(f"{at}: {name}", roles[name], args[name], phase)
        for _, name in signature:
            self.check_value(f"{at}: {name}", roles[name], args[name])
            if roles[name].length_of:
                self.expect(args[name] == len(args[roles[name].length_of]), f"{at}: length {name} = {args[name]}")

    def check_tensors(self, at, role, value, phase):
        if value is None:
            return
        for name in value if role.kind == "tensors" else [value]:
            if name is not None:
                self.touch(at, name, **{phase: True})

    def check_value(self, at, role, value):
        if value is None:
            self.expect(role.optional, f"{at} is null")
        elif role.kind not in ("tensor", "tensors"):
            self.expect(SUITS[role.kind](value), f"{at} = {value!r}")

    def touch(self, at, name, reads=False, writes=False):
        """A storage that is read before it is written has a fill; one that is completely written first has none."""
        if not self.expect(isinstance(name, str) and name in self.tensors, f"{at}: no tensor {name}"):
            return
        self.used.add(name)
        tensor = self.tensors[name]
        storage = tensor["storage"]
        if storage not in self.storages:
            return
        count = math.prod(tensor["shape"])
        if reads and storage not in self.begun and count:
            self.expect("fill" in self.storages[storage], f"{at}: {name} is read, never written and has no fill")
        is_whole = count * BYTES[tensor["dtype"]] == self.storages[storage]["nbytes"] and 0 not in tensor["strides"]
        if writes and storage not in self.begun and is_whole:
            self.expect("fill" not in self.storages[storage], f"{at}: {name} is written first and needs no fill")
        self.begun.add(storage)


def problems(capture):
    return Form(capture).problems
