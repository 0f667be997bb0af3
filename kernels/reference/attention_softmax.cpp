/// Softmax of scaled and masked attention scores, and its gradient.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/inexact.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// The score of a hidden key.
constexpr double kHiddenScore = -10'000;

/// The scores (batch, heads, seq_q, seq_k), and which of their keys are hidden: by the mask, or all that are behind
/// the query.
class Hidden {
 public:
    Hidden(diopiConstTensorHandle_t mask, ShapeView scores, bool behind)
        : mask_(mask, "mask"), keys_(scores.back()), queries_(scores[2]), behind_(behind) {
        if (view_of(mask).dtype != Dtype::boolean) refuse_dtype("mask", view_of(mask).dtype, "bool");
        const Shape strides = broadcast_strides("mask", mask_.shape(), scores);
        const Shape dense = contiguous_strides(scores);
        const Rows<2> rows(scores, {ShapeView(dense), ShapeView(strides)});
        hidden_.resize(static_cast<size_t>(numel(scores)));
        rows.for_each([&](const Rows<2>::Offsets& at) {
            for (int64_t i = 0; i < rows.length(); ++i) {
                hidden_[static_cast<size_t>(at[0] + i * rows.step()[0])] = mask_[at[1] + i * rows.step()[1]] != 0;
            }
        });
    }

    /// Key j of row r.
    [[nodiscard]] bool operator()(int64_t r, int64_t j) const {
        return behind_ ? j > r % queries_ : hidden_[static_cast<size_t>(r * keys_ + j)];
    }

 private:
    Operand<int64_t> mask_;
    std::vector<bool> hidden_;
    int64_t keys_, queries_;
    bool behind_;
};

void require_scores(ShapeView shape, std::string_view argument) {
    if (shape.size() == 4) return;
    refuse(std::string(argument) + " has shape " + to_string(shape) + ", wanted (batch, heads, seq_q, seq_k)");
}

/// output = softmax(score) over the last dimension, score = -10000 where the key is hidden, else scale * input. A row
/// whose keys are all hidden has the same share of each.
diopiError_t scaled_masked_softmax(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t output,
                                   diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask, double scale,
                                   bool fixed_triu_mask) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        Output<T> y(output, "output");
        require_scores(x.shape(), "input");
        require_shape("output", y.shape(), x.shape());
        const Hidden hidden(mask, x.shape(), fixed_triu_mask);
        const int64_t keys = x.size(3), rows = keys == 0 ? 0 : x.numel() / keys;
        for (int64_t r = 0; r < rows; ++r) {
            T* row = y.data() + r * keys;
            for (int64_t j = 0; j < keys; ++j) row[j] = hidden(r, j) ? T(kHiddenScore) : scale * x[r * keys + j];
            T most = row[0];
            for (int64_t j = 1; j < keys; ++j) most = row[j] > most ? row[j] : most;
            for (int64_t j = 0; j < keys; ++j) row[j] = power_below(row[j], exact(most));
            const T sum = pairwise_sum<T>(keys, [&](int64_t j) { return row[j]; });
            for (int64_t j = 0; j < keys; ++j) row[j] = share_of_powers(row[j], sum);
        }
        y.store();
    });
}

/// grad_input = scale * output * (grad_output - sum(grad_output * output)); 0 where the key is hidden.
diopiError_t scaled_masked_softmax_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output,
                                            diopiConstTensorHandle_t mask, double scale, bool fixed_triu_mask) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        const Operand<T> y(output, "output");
        WriteOnly<T> gx(grad_input, "grad_input");
        require_scores(y.shape(), "output");
        require_shape("grad_output", g.shape(), y.shape());
        require_shape("grad_input", gx.shape(), y.shape());
        const Hidden hidden(mask, y.shape(), fixed_triu_mask);
        const int64_t keys = y.size(3), rows = keys == 0 ? 0 : y.numel() / keys;
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t first = r * keys;
            const T sum = pairwise_sum<T>(keys, [&](int64_t j) { return g[first + j] * y[first + j]; });
            for (int64_t j = 0; j < keys; ++j) {
                gx[first + j] = hidden(r, j) ? T(0) : scale * (y[first + j] * (g[first + j] - sum));
            }
        }
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/attention_softmax.inc"

}  // namespace diopi::reference
