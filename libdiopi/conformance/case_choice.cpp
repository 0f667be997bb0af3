#include "conformance/case_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <thread>

#include "cases/plan.hpp"
#include "conformance/bad_calls.hpp"
#include "core/glob.hpp"
#include "hard/hard_cases.hpp"

namespace diopi {

namespace {

Status check_plans(const std::vector<Case>& cases, const Catalogue& catalogue, const CaseChoice& choice,
                   const Backend& backend) {
    for (const Case& c : cases) {
        if (c.suite == kHardSuite || c.suite == kBadSuite) continue;
        Status s = backend.implements(c.op) ? plan(c) : Status();
        if (!choice.files.empty() && rows_of(c.op).empty()) s = unknown_operator(c.op);
        if (!s.ok()) return bad_input(catalogue.place_of(c) + ": case " + c.id() + ": " + s.message());
    }
    return {};
}

bool is_of(std::string_view suite, const std::string& id) { return id.starts_with(std::string(suite) + "/"); }

bool is_generated(const std::string& id) { return is_of(kHardSuite, id) || is_of(kBadSuite, id); }

Result<Case> generate(const std::string& id) { return is_of(kBadSuite, id) ? find_bad_call(id) : find_hard_case(id); }

/// Whether the choice may name the generated case.
Status check_generated(const std::string& id, CaseChoice::Generated allowed) {
    using Generated = CaseChoice::Generated;
    if (allowed == Generated::kNone) return bad_input(id + ": a generated case has no stored baseline");
    return is_of(kBadSuite, id) && allowed != Generated::kAll ? bad_input(id + ": only diopi test makes bad calls")
                                                              : Status();
}

/// The files that contain the cases with these ids.
CaseSelection selection_of(const std::vector<std::string>& ids, const std::vector<std::string>& files) {
    CaseSelection selection;
    selection.ops = false;
    selection.files = files;
    for (const std::string& id : ids) {
        if (is_generated(id)) continue;
        const CaseSelection one = CaseSelection::for_id(id);
        const bool from_files = one.ops && !files.empty();
        selection.ops = selection.ops || (one.ops && !from_files);
        for (const std::string& model : one.models) {
            if (std::ranges::find(selection.models, model) == selection.models.end()) selection.models.push_back(model);
        }
    }
    return selection;
}

/// The most hard cases of an operator at a level from 2 on.
size_t most_hard_cases(int level) { return level == 2 ? 400 : std::numeric_limits<size_t>::max(); }

/// The chosen operators of the backend, of which cases are generated; none beside a model and case files.
std::vector<std::string_view> operators_to_generate(const CaseChoice& choice, const Backend& backend) {
    std::vector<std::string_view> operators;
    if (!choice.model.empty() || !choice.files.empty()) return operators;
    for (const Row& row : rows()) {
        const bool is_new = std::ranges::find(operators, row.op) == operators.end();
        if (is_new && choice.ops.matches(row.op) && backend.implements(row.op)) operators.push_back(row.op);
    }
    return operators;
}

/// The generated cases of an operator.
std::vector<Case> generated_of(std::string_view op, const CaseChoice& choice) {
    std::vector<Case> cases = hard_cases(op, choice.seed, choice.level < 2 ? 0 : most_hard_cases(choice.level));
    if (choice.refusals) std::ranges::move(bad_calls(op), std::back_inserter(cases));
    return cases;
}

/// The named cases, each once. A glob selects from all cases of the catalogue and the generated ones.
class NamedCases {
 public:
    NamedCases(const CaseChoice& choice, const Catalogue& catalogue, const Backend* backend)
        : choice_(choice), catalogue_(catalogue), backend_(backend) {}

    Result<std::vector<Case>> find() {
        for (const std::string& item : choice_.ids.items()) {
            Status s = is_glob(item) ? add_matches(item) : add_one(item);
            if (!s.ok()) return s.error();
        }
        return std::move(cases_);
    }

 private:
    void add(Case c) {
        if (taken_.insert(c.id()).second) cases_.push_back(std::move(c));
    }

    Status add_one(const std::string& id) {
        if (is_generated(id)) {
            if (Status s = check_generated(id, choice_.generated); !s.ok()) return s;
        }
        auto found = is_generated(id) ? generate(id) : catalogue_.find(id);
        if (found.ok()) add(std::move(*found));
        return found.status();
    }

    Status add_matches(const std::string& glob) {
        bool is_known = false;
        const auto add_those_of = [&](const std::vector<Case>& cases) {
            for (const Case& c : cases) {
                if (!matches_glob(glob, c.id())) continue;
                is_known = true;
                add(c);
            }
        };
        add_those_of(of_files());
        if (backend_ != nullptr) {
            for (const std::string_view op : operators_to_generate(choice_, *backend_)) {
                const auto may_match = [&](std::string_view suite) {
                    return may_match_glob(glob, fmt::format("{}/{}.", suite, op));
                };
                if (may_match(kHardSuite) || may_match(kBadSuite)) add_those_of(generated(op));
            }
        }
        if (is_known) return {};
        const bool is_hard = is_generated(glob);
        return bad_input("no case is like '" + glob + "'" +
                         (is_hard ? "; the generated cases are those of --level and --seed" : ""));
    }

    const std::vector<Case>& of_files() {
        if (of_files_) return *of_files_;
        auto cases = catalogue_.cases_of();
        return of_files_.emplace(cases.ok() ? std::move(*cases) : std::vector<Case>());
    }

    const std::vector<Case>& generated(std::string_view op) {
        const auto [at, is_new] = generated_.try_emplace(op);
        if (is_new) at->second = generated_of(op, choice_);
        return at->second;
    }

