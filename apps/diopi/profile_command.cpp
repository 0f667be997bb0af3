/// diopi profile: the time of the calls of an operator or a model, compared with the limit of the machine.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "capture_source.hpp"
#include "cases/shaped_case.hpp"
#include "commands.hpp"
#include "file/atomic_file.hpp"
#include "options.hpp"
#include "profile/profile.hpp"
#include "profile/profile_baseline.hpp"
#include "profile/profile_capture.hpp"
#include "profile_data/profile_file.hpp"
#include "profile_data/profile_json.hpp"
#include "record_options.hpp"
#include "replay/compare_run.hpp"
#include "report/chrome_trace.hpp"
#include "report/console.hpp"
#include "report/profile_report.hpp"
#include "target_options.hpp"
#include "validators.hpp"
#include "worker/message.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

namespace {

struct ProfileCommand {
    CommonOptions common;
    /// Time limit for the samples of one call; 0: kMaxSeconds, or the call's share of kTotalSeconds.
    double max_seconds = 0;
    /// No option sets the time, and no other run is compared with this one: the table should come soon.
    bool is_brief = false;
    ShapedCase shaped;
    std::string mode = "hot";
    int passes = ProfileOptions().passes;
    std::vector<std::string> steps = {"forward"};
    std::string schedule;
    std::string group_by;
    bool group_by_input_shape = false;
    std::string sort_by = "cpu_time_total";
    int64_t row_limit = 0;
    bool memory = false;
    bool no_roofs = false;
    bool only_roofs = false;
    std::string trace, csv;
    std::string baseline, against;
    TargetOptions target;
    std::string capture;
    int run_times = 3;
    bool only_forward = false;
    bool acc_check = false;
    std::string format = "table";
    RecordFlags record;
    double timeout_s = 600;
};

/// Samples of one call end after this time at the latest (docs/profile.md).
constexpr double kMaxSeconds = 15;
/// Without --max-time the calls of a command share this time.
constexpr double kTotalSeconds = 24;
/// A brief run has its table after half a minute: no pass begins that would end later than this, and the calls share
/// kBriefTotal, so that twenty passes with their warm-ups and the roofs fit if no call is long.
constexpr double kBriefSeconds = 25, kBriefTotal = 12;

/// A run with one of these is not brief. Its own folder (--run) means that the run is kept as a baseline.
constexpr const char* kAsksForTime[] = {"--max-time", "--passes", "--schedule", "--baseline", "--run"};

constexpr const char* kExamples =
    "Examples:\n"
    "  diopi profile conv2d\n"
    "  diopi profile --model resnet50 --group-by-input-shape --row-limit 20\n"
    "  diopi profile add --shape 1024x1024 1024x1024 --dtype float32 --mode cold\n"
    "  diopi profile --capture step.json --run-times 5 --trace step.trace.json\n"
    "  diopi profile linear --run old && diopi profile linear --baseline old\n"
    "  diopi profile linear --against ./libdiopi_torch.so --sort-by ratio\n";

TimingOptions timing_options(const ProfileCommand& options, size_t calls) {
    TimingOptions timing;
    const double total = options.is_brief ? kBriefTotal : kTotalSeconds;
    const double share = total / static_cast<double>(std::max<size_t>(calls, 1));
    timing.max_seconds = options.max_seconds > 0 ? options.max_seconds : std::min(kMaxSeconds, share);
    timing.max_warmup_seconds = std::min(1.0, timing.max_seconds / 2);
    return timing;
}

/// Whether a capture is replayed instead of cases.
bool replays(const ProfileCommand& options) { return !options.capture.empty(); }

/// One row per name; for a single operator one per case, because its cases are of interest.
ProfileGrouping grouping_of(const ProfileCommand& options) {
    if (options.group_by_input_shape) return ProfileGrouping::kShape;
    if (options.group_by == "name") return ProfileGrouping::kName;
    if (options.group_by == "shape") return ProfileGrouping::kShape;
    if (options.group_by == "call") return ProfileGrouping::kCall;
    if (options.group_by == "layer") return ProfileGrouping::kLayer;
    const CommonOptions& common = options.common;
    const bool is_single = common.model.empty() && selects_cases(common);
    return is_single ? ProfileGrouping::kCall : ProfileGrouping::kName;
}

Result<std::vector<Case>> cases_of(const ProfileCommand& options, const Backend& backend) {
    auto choice = choice_of(options.common);
    if (!choice.ok()) return choice.error();
    if (options.shaped.shapes.empty()) return choose_cases(*choice, backend);
    const std::vector<std::string>& names = choice->ops.items();
    if (names.size() != 1 || is_glob(names.front())) {
        return bad_input("--shape needs the name of an operator: diopi profile add --shape 1024x1024 1024x1024");
    }
    ShapedCase wanted = options.shaped;
    wanted.op = names.front();
    auto made = make_shaped_case(wanted);
    if (!made.ok()) return made.error();
    return std::vector<Case>{std::move(*made)};
}

Result<std::optional<Profile>> read_baseline_of(const ProfileCommand& options) {
    if (options.baseline.empty()) return std::optional<Profile>();
    auto baseline = read_profile(profile_path(options.baseline));
    if (!baseline.ok()) {
        return bad_input("--baseline: " + baseline.error().message + "; make one with diopi profile ... --run " +
                         options.baseline);
    }
    // A difference that is known now must not cost the time of the run.
    if (Status s = check_mode(*baseline, options.mode); !s.ok()) return s.error();
    return std::optional<Profile>(std::move(*baseline));
}

Status write_files(const ProfileCommand& options, const Profile& profile,
                   const std::optional<ProfileComparison>& comparison, const ProfileView& view) {
    const CommonOptions& common = options.common;
    if (Status s = write_profile(profile_path(common.run_folder), profile); !s.ok()) return s;
    const std::string report = profile_report_json(profile, comparison, view);
    if (Status s = keep_report_of(common, "profile", report); !s.ok()) return s;
    if (!options.csv.empty()) {
        if (Status s = write_file_atomically(options.csv, profile_csv(profile, comparison)); !s.ok()) return s;
    }
    return options.trace.empty() ? Status() : write_chrome_trace(options.trace, profile);
}

/// The state that follows from the options, before anything runs.
struct ProfileSetup {
    Recording* recording = nullptr;
    const Backend* against = nullptr;  ///< the other implementation; null: none
    DtypeChoice dtypes;                ///< leaves cases out
    std::optional<Schedule> schedule;
};

Result<ProfilePair> profile_cases_of(const ProfileCommand& options, Target& target, const ProfileSetup& setup,
                                     ProfileView& view) {
    ProfileOptions profiling;
    profiling.schedule = setup.schedule;
    profiling.unmeasured = setup.recording->tool();
    if (target.adaptor() != nullptr) profiling.interceptors.push_back(target.adaptor());
    if (target.sim() != nullptr) profiling.interceptors.push_back(target.sim());
    const Backend& backend = target.backend();
    auto cases = cases_of(options, backend);
    if (!cases.ok()) return cases.error();
    keep_implemented(options.common, backend, *cases);
    std::erase_if(*cases, [&](const Case& c) { return setup.dtypes.skip_reason(c).has_value(); });
    view.not_implemented =
        static_cast<int64_t>(std::erase_if(*cases, [&](const Case& c) { return !backend.implements(c.op); }));
    if (options.shaped.shapes.empty()) announce_all(options.common, "profiles", *cases, backend, 1);
    profiling.after_case = [&](size_t index) {
        fmt::print(stderr, "{}", target.leaks("in case " + (*cases)[index].id()));
        const std::string unrecorded = setup.recording->end_item(index);
        return unrecorded.empty() ? Status() : failed(unrecorded);
    };
    profiling.timeout_s = options.timeout_s;
    profiling.backend = &backend;
    profiling.seed = options.common.seed;
    profiling.cold = options.mode == "cold";
    profiling.passes = options.passes;
    profiling.budget_seconds = view.budget_seconds = options.is_brief ? kBriefSeconds : 0;
    view.passes = options.schedule.empty() ? options.passes : 0;
    profiling.memory = options.memory;
    // A simulated device cannot record activities.
    profiling.activities = !options.trace.empty();
    profiling.roofs = !options.no_roofs && !cases->empty() && target.sim() == nullptr;
    profiling.empty_call = setup.against != nullptr;
    profiling.steps = options.steps;
    const size_t sides = setup.against == nullptr ? 1 : 2;
    profiling.timing = timing_options(options, cases->size() * options.steps.size() * sides);
    auto console = std::make_unique<Console>(Console::Options{stderr, LogLevel::kInfo, !options.common.json});
    bool is_started = false;
    profiling.progress = [&](int64_t done, int64_t total) {
        if (!is_started) console->start(total);
        is_started = true;
        console->advance(done, 0);
    };
    if (setup.against != nullptr) return profile_side_by_side(*cases, profiling, *setup.against);
    auto profile = profile_cases(*cases, profiling);
    if (!profile.ok()) return profile.error();
    return ProfilePair{std::move(*profile), std::nullopt};
}

/// Checks that each call gives the same results as the reference; prints those that do not.
Status check_accuracy(LoadedCapture& loaded, const Target& target, int& different) {
    const ToleranceTable tolerances;
    CompareOptions comparing;
    comparing.backend = &target.backend();
    comparing.sim = target.sim();
    if (target.adaptor() != nullptr) comparing.interceptors.push_back(target.adaptor());
    comparing.against = &reference_backend();
    comparing.tolerances = &tolerances;
    int compared = 0;
    comparing.on_row = [&](const CompareRow& row) {
        if (!row.skipped.empty()) return;
        ++compared;
        if (row.allclose) return;
        ++different;
        fmt::print(stderr, "acc-check: {}: {}: {}\n", row.where, row.name, row.error);
    };
    Status s = compare_capture(*loaded.replay, comparing);
    if (s.ok()) fmt::print(stderr, "acc-check: {} of {} tensors differ from the reference\n", different, compared);
    return s;
}

/// The rounds of a replay with --against: in each one a process of each implementation.
constexpr size_t kRounds = 4;

/// One process of a replay.
struct ReplayRound {
    bool is_first = true;  ///< of its implementation
    bool is_against = false;
    std::chrono::steady_clock::time_point begin;
};

/// Runs in the worker; answers with the number of tensors that --acc-check found different, and the profile.
WorkAnswer replay_in_worker(const ProfileCommand& options, Target& target, const ProfileSetup& setup,
                            LoadedCapture& loaded, const ReplayRound& round) {
    const bool has_tools = round.is_first && !round.is_against;
    int different = 0;
    if (options.acc_check && has_tools) {
        if (Status s = check_accuracy(loaded, target, different); !s.ok()) return {.status = s};
    }
    CaptureProfileOptions profiling;
    profiling.backend = round.is_against ? setup.against : &target.backend();
    profiling.sim = target.sim();
    profiling.adaptor = round.is_against ? nullptr : target.adaptor();
    profiling.run_times = options.run_times;
    profiling.memory = options.memory && round.is_first;
    profiling.roofs = !options.no_roofs && has_tools;
    profiling.empty_call = setup.against != nullptr && round.is_first;
    profiling.activities = !options.trace.empty() && has_tools;
    profiling.schedule = setup.schedule;
    profiling.first_iteration = has_tools ? setup.recording->tool() : nullptr;
    profiling.begin = round.begin;
    auto profile = profile_capture(*loaded.replay, loaded.capture, profiling);
    if (!profile.ok()) return {.status = profile.status()};
    profile->seed = options.common.seed;
    if (!has_tools) return {pack_message(different, pack_profile(*profile))};
    fmt::print(stderr, "{}", target.leaks("in the run"));
    const std::string unrecorded = setup.recording->end_item(0);
    if (!unrecorded.empty()) return {.status = failed(unrecorded)};
    return {pack_message(different, pack_profile(*profile))};
}

/// Runs in a worker, so that an operator that crashes or hangs gives a message; with --against in several, by turns. A
/// profile has no calls after an interruption, or if `failures` is not 0.
Result<ProfilePair> profile_replay(const ProfileCommand& options, Target& target, const ProfileSetup& setup,
                                   int& failures) {
    auto loaded = load_capture(options.capture, options.common, options.only_forward);
    if (!loaded.ok()) return loaded.error();
    PoolOptions pool;
    pool.timeout_s = options.timeout_s;
    pool.memory_limit = 0;
    pool.echo_errors = true;
    const auto begin = std::chrono::steady_clock::now();
    const bool is_pair = setup.against != nullptr;
    ProfilePair pair;
    if (is_pair) pair.against.emplace();
    const auto is_against = [&](size_t item) { return is_pair && item % 2 == 1; };
    const auto work = [&](size_t item) {
        WorkAnswer answer = replay_in_worker(options, target, setup, **loaded, {item < 2, is_against(item), begin});
        answer.last = true;
        return answer;
    };
    const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) -> Status {
        if (!outcome.status.ok()) {
            fmt::print(stderr, "diopi: {}: {}\n", (*loaded)->path, outcome.status.message());
            ++failures;
            return {};
        }
        std::string packed;
        int different = 0;
        if (!unpack_message(outcome.payload, different, packed)) return internal_error("a worker gave no answer");
        failures += different;
        auto profile = unpack_profile(packed);
        if (!profile.ok()) return profile.status();
        Profile& side = is_against(item) ? *pair.against : pair.own;
        if (!side.calls.empty()) return add_replay(side, std::move(*profile));
        side = std::move(*profile);
        return {};
    };
    std::vector<size_t> items(is_pair ? 2 * kRounds : 1);
    std::iota(items.begin(), items.end(), size_t{0});
    if (Status s = run_in_workers(items, pool, work, done); !s.ok()) return s.error();
    return pair;
}

