#include "kernels/cuda/loss_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "kernels/cuda/element/launch.hpp"

namespace diopi::cuda {

diopiError_t check_samples(const Loss& loss, std::string_view argument, const View& v) {
    if (const diopiError_t error = check_reduced(loss, argument, v); error != diopiSuccess) return error;
    if (loss.reduction != ReductionNone || std::ranges::equal(v.shape, loss.sample_shape) || v.is_contiguous()) {
        return diopiSuccess;
    }
    return wrong_shape(loss.op, argument, v.shape, std::to_string(loss.samples()) + " elements");
}

SampleView::SampleView(const Loss& loss, const View& v) : strides_(v.strides.begin(), v.strides.end()), view_(v) {
    strides_.erase(strides_.begin() + static_cast<std::ptrdiff_t>(loss.class_dim()));
    view_.shape = loss.sample_shape;
    view_.strides = strides_;
    view_.numel = loss.samples();
}

ReducedView::ReducedView(const Loss& loss, const View& v, bool with_classes) : view_(v) {
    if (v.numel == 1) {
        strides_.assign(loss.sample_shape.size(), 0);
    } else if (std::ranges::equal(v.shape, loss.sample_shape)) {
        strides_.assign(v.strides.begin(), v.strides.end());
    } else {
        strides_ = contiguous_strides(loss.sample_shape);
    }
    if (with_classes) strides_.insert(strides_.begin() + static_cast<std::ptrdiff_t>(loss.class_dim()), 0);
    view_.shape = with_classes ? loss.input.shape : ShapeView(loss.sample_shape);
    view_.strides = strides_;
    view_.numel = with_classes ? loss.input.numel : loss.samples();
}

int class_slice_bits(const Loss& loss) {
    // Chosen by reading, not measured.
    constexpr int kElementsEach = 3;  // bits
    constexpr int kMostInWarp = 5, kWholeBlock = std::bit_width(kThreads) - 1;
    constexpr int64_t kMuch = 1024;
    const int64_t own = std::abs(loss.class_stride(loss.input));
    for (size_t d = 0; d < loss.input.shape.size(); ++d) {
        const bool is_nearer = loss.input.shape[d] > 1 && std::abs(loss.input.strides[d]) < own;
        if (d != loss.class_dim() && is_nearer) return 0;
    }
    if (loss.classes() > kMuch) return kWholeBlock;
    const int bits = std::bit_width(static_cast<uint64_t>(std::max<int64_t>(loss.classes(), 1) - 1));
    return std::clamp(bits - kElementsEach, 0, kMostInWarp);
}

bool has_class_packs(const Loss& loss, const View& v, int count) {
    if (count == 1 || loss.class_stride(v) != 1 || loss.classes() % count != 0 || !is_aligned(v.data, 16)) return false;
    for (size_t d = 0; d < v.shape.size(); ++d) {
        if (d != loss.class_dim() && v.shape[d] > 1 && v.strides[d] % count != 0) return false;
    }
    return true;
}

int64_t sum_blocks(int64_t samples, int slice_bits) {
    constexpr int64_t kMostPartials = 1024;
    const int64_t threads = std::min(samples, int64_t{kThreads} * kMostPartials) << slice_bits;
    return std::clamp<int64_t>((threads + kThreads - 1) / kThreads, 1, kMostPartials);
}

}  // namespace diopi::cuda
