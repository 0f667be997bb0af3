/// Loads and stores of Highway's vectors for each instruction set. Elements are float, double, or one of the half
/// types, which compute in float.
#if defined(DIOPI_CPU_VECTOR_MEMORY) == defined(HWY_TARGET_TOGGLE)
#ifdef DIOPI_CPU_VECTOR_MEMORY
#undef DIOPI_CPU_VECTOR_MEMORY
#else
#define DIOPI_CPU_VECTOR_MEMORY
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "core/half.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The type that elements of type E compute in.
template <class E>
using ComputeOf = std::conditional_t<std::is_same_v<E, double>, double, float>;
template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;
/// Elements of a vector.
template <class E>
constexpr auto kLanesOf = static_cast<int64_t>(HWY_LANES(ComputeOf<E>));

template <class T>
HWY_INLINE Vec<T> set(T x) {
    return hn::Set(Tag<T>(), x);
}

HWY_INLINE Vec<float> load(const float* p) { return hn::LoadU(Tag<float>(), p); }
HWY_INLINE Vec<double> load(const double* p) { return hn::LoadU(Tag<double>(), p); }
HWY_INLINE void store(Vec<float> x, float* p) { hn::StoreU(x, Tag<float>(), p); }
HWY_INLINE void store(Vec<double> x, double* p) { hn::StoreU(x, Tag<double>(), p); }

HWY_INLINE Vec<float> load(const Bfloat16* p) {
    const Tag<float> d;
    const hn::RebindToUnsigned<Tag<float>> du;
    const hn::Rebind<uint16_t, Tag<float>> dh;
    const auto bits = hn::LoadU(dh, reinterpret_cast<const uint16_t*>(p));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

/// The numbers whose upper halves are the bits of bfloat16 nearest to x, ties to even, unless x is NaN.
HWY_INLINE Vec<uint32_t> rounded_to_upper(Vec<float> x) {
    const Tag<uint32_t> du;
    const auto bits = hn::BitCast(du, x);
    return bits + hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1)) + hn::Set(du, 0x7fff);
}
/// The same, and a quiet NaN for each NaN.
HWY_INLINE Vec<uint32_t> rounded_or_nan(Vec<float> x) {
    const Tag<uint32_t> du;
    const auto nan = hn::Or(hn::BitCast(du, x), hn::Set(du, 0x400000));
    return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), nan, rounded_to_upper(x));
}
/// Rounds to nearest, ties to even.
HWY_INLINE void store(Vec<float> x, Bfloat16* p) {
    const hn::Rebind<uint16_t, Tag<float>> dh;
    const auto half = hn::BitCast(Tag<int32_t>(), hn::ShiftRight<16>(rounded_or_nan(x)));
    hn::StoreU(hn::DemoteTo(dh, half), dh, reinterpret_cast<uint16_t*>(p));
}

#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
// No instruction converts float16 there, and Highway's emulation does not round.
HWY_INLINE Vec<float> load(const Half* p) {
    HWY_ALIGN float lanes[kLanesOf<float>];
    for (int64_t i = 0; i < kLanesOf<float>; ++i) lanes[i] = to_float(p[i]);
    return hn::Load(Tag<float>(), lanes);
}
HWY_INLINE void store(Vec<float> x, Half* p) {
    HWY_ALIGN float lanes[kLanesOf<float>];
    hn::Store(x, Tag<float>(), lanes);
    for (int64_t i = 0; i < kLanesOf<float>; ++i) p[i] = to_half(lanes[i]);
}
#else
HWY_INLINE Vec<float> load(const Half* p) {
    const Tag<float> d;
    const hn::Rebind<hwy::float16_t, Tag<float>> dh;
    return hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(p)));
}
/// Rounds to nearest, ties to even.
HWY_INLINE void store(Vec<float> x, Half* p) {
    const hn::Rebind<hwy::float16_t, Tag<float>> dh;
    hn::StoreU(hn::DemoteTo(dh, x), dh, reinterpret_cast<hwy::float16_t*>(p));
}
#endif

/// Whether vectors of E can be read and written in part without a touch of the memory behind.
template <class E>
constexpr bool kHasMaskedMemory = std::is_same_v<E, ComputeOf<E>>&& HWY_ARCH_X86&& HWY_TARGET <= HWY_AVX2;

/// The first `n` elements, and zeros.
template <class E>
HWY_NOINLINE Vec<ComputeOf<E>> load_some(const E* p, int64_t n) {
    HWY_ALIGN E lanes[kLanesOf<E>] = {};
    for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
    return load(lanes);
}
template <class E>
HWY_NOINLINE void store_some(Vec<ComputeOf<E>> x, E* p, int64_t n) {
    HWY_ALIGN E lanes[kLanesOf<E>];
    store(x, lanes);
    for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

/// The first `n` elements; the other lanes are `rest`.
template <class E>
HWY_INLINE Vec<ComputeOf<E>> load_first(const E* p, int64_t n, ComputeOf<E> rest) {
    const Tag<ComputeOf<E>> d;
    const auto is_valid = hn::FirstN(d, static_cast<size_t>(n));
    if constexpr (kHasMaskedMemory<E>)
        return hn::IfThenElse(is_valid, hn::MaskedLoad(is_valid, d, p), set(rest));
    else
        return hn::IfThenElse(is_valid, load_some(p, n), set(rest));
}

/// Stores the first `n` lanes.
template <class E>
HWY_INLINE void store_first(Vec<ComputeOf<E>> x, E* p, int64_t n) {
    if constexpr (kHasMaskedMemory<E>) {
        const Tag<E> d;
        hn::BlendedStore(x, hn::FirstN(d, static_cast<size_t>(n)), d, p);
    } else {
        store_some(x, p, n);
    }
}

/// A whole vector, or its first `n` elements.
template <class E>
HWY_INLINE Vec<ComputeOf<E>> load_up_to(const E* p, int64_t n, ComputeOf<E> rest = 0) {
    return n == kLanesOf<E> ? load(p) : load_first(p, n, rest);
}
template <class E>
HWY_INLINE void store_up_to(Vec<ComputeOf<E>> x, E* p, int64_t n) {
    if (n == kLanesOf<E>)
        store(x, p);
    else
        store_first(x, p, n);
}

/// Calls body(first element, how many) for the vectors of a row of n elements; only the last one may be partial. The
/// body is a structure whose operator() is HWY_INLINE: a lambda does not get the instruction set.
template <class E, class Body>
HWY_INLINE void for_each_vector(int64_t n, Body&& body) {
    int64_t i = 0;
    for (; i + kLanesOf<E> <= n; i += kLanesOf<E>) body(i, kLanesOf<E>);
    if (i < n) body(i, n - i);
}

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

/// Defines, after HWY_ONCE, `const Table& name()`: what Kernels() returns for the best instruction set of this machine.
#define DIOPI_BEST(Table, name)                                     \
    HWY_EXPORT(Kernels);                                            \
    const Table& name() {                                           \
        static const Table kBest = HWY_DYNAMIC_DISPATCH(Kernels)(); \
        return kBest;                                               \
    }

#endif  // DIOPI_CPU_VECTOR_MEMORY
