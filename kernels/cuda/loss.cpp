#include "kernels/cuda/loss.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "kernels/cuda/launch.hpp"

namespace diopi::cuda {

namespace {

diopiError_t read_weights(Loss& loss) {
    if (loss.weight == nullptr) return diopiSuccess;
    loss.weights = view(loss.weight);
    const ShapeView wanted = loss.input.shape.subspan(loss.class_dim(), 1);
    if (!std::ranges::equal(loss.weights.shape, wanted)) {
        return wrong_shape(loss.op, "weight", loss.weights.shape, to_string(wanted));
    }
    if (is_complex(loss.weights.dtype)) return unsupported(loss.op, "weight", loss.weights.dtype, "a real dtype");
    return diopiSuccess;
}

}  // namespace

bool Loss::has_probabilities() const {
    return is_floating(target.dtype) && std::ranges::equal(target.shape, input.shape);
}

diopiError_t read_loss(Loss& loss) {
    const View& x = loss.input;
    if (!is_computable(x.dtype)) return unsupported(loss.op, "input", x.dtype, "a floating dtype");
    if (x.shape.empty()) return wrong_shape(loss.op, "input", x.shape, "(C) or (N, C, ...)");
    if (x.shape.size() > kMaxRank) return wrong_shape(loss.op, "input", x.shape, "at most 16 dimensions");
    if (loss.reduction < ReductionNone || loss.reduction > ReductionSum) {
        return fail(diopiErrorOccurred, std::string(loss.op) + ": reduction is " + std::to_string(loss.reduction) +
                                            ", wanted none, mean or sum");
    }
    loss.sample_shape.assign(x.shape.begin(), x.shape.end());
    loss.sample_shape.erase(loss.sample_shape.begin() + static_cast<std::ptrdiff_t>(loss.class_dim()));
    if (const diopiError_t error = read_weights(loss); error != diopiSuccess) return error;
    if (loss.has_probabilities()) return diopiSuccess;
    if (!is_integer(loss.target.dtype)) {
        return unsupported(loss.op, "target", loss.target.dtype, "int64, or probabilities in the shape of input");
    }
    if (!std::ranges::equal(loss.target.shape, loss.sample_shape)) {
        return wrong_shape(loss.op, "target", loss.target.shape, to_string(loss.sample_shape));
    }
    return diopiSuccess;
}

diopiError_t check_reduced(const Loss& loss, std::string_view argument, const View& v) {
    if (is_complex(v.dtype)) return unsupported(loss.op, argument, v.dtype, "a real dtype");
    if (loss.reduction != ReductionNone) {
        return v.numel == 1 ? diopiSuccess : wrong_shape(loss.op, argument, v.shape, "1 elements");
    }
    const bool has_all = v.numel == loss.samples();
    if (has_all && (std::ranges::equal(v.shape, loss.sample_shape) || v.is_contiguous())) return diopiSuccess;
    return wrong_shape(loss.op, argument, v.shape, std::to_string(loss.samples()) + " elements");
}

diopiError_t read_gradient(Loss& loss, const View& grad_input, const View& grad_output) {
    if (const diopiError_t error = read_loss(loss); error != diopiSuccess) return error;
    if (const diopiError_t error = check_reduced(loss, "grad_output", grad_output); error != diopiSuccess) {
        return error;
    }
    if (!std::ranges::equal(grad_input.shape, loss.input.shape)) {
        return wrong_shape(loss.op, "grad_input", grad_input.shape, to_string(loss.input.shape));
    }
    if (is_complex(grad_input.dtype)) return unsupported(loss.op, "grad_input", grad_input.dtype, "a real dtype");
    return diopiSuccess;
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
    // Chosen by reading, not measured: no GPU was available.
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
