/// Attention of whole sequences, and its gradients: the formulas of blocks of queries.
#include "kernels/entries/attention_flash.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/attention_products.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/random_sequence.hpp"

namespace diopi::reference {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kQueries = 64;

/// The sizes of a tensor of queries, keys or values.
struct Sizes {
    int64_t batch = 1, length = 0, heads = 0, dim = 0;
};

Sizes sizes_of(const View& x, std::string_view name, std::string_view layout, int64_t heads, int64_t dim) {
    const auto wrong = [&] {
        refuse(std::string(name) + " has shape " + to_string(x.shape) + ", wanted " + std::string(layout));
    };
    if (x.shape.size() != layout.size()) wrong();
    const auto size = [&](size_t at) { return x.shape[at]; };
    const auto split = [&](int64_t all) {
        if (heads < 1 && dim < 1) wrong();
        const int64_t one = dim > 0 ? dim : all / heads;
        if (one < 1 || all % one != 0) wrong();
        return std::pair(all / one, one);
    };
    if (layout == "TND") return {1, size(0), size(1), size(2)};
    if (layout == "BSND") return {size(0), size(1), size(2), size(3)};
    if (layout == "BNSD") return {size(0), size(2), size(1), size(3)};
    const auto [own_heads, own_dim] = split(size(2));
    if (layout == "BSH") return {size(0), size(1), own_heads, own_dim};
    return {size(1), size(0), own_heads, own_dim};
}

/// The rows of one sequence: its number, the first row among concatenated ones, and how many.
struct Span {
    int64_t batch = 0, first = 0, rows = 0;
};

struct Problem {
    std::string_view layout;
    Sizes q, k;
    std::vector<Span> of_q, of_k;
    int64_t max_q = 0, max_k = 0;
    double scale = 0, p_dropout = 0;
    int64_t left = -1, right = -1;
    Operand<double> slopes;
    Operand<int64_t> mask;
    uint64_t seed = 0, offset = 0;

    explicit Problem(const AttentionArguments& a)
        : layout(a.layout == nullptr ? "" : a.layout),
          scale(a.scale),
          p_dropout(a.p_dropout),
          left(a.window_left),
          right(a.is_causal ? 0 : a.window_right),
          slopes(a.alibi_slopes, "alibi_slopes?"),
          mask(a.attention_mask, "attention_mask?") {
        if (layout != "TND" && layout != "BSND" && layout != "BNSD" && layout != "BSH" && layout != "SBH") {
            refuse("input_layout is " + std::string(layout) + ", wanted BSND, BNSD, BSH or SBH");
        }
        q = sizes_of(view_of(a.q), "q", layout, a.head_num.value_or(0), 0);
        k = sizes_of(view_of(a.k), "k", layout, 0, q.dim);
        require_shape("v", view_of(a.v).shape, view_of(a.k).shape);
        if (q.batch != k.batch || q.dim != k.dim || q.dim < 1) refuse("q and k differ in the batch or the head size");
        if (k.heads < 1 || q.heads < 1 || q.heads % k.heads != 0)
            refuse("the heads of q are no multiple of those of k");
        if (a.head_num && *a.head_num != q.heads) refuse("head_num is not the number of heads of q");
        if (!(p_dropout >= 0 && p_dropout < 1)) refuse("the dropout is not in [0, 1)");
        if (a.wants_debug_mask) refuse("return_debug_mask is true: debug_attn_mask has no description");
        take_sequences(a);
        if (slopes && !same_shape(slopes.shape(), Shape{q.heads})) {
            require_shape("alibi_slopes", slopes.shape(), Shape{batch(), q.heads});
        }
        if (mask) require_shape("attention_mask", mask.shape(), Shape{max_q, max_k});
    }

