#include "profile/schedule.hpp"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "core/suggest.hpp"

namespace diopi {

namespace {

constexpr int64_t kMostIterations = 1'000'000;

constexpr std::array<std::pair<std::string_view, int64_t Schedule::*>, 5> kScheduleWords = {
    {{"skip_first", &Schedule::skip_first},
     {"wait", &Schedule::wait},
     {"warmup", &Schedule::warmup},
     {"active", &Schedule::active},
     {"repeat", &Schedule::repeat}}};

Error refusal(std::string_view item, const std::string& why) {
    return bad_input("--schedule: '" + std::string(item) + "' " + why +
                     "; write skip_first=0,wait=1,warmup=1,active=3,repeat=2, or some of these");
}

Status read_word(Schedule& schedule, std::string_view item) {
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) return refusal(item, "has no number");
    const std::string_view word = item.substr(0, equals), digits = item.substr(equals + 1);
    for (const auto& [known, member] : kScheduleWords) {
        if (word != known) continue;
        int64_t number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        const bool whole = error == std::errc() && end == digits.data() + digits.size();
        if (!whole || number < 0 || number > kMostIterations) {
            return refusal(item, "has no number from 0 to " + std::to_string(kMostIterations));
        }
        schedule.*member = number;
        return {};
    }
    std::vector<std::string> words;
    for (const auto& [known, member] : kScheduleWords) words.emplace_back(known);
    return refusal(item, "is no word of a schedule" + did_you_mean(word, words));
}

}  // namespace

Result<Schedule> Schedule::parse(std::string_view text) {
    Schedule schedule;
    while (true) {
        const size_t comma = text.find(',');
        if (Status s = read_word(schedule, text.substr(0, comma)); !s.ok()) return s.error();
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
    }
    if (schedule.active == 0) return refusal("active=0", "records nothing");
    if (schedule.repeat == 0) return refusal("repeat=0", "records nothing");
    const int64_t cycle = schedule.wait + schedule.warmup + schedule.active;
    if (schedule.repeat > (kMostIterations - schedule.skip_first) / cycle) {
        return refusal("repeat=" + std::to_string(schedule.repeat),
                       "makes more than " + std::to_string(kMostIterations) + " iterations");
    }
    return schedule;
}

Schedule::Action Schedule::action(int64_t i) const {
    if (i < skip_first) return Action::kIgnore;
    const int64_t place = (i - skip_first) % (wait + warmup + active);
    if (place < wait) return Action::kIgnore;
    return place < wait + warmup ? Action::kWarmup : Action::kRecord;
}

}  // namespace diopi
