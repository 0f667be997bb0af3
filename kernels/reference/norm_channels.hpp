/// The channels of a tensor, which batch normalisation and its parts have in common.
#pragma once

#include <cmath>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

/// A tensor as (samples, channels, positions): dimension 1 counts channels, all after it positions.
struct Channels {
    int64_t samples, channels, positions;
    Shape shape;

    explicit Channels(ShapeView input) {
        if (input.size() < 2) refuse("input has shape " + to_string(input) + ", wanted (N, C) or (N, C, ...)");
        samples = input[0];
        channels = input[1];
        positions = numel(input.subspan(2));
        shape = {channels};
    }

    [[nodiscard]] double per_channel() const { return static_cast<double>(samples * positions); }
    /// Offset of sample n's row of channel c.
    [[nodiscard]] int64_t row(int64_t n, int64_t c) const { return (n * channels + c) * positions; }

    /// Sum of term(offset) over the elements of channel c.
    template <class T, class Term>
    [[nodiscard]] T sum(int64_t c, const Term& term) const {
        Sum<T> total;
        for (int64_t n = 0; n < samples; ++n) {
            total += pairwise_sum<T>(positions, [&, first = row(n, c)](int64_t i) { return term(first + i); });
        }
        return total.value();
    }

    /// Calls body(offset) for the elements of channel c.
    template <class Body>
    void for_each(int64_t c, const Body& body) const {
        for (int64_t n = 0; n < samples; ++n) {
            const int64_t first = row(n, c);
#pragma GCC ivdep
            for (int64_t i = 0; i < positions; ++i) body(first + i);
        }
    }
};

template <class Argument>
void require_channels(const Argument& argument, std::string_view name, const Channels& at) {
    if (argument) require_shape(name, argument.shape(), at.shape);
}

/// 1 / sqrt(variance + eps); a channel without variance and without eps gets 0, as in PyTorch. NaN if negative.
template <class T>
T batch_invstd(const T& variance, double eps) {
    using std::sqrt;
    return variance == 0.0 && eps == 0.0 ? T(0) : 1.0 / sqrt(variance + eps);
}

}  // namespace diopi::reference
