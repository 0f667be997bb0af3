/// The differences between the interfaces of oneDNN 2 and 3, which have the same primitives.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

namespace diopi::onednn {

/// An instruction set that a primitive must not use. AMX works on matrices (Intel), SVE on vectors (aarch64).
enum class Avoided { nothing, amx, sve };

/// Moves the description to the first implementation that does not use the set. Throws if there is none. oneDNN 2 reads
/// what the description was made of, which must still be there.
template <class Description>
void avoid(Avoided avoided, Description& description) {
    if (avoided == Avoided::nothing) return;
    const bool is_amx = avoided == Avoided::amx;
    const char* none_left = is_amx ? "all of its implementations use AMX" : "all of its implementations use SVE";
    while (std::string_view(description.impl_info_str()).find(is_amx ? "amx" : "sve") != std::string_view::npos) {
        if (!description.next_impl()) throw dnnl::error(dnnl_unimplemented, none_left);
    }
}

/// The description of a primitive. `args` are those of oneDNN 3, between the engine and the attributes.
template <class Primitive, class... Args>
[[nodiscard]] typename Primitive::primitive_desc describe(Avoided avoided, const dnnl::engine& engine,
                                                          const dnnl::primitive_attr& attr, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
    typename Primitive::primitive_desc made(engine, args..., attr);
#else
    const typename Primitive::desc operation(args...);
    typename Primitive::primitive_desc made(operation, attr, engine);
#endif
    avoid(avoided, made);
    return made;
}

/// The same for a gradient, which also needs the description of the forward primitive.
template <class Primitive, class Forward, class... Args>
[[nodiscard]] typename Primitive::primitive_desc describe_gradient(Avoided avoided, const dnnl::engine& engine,
                                                                   const dnnl::primitive_attr& attr,
                                                                   const Forward& forward, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
    typename Primitive::primitive_desc made(engine, args..., forward, attr);
#else
    const typename Primitive::desc operation(args...);
    typename Primitive::primitive_desc made(operation, attr, engine, forward);
#endif
    avoid(avoided, made);
    return made;
}

/// Whether oneDNN uses the instructions of a set, by the processor and by DNNL_MAX_CPU_ISA.
[[nodiscard]] inline bool uses(dnnl::cpu_isa set) {
    const auto needed = static_cast<unsigned>(set);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

/// Whether oneDNN uses AMX.
[[nodiscard]] inline bool has_amx() {
#if defined(__x86_64__)
    static const bool has = uses(dnnl::cpu_isa::avx512_core_amx);
    return has;
#else
    return false;
#endif
}

/// Whether oneDNN uses the kernels of an x86-64 processor without AVX-512, by the processor or by DNNL_MAX_CPU_ISA.
[[nodiscard]] inline bool is_limited_to_avx2() {
#if defined(__x86_64__)
    static const bool is_limited = !uses(dnnl::cpu_isa::avx512_core);
    return is_limited;
#else
    return false;
#endif
}

/// Whether a float32 product of matrices depends on the number of threads: without AVX-512, oneDNN (seen with 2.6.3 on
/// AVX2 and aarch64) gives each thread a part of the terms.
[[nodiscard]] inline bool products_vary() {
#if defined(__x86_64__)
    return is_limited_to_avx2();
#else
    return true;
#endif
}

/// The same of the gradient of a strided convolution's input (seen with 3.2, and with 2.6.3 on AVX2).
[[nodiscard]] inline bool strided_gradients_vary() { return DNNL_VERSION_MAJOR >= 3 || is_limited_to_avx2(); }

/// The same sizes and dtype in a layout that the primitive chooses.
[[nodiscard]] inline dnnl::memory::desc any_layout(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
    return {desc.get_dims(), desc.get_data_type(), dnnl::memory::format_tag::any};
#else
    return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any};
#endif
}

}  // namespace diopi::onednn
