/// exp, forward and in place.
#include <cmath>

#include "tensor.hpp"

using namespace vendor;

extern "C" {

diopiError_t diopiExp(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const Tensor to = describe(out), from = describe(input);
    int64_t numel = 0;
    diopiGetTensorNumel(input, &numel);
    const auto run = [&](auto type) {
        using T = decltype(type);
        for (int64_t i = 0; i < numel; ++i) to.as<T>()[i] = std::exp(from.as<T>()[i]);
        return diopiSuccess;
    };
    return with_type(run, to, from);
}

diopiError_t diopiExpInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiExp(ctx, input, input); }

}  // extern "C"
