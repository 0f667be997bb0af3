/// The linear layer: oneDNN's matrix product in float32, half types widened to it, our own product in float64.
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/norm.hpp"
#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/onednn_threads.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

using dnnl::memory;

/// Rows of input and out (leading dimensions flattened), elements of a row of input, and of out.
struct LinearShape {
    int64_t rows = 1, in = 0, out = 0;
};

/// A row-major matrix, or the transpose of one.
struct Matrix {
    const float* data;
    bool transposed;
};

memory::desc matrix_desc(int64_t rows, int64_t columns, bool transposed) {
    return {{rows, columns}, memory::data_type::f32, transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

/// c (m, n) = a (m, k) * b (k, n) + bias (n; null: none)
diopiError_t product(diopiContextHandle_t ctx, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, const float* bias,
                     float* c) {
    constexpr int64_t kMatmul = 200;
    const PlanKey key{kMatmul, m, n, k, a.transposed ? 1 : 0, b.transposed ? 1 : 0, bias != nullptr ? 1 : 0};
    Plan* plan = cached_plan(key, [&] {
        const memory::desc left = matrix_desc(m, k, a.transposed), right = matrix_desc(k, n, b.transposed);
        const memory::desc result = matrix_desc(m, n, false), row = matrix_desc(1, n, false);
        const auto desc =
            bias == nullptr ? dnnl::matmul::desc(left, right, result) : dnnl::matmul::desc(left, right, row, result);
        const dnnl::matmul::primitive_desc chosen(desc, onednn_attr(), onednn_engine());
        std::vector<Operand> operands{
            {DNNL_ARG_SRC, left, false}, {DNNL_ARG_WEIGHTS, right, false}, {DNNL_ARG_DST, result, true}};
        if (bias != nullptr) operands.push_back({DNNL_ARG_BIAS, row, false});
        return Plan(chosen, dnnl::matmul(chosen), operands);
    });
    if (plan == nullptr) return diopiErrorOccurred;
    // oneDNN takes every operand as writable and writes only the result.
    void* const data[] = {const_cast<float*>(a.data), const_cast<float*>(b.data), c, const_cast<float*>(bias)};
    return plan->run(ctx, {data, bias == nullptr ? size_t{3} : size_t{4}});
}

/// The same in float64.
struct Matrix64 {
    const double* data;
    bool transposed;
};

diopiError_t product(diopiContextHandle_t, int64_t m, int64_t n, int64_t k, Matrix64 a, Matrix64 b, const double* bias,
                     double* c) {
    if (bias != nullptr) {
        for (int64_t i = 0; i < m; ++i) std::copy_n(bias, n, c + i * n);
    }
    const auto view_of = [](Matrix64 x, int64_t rows, int64_t columns) {
        return x.transposed ? MatrixView{x.data, 1, rows} : MatrixView{x.data, columns, 1};
    };
    gemm(m, n, k, view_of(a, m, k), view_of(b, k, n), c, n, bias != nullptr);
    return diopiSuccess;
}

template <class T>
using MatrixOf = std::conditional_t<std::is_same_v<T, double>, Matrix64, Matrix>;

diopiError_t read_shape(std::string_view op, const View& input, const View& weight, const View& out,
                        LinearShape& shape) {
    if (!is_computable(input.dtype)) return unsupported(op, "input", input.dtype, "a floating dtype");
    if (input.rank() < 1) return wrong_shape(op, "input", input.shape, "(..., in)");
    if (weight.rank() != 2 || weight.shape[1] != input.shape.back()) {
        return wrong_shape(op, "weight", weight.shape, "(out, " + std::to_string(input.shape.back()) + ")");
    }
    shape.in = weight.shape[1], shape.out = weight.shape[0];
    Shape wanted(input.shape.begin(), input.shape.end());
    wanted.back() = shape.out;
    if (!std::ranges::equal(out.shape, wanted)) return wrong_shape(op, "out", out.shape, to_string(wanted));
    wanted.pop_back();
    shape.rows = numel(wanted);
    return diopiSuccess;
}

/// A bias of one number for each column; others, which broadcast to out, are added behind.
bool is_row(const View& bias, const LinearShape& shape) {
    return bias.numel == shape.out && bias.rank() >= 1 && bias.shape.back() == shape.out;
}

template <class T>
diopiError_t forward(diopiContextHandle_t ctx, const LinearShape& s, const View& out, const View& input,
                     const View& weight, diopiConstTensorHandle_t bias) {
    Staging staging(ctx);
    const bool fused = bias != nullptr && is_row(view(bias), s);
    const auto* x = staging.in<T>(input);
    const auto* w = staging.in<T>(weight);
    const auto* b = fused ? staging.in<T>(bias) : nullptr;
    auto* y = staging.out<T>(out);
    const T* added = nullptr;
    if (bias != nullptr && !fused) {
        const View given = view(bias);
        const auto strides = broadcast_strides(given, out.shape);
        View spread = given;
        spread.shape = out.shape;
        spread.strides = {strides.data(), out.shape.size()};
        spread.numel = out.numel;
        spread.contiguous = is_contiguous(spread.shape, spread.strides);
        added = staging.in<T>(spread);
    }
    if (staging.error() != diopiSuccess) return staging.error();
    if (s.in == 0) {
        for (int64_t i = 0; i < out.numel; ++i) y[i] = b == nullptr ? T{0} : b[i % s.out];
    } else {
        const diopiError_t error = product(ctx, s.rows, s.out, s.in, MatrixOf<T>{x, false}, MatrixOf<T>{w, true}, b, y);
        if (error != diopiSuccess) return error;
    }
    if (added != nullptr) {
        for (int64_t i = 0; i < out.numel; ++i) y[i] += added[i];
    }
    return staging.finish();
}

struct Gradients {
    diopiTensorHandle_t input, weight, bias;
};

template <class T>
diopiError_t backward(diopiContextHandle_t ctx, const LinearShape& s, Gradients grads, const View& grad_output,
                      const View& input, const View& weight) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_output);
    auto* gx = staging.out<T>(grads.input);
    auto* gw = staging.out<T>(grads.weight);
    auto* gb = staging.out<double>(grads.bias);
    const auto* w = gx == nullptr ? nullptr : staging.in<T>(weight);
    const auto* x = gw == nullptr ? nullptr : staging.in<T>(input);
    if (staging.error() != diopiSuccess) return staging.error();
    if (gx != nullptr) {
        const diopiError_t error =
            product(ctx, s.rows, s.in, s.out, MatrixOf<T>{g, false}, MatrixOf<T>{w, false}, nullptr, gx);
        if (error != diopiSuccess) return error;
    }
    if (gw != nullptr) {
        const diopiError_t error =
            product(ctx, s.out, s.in, s.rows, MatrixOf<T>{g, true}, MatrixOf<T>{x, false}, nullptr, gw);
        if (error != diopiSuccess) return error;
    }
    if (gb != nullptr) channel_sums({s.rows, s.out, 1, Layout::channels_last}, g, gb);
    return staging.finish();
}

