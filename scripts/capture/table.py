"""The one table from ATen overloads to functions of the standard. Needs no PyTorch.

A row names overloads, the function, and the source of each C parameter, in order. A source is an expression over
ATen's arguments by name, r0, r1, .. (the results) and the functions of mapping.py; `other` alone is `other=other`.
C names that are Python's words end with an underscore, `from_`. Lengths of lists are left out.
When an overload has several rows, the first one applies whose `when` holds and whose values suit the C types:
`add.Tensor` with a number is diopiAddScalar.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    overloads: str  # separated by spaces
    calls: tuple  # ((function, sources), ..)
    when: str = "True"
    each: bool = False  # one call per element of the tensor lists


def row(overloads, function, sources, when="True"):
    return Row(overloads, ((function, sources),), when)


def several(overloads, *calls, when="True"):
    return Row(overloads, calls, when)


def each(overloads, function, sources, when="True"):
    return Row(overloads, ((function, sources),), when, each=True)


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


UNARY = ("abs neg floor ceil sqrt rsqrt sin asin cos acos tan sinh cosh tanh atan asinh acosh atanh sigmoid silu exp "
         "expm1 log log2 log10 log1p erf erfinv reciprocal sgn logical_not bitwise_not relu hardswish").split()
COMPARISONS = "eq ne ge gt le lt".split()
# ATen's names for the weighted ones; both take alpha.
SUMS = (("add", "Add"), ("sub", "Sub"))


def elementwise():
    for name in UNARY:
        yield row(f"{name} {name}.out", f"diopi{camel(name)}", "out=r0, input=self")
        yield row(f"{name}_", f"diopi{camel(name)}Inp", "input=self")
    yield row("sign sign.out", "diopiSign", "out=r0, input=self")
    yield row("isnan", "diopiIsNan", "out=r0, input=self")
    for name, title in SUMS:
        yield row(f"{name}.Tensor {name}.out", f"diopi{title}", "out=r0, input=self, other, alpha")
        yield row(f"{name}.Tensor {name}.out {name}.Scalar", f"diopi{title}Scalar",
                  "out=r0, input=self, other, alpha")
        yield row(f"{name}_.Tensor", f"diopi{title}Inp", "input=self, other, alpha")
        yield row(f"{name}_.Tensor {name}_.Scalar", f"diopi{title}InpScalar", "input=self, other, alpha")
    yield row("rsub.Tensor", "diopiSub", "out=r0, input=other, other=self, alpha")
    yield several("rsub.Tensor rsub.Scalar", ("diopiMulScalar", "out=r0, input=self, other=-alpha"),
                  ("diopiAddInpScalar", "input=r0, other, alpha=1"))
    yield row("mul.Tensor mul.out", "diopiMul", "out=r0, input=self, other")
    yield row("mul.Tensor mul.out mul.Scalar", "diopiMulScalar", "out=r0, input=self, other")
    yield row("mul_.Tensor", "diopiMulInp", "input=self, other")
    yield row("mul_.Tensor mul_.Scalar", "diopiMulInpScalar", "input=self, other")
    for suffix, mode in (("", "0"), ("_mode", "rounding_of(rounding_mode)")):
        out = "div.out_mode" if suffix else "div.out"
        yield row(f"div.Tensor{suffix} {out}", "diopiDiv", f"out=r0, input=self, other, rounding_mode={mode}")
        yield row(f"div.Tensor{suffix} {out} div.Scalar{suffix}", "diopiDivScalar",
                  f"out=r0, input=self, other, rounding_mode={mode}")
        yield row(f"div_.Tensor{suffix}", "diopiDivInp", f"input=self, other, rounding_mode={mode}")
        yield row(f"div_.Tensor{suffix} div_.Scalar{suffix}", "diopiDivInpScalar",
                  f"input=self, other, rounding_mode={mode}")
    yield row("floor_divide floor_divide.out", "diopiDiv", "out=r0, input=self, other, rounding_mode=2")
    yield row("floor_divide floor_divide.Scalar", "diopiDivScalar", "out=r0, input=self, other, rounding_mode=2")
    for name in ("maximum", "minimum", "logical_and", "logical_or"):
        yield row(f"{name} {name}.out", f"diopi{camel(name)}", "out=r0, input=self, other")
    for name in ("logical_and", "logical_or"):
        yield row(f"{name}_", f"diopi{camel(name)}Inp", "input=self, other")
    for name in (*COMPARISONS, "bitwise_and", "bitwise_or"):
        title = camel(name)
        yield row(f"{name}.Tensor {name}.Tensor_out", f"diopi{title}", "out=r0, input=self, other")
        yield row(f"{name}.Tensor {name}.Scalar {name}.Scalar_out", f"diopi{title}Scalar", "out=r0, input=self, other")
        yield row(f"{name}_.Tensor", f"diopi{title}Inp", "input=self, other")
        yield row(f"{name}_.Tensor {name}_.Scalar", f"diopi{title}InpScalar", "input=self, other")
    yield row("pow.Tensor_Scalar pow.Tensor_Scalar_out", "diopiPow", "out=r0, input=self, exponent")
    yield row("pow.Tensor_Tensor pow.Tensor_Tensor_out", "diopiPowTensor", "out=r0, input=self, exponent")
    yield row("pow.Tensor_Tensor", "diopiPow", "out=r0, input=self, exponent")
    yield row("pow.Scalar pow.Scalar_out", "diopiPowScalar", "out=r0, input=self, exponent")
    yield row("pow_.Scalar", "diopiPowInp", "input=self, exponent")
    yield row("pow_.Tensor", "diopiPowInpTensor", "input=self, exponent")
    yield row("remainder.Tensor remainder.Tensor_out", "diopiRemainderTensor", "out=r0, input=self, other")
    yield row("remainder.Tensor remainder.Scalar remainder.Scalar_out", "diopiRemainderScalar",
              "out=r0, input=self, other")
    yield row("remainder.Scalar_Tensor", "diopiRemainder", "out=r0, input=self, other")
    for name in ("addcmul", "addcdiv"):
        yield row(f"{name} {name}.out", f"diopi{camel(name)}", "out=r0, input=self, tensor1, tensor2, value")
        yield row(f"{name}_", f"diopi{camel(name)}Inp", "input=self, tensor1, tensor2, value")
    yield row("lerp.Scalar lerp.Scalar_out", "diopiLerpScalar", "out=r0, input=self, end, weight")
    yield row("lerp.Tensor lerp.Tensor_out", "diopiLerpTensor", "out=r0, input=self, end, weight")
    yield row("clamp clamp.out", "diopiClampScalar", "out=r0, input=self, min, max")
    yield row("clamp.Tensor clamp.Tensor_out", "diopiClamp", "out=r0, input=self, min, max")
    yield row("clamp_", "diopiClampInpScalar", "input=self, min, max")
    yield row("clamp_.Tensor", "diopiClampInp", "input=self, min, max")
    for bound in ("min", "max"):
        name, title = f"clamp_{bound}", f"Clamp{camel(bound)}"
        yield row(f"{name} {name}.out", f"diopi{title}Scalar", f"out=r0, input=self, {bound}")
        yield row(f"{name}.Tensor {name}.Tensor_out", f"diopi{title}", f"out=r0, input=self, {bound}")
        yield row(f"{name}_", f"diopi{title}InpScalar", f"input=self, {bound}")
        yield row(f"{name}_.Tensor", f"diopi{title}Inp", f"input=self, {bound}")
    yield row("where.self where.self_out", "diopiWhere", "out=r0, condition, input=self, other")
    yield row("polar polar.out", "diopiPolar", "out=r0, abs, angle")
    yield row("complex complex.out", "diopiComplex", "out=r0, real, imag")


ELEMENTWISE = [
    *elementwise(),
    row("masked_fill.Scalar", "diopiMaskedFillScalar", "out=r0, input=self, mask, value"),
    row("masked_fill.Tensor", "diopiMaskedFill", "out=r0, input=self, mask, value"),
    row("masked_fill_.Scalar", "diopiMaskedFillInpScalar", "input=self, mask, value"),
    row("masked_fill_.Tensor", "diopiMaskedFillInp", "input=self, mask, value"),
]

ACTIVATIONS = [
    row("threshold threshold.out", "diopiThreshold", "out=r0, input=self, threshold, value"),
    row("threshold_", "diopiThresholdInp", "input=self, threshold, value"),
    row("threshold_backward threshold_backward.grad_input", "diopiThresholdBackward",
        "grad_input=r0, grad_output, input=self, threshold"),
    row("gelu gelu.out", "diopiGelu", "out=r0, input=self, approximate"),
    row("gelu_backward gelu_backward.grad_input", "diopiGeluBackward",
        "grad_input=r0, grad_output, input=self, approximate"),
    row("silu_backward silu_backward.grad_input", "diopiSiluBackward", "grad_input=r0, grad_output, input=self"),
    row("leaky_relu leaky_relu.out", "diopiLeakyRelu", "out=r0, input=self, negative_slope"),
    row("leaky_relu_", "diopiLeakyReluInp", "input=self, negative_slope"),
    row("leaky_relu_backward leaky_relu_backward.grad_input", "diopiLeakyReluBackward",
        "grad_input=r0, grad_output, input=self, negative_slope, input_is_result=self_is_result"),
    row("hardtanh hardtanh.out", "diopiHardtanh", "out=r0, input=self, min_val, max_val"),
    row("hardtanh_", "diopiHardtanhInp", "input=self, min_val, max_val"),
    row("hardtanh_backward hardtanh_backward.grad_input", "diopiHardtanhBackward",
        "grad_input=r0, grad_output, input=self, min_val, max_val"),
    row("hardswish_backward", "diopiHardswishBackward", "grad_input=r0, grad_output, input=self"),
    row("sigmoid_backward sigmoid_backward.grad_input", "diopiSigmoidBackward", "grad_input=r0, grad_output, output"),
    row("tanh_backward tanh_backward.grad_input", "diopiTanhBackward", "grad_input=r0, grad_output, output"),
    row("_softmax _softmax.out", "diopiSoftmax", "out=r0, input=self, dim"),
    row("_softmax_backward_data _softmax_backward_data.out", "diopiSoftmaxBackward",
        "grad_input=r0, grad_output, output, dim"),
    row("_log_softmax _log_softmax.out", "diopiLogSoftmax", "out=r0, input=self, dim"),
    row("_log_softmax_backward_data _log_softmax_backward_data.out", "diopiLogSoftmaxBackward",
        "grad_input=r0, grad_output, output, dim"),
]

CONVOLUTION = "stride, padding, dilation, groups"
TRANSPOSED = "stride, padding, output_padding, groups, dilation"
CONV_GRADIENTS = "grad_input=r0, grad_weight=r1, grad_bias=r2, grad_output, input, weight, bias_sizes, "
# One spatial dim becomes two, the first of size 1.
CONVOLUTION1D = "stride=[1] + stride, padding=[0] + padding, dilation=[1] + dilation, groups"
CONV1D_GRADIENTS = ("grad_input=row_of(r0), grad_weight=row_of(r1), grad_bias=r2, grad_output=row_of(grad_output), "
                    "input=row_of(input), weight=row_of(weight), bias_sizes, ")


def convolutions():
    for rank, d in ((4, "2d"), (5, "3d")):
        plain, transposed = (f"rank_of(input) == {rank} and {word}transposed" for word in ("not ", ""))
        yield row("convolution", f"diopiConvolution{d}", f"out=r0, input, weight, bias, {CONVOLUTION}", plain)
        yield row("convolution", f"diopiConvTranspose{d}", f"out=r0, input, weight, bias, {TRANSPOSED}", transposed)
        yield row("convolution_backward", f"diopiConvolution{d}Backward", CONV_GRADIENTS + CONVOLUTION, plain)
        yield row("convolution_backward", f"diopiConvTranspose{d}Backward",
                  CONV_GRADIENTS + "stride, padding, dilation, output_padding, groups", transposed)
    plain = "rank_of(input) == 3 and not transposed"
    yield row("convolution", "diopiConvolution2d",
              f"out=row_of(r0), input=row_of(input), weight=row_of(weight), bias, {CONVOLUTION1D}", plain)
    yield row("convolution_backward", "diopiConvolution2dBackward", CONV1D_GRADIENTS + CONVOLUTION1D, plain)


CONV = [
    *convolutions(),
    row("im2col im2col.out", "diopiIm2Col", "out=r0, input=self, kernel_size, dilation, padding, stride"),
    row("col2im col2im.out", "diopiCol2Im", "out=r0, input=self, output_size, kernel_size, dilation, padding, stride"),
]

NORM = [
    row("native_batch_norm _native_batch_norm_legit", "diopiBatchNorm",
        "out=r0, save_mean=r1, save_invstd=r2, input, weight, bias, running_mean, running_var, training, momentum, "
        "eps"),
    row("_native_batch_norm_legit.no_stats", "diopiBatchNorm",
        "out=r0, save_mean=r1, save_invstd=r2, input, weight, bias, running_mean=None, running_var=None, training, "
        "momentum, eps"),
    row("native_batch_norm_backward", "diopiBatchNormBackward",
        "grad_input=r0, grad_weight=r1, grad_bias=r2, grad_output=grad_out, input, weight, running_mean, running_var, "
        "save_mean, save_invstd, training=train, eps"),
    row("native_layer_norm", "diopiLayerNorm",
        "out=r0, save_mean=r1, save_invstd=r2, input, weight, bias, normalized_shape, eps"),
    row("native_layer_norm_backward", "diopiLayerNormBackward",
        "grad_input=r0, grad_weight=r1, grad_bias=r2, grad_output=grad_out, input, weight, bias, mean, rstd, "
        "normalized_shape"),
    row("native_group_norm", "diopiGroupNorm",
        "out=r0, save_mean=r1, save_invstd=r2, input, weight, bias, num_groups=group, eps"),
    row("native_group_norm_backward", "diopiGroupNormBackward",
        "grad_input=r0, grad_weight=r1, grad_bias=r2, grad_output=grad_out, input, weight, mean, rstd, "
        "num_groups=group"),
]

LINEAR = [
    row("mm mm.out", "diopiMm", "out=r0, input=self, mat2"),
    row("bmm bmm.out", "diopiBmm", "out=r0, input=self, mat2"),
    row("addmm addmm.out", "diopiAddmm", "out=r0, input=self, mat1, mat2, beta, alpha"),
    row("baddbmm baddbmm.out", "diopiBaddbmm", "out=r0, input=self, batch1, batch2, beta, alpha"),
    row("baddbmm_", "diopiBaddbmmInp", "input=self, batch1, batch2, beta, alpha"),
    row("mv mv.out", "diopiMatmul", "out=r0, input=self, other=vec"),
    row("dot dot.out", "diopiMatmul", "out=r0, input=self, other=tensor"),
    row("matmul", "diopiMatmul", "out=r0, input=self, other"),
    row("linear", "diopiLinear", "out=r0, input, weight, bias"),
]

REDUCTIONS = [
    row("sum", "diopiSum", "out=r0, input=self, dim=[]"),
    row("sum.dim_IntList sum.IntList_out", "diopiSum", "out=r0, input=self, dim=dims_of(dim)"),
    row("mean", "diopiMean", "out=r0, input=self, dim=[]"),
    row("mean.dim mean.out", "diopiMean", "out=r0, input=self, dim=dims_of(dim)"),
    row("std.correction", "diopiStd", "out=r0, input=self, dim=dims_of(dim), correction"),
    row("amax amax.out", "diopiAmax", "out=r0, self, dim=dims_of(dim), keepdim"),
    row("max", "diopiMaxAll", "max=r0, input=self"),
    row("min", "diopiMinAll", "min=r0, input=self"),
    row("max.dim max.dim_max", "diopiMax", "max=r0, max_indices=r1, input=self, dim"),
    row("min.dim min.dim_min", "diopiMin", "min=r0, min_indices=r1, input=self, dim"),
    row("argmax argmax.out", "diopiArgmax", "out=r0, input=self, dim, keepdim"),
    row("argmin argmin.out", "diopiArgmin", "out=r0, input=self, dim, keepdim"),
    row("any any.all_out", "diopiAny", "out=r0, input=self, dim=None"),
    row("all all.all_out", "diopiAll", "out=r0, input=self, dim=None"),
    row("any.dim any.out", "diopiAny", "out=r0, input=self, dim"),
    row("all.dim all.out", "diopiAll", "out=r0, input=self, dim"),
    row("prod", "diopiProd", "out=r0, input=self, dim=None"),
    row("prod.dim_int prod.int_out", "diopiProd", "out=r0, input=self, dim"),
    row("cumsum cumsum.out", "diopiCumsum", "out=r0, input=self, dim"),
    row("norm.Scalar", "diopiNorm", "out=r0, input=self, p, dim=[]"),
    row("norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype norm.out", "diopiNorm", "out=r0, input=self, p, dim",
        "p is not None"),
    row("linalg_vector_norm linalg_vector_norm.out", "diopiLinalgVecNorm",
        "out=r0, input=self, ord, dim=dims_of(dim), keepdim"),
    row("sort", "diopiSort", "values=r0, indices=r1, input=self, dim, descending, pStable=None"),
    row("sort.stable", "diopiSort", "values=r0, indices=r1, input=self, dim, descending, pStable=stable"),
    row("topk topk.values", "diopiTopk", "values=r0, indices=r1, input=self, k, dim, largest, sorted"),
]

INDEX = [
    row("embedding", "diopiEmbedding",
        "out=r0, weight, indices, padding_idx, scale_grad_byfreq=scale_grad_by_freq, sparse"),
    row("embedding_dense_backward", "diopiEmbeddingBackward",
        "out=r0, grad=grad_output, indices, num_weights, padding_idx, scale_grad_byfreq=scale_grad_by_freq, "
        "sparse=False"),
    row("index_select index_select.out", "diopiIndexSelect", "out=r0, input=self, dim, index"),
    row("index.Tensor", "diopiIndex", "out=[r0], input=self, indices"),
    row("index_put", "diopiIndexPut", "out=r0, input=self, values, indices, accumulate"),
    row("index_put_ _index_put_impl_", "diopiIndexPutInp", "input=self, values, indices, accumulate"),
    row("index_fill.int_Scalar", "diopiIndexFillScalar", "out=r0, input=self, dim, index, value"),
    row("index_fill_.int_Scalar", "diopiIndexFillInpScalar", "input=self, dim, index, value"),
    row("gather gather.out", "diopiGather", "out=r0, input=self, dim, index"),
    row("scatter.src", "diopiScatter", "out=r0, input=self, dim, src, index, reduce=''"),
    row("scatter.value", "diopiScatterScalar", "out=r0, input=self, dim, value, index, reduce=''"),
    row("scatter_.src", "diopiScatterInp", "input=self, dim, src, index, reduce=''"),
    row("scatter_.value", "diopiScatterInpScalar", "input=self, dim, value, index, reduce=''"),
    row("scatter_add", "diopiScatter", "out=r0, input=self, dim, src, index, reduce='add'"),
    row("scatter_add_", "diopiScatterInp", "input=self, dim, src, index, reduce='add'"),
    row("select_backward", "diopiSelectBackward", "grad_input=r0, grad_output, input_sizes, dim, index"),
    row("slice_backward", "diopiSliceBackward", "grad_input=r0, grad_output, input_sizes, dim, start, end, step"),
    row("select_scatter", "diopiSelectScatter", "out=r0, input=self, src, dim, index"),
    row("masked_scatter", "diopiMaskedScatter", "out=r0, input=self, mask, source"),
]

def upsampling():
    """The standard's scale is the quotient of the sizes; an explicit scale must be equal to it."""
    for d, scales in (("1d", "scales"), ("2d", "scales_h, scales_w"), ("3d", "scales_d, scales_h, scales_w")):
        yield row(f"upsample_nearest{d}", "diopiUpsampleNearest", "out=r0, input=self, size=output_size",
                  f"scaled_by(shape_of(self), output_size, {scales})")
        yield row(f"upsample_nearest{d}.vec", "diopiUpsampleNearest", "out=r0, input, size=shape_of(r0)[2:]",
                  "scaled_by(shape_of(input), shape_of(r0), *scale_factors or [])")
        yield row(f"upsample_nearest{d}_backward.vec", "diopiUpsampleNearestBackward",
                  "grad_input=r0, grad_output, out_size=shape_of(grad_output)[2:], in_size=input_size",
                  "scaled_by(input_size, shape_of(grad_output), *scale_factors or [])")
        yield row(f"upsample_nearest{d}_backward", "diopiUpsampleNearestBackward",
                  "grad_input=r0, grad_output, out_size=output_size, in_size=input_size",
                  f"scaled_by(input_size, output_size, {scales})")
    for mode, scales in (("linear1d", "scales"), ("bilinear2d", "scales_h, scales_w"),
                         ("bicubic2d", "scales_h, scales_w"), ("trilinear3d", "scales_d, scales_h, scales_w")):
        yield row(f"upsample_{mode}", "diopiUpsampleLinear",
                  f"out=r0, input=self, size=output_size, align_corners, mode='{mode[:-2]}'",
                  f"scaled_by(shape_of(self), output_size, {scales})")
        yield row(f"upsample_{mode}.vec", "diopiUpsampleLinear",
                  f"out=r0, input, size=shape_of(r0)[2:], align_corners, mode='{mode[:-2]}'",
                  "scaled_by(shape_of(input), shape_of(r0), *scale_factors or [])")
        yield row(f"upsample_{mode}_backward.vec", "diopiUpsampleLinearBackward",
                  "grad_input=r0, grad_output, out_size=shape_of(grad_output)[2:], in_size=input_size, align_corners, "
                  f"mode='{mode[:-2]}'", "scaled_by(input_size, shape_of(grad_output), *scale_factors or [])")
        yield row(f"upsample_{mode}_backward", "diopiUpsampleLinearBackward",
                  "grad_input=r0, grad_output, out_size=output_size, in_size=input_size, align_corners, "
                  f"mode='{mode[:-2]}'", f"scaled_by(input_size, output_size, {scales})")


