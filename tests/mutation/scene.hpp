/// One call of a library with a fault: the values before it, the right results, and functions to change them. Host
/// memory only.
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

    /// Makes the right call and keeps its results.
    void run_right();
    /// Restores the results and the generators, and makes another call instead. If the library refuses it, there is no
    /// fault, and the right results are restored.
    void run_instead(Call changed);
    /// Marks a fault that changes no result.
    void act() { acted_ = true; }
    /// Whether results differ from the right ones, or act() was called.
    [[nodiscard]] bool changed() const;

    [[nodiscard]] Call& call() const { return *call_; }
    [[nodiscard]] int64_t serial() const { return serial_; }
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }
    /// The library reports that the call failed.
    void fail(std::string message);
    /// The library reports success for a call that failed.
    void succeed();

    /// The tensors that the call wrote: outputs first, then in-out ones, without empty ones.
    struct Result {
        TensorPtr tensor;
        TensorPtr before, right;  ///< dense copies; new memory for a tensor that the call makes
        bool is_inout = false;
        ArgPlace place = {0};
    };
    [[nodiscard]] const std::vector<Result>& results() const { return results_; }
    [[nodiscard]] const Result* first() const { return results_.empty() ? nullptr : results_.data(); }
    /// Const tensors that are present and have elements, in the order of the arguments, those of lists included.
    [[nodiscard]] std::vector<TensorPtr> inputs() const;
    /// All tensors that are present.
    [[nodiscard]] std::vector<TensorPtr> tensors() const;
    /// Those of the call, in the order of the arguments.
    [[nodiscard]] std::vector<Generator*> generators() const;
    /// The call with each tensor replaced by the function's result, which may be the same one.
    using Exchange = std::function<TensorPtr(const TensorPtr&, const Arg&)>;
    [[nodiscard]] Call with(const Exchange& exchange) const;

 private:
    void add_result(ArgPlace place, bool is_inout);
    void rewind();

    Call* call_;
    Context* context_;
    const Next* next_;
    int64_t serial_;
    bool acted_ = false;
    Outcome outcome_;
    std::vector<Result> results_;
    std::vector<Generator> generators_before_;
};

/// A dense copy in host memory; null if there is no memory or the tensor is empty.
[[nodiscard]] TensorPtr dense_copy(const Tensor& tensor);
/// Copies the elements of a dense tensor to those of another one of the same shape and dtype.
void put(const Tensor& dense, const Tensor& tensor);
/// Dense values as float64; empty for integers, bools and complex numbers.
[[nodiscard]] std::vector<double> values_of(const Tensor& tensor);
/// Rounds to the dtype of a floating tensor and writes.
void put_values(const std::vector<double>& values, const Tensor& tensor);

/// The element at a row-major position.
[[nodiscard]] std::byte* element(const Tensor& tensor, int64_t flat);
/// Changes an element: a number grows by 0.5 and a quarter of its magnitude, an integer to the next one, a truth value
/// to the other; NaN and infinity become 1.
void alter(const Tensor& tensor, int64_t flat);

}  // namespace diopi::mutation
