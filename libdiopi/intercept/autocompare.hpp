/// Autocompare: runs every call on two backends, its own and another one, and compares the results.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "check/verdict.hpp"
#include "intercept/call_copy.hpp"
#include "intercept/tolerances.hpp"

namespace diopi {

/// One compared tensor of a call.
struct ComparedTensor {
    enum class Role { kOutput, kInout, kInput };
    Role role = Role::kOutput;
    size_t nth = 0;     ///< number among the tensors of its role
    std::string place;  ///< "out", "tensors.2"
    bool allclose = false;
    double atol = 0, rtol = 0;
    /// "float16 and float32 as float32": the floating dtypes of both sides and the common one of the comparison, if
    /// they differ. The tolerance is that of the narrower one.
    std::string cast;
    Deviation deviation;
    std::string error;             ///< why it is not allclose: shape, dtype, NaN positions, values
    TensorPtr actual, expected{};  ///< on the host
    TensorPtr exact{};             ///< in a wide dtype, if there is an oracle; null if it has no result
};

struct ComparedCall {
    const Call& call;  ///< after the first backend ran it
    std::vector<ComparedTensor> tensors;
    std::string skipped;  ///< why nothing was compared: random, not implemented by the other backend; else empty
    [[nodiscard]] bool allclose() const;
};

/// Compares two contiguous host tensors at one place of a call; the result lacks the tensors and their role. Floating
/// tensors of two dtypes are cast to the wider common one; every other pair of dtypes differs.
[[nodiscard]] ComparedTensor compare_tensors(const Call& call, const Tensor& actual, const Tensor& expected,
                                             std::string place, const ToleranceTable& tolerances);

class Autocompare final : public Interceptor {
 public:
    using Sink = std::function<void(const ComparedCall&)>;
    /// `against` computes the results to compare with.
    Autocompare(Side& against, const ToleranceTable& tolerances, Sink sink)
        : against_(&against), tolerances_(&tolerances), sink_(std::move(sink)) {}

    /// Also computes the exact values of each call with the reference.
    void ask(Side& reference) { oracle_ = &reference; }

    /// Returns the call's own outcome: errors of the other side are reported only.
    Outcome around(Call& call, Context& context, const Next& next) override;

 private:
    [[nodiscard]] Status compare_all(const Call& call, Context& context, CallCopy& copy, ComparedCall& compared);
    /// The other side's tensor for a tensor of `dtype`, on the host.
    [[nodiscard]] Result<TensorPtr> answer_of(CallCopy& copy, const Tensor& tensor, Dtype dtype) const;
    /// The reference's results, computed before those of the copy; nullopt if it has none.
    [[nodiscard]] std::optional<CallCopy> exact_answer(const Call& call, Context& context);
    static void add_exact(CallCopy& exact, ComparedCall& compared);

    Side* against_;
    Side* oracle_ = nullptr;
    const ToleranceTable* tolerances_;
    Sink sink_;
};

}  // namespace diopi
