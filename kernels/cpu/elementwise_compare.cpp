/// Truth values of comparisons and of logic. The operands are converted to the dtype to which they promote, and then
/// compared.
#include <algorithm>
#include <atomic>
#include <functional>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

template <class T>
bool is_true(const T& x) {
    return x != T{};
}

using Same = std::equal_to<>;
using Different = std::not_equal_to<>;
using NotLess = std::greater_equal<>;
using Greater = std::greater<>;
using NotGreater = std::less_equal<>;
using Less = std::less<>;

struct Both {
    template <class T>
    bool operator()(const T& a, const T& b) const {
        return is_true(a) & is_true(b);
    }
};
struct Either {
    template <class T>
    bool operator()(const T& a, const T& b) const {
        return is_true(a) | is_true(b);
    }
};
struct IsZero {
    template <class T>
    bool operator()(const T& a) const {
        return !is_true(a);
    }
};
struct IsNan {
    template <class T>
    bool operator()(const T& a) const {
        return a != a;
    }
};

/// F's truth value as an R.
template <class F, class R>
struct Truth {
    template <class... Ts>
    R operator()(const Ts&... xs) const {
        return static_cast<R>(F()(xs...));
    }
};

/// The elements of ins in dtype `common`, compared by F. A number is the last in.
template <class F, size_t kIns>
diopiError_t store_truth(diopiContextHandle_t ctx, std::string_view op, const View& out, std::array<View, kIns> ins,
                         Dtype common, const diopiScalar_t* number_of_call) {
    const auto in_types = [&]<class T, class R>(Dtype compute, Dtype stored) {
        if constexpr (std::is_invocable_v<F, T, T> || kIns == 1) {
            Truth<F, R> f;
            T value{};
            if (number_of_call != nullptr) {
                value = number<T>(*number_of_call);
                ins.back() = element(&value, compute);
            }
            return for_each_tile(ctx, op, {&out, 1}, ins, map_to<kIns, T, R>(compute, stored, f));
        } else {
            return unsupported(op, "input", common, "a real dtype: complex numbers have no order");
        }
    };
    if (out.dtype == Dtype::boolean) {
        const Dtype compute = compute_dtype(common, {}, ins);
        return with_type(compute,
                         [&]<class T>() { return in_types.template operator()<T, Bool>(compute, Dtype::boolean); });
    }
    // A number of the wide type converts to any dtype.
    const Dtype compute = wide(common);
    if (compute == Dtype::float32) return in_types.template operator()<float, float>(compute, compute);
    if (compute == Dtype::float64) return in_types.template operator()<double, double>(compute, compute);
    if (compute == Dtype::int64) return in_types.template operator()<int64_t, int64_t>(compute, compute);
    return in_types.template operator()<std::complex<double>, double>(compute, Dtype::float64);
}

template <class F>
diopiError_t compare(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input, const Other& other) {
    Operands x = operands_of(out, input, other);
    diopiError_t error = read_comparison(op, x);
    if (error == diopiSuccess) error = round_to_half(ctx, x);
    if (error != diopiSuccess) return error;
    return store_truth<F, 2>(ctx, op, x.out, {x.input, x.other}, x.result, x.other_is_number ? &x.number : nullptr);
}

/// Sets the flag in `state` where an element of in[0] is not that of in[1]; writes no out.
template <class T>
void find_difference(void* const*, const void* const* in, int64_t n, const void* state) {
    const auto* a = static_cast<const T*>(in[0]);
    const auto* b = static_cast<const T*>(in[1]);
    int differ = 0;
    for (int64_t i = 0; i < n; ++i) differ |= widened(a[i]) == widened(b[i]) ? 0 : 1;
    if (differ != 0) (*static_cast<std::atomic<bool>* const*>(state))->store(true, std::memory_order_relaxed);
}

/// Elements that are compared before the next ones are, in the first piece and in the last ones: a difference ends the
/// comparison.
constexpr int64_t kFirstPiece = 1 << 11, kLargePiece = 1 << 18;

/// Whether both have one shape and equal elements.
diopiError_t equal(diopiContextHandle_t ctx, std::string_view op, bool* out, diopiConstTensorHandle_t input,
                   diopiConstTensorHandle_t other) {
    Operands operands{{}, view(input), view(other)};
    *out = std::ranges::equal(operands.input.shape, operands.other.shape);
    if (!*out || operands.input.numel == 0) return diopiSuccess;
    operands.result = result_dtype(operands.input, operands.other);
    const int64_t count = operands.input.numel;
    diopiError_t error = require(ctx, operands.input.shape, Dtype::boolean, operands.out);
    if (error == diopiSuccess) error = read_comparison(op, operands);
    if (error == diopiSuccess) error = round_to_half(ctx, operands);
    if (error != diopiSuccess) return error;
    const std::array whole = {operands.input, operands.other};
    const Dtype compute = compute_dtype(operands.result, {}, whole);
    std::atomic<bool> differ = false;
    std::atomic<bool>* const flag = &differ;
    return with_type(compute, [&]<class T>() {
        TileOp tile_op{compute, best<find_difference<T>>(), &flag, Loop::arithmetic};
        // GCC for aarch64 makes no function of a template whose arguments do not depend on T.
        using Narrow = std::conditional_t<std::is_same_v<T, float>, Bfloat16, T>;
        if constexpr (!std::is_same_v<Narrow, T>) tile_op.run_bfloat16 = best<find_difference<Narrow>>();
        tile_op.stored = Dtype::boolean;
        const bool is_dense = std::ranges::all_of(whole, [](const View& v) { return v.is_contiguous(); });
        if (!is_dense) error = for_each_tile(ctx, op, {&operands.out, 1}, whole, tile_op);
        int64_t first = 0, most = kFirstPiece;
        while (is_dense && error == diopiSuccess && first < count && !differ) {
            const DensePart part(std::min(most, count - first));
            const std::array ins = {part.of(whole[0], first), part.of(whole[1], first)};
            const View truths = part.of(operands.out, first);
            error = for_each_tile(ctx, op, {&truths, 1}, ins, tile_op);
            first += part.size;
            most = std::min(2 * most, kLargePiece);
        }
        *out = !differ;
        return error;
    });
}

template <class F>
diopiError_t truth(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                   diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_shape(op, "out", y, x.shape); error != diopiSuccess) return error;
    return store_truth<F, 1>(ctx, op, y, {x}, x.dtype, nullptr);
}

}  // namespace

#include "kernels/entries/elementwise_compare.inc"

}  // namespace diopi::cpu
