// Replaces cuda_device.cpp in a build without the cuda backend, whose configuration says why (cmake/cuda.cmake).
#include "runtime/cuda/cuda_device.hpp"

namespace diopi {

namespace {

#ifndef DIOPI_NO_CUDA_REASON
#define DIOPI_NO_CUDA_REASON "its configuration does not say why"
#endif

Error not_built() {
    return bad_input("this build has no cuda backend: built without CUDA, because " DIOPI_NO_CUDA_REASON
                     "; build with DIOPI_CUDA=ON (scripts/build.sh) where a CUDA toolkit is, or use --impl cpu");
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
