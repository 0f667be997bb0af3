/// Orthogonal and triangular factors by blocks of reflections, whose products are those of gemm. Half types compute in
/// float32. The matrices of a batch run on different threads.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/sum_lanes.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/solve.hpp"

namespace diopi::cpu {

namespace {

/// Reflections of one block: products with them have so many rows.
constexpr int64_t kReflections = 32;

/// The sizes of A (m, n) and of its factors.
struct Sizes {
    int64_t m, n, width;

    [[nodiscard]] int64_t reflections() const { return std::min(m, n); }
    [[nodiscard]] int64_t blocks() const { return (reflections() + kReflections - 1) / kReflections; }
    /// Elements of the workspace of one matrix.
    [[nodiscard]] int64_t space() const {
        return m * n + blocks() * (m * kReflections + kReflections * kReflections) + m * kReflections +
               2 * kReflections * std::max({m, n, kReflections});
    }
};

/// I - v t v^T, the product of the reflections of a block: v (rows, count) has the pitch kReflections, t (count, count)
/// is upper triangular.
template <class T>
struct Block {
    T *v, *t;
    int64_t rows, count;
};

/// The norm of n elements. Their squares neither overflow nor underflow as a whole.
template <class T>
T norm_of(int64_t n, const T* x) {
    const double squares = sum_lanes<false, double>(x, n, [](double part) { return part * part; });
    if (squares > 0x1p-900 && squares < 0x1p1000) return static_cast<T>(std::sqrt(squares));
    T largest = 0;
    for (int64_t k = 0; k < n; ++k) largest = std::max(largest, std::fabs(x[k]));
    if (!(largest > 0) || std::isinf(largest)) return largest;
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) {
        const double part = static_cast<double>(x[k]) / static_cast<double>(largest);
        sum += part * part;
    }
    return static_cast<T>(static_cast<double>(largest) * std::sqrt(sum));
}

/// sums += v^T rows, of n rows of the pitch kReflections.
template <class T>
void add_products(int64_t n, const T* v, const T* rows, T* sums) {
    constexpr int64_t kPitch = kReflections;
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const T v0 = v[i], v1 = v[i + 1], v2 = v[i + 2], v3 = v[i + 3], *row = rows + i * kPitch;
        for (int64_t c = 0; c < kPitch; ++c) {
            sums[c] += (v0 * row[c] + v1 * row[kPitch + c]) + (v2 * row[2 * kPitch + c] + v3 * row[3 * kPitch + c]);
        }
    }
    for (; i < n; ++i) {
        for (int64_t c = 0; c < kPitch; ++c) sums[c] += v[i] * rows[i * kPitch + c];
    }
}

/// The reflections of the columns of a block, which v holds. R takes the place of its upper triangle, and below are the
/// vectors of the reflections, whose first element, 1, is left out. The sign of a diagonal element is contrary to that
/// of the element before, as in LAPACK's geqr2. `column` has as many elements as the block has rows.
template <class T>
void reflect_block(const Block<T>& block, T* column) {
    for (int64_t j = 0; j < block.count; ++j) {
        T* own = block.v + j * kReflections;
        T* rows = own + kReflections;
        const int64_t below = block.rows - j - 1;
        for (int64_t i = 0; i < below; ++i) column[i] = rows[i * kReflections + j];
        const T first = own[j], rest = norm_of(below, column);
        const T beta = rest == 0 ? first : -std::copysign(std::hypot(first, rest), first);
        const T tau = rest == 0 ? T(0) : (beta - first) / beta;
        for (int64_t i = 0; i < below; ++i) column[i] = rest == 0 ? T(0) : column[i] / (first - beta);
        // Its products with the other columns, and with the reflections before it.
        T sums[kReflections];
        std::copy_n(own, kReflections, sums);
        add_products(below, column, rows, sums);
        T steps[kReflections];
        for (int64_t c = 0; c < kReflections; ++c) steps[c] = c > j ? tau * sums[c] : T(0);
        for (int64_t c = 0; c < kReflections; ++c) own[c] -= steps[c];
        own[j] = beta;
        for (int64_t i = 0; i < below; ++i) {
            T* row = rows + i * kReflections;
            for (int64_t c = 0; c < kReflections; ++c) row[c] -= column[i] * steps[c];
            row[j] = column[i];
        }
        // Column j of t: -tau t (v^T v_j).
        for (int64_t i = 0; i < block.count; ++i) {
            T sum = 0;
            for (int64_t c = i; c < j; ++c) sum += block.t[i * kReflections + c] * sums[c];
            block.t[i * kReflections + j] = i < j ? -tau * sum : i == j ? tau : T(0);
        }
    }
}

/// Factorises the columns of a (rows, count), whose rows are `pitch` apart, and leaves R in its upper triangle.
template <class T>
void factorise_block(T* a, int64_t pitch, const Block<T>& block, T* space) {
    for (int64_t i = 0; i < block.rows; ++i) {
        T* row = block.v + i * kReflections;
        std::copy_n(a + i * pitch, block.count, row);
        std::fill(row + block.count, row + kReflections, T(0));
    }
    best<reflect_block<T>>()(block, space);
    for (int64_t i = 0; i < block.count; ++i) {
        T* row = block.v + i * kReflections;
        std::copy(row + i, row + block.count, a + i * pitch + i);
        std::fill(row + i, row + kReflections, T(0));
        row[i] = 1;
    }
}

