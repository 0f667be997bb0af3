#include "worker/memory_limit.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>

#include "worker/output_capture.hpp"
#include "worker/printable.hpp"

namespace diopi {

TEST_CASE("sizes of memory are read with their units", "[run]") {
    constexpr int64_t kMi = 1 << 20;
    CHECK(*parse_memory_size("4G") == 4096 * kMi);
    CHECK(*parse_memory_size("512M") == 512 * kMi);
    CHECK(*parse_memory_size("1.5GiB") == 1536 * kMi);
    CHECK(*parse_memory_size("2TB") == 2048 * 1024 * kMi);
    CHECK(*parse_memory_size("70000K") == 70000 * 1024);
    CHECK(*parse_memory_size("100000000") == 100000000);
    CHECK(*parse_memory_size("0") == 0);
    CHECK(*parse_memory_size("0G") == 0);
}

TEST_CASE("an invalid size of memory is refused, with the valid form", "[run]") {
    for (const char* text : {"", "G", "4X", "4 G", "-4G", "nan", "inf", "1e30T", "4GG", "4i", "four"}) {
        const auto size = parse_memory_size(text);
        REQUIRE_FALSE(size.ok());
        CHECK(size.error().code == Errc::kBadInput);
        CHECK_THAT(size.error().message, Catch::Contains("give a number and K, M, G or T, such as 4G or 512M"));
    }
    CHECK_THAT(parse_memory_size("63M").error().message, Catch::Contains("too little"));
}

TEST_CASE("memory is printed in a suitable unit", "[run]") {
    CHECK(memory_text(int64_t{4} << 30) == "4.0 GiB");
    CHECK(memory_text(1536 << 10) == "1.5 MiB");
    CHECK(memory_text(int64_t{5000} << 40) == "5000.0 TiB");
}

TEST_CASE("a fair share shrinks with the number of workers, down to 1 GiB", "[run]") {
    CHECK(fair_share_of_memory(1) >= fair_share_of_memory(2));
    CHECK(fair_share_of_memory(1'000'000) == int64_t{1} << 30);
}

TEST_CASE("what a process inherits does not count for its limit", "[run]") {
    if (!can_limit_memory()) return;
    constexpr int64_t kMi = 1 << 20;
    const int64_t before = data_of_process();
    const auto inherited = std::make_unique<char[]>(512 * kMi);
    CHECK(data_of_process() >= before + 512 * kMi);
    const pid_t child = fork();
    if (child == 0) {
        limit_memory(256 * kMi);
        void* const small = std::malloc(128 * kMi);
        void* const large = std::malloc(512 * kMi);
        _exit((small != nullptr ? 1 : 0) + (large != nullptr ? 2 : 0));
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 1);
}

TEST_CASE("foreign bytes are escaped and cut", "[run]") {
    CHECK(printable("a\tb\n\x01\xff\"", 100) == "a\\tb\\n\\x01\\xff\"");
    CHECK(printable("abcdef", 3) == "abc...");
    CHECK(printable("abc", 3) == "abc");
}

TEST_CASE("the last line that says something", "[run]") {
    CHECK(last_line("one\ntwo\r\n\n  \n") == "two");
    CHECK(last_line("one") == "one");
    CHECK(last_line("\n").empty());
    CHECK(last_line(std::string(500, 'x')).size() == 243);
}

}  // namespace diopi
