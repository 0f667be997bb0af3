/// Products of matrices and of batches of them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/blas.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// (m, k) * (k, n) for every index of `batch`, to which the leading dims of both factors broadcast.
struct Sizes {
    Shape batch, out;
    int64_t m = 1, n = 1, k = 1;
};

/// The dimensions before the matrix; a vector has none.
ShapeView lead_of(ShapeView shape) { return shape.first(shape.size() < 2 ? 0 : shape.size() - 2); }

/// Source: torch.matmul. A vector on the left is a row, on the right a column, and that dim is not in the result.
Sizes sizes_of(ShapeView input, ShapeView other) {
    if (input.empty() || other.empty()) refuse("a factor has shape (), wanted one dimension or more");
    Sizes s;
    s.m = input.size() == 1 ? 1 : input[input.size() - 2];
    s.k = input.back();
    s.n = other.size() == 1 ? 1 : other.back();
    const int64_t rows = other.size() == 1 ? other[0] : other[other.size() - 2];
    const std::optional<Shape> batch = broadcast_shapes(lead_of(input), lead_of(other));
    if (rows != s.k || !batch) {
        refuse("other has shape " + to_string(other) + ", which does not fit behind input of shape " +
               to_string(input));
    }
    s.batch = s.out = *batch;
    if (input.size() > 1) s.out.push_back(s.m);
    if (other.size() > 1) s.out.push_back(s.n);
    return s;
}

/// Calls visit(index of the matrix of out, of input, of other) for every index of the batch.
template <class Visit>
void for_each_product(const Sizes& s, ShapeView input, ShapeView other, Visit&& visit) {
    const Shape dense = contiguous_strides(s.batch);
    const Shape a = broadcast_strides("input", lead_of(input), s.batch);
    const Shape b = broadcast_strides("other", lead_of(other), s.batch);
    const Rows<3> rows(s.batch, {ShapeView(dense), ShapeView(a), ShapeView(b)});
    rows.for_each([&](const Rows<3>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) {
            visit(at[0] + i * rows.step()[0], at[1] + i * rows.step()[1], at[2] + i * rows.step()[2]);
        }
    });
}

void fill_products(const Sizes& s, const Operand<double>& x, const Operand<double>& w, double* y) {
    for_each_product(s, x.shape(), w.shape(), [&](int64_t out, int64_t left, int64_t right) {
        multiply(s.m, s.n, s.k, {x.data() + left * s.m * s.k, s.k}, {w.data() + right * s.k * s.n, s.n},
                 y + out * s.m * s.n, s.n, false);
    });
}

void require_rank(std::string_view argument, ShapeView shape, size_t rank) {
    if (shape.size() == rank) return;
    refuse(std::string(argument) + " has shape " + to_string(shape) + ", wanted " + std::to_string(rank) +
           " dimensions");
}

/// out = input * other, products of the last two dimensions; the others are a batch, which broadcasts for kRank = 0.
/// A side of 0: out is empty, or zeros where only the inner one is 0. Source: torch.matmul.
template <size_t kRank>
diopiError_t matmul(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    diopiConstTensorHandle_t other) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        const Operand<double> w(other, "other");
        Output<double> y(out, "out");
        if (kRank != 0) {
            require_rank("input", x.shape(), kRank);
            require_rank("mat2", w.shape(), kRank);
        }
        if (kRank == 3 && x.size(0) != w.size(0)) {
            refuse("mat2 has a batch of " + std::to_string(w.size(0)) + ", wanted " + std::to_string(x.size(0)));
        }
        const Sizes s = sizes_of(x.shape(), w.shape());
        require_shape("out", y.shape(), s.out);
        fill_products(s, x, w, y.data());
        y.store();
    });
}

/// grad_input = g * other^T, grad_other = input^T * g, each summed over the batch dims that it was broadcast along.
diopiError_t matmul_backward(diopiContextHandle_t, std::string_view, diopiTensorHandle_t grad_input,
                             diopiTensorHandle_t grad_other, diopiConstTensorHandle_t grad_out,
                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    return kernel([&] {
        const Operand<double> g(grad_out, "grad_out");
        const Operand<double> x(input, "input");
        const Operand<double> w(other, "other");
        Output<double> gx(grad_input, "grad_input?", Output<double>::Start::kZero);
        Output<double> gw(grad_other, "grad_other?", Output<double>::Start::kZero);
        const Sizes s = sizes_of(x.shape(), w.shape());
        require_shape("grad_out", g.shape(), s.out);
        if (gx) require_shape("grad_input", gx.shape(), x.shape());
        if (gw) require_shape("grad_other", gw.shape(), w.shape());
        for_each_product(s, x.shape(), w.shape(), [&](int64_t out, int64_t left, int64_t right) {
            const double* grad = g.data() + out * s.m * s.n;
            const double* a = x.data() + left * s.m * s.k;
            const double* b = w.data() + right * s.k * s.n;
            if (gx) multiply(s.m, s.k, s.n, {grad, s.n}, {b, s.n, true}, gx.data() + left * s.m * s.k, s.k, true);
            if (gw) multiply(s.k, s.n, s.m, {a, s.k, true}, {grad, s.n}, gw.data() + right * s.k * s.n, s.n, true);
        });
        gx.store();
        gw.store();
    });
}

/// A factor of a sum: a double or a number. Both convert to it.
struct Factor {
    Factor(double real) : value(real) {}
    Factor(const diopiScalar_t* scalar) : value(scalar_as<double>(*scalar)) {}

    double value;
};

/// out = beta * input + alpha * (mat1 * mat2), input broadcast to out. beta = 0: input is not looked at, so that NaN
/// in it does not matter. For integers, beta and alpha are cut off to integers. Source: torch.addmm, torch.baddbmm.
template <size_t kRank>
diopiError_t add_matmul(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t mat1, diopiConstTensorHandle_t mat2, const Factor& beta,
                        const Factor& alpha) {
    return kernel([&] {
        const bool is_whole = kind_of(view_of(mat1).dtype) == Kind::kInteger;
        const double weight = is_whole ? std::trunc(beta.value) : beta.value;
        const double scale = is_whole ? std::trunc(alpha.value) : alpha.value;
        const Operand<double> addend(input, "input");
        const Operand<double> x(mat1, "mat1");
        const Operand<double> w(mat2, "mat2");
        require_rank("the first factor", x.shape(), kRank);
        require_rank("the second factor", w.shape(), kRank);
        Output<double> y(out, "out");
        const Sizes s = sizes_of(x.shape(), w.shape());
        require_shape("out", y.shape(), s.out);
        std::vector<double> products(static_cast<size_t>(y.numel()));
        fill_products(s, x, w, products.data());
        const Shape dense = contiguous_strides(y.shape());
        const Shape strides = broadcast_strides("input", addend.shape(), y.shape());
        const Rows<2> rows(y.shape(), {ShapeView(dense), ShapeView(strides)});
        rows.for_each([&](const Rows<2>::Offsets& at) {
            for (int64_t i = 0; i < rows.length(); ++i) {
                const double term = weight == 0.0 ? 0.0 : weight * addend[at[1] + i * rows.step()[1]];
                y[at[0] + i] = term + scale * products[static_cast<size_t>(at[0] + i)];
            }
        });
        y.store();
    });
}

}  // namespace

#include "kernels/entries/linear_matmul.inc"

}  // namespace diopi::reference
