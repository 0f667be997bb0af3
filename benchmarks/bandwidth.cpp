/// Element-wise operators on tensors larger than the caches, against the bandwidth of memcpy in as many threads.
#include <omp.h>

#include <cstring>

#include "interleave.hpp"
#include "kernels/cpu/operators.hpp"
#include "operands.hpp"
#include "suites.hpp"

namespace diopi::bench {

namespace {

constexpr double kGoal = 0.9;
constexpr int64_t kBytes = int64_t{64} << 20;  ///< per tensor
constexpr int64_t kRounds = 100;

enum class Op { add, mul, relu };

diopiError_t run(Op op, diopiContextHandle_t context, Tensor* out, const Tensor* a, const Tensor* b) {
    diopiScalar_t alpha{};
    alpha.stype = diopi_dtype_int64;
    alpha.ival = 1;
    switch (op) {
        case Op::add:
            return cpu::diopiAdd(context, out, a, b, &alpha);
        case Op::mul:
            return cpu::diopiMul(context, out, a, b);
        case Op::relu:
            return cpu::diopiRelu(context, out, a);
    }
    return diopiErrorOccurred;
}

void bandwidth(benchmark::State& state, Op op) {
    const Shape shape{kBytes / static_cast<int64_t>(sizeof(float))};
    const TensorPtr a = random_tensor(shape, 1), b = random_tensor(shape, 2), out = random_tensor(shape, 3);
    const TensorPtr copy = random_tensor(shape, 4);
    Context context(cpu_device());
    const auto ours = [&] {
        require_success(run(op, &context, out.get(), a.get(), b.get()));
        context.release();
    };
    const auto baseline = [&] {
#pragma omp parallel
        {
            const int64_t id = omp_get_thread_num(), all = omp_get_num_threads();
            const int64_t begin = kBytes * id / all, end = kBytes * (id + 1) / all;
            std::memcpy(copy->data_as<char>() + begin, a->data_as<char>() + begin, static_cast<size_t>(end - begin));
        }
        benchmark::ClobberMemory();
    };
    const Rounds rounds = interleave(state, 1, ours, baseline);
    const double tensors = op == Op::relu ? 2 : 3, copied = 2;
    Estimate ratio = rounds.speed();
    for (double* part : {&ratio.median, &ratio.low, &ratio.high}) *part *= tensors / copied;
    report(state, "ratio", ratio, kGoal);
    const Estimate seconds = estimate_median(rounds.baseline);
    state.counters["memcpy_GBps"] = copied * static_cast<double>(kBytes) / seconds.median * 1e-9;
}

}  // namespace

void register_bandwidth() {
    const std::pair<const char*, Op> all[] = {
        {"bandwidth/add", Op::add}, {"bandwidth/mul", Op::mul}, {"bandwidth/relu", Op::relu}};
    for (const auto& [name, op] : all) {
        benchmark::RegisterBenchmark(name, bandwidth, op)
            ->UseManualTime()
            ->Iterations(kRounds)
            ->Unit(benchmark::kMillisecond);
    }
}

}  // namespace diopi::bench