SHAPE = [
    row("cat cat.out", "diopiCat", "out=r0, tensors, dim"),
    row("stack stack.out", "diopiStack", "out=r0, tensors, dim"),
    row("flip", "diopiFlip", "out=r0, input=self, dims"),
    row("roll", "diopiRoll", "out=r0, input=self, shifts, dims"),
    row("repeat", "diopiRepeat", "out=r0, input=self, repeats_size=repeats"),
    row("constant_pad_nd", "diopiPad", "out=r0, input=self, pad, mode='constant', value"),
    row("tril tril.out", "diopiTril", "out=r0, input=self, diagonal"),
    row("triu triu.out", "diopiTriu", "out=r0, input=self, diagonal"),
    row("triu_", "diopiTriuInp", "input=self, diagonal"),
    row("copy_", "diopiCopyInp", "src, dest=self"),
    row("clone", "diopiCopyInp", "src=self, dest=r0"),
    row("_to_copy", "diopiCopyInp", "src=self, dest=r0", "dtype_of(self) == dtype_of(r0)"),
    row("_to_copy", "diopiCastDtype", "out=r0, input=self"),
    row("fill_.Scalar", "diopiFill", "input=self, value"),
    row("fill_.Tensor", "diopiCopyInp", "src=value, dest=self"),
    row("fill.Scalar", "diopiFill", "input=r0, value"),
    row("full full.out", "diopiFill", "input=r0, value=fill_value"),
    row("full_like", "diopiFill", "input=r0, value=fill_value"),
    row("new_full", "diopiFill", "input=r0, value=fill_value"),
    row("scalar_tensor", "diopiFill", "input=r0, value=s"),
    row("zeros zeros.out zeros_like new_zeros", "diopiFill", "input=r0, value=0"),
    row("ones ones.out ones_like new_ones", "diopiFill", "input=r0, value=1"),
    row("zero_", "diopiFill", "input=self, value=0"),
    row("arange", "diopiArange", "out=r0, start=0, end, step=1"),
    row("arange.start", "diopiArange", "out=r0, start, end, step=1"),
    row("arange.start_step arange.start_out", "diopiArange", "out=r0, start, end, step"),
    row("arange.out", "diopiArange", "out=r0, start=0, end, step=1"),
    row("linspace linspace.out", "diopiLinspace", "out=r0, start, end, steps"),
    *upsampling(),
]

