/// The measurements of a profile: calls with their raw samples, and the roofs of the machine. Table, trace, JSON and
/// HDF5 are made from it, whether it is of cases, of a model, or of a capture's replay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "runtime/activity.hpp"

namespace diopi {

/// One sample of a call. All times are seconds per call.
struct TimedRun {
    double start = 0;   ///< since the profile's beginning, by the host's clock
    double cpu = 0;     ///< from the begin of the call to its return on the host
    double device = 0;  ///< between the device's events around it; 0 on a device without a clock of its own
    /// The pass over all calls that it belongs to. Samples of one pass share the machine's noise: passes are
    /// independent, samples are not. In the replay of a capture each run is a pass.
    int64_t pass = 0;
    double device_start = 0;  ///< since the profile's beginning, by the device's clock; like `device`
    /// The time of a fixed piece of work on all cores around the sample (timing/crowding.hpp), as a multiple
    /// of Profile::quietest; 0: not measured.
    double crowding = 0;
    bool operator==(const TimedRun&) const = default;
};

/// ProfiledCall::stop of a call whose sampling reached its time limit.
inline constexpr std::string_view kTimeLimit = "time limit";

struct ProfiledCall {
    std::string name;      ///< name in tables: "conv2d", "conv2d_backward", a layer
    std::string function;  ///< "diopiConvolution2d"; empty for a row that only encloses others
    std::string overload;  ///< the framework's name, "add.Tensor"; may be empty
    std::string case_id;   ///< "ops/conv_2d.conv2d.3"; empty in the replay of a capture
    int64_t number = 0;    ///< number of the call in its case (0), its capture or its model's step
    std::string phase;     ///< "forward", "inplace", "backward", "optimizer", or empty
    std::string layer;     ///< "layer1.0.conv1"; may be empty
    std::optional<int64_t> forward_id;
    /// Position in Profile::calls of the enclosing row, which precedes it; -1: none.
    int64_t parent = -1;
    std::vector<std::vector<int64_t>> shapes;  ///< shapes of the input tensors, in the order of the arguments
    Dtype dtype = Dtype::float32;              ///< dtype of the first of them
    std::vector<TimedRun> runs;
    int64_t batch = 1;      ///< calls in one sample: TimedRun::cpu and device are their mean
    int64_t warmup = 0;     ///< calls before the first sample
    bool parallel = false;  ///< threads other than the caller's also work for it, on the host
    std::string stop;       ///< "converged", "noise plateau", "time limit"; empty: all requested runs were made
    int64_t allocated = 0;  ///< bytes that one call allocates: outputs and workspace
    int64_t freed = 0;      ///< bytes that it frees again
    double flops = 0;       ///< floating operations of one call; 0: none, or no formula
    double bytes = 0;       ///< bytes that one call must read and write at least; 0: no formula
    std::string error;      ///< the reason why there are no runs
};

/// The best rates of the machine, measured at the start and at the end.
struct Roofs {
    struct Matmul {
        Dtype dtype = Dtype::float32;
        double flops = 0;  ///< per second
    };
    struct Copy {
        int64_t bytes = 0;  ///< bytes read and written by one call
        double rate = 0;    ///< bytes per second
    };
    std::vector<Copy> copies;  ///< ascending sizes: from those that fit in a cache to those that do not
    std::vector<Matmul> matmul;
    double empty_call = 0;    ///< seconds of a call on one element; 0: not measured
    int64_t cache_bytes = 0;  ///< size of the last-level cache; 0: not known
};

/// A kernel or a copy on the device; its times count since the profile's beginning.
struct TracedActivity {
    DeviceActivity activity;
    std::string call;  ///< the call that it belongs to; empty: in a row of calls
    bool operator==(const TracedActivity&) const = default;
};

struct Profile {
    std::string backend;
    std::string mode = "hot";      ///< "hot" or "cold"
    bool has_device_time = false;  ///< the device has a clock of its own
    std::string device_kind;       ///< "CUDA" in the titles of device columns; empty without them
    uint64_t seed = 0;
    Roofs roofs;
    /// Seconds of a fixed piece of the host's own work, measured once per pass: it shows the machine's speed at that
    /// time.
    std::vector<double> pace;
    int64_t left_out = 0;  ///< passes left out because time was over (ProfileOptions::budget_seconds)
    double quietest = 0;   ///< seconds of TimedRun::crowding's work in the quietest moment; 0: not measured
    std::vector<std::string> slowdowns;      ///< reasons why the device was slower than possible, once per occurrence
    std::vector<TracedActivity> activities;  ///< the recorded activities of the device; only for traces
    std::string unrecorded;                  ///< the reason why they could not be recorded
    std::vector<ProfiledCall> calls;         ///< in the order of execution
};

/// A profile, and one of the same calls by another implementation, whose passes alternated with its own.
struct ProfilePair {
    Profile own;
    std::optional<Profile> against;
};

}  // namespace diopi
