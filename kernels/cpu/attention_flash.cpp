/// Attention in blocks of keys, whose scores are never all in memory: a row keeps its largest score, the sum of its
/// powers and its weighted values, which are rescaled when a larger score comes. The backward pass computes the shares
/// of a block again, from softmax_lse. Source: FlashAttention-2, Dao 2023.
#include "kernels/cpu/attention_flash.hpp"

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/refusal.hpp"
#include "kernels/operands/shape_order.hpp"

namespace diopi::cpu {

namespace {

using operands::Attention;
using operands::SequencePair;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What both passes read beside the rows of queries, keys and values.
template <class T>
struct Extras {
    const T* slopes;

    Extras(Staging& staging, const Attention& a) : slopes(staging.in<T>(a.alibi_slopes)) {}
    [[nodiscard]] T slope(const Attention& a, int64_t batch, int64_t head) const {
        if (slopes == nullptr) return 0;
        return slopes[a.has_slopes_of_batch ? batch * a.heads + head : head];
    }
};

/// Memory of one thread, of those that a loop may use.
template <class T>
struct Rooms {
    T* data;
    int64_t size;

    Rooms(Staging& staging, int64_t numbers)
        : data(staging.buffer<T>(omp_get_max_threads() * numbers)), size(numbers) {}
    [[nodiscard]] T* own() const { return data + omp_get_thread_num() * size; }
};

// ---- forward ----

template <class E, class T>
struct Forward {
    const Attention& a;
    const Extras<T>& extras;
    const E *q, *k, *v;
    E* out;
    double *largest, *sums;  ///< of each row: the largest score, and the sum of exp(score - largest)

    /// Numbers in the memory of a thread.
    [[nodiscard]] static int64_t room(const Attention& a) {
        return kQueryBlock * (kPitch + 2 * a.dim) + kKeyBlock * 2 * a.dim;
    }

    void block(const SequencePair& s, int64_t head, int64_t first, T* room) const {
        const int64_t d = a.dim, queries = std::min(kQueryBlock, s.q_rows - first);
        T *scores = room, *sum = scores + kQueryBlock * kPitch, *of_q = sum + kQueryBlock * d;
        T *of_k = of_q + kQueryBlock * d, *of_v = of_k + kKeyBlock * d;
        const int64_t q_at = s.q_start + head * a.q_strides.head + first * a.q_strides.position;
        const int64_t k_at = s.k_start + head / a.group() * a.k_strides.head;
        const auto rows = RowView<T>::of(q + q_at, a.q_strides.position, queries, d, of_q);
        double* most = largest + a.row(s.batch, head, first);
        double* total = sums + a.row(s.batch, head, first);
        std::fill_n(sum, queries * d, T{0});
        std::fill_n(most, queries, -kInfinity);
        std::fill_n(total, queries, 0.0);
        const int64_t end = a.keys(s, first + queries - 1).last;
        for (int64_t at = a.keys(s, first).first; at < end; at += kKeyBlock) {
            const int64_t keys = std::min(kKeyBlock, end - at), place = k_at + at * a.k_strides.position;
            const AttentionBlock<T> block{a, s, head, first, queries, at, keys};
            const auto key_rows = RowView<T>::of(k + place, a.k_strides.position, keys, d, of_k);
            const auto values = RowView<T>::of(v + place, a.k_strides.position, keys, d, of_v);
            gemm<T>(queries, keys, d, rows.matrix(), key_rows.transposed(), scores, kPitch, false);
            for (int64_t i = 0; i < queries; ++i) add_powers(block, i, scores + i * kPitch, most[i], total[i], sum);
            block.add_keys(scores, values, sum, d);
        }
        for (int64_t i = 0; i < queries; ++i) {
            for (int64_t c = 0; c < d; ++c) {
                sum[i * d + c] = total[i] == 0 ? T{0} : sum[i * d + c] / static_cast<T>(total[i]);
            }
        }
        store_rows(sum, queries, d, out + q_at, a.q_strides.position);
    }

