#include "candidates.hpp"

#include <algorithm>
#include <map>

#include "cases/bind.hpp"
#include "cases/catalogue.hpp"
#include "cases/variant.hpp"
#include "conformance/cost.hpp"
#include "hard/hard_cases.hpp"
#include "step/case_run.hpp"

namespace diopi::mutation {

namespace {

/// A run of a user, and its options as text.
struct RunKind {
    const char* options;
    VariantOptions variant;
    size_t most = SIZE_MAX;  ///< most cases of a function; each element of a wide tensor costs a page
    bool is_hard = false;    ///< hard cases instead of the standard's
};

const RunKind kRuns[] = {
    {"", {}},
    {"--strided", {.layout = {.strided = true}}},
    {"--fill special", {.fill = Fill::kSpecial}},
    {"--fill signed", {.fill = Fill::kRandn}},
    {"--fill exact", {.fill = Fill::kExact}},
    {"--empty", {.empty = true}},
    {"--zero-dim", {.zero_dim = true}},
    {"--four-bytes", {.four_bytes = true}},
    {"--nhwc", {.layout = {.nhwc = true}}},
    {"--wide", {.layout = {.wide = true}}, 2},
    {"--level 2", {}, SIZE_MAX, true},
};
/// The number of hard cases of each operator; `diopi test` has 400 of them at level 2.
constexpr size_t kHardCases = 100;

/// Faults beyond element 2^15 need a case that has it.
constexpr int64_t kLargeNumel = (int64_t{1} << 15) + 1;
/// Some other options make no difference, as dim 1 in the place of -1.
constexpr size_t kMostWithOtherOptions = 4;

struct Step {
    const char* name;
    const Row* row;
};

std::vector<Step> steps_of(const Case& c) {
    auto rows = rows_for(c);
    if (!rows.ok()) return {};
    std::vector<Step> steps = {{"forward", rows->forward != nullptr ? rows->forward : rows->inplace}};
    if (c.inplace && rows->inplace != nullptr) steps.push_back({"inplace", rows->inplace});
    if (c.backward && rows->backward != nullptr) steps.push_back({"backward", rows->backward});
    return steps;
}

/// The kind of a case: dtypes, ranks, dims of size 1, tails of tiles, missing arguments, present parameters.
std::string kind_of(const Case& c) {
    std::string kind = c.group;
    for (const CaseTensor& tensor : c.tensors) {
        kind += "/" + tensor.name + (tensor.absent ? "-" : "");
        for (const TensorSpec& spec : tensor.specs) {
            kind += name(spec.dtype);
            for (const int64_t size : spec.shape) kind += size == 1 ? '1' : 'n';
            // Whether tiles of 8 and 16 have a tail.
            const int64_t n = numel(spec.shape);
            kind += n > 16 && n % 8 != 0 ? "t" : "";
        }
    }
    for (const auto& [name, param] : c.params) kind += "/" + name;
    return kind;
}

int64_t largest_numel(const Case& c) {
    int64_t largest = 0;
    for (const CaseTensor& tensor : c.tensors) {
        for (const TensorSpec& spec : tensor.specs) largest = std::max(largest, numel(spec.shape));
    }
    return largest;
}

/// Whether a tensor has two dims or more that a number can tell apart.
bool has_matrix(const Case& c) {
    const auto is_long = [](int64_t size) { return size > 1; };
    const auto is_matrix = [&](const TensorSpec& spec) { return std::ranges::count_if(spec.shape, is_long) > 1; };
    return std::ranges::any_of(c.tensors,
                               [&](const CaseTensor& tensor) { return std::ranges::any_of(tensor.specs, is_matrix); });
}

/// Whether a fault may need the case: one of many elements, or one with a call with other options that is judged.
bool is_special(const Candidate& x) {
    if (x.options.empty()) return largest_numel(x.c) >= kLargeNumel;
    return !x.c.other_params.empty() && rules_for(x.c, {}).other_options && has_matrix(x.c);
}

/// Chooses from candidates in the order of their cost: some special ones, then the first of each kind, then the second
/// of each, up to `most`.
std::vector<Candidate> chosen(std::vector<Candidate> all, size_t most, int64_t largest_cost) {
    const size_t most_special = !all.empty() && all.front().options.empty() ? 1 : kMostWithOtherOptions;
    std::ranges::stable_sort(all, {}, &Candidate::cost);
    std::map<std::string, int64_t> seen;
    std::vector<std::pair<int64_t, size_t>> order;
    size_t special = 0;
    for (size_t i = 0; i < all.size(); ++i) {
        if (special < most_special && is_special(all[i])) {
            order.emplace_back(-1, i);
            ++special;
            continue;
        }
        // Empty cases can only show crashes.
        const bool late = largest_numel(all[i].c) == 0;
        if (all[i].cost > largest_cost && !order.empty()) continue;
        order.emplace_back(seen[kind_of(all[i].c)]++ + (late ? 100 : 0), i);
    }
    std::ranges::stable_sort(order);
    if (order.size() > most) order.resize(most);
    std::ranges::sort(order, {}, &std::pair<int64_t, size_t>::second);
    std::vector<Candidate> out;
    for (const auto& [rank, i] : order) out.push_back(std::move(all[i]));
    return out;
}

Candidate candidate(const Case& c, const Step& step, const char* options, const Backend& backend) {
    Candidate made{step.row, step.name, c, options, 0};
    for (const char* other : {"forward", "inplace", "backward"}) {
        if (other != std::string_view(step.name)) made.c.skipped_steps.push_back({other, "another function's"});
    }
    made.cost = cost_of(c, backend);
    return made;
}

}  // namespace

Result<std::vector<Candidate>> find_candidates(const std::string& cases_folder, const CandidateOptions& options) {
    auto catalogue = Catalogue::load(cases_folder, {});
    if (!catalogue.ok()) return catalogue.error();
    auto backend = find_backend("cpu");
    if (!backend.ok()) return backend.error();
    const std::vector<std::string> listed = catalogue->list_ops();
    const std::vector<std::string>& ops = options.ops.empty() ? listed : options.ops;
    std::vector<Candidate> all;
    for (const std::string& op : ops) {
        const std::vector<Case> hard = hard_cases(op, 0, kHardCases);
        // Some operators have no cases but these.
        const bool is_listed = std::ranges::find(listed, op) != listed.end();
        auto cases = is_listed || hard.empty() ? catalogue->cases_of(NameChoice(op)) : std::vector<Case>();
        if (!cases.ok()) return cases.error();
        std::map<size_t, std::vector<Candidate>> of_row;
        for (const RunKind& run : kRuns) {
            std::map<size_t, std::vector<Candidate>> found;
            for (const Case& c : run.is_hard ? hard : *cases) {
                if (!(*backend)->implements(c.op)) continue;
                auto varied = vary(c, run.variant);
                if (!varied.ok()) return varied.error();
                if (!varied->skip_reason.empty()) continue;
                for (const Step& step : steps_of(varied->changed)) {
                    if (!(*backend)->implements(*step.row)) continue;
                    found[step.row->index()].push_back(candidate(varied->changed, step, run.options, **backend));
                }
            }
            for (auto& [row, list] : found) {
                const size_t most = std::min(run.most, *run.options == '\0' ? options.plain : options.varied);
                for (Candidate& x : chosen(std::move(list), most, options.largest_cost)) {
                    of_row[row].push_back(std::move(x));
                }
            }
        }
        for (auto& [row, list] : of_row) {
            for (Candidate& x : list) all.push_back(std::move(x));
        }
    }
    return all;
}

}  // namespace diopi::mutation