/// The comparison with the other implementation, or with the baseline.
Result<std::optional<ProfileComparison>> compare(const ProfileCommand& options, const ProfilePair& pair,
                                                 const std::optional<Profile>& baseline) {
    if (pair.against) return std::optional(compare_side_by_side(pair.own, *pair.against));
    if (!baseline) return std::optional<ProfileComparison>();
    auto compared = compare_profiles(*baseline, pair.own);
    if (!compared.ok()) return compared.error();
    const bool has_passes = !replays(options) && options.schedule.empty();
    if (has_passes && static_cast<int>(baseline->pace.size()) < std::min(options.passes, ProfileOptions().passes)) {
        fmt::print(stderr,
                   "diopi: warning: the baseline has {} passes, and few passes show only large changes; measure it "
                   "in full: diopi profile ... --run {}\n",
                   baseline->pace.size(), options.baseline);
    }
    return std::optional(std::move(*compared));
}

int show(const ProfileCommand& options, const ProfilePair& pair, const std::optional<Profile>& baseline,
         const ProfileView& view, bool is_different) {
    const Profile& profile = pair.own;
    // In a replay a call that no library implements is an ordinary row.
    const std::vector<std::string> errors = replays(options) ? std::vector<std::string>() : error_lines(profile);
    for (const std::string& line : errors) fmt::print(stderr, "diopi: {}\n", line);
    const auto compared = compare(options, pair, baseline);
    if (!compared.ok()) return report_error(compared.error());
    const std::optional<ProfileComparison>& comparison = *compared;
    if (Status s = write_files(options, profile, comparison, view); !s.ok()) return report_error(s.error());
    for (const std::string& line : device_warnings(profile)) fmt::print(stderr, "diopi: warning: {}\n", line);
    if (options.common.json) {
        fmt::print("{}\n", profile_report_json(profile, comparison, view));
    } else if (options.format == "seed") {
        fmt::print("{}", profile_seed_lines(profile));
    } else {
        const auto text = profile_report(profile, comparison, view, screen_of(stdout));
        if (!text.ok()) return report_error(text.error());
        fmt::print("{}{}", *text, replays(options) ? missing_text(profile) : "");
    }
    if (interrupted()) return static_cast<int>(Exit::kInterrupted);
    const bool is_slower = baseline && comparison->slower > 0;
    return static_cast<int>(!errors.empty() || is_slower || is_different ? Exit::kFailures : Exit::kPassed);
}

