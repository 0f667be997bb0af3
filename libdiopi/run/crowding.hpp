/// Whether somebody else works on the cores that this process has.
#pragma once

#include <functional>
#include <limits>

namespace diopi {

/// A rented machine's cores have a second thread, which may be another guest's: for milliseconds, or for minutes, what
/// fills the execution units then takes half again as long. No clock shows it, neither stolen time nor operations that
/// wait for each other. A short piece of work that fills the units does.
class Crowding {
 public:
    /// Whose cores: this thread's, or those of all threads of OpenMP.
    enum class Of { kThread, kAll };
    using Probe = std::function<double(Of)>;

    /// Seconds of such a piece of work, some 30 us; of the slowest where all do it at once.
    [[nodiscard]] static double probe(Of of);

    /// The shortest time that the probe is known to take, if any: by this process or by another on the same machine.
    explicit Crowding(double quietest = std::numeric_limits<double>::infinity(), Probe probe = Crowding::probe)
        : quietest_(quietest), probe_(std::move(probe)) {}

    /// What the probe takes now.
    double look(Of of);
    /// The shortest look, in seconds; infinite before the first.
    [[nodiscard]] double quietest() const { return quietest_; }
    [[nodiscard]] bool is_crowded(double look) const;

 private:
    double quietest_;
    Probe probe_;
};

}  // namespace diopi