# The standard has attention over (batch, seq, heads, dim), only in half types, without a mask of the caller.
ATTENTION = "q=heads_last(query), k=heads_last(key), v=heads_last(value), alibi_slopes=None, "
ATTENTION_RULE = ("p_dropout=dropout_p, softmax_scale=scale or shape_of(query)[-1] ** -0.5, is_causal, "
                  "window_size_left=-1, window_size_right=-1")
ATTENTION_CASE = ("attn_mask is None and dtype_of(query) in ('float16', 'bfloat16') and shape_of(query)[-2] == "
                  "shape_of(key)[-2]")

ATTENTIONS = [
    row("_scaled_dot_product_flash_attention_for_cpu", "diopiFlashAttention",
        f"attention_out=heads_last(r0), softmax_lse=r1, gen=GENERATOR, {ATTENTION}{ATTENTION_RULE}", ATTENTION_CASE),
    row("_scaled_dot_product_flash_attention_for_cpu_backward", "diopiFlashAttentionBackward",
        "grad_q=heads_last(r0), grad_k=heads_last(r1), grad_v=heads_last(r2), grad_output=heads_last(grad_out), "
        f"gen=GENERATOR, {ATTENTION}attention_out=heads_last(out), softmax_lse=logsumexp, {ATTENTION_RULE}",
        ATTENTION_CASE),
]

