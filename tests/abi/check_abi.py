#!/usr/bin/env python3
"""Compares the public headers with signatures.txt and the standard's numbers, in C11 and in C++20.

It checks three things: every function is in the header that the list names, with that return type and those parameter
names, and no other function is there; a pointer of exactly the listed type takes its address; enumerations and structs
have the standard's values and layout. In the object file the operator functions must be weak, the runtime's and the device's strong.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
STRONG = ("diopirt.h", "device_functions.h")  # the host or the library must define these functions

ENUMERATIONS = {
    "diopiError_t": ("diopi", {
        "Success": 0, "ErrorOccurred": 1, "NotInited": 2, "NoRegisteredStreamCreateFunction": 3,
        "NoRegisteredStreamDestoryFunction": 4, "NoRegisteredStreamSyncFunction": 5,
        "NoRegisteredDeviceMemoryMallocFunction": 6, "NoRegisteredDeviceMemoryFreeFunction": 7,
        "NoRegisteredDevice2DdeviceMemoryCopyFunction": 8, "NoRegisteredDevice2HostMemoryCopyFunction": 9,
        "NoRegisteredHost2DeviceMemoryCopyFunction": 10, "NoRegisteredGetLastErrorFunction": 11,
        "5DNotSupported": 12, "NoImplement": 13, "ForceFallbackToCPU": 14, "DtypeNotSupported": 1000}),
    "diopiDevice_t": ("diopi_", {"host": 0, "device": 1}),
    "diopiDtype_t": ("diopi_dtype_", {
        "int8": 0, "uint8": 1, "int16": 2, "uint16": 3, "int32": 4, "uint32": 5, "int64": 6, "uint64": 7,
        "float16": 8, "float32": 9, "float64": 10, "bool": 11, "bfloat16": 12, "tfloat32": 13, "complex32": 14,
        "complex64": 15, "complex128": 16, "unsupported": 255}),
    "diopiMemoryFormat_t": ("diopiMemoryFormat_", {
        "Contiguous": 0, "ChannelsLast": 1, "ChannelsLast3d": 2, "Preserve": 3, "ChannelsLast1d": 4}),
    "diopiReduction_t": ("Reduction", {"None": 0, "Mean": 1, "Sum": 2, "END": 3}),
    "diopiRoundMode_t": ("RoundMode", {"None": 0, "Trunc": 1, "Floor": 2, "END": 3}),
}
NUMBERS = {
    "DIOPI_VER_MAJOR": 1, "DIOPI_VER_MINOR": 0, "DIOPI_VER_PATCH": 0,
    "sizeof(diopiSize_t)": 16, "offsetof(diopiSize_t, data)": 0, "offsetof(diopiSize_t, len)": 8,
    "sizeof(((diopiSize_t*)0)->len)": 8,
    "sizeof(diopiScalar_t)": 16, "offsetof(diopiScalar_t, stype)": 0, "offsetof(diopiScalar_t, fval)": 8,
    "offsetof(diopiScalar_t, ival)": 8,
    **{f"sizeof({enumeration})": 4 for enumeration in ENUMERATIONS},
}
# Two declarations of one object: the compiler refuses them unless the types are the same.
TYPES = {
    "diopiContextHandle_t": "struct diopiContext*", "diopiTensorHandle_t": "struct diopiTensor*",
    "diopiConstTensorHandle_t": "const struct diopiTensor*", "diopiGeneratorHandle_t": "struct diopiGenerator*",
    "diopiConstGeneratorHandle_t": "const struct diopiGenerator*", "diopiStreamHandle_t": "void*",
    "diopiDeviceIndex_t": "int8_t",
}
MEMBERS = {
    ("diopiSize_t", "data"): "const int64_t*", ("diopiSize_t", "len"): "int64_t",
    ("diopiScalar_t", "stype"): "diopiDtype_t", ("diopiScalar_t", "fval"): "double",
    ("diopiScalar_t", "ival"): "int64_t",
}


def listed():
    """header -> {function: (return type, [parameter, ...])}, a parameter being 'type name'."""
    headers, current = {}, None
    for number, line in enumerate((HERE / "signatures.txt").read_text().splitlines(), 1):
        if line.startswith("["):
            current = headers.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            match = re.fullmatch(r"(\w+)\((.*)\) -> (.+)", line)
            if not match or current is None:
                sys.exit(f"signatures.txt:{number}: not `name(type name, ...) -> type` under a [header]")
            name, parameters, returns = match.groups()
            if any(name in functions for functions in headers.values()):
                sys.exit(f"signatures.txt:{number}: {name} is listed twice")
            current[name] = returns, parameters.split(", ") if parameters else []
    return headers


def plain(text):
    return re.sub(r"\s*\*\s*", "* ", re.sub(r"\s+", " ", text)).replace("* *", "**").strip()


def declared(include, header):
    """The same from a header's text. The operator functions of x.h are in x.inc."""
    inc = (include / "diopi" / header).with_suffix(".inc")
    text = (inc if inc.exists() else include / "diopi" / header).read_text()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    functions = {}
    for returns, name, parameters in re.findall(r"DIOPI_(?:RT_|DEVICE_)?API\s+([\w\s*]+?)(\w+)\s*\(([^()]*)\)\s*;", text):
        parameters = [plain(p) for p in parameters.split(",")] if parameters.strip() not in ("", "void") else []
        functions[name] = plain(returns), parameters
    return functions