 private:
    /// Turns the products of row i into powers, and adds them to the row's sum; a larger score rescales what the row
    /// has so far.
    void add_powers(const AttentionBlock<T>& block, int64_t i, T* row, double& most, double& total, T* sum) const {
        const auto& kernels = std::get<AttentionRowKernels<T>>(attention_row_table());
        const T largest_here = block.score_row(i, row, extras.slope(a, block.s.batch, block.head));
        const double before = most;
        most = std::max(most, static_cast<double>(largest_here));
        // Without a score above -infinity any base is right, as the powers are 0.
        const double base = most == -kInfinity ? 0 : most;
        const operands::KeyRange keys = block.range(i);
        const double added = kernels.powers(row + keys.first, keys.last - keys.first, static_cast<T>(base));
        block.clear_hidden(i, row);
        const double factor = std::exp(before - base);
        total = total * factor + added;
        if (factor != 1) {
            for (int64_t c = 0; c < a.dim; ++c) sum[i * a.dim + c] *= static_cast<T>(factor);
        }
        if (DropoutRow<T> dropout(a); dropout) dropout.multiply(block, i, row);
    }
};

/// Makes a tensor of one number for each row, if the caller has a place for it.
diopiError_t keep_rows(diopiContextHandle_t ctx, diopiTensorHandle_t* kept, const Attention& a, Dtype dtype,
                       const double* numbers) {
    if (kept == nullptr) return diopiSuccess;
    const Shape shape = {a.batch, a.heads, a.max_q};
    const diopiError_t error = make_output(ctx, shape, dtype, {}, *kept);
    if (error != diopiSuccess || a.rows() == 0) return error;
    View wide = view(*kept);
    wide.dtype = Dtype::float64;
    wide.data = reinterpret_cast<std::byte*>(const_cast<double*>(numbers));
    copy(wide, view(*kept));
    return diopiSuccess;
}

/// Makes a tensor of the two numbers by which the backward pass drops the same elements.
diopiError_t keep_state(diopiContextHandle_t ctx, diopiTensorHandle_t* kept, const Attention& a) {
    if (kept == nullptr) return diopiSuccess;
    *kept = nullptr;
    if (a.p_dropout == 0) return diopiSuccess;
    const Shape shape = {2};
    const diopiError_t error = make_output(ctx, shape, Dtype::int64, {}, *kept);
    if (error != diopiSuccess) return error;
    auto* state = view(*kept).as<uint64_t>();
    state[0] = a.drawn.seed, state[1] = a.drawn.offset;
    return diopiSuccess;
}

/// Queries and keys are the work of a block; its heads come first, so that threads get equal parts.
template <class Visit>
void for_each_query_block(const Attention& a, const Visit& visit) {
    int64_t blocks = 0;
    std::vector<std::pair<const SequencePair*, int64_t>> all;
    for (const SequencePair& s : a.sequences) {
        for (int64_t first = 0; first < s.q_rows; first += kQueryBlock) all.emplace_back(&s, first);
    }
    blocks = std::ssize(all);
    parallel_for(a.heads * blocks, kQueryBlock * a.max_k, [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) {
            const auto& [s, first] = all[static_cast<size_t>(item % blocks)];
            visit(*s, item / blocks, first);
        }
    });
}

template <class E, class T>
void run_forward(const Attention& a, const Extras<T>& extras, const E* q, const E* k, const E* v, E* out,
                 double* largest, double* sums, const Rooms<T>& rooms) {
    const Forward<E, T> forward{a, extras, q, k, v, out, largest, sums};
    std::fill_n(largest, a.rows(), -kInfinity);
    std::fill_n(sums, a.rows(), 0.0);
    for_each_query_block(
        a, [&](const SequencePair& s, int64_t head, int64_t first) { forward.block(s, head, first, rooms.own()); });
}

template <class E, class T>
diopiError_t forward(diopiContextHandle_t ctx, const AttentionForward& c, const Attention& a) {
    Staging staging(ctx);
    const auto *q = staging.in<E>(a.q), *k = staging.in<E>(a.k), *v = staging.in<E>(a.v);
    auto* out = staging.out<E>(c.out);
    auto* lse = staging.out<double>(c.softmax_lse);
    const Extras<T> extras(staging, a);
    auto* largest = staging.buffer<double>(a.rows());
    auto* sums = staging.buffer<double>(a.rows());
    const Rooms<T> rooms(staging, Forward<E, T>::room(a));
    if (staging.error() != diopiSuccess) return staging.error();
    run_forward<E, T>(a, extras, q, k, v, out, largest, sums, rooms);
    for (int64_t r = 0; lse != nullptr && r < a.rows(); ++r) lse[r] = largest[r] + std::log(sums[r]);
    const Dtype kept = kComputeDtype<T>;
    diopiError_t error = keep_rows(ctx, c.kept.softmax_max, a, kept, largest);
    if (error == diopiSuccess) error = keep_rows(ctx, c.kept.softmax_sum, a, kept, sums);
    if (error == diopiSuccess) error = keep_state(ctx, c.kept.dropout_mask, a);
    if (c.kept.softmax_out != nullptr) *c.kept.softmax_out = nullptr;
    return error == diopiSuccess ? staging.finish() : error;
}

// ---- backward ----

template <class E, class T>
struct Backward {
    const Attention& a;
    const Extras<T>& extras;
    const E *q, *k, *v, *grad, *out;
    const double* lse;
    E *grad_q, *grad_k, *grad_v;

