#include "worker/worker_pool.hpp"

#include <dirent.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <numeric>
#include <set>
#include <thread>

#include "core/stopwatch.hpp"
#include "runtime/device_decorator.hpp"
#include "worker/crash_context.hpp"
#include "worker/memory_limit.hpp"
#include "worker/process_state.hpp"
#include "worker/worker_life.hpp"
#include "worker/worker_setup.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;
using End = WorkOutcome::End;
using Ended = std::vector<std::pair<size_t, WorkOutcome>>;

std::vector<size_t> first_items(size_t count) {
    std::vector<size_t> items(count);
    std::iota(items.begin(), items.end(), size_t{0});
    return items;
}

/// The outcomes of all items in the order in which they ended.
Ended outcomes_of(size_t count, const Work& work, PoolOptions options = {}) {
    Ended ended;
    const auto note = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) {
        ended.emplace_back(item, outcome);
        return Status();
    };
    REQUIRE(run_in_workers(first_items(count), options, work, note).ok());
    return ended;
}

/// The outcome of item 1 of three; the others must pass.
WorkOutcome outcome_of_faulty(const std::function<void()>& fault, PoolOptions options = {}) {
    const auto work = [&](size_t item) {
        if (item == 1) fault();
        return WorkAnswer{"fine"};
    };
    WorkOutcome faulty;
    for (auto& [item, outcome] : outcomes_of(3, work, options)) {
        if (item == 1) {
            faulty = outcome;
        } else {
            CHECK(outcome.end == End::kFinished);
            CHECK(outcome.payload == "fine");
        }
    }
    return faulty;
}

/// The worker's own socket, into which a stray write may go.
int own_socket() {
    for (int fd = 3; fd < 256; ++fd) {
        struct stat info = {};
        if (fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode)) return fd;
    }
    return -1;
}

void send_head(const AnswerHead& head) { (void)::send(own_socket(), &head, sizeof head, MSG_NOSIGNAL); }

size_t open_descriptors() {
    size_t count = 0;
    DIR* folder = ::opendir("/proc/self/fd");
    while (::readdir(folder) != nullptr) ++count;
    ::closedir(folder);
    return count;
}

/// Memory on the host; after the first failure all calls fail, as on a device in error.
class UnusableDevice final : public DeviceDecorator {
 public:
    enum class Fault { kNone, kEverything, kLosesBytes };
    Fault fault = Fault::kNone;

    UnusableDevice() : DeviceDecorator(cpu_device()) {}
    std::string_view name() const override { return "unusable"; }
    bool is_host() const override { return false; }
    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        if (fault == Fault::kEverything) return failed("device error 700");
        return cpu_device().allocate(nbytes);
    }
    Status copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override {
        return cpu_device().copy_to_host(stream, dst, src, fault == Fault::kLosesBytes ? nbytes / 2 : nbytes);
    }
};

}  // namespace

TEST_CASE("each item has one answer, from as many workers as there are jobs", "[run][pool]") {
    PoolOptions options;
    options.jobs = 3;
    std::map<size_t, std::string> answers;
    for (auto& [item, outcome] : outcomes_of(
             50, [](size_t i) { return WorkAnswer{std::to_string(i * i)}; }, options)) {
        CHECK(outcome.end == End::kFinished);
        CHECK(outcome.worker < 3);
        answers[item] = outcome.payload;
    }
    CHECK(answers.size() == 50);
    CHECK(answers[7] == "49");
}

TEST_CASE("workers of a process that has OpenMP threads have threads of their own", "[run][pool]") {
    const auto threads = [] {
        int count = 0;
#pragma omp parallel num_threads(2) reduction(+ : count)
        ++count;
        return count;
    };
    REQUIRE(threads() == 2);
    PoolOptions options;
    options.timeout_s = 5;
    for (const auto& [item, outcome] : outcomes_of(
             2, [&](size_t) { return WorkAnswer{std::to_string(threads())}; }, options)) {
        CHECK(outcome.end == End::kFinished);
        CHECK(outcome.payload == "2");
    }
}