def name_of(parameter):
    return re.search(r"\w+$", parameter).group()


def compare(header, wanted, found):
    for name in sorted(wanted.keys() - found.keys()):
        yield f"{header} does not declare {name}"
    for name in sorted(found.keys() - wanted.keys()):
        yield f"{header} declares {name}, which the standard does not have there"
    for name in wanted.keys() & found.keys():
        names, given = ([name_of(p) for p in side[name][1]] for side in (wanted, found))
        if names != given:
            yield f"{header}: {name} has the parameters ({', '.join(given)}), the standard ({', '.join(names)})"


def program(headers):
    lines = ["#include <assert.h>", *(f"#include <diopi/{header}>" for header in headers)]
    for functions in headers.values():
        for name, (returns, parameters) in functions.items():
            types = ", ".join(re.sub(r"\s*\w+$", "", p) for p in parameters) or "void"
            lines.append(f"{returns} (*address_of_{name})({types}) = &{name};")
    numbers = dict(NUMBERS)
    for prefix, values in ENUMERATIONS.values():
        numbers |= {f"(int){prefix}{word}": value for word, value in values.items()}
    lines += [f'static_assert({what} == {value}, "{what} is not {value}");' for what, value in numbers.items()]
    lines += [f"extern {plain_type} same_{name};\nextern {name} same_{name};" for name, plain_type in TYPES.items()]
    for (struct, member), wanted in MEMBERS.items():
        lines.append(f"{wanted}* address_of_{struct}_{member}({struct}* x) {{ return &x->{member}; }}")
    return "\n".join(lines) + "\n"


def compile_one(compiler, standard, include, source):
    """The compiler's errors, one line each."""
    source_object = source.with_suffix(source.suffix + ".o")
    done = subprocess.run([*compiler.split(), f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-O0",
                           f"-I{include}", "-c", source, "-o", source_object],
                          capture_output=True, text=True, check=False)
    found = [f"{standard}: {line}" for line in done.stderr.splitlines() if "error:" in line]
    return found or ([f"{standard}: {done.stderr.strip()}"] if done.returncode else [])


def check_linkage(nm, built, headers):
    table = subprocess.run([nm, "--undefined-only", built], capture_output=True, text=True, check=True).stdout
    kinds = {line.split()[-1]: line.split()[-2] for line in table.splitlines()}
    for header, functions in headers.items():
        wanted = "U" if header in STRONG else "w"
        for name in functions:
            if kinds.get(name) != wanted:
                yield f"{header}: {name} must be a {'strong' if wanted == 'U' else 'weak'} symbol with C linkage"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", type=pathlib.Path, default=HERE.parents[1] / "libdiopi" / "include")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="folder for the generated files")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--nm", default="nm")
    args = parser.parse_args()
    headers = listed()
    complaints = [c for header, functions in headers.items()
                  for c in compare(header, functions, declared(args.include, header))]
    args.build.mkdir(parents=True, exist_ok=True)
    jobs = [(args.cc, "c11", args.build / "abi.c"), (args.cxx, "c++20", args.build / "abi.cpp")]
    for _, _, source in jobs:
        source.write_text(program(headers))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for found in pool.map(lambda job: compile_one(job[0], job[1], args.include, job[2]), jobs):
            complaints += found
    if not complaints:
        for _, _, source in jobs:
            complaints += check_linkage(args.nm, source.with_suffix(source.suffix + ".o"), headers)
    for complaint in complaints:
        print(complaint)
    count = sum(len(functions) for functions in headers.values())
    print(f"{count} functions checked in C11 and C++20: {len(complaints) or 'no'} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
