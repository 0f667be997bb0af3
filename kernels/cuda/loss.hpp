/// Losses over classes: their arguments, read and checked on the host.
#pragma once

#include "kernels/cuda/nest.hpp"
#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// The arguments that all losses share. Classes are dimension 1 of input, or dimension 0 of a 1-dim one; every element
/// of the other dimensions is a sample.
struct Loss {
    std::string_view op;
    View input, target;
    diopiConstTensorHandle_t weight = nullptr;
    diopiReduction_t reduction = ReductionMean;
    int64_t ignore_index = -100;
    double smoothing = 0;  ///< 0 when there is none
    // Set by read_loss.
    Shape sample_shape{};
    View weights{};  ///< without data where there are none

    [[nodiscard]] size_t class_dim() const { return input.shape.size() == 1 ? 0 : 1; }
    [[nodiscard]] int64_t classes() const { return input.shape[class_dim()]; }
    [[nodiscard]] int64_t samples() const { return numel(sample_shape); }
    /// The target is a share for each class, in the shape of input.
    [[nodiscard]] bool has_probabilities() const;
    /// Between the classes of a tensor in the shape of input.
    [[nodiscard]] int64_t class_stride(const View& v) const { return v.strides[class_dim()]; }
};

/// Completes `loss`. Refuses what the losses cannot take.
[[nodiscard]] diopiError_t read_loss(Loss& loss);
/// The loss, or its gradient, is one element, or one for each sample under ReductionNone.
[[nodiscard]] diopiError_t check_reduced(const Loss& loss, std::string_view argument, const View& v);
/// read_loss, and what the backward functions share.
[[nodiscard]] diopiError_t read_gradient(Loss& loss, const View& grad_input, const View& grad_output);

/// The first class of each sample of a tensor in the shape of input: a view in the shape of the samples.
class SampleView {
 public:
    SampleView(const Loss& loss, const View& v);
    SampleView(const SampleView&) = delete;
    SampleView& operator=(const SampleView&) = delete;
    operator const View&() const { return view_; }

 private:
    Shape strides_;
    View view_;
};

/// A tensor with one element for each sample, or one for all, seen in the shape of the samples, or, where
/// `with_classes`, in the shape of input.
class ReducedView {
 public:
    ReducedView(const Loss& loss, const View& v, bool with_classes);
    ReducedView(const ReducedView&) = delete;
    ReducedView& operator=(const ReducedView&) = delete;
    operator const View&() const { return view_; }

 private:
    Shape strides_;
    View view_;
};

/// Bits of the number of threads that share the classes of a sample: several where a sample's classes are neighbours
/// in memory, one where samples are.
[[nodiscard]] int class_slice_bits(const Loss& loss);

/// Whether `count` neighbouring classes of `v` can be loaded at once, 16 bytes, everywhere.
[[nodiscard]] bool has_class_packs(const Loss& loss, const View& v, int count);

/// Blocks that sum up over samples; each leaves one partial sum.
[[nodiscard]] int64_t sum_blocks(int64_t samples, int slice_bits);

}  // namespace diopi::cuda
