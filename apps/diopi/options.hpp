/// Options of every subcommand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/case_choice.hpp"
#include "core/name_choice.hpp"
#include "core/status.hpp"
#include "target_options.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

/// Exit codes of the program.
enum class Exit : int { kPassed = 0, kFailures = 1, kBadInput = 2, kInternal = 3, kInterrupted = 130 };

struct CommonOptions {
    std::vector<std::string> command;  ///< argv
    std::string impl = "cpu";
    LibraryOptions loading;
    /// Operators: words of the command line, of --fname and those without an option.
    std::vector<std::string> fname, operators;
    std::string model;
    std::vector<std::string> case_ids;
    std::string expression;
    std::vector<std::string> filter_dtype, only_dtype;
    bool only_implemented = false;
    std::vector<std::string> case_files;
    std::string cases_folder;
    std::string data = "data";
    std::string run_folder = "diopi_run";
    uint64_t seed = 0;
    int jobs = 0;
    bool json = false;
    bool quiet = false;
    int debug_level = 0;
};

/// Keeps a report in the folder of --run; `json` is what --json prints.
Status keep_report_of(const CommonOptions& options, const std::string& kind, const std::string& json);

/// Adds --fname and operators without an option.
void add_operator_options(CLI::App& command, CommonOptions& options);
/// The operators that these name.
[[nodiscard]] Result<NameChoice> operators_of(const CommonOptions& options);

/// Adds the common flags to a subcommand.
void add_common_options(CLI::App& command, CommonOptions& options);

/// Adds the common flags that a replay of a capture supports: --impl and the flags that open it, --model, --cases-dir,
/// --seed, --json, --quiet.
void add_replay_options(CLI::App& command, CommonOptions& options);

/// Adds --format and --durations, of the report of a run.
void add_form_options(CLI::App& command, std::string& format, int64_t& durations);

/// Whether options limit the cases: --fname or operators, --case, -k.
[[nodiscard]] bool selects_cases(const CommonOptions& options);
/// The cases that the options select: --case, or --model, or the operator cases, limited by --fname and -k.
[[nodiscard]] Result<CaseChoice> choice_of(const CommonOptions& options);

/// --filter-dtype and --only-dtype.
struct DtypeChoice {
    std::vector<Dtype> filtered, only;
    /// "uses float64 (--filter-dtype)"; nullopt for a case that may run.
    [[nodiscard]] std::optional<std::string> skip_reason(const Case& c) const;
};
[[nodiscard]] Result<DtypeChoice> dtypes_of(const CommonOptions& options);

/// Where no option selects cases: says on stderr how many a command takes and about how long it will take. `what`:
/// "compares".
void announce_all(const CommonOptions& options, std::string_view what, const std::vector<Case>& cases,
                  const Backend& backend, int jobs);

/// Adds --implemented.
void add_implemented_option(CLI::App& command, CommonOptions& options);

/// With --implemented: removes the cases of operators that the backend does not have, and says on stderr how many.
void keep_implemented(const CommonOptions& options, const Backend& backend, std::vector<Case>& cases);

/// Whether a report can be written to `path` (empty: no report); checked before a long run. Says on stderr that a
/// folder will be made for it.
[[nodiscard]] Status check_output_file(const std::string& path);

/// The folder of the case files: --cases-dir, the installed one, or the source tree's.
[[nodiscard]] std::string cases_folder(const CommonOptions& options);

/// --jobs, or the number of processors.
[[nodiscard]] int worker_count(const CommonOptions& options);

/// The options that repeat a command: backend and seed unless they are the defaults.
[[nodiscard]] std::string repeat_options(const CommonOptions& options);

/// The seconds that one case may take by default, and "--timeout 9" for another limit; empty for the default.
inline constexpr double kCaseTimeout_s = 300;
[[nodiscard]] std::string repeat_timeout(double timeout_s);

/// Prints "diopi: error: ..." and returns its exit code.
int report_error(const Error& error);

}  // namespace diopi
