#include "capture/outputs_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json/json_reader.hpp"

namespace diopi {

namespace {

using Tree = JsonReader::Json;

bool read_output(JsonReader& reader, const Tree& json, const std::string& at, const Row& row, OutputSpec& output) {
    std::string name;
    if (!reader.members(json, at, {"name", "dtype", "shape", "strides", "has_meaning"}) ||
        !reader.read(json["name"], at + "/name", name) || !reader.read_spec(json, at, true, output.spec) ||
        !reader.read(json["has_meaning"], at + "/has_meaning", output.has_meaning)) {
        return false;
    }
    const int arg = row.find(name);
    if (arg < 0 || !row.args()[static_cast<size_t>(arg)].is_output ||
        !row.args()[static_cast<size_t>(arg)].is_tensor()) {
        return reader.fail(at + "/name", fmt::format("{} has no output '{}'", row.function, clipped(name)));
    }
    output.arg = static_cast<size_t>(arg);
    return true;
}

}  // namespace

std::string outputs_to_json(const Row& row, const std::vector<OutputSpec>& outputs) {
    auto json = nlohmann::ordered_json::array();
    for (const OutputSpec& output : outputs) {
        json.push_back({{"name", row.args()[output.arg].name},
                        {"dtype", name(output.spec.dtype)},
                        {"shape", output.spec.shape},
                        {"strides", output.spec.strides},
                        {"has_meaning", output.has_meaning}});
    }
    return json.dump();
}

Result<std::vector<OutputSpec>> outputs_from_json(std::string_view text, const std::string& where, const Row& row) {
    JsonReader reader(where);
    Tree json;
    if (!reader.parse(text, json)) return reader.error();
    if (!json.is_array() || json.size() > row.num_args) {
        reader.fail("", "a list of outputs is wanted");
        return reader.error();
    }
    std::vector<OutputSpec> outputs(json.size());
    for (size_t i = 0; i < json.size(); ++i) {
        if (!read_output(reader, json[i], fmt::format("/{}", i), row, outputs[i])) return reader.error();
    }
    return outputs;
}

}  // namespace diopi
