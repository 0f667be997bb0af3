/// How long a call takes: warm-up, samples until the median is known well enough, order statistics (docs/profile.md).
#pragma once

#include <string_view>
#include <vector>

#include "call/chain.hpp"
#include "core/status.hpp"

namespace diopi {

struct TimingOptions {
    double max_seconds = 2;  ///< for the samples of one call
    double max_warmup_seconds = 1;
    double wanted_interval = 0.005;  ///< half width of the median's 95% interval, relative
    int min_samples = 20;
    int min_short_samples = 100;  ///< for a call below kShortCall
};

/// Below this a sample is a batch of calls.
inline constexpr double kShortCall = 10e-6;

enum class Stop { kConverged, kTimeLimit };
/// "converged", "time limit".
[[nodiscard]] std::string_view name(Stop stop);

/// Seconds per call.
struct Timing {
    double min = 0, q1 = 0, median = 0, q3 = 0;
    double low = 0, high = 0;  ///< 95% interval of the median, from order statistics
    int64_t samples = 0;
    int64_t batch = 1;   ///< calls per sample
    int64_t warmup = 0;  ///< calls before the first sample
    Stop stop = Stop::kConverged;
};

/// Order statistics of samples (not empty; the order does not matter).
[[nodiscard]] Timing summarize(std::vector<double> samples);

/// Times the call on the context's device with its events. The call is repeated as it is: in-out tensors keep changing.
[[nodiscard]] Result<Timing> time_call(const Chain& chain, Call& call, Context& context, const TimingOptions& options);

}  // namespace diopi
