/// diopi_bisect_score [--quick] [CAPTURE.json]: plants faults in the functions of a capture, one after the other and in
/// pairs, and counts those that --bisect finds. Exit code 1 when one is missed.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstring>
#include <random>

#include "core/stopwatch.hpp"
#include "intercept/call_copy.hpp"
#include "planted.hpp"
#include "replay/bisect.hpp"
#include "worker/message.hpp"
#include "worker/worker_pool.hpp"

namespace diopi::bisect_score {

namespace {

/// The planted faults, and the call that the search must name, if there is only one.
struct Experiment {
    std::vector<Planted> faults;
    size_t call = SIZE_MAX;
};

class Score {
 public:
    Score(const Capture& capture, const CaptureValues& values, CaptureReplay& replay, bool quick)
        : capture_(capture), values_(values), replay_(replay), quick_(quick) {}

    Status run() {
        if (Status s = list_functions(); !s.ok()) return s;
        std::vector<Experiment> singles, pairs;
        plant_functions(singles);
        if (Status s = plant_calls(singles); !s.ok()) return s;
        plant_pairs(pairs);
        const double calls = static_cast<double>(capture_.calls.size());
        bound_ = static_cast<int>(4 * std::log2(calls) + 8);
        for (const Experiment& experiment : singles) {
            if (Status s = try_to_find(experiment, bound_, single_); !s.ok()) return s;
        }
        for (const Experiment& experiment : pairs) {
            if (Status s = try_to_find(experiment, INT_MAX, pair_); !s.ok()) return s;
        }
        return {};
    }

    /// Prints the result; whether all faults were found.
    bool print() const {
        fmt::print("single faults: {} of {} found, in {} replays at most (4 log2({}) + 8 = {})\n", single_.found,
                   single_.planted, single_.most_replays, capture_.calls.size(), bound_);
        fmt::print("pairs: {} of {} found, in {} replays at most\n", pair_.found, pair_.planted, pair_.most_replays);
        return single_.found == single_.planted && pair_.found == pair_.planted;
    }

 private:
    struct Tally {
        int planted = 0, found = 0, most_replays = 0;
    };

    Status list_functions() {
        for (const CapturedCall& call : capture_.calls) {
            if (!call.call || std::ranges::count(rows_, call.call->row) > 0) continue;
            if (!can_plant(*call.call->row)) {
                return failed(fmt::format("there is no fault for {}; add it to planted.cpp", call.call->row->function));
            }
            rows_.push_back(call.call->row);
        }
        return {};
    }

    /// The time limit of a replay. A fault that never returns uses it up in many replays: there it is a multiple of
    /// what a replay takes now, since the machine may have other work.
    Result<double> limit_of(const Experiment& experiment) {
        const auto hangs = [](const Planted& planted) { return planted.fault == Fault::kHang; };
        if (std::ranges::none_of(experiment.faults, hangs)) return 120.0;
        const Stopwatch watch;
        auto inputs = inputs_of(*rows_.front());
        if (!inputs.ok()) return inputs.error();
        return std::max(3.0, 20 * watch.seconds());
    }

    void plant_functions(std::vector<Experiment>& list) const {
        for (size_t i = 0; i < rows_.size(); ++i) {
            list.push_back({{{rows_[i], Fault::kWrong}}});
            if (!quick_ || i % 8 == 0) list.push_back({{{rows_[i], Fault::kNan}}});
        }
        for (const char* function : {"diopiMean", "diopiMm"}) {
            list.push_back({{{find_row(function), Fault::kCrash}}});
            if (!quick_ || list.size() % 2 == 0) list.push_back({{{find_row(function), Fault::kHang}}});
        }
    }

    /// Plants faults that strike only the middle one of a function's calls.
    Status plant_calls(std::vector<Experiment>& list) {
        for (size_t i = 0; i < rows_.size(); i += quick_ ? 2 : 1) {
            const Row& row = *rows_[i];
            std::vector<size_t> numbers;
            for (size_t c = 0; c < capture_.calls.size(); ++c) {
                if (capture_.calls[c].call && capture_.calls[c].call->row == &row) numbers.push_back(c);
            }
            if (numbers.size() == 1) continue;
            auto inputs = inputs_of(row);
            if (!inputs.ok()) return inputs.status();
            const size_t middle = numbers.size() / 2;
            const InputSum own = (*inputs)[middle];
            const auto is_other = [&](InputSum sum) { return is_other_call(sum, own); };
            if (std::ranges::count_if(*inputs, is_other) + 1 < std::ssize(*inputs)) continue;
            list.push_back({{{&row, Fault::kWrong, own}}, numbers[middle]});
        }
        return {};
    }

    void plant_pairs(std::vector<Experiment>& list) const {
        std::mt19937 random(4);
        std::vector<const Row*> shuffled = rows_;
        while (list.size() < (quick_ ? 3 : 10)) {
            std::ranges::shuffle(shuffled, random);
            list.push_back({{{shuffled[0], Fault::kWrong}, {shuffled[1], Fault::kWrong}}});
        }
    }

