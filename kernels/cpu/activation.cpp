/// relu; softmax has its own file.
#include <algorithm>
#include <type_traits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

namespace diopi::cpu {

namespace {

/// NaN and -0 stay.
template <class T>
struct ReluOf {
    T operator()(T x) const { return x < T(0) ? T(0) : x; }
};

/// Works on the bits of a half type: numbers between -0 and NaN become 0. kInfinity: bits of +infinity.
template <uint16_t kInfinity>
struct ReluOfBits {
    uint16_t operator()(uint16_t bits) const {
        const auto past_zero = static_cast<uint16_t>(bits - 0x8001u);
        return past_zero < kInfinity ? uint16_t{0} : bits;
    }
};

/// Runs f in `compute`, whose C++ type is T.
template <class T, class F>
diopiError_t apply(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& in, Dtype compute, F f) {
    return for_each_tile(ctx, op, {&out, 1}, {&in, 1}, unary<T>(compute, f));
}

diopiError_t relu(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out_tensor,
                  diopiConstTensorHandle_t input_tensor) {
    const View out = view(out_tensor), in = view(input_tensor);
    if (!is_ordered_number(in.dtype)) return unsupported(op, "input", in.dtype, "a real dtype");
    if (const diopiError_t error = check_shape(op, "out", out, in.shape); error != diopiSuccess) return error;
    switch (out.dtype == in.dtype ? in.dtype : wide(in.dtype)) {
        case Dtype::float32:
            return apply<float>(ctx, op, out, in, Dtype::float32, ReluOf<float>{});
        case Dtype::float64:
            return apply<double>(ctx, op, out, in, Dtype::float64, ReluOf<double>{});
        case Dtype::float16:
            return apply<uint16_t>(ctx, op, out, in, in.dtype, ReluOfBits<0x7c00>{});
        case Dtype::bfloat16:
            return apply<uint16_t>(ctx, op, out, in, in.dtype, ReluOfBits<0x7f80>{});
        case Dtype::int8:
            return apply<int8_t>(ctx, op, out, in, in.dtype, ReluOf<int8_t>{});
        case Dtype::int16:
            return apply<int16_t>(ctx, op, out, in, in.dtype, ReluOf<int16_t>{});
        case Dtype::int32:
            return apply<int32_t>(ctx, op, out, in, in.dtype, ReluOf<int32_t>{});
        case Dtype::int64:
            return apply<int64_t>(ctx, op, out, in, Dtype::int64, ReluOf<int64_t>{});
        case Dtype::uint8:
        case Dtype::uint16:
        case Dtype::uint32:
        case Dtype::uint64:
            return for_each_tile(ctx, op, {&out, 1}, {&in, 1}, {in.dtype, nullptr});
        case Dtype::boolean:
        case Dtype::tfloat32:
        case Dtype::complex32:
        case Dtype::complex64:
        case Dtype::complex128:
        case Dtype::unsupported:
            break;
    }
    return unsupported(op, "input", in.dtype, "a real dtype");
}

}  // namespace

#include "kernels/entries/activation.inc"

}  // namespace diopi::cpu
