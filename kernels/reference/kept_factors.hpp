/// Factors of a sum of products that an implementation may keep in the format of the tensors: the shares of keys, their
/// gradients, the gated numbers of a feed-forward layer. Their roundings are random and independent, so they nearly
/// cancel in long sums, where the sum of their magnitudes would let zeros pass.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "kernels/reference/inexact.hpp"

namespace diopi::reference {

/// The factors as they may be kept; none where that rounds nothing.
inline std::vector<double> kept_factors(const std::vector<double>&) { return {}; }
inline std::vector<Inexact> kept_factors(const std::vector<Inexact>& factors) {
    std::vector<Inexact> kept;
    if (!rounds_what_it_keeps()) return kept;
    kept.reserve(factors.size());
    std::ranges::transform(factors, std::back_inserter(kept), [](const Inexact& x) { return maybe_kept(x); });
    return kept;
}

/// The error that keeping adds to a factor.
inline double error_of_keeping(const Inexact& factor, const Inexact& kept) {
    return std::isfinite(factor.error) ? kept.error - factor.error : 0;
}

/// How many factors are rounded alike, at most: `values`, which are reordered, have magnitudes that are equal in 3 bits
/// more than the format of the tensors has. Zeros are not rounded.
inline double rounded_alike(std::vector<double>& values) {
    const int digits = -std::ilogb(kept_format.roundoff);
    const auto bucket = [drop = 52 - digits - 3](double x) { return std::bit_cast<uint64_t>(std::fabs(x)) >> drop; };
    std::ranges::sort(values, {}, bucket);
    int64_t most = 1;
    for (auto first = values.begin(); first != values.end();) {
        const auto last = std::find_if(first, values.end(), [&](double x) { return bucket(x) != bucket(*first); });
        if (*first != 0) most = std::max<int64_t>(most, last - first);
        first = last;
    }
    return static_cast<double>(most);
}

/// The error of a sum of products: `sum` is that of |e_j b_j|, `squares` that of (e_j b_j)^2, where e_j is the rounding
/// of a factor, and at most `alike` of them are the same. The roundings lie evenly between -e_j and e_j: four times the
/// root is seven standard deviations.
inline double error_of_kept(double sum, double squares, double alike) {
    return std::min(sum, 4 * std::sqrt(alike * squares));
}

}  // namespace diopi::reference
