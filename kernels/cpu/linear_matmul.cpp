/// Products of matrices and of batches of them. Half types compute in float32; bfloat16 on the machine's units where
/// these suit the values.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/bfloat16_units.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/product.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/linear.hpp"

namespace diopi::cpu {

namespace {

/// The matrices of the operand, dense; transposes of dense matrices are not copied.
template <class T>
Matrices<T> load(Staging& staging, const MatrixBatch& x) {
    const View& v = x.view;
    if (v.dtype == kComputeDtype<T> && !v.is_contiguous() && v.rank() >= 2) {
        const size_t last = v.shape.size() - 1;
        Shape shape(v.shape.begin(), v.shape.end()), strides(v.strides.begin(), v.strides.end());
        std::swap(shape[last], shape[last - 1]);
        std::swap(strides[last], strides[last - 1]);
        if (is_contiguous(shape, strides)) return {v.as<T>(), true, false};
    }
    return {staging.in<T>(v), false, false};
}

/// The steps, in matrices, of a dense batch that is broadcast to the dimensions `wide`.
Shape batch_strides(ShapeView batch, ShapeView wide) {
    const Shape dense = contiguous_strides(batch);
    Shape strides(wide.size(), 0);
    const size_t skip = wide.size() - batch.size();
    for (size_t d = 0; d < batch.size(); ++d) strides[skip + d] = batch[d] == 1 ? 0 : dense[d];
    return strides;
}

ProductShape shape_of(const ProductDims& dims) {
    return {dims.a.rows(), dims.b.columns(), dims.a.columns(), numel(dims.batch)};
}

bool is_one(ShapeView batch) {
    return std::ranges::all_of(batch, [](int64_t size) { return size == 1; });
}

/// c = a * b + bias, or c += a * b, where each factor has its own batch dimensions, which broadcast to `batch`. Where c
/// has fewer, the products that belong to the same matrix are added up. The bias, n numbers or null, is for a c that
/// has all of them.
template <class T, class C>
struct Contraction {
    ShapeView batch;
    int64_t m, n, k;
    Matrices<T> a, b;
    ShapeView a_batch, b_batch, c_batch;
    C* c;
    const C* bias = nullptr;
    Into into = Into::kOverwrite;

    [[nodiscard]] diopiError_t run(diopiContextHandle_t ctx) const {
        const int64_t count = numel(batch);
        const auto covers = [&](ShapeView own) { return numel(own) == count; };
        if (covers(c_batch) && covers(a_batch) && is_one(b_batch) && !a.transposed) {  // more rows of a
            return product(ctx, {count * m, n, k}, a, b, bias, c, into);
        }
        if (is_one(c_batch) && covers(a_batch) && covers(b_batch) && a.transposed && !b.transposed) {
            return product(ctx, {m, n, count * k}, a, b, bias, c, into);  // longer sums
        }
        const bool simple_a = covers(a_batch) || is_one(a_batch), simple_b = covers(b_batch) || is_one(b_batch);
        if (covers(c_batch) && simple_a && simple_b) {
            Matrices<T> left = a, right = b;
            left.repeated = !covers(a_batch);
            right.repeated = !covers(b_batch);
            return product(ctx, {m, n, k, count}, left, right, bias, c, into);
        }
        return run_each(ctx);
    }