POOL2D = "kernel_size, stride, padding, dilation, ceil_mode"
AVERAGED = "kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override"

POOL = [
    *[rows for d in ("2d", "3d") for rows in (
        row(f"max_pool{d}_with_indices max_pool{d}_with_indices.out", f"diopiMaxPool{d}WithIndices",
            f"out=r0, indices=r1, input=self, {POOL2D}"),
        row(f"max_pool{d}_with_indices_backward max_pool{d}_with_indices_backward.grad_input",
            f"diopiMaxPool{d}Backward", f"grad_input=r0, grad_output, input=self, {POOL2D}, indices"),
        row(f"avg_pool{d} avg_pool{d}.out", f"diopiAvgPool{d}", f"out=r0, input=self, {AVERAGED}"),
        row(f"avg_pool{d}_backward avg_pool{d}_backward.grad_input", f"diopiAvgPool{d}Backward",
            f"grad_input=r0, grad_output, input=self, {AVERAGED}"),
        row(f"_adaptive_avg_pool{d}", f"diopiAdaptiveAvgPool{d}", "out=r0, input=self, output_size"),
        row(f"_adaptive_avg_pool{d}_backward", f"diopiAdaptiveAvgPool{d}Backward",
            "grad_input=r0, grad_output, input=self"),
        row(f"adaptive_max_pool{d} adaptive_max_pool{d}.out", f"diopiAdaptiveMaxPool{d}WithIndices",
            "out=r0, indices=r1, input=self, output_size"),
        row(f"adaptive_max_pool{d}_backward adaptive_max_pool{d}_backward.grad_input",
            f"diopiAdaptiveMaxPool{d}Backward", "grad_input=r0, grad_output, input=self, indices"))],
]

