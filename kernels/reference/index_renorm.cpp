/// Rows of a table that are scaled to a norm.
#include <cmath>
#include <limits>
#include <set>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"

namespace diopi::reference {

namespace {

using std::exp;
using std::log;
using std::sqrt;

template <class T>
T magnitude(const T& x) {
    return T(0) > x ? -x : x;
}

/// (sum of |x|^p)^(1/p); the largest or the least magnitude for an infinite p, the number of elements that are not 0
/// for p = 0. Source: torch.norm.
template <class T>
T norm_of(const T* x, int64_t n, double p) {
    if (std::isinf(p)) {
        T most = magnitude(x[0]);
        for (int64_t i = 1; i < n; ++i) {
            const T next = magnitude(x[i]);
            if (p > 0 ? next > most : most > next) most = next;
        }
        return most;
    }
    Sum<T> sum;
    for (int64_t i = 0; i < n; ++i) {
        const T next = magnitude(x[i]);
        if (p == 0)
            sum += next == T(0) ? T(0) : T(1);
        else if (p == 1)
            sum += next;
        else if (p == 2)
            sum += next * next;
        else
            sum += next == T(0) && p > 0 ? T(0) : T(exp(log(next) * T(p)));
    }
    const T total = sum.value();
    if (p == 0 || p == 1) return total;
    return p == 2 ? T(sqrt(total)) : T(exp(log(total) / T(p)));
}

/// Each row that indices names, once: row *= max_norm / (norm + 1e-7) if norm > max_norm. Source:
/// torch.embedding_renorm_.
diopiError_t embedding_renorm(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t inout,
                              diopiConstTensorHandle_t indices, double max_norm, double norm_type) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<int64_t> rows = index_numbers(indices, true);
        if (kind_of(view_of(inout).dtype) != Kind::kFloating)
            refuse_dtype("inout", view_of(inout).dtype, "a floating one");
        Output<T> table(inout, "inout", Output<T>::Start::kOldValues);
        if (table.rank() != 2) refuse("inout has shape " + to_string(table.shape()) + ", wanted (num, dim)");
        const int64_t size = table.size(1);
        std::set<int64_t> named;
        for (int64_t i = 0; i < rows.numel(); ++i) {
            if (rows[i] < 0 || rows[i] >= table.size(0)) refuse("indices holds " + std::to_string(rows[i]));
            named.insert(rows[i]);
        }
        for (const int64_t row : named) {
            T* x = table.data() + row * size;
            const T norm = size == 0 ? T(0) : norm_of(x, size, norm_type);
            if (!(norm > T(max_norm))) continue;
            const T scale = T(max_norm) / (norm + T(1e-7));
            for (int64_t i = 0; i < size; ++i) x[i] *= scale;
        }
        table.store();
    });
}

}  // namespace

#include "kernels/entries/index_renorm.inc"

}  // namespace diopi::reference
