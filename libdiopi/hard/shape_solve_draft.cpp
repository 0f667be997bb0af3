/// The tensors and parameters of hard cases of distances, decompositions and systems of equations. The matrices are
/// well conditioned: each result has a small error bound.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "hard/draft.hpp"

namespace diopi {

namespace {

Shape matrices(const Shape& batch, int64_t rows, int64_t columns) {
    Shape shape = batch;
    shape.insert(shape.end(), {rows, columns});
    return shape;
}

/// The leading dims of the first and of the second tensor, which broadcast.
std::pair<Shape, Shape> batches(const Draft& draft) {
    const int64_t n = draft.level(Factor::kForm) == 5 ? draft.size(130) : 3;
    switch (draft.pattern()) {
        case 1:
            return {{n}, {n}};
        case 2:
            return {{}, {n}};
        case 3:
            return {{n}, {}};
        case 4:
            return {{2, 1}, {n}};
        case 5:
            return {{1, n}, {2, n}};
        default:
            return {{}, {}};
    }
}

/// P, R or M has the boundary's size.
bool cdist(Draft& draft) {
    auto [batch, other] = batches(draft);
    const size_t form = draft.level(Factor::kForm);
    int64_t p = 7, r = 5, m = 6;
    if (form == 0 || form == 4) m = draft.size(5'000);
    if (form == 1) r = draft.size(1'100);
    if (form == 2 || form == 6) p = draft.size(1'100);
    if (form == 3) p = r = m = draft.size(70);
    if (form == 7) p = r = 1;
    // Points of one set have distances of 0; so many that these may be made of products.
    if (draft.level(Factor::kOtherLayout) == kOneObject) p = r = std::max<int64_t>({p, r, 33}), other = batch;
    draft.add("input1", matrices(batch, p, m));
    draft.add("input2", matrices(other, r, m));
    constexpr double kOrders[] = {2, 1, 0, std::numeric_limits<double>::infinity(), 3, 0.5, 1.5};
    draft.set("p", kOrders[draft.level(Factor::kNumbers) % std::size(kOrders)]);
    draft.set("compute_mode", static_cast<int64_t>(draft.pattern() % 3));
    return true;
}

/// The side of a square matrix: the boundary stands for it, unless it stands for the batch.
int64_t side_of(const Draft& draft, int64_t most) {
    const size_t form = draft.level(Factor::kForm);
    return form == 5 || form == 7 ? 4 : draft.size(most);
}

/// Three matrices of side `n`, of which the last one has a factor of all but its last row.
std::vector<double> with_a_late_failure(int64_t n) {
    std::vector<double> values;
    for (int64_t k = 0; k < 3; ++k) {
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < n; ++j)
                values.push_back(i == j ? 3 : std::ldexp(1.0, static_cast<int>(-std::abs(i - j))));
        }
        if (k == 2) values.back() = -1;
    }
    return values;
}

bool cholesky(Draft& draft) {
    // Without a factor, the error that the call asks for; there is no gradient.
    const bool has_factor = draft.pattern() % 4 != 3, fails_late = draft.pattern() == 7;
    const int64_t n = side_of(draft, fails_late ? 36 : 130);
    const FillSpec fill = fails_late   ? FillSpec{Fill::kValue}
                          : has_factor ? FillSpec{Fill::kSymMat}
                                       : FillSpec{Fill::kUniform, -1, -0.5};
    if (fails_late && n == 0) return false;
    draft.add("mat", fails_late ? Shape{3, n, n} : matrices(batches(draft).second, n, n), draft.dtype(), fill);
    CaseTensor& mat = draft.made().tensors.back();
    mat.requires_grad = has_factor;
    if (fails_late) mat.values = with_a_late_failure(n);
    draft.set("upper", draft.level(Factor::kNumbers) % 2 == 1);
    draft.set("checkerror", draft.pattern() % 2 == 1 && draft.level(Factor::kNumbers) % 4 != 2);
    return true;
}

/// Well-conditioned matrices with NaN in the triangle that is not read, and on the diagonal if that is not.
void put_nan_in_unread(CaseTensor& mat, bool upper, bool reads_diagonal) {
    const Shape& shape = mat.specs.front().shape;
    const int64_t n = shape.back();
    mat.fill = {Fill::kValue};
    for (int64_t k = 0; k < numel(shape); ++k) {
        const int64_t i = k / n % n, j = k % n;
        const bool is_read = i == j ? reads_diagonal : upper ? i < j : i > j;
        const double value = i == j ? 3 : std::ldexp(k % 3 == 0 ? -1.0 : 1.0, static_cast<int>(-std::abs(i - j)));
        mat.values.push_back(is_read ? value : std::numeric_limits<double>::quiet_NaN());
    }
}

bool triangular_solve(Draft& draft) {
    const auto [batch, other] = batches(draft);
    const int64_t n = side_of(draft, 130), k = draft.level(Factor::kForm) == 1 ? draft.size(130) : 3;
    draft.add("b", matrices(batch, n, k));
    draft.add("mat", matrices(other, n, n), draft.dtype(), {Fill::kSymMat});
    CaseTensor& mat = draft.made().tensors.back();
    mat.requires_grad = true;
    const size_t chosen = draft.level(Factor::kNumbers);
    const bool is_upper = chosen % 2 == 0, is_unit = draft.pattern() % 3 == 2;
    const bool hides = draft.level(Factor::kOther) == 1 && numel(mat.specs.front().shape) <= kMostWritten;
    if (hides) put_nan_in_unread(mat, is_upper, !is_unit);
    draft.set("upper", is_upper);
    draft.set("transpose", chosen / 2 % 2 == 1);
    draft.set("unitriangular", is_unit);
    return true;
}

bool linalg_qr(Draft& draft) {
    const size_t form = draft.level(Factor::kForm);
    int64_t m = 7, n = 5;
    if (form == 0 || form == 4) m = draft.size(1'100);
    if (form == 1) n = draft.size(1'100);
    if (form == 2 || form == 3) m = n = draft.size(130);
    if (form == 6) std::swap(m, n);
    if (form == 7) m = n = 1;
    const Shape shape = matrices(batches(draft).second, m, n);
    // Large numbers have a norm that a half type does not hold.
    if (is_half(draft.dtype())) {
        draft.add("A", shape, draft.dtype(), {Fill::kUniform, -3, 3});
    } else {
        draft.add("A", shape);
    }
    constexpr const char* kModes[] = {"reduced", "complete", "r"};
    draft.set("mode", std::string(kModes[draft.level(Factor::kNumbers) % std::size(kModes)]));
    return true;
}

}  // namespace

bool shape_solve_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::cdist:
            return cdist(draft);
        case ShapeRule::cholesky:
            return cholesky(draft);
        case ShapeRule::triangular_solve:
            return triangular_solve(draft);
        case ShapeRule::linalg_qr:
            return linalg_qr(draft);
        default:
            return false;
    }
}

}  // namespace diopi
