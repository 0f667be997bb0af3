/// A logarithmic axis of a plot.
#pragma once

#include <cstddef>
#include <vector>

namespace diopi {

struct LogAxis {
    double low = 1, high = 10;  ///< above 0

    /// 0 at `low`, 1 at `high`; a value beyond them is at that end.
    [[nodiscard]] double place(double value) const;
    /// The powers of ten on the axis, every second or third one if there are more than `most`.
    [[nodiscard]] std::vector<double> powers(size_t most) const;
};

}  // namespace diopi