NLL_GRADIENT = ("grad_input=r0, grad_output, input=self, target, weight, totalWeight=total_weight, reduction, "
                "ignore_index")

LOSS = [
    row("nll_loss_forward nll_loss2d_forward", "diopiNLLLossV2",
        "out=r0, totalWeight=r1, input=self, target, weight, reduction, ignore_index"),
    row("nll_loss_backward nll_loss2d_backward", "diopiNLLLossV2Backward", NLL_GRADIENT),
    row("mse_loss mse_loss.out", "diopiMSELoss", "out=r0, input=self, target, reduction"),
    row("mse_loss_backward mse_loss_backward.grad_input", "diopiMSELossBackward",
        "grad_input=r0, grad_output, input=self, target, reduction"),
    row("smooth_l1_loss smooth_l1_loss.out", "diopiSmoothL1Loss", "out=r0, input=self, target, reduction, beta"),
    row("smooth_l1_loss_backward smooth_l1_loss_backward.grad_input", "diopiSmoothL1LossBackward",
        "grad_input=r0, grad_output, input=self, target, reduction, beta"),
    row("binary_cross_entropy", "diopiBCELoss", "out=r0, input=self, target, weight, reduction"),
    row("binary_cross_entropy_backward", "diopiBCELossBackward",
        "grad_input=r0, grad_output, input=self, target, weight, reduction"),
    row("binary_cross_entropy_with_logits", "diopiBCEWithLogits",
        "out=r0, input=self, target, weight, pos_weight, reduction"),
]

