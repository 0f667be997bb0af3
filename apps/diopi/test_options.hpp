/// The options of diopi test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/run_order.hpp"
#include "options.hpp"
#include "record_options.hpp"
#include "target_options.hpp"
#include "variant_options.hpp"

namespace diopi {

/// The options of diopi test as they are written on the command line.
struct TestOptions {
    CommonOptions common;
    TargetOptions target;
    std::string suite = "ops";
    VariantFlags variants;
    std::string accuracy = "classes";
    std::vector<std::string> checks = {"all"};
    int level = 2;
    std::string time, budget;  ///< as written; empty: none
    int64_t maxfail = 0;       ///< 0: no end
    bool exit_first = false;
    bool last_failed = false;
    bool collect_only = false;
    bool verbose = false;
    std::string format = "table";
    int64_t durations = 0;
    std::vector<std::string> steps;
    bool require_all = false;
    std::string csv = "error_report.csv";
    std::string junit;
    std::string device_config;
    double timeout_s = kCaseTimeout_s;
    std::string memory_limit;
    bool resume = false;
    std::string shard;
    bool shrink = false;
    double shrink_time_s = 60;
    std::optional<std::string> shuffle;  ///< the seed as written; empty: the seed of the run
    bool find_order = false;
    std::optional<uint64_t> addresses;
    std::vector<std::string> in_order;
    std::string save_failures;
    std::string replay;
    std::string capture;
    RecordFlags record;
    std::vector<std::string> given;  ///< options on the command line, by name
};

void add_test_options(CLI::App& command, TestOptions& options);

[[nodiscard]] RunOrder run_order(const TestOptions& options);
/// --addresses; a shuffled run has memory at other addresses, too.
[[nodiscard]] std::optional<uint64_t> seed_of_addresses(const TestOptions& options);
/// The options after `diopi test --case ID` that repeat a case of the run.
[[nodiscard]] std::string repeat_text(const TestOptions& options);

}  // namespace diopi
