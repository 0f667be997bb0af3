/// Values between two others.
#include <cmath>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// a + w (b - a), from the end that is nearer. Source: torch.lerp.
template <class T>
T between(T a, T b, T w) {
    const bool is_near = std::fabs(w) < T(0.5);
    const T from = is_near ? a : b, share = is_near ? w : w - 1;
    return from + share * (b - a);
}

template <class T>
struct Lerp {
    T operator()(T a, T b, T w) const { return between(a, b, w); }
};

/// The same with one weight for all.
template <class T>
struct LerpBy {
    T weight;
    T operator()(T a, T b) const { return between(a, b, weight); }
};

diopiError_t lerp(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t input, diopiConstTensorHandle_t end, const Other& weight) {
    const View y = view(out);
    std::vector<View> ins = {view(input), view(end)};
    if (weight.tensor != nullptr) ins.push_back(view(weight.tensor));
    Dtype result{};
    if (const diopiError_t error = check_lerp(op, ins, result); error != diopiSuccess) return error;
    const auto in_type = [&]<class T>(Dtype compute) {
        if (weight.tensor == nullptr) {
            const LerpBy<T> f{number<T>(*weight.number)};
            return for_each_tile(ctx, op, {&y, 1}, ins, binary<T>(compute, f));
        }
        const Lerp<T> f;
        return for_each_tile(ctx, op, {&y, 1}, ins, ternary<T>(compute, f));
    };
    if (wide(result) == Dtype::float64) return in_type.template operator()<double>(Dtype::float64);
    return in_type.template operator()<float>(Dtype::float32);
}

}  // namespace

#include "kernels/entries/elementwise_lerp.inc"

}  // namespace diopi::cpu
