/// The suite as a whole: it passes on correct backends, and survives a crash of a check.
#include "runtime_suite/runtime_suite.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "file/test_folder.hpp"
#include "journal/journal.hpp"
#include "runtime_suite/runtime_testing.hpp"
#include "worker/backend_probe.hpp"

namespace diopi {

using testing::TestBackend;
using testing::TestFolder;

namespace {

void expect_all_pass(const RuntimeSubject& subject) {
    for (const RuntimeCheck& check : runtime_checks()) {
        const CaseResult result = run_runtime_check(check, subject);
        INFO(result.case_id << ": " << result.reason);
        CHECK(result.verdict == Verdict::kPassed);
        CHECK_FALSE(result.reason.empty());
        CHECK(result.suite == "runtime");
    }
}

Result<std::string> fine(const RuntimeSubject&) { return std::string("measured"); }
Result<std::string> die(const RuntimeSubject&) {
    std::raise(SIGKILL);
    return std::string();
}
Result<std::string> hang(const RuntimeSubject&) {
    for (;;) pause();
}
Result<std::string> throw_something(const RuntimeSubject&) { throw std::runtime_error("out of order"); }

Result<std::string> print_something(const RuntimeSubject&) {
    std::puts("hello");
    return std::string("measured");
}

constexpr RuntimeCheck kRough[] = {
    {"die", die}, {"hang", hang}, {"throw", throw_something}, {"print", print_something}, {"fine", fine}};

}  // namespace

TEST_CASE("the runtime's checks pass on the backends that are linked in") {
    for (const Backend* backend : backends()) {
        if (!probe_backend(*backend, 60).ok()) continue;
        RuntimeSubject subject;
        subject.backend = backend;
        expect_all_pass(subject);
    }
}

TEST_CASE("the runtime's checks pass on an asynchronous device") {
    AsyncDevice device;
    expect_all_pass(TestBackend(device).subject());
}

TEST_CASE("a check that needs an operator which the backend lacks is not implemented") {
    TestBackend backend;
    backend.replace("diopiAdd", nullptr).replace("diopiNormalInp", nullptr).replace("diopiUniformInp", nullptr);
    for (const char* name : {"one_stream", "many_streams", "threads_and_streams", "last_error"}) {
        const CaseResult result = testing::run_check(name, backend.subject());
        CHECK(result.verdict == Verdict::kNotImplemented);
        CHECK_THAT(result.reason, Catch::Contains("has no diopiAdd"));
    }
    CHECK_THAT(testing::run_check("generator_state", backend.subject()).reason,
               Catch::Contains("has no random operator"));
}

TEST_CASE("a check is found by its case id, and a misspelled one is answered with the nearest") {
    const auto chosen = [](const char* ids) { return choose_runtime_checks(NameChoice(ids)); };
    REQUIRE(chosen("runtime/copies").ok());
    CHECK(chosen("runtime/copies")->at(0)->name == "copies");
    CHECK(chosen("runtime/*streams")->size() == 2);
    CHECK_THAT(chosen("runtime/copes").error().message, Catch::Contains("did you mean 'runtime/copies'"));
    CHECK_THAT(chosen("relu").error().message, Catch::Contains("there are: runtime/device_info, "));
}

TEST_CASE("a check that dies, hangs, throws or prints fails alone, and the journal has all checks") {
    const TestFolder folder;
    RuntimeSuiteOptions options;
    options.subject.backend = *find_backend("cpu");
    for (const RuntimeCheck& check : kRough) options.checks.push_back(&check);
    options.pool = {1, 0.3};
    options.run_folder = folder.path();
    int seen = 0;
    const auto run = run_runtime_suite(options, [&](const CaseResult&) { ++seen; });
    REQUIRE(run.ok());
    CHECK(seen == 5);
    const auto journal = read_journal(journal_path(folder.path()));
    REQUIRE(journal.ok());
    CHECK(journal->header.cases == 5);
    REQUIRE(journal->results.size() == 5);
    const auto& results = journal->results;
    CHECK(results[0].verdict == Verdict::kCrashed);
    CHECK_THAT(results[0].reason, Catch::Contains("SIGKILL"));
    CHECK(results[1].verdict == Verdict::kTimeout);
    CHECK(results[2].verdict == Verdict::kFailed);
    CHECK_THAT(results[2].reason, Catch::Contains("out of order"));
    CHECK(results[3].verdict == Verdict::kFailed);
    CHECK_THAT(results[3].reason, Catch::Contains("bytes to standard output: "));
    CHECK(results[4].verdict == Verdict::kPassed);
    CHECK(results[4].reason == "measured");
    CHECK(results[4].case_id == "runtime/fine");
}

}  // namespace diopi
