/// diopi_slowdown_score: profiles the same calls repeatedly, with one of them made slower in each run, and counts the
/// runs whose comparison with the one before names it, and the verdicts about unchanged calls (docs/profile.md). The
/// machine's noise changes its figures: run it on a quiet machine.
#include <diopi/functions.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include "cases/catalogue.hpp"
#include "core/tensor.hpp"
#include "profile/profile.hpp"
#include "profile/profile_baseline.hpp"
#include "worker/worker_pool.hpp"

namespace diopi::slowdown_score {

namespace {

struct Options {
    int calls = 200, same = 3, runs = 100, planted_calls = 12;
    double seconds = 24;         ///< time for all calls of an A/A run
    double planted_seconds = 8;  ///< time for all calls of a run with a slowdown
    double percent = 5;
    uint64_t seed = 0;
};

/// The calls that are made slower. There is only one plan, because the slowed functions are plain functions.
struct Plan {
    std::string function;
    Shape shape;  ///< the shape and the dtype of the first input
    Dtype dtype = Dtype::float32;
    double share = 0;  ///< added time as a share of the call's own time
};
Plan g_plan;

bool is_target(diopiConstTensorHandle_t input) { return input->shape == g_plan.shape && input->dtype == g_plan.dtype; }

/// Replaces `kFunction`, a function of the standard.
template <auto kFunction>
struct Slowed;

template <class... Args,
          diopiError_t (*kFunction)(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t, Args...)>
struct Slowed<kFunction> {
    static inline std::string_view function;
    static inline AnyFunction real = nullptr;

    static diopiError_t call(diopiContextHandle_t context, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                             Args... args) {
        using Clock = std::chrono::steady_clock;
        const bool acts = function == g_plan.function && is_target(input);
        const auto start = Clock::now();
        const diopiError_t error = reinterpret_cast<decltype(kFunction)>(real)(context, out, input, args...);
        const auto end = Clock::now();
        const auto more = (end - start) * (acts ? g_plan.share : 0);
        while (Clock::now() - end < more) {
        }
        return error;
    }
};

struct Entry {
    std::string_view op, function;
    AnyFunction slowed;
    std::string_view* known_as;
    AnyFunction* real;
};

template <auto kFunction>
Entry entry(std::string_view op, std::string_view function) {
    using Function = Slowed<kFunction>;
    return {op, function, reinterpret_cast<AnyFunction>(&Function::call), &Function::function, &Function::real};
}

const std::vector<Entry>& entries() {
    static const std::vector<Entry> list = {
        entry<&diopiAdd>("add", "diopiAdd"),
        entry<&diopiMul>("mul", "diopiMul"),
        entry<&diopiDiv>("div", "diopiDiv"),
        entry<&diopiMaximum>("maximum", "diopiMaximum"),
        entry<&diopiRelu>("relu", "diopiRelu"),
        entry<&diopiSqrt>("sqrt", "diopiSqrt"),
        entry<&diopiExp>("exp", "diopiExp"),
        entry<&diopiSin>("sin", "diopiSin"),
        entry<&diopiErf>("erf", "diopiErf"),
        entry<&diopiTanh>("tanh", "diopiTanh"),
        entry<&diopiSigmoid>("sigmoid", "diopiSigmoid"),
        entry<&diopiSilu>("silu", "diopiSilu"),
        entry<&diopiSoftmax>("softmax", "diopiSoftmax"),
        entry<&diopiLogSoftmax>("log_softmax", "diopiLogSoftmax"),
        entry<&diopiSum>("sum", "diopiSum"),
        entry<&diopiMean>("mean", "diopiMean"),
        entry<&diopiConvolution2d>("conv2d", "diopiConvolution2d"),
        entry<&diopiLinear>("linear", "diopiLinear"),
        entry<&diopiMatmul>("matmul", "diopiMatmul"),
        entry<&diopiBmm>("bmm", "diopiBmm"),
        entry<&diopiMaxPool2d>("max_pool2d", "diopiMaxPool2d"),
    };
    return list;
}

/// The cpu backend, whose functions of the list can be made slower.
class SlowedBackend {
 public:
    [[nodiscard]] const Backend& backend() const { return backend_; }

