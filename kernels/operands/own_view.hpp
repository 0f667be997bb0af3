/// Views with sizes and strides of their own: parts of a tensor, and its dims in another order. Shared by the backends
/// cpu and cuda.
#pragma once

#include "kernels/operands/view.hpp"

namespace diopi::operands {

class OwnView {
 public:
    explicit OwnView(const View& v)
        : shape_(v.shape.begin(), v.shape.end()), strides_(v.strides.begin(), v.strides.end()), base_(v) {}

    /// The elements start, start + step, ... of a dim; an empty part has no address.
    OwnView& take(size_t dim, int64_t start, int64_t count, int64_t step = 1) {
        if (count > 0 && base_.data != nullptr) base_.data += start * strides_[dim] * base_.item_size();
        shape_[dim] = count;
        strides_[dim] *= step;
        return *this;
    }
    /// Removes a dim, of which the first element stays.
    OwnView& remove(size_t dim) {
        shape_.erase(shape_.begin() + static_cast<std::ptrdiff_t>(dim));
        strides_.erase(strides_.begin() + static_cast<std::ptrdiff_t>(dim));
        return *this;
    }
    OwnView& insert(size_t dim, int64_t size, int64_t stride) {
        shape_.insert(shape_.begin() + static_cast<std::ptrdiff_t>(dim), size);
        strides_.insert(strides_.begin() + static_cast<std::ptrdiff_t>(dim), stride);
        return *this;
    }
    OwnView& swap(size_t a, size_t b) {
        std::swap(shape_[a], shape_[b]);
        std::swap(strides_[a], strides_[b]);
        return *this;
    }
    [[nodiscard]] int64_t size(size_t dim) const { return shape_[dim]; }
    [[nodiscard]] int64_t stride(size_t dim) const { return strides_[dim]; }
    [[nodiscard]] ShapeView shape() const { return shape_; }

    /// Borrows from this object.
    [[nodiscard]] View view() const {
        View v = base_;
        v.shape = shape_;
        v.strides = strides_;
        v.numel = numel(shape_);
        return v;
    }

 private:
    Shape shape_, strides_;
    View base_;
};

}  // namespace diopi::operands