    const CaseChoice& choice_;
    const Catalogue& catalogue_;
    const Backend* backend_;
    std::vector<Case> cases_;
    std::set<std::string> taken_;
    std::optional<std::vector<Case>> of_files_;
    std::map<std::string_view, std::vector<Case>> generated_;  ///< by operator
};

}  // namespace

bool is_operator(std::string_view name) {
    return std::ranges::any_of(rows(), [&](const Row& row) { return row.op == name; });
}

Status check_cases_folder(const std::string& folder) {
    if (std::filesystem::is_directory(folder)) return {};
    return bad_input("there is no folder of case files at " + folder + "; name one with --cases-dir");
}

Result<Catalogue> load_catalogue(const CaseChoice& choice) {
    if (Status s = check_cases_folder(choice.folder); !s.ok()) return s.error();
    CaseSelection selection;
    if (!choice.model.empty()) {
        selection.ops = false;
        if (choice.model == "all")
            selection.all_models = true;
        else
            selection.models = {choice.model};
    } else if (!choice.ids.empty()) {
        selection = selection_of(choice.ids.items(), choice.files);
    } else if (!choice.files.empty()) {
        selection.ops = false;
    }
    selection.files = choice.files;
    return Catalogue::load(choice.folder, selection);
}

namespace {

/// The cases of the chosen operators in the catalogue, and the generated ones. A name is known where either has it.
Result<std::vector<Case>> cases_of_operators(const CaseChoice& choice, const Catalogue& catalogue,
                                             const Backend* backend) {
    std::vector<Case> generated = backend == nullptr ? std::vector<Case>() : generated_cases(choice, *backend);
    std::vector<std::string> listed = catalogue.list_ops(), known = listed;
    std::ranges::transform(generated, std::back_inserter(known), &Case::op);
    Result<std::vector<Case>> cases = std::vector<Case>();
    if (choice.ops.unmatched(listed) == nullptr || choice.ops.unmatched(known) != nullptr) {
        cases = catalogue.cases_of(choice.ops);
    } else {
        std::erase_if(listed, [&](const std::string& op) { return !choice.ops.matches(op); });
        if (!listed.empty()) cases = catalogue.cases_of(*NameChoice::parse(listed));
    }
    if (cases.ok()) std::ranges::move(generated, std::back_inserter(*cases));
    return cases;
}

}  // namespace

Result<std::vector<Case>> select_cases(const CaseChoice& choice, const Catalogue& catalogue, const Backend* backend) {
    Result<std::vector<Case>> cases = std::vector<Case>();
    if (choice.ids.empty()) {
        cases = cases_of_operators(choice, catalogue, backend);
    } else {
        cases = NamedCases(choice, catalogue, backend).find();
        if (cases.ok()) std::erase_if(*cases, [&](const Case& c) { return !choice.ops.matches(c.op); });
    }
    if (!cases.ok()) return cases;
    std::erase_if(*cases, [&](const Case& c) { return !choice.expression.matches(c); });
    const bool is_limited = !choice.ids.empty() || !choice.expression.empty();
    if (cases->empty() && is_limited) return bad_input("no case is all that the options ask for; leave one out");
    return cases;
}

std::vector<Case> generated_cases(const CaseChoice& choice, const Backend& backend) {
    const std::vector<std::string_view> operators = operators_to_generate(choice, backend);
    std::vector<std::vector<Case>> of_operator(operators.size());
    std::atomic<size_t> next = 0;
    const auto generate = [&] {
        for (size_t i = next++; i < operators.size(); i = next++) of_operator[i] = generated_of(operators[i], choice);
    };
    // Workers are forked later, so no pool of threads may stay: OpenMP's would.
    const size_t processors = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::future<void>> helpers;
    try {
        while (helpers.size() + 1 < std::min(processors, operators.size())) {
            helpers.push_back(std::async(std::launch::async, generate));
        }
    } catch (const std::system_error&) {
        // No more threads may begin: those that did make all cases.
    }
    generate();
    for (std::future<void>& helper : helpers) helper.get();
    std::vector<Case> cases;
    for (std::vector<Case>& generated : of_operator) std::ranges::move(generated, std::back_inserter(cases));
    return cases;
}

std::map<std::string, std::string> operators_without_hard_cases(const std::vector<Case>& cases) {
    std::map<std::string, std::string> reasons;
    for (const Case& c : cases) {
        if (!reasons.contains(c.op)) reasons[c.op] = why_no_hard_cases(c.op);
    }
    std::erase_if(reasons, [](const auto& each) { return each.second.empty(); });
    return reasons;
}

Result<std::vector<Case>> choose_cases(const CaseChoice& choice, const Backend& backend) {
    auto catalogue = load_catalogue(choice);
    if (!catalogue.ok()) return catalogue.error();
    auto cases = select_cases(choice, *catalogue, &backend);
    if (!cases.ok()) return cases;
    if (Status s = check_plans(*cases, *catalogue, choice, backend); !s.ok()) return s.error();
    return cases;
}

Result<std::vector<Case>> choose_cases_in_order(const CaseChoice& choice, const std::vector<std::string>& ids,
                                                const Backend& backend) {
    if (!choice.ids.empty() || !choice.ops.empty() || !choice.model.empty() || !choice.expression.empty()) {
        return bad_input("--in-order names its cases itself: leave out --case, --fname, -k and --model");
    }
    auto catalogue = Catalogue::load(choice.folder, selection_of(ids, choice.files));
    if (!catalogue.ok()) return catalogue.error();
    std::vector<Case> cases;
    for (const std::string& id : ids) {
        auto found = is_generated(id) ? generate(id) : catalogue->find(id);
        if (!found.ok()) return found.error();
        cases.push_back(std::move(*found));
    }
    if (Status s = check_plans(cases, *catalogue, choice, backend); !s.ok()) return s.error();
    return cases;
}

}  // namespace diopi
