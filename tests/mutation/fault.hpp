/// The faults: what a wrong library does, one at a time, as a table.
#pragma once

#include <span>
#include <string_view>

#include "scene.hpp"

namespace diopi::mutation {

/// What the worker process needs when the fault strikes.
enum class Ending {
    kReturns,  ///< the call returns, whatever it left
    kDies,     ///< the process may end, or writes to its streams: it gets a worker of its own
    kHangs,    ///< only the time limit ends it
};

struct Fault {
    std::string_view code;  ///< two characters, the head of a column
    std::string_view name;
    std::string_view text;
    /// Plants it after the right call was made; does nothing where it cannot strike.
    void (*act)(Scene&);
    /// Which functions it may strike at all; null: all.
    bool (*applies)(const Row&) = nullptr;
    Ending ending = Ending::kReturns;
    bool acts_later = false;  ///< not at the first call
};

/// All faults; the tables of the files faults_*.cpp in a row.
[[nodiscard]] std::span<const Fault> faults();
/// Null when there is none of that name or code.
[[nodiscard]] const Fault* find_fault(std::string_view name);

/// Which functions have what a fault strikes.
[[nodiscard]] bool has_right_values(const Row& row);  ///< all but random ones
[[nodiscard]] bool has_outputs(const Row& row);
[[nodiscard]] bool has_inouts(const Row& row);

std::span<const Fault> value_faults();
std::span<const Fault> rounding_faults();
std::span<const Fault> operand_faults();
std::span<const Fault> layout_faults();
std::span<const Fault> memory_faults();
std::span<const Fault> process_faults();
std::span<const Fault> random_faults();

/// Any library with one fault in one of its functions: the innermost tool of a chain. Where the fault made no
/// difference to the first call, that call is declined, which ends the run.
class Faulty final : public Interceptor {
 public:
    /// A null fault: the decorator alone.
    Faulty(const Row& row, const Fault* fault) : row_(&row), fault_(fault) {}
    Outcome around(Call& call, Context& context, const Next& next) override;
    /// Whether the fault ever made a difference.
    [[nodiscard]] bool planted() const { return planted_; }

 private:
    const Row* row_;
    const Fault* fault_;
    int64_t calls_ = 0;
    bool planted_ = false;
};

}  // namespace diopi::mutation
