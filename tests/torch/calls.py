"""A capture with calls of each function that libdiopi_torch.so serves. Its values are drawn; needs no PyTorch."""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import layer_calls  # noqa: E402
from capture import standard  # noqa: E402

BYTES = {"bool": 1, "uint8": 1, "int32": 4, "int64": 8, "float32": 4, "float64": 8, "complex64": 8}


def dense(shape):
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


def number(value):
    return value if value is None else {"dtype": "float64" if isinstance(value, float) else "int64", "value": value}


class Calls:
    """`to` makes a tensor that a call writes; the other ones make tensors with values. They return ids."""

    def __init__(self):
        self.storages, self.tensors, self.calls = {}, {}, []

    def new(self, dtype, shape, fill=None, strides=None):
        name = f"s{len(self.storages)}"
        self.storages[name] = {"nbytes": math.prod(shape) * BYTES[dtype]}
        if fill is not None:
            self.storages[name]["fill"] = {"dtype": dtype, **fill}
        return self.view(name, dtype, shape, strides or dense(shape))

    def view(self, storage, dtype, shape, strides):
        self.tensors[f"t{len(self.tensors)}"] = {"storage": storage, "dtype": dtype, "shape": list(shape),
                                                 "strides": list(strides), "offset": 0}
        return f"t{len(self.tensors) - 1}"

    def transposed(self, tensor):
        """The same memory with the last two dims exchanged."""
        of = self.tensors[tensor]
        shape, strides = list(of["shape"]), list(of["strides"])
        for each in (shape, strides):
            each[-2:] = reversed(each[-2:])
        return self.view(of["storage"], of["dtype"], shape, strides)

    def to(self, *shape, dtype="float32"):
        return self.new(dtype, shape)

    def normal(self, *shape, dtype="float32"):
        return self.new(dtype, shape, {"kind": "normal", "mean": 0, "std": 1})

    def strided(self, *shape):
        """A matrix, or several, with columns that are dense."""
        strides = dense(shape)
        strides[-2:] = [1, shape[-2]]
        return self.new("float32", shape, {"kind": "normal", "mean": 0, "std": 1}, strides)

    def uniform(self, *shape, low=0.1, high=0.9, dtype="float32"):
        return self.new(dtype, shape, {"kind": "uniform", "low": low, "high": high})

    def integers(self, *shape, low=0, high=4, dtype="int64"):
        return self.new(dtype, shape, {"kind": "integers", "low": low, "high": high})

    def whole(self, *shape):
        return self.integers(*shape, low=-4, high=5, dtype="float32")

    def mask(self, *shape):
        return self.integers(*shape, high=2, dtype="bool")

    def constant(self, value, *shape, dtype="float32"):
        return self.new(dtype, shape, {"kind": "constant", "value": value})

    def call(self, function, /, **args):
        """Arguments by their C names; lengths of lists are found, and `from_` is `from`."""
        given = {"from" if name == "from_" else name: value for name, value in args.items()}
        parameters = standard.functions()[function]
        values = {p.name: given.get(p.name) for p in parameters}
        assert set(given) <= set(values), f"{function} has no {set(given) - set(values)}"
        for parameter in parameters:
            name = parameter.name
            if parameter.length_of:
                values[name] = len(values[parameter.length_of])
            elif parameter.kind == "scalar":
                values[name] = number(values[name])
            elif parameter.kind == "generator":
                values[name] = {"seed": values[name], "offset": 0}
        self.calls.append({"overload": function, "function": function, "args": values})

    def capture(self, functions):
        """The calls of these functions as the members of a capture."""
        return {"diopi_capture": 1, "name": "functions", "storages": self.storages, "tensors": self.tensors,
                "calls": [call for call in self.calls if call["function"] in functions]}


