/// The operators' view of a tensor, and the loop that all of them use.
#pragma once

#include <diopi/functions.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace vendor {

using Sizes = std::vector<int64_t>;

/// Shape, strides in elements, and the first element.
struct Tensor {
    void* data = nullptr;
    Sizes sizes, strides;
    diopiDtype_t dtype = diopi_dtype_unsupported;

    template <class T>
    [[nodiscard]] T* as() const {
        return static_cast<T*>(data);
    }
};

inline Tensor describe(diopiConstTensorHandle_t handle) {
    Tensor tensor;
    diopiSize_t sizes, strides;
    const void* data = nullptr;
    diopiGetTensorDataConst(handle, &data);
    diopiGetTensorShape(handle, &sizes);
    diopiGetTensorStride(handle, &strides);
    diopiGetTensorDtype(handle, &tensor.dtype);
    tensor.data = const_cast<void*>(data);
    tensor.sizes.assign(sizes.data, sizes.data + sizes.len);
    tensor.strides.assign(strides.data, strides.data + strides.len);
    return tensor;
}

/// The tensor's strides in a loop over `sizes`, to which it broadcasts: 0 where one element serves all.
inline Sizes broadcast_strides(const Tensor& tensor, const Sizes& sizes) {
    Sizes strides(sizes.size(), 0);
    const size_t missing = sizes.size() - tensor.sizes.size();
    for (size_t dim = 0; dim < tensor.sizes.size(); ++dim) {
        if (tensor.sizes[dim] != 1) strides[missing + dim] = tensor.strides[dim];
    }
    return strides;
}

/// Calls function(offsets) for every index of `sizes`, with the element's offset in each of N tensors.
template <size_t N, class Function>
void for_each(const Sizes& sizes, const std::array<Sizes, N>& strides, const Function& function) {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
    Sizes index(sizes.size(), 0);
    std::array<int64_t, N> at{};
    for (size_t dim = sizes.size();; dim = sizes.size()) {
        function(at);
        // The next index: a dim at its end starts again and the dim before it advances.
        do {
            if (dim-- == 0) return;
            index[dim] = (index[dim] + 1) % sizes[dim];
            const int64_t step = index[dim] == 0 ? 1 - sizes[dim] : 1;
            for (size_t k = 0; k < N; ++k) at[k] += step * strides[k][dim];
        } while (index[dim] == 0);
    }
}

/// Calls run(T()) with the element type of all tensors; declines dtypes other than float32 and float64.
template <class Run, class... Tensors>
diopiError_t with_type(const Run& run, const Tensor& first, const Tensors&... others) {
    if (((others.dtype != first.dtype) || ...)) return diopiDtypeNotSupported;
    if (first.dtype == diopi_dtype_float32) return run(float());
    if (first.dtype == diopi_dtype_float64) return run(double());
    return diopiDtypeNotSupported;
}

/// out = function(input), element by element.
template <class Function>
diopiError_t map(const Tensor& out, const Tensor& input, const Function& function) {
    const auto run = [&](auto type) {
        using T = decltype(type);
        for_each<2>(out.sizes, {out.strides, input.strides},
                    [&](const auto& at) { out.as<T>()[at[0]] = function(input.as<T>()[at[1]]); });
        return diopiSuccess;
    };
    return with_type(run, out, input);
}

/// out = function(input, other), which broadcast to the shape of out.
template <class Function>
diopiError_t map(const Tensor& out, const Tensor& input, const Tensor& other, const Function& function) {
    const auto run = [&](auto type) {
        using T = decltype(type);
        const Sizes first = broadcast_strides(input, out.sizes), second = broadcast_strides(other, out.sizes);
        for_each<3>(out.sizes, {out.strides, first, second},
                    [&](const auto& at) { out.as<T>()[at[0]] = function(input.as<T>()[at[1]], other.as<T>()[at[2]]); });
        return diopiSuccess;
    };
    return with_type(run, out, input, other);
}

}  // namespace vendor
