/// The conversions of an adaptor, summed over all worker processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "intercept/adaptor/adaptor_rules.hpp"
#include "intercept/adaptor/conversion.hpp"
#include "journal/adapted.hpp"

namespace diopi {

/// The conversions of one call.
struct AdaptedCall {
    int64_t tensors = 0;  ///< tensors that were replaced; 0: the call was forwarded as it is
    ConversionFigures in, out;
    std::vector<DtypeCast> casts;  ///< each once
    [[nodiscard]] bool is_adapted() const { return tensors > 0; }
};

/// "float64 in float32, int64 in int32": each dtype with the one that computed for it; empty without casts.
[[nodiscard]] std::string to_string(const std::vector<DtypeCast>& casts);

/// The conversions of all calls of one function.
struct AdaptedFunction {
    const Row* row = nullptr;
    int64_t calls = 0;
    ConversionFigures in, out;
    std::vector<DtypeCast> casts;
};

/// Converts to a record; both directions are added.
[[nodiscard]] AdaptedCalls to_record(int64_t calls, const ConversionFigures& in, const ConversionFigures& out,
                                     const std::vector<DtypeCast>& casts);

/// Its memory is shared with every process forked after create(), so that the parent sees a worker's counts even if the
/// worker dies.
class AdaptorTotals {
 public:
    [[nodiscard]] static Result<AdaptorTotals> create();
    AdaptorTotals(AdaptorTotals&& other) noexcept;
    AdaptorTotals& operator=(AdaptorTotals&&) = delete;
    ~AdaptorTotals();

    void add(const Row& row, const AdaptedCall& call);
    /// The functions that had adapted calls, in the order of the rows.
    [[nodiscard]] std::vector<AdaptedFunction> functions() const;

 private:
    struct Counters;
    explicit AdaptorTotals(Counters* counters) : counters_(counters) {}
    Counters* counters_;
};

}  // namespace diopi
