/// A row of a profile's table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "check/statistics.hpp"
#include "profile_data/profile_record.hpp"

namespace diopi {

/// All times are seconds of one pass: the sum of the calls' medians.
struct ProfileRow {
    std::string name, phase, dtype, shapes, case_id;
    int depth = 0;    ///< number of layers around a layer; its row follows theirs
    size_t rank = 0;  ///< rank by the key of the sort; 0: the largest
    int64_t calls = 0;
    double self_cpu = 0, total_cpu = 0;         ///< without and with the calls inside
    double self_device = 0, total_device = 0;   ///< 0 without a device's time
    int64_t self_memory = 0, total_memory = 0;  ///< allocated and not freed
    int64_t allocated = 0, freed = 0;
    double time = 0;  ///< the calls' own total by the clock that counts
    double roof = 0;  ///< the least time that the machine needs for them; 0: no roof
    double flops = 0, bytes = 0;
    double median = 0;       ///< median over the calls' times
    double uncertainty = 0;  ///< half the 95% interval, relative
    bool launch_bound = false, invalid = false;
    std::string stop;  ///< why the samples ended, for all calls or for the one that ended first
    /// The comparison with a baseline or another implementation, of the row's only call or of its worst one; null
    /// without one.
    const SpeedComparison* comparison = nullptr;
    double compared_time = 0, base_time = 0;  ///< the time of the calls that both sides have, and the other side's

    /// 1 means as fast as the roof allows.
    [[nodiscard]] double share_of_roof() const { return time > 0 ? roof / time : 0; }
    /// The comparison's ratio, or that of the times where the row has several calls. 0: nothing was compared.
    [[nodiscard]] double ratio() const {
        if (comparison == nullptr) return 0;
        return sums_ratio() ? compared_time / base_time : comparison->ratio.value;
    }
    [[nodiscard]] bool sums_ratio() const { return calls > 1 && base_time > 0; }
};

/// "[[2, 3], []]"
[[nodiscard]] std::string shapes_text(const ProfiledCall& call);

}  // namespace diopi
