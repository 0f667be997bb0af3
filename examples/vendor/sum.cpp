/// sum over dims.
#include "tensor.hpp"

using namespace vendor;

namespace {

/// Strides of out in a loop over the input's sizes: 0 along the reduced dims, which have size 1 in out or are missing.
Sizes reduced_strides(const Tensor& out, const Tensor& input, diopiSize_t dims) {
    const auto rank = static_cast<int64_t>(input.sizes.size());
    std::vector<bool> is_reduced(input.sizes.size(), dims.len == 0);
    for (int64_t i = 0; i < dims.len; ++i) {
        if (rank > 0) is_reduced[static_cast<size_t>((dims.data[i] + rank) % rank)] = true;
    }
    const bool is_kept = out.sizes.size() == input.sizes.size();
    Sizes strides(input.sizes.size(), 0);
    size_t next = 0;
    for (size_t dim = 0; dim < strides.size(); ++dim) {
        if (!is_reduced[dim]) strides[dim] = out.strides[next];
        if (!is_reduced[dim] || is_kept) ++next;
    }
    return strides;
}

}  // namespace

extern "C" diopiError_t diopiSum(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiSize_t dim) {
    const Tensor to = describe(out), from = describe(input);
    const auto run = [&](auto type) {
        using T = decltype(type);
        for_each<1>(to.sizes, {to.strides}, [&](const auto& at) { to.as<T>()[at[0]] = 0; });
        for_each<2>(from.sizes, {reduced_strides(to, from, dim), from.strides},
                    [&](const auto& at) { to.as<T>()[at[0]] += from.as<T>()[at[1]]; });
        return diopiSuccess;
    };
    return with_type(run, to, from);
}
