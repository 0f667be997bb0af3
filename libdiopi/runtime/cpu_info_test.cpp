#include "runtime/cpu_info.hpp"

#include <sched.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "file/test_folder.hpp"

namespace diopi {

TEST_CASE("a processor's name and vendor and the memory come from the system's texts") {
    const DeviceInfo info = cpu_info_from(
        "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 7\nmodel name\t: A Processor: fast \n"
        "processor\t: 1\nmodel name\t: Another\n",
        "MemTotal:        1000 kB\nMemFree:           10 kB\nMemAvailable:    600 kB\n");
    CHECK(info.name == "A Processor: fast");
    CHECK(info.vendor == "GenuineIntel");
    CHECK(info.total_bytes == 1024000);
    CHECK(info.free_bytes == 614400);
}

TEST_CASE("the outermost caches are added, each once") {
    const testing::TestFolder folder;
    const auto cache = [&](int cpu, int index, const char* level, const char* size, const char* shared_by) {
        const std::string place = folder / ("cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index));
        std::filesystem::create_directories(place);
        std::ofstream(place + "/level") << level << "\n";
        std::ofstream(place + "/size") << size << "\n";
        std::ofstream(place + "/shared_cpu_list") << shared_by << "\n";
    };
    for (int cpu = 0; cpu < 4; ++cpu) {
        cache(cpu, 0, "1", "48K", std::to_string(cpu).c_str());
        cache(cpu, 1, "3", "32768K", cpu < 2 ? "0-1" : "2-3");
        cache(cpu, 2, "2", "1024K", std::to_string(cpu).c_str());
    }
    CHECK(cache_bytes_from(folder.path()) == 2 * 32768 * 1024);
    CHECK(cache_bytes_from(folder / "nowhere") == 0);
}

TEST_CASE("facts that the system does not give stay empty") {
    const DeviceInfo info = cpu_info_from("model name\t:\n: 3\nno colon", "");
    CHECK(info.name.empty());
    CHECK(info.vendor.empty());
    CHECK(info.total_bytes == 0);
}

TEST_CASE("the processors of the cpu device are those that this process may use") {
    cpu_set_t before;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    const auto narrow = cpu_device().info();
    REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
    const auto wide = cpu_device().info();
    REQUIRE((narrow.ok() && wide.ok()));
    CHECK(narrow->compute_units == 1);
    CHECK(wide->compute_units == CPU_COUNT(&before));
    CHECK_FALSE(wide->name.empty());
    CHECK(wide->total_bytes > wide->free_bytes);
}

}  // namespace diopi
