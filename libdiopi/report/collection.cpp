#include "report/collection.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json/json_text.hpp"
#include "report/table.hpp"

namespace diopi {

std::string collection_text(const std::vector<CollectedCase>& cases, bool is_quiet) {
    std::string text;
    int64_t run = 0;
    for (const CollectedCase& each : cases) {
        run += each.obstacle.empty() ? 1 : 0;
        if (is_quiet && !each.obstacle.empty()) continue;
        text += each.id + (each.obstacle.empty() ? "" : "  " + each.obstacle) + "\n";
    }
    if (is_quiet) return text;
    return text + fmt::format("\n{}, {} would run\n", counted(static_cast<int64_t>(cases.size()), "case"), run);
}

std::string collection_json(const std::vector<CollectedCase>& cases) {
    Json list = Json::array();
    for (const CollectedCase& each : cases) {
        list.push_back({{"case", each.id}});
        if (!each.obstacle.empty()) list.back()["obstacle"] = each.obstacle;
    }
    return indented({{"cases", std::move(list)}});
}

}  // namespace diopi
