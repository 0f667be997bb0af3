#include "timing/slowdown_watch.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "runtime/device_decorator.hpp"

namespace diopi {

namespace {

class HotDevice final : public DeviceDecorator {
 public:
    HotDevice() : DeviceDecorator(cpu_device()) {}
    std::string slowdown() override {
        ++asked;
        return reason;
    }
    int asked = 0;
    std::string reason;
};

}  // namespace

TEST_CASE("a device is asked every 50 ms for slowdown reasons, and each reason is reported once", "[run][timing]") {
    HotDevice device;
    SlowdownWatch watch(device);
    CHECK(device.asked == 1);  // which takes long and is not counted
    for (int i = 0; i < 100; ++i) watch.ask();
    CHECK(device.asked <= 3);
    device.reason = "too hot";
    for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(51));
        watch.ask();
    }
    CHECK(device.asked >= 5);
    CHECK(watch.take_reasons() == std::vector<std::string>{"too hot"});
    device.reason = "";
    CHECK(watch.take_reasons().empty());
}

TEST_CASE("a device that was not asked before is asked at the end", "[run][timing]") {
    HotDevice device;
    SlowdownWatch watch(device);
    device.reason = "too hot";
    CHECK(watch.take_reasons() == std::vector<std::string>{"too hot"});
    CHECK(watch.take_reasons() == std::vector<std::string>{"too hot"});
}

}  // namespace diopi
