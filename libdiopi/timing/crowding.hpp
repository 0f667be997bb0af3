/// Whether somebody else works on the cores that this process has.
#pragma once

#include <functional>
#include <utility>

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

    /// `quietest`: the shortest time that the probe is known to take, by another process on the same machine; 0: none.
    explicit Crowding(double quietest = 0, Probe probe = Crowding::probe)
        : quietest_(quietest), probe_(std::move(probe)) {}

    /// What the probe takes now.
    double look(Of of);
    /// The shortest time that is known, in seconds; 0: none.
    [[nodiscard]] double quietest() const { return quietest_; }
    [[nodiscard]] bool is_crowded(double look) const;

 private:
    double quietest_;
    Probe probe_;
};

}  // namespace diopi