def unary(c):
    names = ["Abs", "Neg", "Sgn", "Floor", "Ceil", "Sqrt", "Rsqrt", "Reciprocal", "Exp", "Expm1", "Log", "Log2",
             "Log10", "Log1p", "Erf", "Erfinv", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh",
             "Asinh", "Atanh", "Sigmoid", "Silu", "Hardswish"]
    for name in names:
        c.call(f"diopi{name}", out=c.to(3, 5), input=c.uniform(3, 5))
        c.call(f"diopi{name}Inp", input=c.uniform(3, 5))
        c.call(f"diopi{name}", out=c.to(3, 5), input=c.strided(3, 5))
    c.call("diopiAcosh", out=c.to(3, 5), input=c.uniform(3, 5, low=1.1, high=4))
    c.call("diopiAcoshInp", input=c.uniform(3, 5, low=1.1, high=4))
    c.call("diopiRelu", out=c.to(3, 5), input=c.normal(3, 5))
    c.call("diopiReluInp", input=c.normal(3, 5))
    c.call("diopiSign", out=c.to(3, 5), input=c.normal(3, 5))
    c.call("diopiIsNan", out=c.to(3, 5, dtype="bool"), input=c.constant("nan", 3, 5))
    c.call("diopiIsNan", out=c.to(3, 5, dtype="bool"), input=c.normal(3, 5))
    c.call("diopiLogicalNot", out=c.to(3, 5, dtype="bool"), input=c.integers(3, 5))
    c.call("diopiLogicalNotInp", input=c.integers(3, 5))
    c.call("diopiBitwiseNot", out=c.to(3, 5, dtype="int64"), input=c.integers(3, 5))
    c.call("diopiBitwiseNotInp", input=c.integers(3, 5, dtype="int32"))
    for part in ("Real", "Imag"):
        c.call(f"diopi{part}", out=c.to(3, 5), input=c.normal(3, 5, dtype="complex64"))
    c.call("diopiConj", out=c.to(3, 5, dtype="complex64"), input=c.normal(3, 5, dtype="complex64"))
    c.call("diopiComplex", out=c.to(3, 5, dtype="complex64"), real=c.normal(3, 5), imag=c.normal(3, 5))
    c.call("diopiPolar", out=c.to(3, 5, dtype="complex64"), abs=c.uniform(3, 5), angle=c.normal(3, 5))


def binary(c):
    for name in ("Add", "Sub"):
        c.call(f"diopi{name}", out=c.to(3, 5), input=c.normal(3, 5), other=c.normal(5), alpha=0.5)
        c.call(f"diopi{name}Inp", input=c.normal(3, 5), other=c.normal(3, 1), alpha=2)
        c.call(f"diopi{name}Scalar", out=c.to(3, 5), input=c.normal(3, 5), other=1.5, alpha=0.5)
        c.call(f"diopi{name}InpScalar", input=c.integers(3, 5), other=3, alpha=2)
    c.call("diopiMul", out=c.to(3, 5), input=c.normal(3, 5), other=c.normal(5))
    c.call("diopiMulInp", input=c.normal(3, 5), other=c.strided(3, 5))
    c.call("diopiMulScalar", out=c.to(3, 5), input=c.normal(3, 5), other=1.5)
    c.call("diopiMulInpScalar", input=c.normal(3, 5), other=1.5)
    for mode in (0, 1, 2):
        c.call("diopiDiv", out=c.to(3, 5), input=c.normal(3, 5), other=c.uniform(5), rounding_mode=mode)
        c.call("diopiDivInp", input=c.normal(3, 5), other=c.uniform(3, 5), rounding_mode=mode)
        c.call("diopiDivScalar", out=c.to(3, 5), input=c.normal(3, 5), other=0.3, rounding_mode=mode)
        c.call("diopiDivInpScalar", input=c.normal(3, 5), other=0.3, rounding_mode=mode)
    for name in ("Maximum", "Minimum"):
        c.call(f"diopi{name}", out=c.to(3, 5), input=c.normal(3, 5), other=c.normal(5))
    c.call("diopiRemainderTensor", out=c.to(3, 5), input=c.normal(3, 5), other=c.uniform(5))
    c.call("diopiRemainderScalar", out=c.to(3, 5), input=c.normal(3, 5), other=0.3)
    c.call("diopiRemainder", out=c.to(3, 5), input=7.5, other=c.uniform(3, 5))
    c.call("diopiPow", out=c.to(3, 5), input=c.uniform(3, 5), exponent=1.5)
    c.call("diopiPowInp", input=c.uniform(3, 5), exponent=3)
    c.call("diopiPowTensor", out=c.to(3, 5), input=c.uniform(3, 5), exponent=c.normal(5))
    c.call("diopiPowInpTensor", input=c.uniform(3, 5), exponent=c.normal(3, 5))
    c.call("diopiPowScalar", out=c.to(3, 5), input=1.5, exponent=c.normal(3, 5))
    for name in ("Eq", "Ne", "Ge", "Gt", "Le", "Lt"):
        c.call(f"diopi{name}", out=c.to(6, 5, dtype="bool"), input=c.integers(6, 5), other=c.integers(5))
        c.call(f"diopi{name}Inp", input=c.integers(6, 5), other=c.integers(6, 5))
        c.call(f"diopi{name}Scalar", out=c.to(6, 5, dtype="bool"), input=c.integers(6, 5), other=2)
        c.call(f"diopi{name}InpScalar", input=c.integers(6, 5), other=2)
    c.call("diopiEqual", out=False, input=c.constant(2, 3, 5), other=c.constant(2, 3, 5))
    c.call("diopiEqual", out=True, input=c.constant(2, 3, 5), other=c.constant(3, 3, 5))
    for name in ("LogicalAnd", "LogicalOr"):
        c.call(f"diopi{name}", out=c.to(6, 5, dtype="bool"), input=c.integers(6, 5), other=c.mask(5))
        c.call(f"diopi{name}Inp", input=c.integers(6, 5), other=c.mask(6, 5))
    for name in ("BitwiseAnd", "BitwiseOr"):
        c.call(f"diopi{name}", out=c.to(6, 5, dtype="int64"), input=c.integers(6, 5), other=c.integers(5))
        c.call(f"diopi{name}Inp", input=c.integers(6, 5), other=c.integers(6, 5))
        c.call(f"diopi{name}Scalar", out=c.to(6, 5, dtype="int64"), input=c.integers(6, 5), other=2)
        c.call(f"diopi{name}InpScalar", input=c.integers(6, 5), other=2)


