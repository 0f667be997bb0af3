#include "environment.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "core/text.hpp"
#include "file/atomic_file.hpp"
#include "runtime/cpu_info.hpp"

namespace diopi {

namespace {

/// The variable's value; nullopt when it is unset or empty.
std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

bool is_on(const char* name) {
    const auto value = variable(name);
    return value && *value != "0";
}

Result<int64_t> number_in(const char* name, const char* advice) {
    const auto value = variable(name);
    if (!value) return bad_input(fmt::format("{} is not set; {}", name, advice));
    const auto number = parse_count(*value, std::string(name) + ":");
    return number.ok() ? number : bad_input(number.error().message + "; " + advice);
}

Result<std::optional<Shard>> bazel_shard() {
    constexpr const char* kAdvice = "Bazel's variables of test sharding are broken, unset them or give --shard K/N";
    if (const auto file = variable("TEST_SHARD_STATUS_FILE")) {
        if (Status s = write_file_atomically(*file, ""); !s.ok()) {
            return bad_input("TEST_SHARD_STATUS_FILE: " + s.message());
        }
    }
    if (!variable("TEST_TOTAL_SHARDS")) return std::optional<Shard>();
    const auto count = number_in("TEST_TOTAL_SHARDS", kAdvice);
    if (!count.ok()) return count.error();
    if (*count == 1) return std::optional<Shard>();
    const auto index = number_in("TEST_SHARD_INDEX", kAdvice);
    if (!index.ok()) return index.error();
    if (*count < 1 || *count > kMostShards || *index >= *count) {
        return bad_input(
            fmt::format("TEST_SHARD_INDEX {} is not from 0 to TEST_TOTAL_SHARDS {} - 1; {}", *index, *count, kAdvice));
    }
    return std::optional<Shard>({*index + 1, *count});
}

Result<std::optional<Shard>> slurm_shard() {
    constexpr const char* kAdvice = "--shard slurm needs a job array (sbatch --array=1-4), --shard K/N works anywhere";
    int64_t id = 0, count = 0, first = 0, last = 0, step = 1;
    struct Variable {
        const char* name;
        int64_t* number;
    };
    for (const auto& [name, number] :
         {Variable{"SLURM_ARRAY_TASK_ID", &id}, Variable{"SLURM_ARRAY_TASK_COUNT", &count},
          Variable{"SLURM_ARRAY_TASK_MIN", &first}, Variable{"SLURM_ARRAY_TASK_MAX", &last},
          Variable{"SLURM_ARRAY_TASK_STEP", &step}}) {
        if (number == &step && !variable(name)) continue;
        const auto read = number_in(name, kAdvice);
        if (!read.ok()) return read.error();
        *number = *read;
    }
    // A list such as 1,2,5 has gaps: the variables do not show which tasks it has.
    const bool in_range = step >= 1 && first <= id && id <= last && (id - first) % step == 0;
    if (!in_range || count > kMostShards || (last - first) / step + 1 != count) {
        return bad_input(
            fmt::format("Slurm's variables contradict each other: task {} of {} tasks in {}-{}:{}; {}, and "
                        "its array must be a range, FIRST-LAST or FIRST-LAST:STEP",
                        id, count, first, last, step, kAdvice));
    }
    return std::optional<Shard>({(id - first) / step + 1, count});
}

}  // namespace

Result<std::optional<Shard>> chosen_shard(const std::string& option) {
    if (option.empty()) return bazel_shard();
    if (option == "slurm") return slurm_shard();
    const auto shard = parse_shard(option);
    if (!shard.ok()) return bad_input("--shard: " + shard.error().message + ", or slurm");
    return std::optional<Shard>(*shard);
}

std::vector<std::pair<std::string, std::string>> machine_facts() {
    constexpr std::array<std::string_view, 5> kPrefixes = {"OMP_", "DNNL_", "ONEDNN_", "DIOPI_", "DIPU_"};
    std::vector<std::pair<std::string, std::string>> facts;
    utsname kernel = {};
    if (::uname(&kernel) == 0) {
        facts.emplace_back("kernel", fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine));
    }
    if (const auto cpu = cpu_info(); cpu.ok()) facts.emplace_back("cpu", cpu->name);
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const size_t equals = text.find('=');
        const bool matters = std::ranges::any_of(kPrefixes, [&](auto prefix) { return text.starts_with(prefix); });
        if (!matters || equals == std::string_view::npos) continue;
        facts.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    std::ranges::sort(facts);
    return facts;
}

namespace {

/// All variables of the environment whose names contain AUTOCOMPARE_ERROR_TOLERANCE.
std::vector<TolerancePreset> tolerance_presets() {
    constexpr std::string_view kName = "AUTOCOMPARE_ERROR_TOLERANCE";
    std::vector<TolerancePreset> presets;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const size_t equals = text.find('='), at = text.find(kName);
        if (equals == std::string_view::npos || at > equals) continue;
        const std::string_view before = text.substr(0, at),
                               after = text.substr(at + kName.size(), equals - at - kName.size());
        if ((!before.empty() && !before.ends_with('_')) || (!after.empty() && !after.starts_with('_'))) continue;
        TolerancePreset preset{std::string(text.substr(0, equals)), "", std::nullopt,
                               std::string(text.substr(equals + 1))};
        if (!before.empty()) preset.op = lower_case(before.substr(0, before.size() - 1));
        if (!after.empty()) preset.dtype = lower_case(after.substr(1));
        presets.push_back(std::move(preset));
    }
    return presets;
}

}  // namespace

Environment read_environment() {
    Environment environment;
    environment.memory_check = is_on("DIPU_MEM_CHECK");
    environment.memory_check_backtrace = is_on("DIPU_MEM_CHECK_ENABLE_BACKTRACE");
    const auto forced = variable("DIPU_FORCE_FALLBACK_OPS_LIST");
    environment.fallback_list = forced ? *forced : variable("OP_FALLBACK_LIST").value_or("");
    environment.fallback_disable_list = variable("OP_FALLBACK_DISABLE_LIST").value_or("");
    const std::string level = variable("DIPU_DUMP_OP_ARGS").value_or("0");
    if (level.size() == 1 && level[0] >= '0' && level[0] <= '3') environment.dump_level = level[0] - '0';
    environment.tolerances = tolerance_presets();
    return environment;
}

}  // namespace diopi