 private:
    [[nodiscard]] diopiError_t run_each(diopiContextHandle_t ctx) const {
        const Shape from_a = batch_strides(a_batch, batch), from_b = batch_strides(b_batch, batch);
        const Shape to_c = batch_strides(c_batch, batch);
        std::vector<bool> written(static_cast<size_t>(numel(c_batch)));
        const Nest nest = make_nest(batch, {to_c.data(), from_a.data(), from_b.data()});
        diopiError_t error = diopiSuccess;
        for_each_outer(nest, 0, [&](const auto& at) {
            if (error != diopiSuccess) return;
            const auto target = static_cast<size_t>(at[0]);
            const Matrices<T> left{a.data + at[1] * m * k, a.transposed}, right{b.data + at[2] * k * n, b.transposed};
            error = product(ctx, {m, n, k}, left, right, bias, c + at[0] * m * n, written[target] ? Into::kAdd : into);
            written[target] = true;
        });
        return error;
    }
};

template <class T>
Matrices<T> transpose(Matrices<T> x) {
    x.transposed = !x.transposed;
    return x;
}

/// out = input * other + addend (null: none), computed as products of T with sums of C; the shapes have been checked.
template <class T, class C>
diopiError_t multiply(diopiContextHandle_t ctx, const ProductDims& dims, const View& out, const View* addend) {
    Staging staging(ctx);
    const Matrices<T> a = load<T>(staging, dims.a), b = load<T>(staging, dims.b);
    C* c = staging.out<C>(out);
    const int64_t n = dims.b.columns();
    // A bias is read while out is written.
    const bool is_row = addend != nullptr && addend->numel == n && addend->rank() > 0 && addend->shape.back() == n &&
                        !overlap(out, *addend);
    const C* bias = is_row ? staging.in<C>(*addend) : nullptr;
    if (staging.error() != diopiSuccess) return staging.error();
    const bool adds = addend != nullptr && !is_row;
    if (adds) {
        View sums = out;
        const Shape strides = contiguous_strides(out.shape);
        sums.data = reinterpret_cast<std::byte*>(c);
        sums.dtype = kComputeDtype<C>;
        sums.strides = strides;
        if (!same_view(sums, *addend)) copy(*addend, sums);
    }
    Contraction<T, C> contraction{dims.batch,     dims.a.rows(), n, dims.a.columns(), a, b, dims.a.batch(),
                                  dims.b.batch(), dims.batch,    c};
    contraction.bias = bias;
    contraction.into = adds ? Into::kAdd : Into::kOverwrite;
    if (const diopiError_t error = contraction.run(ctx); error != diopiSuccess) return error;
    return staging.finish();
}

diopiError_t multiply(diopiContextHandle_t ctx, const ProductDims& dims, const View& out, bool wide,
                      const View* addend = nullptr) {
    const View &a = dims.a.view, &b = dims.b.view;
    if (wide) return multiply<double, double>(ctx, dims, out, addend);
    const int64_t rows = numel(dims.batch) * dims.a.rows();
    if (!(addend == nullptr ? takes_bfloat16(rows, a, b) : takes_bfloat16(rows, a, b, {*addend}))) {
        return multiply<float, float>(ctx, dims, out, addend);
    }
    if (out.dtype == Dtype::bfloat16) return multiply<Bfloat16, Bfloat16>(ctx, dims, out, addend);
    return multiply<Bfloat16, float>(ctx, dims, out, addend);
}

template <int64_t kRank>
diopiError_t matmul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    const View y = view(out);
    ProductDims dims;
    const diopiError_t error = read_product(op, y, view(input), view(other), kRank, dims);
    if (error != diopiSuccess) return error;
    return multiply(ctx, dims, y, computes_in_float64({dims.a.view, dims.b.view}));
}

/// grad = a * b, where the products of one matrix of grad are added up in C.
template <class T, class C>
diopiError_t multiply_into(diopiContextHandle_t ctx, Contraction<T, C> contraction, const View& grad) {
    Staging staging(ctx);
    contraction.c = staging.out<C>(grad);
    if (staging.error() != diopiSuccess) return staging.error();
    if (numel(contraction.batch) == 0) std::fill_n(contraction.c, grad.numel, C{});
    if (const diopiError_t error = contraction.run(ctx); error != diopiSuccess) return error;
    return staging.finish();
}

template <class T>
diopiError_t gradient(diopiContextHandle_t ctx, const Contraction<T, T>& c, const View& grad) {
    if constexpr (std::is_same_v<T, Bfloat16>) {
        // Sums of several products are rounded to bfloat16 once.
        if (numel(c.c_batch) != numel(c.batch)) {
            const Contraction<T, float> wide{c.batch, c.m,       c.n,       c.k,       c.a,
                                             c.b,     c.a_batch, c.b_batch, c.c_batch, nullptr};
            return multiply_into(ctx, wide, grad);
        }
    }
    return multiply_into(ctx, c, grad);
}

template <class T>
diopiError_t multiply_backward(diopiContextHandle_t ctx, const ProductDims& dims, diopiTensorHandle_t grad_input,
                               diopiTensorHandle_t grad_other, const View& grad_out) {
    Staging staging(ctx);
    const int64_t m = dims.a.rows(), n = dims.b.columns(), k = dims.a.columns();
    const Matrices<T> g{staging.in<T>(grad_out)};
    const Matrices<T> a = grad_other == nullptr ? Matrices<T>{} : load<T>(staging, dims.a);
    const Matrices<T> b = grad_input == nullptr ? Matrices<T>{} : load<T>(staging, dims.b);
    if (staging.error() != diopiSuccess) return staging.error();
    const ShapeView whole = dims.batch, a_batch = dims.a.batch(), b_batch = dims.b.batch();
    if (grad_input != nullptr) {
        const Contraction<T, T> to_input{whole, m, k, n, g, transpose(b), whole, b_batch, a_batch, nullptr};
        const diopiError_t error = gradient(ctx, to_input, view(grad_input));
        if (error != diopiSuccess) return error;
    }
    if (grad_other == nullptr) return diopiSuccess;
    const Contraction<T, T> to_other{whole, k, n, m, transpose(a), g, a_batch, whole, b_batch, nullptr};
    return gradient(ctx, to_other, view(grad_other));
}

/// Whether all products of the gradients that are wanted suit the machine's units.
bool gradients_suit_units(const View& a, const View& b, const View& g, bool wants_a, bool wants_b) {
    return (!wants_a || suit_bfloat16_units(g, b)) && (!wants_b || suit_bfloat16_units(a, g));
}

diopiError_t matmul_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                             diopiTensorHandle_t grad_other, diopiConstTensorHandle_t grad_out,
                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    const View a = view(input), b = view(other), g = view(grad_out);
    ProductDims dims;
    const diopiError_t error = read_product_gradient(op, grad_input, grad_other, g, a, b, dims);
    if (error != diopiSuccess) return error;
    auto* run = multiply_backward<float>;
    if (computes_in_float64({a, b, g})) {
        run = multiply_backward<double>;
    } else if (gradients_suit_units(a, b, g, grad_input != nullptr, grad_other != nullptr)) {
        run = multiply_backward<Bfloat16>;
    }
    return run(ctx, dims, grad_input, grad_other, g);
}