def ternary(c):
    for name in ("Addcmul", "Addcdiv"):
        c.call(f"diopi{name}", out=c.to(3, 5), input=c.normal(3, 5), tensor1=c.normal(5), tensor2=c.uniform(3, 1),
               value=0.5)
        c.call(f"diopi{name}Inp", input=c.normal(3, 5), tensor1=c.normal(3, 5), tensor2=c.uniform(3, 5), value=0.5)
    c.call("diopiLerpTensor", out=c.to(3, 5), input=c.normal(3, 5), end=c.normal(3, 5), weight=c.uniform(3, 5))
    c.call("diopiLerpScalar", out=c.to(3, 5), input=c.normal(3, 5), end=c.normal(3, 5), weight=0.25)
    c.call("diopiClampScalar", out=c.to(3, 5), input=c.normal(3, 5), min=-0.5, max=0.5)
    c.call("diopiClampScalar", out=c.to(3, 5), input=c.normal(3, 5), min=None, max=0.5)
    c.call("diopiClampInpScalar", input=c.normal(3, 5), min=-0.5, max=None)
    c.call("diopiClamp", out=c.to(3, 5), input=c.normal(3, 5), min=c.normal(5), max=c.uniform(3, 5))
    c.call("diopiClamp", out=c.to(3, 5), input=c.normal(3, 5), min=None, max=c.uniform(3, 5))
    c.call("diopiClampInp", input=c.normal(3, 5), min=c.normal(3, 5), max=None)
    for name, bound in (("Max", "max"), ("Min", "min")):
        c.call(f"diopiClamp{name}Scalar", out=c.to(3, 5), input=c.normal(3, 5), **{bound: 0.5})
        c.call(f"diopiClamp{name}InpScalar", input=c.normal(3, 5), **{bound: 0.5})
        c.call(f"diopiClamp{name}", out=c.to(3, 5), input=c.normal(3, 5), **{bound: c.normal(5)})
        c.call(f"diopiClamp{name}Inp", input=c.normal(3, 5), **{bound: c.normal(3, 5)})
    c.call("diopiWhere", out=c.to(3, 5), condition=c.mask(3, 5), input=c.normal(3, 5), other=c.normal(5))