/// x -= v t v^T x, or with the transpose of t; x (rows, columns) has rows that are `pitch` apart.
template <class T>
void apply(const Block<T>& block, bool is_transposed, T* x, int64_t pitch, int64_t columns, T* space) {
    if (columns == 0) return;
    T *negative = space, *products = negative + block.rows * kReflections, *turned = products + kReflections * columns;
    for (int64_t k = 0; k < block.rows * kReflections; ++k) negative[k] = -block.v[k];
    const int64_t row = is_transposed ? 1 : kReflections, column = is_transposed ? kReflections : 1;
    gemm<T>(block.count, columns, block.rows, {block.v, 1, kReflections}, {x, pitch, 1}, products, columns, false);
    gemm<T>(block.count, columns, block.count, {block.t, row, column}, {products, columns, 1}, turned, columns, false);
    gemm<T>(block.rows, columns, block.count, {negative, kReflections, 1}, {turned, columns, 1}, x, pitch, true);
}

/// The factors of one matrix; q may be null.
template <class T>
void factorise(const Sizes& s, const T* matrix, T* q, T* r, T* space) {
    T *a = space, *vectors = a + s.m * s.n,
      *free = vectors + s.blocks() * (s.m * kReflections + kReflections * kReflections);
    std::copy_n(matrix, s.m * s.n, a);
    const auto block_at = [&](int64_t start) {
        T* own = vectors + start / kReflections * (s.m * kReflections + kReflections * kReflections);
        return Block<T>{own + kReflections * kReflections, own, s.m - start,
                        std::min(kReflections, s.reflections() - start)};
    };
    for (int64_t start = 0; start < s.reflections(); start += kReflections) {
        const Block<T> block = block_at(start);
        const int64_t end = start + block.count;
        factorise_block(a + start * s.n + start, s.n, block, free);
        apply(block, true, a + start * s.n + end, s.n, s.n - end, free);
    }
    for (int64_t i = 0; i < s.width; ++i) {
        const int64_t zeros = std::min(i, s.n);
        std::fill_n(r + i * s.n, zeros, T(0));
        std::copy(a + i * s.n + zeros, a + (i + 1) * s.n, r + i * s.n + zeros);
    }
    if (q == nullptr) return;
    std::fill_n(q, s.m * s.width, T(0));
    for (int64_t i = 0; i < s.width; ++i) q[i * s.width + i] = 1;
    for (int64_t number = s.blocks() - 1; number >= 0; --number) {
        const int64_t start = number * kReflections;
        apply(block_at(start), false, q + start * s.width + start, s.width, s.width - start, free);
    }
}

template <class T>
diopiError_t run_factors(diopiContextHandle_t ctx, const Sizes& s, const View& matrix, const View* q, const View& r) {
    const int64_t count = numel(batch_of(matrix)), size = s.m * s.n;
    Staging staging(ctx);
    const T* from = staging.in<T>(matrix);
    T *to_q = q == nullptr ? nullptr : staging.out<T>(*q), *to_r = staging.out<T>(r);
    T* space = staging.buffer<T>(std::max<int64_t>(count * s.space(), 1));
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(count, 4 * size * s.reflections(), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
            T* own_q = to_q == nullptr ? nullptr : to_q + b * s.m * s.width;
            factorise(s, from + b * size, own_q, to_r + b * s.width * s.n, space + b * s.space());
        }
    });
    return staging.finish();
}

/// A = Q R. Source: torch.linalg.qr.
diopiError_t orthogonal_factors(diopiContextHandle_t ctx, std::string_view op, diopiConstTensorHandle_t matrix,
                                const char* mode, diopiTensorHandle_t orthonormal, diopiTensorHandle_t triangular) {
    const View a = view(matrix), q = view(orthonormal), r = view(triangular);
    const std::string_view wanted = mode == nullptr ? "" : mode;
    if (wanted != "reduced" && wanted != "complete" && wanted != "r") {
        return refuse(op, "mode is '" + std::string(wanted) + "', wanted reduced, complete or r");
    }
    if (const diopiError_t error = check_matrices(op, {{"A", a}}); error != diopiSuccess) return error;
    const int64_t m = size_from_back(a, 1), n = size_from_back(a, 0);
    const Sizes s{m, n, wanted == "complete" ? m : std::min(m, n)};
    const bool has_q = wanted != "r";
    diopiError_t error = check_shape(op, "Q", q, has_q ? matrices(batch_of(a), m, s.width) : Shape{0});
    if (error == diopiSuccess) error = check_shape(op, "R", r, matrices(batch_of(a), s.width, n));
    if (error != diopiSuccess) return error;
    const View* to = has_q ? &q : nullptr;
    return a.dtype == Dtype::float64 ? run_factors<double>(ctx, s, a, to, r) : run_factors<float>(ctx, s, a, to, r);
}

}  // namespace

#include "kernels/entries/linear_qr.inc"

}  // namespace diopi::cpu
