/// Rotary embeddings.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// The shape of the pairs of x; refuses an x without.
Shape pairs_of(ShapeView x) {
    if (x.empty() || x.back() % 2 != 0)
        refuse("x has shape " + to_string(x) + ", wanted one that ends in an even size");
    Shape pairs(x.begin(), x.end());
    pairs.back() /= 2;
    return pairs;
}

/// A pair (a, b) becomes (a cos - b sin, a sin + b cos), with -sin for the sine if conj. It is (x[i], x[i + d/2]), or
/// (x[2i], x[2i + 1]) if interleaved.
diopiError_t rotary_embedding(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t x, diopiConstTensorHandle_t cos, diopiConstTensorHandle_t sin,
                              bool conj, bool interleaved) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> from(x, "x");
        const Operand<T> c(cos, "cos");
        const Operand<T> s(sin, "sin");
        WriteOnly<T> to(out, "out");
        const Shape pairs = pairs_of(from.shape());
        const int64_t half = pairs.back(), second = interleaved ? 1 : half;
        require_shape("out", to.shape(), from.shape());
        require_shape("sin", s.shape(), c.shape());
        if (c.rank() == 0 || c.shape().back() != half) {
            refuse("cos has shape " + to_string(c.shape()) + ", wanted one that ends in " + std::to_string(half));
        }
        Shape first = contiguous_strides(from.shape());
        first.back() = interleaved ? 2 : 1;
        const Shape angle = broadcast_strides("cos", c.shape(), pairs);
        const Rows<2> rows(pairs, {ShapeView(first), ShapeView(angle)});
        rows.for_each([&](const Rows<2>::Offsets& at) {
            for (int64_t i = 0; i < rows.length(); ++i) {
                const int64_t a = at[0] + i * rows.step()[0], b = a + second, p = at[1] + i * rows.step()[1];
                const T sine = conj ? -T(s[p]) : T(s[p]);
                const T one = from[a], other = from[b];  // out may be x
                to[a] = one * c[p] - other * sine;
                to[b] = one * sine + other * c[p];
            }
        });
        to.store();
    });
}

/// Rotates the heads of `dim` elements that x (tokens, heads * dim) or (tokens, heads, dim) has.
template <class T>
void rotate_heads(Output<T>& x, std::string_view argument, const Operand<T>& c, const Operand<T>& s, int64_t dim) {
    const int64_t tokens = c.size(0), half = dim / 2;
    const bool fits = (x.rank() == 2 && x.size(1) % dim == 0) || (x.rank() == 3 && x.size(2) == dim);
    if (!fits || x.size(0) != tokens) {
        refuse(std::string(argument) + " has shape " + to_string(x.shape()) + ", wanted (" + std::to_string(tokens) +
               ", heads * dim) or (" + std::to_string(tokens) + ", heads, dim) with dim " + std::to_string(dim));
    }
    const int64_t width = tokens == 0 ? 0 : x.numel() / tokens;
    for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t head = t * width; head < (t + 1) * width; head += dim) {
            for (int64_t i = 0; i < half; ++i) {
                const int64_t p = t * dim + i, q = p + half;
                T &first = x[head + i], &second = x[head + i + half];
                const T a = first, b = second;
                first = a * c[p] - b * s[p];
                second = b * c[q] + a * s[q];
            }
        }
    }
}

/// x = x * cos + (-x2, x1) * sin for the halves (x1, x2) of each head.
diopiError_t rotary_embedding_of_heads(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t query,
                                       diopiTensorHandle_t key, diopiConstTensorHandle_t cos,
                                       diopiConstTensorHandle_t sin, int64_t dim) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> c(cos, "cos");
        const Operand<T> s(sin, "sin");
        Output<T> q(query, "query", Output<T>::Start::kOldValues);
        Output<T> k(key, "key", Output<T>::Start::kOldValues);
        if (dim < 2 || dim % 2 != 0) refuse("dim is " + std::to_string(dim) + ", wanted an even number above 0");
        if (c.rank() != 3) refuse("cos has shape " + to_string(c.shape()) + ", wanted (tokens, 1, dim)");
        const Shape angles = {c.size(0), 1, dim};
        require_shape("cos", c.shape(), angles);
        require_shape("sin", s.shape(), angles);
        rotate_heads(q, "query", c, s, dim);
        rotate_heads(k, "key", c, s, dim);
        q.store();
        k.store();
    });
}

}  // namespace

#include "kernels/entries/attention_rotary.inc"

}  // namespace diopi::reference
