/// A campaign counts planted, seen, missed and excused faults.
#include "campaign.hpp"

#include <catch2/catch.hpp>

#include "excuses.hpp"
#include "score.hpp"

using namespace diopi;
using namespace diopi::mutation;
using Catch::Matchers::Contains;

namespace {

std::vector<Candidate> candidates_of(const std::string& op, size_t most) {
    CandidateOptions options;
    options.ops = {op};
    options.plain = options.varied = most;
    auto found = find_candidates(DIOPI_SOURCE_DIR "/cases", options);
    REQUIRE(found.ok());
    return *found;
}

CampaignOptions with_faults(const std::vector<std::string_view>& names) {
    CampaignOptions options;
    for (const std::string_view name : names) options.faults.push_back(find_fault(name));
    return options;
}

}  // namespace

TEST_CASE("a campaign sees faults in values, in memory and in the process") {
    const auto candidates = candidates_of("relu", 3);
    const auto options = with_faults({"middle_wrong", "write_past_end", "crash", "stray_output", "infinity_saturated"});
    auto record = run_campaign(candidates, options);
    REQUIRE(record.ok());
    REQUIRE(record->functions.size() == 2);
    CHECK(record->false_alarms == std::vector<std::string>());
    const auto& relu = record->functions[0].detections;
    CHECK(relu[0].check == "values");
    CHECK(relu[1].check == "guards");
    CHECK(relu[2].check == "worker");
    CHECK(relu[3].check == "output");
    const Score score = score_of(*record, options);
    CHECK(score.seen == score.planted);
    CHECK_THAT(text_report(*record, options, candidates), Contains("mutation score: 100.0% ("));
}

TEST_CASE("a fault that no run sees is listed with the command that repeats it") {
    std::vector<Candidate> candidates = candidates_of("relu", 1);
    candidates.resize(1);
    const auto options = with_faults({"middle_wrong", "last_unwritten"});
    CampaignRecord record;
    record.functions = {{candidates[0].row, {{true, true, "values", "", 0}, {true, false, "", "", 0}}}};
    const Score score = score_of(record, options);
    CHECK(score.planted == 2);
    CHECK(score.percent() == 50);
    const std::string report = text_report(record, options, candidates);
    CHECK_THAT(report, Contains("not seen: last_unwritten in diopiRelu"));
    CHECK_THAT(report, Contains("scripts/mutation.sh --function diopiRelu --fault last_unwritten --case ops/relu"));
    CHECK_THAT(report, Contains("mutation score: 50.0% (1/2)"));
    CHECK_THAT(json_report(record, options, candidates), Contains("\"mark\": \"-\""));
}

TEST_CASE("excused faults count neither as planted nor as seen, unless a run sees them") {
    const Fault& fault = *find_fault("truncation");
    const Row& linear = *find_row("diopiLinear");
    CHECK(mark_of({true, false, "", "", 0}, fault, linear) == Mark::kExcused);
    CHECK(mark_of({true, true, "values", "", 0}, fault, linear) == Mark::kSeen);
    CHECK(mark_of({false, false, "", "", 0}, fault, linear) == Mark::kNotApplicable);
    CHECK(mark_of({true, false, "", "", 0}, fault, *find_row("diopiAdd")) == Mark::kMissed);
    for (const Excuse& excuse : excuses()) CHECK(find_fault(excuse.fault) != nullptr);
}

TEST_CASE("gradients that vanish for ones are seen where the fill gives other ones") {
    std::vector<Candidate> candidates = candidates_of("softmax", 10);
    std::erase_if(candidates, [](const Candidate& x) { return x.step != "backward" || x.options != "--fill signed"; });
    REQUIRE_FALSE(candidates.empty());
    auto record = run_campaign(candidates, with_faults({"sign_wrong"}));
    REQUIRE(record.ok());
    CHECK(record->functions[0].detections[0].seen);
}
