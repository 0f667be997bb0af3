/// The reports of fallback-sim as the window shows them: the operators that its filter chooses, and their figures.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "report/kept_records.hpp"

namespace diopi {

/// What an operator's fallback costs in one step.
struct FallbackCost {
    const FallbackRow* row = nullptr;
    Transfers copying;  ///< in and out
    double cost = 0;    ///< seconds: copies and calls elsewhere, less the time on the device

    /// Seconds of a step after the fallback.
    [[nodiscard]] double seconds() const { return copying.seconds + row->other_seconds; }
};

class KeptFallbackView {
 public:
    explicit KeptFallbackView(KeptFallback fallback, std::string_view filter = "");
    KeptFallbackView(KeptFallbackView&&) = default;
    KeptFallbackView& operator=(KeptFallbackView&&) = default;
    // A copy would refer to the rows of the other.
    KeptFallbackView(const KeptFallbackView&) = delete;
    KeptFallbackView& operator=(const KeptFallbackView&) = delete;
    ~KeptFallbackView() = default;

    /// Chooses the operators whose overload or function the filter matches, and the results by their names.
    void choose(std::string_view filter);

    [[nodiscard]] const KeptFallback& fallback() const { return fallback_; }
    /// Of all rows: calls that fall back, whether the user listed some, and results beyond the tolerance.
    [[nodiscard]] int64_t calls() const { return calls_; }
    [[nodiscard]] bool is_forced() const { return is_forced_; }
    [[nodiscard]] int64_t beyond() const { return beyond_; }

    [[nodiscard]] const std::vector<FallbackCost>& costs() const { return costs_; }
    [[nodiscard]] const std::vector<const ChangedResult*>& changed() const { return changed_; }

 private:
    KeptFallback fallback_;
    int64_t calls_ = 0, beyond_ = 0;
    bool is_forced_ = false;
    std::vector<FallbackCost> costs_;
    std::vector<const ChangedResult*> changed_;
};

class KeptBisectView {
 public:
    explicit KeptBisectView(KeptBisection bisection, std::string_view filter = "");
    KeptBisectView(KeptBisectView&&) = default;
    KeptBisectView& operator=(KeptBisectView&&) = default;
    // A copy would refer to the rows of the other.
    KeptBisectView(const KeptBisectView&) = delete;
    KeptBisectView& operator=(const KeptBisectView&) = delete;
    ~KeptBisectView() = default;

    /// Chooses the functions and calls whose function, overload or layer the filter matches.
    void choose(std::string_view filter);

    [[nodiscard]] const KeptBisection& bisection() const { return bisection_; }
    [[nodiscard]] const std::vector<const BisectRecord::Function*>& functions() const { return functions_; }
    [[nodiscard]] const std::vector<const BisectRecord::CapturedCall*>& calls() const { return calls_; }

 private:
    KeptBisection bisection_;
    std::vector<const BisectRecord::Function*> functions_;
    std::vector<const BisectRecord::CapturedCall*> calls_;
};

}  // namespace diopi
