"""Runs a capture's calls with PyTorch, from its two files alone."""
import inspect
import json
import math

import h5py
import numpy as np
import torch

from form import SOURCE  # noqa: F401  (puts scripts/ on the path)
from capture import standard

aten = torch.ops.aten


def number(value):
    if value is None or isinstance(value, bool):
        return value
    plain = value["value"]
    return float(plain) if value["dtype"] == "float64" else plain


def unary(op):
    return lambda input: op(input)


def reduced(op):
    def run(out, input, dim):
        keeps = out.dim() == input.dim()
        return op(input, dim, keepdim=keeps, dtype=out.dtype) if dim else op(input, dtype=out.dtype)
    return run


# {function: PyTorch's computation}: it gets the arguments by their C names, and also `out` and `shape` if it names
# them, and returns the outputs, or changes the in-out arguments itself.
FUNCTIONS = {
    "diopiAdd": lambda input, other, alpha: torch.add(input, other, alpha=number(alpha)),
    "diopiAddInp": lambda input, other, alpha: input.add_(other, alpha=number(alpha)),
    "diopiAddScalar": lambda input, other, alpha: torch.add(input, number(other), alpha=number(alpha)),
    "diopiAddInpScalar": lambda input, other, alpha: input.add_(number(other), alpha=number(alpha)),
    "diopiSub": lambda input, other, alpha: torch.sub(input, other, alpha=number(alpha)),
    "diopiMul": lambda input, other: input * other,
    "diopiMulInp": lambda input, other: input.mul_(other),
    "diopiMulScalar": lambda input, other: input * number(other),
    "diopiMulInpScalar": lambda input, other: input.mul_(number(other)),
    "diopiDivScalar": lambda input, other, rounding_mode: input / number(other),
    "diopiDivInpScalar": lambda input, other, rounding_mode: input.div_(number(other)),
    "diopiDivInp": lambda input, other, rounding_mode: input.div_(other),
    "diopiAddcmulInp": lambda input, tensor1, tensor2, value: input.addcmul_(tensor1, tensor2, value=number(value)),
    "diopiAddcdivInp": lambda input, tensor1, tensor2, value: input.addcdiv_(tensor1, tensor2, value=number(value)),
    "diopiLerpScalar": lambda input, end, weight: torch.lerp(input, end, number(weight)),
    "diopiMaximum": torch.maximum, "diopiReciprocalInp": lambda input: input.reciprocal_(),
    "diopiPow": lambda input, exponent: torch.pow(input, number(exponent)),
    "diopiNeg": unary(torch.neg), "diopiSqrt": unary(torch.sqrt), "diopiRsqrt": unary(torch.rsqrt),
    "diopiSqrtInp": lambda input: input.sqrt_(), "diopiReluInp": lambda input: input.relu_(),
    "diopiSin": unary(torch.sin), "diopiCos": unary(torch.cos), "diopiRelu": unary(torch.relu),
    "diopiTanh": unary(torch.tanh), "diopiSilu": unary(aten.silu),
    "diopiGelu": lambda input, approximate: aten.gelu(input, approximate=approximate),
    "diopiGeluBackward": lambda grad_output, input, approximate: aten.gelu_backward(grad_output, input,
                                                                                    approximate=approximate),
    "diopiSiluBackward": aten.silu_backward,
    "diopiTanhBackward": aten.tanh_backward,
    "diopiThresholdBackward": lambda grad_output, input, threshold: aten.threshold_backward(grad_output, input,
                                                                                            number(threshold)),
    "diopiSoftmax": lambda input, dim: aten._softmax(input, dim, False),
    "diopiSoftmaxBackward": lambda grad_output, output, dim: aten._softmax_backward_data(grad_output, output, dim,
                                                                                         output.dtype),
    "diopiLogSoftmax": lambda input, dim: aten._log_softmax(input, dim, False),
    "diopiLogSoftmaxBackward": lambda grad_output, output, dim: aten._log_softmax_backward_data(
        grad_output, output, dim, output.dtype),
    "diopiMm": lambda input, mat2: torch.mm(input, mat2),
    "diopiBmm": lambda input, mat2: torch.bmm(input, mat2),
    "diopiAddmm": lambda input, mat1, mat2, beta, alpha: torch.addmm(input, mat1, mat2, beta=number(beta),
                                                                     alpha=number(alpha)),
    "diopiSum": reduced(torch.sum), "diopiMean": reduced(torch.mean),
    "diopiCopyInp": lambda src, dest: dest.copy_(src),
    "diopiCastDtype": lambda out, input: out.copy_(input),
    "diopiFill": lambda input, value: input.fill_(number(value)),
    "diopiCat": lambda tensors, num_inputs, dim: torch.cat(tensors, dim),
    "diopiArange": lambda out, start, end, step: torch.arange(number(start), number(end), number(step),
                                                              dtype=out.dtype),
    "diopiTriu": lambda input, diagonal: input.triu(diagonal),
    "diopiMaskedFillScalar": lambda input, mask, value: input.masked_fill(mask, number(value)),
    "diopiEmbedding": lambda weight, indices, padding_idx, scale_grad_byfreq, sparse: weight[indices],
    "diopiEmbeddingBackward": lambda grad, indices, num_weights, padding_idx, scale_grad_byfreq, sparse:
        aten.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_byfreq),
    "diopiLayerNorm": lambda input, weight, bias, normalized_shape, eps: aten.native_layer_norm(
        input, normalized_shape, weight, bias, eps),
    "diopiLayerNormBackward": lambda grad_input, grad_weight, grad_bias, grad_output, input, weight, bias, mean, rstd,
        normalized_shape: aten.native_layer_norm_backward(
            grad_output, input, normalized_shape, mean, rstd, weight, bias,
            [g is not None for g in (grad_input, grad_weight, grad_bias)]),
    "diopiBatchNorm": lambda input, weight, bias, running_mean, running_var, training, momentum, eps:
        aten.native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps),
    "diopiBatchNormBackward": lambda grad_input, grad_weight, grad_bias, grad_output, input, weight, running_mean,
        running_var, save_mean, save_invstd, training, eps: aten.native_batch_norm_backward(
            grad_output, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps,
            [g is not None for g in (grad_input, grad_weight, grad_bias)]),
    "diopiConvolution2d": lambda input, weight, bias, stride, padding, dilation, groups: aten.convolution(
        input, weight, bias, stride, padding, dilation, False, [0, 0], groups),
    "diopiConvolution2dBackward": lambda grad_input, grad_weight, grad_bias, grad_output, input, weight, bias_sizes,
        stride, padding, dilation, groups: aten.convolution_backward(
            grad_output, input, weight, bias_sizes, stride, padding, dilation, False, [0, 0], groups,
            [g is not None for g in (grad_input, grad_weight, grad_bias)]),
    "diopiMaxPool2dWithIndices": aten.max_pool2d_with_indices,
    "diopiMaxPool2dBackward": aten.max_pool2d_with_indices_backward,
    "diopiNLLLossV2": lambda input, target, weight, reduction, ignore_index: aten.nll_loss_forward(
        input, target, weight, reduction, ignore_index),
    "diopiNLLLossV2Backward": lambda grad_output, input, target, weight, totalWeight, reduction, ignore_index:
        aten.nll_loss_backward(grad_output, input, target, weight, reduction, ignore_index, totalWeight),
    "diopiForeachaddScalar": lambda outs, inputs, inputSize, other: [out.copy_(t + number(other))
                                                                     for out, t in zip(outs, inputs)],
    "diopiForeachaddInpScalar": lambda inputs, inputSize, other: [t.add_(number(other)) for t in inputs],
    "diopiForeachmulInpScalar": lambda inputs, inputSize, other: [t.mul_(number(other)) for t in inputs],
}


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
            parameters = standard.functions()[call["function"]]
            values = {p.name: self.value(p, call["args"][p.name]) for p in parameters}
            outputs = [p for p in parameters if p.writes and not p.reads and p.kind == "tensor"]
            if any(p.kind == "generator" for p in parameters):
                results = [self.recorded(i, p.name) for p in outputs]
            else:
                outputs = [p for p in outputs if not p.overwritten]
                results = self.compute(call["function"], values, outputs)
            for parameter, result in zip(outputs, results):
                if values[parameter.name] is not None:
                    values[parameter.name].copy_(result)
            for place, tensor in self.written(parameters, values):
                recorded = self.recorded(i, place)
                if recorded is not None:
                    compared += 1
                    same = recorded.shape == tensor.shape and torch.equal(
                        torch.nan_to_num(recorded), torch.nan_to_num(tensor.to(recorded.dtype)))
                    different += [] if same else [(i, call["overload"], place)]
        return different, compared

    def value(self, parameter, value):
        if parameter.kind == "tensor" and value is not None:
            return self.tensor(value)
        if parameter.kind == "tensors":
            return [self.tensor(name) for name in value]
        return math.nan if value == "nan" else value

    def compute(self, function, values, outputs):
        run = FUNCTIONS[function]
        if inspect.isfunction(run):
            results = run(**{name: values[name] for name in inspect.signature(run).parameters})
        else:
            names = {p.name for p in outputs}
            results = run(*[value for name, value in values.items() if name not in names])
        return results if isinstance(results, (tuple, list)) else [results]

    @staticmethod
    def written(parameters, values):
        for parameter in parameters:
            if parameter.writes and values[parameter.name] is not None:
                if parameter.kind == "tensor":
                    yield parameter.name, values[parameter.name]
                else:
                    yield from ((f"{parameter.name}.{i}", t) for i, t in enumerate(values[parameter.name]))
