#include "excuses.hpp"

#include <algorithm>

namespace diopi::mutation {

namespace {

bool is_loose(const Row& row) {
    return row.accuracy == AccuracyClass::C || row.accuracy == AccuracyClass::D || row.accuracy == AccuracyClass::E;
}

bool makes_results(const Row& row) { return row.makes_results(); }

constexpr Excuse kExcuses[] = {
    {"leak", "functions that make results", makes_results, "what they make rightly outlives the call"},
    {"truncation", "classes C, D and E", is_loose,
     "the error is below one ulp of the result, and classes C and D allow one ulp and more, class E what a careful "
     "float32 computation is off"},
};

}  // namespace

std::span<const Excuse> excuses() { return kExcuses; }

const Excuse* find_excuse(std::string_view fault, const Row& row) {
    const auto found =
        std::ranges::find_if(kExcuses, [&](const Excuse& x) { return x.fault == fault && x.covers(row); });
    return found == std::end(kExcuses) ? nullptr : &*found;
}

}  // namespace diopi::mutation
