/// Copies of arguments, made and written back.
#include "kernels/cuda/reduce_staging.hpp"

#include "kernels/cuda/elementwise.cuh"

namespace diopi::cuda {

namespace {

template <class C>
struct Same {
    __device__ C operator()(C x) const { return x; }
};

bool fits(const View& tensor, Dtype dtype, Staging::Strides strides) {
    if (tensor.dtype != dtype) return false;
    return strides == Staging::Strides::any || is_contiguous(tensor.shape, tensor.strides);
}

}  // namespace

bool is_computable(Dtype dtype) { return is_half(dtype) || dtype == Dtype::float32 || dtype == Dtype::float64; }

diopiError_t cast(diopiContextHandle_t ctx, std::string_view op, const View& from, const View& to) {
    const bool is_wide = from.dtype == Dtype::float64 || to.dtype == Dtype::float64;
    return is_wide ? map<double, 1>(ctx, op, to, {from}, Same<double>{})
                   : map<float, 1>(ctx, op, to, {from}, Same<float>{});
}

diopiError_t fill(diopiContextHandle_t ctx, std::string_view op, const View& to, double value) {
    return with_compute_type(to.dtype, [&]<class C>() {
        return map<C, 1>(ctx, op, to, {number_view(to.dtype)}, Same<C>{}, {static_cast<C>(value)});
    });
}

View Staging::made_like(const View& tensor, Dtype dtype) {
    View made;
    if (error_ == diopiSuccess) error_ = require(ctx_, tensor.shape, dtype, made);
    return made;
}

View Staging::in(diopiConstTensorHandle_t tensor, Dtype dtype, Strides strides) {
    if (tensor == nullptr) return {};
    const View given = view(tensor);
    if (fits(given, dtype, strides)) return given;
    const View made = made_like(given, dtype);
    if (error_ == diopiSuccess) error_ = cast(ctx_, op_, given, made);
    return made;
}

View Staging::out(diopiTensorHandle_t tensor, Dtype dtype, Strides strides) {
    if (tensor == nullptr) return {};
    const View given = view(tensor);
    if (fits(given, dtype, strides)) return given;
    const View made = made_like(given, dtype);
    pending_.at(pending_count_++) = {made, given};
    return made;
}

View Staging::buffer(int64_t count, Dtype dtype) {
    const int64_t shape[] = {count};
    View made;
    if (error_ == diopiSuccess) error_ = require(ctx_, shape, dtype, made);
    return made;
}

diopiError_t Staging::finish() {
    for (size_t i = 0; i < pending_count_ && error_ == diopiSuccess; ++i) {
        error_ = cast(ctx_, op_, pending_[i].made, pending_[i].target);
    }
    pending_count_ = 0;
    return error_;
}

}  // namespace diopi::cuda
