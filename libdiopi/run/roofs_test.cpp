#include "run/roofs.hpp"

#include <catch2/catch.hpp>

#include "run/faulty_testing.hpp"
#include "run/launch_testing.hpp"

namespace diopi {

namespace {

/// What a launch takes the host, and what the functions of the launching device take it, whatever their size.
constexpr double kLaunch = 8e-6, kElementwise = 20e-6, kProduct = 40e-6;

testing::LaunchDevice* g_device = nullptr;

diopiError_t relu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    g_device->launch(kLaunch, kElementwise);
    return diopiSuccess;
}
diopiError_t add(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t,
                 const diopiScalar_t*) {
    g_device->launch(kLaunch, kElementwise);
    return diopiSuccess;
}
diopiError_t mm(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, diopiConstTensorHandle_t) {
    g_device->launch(kLaunch, kProduct);
    return diopiSuccess;
}

/// A backend whose functions are launches.
class LaunchBackend {
 public:
    LaunchBackend() { g_device = &device; }
    [[nodiscard]] Result<Roofs> roofs() {
        const Dtype dtypes[] = {Dtype::float32};
        const Backend backend = functions_.backend().on(device);
        return measure_roofs(backend, dtypes);
    }
    testing::LaunchDevice device;

 private:
    testing::FaultyBackend functions_{{{"diopiRelu", testing::any_function(relu)},
                                       {"diopiAdd", testing::any_function(add)},
                                       {"diopiMm", testing::any_function(mm)}}};
};

}  // namespace

TEST_CASE("roofs of a device with a clock of its own have no launch in them", "[run][roofs]") {
    LaunchBackend backend;
    const auto roofs = backend.roofs();
    REQUIRE(roofs.ok());
    // The functions take the same time at any size.
    for (const Roofs::Copy& copy : roofs->copies) {
        const double at_best = static_cast<double>(copy.bytes) / kElementwise;
        CHECK(copy.rate < 1.001 * at_best);
        CHECK(copy.rate > 0.95 * at_best);
    }
    const double at_best = 2.0 * 4096 * 4096 * 4096 / kProduct;
    CHECK(matmul_roof(*roofs, Dtype::float32) < 1.001 * at_best);
    CHECK(matmul_roof(*roofs, Dtype::float32) > 0.95 * at_best);
}

}  // namespace diopi
