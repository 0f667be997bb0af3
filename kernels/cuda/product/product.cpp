#include "kernels/cuda/product/product.hpp"

#include <algorithm>

namespace diopi::cuda {

namespace {

/// Whether `outer` continues `inner` in memory, in a matrix that has both or neither.
bool goes_on(const ProductDim& outer, const ProductDim& inner, int64_t ProductDim::*matrix) {
    return outer.*matrix == inner.*matrix * inner.size;
}

bool join(const ProductDim& outer, ProductDim& inner) {
    const bool joins = goes_on(outer, inner, &ProductDim::a) && goes_on(outer, inner, &ProductDim::b) &&
                       goes_on(outer, inner, &ProductDim::c);
    if (joins) inner.size *= outer.size;
    return joins;
}

/// The steps of a dimension of size 1 do not matter: they become those that a dimension around it needs.
void adopt_steps(const ProductDim& outer, ProductDim& inner) {
    if (inner.size == 1) inner = {1, outer.a, outer.b, outer.c};
}

/// A batch dimension that one factor lacks becomes rows or columns; one that c lacks makes longer sums.
bool join_matrix(const ProductDim& dim, Product& p) {
    ProductDim* into = nullptr;
    if (dim.c == 0) into = &p.k;
    if (dim.c != 0 && dim.b == 0) into = &p.m;
    if (dim.c != 0 && dim.b != 0 && dim.a == 0) into = &p.n;
    if (into == nullptr) return false;
    // c is row-major: its columns are neighbours.
    if (into == &p.n && p.n.size == 1 && dim.c != 1) return false;
    ProductDim joined = *into;
    adopt_steps(dim, joined);
    if (!join(dim, joined)) return false;
    *into = joined;
    return true;
}

}  // namespace

int64_t ProductPlan::calls() const {
    int64_t count = 1;
    for (const ProductDim& loop : loops) count *= loop.size;
    return count;
}

bool ProductPlan::adds() const {
    return std::ranges::any_of(loops, [](const ProductDim& loop) { return loop.c == 0; });
}

ProductPlan plan_product(const Product& product) {
    Product p = product;
    std::vector<ProductDim> rest;  // innermost first
    for (auto dim = product.batch.rbegin(); dim != product.batch.rend(); ++dim) {
        if (dim->size == 1 || join_matrix(*dim, p)) continue;
        if (rest.empty() || !join(*dim, rest.back())) rest.push_back(*dim);
    }
    ProductPlan plan{p.m, p.n, p.k, {}, {}};
    auto longest = rest.end();
    for (auto dim = rest.begin(); dim != rest.end(); ++dim) {
        if (dim->c != 0 && (longest == rest.end() || dim->size > longest->size)) longest = dim;
    }
    if (longest != rest.end()) {
        plan.batch = *longest;
        rest.erase(longest);
    }
    plan.loops.assign(rest.rbegin(), rest.rend());
    return plan;
}

std::optional<MatrixLayout> matrix_layout(int64_t rows, int64_t row_step, int64_t columns, int64_t column_step) {
    if (columns == 1) column_step = 1;
    if (rows == 1) row_step = column_step == 1 ? columns : 1;
    if (column_step == 1 && row_step >= columns) return MatrixLayout{row_step, false};
    if (row_step == 1 && column_step >= rows) return MatrixLayout{column_step, true};
    return std::nullopt;
}

}  // namespace diopi::cuda