TEST_CASE("an answer larger than a socket's buffer arrives whole", "[run][pool]") {
    const Ended ended = outcomes_of(2, [](size_t) { return WorkAnswer{std::string(5'000'000, 'a')}; });
    CHECK(ended[0].second.payload == std::string(5'000'000, 'a'));
    CHECK(ended[1].second.payload.size() == 5'000'000);
}

TEST_CASE("items that an outcome requests are next", "[run][pool]") {
    std::vector<size_t> order;
    const auto done = [&](size_t item, const WorkOutcome&, std::vector<size_t>& more) {
        order.push_back(item);
        if (item == 0) more = {10, 11};
        if (item == 11) more = {20};
        return Status();
    };
    REQUIRE(run_in_workers(
                {0, 1, 2}, {}, [](size_t) { return WorkAnswer{}; }, done)
                .ok());
    CHECK(order == std::vector<size_t>{0, 10, 11, 20, 1, 2});
}

TEST_CASE("items that need more than a worker's share come last, in fewer workers with more memory and threads",
          "[run][pool]") {
    PoolOptions options;
    options.jobs = 5;
    const int64_t all = memory_limit_of(options, 1);
    if (all == 0) return;  // with a sanitizer there is no limit
    const auto workers_for = [](size_t item) { return item == 1 || item == 4 ? 1 : item % 5 == 3 ? 2 : 5; };
    options.needs = [&](size_t item) {
        const int workers = workers_for(item);
        return workers == 1 ? all / 4 * 3 : workers == 2 ? all / 3 : 0;
    };
    std::vector<size_t> order;
    std::map<int64_t, std::set<int>> groups;  // by worker
    const auto threads = [](size_t) {
        set_up_worker();
        return WorkAnswer{std::to_string(omp_get_max_threads())};
    };
    for (const auto& [item, outcome] : outcomes_of(12, threads, options)) {
        order.push_back(item);
        const int workers = workers_for(item);
        groups[outcome.worker].insert(workers);
        CHECK(outcome.payload == std::to_string(5 / workers));
        // Memory that others use meanwhile changes the share.
        CHECK_THAT(static_cast<double>(outcome.memory_limit),
                   Catch::Matchers::WithinRel(static_cast<double>(memory_limit_of(options, workers)), 0.2));
    }
    CHECK(order.size() == 12);
    CHECK(std::set<size_t>(order.end() - 4, order.end() - 2) == std::set<size_t>{3, 8});
    CHECK(std::vector<size_t>(order.end() - 2, order.end()) == std::vector<size_t>{1, 4});
    CHECK(std::ranges::all_of(groups, [](const auto& each) { return each.second.size() == 1; }));
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a worker keeps no more freed memory than it may", "[run][pool]") {
    constexpr size_t kMiB = size_t{1} << 20;
    const auto resident = [] {
        std::ifstream file("/proc/self/statm");
        int64_t all = 0, pages = 0;
        file >> all >> pages;
        return pages * sysconf(_SC_PAGESIZE);
    };
    const auto work = [&](size_t item) {
        set_up_worker();
        trim_worker(0);  // what the tests before this one have left
        const int64_t before = resident();
        {
            const auto memory = cpu_device().allocate(96 * kMiB);
            std::memset(memory->get(), 1, 96 * kMiB);
        }
        trim_worker(item == 0 ? SIZE_MAX : 32 * kMiB);
        return WorkAnswer{std::to_string((resident() - before) / static_cast<int64_t>(kMiB)), true};
    };
    std::map<size_t, int> kept;
    for (const auto& [item, outcome] : outcomes_of(2, work)) kept[item] = std::stoi(outcome.payload);
    CHECK(kept[0] > 90);
    CHECK(kept[1] > 26);
    CHECK(kept[1] < 48);
}
#endif

