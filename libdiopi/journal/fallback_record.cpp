#include "journal/fallback_record.hpp"

#include <nlohmann/json.hpp>

namespace diopi {

namespace {

constexpr FallbackReason kReasons[] = {FallbackReason::kForced, FallbackReason::kNotImplemented,
                                       FallbackReason::kDeclined};

Json transfers_json(const Transfers& transfers) {
    return {{"copies", transfers.copies}, {"bytes", transfers.nbytes}, {"seconds", transfers.seconds}};
}

Transfers transfers_from(const Json& json) { return {json.at("copies"), json.at("bytes"), json.at("seconds")}; }

FallbackReason reason_from(const Json& json) {
    const auto text = json.get<std::string>();
    for (const FallbackReason reason : kReasons) {
        if (text == name(reason)) return reason;
    }
    throw Json::other_error::create(501, "unknown reason " + text, &json);
}

}  // namespace

std::string_view name(FallbackReason reason) {
    switch (reason) {
        case FallbackReason::kForced:
            return "forced";
        case FallbackReason::kNotImplemented:
            return "not implemented";
        case FallbackReason::kDeclined:
            return "declined";
    }
    return "";
}

std::string to_json(const FallbackRecord& record) {
    Json rows = Json::array(), changed = Json::array();
    for (const FallbackRow& row : record.rows) {
        rows.push_back({{"overload", row.overload},
                        {"function", row.function},
                        {"why", name(row.reason)},
                        {"calls", row.calls},
                        {"in", transfers_json(row.in)},
                        {"out", transfers_json(row.out)},
                        {"device_s", row.device_seconds},
                        {"other_s", row.other_seconds}});
    }
    for (const ChangedResult& change : record.changed) {
        changed.push_back({{"tensor", change.tensor},
                           {"max_abs", json_number(change.max_abs)},
                           {"max_rel", json_number(change.max_rel)},
                           {"within", change.within}});
    }
    return indented(Json{{"backend", record.backend},
                         {"to", record.other},
                         {"calls", record.calls},
                         {"fallback", rows},
                         {"missing", record.missing},
                         {"step_s", record.step_seconds},
                         {"step_with_fallback_s", record.step_seconds_with},
                         {"waited_s", record.waited_seconds},
                         {"waited_with_fallback_s", record.waited_seconds_with},
                         {"results", record.results},
                         {"changed", changed},
                         {"unmatched", record.unmatched},
                         {"lines", record.lines}});
}

FallbackRecord fallback_from_json(const std::string& text) { return fallback_record_of(parse_own(text)); }

FallbackRecord fallback_record_of(const Json& json) {
    FallbackRecord record;
    record.backend = json.at("backend");
    record.other = json.at("to");
    record.calls = json.at("calls");
    record.missing = json.at("missing").get<std::map<std::string, int64_t>>();
    record.step_seconds = json.at("step_s");
    record.step_seconds_with = json.at("step_with_fallback_s");
    record.waited_seconds = json.at("waited_s");
    record.waited_seconds_with = json.at("waited_with_fallback_s");
    record.results = json.at("results");
    for (const Json& row : json.at("fallback")) {
        record.rows.push_back({row.at("overload"), row.at("function"), reason_from(row.at("why")), row.at("calls"),
                               transfers_from(row.at("in")), transfers_from(row.at("out")), row.at("device_s"),
                               row.at("other_s")});
    }
    for (const Json& change : json.at("changed")) {
        record.changed.push_back({change.at("tensor"), number_of(change.at("max_abs")), number_of(change.at("max_rel")),
                                  change.at("within")});
    }
    record.unmatched = json.at("unmatched").get<std::vector<std::string>>();
    record.lines = json.at("lines").get<std::vector<std::string>>();
    return record;
}

}  // namespace diopi
