/// Element-wise kernels. An operator is a functor over its compute type C (float, double, int64_t, uint64_t, Complex),
///
///     template <class C>
///     struct Multiply {
///         __device__ C operator()(C a, C b) const { return a * b; }
///     };
///
/// and `map<C>(ctx, op, out, inputs, Multiply<C>{})` runs it for any strides, broadcasting, 0-dim, empty, overlapping
/// tensors and any mixture of dtypes. If all operands, with the output, have one floating dtype, a kernel for that
/// dtype runs; for a half type it calls `f.half_form()` instead of f, if there is such a member, whose arithmetic is
/// precise enough for half types. A functor may return a wider type than C, which is rounded once. One with a member
/// `Chooses` takes a condition first, and its kernels one of a byte beside operands of one dtype.
#pragma once

#include <array>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/element/nest.hpp"

namespace diopi::cuda {

/// The inputs of a kernel that computes in C. An input without data is a number.
template <class C, int kIns>
struct Inputs {
    const void* data[kIns];
    Dtype dtypes[kIns];
    C numbers[kIns];
    bool repeats[kIns];  ///< one element along the innermost dimension
};

template <class F, class C, int kIns>
__device__ auto call(const F& f, const C (&values)[kIns]) {
    if constexpr (kIns == 1)
        return f(values[0]);
    else if constexpr (kIns == 2)
        return f(values[0], values[1]);
    else
        return f(values[0], values[1], values[2]);
}

template <class F>
constexpr bool kChooses = requires {
    typename F::Chooses;
};

/// The type of the first input's elements where the other operands are of T.
template <class T, class F>
using FirstOf = std::conditional_t<kChooses<F>, uint8_t, T>;

/// Calls take(k, an element) for each input k; the element has the type of the input's.
template <class T, class First, int kIns, class Take>
__device__ void for_each_input(Take&& take) {
    take(0, First());
#pragma unroll
    for (int k = 1; k < kIns; ++k) take(k, T());
}

/// The output and the inputs are runs (or repeat one element), aligned to packs.
template <class T, class C, int kIns, class F>
__global__ void run_kernel(F f, T* out, Inputs<C, kIns> in, int64_t n) {
    constexpr int kPack = kPackOf<T>;
    C values[kPack][kIns];
    bool moves[kIns];
    for_each_input<T, FirstOf<T, F>, kIns>([&](int k, auto typed) {
        const auto* from = static_cast<const decltype(typed)*>(in.data[k]);
        moves[k] = from != nullptr && !in.repeats[k];
        const C fixed = from == nullptr ? in.numbers[k] : convert<C>(*from);
        for (int i = 0; i < kPack; ++i) values[i][k] = fixed;
    });
    const int64_t step = int64_t{gridDim.x} * blockDim.x * kPack;
    for (int64_t at = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kPack; at < n; at += step) {
        for_each_input<T, FirstOf<T, F>, kIns>([&](int k, auto typed) {
            using From = decltype(typed);
            if (!moves[k]) return;
            const auto pack = load_pack<From, kPack>(static_cast<const From*>(in.data[k]) + at, n - at);
            for (int i = 0; i < kPack; ++i) values[i][k] = convert<C>(pack.at[i]);
        });
        Pack<T, kPack> result;
        for (int i = 0; i < kPack; ++i) result.at[i] = convert<T>(call(f, values[i]));
        store_pack(out + at, n - at, result);
    }
}

/// The elements of the walk are packs (in_packs); an input repeats one element in each, or is aligned to packs.
template <class T, class C, int kIns, class F>
__global__ void packed_kernel(F f, T* out, Inputs<C, kIns> in, Walk<int32_t, kIns + 1> walk, int32_t n) {
    constexpr int kPack = kPackOf<T>;
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
        int32_t places[kIns + 1];
        walk.find(static_cast<int32_t>(at), places);
        C values[kPack][kIns];
        for_each_input<T, FirstOf<T, F>, kIns>([&](int k, auto typed) {
            using From = decltype(typed);
            const auto* from = static_cast<const From*>(in.data[k]);
            if (from == nullptr || in.repeats[k]) {
                const C fixed = from == nullptr ? in.numbers[k] : convert<C>(from[places[k + 1]]);
                for (int i = 0; i < kPack; ++i) values[i][k] = fixed;
            } else {
                const auto pack = *reinterpret_cast<const Pack<From, kPack>*>(from + places[k + 1]);
                for (int i = 0; i < kPack; ++i) values[i][k] = convert<C>(pack.at[i]);
            }
        });
        Pack<T, kPack> result;
        for (int i = 0; i < kPack; ++i) result.at[i] = convert<T>(call(f, values[i]));
        *reinterpret_cast<Pack<T, kPack>*>(out + places[0]) = result;
    }
}