 private:
    static std::vector<AnyFunction> table() {
        const Backend& cpu = **find_backend("cpu");
        std::vector<AnyFunction> table;
        for (const Row& row : rows()) {
            AnyFunction function = cpu.function(row);
            const auto found = std::ranges::find(entries(), row.function, &Entry::function);
            if (found != entries().end()) {
                *found->real = function;
                *found->known_as = found->function;
                function = found->slowed;
            }
            table.push_back(function);
        }
        return table;
    }

    std::vector<AnyFunction> table_ = table();
    Backend backend_{"slowed", cpu_device(), table_};
};

int64_t largest_numel(const Case& c) {
    int64_t largest = 0;
    for (const CaseTensor& tensor : c.tensors) {
        for (const TensorSpec& spec : tensor.specs) largest = std::max(largest, numel(spec.shape));
    }
    return largest;
}

/// Cases of the functions above that are neither tiny nor huge, in the order of the functions.
Result<std::vector<Case>> list_cases() {
    constexpr int64_t kSmall = 4096, kLarge = int64_t{1} << 18;
    auto catalogue = Catalogue::load(DIOPI_SOURCE_CASES);
    if (!catalogue.ok()) return catalogue.error();
    std::vector<Case> all;
    for (const Entry& entry : entries()) {
        auto cases = catalogue->cases_of(NameChoice(entry.op));
        if (!cases.ok()) return cases.error();
        for (Case& c : *cases) {
            const int64_t n = largest_numel(c);
            if (n >= kSmall && n <= kLarge) all.push_back(std::move(c));
        }
    }
    return all;
}

/// Chooses `count` of them, evenly from all; others in each round.
std::vector<Case> choose(const std::vector<Case>& all, int count, int round = 0) {
    const size_t stride = std::max<size_t>(all.size() / static_cast<size_t>(count), 1);
    std::vector<Case> chosen;
    for (size_t at = static_cast<size_t>(round) % stride; at < all.size(); at += stride) chosen.push_back(all[at]);
    if (chosen.size() > static_cast<size_t>(count)) chosen.resize(static_cast<size_t>(count));
    return chosen;
}

/// The number of runs that are compared with one baseline.
constexpr int kRunsOfBaseline = 5;

class Score {
 public:
    Score(const Options& options, std::vector<Case> all)
        : options_(options), all_(std::move(all)), random_(options.seed) {}

    /// Compares unchanged runs, each with the one before.
    Status compare_same() {
        const std::vector<Case> cases = choose(all_, options_.calls);
        std::optional<Profile> before;
        for (int i = 0; i <= options_.same && !interrupted(); ++i) {
            auto now = measure(cases, options_.seconds);
            if (!now.ok()) return now.status();
            if (before) {
                auto compared = compare_profiles(*before, *now);
                if (!compared.ok()) return compared.status();
                const int64_t wrong = compared->slower + compared->faster;
                most_wrong_ = std::max(most_wrong_, wrong);
                fmt::print("same again: {} calls, {} reported as changed, {} ambiguous\n", compared->compared, wrong,
                           compared->ambiguous);
                std::fflush(stdout);
            }
            before = std::move(*now);
        }
        return {};
    }

    Status find_planted() {
        std::vector<Case> cases;
        std::optional<Profile> base;
        for (int i = 0; i < options_.runs && !interrupted(); ++i) {
            if (i % kRunsOfBaseline == 0) {
                cases = choose(all_, options_.planted_calls, i / kRunsOfBaseline);
                auto made = measure(cases, options_.planted_seconds);
                if (!made.ok()) return made.status();
                base = std::move(*made);
            }
            const auto target = plant(*base);
            if (!target.ok()) return target.status();
            const auto now = measure(cases, options_.planted_seconds);
            g_plan = {};
            if (!now.ok()) return now.status();
            if (Status s = judge(*base, *now, *target); !s.ok()) return s;
        }
        return {};
    }

    [[nodiscard]] bool print() const {
        fmt::print("same again: at most {} of {} calls reported as changed\n", most_wrong_, options_.calls);
        fmt::print("{}% slower: {} of {} found; {} of {} unchanged calls reported as changed\n", options_.percent,
                   found_, planted_, wrong_, untouched_);
        return most_wrong_ <= 2 && found_ * 100 >= planted_ * 95;
    }

