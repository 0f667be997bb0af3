/// The device of PyTorch that the library works on, and the host's streams on it.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <diopi/diopirt.h>

#include <optional>

namespace diopi::torch_impl {

/// DIOPI_TORCH_DEVICE, or the processor.
[[nodiscard]] c10::Device device();

/// PyTorch's work on the stream of the context while it lives; nothing on the processor.
class OnStream {
 public:
    explicit OnStream(diopiContextHandle_t ctx);
    explicit OnStream(diopiStreamHandle_t stream);
    OnStream(const OnStream&) = delete;
    ~OnStream();

 private:
    void enter(diopiStreamHandle_t stream);

    std::optional<c10::impl::VirtualGuardImpl> guard_;
    std::optional<c10::Stream> before_;
    std::optional<c10::Device> device_before_;
};

}  // namespace diopi::torch_impl
