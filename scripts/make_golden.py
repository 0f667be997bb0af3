#!/usr/bin/env python3
"""Computes the golden vectors in data/golden: the results of PyTorch for calls of the C ABI.

One HDF5 file per operator, data/golden/<op>.h5 (readable by HDF5 1.8 and later):

    /                     diopi_format = 1, kind = "golden", generator = "pytorch <version>"
    /<function>.<case>    one call. function = C name; args = JSON object of the arguments that are not tensors;
                          provenance = "pytorch <version>", or "pytorch <version> float64, rounded" where PyTorch has
                          no CPU kernel for a 16-bit dtype, or one that is off by more than an ulp; "formula" in the
                          place of PyTorch where it has not the function: its documented steps, written down here
    .../in/<arg>          inputs, and in-out arguments before the call; lists: in/<arg>/0, in/<arg>/1, ...
                          attribute strides (elements): the layout of the row-major values; 0 repeats an element
    .../out/<arg>         outputs, and in-out arguments after the call, in their own dtype
                          attribute unspecified = 1: the standard gives the value no meaning, do not compare it

In args a diopiScalar_t is {"scalar": 1.5}, {"scalar": 3} or {"scalar": true}; numbers that JSON lacks are
{"scalar": "inf"}, "-inf" or "nan"; an optional argument that is absent, tensors included, is null.
bfloat16 is a 16-bit HDF5 float with attribute dtype = "bfloat16", bool the enum and complex the {r, i} of h5py.
Equal tensors of a file are stored once, under several hard links.

Random values follow from the name of the case, so that two runs on a machine give the same bytes. --check recomputes
and compares: inputs and integers exactly, floats to a few ulp, as vector units differ.
"""
import argparse
import itertools
import json
import math
import pathlib
import sys
import tempfile
import zlib

import h5py
import numpy as np
import schema_rows
import torch
import torch.nn.functional as F

aten = torch.ops.aten
F16, BF16, F32, F64, C64 = torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64
BOOL, U8, I8, I16, I32, I64 = torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64
FLOATS, INTS, HALVES = [F16, BF16, F32, F64], [U8, I8, I16, I32, I64], (F16, BF16)
ALL = [BOOL, *INTS, *FLOATS, C64]
PYTORCH = "pytorch 1.13.1"
FORMULA, ROUNDED = "formula", " float64, rounded"
INF, NAN = math.inf, math.nan


def tag(dtype):
    return str(dtype)[6:]


def label(shape):
    return "x".join(map(str, shape)) or "scalar"


def some(rows, dtype, few):
    """The whole table for two dtypes, its first rows for the others, to keep the files small."""
    rows = list(rows.items()) if isinstance(rows, dict) else list(rows)
    return rows if dtype in (F16, F32) else rows[:few]


def crossed(dtypes, rows, few):
    return [(dtype, row) for dtype in dtypes for row in some(rows, dtype, few)]


# ---- values: each builder returns a function of the tensors that the call has so far ----

def normal(shape, dtype, scale=1.0):
    """Bell-shaped in (-3, 3) * scale: a sum of uniforms, whose bits are the same with any vector unit."""
    def draw():
        a, b, c = torch.rand([3, *shape], dtype=F64)
        return (2 * (a + b + c) - 3) * scale
    return lambda t: torch.complex(draw(), draw()).to(dtype) if dtype.is_complex else draw().to(dtype)


def integers(shape, dtype, low, high):
    return lambda t: torch.randint(low, high + 1, shape).to(dtype)


def uniform(shape, dtype, low=0.0, high=1.0):
    return lambda t: (torch.rand(shape, dtype=F64) * (high - low) + low).to(dtype)


def natural(shape, dtype, small=False):
    """Values over the whole range of an integer dtype; otherwise normal. small: a few small integers, odd eighths,
    which every dtype can hold: no conversion rounds them."""
    if dtype == BOOL:
        return integers(shape, dtype, 0, 1)
    if dtype in INTS:
        info = torch.iinfo(dtype)
        span = (max(info.min, -6), 9) if small else (info.min, info.max - (dtype == I64))
        return integers(shape, dtype, *span)
    if small:
        return lambda t: (torch.randint(-24, 24, shape).to(F64) / 4 + 0.125).to(dtype)
    return normal(shape, dtype, 2.0)


def divisor(shape, dtype):
    """Integers without 0, and without -1, by which the least integer cannot be divided."""
    if dtype not in INTS:
        return natural(shape, dtype)
    return lambda t: natural(shape, dtype, small=True)(t).apply_(lambda v: 7 if v in (0, -1) else v)


def distinct(shape, dtype, sides=2):
    """Every plane of the last dimensions is a shuffle of exact quarters: its maxima are unique in every dtype."""
    def draw(t):
        size = math.prod(shape[-sides:])
        planes = [torch.randperm(size) for _ in range(math.prod(shape[:-sides]))]
        return ((torch.stack(planes) if planes else torch.empty(0)).reshape(shape) / 4 - size / 8).to(dtype)
    return draw


def values(numbers, dtype):
    return lambda t: torch.tensor(numbers, dtype=F64 if dtype.is_floating_point else None).to(dtype)


def derived(fn, dtype):
    """A tensor that another function has saved: computed in float64 and rounded to dtype."""
    return lambda t: fn(widen(t)).to(dtype)


def column_major(shape):
    return [math.prod(shape[:i]) for i in range(len(shape))]


def channels_last(shape):
    _, c, *sides = shape
    return [c * math.prod(sides), 1, *(c * math.prod(sides[i + 1:]) for i in range(len(sides)))]


def gapped(shape):
    return [2 * math.prod(shape[i + 1:]) for i in range(len(shape))]


def scalar(value):
    if isinstance(value, float) and not math.isfinite(value):
        return {"scalar": str(value)}
    return {"scalar": value}


# ---- one call: build its tensors, run PyTorch, keep the result ----

def widen(tensors):
    def wide(t):
        if isinstance(t, list):
            return [wide(x) for x in t]
        return t if t is None else t.to(F64, copy=True) if t.is_floating_point() else t.clone()
    return {name: wide(t) for name, t in tensors.items()}


def mapped(fn, t):
    """fn of a tensor, or of each in a list; None stays."""
    return [mapped(fn, x) for x in t] if isinstance(t, list) else None if t is None else fn(t)


def flat(tensors):
    for t in tensors:
        yield from flat(t) if isinstance(t, (list, tuple)) else [t]


def close(a, b, ulps):
    """Whether a is within ulps of b, given in its dtype; infinities and NaN must agree."""
    a, b, eps = a.to(F64), b.to(F64), torch.finfo(b.dtype).eps
    same = (a == b) | (a.isnan() & b.isnan())
    return bool((same | ((a - b).abs() <= ulps * eps * b.abs())).all())


def evaluate(fn, tensors, names, dtypes, slack):
    """Results and provenance. PyTorch's own, unless a 16-bit result is missing or is off by more than `slack` ulp."""
    def outputs(given):
        result = fn(given)
        return dict(zip(names, result if isinstance(result, (tuple, list)) else (result,)))

    halves = {t.dtype for t in flat(tensors.values()) if t is not None and t.dtype in HALVES}
    try:
        own = outputs({n: mapped(torch.clone, t) for n, t in tensors.items()})
    except RuntimeError as error:
        if not halves or not any(text in str(error) for text in ("not implemented for", "mixed dtype")):
            raise
        own = None
    if not halves:
        return own, "native"
    wide = outputs(widen(tensors))
    rounded = {}
    for name, t in wide.items():
        first = next((x for x in flat([t]) if x is not None), None)
        fallback = next(iter(halves)) if first is not None and first.dtype == F64 else first.dtype if first is not None \
            else None
        known = own is not None and first is not None
        dtype = dtypes.get(name, next(iter(flat([own[name]]))).dtype if known else fallback)
        rounded[name] = mapped(lambda x: x.to(dtype), t)
    if own is None:
        return rounded, "no kernel"
    for name, t in rounded.items():
        for x, y in zip(flat([own[name]]), flat([t])):
            if y is not None and y.dtype in HALVES and not (x.dtype == y.dtype and close(x, y, slack)):
                return rounded, "imprecise"
    return own, "native"


class Book:
    """The calls of one operator. slack: ulp that PyTorch's own 16-bit results may be off by to be kept. is_formula: PyTorch
    has not the function."""

    slack = 1.0
    is_formula = False

    def __init__(self):
        self.calls = {}
        self.counts = {"native": 0, "no kernel": 0, "imprecise": 0}

    def add(self, function, case, fn, tensors, args, out, layout=None, dtypes=None, unspecified=()):
        """fn(tensors) gives the values of the arguments named in out, in-out ones (copies, free to change) included.
        tensors: builders, tensors, lists of builders or None; _names are for later builders and are not stored."""
        torch.manual_seed(zlib.crc32(case.encode()))
        built = {}
        for name, value in tensors.items():
            built[name] = [v(built) for v in value] if isinstance(value, list) else value(built) if value else None
        results, how = evaluate(fn, built, out, dtypes or {}, self.slack)
        self.counts[how] += 1
        stored = {n: t for n, t in built.items() if not n.startswith("_")}
        args = {**args, **{n: None for n, t in [*stored.items(), *results.items()] if t is None}}
        layout = {n: list(f(stored[n].shape)) for n, f in (layout or {}).items()}
        name = f"{function[5:]}.{case}"
        assert name not in self.calls, name
        self.calls[name] = (
            {"function": function, "args": json.dumps(args, sort_keys=True, allow_nan=False),
             "provenance": (FORMULA if self.is_formula else PYTORCH) + ("" if how == "native" else ROUNDED)},
            stored, results, layout, unspecified)


def function_of(op, variant="forward", overload=None):
    """The C function of the operator's row of that variant; None where there is none."""
    rows = [row for row in schema_rows.rows_of(op) if row.variant == variant and overload in (None, row.overload)]
    assert len(rows) < 2, f"{op} has {len(rows)} functions {variant}"
    return rows[0].function if rows else None


# ---- elementwise ----

def binary_op(op, inplace, a, b, extra):
    method = getattr(a, op + "_") if inplace else lambda *x, **y: getattr(torch, op)(a, *x, **y)
    if op in ("add", "sub"):
        return method(b, alpha=extra)
    if op == "div":
        return method(b, rounding_mode=None if extra == "none" else extra)
    return method(b)


def binary_call(book, op, case, a, b, extra, kinds=("", "Inp"), layout=None):
    """diopi<Op>, diopi<Op>Inp and the Scalar forms for b a number; in place only where PyTorch allows it."""
    number = not callable(b)
    probe = a({}), (b if number else b({}))
    result = torch.result_type(*probe)
    if op == "div" and extra == "none" and not (result.is_floating_point or result.is_complex):
        result = F32
    shape = probe[0].shape if number else torch.broadcast_shapes(probe[0].shape, probe[1].shape)
    args = {"alpha": scalar(extra)} if op in ("add", "sub") else {"rounding_mode": extra} if op == "div" else {}
    if number:
        args["other"] = scalar(b)
    for kind in kinds:
        if kind == "Inp" and not (torch.can_cast(result, probe[0].dtype) and shape == probe[0].shape):
            continue
        function = function_of(op, "inplace" if kind else "forward", "Scalar" if number else "Tensor")
        name = case if op != "div" or extra == "none" else f"{case}_{extra}"
        book.add(function, name,
                 lambda t: binary_op(op, bool(kind), t["input"], b if number else t["other"], extra),
                 {"input": a} if number else {"input": a, "other": b}, args, ["input" if kind else "out"], layout)


PAIRS = [(BOOL, I32), (BOOL, F16), (U8, I8), (U8, I16), (I8, F16), (I16, BF16), (I32, I64), (I64, I8), (I64, F32),
         (I32, F64), (F16, I64), (BF16, U8), (F16, BF16), (F16, F32), (BF16, F32), (F32, F16), (F32, F64), (F64, F16),
         (F32, BOOL), (F32, C64), (C64, F64), (C64, I32)]
BROADCAST = [([4, 1], [1, 5]), ([5], [4, 5]), ([4, 5], [5]), ([], [3]), ([3], []), ([2, 1, 3], [4, 1]),
             ([0, 1], [1, 3]), ([1], [0]), ([2, 3, 4], [2, 1, 4])]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, INF, -INF, NAN, 1e-7, -6e4]
OPERANDS = {"float": [0.028, -1, 0, 2.232, True, False, INF, NAN], "int": [3, 2.5, -2, True], "bool": [2, 1.5, True]}


def binary(book, op):
    modes = {"div": ["none", "trunc", "floor"], "mul": [None]}.get(op, [1])
    for extra, dtype in itertools.product(modes, ALL):
        if (op == "sub" or extra in ("trunc", "floor")) and dtype in (BOOL, C64) and (op, dtype) != ("sub", C64):
            continue
        name = tag(dtype)
        second = divisor if op == "div" and extra != "none" else natural
        shapes = [[33], [], [0], [3, 0], [1], [2, 17]] if dtype in (F32, I32) and extra == modes[0] else [[33]]
        for shape in shapes:
            case = f"{name}_{label(shape)}"
            binary_call(book, op, case, natural(shape, dtype), second(shape, dtype), extra)
        group = "bool" if dtype == BOOL else "int" if dtype in INTS else "float"
        for other in some(OPERANDS[group], F32 if dtype == I32 else dtype, 2) if extra == modes[0] else [3, -0.7]:
            if op == "sub" and isinstance(other, bool):
                continue
            if group == "bool" and op == "div" and not isinstance(other, float) and extra != "none":
                continue
            binary_call(book, op, f"{name}_with_{other}", natural([5], dtype), other, extra)
        if dtype in FLOATS:
            column = values([[v] for v in SPECIAL], dtype)
            binary_call(book, op, f"{name}_special", column, values(SPECIAL, dtype), extra)
        if dtype in (F16, F32, I64):
            binary_call(book, op, f"{name}_strided", natural([4, 6], dtype), second([4, 6], dtype), extra,
                        layout={"input": column_major, "other": gapped})
    for a, b in BROADCAST:
        case = f"broadcast_{label(a)}_{label(b)}"
        binary_call(book, op, case, normal(a, F32), normal(b, F32), modes[0])
    binary_call(book, op, "expanded", normal([3, 4], F32), lambda t: normal([4], F32)(t).repeat(3, 1), modes[0],
                layout={"other": lambda shape: [0, 1]})
    for a, b in itertools.permutations(ALL, 2) if op == "add" else PAIRS:
        if op == "sub" and BOOL in (a, b):
            continue
        case = f"promote_{tag(a)}_{tag(b)}"
        listed = (a, b) in PAIRS
        binary_call(book, op, case, natural([5], a, True), natural([5], b, True), modes[0], ["", "Inp"][:1 + listed])
        if listed:
            binary_call(book, op, case + "_0d", natural([5], a, True), natural([], b, True), modes[0], [""])
    for extra in modes:
        # An integer without dimensions wraps in the dtype of the other operand, unless the result is a real number.
        binary_call(book, op, "wrap_int32", values([100, -100, 3], I32), values(2**40 + 24, I64), extra)
        binary_call(book, op, "wrap_uint8", values([9, 255, 0, 200], U8), -1, extra)
    if op in ("add", "sub"):
        alphas = [(F32, [2, -2.5, 0, 0.1]), (F64, [0.1]), (F16, [0.1, 2]), (BF16, [0.1, 2]), (I32, [3, -1]), (U8, [2]),
                  (I64, [-2]), (C64, [1.5])] + [(BOOL, [True, False])] * (op == "add")
        for dtype, alpha in ((d, x) for d, xs in alphas for x in xs):
            case = f"alpha_{tag(dtype)}_{alpha}"
            binary_call(book, op, case, natural([9], dtype), natural([9], dtype), alpha)
            binary_call(book, op, case, natural([9], dtype), True if dtype == BOOL else 3, alpha)


def fill_(book):
    numbers = {"float": [True, False, -100, 0.0, -2.4, INF, -INF, NAN, 5], "int": [0.23, 3.0, 3, True, 4.8, False],
               "bool": [0.23, 0, 3, True, -1.5]}
    for dtype in ALL:
        name = tag(dtype)
        group = "bool" if dtype == BOOL else "int" if dtype in INTS else "float"
        extra = [-10, -4.8] if dtype in INTS else []
        limits = [torch.iinfo(dtype).max, torch.iinfo(dtype).min] if dtype in INTS else []
        for value in numbers[group] + extra + limits:
            if value == -4.8 and dtype == U8:
                continue
            book.add("diopiFill", f"{name}_{value}", lambda t: t["input"].fill_(value), {"input": natural([5], dtype)},
                     {"value": scalar(value)}, ["input"])
    for shape, layout in [([], None), ([0], None), ([3, 0], None), ([1], None), ([33], None), ([3, 4], column_major)]:
        case = f"shape_{label(shape)}"
        book.add("diopiFill", case, lambda t: t["input"].fill_(2.1), {"input": normal(shape, F32)},
                 {"value": scalar(2.1)}, ["input"], {"input": layout} if layout else None)


def relu(book):
    for dtype in FLOATS + INTS:
        cases = {"x".join(map(str, s)) or "scalar": (natural(s, dtype), None)
                 for s in some([[17], [3, 11], [], [0], [3, 0], [1]], dtype, 3)}
        cases["strided"] = natural([4, 5], dtype), {"input": column_major}
        if dtype in FLOATS:
            cases["special"] = values(SPECIAL, dtype), None
        for name, (x, layout) in cases.items():
            case = f"{tag(dtype)}_{name}"
            book.add("diopiRelu", case, lambda t: torch.relu(t["input"]), {"input": x}, {}, ["out"], layout)
            book.add("diopiReluInp", case, lambda t: t["input"].relu_(), {"input": x}, {}, ["input"], layout)


# ---- convolution, normalisation, pooling, linear ----

CONV = {  # input, weight, bias, stride, padding, dilation, groups, layout
    "plain": ([2, 3, 5, 6], [4, 3, 3, 2], True, [1, 1], [0, 0], [1, 1], 1, None),
    "no_bias": ([1, 2, 5, 5], [3, 2, 3, 3], False, [1, 1], [1, 1], [1, 1], 1, None),
    "stride": ([1, 2, 7, 8], [3, 2, 3, 3], True, [2, 3], [1, 2], [1, 1], 1, None),
    "dilation": ([1, 2, 7, 9], [2, 2, 3, 2], True, [1, 2], [2, 1], [2, 3], 1, None),
    "groups": ([2, 6, 4, 4], [4, 3, 3, 3], True, [1, 1], [1, 1], [1, 1], 2, None),
    "depthwise": ([1, 5, 5, 4], [5, 1, 3, 3], False, [2, 1], [1, 1], [1, 1], 5, None),
    "depthwise_double": ([1, 3, 4, 4], [6, 1, 2, 2], True, [1, 1], [0, 0], [1, 1], 3, None),
    "pointwise": ([2, 17, 3, 2], [3, 17, 1, 1], True, [1, 1], [0, 0], [1, 1], 1, None),
    "one": ([1, 1, 1, 1], [1, 1, 1, 1], True, [1, 1], [0, 0], [1, 1], 1, None),
    "padding_only": ([1, 2, 1, 1], [2, 2, 3, 3], True, [1, 1], [2, 2], [1, 1], 1, None),
    "unbatched": ([2, 4, 5], [3, 2, 2, 2], True, [1, 1], [0, 0], [1, 1], 1, None),
    "empty_batch": ([0, 3, 4, 5], [2, 3, 2, 3], True, [1, 1], [0, 0], [1, 1], 1, None),
    "channels_last": ([2, 3, 4, 5], [3, 3, 3, 3], True, [1, 1], [1, 1], [1, 1], 1, channels_last),
    "gapped": ([1, 2, 4, 5], [2, 2, 2, 2], False, [2, 2], [0, 0], [1, 1], 1, gapped),
}


CONV3D = {
    "plain": ([2, 3, 3, 4, 3], [4, 3, 2, 3, 2], True, [1, 1, 1], [0, 0, 0], [1, 1, 1], 1, None),
    "stride": ([1, 2, 4, 5, 6], [3, 2, 2, 3, 3], True, [2, 1, 3], [1, 0, 2], [1, 2, 1], 1, None),
    "groups": ([2, 4, 3, 3, 2], [4, 2, 2, 2, 1], False, [1, 1, 1], [1, 0, 0], [2, 1, 1], 2, None),
    "depthwise": ([1, 3, 3, 2, 4], [3, 1, 2, 2, 3], True, [1, 1, 2], [0, 1, 1], [1, 1, 1], 3, channels_last),
    "pointwise": ([2, 5, 2, 1, 3], [3, 5, 1, 1, 1], True, [1, 1, 1], [0, 0, 0], [1, 1, 1], 1, None),
    "unbatched": ([2, 3, 3, 2], [3, 2, 2, 2, 2], True, [1, 1, 1], [0, 0, 0], [1, 1, 1], 1, None),
}

CONV_TRANSPOSE = {  # the same with output_padding
    "plain": ([2, 3, 4, 3], [3, 4, 3, 2], True, [1, 1], [0, 0], [1, 1], [0, 0], 1, None),
    "stride": ([1, 2, 3, 4], [2, 3, 3, 3], True, [2, 3], [1, 2], [1, 1], [1, 2], 1, None),
    "dilation": ([1, 2, 4, 3], [2, 2, 3, 2], False, [1, 2], [2, 1], [2, 3], [0, 1], 1, None),
    "more_than_stride": ([1, 2, 3, 2], [2, 3, 2, 2], True, [1, 1], [1, 0], [3, 2], [2, 1], 1, None),
    "groups": ([2, 4, 3, 3], [4, 3, 2, 3], True, [2, 1], [1, 1], [1, 1], [0, 0], 2, None),
    "depthwise": ([1, 5, 3, 4], [5, 1, 3, 3], False, [2, 1], [1, 1], [1, 1], [1, 0], 5, channels_last),
    "pointwise": ([2, 5, 3, 2], [5, 3, 1, 1], True, [1, 1], [0, 0], [1, 1], [0, 0], 1, None),
    "unbatched": ([3, 4, 3], [3, 2, 2, 2], True, [2, 2], [0, 0], [1, 1], [0, 0], 1, None),
    "empty_batch": ([0, 3, 4, 5], [3, 2, 2, 3], True, [1, 1], [0, 0], [1, 1], [0, 0], 1, None),
}

CONV_TRANSPOSE3D = {
    "plain": ([2, 3, 2, 3, 2], [3, 4, 2, 3, 2], True, [1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0], 1, None),
    "stride": ([1, 2, 3, 2, 3], [2, 3, 2, 3, 2], True, [2, 1, 3], [1, 0, 1], [1, 2, 1], [1, 1, 2], 1, None),
    "groups": ([2, 4, 2, 2, 3], [4, 1, 2, 2, 1], False, [1, 2, 1], [0, 1, 0], [1, 1, 1], [0, 1, 0], 2, channels_last),
    "unbatched": ([2, 3, 2, 2], [2, 3, 2, 2, 2], True, [1, 1, 1], [1, 0, 0], [1, 1, 1], [0, 0, 0], 1, None),
}


def convolutions(book, sides, op, table, few, transposed=False):
    function = f"diopi{'ConvTranspose' if transposed else 'Convolution'}{sides}d"
    names = ("stride", "padding", "dilation", "output_padding", "groups")
    names = names if transposed else (*names[:3], names[4])

    def backward(t, wanted, bias, args):
        batched = [x if x.dim() == sides + 2 else x[None] for x in (t["grad_output"], t["input"])]
        grads = aten.convolution_backward(*batched, t["weight"], bias, args["stride"], args["padding"],
                                          args["dilation"], transposed, args.get("output_padding", [0] * sides),
                                          args["groups"], wanted)
        grads = [g if on else None for g, on in zip(grads, wanted)]
        return [grads[0].reshape(t["input"].shape) if wanted[0] else None, *grads[1:]]

    # PyTorch 1.13 refuses sound transposed convolutions of bfloat16.
    dtypes = [F16, F32, F64] if transposed else FLOATS
    for dtype, (case, (shape, kernel, bias, *numbers, layout)) in crossed(dtypes, table, few):
        name = f"{tag(dtype)}_{case}"
        args = dict(zip(names, numbers))
        channels = kernel[1] * args["groups"] if transposed else kernel[0]
        tensors = {"input": normal(shape, dtype), "weight": normal(kernel, dtype, 0.5),
                   "bias": normal([channels], dtype) if bias else None}
        forward = lambda t: getattr(F, op)(t["input"], t["weight"], t["bias"], **args)
        layout = {"input": layout} if layout else None
        book.add(function, name, forward, tensors, args, ["out"], layout)
        out = forward({n: v({}) if v else v for n, v in tensors.items()} if dtype in (F32, F64) else
                      {n: v({}).to(F64) if v else v for n, v in tensors.items()})
        sizes = [channels] if bias else None
        tensors = {"input": tensors["input"], "weight": tensors["weight"], "_bias": tensors["bias"],
                   "grad_output": normal(out.shape, dtype)}
        masks = {"": [True, True, bias]}
        if case == "plain" and dtype in (F16, F32):
            masks |= {"_no_grad_input": [False, True, True], "_only_grad_input": [True, False, False]}
        for suffix, wanted in masks.items():
            book.add(function + "Backward", name + suffix, lambda t: backward(t, wanted, sizes, args),
                     tensors, {**args, "bias_sizes": sizes}, ["grad_input", "grad_weight", "grad_bias"], layout)


WINDOWS = {  # image, kernel_size, dilation, padding, stride
    "plain": ([2, 3, 4, 5], [2, 3], [1, 1], [0, 0], [1, 1]),
    "numbers": ([1, 2, 6, 5], [3, 2], [2, 1], [1, 0], [2, 3]),
    "padded": ([1, 2, 3, 4], [2, 2], [1, 2], [3, 1], [1, 2]),
    "pointwise": ([2, 1, 2, 3], [1, 1], [1, 1], [0, 0], [1, 1]),
    "unbatched": ([2, 3, 4], [2, 2], [1, 1], [0, 1], [1, 2]),
}


def im2col(book):
    for dtype, (case, (shape, *numbers)) in crossed(FLOATS, WINDOWS, 3):
        book.add("diopiIm2Col", f"{tag(dtype)}_{case}", lambda t: F.unfold(t["input"], *numbers),
                 {"input": normal(shape, dtype)},
                 dict(zip(("kernel_size", "dilation", "padding", "stride"), numbers)), ["out"])


def col2im(book):
    book.slack = 0  # PyTorch rounds after each addition
    for dtype, (case, (shape, *numbers)) in crossed(FLOATS, WINDOWS, 3):
        columns = F.unfold(torch.zeros(shape), *numbers).shape
        args = {"output_size": shape[-2:], **dict(zip(("kernel_size", "dilation", "padding", "stride"), numbers))}
        book.add("diopiCol2Im", f"{tag(dtype)}_{case}", lambda t: F.fold(t["input"], **args),
                 {"input": normal(columns, dtype)}, args, ["out"])


def unfold(book):
    for dtype, (shape, dim, size, step) in crossed(ORDERED, [([3, 7], 1, 3, 2), ([5, 2, 3], 0, 2, 1), ([6], -1, 2, 4),
                                                             ([], 0, 1, 2), ([2, 0], 1, 0, 3), ([4], 0, 0, 1)], 3):
        name, args = f"{tag(dtype)}_{label(shape)}_dim{dim}_{size}_{step}", {"dim": dim, "size": size, "step": step}
        book.add("diopiUnfold", name, lambda t: t["input"].unfold(dim, size, step).clone(),
                 {"input": natural(shape, dtype)}, args, ["out"])
        if dtype in FLOATS:
            windows = torch.zeros(shape).unfold(dim, size, step).shape
            book.add("diopiUnfoldBackward", name,
                     lambda t: aten.unfold_backward(t["grad_output"], shape, dim, size, step),
                     {"grad_output": normal(windows, dtype)}, {**args, "input_sizes": shape}, ["grad_input"])


BATCH_NORM = {  # shape, training, weight and bias, running statistics, momentum, eps, layout
    "train_2d": ([5, 3], True, True, True, 0.1, 1e-5, None),
    "train_3d": ([3, 2, 4], True, True, False, 0.2, 1e-4, None),
    "train_4d": ([2, 3, 3, 4], True, True, True, 0.25, 1e-5, None),
    "train_5d": ([2, 2, 2, 1, 3], True, False, True, 0.0, 1e-3, None),
    "train_plain": ([4, 17], True, False, False, 0.1, 1e-5, None),
    "train_channels_last": ([2, 3, 2, 4], True, True, True, 1.0, 1e-5, channels_last),
    "eval_2d": ([5, 3], False, True, True, 0.1, 1e-5, None),
    "eval_3d": ([2, 4, 3], False, False, True, 0.1, 1e-4, None),
    "eval_4d": ([2, 3, 2, 4], False, True, True, 0.15, 1e-5, channels_last),
    "eval_5d": ([1, 2, 2, 2, 2], False, True, True, 0.1, 1e-5, None),
    "eval_one": ([1, 1], False, True, True, 0.1, 1e-5, None),
    "eval_empty": ([0, 3, 2, 2], False, True, True, 0.1, 1e-5, None),
}


