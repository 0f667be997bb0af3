#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

struct Scores {
    Shape shape, mask, strides;
};
const Scores kScores[] = {{{2, 3, 5, 33}, {2, 1, 5, 33}, {}},
                          {{1, 2, 9, 4}, {9, 1}, scattered({1, 2, 9, 4})},
                          {{2, 1, 3, 300}, {1, 1, 1, 300}, {}},
                          {{2, 40, 3, 70}, {2, 40, 3, 70}, {}},
                          {{1, 1, 4, 1}, {1}, {}}};

/// Whether key j of row r is hidden.
bool hides(const Scores& s, const Values& mask, bool behind, int64_t r, int64_t j) {
    const int64_t queries = s.shape[2], heads = s.shape[1];
    if (behind) return j > r % queries;
    const int64_t place[] = {r / queries / heads, r / queries % heads, r % queries, j};
    int64_t at = 0;
    for (size_t d = 0; d < s.mask.size(); ++d) {
        const size_t of = 4 - s.mask.size() + d;
        at = at * s.mask[d] + (s.mask[d] == 1 ? 0 : place[of]);
    }
    return mask[static_cast<size_t>(at)] != 0;
}

Values masked_softmax(const Scores& s, const Values& x, const Values& mask, double scale, bool behind) {
    const int64_t keys = s.shape[3];
    Values y(x.size());
    for (int64_t r = 0; r < numel(s.shape) / keys; ++r) {
        double most = -kInf, sum = 0;
        const auto at = [&](int64_t j) { return static_cast<size_t>(r * keys + j); };
        for (int64_t j = 0; j < keys; ++j) y[at(j)] = hides(s, mask, behind, r, j) ? -10'000 : scale * x[at(j)];
        for (int64_t j = 0; j < keys; ++j) most = std::max(most, y[at(j)]);
        for (int64_t j = 0; j < keys; ++j) sum += y[at(j)] = std::exp(y[at(j)] - most);
        for (int64_t j = 0; j < keys; ++j) y[at(j)] /= sum;
    }
    return y;
}

TensorPtr random_mask(const Shape& shape) {
    Values hidden = values(*random(shape, Dtype::float32, 9));
    for (double& x : hidden) x = x > 0.5 ? 1 : 0;
    return tensor(shape, Dtype::boolean, hidden);
}

}  // namespace

TEST_CASE("scaled masked softmax and its gradient, for every dtype, strides and mask", "[vectors]") {
    const Scores& s = kScores[GENERATE(range(size_t{0}, std::size(kScores)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool behind = GENERATE(false, true);
    constexpr double kScale = 0.75;
    const auto x = random(s.shape, dtype, 1, s.strides), y = unwritten(s.shape, dtype, s.strides);
    const auto g = random(s.shape, dtype, 2, s.strides), gx = unwritten(s.shape, dtype, s.strides);
    const auto mask = random_mask(s.mask);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiScaledMaskedSoftmax(&ctx, y.get(), x.get(), mask.get(), kScale, behind) == diopiSuccess);
    check_close(*y, masked_softmax(s, values(*x), values(*mask), kScale, behind));
    REQUIRE(cpu::diopiScaledMaskedSoftmaxBackward(&ctx, gx.get(), g.get(), y.get(), mask.get(), kScale, behind) ==
            diopiSuccess);
    const Values ys = values(*y), gs = values(*g), hidden = values(*mask);
    Values wanted(ys.size());
    const int64_t keys = s.shape[3];
    for (int64_t r = 0; r < numel(s.shape) / keys; ++r) {
        double sum = 0;
        const auto at = [&](int64_t j) { return static_cast<size_t>(r * keys + j); };
        for (int64_t j = 0; j < keys; ++j) sum += gs[at(j)] * ys[at(j)];
        for (int64_t j = 0; j < keys; ++j) {
            wanted[at(j)] = hides(s, hidden, behind, r, j) ? 0 : kScale * ys[at(j)] * (gs[at(j)] - sum);
        }
    }
    check_close(*gx, wanted);
}

TEST_CASE("a row whose keys are all hidden has the same share of each, and no gradient", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const Shape shape = {1, 1, 2, 64};
    const auto x = random(shape, dtype, 1), y = unwritten(shape, dtype), mask = tensor({1}, Dtype::boolean, {1});
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiScaledMaskedSoftmax(&ctx, y.get(), x.get(), mask.get(), 3, false) == diopiSuccess);
    CHECK(values(*y) == Values(128, 1.0 / 64));
    REQUIRE(cpu::diopiScaledMaskedSoftmaxBackward(&ctx, x.get(), x.get(), y.get(), mask.get(), 3, false) ==
            diopiSuccess);
    CHECK(values(*x) == Values(128, 0));
}

TEST_CASE("what scaled masked softmax refuses", "[vectors]") {
    diopiContext ctx(cpu_device());
    const auto flat = unwritten({3, 4}, Dtype::float32), x = unwritten({1, 2, 3, 4}, Dtype::float32);
    const auto bytes = unwritten({1}, Dtype::uint8), mask = tensor({3}, Dtype::boolean, {0, 0, 0});
    const auto one = tensor({1}, Dtype::boolean, {0});
    const auto run = [&](const TensorPtr& scores, const TensorPtr& hidden) {
        return cpu::diopiScaledMaskedSoftmax(&ctx, x.get(), scores.get(), hidden.get(), 1, false);
    };
    CHECK(run(flat, one) == diopiErrorOccurred);
    CHECK(last_error() == "diopiScaledMaskedSoftmax: input has shape (3, 4), wanted (batch, heads, seq_q, seq_k)");
    CHECK(run(x, bytes) == diopiDtypeNotSupported);
    CHECK(last_error() == "diopiScaledMaskedSoftmax: mask is uint8, wanted bool");
    CHECK(run(x, mask) == diopiErrorOccurred);
    CHECK(last_error() == "diopiScaledMaskedSoftmax: mask has shape (3,), wanted one that broadcasts to (1, 2, 3, 4)");
}
