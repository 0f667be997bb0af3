"""What PyTorch computes for the functions of the standard: elements, reductions, indices, shapes, random numbers."""
import re

import torch
import torch.nn.functional as F

from capture import standard

aten = torch.ops.aten
ROUNDING = [None, "trunc", "floor"]


def gradient(function, *inputs, incoming):
    """The gradients of `function` at the inputs, one or several."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    with torch.enable_grad():
        result = function(*inputs)
    gradients = torch.autograd.grad(result, inputs, incoming, allow_unused=True)
    return gradients if len(gradients) > 1 else gradients[0]


def reduced(op):
    def run(out, input, dim):
        keeps = out.dim() == input.dim()
        return op(input, dim, keepdim=keeps, dtype=out.dtype) if dim else op(input, dtype=out.dtype)
    return run


def sliced(input, dim, start, end, step):
    return input[(slice(None),) * dim + (slice(start, end, step),)]


def at_indices(input, indices):
    return input[tuple(slice(None) if index is None else index for index in indices)]


def scatter_in_place(input, dim, index, source, reduce):
    """A number for a source also fills what PyTorch has for tensors only."""
    if not reduce:
        return input.scatter_(dim, index, source)
    return input.scatter_(dim, index, source, reduce=reduce)


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def variants(names):
    """{C function: PyTorch's} for functions whose arguments have PyTorch's order, in place too."""
    known, found = standard.functions(), {}
    for name in names:
        for suffix in ("", "Scalar", "Tensor"):
            found[f"diopi{name}{suffix}"] = getattr(torch, snake(name), None)
        for suffix in ("Inp", "InpScalar", "InpTensor"):
            found[f"diopi{name}{suffix}"] = getattr(torch.Tensor, snake(name) + "_", None)
    return {function: run for function, run in found.items() if run is not None and function in known}


# {function: PyTorch's computation}: a Python function gets the arguments by their C names, also `out` and `shape` if it
# names them. One of PyTorch's own gets all but the outputs in their order. It returns the outputs, or changes the
# in-out arguments itself. Scalars are numbers.
ELEMENTWISE = variants(
    ["Abs", "Neg", "Sign", "Sgn", "Floor", "Ceil", "Sqrt", "Rsqrt", "Reciprocal", "Exp", "Expm1", "Log", "Log2",
     "Log10", "Log1p", "Erf", "Erfinv", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh",
     "Acosh", "Atanh", "Sigmoid", "LogicalNot", "BitwiseNot", "Mul", "Maximum", "Minimum", "Eq", "Ne", "Ge", "Gt",
     "Le", "Lt", "LogicalAnd", "LogicalOr", "BitwiseAnd", "BitwiseOr", "Pow", "Remainder", "Clamp", "ClampMax",
     "ClampMin", "Lerp", "MaskedFill", "Complex", "Polar", "Where", "Equal"]) | {
    "diopiAdd": lambda input, other, alpha: torch.add(input, other, alpha=alpha),
    "diopiAddInp": lambda input, other, alpha: input.add_(other, alpha=alpha),
    "diopiAddScalar": lambda input, other, alpha: torch.add(input, other, alpha=alpha),
    "diopiAddInpScalar": lambda input, other, alpha: input.add_(other, alpha=alpha),
    "diopiSub": lambda input, other, alpha: torch.sub(input, other, alpha=alpha),
    "diopiSubInp": lambda input, other, alpha: input.sub_(other, alpha=alpha),
    "diopiSubScalar": lambda input, other, alpha: torch.sub(input, other, alpha=alpha),
    "diopiSubInpScalar": lambda input, other, alpha: input.sub_(other, alpha=alpha),
    **{f"diopiDiv{suffix}": lambda input, other, rounding_mode: torch.div(
        input, other, rounding_mode=ROUNDING[rounding_mode]) for suffix in ("", "Scalar")},
    **{f"diopiDiv{suffix}": lambda input, other, rounding_mode: input.div_(
        other, rounding_mode=ROUNDING[rounding_mode]) for suffix in ("Inp", "InpScalar")},
    "diopiAddcmul": lambda input, tensor1, tensor2, value: torch.addcmul(input, tensor1, tensor2, value=value),
    "diopiAddcmulInp": lambda input, tensor1, tensor2, value: input.addcmul_(tensor1, tensor2, value=value),
    "diopiAddcdiv": lambda input, tensor1, tensor2, value: torch.addcdiv(input, tensor1, tensor2, value=value),
    "diopiAddcdivInp": lambda input, tensor1, tensor2, value: input.addcdiv_(tensor1, tensor2, value=value),
    "diopiIsNan": torch.isnan,
    "diopiConj": torch.conj_physical,
    "diopiReal": torch.real, "diopiImag": torch.imag,
}

ACTIVATION = {
    "diopiRelu": torch.relu, "diopiReluInp": torch.relu_,
    "diopiThreshold": lambda input, threshold, value: F.threshold(input, threshold, value),
    "diopiThresholdInp": lambda input, threshold, value: F.threshold(input, threshold, value, inplace=True),
    "diopiThresholdBackward": lambda grad_output, input, threshold: gradient(
        lambda x: F.threshold(x, threshold, 0), input, incoming=grad_output),
    "diopiHardtanh": lambda input, min_val, max_val: F.hardtanh(input, min_val, max_val),
    "diopiHardtanhInp": lambda input, min_val, max_val: F.hardtanh(input, min_val, max_val, inplace=True),
    "diopiHardtanhBackward": lambda grad_output, input, min_val, max_val: gradient(
        lambda x: F.hardtanh(x, min_val, max_val), input, incoming=grad_output),
    "diopiHardswish": lambda input: F.hardswish(input),
    "diopiHardswishInp": lambda input: F.hardswish(input, inplace=True),
    "diopiHardswishBackward": lambda grad_output, input: gradient(F.hardswish, input, incoming=grad_output),
    "diopiLeakyRelu": lambda input, negative_slope: F.leaky_relu(input, negative_slope),
    "diopiLeakyReluInp": lambda input, negative_slope: F.leaky_relu(input, negative_slope, inplace=True),
    "diopiLeakyReluBackward": lambda grad_output, input, negative_slope: gradient(
        lambda x: F.leaky_relu(x, negative_slope), input, incoming=grad_output),
    "diopiGelu": lambda input, approximate: F.gelu(input, approximate=approximate),
    "diopiGeluBackward": lambda grad_output, input, approximate: gradient(
        lambda x: F.gelu(x, approximate=approximate), input, incoming=grad_output),
    "diopiSilu": lambda input: F.silu(input),
    "diopiSiluInp": lambda input: F.silu(input, inplace=True),
    "diopiSiluBackward": lambda grad_output, input: gradient(F.silu, input, incoming=grad_output),
    "diopiSigmoidBackward": aten.sigmoid_backward,
    "diopiTanhBackward": aten.tanh_backward,
    "diopiSoftmax": lambda input, dim: torch.softmax(input, dim),
    "diopiSoftmaxBackward": lambda grad_output, output, dim: aten._softmax_backward_data(grad_output, output, dim,
                                                                                         output.dtype),
    "diopiLogSoftmax": lambda input, dim: torch.log_softmax(input, dim),
    "diopiLogSoftmaxBackward": lambda grad_output, output, dim: aten._log_softmax_backward_data(
        grad_output, output, dim, output.dtype),
}

REDUCTION = {
    "diopiSum": reduced(torch.sum), "diopiMean": reduced(torch.mean),
    "diopiStd": lambda out, input, dim, correction: torch.std(
        input, dim or list(range(input.dim())), correction=1 if correction is None else correction,
        keepdim=out.dim() == input.dim()),
    "diopiProd": lambda input, dim: torch.prod(input) if dim is None else torch.prod(input, dim),
    "diopiNorm": lambda input, p, dim: torch.norm(input, p, dim) if dim else torch.norm(input, p),
    "diopiNormBackward": lambda grad_output, self, dim, p: gradient(
        lambda x: torch.norm(x, p, dim), self, incoming=grad_output),
    "diopiLinalgVecNorm": lambda input, ord, dim, keepdim: torch.linalg.vector_norm(input, ord, dim, keepdim),
    "diopiMax": torch.max, "diopiMaxAll": torch.max, "diopiMin": torch.min, "diopiMinAll": torch.min,
    "diopiAmax": torch.amax, "diopiArgmax": torch.argmax, "diopiArgmin": torch.argmin,
    "diopiAny": lambda input, dim: torch.any(input) if dim is None else torch.any(input, dim),
    "diopiAll": lambda input, dim: torch.all(input) if dim is None else torch.all(input, dim),
    "diopiSort": lambda input, dim, descending, pStable: torch.sort(input, stable=bool(pStable), dim=dim,
                                                                    descending=descending),
    "diopiSortBackward": lambda grad_output, dim, indices, sizes:
        torch.zeros(sizes).scatter_(dim, indices, grad_output),
    "diopiArgsort": lambda input, stable, dim, descending: torch.sort(
        input, stable=stable, dim=-1 if dim is None else dim, descending=descending).indices,
    "diopiTopk": torch.topk,
    "diopiUnique": lambda input, dim, sorted, return_counts: [
        [result] if i != 1 else result
        for i, result in enumerate(torch.unique(input, sorted, True, return_counts, dim))],
    "diopiCumsum": torch.cumsum,
    "diopiCumsumBackward": lambda grad_output, dim: gradient(
        lambda x: torch.cumsum(x, dim), torch.zeros_like(grad_output), incoming=grad_output),
}

INDEX = {
    "diopiSelect": torch.select, "diopiSelectScatter": torch.select_scatter,
    "diopiSelectBackward": lambda grad_output, input_sizes, dim, index: gradient(
        lambda x: x.select(dim, index), torch.zeros(input_sizes), incoming=grad_output),
    "diopiSlice": lambda input, dim, start, end, step: sliced(input, dim, start, end, step),
    "diopiSliceBackward": lambda grad_output, input_sizes, dim, start, end, step: gradient(
        lambda x: sliced(x, dim, start, end, step), torch.zeros(input_sizes), incoming=grad_output),
    "diopiSliceScatter": torch.slice_scatter,
    "diopiIndexSelect": torch.index_select,
    "diopiIndexSelectBackward": lambda grad, input_sizes, dim, index: gradient(
        lambda x: x.index_select(dim, index), torch.zeros(input_sizes), incoming=grad),
    "diopiIndex": lambda input, indices: [[at_indices(input, indices)]],
    "diopiIndexBackward": lambda zeros_like_input, indices, grad_output: gradient(
        lambda x: at_indices(x, indices), zeros_like_input, incoming=grad_output),
    "diopiIndexPut": lambda input, values, indices, accumulate: torch.index_put(input, indices, values, accumulate),
    "diopiIndexPutInp": lambda input, values, indices, accumulate: input.index_put_(indices, values, accumulate),
    **{f"diopiIndexFill{suffix}": torch.index_fill for suffix in ("", "Scalar")},
    **{f"diopiIndexFillInp{suffix}": torch.Tensor.index_fill_ for suffix in ("", "Scalar")},
    "diopiGather": torch.gather,
    "diopiGatherBackward": lambda grad_output, input, dim, index: gradient(
        lambda x: x.gather(dim, index), input, incoming=grad_output),
    "diopiScatter": lambda input, dim, src, index, reduce: scatter_in_place(input.clone(), dim, index, src, reduce),
    "diopiScatterInp": lambda input, dim, src, index, reduce: scatter_in_place(input, dim, index, src, reduce),
    "diopiScatterScalar": lambda input, dim, value, index, reduce: scatter_in_place(input.clone(), dim, index, value,
                                                                                    reduce),
    "diopiScatterInpScalar": lambda input, dim, value, index, reduce:
        scatter_in_place(input, dim, index, value, reduce),
    "diopiEmbedding": lambda weight, indices: weight[indices],
    "diopiEmbeddingBackward": lambda grad, indices, num_weights, padding_idx, scale_grad_byfreq: gradient(
        lambda x: F.embedding(indices, x, padding_idx if padding_idx >= 0 else None,
                              scale_grad_by_freq=scale_grad_byfreq),
        torch.zeros(num_weights, grad.shape[-1], dtype=grad.dtype), incoming=grad),
    "diopiEmbeddingRenorm_": torch.embedding_renorm_,
    "diopiMaskedScatter": torch.masked_scatter,
    "diopiMaskedSelect": lambda input, mask: [[torch.masked_select(input, mask)]],
    "diopiMaskedSelectBackward": lambda grad_output, input, mask: gradient(
        lambda x: x.masked_select(mask), input, incoming=grad_output),
    "diopiNonzero": lambda input: [[torch.nonzero(input)]],
    "diopiOneHot": F.one_hot,
}

SHAPE = {
    "diopiCat": lambda tensors, dim: torch.cat(tensors, dim),
    "diopiStack": lambda tensors, dim: torch.stack(tensors, dim),
    "diopiSplitWithSizes": lambda input, splitSizes, dim: [torch.split(input, splitSizes, dim)],
    "diopiMeshGrid": lambda inputs: [torch.meshgrid(*inputs, indexing="ij")],
    "diopiPermute": torch.permute, "diopiTranspose": torch.transpose, "diopiFlip": torch.flip, "diopiRoll": torch.roll,
    "diopiPad": lambda input, pad, mode, value: F.pad(input, pad, mode, value),
    "diopiExpand": lambda out, input: input.expand(out.shape),
    "diopiRepeat": lambda input, repeats_size: input.repeat(repeats_size),
    "diopiTril": lambda input, diagonal: torch.tril(input, diagonal),
    "diopiTriu": lambda input, diagonal: torch.triu(input, diagonal),
    "diopiTriuInp": lambda input, diagonal: input.triu_(diagonal),
    "diopiUnfold": lambda input, dim, size, step: input.unfold(dim, size, step),
    "diopiUnfoldBackward": lambda grad_output, input_sizes, dim, size, step: gradient(
        lambda x: x.unfold(dim, size, step), torch.zeros(input_sizes), incoming=grad_output),
    "diopiCopyInp": lambda src, dest: dest.copy_(src),
    "diopiCastDtype": lambda out, input: out.copy_(input),
    "diopiContiguous": lambda input: [[input]],
    "diopiFill": lambda input, value: input.fill_(value),
    "diopiZeroInp": lambda self: self.zero_(),
    "diopiZeros": torch.zeros, "diopiOnes": torch.ones,
    "diopiArange": lambda out, start, end, step: torch.arange(start, end, step, dtype=out.dtype),
    "diopiLinspace": torch.linspace,
}

# These also get a generator of PyTorch with the call's seed.
RANDOM = {
    "diopiDropout": lambda input, p, train, generator: torch.native_dropout(input, p, train),
    "diopiDropoutInp": lambda input, mask, p, train, generator: [
        out.copy_(result) for out, result in zip((input, mask), torch.native_dropout(input, p, train))][1],
    "diopiRandomInp": lambda inout, to, generator, **rest: inout.random_(rest["from"], to, generator=generator),
    "diopiUniformInp": lambda inout, to, generator, **rest: inout.uniform_(rest["from"], to, generator=generator),
    "diopiBernoulli": lambda input, generator: torch.bernoulli(input, generator=generator),
    "diopiBernoulliInp": lambda inout, generator: inout.copy_(torch.bernoulli(inout, generator=generator)),
    "diopiBernoulliScalar": lambda out, p, generator: out.bernoulli_(p, generator=generator),
    "diopiMultinomial": lambda input, num_samples, replacement, generator: torch.multinomial(
        input, num_samples, replacement, generator=generator),
    "diopiRandperm": lambda n, generator: torch.randperm(n, generator=generator),
    "diopiNormal": lambda out, mean, std, generator: torch.normal(mean, std, out.shape, generator=generator),
    "diopiNormalInp": lambda inout, mean, std, generator: inout.normal_(mean, std, generator=generator),
    **{f"diopiNormal{kinds}": lambda mean, std, generator: torch.normal(mean, std, generator=generator)
       for kinds in ("Tensor", "TensorScalar", "ScalarTensor")},
}
