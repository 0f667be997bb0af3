#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/generator.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

/// The tokens that top-p sampling draws up to p = 1, or top-k sampling of all tokens; logs: their log-probabilities.
Values tokens_of(const TensorPtr& logits, bool is_topk, const TensorPtr& logs) {
    const int64_t batch = logits->shape[0], vocab = logits->shape[1];
    std::vector<Generator> generators;
    for (int64_t i = 0; i < batch; ++i) generators.push_back({static_cast<uint64_t>(i) + 5, 8});
    std::vector<diopiGeneratorHandle_t> handles;
    for (Generator& each : generators) handles.push_back(&each);
    const TensorPtr ids = blank(Dtype::int64, {1, batch});
    const TensorPtr ks = generate(Dtype::int64, {batch}, [&](int64_t) { return static_cast<double>(vocab); });
    const TensorPtr ps = generate(Dtype::float32, {batch}, [](int64_t) { return 1.0; });
    int64_t size = 0, persistent = 0;
    const diopiError_t error =
        is_topk
            ? cpu::diopiTopKSampling(&context, ids.get(), logits.get(), nullptr, &size, 0, nullptr, nullptr, nullptr, 0,
                                     batch, vocab, ks.get(), ps.get(), nullptr, nullptr, logs.get(), handles.data())
            : cpu::diopiTopPSampling(&context, ids.get(), logits.get(), nullptr, &persistent, nullptr, &size, 0,
                                     nullptr, nullptr, nullptr, 0, batch, vocab, ps.get(), nullptr, nullptr, logs.get(),
                                     handles.data());
    REQUIRE(error == diopiSuccess);
    CHECK(generators[0].offset == 12);
    return values(ids);
}

}  // namespace

TEST_CASE("top-p sampling draws what top-k sampling of all tokens draws, however far it ranks them") {
    for (const int64_t vocab : {1, 63, 64, 65, 1'000}) {
        const TensorPtr logits =
            generate(Dtype::float16, {40, vocab}, [](int64_t i) { return static_cast<double>(i * 37 % 101) / 50; });
        const TensorPtr logs[] = {blank(Dtype::float32, {40}), blank(Dtype::float32, {40})};
        CHECK(same(tokens_of(logits, true, logs[0]), tokens_of(logits, false, logs[1])));
        CHECK(same(values(logs[0]), values(logs[1])));
    }
}

TEST_CASE("sampling asks for no workspace, and then draws nothing") {
    int64_t size = -1, persistent = 4;
    const TensorPtr ids = blank(Dtype::int64, {1, 2}), logits = blank(Dtype::float32, {2, 3}),
                    ps = blank(Dtype::float32, {2});
    const Values before = values(ids);
    REQUIRE(cpu::diopiTopPSampling(&context, ids.get(), logits.get(), nullptr, &persistent, nullptr, &size, 0, nullptr,
                                   nullptr, nullptr, 0, 2, 3, ps.get(), nullptr, nullptr, nullptr,
                                   nullptr) == diopiSuccess);
    CHECK(size == 0);
    CHECK(persistent == 0);
    CHECK(same(values(ids), before));
    CHECK(cpu::diopiTopPSampling(&context, ids.get(), logits.get(), nullptr, &persistent, nullptr, &size, 0, nullptr,
                                 nullptr, nullptr, 0, 2, 3, ps.get(), nullptr, nullptr, nullptr,
                                 nullptr) == diopiErrorOccurred);
    CHECK(last_error() == "diopiTopPSampling: generators lacks one for sequence 0");
}
