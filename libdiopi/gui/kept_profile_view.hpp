/// A profile as the window shows it: the calls that its filter chooses, and their figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/roofline.hpp"
#include "gui/timeline.hpp"
#include "report/kept_records.hpp"

namespace diopi {

struct OperatorTime {
    std::string name;
    int64_t calls = 0;
    double seconds = 0;  ///< sum of the medians
    double share = 0;    ///< of the time of all calls of the profile
    double of_roof = 0;  ///< the least time that the machine needs, divided by the time; 0: no roof
};

class KeptProfileView {
 public:
    explicit KeptProfileView(KeptProfile profile, std::string_view filter = "");
    KeptProfileView(KeptProfileView&&) = default;
    KeptProfileView& operator=(KeptProfileView&&) = default;
    // A copy would refer to the calls of the other.
    KeptProfileView(const KeptProfileView&) = delete;
    KeptProfileView& operator=(const KeptProfileView&) = delete;
    ~KeptProfileView() = default;

    /// Chooses the calls whose name or layer the filter matches.
    void choose(std::string_view filter);

    [[nodiscard]] const KeptProfile& profile() const { return profile_; }
    [[nodiscard]] const std::optional<Roofline>& roofline() const { return roofline_; }
    [[nodiscard]] const std::optional<Timeline>& timeline() const { return timeline_; }
    [[nodiscard]] size_t measured() const { return measured_; }  ///< of all calls
    [[nodiscard]] double seconds() const { return seconds_; }    ///< sum of the medians of all calls

    [[nodiscard]] bool shows(const KeptCall& call) const;
    [[nodiscard]] const std::vector<const KeptCall*>& calls() const { return calls_; }
    /// Calls that were compared with the base.
    [[nodiscard]] const std::vector<const KeptCall*>& ratios() const { return ratios_; }
    [[nodiscard]] const std::vector<OperatorTime>& operators() const { return operators_; }

 private:
    KeptProfile profile_;
    std::optional<Roofline> roofline_;
    std::optional<Timeline> timeline_;
    size_t measured_ = 0;
    double seconds_ = 0;
    std::string filter_;
    std::vector<const KeptCall*> calls_, ratios_;
    std::vector<OperatorTime> operators_;
};

/// The place of a ratio on a logarithmic line from 1/4 to 4, from 0 to 1; an infinite one, which lacks, is at the end.
[[nodiscard]] double ratio_place(const std::optional<double>& ratio);

/// The least time that the machine needs for a call, divided by its time; 0: no roof.
[[nodiscard]] double share_of_roof(const KeptCall& call);

}  // namespace diopi
