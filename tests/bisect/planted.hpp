/// Faults planted in the cpu backend's functions, which the bisection must find.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "backend/backend.hpp"

namespace diopi::bisect_score {

enum class Fault {
    kNone,
    kRecords,  ///< right results; each call adds to recorded_inputs()
    kWrong,    ///< each element of the outputs is 8 x + 8
    kNan,
    kCrash,
    kHang
};
[[nodiscard]] std::string_view name(Fault fault);

/// A weighted sum of the magnitudes of a call's input elements. It identifies the call. Its last digits may change:
/// when an earlier function falls back, its operands have another order in memory, and its sums another order of
/// additions.
using InputSum = double;
/// Whether both are of one call, in spite of such roundings.
[[nodiscard]] inline bool is_same_call(InputSum a, InputSum b) { return std::fabs(a - b) <= 1e-5 * std::fabs(b); }
/// Whether they are surely of two calls.
[[nodiscard]] inline bool is_other_call(InputSum a, InputSum b) { return std::fabs(a - b) > 1e-4 * std::fabs(b); }

/// One function's fault. With an `input` it strikes only that call.
struct Planted {
    const Row* row = nullptr;
    Fault fault = Fault::kNone;
    std::optional<InputSum> input = {};
};

/// Whether there is a faulty function for the row.
[[nodiscard]] bool can_plant(const Row& row);

/// The cpu backend with these faults. A process may have only one, because the faulty functions are plain functions.
class PlantedBackend {
 public:
    explicit PlantedBackend(const std::vector<Planted>& faults);
    ~PlantedBackend();
    PlantedBackend(const PlantedBackend&) = delete;
    PlantedBackend& operator=(const PlantedBackend&) = delete;
    [[nodiscard]] const Backend& backend() const { return backend_; }

 private:
    static std::vector<AnyFunction> table_with(const std::vector<Planted>& faults);

    std::vector<AnyFunction> table_;
    Backend backend_;
};

/// The inputs of each call of a function that records, in order.
[[nodiscard]] const std::vector<InputSum>& recorded_inputs();

}  // namespace diopi::bisect_score
