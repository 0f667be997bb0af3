// In place of cuda_device.cpp where there is no CUDA toolkit.
#include "runtime/cuda/cuda_device.hpp"

namespace diopi {

namespace {

Error not_built() {
    return bad_input(
        "the cuda backend is not in this build: install the CUDA toolkit (nvcc), configure with "
        "-DDIOPI_CUDA=ON and build again, or use --impl cpu");
}

class NoCudaDevice final : public Device {
 public:
    std::string_view name() const override { return "cuda"; }
    Result<DeviceInfo> info() override { return not_built(); }
    bool is_host() const override { return false; }
    Result<std::shared_ptr<void>> allocate(size_t) override { return not_built(); }
    Status copy_to_device(diopiStreamHandle_t, void*, const void*, size_t) override { return not_built(); }
    Status copy_to_host(diopiStreamHandle_t, void*, const void*, size_t) override { return not_built(); }
    Result<diopiStreamHandle_t> create_stream() override { return not_built(); }
    Status destroy_stream(diopiStreamHandle_t) override { return not_built(); }
    Status synchronize(diopiStreamHandle_t) override { return not_built(); }
    Result<std::unique_ptr<Event>> create_event() override { return not_built(); }
};

}  // namespace

Device& cuda_device() {
    static NoCudaDevice device;
    return device;
}

Status probe_cuda() { return not_built(); }

}  // namespace diopi
