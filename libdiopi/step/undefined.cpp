#include "step/undefined.hpp"

#include <algorithm>
#include <cstddef>

#include "call/tensors.hpp"
#include "check/oracle.hpp"
#include "infer/infer.hpp"

namespace diopi {

namespace {

/// Whether the call's results are integers.
bool gives_integers(const Call& call) {
    Call plain = call;
    const auto outputs = infer(plain, {});
    if (!outputs.ok()) return false;
    const auto is_whole = [](Dtype dtype) { return is_integer(dtype) || dtype == Dtype::boolean; };
    if (!outputs->empty()) return is_whole(outputs->front().spec.dtype);
    bool gives = false;
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        gives |= place.arg.is_inout && is_whole(tensor->dtype);
    });
    return gives;
}

bool has_zero(const Tensor& tensor) {
    const Tensor dense = gathered(tensor);
    const size_t width = size_of(dense.dtype);
    const auto* bytes = dense.data_as<std::byte>();
    for (int64_t i = 0; i < dense.numel(); ++i, bytes += width) {
        if (std::all_of(bytes, bytes + width, [](std::byte byte) { return byte == std::byte{0}; })) return true;
    }
    return false;
}

}  // namespace

std::string why_undefined(const Call& call) {
    for (size_t i = 0; i < call.args.size(); ++i) {
        if (!call.row->args()[i].is_divisor) continue;
        const auto* number = std::get_if<Scalar>(&call.args[i]);
        const auto* tensor = std::get_if<TensorPtr>(&call.args[i]);
        const bool is_zero = (number != nullptr && number->as_double() == 0) ||
                             (tensor != nullptr && *tensor != nullptr && has_zero(**tensor));
        if (is_zero && gives_integers(call)) return "an integer is divided by 0: the standard has no result for it";
    }
    return {};
}

}  // namespace diopi
