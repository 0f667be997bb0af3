/// Faults planted in the cpu backend's functions, which the bisection must find.
#pragma once

#include <cstdint>
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

/// One function's fault. If `input` is not 0, it strikes only calls whose tensors have that hash.
struct Planted {
    const Row* row = nullptr;
    Fault fault = Fault::kNone;
    uint64_t input = 0;
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

/// Hashes of the tensors of each call of a function that records, in order.
[[nodiscard]] const std::vector<uint64_t>& recorded_inputs();

}  // namespace diopi::bisect_score