/// Measures the roofs of the machine, without calls.
int run_roofs(const ProfileCommand& options, const Target& target) {
    const CommonOptions& common = options.common;
    if (replays(options) || !common.model.empty() || selects_cases(common)) {
        return report_error(bad_input("--roofs measures no calls; leave out the options that select them, or --roofs"));
    }
    if (target.sim() != nullptr) {
        return report_error(bad_input("--roofs: a simulated device has none; its configuration states its speed"));
    }
    const Backend& backend = target.backend();
    auto roofs = profile_roofs(backend, options.timeout_s);
    if (!roofs.ok()) return report_error(roofs.error());
    MeasuredRoofs measured{std::string(backend.name()), backend.is_tf32(), std::move(*roofs), std::nullopt};
    if (const auto tf32 = find_backend(measured.backend + "+tf32"); tf32.ok()) {
        auto in_tf32 = profile_roofs(**tf32, options.timeout_s);
        if (!in_tf32.ok()) return report_error(in_tf32.error());
        measured.tf32 = std::move(*in_tf32);
    }
    if (interrupted()) return static_cast<int>(Exit::kInterrupted);
    fmt::print("{}", common.json ? roofs_json(measured) + "\n" : roofs_text(measured));
    return static_cast<int>(Exit::kPassed);
}