def batch_norm(book):
    def forward(t, training, momentum, eps):
        if t["input"].numel() == 0:  # the kernel divides by 0
            out = F.batch_norm(t["input"], t["running_mean"], t["running_var"], t["weight"], t["bias"], training,
                               momentum, eps)
            return out, t["running_mean"][:0], t["running_mean"][:0], t["running_mean"], t["running_var"]
        out = torch.native_batch_norm(t["input"], t["weight"], t["bias"], t["running_mean"], t["running_var"],
                                      training, momentum, eps)
        return [*out, t["running_mean"], t["running_var"]]

    def backward(t, training, eps):
        wanted = [True, t["weight"] is not None, t["weight"] is not None]
        saved = [t[n] for n in ("input", "weight", "running_mean", "running_var", "save_mean", "save_invstd")]
        grads = aten.native_batch_norm_backward(t["grad_output"], *saved, training, eps, wanted)
        return [g if on else None for g, on in zip(grads, wanted)]

    kinds = [(d, d) for d in FLOATS] + [(d, F32) for d in HALVES]
    for (dtype, stats), (case, row) in itertools.product(kinds, BATCH_NORM.items()):
        if (dtype in (BF16, F64) or dtype != stats) and case in ("train_5d", "eval_one", "eval_5d", "eval_2d"):
            continue
        shape, training, affine, running, momentum, eps, layout = row
        name = f"{tag(dtype)}{'' if dtype == stats else '_with_float32'}_{case}"
        vector = [shape[1]]
        tensors = {"input": normal(shape, dtype),
                   "weight": normal(vector, stats) if affine else None,
                   "bias": normal(vector, stats) if affine else None,
                   "running_mean": normal(vector, stats) if running else None,
                   "running_var": uniform(vector, stats, 0.5, 2) if running else None}
        small = {n: stats for n in ("save_mean", "save_invstd", "running_mean", "running_var")}
        layout = {"input": layout} if layout else None
        book.add("diopiBatchNorm", name, lambda t: forward(t, training, momentum, eps), tensors,
                 {"training": training, "momentum": momentum, "eps": eps},
                 ["out", "save_mean", "save_invstd", "running_mean", "running_var"], layout, small)
        if 0 in shape or dtype != stats and case not in ("train_4d", "eval_4d"):
            continue
        tensors["_bias"] = tensors.pop("bias")
        order = ["input", "weight", "_bias", "running_mean", "running_var"]
        tensors = {n: tensors[n] for n in order} | {"grad_output": normal(shape, dtype)}
        for index, saved in enumerate(["save_mean", "save_invstd"], 1):
            tensors[saved] = derived(lambda t, i=index: aten.native_batch_norm(
                t["input"].double(), None, None, None, None, True, momentum, eps)[i], stats) if training else None
        book.add("diopiBatchNormBackward", name, lambda t: backward(t, training, eps), tensors,
                 {"training": training, "eps": eps}, ["grad_input", "grad_weight", "grad_bias"], layout,
                 {"grad_input": dtype, "grad_weight": stats, "grad_bias": stats})


MAX_POOL = {  # shape, kernel_size, stride, padding, dilation, ceil_mode, layout
    1: {
        "plain": ([2, 2, 7], [3], [2], [0], [1], False, None),
        "dilated": ([1, 3, 12], [3], [2], [1], [3], True, None),
        "unbatched": ([3, 9], [2], [], [1], [1], True, None),
        "empty_batch": ([0, 2, 4], [2], [2], [0], [1], False, None),
    },
    2: {
        "plain": ([2, 2, 6, 7], [2, 3], [2, 2], [0, 0], [1, 1], False, None),
        "stride_empty": ([1, 2, 7, 8], [3, 2], [], [0, 0], [1, 1], False, None),
        "padding": ([1, 2, 5, 6], [3, 3], [2, 1], [1, 1], [1, 1], False, None),
        "ceil": ([1, 2, 6, 7], [3, 2], [2, 3], [1, 0], [1, 1], True, None),
        "ceil_dropped_window": ([1, 1, 4, 5], [1, 2], [3, 4], [0, 1], [1, 1], True, None),
        "dilation": ([1, 2, 8, 9], [3, 2], [2, 1], [1, 0], [2, 3], False, None),
        "unbatched": ([3, 5, 6], [2, 2], [2, 2], [1, 1], [1, 1], True, None),
        "one": ([1, 1, 1, 1], [1, 1], [1, 1], [0, 0], [1, 1], False, None),
        "empty_batch": ([0, 2, 4, 4], [2, 2], [2, 2], [0, 0], [1, 1], False, None),
        "overlapping": ([1, 1, 9, 9], [3, 3], [1, 1], [1, 1], [1, 1], False, None),
        "channels_last": ([2, 3, 4, 5], [2, 2], [1, 2], [0, 0], [1, 1], False, channels_last),
    },
    3: {
        "plain": ([1, 2, 4, 5, 6], [2, 3, 2], [2, 1, 2], [0, 1, 0], [1, 1, 1], False, None),
        "dilated": ([2, 4, 5, 7], [2, 2, 3], [2, 3, 3], [1, 0, 1], [1, 2, 1], True, None),
        "channels_last": ([1, 3, 3, 4, 2], [2, 2, 1], [], [0, 0, 0], [1, 1, 1], True, channels_last),
    },
}
ADAPTIVE = {  # shape, output_size, layout
    1: [([2, 3, 7], [3], None), ([3, 5], [8], None), ([1, 2, 9], [1], None), ([0, 2, 4], [2], None)],
    2: [([2, 2, 6, 4], [3, 2], None), ([1, 2, 7, 5], [3, 4], None), ([1, 2, 3, 4], [5, 7], None),
        ([3, 7, 6], [2, 5], None), ([2, 3, 5, 3], [1, 1], None), ([1, 2, 5, 5], [0, 0], None),
        ([1, 2, 4, 5], [0, 2], None), ([0, 2, 4, 4], [2, 2], None), ([1, 1, 1, 1], [1, 1], None),
        ([1, 1, 17, 3], [4, 3], None), ([2, 3, 5, 4], [2, 3], channels_last)],
    3: [([1, 2, 4, 5, 6], [2, 3, 4], None), ([2, 3, 4, 2], [4, 1, 3], None),
        ([1, 3, 3, 4, 2], [2, 2, 1], channels_last)],
}
AVG_POOL = {  # shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, layout
    1: {
        "plain": ([2, 2, 7], [3], [2], [0], False, True, None, None),
        "ceil": ([1, 3, 8], [4], [3], [2], True, True, None, None),
        "unpadded": ([3, 9], [3], [], [1], True, False, None, None),
        "empty_batch": ([0, 2, 4], [2], [2], [0], False, True, None, None),
    },
    2: {
        "plain": ([2, 2, 6, 7], [2, 3], [2, 2], [0, 0], False, True, None, None),
        "padding": ([1, 2, 5, 6], [3, 3], [2, 1], [1, 1], False, True, None, None),
        "unpadded": ([1, 2, 5, 6], [3, 3], [2, 1], [1, 1], True, False, None, None),
        "ceil": ([1, 2, 6, 7], [3, 2], [2, 3], [1, 0], True, True, None, None),
        "divisor": ([3, 5, 6], [2, 2], [], [1, 1], True, False, -3, None),
        "channels_last": ([2, 3, 4, 5], [2, 3], [1, 2], [0, 1], False, False, None, channels_last),
        "one": ([1, 1, 1, 1], [1, 1], [1, 1], [0, 0], False, True, None, None),
    },
    3: {
        "plain": ([1, 2, 4, 5, 6], [2, 3, 2], [2, 1, 2], [0, 1, 0], False, True, None, None),
        "ceil": ([2, 4, 5, 6], [2, 2, 3], [2, 3, 3], [1, 0, 1], True, False, None, None),
        "divisor": ([1, 2, 3, 4, 2], [2, 2, 1], [], [0, 0, 0], True, True, 5, None),
    },
}


def max_pool(book, sides):
    names, function = ("kernel_size", "stride", "padding", "dilation", "ceil_mode"), f"diopiMaxPool{sides}d"
    torch_pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[sides - 1]
    pool = lambda t, n: torch_pool(t["input"], n[0], n[1] or None, *n[2:], return_indices=True)
    for dtype, (case, (shape, *numbers, layout)) in crossed(FLOATS, MAX_POOL[sides], 9):
        name, args = f"{tag(dtype)}_{case}", dict(zip(names, numbers))
        tensors = {"input": distinct(shape, dtype, sides)}
        layout = {"input": layout} if layout else None
        book.add(function, name, lambda t: pool(t, numbers)[0], tensors, args, ["out"], layout)
        book.add(f"{function}WithIndices", name, lambda t: pool(t, numbers), tensors, args,
                 ["out", "indices"], layout)
        out_shape = pool({"input": torch.zeros(shape)}, numbers)[0].shape
        tensors |= {"indices": derived(lambda t: pool(t, numbers)[1], I64), "grad_output": normal(out_shape, dtype)}
        book.add(f"{function}Backward", name, lambda t: max_gradient(t, sides, lambda x: pool({"input": x}, numbers)),
                 tensors, args, ["grad_input"], layout)
    if sides == 1:
        return
    numbers = ([2, 2], [2, 2], [0, 0], [1, 1], False) if sides == 2 else ([1, 2, 2], [1, 2, 2], [0] * 3, [1] * 3, False)
    rows = [[1, NAN, 3, -INF], [0, 2, -INF, -INF], [INF, 4, -0.0, -1], [5, 5.5, -2, -3]]
    rows = [rows] if sides == 2 else [[rows]]
    for dtype in FLOATS:
        book.add(f"{function}WithIndices", f"{tag(dtype)}_special", lambda t: pool(t, numbers),
                 {"input": values(rows, dtype)}, dict(zip(names, numbers)), ["out", "indices"])
        book.add(function, f"{tag(dtype)}_special", lambda t: pool(t, numbers)[0],
                 {"input": values(rows, dtype)}, dict(zip(names, numbers)), ["out"])


def max_gradient(t, sides, pool):
    """The gradient of maxima, whose places are unique: PyTorch finds the same indices again."""
    return gradients(lambda x: pool(x)[0], [t["input"]], t["grad_output"])


def adaptive_max_pool(book, sides):
    torch_pool = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[sides - 1]
    function = f"diopiAdaptiveMaxPool{sides}d"
    for dtype, (shape, size, layout) in crossed(FLOATS, ADAPTIVE[sides], 4):
        if 0 in size:
            continue
        pool = lambda x: torch_pool(x, size, return_indices=True)
        name = f"{tag(dtype)}_{label(shape)}_to_{label(size)}" + ("_channels_last" if layout else "")
        layout = {"input": layout} if layout else None
        tensors, args = {"input": distinct(shape, dtype, sides)}, {"output_size": size}
        book.add(function, name, lambda t: pool(t["input"])[0], tensors, args, ["out"], layout)
        book.add(f"{function}WithIndices", name, lambda t: pool(t["input"]), tensors, args, ["out", "indices"], layout)
        tensors |= {"indices": derived(lambda t: pool(t["input"])[1], I64),
                    "grad_output": normal(shape[:-sides] + size, dtype)}
        book.add(f"{function}Backward", name, lambda t: max_gradient(t, sides, pool), tensors, {}, ["grad_input"],
                 layout)
    rows = [1, NAN, NAN, 3, -INF, -INF, -INF, 5, 5, 2]
    for dtype in FLOATS:
        book.add(f"{function}WithIndices", f"{tag(dtype)}_special",
                 lambda t: torch_pool(t["input"], [1] * (sides - 1) + [3], return_indices=True),
                 {"input": lambda t: values(rows, dtype)(t).reshape([1] * sides + [10])},
                 {"output_size": [1] * (sides - 1) + [3]}, ["out", "indices"])


def adaptive_avg_pool(book, sides):
    pool = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[sides - 1]
    for dtype, (shape, size, layout) in itertools.product(FLOATS, ADAPTIVE[sides]):
        name = f"{tag(dtype)}_{label(shape)}_to_{label(size)}"
        name += "_channels_last" if layout else ""
        layout = {"input": layout} if layout else None
        tensors = {"input": normal(shape, dtype)}
        book.add(f"diopiAdaptiveAvgPool{sides}d", name, lambda t: pool(t["input"], size), tensors,
                 {"output_size": size}, ["out"], layout)
        if 0 in size:
            continue  # PyTorch refuses the gradient
        tensors["grad_output"] = normal(shape[:-sides] + size, dtype)
        book.add(f"diopiAdaptiveAvgPool{sides}dBackward", name,
                 lambda t: gradients(lambda x: pool(x, size), [t["input"]], t["grad_output"]),
                 tensors, {}, ["grad_input"], layout)


def avg_pool(book, sides):
    torch_pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[sides - 1]
    names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    for dtype, (case, (shape, *numbers, layout)) in crossed(FLOATS, AVG_POOL[sides], 4):
        args = dict(zip(names, numbers))
        if sides == 1:
            del args["divisor_override"]
        pool = lambda x: torch_pool(x, numbers[0], numbers[1] or numbers[0], *numbers[2:2 + len(args) - 2])
        name, tensors = f"{tag(dtype)}_{case}", {"input": normal(shape, dtype)}
        layout = {"input": layout} if layout else None
        book.add(f"diopiAvgPool{sides}d", name, lambda t: pool(t["input"]), tensors, args, ["out"], layout)
        tensors["grad_output"] = normal(pool(torch.zeros(shape)).shape, dtype)
        book.add(f"diopiAvgPool{sides}dBackward", name,
                 lambda t: gradients(pool, [t["input"]], t["grad_output"]), tensors, args, ["grad_input"], layout)


def pool_of_mode(book, sides):
    """The function for all pools: the same results as those of the functions for one."""
    function, names = f"diopiPool{sides}d", ("ksize", "stride", "padding", "dilation", "ceil_mode")
    torch_pools = {(mode, adaptive): getattr(F, f"{'adaptive_' if adaptive else ''}{mode}_pool{sides}d")
                   for mode in ("max", "avg") for adaptive in (False, True)}
    rows = [(mode, False, row) for mode, table in (("max", MAX_POOL), ("avg", AVG_POOL))
            for case, row in table[sides].items() if case in ("plain", "ceil", "dilated", "unpadded")]
    rows += [(mode, True, row) for mode in ("max", "avg") for row in ADAPTIVE[sides][:2]]
    for dtype, (number, (mode, adaptive, (shape, *numbers, layout))) in crossed(FLOATS, list(enumerate(rows)), 3):
        args = {"mode": mode, **dict(zip(names, ([1] * sides, [], [0] * sides, [1] * sides, False))),
                "exclusive": False, "adaptive": adaptive, "output_size": []}
        if adaptive:
            args["output_size"], own = numbers[0], numbers[:1]
        elif mode == "max":
            own = numbers
            args |= dict(zip(names, numbers))
        else:
            kernel, stride, padding, ceil_mode, include, _ = numbers
            own = [kernel, stride or kernel, padding, ceil_mode, include]
            args |= {"ksize": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil_mode,
                     "exclusive": not include}
        pool = lambda x: torch_pools[mode, adaptive](x, own[0], *((own[1] or None), *own[2:]) if own[1:] else ())
        name, tensors = f"{tag(dtype)}_{mode}_{number}", {"input": distinct(shape, dtype, sides)}
        book.add(function, name, lambda t: pool(t["input"]), tensors, args, ["out"])
        tensors["grad_output"] = normal(pool(torch.zeros(shape)).shape, dtype)
        args = {word: value for word, value in args.items() if word != "output_size"}
        tensors["indices"] = None
        book.add(f"{function}Backward", name, lambda t: gradients(pool, [t["input"]], t["grad_output"]), tensors, args,
                 ["grad_input"])


def gradients(forward, leaves, grad):
    leaves = [x.detach().requires_grad_() for x in leaves]
    return torch.autograd.grad(forward(*leaves), leaves, grad)


def linear(book):
    rows = [([3, 17], 5, True), ([2, 33], 3, False), ([2, 3, 4], 5, True), ([7], 2, True), ([4, 6], 1, True),
            ([0, 3], 2, True), ([2, 0, 3], 2, False), ([3, 4], 0, False), ([2, 0], 3, True), ([1, 1], 1, True)]
    for dtype, (shape, size, bias) in itertools.product(FLOATS, rows):
        name = f"{tag(dtype)}_{label(shape)}_to_{size}{'' if bias else '_no_bias'}"
        tensors = {"input": normal(shape, dtype), "weight": normal([size, shape[-1]], dtype, 0.5),
                   "bias": normal([size], dtype) if bias else None}
        book.add("diopiLinear", name, lambda t: F.linear(t["input"], t["weight"], t["bias"]), tensors, {}, ["out"])
        tensors = {n if n != "bias" else "_bias": t for n, t in tensors.items()}
        tensors["grad_output"] = normal(shape[:-1] + [size], dtype)
        out = ["grad_input", "grad_weight", "grad_bias"]
        leaves = lambda t: [t["input"], t["weight"]] + ([t["_bias"]] if bias else [])
        book.add("diopiLinearBackward", name,
                 lambda t: [*gradients(F.linear, leaves(t), t["grad_output"]), None][:3], tensors, {}, out)
    book.add("diopiLinear", "strided", lambda t: F.linear(t["input"], t["weight"]),
             {"input": normal([4, 6], F32), "weight": normal([3, 6], F32), "bias": None}, {}, ["out"],
             {"input": column_major, "weight": gapped})


def products(book, op):
    """mm, bmm and matmul."""
    book.slack = 0
    function, other = function_of(op), "other" if op == "matmul" else "mat2"
    rows = {"mm": [([3, 17], [17, 5]), ([1, 4], [4, 1]), ([2, 0], [0, 3]), ([0, 3], [3, 2]), ([3, 2], [2, 0]),
                   ([33, 9], [9, 7])],
            "bmm": [([2, 3, 17], [2, 17, 5]), ([1, 1, 4], [1, 4, 1]), ([2, 2, 0], [2, 0, 3]), ([0, 3, 2], [0, 2, 2]),
                    ([3, 9, 4], [3, 4, 1])],
            "matmul": [([3, 17], [17, 5]), ([5], [5]), ([4], [4, 3]), ([3, 4], [4]), ([2, 3, 4], [4, 5]),
                       ([2, 3, 4], [4]), ([3, 4], [2, 4, 5]), ([4], [2, 4, 3]), ([2, 3, 4], [2, 4, 5]),
                       ([2, 1, 3, 4], [3, 4, 2]), ([2, 3, 0], [2, 0, 2]), ([0, 3, 2], [2, 2]), ([1, 2, 3], [3, 3, 1])]}
    for dtype, (a, b) in itertools.product(FLOATS, rows[op]):
        name = f"{tag(dtype)}_{label(a)}_by_{label(b)}"
        tensors = {"input": normal(a, dtype), other: normal(b, dtype)}
        book.add(function, name, lambda t: torch.matmul(t["input"], t[other]), tensors, {}, ["out"])
        if op == "matmul":
            grad = lambda t: normal(torch.matmul(t["input"].double(), t["other"].double()).shape, dtype)(t)
            book.add("diopiMatmulBackward", name,
                     lambda t: gradients(torch.matmul, [t["input"], t["other"]], t["grad_out"]),
                     {**tensors, "grad_out": grad}, {}, ["grad_input", "grad_other"])
    batch = [] if op == "mm" else [2]
    for dtype in (F16, F32, F64):
        book.add(function, f"{tag(dtype)}_strided", lambda t: torch.matmul(t["input"], t[other]),
                 {"input": normal([*batch, 4, 6], dtype), other: normal([*batch, 6, 3], dtype)}, {}, ["out"],
                 {"input": column_major, other: gapped})


def added_products(book, op):
    """addmm and baddbmm; with a beta of 0 input is not used, even if it has NaNs."""
    book.slack = 0
    function = function_of(op)
    factors = ("mat1", "mat2") if op == "addmm" else ("batch1", "batch2")
    batch = [] if op == "addmm" else [2]
    rows = [([5], 3, 17, 5, 1, 1), ([3, 5], 3, 17, 5, 0.5, -2), ([], 2, 4, 3, 2, 0), ([3, 1], 3, 4, 2, -0.1, 2.5),
            ([1, 2], 3, 2, 2, 0, 1), ([2], 1, 0, 2, 1.5, 1), ([0], 3, 2, 0, 1, 1), ([4], 2, 3, 4, 0, 0.3)]
    for dtype, (shape, m, k, n, beta, alpha) in itertools.product(FLOATS, rows):
        tensors = {"input": normal(shape, dtype), factors[0]: normal([*batch, m, k], dtype),
                   factors[1]: normal([*batch, k, n], dtype)}
        numbers = {"beta": beta, "alpha": alpha}
        name = f"{tag(dtype)}_{label(shape)}_and_{m}x{k}x{n}_b{beta}_a{alpha}"
        call = lambda t: getattr(torch, op)(t["input"], t[factors[0]], t[factors[1]], **numbers)
        args = {n: scalar(x) for n, x in numbers.items()} if op == "addmm" else numbers
        book.add(function, name, call, tensors, args, ["out"])
        if op == "baddbmm":
            tensors = {**tensors, "input": normal([*batch, m, n], dtype)}
            book.add(function + "Inp", name, lambda t: t["input"].baddbmm_(t["batch1"], t["batch2"], **numbers),
                     tensors, args, ["input"])
    nothing = lambda t: torch.full([3], NAN)
    args = {"beta": scalar(0), "alpha": scalar(1)} if op == "addmm" else {"beta": 0, "alpha": 1}
    book.add(function, "nan_left_out", lambda t: getattr(torch, op)(t["input"], t[factors[0]], t[factors[1]], beta=0),
             {"input": nothing, factors[0]: normal([*batch, 2, 3], F32), factors[1]: normal([*batch, 3, 3], F32)},
             args, ["out"])


# ---- softmax and losses ----

def softmax_family(book, op):
    function = function_of(op)
    forward = getattr(torch, op)
    backward = getattr(aten, f"_{op}_backward_data")
    rows = [([], -1), ([], 0), ([1], 0), ([17], 0), ([33], -1), ([3, 5], 0), ([3, 5], 1), ([2, 3, 4], -2),
            ([2, 17, 3], 1), ([3, 2, 2, 3], 0), ([0], 0), ([3, 0], 1), ([0, 5], -1), ([1, 4], 0)]
    special = [[-INF, 1, 2], [-INF, -INF, -INF], [INF, 0, 1], [NAN, 1, 2], [6e4, 0, -6e4], [-0.0, 0.0, -INF]]
    for dtype in FLOATS:
        for shape, dim in some(rows, dtype, 11):
            name = f"{tag(dtype)}_{label(shape)}_dim{dim}"
            x = normal(shape, dtype, 2.0)
            book.add(function, name, lambda t: forward(t["input"], dim), {"input": x}, {"dim": dim}, ["out"])
            book.add(function + "Backward", name,
                     lambda t: backward(t["grad_output"], t["output"], dim, t["grad_output"].dtype),
                     {"_input": x, "output": derived(lambda t: forward(t["_input"], dim), dtype),
                      "grad_output": normal(shape, dtype)}, {"dim": dim}, ["grad_input"])
        for dim in (0, 1):
            book.add(function, f"{tag(dtype)}_special_dim{dim}", lambda t: forward(t["input"], dim),
                     {"input": values(special, dtype)}, {"dim": dim}, ["out"])
        book.add(function, f"{tag(dtype)}_strided", lambda t: forward(t["input"], 1),
                 {"input": normal([4, 5], dtype)}, {"dim": 1}, ["out"], {"input": column_major})
    for dtype in HALVES:
        book.add(function, f"{tag(dtype)}_to_float32", lambda t: forward(t["input"], 1, dtype=F32),
                 {"input": normal([3, 5], dtype)}, {"dim": 1}, ["out"], None, {"out": F32})


LOSS = {  # input, reduction, weight, ignore_index; targets are class numbers, every class equally likely
    "mean": ([5, 7], "mean", False, -100), "sum": ([5, 7], "sum", False, -100), "none": ([5, 7], "none", False, -100),
    "weight_mean": ([6, 4], "mean", True, -100), "weight_sum": ([6, 4], "sum", True, 1),
    "weight_none": ([6, 4], "none", True, 2), "ignore_mean": ([9, 3], "mean", False, 1),
    "one_sample": ([5], "mean", True, -100), "one_sample_none": ([5], "none", False, -100),
    "3d_mean": ([2, 4, 3], "mean", True, 0), "4d_mean": ([2, 3, 2, 3], "mean", True, 1),
    "4d_none": ([2, 3, 2, 2], "none", True, 0), "4d_sum": ([2, 5, 1, 3], "sum", False, -100),
    "5d_mean": ([1, 3, 2, 1, 2], "mean", False, -100), "empty_mean": ([0, 4], "mean", True, -100),
    "empty_sum": ([0, 4], "sum", False, -100), "empty_none": ([0, 4, 3], "none", True, -100),
    "all_ignored_mean": ([3, 1], "mean", True, 0), "all_ignored_sum": ([3, 1], "sum", False, 0),
    "tail": ([3, 33], "mean", True, 5),
}
REDUCTION = {"none": 0, "mean": 1, "sum": 2}


def loss_tensors(shape, dtype, weight, log):
    scores = normal(shape, dtype)
    axis = 1 if len(shape) > 1 else 0
    return {"input": (lambda t: torch.log_softmax(scores(t).double(), axis).to(dtype)) if log else scores,
            "target": integers(shape[:axis] + shape[axis + 1:], I64, 0, shape[axis] - 1),
            "weight": uniform([shape[axis]], dtype, 0.25, 2) if weight else None}


def loss_shape(shape, reduction):
    return [] if reduction != "none" else shape[:1] + shape[2:] if len(shape) > 1 else []


def nll_fold(t, reduction):
    """PyTorch's own kernels take (N,C) and (N,C,H,W); the others are reshaped to the latter."""
    x, target = t["input"], t["target"]
    if x.dim() in (1, 2, 4):
        return aten.nll_loss2d_forward if x.dim() == 4 else aten.nll_loss_forward, x, target, None
    n, c = x.shape[:2]
    return aten.nll_loss2d_forward, x.reshape(n, c, 1, math.prod(x.shape[2:])), target.reshape(n, 1, math.prod(
        x.shape[2:])), target.shape if reduction == "none" else None


def nll_loss(book, v2=False):
    function = function_of("nll_loss_v2" if v2 else "nll_loss")

    def forward(t, reduction, ignore):
        if not v2:
            return F.nll_loss(t["input"], t["target"], t["weight"], reduction=reduction, ignore_index=ignore)
        kernel, x, target, shape = nll_fold(t, reduction)
        out, total = kernel(x, target, t["weight"], REDUCTION[reduction], ignore)
        return (out if shape is None else out.reshape(shape)), total.reshape([])

    def backward(t, reduction, ignore):
        if not v2:
            return gradients(lambda x: forward({**t, "input": x}, reduction, ignore), [t["input"]], t["grad_output"])
        kernel, x, target, shape = nll_fold(t, reduction)
        kernel = aten.nll_loss2d_backward if kernel == aten.nll_loss2d_forward else aten.nll_loss_backward
        grad = t["grad_output"] if shape is None else t["grad_output"].reshape(target.shape)
        return kernel(grad, x, target, t["weight"], REDUCTION[reduction], ignore, t["totalWeight"]).reshape(
            t["input"].shape)

    for dtype, (case, (shape, reduction, weight, ignore)) in crossed(
            FLOATS, LOSS, 11):
        name, args = f"{tag(dtype)}_{case}", {"reduction": reduction, "ignore_index": ignore}
        tensors = loss_tensors(shape, dtype, weight, True)
        book.add(function, name, lambda t: forward(t, reduction, ignore), tensors, args,
                 ["out", "totalWeight"] if v2 else ["out"], unspecified=["totalWeight"] if reduction == "none" else [])
        if v2:
            tensors["totalWeight"] = derived(lambda t: forward(t, reduction, ignore)[1], dtype)
        tensors["grad_output"] = normal(loss_shape(shape, reduction), dtype)
        book.add(function + "Backward", name, lambda t: backward(t, reduction, ignore), tensors, args, ["grad_input"])


def cross_entropy(book):
    smoothed = {"smooth_mean": ([4, 5], "mean", False, -100, 0.1), "smooth_sum": ([4, 5], "sum", True, 2, 0.3),
                "smooth_none": ([4, 5], "none", True, 1, 0.4), "smooth_weight_mean": ([6, 3], "mean", True, 1, 0.2),
                "smooth_one": ([3, 4], "mean", True, -100, 1.0), "smooth_4d": ([2, 3, 2, 2], "mean", True, 0, 0.3),
                "smooth_one_sample": ([5], "sum", False, -100, 0.1), "smooth_empty": ([0, 4], "mean", True, -100, 0.1)}
    soft = {"soft_mean": ([4, 5], "mean", False, 0.0), "soft_sum": ([4, 5], "sum", True, 0.1),
            "soft_none": ([4, 5], "none", True, 0.5), "soft_weight_mean": ([4, 5], "mean", True, 0.3),
            "soft_smooth_one": ([3, 4], "mean", False, 1.0), "soft_4d": ([2, 3, 2, 2], "mean", True, 0.2),
            "soft_one_sample": ([5], "mean", True, 0.0), "soft_empty": ([0, 4], "sum", False, 0.1)}
    plain_cases = ["weight_mean", "weight_sum", "weight_none", "one_sample", "4d_mean", "4d_none", "empty_mean",
                   "all_ignored_mean", "tail"]
    rows = {case: (*LOSS[case], 0.0, False) for case in plain_cases}
    rows |= {case: (*row, False) for case, row in smoothed.items()}
    rows |= {case: (shape, reduction, weight, -100, smooth, True)
             for case, (shape, reduction, weight, smooth) in soft.items()}
    for dtype, (case, (shape, reduction, weight, ignore, smooth, is_soft)) in crossed(
            FLOATS, rows, 17):
        name = f"{tag(dtype)}_{case}"
        args = {"reduction": reduction, "ignore_index": ignore, "label_smoothing": smooth}
        tensors = loss_tensors(shape, dtype, weight, False)
        if is_soft:
            tensors["target"] = uniform(shape, dtype)
        forward = lambda t, x: F.cross_entropy(x, t["target"], t["weight"], **args)
        book.add("diopiCrossEntropyLoss", name, lambda t: forward(t, t["input"]), tensors, args, ["out"])
        tensors["grad_output"] = normal(loss_shape(shape, reduction), dtype)
        book.add("diopiCrossEntropyLossBackward", name,
                 lambda t: gradients(lambda x: forward(t, x), [t["input"]], t["grad_output"]), tensors, args,
                 ["grad_input"])