    [[nodiscard]] int64_t batch() const { return static_cast<int64_t>(of_q.size()); }
    /// The place of the first element of a row.
    [[nodiscard]] int64_t at(const Sizes& x, const Span& s, int64_t i, int64_t head) const {
        if (layout == "TND") return ((s.first + i) * x.heads + head) * x.dim;
        if (layout == "BNSD") return ((s.batch * x.heads + head) * x.length + i) * x.dim;
        if (layout == "SBH") return ((i * x.batch + s.batch) * x.heads + head) * x.dim;
        return ((s.batch * x.length + i) * x.heads + head) * x.dim;
    }
    /// The place of a row in softmax_lse.
    [[nodiscard]] int64_t row(const Span& s, int64_t head, int64_t i) const {
        return (s.batch * q.heads + head) * max_q + i;
    }
    /// Whether query i sees key j: they are `j - p` apart, p = i + k_rows - q_rows.
    [[nodiscard]] bool sees(size_t b, int64_t i, int64_t j) const {
        const int64_t apart = j - (i + of_k[b].rows - of_q[b].rows);
        if ((left >= 0 && -apart > left) || (right >= 0 && apart > right)) return false;
        return !mask || mask[i * max_k + j] == 0;
    }
    /// The number of keys before the first that the windows hide from all queries before that one.
    [[nodiscard]] int64_t keys_before(size_t b, int64_t query) const {
        const int64_t rows = of_k[b].rows;
        return right < 0 ? rows : std::clamp<int64_t>(query + rows - of_q[b].rows + right, 0, rows);
    }
    /// slope * |p - j|
    [[nodiscard]] double distance(size_t b, int64_t head, int64_t i, int64_t j) const {
        if (!slopes) return 0;
        const int64_t apart = j - (i + of_k[b].rows - of_q[b].rows);
        const int64_t place = slopes.rank() == 2 ? static_cast<int64_t>(b) * q.heads + head : head;
        return slopes[place] * std::fabs(static_cast<double>(apart));
    }
    /// 1 / (1 - p) for the keys of a query that are not dropped, 0 for the others.
    [[nodiscard]] std::vector<double> kept(size_t b, int64_t head, int64_t i) const {
        std::vector<uint32_t> words(static_cast<size_t>(max_k));
        std::vector<double> factors(words.size(), 1);
        if (p_dropout == 0) return factors;
        word_block(seed, offset, row(of_q[b], head, i) * max_k, std::span(words));
        for (size_t j = 0; j < words.size(); ++j) {
            factors[j] = static_cast<double>(unit_interval(words[j])) < 1 - p_dropout ? 1 / (1 - p_dropout) : 0;
        }
        return factors;
    }

 private:
    void take_sequences(const AttentionArguments& a) {
        if (layout != "TND") {
            for (int64_t b = 0; b < q.batch; ++b) of_q.push_back({b, 0, q.length}), of_k.push_back({b, 0, k.length});
            max_q = q.length, max_k = k.length;
            return;
        }
        of_q = concatenated("cum_seq_q", a.cum_seq_q, a.ends_q, a.max_q, q.length);
        of_k = concatenated("cum_seq_k", a.cum_seq_k, a.ends_k, a.max_k, k.length);
        if (of_q.size() != of_k.size()) refuse("q and k have different numbers of sequences");
        max_q = a.max_q, max_k = a.max_k;
    }
    static std::vector<Span> concatenated(std::string_view name, diopiConstTensorHandle_t tensor, diopiSize_t list,
                                          int64_t most, int64_t total) {
        std::vector<int64_t> ends;
        if (tensor != nullptr) {
            if (kind_of(view_of(tensor).dtype) != Kind::kInteger) refuse_dtype(name, view_of(tensor).dtype, "int32");
            const Operand<int64_t> values(tensor, name);
            ends.assign(values.data(), values.data() + values.numel());
        } else {
            ends.assign(list.data, list.data + list.len);
            ends.insert(ends.begin(), 0);
        }
        std::vector<Span> spans;
        for (size_t b = 0; b + 1 < ends.size(); ++b) {
            if (ends[b + 1] < ends[b] || ends[b + 1] - ends[b] > most) {
                refuse(std::string(name) + " has a sequence of " + std::to_string(ends[b + 1] - ends[b]) +
                       " rows, wanted at most " + std::to_string(most));
            }
            spans.push_back({static_cast<int64_t>(b), ends[b], ends[b + 1] - ends[b]});
        }
        if (spans.empty() || ends.front() != 0 || ends.back() != total) {
            refuse(std::string(name) + " does not go from 0 to " + std::to_string(total));
        }
        return spans;
    }
};

/// The rows of a head of a sequence, one after the other.
std::vector<double> rows_of(const Problem& a, const Sizes& x, const double* data, const Span& s, int64_t head) {
    std::vector<double> rows;
    for (int64_t i = 0; i < s.rows; ++i) {
        const double* row = data + a.at(x, s, i, head);
        rows.insert(rows.end(), row, row + x.dim);
    }
    return rows;
}

template <class T>
void put_rows(const Problem& a, const Sizes& x, const std::vector<T>& rows, const Span& s, int64_t head, T* data) {
    for (int64_t i = 0; i < s.rows; ++i) std::copy_n(rows.data() + i * x.dim, x.dim, data + a.at(x, s, i, head));
}

/// Numbers of some queries of a head and the keys that the windows may leave to the last of them.
template <class T>
struct Block {
    const Problem& a;
    size_t b;
    int64_t head, first, queries, keys;
    std::vector<T> x;

