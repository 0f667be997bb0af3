/// Losses over classes: their operands as a kernel walks them, planned on the host.
#pragma once

#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/view.hpp"
#include "kernels/operands/loss.hpp"

namespace diopi::cuda {

/// Refuses a loss, or its gradient, that check_reduced refuses or that has no view in the shape of the samples.
[[nodiscard]] diopiError_t check_samples(const Loss& loss, std::string_view argument, const View& v);

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

/// A view of a tensor with one element for each sample, or one for all: in the shape of the samples, or of input if
/// `with_classes`.
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

/// The logarithm to base 2 of the number of threads that share a sample: several where its classes are neighbours in
/// memory, one where samples are.
[[nodiscard]] int class_slice_bits(const Loss& loss);

/// Whether 16 bytes, `count` neighbouring classes of `v`, can be loaded at once everywhere.
[[nodiscard]] bool has_class_packs(const Loss& loss, const View& v, int count);

/// The number of blocks that sum up over samples; each writes one partial sum.
[[nodiscard]] int64_t sum_blocks(int64_t samples, int slice_bits);

}  // namespace diopi::cuda