int run_profile(const ProfileCommand& options) {
    auto target = Target::find(options.common.impl, options.target, options.common.loading, memory_check_options());
    if (!target.ok()) return report_error(target.error());
    if (options.only_roofs) {
        install_interrupt_handler();
        return run_roofs(options, *target);
    }
    ProfileSetup setup;
    auto dtypes = dtypes_of(options.common);
    if (!dtypes.ok()) return report_error(dtypes.error());
    setup.dtypes = std::move(*dtypes);
    if (options.group_by == "layer" && !replays(options)) {
        return report_error(bad_input("--group-by layer: cases have no layers; give --capture FILE"));
    }
    for (const std::string& file : {options.trace, options.csv}) {
        if (Status s = check_output_file(file); !s.ok()) return report_error(s.error());
    }
    std::optional<Implementation> against;
    if (!options.against.empty()) {
        if (target->sim() != nullptr) {
            return report_error(bad_input("--against measures; the times of a simulated device are predicted"));
        }
        auto found = Implementation::find(options.against, options.common.loading);
        if (!found.ok()) return report_error(found.error());
        against = std::move(*found);
        setup.against = &**against;
    }
    std::vector<ProfileRow> none;
    if (Status s = sort_profile_rows(none, options.sort_by); !s.ok()) return report_error(s.error());
    if (!options.schedule.empty()) {
        auto schedule = Schedule::parse(options.schedule);
        if (!schedule.ok()) return report_error(schedule.error());
        setup.schedule = *schedule;
    }
    auto baseline = read_baseline_of(options);
    if (!baseline.ok()) return report_error(baseline.error());
    auto recording = Recording::create(options.record, "diopi profile");
    if (!recording.ok()) return report_error(recording.error());
    setup.recording = &*recording;
    ProfileView view{grouping_of(options), options.sort_by, options.row_limit, options.memory, options.common.quiet, 0};
    install_interrupt_handler();
    int failures = 0;
    auto profile = replays(options) ? profile_replay(options, *target, setup, failures)
                                    : profile_cases_of(options, *target, setup, view);
    if (!profile.ok()) return report_error(profile.error());
    if (failures > 0 && profile->own.calls.empty()) return static_cast<int>(Exit::kFailures);
    if (interrupted() && profile->own.calls.empty()) {
        fmt::print(stderr, "diopi: interrupted before anything was measured\n");
        return static_cast<int>(Exit::kInterrupted);
    }
    view.adapted = target->adapted();
    const int code = show(options, *profile, *baseline, view, failures > 0);
    const Status recorded = recording->finish();
    return recorded.ok() ? code : report_error(recorded.error());
}

