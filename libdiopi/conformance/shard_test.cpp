#include "conformance/shard.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <span>

#include "cases/catalogue.hpp"
#include "conformance/cost.hpp"

namespace diopi {

namespace {

using Catch::Matchers::Contains;

/// Ids and estimated costs of all operator cases on the cpu backend.
struct Catalogued {
    std::vector<std::string> ids;
    std::vector<int64_t> costs;
};

const Catalogued& operator_cases() {
    static const Catalogued all = [] {
        Catalogued made;
        const auto catalogue = Catalogue::load(DIOPI_SOURCE_DIR "/cases");
        const auto cases = catalogue->cases_of();
        for (const Case& c : *cases) {
            made.ids.push_back(c.id());
            made.costs.push_back(cost_of(c, **find_backend("cpu")));
        }
        return made;
    }();
    return all;
}

int64_t sum_of(const std::vector<size_t>& chosen, const std::vector<int64_t>& costs) {
    return std::accumulate(chosen.begin(), chosen.end(), int64_t{0}, [&](int64_t s, size_t i) { return s + costs[i]; });
}

Case case_number(int64_t index, Dtype dtype) {
    Case c;
    c.suite = "ops";
    c.group = "test";
    c.op = "add";
    c.index = index;
    for (const char* name : {"input", "other"}) {
        CaseTensor tensor;
        tensor.name = name;
        tensor.specs = {{{4, 33}, dtype, {}}};
        c.tensors.push_back(tensor);
    }
    return c;
}

SkipReason without(std::optional<Dtype> dtype = std::nullopt) {
    return [=](const Case& c) -> std::optional<std::string> {
        if (dtype && c.uses(*dtype)) return "unwanted";
        return std::nullopt;
    };
}

}  // namespace

TEST_CASE("a shard has the form K/N, with K from 1 to N", "[store][shard]") {
    CHECK(*parse_shard("2/4") == Shard{2, 4});
    CHECK(*parse_shard("1/1") == Shard{1, 1});
    CHECK(to_string(Shard{2, 4}) == "2/4");
    struct Wrong {
        const char* text;
        const char* message;
    };
    for (const auto& [text, message] :
         {Wrong{"0/4", "numbered from 1 to 4"}, Wrong{"5/4", "numbered from 1 to 4"},
          Wrong{"2", "'2' is no shard; write K/N"}, Wrong{"", "is no shard"}, Wrong{"a/4", "'a' is no whole number"},
          Wrong{"1/", "'' is no whole number"}, Wrong{"-1/4", "'-1' is no whole number"}, Wrong{"1/4x", "'4x'"},
          Wrong{" 1/4", "' 1'"}, Wrong{"1/0", "1 to 1000000 shards, not 0"}, Wrong{"1/99999999", "not 99999999"},
          Wrong{"1/2/3", "'2/3'"}, Wrong{"1/99999999999999999999", "is no whole number"}}) {
        INFO(text);
        const auto shard = parse_shard(text);
        REQUIRE_FALSE(shard.ok());
        CHECK_THAT(shard.error().message, Contains(message));
    }
}

TEST_CASE("shards are disjoint and their union is the whole run, in its order", "[run][shard]") {
    const auto& [ids, costs] = operator_cases();
    REQUIRE(ids.size() > 14000);
    for (const int64_t count : {1, 2, 3, 7}) {
        INFO(count);
        std::vector<size_t> all;
        for (int64_t number = 1; number <= count; ++number) {
            const std::vector<size_t> chosen = shard_of(ids, costs, {number, count});
            CHECK(std::ranges::is_sorted(chosen));
            all.insert(all.end(), chosen.begin(), chosen.end());
        }
        std::ranges::sort(all);
        std::vector<size_t> wanted(ids.size());
        std::iota(wanted.begin(), wanted.end(), size_t{0});
        CHECK(all == wanted);
    }
}

TEST_CASE("shards of the operator cases cost the same within 5%, unless one case alone costs more", "[run][shard]") {
    const auto& [ids, costs] = operator_cases();
    const auto whole = static_cast<double>(std::accumulate(costs.begin(), costs.end(), int64_t{0}));
    const auto longest = static_cast<double>(*std::ranges::max_element(costs));
    CHECK(longest < whole / 6);
    for (const int64_t count : {2, 4, 6, 8, 16}) {
        INFO(count);
        int64_t most = 0;
        for (int64_t number = 1; number <= count; ++number) {
            most = std::max(most, sum_of(shard_of(ids, costs, {number, count}), costs));
        }
        CHECK(static_cast<double>(most) < 1.05 * std::max(whole / static_cast<double>(count), longest));
    }
}

TEST_CASE("a shard depends on ids and costs, not on the order of the cases", "[run][shard]") {
    const auto& [ids, costs] = operator_cases();
    std::vector<std::string> turned(ids.rbegin(), ids.rend());
    std::vector<int64_t> turned_costs(costs.rbegin(), costs.rend());
    std::set<std::string> first, second;
    for (const size_t i : shard_of(ids, costs, {2, 5})) first.insert(ids[i]);
    for (const size_t i : shard_of(turned, turned_costs, {2, 5})) second.insert(turned[i]);
    CHECK(first == second);
}

TEST_CASE("the partition is the same on every machine", "[run][shard]") {
    const std::vector<std::string> ids = {"e", "d", "c", "b", "a", "f"};
    const std::vector<int64_t> costs = {1, 1, 5, 4, 3, 3};
    CHECK(shard_of(ids, costs, {1, 2}) == std::vector<size_t>{0, 2, 5});
    CHECK(shard_of(ids, costs, {2, 2}) == std::vector<size_t>{1, 3, 4});
    CHECK(shard_of(ids, costs, {9, 9}).empty());
}

TEST_CASE("a selection is identified by its ids and its filters", "[run][shard]") {
    const std::vector<Case> cases = {case_number(0, Dtype::float32), case_number(1, Dtype::float64)};
    const Selection all = describe_selection(cases, without());
    CHECK(all.cases == 2);
    CHECK(all.checksum.size() == 16);
    CHECK(all.checksum != describe_selection({cases[0]}, without()).checksum);
    CHECK(all.checksum != describe_selection(cases, without(Dtype::float64)).checksum);
    CHECK(all.checksum == describe_selection(cases, without(Dtype::int8)).checksum);
}

TEST_CASE("filtered cases cost nothing", "[run][shard]") {
    std::vector<Case> cases;
    for (int64_t i = 0; i < 8; ++i) cases.push_back(case_number(i, i < 4 ? Dtype::float32 : Dtype::float64));
    for (const int64_t number : {1, 2}) {
        std::vector<Case> kept = cases;
        keep_shard(kept, {number, 2}, **find_backend("cpu"), without(Dtype::float64));
        CHECK(kept.size() == 4);
        CHECK(std::ranges::count(kept, Dtype::float32, &Case::dtype) == 2);
    }
}

}  // namespace diopi
