/// Attention of one query to rows of keys and values, and the numbers that say which rows these are.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kernels/reference/kept_factors.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

/// 1 / sqrt(d)
template <class T>
T attention_scale(int64_t d) {
    using std::sqrt;
    return 1.0 / sqrt(T(static_cast<double>(d)));
}

/// scale * sum(q * k) over d numbers, exact ones or of T.
template <class T, class Number>
T attention_score(const Number* q, const Number* k, int64_t d, const T& scale) {
    return pairwise_sum<T>(d, [=](int64_t i) { return T(q[i]) * k[i]; }) * scale;
}

/// The errors of sums of shares, which may be kept, times values.
class KeptShares {
 public:
    KeptShares(const std::vector<double>&, int64_t) {}
    KeptShares(const std::vector<Inexact>& shares, int64_t d) : shares_(&shares), errors_(errors_of_keeping(shares)) {
        if (errors_.empty()) return;
        sums_.assign(static_cast<size_t>(d), 0);
        squares_.assign(static_cast<size_t>(d), 0);
    }
    /// Value j, of which element c is `value`.
    template <class Value>
    void add(size_t j, size_t c, const Value& value) {
        if (errors_.empty()) return;
        const double part = errors_[j] * std::fabs(exact(value));
        sums_[c] += part;
        squares_[c] += part * part;
    }
    void add_errors(double*) const {}
    void add_errors(Inexact* out) const {
        if (errors_.empty()) return;
        std::vector<double> values;
        std::ranges::transform(*shares_, std::back_inserter(values), [](const Inexact& x) { return x.value; });
        const double alike = AlikeCount().most_of(values);
        for (size_t c = 0; c < sums_.size(); ++c) {
            out[c] = {out[c].value, out[c].error + error_of_kept(sums_[c], squares_[c], alike)};
        }
    }

 private:
    const std::vector<Inexact>* shares_ = nullptr;
    std::vector<double> errors_, sums_, squares_;
};

/// out = sum of softmax(scores)_j * value(j), each value d numbers; 0 without scores.
template <class T, class Value>
void average_values(const std::vector<T>& scores, const Value& value, int64_t d, T* out) {
    double most = -std::numeric_limits<double>::infinity();
    for (const T& score : scores) most = std::max(most, exact(score));
    std::vector<T> shares;
    Sum<T> total;
    for (const T& score : scores) {
        shares.push_back(power_below(score, most));
        total += shares.back();
    }
    for (T& share : shares) share = share_of_powers(share, total.value());
    std::vector<Sum<T>> sums(static_cast<size_t>(d));
    KeptShares kept(shares, d);
    for (size_t j = 0; j < shares.size(); ++j) {
        const auto* v = value(static_cast<int64_t>(j));
        for (size_t c = 0; c < sums.size(); ++c) {
            sums[c] += shares[j] * v[c];
            kept.add(j, c, v[c]);
        }
    }
    for (size_t c = 0; c < sums.size(); ++c) out[c] = sums[c].value();
    kept.add_errors(out);
}

/// Attention of one query of d numbers to the keys and values of these rows: out = sum of softmax(scale q k_j)_j v_j.
template <class T>
void attend(const double* q, const double* k, const double* v, std::span<const int64_t> rows, int64_t pitch, int64_t d,
            T* out) {
    const T scale = attention_scale<T>(d);
    std::vector<T> scores;
    for (const int64_t row : rows) scores.push_back(attention_score(q, k + row * pitch, d, scale));
    average_values(
        scores, [=](int64_t j) { return v + rows[static_cast<size_t>(j)] * pitch; }, d, out);
}

/// Numbers of an index tensor, of int32 or int64.
inline Operand<int64_t> attention_numbers(diopiConstTensorHandle_t tensor, std::string_view argument) {
    const Dtype dtype = view_of(tensor).dtype;
    if (dtype != Dtype::int64 && dtype != Dtype::int32) refuse_dtype(argument, dtype, "int32 or int64");
    return {tensor, argument};
}

/// Refuses other dtypes than the first tensor's, which must be a floating one.
inline void require_one_floating_dtype(std::string_view argument, diopiConstTensorHandle_t first,
                                       std::initializer_list<diopiConstTensorHandle_t> others) {
    const Dtype dtype = view_of(first).dtype;
    if (kind_of(dtype) != Kind::kFloating) refuse_dtype(argument, dtype, "a floating dtype");
    for (const diopiConstTensorHandle_t other : others) {
        if (view_of(other).dtype == dtype) continue;
        refuse_dtype("a tensor beside " + std::string(argument), view_of(other).dtype, name(dtype));
    }
}

/// Refuses a mask that is not bool.
inline void require_mask(std::string_view argument, diopiConstTensorHandle_t mask) {
    if (mask != nullptr && view_of(mask).dtype != Dtype::boolean) refuse_dtype(argument, view_of(mask).dtype, "bool");
}

/// Refuses a query head without a key head of its own.
inline void require_heads(int64_t heads, int64_t key_heads, int64_t dim) {
    if (heads >= 1 && key_heads >= 1 && dim >= 1 && heads % key_heads == 0) return;
    refuse("num_heads is " + std::to_string(heads) + ", num_kv_heads " + std::to_string(key_heads) + " and dim " +
           std::to_string(dim) + ", wanted positive numbers, the first a multiple of the second");
}

/// Refuses sequences that do not lie apart from each other in [0, count), or are longer than `longest`.
inline void require_sequences(const Operand<int64_t>& starts, const Operand<int64_t>& lengths, int64_t longest,
                              int64_t count) {
    require_shape("b_seq_len", lengths.shape(), starts.shape());
    std::vector<bool> taken(static_cast<size_t>(count), false);
    for (int64_t b = 0; b < starts.numel(); ++b) {
        const bool fits = lengths[b] >= 0 && lengths[b] <= longest && lengths[b] <= count && starts[b] >= 0 &&
                          starts[b] <= count - lengths[b];
        if (!fits) {
            refuse("sequence " + std::to_string(b) + " starts at " + std::to_string(starts[b]) + " with length " +
                   std::to_string(lengths[b]) + ", wanted at most max_input_len " + std::to_string(longest) +
                   " within " + std::to_string(count));
        }
        for (int64_t i = starts[b]; i < starts[b] + lengths[b]; ++i) {
            if (taken[static_cast<size_t>(i)]) refuse("sequence " + std::to_string(b) + " overlaps another one");
            taken[static_cast<size_t>(i)] = true;
        }
    }
}

}  // namespace diopi::reference
