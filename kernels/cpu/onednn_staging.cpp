#include "kernels/cpu/onednn_staging.hpp"

#include <algorithm>

namespace diopi::cpu {

Layout layout_of(const View& tensor) {
    const int64_t rank = tensor.rank();
    if (rank < 3 || tensor.is_contiguous()) return Layout::plain;
    int64_t expected = 1;
    const auto matches = [&](int64_t dim) {
        const auto d = static_cast<size_t>(dim);
        const bool ok = tensor.shape[d] == 1 || tensor.strides[d] == expected;
        expected *= tensor.shape[d];
        return ok;
    };
    if (!matches(1)) return Layout::plain;
    for (int64_t d = rank - 1; d >= 2; --d) {
        if (!matches(d)) return Layout::plain;
    }
    return matches(0) ? Layout::channels_last : Layout::plain;
}

void Staging::Ordered::set(const View& tensor, Layout layout) {
    view = tensor;
    if (layout == Layout::plain) {
        std::ranges::copy(tensor.shape, shape.begin());
        std::ranges::copy(tensor.strides, strides.begin());
    } else {
        const size_t rank = tensor.shape.size();
        for (size_t d = 0; d < rank; ++d) {
            const size_t from = d == 0 ? 0 : d + 1 == rank ? 1 : d + 1;
            shape[d] = tensor.shape[from];
            strides[d] = tensor.strides[from];
        }
    }
    view.shape = {shape.data(), tensor.shape.size()};
    view.strides = {strides.data(), tensor.strides.size()};
}

std::byte* Staging::load(const View& tensor, Dtype dtype, Layout layout) {
    if (error_ != diopiSuccess) return nullptr;
    Ordered ordered;
    ordered.set(tensor, layout);
    if (ordered.view.is_contiguous() && ordered.view.dtype == dtype) return tensor.data;
    View made;
    error_ = contiguous_as(ctx_, ordered.view, dtype, made);
    return error_ == diopiSuccess ? made.data : nullptr;
}

std::byte* Staging::open(const View& tensor, Dtype dtype, Layout layout) {
    if (error_ != diopiSuccess) return nullptr;
    Pending& pending = pending_.at(pending_count_);
    pending.target.set(tensor, layout);
    if (pending.target.view.is_contiguous() && tensor.dtype == dtype) return tensor.data;
    error_ = require(ctx_, pending.target.view.shape, dtype, pending.made);
    if (error_ != diopiSuccess) return nullptr;
    ++pending_count_;
    return pending.made.data;
}

std::byte* Staging::workspace(int64_t nbytes) {
    if (error_ != diopiSuccess || nbytes == 0) return nullptr;
    const int64_t shape[] = {nbytes};
    View made;
    error_ = require(ctx_, shape, Dtype::uint8, made);
    return error_ == diopiSuccess ? made.data : nullptr;
}

diopiError_t Staging::finish() {
    if (error_ != diopiSuccess) return error_;
    for (size_t i = 0; i < pending_count_; ++i) copy(pending_[i].made, pending_[i].target.view);
    pending_count_ = 0;
    return diopiSuccess;
}

}  // namespace diopi::cpu
