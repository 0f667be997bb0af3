/// The loops of attention on Highway's vectors. Half types compute in float; sums are in the compute type.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_rows.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <limits>

#include "kernels/cpu/attention_rows.hpp"
#include "kernels/cpu/vector_math-inl.hpp"
#include "kernels/cpu/vector_memory-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// Keys of a block.
constexpr int64_t kBlock = 64;
/// Rows, and keys, whose products are added up together.
constexpr int64_t kTogether = 4;

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();
/// The first base of a row: finite, so that its difference from -inf is not NaN.
template <class T>
constexpr T kLeast = std::numeric_limits<T>::lowest();

template <class T>
int64_t padded(int64_t n) {
    return (n + kLanesOf<T> - 1) / kLanesOf<T> * kLanesOf<T>;
}

/// The rows of a part of a sequence: head by head of the keys, query by query, and each head of a query's group.
template <class T>
struct State {
    int64_t pitch;
    T* q;      ///< the queries
    T* sums;   ///< the values so far, times their powers
    T* base;   ///< what the scores are reduced by: about their maximum so far
    T* total;  ///< the powers' sum so far
    T* seen;   ///< whether a key is not hidden, 0 or 1

    State(T* workspace, int64_t rows, int64_t dim) : pitch(padded<T>(dim)) {
        q = workspace;
        sums = q + rows * pitch;
        base = sums + rows * pitch;
        total = base + rows;
        seen = total + rows;
        std::fill_n(q, 2 * rows * pitch, T{0});
        std::fill_n(base, rows, kLeast<T>);
        std::fill_n(total, 2 * rows, T{0});
    }
};

template <class E>
int64_t workspace_of(int64_t rows, int64_t dim) {
    return rows * (2 * padded<ComputeOf<E>>(dim) + 3);
}

/// The elements from a row's first one in q and out.
template <class E>
int64_t place_of(const AttendedRows<E>& a, int64_t row) {
    const int64_t per_head = a.queries * a.group;
    const int64_t head = a.first_head + row / per_head, query = a.first_query + row % per_head / a.group;
    return ((query * a.heads + head) * a.group + row % a.group) * a.dim;
}

template <class E>
struct LoadRow {
    using T = ComputeOf<E>;
    const E* from;
    T* to;
    HWY_INLINE void operator()(int64_t i, int64_t n) const { store(load_up_to(from + i, n), to + i); }
};

template <class E>
void load_queries(const AttendedRows<E>& a, const State<ComputeOf<E>>& state) {
    if (a.q == nullptr) return;
    for (int64_t r = 0; r < a.rows(); ++r) {
        for_each_vector<E>(a.dim, LoadRow<E>{a.q + place_of(a, r), state.q + r * state.pitch});
    }
}

/// A block of keys: the addresses of their rows, and of those of their values, at the first head.
template <class E>
struct Block {
    const E* k[kBlock];
    const E* v[kBlock];
    int64_t first, count;

    Block(const AttendedRows<E>& a, int64_t start, int64_t n) : first(start), count(n) {
        const int64_t pitch = a.heads * a.dim;
        for (int64_t j = 0; j < n; ++j) {
            const int64_t at = a.keys.row(start + j) * pitch + a.first_head * a.dim;
            k[j] = a.k + at;
            v[j] = a.v + at;
        }
    }
};

/// The products of a vector of kKeys keys and kRows queries, added to `sums`.
template <int kRows, int kKeys, class E>
struct AddProducts {
    using T = ComputeOf<E>;
    const T* q;
    int64_t pitch;
    const E* const* k;
    int64_t at;
    Vec<T> (&sums)[kRows][kKeys];
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        Vec<T> keys[kKeys];
        for (int j = 0; j < kKeys; ++j) keys[j] = load_up_to(k[j] + at + i, n);
        for (int r = 0; r < kRows; ++r) {
            const Vec<T> query = load(q + r * pitch + i);
            for (int j = 0; j < kKeys; ++j) sums[r][j] = hn::MulAdd(query, keys[j], sums[r][j]);
        }
    }
};

/// The products of kRows queries and kKeys keys; rows of `scores` are kBlock apart.
template <int kRows, int kKeys, class E>
HWY_INLINE void multiply(const ComputeOf<E>* q, int64_t pitch, const E* const* k, int64_t at, int64_t dim,
                         ComputeOf<E>* scores) {
    using T = ComputeOf<E>;
    const Tag<T> d;
    Vec<T> sums[kRows][kKeys];
    for (auto& row : sums) {
        for (auto& sum : row) sum = hn::Zero(d);
    }
    for_each_vector<E>(dim, AddProducts<kRows, kKeys, E>{q, pitch, k, at, sums});
    for (int r = 0; r < kRows; ++r) {
        for (int j = 0; j < kKeys; ++j) scores[r * kBlock + j] = hn::GetLane(hn::SumOfLanes(d, sums[r][j]));
    }
}