    [[nodiscard]] static int64_t room(const Attention& a) {
        return 2 * kQueryBlock * (kPitch + a.dim) + 4 * kKeyBlock * a.dim + a.group() * a.max_q * (a.dim + 1);
    }

    /// The gradients of a head of keys of one sequence, and of the queries that share it.
    void sequence(const SequencePair& s, int64_t shared, T* room) const {
        const int64_t d = a.dim, k_at = s.k_start + shared * a.k_strides.head;
        T *of_key = room, *of_value = of_key + kKeyBlock * d, *key_room = of_value + kKeyBlock * d;
        T *value_room = key_room + kKeyBlock * d, *means = value_room + kKeyBlock * d;
        T *of_q = means + a.group() * a.max_q, *block_room = of_q + a.group() * a.max_q * d;
        std::fill_n(of_q, a.group() * a.max_q * d, T{0});
        for (int64_t g = 0; g < a.group(); ++g) find_means(s, shared * a.group() + g, means + g * a.max_q);
        for (int64_t at = 0; at < s.k_rows; at += kKeyBlock) {
            const int64_t keys = std::min(kKeyBlock, s.k_rows - at), place = k_at + at * a.k_strides.position;
            const auto key_rows = RowView<T>::of(k + place, a.k_strides.position, keys, d, key_room);
            const auto values = RowView<T>::of(v + place, a.k_strides.position, keys, d, value_room);
            std::fill_n(of_key, keys * d, T{0});
            std::fill_n(of_value, keys * d, T{0});
            for (int64_t g = 0; g < a.group(); ++g) {
                for (int64_t first = 0; first < s.q_rows; first += kQueryBlock) {
                    const int64_t queries = std::min(kQueryBlock, s.q_rows - first);
                    const AttentionBlock<T> block{a, s, shared * a.group() + g, first, queries, at, keys};
                    if (is_hidden(block)) continue;
                    const int64_t row = g * a.max_q + first;
                    add_block(block, key_rows, values, means + row, {of_q + row * d, of_key, of_value}, block_room);
                }
            }
            store_rows(of_key, keys, d, grad_k + place, a.k_strides.position);
            store_rows(of_value, keys, d, grad_v + place, a.k_strides.position);
        }
        for (int64_t g = 0; g < a.group(); ++g) {
            const int64_t q_at = s.q_start + (shared * a.group() + g) * a.q_strides.head;
            store_rows(of_q + g * a.max_q * d, s.q_rows, d, grad_q + q_at, a.q_strides.position);
        }
    }

 private:
    /// Sums of gradients: of a block's queries, keys and values.
    struct Gradients {
        T *q, *k, *v;
    };

