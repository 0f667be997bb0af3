/// hardtanh, hardswish and leaky_relu.
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

namespace diopi::cpu {

namespace {

/// max wins where the bounds contradict each other; NaN where one of them is.
template <class T>
struct Limited {
    using Selects = void;
    T low, high;
    T operator()(T x) const {
        const T raised = x < low || low != low ? low : x;
        return raised > high || high != high ? high : raised;
    }
};

template <class T>
struct HardtanhSlope {
    using Selects = void;
    T low, high;
    T operator()(T g, T x) const { return x > low && x < high ? g : T(0); }
};

template <class T>
struct HardswishOf {
    T operator()(T x) const {
        const T shifted = x + T(3), raised = shifted < T(0) ? T(0) : shifted;
        return x * ((raised > T(6) ? T(6) : raised) * T(1.0 / 6));
    }
};

template <class T>
struct HardswishSlope {
    T operator()(T g, T x) const {
        const T between = g * (x * T(1.0 / 3) + T(0.5)), below = x <= T(-3) ? T(0) : between;
        return x >= T(3) ? g : below;
    }
};

template <class T>
struct LeakyReluOf {
    T slope;
    T operator()(T x) const { return x > T(0) ? x : x * slope; }
};

template <class T>
struct LeakyReluSlope {
    T slope;
    T operator()(T g, T x) const { return x > T(0) ? g : g * slope; }
};

/// out = f<T>() of the ins, which are floating; T is the type that they compute in.
template <size_t kIns, class F>
diopiError_t map_floating(diopiContextHandle_t ctx, std::string_view op, const View& out,
                          const std::array<View, kIns>& ins, F&& f) {
    bool is_narrow = false;
    diopiError_t error = read_real_function(op, out, ins, is_narrow);
    for (const View& in : ins) {
        if (error == diopiSuccess && !is_floating(in.dtype))
            error = unsupported(op, "input", in.dtype, "a floating dtype");
        if (error == diopiSuccess) error = check_shape(op, "out", out, in.shape);
    }
    if (error != diopiSuccess) return error;
    const auto run = [&]<class T>(Dtype compute) {
        const auto formula = f.template operator()<T>();
        return for_each_tile(ctx, op, {&out, 1}, ins, map<kIns, T>(compute, formula));
    };
    return is_narrow ? run.template operator()<float>(Dtype::float32) : run.template operator()<double>(Dtype::float64);
}

diopiError_t hardtanh(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input, const diopiScalar_t* min_val, const diopiScalar_t* max_val) {
    const View y = view(out), x = view(input);
    if (!is_ordered_number(x.dtype)) return unsupported(op, "input", x.dtype, "a real dtype");
    if (const diopiError_t error = check_shape(op, "out", y, x.shape); error != diopiSuccess) return error;
    const diopiScalar_t low = bound_as_element(*min_val, x.dtype), high = bound_as_element(*max_val, x.dtype);
    const Dtype compute = compute_dtype(x.dtype, {&y, 1}, {&x, 1});
    return with_type(compute, [&]<class T>() {
        if constexpr (kIsComplex<T> || std::is_same_v<T, Bool>) {
            return unsupported(op, "input", x.dtype, "a real dtype");
        } else {
            Limited<T> f{number<T>(low), number<T>(high)};
            return for_each_tile(ctx, op, {&y, 1}, {&x, 1}, unary<T>(compute, f));
        }
    });
}

diopiError_t hardtanh_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               const diopiScalar_t* min_val, const diopiScalar_t* max_val) {
    return map_floating(ctx, op, view(grad_input), std::array{view(grad_output), view(input)}, [&]<class T>() {
        return HardtanhSlope<T>{number<T>(*min_val), number<T>(*max_val)};
    });
}

diopiError_t hardswish(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    return map_floating(ctx, op, view(out), std::array{view(input)}, []<class T>() { return HardswishOf<T>{}; });
}

diopiError_t hardswish_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input) {
    return map_floating(ctx, op, view(grad_input), std::array{view(grad_output), view(input)},
                        []<class T>() { return HardswishSlope<T>{}; });
}

diopiError_t leaky_relu(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, const diopiScalar_t* negative_slope) {
    return map_floating(ctx, op, view(out), std::array{view(input)},
                        [&]<class T>() { return LeakyReluOf<T>{number<T>(*negative_slope)}; });
}

diopiError_t leaky_relu_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 const diopiScalar_t* negative_slope, bool input_is_result) {
    if (input_is_result && number<double>(*negative_slope) < 0) {
        return refuse(op, "negative_slope is below 0, wanted none where input is the result");
    }
    return map_floating(ctx, op, view(grad_input), std::array{view(grad_output), view(input)},
                        [&]<class T>() { return LeakyReluSlope<T>{number<T>(*negative_slope)}; });
}

}  // namespace

#include "kernels/entries/activation_piecewise.inc"

}  // namespace diopi::cpu
