/// Dropout: flags as those of Bernoulli numbers, then a product.
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/random.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// x * flag / keep; all zeros where keep is 0.
template <class T>
struct Scaled {
    T keep;
    T operator()(T x, T flag) const { return keep == 0 ? x * T{0} : x * flag / keep; }
};

diopiError_t dropout(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out, diopiTensorHandle_t mask,
                     diopiConstTensorHandle_t input, double p, bool train, diopiGeneratorHandle_t generator) {
    const View y = view(out), x = view(input), flags = view(mask);
    if (const diopiError_t error = check_computable(op, "input", x); error != diopiSuccess) return error;
    if (const diopiError_t error = check_shape(op, "out", y, x.shape); error != diopiSuccess) return error;
    if (!(p >= 0 && p <= 1)) return refuse(op, "p is " + std::to_string(p) + ", wanted 0 to 1");
    if (!train) {
        if (const diopiError_t error = check_rank(op, "input", x); error != diopiSuccess) return error;
        if (out != input && y.numel > 0) copy(x, y);
        return diopiSuccess;
    }
    if (const diopiError_t error = check_target(op, "mask", flags, generator); error != diopiSuccess) return error;
    if (is_complex(flags.dtype)) return unsupported(op, "mask", flags.dtype, "a real dtype");
    if (!broadcasts_to(flags.shape, x.shape)) {
        return wrong_shape(op, "mask", flags.shape, "one that broadcasts to input's " + to_string(x.shape));
    }
    const diopiError_t error = fill_random(
        ctx, flags, generator, [&](const View& to, const Sequence& from) { fill_bernoulli(to, 1 - p, from); });
    if (error != diopiSuccess || y.numel == 0) return error;
    const std::array ins = {x, flags};
    if (wide(x.dtype) == Dtype::float64) {
        const Scaled<double> f{1 - p};
        return for_each_tile(ctx, op, {&y, 1}, ins, binary<double>(Dtype::float64, f));
    }
    const Scaled<float> f{static_cast<float>(1 - p)};
    return for_each_tile(ctx, op, {&y, 1}, ins, binary<float>(Dtype::float32, f));
}

}  // namespace

#include "kernels/entries/random_dropout.inc"

}  // namespace diopi::cpu
