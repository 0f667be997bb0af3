/// The tiles of functions of one real number, or of two, for each instruction set. A formula F defines
///
///     static double one(double x);                  one number
///     static HWY_INLINE Float many(Float x);        a vector of float32, for the half types, too
///     template <class V>
///     static HWY_INLINE V many(V x);                the same, for float64 (and integers), too
///
/// or all of two arguments. Where it has no vectors, `one` computes each element; also without fused multiply-add,
/// whose exact products most of these functions need. A source lists its formulas in a macro: `FORMULAS(DIOPI_TILES)`
/// inside HWY_NAMESPACE compiles their tiles, and `FORMULAS(DIOPI_FORMULA)` after HWY_ONCE makes each known to
/// map_unary and map_gradient.
#if defined(DIOPI_CPU_UNARY) == defined(HWY_TARGET_TOGGLE)
#ifdef DIOPI_CPU_UNARY
#undef DIOPI_CPU_UNARY
#else
#define DIOPI_CPU_UNARY
#endif

#include <type_traits>

#include "kernels/cpu/unary.hpp"
#include "kernels/cpu/vector_math-inl.hpp"
#include "kernels/cpu/vector_memory-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

template <class F>
constexpr bool kIsBinary = std::is_invocable_v<decltype(F::one), double, double>;

template <class F, class... Vs>
concept HasMany = (HWY_NATIVE_FMA != 0) && requires(Vs... xs) {
    F::many(xs...);
};

template <class F, class V, class... Vs>
HWY_INLINE V many_of(V x, Vs... others) {
    if constexpr (HasMany<F, V, Vs...>)
        return F::many(x, others...);
    else
        return each(F::one, x, others...);
}

/// E is float, double or Bfloat16. The last vector is filled up with 1, which is valid for every function.
template <class F, class E>
void tile(void* const* out, const void* const* in, int64_t n, const void*) {
    constexpr int64_t kStep = kLanesOf<E>;
    constexpr ComputeOf<E> kFill = 1;
    E* o = static_cast<E*>(out[0]);
    const E* a = static_cast<const E*>(in[0]);
    const E* b = kIsBinary<F> ? static_cast<const E*>(in[1]) : nullptr;
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
        // A vector takes so long that the processor itself reads ahead too late.
        read_ahead(a + i, kStep);
        if constexpr (kIsBinary<F>) {
            read_ahead(b + i, kStep);
            store(many_of<F>(load(a + i), load(b + i)), o + i);
        } else {
            store(many_of<F>(load(a + i)), o + i);
        }
    }
    if (i == n) return;
    if constexpr (kIsBinary<F>)
        store_first(many_of<F>(load_first(a + i, n - i, kFill), load_first(b + i, n - i, kFill)), o + i, n - i);
    else
        store_first(many_of<F>(load_first(a + i, n - i, kFill)), o + i, n - i);
}

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define DIOPI_TILES(F) \
    RealTiles F##Tiles() { return {tile<F, float>, tile<F, double>, tile<F, Bfloat16>}; }

#define DIOPI_FORMULA(F)                                                      \
    HWY_EXPORT(F##Tiles);                                                     \
    struct F {                                                                \
        static RealTiles tiles() { return HWY_DYNAMIC_DISPATCH(F##Tiles)(); } \
    };

#endif  // DIOPI_CPU_UNARY
