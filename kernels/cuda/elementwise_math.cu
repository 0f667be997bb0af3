/// Exponentials, logarithms, roots, trigonometric and hyperbolic functions, from CUDA's library: at most 2 ulp in
/// float32 (CUDA Programming Guide, mathematical functions), roots and quotients rounded correctly.
#include "kernels/cuda/element/unary.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"

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
struct Asinh {
    __device__ C operator()(C x) const { return asinh(x); }
};

template <class C>
struct Acosh {
    __device__ C operator()(C x) const { return acosh(x); }
};

template <class C>
struct Atanh {
    __device__ C operator()(C x) const { return atanh(x); }
};

template <class C>
struct Tanh {
    __device__ C operator()(C x) const { return tanh(x); }
};
template <class C>
struct TanhBackward {
    __device__ C operator()(C g, C y) const { return g * ((C(1) - y) * (C(1) + y)); }
};

}  // namespace

#include "kernels/entries/elementwise_math.inc"

}  // namespace diopi::cuda
