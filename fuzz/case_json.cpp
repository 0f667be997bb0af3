#include "cases/bind.hpp"
#include "cases/catalogue.hpp"
#include "fuzz/targets.hpp"

namespace diopi::fuzz {

namespace {

constexpr int64_t kMostCases = 256;

/// The steps of a run before anything is computed.
bool plan(const Case& c) {
    const auto rows = rows_for(c);
    if (!rows.ok()) return false;
    bool planned = false;
    for (const Row* row : {rows->forward, rows->inplace}) {
        if (row == nullptr || row->rule == ShapeRule::unknown) continue;
        auto call = bind_call(*row, c, shape_tensors(c));
        planned |= call.ok() && infer(*call, hints_of(c)).ok();
    }
    return planned;
}

}  // namespace

/// A case file: it is read, expanded if its groups are small, and planned.
bool case_json(std::string_view bytes) {
    const auto groups = parse_case_file(bytes, "fuzz.json");
    if (!groups.ok()) return false;
    bool any = false;
    for (const CaseGroup& group : *groups) {
        if (count(group).total > kMostCases) continue;
        for (const Case& c : expand(group)) any |= plan(c);
    }
    return any;
}

}  // namespace diopi::fuzz
