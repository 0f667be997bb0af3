/// The cost of a call with boxed arguments through an empty chain.
#include <diopi/functions.h>

#include "call/chain.hpp"
#include "interleave.hpp"
#include "kernels/cpu/operators.hpp"
#include "operands.hpp"
#include "suites.hpp"

namespace diopi::bench {

namespace {

constexpr double kGoalSeconds = 200e-9;
constexpr int64_t kBatch = 1000, kRounds = 400;

/// A function with a type of the standard that does nothing: its time is that of the call itself.
template <class Function>
struct Stub;
template <class... Args>
struct Stub<diopiError_t(diopiContextHandle_t, Args...)> {
    static diopiError_t call(diopiContextHandle_t, Args...) {
        benchmark::ClobberMemory();
        return diopiSuccess;
    }
};

/// A backend with one function.
class OneFunction {
 public:
    template <class Function>
    OneFunction(std::string_view name, Function* function)
        : row_(find_row(name)), table_(rows().size()), backend_("stub", cpu_device(), table_) {
        table_[row_->index()] = reinterpret_cast<AnyFunction>(function);
    }
    [[nodiscard]] const Row& row() const { return *row_; }
    [[nodiscard]] const Backend& backend() const { return backend_; }

 private:
    const Row* row_;
    std::vector<AnyFunction> table_;
    Backend backend_;
};

template <class Direct>
void compare(benchmark::State& state, const Backend& backend, Call& call, Direct&& direct) {
    Context context(cpu_device());
    const Chain chain(backend);
    const auto boxed = [&] {
        const Outcome outcome = chain.run(call, context);
        if (!outcome.ok()) throw std::runtime_error(outcome.message);
        context.release();
    };
    const auto unboxed = [&] {
        require_success(direct(&context));
        context.release();
    };
    const Rounds rounds = interleave(state, kBatch, boxed, unboxed);
    report(state, "overhead_ns", rounds.difference(), kGoalSeconds, 1e9);
}

/// The real kernel on one element: 4 arguments.
void add(benchmark::State& state) {
    const TensorPtr out = random_tensor({1}, 1), input = random_tensor({1}, 2), other = random_tensor({1}, 3);
    Call call(*find_row("diopiAdd"));
    call["out"] = out, call["input"] = input, call["other"] = other, call["alpha"] = Scalar::of(int64_t{1});
    diopiScalar_t alpha{};
    alpha.stype = diopi_dtype_int64;
    alpha.ival = 1;
    compare(state, *backends().front(), call, [&](diopiContextHandle_t context) {
        return cpu::diopiAdd(context, out.get(), input.get(), other.get(), &alpha);
    });
}

/// Tensors, lists and a number: 8 arguments.
void convolution(benchmark::State& state) {
    auto* volatile function = &Stub<decltype(::diopiConvolution2d)>::call;
    const OneFunction stub("diopiConvolution2d", function);
    const TensorPtr tensor = random_tensor({1}, 1);
    const IntList ones{1, 1};
    Call call(stub.row());
    for (const char* name : {"out", "input", "weight", "bias"}) call[name] = tensor;
    for (const char* name : {"stride", "padding", "dilation"}) call[name] = ones;
    call["groups"] = int64_t{1};
    const diopiSize_t list{ones.data(), 2};
    compare(state, stub.backend(), call, [&](diopiContextHandle_t context) {
        diopiTensor* t = tensor.get();
        return function(context, t, t, t, t, list, list, list, 1);
    });
}

/// Tensors, a flag and real numbers: 11 arguments.
void batch_norm(benchmark::State& state) {
    auto* volatile function = &Stub<decltype(::diopiBatchNorm)>::call;
    const OneFunction stub("diopiBatchNorm", function);
    const TensorPtr tensor = random_tensor({1}, 1);
    Call call(stub.row());
    for (Value& value : call.args) value = tensor;
    call["training"] = true, call["momentum"] = 0.1, call["eps"] = 1e-5;
    compare(state, stub.backend(), call, [&](diopiContextHandle_t context) {
        diopiTensor* t = tensor.get();
        return function(context, t, t, t, t, t, t, t, t, true, 0.1, 1e-5);
    });
}

}  // namespace

void register_boxing() {
    const std::pair<const char*, void (*)(benchmark::State&)> all[] = {
        {"boxing/add_1_element", add}, {"boxing/conv2d_stub", convolution}, {"boxing/batch_norm_stub", batch_norm}};
    for (const auto& [name, function] : all) {
        benchmark::RegisterBenchmark(name, function)->UseManualTime()->Iterations(kRounds);
    }
}

}  // namespace diopi::bench
