/// One call of a library that may be at fault: what it found, what it should leave, and the means to leave another
/// thing. Host memory only.
#pragma once

#include <functional>
#include <vector>

#include "call/chain.hpp"
#include "runtime/generator.hpp"

namespace diopi::mutation {

class Scene {
 public:
    /// `serial` counts the calls of this function on the same library, from 0.
    Scene(Call& call, Context& context, const Next& next, int64_t serial);

    /// Makes the call as it should be and keeps what came of it.
    void run_right();
    /// Puts the results and the generator back to what they were, and makes another call instead. One that the library
    /// refuses is no fault: the right results stand again.
    void run_instead(Call changed);
    /// Marks a fault that changes no result: it is one all the same.
    void act() { acted_ = true; }
    /// Whether anything differs from what the call should have left.
    [[nodiscard]] bool changed() const;

    [[nodiscard]] Call& call() const { return *call_; }
    [[nodiscard]] int64_t serial() const { return serial_; }
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }
    /// The library says that the call failed.
    void fail(std::string message);

    /// What the call wrote: outputs first, then tensors that it also read. Empty ones are left out.
    struct Result {
        TensorPtr tensor;
        TensorPtr before, right;  ///< dense copies
        bool is_inout = false;
    };
    [[nodiscard]] const std::vector<Result>& results() const { return results_; }
    [[nodiscard]] const Result* first() const { return results_.empty() ? nullptr : results_.data(); }
    /// Const tensors that are there and have elements, in the order of the arguments, those of lists included.
    [[nodiscard]] std::vector<TensorPtr> inputs() const;
    /// All tensors that are there.
    [[nodiscard]] std::vector<TensorPtr> tensors() const;
    [[nodiscard]] Generator* generator() const;
    /// The call with each tensor that the function gives another one for; the same one stands for itself.
    using Exchange = std::function<TensorPtr(const TensorPtr&, const Arg&)>;
    [[nodiscard]] Call with(const Exchange& exchange) const;

 private:
    void rewind();

    Call* call_;
    Context* context_;
    const Next* next_;
    int64_t serial_;
    bool acted_ = false;
    Outcome outcome_;
    std::vector<Result> results_;
    Generator generator_before_;
};

/// A dense copy in host memory; null where memory runs out or the tensor is empty.
[[nodiscard]] TensorPtr dense_copy(const Tensor& tensor);
/// Copies the elements of a dense tensor to those of another one of the same shape and dtype.
void put(const Tensor& dense, const Tensor& tensor);
/// Dense values as float64; empty for integers, bools and complex numbers.
[[nodiscard]] std::vector<double> values_of(const Tensor& tensor);
/// Rounds to the dtype of a floating tensor and writes.
void put_values(const std::vector<double>& values, const Tensor& tensor);

/// The element at a row-major position.
[[nodiscard]] std::byte* element(const Tensor& tensor, int64_t flat);
/// Makes an element another one: a number larger by 0.5 and a quarter of its magnitude, an integer next to it, the
/// other truth value; NaN and infinity become 1.
void alter(const Tensor& tensor, int64_t flat);

}  // namespace diopi::mutation
