/// Tensors as the library's matrices.
#include "kernels/cuda/product/tensors.hpp"

#include <algorithm>
#include <utility>

#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/product/copies.hpp"
#include "kernels/cuda/product/gemm.hpp"

namespace diopi::cuda {

namespace {

/// Steps of the operand along the dimensions of `batch`; 0 where it repeats.
int64_t batch_step(const MatrixBatch& x, size_t dim, size_t rank) {
    const size_t missing = rank - x.lead;
    if (dim < missing || x.view.shape[dim - missing] == 1) return 0;
    return x.view.strides[dim - missing];
}

Product product_from(ShapeView batch, const MatrixBatch& a, const MatrixBatch& b, const MatrixBatch& c) {
    Product p;
    p.m = {a.rows(), a.row_step(), 0, c.row_step()};
    p.n = {b.columns(), 0, b.column_step(), c.column_step()};
    p.k = {a.columns(), a.column_step(), b.row_step(), 0};
    for (size_t d = 0; d < batch.size(); ++d) {
        const auto step = [&](const MatrixBatch& x) { return batch_step(x, d, batch.size()); };
        p.batch.push_back({batch[d], step(a), step(b), step(c)});
    }
    return p;
}

/// A product and the layouts of the library's matrices.
struct Call {
    ProductPlan plan;
    MatrixLayout a, b, c;
};

/// The operands that must be copied, because the library does not take their layout.
struct CopiesNeeded {
    bool a = false, b = false, c = false;
    [[nodiscard]] bool any() const { return a || b || c; }
};

CopiesNeeded find_call(ShapeView batch, const MatrixBatch& a, const MatrixBatch& b, const MatrixBatch& c, Call& call) {
    call.plan = plan_product(product_from(batch, a, b, c));
    const ProductDim &m = call.plan.m, &n = call.plan.n, &k = call.plan.k;
    const auto of_a = matrix_layout(m.size, m.a, k.size, k.a), of_b = matrix_layout(k.size, k.b, n.size, n.b);
    const auto of_c = matrix_layout(m.size, m.c, n.size, n.c);
    call.a = of_a.value_or(MatrixLayout{}), call.b = of_b.value_or(MatrixLayout{});
    call.c = of_c.value_or(MatrixLayout{});
    const ProductDim& each = call.plan.batch;  // the library takes no negative steps
    return {!of_a || each.a < 0, !of_b || each.b < 0, !of_c || of_c->transposed || each.c < 0};
}

/// Prepares the operands and the call: copies those that the library does not take, or all if that saves calls.
class Preparation {
 public:
    Preparation(diopiContextHandle_t ctx, std::string_view op, ShapeView batch) : ctx_(ctx), op_(op), batch_(batch) {}

    MatrixBatch a, b, c;
    Call call;

    [[nodiscard]] diopiError_t run() {
        CopiesNeeded copies = find_call(batch_, a, b, c, call);
        if (!copies.any() && call.plan.calls() > 1)
            copies = {!a.view.is_contiguous(), !b.view.is_contiguous(), !c.view.is_contiguous()};
        if (!copies.any()) return diopiSuccess;
        if (const diopiError_t error = copy_operands(copies); error != diopiSuccess) return error;
        copies = find_call(batch_, a, b, c, call);
        if (!copies.any()) return diopiSuccess;
        // The copy changed the plan of the batch, so that another layout no longer fits.
        if (const diopiError_t error =
                copy_operands({!a.view.is_contiguous(), !b.view.is_contiguous(), !c.view.is_contiguous()});
            error != diopiSuccess) {
            return error;
        }
        (void)find_call(batch_, a, b, c, call);
        return diopiSuccess;
    }

 private:
    [[nodiscard]] diopiError_t copy_operands(const CopiesNeeded& copies) {
        diopiError_t error = diopiSuccess;
        if (copies.a) error = copy_as(ctx_, op_, a.view, a.view.dtype, a.view);
        if (copies.b && error == diopiSuccess) error = copy_as(ctx_, op_, b.view, b.view.dtype, b.view);
        if (copies.c && error == diopiSuccess) error = require(ctx_, c.view.shape, c.view.dtype, c.view);
        return error;
    }

