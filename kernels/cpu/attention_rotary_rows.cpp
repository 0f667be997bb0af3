/// The loops of rotary embeddings on Highway's vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_rotary_rows.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/attention_rotary_rows.hpp"
#include "kernels/cpu/vector_memory-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

template <class E>
struct RotateHalves {
    using T = ComputeOf<E>;
    const E* x;
    const T* cos;
    const T* sin;
    E* out;
    int64_t half;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        const Vec<T> a = load_up_to(x + i, n), b = load_up_to(x + half + i, n);
        write(a, b, i, n);
        write(b, a, half + i, n);
    }
    HWY_INLINE void write(Vec<T> own, Vec<T> partner, int64_t i, int64_t n) const {
        store_up_to(hn::MulAdd(own, load_up_to(cos + i, n), partner * load_up_to(sin + i, n)), out + i, n);
    }
};

template <class E>
struct RotateNeighbours {
    using T = ComputeOf<E>;
    const E* x;
    const T* cos;
    const T* sin;
    E* out;
    HWY_INLINE void operator()(int64_t i, int64_t n) const {
        const Vec<T> own = load_up_to(x + i, n), partner = hn::Reverse2(Tag<T>(), own);
        store_up_to(hn::MulAdd(own, load_up_to(cos + i, n), partner * load_up_to(sin + i, n)), out + i, n);
    }
};

template <class E, class T = ComputeOf<E>>
void halves(const E* x, const T* cos, const T* sin, E* out, int64_t n) {
    for_each_vector<E>(n / 2, RotateHalves<E>{x, cos, sin, out, n / 2});
}
template <class E, class T = ComputeOf<E>>
void interleaved(const E* x, const T* cos, const T* sin, E* out, int64_t n) {
    for_each_vector<E>(n, RotateNeighbours<E>{x, cos, sin, out});
}

template <class E>
constexpr RotaryKernels<E, ComputeOf<E>> kernels_of() {
    return {halves<E>, interleaved<E>};
}

RotaryTable Kernels() {
    return {kernels_of<float>(), kernels_of<double>(), kernels_of<Half>(), kernels_of<Bfloat16>()};
}

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(RotaryTable, rotary_table)

}  // namespace diopi::cpu
#endif
