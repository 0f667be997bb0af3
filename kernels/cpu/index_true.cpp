/// Elements under a mask, in row-major order, and the places that are not 0. Each thread counts the true ones of its
/// part first, so that all know where their results begin.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/item.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape_order.hpp"

namespace diopi::cpu {

namespace {

/// The parts of a dense mask, with the number of true ones before each.
struct TrueOnes {
    static constexpr int64_t kPart = 1 << 15;

    const uint8_t* is = nullptr;
    int64_t numel = 0, count = 0;
    std::vector<int64_t> before;

    explicit TrueOnes(const View& dense) : is(dense.as<const uint8_t>()), numel(dense.numel) {
        before.resize(static_cast<size_t>((numel + kPart - 1) / kPart));
        parallel_for(static_cast<int64_t>(before.size()), kPart, Loop::sum, [&](int64_t first, int64_t last) {
            for (int64_t part = first; part < last; ++part) {
                int64_t found = 0;
                for (int64_t i = part * kPart; i < end_of(part); ++i) found += is[i] != 0 ? 1 : 0;
                before[static_cast<size_t>(part)] = found;
            }
        });
        for (int64_t& number : before) number = std::exchange(count, count + number);
    }

    [[nodiscard]] int64_t end_of(int64_t part) const { return std::min(numel, (part + 1) * kPart); }

    /// Calls visit(first element, end, number of the first true one) for each part, in threads.
    template <class Visit>
    void for_each_part(Visit&& visit) const {
        parallel_for(static_cast<int64_t>(before.size()), kPart, Loop::copy, [&](int64_t first, int64_t last) {
            for (int64_t part = first; part < last; ++part) {
                visit(part * kPart, end_of(part), before[static_cast<size_t>(part)]);
            }
        });
    }
};

/// A dense tensor of that shape, to which the given one broadcasts.
diopiError_t spread_to(diopiContextHandle_t ctx, const View& from, ShapeView shape, View& dense) {
    if (std::ranges::equal(from.shape, shape)) return contiguous(ctx, from, dense);
    View fresh;  // `dense` may be `from`
    const diopiError_t error = require(ctx, shape, from.dtype, fresh);
    if (error == diopiSuccess) copy(from, fresh);
    dense = fresh;
    return error;
}

/// The mask in the shape that it has together with input.
diopiError_t read_mask(diopiContextHandle_t ctx, std::string_view op, const View& mask, const View& input, Shape& wide,
                       View& dense) {
    if (mask.dtype != Dtype::boolean) return unsupported(op, "mask", mask.dtype, "bool");
    auto common = broadcast_shapes(input.shape, mask.shape);
    if (!common || static_cast<int64_t>(common->size()) > kMaxRank) {
        return wrong_shape(op, "mask", mask.shape, "one that broadcasts with " + to_string(input.shape));
    }
    wide = std::move(*common);
    return spread_to(ctx, mask, wide, dense);
}

/// Copies the true ones of a tile to `kept`, and returns their number: without a branch that values decide.
template <class E>
int64_t compact(const E* x, const uint8_t* is, int64_t n, E* kept) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
        kept[count] = x[i];
        count += is[i] != 0 ? 1 : 0;
    }
    return count;
}

template <class E>
void select_true(const TrueOnes& ones, const E* x, E* out) {
    ones.for_each_part([&](int64_t first, int64_t end, int64_t at) {
        std::array<E, kTile> kept;
        for (int64_t i = first; i < end; i += kTile) {
            const int64_t count = compact(x + i, ones.is + i, std::min(kTile, end - i), kept.data());
            std::memcpy(out + at, kept.data(), static_cast<size_t>(count) * sizeof(E));
            at += count;
        }
    });
}

diopiError_t masked_select(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask) {
    View x = view(input), is;
    Shape wide;
    diopiError_t error = read_mask(ctx, op, view(mask), x, wide, is);
    if (error == diopiSuccess) error = spread_to(ctx, x, wide, x);
    if (error != diopiSuccess) return error;
    const TrueOnes ones(is);
    diopiTensorHandle_t made = nullptr;
    error = make_output(ctx, Shape{ones.count}, x.dtype, {}, made);
    if (error != diopiSuccess) return error;
    const View y = view(made);
    if (y.numel > 0) with_item(x.dtype, [&]<class E>() { select_true(ones, x.as<const E>(), y.as<E>()); });
    *out = made;
    return diopiSuccess;
}

/// Where the mask is true, the next element of source.
template <class E>
void put_true(const TrueOnes& ones, const E* source, E* y) {
    ones.for_each_part([&](int64_t first, int64_t end, int64_t at) {
        for (int64_t i = first; i < end; ++i) {
            if (ones.is[i] != 0) y[i] = source[at++];
        }
    });
}

