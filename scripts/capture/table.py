"""The rows of libdiopi/aten/all.inc that lead from ATen's overloads to the standard. Needs no PyTorch."""
import ast
import re
from dataclasses import dataclass

from .standard import LIBRARY

INCLUDE = re.compile(r'#include "(aten/\w+\.inc)"')
TITLE = re.compile(r"// (.*): ATen's overloads")
LITERALS = r'((?:\s*"(?:[^"\\]|\\.)*")+)'
ROW = re.compile(rf"^ATEN_(ROW|EACH|THEN|BACK|AND|GRADIENT)\((?:{LITERALS},)?\s*(\w+),{LITERALS}(?:,{LITERALS})?\)$",
                 re.MULTILINE)


@dataclass(frozen=True)
class Row:
    overloads: str  # separated by spaces
    calls: tuple  # ((function, sources), ..)
    when: str = "True"
    each: bool = False  # one call per element of the tensor lists


def text_of(literals):
    return "".join(ast.literal_eval(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', literals))


def rows_in(text):
    rows = []
    for kind, overloads, function, sources, when in ROW.findall(text):
        call = (function, text_of(sources))
        if kind in ("BACK", "AND", "GRADIENT"):
            continue
        if kind == "THEN":
            before = rows.pop()
            rows.append(Row(before.overloads, (*before.calls, call), before.when, before.each))
        else:
            rows.append(Row(text_of(overloads), (call,), text_of(when) or "True", kind == "EACH"))
    return rows


def texts():
    return [(LIBRARY / name).read_text() for name in INCLUDE.findall((LIBRARY / "aten/all.inc").read_text())]


FAMILIES = {TITLE.match(text)[1]: rows_in(text) for text in texts()}

# They allocate memory, or only change the view of it.
NOT_CALLS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_", "set_",
             "squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "detach_", "as_strided_"}
