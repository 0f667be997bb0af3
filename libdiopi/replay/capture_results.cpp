#include "replay/capture_results.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "check/figures.hpp"
#include "check/oracle.hpp"

namespace diopi {

namespace {

/// Converts to one dim; a complex number becomes two elements.
Tensor in_float64(const Tensor& host) {
    Tensor wide = to_oracle(host, is_complex(host.dtype) ? Dtype::complex128 : Dtype::float64);
    wide.shape = {wide.numel() * (is_complex(host.dtype) ? 2 : 1)};
    wide.strides = {1};
    wide.dtype = Dtype::float64;
    return wide;
}

}  // namespace

Result<std::vector<TensorPtr>> results_of(const CaptureReplay& replay, Context& context) {
    std::vector<TensorPtr> results;
    for (const size_t tensor : replay.results()) {
        auto host = to_host(*context.device, context.stream, replay.placed(tensor));
        if (!host.ok()) return host.error();
        results.push_back(std::move(*host));
    }
    return results;
}

ResultDistance distance_of(const Tensor& actual, const Tensor& expected, double tolerance) {
    ResultDistance distance;
    distance.same = actual.nbytes() == 0 || std::memcmp(actual.data(), expected.data(), actual.nbytes()) == 0;
    if (distance.same) return distance;
    const Tensor ours = in_float64(actual), theirs = in_float64(expected);
    const double scale = figures_of(theirs).rms();
    for (int64_t i = 0; i < theirs.numel(); ++i) {
        const double a = ours.data_as<double>()[i], e = theirs.data_as<double>()[i];
        if (a == e || (std::isnan(a) && std::isnan(e))) continue;
        const double gap = std::fabs(a - e);
        const double most = tolerance * (scale + std::fabs(e));
        if (!(gap <= most)) distance.within = false;
        // NaN is kept: std::fmax would drop it for the next number.
        if (!std::isnan(distance.max_abs)) distance.max_abs = std::isnan(gap) ? gap : std::max(distance.max_abs, gap);
        if (e != 0 && !std::isnan(gap)) distance.max_rel = std::max(distance.max_rel, gap / std::fabs(e));
    }
    return distance;
}

const std::string& title_of(const CapturedTensor& tensor) { return tensor.label.empty() ? tensor.id : tensor.label; }

}  // namespace diopi