/// Sums a gradient of out down to a bias that broadcasts: only in the order of the elements, since it is rare.
diopiError_t broadcast_bias_gradient(diopiContextHandle_t ctx, const View& grad_bias, const View& grad_output) {
    if (grad_bias.rank() > grad_output.rank()) {
        return wrong_shape("diopiLinearBackward", "grad_bias", grad_bias.shape, "one that broadcasts to grad_output");
    }
    Staging staging(ctx);
    const auto* g = staging.in<double>(grad_output);
    auto* sums = staging.out<double>(grad_bias);
    if (staging.error() != diopiSuccess) return staging.error();
    std::fill_n(sums, grad_bias.numel, 0.0);
    const Shape dense = contiguous_strides(grad_bias.shape);
    View target = grad_bias;
    target.strides = dense;
    const auto to = broadcast_strides(target, grad_output.shape);
    const Shape from = contiguous_strides(grad_output.shape);
    const LoopNest nest = loop_nest(grad_output.shape, {from.data(), to.data()});
    for_each_outer(nest, 0, [&](const auto& offsets) { sums[offsets[1]] += g[offsets[0]]; });
    return staging.finish();
}

}  // namespace

diopiError_t diopiLinear(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    constexpr std::string_view kOp = "diopiLinear";
    const View x = view(input), w = view(weight), y = view(out);
    LinearShape shape;
    if (const diopiError_t error = read_shape(kOp, x, w, y, shape); error != diopiSuccess) return error;
    if (bias != nullptr && !is_row(view(bias), shape)) {
        const auto broadcast = broadcast_shapes(view(bias).shape, y.shape);
        if (!broadcast || !std::ranges::equal(*broadcast, y.shape)) {
            return wrong_shape(kOp, "bias", view(bias).shape, to_string(Shape{shape.out}));
        }
    }
    if (y.numel == 0) return diopiSuccess;
    return (x.dtype == Dtype::float64 ? forward<double> : forward<float>)(ctx, shape, y, x, w, bias);
}

diopiError_t diopiLinearBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight) {
    const View x = view(input), w = view(weight), g = view(grad_output);
    LinearShape shape;
    if (const auto error = read_shape("diopiLinearBackward", x, w, g, shape); error != diopiSuccess) return error;
    if (grad_bias != nullptr && (!is_row(view(grad_bias), shape) || g.numel == 0)) {
        const diopiError_t error = broadcast_bias_gradient(ctx, view(grad_bias), g);
        if (error != diopiSuccess) return error;
        grad_bias = nullptr;
    }
    if (x.numel == 0 || w.numel == 0 || g.numel == 0) {
        for (const diopiTensorHandle_t gradient : {grad_input, grad_weight}) {
            if (gradient == nullptr) continue;
            if (const diopiError_t error = fill(ctx, view(gradient), 0); error != diopiSuccess) return error;
        }
        grad_input = grad_weight = nullptr;
    }
    const auto run = x.dtype == Dtype::float64 ? backward<double> : backward<float>;
    return run(ctx, shape, {grad_input, grad_weight, grad_bias}, g, x, w);
}

}  // namespace diopi::cpu
