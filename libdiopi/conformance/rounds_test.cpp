#include "conformance/rounds.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// Read by all worker processes.
uint64_t* g_round = nullptr;

/// From the second round on zeros are negative, which the accuracy classes accept.
diopiError_t relu_with_other_zeros(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    using Unary = diopiError_t(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t);
    const AnyFunction good = (*find_backend("cpu"))->function(*find_row("diopiRelu"));
    const diopiError_t error = reinterpret_cast<Unary*>(good)(ctx, out, input);
    auto* values = out->data_as<float>();
    for (int64_t i = 0; *g_round > 0 && i < out->numel(); ++i) {
        if (values[i] == 0) values[i] = -0.0F;
    }
    return error;
}

/// Three rounds: the time ends with the third one, however long they take.
ConformanceRun rounds_of_relu(Replacements replacements) {
    void* shared = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    g_round = static_cast<uint64_t*>(shared);
    const auto folder = std::filesystem::temp_directory_path() / ("diopi_rounds_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    const FaultyBackend faulty(replacements);
    ConformanceOptions options;
    options.cases.backend = &faulty.backend();
    options.pool.memory_limit = 0;
    options.run_folder = folder.string();
    Rounds rounds;
    rounds.first = {make_case("relu", {case_tensor("input", {8})}), make_case("relu", {case_tensor("input", {9})})};
    rounds.first[1].index = 1;
    rounds.repeated = {rounds.first[1]};
    rounds.next = [&](uint64_t round) {
        Case made = rounds.first[0];
        made.index = static_cast<int64_t>(round) + 1;
        return std::vector<Case>{made};
    };
    rounds.seconds = 3600;
    const auto on_round = [&](uint64_t round, int64_t) {
        *g_round = round;
        if (round == 2) rounds.seconds = 0;
    };
    auto run = run_rounds(rounds, options, on_round, [](const CaseResult&, int64_t, int64_t) {});
    munmap(shared, sizeof(uint64_t));
    std::filesystem::remove_all(folder);
    REQUIRE(run.ok());
    return std::move(*run);
}

}  // namespace

TEST_CASE("rounds follow until the time is over, and repeat cases of the first") {
    const ConformanceRun run = rounds_of_relu({});
    REQUIRE(run.results.size() == 4);
    for (const CaseResult& result : run.results) CHECK(result.verdict == Verdict::kPassed);
}

TEST_CASE("a case whose bits change in a later round fails") {
    const ConformanceRun run = rounds_of_relu({{"diopiRelu", any_function(relu_with_other_zeros)}});
    REQUIRE(run.results.size() == 4);
    for (const CaseResult& result : run.results) {
        const bool is_repeated = result.case_id.ends_with(".1");
        INFO(result.case_id << ": " << result.reason);
        CHECK(result.verdict == (is_repeated ? Verdict::kFailed : Verdict::kPassed));
        if (is_repeated) CHECK(result.reason == "its results have other bits than in the first round");
    }
}