template <int kRows, class E>
HWY_INLINE void multiply_block(const ComputeOf<E>* q, int64_t pitch, const Block<E>& block, int64_t at, int64_t dim,
                               ComputeOf<E>* scores) {
    int64_t j = 0;
    for (; j + kTogether <= block.count; j += kTogether) {
        multiply<kRows, kTogether>(q, pitch, block.k + j, at, dim, scores + j);
    }
    for (; j < block.count; ++j) multiply<kRows, 1>(q, pitch, block.k + j, at, dim, scores + j);
}

/// sums += weights * values in kVectors vectors of elements, of which the last one has n valid lanes.
template <int kRows, int kVectors, class E>
HWY_INLINE void add_columns(const ComputeOf<E>* weights, const E* const* v, int64_t count, int64_t at, int64_t n,
                            ComputeOf<E>* sums, int64_t pitch) {
    using T = ComputeOf<E>;
    constexpr int64_t kStep = kLanesOf<E>;
    Vec<T> added[kRows][kVectors];
    for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kVectors; ++c) added[r][c] = load(sums + r * pitch + c * kStep);
    }
    for (int64_t j = 0; j < count; ++j) {
        Vec<T> values[kVectors];
        for (int c = 0; c < kVectors; ++c) {
            const E* from = v[j] + at + c * kStep;
            values[c] = c + 1 < kVectors ? load(from) : load_up_to(from, n);
        }
        for (int r = 0; r < kRows; ++r) {
            const Vec<T> weight = set(weights[r * kBlock + j]);
            for (int c = 0; c < kVectors; ++c) added[r][c] = hn::MulAdd(weight, values[c], added[r][c]);
        }
    }
    for (int r = 0; r < kRows; ++r) {
        for (int c = 0; c < kVectors; ++c) store(added[r][c], sums + r * pitch + c * kStep);
    }
}

/// sums += weights * values: for one row whole rows of values, as memory has them, for several as registers suffice.
template <int kRows, class E>
HWY_INLINE void add_values(const ComputeOf<E>* weights, const E* const* v, int64_t count, int64_t at, int64_t dim,
                           ComputeOf<E>* sums, int64_t pitch) {
    constexpr int kVectors = kRows == 1 ? 8 : 2;
    constexpr int64_t kStep = kLanesOf<E>;
    int64_t i = 0;
    for (; i + kVectors * kStep <= dim; i += kVectors * kStep) {
        add_columns<kRows, kVectors>(weights, v, count, at + i, kStep, sums + i, pitch);
    }
    for (; i < dim; i += kStep) {
        add_columns<kRows, 1>(weights, v, count, at + i, std::min(kStep, dim - i), sums + i, pitch);
    }
}

/// The keys of a block that a query sees, if not all: their values, and their scores, which move to the front.
template <class E>
struct Seen {
    const E* v[kBlock];
    int64_t count;
    bool all;

    HWY_INLINE void choose(const AttendedRows<E>& a, int64_t query, const Block<E>& block, ComputeOf<E>* scores) {
        const int64_t end = a.causal ? std::min(block.count, a.history + query + 1 - block.first) : block.count;
        count = std::max<int64_t>(end, 0);
        all = count == block.count;
        if (all && a.hidden == nullptr) return;
        const uint8_t* hidden = a.hidden == nullptr ? nullptr : a.hidden + query * a.hidden_pitch + block.first;
        int64_t kept = 0;
        for (int64_t j = 0; j < count; ++j) {
            if (hidden != nullptr && hidden[j] != 0) continue;
            v[kept] = block.v[j];
            scores[kept++] = scores[j];
        }
        all = kept == block.count;
        count = kept;
    }
};

/// Turns the scores of a row into powers, and brings its sums to the base that the block's maximum asks for.
template <class T>
HWY_INLINE void raise(const State<T>& state, int64_t row, T* scores, int64_t count, T scale) {
    const Tag<T> d;
    const int64_t end = padded<T>(count);
    std::fill(scores + count, scores + end, kLowest<T>);
    Vec<T> most = set(kLowest<T>);
    for (int64_t j = 0; j < end; j += kLanesOf<T>) {
        const Vec<T> scaled = load(scores + j) * set(scale);
        store(scaled, scores + j);
        most = hn::Max(scaled, most);
    }
    const T greatest = hn::GetLane(hn::MaxOfLanes(d, most));
    if (greatest > state.base[row]) {
        const Vec<T> shrink = exp_below(set(state.base[row] - greatest));
        T* sums = state.sums + row * state.pitch;
        for (int64_t i = 0; i < state.pitch; i += kLanesOf<T>) store(load(sums + i) * shrink, sums + i);
        state.total[row] *= hn::GetLane(shrink);
        state.base[row] = greatest;
    }
    Vec<T> total = hn::Zero(d);
    for (int64_t j = 0; j < end; j += kLanesOf<T>) {
        const Vec<T> power = exp_below(load(scores + j) - set(state.base[row]));
        store(power, scores + j);
        total = total + power;
    }
    state.total[row] += hn::GetLane(hn::SumOfLanes(d, total));
    if (count > 0) state.seen[row] = 1;
}

