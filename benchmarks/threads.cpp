/// The time to start a parallel region, and whether a second thread pays at the least size that is shared.
#include "kernels/cpu/threads.hpp"

#include <omp.h>

#include "interleave.hpp"
#include "kernels/cpu/operators.hpp"
#include "operands.hpp"
#include "suites.hpp"

namespace diopi::bench {

namespace {

constexpr double kStartGoal = 5e-6;
constexpr int64_t kRounds = 200;

/// The loop's own work is nothing, so that the difference is the region.
void region(benchmark::State& state) {
    volatile int64_t total = 0;
    const auto body = [&](int64_t begin, int64_t end) {
        if (begin == 0) total = end;
    };
    const auto in_threads = [&] { cpu::parallel_for(omp_get_max_threads(), int64_t{1} << 30, body); };
    const auto alone = [&] { cpu::parallel_for(1, 1, body); };
    const Rounds rounds = interleave(state, 100, in_threads, alone);
    report(state, "overhead_ns", rounds.difference(), kStartGoal, 1e9);
}

enum class Op { copy, add, exp, sum, select };

diopiError_t run(Op op, diopiContextHandle_t context, Tensor* out, const Tensor* a, Tensor* reduced) {
    switch (op) {
        case Op::copy:
            return cpu::diopiCopyInp(context, a, out);
        case Op::add:
            return cpu::diopiAdd(context, out, a, a, nullptr);
        case Op::exp:
            return cpu::diopiExp(context, out, a);
        case Op::sum:
            return cpu::diopiSum(context, reduced, a, {nullptr, 0});
        case Op::select:
            return cpu::diopiSelect(context, reduced, a, 1, 5);
    }
    return diopiErrorOccurred;
}

void second_thread(benchmark::State& state, Op op, cpu::Loop loop) {
    constexpr int64_t kColumns = 1024;
    const int64_t size = 2 * cpu::kElementsPerThread[static_cast<size_t>(loop)];
    const bool is_column = op == Op::select;
    const Shape shape = is_column ? Shape{size, kColumns} : Shape{size};
    const TensorPtr a = random_tensor(shape, 1), out = random_tensor(shape, 2);
    const TensorPtr reduced = random_tensor(is_column ? Shape{size} : Shape{}, 3);
    Context context(cpu_device());
    const int all = omp_get_max_threads();
    const auto with = [&](int threads) {
        return [&, threads] {
            omp_set_num_threads(threads);
            require_success(run(op, &context, out.get(), a.get(), reduced.get()));
        };
    };
    const Rounds rounds = interleave(state, 20, with(std::min(all, 2)), with(1));
    omp_set_num_threads(all);
    report(state, "ratio", rounds.speed(), 1);
}

}  // namespace

void register_threads() {
    const auto add = [](const char* name, auto... what) {
        benchmark::RegisterBenchmark(name, what...)
            ->UseManualTime()
            ->Iterations(kRounds)
            ->Unit(benchmark::kMicrosecond);
    };
    add("threads/region", region);
    add("threads/copy", second_thread, Op::copy, cpu::Loop::copy);
    add("threads/add", second_thread, Op::add, cpu::Loop::arithmetic);
    add("threads/exp", second_thread, Op::exp, cpu::Loop::transcendental);
    add("threads/sum", second_thread, Op::sum, cpu::Loop::sum);
    add("threads/select", second_thread, Op::select, cpu::Loop::scattered);
}

}  // namespace diopi::bench
