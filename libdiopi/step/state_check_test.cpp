#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"
#include "state/caller_state.hpp"
#include "step/case_run.hpp"

namespace diopi {

namespace {

using testing::case_tensor;
using testing::make_case;

/// A fault of state that a test plants in relu, and a part of its message.
struct StateFault {
    const char* name;
    void (*act)();
    const char* message;
};

StateFault g_fault{};
int g_calls = 0;

diopiError_t relu_with_fault(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    for (int64_t i = 0; i < input->numel(); ++i) {
        out->data_as<float>()[i] = std::max(input->data_as<float>()[i], 0.0f);
    }
    ++g_calls;
    g_fault.act();
    return diopiSuccess;
}

CaseResult run(const StateFault& fault, const std::vector<std::string>& checks = {"state"}) {
    g_fault = fault;
    g_calls = 0;
    const testing::FaultyBackend faulty({{"diopiRelu", testing::any_function(relu_with_fault)}});
    CaseOptions options;
    options.backend = &faulty.backend();
    options.checks = *Checks::parse(checks);
    return run_case(make_case("relu", {case_tensor("input", {4, 33})}), options);
}

void ignore(int) {}

/// Ends when the test has ended.
void leave_a_thread() {
    std::thread([] { std::this_thread::sleep_for(std::chrono::seconds(2)); }).detach();
}

void leave_a_child() {
    if (fork() != 0) return;
    sleep(2);
    _exit(0);
}

void leave_a_file() {
    std::string name = "/tmp/diopi_state_test_XXXXXX";
    const int fd = mkstemp(name.data());
    if (fd >= 0) close(fd);
}

const StateFault kChanges[] = {
    {"rounding", [] { std::fesetround(FE_UPWARD); }, "floating-point control"},
    {"signal mask",
     [] {
         sigset_t set;
         sigemptyset(&set);
         sigaddset(&set, SIGUSR1);
         pthread_sigmask(SIG_BLOCK, &set, nullptr);
     },
     "the signal mask"},
    {"handler", [] { std::signal(SIGUSR2, ignore); }, "the handler of signal 12"},
    {"folder", [] { REQUIRE(chdir("/") == 0); }, "the working directory"},
    {"umask", [] { umask(0); }, "the umask"},
    {"locale", [] { std::setlocale(LC_NUMERIC, "C.UTF-8"); }, "the locale"},
    {"environment", [] { setenv("DIOPI_STATE_TEST", "1", 1); }, "the environment"},
    {"limit",
     [] {
         rlimit limit = {};
         getrlimit(RLIMIT_CORE, &limit);
         limit.rlim_cur = limit.rlim_cur == 0 ? 1 : 0;
         setrlimit(RLIMIT_CORE, &limit);
     },
     "a resource limit"},
    {"timer", [] { alarm(1000); }, "a timer"},
    {"standard input", [] { close(STDIN_FILENO); }, "standard input"},
};

const StateFault kLeftovers[] = {
    {"descriptor", [] { static_cast<void>(open("/dev/null", O_RDONLY)); }, "leaves an open descriptor"},
    {"thread", leave_a_thread, "leaves a thread"},
    {"child", leave_a_child, "leaves a child process"},
    {"mapping", [] { static_cast<void>(mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); },
     "leaves mapped memory"},
    {"file", leave_a_file, "leaves a file"},
};

/// abs of a number that the callee must not write.
diopiError_t add_that_writes_alpha(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t other, const diopiScalar_t* alpha) {
    for (int64_t i = 0; i < input->numel(); ++i) {
        out->data_as<float>()[i] = input->data_as<float>()[i] + other->data_as<float>()[i];
    }
    const_cast<diopiScalar_t*>(alpha)->ival = 2;
    const_cast<diopiScalar_t*>(alpha)->fval = 2;
    return diopiSuccess;
}

diopiError_t relu_that_reshapes_its_input(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input) {
    const diopiError_t error = relu_with_fault(ctx, out, input);
    std::swap(const_cast<diopiTensorHandle_t>(input)->strides[0], const_cast<diopiTensorHandle_t>(input)->strides[1]);
    return error;
}

}  // namespace

TEST_CASE("each change of the caller's state is named, and put back") {
    CallerState::keep_descriptors();
    for (const StateFault& fault : kChanges) {
        INFO(fault.name);
        const CallerState before = CallerState::now();
        const CaseResult result = run(fault);
        CHECK(result.verdict == Verdict::kFailed);
        CHECK(result.kind == FailureKind::kState);
        CHECK_THAT(result.reason, Catch::Matchers::Contains(fault.message));
        CHECK(CallerState::now().changes_since(before).empty());
    }
}

TEST_CASE("what each call leaves is named, and what only the first call starts is not") {
    for (const StateFault& fault : kLeftovers) {
        INFO(fault.name);
        const CaseResult result = run(fault);
        CHECK(result.kind == FailureKind::kState);
        CHECK_THAT(result.reason, Catch::Matchers::Contains(fault.message));
    }
    static void (*act)() = nullptr;
    for (const StateFault& fault : kLeftovers) {
        INFO(fault.name << ", by the first call alone");
        act = fault.act;
        const CaseResult result = run({"once",
                                       [] {
                                           if (g_calls == 1) act();
                                       },
                                       ""});
        CHECK(result.verdict == Verdict::kPassed);
    }
    CHECK(std::system("rm -f /tmp/diopi_state_test_??????") == 0);
}

TEST_CASE("a call that leaves everything as it was passes, and one that does not passes without the check") {
    CHECK(run({"nothing", [] {}, ""}, {"all"}).verdict == Verdict::kPassed);
    const CallerState before = CallerState::now();
    CHECK(run({"umask", [] { umask(0); }, ""}, {"guards", "inputs"}).verdict == Verdict::kPassed);
    CHECK(CallerState::now().changes_since(before) == std::vector<std::string>{"the umask"});
    CHECK(before.restore());
}

TEST_CASE("arguments that the callee only reads must not change") {
    g_fault = {"nothing", [] {}, ""};
    CaseOptions options;
    options.checks = *Checks::parse({"state"});
    Case c = make_case("add", {case_tensor("input", {4, 33}), case_tensor("other", {4, 33})});
    const testing::FaultyBackend adding({{"diopiAdd", testing::any_function(add_that_writes_alpha)}});
    options.backend = &adding.backend();
    CHECK(run_case(c, options).reason == "the call changed its argument alpha");
    const testing::FaultyBackend reshaping({{"diopiRelu", testing::any_function(relu_that_reshapes_its_input)}});
    options.backend = &reshaping.backend();
    c = make_case("relu", {case_tensor("input", {4, 33})});
    CHECK(run_case(c, options).reason == "the call changed the shape or the strides of an input");
}

}  // namespace diopi