RANDOM = [
    row("bernoulli_.float", "diopiBernoulliScalar", "out=self, p, generator=GENERATOR"),
    row("bernoulli bernoulli.out", "diopiBernoulli", "out=r0, input=self, generator=GENERATOR"),
    row("bernoulli.p", "diopiBernoulliScalar", "out=r0, p, generator=GENERATOR"),
    row("native_dropout", "diopiDropout", "out=r0, mask=r1, input, p, train, generator=GENERATOR", "train is not None"),
    row("uniform_", "diopiUniformInp", "inout=self, from_, to, generator=GENERATOR"),
    row("rand rand_like", "diopiUniformInp", "inout=r0, from_=0.0, to=1.0, generator=GENERATOR"),
    row("normal_", "diopiNormalInp", "inout=self, mean, std, generator=GENERATOR"),
    row("randn randn_like", "diopiNormalInp", "inout=r0, mean=0.0, std=1.0, generator=GENERATOR"),
    row("randint", "diopiRandomInp", "inout=r0, from_=0, to=high, generator=GENERATOR"),
    row("randint.low", "diopiRandomInp", "inout=r0, from_=low, to=high, generator=GENERATOR"),
    row("random_.from", "diopiRandomInp", "inout=self, from_, to, generator=GENERATOR"),
    row("randperm", "diopiRandperm", "out=r0, n, generator=GENERATOR"),
    row("multinomial", "diopiMultinomial", "out=r0, input=self, num_samples, replacement, generator=GENERATOR"),
]

