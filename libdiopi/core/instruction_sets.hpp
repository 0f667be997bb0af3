/// Loops that the compiler vectorises for each of several instruction sets; the processor's best one runs. All give the
/// same bits: no set contracts a product and a sum into one operation.
#pragma once

#include <cstdint>

namespace diopi {

/// Those beyond the baseline are x86-64's.
enum class InstructionSet : uint8_t { baseline, avx2, avx512 };

/// The best one of this processor that oneDNN's ONEDNN_MAX_CPU_ISA or DNNL_MAX_CPU_ISA allows: a variable of the
/// environment that lowers oneDNN's instructions lowers all others, too. Source: oneDNN's guide, "CPU Dispatcher
/// Control".
[[nodiscard]] InstructionSet instruction_set();

// Features, not architectures: a function may be inlined into one with more features, not into one of another
// architecture. `flatten` inlines all that the loop calls.
#if defined(__x86_64__)
#define DIOPI_AVX2_FEATURES "avx2,fma,f16c,bmi,bmi2,lzcnt"
#define DIOPI_AVX512_FEATURES DIOPI_AVX2_FEATURES ",avx512f,avx512vl,avx512dq,avx512bw,avx512cd"
#define DIOPI_FOR_AVX2 [[gnu::flatten, gnu::target(DIOPI_AVX2_FEATURES)]]
#ifdef __clang__
#define DIOPI_FOR_AVX512 [[gnu::flatten, gnu::target(DIOPI_AVX512_FEATURES)]]
#else
#define DIOPI_FOR_AVX512 [[gnu::flatten, gnu::target(DIOPI_AVX512_FEATURES ",prefer-vector-width=512")]]
#endif
#else
#define DIOPI_FOR_AVX2
#define DIOPI_FOR_AVX512
#endif

template <auto kLoop>
struct Versions;

template <class R, class... Arguments, R (*kLoop)(Arguments...)>
struct Versions<kLoop> {
    DIOPI_FOR_AVX2 static R avx2(Arguments... arguments) { return kLoop(arguments...); }
    DIOPI_FOR_AVX512 static R avx512(Arguments... arguments) { return kLoop(arguments...); }

    [[nodiscard]] static auto best() {
#if defined(__x86_64__)
        switch (instruction_set()) {
            case InstructionSet::avx512:
                return avx512;
            case InstructionSet::avx2:
                return avx2;
            case InstructionSet::baseline:
                break;
        }
#endif
        return kLoop;
    }
};

/// The function `kLoop`, compiled for this processor.
template <auto kLoop>
[[nodiscard]] auto best() {
    return Versions<kLoop>::best();
}

}  // namespace diopi
