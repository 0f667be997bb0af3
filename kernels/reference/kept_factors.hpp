/// Factors of a sum of products that an implementation may keep in the format of the tensors: the shares of keys, their
/// gradients, the gated numbers of a feed-forward layer. Their roundings are random and independent, so they nearly
/// cancel in long sums, where the sum of their magnitudes would let zeros pass.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/reference/inexact.hpp"

namespace diopi::reference {

/// The error that keeping adds to a factor.
inline double error_of_keeping(double, double) { return 0; }
inline double error_of_keeping(const Inexact& factor, const Inexact& kept) {
    return std::isfinite(factor.error) ? kept.error - factor.error : 0;
}

/// The errors of the factors; none where keeping rounds nothing.
inline std::vector<double> errors_of_keeping(const std::vector<double>&) { return {}; }
inline std::vector<double> errors_of_keeping(const std::vector<Inexact>& factors) {
    std::vector<double> errors;
    if (!rounds_what_it_keeps()) return errors;
    errors.reserve(factors.size());
    for (const Inexact& x : factors) errors.push_back(error_of_keeping(x, maybe_kept(x)));
    return errors;
}

/// Counts the factors that are rounded alike: those whose magnitudes are equal in 3 bits more than the format of the
/// tensors has.
class AlikeCount {
 public:
    /// How many of the values are alike, at most. Zeros are not rounded.
    double most_of(std::span<const double> values) {
        const size_t places = std::bit_ceil(2 * values.size() + 1);
        if (kinds_.size() != places) kinds_.assign(places, {});
        ++list_;
        const int dropped = 52 - 3 + std::ilogb(kept_format.roundoff);
        uint32_t most = 1;
        for (const double x : values) {
            const uint64_t kind = std::bit_cast<uint64_t>(std::fabs(x)) >> dropped;
            if (x == 0) continue;
            // Fibonacci hashing; at most half of the places are taken.
            size_t at = (kind * 0x9e3779b97f4a7c15) >> 32 & (places - 1);
            while (kinds_[at].list == list_ && kinds_[at].kind != kind) at = (at + 1) & (places - 1);
            Kind& found = kinds_[at];
            found = {kind, found.list == list_ ? found.count + 1 : 1, list_};
            most = std::max(most, found.count);
        }
        return most;
    }

 private:
    struct Kind {
        uint64_t kind = 0;
        uint32_t count = 0;
        uint32_t list = 0;  ///< the number of the list that it is of: the kinds of earlier ones are none
    };
    std::vector<Kind> kinds_;  ///< a table with open addressing
    uint32_t list_ = 0;
};

/// The error of a sum of products: `sum` is that of |e_j b_j|, `squares` that of (e_j b_j)^2, where e_j is the rounding
/// of a factor, and at most `alike` of them are the same. The roundings lie evenly between -e_j and e_j: four times the
/// root is seven standard deviations.
inline double error_of_kept(double sum, double squares, double alike) {
    return std::min(sum, 4 * std::sqrt(alike * squares));
}

}  // namespace diopi::reference