TEST_CASE("an item for which an equal share was too little is done again, alone", "[run][pool]") {
    PoolOptions options;
    options.jobs = 3;
    if (memory_limit_of(options, 1) == 0) return;  // with a sanitizer there is no limit
    options.needs = [](size_t) { return int64_t{0}; };
    options.needs_all = [](size_t, const WorkOutcome& outcome) {
        return !outcome.finished() || outcome.payload == "too little";
    };
    const auto work = [&](size_t item) {
        const bool has_share = memory_limit() < memory_limit_of(options, 3) / 2 * 3;
        if (item == 4) std::raise(SIGSEGV);
        return WorkAnswer{item == 1 && has_share ? "too little" : "enough"};
    };
    std::vector<size_t> order;
    for (const auto& [item, outcome] : outcomes_of(6, work, options)) {
        order.push_back(item);
        CHECK(outcome.finished() == (item != 4));
        if (item != 4) CHECK(outcome.payload == "enough");
    }
    CHECK(order.size() == 6);
    CHECK(std::set<size_t>(order.end() - 2, order.end()) == std::set<size_t>{1, 4});
    // A limit of the user's is for each item.
    options.memory_limit = int64_t{1} << 30;
    for (const auto& [item, outcome] : outcomes_of(6, work, options)) CHECK((item != 1 || outcome.payload != "enough"));
}

TEST_CASE("with a limit of the user's, a large item runs beside the others", "[run][pool]") {
    PoolOptions options;
    options.memory_limit = int64_t{1} << 30;
    options.needs = [](size_t item) { return item == 0 ? int64_t{2} << 30 : 0; };
    const Ended ended = outcomes_of(
        3, [](size_t) { return WorkAnswer{}; }, options);
    CHECK(ended[0].first == 0);
    CHECK(ended[0].second.memory_limit == memory_limit_of(options, 1));
}

TEST_CASE("one worker does the large items while the others have small ones", "[run][pool]") {
    constexpr size_t kLarge = 3;
    using Counter = std::atomic<size_t>;
    void* shared = ::mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    auto* large_ones = new (shared) Counter(0);
    const auto wait_for = [=](size_t count) {
        const Stopwatch watch;
        while (large_ones->load() < count && watch.seconds() < 20) std::this_thread::yield();
    };
    const auto workers_of_large = [&](size_t items, const Work& work) {
        *large_ones = 0;
        PoolOptions options;
        options.jobs = 2;
        options.memory_limit = 0;
        options.may_reorder = true;
        options.needs = [](size_t item) { return item < kLarge ? int64_t{2} << 30 : 0; };
        std::set<int64_t> workers;
        for (const auto& [item, outcome] : outcomes_of(items, work, options)) {
            if (item < kLarge) workers.insert(outcome.worker);
        }
        return workers.size();
    };
    // No small item ends before the large ones: nothing but the choice of the pool decides who does these.
    CHECK(workers_of_large(2 * kLarge, [&](size_t item) {
              item < kLarge ? void(++*large_ones) : wait_for(kLarge);
              return WorkAnswer{};
          }) == 1);
    // With nothing else to do, no worker is idle.
    CHECK(workers_of_large(2, [&](size_t) {
              ++*large_ones;
              wait_for(2);
              return WorkAnswer{};
          }) == 2);
    ::munmap(shared, sizeof(Counter));
}

TEST_CASE("the serial number shows which items shared a process", "[run][pool]") {
    const Ended ended = outcomes_of(5, [](size_t item) {
        if (item == 1) std::raise(SIGSEGV);
        return WorkAnswer{"", item == 3};
    });
    std::vector<int64_t> serials;
    for (const auto& [item, outcome] : ended) serials.push_back(outcome.worker);
    CHECK(serials == std::vector<int64_t>{0, 0, 1, 1, 2});
    CHECK(ended[3].second.end == End::kFinished);
}

TEST_CASE("a crash has its crash context", "[run][pool]") {
    const WorkOutcome outcome = outcome_of_faulty([] {
        note_step(WorkPhase::kInCall, "forward", "diopiAdd");
        note_step(WorkPhase::kInCall, "backward", "diopiAddBackward");
        std::raise(SIGTERM);
    });
    CHECK(outcome.end == End::kCrashed);
    CHECK(outcome.context.text() == "backward (diopiAddBackward)");
    CHECK(outcome.reason == "SIGTERM (Terminated) in backward (diopiAddBackward)");
}

TEST_CASE("a timeout has its crash context", "[run][pool]") {
    PoolOptions options;
    options.timeout_s = 3;
    const WorkOutcome outcome = outcome_of_faulty(
        [] {
            note_step(WorkPhase::kInCall, "forward", "diopiAdd");
            for (;;) pause();
        },
        options);
    CHECK(outcome.end == End::kTimeout);
    CHECK(outcome.context.text() == "forward (diopiAdd)");
    CHECK(outcome.reason ==
          "no answer within 3.0 s (--timeout) in forward (diopiAdd); all its threads were asleep (a deadlock?)");
}

