/// Tests of the device on a machine that has none: every answer is an error with the reason, and nothing crashes.
#include "runtime/cuda/cuda_device.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>

namespace diopi {
namespace {

/// Evaluates the condition in a child: CUDA does not survive a fork, and later tests may fork.
bool holds_in_child(const std::function<bool()>& condition) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(condition() ? 0 : 1);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <class Answer>
bool fails_with_reason(const Answer& answer) {
    return !answer.ok() && answer.error().message.size() > 20;
}

/// Asks the loader, because the probe may be wrong.
bool has_driver() {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (driver != nullptr) dlclose(driver);
    return driver != nullptr;
}

}  // namespace

TEST_CASE("cuda: without a driver the probe has a suggestion") {
    if (has_driver()) return;
    CHECK(holds_in_child([] {
        const Status s = probe_cuda();
        return s.error().code == Errc::kBadInput && s.message().find("--impl cpu") != std::string::npos &&
               s.message().find('\n') == std::string::npos;
    }));
}

TEST_CASE("cuda: without a driver every function fails with the reason") {
    if (has_driver()) return;
    CHECK(holds_in_child([] {
        Device& device = cuda_device();
        char byte = 0;
        return !device.is_host() && fails_with_reason(device.info()) && fails_with_reason(device.allocate(16)) &&
               fails_with_reason(device.create_stream()) && fails_with_reason(device.create_event()) &&
               fails_with_reason(device.synchronize(nullptr)) &&
               fails_with_reason(device.copy_to_device(nullptr, &byte, &byte, 1)) &&
               fails_with_reason(device.copy_to_host(nullptr, &byte, &byte, 1)) &&
               fails_with_reason(check_health(device)) && device.allocated_bytes().value_or(0) == 0;
    }));
}

}  // namespace diopi
