/// The product of two matrices.
#include "tensor.hpp"

using namespace vendor;

extern "C" diopiError_t diopiMm(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t mat2) {
    const Tensor to = describe(out), a = describe(input), b = describe(mat2);
    const auto run = [&](auto type) {
        using T = decltype(type);
        for_each<3>(to.sizes, {to.strides, Sizes{a.strides[0], 0}, Sizes{0, b.strides[1]}}, [&](const auto& at) {
            const T *row = a.as<T>() + at[1], *column = b.as<T>() + at[2];
            T sum = row[0] * column[0];
            for (int64_t k = 1; k < a.sizes[1]; ++k) sum += row[k * a.strides[1]] * column[k * b.strides[0]];
            to.as<T>()[at[0]] = sum;
        });
        return diopiSuccess;
    };
    return with_type(run, to, a, b);
}