ADAM = ("param=self, grad=grads, exp_avg=exp_avgs, exp_avg_sq=exp_avg_sqs, max_exp_avg_sq=max_exp_avg_sqs, lr, beta1, "
        "beta2, eps, weight_decay, step=number_of(state_steps), amsgrad")


def foreach():
    for name, title in SUMS:
        yield each(f"_foreach_{name}.List", f"diopi{title}", "out=r0, input=self, other, alpha")
        yield each(f"_foreach_{name}_.List", f"diopi{title}Inp", "input=self, other, alpha")
        yield each(f"_foreach_{name}.ScalarList", f"diopi{title}Scalar", "out=r0, input=self, other=scalars, alpha=1")
        yield each(f"_foreach_{name}_.ScalarList", f"diopi{title}InpScalar", "input=self, other=scalars, alpha=1")
    yield each("_foreach_add.Tensor", "diopiAdd", "out=r0, input=self, other, alpha")
    yield each("_foreach_add_.Tensor", "diopiAddInp", "input=self, other, alpha")
    yield each("_foreach_div.Tensor", "diopiDiv", "out=r0, input=self, other, rounding_mode=0")
    yield each("_foreach_div_.Tensor", "diopiDivInp", "input=self, other, rounding_mode=0")
    yield each("_foreach_sub.Scalar", "diopiSubScalar", "out=r0, input=self, other=scalar, alpha=1")
    yield each("_foreach_sub_.Scalar", "diopiSubInpScalar", "input=self, other=scalar, alpha=1")
    for name, title, mode in (("mul", "Mul", ""), ("div", "Div", ", rounding_mode=0")):
        yield each(f"_foreach_{name}.List", f"diopi{title}", f"out=r0, input=self, other{mode}")
        yield each(f"_foreach_{name}_.List", f"diopi{title}Inp", f"input=self, other{mode}")
        yield each(f"_foreach_{name}.ScalarList", f"diopi{title}Scalar", f"out=r0, input=self, other=scalars{mode}")
        yield each(f"_foreach_{name}_.ScalarList", f"diopi{title}InpScalar", f"input=self, other=scalars{mode}")
    yield each("_foreach_div.Scalar", "diopiDivScalar", "out=r0, input=self, other=scalar, rounding_mode=0")
    yield each("_foreach_div_.Scalar", "diopiDivInpScalar", "input=self, other=scalar, rounding_mode=0")
    for name in ("sqrt", "neg", "abs", "exp", "reciprocal", "rsqrt"):
        yield each(f"_foreach_{name}", f"diopi{camel(name)}", "out=r0, input=self")
        yield each(f"_foreach_{name}_", f"diopi{camel(name)}Inp", "input=self")
    for name in ("addcmul", "addcdiv"):
        for overload, value in (("Scalar", "value"), ("ScalarList", "value=scalars")):
            yield each(f"_foreach_{name}.{overload}", f"diopi{camel(name)}",
                       f"out=r0, input=self, tensor1, tensor2, {value}")
            yield each(f"_foreach_{name}_.{overload}", f"diopi{camel(name)}Inp",
                       f"input=self, tensor1, tensor2, {value}")
    yield each("_foreach_lerp.Scalar", "diopiLerpScalar", "out=r0, input=self, end=tensors1, weight")
    yield each("_foreach_maximum.List", "diopiMaximum", "out=r0, input=self, other")
    yield each("_foreach_zero_", "diopiFill", "input=self, value=0")
    yield each("_foreach_copy_", "diopiCopyInp", "src, dest=self")