TEST_CASE("the crash context is cut, made printable, and belongs to one item only", "[run][pool]") {
    const WorkOutcome long_words = outcome_of_faulty([] {
        note_stage(std::string(1000, 'x'));
        std::raise(SIGKILL);
    });
    CHECK(long_words.context.text() == std::string(120, 'x'));
    CHECK(outcome_of_faulty([] {
              note_stage("a\nb\x1b");
              std::raise(SIGKILL);
          }).context.text() == "a\\nb\\x1b");
    const Ended ended = outcomes_of(2, [](size_t item) {
        if (item == 0) note_stage("the first");
        if (item == 1) std::raise(SIGKILL);
        return WorkAnswer{};
    });
    CHECK(ended[1].second.reason == "SIGKILL (Killed)");
    note_stage("outside a worker, nothing happens");
}

TEST_CASE("the crash context can be noted in a signal handler", "[run][pool]") {
    const WorkOutcome outcome = outcome_of_faulty([] {
        std::signal(SIGSEGV, [](int signal) {
            note_stage("the guard behind output 0");
            std::signal(signal, SIG_DFL);
            std::raise(signal);
        });
        std::raise(SIGSEGV);
    });
    CHECK(outcome.reason == "SIGSEGV (Segmentation fault) in the guard behind output 0");
}

TEST_CASE("an answer that is too large, for another item, or a second one is not accepted", "[run][pool]") {
    const std::vector<AnswerHead> lies = {{AnswerHead().magic, 1, uint64_t{1} << 60, 0},
                                          {AnswerHead().magic, 2, 0, 0},
                                          {AnswerHead().magic + 1, 1, 0, 0}};
    for (const AnswerHead& lie : lies) {
        const WorkOutcome outcome = outcome_of_faulty([&] {
            send_head(lie);
            for (;;) pause();
        });
        CHECK(outcome.end == End::kCrashed);
        CHECK_THAT(outcome.reason, Contains("garbage instead of an answer"));
    }
    const WorkOutcome twice = outcome_of_faulty([] {
        const AnswerHead two[] = {{AnswerHead().magic, 1, 0, 0}, {AnswerHead().magic, 1, 0, 0}};
        (void)::send(own_socket(), two, sizeof two, MSG_NOSIGNAL);
        for (;;) pause();
    });
    CHECK_THAT(twice.reason, Contains("garbage instead of an answer"));
}

TEST_CASE("an incomplete answer does not hold up the others", "[run][pool]") {
    PoolOptions options;
    options.timeout_s = 3;
    const WorkOutcome outcome = outcome_of_faulty(
        [] {
            send_head({AnswerHead().magic, 1, 100, 0});
            for (;;) pause();
        },
        options);
    CHECK(outcome.end == End::kTimeout);
}

TEST_CASE("a worker's output is kept: the beginning of stdout, the end of stderr", "[run][pool]") {
    const std::string block(3000, '.');
    const WorkOutcome outcome = outcome_of_faulty([&] {
        std::printf("begin%s", block.c_str());
        std::fprintf(stderr, "%send\n", block.c_str());
    });
    CHECK(outcome.end == End::kFinished);
    CHECK(outcome.printed == "wrote 3005 bytes to standard output: \"begin" + std::string(55, '.') + "...\"");
    CHECK(outcome.errors == std::string(2044, '.') + "end\n");
}

