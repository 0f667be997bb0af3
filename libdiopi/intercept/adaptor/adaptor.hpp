/// Adaptor: converts tensors that a device does not accept before a call, and converts its results back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "call/tensors.hpp"
#include "intercept/adaptor/adaptor_rules.hpp"
#include "intercept/adaptor/adaptor_totals.hpp"
#include "intercept/adaptor/conversion.hpp"

namespace diopi {

/// It is placed outside of the tools that work on the adapted call: comparison, fallback, timing.
class Adaptor final : public Interceptor {
 public:
    /// `device_tool` is the innermost tool in every chain to the backend, a simulated device; null: none. Conversions
    /// go through it, and bypass all other tools.
    explicit Adaptor(AdaptorRules rules, Interceptor* device_tool = nullptr)
        : rules_(std::move(rules)), device_tool_(device_tool) {}

    /// Also counts every adapted call there, unless null.
    void count_in(AdaptorTotals* totals) { totals_ = totals; }

    /// A call that no rule changes is forwarded as it is. An integer that does not fit the dtype of the rule is
    /// diopiDtypeNotSupported, a conversion that fails diopiErrorOccurred. If the call itself fails, nothing is copied
    /// back. A tensor that the function makes gets the dtype that the shape rule gives for it, and keeps its layout.
    Outcome around(Call& call, Context& context, const Next& next) override;

    [[nodiscard]] const AdaptorRules& rules() const { return rules_; }
    /// The conversions of the last call.
    [[nodiscard]] const AdaptedCall& last() const { return last_; }

 private:
    /// A tensor of the call and its replacement.
    struct Change {
        TensorPtr original;
        TensorSpec spec;
        TensorPtr adapted = nullptr;
        const Place place;  ///< its first place
        bool reads = false, writes = false;
        /// The dtype that its values have before they get that of `spec`.
        std::optional<Dtype> first = {};
    };
    [[nodiscard]] std::vector<Change> changes_of(const Call& call, std::span<const ArgRules> rules) const;
    /// Integers without dimensions, and integer numbers, count as elements of the dtype of the others: 300 is 44 beside
    /// int8. So do floating ones in a function that promotes its operands first. Where the others are cast, nothing
    /// tells the device so.
    static void convert_operands(std::vector<Change>& changes, Call& adapted);
    /// The values of a tensor that is read get `dtype` before they get that of its rule.
    static void convert_first(std::vector<Change>& changes, const TensorPtr& tensor, const Place& place, Dtype dtype);
    [[nodiscard]] Outcome convert_in(std::vector<Change>& changes, const Call& call, Context& context,
                                     const Converter& converter);
    [[nodiscard]] Outcome check_range(const Change& change, const TensorPtr& from, const Call& call, Context& context);
    [[nodiscard]] Outcome copy_back(const std::vector<Change>& changes, const Call& call, Context& context,
                                    const Converter& converter);
    /// Gives the tensors that the function made, which are in `call` now, the dtypes that the caller expects.
    [[nodiscard]] Outcome convert_made(Call& call, std::span<const ArgRules> rules, Context& context,
                                       const Converter& converter);

    AdaptorRules rules_;
    Interceptor* device_tool_;
    AdaptorTotals* totals_ = nullptr;
    AdaptedCall last_;
};

}  // namespace diopi
