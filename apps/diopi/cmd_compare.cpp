/// diopi compare: one implementation against another, on cases, a model, a capture, or two captures.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "capture_source.hpp"
#include "commands.hpp"
#include "compare_text.hpp"
#include "environment.hpp"
#include "intercept/dump.hpp"
#include "intercept/overflow.hpp"
#include "intercept/tensor_text.hpp"
#include "record_options.hpp"
#include "run/worker_pool.hpp"
#include "run/worker_setup.hpp"
#include "store/atomic_file.hpp"
#include "target.hpp"

namespace diopi {

namespace {

struct CompareFlags {
    CommonOptions common;
    SimFlags sim;
    std::string against = "reference";
    std::string capture, with;
    std::vector<std::string> tolerances;
    std::string format = "table";
    std::string csv, save_failures;
    int dump = 0;
    bool overflow = false, ulp = false;
    double timeout_s = 600;
    RecordFlags record;
};

/// Lines that workers append to and their parent reads afterwards, whatever became of the workers.
class SharedLines {
 public:
    [[nodiscard]] static Result<SharedLines> create() {
        SharedLines lines;
        lines.file_.reset(std::tmpfile());
        if (lines.file_ == nullptr) return failed("cannot make a temporary file; is the disk full?");
        return lines;
    }
    void append(const std::string& line) {
        std::fputs((line + "\n").c_str(), file_.get());
        std::fflush(file_.get());
    }
    [[nodiscard]] std::vector<CompareRow> rows() {
        std::rewind(file_.get());
        std::vector<CompareRow> rows;
        std::string line;
        for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get())) {
            if (c != '\n') {
                line += static_cast<char>(c);
                continue;
            }
            if (auto row = compare_row_from_json(line)) rows.push_back(std::move(*row));
            line.clear();
        }
        return rows;
    }

 private:
    struct Closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, Closer> file_;
};

Result<ToleranceTable> tolerances_of(const CompareFlags& flags) {
    ToleranceTable table;
    for (const TolerancePreset& preset : read_environment().tolerances) {
        auto tolerance = parse_tolerance(preset.value);
        if (!tolerance.ok()) return bad_input(preset.variable + ": " + tolerance.error().message);
        table.add(ToleranceTable::Source::kEnvironment, preset.op, preset.dtype, *tolerance);
    }
    for (const std::string& text : flags.tolerances) {
        if (Status s = table.add_option(text); !s.ok()) return bad_input("--tolerance: " + s.message());
    }
    return table;
}

std::string overflow_line(const OverflowEvent& event) {
    const TensorFigures& f = event.figures;
    return fmt::format(
        "[overflow] {} {} {}: inf_or_nan: {}, min: {:.6g}, max: {:.6g}, mean: {:.6g}, std: {:.6g}, "
        "norm: {:.6g}",
        overload_of(event.call), event.place, short_text(event.tensor), f.inf_or_nan, f.min, f.max, f.mean, f.std,
        f.norm);
}

/// One comparison, from its options to its exit code.
class CompareCommand {
 public:
    CompareCommand(const CompareFlags& flags, Target target, const Backend& against, ToleranceTable tolerances,
                   SharedLines lines)
        : flags_(flags),
          target_(std::move(target)),
          against_(against),
          tolerances_(std::move(tolerances)),
          lines_(std::move(lines)),
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
        else if (!flags_.capture.empty() || (flags_.common.fname.empty() && has_capture(flags_.common)))
            s = run_capture();
        else
            s = run_cases();
        if (!s.ok()) return report_error(s.error());
        const int code = report();
        s = recording_.finish();
        return s.ok() ? code : report_error(s.error());
    }

 private:
    CompareOptions options() {
        CompareOptions options;
        options.backend = &target_.backend();
        options.sim = target_.sim();
        options.against = &against_;
        options.tolerances = &tolerances_;
        options.ulp = flags_.ulp;
        options.save_folder = flags_.save_failures;
        if (recording_.tool() != nullptr) options.interceptors.push_back(recording_.tool());
        if (flags_.dump > 0) options.interceptors.push_back(&dump_);
        if (flags_.overflow) options.interceptors.push_back(&overflow_);
        options.on_row = [this](const CompareRow& row) { lines_.append(to_json_line(row)); };
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
        const auto work = [&](size_t) {
            const Status s = compare_capture(*(*loaded)->replay, options());
            return WorkAnswer{(s.ok() ? "" : s.message()) + recording_.end_item(0)};
        };
        const auto done = [&](size_t, const WorkOutcome& outcome, std::vector<size_t>&) {
            take((*loaded)->capture.name, outcome);
            return Status();
        };
        return run_in_workers({0}, pool(1), work, done);
    }

    Status run_cases() {
        auto cases = choose_cases(flags_.common, target_.backend());
        if (!cases.ok()) return cases.status();
        auto filtered = parse_dtypes(flags_.common.filter_dtype);
        if (!filtered.ok()) return filtered.status();
        std::erase_if(*cases, [&](const Case& c) { return uses_any(c, *filtered); });
        missing_ = static_cast<int64_t>(
            std::erase_if(*cases, [&](const Case& c) { return !target_.backend().implements(c.op); }));
        std::vector<size_t> items(cases->size());
        for (size_t i = 0; i < items.size(); ++i) items[i] = i;
        bool is_set_up = false;
        const auto work = [&](size_t item) {
            if (!is_set_up) set_up_worker();
            is_set_up = true;
            const Status s = compare_case((*cases)[item], flags_.common.seed, options());
            return WorkAnswer{(s.ok() ? "" : s.message()) + recording_.end_item(item)};
        };
        const auto done = [&](size_t item, const WorkOutcome& outcome, std::vector<size_t>&) {
            take((*cases)[item].id(), outcome);
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
        return compare_captures((*one)->capture, (*one)->values, (*other)->capture, (*other)->values, options());
    }

    /// A crash, a hang, or a call that failed.
    void take(const std::string& what, const WorkOutcome& outcome) {
        const bool finished = outcome.end == WorkOutcome::End::kFinished;
        const std::string& why = finished ? outcome.payload : outcome.reason;
        if (why.empty()) return;
        ++troubles_;
        fmt::print(stderr, "diopi: {}: {}\n", what, why);
    }

    int report() {
        const std::vector<CompareRow> rows = lines_.rows();
        const std::string_view backend = flags_.with.empty() ? target_.backend().name() : std::string_view("the first");
        const std::string_view against = flags_.with.empty() ? against_.name() : std::string_view("the second");
        if (!flags_.csv.empty()) {
            if (Status s = write_file_atomically(flags_.csv, compare_csv(rows)); !s.ok())
                return report_error(s.error());
        }
        if (flags_.common.json) {
            fmt::print("{}\n", compare_json(rows, backend, against));
        } else if (flags_.format == "csv") {
            fmt::print("{}", compare_csv(rows));
        } else if (flags_.format == "seed") {
            for (const CompareRow& row : rows) fmt::print("{}", seed_lines(row));
        } else {
            print_compare(rows, backend, against);
            if (missing_ > 0) fmt::print("{} cases not implemented by {}\n", missing_, backend);
        }
        if (interrupted()) return static_cast<int>(Exit::kInterrupted);
        const bool differ =
            std::ranges::any_of(rows, [](const CompareRow& row) { return row.skipped.empty() && !row.allclose; });
        return static_cast<int>(differ || troubles_ > 0 ? Exit::kFailures : Exit::kPassed);
    }

    const CompareFlags& flags_;
    Target target_;
    const Backend& against_;
    ToleranceTable tolerances_;
    SharedLines lines_;
    Recording recording_;
    Dump dump_;
    OverflowCheck overflow_;
    int64_t missing_ = 0;
    int troubles_ = 0;
};