# ---- reductions, shape, optimiser ----

def reduction(book, op):
    function, reduce = function_of(op), getattr(torch, op)
    rows = [([33], [0], True), ([3, 5], [0], False), ([2, 3, 4], [-1, -3], True), ([3, 5], [], False),
            ([3, 0], [1], False), ([], [], False), ([0], [], False), ([2, 3, 4], [0, 2], False), ([3, 5], [1], True),
            ([17], [], False), ([], [0], False), ([1], [-1], False), ([2, 3, 2, 2], [-2], False), ([3, 0], [0], False),
            ([0, 5], [0], True)]
    kinds = [(dtype, None) for dtype in FLOATS] + [(F16, F32), (BF16, F32)]
    kinds += [(dtype, None) for dtype in [BOOL, *INTS]] if op == "sum" else [(BOOL, F32), (I32, F32), (I64, F64)]
    for (dtype, out), (shape, dim, keepdim) in ((k, row) for k in kinds for row in some(rows, k[1] or k[0], 7)):
        if out and shape in ([], [0]):
            continue
        name = tag(dtype) + (f"_to_{tag(out)}" if out else "")
        name += f"_{label(shape)}_dim{','.join(map(str, dim)) or 'all'}{'_keep' * keepdim}"
        book.add(function, name, lambda t: reduce(t["input"], dim, keepdim, dtype=out),
                 {"input": natural(shape, dtype, small=op == "mean" and dtype not in FLOATS)}, {"dim": dim}, ["out"])
    for dtype in FLOATS:
        book.add(function, f"{tag(dtype)}_special", lambda t: reduce(t["input"], [1]),
                 {"input": values([[1, NAN], [INF, 1], [INF, -INF], [-0.0, -0.0]], dtype)}, {"dim": [1]}, ["out"])
        book.add(function, f"{tag(dtype)}_strided", lambda t: reduce(t["input"], [0]),
                 {"input": normal([4, 5], dtype)}, {"dim": [0]}, ["out"], {"input": column_major})


def argmax(book):
    rows = [([33], -1, True), ([3, 5], 0, True), ([2, 3, 4], None, False), ([], None, False), ([0, 5], 1, False),
            ([3, 5], 1, False), ([2, 3, 4], -2, True), ([], 0, True), ([1], 0, False), ([17], None, False),
            ([2, 0, 3], 0, True)]
    for dtype in FLOATS + INTS:
        cases = {f"{label(s)}_dim{d}{'_keep' * k}": (natural(s, dtype), d, k, None)
                 for s, d, k in some(rows, dtype, 5)}
        cases["ties"] = integers([4, 9], dtype, 0, 2), 1, False, None
        cases["strided"] = natural([4, 5], dtype), 0, False, {"input": column_major}
        if dtype in FLOATS:
            table = [[1, NAN, INF], [-INF, -INF, -2], [NAN, 3, NAN], [INF, 1, -INF]]
            cases["special"] = values(table, dtype), 1, True, None
            cases["nan_flat"] = values([1, INF, NAN, 2], dtype), None, False, None
        for case, (x, dim, keepdim, layout) in cases.items():
            book.add("diopiArgmax", f"{tag(dtype)}_{case}", lambda t: torch.argmax(t["input"], dim, keepdim),
                     {"input": x}, {"dim": dim, "keepdim": keepdim}, ["out"], layout)


