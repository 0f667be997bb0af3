/// Rows of a table that are scaled to a norm: each row is converted, measured and written back by itself.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/positions.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/index.hpp"
#include "kernels/operands/own_view.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::cpu {

namespace {

double norm_of(const std::vector<double>& row, double p) {
    double sum = 0, most = 0, least = std::numeric_limits<double>::infinity();
    for (const double x : row) {
        const double magnitude = std::fabs(x);
        if (std::isnan(magnitude)) return magnitude;
        most = std::max(most, magnitude);
        least = std::min(least, magnitude);
        if (p == 0)
            sum += magnitude != 0 ? 1 : 0;
        else if (!std::isinf(p))
            sum += p == 1 ? magnitude : p == 2 ? magnitude * magnitude : std::pow(magnitude, p);
    }
    if (std::isinf(p)) return p > 0 ? most : least;
    if (p == 0 || p == 1) return sum;
    return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

/// Source: torch.embedding_renorm_.
diopiError_t embedding_renorm(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inout,
                              diopiConstTensorHandle_t indices, double max_norm, double norm_type) {
    const View table = view(inout), at = view(indices);
    diopiError_t error = check_computable(op, "inout", table);
    if (error == diopiSuccess && table.rank() != 2) error = wrong_shape(op, "inout", table.shape, "(num, dim)");
    if (error == diopiSuccess && !is_index(at.dtype)) error = unsupported(op, "indices", at.dtype, "int32 or int64");
    Positions rows;
    if (error == diopiSuccess) error = read_positions(ctx, op, at, table.shape[0], Negative::refused, rows);
    if (error != diopiSuccess || table.numel == 0) return error;
    std::vector<int64_t> named(rows.begin(), rows.end());
    std::ranges::sort(named);
    named.erase(std::ranges::unique(named).begin(), named.end());
    const int64_t size = table.shape[1];
    parallel_for(static_cast<int64_t>(named.size()), size, [&](int64_t first, int64_t last) {
        std::vector<double> row(static_cast<size_t>(size));
        const int64_t strides[] = {1};
        for (int64_t k = first; k < last; ++k) {
            OwnView part(table);
            const View own = part.take(0, named[static_cast<size_t>(k)], 1).remove(0).view();
            View wide = element(row.data(), Dtype::float64);
            wide.shape = own.shape;
            wide.strides = strides;
            wide.numel = size;
            copy(own, wide);
            const double norm = norm_of(row, norm_type);
            if (!(norm > max_norm)) continue;
            const double scale = max_norm / (norm + 1e-7);
            for (double& x : row) x *= scale;
            copy(wide, own);
        }
    });
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/index_renorm.inc"

}  // namespace diopi::cpu