    /// The inputs of each call of the function, from a replay in a worker: this process must not start threads.
    Result<std::vector<InputSum>> inputs_of(const Row& row) {
        const PlantedBackend recording({{&row, Fault::kRecords}});
        std::vector<InputSum> inputs;
        const auto work = [&](size_t) {
            auto side = Side::create(recording.backend());
            if (!side.ok() || !replay_.begin((*side)->context()).ok()) return WorkAnswer{};
            const Chain chain(recording.backend());
            if (!replay_.run(chain, (*side)->context()).ok()) return WorkAnswer{};
            std::vector<uint64_t> bits;
            for (const InputSum sum : recorded_inputs()) bits.push_back(std::bit_cast<uint64_t>(sum));
            return WorkAnswer{pack_message(bits)};
        };
        const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) {
            std::vector<uint64_t> bits;
            const bool is_valid = unpack_message(outcome.payload, bits);
            for (const uint64_t sum : bits) inputs.push_back(std::bit_cast<InputSum>(sum));
            return !is_valid || inputs.empty() ? failed("the capture cannot be replayed: " + outcome.reason) : Status();
        };
        if (Status s = run_in_workers({0}, PoolOptions{.memory_limit = 0}, work, done); !s.ok()) return s.error();
        return inputs;
    }

    Status try_to_find(const Experiment& experiment, int bound, Tally& tally) {
        const PlantedBackend planted(experiment.faults);
        BisectOptions options;
        options.backend = &planted.backend();
        options.other = *find_backend("cpu");
        const auto limit = limit_of(experiment);
        if (!limit.ok()) return limit.status();
        options.timeout_s = *limit;
        const Stopwatch watch;
        const auto report = bisect(replay_, capture_, values_, options);
        if (!report.ok()) return report.status();
        const bool found = is_right(experiment, *report) && report->replays() <= bound;
        ++tally.planted;
        tally.found += found ? 1 : 0;
        tally.most_replays = std::max(tally.most_replays, report->replays());
        fmt::print("{:<6}  {:<60} {:>2} replays {:>6.1f} s  {}\n", found ? "found" : "MISSED", title(experiment),
                   report->replays(), watch.seconds(), found ? "" : blamed(*report));
        std::fflush(stdout);
        return {};
    }

    static bool is_right(const Experiment& experiment, const BisectReport& report) {
        std::vector<const Row*> wanted, found;
        for (const Planted& planted : experiment.faults) wanted.push_back(planted.row);
        for (const FaultyFunction& function : report.functions) found.push_back(function.row);
        std::ranges::sort(wanted);
        std::ranges::sort(found);
        if (wanted != found || report.function_search.end != DeltaDebugging::End::kFound || report.calls.empty())
            return false;
        return experiment.call == SIZE_MAX || report.calls == std::vector<size_t>{experiment.call};
    }

    static std::string title(const Experiment& experiment) {
        std::string text;
        for (const Planted& planted : experiment.faults) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", planted.row->function, name(planted.fault));
        }
        return experiment.call == SIZE_MAX ? text : text + fmt::format(" at call {} alone", experiment.call);
    }

    static std::string blamed(const BisectReport& report) {
        std::string text = report.function_search.reason + ":";
        for (const FaultyFunction& function : report.functions) text += " " + std::string(function.row->function);
        return text + fmt::format("; calls {}", fmt::join(report.calls, " "));
    }

    const Capture& capture_;
    const CaptureValues& values_;
    CaptureReplay& replay_;
    bool quick_;
    std::vector<const Row*> rows_;  ///< names of the capture's functions
    int bound_ = 0;
    Tally single_, pair_;
};

int run(const std::string& path, bool quick) {
    // Many short replays: threads would cost more than they give.
    omp_set_num_threads(1);
    const auto capture = read_capture(path);
    if (!capture.ok()) {
        fmt::print(stderr, "{}\n", capture.error().message);
        return 2;
    }
    const CaptureValues values;
    auto replay = CaptureReplay::create(*capture, values, 0);
    if (!replay.ok()) {
        fmt::print(stderr, "{}\n", replay.error().message);
        return 2;
    }
    Score score(*capture, values, *replay, quick);
    if (Status s = score.run(); !s.ok()) {
        fmt::print(stderr, "{}\n", s.message());
        return 3;
    }
    return score.print() ? 0 : 1;
}

}  // namespace

}  // namespace diopi::bisect_score

int main(int argc, char** argv) {
    std::string path = DIOPI_SOURCE_DIR "/cases/captures/resnet18.json";
    bool quick = false;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--quick") == 0)
            quick = true;
        else
            path = argv[i];
    }
    return diopi::bisect_score::run(path, quick);
}