def distinct_rows(shape, dtype, dim):
    """Every row along dim is a shuffle of whole numbers from -size / 2 on: its extremes and its order are unique."""
    def draw(t):
        size = shape[dim] if shape else 1
        return (torch.argsort(torch.rand(shape, dtype=F64), dim) - (size // 2 if dtype != U8 else 0)).to(dtype)
    return draw


SPECIAL_ROWS = [[1, NAN, INF], [-INF, -3, -2], [0, 3, -1], [INF, 1, -INF]]
ALONG = [([33], -1, False), ([3, 5], 0, True), ([2, 3, 4], 1, False), ([], 0, False), ([0, 5], 1, False),
         ([3, 5], -1, True), ([1], 0, False), ([2, 3, 4], -3, True), ([5, 0], 0, False)]


def extreme(book, op):
    """max and min along a dim, with places, and over all elements."""
    reduce = getattr(torch, op)
    along, whole = function_of(op, overload="dim"), function_of(op, overload="")
    for dtype, (shape, dim, keepdim) in crossed([*FLOATS, *INTS], ALONG, 4):
        name = f"{tag(dtype)}_{label(shape)}_dim{dim}{'_keep' * keepdim}"
        book.add(along, name, lambda t: reduce(t["input"], dim, keepdim), {"input": distinct_rows(shape, dtype, dim)},
                 {"dim": dim}, [op, f"{op}_indices"])
    book.add(along, "bool", lambda t: reduce(t["input"], 1), {"input": values([[0, 1], [1, 0]], BOOL)}, {"dim": 1},
             [op, f"{op}_indices"])
    for dtype in [BOOL, *FLOATS, *INTS]:
        for shape in [[17], [3, 5], []]:
            book.add(whole, f"{tag(dtype)}_{label(shape)}", lambda t: reduce(t["input"]),
                     {"input": natural(shape, dtype)}, {}, [op])
    for dtype in FLOATS:
        book.add(along, f"{tag(dtype)}_special", lambda t: reduce(t["input"], 1), {"input": values(SPECIAL_ROWS, dtype)},
                 {"dim": 1}, [op, f"{op}_indices"])
        book.add(along, f"{tag(dtype)}_strided", lambda t: reduce(t["input"], 0),
                 {"input": distinct_rows([4, 5], dtype, 0)}, {"dim": 0}, [op, f"{op}_indices"],
                 {"input": column_major})
        book.add(whole, f"{tag(dtype)}_nan", lambda t: reduce(t["input"]), {"input": values([1, NAN, INF], dtype)}, {},
                 [op])


def amax(book):
    rows = [([33], [0], True), ([3, 5], [0], False), ([2, 3, 4], [-1, -3], True), ([3, 5], [], False),
            ([], [], False), ([2, 3, 4], [0, 2], False), ([3, 5], [1], True), ([0, 5], [1], False)]
    for dtype, (shape, dim, keepdim) in crossed([BOOL, *FLOATS, *INTS], rows, 5):
        name = f"{tag(dtype)}_{label(shape)}_dim{','.join(map(str, dim)) or 'all'}{'_keep' * keepdim}"
        book.add("diopiAmax", name, lambda t: torch.amax(t["self"], dim, keepdim), {"self": natural(shape, dtype)},
                 {"dim": dim, "keepdim": keepdim}, ["out"])
    for dtype in FLOATS:
        book.add("diopiAmax", f"{tag(dtype)}_special", lambda t: torch.amax(t["self"], [1]),
                 {"self": values(SPECIAL_ROWS, dtype)}, {"dim": [1], "keepdim": False}, ["out"])


def argmin(book):
    rows = [([33], -1, True), ([3, 5], 0, True), ([2, 3, 4], 1, False), ([], 0, False), ([3, 5], -1, False),
            ([17], None, False)]
    for dtype, (shape, dim, keepdim) in crossed([*FLOATS, *INTS], rows, 4):
        name = f"{tag(dtype)}_{label(shape)}_dim{dim}{'_keep' * keepdim}"
        book.add("diopiArgmin", name, lambda t: torch.argmin(t["input"], dim, keepdim),
                 {"input": distinct_rows(shape, dtype, dim or 0)}, {"dim": dim, "keepdim": keepdim}, ["out"])
    for dtype in FLOATS:
        book.add("diopiArgmin", f"{tag(dtype)}_special", lambda t: torch.argmin(t["input"], 1, True),
                 {"input": values(SPECIAL_ROWS, dtype)}, {"dim": 1, "keepdim": True}, ["out"])


def truth(book, op):
    reduce = getattr(torch, op)
    rows = [([33], None), ([3, 5], 0), ([2, 3, 4], -2), ([], None), ([0], None), ([3, 0], 1), ([3, 5], -1)]
    for dtype, (shape, dim) in crossed([BOOL, *FLOATS, *INTS], rows, 4):
        fill = (lambda t: (torch.rand(shape) < 0.3).to(dtype)) if op == "any" else \
            (lambda t: (torch.rand(shape) < 0.8).to(dtype))
        book.add(function_of(op), f"{tag(dtype)}_{label(shape)}_dim{dim}",
                 lambda t: reduce(t["input"]) if dim is None else reduce(t["input"], dim), {"input": fill},
                 {"dim": dim}, ["out"])
    for dtype in FLOATS:
        book.add(function_of(op), f"{tag(dtype)}_special", lambda t: reduce(t["input"], 1),
                 {"input": values([[0, NAN], [-0.0, 0], [INF, 1], [1e-7, 0]], dtype)}, {"dim": 1}, ["out"])


def std(book):
    rows = [([33], [0], True, 1), ([3, 5], [0], False, 0), ([2, 3, 4], [-1, -3], True, 1), ([17], None, False, 1),
            ([3, 5], [1], False, 2), ([1], [0], False, 1), ([3, 0], [1], False, 0), ([2, 3, 4], None, False, 0),
            ([3, 2], [1], False, 3)]
    for dtype, (shape, dim, keepdim, correction) in crossed(FLOATS, rows, 4):
        name = f"{tag(dtype)}_{label(shape)}_dim{dim}_c{correction}{'_keep' * keepdim}"
        book.add("diopiStd", name, lambda t: torch.std(t["input"], dim, correction=correction, keepdim=keepdim),
                 {"input": normal(shape, dtype)}, {"dim": dim or [], "correction": scalar(correction)}, ["out"])
    book.add("diopiStd", "default", lambda t: torch.std(t["input"], 0), {"input": normal([7], F32)},
             {"dim": [0], "correction": None}, ["out"])


def prod(book):
    rows = [([7], None), ([3, 5], 0), ([2, 3, 4], -2), ([], None), ([0], None), ([3, 0], 1), ([3, 5], -1), ([], 0)]
    kinds = [(dtype, None) for dtype in [BOOL, *FLOATS, *INTS]]
    kinds += [(F32, I8), (I32, F32), (I64, I16), (F32, BOOL), (I32, BOOL), (F16, F64), (I16, U8)]
    for (dtype, out), (shape, dim) in ((k, row) for k in kinds for row in some(rows, k[0] if k[1] is None else None, 4)):
        name = tag(dtype) + (f"_to_{tag(out)}" if out else "") + f"_{label(shape)}_dim{dim}"
        book.add("diopiProd", name, lambda t: torch.prod(t["input"], dtype=out) if dim is None
                 else torch.prod(t["input"], dim, dtype=out), {"input": natural(shape, dtype, small=True)},
                 {"dim": dim}, ["out"])


ORDERS = [2, 1, 0, 3, INF, -INF, 0.5, 1.5, -2, 2.5]


def norm(book):
    rows = [([33], [0], True), ([3, 5], [1], False), ([2, 3, 4], [-1, -3], True), ([17], [], False)]

    def gradient(t, p, dim, keepdim):
        x = t["self"].clone().requires_grad_()
        y = torch.norm(x, p, dim or list(range(x.dim())), keepdim)
        return torch.autograd.grad(y, x, t["grad_output"])[0] if p else torch.zeros_like(x)

    for dtype, p, (shape, dim, keepdim) in itertools.product(FLOATS, ORDERS, rows):
        if shape != [3, 5] and dtype != F32:
            continue
        name = f"{tag(dtype)}_p{p}_{label(shape)}_dim{','.join(map(str, dim)) or 'all'}"
        book.add("diopiNorm", name, lambda t: torch.norm(t["input"], p, dim or list(range(len(shape))), keepdim),
                 {"input": normal(shape, dtype)}, {"p": scalar(float(p)), "dim": dim}, ["out"])
        if dtype in HALVES:
            continue  # autograd has a norm of its own, which is not rounded to the half type
        forward = lambda t: torch.norm(t["self"], p, dim or list(range(len(shape))), keepdim)  # noqa: E731
        book.add("diopiNormBackward", name, lambda t: gradient(t, p, dim, keepdim),
                 {"self": normal(shape, dtype), "norm": derived(forward, dtype),
                  "grad_output": lambda t: normal(list(t["norm"].shape), dtype)(t)},
                 {"p": scalar(float(p)), "dim": dim}, ["grad_input"])
    for p in ORDERS:
        zeros = values([[0, 1, -2, 2], [0, 0, 0, 0], [3, 3, -3, 0]], F32)
        book.add("diopiNorm", f"zeros_p{p}", lambda t: torch.norm(t["input"], p, 1), {"input": zeros},
                 {"p": scalar(float(p)), "dim": [1]}, ["out"])
        book.add("diopiNormBackward", f"zeros_p{p}", lambda t: gradient(t, p, [1], False),
                 {"self": zeros, "norm": lambda t: torch.norm(t["self"], p, 1), "grad_output": normal([3], F32)},
                 {"p": scalar(float(p)), "dim": [1]}, ["grad_input"])


def vector_norm(book):
    rows = [([33], [0], True), ([3, 5], [], False), ([2, 3, 4], [-1, -3], False)]
    for dtype, order, (shape, dim, keepdim) in itertools.product(FLOATS, ORDERS, rows):
        if order != 2 and shape != [33]:
            continue
        name = f"{tag(dtype)}_p{order}_{label(shape)}_dim{','.join(map(str, dim)) or 'all'}"
        book.add("diopiLinalgVecNorm", name,
                 lambda t: torch.linalg.vector_norm(t["input"], order, dim or None, keepdim),
                 {"input": normal(shape, dtype)}, {"ord": scalar(float(order)), "dim": dim, "keepdim": keepdim},
                 ["out"])


# ---- sort ----

def sort(book):
    for dtype, (shape, dim, descending) in crossed([*FLOATS, *INTS], ALONG, 4):
        name = f"{tag(dtype)}_{label(shape)}_dim{dim}{'_falling' * descending}"
        book.add("diopiSort", name, lambda t: torch.sort(t["input"], dim, descending),
                 {"input": distinct_rows(shape, dtype, dim)}, {"dim": dim, "descending": descending, "pStable": None},
                 ["values", "indices"])
        book.add("diopiSort", name + "_ties", lambda t: torch.sort(t["input"], dim=dim, descending=descending,
                                                                   stable=True),
                 {"input": integers(shape, dtype, 0, 2)}, {"dim": dim, "descending": descending, "pStable": True},
                 ["values", "indices"])
    for dtype in FLOATS:
        for descending in (False, True):
            book.add("diopiSort", f"{tag(dtype)}_special{'_falling' * descending}",
                     lambda t: torch.sort(t["input"], dim=1, descending=descending, stable=True),
                     {"input": values(SPECIAL_ROWS, dtype)}, {"dim": 1, "descending": descending, "pStable": True},
                     ["values", "indices"])
    for shape, dim in [([7], 0), ([3, 5], -1), ([2, 3, 4], 1)]:
        def scattered(t):
            full = torch.zeros(shape, dtype=t["grad_output"].dtype)
            return full.scatter(dim, t["indices"], t["grad_output"])
        for dtype in FLOATS:
            book.add("diopiSortBackward", f"{tag(dtype)}_{label(shape)}_dim{dim}", scattered,
                     {"grad_output": normal(shape, dtype), "indices": lambda t: distinct_rows(shape, I64, dim)(t) +
                      shape[dim] // 2}, {"dim": dim, "sizes": shape, "keepdim": True}, ["grad_input"])
    book.add("diopiSortBackward", "dropped", lambda t: torch.zeros([3, 5]).scatter(
        1, t["indices"].unsqueeze(1), t["grad_output"].unsqueeze(1)), {"grad_output": normal([3], F32),
                                                                      "indices": integers([3], I64, 0, 4)},
             {"dim": 1, "sizes": [3, 5], "keepdim": False}, ["grad_input"])


def argsort(book):
    for dtype, (shape, dim, descending) in crossed([*FLOATS, *INTS], ALONG, 4):
        name = f"{tag(dtype)}_{label(shape)}_dim{dim}{'_falling' * descending}"
        book.add("diopiArgsort", name, lambda t: torch.argsort(t["input"], dim, descending),
                 {"input": distinct_rows(shape, dtype, dim)}, {"stable": False, "dim": dim, "descending": descending},
                 ["out"])
        book.add("diopiArgsort", name + "_ties",
                 lambda t: torch.sort(t["input"], dim=dim, descending=descending, stable=True)[1],
                 {"input": integers(shape, dtype, 0, 2)}, {"stable": True, "dim": dim, "descending": descending},
                 ["out"])


def topk(book):
    rows = [([33], -1, 5, True), ([3, 5], 0, 2, False), ([2, 3, 4], 1, 3, True), ([], 0, 1, True), ([0, 5], 1, 2, True),
            ([3, 5], -1, 5, False), ([7], 0, 0, True), ([2, 17], 1, 1, False)]
    for dtype, (shape, dim, k, largest) in crossed([*FLOATS, *INTS], rows, 4):
        if dtype == F16:
            continue  # not on the processor
        book.add("diopiTopk", f"{tag(dtype)}_{label(shape)}_dim{dim}_k{k}{'_least' * (not largest)}",
                 lambda t: torch.topk(t["input"], k, dim, largest), {"input": distinct_rows(shape, dtype, dim)},
                 {"k": k, "dim": dim, "largest": largest, "sorted": True}, ["values", "indices"])
    for largest in (False, True):
        book.add("diopiTopk", f"special{'_least' * (not largest)}", lambda t: torch.topk(t["input"], 2, 1, largest),
                 {"input": values(SPECIAL_ROWS, F32)}, {"k": 2, "dim": 1, "largest": largest, "sorted": True},
                 ["values", "indices"])


def cumsum(book):
    rows = [([33], -1), ([3, 5], 0), ([2, 3, 4], 1), ([], 0), ([0, 5], 0), ([3, 0], 1), ([3, 5], -1)]
    for dtype, (shape, dim) in crossed([BOOL, *INTS, *FLOATS], rows, 4):
        name = f"{tag(dtype)}_{label(shape)}_dim{dim}"
        book.add("diopiCumsum", name, lambda t: torch.cumsum(t["input"], dim), {"input": natural(shape, dtype)},
                 {"dim": dim}, ["out"])
        if dtype in FLOATS:
            book.add("diopiCumsumBackward", name,
                     lambda t: t["grad_output"].flip(dim).cumsum(dim).flip(dim) if shape else t["grad_output"].clone(),
                     {"grad_output": normal(shape, dtype)}, {"dim": dim}, ["grad_input"])
    for source, target in [(F32, F64), (I32, I32), (I64, F32)]:
        book.add("diopiCumsum", f"{tag(source)}_to_{tag(target)}", lambda t: torch.cumsum(t["input"], 0, dtype=target),
                 {"input": natural([9], source, True)}, {"dim": 0}, ["out"])


def cat(book):
    def call(case, tensors, dim):
        book.add("diopiCat", case, lambda t: torch.cat(t["tensors"], dim), {"tensors": tensors},
                 {"num_inputs": len(tensors), "dim": dim}, ["out"])

    rows = [([[8], [17]], -1), ([[2, 3], [2, 5]], 1), ([[2, 2, 3], [2, 1, 3]], -2), ([[0], [2, 3], [0], [1, 3]], 0),
            ([[2, 3], [4, 3], [1, 3]], 0), ([[3]], 0), ([[0], [0]], 0), ([[2, 0], [2, 3]], 1), ([[0, 3], [0, 3]], 0),
            ([[1, 2, 2], [1, 2, 1], [1, 2, 3]], 2)]
    for dtype, (shapes, dim) in crossed(ALL, rows, 4):
        case = f"{tag(dtype)}_{'_'.join(label(s) for s in shapes)}_dim{dim}"
        call(case, [natural(s, dtype) for s in shapes], dim)
    for a, b in PAIRS:
        call(f"promote_{tag(a)}_{tag(b)}", [natural([2, 3], a, True), natural([1, 3], b, True)], 0)
    call("promote_three", [natural([2], BOOL), natural([3], U8), natural([2], F16)], 0)
    call("promote_empty", [natural([0], F64), natural([3], F32)], 0)


def flip(book):
    rows = [([17], [-1]), ([3, 5], [0]), ([2, 3, 4], [0, 2]), ([3, 0], [0, 1]), ([], []), ([1], [0]),
            ([3, 5], [-2, -1]), ([2, 3, 4], [1]), ([2, 3, 4], []), ([0], [0])]
    for dtype in ALL:
        cases = {f"{label(s)}_dims{','.join(map(str, d)) or 'none'}": (s, d, None)
                 for s, d in some(rows, dtype, 4)}
        cases["strided"] = [4, 5], [0], {"input": column_major}
        for case, (shape, dims, layout) in cases.items():
            book.add("diopiFlip", f"{tag(dtype)}_{case}", lambda t: torch.flip(t["input"], dims),
                     {"input": natural(shape, dtype)}, {"dims": dims}, ["out"], layout)


REDUCTIONS = ("none", "mean", "sum")


def element_loss(book, op, names, fill, rows, weights=()):
    """A loss of each element and its gradient, which autograd computes. rows: keyword arguments of the function."""
    fn = getattr(F, op) if hasattr(F, op) else focal_loss
    forward, backward = function_of(op), function_of(op, "backward")
    inputs = names if op != "sigmoid_focal_loss" else ("inputs", "targets")

    def loss(t, reduction, row):
        given = {n: t[n] for n in weights if t[n] is not None}
        return fn(t[inputs[0]] if inputs[0] in t else t["input"], t[inputs[1]] if inputs[1] in t else t["target"],
                  reduction=reduction, **given, **row)

    def gradient_of(t, reduction, row):
        x = t["input"].clone().requires_grad_()
        y = loss({**t, "input": x}, reduction, row)
        return torch.autograd.grad(y, x, t["grad_output"])[0]

    for dtype, (i, row), reduction in itertools.product(FLOATS, enumerate(rows), REDUCTIONS):
        for shape in [] if i and reduction != "none" else [[3, 5], [], [0, 2]] if dtype == F32 and not i else [[3, 5]]:
            x, target = fill(shape, dtype)
            extra = {n: uniform(shape[k + 1:], dtype, 0.2, 2) if i == 0 else None for k, n in enumerate(weights)}
            name = "_".join([tag(dtype), label(shape), reduction, *map(str, row.values()), *["plain"] * bool(weights and i)])
            args = {**row, "reduction": reduction}
            book.add(forward, name, lambda t: loss(t, reduction, row), {inputs[0]: x, inputs[1]: target, **extra}, args,
                     ["out"])
            grad = normal(shape if reduction == "none" else [], dtype)
            book.add(backward, name, lambda t: gradient_of(t, reduction, row),
                     {"input": x, "target": target, "grad_output": grad, **extra}, args, ["grad_input"])


def focal_loss(x, target, alpha, gamma, reduction):
    """torchvision.ops.sigmoid_focal_loss."""
    p, entropy = torch.sigmoid(x), F.binary_cross_entropy_with_logits(x, target, reduction="none")
    alpha, gamma = float(np.float32(alpha)), float(np.float32(gamma))
    loss = entropy * (p * (1 - target) + torch.sigmoid(-x) * target) ** gamma
    loss = (alpha * target + (1 - alpha) * (1 - target)) * loss if alpha >= 0 else loss
    return {"none": loss, "mean": loss.mean(), "sum": loss.sum()}[reduction]


def ctc_loss(book):
    """Labels one after another, or padded; lengths of 0, and labels that do not fit into the steps."""
    def shared(t):
        return t["log_probs"], t["targets"], t["input_lengths"], t["target_lengths"]

    def run(t, numbers):
        blank, reduction, zero_infinity = numbers
        losses, alpha = torch._ctc_loss(*shared(t)[:2], t["input_lengths"].tolist(), t["target_lengths"].tolist(), blank,
                                        zero_infinity)
        out = F.ctc_loss(*shared(t), blank, reduction, zero_infinity)
        return out, losses, alpha

    def gradient_of(t, numbers):
        blank, reduction, zero_infinity = numbers
        x = t["log_probs"].clone().requires_grad_()
        y = F.ctc_loss(x, *shared(t)[1:], blank, reduction, zero_infinity)
        return torch.autograd.grad(y, x, t["grad_output"])[0]

    rows = [([[1, 2, 2], [3, 1, 1]], [6, 5], [3, 2], 0), ([1, 2, 2, 3], [6, 4], [3, 1], 0),
            ([[0, 1], [2, 2]], [4, 2], [0, 2], 3)]
    for dtype, (i, (labels, steps, lengths, blank)), reduction in itertools.product([F32, F64], enumerate(rows),
                                                                                    REDUCTIONS):
        numbers = (blank, reduction, i == 2)
        tensors = {"log_probs": derived(lambda t: torch.log_softmax(t["_x"], -1), dtype),
                   "targets": lambda t: torch.tensor(labels), "input_lengths": lambda t: torch.tensor(steps),
                   "target_lengths": lambda t: torch.tensor(lengths)}
        x = {"_x": normal([6, 2, 4], dtype)}
        args = {"blank": blank, "reduction": reduction, "zero_infinity": i == 2}
        name = f"{tag(dtype)}_{i}_{reduction}"
        book.add("diopiCTCLoss", name, lambda t: run(t, numbers), {**x, **tensors}, args,
                 ["out", "neg_log_likelihood", "log_alpha"], unspecified=("log_alpha",))
        saved = {n: lambda t, k=k: run(t, numbers)[k] for k, n in ((1, "neg_log_likelihood"), (2, "log_alpha"))}
        grad = normal([2] if reduction == "none" else [], dtype)
        book.add("diopiCTCLossBackward", name, lambda t: gradient_of(t, numbers),
                 {**x, **tensors, "grad_output": grad, **saved}, args, ["grad_input"])


def sgd(book):
    """One step of PyTorch's optimiser; a given buffer is its state after earlier steps."""
    def step(t, numbers):
        param = torch.nn.Parameter(t["param"].clone())
        param.grad = t["grad"].clone()
        optimiser = torch.optim.SGD([param], **numbers, foreach=False)
        if t["buf"] is not None and numbers["momentum"] != 0:
            optimiser.state[param]["momentum_buffer"] = t["buf"]
        optimiser.step()
        return param.detach(), t["buf"]

    def call(case, shape, dtype, buf, numbers):
        book.add("diopiSgd", f"{tag(dtype)}_{case}{'' if buf else '_first'}", lambda t: step(t, numbers),
                 {"param": normal(shape, dtype), "grad": normal(shape, dtype),
                  "buf": normal(shape, dtype) if buf else None}, numbers, ["param", "buf"])

    names = ("lr", "momentum", "dampening", "weight_decay", "nesterov")
    for dtype in FLOATS:
        rows = itertools.product([0.1], [0.9, 0.0], [0.0, 0.3], [0.1, 0.0], [True, False], [True, False])
        rows = [row for row in rows if not row[4] or row[1] > 0 and row[2] == 0]
        for *row, buf in some(rows, dtype, 12):
            numbers = dict(zip(names, row))
            call("m{1}_d{2}_w{3}{4}".format(*row[:4], "_nesterov" * row[4]), [17], dtype, buf, numbers)
        for row in [(0.0, 1.0, 2.0, 3.0, False), (3.0, 0.5, 3.0, 2.3, False), (0.001, 0.0, -0.5, 0.5, False)]:
            call("lr{}_m{}_d{}_w{}".format(*row), [2, 3], dtype, True, dict(zip(names, row)))
        for shape in ([], [0], [3, 0], [1], [3, 11]):
            call(f"shape_{label(shape)}", shape, dtype, True,
                 dict(zip(names, (0.05, 0.5, 0.0, 0.01, True))))


# ---- functions of one number, powers, choices ----

UNARY = {  # torch name: (low, high) of the floating values; integers are 0 to 5
    "exp": (-4, 4), "expm1": (-2, 3), "log": (0.05, 9), "log2": (0.05, 9), "log10": (0.05, 9), "log1p": (-0.9, 6),
    "sqrt": (0, 9), "rsqrt": (0.1, 9), "reciprocal": (0.2, 5), "sin": (-9, 9), "cos": (-9, 9), "erf": (-3, 3),
    "tanh": (-4, 4), "sigmoid": (-6, 6), "silu": (0, 6), "neg": (-5, 5),
    "tan": (-9, 9), "asin": (-1, 1), "acos": (-1, 1), "atan": (-9, 9), "sinh": (-5, 5), "cosh": (-5, 5),
    "erfinv": (-1, 1), "asinh": (-4, 4), "acosh": (1, 9), "atanh": (-1, 1),
}
FEW_SHAPES = ("tan", "asin", "acos", "atan", "sinh", "cosh", "erfinv", "asinh", "acosh", "atanh")


def unary(book, op):
    """Forward and in place, and backward if there is one; integers become float32, except for neg."""
    book.slack = 0
    low, high = UNARY[op]
    function, stored, backward = (function_of(op, variant) for variant in ("forward", "inplace", "backward"))
    forward = F.silu if op == "silu" else getattr(torch, op)

    def in_place(t):
        return F.silu(t["input"], inplace=True) if op == "silu" else getattr(t["input"], op + "_")()

    for dtype in FLOATS:
        cases = {label(shape): (uniform(shape, dtype, low, high), None)
                 for shape in some([[17], [3, 11], [], [0], [3, 0]], dtype, 1 if op in FEW_SHAPES else 3)}
        cases["strided"] = uniform([4, 5], dtype, low, high), {"input": column_major}
        cases["special"] = values([0.0, -0.0, 1.0, INF, -INF, NAN], dtype), None
        for case, (x, layout) in cases.items():
            name = f"{tag(dtype)}_{case}"
            book.add(function, name, lambda t: forward(t["input"]), {"input": x}, {}, ["out"], layout)
            if op not in FEW_SHAPES or case == "17":
                book.add(stored, name, in_place, {"input": x}, {}, ["input"], layout)
            if backward and case != "special":
                saved = schema_rows.rows()[backward].args[2].name
                shape = x({}).shape
                tensors = {saved: x if op == "silu" else derived(lambda t: forward(t["_input"]), dtype),
                           "grad_output": normal(shape, dtype)}
                back = getattr(aten, f"{op}_backward")
                book.add(backward, name, lambda t: back(t["grad_output"], t[saved]),
                         tensors if op == "silu" else {"_input": x, **tensors}, {}, ["grad_input"])
    for dtype in INTS + ([BOOL] if op not in ("neg", "silu") else []):
        if op == "silu":
            break
        x = integers([9], dtype, 0, 1 if dtype == BOOL else 5)
        book.add(function, f"{tag(dtype)}_9", lambda t: forward(t["input"]), {"input": x}, {}, ["out"])


def gelu(book):
    """In PyTorch's formula 1 + erf cancels below 0: the values begin at -1."""
    book.slack = 0
    for dtype, approximate in itertools.product(FLOATS, ["none", "tanh"]):
        for shape in some([[17], [3, 11], [], [0]], dtype, 2):
            name, x = f"{tag(dtype)}_{label(shape)}_{approximate}", uniform(shape, dtype, -1, 5)
            args = {"approximate": approximate}
            book.add("diopiGelu", name, lambda t: F.gelu(t["input"], **args), {"input": x}, args, ["out"])
            book.add("diopiGeluBackward", name,
                     lambda t: aten.gelu_backward(t["grad_output"], t["input"], **args),
                     {"input": x, "grad_output": normal(shape, dtype)}, args, ["grad_input"])


def threshold(book):
    for dtype in FLOATS + INTS:
        numbers = [(0, 20), (1, 3)] + ([(-0.5, -1.25)] if dtype in FLOATS else [(2.5, 0.75)])
        for number, value in numbers + ([(-1, 7), (-250, 9), (3, -2)] if dtype == U8 else []):
            name, x = f"{tag(dtype)}_{number}_{value}", natural([17], dtype)
            args = {"threshold": scalar(number), "value": scalar(value)}
            book.add("diopiThreshold", name, lambda t: F.threshold(t["input"], number, value), {"input": x}, args,
                     ["out"])
            book.add("diopiThresholdInp", name, lambda t: F.threshold(t["input"], number, value, inplace=True),
                     {"input": x}, args, ["input"])
            if dtype in FLOATS:
                book.add("diopiThresholdBackward", name,
                         lambda t: aten.threshold_backward(t["grad_output"], t["input"], number),
                         {"input": x, "grad_output": normal([17], dtype)}, {"threshold": scalar(number)},
                         ["grad_input"])
        if dtype in FLOATS:
            book.add("diopiThresholdBackward", f"{tag(dtype)}_special",
                     lambda t: aten.threshold_backward(t["grad_output"], t["input"], 0),
                     {"input": values(SPECIAL, dtype), "grad_output": normal([10], dtype)}, {"threshold": scalar(0)},
                     ["grad_input"])


def piecewise(book, op):
    """hardtanh, hardswish and leaky_relu. PyTorch's gradients of NaN depend on the place of the element: its vectors and
    its scalar code differ."""
    book.slack = 0
    forward, stored, backward = (function_of(op, v) for v in ("forward", "inplace", "backward"))
    rows = {"hardtanh": [(-1, 1), (-0.7, 1.3), (2, -2), (-INF, 0.5)], "hardswish": [()],
            "leaky_relu": [(0.01,), (-1.5,), (0,)]}[op]
    names = {"hardtanh": ("min_val", "max_val"), "hardswish": (), "leaky_relu": ("negative_slope",)}[op]
    rest = () if op != "leaky_relu" else (False,)
    for dtype in FLOATS + (INTS if op == "hardtanh" else []):
        for row in some(rows, dtype, 2) if dtype in FLOATS else [(0, 5), (1, 2.5), (7, 3)][:3 if dtype == I16 else 1]:
            args = {n: scalar(v) for n, v in zip(names, row)}
            special = {"special": SPECIAL} if dtype in FLOATS else {}
            for case, numbers in {"17": None, **special}.items():
                x = natural([17], dtype, True) if numbers is None else values(numbers, dtype)
                name = "_".join([tag(dtype), case, *map(str, row)])
                book.add(forward, name, lambda t: getattr(aten, op)(t["input"], *row), {"input": x}, args, ["out"])
                if row == rows[0] and numbers is None:
                    book.add(stored, name, lambda t: getattr(aten, op + "_")(t["input"], *row), {"input": x}, args,
                             ["input"])
                if dtype not in FLOATS or (op != "leaky_relu" and numbers is not None):
                    continue
                last = {"input_is_result": False} if op == "leaky_relu" else {}
                book.add(backward, name,
                         lambda t: getattr(aten, op + "_backward")(t["grad_output"], t["input"], *row, *rest),
                         {"input": x, "grad_output": normal([17 if numbers is None else 10], dtype)},
                         {**args, **last}, ["grad_input"])


def pow_(book):
    book.slack = 0

    def call(function, case, fn, tensors, args, layout=None):
        book.add(f"diopiPow{function}", case, fn, tensors, args, ["input" if "Inp" in function else "out"], layout)

    for dtype, exponent in itertools.product(FLOATS + INTS, [2, 0, 3, 0.5, -1, -0.5, 2.5]):
        if dtype in INTS and exponent == -1:
            continue
        name = f"{tag(dtype)}_to_{exponent}"
        x = uniform([17], dtype, 0.1, 4) if dtype in FLOATS else integers([17], dtype, 0, 5)
        args = {"exponent": scalar(exponent)}
        call("", name, lambda t: torch.pow(t["input"], exponent), {"input": x}, args)
        if dtype in FLOATS or isinstance(exponent, int):
            call("Inp", name, lambda t: t["input"].pow_(exponent), {"input": x}, args)
    for dtype, base in itertools.product(FLOATS + [I32, I64], [2, 0.5, -1.5]):
        name = f"{base}_to_{tag(dtype)}"
        x = integers([9], dtype, -3, 3) if dtype in FLOATS else integers([9], dtype, 0, 4)
        call("Scalar", name, lambda t: torch.pow(base, t["exponent"]), {"exponent": x}, {"input": scalar(base)})
    for dtype in FLOATS + INTS:
        low = -4 if dtype in FLOATS else 0
        x, y = integers([4, 5], dtype, low, 4), integers([5], dtype, 0, 4)
        for function, fn in (("Tensor", lambda t: torch.pow(t["input"], t["exponent"])),
                             ("InpTensor", lambda t: t["input"].pow_(t["exponent"]))):
            call(function, f"{tag(dtype)}_broadcast", fn, {"input": x, "exponent": y}, {})
            if dtype in FLOATS:
                call(function, f"{tag(dtype)}_special", fn,
                     {"input": values([[v] for v in SPECIAL] * 1, dtype) if function == "Tensor" else
                      lambda t: values(SPECIAL, dtype)({}), "exponent": values(SPECIAL, dtype)}, {})
            call(function, f"{tag(dtype)}_strided", fn, {"input": x, "exponent": integers([4, 5], dtype, 0, 3)}, {},
                 {"input": column_major})
    call("Tensor", "promote_int32_float32", lambda t: torch.pow(t["input"], t["exponent"]),
         {"input": integers([9], I32, 0, 4), "exponent": uniform([9], F32, 0, 3)}, {})
    # An integer without dimensions wraps in the dtype of the other operand.
    call("Tensor", "wrap_exponent", lambda t: torch.pow(t["input"], t["exponent"]),
         {"input": values([100, -100, 3], I32), "exponent": values(2**32 + 2, I64)}, {})


def exact_unary(book, op, dtypes, in_place=True, torch_op=None):
    """Functions whose results are exact, but for moduli of complex numbers; integers stay integers."""
    book.slack = 0
    function, stored = function_of(op), function_of(op, "inplace")
    for dtype in dtypes:
        cases = {"17": (natural([17], dtype, dtype not in FLOATS), None),
                 "strided": (natural([4, 5], dtype), {"input": column_major})}
        if dtype in FLOATS:
            cases["special"] = values([*SPECIAL, 0.5, -0.5, 1.5, 2.0**20 + 0.5], dtype), None
        if dtype.is_complex:
            cases["special"] = (lambda t: torch.tensor([0, 3 - 4j, -2, 1j, complex(INF, 1), complex(1, NAN)]).to(dtype),
                                None)
        for case, (x, layout) in cases.items():
            name = f"{tag(dtype)}_{case}"
            book.add(function, name, lambda t: getattr(torch, torch_op or op)(t["input"]), {"input": x}, {}, ["out"],
                     layout)
            if stored and in_place and case != "strided" and not (op == "abs" and dtype.is_complex):
                book.add(stored, name, lambda t: getattr(t["input"], op + "_")(), {"input": x}, {}, ["input"])


def pairs_of(dtypes, promoted):
    """Operands of one dtype, of two, and one without dimensions, which counts less: small numbers, so that some agree."""
    for dtype in dtypes:
        yield tag(dtype), natural([17], dtype, True), natural([17], dtype, True)
        if dtype in (F16, F32):
            column = values([[v] for v in SPECIAL], dtype)
            yield f"{tag(dtype)}_special", column, values(SPECIAL, dtype)
    for a, b in promoted:
        yield f"{tag(a)}_{tag(b)}", natural([9], a, True), natural([9], b, True)
        yield f"{tag(a)}_{tag(b)}_0d", natural([9], a, True), natural([], b, True)
    if I32 in dtypes:
        yield "wrap_int8", values([1, 44, -24, 0], I8), values(300, I64)


def two_operands(book, op, dtypes, numbers, promoted, in_place=True):
    """A function of two tensors, or of a tensor and a number; its in-place form for operands of one dtype."""
    book.slack = 0
    call = getattr(torch, op)

    def add(case, a, b, fn, args):
        suffix = "Scalar" if args else "Tensor" if any(r.overload == "Tensor" for r in schema_rows.rows_of(op)) else None
        tensors = {"input": a} if args else {"input": a, "other": b}
        book.add(function_of(op, "forward", suffix), case, fn, tensors, args, ["out"])
        if in_place and case in [tag(d) for d in (F32, I32, BOOL)] + [f"int32_with_{numbers.get(I32, [0])[0]}"]:
            method = lambda t: getattr(t["input"], op + "_")(t["other"] if b else args["other"]["scalar"])
            book.add(function_of(op, "inplace", suffix), case, method, tensors, args, ["input"])

    for case, a, b in pairs_of(dtypes, promoted):
        add(case, a, b, lambda t: call(t["input"], t["other"]), {})
    for dtype, row in numbers.items():
        for number in row:
            add(f"{tag(dtype)}_with_{number}", natural([9], dtype, True), None,
                lambda t: call(t["input"], number), {"other": scalar(number)})


def equal(book):
    rows = [("same", [3, 4], [3, 4]), ("other_shape", [3, 4], [4, 3]), ("empty", [0], [0]), ("scalar", [], [])]
    for dtype in ALL:
        for case, a, b in rows if dtype in (F32, I64) else rows[:1]:
            for differs in (False, True):
                def other(t, differs=differs, b=b):
                    x = t["input"].flatten().reshape(b).clone() if t["input"].numel() else torch.zeros(b, dtype=dtype)
                    if differs and x.numel():
                        x.view(-1)[-1] = 1 if not x.view(-1)[-1] else 0
                    return x
                book.add("diopiEqual", f"{tag(dtype)}_{case}_{differs}",
                         lambda t: torch.tensor(torch.equal(t["input"], t["other"])),
                         {"input": natural(a, dtype, True), "other": other}, {"out": False}, ["out"])
    book.add("diopiEqual", "nan", lambda t: torch.tensor(torch.equal(t["input"], t["other"])),
             {"input": values([NAN, 1], F32), "other": values([NAN, 1], F32)}, {"out": False}, ["out"])


MIXED = [(U8, I16), (I64, F16), (BF16, F32), (BOOL, I32)]
COMPARED = {F16: [0.125, NAN], F32: [1, INF], I32: [2, 1.5], U8: [3, -1], BOOL: [True, 2]}


def compared(book, op):
    orders = op not in ("eq", "ne")
    two_operands(book, op, [d for d in ALL if not (orders and d == C64)], COMPARED, MIXED)


def remainder(book):
    book.slack = 0
    numbers = {F16: [2.5, -0.75], F32: [3, 0, INF], I32: [7, -3, 2.5], U8: [5]}
    for dtype in [*INTS, *FLOATS]:
        book.add("diopiRemainderTensor", tag(dtype), lambda t: torch.remainder(t["input"], t["other"]),
                 {"input": natural([17], dtype), "other": divisor([17], dtype)}, {}, ["out"])
    for dtype in (F16, F32):
        book.add("diopiRemainderTensor", f"{tag(dtype)}_special", lambda t: torch.remainder(t["input"], t["other"]),
                 {"input": values([[v] for v in SPECIAL], dtype), "other": values(SPECIAL, dtype)}, {}, ["out"])
    for a, b in [(U8, I16), (I64, F16), (BF16, F32)]:
        book.add("diopiRemainderTensor", f"{tag(a)}_{tag(b)}", lambda t: torch.remainder(t["input"], t["other"]),
                 {"input": natural([9], a, True), "other": divisor([9], b)}, {}, ["out"])
    for dtype, row in numbers.items():
        for number in row:
            name = f"{tag(dtype)}_with_{number}"
            book.add("diopiRemainderScalar", name, lambda t: torch.remainder(t["input"], number),
                     {"input": natural([9], dtype, True)}, {"other": scalar(number)}, ["out"])
            book.add("diopiRemainder", name, lambda t: torch.remainder(number, t["other"]),
                     {"other": divisor([9], dtype)}, {"input": scalar(number)}, ["out"])


def clamps(book, op):
    """clamp with both bounds, or one; clamp_min and clamp_max."""
    book.slack = 0
    names = {"clamp": ["min", "max"], "clamp_min": ["min"], "clamp_max": ["max"]}[op]
    numbers = {F16: [(-0.7, 1.25), (NAN, 1)], F32: [(-1, 0.1), (2, -2), (-INF, INF)], I32: [(-3, 4), (-1.5, 2)],
               U8: [(3, 6)], I64: [(-2**40, 2**40)]}
    given = [names] + [[n] for n in names] * (op == "clamp")
    run = lambda x, bounds: getattr(torch, op)(x, **bounds) if op == "clamp" else getattr(torch, op)(x, *bounds.values())

    def change(x, bounds):
        return getattr(x, op + "_")(**bounds) if op == "clamp" else getattr(x, op + "_")(*bounds.values())

    forward, stored = (row.function for row in schema_rows.rows_of(op) if row.overload == "")
    for dtype, rows in numbers.items():
        for row in rows:
            for chosen in given if row == rows[0] else given[:1]:
                bounds = {n: v for n, v in zip(("min", "max"), row) if n in chosen}
                args = {n: scalar(bounds[n]) if n in bounds else None for n in names}
                case = f"{tag(dtype)}_{'_'.join(f'{n}_{v}' for n, v in bounds.items())}"
                tensors = {"input": natural([17], dtype, dtype in INTS)}
                book.add(forward, case, lambda t: run(t["input"], bounds), tensors, args, ["out"])
                if not (dtype in INTS and any(isinstance(v, float) for v in bounds.values())):
                    book.add(stored, case, lambda t: change(t["input"], bounds), tensors, args, ["input"])
    forward, stored = (row.function for row in schema_rows.rows_of(op) if row.overload == "Tensor")
    for dtype in (I16, I64, *FLOATS):
        for chosen in given:
            tensors = {"input": natural([4, 5], dtype, True)}
            tensors |= {n: natural([5] if n == "min" else [4, 1], dtype, True) if n in chosen else None for n in names}
            case = f"{tag(dtype)}_{'_'.join(chosen)}"
            book.add(forward, case, lambda t: run(t["input"], {n: t[n] for n in names}), tensors, {}, ["out"])
            if dtype == F32:
                book.add(stored, case, lambda t: change(t["input"], {n: t[n] for n in names}), tensors, {}, ["input"])
    table = {"input": values([[v] for v in SPECIAL], F32)} | {n: values(SPECIAL, F32) for n in names}
    book.add(forward, "special", lambda t: run(t["input"], {n: t[n] for n in names}), table, {}, ["out"])


def lerp(book):
    book.slack = 0
    rows = [([9], [9], [9]), ([4, 1], [5], [4, 5]), ([], [3], [])]
    for dtype in FLOATS:
        for a, b, c in some(rows, dtype, 1):
            tensors = {"input": normal(a, dtype), "end": normal(b, dtype)}
            name = f"{tag(dtype)}_{label(a)}_{label(b)}"
            book.add("diopiLerpTensor", name, lambda t: torch.lerp(t["input"], t["end"], t["weight"]),
                     {**tensors, "weight": normal(c, dtype)}, {}, ["out"])
            for weight in (0.25, 0.75, -2, 1):
                book.add("diopiLerpScalar", f"{name}_{weight}", lambda t: torch.lerp(t["input"], t["end"], weight),
                         tensors, {"weight": scalar(weight)}, ["out"])


def complexes(book, op):
    """complex and polar."""
    names = ("real", "imag") if op == "complex" else ("abs", "angle")
    for dtype, (a, b) in itertools.product((F32, F64), [([17], [17]), ([4, 1], [5]), ([], [3])]):
        book.add(function_of(op), f"{tag(dtype)}_{label(a)}_{label(b)}",
                 lambda t: getattr(torch, op)(t[names[0]], t[names[1]]),
                 {names[0]: normal(a, dtype), names[1]: normal(b, dtype)}, {}, ["out"])


def parts(book, op):
    """real, imag and conj: PyTorch gives views."""
    for dtype in [C64, torch.complex128] + [F32] * (op != "imag"):
        for case, shape, layout in [("17", [17], None), ("strided", [4, 5], {"input": column_major})]:
            book.add(function_of(op), f"{tag(dtype)}_{case}",
                     lambda t: getattr(torch, op)(t["input"]).resolve_conj().clone(), {"input": normal(shape, dtype)},
                     {}, ["out"], layout)


def extremes(book, op):
    function = function_of(op)

    def call(case, a, b, layout=None):
        book.add(function, case, lambda t: getattr(torch, op)(t["input"], t["other"]), {"input": a, "other": b}, {},
                 ["out"], layout)

    for dtype in [BOOL, *INTS, *FLOATS]:
        call(tag(dtype), natural([33], dtype), natural([33], dtype))
        if dtype in FLOATS:
            call(f"{tag(dtype)}_special", values([[v] for v in SPECIAL if v != 0], dtype),
                 values([v for v in SPECIAL if v != 0], dtype))
    for a, b in BROADCAST:
        call(f"broadcast_{label(a)}_{label(b)}", normal(a, F32), normal(b, F32))
    call("strided", normal([4, 6], F32), normal([4, 6], F32), {"input": column_major, "other": gapped})
    call("promote_int32_float32", natural([5], I32, True), natural([5], F32, True))
    # An integer without dimensions wraps in the dtype of the other operand.
    for number in (2**40 + 24, -(2**35) - 7):
        call(f"wrap_int32_{number}", values([100, -100, 3], I32), values(number, I64))
        call(f"wrap_{number}_int8", values(number, I64), values([100, -100, 3], I8))


def where(book):
    for dtype in ALL:
        for a, b, c in [([9], [9], [9]), ([4, 1], [5], [4, 5]), ([], [3], []), ([0], [1], [0])]:
            name = f"{tag(dtype)}_{label(a)}_{label(b)}_{label(c)}"
            book.add("diopiWhere", name, lambda t: torch.where(t["condition"], t["input"], t["other"]),
                     {"condition": integers(a, BOOL, 0, 1), "input": natural(b, dtype), "other": natural(c, dtype)},
                     {}, ["out"])


def added_scaled(book, op):
    """addcmul and addcdiv."""
    book.slack = 0
    function = function_of(op)
    rows = [([9], [9], [9]), ([4, 5], [1, 5], [4, 1]), ([], [], []), ([3, 0], [1, 1], [3, 1])]
    for dtype in FLOATS + (INTS if op == "addcmul" else []):
        for shapes, value in itertools.product(rows, [1, 3, 0.5] if dtype in FLOATS else [1, 3]):
            tensors = dict(zip(("input", "tensor1"), (natural(s, dtype) for s in shapes)))
            tensors["tensor2"] = natural(shapes[2], dtype) if op == "addcmul" else uniform(shapes[2], dtype, 0.5, 2)
            name, args = f"{tag(dtype)}_{label(shapes[0])}_{value}", {"value": scalar(value)}
            book.add(function, name,
                     lambda t: getattr(torch, op)(t["input"], t["tensor1"], t["tensor2"], value=value), tensors, args,
                     ["out"])
            book.add(function + "Inp", name,
                     lambda t: getattr(t["input"], op + "_")(t["tensor1"], t["tensor2"], value=value), tensors, args,
                     ["input"])


# ---- lookups, masks and triangles ----

def embedding(book):
    """padding_idx: -1 is none. Every row of a table has at least one index, and one row has many."""
    rows = [([7, 5], [9], -1, False, None), ([4, 3], [2, 3], 2, True, None), ([3, 17], [], -1, False, None),
            ([5, 4], [0], 1, True, None), ([6, 0], [3], -1, False, None), ([1, 1], [4], 0, False, None),
            ([3, 33], [2, 2, 5], 0, True, None), ([4, 6], [7], -1, True, gapped)]
    for dtype, (table, shape, padding, frequency, layout) in itertools.product(FLOATS, rows):
        for index in (I64, I32):
            name = f"{tag(dtype)}_{tag(index)}_{label(table)}_at_{label(shape)}" + ("_gapped" if layout else "")
            where = {"weight": layout} if layout else None
            args = {"padding_idx": padding, "scale_grad_byfreq": frequency, "sparse": False}
            at = integers(shape, index, 0, table[0] - 1)
            book.add("diopiEmbedding", name, lambda t: F.embedding(t["indices"], t["weight"]),
                     {"weight": normal(table, dtype), "indices": at}, args, ["out"], where)
            book.add("diopiEmbeddingBackward", name, lambda t: aten.embedding_dense_backward(
                t["grad"], t["indices"], table[0], padding, frequency),
                {"grad": normal([*shape, table[1]], dtype), "indices": at}, {**args, "num_weights": table[0]},
                ["out"], {"grad": layout} if layout else None)
    for dtype in [BOOL, *INTS, C64]:
        book.add("diopiEmbedding", tag(dtype), lambda t: F.embedding(t["indices"], t["weight"]),
                 {"weight": natural([4, 3], dtype), "indices": integers([5], I64, 0, 3)},
                 {"padding_idx": -1, "scale_grad_byfreq": False, "sparse": False}, ["out"])


LAYER_NORM = {  # shape, dims that are normalised, weight, bias, eps, layout
    "last": ([3, 17], 1, True, True, 1e-5, None), "rows": ([2, 3, 8], 1, True, True, 1e-12, None),
    "two_dims": ([2, 3, 4, 5], 2, True, True, 1e-3, None), "all": ([33], 1, True, True, 1e-5, None),
    "all_of_three": ([2, 3, 4], 3, True, True, 2.0, None), "plain": ([4, 9], 1, False, False, 1e-5, None),
    "weight_only": ([4, 6], 1, True, False, 0.0, None), "one": ([3, 1], 1, True, True, 0.5, None),
    "no_rows": ([0, 5], 1, True, True, 1e-5, None), "wide": ([2, 70], 1, True, True, 1e-5, None),
    "column_major": ([5, 6], 1, True, True, 1e-5, column_major),
}


def layer_norm(book):
    def statistics(t, dims, eps, which):
        return aten.native_layer_norm(t["input"], t["input"].shape[-dims:], None, None, eps)[which]

    kinds = [(d, d) for d in FLOATS]
    for (dtype, stats), (case, (shape, dims, weight, bias, eps, layout)) in itertools.product(
            kinds, LAYER_NORM.items()):
        stats = F32 if dtype in HALVES else stats
        name, last = f"{tag(dtype)}_{case}", shape[-dims:]
        leading = shape[:-dims]
        tensors = {"input": normal(shape, dtype), "weight": normal(last, dtype) if weight else None,
                   "bias": normal(last, dtype) if bias else None}
        layout = {"input": layout} if layout else None

        def forward(t):
            out, mean, invstd = aten.native_layer_norm(t["input"], last, t["weight"], t["bias"], eps)
            return out, mean.reshape(leading), invstd.reshape(leading)

        def backward(t):
            wanted = [True, weight, bias]
            # PyTorch's kernel takes the statistics in the dtype of input, with the normalised dims.
            mean, rstd = (t[n].reshape(leading + [1] * dims).to(t["input"].dtype) for n in ("mean", "rstd"))
            grads = aten.native_layer_norm_backward(t["grad_output"], t["input"], last, mean, rstd, t["weight"],
                                                    t["bias"], wanted)
            return [g if on else None for g, on in zip(grads, wanted)]

        book.add("diopiLayerNorm", name, forward, tensors, {"normalized_shape": last, "eps": eps},
                 ["out", "save_mean", "save_invstd"], layout, {"save_mean": stats, "save_invstd": stats})
        if 0 in shape:
            continue
        tensors |= {"grad_output": normal(shape, dtype)}
        for index, saved in enumerate(["mean", "rstd"], 1):
            tensors[saved] = derived(lambda t, i=index: statistics(t, dims, eps, i).reshape(leading), stats)
        book.add("diopiLayerNormBackward", name, backward, tensors, {"normalized_shape": last},
                 ["grad_input", "grad_weight", "grad_bias"], layout)


GROUP_NORM = {  # shape, groups, weight, bias, eps, layout
    "image": ([2, 6, 3, 4], 3, True, True, 1e-5, None), "one_group": ([2, 4, 5], 1, True, True, 1e-3, None),
    "each_channel": ([3, 5, 7], 5, True, True, 1e-12, None), "rows": ([3, 8], 2, True, True, 0.5, None),
    "plain": ([2, 4, 9], 2, False, False, 1e-5, None), "weight_only": ([2, 4, 6], 2, True, False, 1e-5, None),
    "channels_last": ([2, 4, 3, 5], 2, True, True, 1e-5, channels_last),
    "no_positions": ([2, 4, 0], 2, True, True, 1e-5, None),
}


def group_norm(book):
    for dtype, (case, row) in ((dtype, row) for dtype in FLOATS for row in some(GROUP_NORM, dtype, 2)):
        shape, groups, weight, bias, eps, layout = row
        stats, name, sizes = F32 if dtype in HALVES else dtype, f"{tag(dtype)}_{case}", [*shape[:2], math.prod(shape[2:])]
        tensors = {"input": normal(shape, dtype), "weight": normal(shape[1:2], dtype) if weight else None,
                   "bias": normal(shape[1:2], dtype) if bias else None}
        layout = {"input": layout} if layout else None

        def forward(t):
            return aten.native_group_norm(t["input"].contiguous(), t["weight"], t["bias"], *sizes, groups, eps)

        def backward(t):
            wanted, same = [True, weight, bias], t["input"].dtype
            saved = (t[n].to(same) for n in ("mean", "rstd"))
            grads = aten.native_group_norm_backward(t["grad_output"], t["input"].contiguous(), *saved, t["weight"],
                                                    *sizes, groups, wanted)
            return [g if on else None for g, on in zip(grads, wanted)]

        book.add("diopiGroupNorm", name, forward, tensors, {"num_groups": groups, "eps": eps},
                 ["out", "save_mean", "save_invstd"], layout, {"save_mean": stats, "save_invstd": stats},
                 ("save_mean", "save_invstd") if 0 in shape else ())
        if 0 in shape:
            continue
        tensors = {n: t for n, t in tensors.items() if n != "bias"} | {"grad_output": normal(shape, dtype)}
        for index, saved in enumerate(["mean", "rstd"], 1):
            tensors[saved] = derived(lambda t, i=index: aten.native_group_norm(
                t["input"].contiguous(), None, None, *sizes, groups, eps)[i], stats)
        book.add("diopiGroupNormBackward", name, backward, tensors, {"num_groups": groups},
                 ["grad_input", "grad_weight", "grad_bias"], layout)


def masked_fill(book):
    numbers = {"float": [-100, 0.5, -INF, NAN, True], "int": [3, -2.75, True, 0], "bool": [0.25, 0, True]}
    shapes = [([9], [9], None), ([4, 5], [5], None), ([4, 5], [4, 1], column_major), ([], [], None), ([0], [1], None),
              ([3], [2, 3], None), ([2, 1, 4], [3, 1], None)]
    for dtype in ALL:
        group = "bool" if dtype == BOOL else "int" if dtype in INTS else "float"
        for (shape, mask, layout), value in itertools.product(shapes, numbers[group]):
            if shape != [9] and value != numbers[group][1]:
                continue
            name = f"{tag(dtype)}_{label(shape)}_by_{label(mask)}_{value}"
            kind = F64 if isinstance(value, float) else BOOL if isinstance(value, bool) else I64
            if dtype == U8 and value == -2.75:
                continue
            tensors = {"input": natural(shape, dtype), "mask": integers(mask, BOOL, 0, 1)}
            with_tensor = tensors | {"value": values(value, kind)}
            layout_of = {"input": layout} if layout else None
            in_place = torch.broadcast_shapes(shape, mask) == torch.Size(shape)
            for suffix in ["", "Inp"] if in_place else [""]:
                out, method = ["input" if suffix else "out"], "masked_fill" + ("_" if suffix else "")
                book.add(f"diopiMaskedFill{suffix}Scalar", name,
                         lambda t: getattr(t["input"], method)(t["mask"], value), tensors, {"value": scalar(value)},
                         out, layout_of)
                if dtype.is_complex or dtype in INTS + [BOOL] and kind == F64:
                    continue  # PyTorch refuses the value's dtype
                book.add(f"diopiMaskedFill{suffix}", name,
                         lambda t: getattr(t["input"], method)(t["mask"], t["value"]), with_tensor, {}, out, layout_of)


def triangle(book, op):
    """triu and tril."""
    shapes = [([4, 5], None), ([5, 3], None), ([2, 3, 3], None), ([0, 3], None), ([3, 0], None), ([1, 1], None),
              ([4, 6], column_major)]
    diagonals = [0, 1, -2, 9, -9]
    for dtype, (shape, layout), diagonal in itertools.product(ALL, shapes, diagonals):
        if shape not in ([4, 5], [5, 3]) and diagonal != 1:
            continue
        name = f"{tag(dtype)}_{label(shape)}_{diagonal}"
        tensors, layout = {"input": natural(shape, dtype)}, {"input": layout} if layout else None
        book.add(function_of(op), name, lambda t: getattr(torch, op)(t["input"], diagonal), tensors,
                 {"diagonal": diagonal}, ["out"], layout)
        if op == "triu":
            book.add("diopiTriuInp", name, lambda t: t["input"].triu_(diagonal), tensors, {"diagonal": diagonal},
                     ["input"], layout)


# ---- copies and constants ----

def arange(book):
    """Floating numbers in float64, rounded once: PyTorch adds rounded steps in its vectors."""
    rows = [(0, 91, 13), (5, -7, -2), (0, 0, 1), (-4, 5, 1), (3, 4, 100), (True, 9, 2)]
    for dtype, (start, end, step) in itertools.product([I8, U8, I16, I32, I64, *FLOATS], rows):
        if dtype == U8 and min(start, end) < 0:
            continue
        book.add("diopiArange", f"{tag(dtype)}_{start}_{end}_{step}",
                 lambda t: torch.arange(start, end, step, dtype=F64).to(dtype), {},
                 {"start": scalar(start), "end": scalar(end), "step": scalar(step)}, ["out"])
    for dtype, (start, end, step) in itertools.product(FLOATS, [(0.1, 0.5, 0.1), (2.3, 2.3, 0.5), (90, -90, -5.625),
                                                               (-0.001, 1, 0.03125), (10, 10.5, 1)]):
        book.add("diopiArange", f"{tag(dtype)}_{start}_{end}_{step}",
                 lambda t: torch.arange(start, end, step, dtype=F64).to(dtype), {},
                 {"start": scalar(start), "end": scalar(end), "step": scalar(step)}, ["out"])


def copies(book, op):
    """copy_ into a tensor of another dtype, shape and layout; cast_dtype, which has one shape."""
    cast = op == "cast_dtype"
    function, source, target = (function_of(op), "input", "out") if cast else (function_of(op, "inplace"), "src", "dest")
    rows = [([4, 5], [4, 5])] if cast else [([4, 5], [5]), ([3], []), ([2, 3], [2, 3]), ([0], [1])]
    for a, b in itertools.product(ALL, ALL):
        if a == C64 and b != C64:  # PyTorch warns about the lost imaginary part
            continue
        for shape, smaller in rows if a in (F16, F32) or cast else rows[:1]:
            low = 0 if b == U8 else -6
            x = integers(smaller, a, 0, 1) if a == BOOL else natural(smaller, a, True) if a not in FLOATS or b != U8 \
                else uniform(smaller, a, low, 9)
            book.add(function, f"{tag(a)}_to_{tag(b)}_{label(smaller)}_into_{label(shape)}",
                     lambda t: t[target].copy_(t[source]), {source: x, target: natural(shape, b)}, {}, [target],
                     {target: column_major})


def constants(book, op):
    function = function_of(op, "inplace" if op == "zero_" else "forward")
    for dtype, shape in itertools.product(ALL, [[], [0], [17], [3, 5]]):
        name = f"{tag(dtype)}_{label(shape)}"
        if op == "zero_":
            book.add(function, name, lambda t: t["self"].zero_(), {"self": natural(shape, dtype)}, {}, ["self"],
                     {"self": column_major} if shape else None)
        else:
            book.add(function, name, lambda t: getattr(torch, op)(shape, dtype=dtype), {}, {"size": shape}, ["out"])


def expand(book):
    for dtype in ALL:
        for shape, size in [([5], [3, 5]), ([4, 1], [4, 3]), ([], [2]), ([], []), ([2, 1, 3], [5, 2, 4, 3]),
                            ([0], [2, 0])]:
            book.add("diopiExpand", f"{tag(dtype)}_{label(shape)}_to_{label(size)}",
                     lambda t: t["input"].expand(size).clone(), {"input": natural(shape, dtype)}, {}, ["out"])


def adam(book, op):
    """One step of PyTorch's optimiser after step - 1 others, whose state is given. Numbers are passed as float32."""
    names = ("lr", "beta1", "beta2", "eps", "weight_decay", "step", "amsgrad")
    state = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")

    def run(t, numbers):
        lr, beta1, beta2, eps, decay = (float(np.float32(x)) for x in numbers[:5])
        step, amsgrad = numbers[5:]
        param = torch.nn.Parameter(t["param"].clone())
        param.grad = t["grad"].clone()
        make = torch.optim.Adam if op == "adam" else torch.optim.AdamW
        optimiser = make([param], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay, amsgrad=amsgrad,
                         foreach=False)
        optimiser.state[param] = {"step": torch.tensor(float(step - 1)), "exp_avg": t["exp_avg"],
                                  "exp_avg_sq": t["exp_avg_sq"], "max_exp_avg_sq": t["max_exp_avg_sq"]}
        optimiser.step()
        return param.detach(), t["exp_avg"], t["exp_avg_sq"], t["max_exp_avg_sq"]

    rows = [(0.1, 0.9, 0.999, 1e-8, 0.0, 1, False), (0.001, 0.9, 0.99, 1e-3, 0.1, 3, False),
            (0.1, 0.5, 0.999, 1e-8, 0.1, 2, True), (0.01, 0.9, 0.999, 1e-8, 0.0, 3, True),
            (0.001, 0.0, 0.9, 1e-2, 0.5, 1, True), (1.0, 0.9, 0.999, 0.1, 0.01, 10, False)]
    for dtype, row in itertools.product(FLOATS, rows):
        for shape in [[17], [], [3, 0], [3, 11]] if row == rows[2] else [[17]]:
            tensors = {"param": normal(shape, dtype), "grad": normal(shape, dtype), "exp_avg": normal(shape, dtype),
                       **{n: uniform(shape, dtype, 0.25, 2) for n in state[1:]}}
            name = f"{tag(dtype)}_{label(shape)}_lr{row[0]}_w{row[4]}_s{row[5]}{'_ams' * row[6]}"
            book.add(function_of(op, "inplace"), name, lambda t: run(t, row), tensors,
                     dict(zip(names, row)), ["param", *state])


def two_normal(shape, dtype):
    return normal(shape, dtype), normal(shape, dtype)


def shares(shape, dtype):
    return uniform(shape, dtype, 0.01, 0.99), uniform(shape, dtype)


def logits(shape, dtype):
    return normal(shape, dtype, 2), uniform(shape, dtype)


PAIR = ("input", "target")
ELEMENT_LOSSES = {op: (op, PAIR, fill, rows, weights) for op, fill, rows, weights in [
    ("mse_loss", two_normal, [{}], ()),
    ("smooth_l1_loss", two_normal, [{"beta": 1.0}, {"beta": 0.3}], ()),
    ("binary_cross_entropy", shares, [{}, {}], ("weight",)),
    ("binary_cross_entropy_with_logits", logits, [{}, {}], ("weight", "pos_weight")),
    ("sigmoid_focal_loss", logits, [{"alpha": 0.25, "gamma": 2.0}, {"alpha": -1.0, "gamma": 0.5}], ())]}


def adaptive(book, op):
    """One step of Adadelta or RMSprop of PyTorch."""
    def run(t, numbers):
        given = {n: float(np.float32(v)) if isinstance(v, float) else v for n, v in numbers.items()}
        param = torch.nn.Parameter(t["param"].clone())
        param.grad = t["grad"].clone()
        make = torch.optim.Adadelta if op == "adadelta" else torch.optim.RMSprop
        optimiser = make([param], foreach=False, **given)
        state = {("momentum_buffer" if n == "momentum_buf" else n): t[n] for n in names}
        optimiser.state[param] = {"step": torch.tensor(1.0) if op == "adadelta" else 1, **state}
        optimiser.step()
        return (param.detach(), *(t[n] for n in names))

    if op == "adadelta":
        names = ("square_avg", "acc_delta")
        rows = [{"lr": lr, "rho": 0.9, "eps": 1e-6, "weight_decay": w} for lr, w in ((1.0, 0.0), (0.1, 0.3))]
    else:
        names = ("square_avg", "grad_avg", "momentum_buf")
        rows = [{"lr": 0.01, "alpha": 0.99, "eps": 1e-3, "weight_decay": w, "momentum": m, "centered": c}
                for w, m, c in ((0.0, 0.0, False), (0.3, 0.9, False), (0.0, 0.5, True))]
    for dtype, (i, row) in itertools.product(FLOATS, enumerate(rows)):
        for shape in ([17], [], [0, 3]) if dtype == F32 and i == 1 else ([17],):
            tensors = {"param": normal(shape, dtype), "grad": normal(shape, dtype),
                       **{n: uniform(shape, dtype, 1, 2) if n[-4:] != "_avg" or n[:2] == "sq" else
                          uniform(shape, dtype, -0.5, 0.5) for n in names}}
            book.add(function_of(op, "inplace"), f"{tag(dtype)}_{i}_{label(shape)}", lambda t: run(t, row), tensors, row,
                     ["param", *names])


# ---- distances, decompositions, sparse products, the loss scale ----

CDIST = {  # points, other points, p
    "plane": ([3, 4], [5, 4], 2.0), "batch": ([2, 3, 6], [2, 4, 6], 1.0), "count": ([3, 2], [2, 2], 0.0),
    "root": ([4, 3], [2, 3], 0.5), "power": ([4, 3], [2, 3], 3.0),
    "wide": ([3, 1, 4, 2], [2, 3, 2], 2.0), "none": ([0, 3], [2, 3], 2.0),
}


def cdist(book):
    for dtype, (case, (a, b, p)) in zip(itertools.cycle((F32, F64)), CDIST.items()):
        tensors = {"input1": normal(a, dtype), "input2": normal(b, dtype)}
        args = {"p": p}
        book.add("diopiCdist", f"{tag(dtype)}_{case}", lambda t: torch.cdist(t["input1"], t["input2"], p), tensors,
                 args | {"compute_mode": None}, ["out"])
        if a[:-2] != b[:-2] or 0 in a:
            continue
        tensors |= {"grad_output": normal([*a[:-1], b[-2]], dtype),
                    "cdist": derived(lambda t: torch.cdist(t["input1"], t["input2"], p), dtype)}
        book.add("diopiCdistBackward", f"{tag(dtype)}_{case}",
                 lambda t: aten._cdist_backward(t["grad_output"], t["input1"], t["input2"], p, t["cdist"]),
                 tensors, args, ["grad_input"])


def positive_definite(shape, dtype):
    """A matrix times its transpose, and ones on the diagonal."""
    draw = normal(shape, F64)

    def make(t):
        x = draw(t)
        return (x @ x.mT / shape[-1] + torch.eye(shape[-1], dtype=F64)).to(dtype)
    return make


def cholesky_ex(book):
    def gradient(t, upper):
        mat = (t["L"].mT @ t["L"] if upper else t["L"] @ t["L"].mT).requires_grad_()
        factor = torch.linalg.cholesky_ex(mat, upper=upper)[0]
        return torch.autograd.grad(factor, mat, t["grad_output"])[0]

    for dtype, (shape, upper) in itertools.product((F32, F64), [([3, 3], False), ([2, 4, 4], True), ([0, 2, 2], False)]):
        name, args = f"{tag(dtype)}_{shape[-1]}_{upper}", {"upper": upper}
        book.add("diopiCholesky", name, lambda t: torch.linalg.cholesky_ex(t["mat"], upper=upper),
                 {"mat": positive_definite(shape, dtype)}, args | {"checkerror": False}, ["out", "info"],
                 dtypes={"info": I32})
        tensors = {"_mat": positive_definite(shape, dtype), "grad_output": normal(shape, dtype),
                   "L": derived(lambda t: torch.linalg.cholesky_ex(t["_mat"], upper=upper)[0], dtype)}
        book.add("diopiCholeskyBackward", name, lambda t: gradient(t, upper), tensors, args, ["grad_mat"])


def triangular_solve(book):
    rows = [([3, 2], [3, 3], True, False, False), ([2, 4, 1], [4, 4], False, True, False),
            ([3, 3], [2, 3, 3], True, True, True), ([2, 3], [2, 2], False, False, True)]
    for dtype, (index, (b, mat, *flags)) in zip(itertools.cycle((F32, F64)), enumerate(rows)):
        tensors = {"b": normal(b, dtype), "mat": positive_definite(mat, dtype)}
        args = dict(zip(("upper", "transpose", "unitriangular"), flags))

        def gradients(t):
            b, mat = (t[n].clone().requires_grad_() for n in ("b", "mat"))
            return torch.autograd.grad(torch.triangular_solve(b, mat, *flags), (b, mat), (t["grad_x"], t["grad_cloned_mat"]))

        book.add("diopiTriangularSolve", f"{tag(dtype)}_{index}",
                 lambda t: torch.triangular_solve(t["b"], t["mat"], *flags), tensors, args, ["out", "cloned_mat"])
        batch = max(b[:-2], mat[:-2])
        solution = derived(lambda t: torch.triangular_solve(t["b"], t["mat"], *flags)[0], dtype)
        tensors |= {"grad_x": normal([*batch, *b[-2:]], dtype), "grad_cloned_mat": normal([*batch, *mat[-2:]], dtype),
                    "x": solution}
        book.add("diopiTriangularSolveBackward", f"{tag(dtype)}_{index}", gradients, tensors, args, ["grad_b", "grad_mat"])


def linalgqr(book):
    for dtype, (shape, mode) in itertools.product((F32, F64), [([4, 3], "reduced"), ([2, 3, 4], "complete"),
                                                               ([4, 2], "complete"), ([2, 3, 3], "r"), ([3, 0], "reduced")]):
        book.add("diopiLinalgQR", f"{tag(dtype)}_{mode}_{len(shape)}_{shape[-1]}",
                 lambda t: torch.linalg.qr(t["A"], mode), {"A": normal(shape, dtype)}, {"mode": mode}, ["Q", "R"])


def spmm(book):
    for dtype, (m, k, n) in itertools.product((F32, F64), [(3, 4, 5), (6, 1, 2), (0, 3, 2)]):
        book.add("diopiSpMM", f"{tag(dtype)}_{m}", lambda t: torch.mm(t["input"], t["mat2"]),
                 {"input": normal([m, k], dtype), "mat2": normal([k, n], dtype)}, {}, ["out"])


def amp_unscale(book):
    """PyTorch 1.13 has the function on GPUs only."""
    book.is_formula = True
    rows = [(0.25, 0.0, 1.0), (0.1, 1.0, 1.0), (3.0, 0.0, INF)]
    for dtype, (index, (scale, found, worst)) in itertools.product(FLOATS, enumerate(rows)):
        def run(t):
            grads = t["scaled_grads"]
            finite = all(bool(g.isfinite().all()) for g in grads)
            wide = F64 if dtype == F64 else F32
            return [(g.to(wide) * t["inv_scale"].to(wide)).to(dtype) for g in grads], \
                t["found_inf"] if finite else torch.ones(1)
        book.add("diopiAmpForeachNonFiniteCheckAndUnscaleInp", f"{tag(dtype)}_{index}", run,
                 {"scaled_grads": [normal([3, 4], dtype), values([worst, 2.0], dtype), normal([0], dtype)],
                  "found_inf": values([found], F32), "inv_scale": values([scale], F32)},
                 {"num_scaled_grads": 3}, ["scaled_grads", "found_inf"])


def amp_update_scale(book):
    """PyTorch 1.13 has the function on GPUs only."""
    book.is_formula = True
    rows = [(8.0, 0, 0.0, 3), (8.0, 2, 0.0, 3), (8.0, 2, 1.0, 3), (3e38, 1, 0.0, 2), (INF, 1, 1.0, 2)]
    for index, (scale, tracker, found, interval) in enumerate(rows):
        tensors = {"current_scale": lambda t: torch.tensor([scale]), "found_inf": lambda t: torch.tensor([found]),
                   "growth_tracker": lambda t: torch.tensor([tracker], dtype=I32)}

        def update(t):
            scale, tracker, found = (t[n] for n in ("current_scale", "growth_tracker", "found_inf"))
            if found:
                return (scale.double() * 0.5).float(), torch.zeros_like(tracker)
            grown = (scale.double() * 2).float()
            due = int(tracker) + 1 == interval
            return grown if due and grown.isfinite() else scale, torch.zeros_like(tracker) if due else tracker + 1

        book.add("diopiAmpUpdateScaleInp", f"float32_{index}", update, tensors,
                 {"scale_growth_factor": 2.0, "scale_backoff_factor": 0.5, "growth_interval": interval},
                 ["current_scale", "growth_tracker"])


LISTS = [[[3, 4], [], [0], [17]], [[5]]]


def foreach(book, op):
    """A function of each tensor of a list, into new tensors and in place."""
    call, numbers = getattr(torch, op), {F32: 1.1, F64: 0.3, F16: -2.0, I32: 3, U8: 200, BOOL: 2, C64: 1.5}
    name = "diopiForeach" + op[9:]
    for dtype, (i, shapes) in [(d, row) for d in numbers for row in enumerate(LISTS if d == F32 else LISTS[:1])]:
        tensors, number = [natural(s, dtype, True) for s in shapes], numbers[dtype]
        args, case = {"inputSize": len(shapes), "other": scalar(number)}, f"{tag(dtype)}_{i}"
        book.add(f"{name}Scalar", case, lambda t: [list(call(t["inputs"], number))], {"inputs": tensors}, args, ["outs"])
        if op == "_foreach_mul":
            book.add(f"{name}Tensor", case, lambda t: [[x * t["other"] for x in t["inputs"]]],
                     {"inputs": tensors, "other": natural([], dtype, True)}, {"inputSize": len(shapes)}, ["outs"])
        if dtype == BOOL:
            continue

        def in_place(t, other=None):
            if other is None:
                getattr(torch, op + "_")(t["inputs"], number)
            return [t["inputs"] if other is None else [x.mul_(other) for x in t["inputs"]]]
        book.add(f"{name}InpScalar", case, in_place, {"inputs": tensors}, args, ["inputs"])
        if op == "_foreach_mul":
            book.add(f"{name}InpTensor", case, lambda t: in_place(t, t["other"]),
                     {"inputs": tensors, "other": natural([], dtype, True)}, {"inputSize": len(shapes)}, ["inputs"])


def foreach_norm(book):
    for dtype, order in crossed(FLOATS, [2, 1, 0, 3.0, -1.0, 0.5], 2):
        shapes = [[3, 4], [], [17]] if order < 0 else LISTS[0]
        book.add("diopiForeachnormScalar", f"{tag(dtype)}_{order}",
                 lambda t: [list(torch._foreach_norm(t["inputs"], order))],
                 {"inputs": [normal(s, dtype) for s in shapes]},
                 {"inputSize": len(shapes), "ord": scalar(order)}, ["outs"])


def fused_adamw(book):
    """One step of AdamW for each parameter; PyTorch's fused function is younger than these files."""
    names = ("params", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs")
    for dtype, (i, (amsgrad, maximize)) in itertools.product(
            (F16, F32, F64), enumerate([(False, False), (True, True), (True, False)])):
        def run(t):
            for k, value in enumerate(t["params"]):
                param = torch.nn.Parameter(value)
                param.grad = t["grads"][k]
                optimiser = torch.optim.AdamW([param], 0.01, (0.9, 0.99), 1e-6, 0.1 * i, amsgrad, maximize=maximize,
                                              foreach=False)
                optimiser.state[param] = {"step": t["state_steps"][k].float() - 1, "exp_avg": t["exp_avgs"][k],
                                          "exp_avg_sq": t["exp_avg_sqs"][k], "max_exp_avg_sq": t["max_exp_avg_sqs"][k]}
                optimiser.step()
            return [t[n] for n in names]
        numbers = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-6, "weight_decay": 0.1 * i, "amsgrad": amsgrad,
                   "maximize": maximize}
        shapes = [[7], [], [2, 3]]
        squares = [uniform(s, dtype, 0.1, 1) for s in shapes]
        tensors = {"params": [normal(s, dtype) for s in shapes], "grads": [normal(s, dtype) for s in shapes],
                   "exp_avgs": [normal(s, dtype) for s in shapes], "exp_avg_sqs": squares, "max_exp_avg_sqs": squares,
                   "state_steps": [values(float(k + 1), F32) for k in range(len(shapes))]}
        book.add("diopiFusedAdamW", f"{tag(dtype)}_{i}", run, tensors, {**numbers, "nums": len(shapes)}, list(names))


def clip_grad_norm(book):
    for dtype, (order, most) in crossed((F64,), [(2.0, 1.0), (1.0, 5.0), (0.0, 1.5), (3.0, -0.5), (-1.0, 100.0)], 5):
        def run(t):
            params = [torch.nn.Parameter(torch.zeros_like(g)) for g in t["grads"]]
            for p, g in zip(params, t["grads"]):
                p.grad = g
            total = torch.nn.utils.clip_grad_norm_(params, most, order)
            return total.to(F64), [p.grad for p in params]
        shapes = [[3, 4], [], [17]] if order < 0 else LISTS[0]
        book.add("diopiClipGradNorm", f"{tag(dtype)}_{order}_{most}", run, {"grads": [normal(s, dtype) for s in shapes]},
                 {"num_grads": len(shapes), "max_norm": most, "norm_type": order, "error_if_nonfinite": False, "out": 0.0},
                 ["out", "grads"])


def unique(book):
    """No value is NaN: beside one, PyTorch 1.13 counts infinity 0 times instead of 2."""
    rows = [([40], None), ([3, 4], None), ([6, 2], 0), ([2, 7], -1), ([], None), ([0], None), ([2, 3, 2], 1), ([3, 0], 1)]
    for dtype, (shape, dim) in crossed([BOOL, U8, I16, I64, *FLOATS], rows, 2):
        few = integers(shape, dtype, 0, 1 if dtype == BOOL or dim is not None else 7)
        for counts, inverse in ((True, True), (False, False)) if dtype == F32 else ((True, True),):
            def run(t):
                out, places, n = torch.unique(t["input"], True, True, True, dim)
                return out, places if inverse else None, n if counts else None
            book.add("diopiUnique", f"{tag(dtype)}_{label(shape)}_dim{dim}_{inverse}", run, {"input": few},
                     {"dim": dim, "sorted": True, "return_counts": counts}, ["out", "indices", "counts"])
    book.add("diopiUnique", "special", lambda t: torch.unique(t["input"], True, True, True),
             {"input": values([2, INF, -INF, 2, INF], F32)}, {"dim": None, "sorted": True, "return_counts": True},
             ["out", "indices", "counts"])


OPERATORS = {
    **{op: lambda book, op=op: unary(book, op) for op in UNARY},
    **{op: lambda book, op=op: foreach(book, op) for op in ("_foreach_add", "_foreach_mul")},
    "_foreach_norm": foreach_norm,
    "clip_grad_norm_": clip_grad_norm,
    **{f.__name__: f for f in (fused_adamw, unique)},
    "abs": lambda book: exact_unary(book, "abs", [*INTS, *FLOATS, C64]),
    "sgn": lambda book: exact_unary(book, "sgn", ALL),
    "sign": lambda book: exact_unary(book, "sign", [BOOL, *INTS, *FLOATS]),
    **{op: lambda book, op=op: exact_unary(book, op, FLOATS) for op in ("floor", "ceil")},
    "logical_not": lambda book: exact_unary(book, "logical_not", ALL),
    "isnan": lambda book: exact_unary(book, "isnan", [BOOL, I32, *FLOATS, C64]),
    "bitwise_not": lambda book: exact_unary(book, "bitwise_not", [BOOL, *INTS]),
    **{op: lambda book, op=op: compared(book, op) for op in ("eq", "ne", "ge", "gt", "le", "lt")},
    **{op: lambda book, op=op: two_operands(book, op, ALL, {}, MIXED) for op in ("logical_and", "logical_or")},
    **{op: lambda book, op=op: two_operands(book, op, [BOOL, *INTS], {I32: [6, -2], U8: [3, -1], BOOL: [True, 3]},
                                            [(U8, I16), (BOOL, I32)]) for op in ("bitwise_and", "bitwise_or")},
    **{op: lambda book, op=op: clamps(book, op) for op in ("clamp", "clamp_min", "clamp_max")},
    **{op: lambda book, op=op: complexes(book, op) for op in ("complex", "polar")},
    **{op: lambda book, op=op: parts(book, op) for op in ("conj", "real", "imag")},
    "equal": equal,
    "remainder": remainder,
    "lerp": lerp,
    **{op: lambda book, op=op: extremes(book, op) for op in ("maximum", "minimum")},
    **{op: lambda book, op=op: added_scaled(book, op) for op in ("addcmul", "addcdiv")},
    **{op: lambda book, op=op: copies(book, op) for op in ("copy_", "cast_dtype")},
    **{op: lambda book, op=op: constants(book, op) for op in ("zeros", "ones", "zero_")},
    **{op: lambda book, op=op: adam(book, op) for op in ("adam", "adamw")},
    **{op: lambda book, op=op: adaptive(book, op) for op in ("adadelta", "rmsprop")},
    "pow": pow_,
    **{f.__name__: f for f in (gelu, threshold, where, expand)},
    **{op: lambda book, op=op: piecewise(book, op) for op in ("hardtanh", "hardswish", "leaky_relu")},
    **{op: lambda book, op=op: triangle(book, op) for op in ("triu", "tril")},
    **{f.__name__: f for f in (embedding, layer_norm, group_norm, masked_fill, arange)},
    **{f.__name__: f for f in (cdist, cholesky_ex, triangular_solve, linalgqr, spmm)},
    "_amp_foreach_non_finite_check_and_unscale_": amp_unscale,
    "_amp_update_scale_": amp_update_scale,
    **{op: lambda book, op=op: binary(book, op) for op in ("add", "sub", "mul", "div")},
    **{op: lambda book, op=op: softmax_family(book, op) for op in ("softmax", "log_softmax")},
    **{op: lambda book, op=op: reduction(book, op) for op in ("mean", "sum")},
    **{op: lambda book, op=op: products(book, op) for op in ("mm", "bmm", "matmul")},
    **{op: lambda book, op=op: added_products(book, op) for op in ("addmm", "baddbmm")},
    "nll_loss_v2": lambda book: nll_loss(book, v2=True),
    "ctc_loss": ctc_loss,
    **{op: lambda book, row=row: element_loss(book, *row) for op, row in ELEMENT_LOSSES.items()},
    **{op: lambda book, op=op: extreme(book, op) for op in ("max", "min")},
    **{op: lambda book, op=op: truth(book, op) for op in ("any", "all")},
    **{f.__name__: f for f in (amax, argmin, std, prod, norm, vector_norm)},
    **{f.__name__: f for f in (sort, argsort, topk, cumsum)},
    "conv2d": lambda book: convolutions(book, 2, "conv2d", CONV, 9),
    "conv3d": lambda book: convolutions(book, 3, "conv3d", CONV3D, 2),
    "conv_transpose2d": lambda book: convolutions(book, 2, "conv_transpose2d", CONV_TRANSPOSE, 3, True),
    "conv_transpose3d": lambda book: convolutions(book, 3, "conv_transpose3d", CONV_TRANSPOSE3D, 2, True),
    **{f.__name__: f for f in (im2col, col2im, unfold)},
    **{f.__name__: f for f in (fill_, relu, batch_norm, linear, nll_loss, cross_entropy, argmax, cat, flip, sgd)},
    **{f"{kind}{sides}d": lambda book, f=f, sides=sides: f(book, sides)
       for kind, f in (("max_pool", max_pool), ("adaptive_avg_pool", adaptive_avg_pool), ("avg_pool", avg_pool),
                       ("adaptive_max_pool", adaptive_max_pool), ("pool", pool_of_mode)) for sides in (1, 2, 3)},
}


# ---- norms that PyTorch has under another name, or on GPUs only: the parts of batch norm are those of the whole ----

def instance_norm(book):
    for dtype, (shape, affine, eps) in crossed(FLOATS, [([2, 3, 4, 5], True, 1e-5), ([3, 2, 7], False, 1e-3),
                                                        ([1, 4, 9], True, 0.5)], 1):
        name, channels = f"{tag(dtype)}_{label(shape)}", shape[1:2]
        tensors = {"input": normal(shape, dtype), "scale": normal(channels, dtype) if affine else None,
                   "bias": normal(channels, dtype) if affine else None}

        def forward(t):
            return torch.instance_norm(t["input"], t["scale"], t["bias"], None, None, True, 0.1, eps, False)

        def backward(t):
            leaves = [t[n] for n in ("input", "scale", "bias") if t[n] is not None]
            with torch.enable_grad():
                grads = torch.autograd.grad(forward({n: x if x is None else x.requires_grad_() for n, x in t.items()}),
                                            leaves, t["grad_output"].detach())
            return [*grads, None, None][:3]

        book.add("diopiInstanceNorm", name, forward, tensors, {"axis": 1, "eps": eps}, ["output"])
        book.add("diopiInstanceNormBackward", name, backward, tensors | {"grad_output": normal(shape, dtype)},
                 {"axis": 1, "eps": eps}, ["grad_input", "grad_scale", "grad_bias"])


def layer_norm_from_axis(book):
    for dtype, (shape, axis, eps) in crossed(FLOATS, [([3, 4, 5], 1, 1e-5), ([6, 7], 1, 1e-3), ([2, 9], 0, 0.5)], 1):
        stats, name, last = F32 if dtype in HALVES else dtype, f"{tag(dtype)}_{label(shape)}_from{axis}", shape[axis:]
        tensors = {"input": normal(shape, dtype), "weight": normal(last, dtype), "bias": normal(last, dtype)}

        def forward(t):
            out, *saved = aten.native_layer_norm(t["input"], last, t["weight"], t["bias"], eps)
            return out, *(s.reshape(shape[:axis]) for s in saved)

        def backward(t):
            saved = (t[n].reshape(shape[:axis] + [1] * len(last)).to(t["input"].dtype)
                     for n in ("running_mean", "running_std"))
            return aten.native_layer_norm_backward(t["grad_output"], t["input"], last, *saved, t["weight"], t["bias"],
                                                   [True, True, True])

        book.add("diopiLayerNormGB", name, forward, tensors, {"begin_norm_axis": axis, "eps": eps},
                 ["out", "running_mean", "running_var"], None, {"running_mean": stats, "running_var": stats})
        tensors |= {"grad_output": normal(shape, dtype),
                    "running_mean": derived(lambda t: forward(t)[1], stats),
                    "running_std": derived(lambda t: forward(t)[2], stats)}
        book.add("diopiLayerNormGBBackward", name, backward, tensors, {"begin_norm_axis": axis},
                 ["grad_input", "grad_weight", "grad_bias"])


CHANNEL_SHAPES = [[3, 4, 2, 5], [6, 4], [2, 4, 7]]


def power_of_two(shape, dtype):
    """1 / sqrt of its power -2 is exact."""
    return lambda t: 2.0 ** torch.randint(-2, 3, shape).to(dtype)


def batch_statistics(x, eps, running=(None, None), momentum=0.1):
    return torch.native_batch_norm(x, None, None, *running, True, momentum, eps)[1:]


def batch_norm_stats(book):
    for dtype, shape in crossed(FLOATS, CHANNEL_SHAPES, 1):
        stats = F32 if dtype in HALVES else dtype
        book.add("diopiBatchNormStats", f"{tag(dtype)}_{label(shape)}", lambda t: batch_statistics(t["input"], 1e-3),
                 {"input": normal(shape, dtype)}, {"eps": 1e-3}, ["mean", "invstd"], None,
                 {"mean": stats, "invstd": stats})


def batch_norm_gather_stats_with_counts(book):
    counts, eps, names = [3, 5, 2], 2.0 ** -10, ["mean", "invstd", "running_mean", "running_var"]
    for running in (True, False):
        def forward(t):
            moving = [t["running_mean"], t["running_var"]]
            return [*batch_statistics(t["input"], eps, moving, 0.25), *moving]

        def of_workers(t, which):
            return torch.stack([batch_statistics(x, eps)[which] for x in t["input"].split(counts)])

        book.add("diopiBatchNormGatherStatsWithCounts", "running" if running else "plain", forward, {
            "input": normal([10, 4], F64), "mean_all": derived(lambda t: of_workers(t, 0), F64),
            "invstd_all": derived(lambda t: of_workers(t, 1), F64), "counts": values(counts, F64),
            "running_mean": normal([4], F64) if running else None,
            "running_var": uniform([4], F64, 0.5, 2) if running else None}, {"momentum": 0.25, "eps": eps}, names)


def batch_norm_elemt(book):
    for dtype, (shape, affine) in crossed(FLOATS, list(zip(CHANNEL_SHAPES, (True, False, True))), 1):
        parameter = normal([4], dtype) if affine else None
        book.add("diopiBatchNormElemt", f"{tag(dtype)}_{label(shape)}",
                 lambda t: torch.native_batch_norm(t["input"], t["weight"], t["bias"], t["mean"], t["invstd"] ** -2,
                                                   False, 0.1, 0)[0],
                 {"input": normal(shape, dtype), "weight": parameter, "bias": parameter, "mean": normal([4], dtype),
                  "invstd": power_of_two([4], dtype)}, {"eps": 0.0}, ["out"])


def batch_gradients(t):
    return aten.native_batch_norm_backward(t["grad_out"], t["input"], t["weight"], None, None, t["mean"], t["invstd"],
                                           True, 0, [True, True, True])


def batch_norm_backward_reduce(book):
    flags = ["input_g", "weight_g", "bias_g"]
    rows = list(zip(CHANNEL_SHAPES, [(True, True, True), (True, False, False), (False, True, True)]))
    for dtype, (shape, wanted) in crossed([F32, F64], rows, 2):
        def forward(t):
            gw, gb = batch_gradients(t)[1:]
            results = [gb, gw / t["invstd"], gw, gb]
            return [x if on else None for x, on in zip(results, [wanted[0], *wanted])]

        book.add("diopiBatchNormBackwardReduce", f"{tag(dtype)}_{label(shape)}", forward,
                 {"grad_out": normal(shape, dtype), "input": normal(shape, dtype), "mean": normal([4], dtype),
                  "invstd": power_of_two([4], dtype), "weight": normal([4], dtype)}, dict(zip(flags, wanted)),
                 ["sum_dy", "sum_dy_xmu", "grad_weight", "grad_bias"])


def batch_norm_backward_elemt(book):
    for dtype, shape in crossed([F32, F64], CHANNEL_SHAPES, 2):
        positions = math.prod(shape) // shape[1]
        book.add("diopiBatchNormBackwardElemt", f"{tag(dtype)}_{label(shape)}", lambda t: batch_gradients(t)[0], {
            "grad_out": normal(shape, dtype), "input": normal(shape, dtype), "mean": normal([4], dtype),
            "invstd": power_of_two([4], dtype), "weight": normal([4], dtype),
            "sum_dy": derived(lambda t: batch_gradients(t)[2], dtype),
            "sum_dy_xmu": derived(lambda t: batch_gradients(t)[1] / t["invstd"], dtype),
            "count": values([2, positions - 2], I32)}, {}, ["grad_input"])


def normalize(book):
    rows = [([3, 4], 2.0, 1, 1e-12), ([2, 3, 4], 1.0, -2, 1e-3), ([5], 3.0, 0, 1e-12), ([2, 6], 2.0, 1, 3.0),
            ([], 2.0, 0, 1e-12)]
    for dtype, (shape, p, axis, eps) in crossed(FLOATS, rows, 2):
        def forward(t):
            return F.normalize(t["input"], p, axis, eps)

        def backward(t):
            with torch.enable_grad():
                return torch.autograd.grad(forward({"input": t["input"].requires_grad_()}), t["input"],
                                           t["grad_output"].detach())

        name, args = f"{tag(dtype)}_{label(shape)}_p{p}_axis{axis}_eps{eps}", {"p": p, "axis": axis, "eps": eps}
        tensors = {"input": normal(shape, dtype)}
        book.add("diopiNormalize", name, forward, tensors, args, ["output"])
        book.add("diopiNormalizeBackward", name, backward, tensors | {"grad_output": normal(shape, dtype)}, args,
                 ["grad_input"])


OPERATORS |= {f.__name__: f for f in (instance_norm, batch_norm_stats, batch_norm_gather_stats_with_counts,
                                      batch_norm_elemt, batch_norm_backward_reduce, batch_norm_backward_elemt,
                                      normalize)}
OPERATORS["layer_normGB"] = layer_norm_from_axis


# ---- elements in another order or number ----

ORDERED = [BOOL, U8, I64, F16, F32, F64, C64]


def stack(book):
    for dtype, (count, shape, dim) in crossed(ORDERED, [(3, [2, 3], 1), (2, [], 0), (1, [4], -1), (2, [2, 0], 2),
                                                        (3, [2, 3], -3)], 2):
        book.add("diopiStack", f"{tag(dtype)}_{count}x{label(shape)}_dim{dim}",
                 lambda t: torch.stack(t["tensors"], dim), {"tensors": [natural(shape, dtype)] * count},
                 {"numTensors": count, "dim": dim}, ["out"])


def split(book):
    for dtype, (shape, sizes, dim) in crossed(ORDERED, [([4, 5], [1, 3, 1], 1), ([7], [0, 7], 0), ([2, 6, 3], [6], -2),
                                                        ([0, 3], [0, 0], 0)], 2):
        book.add("diopiSplitWithSizes", f"{tag(dtype)}_{label(shape)}_{label(sizes)}_dim{dim}",
                 lambda t: [[x.clone() for x in torch.split(t["input"], sizes, dim)]],
                 {"input": natural(shape, dtype)}, {"splitSizes": sizes, "num_outs": len(sizes), "dim": dim}, ["outs"],
                 {"input": column_major})


def meshgrid(book):
    for dtype, sizes in crossed(ORDERED, [[[3], [4]], [[2], [], [3]], [[5]], [[3], [0]]], 2):
        book.add("diopiMeshGrid", f"{tag(dtype)}_{'_'.join(label(s) for s in sizes)}",
                 lambda t: [[x.clone() for x in torch.meshgrid(*t["inputs"], indexing="ij")]],
                 {"inputs": [natural(s, dtype) for s in sizes]}, {"inputsNum": len(sizes)}, ["outs"])


def permute(book):
    for dtype, (shape, dims) in crossed(ORDERED, [([2, 3, 4], [2, 0, 1]), ([3, 5], [-1, 0]), ([], []), ([0, 2], [1, 0]),
                                                  ([2, 3, 2, 3], [0, -2, 1, -1])], 2):
        book.add("diopiPermute", f"{tag(dtype)}_{label(shape)}_{label(dims)}",
                 lambda t: t["input"].permute(dims).clone(), {"input": natural(shape, dtype)}, {"dims": dims}, ["out"])


def transpose(book):
    for dtype, (shape, a, b) in crossed(ORDERED, [([2, 3, 4], 0, -1), ([3, 5], 1, 0), ([], 0, -1), ([0, 2], 0, 1)], 2):
        book.add("diopiTranspose", f"{tag(dtype)}_{label(shape)}_{a}_{b}",
                 lambda t: t["input"].transpose(a, b).clone(), {"input": natural(shape, dtype)}, {"dim0": a, "dim1": b},
                 ["out"], {"input": column_major} if shape else None)


def roll(book):
    for dtype, (shape, shifts, dims) in crossed(ORDERED, [([3, 5], [2, -1], [0, 1]), ([7], [9], [0]), ([2, 3], [2], []),
                                                          ([], [3], []), ([2, 4], [1, 2], [1, 1]), ([0, 3], [1], [-1])],
                                                2):
        book.add("diopiRoll", f"{tag(dtype)}_{label(shape)}_{shifts}_{dims}",
                 lambda t: torch.roll(t["input"], shifts, dims), {"input": natural(shape, dtype)},
                 {"shifts": shifts, "dims": dims}, ["out"])


def pad(book):
    rows = [([3, 4], [1, 2], "constant", 1.5), ([3, 4], [-1, 2, 1, 0], "constant", None), ([4], [0, -2], "constant", 3),
            ([], [], "constant", 1), ([0, 2], [1, 1, 2, 0], "constant", 2)]
    shaped = [([2, 5], [2, 1]), ([1, 2, 5], [4, -1]), ([1, 2, 4, 3], [1, 2, 3, -1])]
    for dtype, (shape, pads, mode, value) in crossed(
            ORDERED, rows + [(s, p, m, None) for m in ("reflect", "replicate", "circular") for s, p in shaped], 5):
        if mode != "constant" and dtype not in FLOATS or dtype == C64:
            continue
        if dtype == BOOL and value not in (None, 1):
            continue
        def run(t):
            if mode == "constant":
                return F.pad(t["input"], pads, mode, value or 0)
            # Dims of size 1 around: PyTorch pads tensors of 3 and 4 dims.
            x = t["input"].float() if dtype == F16 else t["input"]
            return F.pad(x[None] if len(shape) == 2 else x, pads, mode).reshape(
                [n + sum(pads[2 * i:2 * i + 2]) for i, n in enumerate(reversed(shape))][::-1]).to(dtype)
        book.add("diopiPad", f"{tag(dtype)}_{label(shape)}_{pads}_{mode}_{value}", run, {"input": natural(shape, dtype)},
                 {"pad": pads, "mode": mode, "value": None if value is None else float(value)}, ["out"])


def repeat(book):
    for dtype, (shape, times) in crossed(ORDERED, [([2, 3], [2, 1]), ([3], [2, 1, 3]), ([], []), ([2, 3], [0, 2]),
                                                   ([0], [3, 2])], 2):
        book.add("diopiRepeat", f"{tag(dtype)}_{label(shape)}_{label(times)}", lambda t: t["input"].repeat(times),
                 {"input": natural(shape, dtype)}, {"repeats_size": times}, ["out"], {"input": column_major} if shape else None)


def one_hot(book):
    for shape, classes in [([], 5), ([7], -1), ([2, 3], 4), ([0], 3)]:
        book.add("diopiOneHot", f"{label(shape)}_{classes}", lambda t: F.one_hot(t["input"], classes),
                 {"input": integers(shape, I64, 0, 3)}, {"num_classes": classes}, ["out"])


def contiguous(book):
    for dtype, (shape, word) in crossed(ORDERED, [([3, 4], "contiguous"), ([2, 3, 4, 5], "channels_last"),
                                                  ([], "contiguous")], 3):
        book.add("diopiContiguous", f"{tag(dtype)}_{label(shape)}_{word}", lambda t: t["input"].clone(),
                 {"input": natural(shape, dtype)}, {"memoryFormat": word}, ["out"],
                 {"input": column_major} if shape else None)


def linspace(book):
    """Floating numbers in float64, rounded once; PyTorch 1.13 steps through int64 in float32."""
    for dtype, (start, end, steps) in itertools.product([U8, I8, I32, I64, *FLOATS], [
            (0, 10, 4), (3, 3, 3), (7, 2, 9), (1.5, 90.25, 7), (5, 0, 1), (2, 9, 0), (0.1, 0.7, 33)]):
        book.add("diopiLinspace", f"{tag(dtype)}_{start}_{end}_{steps}",
                 lambda t: torch.linspace(start, end, steps, dtype=F64 if dtype in FLOATS else I32).to(dtype), {},
                 {"start": scalar(start), "end": scalar(end), "steps": steps}, ["out"])


# ---- places ----

def select(book):
    for dtype, (shape, dim, at) in crossed(ORDERED, [([3, 4], 1, -2), ([5], 0, 4), ([2, 3, 2], -2, 0), ([2, 0], 0, 1)], 2):
        name, args = f"{tag(dtype)}_{label(shape)}_dim{dim}_{at}", {"dim": dim, "index": at}
        tensors = {"input": natural(shape, dtype)}
        book.add("diopiSelect", name, lambda t: t["input"].select(dim, at).clone(), tensors, args, ["out"])
        if dtype in FLOATS:
            part = torch.empty(shape).select(dim, at).shape
            book.add("diopiSelectBackward", name, lambda t: aten.select_backward(t["grad_output"], shape, dim, at),
                     {"grad_output": natural(part, dtype)}, {**args, "input_sizes": shape}, ["grad_input"])


def select_scatter(book):
    for dtype, (shape, dim, at) in crossed(ORDERED, [([3, 4], 1, -2), ([5], 0, 4), ([2, 3, 2], -2, 0)], 2):
        part = torch.empty(shape).select(dim, at).shape
        book.add("diopiSelectScatter", f"{tag(dtype)}_{label(shape)}_dim{dim}_{at}",
                 lambda t: torch.select_scatter(t["input"], t["src"], dim, at),
                 {"input": natural(shape, dtype), "src": natural(part, dtype)}, {"dim": dim, "index": at}, ["out"])


SLICES = [([3, 7], 1, 1, 6, 2), ([8], 0, -3, 100, 1), ([4, 2], -2, 0, -1, 3), ([5], 0, 4, 2, 1)]


def slice_op(book):
    for dtype, (shape, dim, start, end, step) in crossed(ORDERED, SLICES, 2):
        name = f"{tag(dtype)}_{label(shape)}_dim{dim}_{start}_{end}_{step}"
        args = {"dim": dim, "start": start, "end": end, "step": step}
        book.add("diopiSlice", name, lambda t: aten.slice(t["input"], dim, start, end, step).clone(),
                 {"input": natural(shape, dtype)}, args, ["null_out"])
        if dtype in FLOATS:
            part = aten.slice(torch.empty(shape), dim, start, end, step).shape
            book.add("diopiSliceBackward", name,
                     lambda t: aten.slice_backward(t["grad_output"], shape, dim, start, end, step),
                     {"grad_output": natural(part, dtype)}, {**args, "input_sizes": shape}, ["grad_input"])


def slice_scatter(book):
    for dtype, (shape, dim, start, end, step) in crossed(ORDERED, SLICES, 2):
        part = aten.slice(torch.empty(shape), dim, start, end, step).shape
        book.add("diopiSliceScatter", f"{tag(dtype)}_{label(shape)}_dim{dim}_{start}_{end}_{step}",
                 lambda t: torch.slice_scatter(t["input"], t["src"], dim, start, end, step),
                 {"input": natural(shape, dtype), "src": natural(part, dtype)},
                 {"dim": dim, "start": start, "end": end, "step": step}, ["out"])


def index_select(book):
    for dtype, (shape, dim, count, kind) in crossed(ORDERED, [([3, 4], 0, [7], I64), ([5], -1, [3], I32),
                                                              ([2, 3, 4], 1, [], I64), ([2, 3], 1, [0], I64)], 2):
        name, size = f"{tag(dtype)}_{label(shape)}_dim{dim}_{label(count)}", shape[dim]
        at = {"index": integers(count, kind, 0, size - 1)}
        book.add("diopiIndexSelect", name, lambda t: t["input"].index_select(dim, t["index"]),
                 {"input": natural(shape, dtype), **at}, {"dim": dim}, ["out"])
        if dtype in FLOATS:
            part = list(shape)
            part[dim] = math.prod(count)
            book.add("diopiIndexSelectBackward", name,
                     lambda t: torch.zeros(shape, dtype=t["grad"].dtype).index_add(dim, t["index"].reshape(-1), t["grad"]),
                     {"grad": natural(part, dtype), **at}, {"dim": dim, "input_sizes": shape}, ["grad_input"])


def index_fill(book):
    for dtype, (shape, dim, count) in crossed(ORDERED, [([3, 4], 0, [2]), ([5], -1, []), ([], 0, [2]), ([2, 3, 2], 1, [9]),
                                                        ([0, 2], 1, [0])], 1):
        size = shape[dim] if shape else 1
        tensors = {"input": natural(shape, dtype), "index": integers(count, I64, -size, size - 1)}
        value = True if dtype == BOOL else 3 if dtype in INTS else -1.5
        for suffix in ("", "Inp"):
            name, out = f"{tag(dtype)}_{label(shape)}_dim{dim}_{label(count)}", ["input" if suffix else "out"]
            method = "index_fill" + ("_" if suffix else "")
            book.add(f"diopiIndexFill{suffix}Scalar", name,
                     lambda t: getattr(t["input"], method)(dim, t["index"], value), tensors,
                     {"dim": dim, "value": scalar(value)}, out)
            book.add(f"diopiIndexFill{suffix}", name,
                     lambda t: getattr(t["input"], method)(dim, t["index"], t["value"]),
                     {**tensors, "value": values(value, dtype)}, {"dim": dim}, out)


def gather(book):
    for dtype, (shape, dim, where_) in crossed(ORDERED, [([3, 4], 0, [5, 4]), ([6], -1, [3]), ([], 0, []), ([2, 3, 2], 1,
                                                         [2, 4, 1]), ([3, 4], 1, [0, 3])], 2):
        name = f"{tag(dtype)}_{label(shape)}_dim{dim}_{label(where_)}"
        size = shape[dim] if shape else 1
        tensors = {"input": natural(shape, dtype), "index": integers(where_, I64, 0, size - 1)}
        book.add("diopiGather", name, lambda t: t["input"].gather(dim, t["index"]), tensors, {"dim": dim}, ["out"])
        if dtype in FLOATS:
            book.add("diopiGatherBackward", name,
                     lambda t: torch.zeros_like(t["input"]).scatter_add(dim, t["index"], t["grad_output"]),
                     {**tensors, "grad_output": natural(where_, dtype)}, {"dim": dim}, ["grad_input"])


def distinct_along(shape, dim, size):
    """An index of int64 that names no place twice."""
    return lambda t: torch.argsort(torch.rand([*shape[:dim], size, *shape[dim + 1:]]), dim).narrow(dim, 0, shape[dim])


def scatter(book):
    """Without a reduction no element is named twice: which value it gets is left open."""
    for dtype, (shape, dim, where_, src), reduce in itertools.product(
            ORDERED, [([5, 4], 0, [3, 4], [3, 4]), ([6], 0, [3], [5]), ([2, 3, 4], 1, [2, 2, 3], [2, 3, 3])],
            [None, "add", "multiply"]):
        if dtype not in (F32, I64) and (reduce or len(shape) != 2):
            continue
        at = distinct_along(where_, dim, shape[dim]) if reduce is None else integers(where_, I64, 0, shape[dim] - 1)
        tensors = {"input": natural(shape, dtype, True), "index": at}
        value = True if dtype == BOOL else 3 if dtype in INTS else -1.5
        word = {"reduce": reduce} if reduce else {}
        for suffix in ("", "Inp"):
            name, out = f"{tag(dtype)}_{label(shape)}_dim{dim}_{reduce}", ["input" if suffix else "out"]
            method = "scatter" + ("_" if suffix else "")
            book.add(f"diopiScatter{suffix}", name,
                     lambda t: getattr(t["input"], method)(dim, t["index"], t["src"], **word),
                     {**tensors, "src": natural(src, dtype, True)}, {"dim": dim, "reduce": reduce}, out)
            book.add(f"diopiScatter{suffix}Scalar", name,
                     lambda t: getattr(t["input"], method)(dim, t["index"], value, **word), tensors,
                     {"dim": dim, "value": scalar(value), "reduce": reduce}, out)


INDICES = [  # the shape, and for each dim: the shape of an index, a mask, or None
    ([5, 4], [[3]]), ([5, 4], [None, [2, 3]]), ([5, 4, 3], [[3, 1], None, [2]]), ([5, 4], [[3], [3]]),
    ([3, 4, 2], ["mask2"]), ([3, 4], [None, "mask1"]), ([4, 3, 2], ["mask1", None, []]), ([4, 0], [[2]])]


def index_tensors(shape, rows):
    built, d = [], 0
    for row in rows:
        if row is None:
            built.append(lambda t: None)
        elif isinstance(row, str):
            dims = int(row[-1])
            built.append(integers(shape[d:d + dims], BOOL, 0, 1))
            d += dims - 1
        else:
            built.append(integers(row, I64, -shape[d], shape[d] - 1))
        d += 1
    return built


def index(book):
    for dtype, (number, (shape, rows)) in crossed(ORDERED, list(enumerate(INDICES)), 4):
        tensors = {"input": natural(shape, dtype), "indices": index_tensors(shape, rows)}
        name = f"{tag(dtype)}_{number}"
        take_ = lambda t: aten.index(t["input"], t["indices"])
        book.add("diopiIndex", name, take_, tensors, {"nums": len(rows)}, ["out"])
        if dtype not in FLOATS:
            continue
        grad = lambda t: natural(aten.index(torch.empty(shape), t["indices"]).shape, dtype)(t)
        book.add("diopiIndexBackward", name,
                 lambda t: (t["zeros_like_input"], aten.index_put(
                     torch.zeros(shape, dtype=t["grad_output"].dtype), t["indices"], t["grad_output"], True)),
                 {"indices": tensors["indices"], "zeros_like_input": lambda t: torch.zeros(shape, dtype=dtype),
                  "grad_output": grad}, {"nums": len(rows)}, ["zeros_like_input", "grad_input"],
                 unspecified=["zeros_like_input"])


def index_put(book):
    """Without accumulate all values are one: which of several an element gets is left open."""
    for dtype, (number, (shape, rows)), accumulate in itertools.product(ORDERED, enumerate(INDICES), [False, True]):
        if dtype not in (F32, I64) and number > 2 or accumulate and dtype in (BOOL, F16, C64):
            continue
        tensors = {"input": natural(shape, dtype, True), "indices": index_tensors(shape, rows)}
        whole = lambda t: natural(aten.index(torch.empty(shape), t["indices"]).shape, dtype, True)(t)
        tensors["values"] = whole if accumulate else natural([], dtype, True)
        args = {"indices_counts": len(rows), "accumulate": accumulate}
        for suffix in ("", "Inp"):
            book.add(f"diopiIndexPut{suffix}", f"{tag(dtype)}_{number}_{accumulate}",
                     lambda t: aten.index_put(t["input"], t["indices"], t["values"], accumulate), tensors, args,
                     ["input" if suffix else "out"])


def embedding_renorm_(book):
    for dtype, kind, (shape, where_, most, power) in itertools.product([F16, F32, F64], [I64, I32], [
            ([5, 7], [3], 1.0, 2.0), ([4, 3], [2, 3], 0.5, 1.0), ([6, 33], [9], 2.0, 3.0), ([3, 2], [0], 1.0, 2.0)]):
        book.add("diopiEmbeddingRenorm_", f"{tag(dtype)}_{tag(kind)}_{label(shape)}_{power}",
                 lambda t: aten.embedding_renorm_(t["inout"], t["indices"], most, power),
                 {"inout": natural(shape, dtype), "indices": integers(where_, kind, 0, shape[0] - 1)},
                 {"max_norm": most, "norm_type": power}, ["inout"])


MASKED = [([9], [9]), ([4, 5], [5]), ([4, 5], [4, 1]), ([], []), ([0], [1])]


def masked_scatter(book):
    for dtype, (shape, mask) in crossed(ORDERED, MASKED, 3):
        book.add("diopiMaskedScatter", f"{tag(dtype)}_{label(shape)}_by_{label(mask)}",
                 lambda t: t["input"].masked_scatter(t["mask"], t["source"]),
                 {"input": natural(shape, dtype), "mask": integers(mask, BOOL, 0, 1),
                  "source": natural([math.prod(shape) + 2], dtype)}, {}, ["out"])


def masked_select(book):
    for dtype, (shape, mask) in crossed(ORDERED, MASKED + [([4], [3, 4]), ([1, 3], [2, 1])], 3):
        name = f"{tag(dtype)}_{label(shape)}_by_{label(mask)}"
        tensors = {"input": natural(shape, dtype), "mask": integers(mask, BOOL, 0, 1)}
        book.add("diopiMaskedSelect", name, lambda t: t["input"].masked_select(t["mask"]), tensors, {}, ["out"])
        if dtype in FLOATS:
            grad = lambda t: natural(t["input"].masked_select(t["mask"]).shape, dtype)(t)
            book.add("diopiMaskedSelectBackward", name,
                     gradient_of_select, {**tensors, "grad_output": grad}, {}, ["grad_input"])


def gradient_of_select(t):
    x = t["input"].detach().requires_grad_()
    x.masked_select(t["mask"]).backward(t["grad_output"])
    return x.grad


def nonzero(book):
    for dtype, shape in crossed(ORDERED, [[17], [3, 4], [2, 3, 2], [], [0, 2]], 3):
        book.add("diopiNonzero", f"{tag(dtype)}_{label(shape)}", lambda t: torch.nonzero(t["input"]),
                 {"input": lambda t: natural(shape, dtype)(t) * integers(shape, I64, 0, 1)(t).to(dtype)}, {}, ["out"])
    book.add("diopiNonzero", "special", lambda t: torch.nonzero(t["input"]), {"input": values(SPECIAL, F32)}, {}, ["out"])


# ---- images: boxes and regions are those of torchvision, by its formulas ----

# Positions of cubic convolution are exact in float32 here: the weights, with slopes above one, take over their errors.
RESIZED = [("nearest", [1, 2, 5, 6], [9, 4], None), ("bilinear", [1, 2, 5, 6], [9, 4], False),
           ("bicubic", [2, 1, 6, 5], [11, 9], True), ("trilinear", [1, 2, 3, 4, 5], [4, 2, 7], False),
           ("nearest", [2, 3, 7], [11], None), ("nearest", [1, 2, 3, 4, 5], [4, 2, 7], None),
           ("linear", [2, 3, 7], [11], False), ("linear", [2, 3, 7], [4], True), ("bilinear", [1, 2, 5, 6], [5, 13], True),
           ("bicubic", [1, 2, 5, 6], [10, 3], False), ("trilinear", [1, 1, 3, 4, 2], [1, 7, 5], True)]


def interpolate(book):
    for dtype, (mode, shape, size, corners) in crossed(FLOATS, RESIZED, 4):
        name = f"{tag(dtype)}_{mode}_{label(shape)}_{label(size)}_{corners}"
        kind = "Nearest" if mode == "nearest" else "Linear"
        args = {} if kind == "Nearest" else {"align_corners": corners, "mode": mode}

        def forward(t):
            return F.interpolate(t["input"], size=size, mode=mode, align_corners=corners)

        def backward(t):
            x = torch.zeros(shape, dtype=t["grad_output"].dtype, requires_grad=True)
            return torch.autograd.grad(forward({"input": x}), x, t["grad_output"])[0]

        book.add(f"diopiUpsample{kind}", name, forward, {"input": normal(shape, dtype)}, {"size": size, **args}, ["out"],
                 {"input": channels_last} if dtype == F32 else None)
        book.add(f"diopiUpsample{kind}Backward", name, backward, {"grad_output": normal([*shape[:2], *size], dtype)},
                 {"out_size": size, "in_size": shape, **args}, ["grad_input"])


def points(shape, dtype):
    """In 32nds: exact positions, none in the middle between two elements of five or six."""
    return lambda t: ((torch.randint(-20, 20, shape).to(F64) * 2 + 1) / 32).to(dtype)


def grid_sample(book):
    rows = [("bilinear", [2, 3, 5, 6], [4, 3]), ("nearest", [2, 3, 5, 6], [4, 3]), ("bicubic", [1, 2, 5, 6], [3, 7]),
            ("bilinear", [1, 2, 3, 4, 5], [2, 3, 4]), ("nearest", [1, 2, 3, 4, 5], [2, 3, 4]), ("bilinear", [0, 2, 3, 3], [2, 2])]
    for dtype, (mode, shape, size) in crossed(FLOATS, rows, 3):
        book.add("diopiGridSample", f"{tag(dtype)}_{mode}_{label(shape)}_{label(size)}",
                 lambda t: F.grid_sample(t["input"], t["grid"], mode, "zeros", False),
                 {"input": normal(shape, dtype), "grid": points([shape[0], *size, len(size)], dtype)},
                 {"mode": mode}, ["out"])


def sampled(plane, y, x):
    """The value of planes (C, H, W) at a point: linear between elements, and nothing from one element outside on."""
    height, width = plane.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return torch.zeros_like(plane[:, 0, 0])
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    upper = plane[:, top, left] * (1 - x + left) + plane[:, top, right] * (x - left)
    lower = plane[:, bottom, left] * (1 - x + left) + plane[:, bottom, right] * (x - left)
    return upper * (1 - y + top) + lower * (y - top)


def pooled_regions(x, rois, scale, height, width, ratio, aligned):
    out = []
    for image, x1, y1, x2, y2 in rois.tolist():
        x1, y1, x2, y2 = (v * scale - 0.5 * aligned for v in (x1, y1, x2, y2))
        sides = [y2 - y1, x2 - x1] if aligned else [max(y2 - y1, 1.0), max(x2 - x1, 1.0)]
        bins = [sides[0] / height, sides[1] / width]
        rows, columns = (ratio if ratio > 0 else math.ceil(b) for b in bins)
        means = [sum(sampled(x[int(image)], y1 + bins[0] * (i + (r + 0.5) / rows), x1 + bins[1] * (j + (c + 0.5) / columns))
                     for r in range(rows) for c in range(columns)) / (rows * columns)
                 for i in range(height) for j in range(width)]
        out.append(torch.stack(means, 1).reshape(-1, height, width))
    return torch.stack(out)


REGIONS = [[1, 0.5, 1.25, 5.3, 4.1], [0, -3.2, -1.6, 2.7, 3.9], [1, 3.1, 2.2, 9.6, 8.3], [0, 1.1, 1.3, 1.4, 1.7]]


def roi_align(book):
    """torchvision has the function, with its gradient; its 0.14.1 gives these values within 5e-7."""
    book.is_formula = True
    rows = [(1.0, 3, 2, -1, False), (1.0, 2, 3, 2, True), (0.5, 2, 2, 0, True), (0.5, 1, 4, 1, False)]
    for dtype, (scale, height, width, ratio, aligned) in crossed(FLOATS, rows, 2):
        name = f"{tag(dtype)}_{scale}_{height}x{width}_{ratio}_{aligned}"
        args = {"spatial_scale": scale, "pooled_height": height, "pooled_width": width, "sampling_ratio": ratio,
                "aligned": aligned}
        shape = [2, 3, 6, 7]

        def forward(t):
            return pooled_regions(t["input"], t["rois"], scale, height, width, ratio, aligned)

        def backward(t):
            x = torch.zeros(shape, dtype=t["grad"].dtype, requires_grad=True)
            return torch.autograd.grad(forward({"input": x, "rois": t["rois"]}), x, t["grad"])[0]

        regions = {"rois": values(REGIONS, dtype)}
        book.add("diopiRoiAlign", name, forward, {"input": normal(shape, dtype), **regions}, args, ["out"])
        sizes = dict(zip(("batch_size", "channels", "height", "width"), shape))
        book.add("diopiRoiAlignBackward", name, backward, {"grad": normal([4, 3, height, width], dtype), **regions},
                 {**args, **sizes}, ["out"])


def nms(book):
    """torchvision has the function; its 0.14.1 gives these values."""
    book.is_formula = True

    def kept(t, threshold):
        boxes, found = t["boxes"].tolist(), []
        for i in t["confidence"].sort(stable=True, descending=True)[1].tolist():
            def overlap(a, b):
                shared = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
                return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)
            if all(overlap(boxes[k], boxes[i]) <= threshold for k in found):
                found.append(i)
        return torch.tensor(found, dtype=I64)

    def corners(count, dtype):
        def draw(t):
            low, side = torch.randint(0, 12, [count, 2]), torch.randint(1, 9, [count, 2])
            return torch.cat([low, low + side], 1).to(dtype)
        return draw

    for dtype, (count, threshold) in itertools.product(FLOATS, [(30, 0.307), (30, 0.713), (1, 0.5), (0, 0.5)]):
        book.add("diopiNms", f"{tag(dtype)}_{count}_{threshold}", lambda t: kept(t, threshold),
                 {"boxes": corners(count, dtype), "confidence": uniform([count], dtype)}, {"iou_threshold": threshold}, ["out"])
    book.add("diopiNms", "ties", lambda t: kept(t, 0.307), {"boxes": corners(20, F32), "confidence": integers([20], F32, 0, 2)},
             {"iou_threshold": 0.307}, ["out"])


OPERATORS |= {f.__name__: f for f in (
    interpolate, grid_sample, roi_align, nms,
    stack, split, meshgrid, permute, transpose, roll, pad, repeat, one_hot, contiguous, linspace, select, select_scatter,
    slice_op, slice_scatter, index_select, index_fill, gather, scatter, index, index_put, embedding_renorm_,
    masked_scatter, masked_select, nonzero)}


# ---- attention to cached keys and values, and within prompts: PyTorch has not these functions ----

# Lengths, heads of keys, query heads for each, numbers of a head.
CACHED = [([3, 5, 0], 2, 1, 8), ([1], 1, 4, 5), ([70, 2], 1, 2, 3), ([65], 2, 3, 1)]


def attended(q, k, v, hidden=None):
    """softmax(q k^T / sqrt(d)) v of (queries, d), (keys, d); 0 where all keys are hidden."""
    scores = q @ k.T / math.sqrt(q.shape[-1])
    if hidden is not None:
        scores = scores.masked_fill(hidden, -INF)
    return torch.nan_to_num(torch.softmax(scores, -1)) @ v


def numbers(rows):
    return lambda t: torch.tensor(rows, dtype=I32)


def token_slots(lengths, slots):
    """b_loc, whose unused columns hold -1, and the other arguments of the tokens' places."""
    used, longest, starts = torch.randperm(slots).tolist(), max(lengths), list(itertools.accumulate([0, *lengths]))
    table = [[-1] * (longest - n) + used[start:start + n] + [-1] for n, start in zip(lengths, starts)]
    return {"b_loc": numbers(table), "b_start_loc": numbers(starts[:-1]), "b_seq_len": numbers(lengths)}, longest


def cached_rows(t, cache, b):
    """The rows of sequence b."""
    longest, n = t["b_loc"].shape[1] - 1, int(t["b_seq_len"][b])
    return t[cache][t["b_loc"][b, longest - n:longest].long()]


def destindex_copy_kv(book):
    book.is_formula = True
    for dtype, (slots, heads, d) in itertools.product(FLOATS, [([3, 0, 6], 2, 4), ([5], 1, 3), ([], 2, 2)]):
        book.add("diopiDestIndexCopyKV", f"{tag(dtype)}_{len(slots)}",
                 lambda t: t["out"].index_copy(0, t["dest_loc"].long(), t["k"]),
                 {"out": normal([7, heads, d], dtype), "k": normal([len(slots), heads, d], dtype),
                  "dest_loc": numbers(slots)}, {}, ["out"])


def token_attention(book):
    book.is_formula = True
    for dtype, (lengths, heads, _, d) in crossed(FLOATS, CACHED, 2):
        slots = sum(lengths) + 3
        torch.manual_seed(slots)
        places, longest = token_slots(lengths, slots)

        def scores(t):
            rows = [torch.einsum("hd,jhd->hj", t["q"][b], cached_rows(t, "k", b)) for b in range(len(lengths))]
            return torch.cat(rows, 1) / math.sqrt(d)
        book.add("diopiTokenAttentionInference", f"{tag(dtype)}_{label(lengths)}_{d}", scores,
                 {"token_attention_out": normal([heads, sum(lengths)], dtype),
                  "q": normal([len(lengths), heads, d], dtype), "k": normal([slots, heads, d], dtype), **places},
                 {"max_input_len": longest}, ["token_attention_out"])


def token_softmax_reducev(book):
    book.is_formula = True
    for dtype, (lengths, heads, _, d) in crossed(FLOATS, CACHED, 2):
        slots = sum(lengths) + 3
        torch.manual_seed(slots)
        places, longest = token_slots(lengths, slots)

        def values_of(t):
            return torch.stack([torch.einsum("hj,jhd->hd", torch.softmax(part, 1), cached_rows(t, "v", b))
                                for b, part in enumerate(t["logics"].split(lengths, 1))])
        book.add("diopiTokenSoftmaxReduceVInference", f"{tag(dtype)}_{label(lengths)}_{d}", values_of,
                 {"out": normal([len(lengths), heads, d], dtype), "logics": normal([heads, sum(lengths)], dtype, 3.0),
                  "v": normal([slots, heads, d], dtype), **places},
                 {"max_input_len": longest, "other_kv_index": 1}, ["out"])


def by_head(t, name, heads):
    return t[name].reshape(t[name].shape[0], heads, -1)


def grouped(q, k, v, hidden, heads, group):
    """Attention of each head of q to the head of k and v that it shares with its group."""
    return torch.stack([attended(q[:, h], k[:, h // group], v[:, h // group], hidden)
                        for h in range(heads * group)], 1).flatten(1)


def paged_attention(book):
    book.is_formula = True
    for (dtype, (lengths, heads, group, d)), masked in itertools.product(crossed(FLOATS, CACHED, 2), [False, True]):
        size, longest = 4, max(lengths)
        needed = [-(-n // size) for n in lengths]
        torch.manual_seed(longest)
        pages = torch.randperm(sum(needed) + 2).tolist()
        starts = list(itertools.accumulate([0, *needed]))
        table = [pages[start:start + n] + [-1] * (max(needed) + 1 - n) for n, start in zip(needed, starts)]

        def out(t):
            rows = []
            for b, n in enumerate(lengths):
                at = [table[b][j // size] * size + j % size for j in range(n)]
                hidden = t["attenMask"][b:b + 1, :n] if masked else None
                q = by_head(t, "q", heads * group)[b:b + 1]
                rows.append(grouped(q, by_head(t, "k", heads)[at], by_head(t, "v", heads)[at], hidden, heads, group))
            return torch.cat(rows)
        cache = [len(pages) * size, heads * d]
        tensors = {"q": normal([len(lengths), heads * group * d], dtype), "k": normal(cache, dtype),
                   "v": normal(cache, dtype), "block_table": numbers(table),
                   "attenMask": integers([len(lengths), longest], BOOL, 0, 1) if masked else None}
        book.add("diopiPagedAttention", f"{tag(dtype)}_{label(lengths)}_{d}{'_masked' * masked}", out, tensors,
                 {"actual_seq_lengths": lengths, "num_heads": heads * group, "num_kv_heads": heads, "dim": d,
                  "block_size": size}, ["out"])


PROMPTS = [([3, 5, 0], 2, 1, 8), ([1], 1, 4, 5), ([18, 2], 1, 2, 3), ([65], 1, 2, 1)]


def context_attention(book):
    book.is_formula = True
    for dtype, (lengths, heads, _, d) in crossed(FLOATS, PROMPTS, 2):
        starts = list(itertools.accumulate([0, *lengths]))

        def out(t):
            rows = []
            for n, start in zip(lengths, starts):
                q, k, v = (t[name][start:start + n] for name in "qkv")
                later = torch.ones(n, n, dtype=BOOL).triu(1)
                rows.append(grouped(q, k, v, later, heads, 1).reshape(n, heads, d))
            return torch.cat(rows)
        tensors = {name: normal([sum(lengths), heads, d], dtype) for name in ("q", "k", "v", "context_attention_out")}
        book.add("diopiContextAttentionInference", f"{tag(dtype)}_{label(lengths)}_{d}", out,
                 {**tensors, "b_start_loc": numbers(starts[:-1]), "b_seq_len": numbers(lengths)},
                 {"max_input_len": max(lengths)}, ["context_attention_out"])


def prompt_flash_attention(book):
    book.is_formula = True
    for (dtype, (lengths, heads, group, d)), masked in itertools.product(crossed(FLOATS, PROMPTS, 2), [False, True]):
        starts, longest = list(itertools.accumulate([0, *lengths])), max(lengths)

        def out(t):
            rows = []
            for b, (n, start) in enumerate(zip(lengths, starts)):
                q, k, v = (by_head(t, name, h)[start:start + n]
                           for name, h in (("query", heads * group), ("key", heads), ("value", heads)))
                rows.append(grouped(q, k, v, t["atten_mask"][b, :n, :n] if masked else None, heads, group))
            return torch.cat(rows)
        tensors = {"query": normal([sum(lengths), heads * group * d], dtype),
                   "key": normal([sum(lengths), heads * d], dtype), "value": normal([sum(lengths), heads * d], dtype),
                   "atten_mask": integers([len(lengths), longest, longest], BOOL, 0, 1) if masked else None}
        book.add("diopiPromptFlashAttention", f"{tag(dtype)}_{label(lengths)}_{d}{'_masked' * masked}", out, tensors,
                 {"actual_seq_lengths": lengths, "max_input_len": longest, "num_heads": heads * group,
                  "num_kv_heads": heads, "dim": d}, ["out"])


OPERATORS |= {f.__name__: f for f in (destindex_copy_kv, token_attention, token_softmax_reducev, paged_attention,
                                      context_attention, prompt_flash_attention)}


# ---- attention: functions that PyTorch 1.13 has not, by their formulas ----

def in_float64(fn):
    """fn of the float64 values, each result rounded once to the dtype of the first tensor."""
    def run(t):
        dtype = next(x.dtype for x in t.values() if x is not None and x.is_floating_point())
        results = fn(widen(t))
        results = results if isinstance(results, (tuple, list)) else (results,)
        return [None if x is None else x.detach().to(dtype) for x in results]
    return run


def rotated(x, cos, sin, interleaved):
    """x with its pairs (a, b) as (a cos - b sin, a sin + b cos)."""
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    pair = a * cos - b * sin, a * sin + b * cos
    return torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)


def rotary_emb(book):
    book.is_formula = True
    rows = [([2, 5, 3, 8], [5, 1, 4], None), ([6], [3], None), ([3, 34], [3, 17], None), ([2, 4, 2, 6], [4, 1, 3], gapped),
            ([2, 3, 2], [2, 3, 1], None), ([2, 0, 3, 8], [0, 1, 4], None)]
    for index, (dtype, (shape, angles, layout)) in enumerate(crossed(FLOATS, rows, 3)):
        for conj, interleaved in [(index % 2 == 0, False), (index % 3 == 0, True)]:
            def run(t):
                return rotated(t["x"], t["cos"], -t["sin"] if conj else t["sin"], interleaved)
            tensors = {"x": normal(shape, dtype), "cos": lambda t: uniform(angles, F64, -3, 3)(t).cos().to(dtype),
                       "sin": lambda t: uniform(angles, F64, -3, 3)(t).sin().to(dtype)}
            book.add("diopiRotaryEmbedding", f"{tag(dtype)}_{label(shape)}_{conj}_{interleaved}", in_float64(run), tensors,
                     {"conj": conj, "interleaved": interleaved}, ["out"], {"x": layout} if layout else None)


def rotary_emb_v2(book):
    book.is_formula = True
    rows = [([5, 24], [5, 8], 8), ([5, 3, 8], [5, 2, 8], 8), ([3, 34], [3, 1, 34], 34), ([2, 4, 2], [2, 2], 2)]
    for dtype, (query, key, dim) in crossed(FLOATS, rows, 3):
        def run(t):
            cos, sin = t["cos"], t["sin"]

            def turn(x):
                heads = x.reshape(x.shape[0], -1, dim)
                a, b = heads.chunk(2, -1)
                return (heads * cos + torch.cat([-b, a], -1) * sin).reshape(x.shape)
            return turn(t["query"]), turn(t["key"])
        angles = [query[0], 1, dim]
        tensors = {"query": normal(query, dtype), "key": normal(key, dtype), "cos": uniform(angles, dtype, -1, 1),
                   "sin": uniform(angles, dtype, -1, 1)}
        book.add("diopiRotaryEmbeddingV2", f"{tag(dtype)}_{label(query)}", in_float64(run), tensors, {"dim": dim},
                 ["query", "key"])


def over_rms(x, last, eps):
    """x divided by its root mean square over the last dims, and the reciprocal of the root."""
    inverse = (x.square().mean(last, keepdim=True) + eps).rsqrt()
    return x * inverse, inverse


def rms_norm(book):
    book.is_formula = True
    rows = [([5, 17], 1, True, True, 1e-6, None), ([2, 3, 4], 2, True, False, 0.01, None), ([33], 1, False, False, 0.5, None),
            ([4, 6], 1, False, True, 1e-5, column_major), ([3, 1], 1, True, True, 0.1, None), ([0, 3], 1, True, True, 0.1, None)]
    for dtype, (shape, count, weight, bias, eps, layout) in crossed(FLOATS, rows, 3):
        last, stats = list(range(-count, 0)), F32 if dtype in HALVES else dtype
        name, normalized = f"{tag(dtype)}_{label(shape)}", shape[-count:]
        tensors = {"input": normal(shape, dtype), "weight": normal(normalized, dtype) if weight else None,
                   "bias": normal(normalized, dtype) if bias else None}
        args = {"normalized_shape": normalized, "eps": eps}
        layout = {"input": layout} if layout else None

        def out(t):
            y = over_rms(t["input"], last, eps)[0]
            y = y if t["weight"] is None else y * t["weight"]
            return y if t["bias"] is None else y + t["bias"]

        def inverse(t):
            return over_rms(t["input"], last, eps)[1].reshape(shape[:-count])

        book.add("diopiRMSNorm", name, lambda t: in_float64(out)(t) + [inverse(widen(t)).to(stats)], tensors, args,
                 ["out", "inv_rms"], layout)

        def backward(t):
            given = {n: x if x is None else x.requires_grad_() for n, x in t.items() if n in tensors}
            wanted = [n for n in tensors if given[n] is not None]
            grads = dict(zip(wanted, torch.autograd.grad(out(given), [given[n] for n in wanted], t["grad_output"])))
            return [grads.get(n) for n in tensors]

        book.add("diopiRMSNormBackward", name, in_float64(backward),
                 {**tensors, "inv_rms": derived(inverse, stats), "grad_output": normal(shape, dtype)}, args,
                 ["grad_input", "grad_weight", "grad_bias"], layout)


def root_mean_square_norm(book):
    book.is_formula = True
    # eps is a float: these numbers are the same in float64.
    for dtype, (shape, eps) in crossed(FLOATS, [([5, 17], 2**-20), ([3, 33], 0.5), ([4, 1], 0.125), ([0, 4], 1.0)], 2):
        book.add("diopiRootMeanSquareNormInp", f"{tag(dtype)}_{label(shape)}",
                 in_float64(lambda t: over_rms(t["inoutput"], [-1], eps)[0] * t["scale"]),
                 {"inoutput": normal(shape, dtype), "scale": normal(shape[1:], dtype)}, {"eps": eps}, ["inoutput"])


def fused_add_root_mean_square_norm(book):
    book.is_formula = True
    rows = [([5, 17], True, 2**-20), ([3, 33], False, 0.5), ([4, 1], True, 0.125), ([0, 4], True, 1.0)]
    for dtype, (shape, bias, eps) in crossed(FLOATS, rows, 2):
        def run(t):
            total = t["residual"] + t["inoutput"] + (0 if t["bias"] is None else t["bias"])
            return over_rms(total, [-1], eps)[0] * t["scale"], total
        tensors = {"inoutput": normal(shape, dtype), "residual": normal(shape, dtype), "scale": normal(shape[1:], dtype),
                   "bias": normal(shape[1:], dtype) if bias else None}
        book.add("diopiFusedAddRootMeanSquareNormInp", f"{tag(dtype)}_{label(shape)}", in_float64(run), tensors,
                 {"eps": eps}, ["inoutput", "residual"])


def scaled_masked_softmax(book):
    book.is_formula = True
    rows = [([2, 2, 3, 5], [2, 1, 3, 5], 0.5, False), ([1, 2, 4, 4], [4, 4], 0.125, True),
            ([1, 1, 2, 17], [1, 1, 1, 1], 1.0, False), ([2, 1, 3, 2], [3, 1], -2.0, False), ([1, 1, 2, 33], [1, 1, 2, 33], 3.0, False)]
    for dtype, (shape, masked, scale, triangle) in crossed(FLOATS, rows, 3):
        def hidden(t, scores):
            behind = torch.ones(shape[-2:], dtype=BOOL).triu(1)
            return (behind if triangle else t["mask"]).expand(scores.shape)

        def forward(t):
            scores = t["input"] * scale
            return scores.masked_fill(hidden(t, scores), -10000.0).softmax(-1)

        def by_autograd(t):
            x = t["_input"].requires_grad_()
            return torch.autograd.grad(forward({"input": x, "mask": t["mask"]}), x, t["grad_output"])[0]

        def backward(t):
            """From the saved output, which is rounded."""
            g, y = t["grad_output"], t["output"]
            grad = (scale * y * (g - (g * y).sum(-1, keepdim=True))).masked_fill(hidden(t, y), 0)
            assert torch.allclose(grad, by_autograd(t), rtol=0.1, atol=0.1 * abs(scale))
            return grad

        name = f"{tag(dtype)}_{label(shape)}_{triangle}"
        mask = {"mask": integers(masked, BOOL, 0, 1) if masked != [1, 1, 1, 1] else values([[[[1]]]], BOOL)}
        args = {"scale": scale, "fixed_triu_mask": triangle}
        book.add("diopiScaledMaskedSoftmax", name, in_float64(forward), {"input": normal(shape, dtype), **mask}, args,
                 ["output"])
        saved = {"_input": normal(shape, F64), **mask,
                 "output": lambda t: forward({"input": t["_input"], "mask": t["mask"]}).to(dtype)}
        book.add("diopiScaledMaskedSoftmaxBackward", name, in_float64(backward),
                 {"grad_output": normal(shape, dtype), **saved}, args, ["grad_input"])


def fused_silu_ffn(book):
    book.is_formula = True
    for dtype, (tokens, hidden, inter) in crossed(FLOATS, [(3, 7, 5), (2, 33, 17), (1, 1, 1), (0, 3, 4), (2, 3, 0)], 2):
        def run(t):
            x = t["inoutput"]
            return (F.silu(x @ t["weight1"]) * (x @ t["weight3"])) @ t["weight2"]
        small = 1 / math.sqrt(max(hidden, inter, 4))  # so that all numbers in between are of size one
        tensors = {"inoutput": normal([tokens, hidden], dtype), "weight1": normal([hidden, inter], dtype, small),
                   "weight2": normal([inter, hidden], dtype, small), "weight3": normal([hidden, inter], dtype, small)}
        args = {"workspace": None, "workspace_size": -1, "fusion_level": 0}
        book.add("diopiFusedSiluFfnInp", f"{tag(dtype)}_{tokens}x{hidden}x{inter}", in_float64(run), tensors, args, ["inoutput"])


def matmul_all_reduce(book):
    book.is_formula = True
    for dtype, ((m, k, n), bias) in crossed(FLOATS, [((3, 7, 5), True), ((2, 65, 3), False), ((4, 0, 2), True)], 2):
        def run(t):
            return t["x1"] @ t["x2"] + (0 if t["bias"] is None else t["bias"])
        tensors = {"x1": normal([m, k], dtype), "x2": normal([k, n], dtype), "bias": normal([n], dtype) if bias else None}
        args = {"group": "world", "reduce_op": "sum", "comm_turn": 0, "stream_mode": 1}
        book.add("diopiMatmulAllReduce", f"{tag(dtype)}_{m}x{k}x{n}", in_float64(run), tensors, args, ["out"])


# heads of q, of k, size, layers, room, rotated numbers, rope_theta
FUSED_LAYERS = [(2, 2, 4, 1, 9, 4, 10000.0), (4, 1, 6, 2, 8, 4, 100.0), (3, 3, 3, 2, 7, 0, 1.0),
                (2, 1, 5, 1, 68, 2, 10000.0)]


def signed_choice(rows, columns, dtype):
    """A matrix whose columns have one element, 1 or -1."""
    def draw(t):
        return torch.zeros(rows, columns).scatter(0, torch.randint(0, rows, [1, columns]),
                                                  torch.randint(0, 2, [1, columns]).float() * 2 - 1).to(dtype)
    return draw


def layer_of(dtype, row):
    """In half types nothing is rotated: q, k and v are numbers of inoutput, whose rounding, which is left open, does
    nothing."""
    return (*row[:5], 0, row[6]) if dtype in HALVES else row


def layer_tensors(dtype, batch, tokens, row):
    """The tensors of an attention layer; q and k are of size one."""
    heads, shared, size, layers, room, _, _ = row
    width, columns = heads * size, (heads + 2 * shared) * size
    cache, biased = [layers, batch, shared, room, size], shared == heads and dtype not in HALVES
    return {"inoutput": normal([tokens, width], dtype),
            "qkv_weight": signed_choice(width, columns, dtype) if dtype in HALVES else
            normal([width, columns], dtype, width ** -0.5),
            "qkv_bias": normal([columns], dtype) if biased else None,
            "key_cache": normal(cache, dtype), "value_cache": normal(cache, dtype)}


def layer_numbers(row):
    heads, shared, size, layers, room, turned, theta = row
    return {"workspace": None, "workspace_size": -1, "fusion_level": 0, "layer_id": layers - 1, "local_head_num": heads,
            "local_kv_head_num": shared, "size_per_head": size, "max_seq_len": room, "rotary_embedding": turned,
            "rope_theta": theta}


def rotated_pairs(x, position, turned, theta):
    """Turns the pairs of neighbours among the first numbers of each head (heads, size), as complex numbers."""
    pairs = torch.complex(x[:, :turned:2], x[:, 1:turned:2])
    angles = position * theta ** (-torch.arange(0, turned, 2, dtype=x.dtype) / max(turned, 1))
    moved = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(1)
    return torch.cat([moved, x[:, turned:]], 1)


def attention_layer(t, row, tokens):
    """tokens: of each row that is computed, its number, sequence, position, and the position of its rotation. A stored
    number is rounded when the function returns, so that the later rows may see either."""
    heads, shared, size, layers, _, turned, theta = row
    keys, stored, out = t["key_cache"][layers - 1], t["value_cache"][layers - 1], t["inoutput"].clone()
    qkv = t["inoutput"] @ t["qkv_weight"] + (0 if t["qkv_bias"] is None else t["qkv_bias"])
    for number, b, place, turn in tokens:
        q, k, v = qkv[number].reshape(-1, size).split([heads, shared, shared])
        keys[b, :, place] = rotated_pairs(k, turn, turned, theta)
        stored[b, :, place] = v
        q = rotated_pairs(q, turn, turned, theta)
        seen = (x[b, :, :place + 1].repeat_interleave(heads // shared, 0) for x in (keys, stored))
        out[number] = torch.cat([attended(one[None], *both)[0] for one, *both in zip(q, *seen)])
    return out, t["key_cache"], t["value_cache"]


CHANGED_BY_LAYER = ["inoutput", "key_cache", "value_cache"]


def fused_context_attention(book):
    book.is_formula = True
    rows = list(zip(FUSED_LAYERS, [(2, 5, 5), (1, 3, 7), (2, 1, 6), (1, 4, 68)]))
    for dtype, (row, (batch, new, count)) in crossed(FLOATS, rows, 2):
        row = layer_of(dtype, row)
        tokens = [(b * new + i, b, count - new + i, count - new + i) for b in range(batch) for i in range(new)]
        book.add("diopiFusedContextAttentionInp", f"{tag(dtype)}_{batch}x{new}of{count}",
                 in_float64(lambda t: attention_layer(t, row, tokens)), layer_tensors(dtype, batch, batch * new, row),
                 {**layer_numbers(row), "pre_work": None, "pre_work_size": -1, "is_prepared": False, "max_q_len": new,
                  "max_kv_len": count}, CHANGED_BY_LAYER)


def fused_decoder_attention(book):
    book.is_formula = True
    rows = list(zip(FUSED_LAYERS, [([3, 8, 0], [0, 0, 1], True), ([5], None, False), ([6, 6], None, True),
                                   ([66], [0], False)]))
    for dtype, (row, (lengths, ended, padded)) in crossed(FLOATS, rows, 2):
        row = layer_of(dtype, row)
        step, batch = max(lengths) + 1, len(lengths)
        padding = [step - 1 - n for n in lengths] if padded else [0] * batch
        tokens = [(b, b, n, step - 1 - padding[b]) for b, n in enumerate(lengths) if not (ended and ended[b])]
        sequences = {"finished": values(ended, BOOL) if ended else None, "sequence_lengths": values(lengths, I32),
                     "total_padding_tokens": values(padding, I32) if padded else None}
        book.add("diopiFusedDecoderAttentionInp", f"{tag(dtype)}_{label(lengths)}",
                 in_float64(lambda t: attention_layer(t, row, tokens)),
                 {**layer_tensors(dtype, batch, batch, row), **sequences}, {**layer_numbers(row), "step": step},
                 CHANGED_BY_LAYER)


OPERATORS |= {f.__name__: f for f in (
    rotary_emb, rotary_emb_v2, rms_norm, root_mean_square_norm, fused_add_root_mean_square_norm, scaled_masked_softmax,
    fused_silu_ffn, matmul_all_reduce, fused_context_attention, fused_decoder_attention)}


# ---- attention of whole sequences: PyTorch 1.13 has it for GPUs only, so that the formula stands here ----

ATTENTION = {  # batch, queries, keys, heads, key heads, head size, scale, causal, windows, slopes
    "plain": (2, 5, 7, 2, 2, 4, None, False, (-1, -1), 0), "causal": (1, 6, 9, 3, 1, 8, 0.7, True, (-1, -1), 0),
    "windows": (1, 9, 6, 2, 2, 3, -0.5, False, (2, 1), 1), "slopes": (2, 4, 4, 4, 2, 5, None, True, (3, -1), 2),
}


def attention_of(q, k, v, scale, causal, windows, slopes, mask=None):
    """q (rows, heads, size), k and v (rows, key heads, size) of one sequence: the result and the log-sum-exp."""
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    apart = torch.arange(k.shape[0]) - (torch.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0])
    left, right = windows[0], 0 if causal else windows[1]
    hidden = (-apart > left) & (left >= 0) | (apart > right) & (right >= 0)
    hidden = hidden if mask is None else hidden | mask
    scores = torch.einsum("ihd,jhd->hij", q, k) * scale
    if slopes is not None:
        scores = scores - slopes[:, None, None] * apart.abs()
    scores = scores.masked_fill(hidden, -INF)
    lse = scores.logsumexp(-1)
    shares = torch.where(hidden, torch.zeros_like(scores), (scores - lse.clamp(min=-6e4)[..., None]).exp())
    return torch.einsum("hij,jhd->ihd", shares, v), lse


def in_batches(t, cut_q, cut_k, layout, scale, causal, windows):
    """Attention of each sequence, on leaves of the gradients."""
    def heads_last(x, sequences):  # (batch, rows, heads, size) or, concatenated, a list of (rows, heads, size)
        return [x[a:b] for a, b in sequences] if layout == "TND" else list(x)
    slopes, mask = t.get("alibi_slopes"), t.get("attention_mask")
    parts = zip(heads_last(t["q"], cut_q), heads_last(t["k"], cut_k), heads_last(t["v"], cut_k))
    results = [attention_of(q, k, v, scale, causal, windows,
                            None if slopes is None else slopes.to(q.dtype)[b] if slopes.dim() == 2 else slopes.to(q.dtype),
                            mask[:q.shape[0], :k.shape[0]] if mask is not None else None)
               for b, (q, k, v) in enumerate(parts)]
    outs, lses = zip(*results)
    most = max(x.shape[1] for x in lses)
    lse = torch.stack([F.pad(x, (0, most - x.shape[1]), value=-INF) for x in lses])
    return (torch.cat(outs) if layout == "TND" else torch.stack(outs)), lse


def attention(book, op):
    """The customized functions have neither a softmax_lse nor running ends with a leading 0."""
    book.is_formula = True
    packed, customized, many = op.endswith("varlen"), op.startswith("customized"), op.startswith("multihead")
    forward_name = {"flash_attention": "diopiFlashAttention", "multihead_attention": "diopiMultiHeadAttention",
                    "customized_flash_attention": "diopiCustomizedFlashAttention"}[op.removesuffix("_varlen")]
    forward_name += "VarLen" if packed else ""
    out = "out" if many else "attention_out"
    for dtype, (case, row) in crossed(FLOATS, ATTENTION, 1):
        batch, rows_q, rows_k, heads, shared, size, scale, causal, windows, with_slopes = row
        if many and (heads != shared or windows != (-1, -1) or with_slopes):
            heads, shared, windows, with_slopes = heads, heads, (-1, -1), 0
        given = size ** -0.5 if scale is None else scale
        lengths_q, lengths_k = [rows_q, 0, 2][:batch + 1], [rows_k, 1, 3][:batch + 1]
        ends_q, ends_k = ([sum(x[:n]) for n in range(len(x) + 1)] for x in (lengths_q, lengths_k))
        cut_q, cut_k = (list(zip(x, x[1:])) for x in (ends_q, ends_k))
        name = f"{tag(dtype)}_{case}"
        layout = "TND" if packed else "BSND"
        shape_q = [ends_q[-1], heads, size] if packed else [batch, rows_q, heads, size]
        shape_k = [ends_k[-1], shared, size] if packed else [batch, rows_k, shared, size]
        count = len(lengths_q) if packed else batch
        # Small values and gradients: their products' differences have the errors of numbers of size 1.
        tensors = {"q": normal(shape_q, dtype), "k": normal(shape_k, dtype), "v": normal(shape_k, dtype, 0.5)}
        if not many:
            shape = [heads] if with_slopes == 1 else [count, heads]
            tensors["alibi_slopes"] = uniform(shape, F32) if with_slopes else None
        if customized:
            tensors["attention_mask"] = integers([rows_q, rows_k], BOOL, 0, 1) if with_slopes else None
        args = {"dropout_p" if many else "p_dropout": 0.0, "scale" if many else "softmax_scale": given,
                "is_causal": causal, "gen": None}
        if not many:
            args |= dict(zip(("window_size_left", "window_size_right"), windows))
        keys = "k" if many else "kv"
        if packed:
            most = ("max_q", "max_k") if many else ("max_seqlen_q", "max_seqlen_kv")
            args |= {most[0]: rows_q, most[1]: rows_k}
            if customized:
                args |= {"cum_seq_q": ends_q[1:], "cum_seq_kv": ends_k[1:]}
            else:
                tensors |= {"cum_seq_q": values(ends_q, I32), f"cum_seq_{keys}": values(ends_k, I32)}
        elif customized:
            args |= {"head_num": heads, "input_layout": "BSND"}
        stats = F32 if dtype in HALVES else dtype
        kept = {n: None for n in ("dropout_mask", "softmax_max", "softmax_sum", "softmax_out")} if customized else {}
        extra = {"return_debug_mask": False, "debug_attn_mask": None} if many else {}

        def forward(t):
            result, lse = in_batches(widen(t), cut_q, cut_k, layout, given, causal, windows)
            lse = F.pad(lse, (0, rows_q - lse.shape[2]), value=-INF)
            return (result.to(dtype),) if customized else (result.to(dtype), lse.to(stats))

        def backward(t):
            t = widen(t)
            leaves = [t[n].requires_grad_() for n in "qkv"]
            grad = t["grad_out" if many else "grad_output"]
            result, lse = in_batches({**t, **dict(zip("qkv", leaves))}, cut_q, cut_k, layout, given, causal, windows)
            # The function takes the mean of a row's gradients from the saved out, which was rounded; the gradient of
            # lse is the row's shares.
            moved = (grad * (result.detach() - t[out])).sum(-1)
            rows = [moved[a:b] for a, b in cut_q] if packed else list(moved)
            whole = (result * grad).sum()
            for shift, row_lse in zip(rows, lse):
                own = row_lse[:, :shift.shape[0]]
                whole = whole + torch.where(own.isfinite(), own * shift.T, torch.zeros_like(own)).sum()
            return [x.to(dtype) for x in torch.autograd.grad(whole, leaves)]

        results = [out] if customized else [out, "softmax_lse"]
        book.add(forward_name, name, forward, tensors, {**args, **kept, **extra}, results, None, {"softmax_lse": stats})
        tensors = {**tensors, "grad_out" if many else "grad_output": normal(shape_q, dtype, 0.25),
                   out: derived(lambda t: forward(t)[0], dtype)}
        if not customized:
            tensors["softmax_lse"] = derived(lambda t: forward(t)[1], stats)
        else:
            args = {n: v for n, v in args.items() if n != "gen"}
        book.add(forward_name + "Backward", name, backward, tensors, {**args, **kept}, ["grad_q", "grad_k", "grad_v"])


OPERATORS |= {op + end: lambda book, op=op + end: attention(book, op)
              for op in ("multihead_attention", "flash_attention", "customized_flash_attention") for end in ("", "_varlen")}


# ---- attention: the steps of a generation, by the formulas of functions_ext.inc and functions_lmdeploy.inc ----

def changed_in_float64(fn):
    """A formula whose first tensor is changed in float64, and rounded to its dtype."""
    def run(t):
        name = next(iter(t))
        changed = t[name].double()
        fn(changed, t)
        return changed.to(t[name].dtype)
    return run


def apply_penalty(book):
    book.is_formula = True
    ids, ends = [2, 0, 6, 5, 1], [0, 3, 3, 5]

    def penalise(x, t):
        for b in range(3):
            for i in range(ends[b], ends[b + 1]):
                x[b, ids[i]] -= int(t["p_token_counts"][i]) * t["frequency_penalty"][b].double() + \
                    t["presence_penalty"][b].double()
    for dtype in FLOATS:
        book.add("diopiApplyPenalty", tag(dtype), changed_in_float64(penalise),
                 {"logits": normal([3, 7], dtype, 3.0), "presence_penalty": uniform([3], dtype),
                  "frequency_penalty": uniform([3], dtype), "p_token_ids": values(ids, I32),
                  "p_token_counts": values([1, 4, 2, 9, 1], I32), "p_cumsum_seq_len": values(ends, I32)},
                 {"p_max_len_in_batch": 3}, ["logits"])


def apply_penalty_v2(book):
    book.is_formula = True
    places = [20, 0, 3, 8]

    def penalise(x, t):
        for i, at in enumerate(places):
            repetition = t["repetition_penalty"][i].double()
            old = x.view(-1)[at]
            x.view(-1)[at] = (old / repetition if old > 0 else old * repetition) - (
                int(t["p_token_counts"][i]) * t["frequency_penalty"][i].double() + t["presence_penalty"][i].double())
    for dtype in FLOATS:
        book.add("diopiApplyPenaltyV2", tag(dtype), changed_in_float64(penalise),
                 {"logits": normal([3, 7], dtype, 3.0), "presence_penalty": uniform([4], dtype),
                  "frequency_penalty": uniform([4], dtype), "repetition_penalty": uniform([4], dtype, 0.5, 2.0),
                  "p_token_ids": values(places, I32), "p_token_counts": values([1, 4, 2, 9], I32)}, {}, ["logits"])


def repetition_penalty(book):
    book.is_formula = True
    ids = [[1, 4], [1, 0], [9, 4], [3, -1]]
    for dtype, kind, lengths in itertools.product(FLOATS, (0, 1, 2), ([3, 1], None)):
        def penalise(x, t):
            for b in range(2):
                kept = [row for row in range(3) if not (lengths and lengths[b] <= row < 2)]
                for token in {ids[row][b] for row in kept if 0 <= ids[row][b] < 5}:
                    old, penalty = x[b, token].clone(), t["penalties"][b].double()
                    if kind == 1:
                        x[b, token] = old - penalty
                    elif kind == 2:
                        x[b, token] = old * penalty if old < 0 else old / penalty
        book.add("diopiBatchApplyRepetitionPenaltyInp", f"{tag(dtype)}_type{kind}{'_padded' if lengths else ''}",
                 changed_in_float64(penalise),
                 {"logits": normal([2, 5], dtype, 3.0), "penalties": uniform([2], dtype, 0.5, 2.0),
                  "output_ids": values(ids, I64), "input_lengths": values(lengths, I32) if lengths else None},
                 {"batch_size": 2, "vocab_size": 5, "max_input_length": 2, "step": 3, "penalty_type": kind}, ["logits"])


def temperature_penalty(book):
    book.is_formula = True
    for dtype, biased in itertools.product(FLOATS, (False, True)):
        def divide(x, t):
            divisor = t["temperatures"].double()[:, None] + 1e-6
            x[:, :5] = (x[:, :5] + (t["bias"].double() if biased else 0)) / divisor
            x[:, 5:] = torch.finfo(dtype).min
        book.add("diopiBatchApplyTemperaturePenaltyInp", f"{tag(dtype)}{'_biased' if biased else ''}",
                 changed_in_float64(divide),
                 {"logits": normal([3, 7], dtype, 3.0), "bias": normal([5], dtype) if biased else None,
                  "temperatures": uniform([3], F32, 0.3, 2.0)},
                 {"batch_size": 3, "vocab_size": 5, "vocab_size_padd": 7}, ["logits"])


# Words of one, two and three tokens, and one that is longer than what was generated; the first list has all.
WORDS = [[[4, 0, 3, 2, 1, 2, 0, 0, 0, 0, 0, 1], [1, 3, 6, 12] + 8 * [-1]], [12 * [3], [2] + 11 * [-1]]]
GENERATED = [[0, 3], [2, 3], [1, 3], [0, 0], [3, 3]]


def words_of(tokens, ends):
    ends = [0, *itertools.takewhile(lambda end: end >= 0, ends)]
    return [tokens[begin:end] for begin, end in zip(ends, ends[1:])]


def ban_bad_words(book):
    book.is_formula = True
    for dtype, (first, step), shared in itertools.product(FLOATS, [(0, 3), (0, 4), (1, 3)], (False, True)):
        batch = 2 - first

        def ban(t):
            x = t["logits"]
            for b in range(batch):
                column = [row[first + b] for row in GENERATED[:step]]
                for word in words_of(*WORDS[0 if shared else b]):
                    if len(word) <= step + 1 and column[step + 1 - len(word):] == word[:-1]:
                        x[b, word[-1]] = -INF
            return x
        book.add("diopiBanBadWordsInp", f"{tag(dtype)}_{first}_{step}{'_shared' if shared else ''}", ban,
                 {"logits": normal([batch, 5], dtype), "output_ids": values(GENERATED, I32),
                  "bad_words": values(WORDS[0] if shared else WORDS[:batch], I32)},
                 {"id_offset": first, "bad_words_len": 12, "share_words": shared, "batch_size": batch,
                  "vocab_size": 5, "step": step}, ["logits"])


def stop_words(book):
    book.is_formula = True
    for dtype, (first, step) in itertools.product((I32, I64), [(0, 0), (0, 2), (0, 3), (0, 4), (1, 3)]):
        batch = 2 - first

        def stop(t):
            flags = t["finished"]
            for b in range(batch):
                column = [row[first + b] for row in GENERATED[:step + 1]]
                if any(len(word) <= len(column) and column[-len(word):] == word for word in words_of(*WORDS[b])):
                    flags[b] = True
            return flags
        book.add("diopiStopWordsCriterion", f"{tag(dtype)}_{first}_{step}", stop,
                 {"output_ids": values(GENERATED, dtype), "stop_words": values(WORDS[:batch], I32),
                  "finished": values([False, True][:batch], BOOL)},
                 {"id_offset": first, "stop_words_len": 12, "batch_size": batch, "step": step}, ["finished"])


def length_criterion(book):
    book.is_formula = True
    for step in (0, 4, 5, 6, 9):
        def stop(t):
            flags = t["finished"] | (step >= t["sequence_limit_length"])
            return flags, flags.all()[None], flags.sum()[None].to(I32)
        book.add("diopiLengthCriterion", f"step{step}", stop,
                 {"finished": values([False, True, False, False], BOOL),
                  "sequence_limit_length": values([5, 9, 6, 3], I32)}, {"batch_size": 4, "step": step},
                 ["finished", "should_stop", "finished_sum"])


def gather_output(book):
    book.is_formula = True
    for dtype, room in itertools.product((I32, I64), (3, 6, 8)):
        def collect(t):
            y = t["output_ids"]
            for b, length in enumerate([2, 4, 0]):
                tokens = torch.cat([t["ids"][:length, b], t["ids"][4:, b]])[:room]
                y[b, :len(tokens)] = tokens
            return y
        book.add("diopiGatherOutput", f"{tag(dtype)}_{room}", collect,
                 {"output_ids": natural([3, room], dtype, True), "ids": natural([6, 3], dtype),
                  "context_length": values([2, 4, 0], I32)},
                 {"max_context_len": 4, "max_gen_step": 6, "max_output_len": room, "batch_size": 3}, ["output_ids"])


def plus_scalar(book):
    book.is_formula = True
    for dtype, (val, size) in itertools.product(INTS, [(3, 12), (-100, 5), (1, 0)]):
        def add(t):
            t["inoutput"].view(-1)[:size] += val
            return t["inoutput"]
        book.add("diopiPlusScalarInp", f"{tag(dtype)}_{val}_{size}", add, {"inoutput": natural([3, 4], dtype, True)},
                 {"val": val, "size": size}, ["inoutput"])


def update_padding_count(book):
    book.is_formula = True
    for dtype in (I32, I64):
        book.add("diopiUpdatePaddingCount", tag(dtype), lambda t: t["total_padding_count"] + 9 - t["input_lengths"],
                 {"total_padding_count": integers([5], dtype, 0, 50), "input_lengths": integers([5], dtype, 0, 9)},
                 {"max_input_length": 9, "batch_size": 5}, ["total_padding_count"])


def transpose_axis01(book):
    for dtype, shape in itertools.product(ALL, ([2, 3, 4], [1, 5, 1], [3, 0, 2])):
        book.add("diopiTransposeAxis01", f"{tag(dtype)}_{label(shape)}", lambda t: t["input"].transpose(0, 1),
                 {"input": natural(shape, dtype)}, {f"dim{d}": size for d, size in enumerate(shape)}, ["output"])


def look_up_step(book):
    for dtype, step in itertools.product(FLOATS, (0, 2)):
        book.add("diopiEmbeddingLookupPosEncoding", f"{tag(dtype)}_{step}",
                 lambda t: F.embedding(t["all_ids"][step], t["embedding_table"]),
                 {"embedding_table": normal([7, 5], dtype), "all_ids": integers([3, 4], I64, 0, 6)},
                 {"batch_size": 4, "hidden_units": 5, "step": step}, ["from_tensor"])


def look_up_prompt(book):
    for dtype, count in itertools.product(FLOATS, (6, 0)):
        book.add("diopiInputIdsEmbeddingLookupPosEncoding", f"{tag(dtype)}_{count}",
                 lambda t: F.embedding(t["input_ids"], t["embedding_table"]),
                 {"embedding_table": normal([7, 5], dtype), "input_ids": integers([count], I64, 0, 6)},
                 {"input_lengths": count, "hidden_units": 5}, ["from_tensor"])


def sampling_arguments(book, op):
    """k and p of each sequence; what top-p sampling keeps beside them."""
    book.is_formula = True
    counts, shares, is_topk = [0, 0, 3, 1024, 5000, 1], [0.0, 0.5, 0.0, 1.5, -0.25, 1.0], op == "setup_topk_runtime_args"
    for (k, ks_size), (p, ps_size), index in itertools.product([(0, 6), (7, 1)], [(0.0, 6), (0.75, 0)], range(2)):
        def normalise(t):
            out = []
            for i in range(6):
                ki, pi = counts[i] if ks_size > 1 else k, shares[i] if ps_size > 1 else p
                ki = 1 if ki == 0 and pi == 0 else min(ki, 1024)
                out.append((ki, min(max(1.0 if ki > 0 and pi == 0 else pi, 0.0), 1.0)))
            ks, ps = torch.tensor([x for x, _ in out]).to(I32), torch.tensor([x for _, x in out])
            results = ks, ps, (ks == 0) == is_topk
            if is_topk:
                return results
            decay, least = [(0.5, 0.25), (1.0, 0.5)][index]
            return *results, ps, torch.full([6], decay), torch.full([6], least), torch.full([6], -1).to(I32)
        args = {"batch_size": 6, "top_k": k, "top_ks_size": ks_size, "top_p": p, "top_ps_size": ps_size}
        if not is_topk:
            args |= {"top_p_decay": [0.5, -1.0][index], "top_p_min": [0.25, 2.0][index], "top_p_reset_ids": -1}
        elif index:
            continue
        book.add(function_of(op, "inplace"), f"{k}_{ks_size}_{p}_{ps_size}_{index}", normalise,
                 {"top_ks": values(counts, I32), "top_ps": values(shares, F32)}, args,
                 ["top_ks", "top_ps", "skip_decode"] + ([] if is_topk else [
                     "initial_top_p_buf", "top_p_decay_buf", "top_p_min_buf", "top_p_reset_ids_buf"]))


OPERATORS |= {
    "apply_penalty": apply_penalty,
    "apply_penalty_v2": apply_penalty_v2,
    "ban_bad_words": ban_bad_words,
    "batch_apply_repetition_penalty": repetition_penalty,
    "batch_apply_temperature_penalty": temperature_penalty,
    "embedding_lookup_pos_encoding": look_up_step,
    "gather_output": gather_output,
    "input_ids_embedding_lookup_pos_encoding": look_up_prompt,
    "length_criterion": length_criterion,
    "plus_scalar": plus_scalar,
    "stop_words_criterion": stop_words,
    "transpose_axis01": transpose_axis01,
    "update_padding_count": update_padding_count,
    **{op: lambda book, op=op: sampling_arguments(book, op)
       for op in ("setup_topk_runtime_args", "setup_topp_runtime_args")},
}


# ---- files ----

def bfloat16_type():
    stored = h5py.h5t.IEEE_F16LE.copy()
    stored.set_fields(15, 7, 8, 0, 7)
    stored.set_ebias(127)
    return stored


def untimed(kind):
    properties = h5py.h5p.create(kind)
    properties.set_obj_track_times(False)
    return properties


def new_group(parent, name):
    return h5py.Group(h5py.h5g.create(parent.id, name.encode(), gcpl=untimed(h5py.h5p.GROUP_CREATE)))


def plain(tensors, layout, unspecified):
    """Sorted rows (path, dtype, array, strides, unspecified) of an in or out group; bfloat16 as its bits."""
    rows = []
    for name, value in sorted(tensors.items()):
        items = [(f"{name}/{i}", t) for i, t in enumerate(value)] if isinstance(value, list) else [(name, value)]
        for path, tensor in items:
            if tensor is None:
                continue
            tensor = tensor.detach().contiguous()
            if tensor.is_floating_point():  # all NaNs become one, with any sign
                tensor = torch.where(tensor.isnan(), torch.full_like(tensor, NAN), tensor)
            array = tensor.view(I16).numpy() if tensor.dtype == BF16 else tensor.numpy()
            rows.append((path, tensor.dtype, array, layout.get(name), name in unspecified))
    return rows


def write_tensor(group, name, dtype, array, strides, unspecified):
    stored = bfloat16_type() if dtype == BF16 else h5py.h5t.py_create(array.dtype, logical=True)
    space = h5py.h5s.create_simple(array.shape) if array.shape else h5py.h5s.create(h5py.h5s.SCALAR)
    dataset = h5py.Dataset(h5py.h5d.create(group.id, name.encode(), stored, space, untimed(h5py.h5p.DATASET_CREATE)))
    if array.size:
        dataset.id.write(h5py.h5s.ALL, h5py.h5s.ALL, array, stored)  # bits that must not change
    if dtype == BF16:
        dataset.attrs["dtype"] = np.bytes_("bfloat16")
    if strides is not None:
        dataset.attrs["strides"] = np.array(strides, np.int64)
    if unspecified:
        dataset.attrs["unspecified"] = np.int64(1)
    return dataset


def write_side(call, side, rows, known):
    """in or out of one call; data that the file already has is linked."""
    keys = [(dtype, array.shape, array.tobytes(), str(strides), flag) for _, dtype, array, strides, flag in rows]
    whole = side, *zip((row[0] for row in rows), keys)
    if whole in known:
        call[side] = known[whole]
        return
    known[whole] = group = new_group(call, side)
    for (path, *row), key in zip(rows, keys):
        parent, _, name = path.rpartition("/")
        if parent and parent not in group:
            new_group(group, parent)
        holder = group[parent] if parent else group
        if key in known:
            holder[name] = known[key]
        else:
            known[key] = write_tensor(holder, name, *row)


def write(path, book):
    path.parent.mkdir(parents=True, exist_ok=True)
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V18, h5py.h5f.LIBVER_V110)  # compact groups
    root = h5py.h5f.create(bytes(path), fcpl=untimed(h5py.h5p.FILE_CREATE), fapl=access)
    with h5py.File(root) as file:
        file.attrs["diopi_format"] = np.int64(1)
        file.attrs["kind"] = np.bytes_("golden")
        file.attrs["generator"] = np.bytes_(PYTORCH)
        known = {}
        for name, (attributes, inputs, outputs, layout, unspecified) in sorted(book.calls.items()):
            call = new_group(file, name)
            for key, text in attributes.items():
                call.attrs[key] = np.bytes_(text)
            write_side(call, "in", plain(inputs, layout, ()), known)
            write_side(call, "out", plain(outputs, {}, unspecified), known)


def members(group, prefix=""):
    """Path -> object for everything below a group; hard links are followed every time."""
    found = {}
    for name, item in group.items():
        found[prefix + name] = item
        if isinstance(item, h5py.Group):
            found |= members(item, f"{prefix}{name}/")
    return found


TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5}


def differences(ours, golden):
    """The differences of a recomputed file from the golden one."""
    with h5py.File(ours, "r") as a, h5py.File(golden, "r") as b:
        left, right = members(a), members(b)
        for path in sorted(left.keys() ^ right.keys()):
            yield f"{path}: only in the {'recomputed' if path in left else 'golden'} file"
        for path in sorted(left.keys() & right.keys()):
            x, y = left[path], right[path]
            if {k: str(v) for k, v in x.attrs.items()} != {k: str(v) for k, v in y.attrs.items()}:
                yield f"{path}: attributes differ"
            if isinstance(x, h5py.Dataset):
                dtype = "bfloat16" if "dtype" in x.attrs else str(x.dtype)
                bound = TOLERANCE.get(dtype, 0) if "/out/" in path else 0
                same = x.shape == y.shape and x.dtype == y.dtype and np.allclose(
                    x[()], y[()], bound, bound, equal_nan=bound > 0 or x.dtype.kind in "fc")
                if not same:
                    yield f"{path}: values differ"


def main():
    options = argparse.ArgumentParser(description="Compute data/golden with PyTorch, or check it.")
    options.add_argument("--out", type=pathlib.Path, help="folder of the files; default: data/golden",
                         default=pathlib.Path(__file__).resolve().parent.parent / "data" / "golden")
    options.add_argument("--check", action="store_true", help="recompute and compare instead of writing")
    options.add_argument("--only", action="append", choices=sorted(OPERATORS), metavar="OP", help="only this operator")
    options = options.parse_args()
    if not torch.__version__.startswith("1.13"):
        sys.exit(f"make_golden.py: the golden files come from {PYTORCH}, this is {torch.__version__}")
    missing = set(schema_rows.complete()) - set(schema_rows.random()) - set(OPERATORS)
    if missing:
        sys.exit(f"make_golden.py: the rows describe operators that it has no calls of: {', '.join(sorted(missing))}")
    torch.set_num_threads(1)
    failed = False
    for op in sorted(options.only or OPERATORS):
        book = Book()
        OPERATORS[op](book)
        path = options.out / f"{op}.h5"
        if not options.check:
            write(path, book)
            counts = ", ".join(f"{count} {how}" for how, count in book.counts.items())
            print(f"{op}: {len(book.calls)} calls ({counts}), {path.stat().st_size} bytes")
            continue
        with tempfile.TemporaryDirectory() as folder:
            ours = pathlib.Path(folder) / path.name
            write(ours, book)
            same = path.exists() and ours.read_bytes() == path.read_bytes()
            found = [] if same else list(differences(ours, path)) if path.exists() else ["no such file"]
        print(f"{op}: {'identical' if same else 'equal within tolerance' if not found else 'DIFFERENT'}")
        for line in found[:10]:
            print(f"  {line}")
        failed |= bool(found)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