void add_measuring_options(CLI::App& command, ProfileCommand& options) {
    command
        .add_option("--max-time", options.max_seconds,
                    "most seconds of samples per call (default 15, or a share of 24; docs/profile.md)")
        ->check(seconds_above_zero());
    auto* shape =
        command.add_option("--shape", options.shaped.shapes, "a call with tensors of these shapes, 32x64 each")
            ->type_name("SHAPE ...");
    command.add_option("--dtype", options.shaped.dtype, "dtype of the tensors of --shape")
        ->needs(shape)
        ->capture_default_str();
    command.add_option("--param", options.shaped.params, "parameters beside --shape: dim=1 kernel_size=[3,3]")
        ->needs(shape)
        ->type_name("NAME=VALUE ...");
    command.add_option("--steps", options.steps, "steps of each case: forward, inplace, backward")
        ->check(CLI::IsMember({"forward", "inplace", "backward"}))
        ->capture_default_str();
    command.add_option("--mode", options.mode, "hot: tensors in the cache; cold: in memory")
        ->check(CLI::IsMember({"hot", "cold"}))
        ->capture_default_str();
    auto* schedule =
        command.add_option("--schedule", options.schedule,
                           "iterations instead of samples: skip_first=0,wait=1,warmup=1,active=3,repeat=1");
    command.add_option("--passes", options.passes, "passes over all calls, a process each; they share --max-time")
        ->check(CLI::Range(1, 10000))
        ->type_name("INT")
        ->capture_default_str()
        ->excludes(schedule);
    command.add_option("--timeout", options.timeout_s, "seconds for a case in one pass, or for a replay")
        ->check(seconds_above_zero())
        ->capture_default_str();
    command.add_flag("--profile-memory", options.memory, "memory that each call allocates and frees");
    auto* none = command.add_flag("--no-roofs", options.no_roofs, "do not measure the roofs of the machine");
    command
        .add_flag("--roofs", options.only_roofs, "measure nothing else: copies, and products in every floating dtype")
        ->excludes(none, shape);
}

