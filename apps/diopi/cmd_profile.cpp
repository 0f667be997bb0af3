/// diopi profile: how long the calls of an operator or a model take.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "memory_check.hpp"
#include "options.hpp"
#include "report/table.hpp"
#include "run/placed_call.hpp"
#include "run/timing.hpp"
#include "run/worker_pool.hpp"

namespace diopi {

namespace {

using Json = nlohmann::ordered_json;

struct ProfileOptions {
    CommonOptions common;
    /// For the samples of one call; 0: kMaxSeconds, or the call's share of kTotalSeconds.
    double max_seconds = 0;
};

/// Samples of one call end after this time at the latest (docs/profile.md).
constexpr double kMaxSeconds = 15;
/// Without --max-time the calls of a command share this time, so that a whole operator is a matter of half a minute.
constexpr double kTotalSeconds = 24;

struct ProfiledCall {
    std::string case_id, function, shapes, dtype;
    Timing timing;
    std::string trouble;
};

std::string time_text(double seconds) {
    if (seconds < 1e-6) return fmt::format("{:.1f}ns", seconds * 1e9);
    if (seconds < 1e-3) return fmt::format("{:.3f}us", seconds * 1e6);
    if (seconds < 1) return fmt::format("{:.3f}ms", seconds * 1e3);
    return fmt::format("{:.3f}s", seconds);
}

std::string shapes_of(const Case& c) {
    std::string text = "[";
    for (const CaseTensor& tensor : c.tensors) {
        for (const TensorSpec& spec : tensor.specs) {
            if (tensor.absent) continue;
            text += (text.size() > 1 ? ", " : "") + fmt::format("[{}]", fmt::join(spec.shape, ", "));
        }
    }
    return text + "]";
}

TimingOptions timing_options(const ProfileOptions& options, size_t calls) {
    TimingOptions timing;
    const double share = kTotalSeconds / static_cast<double>(std::max<size_t>(calls, 1));
    timing.max_seconds = options.max_seconds > 0 ? options.max_seconds : std::min(kMaxSeconds, share);
    timing.max_warmup_seconds = std::min(1.0, timing.max_seconds / 2);
    return timing;
}

ProfiledCall profile_case(const Case& c, const Backend& backend, uint64_t seed, const TimingOptions& timing) {
    ProfiledCall result{c.id(), c.op, shapes_of(c), std::string(name(c.dtype())), {}, {}};
    const auto refuse = [&](const Error& error) {
        result.trouble = error.message;
        return result;
    };
    auto steps = CaseSteps::create(c, seed, nullptr);
    if (!steps.ok()) return refuse(steps.error());
    auto step = (*steps)->plan("forward");
    if (!step.ok()) return refuse(step.error());
    result.function = step->call.row->function;
    auto stream = backend.device().create_stream();
    if (!stream.ok()) return refuse(stream.error());
    Context context(backend.device(), *stream);
    Placement placement(context, nullptr, false);
    auto placed = PlacedCall::create(*step, placement, Poison::kFirst);
    if (!placed.ok()) return refuse(placed.error());
    const Chain chain(backend);
    auto measured = time_call(chain, placed->call(), context, timing);
    if (Status s = backend.device().destroy_stream(*stream); !s.ok()) return refuse(s.error());
    if (!measured.ok()) return refuse(measured.error());
    result.timing = *measured;
    return result;
}

Json json_of(const ProfiledCall& call) {
    if (!call.trouble.empty()) return {{"case", call.case_id}, {"function", call.function}, {"error", call.trouble}};
    const Timing& t = call.timing;
    return {{"case", call.case_id}, {"function", call.function},
            {"dtype", call.dtype},  {"shapes", call.shapes},
            {"median_s", t.median}, {"low_s", t.low},
            {"high_s", t.high},     {"min_s", t.min},
            {"q1_s", t.q1},         {"q3_s", t.q3},
            {"samples", t.samples}, {"batch", t.batch},
            {"warmup", t.warmup},   {"stop", name(t.stop)}};
}

void print_table(const std::vector<ProfiledCall>& calls) {
    Table table({{"Name", Align::kLeft, 55},
                 {"Dtype", Align::kLeft, 0},
                 {"Median", Align::kRight, 0},
                 {"95% interval", Align::kRight, 0},
                 {"Min", Align::kRight, 0, true},
                 {"Q3", Align::kRight, 0, true},
                 {"Samples", Align::kRight, 0, true},
                 {"Stop", Align::kLeft, 0, true},
                 {"Input Shapes", Align::kLeft, 80},
                 {"Case", Align::kLeft, 0, true}});
    for (const ProfiledCall& call : calls) {
        const Timing& t = call.timing;
        if (!call.trouble.empty()) continue;
        const double half = std::max(t.high - t.median, t.median - t.low) / t.median * 100;
        const std::string samples =
            t.batch == 1 ? fmt::format("{}", t.samples) : fmt::format("{}x{}", t.samples, t.batch);
        table.add_row({call.function, call.dtype, time_text(t.median), fmt::format("±{:.1f}%", half), time_text(t.min),
                       time_text(t.q3), samples, std::string(name(t.stop)), call.shapes, call.case_id});
    }
    table.print(stdout);
}

int run_profile(const ProfileOptions& options) {
    auto backend = CheckedBackend::find(options.common.impl);
    if (!backend.ok()) return report_error(backend.error());
    auto filtered = parse_dtypes(options.common.filter_dtype);
    if (!filtered.ok()) return report_error(filtered.error());
    auto cases = choose_cases(options.common, **backend);
    if (!cases.ok()) return report_error(cases.error());

    std::erase_if(*cases, [&](const Case& c) { return uses_any(c, *filtered); });
    const auto missing =
        static_cast<int64_t>(std::erase_if(*cases, [&](const Case& c) { return !(*backend)->implements(c.op); }));
    const TimingOptions timing = timing_options(options, cases->size());

    install_interrupt_handler();
    std::vector<ProfiledCall> calls;
    for (const Case& c : *cases) {
        if (interrupted()) break;
        calls.push_back(profile_case(c, **backend, options.common.seed, timing));
    }
    fmt::print(stderr, "{}", backend->leaks("in the run"));
    std::ranges::stable_sort(calls, std::greater(), [](const ProfiledCall& c) { return c.timing.median; });
    int troubles = 0;
    for (const ProfiledCall& call : calls) {
        if (call.trouble.empty()) continue;
        ++troubles;
        fmt::print(stderr, "diopi: {}: {}\n", call.case_id, call.trouble);
    }
    if (options.common.json) {
        Json json = Json::array();
        for (const ProfiledCall& call : calls) json.push_back(json_of(call));
        fmt::print("{}\n",
                   Json{{"backend", (*backend)->name()}, {"calls", json}, {"not_implemented", missing}}.dump(2));
    } else {
        print_table(calls);
        fmt::print(
            "{} calls on {}, forward, hot. Warm-up until five calls agree within 1%;\n"
            "samples until the 95% interval of the median is within 0.5%, or for {:.2g} s\n"
            "(--max-time).\n",
            calls.size(), (*backend)->name(), timing.max_seconds);
        if (missing > 0) fmt::print("{} cases not implemented by {}\n", missing, (*backend)->name());
    }
    if (interrupted()) return static_cast<int>(Exit::kInterrupted);
    return static_cast<int>(troubles > 0 ? Exit::kFailures : Exit::kPassed);
}

}  // namespace

void add_profile_command(CLI::App& app, int& code) {
    auto options = std::make_shared<ProfileOptions>();
    CLI::App* command = app.add_subcommand("profile", "how long an operator's calls take");
    command->add_option("op", options->common.fname, "operator, as --fname");
    add_common_options(*command, options->common);
    command
        ->add_option("--max-time", options->max_seconds,
                     "seconds of samples per call at most; 15, or a share of 24, when left out")
        ->check(seconds_above_zero());
    command->footer("Examples:\n  diopi profile conv2d\n  diopi profile --model resnet50 --fname linear --json\n");
    command->callback([options, &code] { code = run_profile(*options); });
}

}  // namespace diopi
