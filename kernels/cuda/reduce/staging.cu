/// Copies of arguments, made and written back.
#include "kernels/cuda/reduce/staging.hpp"

#include "kernels/cuda/copy.hpp"

namespace diopi::cuda {

namespace {

bool fits(const View& tensor, Dtype dtype, Staging::Strides strides) {
    if (tensor.dtype != dtype) return false;
    return strides == Staging::Strides::any || is_contiguous(tensor.shape, tensor.strides);
}

}  // namespace

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
    if (error_ == diopiSuccess) error_ = copy_into(ctx_, op_, given, made);
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
        error_ = copy_into(ctx_, op_, pending_[i].made, pending_[i].target);
    }
    pending_count_ = 0;
    return error_;
}

}  // namespace diopi::cuda
