"""The functions of the standard as the headers declare them and the schema rows describe them. Needs no PyTorch."""
import functools
import pathlib
import re
from dataclasses import dataclass

import schema_rows

LIBRARY = pathlib.Path(__file__).resolve().parents[2] / "libdiopi"

KINDS = {
    "diopiTensorHandle_t": "tensor", "diopiConstTensorHandle_t": "tensor",
    "diopiTensorHandle_t*": "tensors", "diopiConstTensorHandle_t*": "tensors",
    "diopiScalar_t*": "scalar", "diopiSize_t": "integers", "diopiSize_t*": "integers", "int": "integer",
    "int64_t": "integer", "int32_t": "integer", "int64_t*": "integer", "diopiReduction_t": "integer",
    "diopiRoundMode_t": "integer", "diopiMemoryFormat_t": "integer", "float": "floating", "double": "floating",
    "double*": "floating", "bool": "boolean", "bool*": "boolean", "char*": "text",
    "diopiGeneratorHandle_t": "generator", "diopiGeneratorHandle_t*": "generator", "void*": "pointer",
}

DECLARATION = re.compile(r"DIOPI_API diopiError_t (\w+)\(diopiContextHandle_t ctx(?:, (.*?))?\);")


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str  # one of KINDS' values
    reads: bool = True
    writes: bool = False
    optional: bool = False
    length_of: str = ""  # the list whose length it is
    overwritten: bool = False  # the operator's own tensor, whose old content is not read
    returned: bool = False  # a number that the function gives back through a pointer


def _types():
    """{function: [(type, name)]} of the headers."""
    found = {}
    for path in sorted((LIBRARY / "include/diopi").glob("functions*.inc")):
        lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")]
        for function, parameters in DECLARATION.findall(re.sub(r"\s+", " ", " ".join(lines))):
            words = [p.replace("const ", "").replace(" *", "* ").split() for p in parameters.split(", ") if p]
            found[function] = [("".join(w[:-1]), w[-1]) for w in words]
    return found


def split(text):
    """Parts between commas; commas within brackets do not separate."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [p.strip() for p in parts if p.strip()]


def _parameters(types, row):
    result = []
    for (c_type, name), arg in zip(types, row.args, strict=True):
        kind = KINDS[c_type.removeprefix("const")]
        is_handle = kind in ("tensor", "tensors")
        writes = is_handle and "ConstTensor" not in c_type
        overwritten = writes and "&" in arg.marks and "unread" in arg.roles
        reads = not writes or ("&" in arg.marks and not overwritten)
        optional = "?" in arg.marks or not reads
        returned = c_type in ("bool*", "double*") and "?" not in arg.marks
        result.append(Parameter(name, kind, reads, writes, optional, arg.length_of, overwritten, returned))
    return tuple(result)


@functools.cache
def functions():
    """{C name: its parameters after ctx, in order}."""
    return {name: _parameters(types, schema_rows.rows()[name]) for name, types in _types().items()}