/// Adds a block of keys to kRows rows of one head, `at` elements behind the first head.
template <int kRows, class E>
HWY_INLINE void add_block(const AttendedRows<E>& a, const State<ComputeOf<E>>& state, const Block<E>& block,
                          int64_t row, int64_t at) {
    using T = ComputeOf<E>;
    HWY_ALIGN T scores[kRows * kBlock];
    if (a.scores == nullptr) {
        multiply_block<kRows>(state.q + row * state.pitch, state.pitch, block, at, a.dim, scores);
    } else {
        const E* given = a.scores + (a.first_head + row) * a.scores_pitch + block.first;
        for_each_vector<E>(block.count, LoadRow<E>{given, scores});
    }
    Seen<E> seen[kRows];
    bool see_all = true;
    for (int r = 0; r < kRows; ++r) {
        const int64_t query = a.first_query + (row + r) % (a.queries * a.group) / a.group;
        seen[r].choose(a, query, block, scores + r * kBlock);
        see_all = see_all && seen[r].all;
        raise(state, row + r, scores + r * kBlock, seen[r].count, a.scale);
    }
    T* sums = state.sums + row * state.pitch;
    if (see_all) return add_values<kRows>(scores, block.v, block.count, at, a.dim, sums, state.pitch);
    // A hidden value may be NaN: it must not be multiplied, not even by 0.
    for (int r = 0; r < kRows; ++r) {
        const E* const* v = seen[r].all ? block.v : seen[r].v;
        add_values<1>(scores + r * kBlock, v, seen[r].count, at, a.dim, sums + r * state.pitch, state.pitch);
    }
}

template <class E>
struct WriteRow {
    using T = ComputeOf<E>;
    const T* sums;
    E* out;
    Vec<T> total;
    HWY_INLINE void operator()(int64_t i, int64_t n) const { store_up_to(load(sums + i) / total, out + i, n); }
};

template <class E>
void attend(const AttendedRows<E>& a, ComputeOf<E>* workspace) {
    const State<ComputeOf<E>> state(workspace, a.rows(), a.dim);
    load_queries(a, state);
    const int64_t per_head = a.queries * a.group;
    const int64_t seen = a.history + a.first_query + a.queries;  // by the last query, if causal
    const int64_t end = a.causal ? std::min(a.keys.count, seen) : a.keys.count;
    for (int64_t j = 0; j < end; j += kBlock) {
        const Block<E> block(a, j, std::min(kBlock, end - j));
        for (int64_t h = 0; h < a.head_count; ++h) {
            int64_t r = h * per_head;
            const int64_t last = r + per_head;
            for (; r + kTogether <= last; r += kTogether) add_block<kTogether>(a, state, block, r, h * a.dim);
            for (; r < last; ++r) add_block<1>(a, state, block, r, h * a.dim);
        }
    }
    for (int64_t r = 0; r < a.rows(); ++r) {
        // The sums of a row that sees no key are 0.
        const ComputeOf<E> total = state.seen[r] == 0 ? 1 : state.total[r];
        for_each_vector<E>(a.dim, WriteRow<E>{state.sums + r * state.pitch, a.out + place_of(a, r), set(total)});
    }
}

template <class E>
struct WriteScores {
    using T = ComputeOf<E>;
    const T* scores;
    E* out;
    Vec<T> scale;
    HWY_INLINE void operator()(int64_t i, int64_t n) const { store_up_to(load(scores + i) * scale, out + i, n); }
};

template <class E>
void score(const AttendedRows<E>& a, ComputeOf<E>* workspace) {
    const State<ComputeOf<E>> state(workspace, a.rows(), a.dim);
    load_queries(a, state);
    HWY_ALIGN ComputeOf<E> scores[kBlock];
    for (int64_t j = 0; j < a.keys.count; j += kBlock) {
        const Block<E> block(a, j, std::min(kBlock, a.keys.count - j));
        for (int64_t h = 0; h < a.head_count; ++h) {
            multiply_block<1>(state.q + h * state.pitch, state.pitch, block, h * a.dim, a.dim, scores);
            E* out = a.scores_out + (a.first_head + h) * a.scores_pitch + j;
            for_each_vector<E>(block.count, WriteScores<E>{scores, out, set(a.scale)});
        }
    }
}

template <class E>
constexpr AttentionKernels<E> kernels_of() {
    return {workspace_of<E>, attend<E>, score<E>};
}

AttentionTable Kernels() {
    return {kernels_of<float>(), kernels_of<double>(), kernels_of<Half>(), kernels_of<Bfloat16>()};
}

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(AttentionTable, attention_table)

}  // namespace diopi::cpu
#endif