    Block(const Problem& problem, size_t sequence, int64_t of_head, int64_t first_query)
        : a(problem),
          b(sequence),
          head(of_head),
          first(first_query),
          queries(std::min(kQueries, problem.of_q[b].rows - first)),
          keys(problem.keys_before(sequence, first + queries)),
          x(static_cast<size_t>(queries * keys), T(0)) {}

    [[nodiscard]] T& at(int64_t i, int64_t j) { return x[static_cast<size_t>(i * keys + j)]; }
    [[nodiscard]] bool sees(int64_t i, int64_t j) const { return a.sees(b, first + i, j); }
    template <class Visit>
    void for_each_seen(const Visit& visit) {
        for (int64_t i = 0; i < queries; ++i) {
            for (int64_t j = 0; j < keys; ++j) {
                if (sees(i, j)) visit(i, j);
            }
        }
    }
    /// x = rows of queries times rows of keys
    void multiply_rows(const double* of_queries, const std::vector<double>& of_keys) {
        const std::vector<T> rows(of_queries, of_queries + queries * a.q.dim);
        add_product(queries, keys, a.q.dim, rows.data(), false, {of_keys.data(), a.q.dim, true}, x.data());
    }
    /// sums += x, which may be kept, * rows of keys. A hidden key counts for nothing, even if its row is not finite.
    void add_rows_of_keys(const std::vector<double>& rows, T* sums) {
        const int64_t d = a.q.dim;
        if (std::all_of(rows.data(), rows.data() + keys * d, [](double v) { return std::isfinite(v); })) {
            return add_product(queries, d, keys, x.data(), false, {rows.data(), d}, sums, errors_of_keeping(x));
        }
        for_each_seen([&](int64_t i, int64_t j) {
            const T kept = maybe_kept(at(i, j));
            for (int64_t c = 0; c < d; ++c) sums[i * d + c] += kept * T(rows[static_cast<size_t>(j * d + c)]);
        });
    }
    /// sums += the transpose of x, which may be kept, * rows of queries
    void add_rows_of_queries(const double* rows, T* sums) {
        const int64_t d = a.q.dim;
        if (std::all_of(rows, rows + queries * d, [](double v) { return std::isfinite(v); })) {
            return add_product(keys, d, queries, x.data(), true, {rows, d}, sums, errors_of_keeping(x));
        }
        for_each_seen([&](int64_t i, int64_t j) {
            const T kept = maybe_kept(at(i, j));
            for (int64_t c = 0; c < d; ++c) sums[j * d + c] += kept * T(rows[i * d + c]);
        });
    }
};

/// A number that was rounded to the working format when it was saved.
double stored(double x) { return x; }
Inexact stored(const Inexact& x) { return std::isfinite(x.value) ? Inexact::rounded(x.value, x.error) : x; }

/// s_ij = scale * q_i k_j - slope * |p_i - j| of the keys that are seen, -infinity of the others.
template <class T>
Block<T> scores(const Problem& a, size_t b, int64_t head, int64_t first, const double* q,
                const std::vector<double>& keys) {
    Block<T> s(a, b, head, first);
    s.multiply_rows(q, keys);
    for (int64_t i = 0; i < s.queries; ++i) {
        for (int64_t j = 0; j < s.keys; ++j) {
            T& score = s.at(i, j);
            if (!s.sees(i, j)) {
                score = -kInfinity;
                continue;
            }
            score = score * T(a.scale);
            if (a.slopes) score = score - T(a.distance(b, head, first + i, j));
        }
    }
    return s;
}

/// exp(s_ij - m_i), m_i the largest of the row, or 0 where all are -infinity; the sum l_i of each row.
template <class T>
struct Powers {
    std::vector<T> sums;
    std::vector<T> uncapped;  ///< the sums, with the errors of all exponents
    std::vector<double> largest;