/// The number of elements that a thread loads before it computes, if it loads them one by one.
constexpr int kEach = 4;

/// All operands are of T.
template <class T, class C, int kIns, class F>
__global__ void strided_kernel(F f, T* out, Inputs<C, kIns> in, Walk<int32_t, kIns + 1> walk, int32_t n) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x * kEach;
    for (int64_t first = int64_t{blockIdx.x} * blockDim.x * kEach + threadIdx.x; first < n; first += step) {
        int32_t places[kEach][kIns + 1];
        C values[kEach][kIns];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const int64_t at = first + i * int64_t{blockDim.x};
            if (at >= n) continue;
            walk.find(static_cast<int32_t>(at), places[i]);
            for (int k = 0; k < kIns; ++k) {
                const T* from = static_cast<const T*>(in.data[k]);
                values[i][k] = from == nullptr ? in.numbers[k] : convert<C>(from[places[i][k + 1]]);
            }
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            if (first + i * int64_t{blockDim.x} < n) out[places[i][0]] = convert<T>(call(f, values[i]));
        }
    }
}

/// Any dtypes; for a real function those that map_real accepts (unary.cuh).
template <class C, int kIns, bool kReal, class F>
__global__ void mixed_kernel(F f, void* out, Dtype out_dtype, Inputs<C, kIns> in, Walk<int32_t, kIns + 1> walk,
                             int32_t n) {
    const int64_t step = int64_t{gridDim.x} * blockDim.x * kEach;
    for (int64_t first = int64_t{blockIdx.x} * blockDim.x * kEach + threadIdx.x; first < n; first += step) {
        int32_t places[kEach][kIns + 1];
        C values[kEach][kIns] = {};
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const int64_t at = first + i * int64_t{blockDim.x};
            walk.find(static_cast<int32_t>(at < n ? at : first), places[i]);
        }
#pragma unroll
        for (int k = 0; k < kIns; ++k) {
            with_type_among<C, kReal && std::is_same_v<C, float>>(in.dtypes[k], [&](auto typed) {
                const auto* from = static_cast<const decltype(typed)*>(in.data[k]);
#pragma unroll
                for (int i = 0; i < kEach; ++i) {
                    values[i][k] = from == nullptr ? in.numbers[k] : convert<C>(from[places[i][k + 1]]);
                }
            });
        }
        decltype(call(f, values[0])) results[kEach];
        for (int i = 0; i < kEach; ++i) results[i] = call(f, values[i]);
        with_type_among<C, kReal>(out_dtype, [&](auto typed) {
            using To = decltype(typed);
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
                if (first + i * int64_t{blockDim.x} >= n) continue;
                static_cast<To*>(out)[places[i][0]] = convert<To>(results[i]);
            }
        });
    }
}

