#include "conformance/run_order.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

std::vector<size_t> arranged(const RunOrder& order, size_t count = 30) {
    std::vector<Case> cases;
    for (size_t i = 0; i < count; ++i) {
        cases.push_back(make_case("relu", {case_tensor("input", {static_cast<int64_t>(1000 * (i + 1))})}));
    }
    std::vector<size_t> items(count);
    std::iota(items.begin(), items.end(), size_t{0});
    arrange(items, cases, **find_backend("cpu"), order);
    return items;
}

}  // namespace

TEST_CASE("a run is in the order of cost, in the given order, or shuffled") {
    std::vector<size_t> given(30);
    std::iota(given.begin(), given.end(), size_t{0});
    CHECK(arranged({RunOrder::By::kGiven}) == given);
    CHECK(arranged({}) == std::vector<size_t>(given.rbegin(), given.rend()));
    CHECK(arranged({RunOrder::By::kQuick}) == given);

    std::vector<size_t> shuffled = arranged({RunOrder::By::kShuffle, 1});
    CHECK(shuffled != given);
    CHECK(shuffled == arranged({RunOrder::By::kShuffle, 1}));
    CHECK(shuffled != arranged({RunOrder::By::kShuffle, 2}));
    std::ranges::sort(shuffled);
    CHECK(shuffled == given);
}

TEST_CASE("every order is equally likely") {
    constexpr int kTimes = 6000;
    std::map<std::vector<size_t>, int> seen;
    for (uint64_t seed = 0; seed < kTimes; ++seed) ++seen[arranged({RunOrder::By::kShuffle, seed}, 3)];
    CHECK(seen.size() == 6);
    // Each order is expected 1000 times, standard deviation 29.
    for (const auto& [order, count] : seen) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("a worker keeps the memory that a case still to come may need") {
    constexpr int64_t kMiB = 1 << 20;
    const std::vector<int64_t> needs = {900 * kMiB, 100 * kMiB, 3000 * kMiB, 0, 700 * kMiB};
    const auto kept = kept_memory(
        {2, 1, 0, 4}, [&](size_t item) { return needs[item]; }, needs.size());
    CHECK(kept[2] == 3000 * kMiB);
    CHECK(kept[1] == 900 * kMiB);
    CHECK(kept[0] == 900 * kMiB);
    CHECK(kept[4] == 700 * kMiB);
    CHECK(kept_memory(
              {1}, [&](size_t item) { return needs[item]; }, 2)[1] == 512 * kMiB);
}
