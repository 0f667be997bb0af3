// Attention within prompts: properties of the cpu kernels, and what they refuse.
#include <algorithm>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// Causal attention of rows [start, start + n) of one head, by plain loops.
void attend_plainly(const Values& q, const Values& k, const Values& v, int64_t start, int64_t n, int64_t d,
                    Values& out) {
    const auto at = [=](int64_t row, int64_t c) { return static_cast<size_t>(row * d + c); };
    for (int64_t i = start; i < start + n; ++i) {
        Values sums(static_cast<size_t>(d), 0);
        double total = 0;
        for (int64_t j = start; j <= i; ++j) {
            double score = 0;
            for (int64_t c = 0; c < d; ++c) score += q[at(i, c)] * k[at(j, c)];
            const double power = std::exp(score / std::sqrt(static_cast<double>(d)));
            total += power;
            for (int64_t c = 0; c < d; ++c) sums[static_cast<size_t>(c)] += power * v[at(j, c)];
        }
        for (int64_t c = 0; c < d; ++c) out[at(i, c)] = sums[static_cast<size_t>(c)] / total;
    }
}

TensorPtr context_of(const TensorPtr& q, const TensorPtr& k, const TensorPtr& v, const Values& starts,
                     const Values& lengths, int longest, diopiError_t wanted = diopiSuccess) {
    diopiContext ctx(cpu_device());
    const auto out = unwritten(q->shape, q->dtype);
    const auto batch = std::ssize(starts);
    const auto error = cpu::diopiContextAttentionInference(&ctx, out.get(), q.get(), k.get(), v.get(),
                                                           tensor({batch}, Dtype::int32, starts).get(),
                                                           tensor({batch}, Dtype::int32, lengths).get(), longest);
    INFO(last_error());
    REQUIRE(error == wanted);
    return out;
}

}  // namespace

TEST_CASE("context attention is causal attention by plain loops, whatever the order of the sequences") {
    const int64_t d = 3, total = 140;
    for (const Dtype dtype : kFloats) {
        const auto q = random({total, 1, d}, dtype, 1), k = random({total, 1, d}, dtype, 2);
        const auto v = random({total, 1, d}, dtype, 3);
        Values wanted(static_cast<size_t>(total * d), 0);
        attend_plainly(values(*q), values(*k), values(*v), 70, 65, d, wanted);
        attend_plainly(values(*q), values(*k), values(*v), 2, 67, d, wanted);
        // Rows 0, 1, 69 and from 135 on belong to no sequence: they become 0.
        check_close(*context_of(q, k, v, {70, 2, 0}, {65, 67, 0}, 67), wanted);
    }
}

TEST_CASE("later rows of a prompt have no influence, and the weights of each row sum to one") {
    const int64_t d = 4, n = 80;
    const auto q = random({n, 2, d}, Dtype::float32, 1), k = random({n, 2, d}, Dtype::float32, 2);
    Values v(static_cast<size_t>(n * 2 * d), 1);
    std::fill(v.begin() + 70 * 2 * d, v.end(), kNan);
    const auto out = context_of(q, k, tensor({n, 2, d}, Dtype::float32, v), {0}, {80}, 80);
    check_close(*out, v);
}

TEST_CASE("context attention refuses sequences that overlap, leave the tensor, or exceed max_input_len") {
    const auto x = random({6, 1, 2}, Dtype::float32, 1);
    context_of(x, x, x, {0, 3}, {4, 3}, 4, diopiErrorOccurred);
    CHECK(last_error() == "diopiContextAttentionInference: sequences 0 and 1 overlap");
    context_of(x, x, x, {0, 3}, {3, 4}, 4, diopiErrorOccurred);
    context_of(x, x, x, {-1}, {3}, 4, diopiErrorOccurred);
    context_of(x, x, x, {0}, {5}, 4, diopiErrorOccurred);
    CHECK(last_error() ==
          "diopiContextAttentionInference: sequence 0 has 5 tokens from 0 on, wanted at most max_input_len 4 among 6");
}

TEST_CASE("prompt attention with a causal mask is context attention, and heads of a group share a key head") {
    diopiContext ctx(cpu_device());
    const int64_t d = 5, n = 70;
    const auto q = random({n, 4 * d}, Dtype::float32, 1), k = random({n, 2 * d}, Dtype::float32, 2);
    const auto v = random({n, 2 * d}, Dtype::float32, 3), out = unwritten({n, 4 * d}, Dtype::float32);
    Values later(static_cast<size_t>(n * n), 0);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = i + 1; j < n; ++j) later[static_cast<size_t>(i * n + j)] = 1;
    }
    const auto mask = tensor({1, n, n}, Dtype::boolean, later);
    REQUIRE(cpu::diopiPromptFlashAttention(&ctx, out.get(), q.get(), k.get(), v.get(), mask.get(), list({n}), n, 4, 2,
                                           d) == diopiSuccess);
    // Each key head twice: then every query head has its own.
    const auto repeated = [&](const TensorPtr& keys) {
        Values twice;
        const Values once = values(*keys);
        for (int64_t row = 0; row < n; ++row) {
            for (int64_t h = 0; h < 4; ++h) {
                const auto first = once.begin() + (row * 2 + h / 2) * d;
                twice.insert(twice.end(), first, first + d);
            }
        }
        return tensor({n, 4, d}, Dtype::float32, twice);
    };
    const auto heads = tensor({n, 4, d}, Dtype::float32, values(*q));
    check_close(*out, values(*context_of(heads, repeated(k), repeated(v), {0}, {static_cast<double>(n)}, 70)));
}

TEST_CASE("a row of a prompt whose keys are all hidden is 0") {
    diopiContext ctx(cpu_device());
    const auto x = random({3, 2}, Dtype::float32, 1), out = unwritten({3, 2}, Dtype::float32);
    const auto ones = tensor({3, 2}, Dtype::float32, Values(6, 1));
    const auto mask = tensor({2, 2, 2}, Dtype::boolean, {1, 1, 0, 1, 0, 0, 0, 0});
    const auto attend = [&](const TensorPtr& hidden, const IntList& lengths) {
        return cpu::diopiPromptFlashAttention(&ctx, out.get(), x.get(), x.get(), ones.get(), hidden.get(),
                                              list(lengths), 2, 1, 1, 2);
    };
    REQUIRE(attend(mask, {2, 1}) == diopiSuccess);
    check_close(*out, {0, 0, 1, 1, 1, 1});
    CHECK(attend(mask, {2, 2}) == diopiErrorOccurred);
    CHECK(last_error() == "diopiPromptFlashAttention: query has shape (3, 2), wanted (4, 2)");
    CHECK(attend(mask, {0, 3}) == diopiErrorOccurred);
    CHECK(attend(x, {2, 1}) == diopiDtypeNotSupported);
}