    /// Whether the windows hide all keys of the block from all of its queries.
    [[nodiscard]] bool is_hidden(const AttentionBlock<T>& block) const {
        const auto first = block.range(0), last = block.range(block.queries - 1);
        return first.first == block.keys || last.last == 0;
    }

    /// D_i = sum of grad_out * out of each row.
    void find_means(const SequencePair& s, int64_t head, T* means) const {
        for (int64_t i = 0; i < s.q_rows; ++i) {
            const int64_t at = s.q_start + head * a.q_strides.head + i * a.q_strides.position;
            double sum = 0;
            for (int64_t c = 0; c < a.dim; ++c) sum += to_double(grad[at + c]) * to_double(out[at + c]);
            means[i] = static_cast<T>(sum);
        }
    }

    void add_block(const AttentionBlock<T>& block, const RowView<T>& keys, const RowView<T>& values, const T* means,
                   const Gradients& sums, T* room) const {
        const int64_t d = a.dim, stride = a.q_strides.position;
        T *shares = room, *slopes = shares + kQueryBlock * kPitch, *q_room = slopes + kQueryBlock * kPitch;
        const int64_t at = block.s.q_start + block.head * a.q_strides.head + block.first_query * stride;
        const auto queries = RowView<T>::of(q + at, stride, block.queries, d, q_room);
        const auto grads = RowView<T>::of(grad + at, stride, block.queries, d, q_room + kQueryBlock * d);
        gemm<T>(block.queries, block.keys, d, queries.matrix(), keys.transposed(), shares, kPitch, false);
        gemm<T>(block.queries, block.keys, d, grads.matrix(), values.transposed(), slopes, kPitch, false);
        const double* row_lse = lse + a.row(block.s.batch, block.head, block.first_query);
        for (int64_t i = 0; i < block.queries; ++i) {
            find_slopes(block, i, row_lse[i], means[i], shares + i * kPitch, slopes + i * kPitch);
        }
        block.add_queries(shares, grads, sums.v, d);
        block.add_keys(slopes, keys, sums.q, d);
        block.add_queries(slopes, queries, sums.k, d);
    }

    /// Turns products of row i into the shares, and the gradients of the shares into those of the products. A row
    /// without keys has neither.
    void find_slopes(const AttentionBlock<T>& block, int64_t i, double base, T mean, T* shares, T* slopes) const {
        const auto& kernels = std::get<AttentionRowKernels<T>>(attention_row_table());
        if (base == -kInfinity) {
            std::fill_n(shares, block.keys, T{0});
            std::fill_n(slopes, block.keys, T{0});
            return;
        }
        const operands::KeyRange keys = block.range(i);
        const int64_t n = keys.last - keys.first;
        DropoutRow<T> dropout(a);
        block.score_row(i, shares, extras.slope(a, block.s.batch, block.head));
        kernels.shares(shares + keys.first, n, static_cast<T>(base));
        if (dropout) dropout.multiply(block, i, slopes);
        kernels.slopes(shares + keys.first, slopes + keys.first, n, mean, static_cast<T>(a.scale));
        block.clear_hidden(i, shares);
        block.clear_hidden(i, slopes);
        if (dropout) dropout.multiply(block, i, shares);
    }
};

/// softmax_lse, or the same from what the forward function kept; null where it must be computed again.
const double* find_lse(Staging& staging, const AttentionBackward& c, const Attention& a) {
    if (c.softmax_lse != nullptr) return staging.in<double>(c.softmax_lse);
    if (c.kept.softmax_max == nullptr || c.kept.softmax_sum == nullptr) return nullptr;
    const auto* largest = staging.in<double>(c.kept.softmax_max);
    const auto* sums = staging.in<double>(c.kept.softmax_sum);
    auto* lse = staging.buffer<double>(a.rows());
    for (int64_t r = 0; staging.error() == diopiSuccess && r < a.rows(); ++r) lse[r] = largest[r] + std::log(sums[r]);
    return lse;
}

template <class E, class T>
const double* lse_again(Staging& staging, const Attention& a, const Extras<T>& extras, const E* q, const E* k,
                        const E* v) {
    auto* largest = staging.buffer<double>(a.rows());
    auto* sums = staging.buffer<double>(a.rows());
    auto* out = staging.buffer<E>(a.q.numel);
    const Rooms<T> rooms(staging, Forward<E, T>::room(a));
    if (staging.error() != diopiSuccess) return nullptr;
    run_forward<E, T>(a, extras, q, k, v, out, largest, sums, rooms);
    for (int64_t r = 0; r < a.rows(); ++r) largest[r] += std::log(sums[r]);
    return largest;
}

template <class E, class T>
diopiError_t backward(diopiContextHandle_t ctx, const AttentionBackward& c, const Attention& a) {
    Staging staging(ctx);
    const auto *q = staging.in<E>(a.q), *k = staging.in<E>(a.k), *v = staging.in<E>(a.v);
    const auto *grad = staging.in<E>(c.grad_out), *out = staging.in<E>(c.out);
    auto *grad_q = staging.out<E>(c.grad_q), *grad_k = staging.out<E>(c.grad_k), *grad_v = staging.out<E>(c.grad_v);
    const Extras<T> extras(staging, a);
    const double* lse = find_lse(staging, c, a);
    if (lse == nullptr) lse = lse_again<E, T>(staging, a, extras, q, k, v);
    const Rooms<T> rooms(staging, Backward<E, T>::room(a));
    if (staging.error() != diopiSuccess) return staging.error();
    const Backward<E, T> backward{a, extras, q, k, v, grad, out, lse, grad_q, grad_k, grad_v};
    const auto count = std::ssize(a.sequences);
    parallel_for(a.key_heads * count, a.group() * a.max_q * a.max_k, [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) {
            backward.sequence(a.sequences[static_cast<size_t>(item % count)], item / count, rooms.own());
        }
    });
    return staging.finish();
}

