#include "cases/param_json.hpp"

#include <utility>

namespace diopi {

bool read_param(JsonReader& reader, const JsonNode& node, Param& param) {
    switch (node.kind) {
        case JsonNode::Kind::kNull:
            return true;
        case JsonNode::Kind::kBool:
            param.value = node.boolean;
            return true;
        case JsonNode::Kind::kInteger:
            param.value = node.integer;
            return true;
        case JsonNode::Kind::kReal:
            param.value = node.real;
            return true;
        case JsonNode::Kind::kText:
            if (const auto special = special_number(node.text)) {
                param.value = *special;
            } else {
                param.value = node.text;
            }
            return true;
        case JsonNode::Kind::kList: {
            std::vector<Param> values(node.items.size());
            for (size_t i = 0; i < values.size(); ++i) {
                if (!read_param(reader, node.items[i], values[i])) return false;
            }
            param.value = std::move(values);
            return true;
        }
        case JsonNode::Kind::kUnsigned:
            return reader.fail(node, "the integer does not fit in 64 bits with a sign");
        case JsonNode::Kind::kObject:
            break;
    }
    return reader.wrong_kind(node, "a number, a text, true, false, null or a list of these");
}

}  // namespace diopi