 private:
    Result<Profile> measure(const std::vector<Case>& cases, double seconds) {
        ProfileOptions options;
        options.backend = &backend_.backend();
        options.roofs = false;
        options.timing.max_seconds = seconds / static_cast<double>(cases.size());
        options.timing.max_warmup_seconds = options.timing.max_seconds / 2;
        return profile_cases(cases, options);
    }

    /// Chooses a call whose function and first input's form no other call has, and makes it slower from now on.
    Result<size_t> plant(const Profile& base) {
        // For shorter calls the clock's own time would exceed the slowdown.
        constexpr double kShortest = 5e-6;
        std::vector<size_t> candidates;
        for (size_t i = 0; i < base.calls.size(); ++i) {
            const ProfiledCall& call = base.calls[i];
            const auto same = [&](const ProfiledCall& other) {
                return other.function == call.function && other.shapes[0] == call.shapes[0] &&
                       other.dtype == call.dtype;
            };
            const bool is_listed = std::ranges::find(entries(), call.function, &Entry::function) != entries().end();
            const bool is_alone = std::ranges::count_if(base.calls, same) == 1;
            if (is_listed && is_alone && summary_of(call, false).median >= kShortest) candidates.push_back(i);
        }
        if (candidates.empty()) return failed("none of these calls can be made slower");
        const size_t target = candidates[random_() % candidates.size()];
        const ProfiledCall& call = base.calls[target];
        g_plan = {call.function, call.shapes[0], call.dtype, options_.percent / 100};
        return target;
    }

    Status judge(const Profile& base, const Profile& now, size_t target) {
        const auto compared = compare_profiles(base, now);
        if (!compared.ok()) return compared.status();
        std::string wrong;
        for (size_t i = 0; i < compared->calls.size(); ++i) {
            const auto& call = compared->calls[i];
            if (!call) continue;
            const bool is_slower = call->verdict == SpeedVerdict::kSlower;
            if (i == target) {
                ++planted_;
                found_ += is_slower ? 1 : 0;
                fmt::print("{:<6} {:<40} {:>10.1f} us  ratio {:.3f} ({:.3f} to {:.3f})", is_slower ? "found" : "MISSED",
                           now.calls[i].case_id, summary_of(now.calls[i], false).median * 1e6, call->ratio.value,
                           call->ratio.low, call->ratio.high);
                continue;
            }
            ++untouched_;
            if (!is_slower && call->verdict != SpeedVerdict::kFaster) continue;
            ++wrong_;
            wrong += fmt::format("  wrong: {} {:.3f}", now.calls[i].case_id, call->ratio.value);
        }
        fmt::print("{}\n", wrong);
        std::fflush(stdout);
        return {};
    }

    const Options& options_;
    std::vector<Case> all_;
    std::mt19937_64 random_;
    SlowedBackend backend_;
    int64_t most_wrong_ = 0, planted_ = 0, found_ = 0, untouched_ = 0, wrong_ = 0;
};

int run(const Options& options) {
    install_interrupt_handler();
    auto all = list_cases();
    if (!all.ok()) {
        fmt::print(stderr, "{}\n", all.error().message);
        return 2;
    }
    Score score(options, std::move(*all));
    Status s = score.compare_same();
    if (s.ok()) s = score.find_planted();
    if (!s.ok()) {
        fmt::print(stderr, "{}\n", s.message());
        return 2;
    }
    return score.print() ? 0 : 1;
}

}  // namespace

}  // namespace diopi::slowdown_score

int main(int argc, char** argv) {
    diopi::slowdown_score::Options options;
    CLI::App app("makes calls slower and counts those that a comparison with a baseline finds (docs/profile.md)");
    app.add_option("--calls", options.calls, "calls of a run without a slowdown")->capture_default_str();
    app.add_option("--same", options.same, "comparisons of such runs")->capture_default_str();
    app.add_option("--seconds", options.seconds, "seconds of samples in such a run")->capture_default_str();
    app.add_option("--runs", options.runs, "runs with one call made slower")->capture_default_str();
    app.add_option("--planted-calls", options.planted_calls, "calls of a run with a slowdown")->capture_default_str();
    app.add_option("--planted-seconds", options.planted_seconds, "seconds of samples in such a run")
        ->capture_default_str();
    app.add_option("--percent", options.percent, "percentage by which a call is made slower")->capture_default_str();
    app.add_option("--seed", options.seed, "seed of the choice of calls")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return diopi::slowdown_score::run(options);
}
