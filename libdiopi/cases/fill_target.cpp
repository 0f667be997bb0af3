#include "cases/fill_target.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>

#include "core/half_simd.hpp"
#include "core/instruction_sets.hpp"

namespace diopi {

namespace {

/// float32 rounded to tfloat32's 11 bits, ties to even.
float round_to_tfloat32(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const uint32_t rounded = (bits + 0xfffu + ((bits >> 13) & 1u)) & ~0x1fffu;
    return x != x ? x : std::bit_cast<float>(rounded);
}

template <class To, class From>
To cast(From x) {
    if constexpr (std::same_as<To, bool>) {
        return x != From{0};
    } else if constexpr (std::integral<To> && std::floating_point<From>) {
        if (!(x == x)) return 0;
        if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
        if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
        return static_cast<To>(x);
    } else {
        return static_cast<To>(x);
    }
}

template <class To, class From>
void cast_all(const From* __restrict from, size_t n, To* __restrict to) {
    for (size_t i = 0; i < n; ++i) to[i] = cast<To>(from[i]);
}
template <class To, class From>
void store_as(std::span<const From> from, std::byte* to) {
    best<cast_all<To, From>>()(from.data(), from.size(), reinterpret_cast<To*>(to));
}

void store_tfloat32(std::span<const float> from, std::byte* to) {
    auto* out = reinterpret_cast<float*>(to);  // may be `from`
    for (size_t i = 0; i < from.size(); ++i) out[i] = round_to_tfloat32(from[i]);
}

/// Integers and doubles are rounded from double to the 16-bit formats exactly (except integers beyond 2^53).
template <class From>
void store_narrow(Dtype component, std::span<const From> from, std::byte* to) {
    alignas(64) double wide[kTile];
    for (size_t first = 0; first < from.size(); first += kTile) {
        const size_t n = std::min<size_t>(kTile, from.size() - first);
        for (size_t i = 0; i < n; ++i) wide[i] = static_cast<double>(from[first + i]);
        const std::span<const double> tile(wide, n);
        if (component == Dtype::float16) {
            to_half(tile, reinterpret_cast<Half*>(to) + first);
        } else {
            to_bfloat16(tile, reinterpret_cast<Bfloat16*>(to) + first);
        }
    }
}

/// Stores tiles of doubles or integers in any component.
template <class From>
void store_any(Dtype component, std::span<const From> from, std::byte* to) {
    switch (component) {
        case Dtype::int8:
            return store_as<int8_t>(from, to);
        case Dtype::uint8:
            return store_as<uint8_t>(from, to);
        case Dtype::int16:
            return store_as<int16_t>(from, to);
        case Dtype::uint16:
            return store_as<uint16_t>(from, to);
        case Dtype::int32:
            return store_as<int32_t>(from, to);
        case Dtype::uint32:
            return store_as<uint32_t>(from, to);
        case Dtype::int64:
            return store_as<int64_t>(from, to);
        case Dtype::uint64:
            return store_as<uint64_t>(from, to);
        case Dtype::boolean:
            return store_as<bool>(from, to);
        case Dtype::float32:
            return store_as<float>(from, to);
        case Dtype::float64:
            return store_as<double>(from, to);
        case Dtype::float16:
        case Dtype::bfloat16:
            return store_narrow(component, from, to);
        case Dtype::tfloat32:
            store_as<float>(from, to);
            return store_tfloat32({reinterpret_cast<const float*>(to), from.size()}, to);
        case Dtype::complex32:
        case Dtype::complex64:
        case Dtype::complex128:
        case Dtype::unsupported:
            break;
    }
}

}  // namespace

double largest(Dtype component) {
    if (component == Dtype::float16) return 65504.0;
    if (component == Dtype::bfloat16) return 0x1.fep127;
    if (component == Dtype::tfloat32) return 0x1.ffcp127;
    if (component == Dtype::float32) return std::numeric_limits<float>::max();
    if (component == Dtype::float64) return std::numeric_limits<double>::max();
    return std::min(std::ldexp(1.0, significand_bits(component)) - 1.0, kIntegerLimit);
}

double least(Dtype component) {
    if (is_floating(component)) return -largest(component);
    return is_unsigned(component) ? 0.0 : std::max(-std::ldexp(1.0, significand_bits(component)), -kIntegerLimit);
}

/// Stores tiles of floats in floating components other than float64.
void store(Dtype component, std::span<const float> from, std::byte* to) {
    if (component == Dtype::float16) return to_half(from, reinterpret_cast<Half*>(to));
    if (component == Dtype::bfloat16) return to_bfloat16(from, reinterpret_cast<Bfloat16*>(to));
    if (component == Dtype::tfloat32) return store_tfloat32(from, to);
    std::memcpy(to, from.data(), from.size_bytes());
}

void store(Dtype component, std::span<const double> from, std::byte* to) { store_any(component, from, to); }
void store(Dtype component, std::span<const int32_t> from, std::byte* to) { store_any(component, from, to); }
void store(Dtype component, std::span<const int64_t> from, std::byte* to) { store_any(component, from, to); }

}  // namespace diopi
