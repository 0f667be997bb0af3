#include "conformance/bad_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cases/plan.hpp"
#include "hard/hard_cases.hpp"
#include "step/bad_call.hpp"

namespace diopi {

std::vector<Case> bad_calls(std::string_view op) {
    std::vector<Case> cases;
    for (Case& plain : plain_cases(op)) {
        plain.suite = kBadSuite;
        plain.group.clear();
        auto steps = CaseSteps::create(plain, 0, nullptr);
        if (!steps.ok()) continue;
        for (const std::string& name : (*steps)->names()) {
            const auto step = (*steps)->plan(name);
            if (!step.ok()) continue;
            for (BadCall& bad : bad_calls_of(*step, hints_of(plain))) {
                Case& made = cases.emplace_back(plain);
                made.index = static_cast<int64_t>(cases.size()) - 1;
                made.choices = {{"bad call", bad.text()}};
                made.bad = std::move(bad);
            }
        }
    }
    return cases;
}

Result<Case> find_bad_call(std::string_view id) {
    const std::string prefix = std::string(kBadSuite) + "/";
    const size_t point = id.rfind('.');
    if (id.starts_with(prefix) && point != std::string_view::npos) {
        const std::string op(id.substr(prefix.size(), point - prefix.size()));
        if (rows_of(op).empty()) return unknown_operator(op);
        for (Case& each : bad_calls(op)) {
            if (each.id() == id) return std::move(each);
        }
    }
    return bad_input(fmt::format("there is no bad call '{}': expected bad/<operator>.<number>, such as bad/add.3", id));
}

}  // namespace diopi