// ---- the C functions ----

/// Reads and checks the arguments; the mask becomes dense.
template <class Arguments>
diopiError_t read(diopiContextHandle_t ctx, const Arguments& c, Attention& a) {
    if (const diopiError_t error = Attention::read(c.of, a); error != diopiSuccess) return error;
    if (const diopiError_t error = check_attention(c, a); error != diopiSuccess) return error;
    return c.of.attention_mask == nullptr ? diopiSuccess : contiguous(ctx, view(c.of.attention_mask), a.mask);
}

diopiError_t attend(diopiContextHandle_t ctx, const AttentionForward& c) {
    Attention a;
    if (const diopiError_t error = read(ctx, c, a); error != diopiSuccess) return error;
    const bool draws = a.p_dropout > 0;
    if (draws) a.drawn = operands::Sequence::of(c.of.gen);
    const diopiError_t error = with_elements({a.q.dtype, a.k.dtype, a.v.dtype, view(c.out).dtype},
                                             [&]<class E, class T>() { return forward<E, T>(ctx, c, a); });
    return error == diopiSuccess && draws ? a.drawn.advance(c.of.gen, a.words()) : error;
}

diopiError_t attend_backward(diopiContextHandle_t ctx, const AttentionBackward& c) {
    Attention a;
    if (const diopiError_t error = read(ctx, c, a); error != diopiSuccess) return error;
    if (a.p_dropout > 0 && c.kept.dropout_mask != nullptr) {
        const auto* state = view(c.kept.dropout_mask).as<uint64_t>();
        a.drawn = {state[0], state[1]};
    } else if (a.p_dropout > 0) {
        a.drawn = operands::Sequence::of(c.of.gen);
    }
    const auto dtypes = {
        a.q.dtype,           a.k.dtype, a.v.dtype, view(c.grad_out).dtype, view(c.grad_q).dtype, view(c.grad_k).dtype,
        view(c.grad_v).dtype};
    return with_elements(dtypes, [&]<class E, class T>() { return backward<E, T>(ctx, c, a); });
}

}  // namespace

#include "kernels/entries/attention_flash.inc"

}  // namespace diopi::cpu