TEST_CASE("output up to the limit is not a flood", "[run][pool]") {
    PoolOptions options;
    options.output_limit = 100'000;
    const auto print = [](size_t bytes) {
        return [bytes] {
            std::fputs(std::string(bytes, 'e').c_str(), stderr);
            std::fputs(std::string(50'000, 'o').c_str(), stdout);
        };
    };
    CHECK(outcome_of_faulty(print(50'000), options).end == End::kFinished);
    const WorkOutcome flood = outcome_of_faulty(print(50'001), options);
    CHECK(flood.end == End::kCrashed);
    CHECK(flood.reason == "output flood: more than 97.7 KiB on standard output and standard error");
}

TEST_CASE("a pool leaves no processes and no descriptors", "[run][pool]") {
    const auto before = children_of_this_thread();
    const size_t descriptors = open_descriptors();
    PoolOptions options;
    options.jobs = 4;
    (void)outcome_of_faulty(
        [] {
            if (fork() == 0) {
                setsid();
                for (;;) pause();
            }
            std::raise(SIGSEGV);
        },
        options);
    CHECK(children_of_this_thread() == before);
    CHECK(open_descriptors() == descriptors);
}

TEST_CASE("an idle worker ends by itself", "[run][pool]") {
    static volatile std::sig_atomic_t s_how = 0;
    struct sigaction note = {}, before = {};
    note.sa_sigaction = [](int, siginfo_t* info, void*) { s_how = info->si_code; };
    note.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGCHLD, &note, &before);
    CHECK(outcomes_of(2, [](size_t) { return WorkAnswer{}; }).size() == 2);
    CHECK(s_how == CLD_EXITED);
    s_how = 0;
    CHECK(outcomes_of(1, [](size_t) { return WorkAnswer{"", true}; }).size() == 1);
    CHECK(s_how == CLD_EXITED);
    sigaction(SIGCHLD, &before, nullptr);
}

TEST_CASE("workers that do not end are killed three seconds later, all together", "[run][pool]") {
    PoolOptions options;
    options.jobs = 3;
    const auto work = [](size_t) {
        std::thread([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            kill(getpid(), SIGSTOP);
        }).detach();
        return WorkAnswer{};
    };
    const auto done = [](size_t, const WorkOutcome&, std::vector<size_t>&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
        return Status();
    };
    const auto before = children_of_this_thread();
    const Stopwatch watch;
    REQUIRE(run_in_workers(first_items(3), options, work, done).ok());
    CHECK(watch.seconds() > 3);
    CHECK(watch.seconds() < 5.5);
    CHECK(children_of_this_thread() == before);
}

TEST_CASE("a busy worker is killed at once", "[run][pool]") {
    PoolOptions options;
    options.jobs = 2;
    const auto work = [](size_t item) {
        if (item == 1) std::this_thread::sleep_for(std::chrono::hours(1));
        return WorkAnswer{};
    };
    const auto done = [](size_t, const WorkOutcome&, std::vector<size_t>&) { return Status(failed("enough")); };
    const Stopwatch watch;
    CHECK_FALSE(run_in_workers(first_items(2), options, work, done).ok());
    CHECK(watch.seconds() < 2);
}

TEST_CASE("an error of `done` ends the run", "[run][pool]") {
    int calls = 0;
    const auto done = [&](size_t, const WorkOutcome&, std::vector<size_t>&) {
        ++calls;
        return Status(failed("the disk is full"));
    };
    CHECK(run_in_workers(
              first_items(9), {}, [](size_t) { return WorkAnswer{}; }, done)
              .message() == "the disk is full");
    CHECK(calls == 1);
}

TEST_CASE("the health check finds a device in error", "[run][pool][runtime]") {
    CHECK(check_health(cpu_device()).ok());
    UnusableDevice device;
    CHECK(check_health(device).ok());
    device.fault = UnusableDevice::Fault::kEverything;
    CHECK(check_health(device).message() == "device error 700");
    device.fault = UnusableDevice::Fault::kLosesBytes;
    CHECK(check_health(device).message() == "unusable gives back other bytes than were copied to it");
}

TEST_CASE("a device that stays in error fails its case and replaces its worker", "[run][pool][runtime]") {
    UnusableDevice device;
    const auto work = [&](size_t item) {
        if (item == 1) device.fault = UnusableDevice::Fault::kEverything;
        const bool ok = device.allocate(8).ok();
        return WorkAnswer{ok ? "passed" : "failed", !ok && !check_health(device).ok()};
    };
    std::vector<std::string> payloads;
    for (const auto& [item, outcome] : outcomes_of(4, work)) payloads.push_back(outcome.payload);
    CHECK(payloads == std::vector<std::string>{"passed", "failed", "passed", "passed"});
}

}  // namespace diopi
