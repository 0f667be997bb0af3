#include "call/element_numbers.hpp"

#include <cmath>

#include "call/tensors.hpp"
#include "core/half.hpp"

namespace diopi {

namespace {

Dtype element_dtype(const Call& call) {
    Dtype dtype = Dtype::unsupported;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        if (dtype == Dtype::unsupported && place.is_read()) dtype = tensor->dtype;
    });
    return dtype;
}

void convert(Scalar& scalar, Dtype dtype) {
    constexpr double kWhole = 0x1p63;
    if (is_floating(scalar.dtype) && std::fabs(scalar.real) < kWhole) {
        scalar = Scalar::of(static_cast<int64_t>(scalar.real));
    }
    if (is_unsigned(dtype)) scalar.integer = wrap_integer(scalar.integer, dtype);
}

double rounded(double x, Dtype dtype) {
    switch (dtype) {
        case Dtype::float16:
            return to_float(to_half(x));
        case Dtype::bfloat16:
            return to_float(to_bfloat16(x));
        case Dtype::float32:
            return static_cast<float>(x);
        default:
            return x;
    }
}

}  // namespace

Scalar as_element(const Scalar& number, Dtype dtype) {
    if (is_integer(dtype)) return Scalar::of(wrap_integer(number.integer, dtype));
    if (dtype == Dtype::boolean) return Scalar::of(int64_t{number.as_double() != 0});
    return Scalar::of(rounded(number.as_double(), component_of(dtype)));
}

void convert_element_numbers(Call& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        auto* scalar = std::get_if<Scalar>(&call.args[i]);
        if (scalar == nullptr || !call.row->args()[i].is_element) continue;
        if (const Dtype dtype = element_dtype(call); is_integer(dtype)) convert(*scalar, dtype);
    }
}

}  // namespace diopi
