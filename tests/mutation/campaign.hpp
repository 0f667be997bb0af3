/// The campaign plants every fault in every function, in one run after the other until one of them sees it.
#pragma once

#include <string>
#include <vector>

#include "candidates.hpp"
#include "fault.hpp"

namespace diopi::mutation {

struct CampaignOptions {
    std::vector<const Fault*> faults;
    int jobs = 2;
    double hang_s = 1;  ///< time limit of a hang
    std::string cases_folder;
    uint64_t seed = 0;
};

/// The result of one fault in one function.
struct Detection {
    bool planted = false;  ///< it made a difference in some run
    bool seen = false;     ///< that run failed
    std::string check;     ///< the check that saw it: "values", "guards", ...
    std::string reason;    ///< the run's message
    size_t candidate = 0;  ///< the run that saw it, else the first one in which it was planted
};

/// A function with the detections of each fault, in the order of CampaignOptions::faults.
struct FunctionRecord {
    const Row* row = nullptr;
    std::vector<Detection> detections;
};

struct CampaignRecord {
    std::vector<FunctionRecord> functions;
    int64_t runs = 0;                       ///< cases that ran with a fault
    std::vector<std::string> false_alarms;  ///< runs that fail without a fault
    double seconds = 0;
};

/// Runs in worker processes, as diopi test does.
[[nodiscard]] Result<CampaignRecord> run_campaign(const std::vector<Candidate>& candidates,
                                                  const CampaignOptions& options);

/// The check that a reason belongs to.
[[nodiscard]] std::string_view check_of(std::string_view reason);

}  // namespace diopi::mutation
