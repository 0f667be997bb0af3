#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

struct Rotated {
    Shape shape, angles, strides;
};
const Rotated kRotated[] = {{{2, 5, 3, 64}, {5, 1, 32}, {}},      {{3, 7, 34}, {7, 17}, scattered({3, 7, 34})},
                            {{2, 4, 2, 6}, {2, 1, 2, 3}, {}},     {{130}, {65}, {}},
                            {{2, 300, 2, 2}, {1, 300, 1, 1}, {}}, {{3, 2}, {3, 1}, {}}};

/// By the formula, pair by pair.
Values rotated(const Rotated& r, const Values& x, const Values& cos, const Values& sin, bool conj, bool interleaved) {
    Shape pairs = r.shape;
    const int64_t half = pairs.back() /= 2, second = interleaved ? 1 : half;
    Values out(x.size());
    for (int64_t p = 0; p < numel(pairs); ++p) {
        int64_t rest = p, angle = 0, step = 1;
        for (size_t d = 0; d < pairs.size(); ++d) {
            const size_t from_back = pairs.size() - 1 - d;
            const int64_t place = rest % pairs[from_back];
            rest /= pairs[from_back];
            if (d >= r.angles.size()) continue;
            const int64_t size = r.angles[r.angles.size() - 1 - d];
            angle += (size == 1 ? 0 : place) * step;
            step *= size;
        }
        const auto a = static_cast<size_t>(p / half * 2 * half + p % half * (interleaved ? 2 : 1));
        const size_t b = a + static_cast<size_t>(second);
        const double c = cos[static_cast<size_t>(angle)], s = (conj ? -1 : 1) * sin[static_cast<size_t>(angle)];
        out[a] = x[a] * c - x[b] * s;
        out[b] = x[a] * s + x[b] * c;
    }
    return out;
}

}  // namespace

TEST_CASE("rotary embeddings rotate each pair, for every dtype, strides and angles", "[vectors]") {
    const Rotated& r = kRotated[GENERATE(range(size_t{0}, std::size(kRotated)))];
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool conj = GENERATE(false, true), interleaved = GENERATE(false, true);
    const auto x = random(r.shape, dtype, 1, r.strides), y = unwritten(r.shape, dtype, r.strides);
    const auto cos = random(r.angles, dtype, 2), sin = random(r.angles, dtype, 3);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiRotaryEmbedding(&ctx, y.get(), x.get(), cos.get(), sin.get(), conj, interleaved) == diopiSuccess);
    const Values wanted = rotated(r, values(*x), values(*cos), values(*sin), conj, interleaved);
    check_close(*y, wanted);
    REQUIRE(cpu::diopiRotaryEmbedding(&ctx, x.get(), x.get(), cos.get(), sin.get(), conj, interleaved) == diopiSuccess);
    check_close(*x, wanted);
}

TEST_CASE("rotary embeddings of heads change query and key in place", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool apart = GENERATE(false, true);
    constexpr int64_t kDim = 34, kTokens = 5;
    const Shape shape = apart ? Shape{kTokens, 3, kDim} : Shape{kTokens, 3 * kDim};
    const auto query = random(shape, dtype, 1), key = random({kTokens, kDim}, dtype, 2, {2 * kDim, 2});
    const auto cos = random({kTokens, 1, kDim}, dtype, 3), sin = random({kTokens, 1, kDim}, dtype, 4);
    const Values c = values(*cos), s = values(*sin);
    const auto wanted = [&](const Values& x, size_t heads) {
        Values out(x.size());
        constexpr size_t kHalf = kDim / 2;
        for (size_t i = 0; i < x.size(); ++i) {
            const size_t angle = i / (heads * kDim) * kDim + i % kDim;
            const double partner = i % kDim < kHalf ? -x[i + kHalf] : x[i - kHalf];
            out[i] = x[i] * c[angle] + partner * s[angle];
        }
        return out;
    };
    const Values wanted_query = wanted(values(*query), 3), wanted_key = wanted(values(*key), 1);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiRotaryEmbeddingV2(&ctx, query.get(), key.get(), cos.get(), sin.get(), kDim) == diopiSuccess);
    check_close(*query, wanted_query);
    check_close(*key, wanted_key);
}

TEST_CASE("rotary embeddings of nothing, and what they refuse", "[vectors]") {
    diopiContext ctx(cpu_device());
    const auto none = unwritten({0, 4}, Dtype::float32), no_angle = unwritten({0, 2}, Dtype::float32);
    CHECK(cpu::diopiRotaryEmbedding(&ctx, none.get(), none.get(), no_angle.get(), no_angle.get(), false, false) ==
          diopiSuccess);
    const auto x = unwritten({2, 4}, Dtype::float32), odd = unwritten({2, 3}, Dtype::float32);
    const auto cos = unwritten({2, 2}, Dtype::float32), one = unwritten({1}, Dtype::float32);
    const auto rotate = [&](const TensorPtr& from, const TensorPtr& c, const TensorPtr& s) {
        return cpu::diopiRotaryEmbedding(&ctx, from.get(), from.get(), c.get(), s.get(), false, false);
    };
    CHECK(rotate(odd, cos, cos) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRotaryEmbedding: x has shape (2, 3), wanted an even last size, of pairs");
    CHECK(rotate(x, one, one) == diopiErrorOccurred);
    CHECK(last_error() ==
          "diopiRotaryEmbedding: cos has shape (1,), wanted one that ends in 2 and broadcasts to (2, 2)");
    CHECK(rotate(x, cos, one) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRotaryEmbedding: sin has shape (1,), wanted (2, 2)");
    const auto angles = unwritten({2, 1, 4}, Dtype::float32);
    const auto rotate_heads = [&](const TensorPtr& key, int64_t dim) {
        return cpu::diopiRotaryEmbeddingV2(&ctx, x.get(), key.get(), angles.get(), angles.get(), dim);
    };
    CHECK(rotate_heads(x, 3) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRotaryEmbeddingV2: dim is 3, wanted an even number above 0");
    CHECK(rotate_heads(odd, 4) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRotaryEmbeddingV2: key has shape (2, 3), wanted (2, heads * 4) or (2, heads, 4)");
    CHECK(rotate_heads(x, 2) == diopiErrorOccurred);
    CHECK(last_error() == "diopiRotaryEmbeddingV2: cos has shape (2, 1, 4), wanted (2, 1, 2)");
}
