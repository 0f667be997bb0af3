/// Truth values of comparisons and of logic. The operands are converted to the dtype to which they promote, and then
/// compared.
#include <algorithm>
#include <cstring>
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

/// Whether both have one shape and equal elements.
diopiError_t equal(diopiContextHandle_t ctx, std::string_view op, bool* out, diopiConstTensorHandle_t input,
                   diopiConstTensorHandle_t other) {
    const View x = view(input), y = view(other);
    *out = std::ranges::equal(x.shape, y.shape);
    if (!*out || x.numel == 0) return diopiSuccess;
    Operands operands{{}, x, y};
    operands.result = result_dtype(x, y);
    if (const diopiError_t error = require(ctx, x.shape, Dtype::boolean, operands.out); error != diopiSuccess)
        return error;
    diopiError_t error = read_comparison(op, operands);
    if (error == diopiSuccess) error = round_to_half(ctx, operands);
    if (error == diopiSuccess) {
        const std::array ins = {operands.input, operands.other};
        error = store_truth<Same, 2>(ctx, op, operands.out, ins, operands.result, nullptr);
    }
    if (error != diopiSuccess) return error;
    const auto* truths = operands.out.as<const uint8_t>();
    *out = std::memchr(truths, 0, static_cast<size_t>(x.numel)) == nullptr;
    return diopiSuccess;
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
