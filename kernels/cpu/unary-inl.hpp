/// The tiles of functions of one real number, or of two, for each instruction set. A formula F defines
///
///     static double one(double x);                  one number, for float64 and integers
///     static HWY_INLINE Float many(Float x);        a vector, for float32 and the half types; default: `one` on each
///
/// or both of two arguments. A source lists its formulas in a macro: `FORMULAS(DIOPI_TILES)` inside HWY_NAMESPACE
/// compiles their tiles, and `FORMULAS(DIOPI_FORMULA)` after HWY_ONCE makes each known to map_unary and map_gradient.
#if defined(DIOPI_CPU_UNARY) == defined(HWY_TARGET_TOGGLE)
#ifdef DIOPI_CPU_UNARY
#undef DIOPI_CPU_UNARY
#else
#define DIOPI_CPU_UNARY
#endif

#include <type_traits>

#include "kernels/cpu/unary.hpp"
#include "kernels/cpu/vector_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

template <class F>
constexpr bool kIsBinary = std::is_invocable_v<decltype(F::one), double, double>;

template <class F>
concept HasMany = requires {
    &F::many;
};

template <class F>
HWY_INLINE Float many_of(Float x) {
    if constexpr (HasMany<F>)
        return F::many(x);
    else
        return each(x, F::one);
}
template <class F>
HWY_INLINE Float many_of(Float x, Float y) {
    if constexpr (HasMany<F>)
        return F::many(x, y);
    else
        return each(x, y, F::one);
}

/// The first `n` numbers; the others are 1, which is valid for every function.
HWY_INLINE Float load_first(const float* p, int64_t n) {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(spread(1.0F), Floats(), lanes);
    for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
    return hn::Load(Floats(), lanes);
}
HWY_INLINE void store_first(Float x, float* p, int64_t n) {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(x, Floats(), lanes);
    for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

template <class F>
void float_tile(void* const* out, const void* const* in, int64_t n, const void*) {
    const Floats d;
    constexpr auto kStep = static_cast<int64_t>(kLanes);
    float* o = static_cast<float*>(out[0]);
    const float* a = static_cast<const float*>(in[0]);
    const float* b = kIsBinary<F> ? static_cast<const float*>(in[1]) : nullptr;
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
        if constexpr (kIsBinary<F>)
            hn::StoreU(many_of<F>(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, o + i);
        else
            hn::StoreU(many_of<F>(hn::LoadU(d, a + i)), d, o + i);
    }
    if (i == n) return;
    if constexpr (kIsBinary<F>)
        store_first(many_of<F>(load_first(a + i, n - i), load_first(b + i, n - i)), o + i, n - i);
    else
        store_first(many_of<F>(load_first(a + i, n - i)), o + i, n - i);
}

template <class F>
void double_tile(void* const* out, const void* const* in, int64_t n, const void*) {
    double* o = static_cast<double*>(out[0]);
    const double* a = static_cast<const double*>(in[0]);
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (kIsBinary<F>)
            o[i] = F::one(a[i], static_cast<const double*>(in[1])[i]);
        else
            o[i] = F::one(a[i]);
    }
}

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#define DIOPI_TILES(F) \
    RealTiles F##Tiles() { return {float_tile<F>, double_tile<F>}; }

#define DIOPI_FORMULA(F)                                                      \
    HWY_EXPORT(F##Tiles);                                                     \
    struct F {                                                                \
        static RealTiles tiles() { return HWY_DYNAMIC_DISPATCH(F##Tiles)(); } \
    };

#endif  // DIOPI_CPU_UNARY