    explicit Powers(Block<T>& s) {
        using std::exp, std::isnan;
        for (int64_t i = 0; i < s.queries; ++i) {
            T most(-kInfinity);
            for (int64_t j = 0; j < s.keys && !isnan(most); ++j) {
                if (isnan(s.at(i, j)) || s.at(i, j) > most) most = s.at(i, j);
            }
            const T base = most == T(-kInfinity) ? 0.0 : exact(most);
            Sum<T> sum, uncapped_sum;
            for (int64_t j = 0; j < s.keys; ++j) {
                const T score = s.at(i, j), power = s.sees(i, j) ? exp(score - base) : T(0);
                s.at(i, j) = s.sees(i, j) ? capped_power(power, score) : T(0);
                sum += s.at(i, j);
                uncapped_sum += power;
            }
            sums.push_back(sum.value());
            uncapped.push_back(uncapped_sum.value());
            largest.push_back(exact(base));
        }
    }
    /// The logarithm of the sum of exp(s_ij): -infinity where there is no key.
    [[nodiscard]] T lse(int64_t i) const {
        const T& sum = uncapped[static_cast<size_t>(i)];
        return sum == T(0) ? T(-kInfinity) : T(largest[static_cast<size_t>(i)]) + log_of_powers(sum);
    }
};

/// Calls visit(sequence, head, first query) for each block of queries.
template <class Visit>
void for_each_block(const Problem& a, int64_t head, size_t b, const Visit& visit) {
    for (int64_t first = 0; first < a.of_q[b].rows; first += kQueries) visit(b, head, first);
}

/// A tensor of two numbers, by which the backward function drops the same elements.
void keep_state(diopiContextHandle_t ctx, diopiTensorHandle_t* kept, const Problem& a) {
    if (kept == nullptr) return;
    *kept = nullptr;
    if (a.p_dropout == 0) return;
    const int64_t two = 2;
    const diopiSize_t size{&two, 1};
    if (diopiRequireTensor(ctx, kept, &size, nullptr, diopi_dtype_int64, diopi_device) != diopiSuccess) {
        refuse("no memory for dropout_mask");
    }
    Output<int64_t> state(*kept, "dropout_mask");
    state[0] = static_cast<int64_t>(a.seed), state[1] = static_cast<int64_t>(a.offset);
    state.store();
}

/// p_ij = exp(s_ij) / sum_j exp(s_ij), out_i = sum_j p_ij f_ij v_j, f_ij = 0 with probability p_dropout, else
/// 1 / (1 - p_dropout).
diopiError_t attend(diopiContextHandle_t ctx, const AttentionForward& c) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        Problem a(c.of);
        const Operand<double> q(c.of.q, "q"), k(c.of.k, "k"), v(c.of.v, "v");
        Output<T> out(c.out, "out"), lse(c.softmax_lse, "softmax_lse?");
        require_shape("out", out.shape(), q.shape());
        if (lse) require_shape("softmax_lse", lse.shape(), Shape{a.batch(), a.q.heads, a.max_q});
        std::optional<Sequence> from;
        if (a.p_dropout > 0) from.emplace(c.of.gen), a.seed = from->seed, a.offset = from->offset;
        for (int64_t r = 0; r < lse.numel(); ++r) lse[r] = T(-kInfinity);
        const int64_t d = a.q.dim, group = a.q.heads / a.k.heads;
        for (size_t b = 0; b < a.of_q.size(); ++b) {
            for (int64_t head = 0; head < a.q.heads; ++head) {
                const auto queries = rows_of(a, a.q, q.data(), a.of_q[b], head);
                const auto keys = rows_of(a, a.k, k.data(), a.of_k[b], head / group);
                const auto values = rows_of(a, a.k, v.data(), a.of_k[b], head / group);
                std::vector<T> result(queries.size(), T(0));
                for_each_block(a, head, b, [&](size_t, int64_t, int64_t first) {
                    Block<T> p = scores<T>(a, b, head, first, queries.data() + first * d, keys);
                    const Powers<T> powers(p);
                    for (int64_t i = 0; i < p.queries; ++i) {
                        const auto factors = a.kept(b, head, first + i);
                        const T& sum = powers.sums[static_cast<size_t>(i)];
                        for (int64_t j = 0; j < p.keys && !(sum == T(0)); ++j) {
                            p.at(i, j) = share_of_powers(p.at(i, j), sum) * T(factors[static_cast<size_t>(j)]);
                        }
                        if (lse) lse[a.row(a.of_q[b], head, first + i)] = powers.lse(i);
                    }
                    p.add_rows_of_keys(values, result.data() + first * d);
                    for (int64_t i = 0; i < p.queries; ++i) {
                        if (powers.sums[static_cast<size_t>(i)] == T(0)) {
                            std::fill_n(result.begin() + (first + i) * d, d, T(0));
                        }
                    }
                });
                put_rows(a, a.q, result, a.of_q[b], head, out.data());
            }
        }
        out.store();
        lse.store();
        keep_state(ctx, c.kept.dropout_mask, a);
        for (diopiTensorHandle_t* other : {c.kept.softmax_max, c.kept.softmax_sum, c.kept.softmax_out}) {
            if (other != nullptr) *other = nullptr;
        }
        if (from) from->advance(a.batch() * a.q.heads * a.max_q * a.max_k);
    });
}