def activation(c):
    c.call("diopiThreshold", out=c.to(3, 5), input=c.normal(3, 5), threshold=0.1, value=7.0)
    c.call("diopiThresholdInp", input=c.normal(3, 5), threshold=0.1, value=7.0)
    c.call("diopiThresholdBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), input=c.normal(3, 5),
           threshold=0.1)
    c.call("diopiHardtanh", out=c.to(3, 5), input=c.normal(3, 5), min_val=-0.5, max_val=0.7)
    c.call("diopiHardtanhInp", input=c.normal(3, 5), min_val=-0.5, max_val=0.7)
    c.call("diopiHardtanhBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), input=c.normal(3, 5),
           min_val=-0.5, max_val=0.7)
    c.call("diopiHardswishBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), input=c.normal(3, 5))
    c.call("diopiLeakyRelu", out=c.to(3, 5), input=c.normal(3, 5), negative_slope=0.2)
    c.call("diopiLeakyReluInp", input=c.normal(3, 5), negative_slope=0.2)
    c.call("diopiLeakyReluBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), input=c.normal(3, 5),
           negative_slope=0.2, input_is_result=False)
    for approximate in ("none", "tanh"):
        c.call("diopiGelu", out=c.to(3, 5), input=c.normal(3, 5), approximate=approximate)
        c.call("diopiGeluBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), input=c.normal(3, 5),
               approximate=approximate)
    c.call("diopiSiluBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), input=c.normal(3, 5))
    for name in ("Sigmoid", "Tanh"):
        c.call(f"diopi{name}Backward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), output=c.uniform(3, 5))
    for name in ("Softmax", "LogSoftmax"):
        output = c.to(3, 5)
        c.call(f"diopi{name}", out=output, input=c.normal(3, 5), dim=1)
        c.call(f"diopi{name}Backward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), output=output, dim=1)


def reduction(c):
    for name in ("Sum", "Mean"):
        c.call(f"diopi{name}", out=c.to(), input=c.normal(3, 4, 5), dim=[])
        c.call(f"diopi{name}", out=c.to(4), input=c.normal(3, 4, 5), dim=[0, 2])
        c.call(f"diopi{name}", out=c.to(3, 1, 5), input=c.normal(3, 4, 5), dim=[1])
    c.call("diopiStd", out=c.to(3, 5), input=c.normal(3, 4, 5), dim=[1], correction=0)
    c.call("diopiStd", out=c.to(3, 1, 5), input=c.normal(3, 4, 5), dim=[1], correction=None)
    c.call("diopiStd", out=c.to(), input=c.normal(3, 4, 5), dim=[], correction=1)
    c.call("diopiProd", out=c.to(), input=c.normal(3, 5), dim=None)
    c.call("diopiProd", out=c.to(3), input=c.normal(3, 5), dim=1)
    c.call("diopiNorm", out=c.to(), input=c.normal(3, 5), p=2.0, dim=[])
    x, norm = c.normal(3, 5), c.to(3)
    c.call("diopiNorm", out=norm, input=x, p=3.0, dim=[1])
    c.call("diopiNormBackward", grad_input=c.to(3, 5), grad_output=c.normal(3), self=x, norm=norm, dim=[1], p=3.0)
    c.call("diopiLinalgVecNorm", out=c.to(3, 1), input=c.normal(3, 5), ord=2.0, dim=[1], keepdim=True)
    for name, letters in (("Max", "max"), ("Min", "min")):
        c.call(f"diopi{name}", **{letters: c.to(3), f"{letters}_indices": c.to(3, dtype="int64")},
               input=c.normal(3, 5), dim=1)
        c.call(f"diopi{name}All", **{letters: c.to()}, input=c.normal(3, 5))
    c.call("diopiAmax", out=c.to(5), self=c.normal(3, 5), dim=[0], keepdim=False)
    c.call("diopiAmax", out=c.to(1, 1), self=c.normal(3, 5), dim=[], keepdim=True)
    for name in ("Argmax", "Argmin"):
        c.call(f"diopi{name}", out=c.to(3, dtype="int64"), input=c.normal(3, 5), dim=1, keepdim=False)
        c.call(f"diopi{name}", out=c.to(dtype="int64"), input=c.normal(3, 5), dim=None, keepdim=False)
    for name in ("Any", "All"):
        c.call(f"diopi{name}", out=c.to(dtype="bool"), input=c.mask(3, 5), dim=None)
        c.call(f"diopi{name}", out=c.to(6, dtype="bool"), input=c.mask(6, 2), dim=1)
    for stable in (None, True):
        indices = c.to(3, 5, dtype="int64")
        c.call("diopiSort", values=c.to(3, 5), indices=indices, input=c.normal(3, 5), dim=1, descending=True,
               pStable=stable)
    c.call("diopiSortBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), dim=1, indices=indices,
           sizes=[3, 5], keepdim=True)
    c.call("diopiArgsort", out=c.to(3, 5, dtype="int64"), input=c.normal(3, 5), stable=True, dim=0, descending=False)
    c.call("diopiArgsort", out=c.to(3, 5, dtype="int64"), input=c.normal(3, 5), stable=True, dim=None, descending=True)
    c.call("diopiTopk", values=c.to(3, 2), indices=c.to(3, 2, dtype="int64"), input=c.normal(3, 5), k=2, dim=1,
           largest=False, sorted=True)
    c.call("diopiUnique", out=[None], input=c.integers(12), dim=None, sorted=True, return_counts=True,
           indices=c.to(12, dtype="int64"), counts=[None])
    c.call("diopiUnique", out=[None], input=c.integers(12, 1), dim=0, sorted=True, return_counts=True,
           indices=c.to(12, dtype="int64"), counts=[None])
    c.call("diopiCumsum", out=c.to(3, 5), input=c.normal(3, 5), dim=1)
    c.call("diopiCumsumBackward", grad_input=c.to(3, 5), grad_output=c.normal(3, 5), dim=1)


def index(c):
    c.call("diopiSelect", out=c.to(3, 5), input=c.normal(3, 4, 5), dim=1, index=-1)
    c.call("diopiSelectBackward", grad_input=c.to(3, 4, 5), grad_output=c.normal(3, 5), input_sizes=[3, 4, 5], dim=1,
           index=2)
    c.call("diopiSelectScatter", out=c.to(3, 4, 5), input=c.normal(3, 4, 5), src=c.normal(3, 5), dim=1, index=2)
    c.call("diopiSlice", null_out=c.to(3, 2, 5), input=c.normal(3, 4, 5), dim=1, start=0, end=4, step=2)
    c.call("diopiSliceBackward", grad_input=c.to(3, 4, 5), grad_output=c.normal(3, 2, 5), input_sizes=[3, 4, 5], dim=1,
           start=0, end=4, step=2)
    c.call("diopiSliceScatter", out=c.to(3, 4, 5), input=c.normal(3, 4, 5), src=c.normal(3, 2, 5), dim=1, start=0,
           end=4, step=2)
    c.call("diopiIndexSelect", out=c.to(3, 6), input=c.normal(3, 4), dim=1, index=c.integers(6))
    c.call("diopiIndexSelectBackward", grad_input=c.to(3, 4), grad=c.normal(3, 6), input_sizes=[3, 4], dim=1,
           index=c.integers(6))
    c.call("diopiIndex", out=[None], input=c.normal(4, 5, 4), indices=[c.integers(6), None, c.integers(6)])
    c.call("diopiIndex", out=[None], input=c.normal(6, 5), indices=[c.mask(6)])
    c.call("diopiIndexBackward", grad_input=c.to(4, 5), zeros_like_input=c.constant(0, 4, 5), indices=[c.integers(7)],
           grad_output=c.normal(7, 5))
    c.call("diopiIndexPut", out=c.to(4, 5), input=c.normal(4, 5), values=c.normal(7, 5), indices=[c.integers(7)],
           accumulate=True)
    c.call("diopiIndexPutInp", input=c.normal(4, 5), values=c.constant(2, 5), indices=[c.integers(2)], accumulate=False)
    for kind in ("", "Inp"):
        target = {"out": c.to(3, 4)} if not kind else {}
        c.call(f"diopiIndexFill{kind}Scalar", **target, input=c.normal(3, 4), dim=1, index=c.integers(2), value=0.5)
        c.call(f"diopiIndexFill{kind}", **({"out": c.to(3, 4)} if not kind else {}), input=c.normal(3, 4), dim=1,
               index=c.integers(2), value=c.normal())
        for reduce in ("", "add", "multiply"):
            values = {"src": c.constant(3, 2, 4)} if not reduce else {"src": c.normal(2, 4)}
            c.call(f"diopiScatter{kind}", **({"out": c.to(4, 4)} if not kind else {}), input=c.normal(4, 4), dim=0,
                   **values, index=c.integers(2, 4), reduce=reduce)
            c.call(f"diopiScatter{kind}Scalar", **({"out": c.to(4, 4)} if not kind else {}), input=c.normal(4, 4),
                   dim=0, value=0.5, index=c.integers(2, 4), reduce=reduce)
        c.call(f"diopiMaskedFill{kind}", **({"out": c.to(3, 4)} if not kind else {}), input=c.normal(3, 4),
               mask=c.mask(3, 4), value=c.normal())
        c.call(f"diopiMaskedFill{kind}Scalar", **({"out": c.to(3, 4)} if not kind else {}), input=c.normal(3, 4),
               mask=c.mask(4), value=0.5)
    c.call("diopiScatter", out=c.to(4, 4), input=c.normal(4, 4), dim=1, src=c.constant(3, 4, 2), index=c.integers(4, 2),
           reduce=None)
    c.call("diopiGather", out=c.to(6, 4), input=c.normal(4, 4), dim=0, index=c.integers(6, 4))
    c.call("diopiGatherBackward", grad_input=c.to(4, 4), grad_output=c.normal(6, 4), input=c.normal(4, 4), dim=0,
           index=c.integers(6, 4))
    c.call("diopiEmbedding", out=c.to(2, 3, 5), weight=c.normal(4, 5), indices=c.integers(2, 3), padding_idx=-1,
           scale_grad_byfreq=False, sparse=False)
    for padding, scales in ((-1, False), (2, True)):
        c.call("diopiEmbeddingBackward", out=c.to(4, 5), grad=c.normal(6, 5), indices=c.integers(6), num_weights=4,
               padding_idx=padding, scale_grad_byfreq=scales, sparse=False)
    c.call("diopiEmbeddingRenorm_", inout=c.normal(4, 5), indices=c.integers(3), max_norm=1.0, norm_type=2.0)
    c.call("diopiMaskedScatter", out=c.to(3, 4), input=c.normal(3, 4), mask=c.mask(3, 4), source=c.normal(12))
    c.call("diopiMaskedSelect", out=[None], input=c.normal(3, 4), mask=c.mask(3, 4))
    c.call("diopiMaskedSelectBackward", grad_input=c.to(3, 4), grad_output=c.normal(12), input=c.normal(3, 4),
           mask=c.constant(1, 3, 4, dtype="bool"))
    c.call("diopiNonzero", out=[None], input=c.integers(3, 4, high=2))
    c.call("diopiOneHot", out=c.to(6, 4, dtype="int64"), input=c.integers(6), num_classes=4)


def shape(c):
    c.call("diopiCat", out=c.to(3, 7), tensors=[c.normal(3, 5), c.strided(3, 2)], dim=1)
    c.call("diopiStack", out=c.to(3, 2, 5), tensors=[c.normal(3, 5), c.normal(3, 5)], dim=1)
    c.call("diopiSplitWithSizes", outs=[c.to(3, 2), c.to(3, 3)], input=c.normal(3, 5), splitSizes=[2, 3], dim=1)
    c.call("diopiMeshGrid", outs=[c.to(3, 4), c.to(3, 4)], inputs=[c.normal(3), c.normal(4)])
    c.call("diopiPermute", out=c.to(5, 3, 4), input=c.normal(3, 4, 5), dims=[2, 0, 1])
    c.call("diopiTranspose", out=c.to(5, 4, 3), input=c.normal(3, 4, 5), dim0=0, dim1=-1)
    c.call("diopiFlip", out=c.to(3, 5), input=c.normal(3, 5), dims=[0, 1])
    c.call("diopiRoll", out=c.to(3, 5), input=c.normal(3, 5), shifts=[1, 2], dims=[0, 1])
    c.call("diopiPad", out=c.to(2, 3, 8), input=c.normal(2, 3, 5), pad=[1, 2], mode="constant", value=0.5)
    for mode in ("constant", "reflect", "replicate", "circular"):
        c.call("diopiPad", out=c.to(2, 3, 8), input=c.normal(2, 3, 5), pad=[1, 2], mode=mode, value=None)
    c.call("diopiExpand", out=c.to(4, 3, 5), input=c.normal(3, 1))
    c.call("diopiRepeat", out=c.to(2, 6, 5), input=c.normal(3, 5), repeats_size=[2, 2, 1])
    for name in ("Tril", "Triu"):
        c.call(f"diopi{name}", out=c.to(4, 5), input=c.normal(4, 5), diagonal=1)
    c.call("diopiTriuInp", input=c.normal(4, 5), diagonal=-1)
    c.call("diopiUnfold", out=c.to(3, 3, 4), input=c.normal(3, 8), dim=1, size=4, step=2)
    c.call("diopiUnfoldBackward", grad_input=c.to(3, 8), grad_output=c.normal(3, 3, 4), input_sizes=[3, 8], dim=1,
           size=4, step=2)
    c.call("diopiCopyInp", src=c.normal(5), dest=c.to(3, 5))
    c.call("diopiCastDtype", out=c.to(3, 5, dtype="int32"), input=c.uniform(3, 5, low=-9, high=9))
    for layout, sizes in enumerate(((3, 5), (2, 3, 4, 5), (2, 3, 2, 4, 5))):
        c.call("diopiContiguous", out=[None], input=c.strided(*sizes), memoryFormat=layout)
    c.call("diopiFill", input=c.to(3, 5), value=0.5)
    c.call("diopiZeroInp", self=c.to(3, 5))
    for name in ("Zeros", "Ones"):
        c.call(f"diopi{name}", out=c.to(3, 5), size=[3, 5])
    c.call("diopiArange", out=c.to(5, dtype="int64"), start=1, end=11, step=2)
    c.call("diopiArange", out=c.to(5), start=0.5, end=3.0, step=0.5)
    c.call("diopiLinspace", out=c.to(6), start=0.5, end=3.0, steps=6)


def random(c):
    c.call("diopiDropout", out=c.to(6, 7), mask=c.to(6, 7, dtype="bool"), input=c.normal(6, 7), p=0.4, train=True,
           generator=1)
    c.call("diopiDropoutInp", input=c.normal(6, 7), mask=c.to(6, 7, dtype="bool"), p=0.4, train=True, generator=2)
    c.call("diopiRandomInp", inout=c.to(6, 7, dtype="int64"), from_=3, to=50, generator=3)
    c.call("diopiRandomInp", inout=c.to(6, 7), from_=3, to=None, generator=4)
    c.call("diopiUniformInp", inout=c.to(6, 7), from_=-1.5, to=2.5, generator=5)
    c.call("diopiBernoulli", out=c.to(6, 7), input=c.uniform(6, 7), generator=6)
    c.call("diopiBernoulliInp", inout=c.uniform(6, 7), generator=7)
    c.call("diopiBernoulliScalar", out=c.to(6, 7), p=0.3, generator=8)
    c.call("diopiMultinomial", out=c.to(6, 4, dtype="int64"), input=c.uniform(6, 7), num_samples=4, replacement=False,
           generator=9)
    c.call("diopiRandperm", out=c.to(20, dtype="int64"), n=20, generator=10)
    c.call("diopiNormal", out=c.to(6, 7), mean=1.5, std=0.5, generator=11)
    c.call("diopiNormalTensorScalar", out=c.to(6, 7), mean=c.normal(6, 7), std=0.5, generator=12)
    c.call("diopiNormalScalarTensor", out=c.to(6, 7), mean=1.5, std=c.uniform(6, 7), generator=13)
    c.call("diopiNormalTensor", out=c.to(6, 7), mean=c.normal(6, 7), std=c.uniform(6, 7), generator=14)
    c.call("diopiNormalInp", inout=c.to(6, 7), mean=1.5, std=0.5, generator=15)


def of_functions(functions):
    """A capture of the calls of these functions."""
    c = Calls()
    for family in (unary, binary, ternary, activation, reduction, index, shape, random, layer_calls.linear,
                   layer_calls.conv, layer_calls.pool, layer_calls.norm, layer_calls.loss, layer_calls.ctc,
                   layer_calls.optim, layer_calls.vision):
        family(c)
    return c.capture(functions)
