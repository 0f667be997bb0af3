#include "runtime/guarded_device.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>

namespace diopi {
namespace {

/// A device whose blocks start at pages.
class PageDevice : public DeviceDecorator {
 public:
    using DeviceDecorator::DeviceDecorator;
    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        constexpr size_t kPage = 4096;
        return std::shared_ptr<void>(std::aligned_alloc(kPage, (nbytes + kPage - 1) / kPage * kPage), std::free);
    }
};

/// A device whose memory the host may access only by copies.
class FarDevice : public DeviceDecorator {
 public:
    FarDevice() : DeviceDecorator(cpu_device()) {}
    bool is_host() const override { return false; }
};

std::shared_ptr<void> block_of(Device& device, size_t nbytes) {
    auto memory = device.allocate(nbytes);
    REQUIRE(memory.ok());
    return *memory;
}

/// The end of a child process that writes one byte.
int signal_of_write(char* where) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGSEGV, SIG_DFL);
        *static_cast<volatile char*>(where) = 1;
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE("a byte written past an edge of a block is reported once, on any device") {
    FarDevice far;
    for (Device* device : {static_cast<Device*>(&far), &cpu_device()}) {
        GuardedDevice guarded(*device, Guard::kZones);
        const auto block = block_of(guarded, 100);
        const auto other = block_of(guarded, 64);
        guarded.name_block(block.get(), "out");
        std::memset(block.get(), 0, 100);
        CHECK(guarded.damage(nullptr)->empty());
        auto* bytes = static_cast<unsigned char*>(block.get());
        bytes[103] ^= 1;
        auto lines = guarded.damage(nullptr);
        REQUIRE(lines.ok());
        REQUIRE(lines->size() == 1);
        CHECK(lines->front() == "wrote 1 byte past the end of out, the nearest 3 bytes away from it");
        CHECK(guarded.damage(nullptr)->empty());
        static_cast<unsigned char*>(other.get())[-1] ^= 1;
        CHECK(guarded.damage(nullptr)->front() ==
              "wrote 1 byte before the start of workspace, the nearest 0 bytes away from it");
    }
}

TEST_CASE("blocks are aligned to 64 bytes, and a freed block is not checked any more") {
    for (const Guard guard : {Guard::kZones, Guard::kPages}) {
        GuardedDevice guarded(cpu_device(), guard);
        for (const size_t nbytes : {1, 63, 64, 100, 4096, 100000}) {
            const auto block = block_of(guarded, nbytes);
            CHECK(reinterpret_cast<uintptr_t>(block.get()) % 64 == 0);
            std::memset(block.get(), 0xff, nbytes);
            CHECK(guarded.damage(nullptr)->empty());
        }
        CHECK(block_of(guarded, 0) == nullptr);
    }
}

TEST_CASE("a seed of addresses places blocks at other distances, the same ones each time") {
    const auto distances = [](Guard guard, std::optional<uint64_t> addresses) {
        PageDevice pages(cpu_device());
        GuardedDevice device(pages, guard, addresses);
        std::vector<uintptr_t> found;
        for (int i = 0; i < 8; ++i) {
            const auto memory = *device.allocate(1 << 20);
            found.push_back(reinterpret_cast<uintptr_t>(memory.get()) % 4096);
        }
        CHECK(device.damage(nullptr)->empty());
        return found;
    };
    for (const Guard guard : {Guard::kNone, Guard::kZones}) {
        const auto plain = distances(guard, {}), one = distances(guard, 1);
        CHECK(std::ranges::count(plain, plain.front()) == 8);
        CHECK(std::set<uintptr_t>(one.begin(), one.end()).size() > 4);
        CHECK(std::ranges::all_of(one, [](uintptr_t distance) { return distance % 64 == 0; }));
        CHECK(distances(guard, 1) == one);
        CHECK(distances(guard, 2) != one);
    }
}

TEST_CASE("a protected page ends the process at a stray access, and the fault can be named") {
    GuardedDevice guarded(cpu_device(), Guard::kPages);
    const auto block = block_of(guarded, 256);
    guarded.name_block(block.get(), "grad_input");
    auto* bytes = static_cast<char*>(block.get());
    CHECK(signal_of_write(bytes + 255) == 0);
    CHECK(signal_of_write(bytes + 256) == SIGSEGV);
    char text[64] = "";
    REQUIRE(describe_guard_fault(bytes + 260, text));
    CHECK(std::string(text) == "4 bytes past the end of grad_input");
    CHECK_FALSE(describe_guard_fault(text, text));
    const auto odd = block_of(guarded, 100);
    CHECK(signal_of_write(static_cast<char*>(odd.get()) + 100) == 0);
    static_cast<char*>(odd.get())[100] ^= 1;
    CHECK(guarded.damage(nullptr)->size() == 1);
    CHECK(signal_of_write(static_cast<char*>(odd.get()) + 128) == SIGSEGV);
}

}  // namespace diopi