/// With D_i = g_i out_i: grad_v_j = sum_i p_ij f_ij g_i, ds_ij = p_ij (f_ij g_i v_j - D_i) scale,
/// grad_q_i = sum_j ds_ij k_j, grad_k_j = sum_i ds_ij q_i. p_ij = exp(s_ij - lse_i), and
/// the reference computes lse_i again: a saved one of huge scores is too coarse for shares that add up to 1.
diopiError_t attend_backward(diopiContextHandle_t ctx, const AttentionBackward& c) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using std::exp;
        Problem a(c.of);
        const Operand<double> q(c.of.q, "q"), k(c.of.k, "k"), v(c.of.v, "v");
        const Operand<double> grad(c.grad_out, "grad_out"), out(c.out, "out"), lse(c.softmax_lse, "softmax_lse?");
        Output<T> gq(c.grad_q, "grad_q"), gk(c.grad_k, "grad_k"), gv(c.grad_v, "grad_v");
        for (const ShapeView shape : {grad.shape(), out.shape(), gq.shape()}) {
            require_shape("the gradient of q or out", shape, q.shape());
        }
        require_shape("grad_k", gk.shape(), k.shape());
        require_shape("grad_v", gv.shape(), k.shape());
        if (lse) require_shape("softmax_lse", lse.shape(), Shape{a.batch(), a.q.heads, a.max_q});
        const Operand<int64_t> state(c.kept.dropout_mask, "dropout_mask?");
        if (a.p_dropout > 0 && state) {
            a.seed = static_cast<uint64_t>(state[0]), a.offset = static_cast<uint64_t>(state[1]);
        } else if (a.p_dropout > 0) {
            const Sequence from(c.of.gen);
            a.seed = from.seed, a.offset = from.offset;
        }
        const int64_t d = a.q.dim, group = a.q.heads / a.k.heads;
        for (size_t b = 0; b < a.of_q.size(); ++b) {
            for (int64_t shared = 0; shared < a.k.heads; ++shared) {
                const auto keys = rows_of(a, a.k, k.data(), a.of_k[b], shared);
                const auto values = rows_of(a, a.k, v.data(), a.of_k[b], shared);
                std::vector<T> of_k(keys.size(), T(0)), of_v(keys.size(), T(0));
                for (int64_t head = shared * group; head < (shared + 1) * group; ++head) {
                    const auto queries = rows_of(a, a.q, q.data(), a.of_q[b], head);
                    const auto grads = rows_of(a, a.q, grad.data(), a.of_q[b], head);
                    const auto outs = rows_of(a, a.q, out.data(), a.of_q[b], head);
                    std::vector<T> of_q(queries.size(), T(0));
                    for_each_block(a, head, b, [&](size_t, int64_t, int64_t first) {
                        Block<T> p = scores<T>(a, b, head, first, queries.data() + first * d, keys);
                        Block<T> ds(a, b, head, first);
                        ds.multiply_rows(grads.data() + first * d, values);
                        Block<T> again = p;
                        const Powers<T> powers(again);
                        for (int64_t i = 0; i < p.queries; ++i) {
                            const T base = lse ? stored(powers.lse(i)) : powers.lse(i);
                            const auto factors = a.kept(b, head, first + i);
                            Sum<T> product;
                            for (int64_t x = (first + i) * d; x < (first + i + 1) * d; ++x) {
                                product += T(grads[static_cast<size_t>(x)]) * T(outs[static_cast<size_t>(x)]);
                            }
                            const T mean = product.value();
                            for (int64_t j = 0; j < p.keys; ++j) {
                                const bool counts = p.sees(i, j) && !(base == T(-kInfinity));
                                const T share = counts ? exp(p.at(i, j) - base) : T(0);
                                const T factor(factors[static_cast<size_t>(j)]);
                                ds.at(i, j) = counts ? share * (ds.at(i, j) * factor - mean) * T(a.scale) : T(0);
                                p.at(i, j) = share * factor;
                            }
                        }
                        p.add_rows_of_queries(grads.data() + first * d, of_v.data());
                        ds.add_rows_of_keys(keys, of_q.data() + first * d);
                        ds.add_rows_of_queries(queries.data() + first * d, of_k.data());
                    });
                    put_rows(a, a.q, of_q, a.of_q[b], head, gq.data());
                }
                put_rows(a, a.k, of_k, a.of_k[b], shared, gk.data());
                put_rows(a, a.k, of_v, a.of_k[b], shared, gv.data());
            }
        }
        gq.store();
        gk.store();
        gv.store();
    });
}

}  // namespace

#include "kernels/entries/attention_flash.inc"

}  // namespace diopi::reference
