/// Which boxed values fit the C type of an argument.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/value.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace boxing {

template <class T, class... Alternatives>
consteval size_t position_among(std::type_identity<std::variant<Alternatives...>>) {
    size_t position = 0;
    bool found = false;
    ((found = found || std::is_same_v<T, Alternatives>, position += found ? 0 : 1), ...);
    return position;
}

}  // namespace boxing

/// Position of a type among Value's alternatives.
template <class T>
inline constexpr size_t kAlternative = boxing::position_among<T>(std::type_identity<Value>());

/// The position of the alternative of Value that boxes an argument of this C type; that of null if there is none.
[[nodiscard]] constexpr size_t alternative_of(ArgKind kind) {
    switch (kind) {
        case ArgKind::tensor:
        case ArgKind::const_tensor:
            return kAlternative<TensorPtr>;
        case ArgKind::tensors:
        case ArgKind::const_tensors:
            return kAlternative<TensorList>;
        case ArgKind::scalar:
            return kAlternative<Scalar>;
        case ArgKind::int_list:
        case ArgKind::int_list_ptr:
            return kAlternative<IntList>;
        case ArgKind::int64:
        case ArgKind::int32:
        case ArgKind::reduction:
        case ArgKind::round_mode:
        case ArgKind::memory_format:
        case ArgKind::int64_ptr:
            return kAlternative<int64_t>;
        case ArgKind::float32:
        case ArgKind::float64:
        case ArgKind::float64_ptr:
            return kAlternative<double>;
        case ArgKind::boolean:
        case ArgKind::boolean_ptr:
            return kAlternative<bool>;
        case ArgKind::text:
            return kAlternative<std::string>;
        case ArgKind::generator:
            return kAlternative<diopiGeneratorHandle_t>;
        case ArgKind::generators:
            return kAlternative<GeneratorList>;
        case ArgKind::pointer:
            return kAlternative<std::monostate>;
    }
    return kAlternative<std::monostate>;
}

/// The smallest and the largest integer that the C type can hold.
[[nodiscard]] constexpr std::pair<int64_t, int64_t> range_of(ArgKind kind) {
    if (kind == ArgKind::int32) return {INT32_MIN, INT32_MAX};
    if (kind == ArgKind::reduction) return {0, ReductionEND};
    if (kind == ArgKind::round_mode) return {0, RoundModeEND};
    if (kind == ArgKind::memory_format) return {0, diopiMemoryFormat_ChannelsLast1d};
    return {INT64_MIN, INT64_MAX};
}

/// Whether the C type takes a value that is not null, and the value is within its range.
[[nodiscard]] inline bool fits(const Value& value, ArgKind kind) {
    if (value.index() != alternative_of(kind)) return false;
    if (const auto* integer = std::get_if<int64_t>(&value)) {
        const auto [low, high] = range_of(kind);
        return *integer >= low && *integer <= high;
    }
    const auto* floating = std::get_if<double>(&value);
    const bool too_large = floating != nullptr && std::isfinite(*floating) && std::fabs(*floating) > FLT_MAX;
    return kind != ArgKind::float32 || !too_large;
}

}  // namespace diopi