int run_compare(CompareFlags flags) {
    if (flags.dump == 0) flags.dump = read_environment().dump_level;
    auto target = Target::find(flags.common.impl, flags.sim);
    if (!target.ok()) return report_error(target.error());
    auto against = find_backend(flags.against);
    if (!against.ok()) return report_error(against.error());
    auto tolerances = tolerances_of(flags);
    if (!tolerances.ok()) return report_error(tolerances.error());
    for (const std::string& file : {flags.csv, flags.save_failures.empty() ? "" : flags.save_failures + "/probe.h5"}) {
        if (Status s = check_output_file(file); !s.ok()) return report_error(s.error());
    }
    auto lines = SharedLines::create();
    if (!lines.ok()) return report_error(lines.error());
    return CompareCommand(flags, std::move(*target), **against, std::move(*tolerances), std::move(*lines)).run();
}

}  // namespace

void add_compare_command(CLI::App& app, int& code) {
    auto flags = std::make_shared<CompareFlags>();
    CLI::App* command = app.add_subcommand("compare", "compare two operator libraries, call by call");
    command->add_option("op", flags->common.fname, "operator, as --fname");
    add_common_options(*command, flags->common);
    command->add_option("--against", flags->against, "the other library")->capture_default_str();
    command->add_option("--capture", flags->capture, "the capture to replay (docs/capture.md)");
    command->add_option("--with", flags->with,
                        "another capture of the same iteration: compares the values that both kept");
    command->add_option("--tolerance", flags->tolerances,
                        "[OP][:DTYPE]=ATOL,RTOL; several may follow. Default: the AUTOCOMPARE_ERROR_TOLERANCE "
                        "variables, then those of the dtype (docs/compare.md)");
    command->add_option("--format", flags->format, "table, csv, or seed: the lines that the standard's users know")
        ->check(CLI::IsMember({"table", "csv", "seed"}))
        ->capture_default_str();
    command->add_option("--csv", flags->csv, "also write every row to this file");
    command->add_option("--save-failures", flags->save_failures, "folder for both sides of each call that differs");
    command->add_flag("--ulp", flags->ulp, "count both sides' errors against the float64 oracle");
    command
        ->add_option("--dump", flags->dump,
                     "print each call: 1 names, 2 arguments, 3 values; DIPU_DUMP_OP_ARGS when left out")
        ->check(CLI::Range(0, 3));
    command->add_flag("--overflow", flags->overflow, "name outputs that hold NaN or infinity, with their figures");
    command->add_option("--timeout", flags->timeout_s, "seconds for a case, or for the whole capture")
        ->check(seconds_above_zero())
        ->capture_default_str();
    add_sim_options(*command, flags->sim);
    add_record_options(*command, flags->record)->excludes(command->get_option("--with"));
    command->footer(
        "Examples:\n"
        "  diopi compare conv2d --ulp\n"
        "  diopi compare --model resnet18 --impl cpu --csv resnet18.csv\n"
        "  diopi compare --capture a.json --with b.json\n"
        "  diopi compare add --format seed --tolerance float16=1e-3,1e-3");
    command->callback([flags, &code] { code = run_compare(*flags); });
}

}  // namespace diopi