namespace elementwise_detail {

/// The operands of a launch: the output is operand 0.
template <class C, int kIns>
struct Plan {
    Nest nest;
    View out;
    Inputs<C, kIns> in{};
    Dtype dtype = Dtype::unsupported;  ///< the dtype of all operands except numbers and a condition, if they have one
};

/// Copies inputs that aliases_differently reports.
template <bool kHasCondition, class C, size_t kIns>
diopiError_t plan(diopiContextHandle_t ctx, std::string_view op, const View& out, std::array<View, kIns>& ins,
                  const std::array<C, kIns>& numbers, Plan<C, static_cast<int>(kIns)>& p) {
    std::array<View, kIns + 1> operands;
    operands[0] = p.out = out;
    p.dtype = out.dtype;
    for (size_t k = 0; k < kIns; ++k) {
        if (aliases_differently(out, ins[k])) {
            if (const diopiError_t error = copy_of(ctx, op, ins[k], ins[k]); error != diopiSuccess) return error;
        }
        operands[k + 1] = ins[k];
        p.in.data[k] = ins[k].data;
        p.in.dtypes[k] = ins[k].dtype;
        p.in.numbers[k] = numbers[k];
        const bool fits = kHasCondition && k == 0 ? ins[k].item_size() == 1 : ins[k].dtype == out.dtype;
        if (ins[k].data != nullptr && !fits) p.dtype = Dtype::unsupported;
    }
    p.nest = make_nest(operands);
    for (size_t k = 0; k < kIns; ++k) p.in.repeats[k] = p.nest.inner_stride(static_cast<int>(k) + 1) == 0;
    return diopiSuccess;
}

/// Calls launch(part) for parts of the plan whose places fit 32 bits.
template <class C, int kIns, class F>
diopiError_t in_narrow_parts(const Plan<C, kIns>& p, F&& launch_part) {
    if (p.nest.fits_32_bits()) return launch_part(p);
    const auto [halves, places] = split(p.nest);
    for (size_t half = 0; half < 2; ++half) {
        Plan<C, kIns> part = p;
        part.nest = halves[half];
        if (half == 1) {
            part.out.data += places[0] * p.out.item_size();
            for (size_t k = 0; k < kIns; ++k) {
                if (p.in.data[k] == nullptr) continue;
                part.in.data[k] = static_cast<const std::byte*>(p.in.data[k]) +
                                  places[k + 1] * static_cast<int64_t>(size_of(p.in.dtypes[k]));
            }
        }
        if (const diopiError_t error = in_narrow_parts(part, launch_part); error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

template <class F>
constexpr bool kHasHalfForm = requires(const F& f) {
    f.half_form();
};

/// The form of f for elements of T.
template <class T, class F>
auto form_for(const F& f) {
    if constexpr (kHasHalfForm<F> && sizeof(T) == 2)
        return f.half_form();
    else
        return f;
}

/// Launches the kernel for any dtypes.
template <bool kReal, class C, int kIns, class F>
diopiError_t launch_mixed(diopiContextHandle_t ctx, std::string_view op, const Plan<C, kIns>& p, F f) {
    return in_narrow_parts(p, [&](const Plan<C, kIns>& part) {
        return launch(ctx, op, launch_for(part.nest.numel, kEach), mixed_kernel<C, kIns, kReal, F>, f, part.out.data,
                      part.out.dtype, part.in, walk_of<int32_t, kIns + 1>(part.nest), part.nest.numel);
    });
}

/// Real functions are many and slow to compile: only these types have a strided kernel for them.
template <class T, class F>
constexpr bool kHasStrided = std::is_same_v<T, float> || (!std::is_same_v<T, double> && kHasHalfForm<F>);

template <class T, bool kReal = false, class C, int kIns, class F>
diopiError_t launch_typed(diopiContextHandle_t ctx, std::string_view op, const Plan<C, kIns>& p, F f) {
    constexpr size_t kPackBytes = 16;
    const auto form = form_for<T>(f);
    using Form = std::remove_cv_t<decltype(form)>;
    T* out = reinterpret_cast<T*>(p.out.data);
    bool is_packed = is_aligned(p.out.data, kPackBytes);
    for (int k = 0; k < kIns; ++k) {
        const size_t bytes = k == 0 && kChooses<F> ? kPackBytes / sizeof(T) : kPackBytes;
        is_packed = is_packed && (p.in.repeats[k] || is_aligned(p.in.data[k], bytes));
    }
    if (is_packed && p.nest.is_run()) {
        const Launch l = launch_for(p.nest.numel, kPackBytes / sizeof(T));
        return launch(ctx, op, l, run_kernel<T, C, kIns, Form>, form, out, p.in, p.nest.numel);
    }
    if constexpr (kReal && !kHasStrided<T, F>) {
        return launch_mixed<kReal>(ctx, op, p, f);
    } else {
        const std::optional<Nest> packs = is_packed ? in_packs(p.nest, kPackOf<T>) : std::nullopt;
        if (packs) {
            Plan<C, kIns> packed = p;
            packed.nest = *packs;
            return in_narrow_parts(packed, [&](const Plan<C, kIns>& part) {
                return launch(ctx, op, launch_for(part.nest.numel, 1), packed_kernel<T, C, kIns, Form>, form,
                              reinterpret_cast<T*>(part.out.data), part.in, walk_of<int32_t, kIns + 1>(part.nest),
                              part.nest.numel);
            });
        }
        if constexpr (kChooses<F>) {
            return launch_mixed<kReal>(ctx, op, p, f);
        } else {
            return in_narrow_parts(p, [&](const Plan<C, kIns>& part) {
                return launch(ctx, op, launch_for(part.nest.numel, kEach), strided_kernel<T, C, kIns, Form>, form,
                              reinterpret_cast<T*>(part.out.data), part.in, walk_of<int32_t, kIns + 1>(part.nest),
                              part.nest.numel);
            });
        }
    }
}

}  // namespace elementwise_detail

/// out = f(inputs) element by element, in the compute type C. An input without data is the number of the same index in
/// `numbers`. Operands may be complex only if C is. kReal: f is a real function; only map_real sets it.
template <class C, size_t kIns, class F, bool kReal = false>
diopiError_t map(diopiContextHandle_t ctx, std::string_view op, const View& out, std::array<View, kIns> ins, F f,
                 const std::array<C, kIns>& numbers = {}) {
    using namespace elementwise_detail;
    constexpr int kInputs = static_cast<int>(kIns);
    if (const diopiError_t error = check_views(op, out, ins); error != diopiSuccess) return error;
    if (out.numel == 0) return diopiSuccess;
    Plan<C, kInputs> p;
    if (const diopiError_t error = plan<kChooses<F>>(ctx, op, out, ins, numbers, p); error != diopiSuccess) {
        return error;
    }
    if constexpr (std::is_same_v<C, float>) {
        if (p.dtype == Dtype::float32) return launch_typed<float, kReal>(ctx, op, p, f);
        if (p.dtype == Dtype::float16) return launch_typed<__half, kReal>(ctx, op, p, f);
        if (p.dtype == Dtype::bfloat16) return launch_typed<__nv_bfloat16, kReal>(ctx, op, p, f);
    }
    if constexpr (std::is_same_v<C, double>) {
        if (p.dtype == Dtype::float64) return launch_typed<double, kReal>(ctx, op, p, f);
    }
    if constexpr (std::is_same_v<C, int64_t> && kChooses<F>) {
        if (p.dtype == Dtype::int64) return launch_typed<int64_t>(ctx, op, p, f);
        if (p.dtype == Dtype::int32) return launch_typed<int32_t>(ctx, op, p, f);
    }
    return launch_mixed<kReal>(ctx, op, p, f);
}

/// Calls f<C>() with the compute type of a result of that dtype: float for the narrow floating dtypes, double, int64_t
/// for integers and bool, uint64_t only for uint64.
template <class F>
diopiError_t with_compute_type(Dtype dtype, F&& f) {
    if (dtype == Dtype::float64) return f.template operator()<double>();
    if (is_floating(dtype)) return f.template operator()<float>();
    if (dtype == Dtype::uint64) return f.template operator()<uint64_t>();
    return f.template operator()<int64_t>();
}

/// The same with Complex for complex dtypes.
template <class F>
diopiError_t with_any_compute_type(Dtype dtype, F&& f) {
    if (is_complex(dtype)) return f.template operator()<Complex>();
    return with_compute_type(dtype, f);
}

/// A number in a compute type, which may be complex.
template <class C>
[[nodiscard]] C compute_number(const diopiScalar_t& scalar) {
    if constexpr (kIsComplex<C>)
        return {number<double>(scalar), 0};
    else
        return number<C>(scalar);
}

}  // namespace diopi::cuda
