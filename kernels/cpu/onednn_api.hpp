/// The differences between the interfaces of oneDNN 2 and 3, which have the same primitives.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace diopi::onednn {

/// The description of a primitive. `args` are those of oneDNN 3, between the engine and the attributes.
template <class Primitive, class... Args>
[[nodiscard]] typename Primitive::primitive_desc describe(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                          const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
    return {engine, args..., attr};
#else
    return {typename Primitive::desc(args...), attr, engine};
#endif
}

/// The same for a gradient, which also needs the description of the forward primitive.
template <class Primitive, class Forward, class... Args>
[[nodiscard]] typename Primitive::primitive_desc describe_gradient(const dnnl::engine& engine,
                                                                   const dnnl::primitive_attr& attr,
                                                                   const Forward& forward, const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
    return {engine, args..., forward, attr};
#else
    return {typename Primitive::desc(args...), attr, engine, forward};
#endif
}

/// Whether the gradient of a strided convolution's input depends on the number of threads (seen with 3.2 and float32).
constexpr bool kStridedGradientsVary = DNNL_VERSION_MAJOR >= 3;

/// Whether a float32 product of matrices depends on the number of threads: on other processors than x86-64, oneDNN
/// (seen with 2.6.3 on aarch64) gives each thread a part of the terms.
#if defined(__x86_64__)
constexpr bool kProductsVary = false;
#else
constexpr bool kProductsVary = true;
#endif

/// The same sizes and dtype in a layout that the primitive chooses.
[[nodiscard]] inline dnnl::memory::desc any_layout(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
    return {desc.get_dims(), desc.get_data_type(), dnnl::memory::format_tag::any};
#else
    return {desc.dims(), desc.data_type(), dnnl::memory::format_tag::any};
#endif
}

}  // namespace diopi::onednn
