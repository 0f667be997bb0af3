#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// A batch of sequences with one row of logits, and what a step makes of them.
struct Batch {
    int64_t size, vocab;
    TensorPtr logits, ids, finished, lengths, sums, logs;
    std::vector<Generator> generators;
    int64_t workspace = 0;

    Batch(int64_t batch, const Values& row)
        : size(batch),
          vocab(std::ssize(row)),
          ids(make({1, batch}, Dtype::int32)),
          finished(tensor({batch}, Values(static_cast<size_t>(batch), 0), Dtype::boolean)),
          lengths(tensor({batch}, Values(static_cast<size_t>(batch), 5), Dtype::int32)),
          sums(tensor({batch}, Values(static_cast<size_t>(batch), -1), Dtype::float32)),
          logs(make({batch}, Dtype::float32)) {
        Values all;
        for (int64_t i = 0; i < batch; ++i) {
            all.insert(all.end(), row.begin(), row.end());
            generators.push_back({static_cast<uint64_t>(i), 0});
        }
        logits = tensor({batch, vocab}, all);
    }

    diopiError_t sample(double k, double p, const TensorPtr& ends = nullptr, const TensorPtr& skips = nullptr) {
        std::vector<diopiGeneratorHandle_t> handles;
        for (Generator& each : generators) handles.push_back(&each);
        const TensorPtr ks = tensor({size}, Values(static_cast<size_t>(size), k), Dtype::int32),
                        ps = tensor({size}, Values(static_cast<size_t>(size), p), Dtype::float32);
        return reference::diopiTopKSampling(context(), ids.get(), logits.get(), nullptr, &workspace, 0, ends.get(),
                                            finished.get(), lengths.get(), 0, size, vocab, ks.get(), ps.get(),
                                            skips.get(), sums.get(), logs.get(), handles.data());
    }
    [[nodiscard]] double share_of(double token) const {
        const Values tokens = values_of(ids);
        return static_cast<double>(std::ranges::count(tokens, token)) / static_cast<double>(size);
    }
};

}  // namespace

TEST_CASE("sampling among all tokens up to p = 1 is the softmax", "[reference][sampling]") {
    const Values row = {0, 1, -1, 2};
    Batch batch(4'000, row);
    REQUIRE(batch.sample(4, 1) == diopiSuccess);
    double sum = 0;
    for (const double x : row) sum += std::exp(x);
    for (size_t t = 0; t < row.size(); ++t) {
        CHECK(std::fabs(batch.share_of(static_cast<double>(t)) - std::exp(row[t]) / sum) < 0.04);
    }
}

TEST_CASE("the most probable token is drawn with k = 1 and with p = 0, the first one of equals",
          "[reference][sampling]") {
    for (const auto& [k, p] : {std::pair{1.0, 1.0}, {4.0, 0.0}}) {
        Batch batch(20, {1, 3, kNaN, 3});
        REQUIRE(batch.sample(k, p) == diopiSuccess);
        CHECK(batch.share_of(1) == 1);
    }
}

TEST_CASE("the cut lies behind the token that crosses p", "[reference][sampling]") {
    Batch batch(2'000, {0, 0, 0, 0});
    REQUIRE(batch.sample(4, 0.65) == diopiSuccess);
    CHECK(std::fabs(batch.share_of(1) - 0.25 / 0.65) < 0.05);
    CHECK(std::fabs(batch.share_of(2) - 0.15 / 0.65) < 0.05);
    CHECK(batch.share_of(3) == 0);
}

TEST_CASE("equal infinities have equal probabilities", "[reference][sampling]") {
    for (const double logit : {kInf, -kInf}) {
        Batch batch(2'000, {-kInf, logit, logit});
        REQUIRE(batch.sample(3, 1) == diopiSuccess);
        CHECK(std::fabs(batch.share_of(2) - (logit > 0 ? 1. / 2 : 1. / 3)) < 0.05);
    }
}

TEST_CASE("what follows from a token: its end, the length and the log-probabilities", "[reference][sampling]") {
    Batch batch(3, {0, std::log(2.0), 0});
    batch.finished = tensor({3}, {0, 1, 0}, Dtype::boolean);
    REQUIRE(batch.sample(1, 1, tensor({3}, {1, 2, 0}, Dtype::int32), tensor({3}, {0, 0, 1}, Dtype::boolean)) ==
            diopiSuccess);
    CHECK(values_of(batch.ids) == Values{1, 2, -77});
    CHECK(values_of(batch.finished) == Values{1, 1, 0});
    CHECK(values_of(batch.lengths) == Values{6, 5, 5});
    check_close(batch.sums, {-1 + std::log(0.5), -1, -1}, 1e-6);
    CHECK(values_of(batch.logs) == Values{0, 0, -77});
    CHECK(batch.generators[0].offset == 4);
    CHECK(batch.generators[1].offset == 0);
    CHECK(batch.generators[2].offset == 0);
}

TEST_CASE("sampling refuses k below 1 and p beyond 0 to 1", "[reference][sampling]") {
    Batch batch(2, {0, 1});
    CHECK(batch.sample(0, 1) == diopiErrorOccurred);
    CHECK(last_error() == "runtime_top_k holds 0, wanted 1 or more");
    CHECK(batch.sample(1, 1.5) == diopiErrorOccurred);
    CHECK(batch.sample(1, kNaN) == diopiErrorOccurred);
    CHECK(batch.sample(0, 2, nullptr, tensor({2}, {1, 1}, Dtype::boolean)) == diopiSuccess);
}

TEST_CASE("a negative k counts as 0", "[reference][sampling]") {
    const TensorPtr ks = tensor({2}, {-3, 7}, Dtype::int32), ps = tensor({2}, {0.5, 0}, Dtype::float32),
                    skips = make({2}, Dtype::boolean);
    REQUIRE(reference::diopiSetupTopkRuntimeArgsInp(context(), ks.get(), ps.get(), skips.get(), 2, 9, 2, 1, 2) ==
            diopiSuccess);
    CHECK(values_of(ks) == Values{0, 7});
    CHECK(values_of(ps) == Values{0.5, 1});
    CHECK(values_of(skips) == Values{1, 0});
}