void add_replaying_options(CLI::App& command, ProfileCommand& options) {
    CLI::Option* capture = add_capture_option(command, options.capture)->excludes("--passes");
    command.add_option("--run-times", options.run_times, "steps that are recorded")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str()
        ->needs(capture);
    command.add_flag("--only-forward", options.only_forward, "leave out the calls after the forward pass")
        ->needs(capture);
    command.add_flag("--acc-check", options.acc_check, "first compare each call with the reference")->needs(capture);
    command.add_option("--format", options.format, "table, or seed: the lines that the standard's users know")
        ->check(CLI::IsMember({"table", "seed"}))
        ->capture_default_str();
    add_target_options(command, options.target);
}

void add_showing_options(CLI::App& command, ProfileCommand& options) {
    auto* by =
        command.add_option("--group-by", options.group_by, "one row per name, shape, call, or layer of a capture")
            ->check(CLI::IsMember({"name", "shape", "call", "layer"}));
    command.add_flag("--group-by-input-shape", options.group_by_input_shape, "the same as --group-by shape")
        ->excludes(by);
    command.add_option("--sort-by", options.sort_by, "column to sort by (docs/profile.md)")->capture_default_str();
    command.add_option("--row-limit", options.row_limit, "rows at most; 0: all")
        ->check(CLI::Range(int64_t{0}, int64_t{1'000'000'000}))
        ->type_name("INT");
    command.add_option("--trace", options.trace, "write Chrome trace JSON, for ui.perfetto.dev")->type_name("FILE");
    command.add_option("--csv", options.csv, "write a row per call, with its statistics and comparison")
        ->type_name("FILE");
    auto* baseline =
        command
            .add_option("--baseline", options.baseline, "compare with the run in this folder; exit code 1 on SLOWER")
            ->type_name("RUN");
    command.add_option("--against", options.against, "measure this implementation, too, by turns, and compare")
        ->type_name("IMPL")
        ->excludes(baseline, command.get_option("--schedule"), command.get_option("--roofs"));
}

}  // namespace

void add_profile_command(CLI::App& app, int& code, const CommandLine& line) {
    auto options = std::make_shared<ProfileCommand>();
    options->common.command = line;
    CLI::App* command = app.add_subcommand("profile", "measure the time and memory of an operator's calls");
    add_measuring_options(*command, *options);
    add_showing_options(*command, *options);
    add_replaying_options(*command, *options);
    add_common_options(*command, options->common);
    add_implemented_option(*command, options->common);
    add_record_options(*command, options->record);
    command->footer(kExamples);
    command->callback([options, command, &code] {
        const auto is_given = [&](const char* option) { return command->count(option) > 0; };
        options->is_brief = std::ranges::none_of(kAsksForTime, is_given);
        code = run_profile(*options);
    });
}

}  // namespace diopi
