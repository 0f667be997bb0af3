/// For tests of shape rules: tensors without memory, and the messages of contradictions.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "infer/infer.hpp"

namespace diopi::testing {

inline TensorPtr meta(const Shape& shape, Dtype dtype = Dtype::float32) {
    auto tensor = std::make_shared<Tensor>();
    tensor->shape = shape;
    tensor->strides = contiguous_strides(shape);
    tensor->dtype = dtype;
    return tensor;
}

/// The message with which the call is refused.
inline std::string refusal(Call call) {
    const auto specs = infer(call, {});
    REQUIRE_FALSE(specs.ok());
    CHECK(specs.error().code == Errc::kBadInput);
    return specs.error().message;
}

}  // namespace diopi::testing
