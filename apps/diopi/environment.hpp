/// The environment variables that diopi reads; no other file of the program reads any.
///
/// Bazel, used without an option (test sharding: shard_count of a test rule):
///   TEST_TOTAL_SHARDS       number of shards; unset, empty or 1: the whole run
///   TEST_SHARD_INDEX        which one, from 0
///   TEST_SHARD_STATUS_FILE  a file to create, which tells Bazel that the test uses the other two
///
/// Slurm's job arrays (sbatch --array=FIRST-LAST or FIRST-LAST:STEP), with --shard slurm:
///   SLURM_ARRAY_TASK_ID                    of this task: FIRST, FIRST + STEP, ... is shard 1, 2, ...
///   SLURM_ARRAY_TASK_COUNT                 number of tasks, which is that of shards
///   SLURM_ARRAY_TASK_MIN, _MAX and _STEP   the range; _STEP is 1 where it is unset
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.hpp"
#include "core/status.hpp"
#include "journal/shard_label.hpp"

namespace diopi {

/// The shard that `option` (--shard: "K/N", "slurm" or nothing) and the environment select; nullopt for the whole
/// run. An explicit option overrides Bazel's variables, and then Bazel's status file is not created.
[[nodiscard]] Result<std::optional<Shard>> chosen_shard(const std::string& option);

/// A tolerance of compare: <OP>_AUTOCOMPARE_ERROR_TOLERANCE_<DTYPE>, where the operator and the dtype may each be left
/// out together with the underscore.
struct TolerancePreset {
    std::string variable, op;
    std::optional<std::string> dtype;  ///< the word in small letters
    std::string value;                 ///< "1e-3,1e-4": atol and rtol
};

/// A flag is on with any value but the empty one and 0.
struct Environment {
    bool memory_check = false;            ///< DIPU_MEM_CHECK: report the memory that a run does not free
    bool memory_check_backtrace = false;  ///< DIPU_MEM_CHECK_ENABLE_BACKTRACE: with the stack of the allocation
    std::string fallback_list;            ///< DIPU_FORCE_FALLBACK_OPS_LIST, else OP_FALLBACK_LIST: fallback-sim --ops
    std::string fallback_disable_list;    ///< OP_FALLBACK_DISABLE_LIST: fallback-sim --except
    int dump_level = 0;                   ///< DIPU_DUMP_OP_ARGS, 0 to 3: compare --dump
    std::vector<TolerancePreset> tolerances;
};

[[nodiscard]] Environment read_environment();

/// The description of the machine in a replay bundle: "kernel", "cpu", and each variable of OMP_, DNNL_, DIOPI_ and
/// DIPU_ that is set. No name of the host.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> machine_facts();

}  // namespace diopi
