/// Autocompare: every call is answered twice, by its own backend and by another one, and the answers are compared.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "check/verdict.hpp"
#include "intercept/call_copy.hpp"
#include "intercept/tolerances.hpp"

namespace diopi {

/// One tensor of a call, compared.
struct ComparedTensor {
    enum class Role { kOutput, kInout, kInput };
    Role role = Role::kOutput;
    size_t nth = 0;     ///< among the tensors of its role
    std::string place;  ///< "out", "tensors.2"
    bool allclose = false;
    double atol = 0, rtol = 0;
    Deviation deviation;
    std::string error;             ///< why it is not allclose: shape, dtype, NaN positions, values
    TensorPtr actual, expected{};  ///< on the host
};

struct ComparedCall {
    const Call& call;  ///< as the first backend left it
    std::vector<ComparedTensor> tensors;
    std::string skipped;  ///< why nothing was compared: random, not implemented by the other; empty otherwise
    [[nodiscard]] bool allclose() const;
};

class Autocompare final : public Interceptor {
 public:
    using Sink = std::function<void(const ComparedCall&)>;
    /// `against` gives the other answer.
    Autocompare(Side& against, const ToleranceTable& tolerances, Sink sink)
        : against_(&against), tolerances_(&tolerances), sink_(std::move(sink)) {}

    /// The call's own outcome: what goes wrong on the other side is reported, and changes nothing.
    Outcome around(Call& call, Context& context, const Next& next) override;

 private:
    [[nodiscard]] Status compare_all(const Call& call, Context& context, CallCopy& copy, ComparedCall& compared);
    [[nodiscard]] ComparedTensor compare_one(const Call& call, const Tensor& actual, const Tensor& expected,
                                             std::string place);

    Side* against_;
    const ToleranceTable* tolerances_;
    Sink sink_;
};

}  // namespace diopi