template <class T>
struct Scaled {
    T factor;
    T operator()(T p) const { return factor * p; }
};

template <class T>
struct WeightedSum {
    T weight, factor;
    T operator()(T p, T x) const { return std::fma(factor, p, weight * x); }
};

/// out = beta * addend + alpha * product. beta = 0 leaves the addend out, NaN and all.
template <class T>
diopiError_t combine(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& addend,
                     const View& product, double beta, double alpha) {
    Scaled<T> scale{T(alpha)};
    WeightedSum<T> add{T(beta), T(alpha)};
    if (beta == 0) return for_each_tile(ctx, op, {&out, 1}, {&product, 1}, unary<T>(product.dtype, scale));
    const std::array ins = {product, addend};
    return for_each_tile(ctx, op, {&out, 1}, ins, binary<T>(product.dtype, add));
}

/// Whether add_on_units computes the sum.
bool add_suits_units(const View& out, const View& addend, const ProductDims& dims, double beta) {
    const bool is_alike = addend.dtype == out.dtype && std::ranges::equal(addend.shape, out.shape);
    return out.dtype == Dtype::bfloat16 && (beta == 0 || (is_alike && !aliases_differently(out, addend))) &&
           takes_scaled_bfloat16(shape_of(dims), dims.a.view, dims.b.view);
}

/// out = beta * addend + alpha * the product of bfloat16 factors, in one pass.
diopiError_t add_on_units(diopiContextHandle_t ctx, const View& out, const View& addend, const ProductDims& dims,
                          double beta, double alpha) {
    Staging staging(ctx);
    Matrices<Bfloat16> a = load<Bfloat16>(staging, dims.a), b = load<Bfloat16>(staging, dims.b);
    a.repeated = numel(dims.a.batch()) < numel(dims.batch);
    b.repeated = numel(dims.b.batch()) < numel(dims.batch);
    const Bfloat16* added = beta == 0 ? nullptr : staging.in<Bfloat16>(addend);
    auto* c = staging.out<Bfloat16>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    const ScaledSum<Bfloat16> sum{added, static_cast<float>(alpha), static_cast<float>(beta)};
    const diopiError_t error = scaled_product(shape_of(dims), a, b, sum, c);
    return error != diopiSuccess ? error : staging.finish();
}

/// out = beta * input + alpha * mat1 * mat2.
template <int64_t kRank>
diopiError_t add_matmul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t mat1, diopiConstTensorHandle_t mat2,
                        const Factor& beta, const Factor& alpha) {
    const View y = view(out), addend = view(input), a = view(mat1), b = view(mat2);
    ProductDims dims;
    if (const diopiError_t error = read_product_sum(op, y, addend, a, b, kRank, dims); error != diopiSuccess) {
        return error;
    }
    const bool has_one_term = beta.value == 0 && alpha.value == 1;
    const bool wide = computes_in_float64({a, b}) || (!has_one_term && addend.dtype == Dtype::float64);
    if (has_one_term) return multiply(ctx, dims, y, wide);
    if (add_suits_units(y, addend, dims, beta.value)) {
        return add_on_units(ctx, y, addend, dims, beta.value, alpha.value);
    }
    if (beta.value == 1 && alpha.value == 1 && !aliases_differently(y, addend)) {
        const diopiError_t error = check_views(op, y, std::array{addend});
        return error != diopiSuccess ? error : multiply(ctx, dims, y, wide, &addend);
    }
    View made;
    diopiError_t error = require(ctx, y.shape, wide ? Dtype::float64 : Dtype::float32, made);
    if (error == diopiSuccess) error = multiply(ctx, dims, made, wide);
    if (error != diopiSuccess) return error;
    return (wide ? combine<double> : combine<float>)(ctx, op, y, addend, made, beta.value, alpha.value);
}

}  // namespace

#include "kernels/entries/linear_matmul.inc"

}  // namespace diopi::cpu
