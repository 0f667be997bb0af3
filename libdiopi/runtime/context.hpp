/// The context behind diopiContextHandle_t: the device and stream of a call, and the tensors that the call asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/format.hpp"
#include "runtime/device.hpp"

struct diopiContext {
    explicit diopiContext(diopi::Device& d, diopiStreamHandle_t s = nullptr) : device(&d), stream(s) {}

    diopi::Device* device;
    diopiStreamHandle_t stream;
    /// Tensors handed out by diopiRequireTensor and diopiRequireBuffer; released by `release`.
    std::vector<diopi::TensorPtr> required;
    /// The initial value of every byte of a required tensor; nullopt: the memory is not initialised.
    std::optional<std::byte> fresh;
    /// Asked of the reference backend alone: its results are then bounds of the errors that a plain, careful
    /// computation in this format makes. A function that can tell sets `has_errors`.
    std::optional<diopi::Format> errors_in;
    bool has_errors = false;
    /// With errors_in: the format of the call's tensors, in which some functions keep numbers between two steps.
    diopi::Format kept_in;

    /// Asked of the reference backend alone: the binary digits of the results, which it may compute with few more.
    int digits = 53;

    /// Gives the caller shared ownership of a tensor that a library allocated here; null when it is not ours.
    [[nodiscard]] diopi::TensorPtr take(diopiConstTensorHandle_t handle) const;
    /// Drops every tensor that was required. Call it when the outcome of a call has been collected.
    void release() { required.clear(); }
};

namespace diopi {

using Context = ::diopiContext;

/// The text that goes with the last failed runtime or operator call of this thread; for messages.
[[nodiscard]] const std::string& last_error();
void set_last_error(std::string message);

}  // namespace diopi
