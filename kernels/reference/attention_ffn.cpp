/// The gated feed-forward layer, and the product of matrices whose parts are on several devices.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/attention_products.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

template <class T>
T silu(const T& x) {
    using std::exp;
    return x / (1.0 + exp(-x));
}

/// inoutput = (silu(inoutput weight1) * (inoutput weight3)) weight2. It needs no workspace.
diopiError_t silu_ffn(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t inoutput,
                      diopiConstTensorHandle_t weight1, diopiConstTensorHandle_t weight2,
                      diopiConstTensorHandle_t weight3, diopiTensorHandle_t, int64_t* workspace_size, int64_t) {
    if (*workspace_size < 0) {
        *workspace_size = 0;
        return diopiSuccess;
    }
    return inexact_kernel(ctx, [&]<class T>(T) {
        Output<T> x(inoutput, "inoutput", Output<T>::Start::kOldValues);
        const Operand<double> gate(weight1, "weight1"), down(weight2, "weight2"), up(weight3, "weight3");
        if (x.rank() != 2) refuse("inoutput has shape " + to_string(x.shape()) + ", wanted (tokens, hidden)");
        if (gate.rank() != 2) refuse("weight1 has shape " + to_string(gate.shape()) + ", wanted (hidden, inter)");
        const int64_t tokens = x.size(0), hidden = x.size(1), inter = gate.size(1);
        require_shape("weight1", gate.shape(), Shape{hidden, inter});
        require_shape("weight3", up.shape(), Shape{hidden, inter});
        require_shape("weight2", down.shape(), Shape{inter, hidden});
        const auto numel = static_cast<size_t>(tokens * inter);
        std::vector<T> gates(numel, T(0)), ups(numel, T(0)), gated;
        std::vector<double> errors;  // of keeping the gated numbers
        add_product(tokens, inter, hidden, x.data(), false, {gate.data(), inter}, gates.data());
        add_product(tokens, inter, hidden, x.data(), false, {up.data(), inter}, ups.data());
        for (size_t i = 0; i < numel; ++i) {
            gated.push_back(silu(gates[i]) * ups[i]);
            if (!rounds_what_it_keeps()) continue;
            const T kept = maybe_kept(maybe_kept(silu(maybe_kept(gates[i]))) * maybe_kept(ups[i]));
            errors.push_back(error_of_keeping(gated.back(), kept));
        }
        std::fill_n(x.data(), tokens * hidden, T(0));
        add_product(tokens, hidden, inter, gated.data(), false, {down.data(), hidden}, x.data(), errors);
        x.store();
    });
}

/// out = x1 x2 + bias: the only rank's part is the sum over all ranks.
diopiError_t matmul_all_reduce(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t x1, diopiConstTensorHandle_t x2, diopiConstTensorHandle_t bias,
                               const char*, const char* reduce_op, int64_t, int64_t) {
    return kernel([&] {
        const std::string_view word = reduce_op == nullptr ? "null" : reduce_op;
        if (word != "sum") refuse("reduce_op is '" + std::string(word) + "', wanted 'sum'");
        const Operand<double> a(x1, "x1");
        const Operand<double> b(x2, "x2");
        const Operand<double> added(bias, "bias?");
        Output<double> y(out, "out");
        if (a.rank() != 2 || b.rank() != 2 || a.size(1) != b.size(0)) {
            refuse("x1 has shape " + to_string(a.shape()) + " and x2 " + to_string(b.shape()) +
                   ", wanted (m, k) and (k, n)");
        }
        const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
        require_shape("out", y.shape(), Shape{m, n});
        if (added) require_shape("bias", added.shape(), Shape{n});
        for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
                const auto term = [&](int64_t l) { return a[i * k + l] * b[l * n + j]; };
                y[i * n + j] = pairwise_sum<double>(k, term) + (added ? added[j] : 0.0);
            }
        }
        y.store();
    });
}

}  // namespace

#include "kernels/entries/attention_ffn.inc"

}  // namespace diopi::reference
