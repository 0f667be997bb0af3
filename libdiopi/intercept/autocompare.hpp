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

/// One tensor of a call, compared.
struct ComparedTensor {
    enum class Role { kOutput, kInout, kInput };
    Role role = Role::kOutput;
    size_t nth = 0;     ///< among the tensors of its role
    std::string place;  ///< "out", "tensors.2"
    bool allclose = false;
    double atol = 0, rtol = 0;
    /// "float16 and float32 as float32": both sides' floating dtypes and the common one that they were compared in,
    /// where they differ. The tolerance is that of the narrower one.
    std::string cast;
    Deviation deviation;
    std::string error;             ///< why it is not allclose: shape, dtype, NaN positions, values
    TensorPtr actual, expected{};  ///< on the host
    TensorPtr exact{};             ///< in a wide dtype, where an oracle is asked; null where it has no answer
};

struct ComparedCall {
    const Call& call;  ///< as the first backend left it
    std::vector<ComparedTensor> tensors;
    std::string skipped;  ///< why nothing was compared: random, not implemented by the other; empty otherwise
    [[nodiscard]] bool allclose() const;
};

/// Two host tensors, contiguous, at one place of a call; without the tensors themselves and their role. Floating ones
/// of two dtypes are cast to the wider common one; every other pair of dtypes differs.
[[nodiscard]] ComparedTensor compare_tensors(const Call& call, const Tensor& actual, const Tensor& expected,
                                             std::string place, const ToleranceTable& tolerances);

class Autocompare final : public Interceptor {
 public:
    using Sink = std::function<void(const ComparedCall&)>;
    /// `against` gives the other answer.
    Autocompare(Side& against, const ToleranceTable& tolerances, Sink sink)
        : against_(&against), tolerances_(&tolerances), sink_(std::move(sink)) {}

    /// Also computes the exact values of each call with the reference.
    void ask(Side& reference) { oracle_ = &reference; }

    /// The call's own outcome: what goes wrong on the other side is reported, and changes nothing.
    Outcome around(Call& call, Context& context, const Next& next) override;

 private:
    [[nodiscard]] Status compare_all(const Call& call, Context& context, CallCopy& copy, ComparedCall& compared);
    /// What the other side gave where the call has a tensor of `dtype`, on the host.
    [[nodiscard]] Result<TensorPtr> answer_of(CallCopy& copy, const Tensor& tensor, Dtype dtype) const;
    /// The reference's answer to what the copy is about to answer; nothing where it has none.
    [[nodiscard]] std::optional<CallCopy> exact_answer(const Call& call, Context& context);
    static void add_exact(CallCopy& exact, ComparedCall& compared);

    Side* against_;
    Side* oracle_ = nullptr;
    const ToleranceTable* tolerances_;
    Sink sink_;
};

}  // namespace diopi
