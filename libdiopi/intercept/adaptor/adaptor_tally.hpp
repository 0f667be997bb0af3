/// The conversions of an adaptor, summed over all worker processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "intercept/adaptor/adaptor_rules.hpp"
#include "intercept/adaptor/conversion.hpp"
#include "journal/adapted.hpp"

namespace diopi {

/// One call.
struct AdaptedCall {
    int64_t tensors = 0;  ///< that another one stood for; 0: the call went straight through
    ConversionFigures in, out;
    std::vector<DtypeCast> casts;  ///< each once
    [[nodiscard]] bool is_adapted() const { return tensors > 0; }
};

/// "float64 in float32, int64 in int32": what was computed in which dtype; empty without casts.
[[nodiscard]] std::string to_string(const std::vector<DtypeCast>& casts);

/// All calls of one function.
struct AdaptedFunction {
    const Row* row = nullptr;
    int64_t calls = 0;
    ConversionFigures in, out;
    std::vector<DtypeCast> casts;
};

/// For records: both directions together.
[[nodiscard]] AdaptedCalls to_record(int64_t calls, const ConversionFigures& in, const ConversionFigures& out,
                                     const std::vector<DtypeCast>& casts);

/// Lies in memory that is shared with every process that is forked after create(): what a worker counts its parent
/// sees, even when the worker dies.
class AdaptorTally {
 public:
    [[nodiscard]] static Result<AdaptorTally> create();
    AdaptorTally(AdaptorTally&& other) noexcept;
    AdaptorTally& operator=(AdaptorTally&&) = delete;
    ~AdaptorTally();

    void add(const Row& row, const AdaptedCall& call);
    /// The functions that had adapted calls, in the order of the rows.
    [[nodiscard]] std::vector<AdaptedFunction> functions() const;

 private:
    struct Counters;
    explicit AdaptorTally(Counters* counters) : counters_(counters) {}
    Counters* counters_;
};

}  // namespace diopi
