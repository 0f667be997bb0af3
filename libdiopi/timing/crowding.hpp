/// Measures whether another guest works on the cores of this process.
#pragma once

#include <functional>
#include <utility>

namespace diopi {

/// A rented machine's cores have a second thread, which may be another guest's: for milliseconds or for minutes, work
/// that fills the execution units then takes 1.5 times as long. Neither a clock nor stolen time nor dependent
/// operations show this. A short piece of work that fills the units does.
class Crowding {
 public:
    /// The measured cores: that of this thread, or those of all threads of OpenMP.
    enum class Of { kThread, kAll };
    using Probe = std::function<double(Of)>;

    /// Seconds of such a piece of work, some 30 us; those of the slowest thread if all do it at once.
    [[nodiscard]] static double probe(Of of);

    /// `quietest`: the shortest time that the probe is known to take, by another process on the same machine; 0: none.
    explicit Crowding(double quietest = 0, Probe probe = Crowding::probe)
        : quietest_(quietest), probe_(std::move(probe)) {}

    /// The current time of the probe.
    double measure(Of of);
    /// The shortest time that is known, in seconds; 0: none.
    [[nodiscard]] double quietest() const { return quietest_; }
    [[nodiscard]] bool is_crowded(double seconds) const;

 private:
    double quietest_;
    Probe probe_;
};

}  // namespace diopi
