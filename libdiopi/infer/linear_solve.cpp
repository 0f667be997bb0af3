#include <algorithm>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The dims before a matrix.
ShapeView batch_of(const Tensor& x) { return ShapeView(x.shape).first(x.shape.size() - 2); }
/// Size of the last dim but `behind`.
int64_t size_from_back(const Tensor& x, size_t behind) { return x.shape[x.shape.size() - 1 - behind]; }
bool is_square(const Tensor& x) { return x.rank() >= 2 && size_from_back(x, 0) == size_from_back(x, 1); }

size_t at(const Call& call, std::string_view arg) { return static_cast<size_t>(call.row->find(arg)); }

}  // namespace

/// out (*, P, R) from (*, P, M) and (*, R, M), whose leading dims broadcast. Source: torch.cdist.
Specs cdist(Call& call, const ResultHints&) {
    const Tensor &a = *call.tensor("input1"), &b = *call.tensor("input2");
    const bool are_matrices = a.rank() >= 2 && b.rank() >= 2 && size_from_back(a, 0) == size_from_back(b, 0);
    auto shape = are_matrices ? broadcast_shapes(batch_of(a), batch_of(b)) : std::nullopt;
    if (!shape || a.dtype != b.dtype) {
        return contradiction(call,
                             "the points " + to_string(a.shape) + " and " + to_string(b.shape) +
                                 " must be (*, P, M) and (*, R, M) of one dtype with leading dims that broadcast");
    }
    if (!(std::get<double>(call["p"]) >= 0)) return contradiction(call, "p must not be negative");
    shape->push_back(size_from_back(a, 1));
    shape->push_back(size_from_back(b, 1));
    return one(call, "out", {std::move(*shape), a.dtype, {}});
}

/// out like mat, and one number for each matrix. Source: torch.linalg.cholesky_ex.
Specs cholesky(Call& call, const ResultHints&) {
    const Tensor& mat = *call.tensor("mat");
    if (!is_square(mat)) return contradiction(call, "mat " + to_string(mat.shape) + " must be (*, n, n)");
    const ShapeView batch = batch_of(mat);
    return std::vector<OutputSpec>{{at(call, "out"), {mat.shape, mat.dtype, {}}},
                                   {at(call, "info"), {Shape(batch.begin(), batch.end()), Dtype::int32, {}}}};
}

/// out (*, n, k) and a copy of mat (*, n, n), whose leading dims broadcast. Source: torch.triangular_solve.
Specs triangular_solve(Call& call, const ResultHints&) {
    const Tensor &b = *call.tensor("b"), &mat = *call.tensor("mat");
    const bool fits = is_square(mat) && b.rank() >= 2 && size_from_back(b, 1) == size_from_back(mat, 0);
    auto shape = fits ? broadcast_shapes(batch_of(b), batch_of(mat)) : std::nullopt;
    if (!shape || b.dtype != mat.dtype) {
        return contradiction(call,
                             "b " + to_string(b.shape) + " and mat " + to_string(mat.shape) +
                                 " must be (*, n, k) and (*, n, n) of one dtype with leading dims that broadcast");
    }
    const int64_t n = size_from_back(mat, 0);
    Shape solution = *shape, copy = *shape;
    solution.insert(solution.end(), {n, size_from_back(b, 0)});
    copy.insert(copy.end(), {n, n});
    return std::vector<OutputSpec>{{at(call, "out"), {std::move(solution), b.dtype, {}}},
                                   {at(call, "cloned_mat"), {std::move(copy), b.dtype, {}}}};
}

/// Q and R by the mode. Source: torch.linalg.qr.
Specs linalg_qr(Call& call, const ResultHints&) {
    const Tensor& a = *call.tensor("A");
    const auto* mode = std::get_if<std::string>(&call["mode"]);
    const bool is_known = mode != nullptr && (*mode == "reduced" || *mode == "complete" || *mode == "r");
    if (a.rank() < 2 || !is_known) {
        return contradiction(call, "A " + to_string(a.shape) + " must be (*, m, n), and mode reduced, complete or r");
    }
    const int64_t m = size_from_back(a, 1), n = size_from_back(a, 0), k = std::min(m, n);
    const ShapeView batch = batch_of(a);
    const auto matrix = [&](int64_t rows, int64_t columns) {
        Shape shape(batch.begin(), batch.end());
        shape.insert(shape.end(), {rows, columns});
        return shape;
    };
    const bool is_complete = *mode == "complete";
    const Shape q = *mode == "r" ? Shape{0} : matrix(m, is_complete ? m : k), r = matrix(is_complete ? m : k, n);
    return std::vector<OutputSpec>{{at(call, "Q"), {q, a.dtype, {}}}, {at(call, "R"), {r, a.dtype, {}}}};
}

}  // namespace diopi::infer_rules
