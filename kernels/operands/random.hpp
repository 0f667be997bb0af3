/// The arguments of random functions, checked, and the place in a generator's sequence. Shared by the backends cpu and
/// cuda.
#pragma once

#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The place in a generator's sequence where the numbers of a call begin.
struct Sequence {
    uint64_t seed = 0, offset = 0;

    [[nodiscard]] static Sequence of(diopiGeneratorHandle_t generator);
    /// Advances the generator by `numbers` words, rounded up to whole blocks.
    [[nodiscard]] diopiError_t advance(diopiGeneratorHandle_t generator, int64_t numbers) const;
};

[[nodiscard]] diopiError_t check_normal(std::string_view op, const View& inout, double std,
                                        diopiGeneratorHandle_t generator);
/// `input` has a probability for each element.
[[nodiscard]] diopiError_t check_bernoulli(std::string_view op, const View& out, const View& input,
                                           diopiGeneratorHandle_t generator);
/// `p` is the probability of all elements.
[[nodiscard]] diopiError_t check_bernoulli(std::string_view op, const View& out, double p,
                                           diopiGeneratorHandle_t generator);

/// The checks of any function that fills `out`: a generator, and no more dimensions than kernels handle.
[[nodiscard]] diopiError_t check_target(std::string_view op, std::string_view argument, const View& out,
                                        diopiGeneratorHandle_t generator);

}  // namespace diopi::operands
