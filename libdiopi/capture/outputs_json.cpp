#include "capture/outputs_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json/json_reader.hpp"
#include "json/json_text.hpp"

namespace diopi {

namespace {

bool read_output(JsonReader& reader, const JsonNode& node, const Row& row, OutputSpec& output) {
    std::string name;
    if (!reader.members(node, {"name", "dtype", "shape", "strides", "has_meaning"}) ||
        !reader.read(*node.find("name"), name) || !reader.read_spec(node, true, output.spec) ||
        !reader.read(*node.find("has_meaning"), output.has_meaning)) {
        return false;
    }
    const auto place = Call(row).place_of(name);
    if (!place || !row.args()[place->arg].is_output) {
        return reader.fail(*node.find("name"), fmt::format("{} has no output '{}'", row.function, clipped(name)));
    }
    output.arg = place->arg;
    output.position = place->position;
    return true;
}

}  // namespace

std::string outputs_to_json(const Row& row, const std::vector<OutputSpec>& outputs) {
    auto json = Json::array();
    for (const OutputSpec& output : outputs) {
        json.push_back({{"name", Call(row).name_of(output.place())},
                        {"dtype", name(output.spec.dtype)},
                        {"shape", output.spec.shape},
                        {"strides", output.spec.strides},
                        {"has_meaning", output.has_meaning}});
    }
    return one_line(json);
}

Result<std::vector<OutputSpec>> outputs_from_json(std::string_view text, const std::string& where, const Row& row) {
    const auto root = parse_json(text, where);
    if (!root.ok()) return root.error();
    JsonReader reader(where, *root);
    if (!root->is(JsonNode::Kind::kList) || root->items.size() > row.num_args) {
        reader.fail(*root, "expected a list of outputs");
        return reader.error();
    }
    std::vector<OutputSpec> outputs(root->items.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!read_output(reader, root->items[i], row, outputs[i])) return reader.error();
    }
    return outputs;
}

}  // namespace diopi
