#include "report/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cases/catalogue.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

void add_libraries(Listing& listing, const std::vector<const Backend*>& libraries) {
    for (const Backend* library : libraries) listing.columns.push_back({std::string(library->name())});
}

/// The number of cases of each operator in the standard's files.
Result<std::map<std::string, int64_t>> cases_by_operator(const std::string& folder) {
    auto catalogue = Catalogue::load(folder);
    if (!catalogue.ok()) return catalogue.error();
    std::map<std::string, int64_t> cases;
    for (const CaseGroup& group : catalogue->groups()) {
        for (const std::string& op : group.ops) cases[op] += group.cases_per_op();
    }
    return cases;
}

}  // namespace

std::vector<const Backend*> libraries_with(const Backend* impl) {
    std::vector<const Backend*> all(backends().begin(), backends().end());
    std::erase_if(all, [](const Backend* b) { return b->is_tf32(); });
    if (std::ranges::find(all, impl) == all.end()) all.push_back(impl);
    return all;
}

Result<Listing> operators_listing(const Inquiry& inquiry) {
    auto cases = cases_by_operator(inquiry.folder);
    if (!cases.ok()) return cases.error();
    Listing listing{{{"operator"},
                     {"family", Align::kLeft, 0, true},
                     {"functions", Align::kRight, 0, true},
                     {"cases", Align::kRight}},
                    {}};
    add_libraries(listing, inquiry.libraries);
    std::set<std::string_view> known;
    for (const Row& row : rows()) {
        const bool is_chosen = inquiry.names.matches(row.op) && inquiry.shows(inquiry.impl->implements(row.op));
        if (!is_chosen || !known.insert(row.op).second) continue;
        const auto functions = rows_of(row.op);
        std::vector<std::string> cells = {std::string(row.op), std::string(name(row.family)),
                                          std::to_string(functions.size()),
                                          std::to_string((*cases)[std::string(row.op)])};
        for (const Backend* library : inquiry.libraries) {
            const auto there = std::ranges::count_if(functions, [&](const Row* r) { return library->implements(*r); });
            cells.push_back(there == 0 ? "." : fmt::format("{} of {}", there, functions.size()));
        }
        listing.rows.push_back(std::move(cells));
    }
    std::ranges::sort(listing.rows);
    return listing;
}

Result<Listing> functions_listing(const Inquiry& inquiry) {
    Listing listing{{{"function"}, {"operator", Align::kLeft, 0, true}, {"step"}, {"family", Align::kLeft, 0, true}},
                    {}};
    add_libraries(listing, inquiry.libraries);
    for (const Row& row : rows()) {
        const bool is_named = inquiry.names.matches(row.function) || inquiry.names.matches(row.op);
        if (!is_named || !inquiry.shows(inquiry.impl->implements(row))) continue;
        std::vector<std::string> cells = {std::string(row.function), std::string(row.op),
                                          std::string(name(row.variant)), std::string(name(row.family))};
        for (const Backend* library : inquiry.libraries) cells.emplace_back(library->implements(row) ? "yes" : ".");
        listing.rows.push_back(std::move(cells));
    }
    return listing;
}

Result<Listing> models_listing(const Inquiry& inquiry) {
    Listing listing{{{"model"}, {"operators", Align::kRight}, {"cases", Align::kRight}}, {}};
    for (const std::string& model : list_models(inquiry.folder)) {
        if (!inquiry.names.matches(model)) continue;
        CaseSelection selection;
        selection.ops = false;
        selection.models = {model};
        auto catalogue = Catalogue::load(inquiry.folder, selection);
        if (!catalogue.ok()) return catalogue.error();
        CaseCounts counts;
        for (const CaseGroup& group : catalogue->groups()) counts += count(group);
        listing.rows.push_back({model, std::to_string(catalogue->list_ops().size()), std::to_string(counts.total)});
    }
    return listing;
}

Result<Listing> backends_listing(const Inquiry& inquiry) {
    Listing listing{{{"backend"}, {"functions", Align::kRight}, {"libraries"}}, {}};
    for (const Backend* library : inquiry.libraries) {
        if (!inquiry.names.matches(library->name())) continue;
        const auto there = std::ranges::count_if(rows(), [&](const Row& row) { return library->implements(row); });
        listing.rows.push_back({std::string(library->name()), std::to_string(there), library->description()});
    }
    return listing;
}

/// The ids of the standard's cases.
Result<Listing> cases_listing(const Inquiry& inquiry) {
    auto catalogue = Catalogue::load(inquiry.folder);
    if (!catalogue.ok()) return catalogue.error();
    auto cases = catalogue->cases_of();
    if (!cases.ok()) return cases.error();
    Listing listing{{{"case"}, {"dtype"}, {"operator"}}, {}};
    for (const Case& c : *cases) {
        const std::string id = c.id();
        const bool is_named = inquiry.names.matches(id) || inquiry.names.matches(c.op);
        if (is_named && inquiry.shows(inquiry.impl->implements(c.op))) {
            listing.rows.push_back({id, std::string(name(c.dtype())), c.op});
        }
    }
    return listing;
}

}  // namespace diopi