    diopiContextHandle_t ctx_;
    std::string_view op_;
    ShapeView batch_;
};

GemmMatrix matrix(const MatrixBatch& x, const MatrixLayout& layout, int64_t batch_stride) {
    return {x.view.data, layout.pitch, layout.transposed, batch_stride};
}

void move(GemmMatrix& x, int64_t elements, Dtype dtype) {
    x.data = static_cast<std::byte*>(x.data) + elements * static_cast<int64_t>(size_of(dtype));
}

/// Makes every call of the plan; a later call on the same c adds to it.
diopiError_t run_calls(diopiContextHandle_t ctx, std::string_view op, const ProductPlan& plan, const Gemm& first) {
    for (int64_t call = 0; call < plan.calls(); ++call) {
        Gemm g = first;
        int64_t rest = call;
        for (size_t d = plan.loops.size(); d-- > 0;) {
            const ProductDim& loop = plan.loops[d];
            const int64_t index = rest % loop.size;
            rest /= loop.size;
            move(g.a, index * loop.a, g.factors);
            move(g.b, index * loop.b, g.factors);
            move(g.c, index * loop.c, g.result);
            if (loop.c == 0 && index > 0) g.beta = 1;
        }
        if (const diopiError_t error = gemm(ctx, op, g); error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

/// The dtypes of the factors and of the result.
struct Types {
    Dtype factors, result;
};

Types types_of(const View& a, const View& b, const View& c, const Addend& addend) {
    const auto is_wide = [](const View& v) { return v.dtype == Dtype::float64; };
    if (is_wide(a) || is_wide(b) || (addend.view != nullptr && is_wide(*addend.view))) {
        return {Dtype::float64, Dtype::float64};
    }
    if (!is_half(a.dtype) || a.dtype != b.dtype) return {Dtype::float32, Dtype::float32};
    const bool is_exact = addend.view == nullptr || addend.view->dtype == c.dtype;
    return {a.dtype, c.dtype == a.dtype && is_exact ? c.dtype : Dtype::float32};
}

/// The first call of the plan, without the addend.
Gemm gemm_of(const Preparation& ready, const Types& types, double alpha) {
    const ProductPlan& plan = ready.call.plan;
    Gemm g;
    g.m = plan.m.size, g.n = plan.n.size, g.k = plan.k.size, g.batch = plan.batch.size;
    g.factors = types.factors, g.result = types.result;
    g.a = matrix(ready.a, ready.call.a, plan.batch.a);
    g.b = matrix(ready.b, ready.call.b, plan.batch.b);
    g.c = matrix(ready.c, ready.call.c, plan.batch.c);
    g.alpha = alpha;
    return g;
}

/// Whether the library adds the addend as its bias: one number for each column of every matrix.
bool is_bias(const Addend& addend, int64_t columns, const Gemm& g) {
    const View& v = *addend.view;
    return addend.weight == 1 && v.numel == columns && !v.shape.empty() && v.shape.back() == columns &&
           v.is_contiguous() && g.n == columns && v.dtype == g.result && takes_bias(g, v.data);
}

bool is_same(const View& a, const View& b) {
    return a.data == b.data && a.dtype == b.dtype && std::ranges::equal(a.shape, b.shape) &&
           std::ranges::equal(a.strides, b.strides);
}

/// Gives the addend to the library as its bias, or stores it where the product is added to it.
diopiError_t bring_addend(diopiContextHandle_t ctx, std::string_view op, const Addend& addend, const View& c,
                          int64_t columns, Gemm& g) {
    if (is_bias(addend, columns, g)) {
        g.bias = addend.view->data;
        return diopiSuccess;
    }
    g.beta = addend.weight;
    return is_same(*addend.view, c) ? diopiSuccess : assign(ctx, op, c, *addend.view);
}

/// Without terms c becomes the addend, or zeros.
diopiError_t write_empty_sums(diopiContextHandle_t ctx, std::string_view op, const View& c, const Addend& addend) {
    if (addend.view == nullptr) return assign_zero(ctx, op, c);
    View zeros;
    const Dtype dtype = addend.view->dtype == Dtype::float64 ? Dtype::float64 : Dtype::float32;
    diopiError_t error = require(ctx, c.shape, dtype, zeros);
    if (error == diopiSuccess) error = assign_zero(ctx, op, zeros);
    return error == diopiSuccess ? combine(ctx, op, c, *addend.view, zeros, addend.weight, 1) : error;
}

}  // namespace

diopiError_t contract(diopiContextHandle_t ctx, std::string_view op, ShapeView batch, const MatrixBatch& c,
                      MatrixBatch a, MatrixBatch b, const Addend& addend, double alpha) {
    if (const diopiError_t error = check_views(op, c.view, {}); error != diopiSuccess) return error;
    if (c.view.numel == 0) return diopiSuccess;
    if (a.columns() == 0 || numel(batch) == 0) return write_empty_sums(ctx, op, c.view, addend);
    Types types = types_of(a.view, b.view, c.view, addend);
    diopiError_t error = diopiSuccess;
    for (MatrixBatch* x : {&a, &b}) {
        const bool is_read_late = x->view.data == c.view.data || aliases_differently(c.view, x->view);
        if (x->view.dtype == types.factors && !is_read_late) continue;
        error = copy_as(ctx, op, x->view, types.factors, x->view);
        if (error != diopiSuccess) return error;
    }
    Preparation ready(ctx, op, batch);
    ready.a = a, ready.b = b, ready.c = c;
    if (c.view.dtype != types.result) error = require(ctx, c.view.shape, types.result, ready.c.view);
    if (error == diopiSuccess) error = ready.run();
    if (error != diopiSuccess) return error;
    Gemm g = gemm_of(ready, types, alpha);
    // The library rounds some half products before it adds old values, on sm_90 for one (64, 32) * (32, 16).
    const bool is_added_later = is_half(types.result) && addend.view != nullptr && !is_bias(addend, b.columns(), g);
    if (is_added_later || (is_half(types.result) && ready.call.plan.adds())) {
        types.result = Dtype::float32;  // so that the sums are rounded once
        error = require(ctx, c.view.shape, types.result, ready.c.view);
        if (error == diopiSuccess) error = ready.run();
        if (error != diopiSuccess) return error;
        g = gemm_of(ready, types, alpha);
    }
    if (addend.view != nullptr && !is_added_later) error = bring_addend(ctx, op, addend, ready.c.view, b.columns(), g);
    if (error == diopiSuccess) error = run_calls(ctx, op, ready.call.plan, g);
    if (error == diopiSuccess && is_added_later) {
        return combine(ctx, op, c.view, *addend.view, ready.c.view, addend.weight, 1);
    }
    if (error != diopiSuccess || ready.c.view.data == c.view.data) return error;
    return assign(ctx, op, c.view, ready.c.view);
}

}  // namespace diopi::cuda
