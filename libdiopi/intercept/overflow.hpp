/// OverflowCheck: statistics of the results of each call, and whether they contain NaN or infinity.
#pragma once

#include <functional>
#include <string>

#include "call/chain.hpp"
#include "check/figures.hpp"

namespace diopi {

struct OverflowEvent {
    const Call& call;
    std::string place;  ///< "out"
    const Tensor& tensor;
    TensorFigures figures;
};

/// "[overflow] mm out float32[2, 3]: inf_or_nan: 1, min: 0, ...".
[[nodiscard]] std::string overflow_line(const OverflowEvent& event);

class OverflowCheck final : public Interceptor {
 public:
    using Sink = std::function<void(const OverflowEvent&)>;
    /// `sink` gets every floating tensor that a call wrote.
    explicit OverflowCheck(Sink sink) : sink_(std::move(sink)) {}

    Outcome around(Call& call, Context& context, const Next& next) override;

 private:
    Sink sink_;
};

}  // namespace diopi
