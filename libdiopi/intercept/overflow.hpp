/// OverflowCheck: figures of what each call wrote, and whether NaN or infinity is among it.
#pragma once

#include <functional>
#include <string>

#include "call/chain.hpp"

namespace diopi {

/// Of the finite elements of a floating or complex (its real parts) tensor; of integers all.
struct TensorFigures {
    int64_t numel = 0;
    int64_t inf_or_nan = 0;
    double min = 0, max = 0, mean = 0, std = 0, norm = 0;
};

/// A host tensor, contiguous. `std` is that of a population, `norm` the square root of the sum of squares.
[[nodiscard]] TensorFigures figures_of(const Tensor& host);

struct OverflowEvent {
    const Call& call;
    std::string place;  ///< "out"
    const Tensor& tensor;
    TensorFigures figures;
};

class OverflowCheck final : public Interceptor {
 public:
    using Sink = std::function<void(const OverflowEvent&)>;
    /// Sees every floating tensor that a call wrote.
    explicit OverflowCheck(Sink sink) : sink_(std::move(sink)) {}

    Outcome around(Call& call, Context& context, const Next& next) override;

 private:
    Sink sink_;
};

}  // namespace diopi
