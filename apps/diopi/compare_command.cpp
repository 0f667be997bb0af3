/// diopi compare: compares two implementations on cases, a model, a capture, or compares two captures.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "capture_source.hpp"
#include "commands.hpp"
#include "environment.hpp"
#include "file/atomic_file.hpp"
#include "intercept/dump.hpp"
#include "intercept/overflow.hpp"
#include "record_options.hpp"
#include "replay/compare_run.hpp"
#include "replay/shared_rows.hpp"
#include "report/adaptor_table.hpp"
#include "report/compare_report.hpp"
#include "report/console.hpp"
#include "target_options.hpp"
#include "validators.hpp"
#include "worker/unusable_device.hpp"
#include "worker/worker_pool.hpp"
#include "worker/worker_setup.hpp"

namespace diopi {

namespace {

struct CompareFlags {
    CommonOptions common;
    TargetOptions target;
    std::string against = "reference", against_dtype;
    std::string capture, with;
    std::vector<std::string> tolerances;
    std::string format = "table";
    std::string csv, save_failures;
    int dump = 0, level = 1;
    bool overflow = false, ulp = false;
    double timeout_s = 600;
    RecordFlags record;
};

Result<ToleranceTable> tolerances_of(const CompareFlags& flags) {
    ToleranceTable table;
    for (const TolerancePreset& preset : read_environment().tolerances) {
        auto tolerance = parse_tolerance(preset.value);
        if (!tolerance.ok()) return bad_input(preset.variable + ": " + tolerance.error().message);
        std::optional<Dtype> dtype;
        if (preset.dtype) {
            const auto named = parse_tolerance_dtype(*preset.dtype);
            if (!named.ok()) return bad_input(preset.variable + ": " + named.error().message);
            dtype = *named;
        }
        table.add(ToleranceTable::Source::kEnvironment, preset.op, dtype, *tolerance);
    }
    for (const std::string& text : flags.tolerances) {
        if (Status s = table.add_option(text); !s.ok()) return bad_input("--tolerance: " + s.message());
    }
    return table;
}

/// Checks before the run that the files and folders can be written at its end.
Status check_outputs(const CompareFlags& flags) {
    if (Status s = check_output_file(flags.csv); !s.ok()) return bad_input("--csv: " + s.message());
    if (flags.save_failures.empty()) return {};
    std::error_code error;
    std::filesystem::create_directories(flags.save_failures, error);
    if (!error && ::access(flags.save_failures.c_str(), W_OK) == 0) return {};
    return bad_input(fmt::format("--save-failures: cannot write to {}: {}; name a folder", flags.save_failures,
                                 error ? error.message() : "permission denied"));
}

/// The floating dtypes that a library may compute in.
const std::vector<std::string> kFloatingNames = {"float16", "bfloat16", "float32", "float64"};

/// Refuses options that would not change the comparison, but look as if they did.
Status check_combination(const CompareFlags& flags) {
    const bool by_dtype = !flags.common.filter_dtype.empty() || !flags.common.only_dtype.empty();
    const bool chooses = selects_cases(flags.common) || by_dtype || flags.level > 1 || flags.common.only_implemented;
    if ((!flags.capture.empty() || !flags.with.empty()) && chooses) {
        return bad_input(
            "a capture is compared completely; leave out operators, --case, -k, --filter-dtype, --only-dtype, "
            "--implemented and --level, which select cases");
    }
    if (!flags.with.empty() && !flags.against_dtype.empty()) {
        return bad_input(
            "--against-dtype is the dtype of --against, and --with runs nothing; leave it out: kept "
            "values of two floating dtypes are cast to the wider one automatically");
    }
    const std::string_view calls = flags.ulp ? "--ulp" : flags.dump > 0 ? "--dump" : flags.overflow ? "--overflow" : "";
    if (flags.with.empty() || calls.empty()) return {};
    return bad_input(fmt::format("{} watches calls that run, and --with runs none; leave out one of them", calls));
}

/// One comparison, from its options to its exit code.
class CompareCommand {
 public:
    CompareCommand(const CompareFlags& flags, Target target, const Backend& against, ToleranceTable tolerances,
                   SharedRows rows)
        : flags_(flags),
          target_(std::move(target)),
          against_(against),
          tolerances_(std::move(tolerances)),
          rows_(std::move(rows)),
          dump_(static_cast<DumpLevel>(flags.dump), [](const std::string& line) { fmt::print(stderr, "{}\n", line); }),
          overflow_([&flags](const OverflowEvent& event) {
              if (event.figures.inf_or_nan > 0 || flags.common.debug_level > 0) {
                  fmt::print(stderr, "{}\n", overflow_line(event));
              }
          }) {}

