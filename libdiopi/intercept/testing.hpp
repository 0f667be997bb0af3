/// For tests of interceptors and of captures: calls and small captures made by hand.
#pragma once

#include <catch2/catch.hpp>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "capture/capture.hpp"
#include "runtime/context.hpp"
#include "runtime/device.hpp"

namespace diopi::testing {

/// A contiguous float32 tensor of one dim in the device's memory.
inline TensorPtr floats_on(Device& device, const std::vector<float>& values) {
    auto host = make_tensor(cpu_device(), {{static_cast<int64_t>(values.size())}, Dtype::float32});
    REQUIRE(host.ok());
    std::copy(values.begin(), values.end(), (*host)->data_as<float>());
    if (device.is_host()) return *host;
    auto stream = device.create_stream();
    REQUIRE(stream.ok());
    auto tensor = to_device(device, *stream, **host);
    REQUIRE(tensor.ok());
    REQUIRE(device.destroy_stream(*stream).ok());
    return *tensor;
}

/// The values of a float32 tensor on the context's device.
inline std::vector<float> floats_of(Context& context, const Tensor& tensor) {
    auto host = to_host(*context.device, context.stream, tensor);
    REQUIRE(host.ok());
    const float* values = (*host)->data_as<float>();
    return values == nullptr ? std::vector<float>() : std::vector<float>(values, values + (*host)->numel());
}

inline Call add_of(TensorPtr out, TensorPtr input, TensorPtr other) {
    Call call(*find_row("diopiAdd"));
    call["out"] = std::move(out);
    call["input"] = std::move(input);
    call["other"] = std::move(other);
    call["alpha"] = Scalar::of(1.0);
    return call;
}

/// An addition in the device's memory.
inline Call add_on(Device& device, const std::vector<float>& input = {1, 2},
                   const std::vector<float>& other = {10, 20}) {
    return add_of(floats_on(device, std::vector<float>(input.size())), floats_on(device, input),
                  floats_on(device, other));
}

/// Adds a float32 storage of `numel` elements with one tensor over it; their ids differ in the first letter only.
inline size_t add_floats(Capture& capture, const std::string& id, int64_t numel, std::optional<Recipe> fill = {}) {
    capture.storages.push_back({"s" + id, numel * 4, fill});
    return capture.add_tensor("t" + id, capture.storages.size() - 1, {{numel}, Dtype::float32}, 0);
}

/// Adds a call of `function` with tensors of the capture; `prepare` sets the other arguments.
template <class Prepare>
void add_call(Capture& capture, const std::string& overload, std::string_view function,
              std::initializer_list<std::pair<const char*, size_t>> tensors, Prepare prepare) {
    CapturedCall& captured = capture.calls.emplace_back();
    captured.overload = overload;
    captured.call.emplace(*find_row(function));
    for (const auto& [arg, tensor] : tensors) (*captured.call)[arg] = capture.tensors[tensor].tensor;
    prepare(*captured.call);
}

}  // namespace diopi::testing
