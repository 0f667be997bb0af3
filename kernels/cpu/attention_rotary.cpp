/// Rotary embeddings. The cosines and sines of each position are spread over a whole row first, with their signs, for
/// several heads have one position.
#include <algorithm>

#include "kernels/cpu/attention_rotary_rows.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/attention_rotary.hpp"

namespace diopi::cpu {

namespace {

/// For each position a row of `dim` cosines and one of sines: the factors of an element and of its partner.
template <class T>
struct Angles {
    T* cos;
    T* sin;
    int64_t dim;
    bool interleaved;

    /// Spreads numbers for each pair (dim / 2 a position).
    void spread(const T* pair_cos, const T* pair_sin, int64_t positions, bool conj) const {
        const int64_t half = dim / 2, step = interleaved ? 2 : 1, second = interleaved ? 1 : half;
        const T sign = conj ? -1 : 1;
        parallel_for(positions, dim, [&](int64_t first, int64_t last) {
            for (int64_t p = first; p < last; ++p) {
                const T *c = pair_cos + p * half, *s = pair_sin + p * half;
                T *cos_row = cos + p * dim, *sin_row = sin + p * dim;
                for (int64_t i = 0; i < half; ++i) {
                    const int64_t a = i * step, b = a + second;
                    cos_row[a] = cos_row[b] = c[i];
                    sin_row[a] = -sign * s[i];
                    sin_row[b] = sign * s[i];
                }
            }
        });
    }
};

/// The position of the first row of a run of the nest, whose operand 1 are the positions.
int64_t first_position(const Nest& rows, int64_t run) {
    int64_t position = 0;
    for (int d = rows.rank - 2; d >= 0; --d) {
        const int64_t size = rows.sizes[static_cast<size_t>(d)];
        position += run % size * rows.strides[1][static_cast<size_t>(d)];
        run /= size;
    }
    return position;
}

/// Rotates rows of angles.dim elements; `rows` has one element for each, with the rows and the positions as operands.
template <class E, class T>
void rotate(const Nest& rows, const E* x, const Angles<T>& angles, E* out) {
    const int64_t dim = angles.dim, run = rows.inner_size(), step = rows.inner_stride(1);
    const auto& kernels = std::get<RotaryKernels<E, T>>(rotary_table());
    const auto rotate_row = angles.interleaved ? kernels.interleaved : kernels.halves;
    parallel_for(rows.numel, dim, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last;) {
            int64_t position = first_position(rows, r / run) + r % run * step;
            for (const int64_t end = std::min(last, (r / run + 1) * run); r < end; ++r, position += step) {
                const int64_t angle = position * dim;
                rotate_row(x + r * dim, angles.cos + angle, angles.sin + angle, out + r * dim, dim);
            }
        }
    });
}

template <class E, class T>
diopiError_t run(diopiContextHandle_t ctx, const View& out, const View& x, const View& cos, const View& sin, bool conj,
                 bool interleaved) {
    Staging staging(ctx);
    const auto* from = staging.in<E>(x);
    const auto* c = staging.in<T>(cos);
    const auto* s = staging.in<T>(sin);
    auto* to = staging.out<E>(out);
    auto* room = staging.buffer<T>(4 * cos.numel);
    if (staging.error() != diopiSuccess) return staging.error();
    const size_t leading = x.shape.size() - 1;
    const Angles<T> angles{room, room + 2 * cos.numel, x.shape.back(), interleaved};
    angles.spread(c, s, cos.numel / cos.shape.back(), conj);
    const Shape positions(cos.shape.begin(), cos.shape.end() - 1), dense = contiguous_strides(positions);
    View position;
    position.shape = positions;
    position.strides = dense;
    const auto steps = broadcast_strides(position, x.shape.first(leading));
    const Shape row_steps = contiguous_strides(x.shape.first(leading));
    rotate(make_nest(x.shape.first(leading), {row_steps.data(), steps.data()}), from, angles, to);
    return staging.finish();
}

diopiError_t rotary_embedding(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t x, diopiConstTensorHandle_t cos, diopiConstTensorHandle_t sin,
                              bool conj, bool interleaved) {
    const View y = view(out), from = view(x), c = view(cos), s = view(sin);
    const diopiError_t error = check_rotary(op, y, from, c, s);
    if (error != diopiSuccess || from.numel == 0) return error;
    return with_elements({from.dtype, y.dtype, c.dtype, s.dtype},
                         [&]<class E, class T>() { return run<E, T>(ctx, y, from, c, s, conj, interleaved); });
}

template <class E, class T>
diopiError_t run_heads(diopiContextHandle_t ctx, std::initializer_list<View> tensors, const View& cos, const View& sin,
                       int64_t dim) {
    Staging staging(ctx);
    const auto* c = staging.in<T>(cos);
    const auto* s = staging.in<T>(sin);
    auto* room = staging.buffer<T>(2 * cos.numel);
    if (staging.error() != diopiSuccess) return staging.error();
    const int64_t tokens = cos.shape[0], half = dim / 2;
    const Angles<T> angles{room, room + cos.numel, dim, false};
    std::copy_n(c, cos.numel, angles.cos);
    for (int64_t i = 0; i < cos.numel; ++i) angles.sin[i] = i % dim < half ? -s[i] : s[i];
    for (const View& tensor : tensors) {
        const auto* x = staging.in<E>(tensor);
        auto* out = staging.out<E>(tensor);
        if (staging.error() != diopiSuccess) return staging.error();
        if (tensor.numel == 0) continue;
        const int64_t shape[] = {tokens, tensor.numel / (tokens * dim)}, rows[] = {shape[1], 1}, positions[] = {1, 0};
        rotate(make_nest(shape, {rows, positions}), x, angles, out);
    }
    return staging.finish();
}

diopiError_t rotary_embedding_of_heads(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t query,
                                       diopiTensorHandle_t key, diopiConstTensorHandle_t cos,
                                       diopiConstTensorHandle_t sin, int64_t dim) {
    const View q = view(query), k = view(key), c = view(cos), s = view(sin);
    const diopiError_t error = check_rotary_heads(op, q, k, c, s, dim);
    if (error != diopiSuccess || c.numel == 0) return error;
    return with_elements({q.dtype, k.dtype, c.dtype, s.dtype}, [&]<class E, class T>() {
        return run_heads<E, T>(ctx, {q, k}, c, s, dim);
    });
}

}  // namespace

#include "kernels/entries/attention_rotary.inc"

}  // namespace diopi::cpu