    int run() {
        install_interrupt_handler();
        auto recording = Recording::create(flags_.record, "diopi compare");
        if (!recording.ok()) return report_error(recording.error());
        recording_ = std::move(*recording);
        Status s;
        if (!flags_.with.empty())
            s = run_captures();
        else if (!flags_.capture.empty() || (!selects_cases(flags_.common) && has_capture(flags_.common)))
            s = run_capture();
        else
            s = run_cases();
        if (s.ok()) s = rows_.status();
        if (!s.ok()) return report_error(s.error());
        const int code = report();
        s = recording_.finish();
        return s.ok() ? code : report_error(s.error());
    }

 private:
    CompareOptions options(size_t item) {
        CompareOptions options;
        options.backend = &target_.backend();
        options.sim = target_.sim();
        options.against = &against_;
        options.against_dtype = parse_dtype(flags_.against_dtype);
        options.tolerances = &tolerances_;
        options.ulp = flags_.ulp;
        options.save_folder = flags_.save_failures;
        if (recording_.tool() != nullptr) options.interceptors.push_back(recording_.tool());
        if (target_.adaptor() != nullptr) options.interceptors.push_back(target_.adaptor());
        if (flags_.dump > 0) options.interceptors.push_back(&dump_);
        if (flags_.overflow) options.interceptors.push_back(&overflow_);
        options.on_row = [this, item](const CompareRow& row) { rows_.append(item, row); };
        return options;
    }

    [[nodiscard]] PoolOptions pool(int jobs) const {
        PoolOptions pool;
        pool.jobs = jobs;
        pool.timeout_s = flags_.timeout_s;
        pool.echo_errors = true;
        pool.output_limit = int64_t{1} << 40;
        if (jobs == 1) pool.memory_limit = 0;
        return pool;
    }

    Status run_capture() {
        auto loaded = load_capture(flags_.capture, flags_.common);
        if (!loaded.ok()) return loaded.status();
        const auto work = [&](size_t) { return answer(compare_capture(*(*loaded)->replay, options(0)), 0); };
        const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) {
            const std::string problem = take((*loaded)->capture.name, outcome);
            if (!problem.empty()) fmt::print(stderr, "{}\n", problem);
            return Status();
        };
        return run_in_workers({0}, pool(1), work, done);
    }

    Status run_cases() {
        auto choice = choice_of(flags_.common);
        if (!choice.ok()) return choice.status();
        choice->level = flags_.level;
        choice->seed = flags_.common.seed;
        auto dtypes = dtypes_of(flags_.common);
        if (!dtypes.ok()) return dtypes.status();
        auto cases = choose_cases(*choice, target_.backend());
        if (!cases.ok()) return cases.status();
        keep_implemented(flags_.common, target_.backend(), *cases);
        keep_implemented(flags_.common, against_, *cases);
        std::erase_if(*cases, [&](const Case& c) { return dtypes->skip_reason(c).has_value(); });
        missing_ = static_cast<int64_t>(
            std::erase_if(*cases, [&](const Case& c) { return !target_.backend().implements(c.op); }));
        announce_all(flags_.common, "compares", *cases, target_.backend(), worker_count(flags_.common));
        std::vector<size_t> items(cases->size());
        for (size_t i = 0; i < items.size(); ++i) items[i] = i;
        bool is_set_up = false;
        const auto work = [&](size_t item) {
            if (!is_set_up) set_up_worker();
            is_set_up = true;
            return answer(compare_case((*cases)[item], flags_.common.seed, options(item)), item);
        };
        Console console({stderr, LogLevel::kInfo, !flags_.common.json && !flags_.common.quiet && flags_.dump == 0});
        console.start(static_cast<int64_t>(items.size()));
        int64_t finished = 0;
        const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) {
            if (const std::string problem = take((*cases)[item].id(), outcome); !problem.empty())
                console.print(problem);
            console.advance(++finished, failures_);
            return Status();
        };
        return run_in_workers(items, pool(worker_count(flags_.common)), work, done);
    }

