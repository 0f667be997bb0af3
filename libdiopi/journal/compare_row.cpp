#include "journal/compare_row.hpp"

#include <nlohmann/json.hpp>

namespace diopi {

namespace {

std::optional<UlpHistogram> histogram_from(const Json& json) {
    if (json.is_null()) return std::nullopt;
    UlpHistogram histogram;
    histogram.counts = json.get<decltype(histogram.counts)>();
    return histogram;
}

Json number_or_null(const std::optional<double>& number) { return number ? json_number(*number) : Json(); }

std::optional<double> number_or_nothing(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(number_of(json));
}

}  // namespace

std::string to_json_line(const CompareRow& row) {
    Json json = {{"where", row.where},
                 {"name", row.name},
                 {"layer", row.layer},
                 {"overload", row.overload},
                 {"function", row.function}};
    if (row.forward_id) json["forward_id"] = *row.forward_id;
    if (!row.other_layer.empty()) json["other_layer"] = row.other_layer;
    if (row.out_of_order) json["out_of_order"] = true;
    if (row.out_of_order || !row.only_in.empty()) {
        json["after"] = row.after;
        json["before"] = row.before;
    }
    if (!row.only_in.empty()) {
        json["only_in"] = row.only_in;
        json["allclose"] = false;
        json["error_info"] = row.error;
        return one_line(json);
    }
    if (!row.skipped.empty()) {
        json["skipped"] = row.skipped;
        return one_line(json);
    }
    json["place"] = row.place;
    json["tensor"] = row.tensor;
    json["seed"] = row.seed;
    json["allclose"] = row.allclose;
    json["cosine_similarity"] = number_or_null(row.cosine);
    json["max_abs_diff"] = json_number(row.max_abs);
    json["max_relative_diff"] = number_or_null(row.max_rel);
    json["atol"] = row.atol;
    json["rtol"] = row.rtol;
    if (!row.cast.empty()) json["cast"] = row.cast;
    json["error_info"] = row.error;
    if (!row.allclose) {
        json["inputs"] = row.inputs;
        json["outputs"] = row.outputs;
    }
    if (row.ulp) json["ulp"] = row.ulp->counts;
    if (row.other_ulp) json["other_ulp"] = row.other_ulp->counts;
    return one_line(json);
}

CompareRow compare_row_of(const Json& json) {
    CompareRow row;
    row.where = json.at("where");
    row.name = json.at("name");
    row.layer = json.at("layer");
    row.overload = json.at("overload");
    row.function = json.at("function");
    if (json.contains("forward_id")) row.forward_id = json["forward_id"].get<int64_t>();
    row.other_layer = json.value("other_layer", "");
    row.out_of_order = json.value("out_of_order", false);
    row.after = json.value("after", "");
    row.before = json.value("before", "");
    row.only_in = json.value("only_in", "");
    row.error = json.value("error_info", "");
    row.skipped = json.value("skipped", "");
    if (!row.compared()) return row;
    row.place = json.at("place");
    row.tensor = json.at("tensor");
    row.seed = json.at("seed");
    row.allclose = json.at("allclose");
    row.cosine = number_or_nothing(json.at("cosine_similarity"));
    row.max_abs = number_of(json.at("max_abs_diff"));
    row.max_rel = number_or_nothing(json.at("max_relative_diff"));
    row.atol = json.at("atol");
    row.rtol = json.at("rtol");
    row.cast = json.value("cast", "");
    row.inputs = json.value("inputs", row.inputs);
    row.outputs = json.value("outputs", row.outputs);
    row.ulp = histogram_from(json.value("ulp", Json()));
    row.other_ulp = histogram_from(json.value("other_ulp", Json()));
    return row;
}

std::optional<CompareRow> compare_row_from_json(std::string_view line) {
    try {
        return compare_row_of(parse_own(line));
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

}  // namespace diopi
