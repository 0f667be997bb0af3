#include "capture/capture_spool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "file/test_folder.hpp"
#include "intercept/testing.hpp"

namespace diopi {

namespace {

using namespace testing;
using Catch::Matchers::Contains;

/// One call on two storages of this many elements.
Capture part_of(int64_t numel, const std::string& overload) {
    Capture part;
    const Recipe ones{Recipe::Kind::kConstant, Dtype::float32, 1, 0};
    const size_t in = add_floats(part, "in", numel, ones), out = add_floats(part, "out", numel);
    add_call(part, overload, "diopiAdd", {{"out", out}, {"input", in}, {"other", in}},
             [](Call& call) { call["alpha"] = Scalar::of(1.0); });
    part.calls.back().forward_id = 0;
    return part;
}

Capture head_of(const std::string& name) {
    Capture head;
    head.name = name;
    head.generator = "a test";
    return head;
}

CaptureSpool spool_at(const std::string& path) {
    auto spool = CaptureSpool::create(path);
    if (!spool.ok()) FAIL(spool.error().message);
    return std::move(*spool);
}

/// Runs `work` in a forked process that exits afterwards.
template <class Work>
void in_child(Work work) {
    const pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    REQUIRE(waitpid(child, nullptr, 0) == child);
}

}  // namespace

TEST_CASE("parts become one capture in the order of their items", "[store][capture_spool]") {
    const TestFolder folder;
    const std::string path = folder / "deep/x.json";
    CaptureSpool spool = spool_at(path);
    REQUIRE(spool.add(2, part_of(5, "third")).ok());
    REQUIRE(spool.add(0, part_of(3, "first")).ok());
    REQUIRE(spool.add(2, part_of(7, "fourth")).ok());
    REQUIRE(spool.add(1, part_of(4, "second")).ok());
    CHECK(names_in(folder / "deep").empty());

    const auto written = spool.publish(head_of("x"), false);
    REQUIRE(written.ok());
    CHECK(written->parts == 4);
    CHECK(written->calls == 4);
    CHECK(names_in(folder / "deep") == std::vector<std::string>{"x.json"});
    const auto whole = read_capture(path);
    if (!whole.ok()) FAIL(whole.error().message);
    CHECK(whole->name == "x");
    CHECK(whole->generator == "a test");
    CHECK(whole->storages.size() == 8);
    const std::vector<std::pair<std::string, int64_t>> wanted = {
        {"first", 3}, {"second", 4}, {"third", 5}, {"fourth", 7}};
    for (size_t i = 0; i < wanted.size(); ++i) {
        const CapturedCall& call = whole->calls[i];
        CHECK(call.overload == wanted[i].first);
        CHECK(call.call->tensor("out")->shape == Shape{wanted[i].second});
        CHECK(call.forward_id == static_cast<int64_t>(i));
        const CapturedTensor& input = whole->tensors[whole->position(*call.call->tensor("input"))];
        CHECK(whole->storages[input.storage].nbytes == 4 * wanted[i].second);
        CHECK(whole->storages[input.storage].fill.has_value());
    }
}

TEST_CASE("values follow their storages and calls into the HDF5 file", "[store][capture_spool]") {
    const TestFolder folder;
    CaptureSpool spool = spool_at(folder / "x.json");
    REQUIRE(spool.storage(0, *floats_on(cpu_device(), {4, 5})).ok());
    REQUIRE(spool.add(1, part_of(2, "late")).ok());
    REQUIRE(spool.storage(0, *floats_on(cpu_device(), {1})).ok());
    REQUIRE(spool.result(0, "out", *floats_on(cpu_device(), {2})).ok());
    REQUIRE(spool.add(0, part_of(1, "early")).ok());
    REQUIRE(spool.storage(0, *floats_on(cpu_device(), {9, 9, 9})).ok());
    spool.drop();
    REQUIRE(spool.add(2, part_of(3, "without")).ok());
    REQUIRE(spool.publish(head_of("x"), true).ok());

    const auto whole = read_capture(folder / "x.json");
    REQUIRE(whole.ok());
    CHECK(whole->values == "x.h5");
    const auto values = CaptureValues::open(folder / "x.json", *whole);
    if (!values.ok()) FAIL(values.error().message);
    Context context(cpu_device());
    const auto input_of = [&](size_t call) {
        const size_t tensor = whole->position(*whole->calls[call].call->tensor("input"));
        auto host = values->storage(whole->storages[whole->tensors[tensor].storage].id);
        REQUIRE(host.ok());
        return *host == nullptr ? std::vector<float>() : floats_of(context, **host);
    };
    CHECK(input_of(0) == std::vector<float>{1});
    CHECK(input_of(1) == std::vector<float>{4, 5});
    CHECK(input_of(2).empty());
    CHECK(floats_of(context, **values->result(0, "out")) == std::vector<float>{2});
    CHECK(*values->result(1, "out") == nullptr);
}

TEST_CASE("workers share a spool, and the additions of one that dies remain", "[store][capture_spool]") {
    const TestFolder folder;
    CaptureSpool spool = spool_at(folder / "x.json");
    in_child([&] {
        static_cast<void>(spool.add(1, part_of(2, "b")));
        static_cast<void>(spool.storage(0, *floats_on(cpu_device(), {7})));
    });
    in_child([&] { static_cast<void>(spool.add(0, part_of(2, "a"))); });
    REQUIRE(spool.publish(head_of("x"), false).ok());
    const auto whole = read_capture(folder / "x.json");
    REQUIRE(whole.ok());
    REQUIRE(whole->calls.size() == 2);
    CHECK(whole->calls[0].overload == "a");
    CHECK(whole->calls[1].overload == "b");
}

TEST_CASE("stray writes of a worker to every descriptor do not damage a spool", "[store][capture_spool]") {
    const TestFolder folder;
    CaptureSpool spool = spool_at(folder / "x.json");
    REQUIRE(spool.add(0, part_of(2, "a")).ok());
    in_child([] {
        for (int fd = 3; fd < 256; ++fd) static_cast<void>(::write(fd, "stray", 5) == 0);
    });
    REQUIRE(spool.add(1, part_of(2, "b")).ok());
    const auto written = spool.publish(head_of("x"), false);
    if (!written.ok()) FAIL(written.error().message);
    CHECK(written->calls == 2);
}

TEST_CASE("all processes report a write that failed in one", "[store][capture_spool]") {
    const TestFolder folder;
    CaptureSpool spool = spool_at(folder / "x.json");
    in_child([&] {
        const FullDisk full(1 << 10);
        static_cast<void>(spool.add(0, part_of(1 << 10, std::string(2 << 10, 'o'))));
    });
    const Status added = spool.add(1, part_of(1, "b"));
    REQUIRE_FALSE(added.ok());
    CHECK_THAT(added.message(), Contains("cannot record to") && Contains("free some space"));
    const auto written = spool.publish(head_of("x"), false);
    REQUIRE_FALSE(written.ok());
    CHECK_THAT(written.error().message, Contains("cannot record to") && Contains("free some space"));
    CHECK(names_in(folder.path()).empty());
}

TEST_CASE("a disk that becomes full at the end keeps the former files", "[store][capture_spool]") {
    const TestFolder folder;
    REQUIRE(write_file_atomically(folder / "x.json", "former").ok());
    REQUIRE(write_file_atomically(folder / "x.h5", "former").ok());
    CaptureSpool spool = spool_at(folder / "x.json");
    REQUIRE(spool.add(0, part_of(1 << 10, std::string(2 << 10, 'o'))).ok());
    for (const bool values : {false, true}) {
        const FullDisk full(1 << 10);
        CHECK_FALSE(spool.publish(head_of("x"), values).ok());
    }
    CHECK(names_in(folder.path()) == std::vector<std::string>{"x.h5", "x.json"});
    CHECK(*read_text_file(folder / "x.json") == "former");
    CHECK(*read_text_file(folder / "x.h5") == "former");
}

TEST_CASE("a spool whose file cannot be created is an error", "[store][capture_spool]") {
    const TestFolder folder;
    REQUIRE(write_file_atomically(folder / "file", "").ok());
    const auto spool = CaptureSpool::create(folder / "file/x.json");
    REQUIRE_FALSE(spool.ok());
    CHECK_THAT(spool.error().message, Contains("file"));
}

}  // namespace diopi