    Status run_captures() {
        auto one = load_capture(flags_.capture, flags_.common);
        if (!one.ok()) return one.status();
        auto other = load_capture(flags_.with, flags_.common);
        if (!other.ok()) return other.status();
        if (!(*one)->values.any() || !(*other)->values.any()) {
            return bad_input("--with compares values, and " + ((*one)->values.any() ? (*other)->path : (*one)->path) +
                             " has none; record it with --values");
        }
        sides_ = {(*one)->path, (*other)->path};
        return compare_captures((*one)->capture, (*one)->values, (*other)->capture, (*other)->values, options(0));
    }

    /// The answer of a worker: an error if something went wrong.
    [[nodiscard]] WorkAnswer answer(const Status& status, size_t item) {
        const Status& s = status.ok() ? rows_.status() : status;
        const bool unusable = !s.ok() && (is_unusable(target_.backend().device()) || is_unusable(against_.device()));
        const std::string problem = s.message() + (unusable ? kStayedInError : "") + recording_.end_item(item);
        return {"", unusable, problem.empty() ? Status() : failed(problem)};
    }

    /// The text of a crash, a hang, or a call that failed; otherwise empty.
    std::string take(const std::string& what, const WorkOutcome& outcome) {
        if (outcome.status.ok()) return "";
        ++failures_;
        return fmt::format("diopi: {}: {}", what, outcome.status.message());
    }

    int report() {
        const std::vector<CompareRow> rows = rows_.in_order();
        for (const std::string& warning : unused_tolerances(tolerances_, rows)) {
            fmt::print(stderr, "diopi: --tolerance: {}\n", warning);
        }
        if (!flags_.csv.empty()) {
            if (Status s = write_file_atomically(flags_.csv, compare_csv(rows)); !s.ok())
                return report_error(s.error());
        }
        const std::string json = compare_json(rows, sides_);
        const Status kept = keep_report_of(flags_.common, "compare", json);
        if (flags_.common.json) {
            fmt::print("{}\n", json);
        } else if (flags_.format == "csv") {
            fmt::print("{}", compare_csv(rows));
        } else if (flags_.format == "seed") {
            for (const CompareRow& row : rows) {
                if (!flags_.common.quiet || !row.skipped.empty() || row.differs())
                    fmt::print("{}", compare_seed_lines(row));
            }
        } else {
            const Screen screen = screen_of(stdout);
            fmt::print("{}{}", compare_text(rows, sides_, flags_.common.quiet, screen),
                       adapted_text(target_.adapted(), screen));
            if (missing_ > 0) fmt::print("{} cases not implemented by {}\n", missing_, sides_.backend);
        }
        if (flags_.common.json || flags_.format != "table") print_adapted(target_.adapted());
        if (!kept.ok()) return report_error(kept.error());
        if (interrupted()) return static_cast<int>(Exit::kInterrupted);
        const bool differ = std::ranges::any_of(rows, &CompareRow::differs);
        return static_cast<int>(differ || failures_ > 0 ? Exit::kFailures : Exit::kPassed);
    }

