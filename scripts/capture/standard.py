"""The functions of the standard as the headers declare them and the schema rows describe them. Needs no PyTorch."""
import functools
import pathlib
import re
from dataclasses import dataclass

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
# In-out in their rows, because the tensor belongs to the operator, but the old content is not read.
OVERWRITTEN = {
    ("diopiFill", "input"), ("diopiCastDtype", "out"), ("diopiZeroInp", "self"), ("diopiCopyInp", "dest"),
    ("diopiUniformInp", "inout"), ("diopiNormalInp", "inout"), ("diopiRandomInp", "inout"),
    ("diopiBernoulliScalar", "out"),
}

DECLARATION = re.compile(r"DIOPI_API diopiError_t (\w+)\(diopiContextHandle_t ctx(?:, (.*?))?\);")
ROW = re.compile(r'DIOPI_ROW\((\w+),(.*?)\)\n(?=DIOPI_ROW|\s*//|\s*$|\s*\n)', re.DOTALL)
MARKED = re.compile(r"(\w+)(?:\((\w+)\))?([&?!%]|@\d*)*(?:#(\w+))?(?:=.*)?$")


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str  # one of KINDS' values
    reads: bool = True
    writes: bool = False
    optional: bool = False
    length_of: str = ""  # the list whose length it is


def _types():
    """{function: [(type, name)]} of the headers."""
    found = {}
    for path in sorted((LIBRARY / "include/diopi").glob("functions*.inc")):
        lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")]
        for function, parameters in DECLARATION.findall(re.sub(r"\s+", " ", " ".join(lines))):
            words = [p.replace("const ", "").replace(" *", "* ").split() for p in parameters.split(", ") if p]
            found[function] = [("".join(w[:-1]), w[-1]) for w in words]
    return found


def _rows():
    """{function: the row's argument string} of the schema."""
    found = {}
    for path in sorted((LIBRARY / "schema").glob("*.inc")):
        for function, rest in ROW.findall(path.read_text() + "\n"):
            texts = re.findall(r'"([^"]*)"', rest)
            found[function] = "".join(texts[2:])
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


def _parameters(function, types, row):
    marked = {}
    for part in split(row.split("|")[0]):
        match = MARKED.match(part)
        marks = re.sub(r"\(\w+\)", "", part.split("#")[0].split("=")[0])[len(match[1]):]
        marked[match[1]] = (marks, match[4] or "")
    result = []
    for c_type, name in types:
        kind = KINDS[c_type.removeprefix("const")]
        marks, length_of = marked.get(name, ("", ""))
        is_handle = kind in ("tensor", "tensors")
        writes = is_handle and "ConstTensor" not in c_type
        reads = not writes or ("&" in marks and (function, name) not in OVERWRITTEN)
        optional = "?" in marks or not reads
        result.append(Parameter(name, kind, reads, writes, optional, length_of))
    return tuple(result)


@functools.cache
def functions():
    """{C name: its parameters after ctx, in order}."""
    rows = _rows()
    return {name: _parameters(name, types, rows.get(name, "")) for name, types in _types().items()}
