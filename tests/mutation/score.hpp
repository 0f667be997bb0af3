/// The mutation score of a campaign, and its reports.
#pragma once

#include <string>

#include "campaign.hpp"

namespace diopi::mutation {

enum class Mark { kNotApplicable, kSeen, kMissed, kExcused };

/// '.', '+', '-', 'e'
[[nodiscard]] char sign_of(Mark mark);
[[nodiscard]] Mark mark_of(const Detection& detection, const Fault& fault, const Row& row);

struct Score {
    int64_t planted = 0, seen = 0, excused = 0;
    [[nodiscard]] double percent() const {
        return planted == 0 ? 0 : 100.0 * static_cast<double>(seen) / static_cast<double>(planted);
    }
};

/// Excused faults count neither as planted nor as seen.
[[nodiscard]] Score score_of(const CampaignRecord& record, const CampaignOptions& options);

/// The table of functions and faults, the legend, unseen faults, excuses, faults by check; the last line has the score.
[[nodiscard]] std::string text_report(const CampaignRecord& record, const CampaignOptions& options,
                                      const std::vector<Candidate>& candidates);
[[nodiscard]] std::string json_report(const CampaignRecord& record, const CampaignOptions& options,
                                      const std::vector<Candidate>& candidates);

}  // namespace diopi::mutation
