/// The faults of a wrong library, as a table.
#pragma once

#include <span>
#include <string_view>

#include "scene.hpp"

namespace diopi::mutation {

/// The end of a worker process after the fault.
enum class Ending {
    kReturns,  ///< the call returns, with any results
    kDies,     ///< the process may end, or writes to its streams: it gets its own worker
    kHangs,    ///< only the time limit ends it
};

/// The calls at which a fault acts.
enum class Acting {
    always,
    later,     ///< not at the first call
    on_error,  ///< also at a call that the right library refuses
};

struct Fault {
    std::string_view code;  ///< two characters, the head of a column
    std::string_view name;
    std::string_view text;
    /// Plants the fault after the right call; does nothing if it cannot strike.
    void (*act)(Scene&);
    /// Whether it may strike a function; null: all.
    bool (*applies)(const Row&) = nullptr;
    Ending ending = Ending::kReturns;
    Acting acting = Acting::always;
};

/// All faults: the tables of the files faults_*.cpp, joined.
[[nodiscard]] std::span<const Fault> faults();
/// The fault of that name or code, or null.
[[nodiscard]] const Fault* find_fault(std::string_view name);

/// Functions that have the object of a fault.
[[nodiscard]] bool has_right_values(const Row& row);  ///< all except random ones
[[nodiscard]] bool has_outputs(const Row& row);
[[nodiscard]] bool has_inouts(const Row& row);

std::span<const Fault> value_faults();
std::span<const Fault> rounding_faults();
std::span<const Fault> operand_faults();
std::span<const Fault> layout_faults();
std::span<const Fault> memory_faults();
std::span<const Fault> process_faults();
std::span<const Fault> random_faults();
std::span<const Fault> attention_faults();
std::span<const Fault> token_faults();

/// A library with one fault in one of its functions: the innermost tool of a chain. If the fault made no difference to
/// the first call, that call is declined, which ends the run.
class Faulty final : public Interceptor {
 public:
    /// With a null fault it changes nothing.
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