    const CompareFlags& flags_;
    Target target_;
    const Backend& against_;
    ToleranceTable tolerances_;
    SharedRows rows_;
    Recording recording_;
    Dump dump_;
    OverflowCheck overflow_;
    CompareSides sides_{std::string(target_.backend().name()), std::string(against_.name())};
    int64_t missing_ = 0;
    int failures_ = 0;
};

int run_compare(CompareFlags flags) {
    if (Status s = check_combination(flags); !s.ok()) return report_error(s.error());
    if (flags.dump == 0) flags.dump = read_environment().dump_level;
    auto target = Target::find(flags.common.impl, flags.target, flags.common.loading, memory_check_options());
    if (!target.ok()) return report_error(target.error());
    auto against = Implementation::find(flags.against, flags.common.loading);
    if (!against.ok()) return report_error(against.error());
    auto tolerances = tolerances_of(flags);
    if (!tolerances.ok()) return report_error(tolerances.error());
    if (Status s = check_outputs(flags); !s.ok()) return report_error(s.error());
    // A library may change the working directory of a worker.
    if (!flags.save_failures.empty()) flags.save_failures = std::filesystem::absolute(flags.save_failures);
    auto rows = SharedRows::create();
    if (!rows.ok()) return report_error(rows.error());
    return CompareCommand(flags, std::move(*target), **against, std::move(*tolerances), std::move(*rows)).run();
}

}  // namespace

void add_compare_command(CLI::App& app, int& code, const CommandLine& line) {
    auto flags = std::make_shared<CompareFlags>();
    flags->common.command = line;
    CLI::App* command = app.add_subcommand("compare", "compare two operator libraries, call by call");
    add_common_options(*command, flags->common);
    add_implemented_option(*command, flags->common);
    command->add_option("--against", flags->against, "the other library")->capture_default_str();
    command
        ->add_option("--against-dtype", flags->against_dtype,
                     "floating dtype that the other library computes in (docs/compare.md)")
        ->check(CLI::IsMember(kFloatingNames))
        ->type_name("DTYPE");
    add_capture_option(*command, flags->capture);
    command->add_option("--with", flags->with,
                        "another capture of the same iteration: compares the values that both kept");
    command->add_option("--tolerance", flags->tolerances,
                        "[OP][:DTYPE]=ATOL,RTOL; several may follow (docs/compare.md)");
    command->add_option("--format", flags->format, "table, csv, or seed: the lines that the standard's users know")
        ->check(CLI::IsMember({"table", "csv", "seed"}))
        ->capture_default_str();
    command->add_option("--csv", flags->csv, "also write every row to this file");
    command->add_option("--save-failures", flags->save_failures, "folder for both sides of each call that differs");
    command->add_flag("--ulp", flags->ulp, "count both sides' errors against the float64 oracle");
    command
        ->add_option("--dump", flags->dump,
                     "print each call: 1 names, 2 arguments, 3 values; default DIPU_DUMP_OP_ARGS")
        ->check(CLI::Range(0, 3));
    command->add_flag("--overflow", flags->overflow, "name outputs that hold NaN or infinity, with their figures");
    command->add_option("--level", flags->level, "1: the standard's cases; 2: and some hard cases; 3: all of one seed")
        ->check(CLI::Range(1, 3))
        ->capture_default_str();
    command->add_option("--timeout", flags->timeout_s, "seconds for a case, or for the whole capture")
        ->check(seconds_above_zero())
        ->capture_default_str();
    add_target_options(*command, flags->target);
    add_record_options(*command, flags->record)->excludes(command->get_option("--with"));
    command->footer(
        "Examples:\n"
        "  diopi compare conv2d --ulp\n"
        "  diopi compare --model resnet18 --impl cpu --csv resnet18.csv\n"
        "  diopi compare --capture a.json --with b.json\n"
        "  diopi compare softmax --against-dtype float32\n"
        "  diopi compare add --format seed --tolerance float16=1e-3,1e-3");
    command->callback([flags, &code] { code = run_compare(*flags); });
}

}  // namespace diopi
