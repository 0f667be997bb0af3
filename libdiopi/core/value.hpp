/// Value: one boxed argument of an operator, whatever its C type.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/tensor.hpp"

namespace diopi {

/// A number with its dtype, like diopiScalar_t.
struct Scalar {
    Dtype dtype = Dtype::float64;
    double real = 0;      ///< the value when dtype is floating
    int64_t integer = 0;  ///< the value otherwise

    [[nodiscard]] static Scalar of(double x) { return {Dtype::float64, x, static_cast<int64_t>(0)}; }
    [[nodiscard]] static Scalar of(int64_t x) { return {Dtype::int64, static_cast<double>(x), x}; }
    [[nodiscard]] static Scalar of(bool x) { return {Dtype::boolean, x ? 1.0 : 0.0, x ? 1 : 0}; }
    [[nodiscard]] double as_double() const { return is_floating(dtype) ? real : static_cast<double>(integer); }
    /// The same number of the same dtype; NaN equals itself.
    bool operator==(const Scalar& other) const {
        return dtype == other.dtype && integer == other.integer &&
               std::bit_cast<uint64_t>(real) == std::bit_cast<uint64_t>(other.real);
    }
};

using IntList = std::vector<int64_t>;
using TensorList = std::vector<TensorPtr>;
using GeneratorList = std::vector<diopiGeneratorHandle_t>;

/// The argument, or std::monostate for an absent (null) one. A generator is passed as its handle, which the host owns.
using Value = std::variant<std::monostate, TensorPtr, TensorList, Scalar, int64_t, double, bool, std::string, IntList,
                           diopiGeneratorHandle_t, GeneratorList>;

[[nodiscard]] inline bool is_null(const Value& value) {
    if (const auto* tensor = std::get_if<TensorPtr>(&value)) return *tensor == nullptr;
    return std::holds_alternative<std::monostate>(value);
}

/// Calls visit(handle) for each generator of an argument that is not null. The visitor may replace the handle of an
/// argument that is not const.
template <class Argument, class Visit>
void for_each_generator(Argument& value, Visit&& visit) {
    if (auto* handle = std::get_if<diopiGeneratorHandle_t>(&value)) {
        if (*handle != nullptr) visit(*handle);
    } else if (auto* list = std::get_if<GeneratorList>(&value)) {
        for (auto& each : *list) {
            if (each != nullptr) visit(each);
        }
    }
}

}  // namespace diopi
