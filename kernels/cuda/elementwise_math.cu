/// Exponentials, logarithms, roots, trigonometric and hyperbolic functions, as CUDA's library has them: at most 2 ulp
/// in float32 (CUDA Programming Guide, mathematical functions), roots and quotients rounded correctly.
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/unary.cuh"

namespace diopi::cuda {

namespace {

template <class C>
struct Exp {
    __device__ C operator()(C x) const { return exp(x); }
};

template <class C>
struct Expm1 {
    __device__ C operator()(C x) const { return expm1(x); }
};

template <class C>
struct Log {
    __device__ C operator()(C x) const { return log(x); }
};

template <class C>
struct Log2 {
    __device__ C operator()(C x) const { return log2(x); }
};

template <class C>
struct Log10 {
    __device__ C operator()(C x) const { return log10(x); }
};

template <class C>
struct Log1p {
    __device__ C operator()(C x) const { return log1p(x); }
};

template <class C>
struct Sqrt {
    __device__ C operator()(C x) const { return sqrt(x); }
};

template <class C>
struct Rsqrt {
    __device__ C operator()(C x) const { return C(1) / sqrt(x); }
};

template <class C>
struct Reciprocal {
    __device__ C operator()(C x) const { return C(1) / x; }
};

template <class C>
struct Sin {
    __device__ C operator()(C x) const { return sin(x); }
};

template <class C>
struct Cos {
    __device__ C operator()(C x) const { return cos(x); }
};

template <class C>
struct Erf {
    __device__ C operator()(C x) const { return erf(x); }
};

template <class C>
struct Tanh {
    __device__ C operator()(C x) const { return tanh(x); }
};
template <class C>
struct TanhSlope {
    __device__ C operator()(C g, C y) const { return g * ((C(1) - y) * (C(1) + y)); }
};

}  // namespace

diopiError_t diopiExp(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Exp>(ctx, "diopiExp", out, input);
}
diopiError_t diopiExpInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Exp>(ctx, "diopiExpInp", input, input);
}

diopiError_t diopiExpm1(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Expm1>(ctx, "diopiExpm1", out, input);
}
diopiError_t diopiExpm1Inp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Expm1>(ctx, "diopiExpm1Inp", input, input);
}

diopiError_t diopiLog(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Log>(ctx, "diopiLog", out, input);
}
diopiError_t diopiLogInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Log>(ctx, "diopiLogInp", input, input);
}

diopiError_t diopiLog2(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Log2>(ctx, "diopiLog2", out, input);
}
diopiError_t diopiLog2Inp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Log2>(ctx, "diopiLog2Inp", input, input);
}

diopiError_t diopiLog10(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Log10>(ctx, "diopiLog10", out, input);
}
diopiError_t diopiLog10Inp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Log10>(ctx, "diopiLog10Inp", input, input);
}

diopiError_t diopiLog1p(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Log1p>(ctx, "diopiLog1p", out, input);
}
diopiError_t diopiLog1pInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Log1p>(ctx, "diopiLog1pInp", input, input);
}

diopiError_t diopiSqrt(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Sqrt>(ctx, "diopiSqrt", out, input);
}
diopiError_t diopiSqrtInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Sqrt>(ctx, "diopiSqrtInp", input, input);
}

diopiError_t diopiRsqrt(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Rsqrt>(ctx, "diopiRsqrt", out, input);
}
diopiError_t diopiRsqrtInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Rsqrt>(ctx, "diopiRsqrtInp", input, input);
}

diopiError_t diopiReciprocal(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Reciprocal>(ctx, "diopiReciprocal", out, input);
}
diopiError_t diopiReciprocalInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Reciprocal>(ctx, "diopiReciprocalInp", input, input);
}

diopiError_t diopiSin(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Sin>(ctx, "diopiSin", out, input);
}
diopiError_t diopiSinInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Sin>(ctx, "diopiSinInp", input, input);
}

diopiError_t diopiCos(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Cos>(ctx, "diopiCos", out, input);
}
diopiError_t diopiCosInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Cos>(ctx, "diopiCosInp", input, input);
}

diopiError_t diopiErf(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Erf>(ctx, "diopiErf", out, input);
}
diopiError_t diopiErfInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Erf>(ctx, "diopiErfInp", input, input);
}

diopiError_t diopiTanh(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map_unary<Tanh>(ctx, "diopiTanh", out, input);
}

diopiError_t diopiTanhInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return map_unary<Tanh>(ctx, "diopiTanhInp", input, input);
}

diopiError_t diopiTanhBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output) {
    return map_gradient<TanhSlope>(ctx, "diopiTanhBackward", grad_input, grad_output, output);
}

}  // namespace diopi::cuda