OPTIMIZERS = [
    row("_foreach_add.Scalar", "diopiForeachaddScalar", "outs=r0, inputs=self, other=scalar"),
    row("_foreach_add_.Scalar", "diopiForeachaddInpScalar", "inputs=self, other=scalar"),
    row("_foreach_mul.Scalar", "diopiForeachmulScalar", "outs=r0, inputs=self, other=scalar"),
    row("_foreach_mul_.Scalar", "diopiForeachmulInpScalar", "inputs=self, other=scalar"),
    row("_foreach_mul.Tensor", "diopiForeachmulTensor", "outs=r0, inputs=self, other"),
    row("_foreach_mul_.Tensor", "diopiForeachmulInpTensor", "inputs=self, other"),
    row("_foreach_norm.Scalar", "diopiForeachnormScalar", "outs=r0, inputs=self, ord"),
    *foreach(),
    row("_fused_adamw_", "diopiFusedAdamW",
        "params=self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs=max_exp_avg_sqs or None, state_steps, lr, beta1, "
        "beta2, eps, weight_decay, amsgrad, maximize", "grad_scale is None and found_inf is None"),
    each("_fused_adam_", "diopiAdam", ADAM, "grad_scale is None and found_inf is None and not maximize"),
    each("_fused_sgd_", "diopiSgd",
         "param=self, grad=grads, buf=momentum_buffer_list, lr, momentum, dampening, weight_decay, nesterov",
         "grad_scale is None and found_inf is None and not maximize and not (momentum and is_first_step)"),
    row("_amp_foreach_non_finite_check_and_unscale_", "diopiAmpForeachNonFiniteCheckAndUnscaleInp",
        "scaled_grads=self, found_inf, inv_scale"),
    row("_amp_update_scale_", "diopiAmpUpdateScaleInp",
        "current_scale=self, growth_tracker, found_inf, scale_growth_factor=scale_growth_factor, "
        "scale_backoff_factor, growth_interval"),
]

FAMILIES = {
    "Elementwise": ELEMENTWISE, "Activations and softmax": ACTIVATIONS, "Convolution": CONV, "Normalisation": NORM,
    "Matrix products": LINEAR, "Reductions and sorting": REDUCTIONS, "Indices": INDEX, "Attention": ATTENTIONS,
    "Shape, copy and creation": SHAPE, "Pooling": POOL, "Losses": LOSS, "Random numbers": RANDOM,
    "Optimisers and lists": OPTIMIZERS,
}

# They allocate memory, or only change the view of it.
NOT_CALLS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_", "set_",
             "squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "detach_", "as_strided_"}
