"""Turns a call of ATen into calls of the standard, by the rows of libdiopi/aten. Needs no PyTorch."""
import ast
import functools
import keyword
from dataclasses import dataclass, replace

from . import standard, table


@dataclass(frozen=True)
class View:
    """A tensor: its layout in a storage. Strides and offset count elements."""
    storage: int
    dtype: str
    shape: tuple
    strides: tuple
    offset: int


class Unmapped(Exception):
    """No row fits."""


# Stands for a generator argument; the recorder knows seed and offset.
GENERATOR = object()


def row_view(view):
    """(N, C, L) seen as (N, C, 1, L)."""
    if view is None:
        return None
    shape, strides = view.shape, view.strides
    length = shape[-1] * strides[-1]
    return replace(view, shape=(*shape[:-1], 1, shape[-1]), strides=(*strides[:-1], length, strides[-1]))


def heads_last(view):
    """(N, H, S, D) seen as (N, S, H, D)."""
    def swapped(four):
        return (four[0], four[2], four[1], four[3])

    return replace(view, shape=swapped(view.shape), strides=swapped(view.strides))


def scaled_by(before, after, *scales):
    """Whether the scales, where there are any, are the quotients of the spatial sizes."""
    sizes = zip(list(before)[-len(scales):], list(after)[-len(scales):], scales)
    return all(scale is None or size * scale == result for size, result, scale in sizes)


HELPERS = {
    "rank_of": lambda view: len(view.shape),
    "shape_of": lambda view: list(view.shape),
    "dtype_of": lambda view: view.dtype,
    "row_of": row_view,
    "heads_last": heads_last,
    "scaled_by": scaled_by,
    "dims_of": lambda dim: [] if dim is None else [dim] if isinstance(dim, int) else list(dim),
    "rounding_of": {None: 0, "trunc": 1, "floor": 2}.get,
    "GENERATOR": GENERATOR,
}


def plain(name):
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def sources_of(text):
    """The sources of the C parameters, without the values that only the way back needs."""
    return text.partition(" | ")[0]


@functools.cache
def sources(text):
    """[(C parameter, compiled source)] of a row's text."""
    pairs = []
    for part in standard.split(sources_of(text)):
        name, _, source = part.partition("=")
        pairs.append((plain(name), compile(source or name, text, "eval")))
    return pairs


def names_of(expression):
    """Every name that an expression uses."""
    return {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}


def is_number(value):
    return isinstance(value, (bool, int, float))


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


FITS = {
    "tensor": lambda v: isinstance(v, View),
    "tensors": lambda v: isinstance(v, (list, tuple)) and all(x is None or isinstance(x, View) for x in v),
    "scalar": is_number,
    "integers": lambda v: isinstance(v, (list, tuple)) and all(is_integer(x) for x in v),
    "integer": is_integer,
    "floating": is_number,
    "boolean": lambda v: isinstance(v, bool),
    "text": lambda v: isinstance(v, str),
    "generator": lambda v: v is GENERATOR,
    "pointer": lambda v: v is None,
}


def fits(parameter, value):
    if value is None:
        return parameter.optional
    return FITS[parameter.kind](value)


@functools.cache
def rows_of():
    """{overload: its rows}."""
    found = {}
    for row in (row for rows in table.FAMILIES.values() for row in rows):
        for overload in row.overloads.split():
            found.setdefault(overload, []).append(row)
    return found


def fill_in(function, text, names):
    """The arguments of one call of the standard, in order; Unmapped when a value does not suit its C type."""
    values = {name: eval(code, {"__builtins__": {}}, names) for name, code in sources(text)}
    arguments = {}
    for parameter in standard.functions()[function]:
        if parameter.length_of and parameter.name not in values:
            arguments[parameter.name] = len(arguments_or(values, parameter.length_of))
            continue
        value = values[parameter.name]
        if not fits(parameter, value):
            raise Unmapped(f"{function}: {parameter.name} = {value!r}")
        arguments[parameter.name] = value
    return function, arguments


def arguments_or(values, name):
    return values[name] or ()


def element(value, i):
    """Element i of a list argument of a _foreach_ call; an empty list is an absent one."""
    if not isinstance(value, (list, tuple)):
        return value
    return value[i] if value else None


def apply(row, names):
    if not eval(row.when, {"__builtins__": {}}, names):
        raise Unmapped(row.when)
    if not row.each:
        return [fill_in(function, text, names) for function, text in row.calls]
    calls = []
    for i in range(len(names["self"])):
        one = {name: element(value, i) for name, value in names.items()}
        calls += [fill_in(function, text, one) for function, text in row.calls]
    return calls


def in_place(overload):
    """The name of the out-of-place form of an in-place overload; None for others."""
    name, dot, rest = overload.partition(".")
    if name.endswith("_") and not name.endswith("__"):
        return name[:-1] + dot + rest
    return None


def first_fit(overload, names):
    for row in rows_of().get(overload, ()):
        try:
            return apply(row, names)
        except Unmapped:
            continue
    return None


def map_call(overload, arguments, results, temporary, number=None):
    """[(function, {C parameter: value})] for a call of ATen, or None when no row fits.

    arguments: ATen's by name, tensors as View. results: of the call. temporary(view) gives a new tensor like view;
    number(view) the one number that a tensor holds. An in-place call without a row becomes the out-of-place call
    into a temporary, and a copy.
    """
    names = {**HELPERS, "number_of": number}
    names.update({name + "_" * keyword.iskeyword(name): value for name, value in arguments.items()})
    found = first_fit(overload, {**names, **{f"r{i}": result for i, result in enumerate(results)}})
    if found is not None or in_place(overload) is None:
        return found
    target = arguments["self"]
    made = [temporary(view) for view in target] if isinstance(target, (list, tuple)) else temporary(target)
    found = first_fit(in_place(overload), {**names, "r0": made})
    if found is None:
        return None
    pairs = zip(made, target) if isinstance(made, list) else [(made, target)]
    return found + [("diopiCopyInp", {"src": source, "dest": view}) for source, view in pairs]


def document():
    """The table as Markdown."""
    lines = []
    for family, rows in table.FAMILIES.items():
        lines += ["", f"### {family}", "", "| ATen | becomes | with |", "|---|---|---|"]
        for row in rows:
            overloads = ", ".join(f"`{name}`" for name in row.overloads.split())
            if row.when != "True":
                overloads += f"<br>when `{row.when}`"
            functions = "<br>".join(f"`{function}`" for function, _ in row.calls)
            functions += ", one per element" if row.each else ""
            texts = "<br>".join(f"`{sources_of(text)}`" for _, text in row.calls)
            lines.append(f"| {overloads} | {functions} | {texts} |")
    return "\n".join(lines[1:]) + "\n"