diopiError_t masked_scatter(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask,
                            diopiConstTensorHandle_t source) {
    const View x = view(input), y = view(out);
    View from = view(source), is, to;
    Shape wide;
    diopiError_t error = check_like(op, "out", y, x.shape, x.dtype);
    if (error == diopiSuccess && from.dtype != x.dtype) error = unsupported(op, "source", from.dtype, name(x.dtype));
    if (error == diopiSuccess) error = read_mask(ctx, op, view(mask), x, wide, is);
    if (error != diopiSuccess) return error;
    if (!std::ranges::equal(wide, x.shape)) return wrong_shape(op, "mask", view(mask).shape, "one within input's");
    const TrueOnes ones(is);
    if (ones.count > from.numel) {
        return refuse(op,
                      "source has " + std::to_string(from.numel) + " elements, wanted " + std::to_string(ones.count));
    }
    error = contiguous(ctx, from, from);
    if (error == diopiSuccess) error = require_dense(ctx, y, to);
    if (error != diopiSuccess || y.numel == 0) return error;
    copy(x, to);
    with_item(x.dtype, [&]<class E>() { put_true(ones, from.as<const E>(), to.as<E>()); });
    if (to.data != y.data) copy(to, y);
    return diopiSuccess;
}

/// y[i] = the next element of g where the mask is true, else 0.
template <class T>
void spread_true(const TrueOnes& ones, const T* g, T* y) {
    ones.for_each_part([&](int64_t first, int64_t end, int64_t at) {
        for (int64_t i = first; i < end; ++i) y[i] = ones.is[i] != 0 ? g[at++] : T{0};
    });
}

/// The same for an input that was broadcast: the elements of y repeat, and add up.
template <class T>
void add_true(const TrueOnes& ones, ShapeView wide, const View& input, const T* g, T* y) {
    View own = number_view(input.dtype);
    const Shape dense = contiguous_strides(input.shape);
    own.shape = input.shape;
    own.strides = dense;
    const auto strides = broadcast_strides(own, wide);
    std::fill_n(y, input.numel, T{0});
    for (int64_t i = 0, at = 0; i < ones.numel; ++i) {
        if (ones.is[i] == 0) continue;
        int64_t offset = 0;
        for (size_t d = wide.size(), rest = static_cast<size_t>(i); d-- > 0; rest /= static_cast<size_t>(wide[d])) {
            offset += static_cast<int64_t>(rest % static_cast<size_t>(wide[d])) * strides[d];
        }
        y[offset] += g[at++];
    }
}

template <class T>
diopiError_t select_backward(diopiContextHandle_t ctx, const TrueOnes& ones, ShapeView wide, const View& grad,
                             const View& out) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad);
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    if (std::ranges::equal(out.shape, wide))
        spread_true(ones, g, y);
    else
        add_true(ones, wide, out, g, y);
    return staging.finish();
}

diopiError_t masked_select_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t mask) {
    const View y = view(grad_input), g = view(grad_output), x = view(input);
    View is;
    Shape wide;
    diopiError_t error = check_shape(op, "grad_input", y, x.shape);
    if (error == diopiSuccess) error = check_computable(op, "grad_input", y);
    if (error == diopiSuccess) error = check_computable(op, "grad_output", g);
    if (error == diopiSuccess) error = read_mask(ctx, op, view(mask), x, wide, is);
    if (error != diopiSuccess) return error;
    const TrueOnes ones(is);
    error = check_shape(op, "grad_output", g, Shape{ones.count});
    if (error != diopiSuccess || y.numel == 0) return error;
    const Dtype sums = dtype_of_sum(y.dtype, is.numel / y.numel);
    const bool is_double = g.dtype == Dtype::float64 || sums == Dtype::float64;
    return (is_double ? select_backward<double> : select_backward<float>)(ctx, ones, wide, g, y);
}

/// The coordinates of the true ones of a part, row by row of the last dim.
void write_places(const TrueOnes& ones, ShapeView shape, int64_t first, int64_t end, int64_t* out) {
    const size_t rank = shape.size();
    std::array<int64_t, kMaxRank> at{};
    for (size_t d = rank, rest = static_cast<size_t>(first); d-- > 0; rest /= static_cast<size_t>(shape[d])) {
        at[d] = static_cast<int64_t>(rest % static_cast<size_t>(shape[d]));
    }
    for (int64_t i = first; i < end;) {
        const int64_t last = std::min(end, i + shape[rank - 1] - at[rank - 1]);
        for (; i < last; ++i, ++at[rank - 1]) {
            if (ones.is[i] == 0) continue;
            out = std::copy_n(at.begin(), rank, out);
        }
        for (size_t d = rank - 1; d > 0 && at[d] == shape[d]; --d) {
            at[d] = 0;
            ++at[d - 1];
        }
    }
}

diopiError_t nonzero(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* out,
                     diopiConstTensorHandle_t input) {
    const View x = view(input);
    View is;
    diopiError_t error = check_rank(op, "input", x);
    if (error == diopiSuccess) error = contiguous_as(ctx, x, Dtype::boolean, is);
    if (error != diopiSuccess) return error;
    const TrueOnes ones(is);
    diopiTensorHandle_t made = nullptr;
    error = make_output(ctx, Shape{ones.count, x.rank()}, Dtype::int64, {}, made);
    if (error != diopiSuccess) return error;
    auto* places = view(made).as<int64_t>();
    if (places != nullptr) {
        ones.for_each_part([&](int64_t first, int64_t end, int64_t at) {
            write_places(ones, x.shape, first, end, places + at * x.rank());
        });
    }
    *out = made;
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/index_true.inc"

}  // namespace diopi::cpu
