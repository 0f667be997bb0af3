/// Formulas on three tensors, and the sign.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/choose.hpp"
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

/// The tile function that applies f(a, b, c).
template <class T, class F>
TileOp ternary(Dtype compute, F& f) {
    const TileFunction run = [](void* const* out, const void* const* in, int64_t n, void* state) {
        const F g = *static_cast<const F*>(state);
        T* o = static_cast<T*>(out[0]);
        const T* a = static_cast<const T*>(in[0]);
        const T* b = static_cast<const T*>(in[1]);
        const T* c = static_cast<const T*>(in[2]);
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) o[i] = g(a[i], b[i], c[i]);
    };
    return {compute, run, &f};
}

/// a + factor * b * c with one rounding of the sum.
template <class T>
struct AddProduct {
    T factor;
    T operator()(T a, T b, T c) const {
        if constexpr (std::is_integral_v<T>)
            return a + factor * b * c;
        else
            return std::fma(factor * b, c, a);
    }
};

struct AddQuotient {
    double factor;
    double operator()(double a, double b, double c) const { return a + factor * b / c; }
};

template <class T>
struct Choose {
    T operator()(T condition, T a, T b) const {
        if constexpr (std::is_same_v<T, Bool>)
            return condition == Bool::kTrue ? a : b;
        else
            return condition != T(0) ? a : b;
    }
};

template <class T>
struct Negate {
    T operator()(T x) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(0 - x);
        else
            return -x;
    }
};

/// The dtype that all operands promote to.
Dtype common_dtype(std::span<const View> ins) {
    Dtype dtype = ins[0].dtype;
    for (const View& in : ins.subspan(1)) dtype = promote(dtype, in.dtype);
    return dtype;
}

/// out = input + value * tensor1 * tensor2, or value * tensor1 / tensor2 for floating tensors only.
diopiError_t add_scaled(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        const std::array<View, 3>& ins, const diopiScalar_t& value, bool divides) {
    const View y = view(out);
    const Dtype dtype = common_dtype(ins);
    if (category(dtype) != 2 && (divides || category(dtype) != 1)) {
        return unsupported(op, "input", dtype, divides ? "a floating dtype" : "an integer or floating dtype");
    }
    if (divides) {
        // In float64: a quotient by a denormal float32 is a number there, and infinity in float32.
        AddQuotient f{number<double>(value)};
        return for_each_tile(ctx, op, {&y, 1}, ins, ternary<double>(Dtype::float64, f));
    }
    const auto in_type = [&]<class T>(Dtype compute) {
        AddProduct<T> f{number<T>(value)};
        return for_each_tile(ctx, op, {&y, 1}, ins, ternary<T>(compute, f));
    };
    if (category(dtype) == 1) return in_type.template operator()<uint64_t>(Dtype::int64);
    if (wide(dtype) == Dtype::float64) return in_type.template operator()<double>(Dtype::float64);
    return in_type.template operator()<float>(Dtype::float32);
}

diopiError_t negate(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (x.dtype == Dtype::boolean) return unsupported(op, "input", x.dtype, "numbers: use logical_not for bool");
    if (!std::ranges::equal(y.shape, x.shape)) return wrong_shape(op, "out", y.shape, to_string(x.shape));
    const Dtype compute = compute_dtype(x.dtype, {&y, 1}, {&x, 1});
    return with_wrapping_type(compute, [&]<class T>() {
        if constexpr (std::is_same_v<T, Bool>) {
            return unsupported(op, "input", x.dtype, "numbers");
        } else {
            Negate<T> f;
            return for_each_tile(ctx, op, {&y, 1}, {&x, 1}, unary<T>(compute, f));
        }
    });
}

}  // namespace

diopiError_t diopiAddcmul(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                          const diopiScalar_t* value) {
    return add_scaled(ctx, "diopiAddcmul", out, {view(input), view(tensor1), view(tensor2)}, *value, false);
}
diopiError_t diopiAddcmulInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return add_scaled(ctx, "diopiAddcmulInp", input, {view(input), view(tensor1), view(tensor2)}, *value, false);
}
diopiError_t diopiAddcdiv(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t tensor1, diopiConstTensorHandle_t tensor2,
                          const diopiScalar_t* value) {
    return add_scaled(ctx, "diopiAddcdiv", out, {view(input), view(tensor1), view(tensor2)}, *value, true);
}
diopiError_t diopiAddcdivInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2, const diopiScalar_t* value) {
    return add_scaled(ctx, "diopiAddcdivInp", input, {view(input), view(tensor1), view(tensor2)}, *value, true);
}

diopiError_t diopiNeg(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return negate(ctx, "diopiNeg", out, input);
}
diopiError_t diopiNegInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    return negate(ctx, "diopiNegInp", input, input);
}

diopiError_t choose(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& condition,
                    const View& chosen, const View& other) {
    const std::array ins = {condition, chosen, other};
    const Dtype compute = compute_dtype(promote(chosen.dtype, other.dtype), {&out, 1}, ins);
    return with_wrapping_type(compute, [&]<class T>() {
        Choose<T> f;
        return for_each_tile(ctx, op, {&out, 1}, ins, ternary<T>(compute, f));
    });
}

diopiError_t diopiWhere(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t condition,
                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    return choose(ctx, "diopiWhere", view(out), view(condition), view(input), view(other));
}

}  // namespace diopi::cpu
