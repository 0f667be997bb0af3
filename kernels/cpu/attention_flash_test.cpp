// Attention of whole sequences: properties of the cpu kernels, and gradients by differences.
#include <omp.h>

#include <algorithm>
#include <functional>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

struct Options {
    float scale = 0.5F;
    bool is_causal = false;
    int32_t left = -1, right = -1;
    TensorPtr slopes = nullptr;
};

struct Attended {
    TensorPtr out, lse;
};

/// q (batch, rows, heads, d) attends to k and v.
Attended attend(const TensorPtr& q, const TensorPtr& k, const TensorPtr& v, const Options& options = {}) {
    diopiContext ctx(cpu_device());
    const Attended made{unwritten(q->shape, q->dtype), unwritten({q->shape[0], q->shape[2], q->shape[1]}, q->dtype)};
    const diopiError_t error = cpu::diopiFlashAttention(&ctx, made.out.get(), made.lse.get(), nullptr, q.get(), k.get(),
                                                        v.get(), options.slopes.get(), 0, options.scale,
                                                        options.is_causal, options.left, options.right);
    INFO(last_error());
    REQUIRE(error == diopiSuccess);
    return made;
}

std::vector<TensorPtr> gradients(const TensorPtr& q, const TensorPtr& k, const TensorPtr& v, const TensorPtr& grad,
                                 const Options& options) {
    diopiContext ctx(cpu_device());
    const Attended a = attend(q, k, v, options);
    const std::vector<TensorPtr> made = {unwritten(q->shape, q->dtype), unwritten(k->shape, q->dtype),
                                         unwritten(v->shape, q->dtype)};
    REQUIRE(cpu::diopiFlashAttentionBackward(&ctx, made[0].get(), made[1].get(), made[2].get(), grad.get(), nullptr,
                                             q.get(), k.get(), v.get(), options.slopes.get(), a.out.get(), a.lse.get(),
                                             0, options.scale, options.is_causal, options.left,
                                             options.right) == diopiSuccess);
    return made;
}

/// Rows [first, last) of dim 1 of a tensor with one batch.
TensorPtr rows_of_batch(const TensorPtr& x, int64_t first, int64_t last) {
    const Values all = values(*x);
    const int64_t row = x->shape[2] * x->shape[3];
    return tensor({1, last - first, x->shape[2], x->shape[3]}, x->dtype,
                  Values(all.begin() + first * row, all.begin() + last * row));
}

/// More rows than a block of queries has, and more keys than a block of keys.
constexpr int64_t kQueries = 200, kSeveralKeys = 300;

}  // namespace

TEST_CASE("the shares of each row of attention sum to one", "[attention]") {
    for (const Dtype dtype : kFloats) {
        const auto q = random({1, kQueries, 4, 8}, dtype, 1), k = random({1, kSeveralKeys, 2, 8}, dtype, 2);
        const Values ones(static_cast<size_t>(kSeveralKeys * 2 * 8), 1);
        for (const bool is_causal : {false, true}) {
            const Attended a = attend(q, k, tensor({1, kSeveralKeys, 2, 8}, dtype, ones), {.is_causal = is_causal});
            check_close(*a.out, Values(static_cast<size_t>(kQueries * 4 * 8), 1));
        }
    }
}

TEST_CASE("a score that is larger in each block of keys replaces what the row has so far", "[attention]") {
    Values keys, numbers;
    for (int64_t j = 0; j < 3 * kSeveralKeys; ++j) {
        keys.push_back(static_cast<double>(j));
        numbers.push_back(static_cast<double>(j % 7));
    }
    const auto q = tensor({1, 1, 1, 1}, Dtype::float32, {8}),
               k = tensor({1, 3 * kSeveralKeys, 1, 1}, Dtype::float32, keys);
    const Attended a = attend(q, k, tensor({1, 3 * kSeveralKeys, 1, 1}, Dtype::float32, numbers));
    // Scores are 4 j: exp(-4) of the last key's share is that of the key before it.
    double sum = 0, total = 0;
    for (int64_t i = 0; i < 20; ++i) {
        total += std::exp(-4.0 * static_cast<double>(i));
        sum += std::exp(-4.0 * static_cast<double>(i)) * static_cast<double>((3 * kSeveralKeys - 1 - i) % 7);
    }
    check_close(*a.out, {sum / total});
    check_close(*a.lse, {4.0 * (3 * kSeveralKeys - 1) + std::log(total)});
}

TEST_CASE("causal attention does not depend on later keys", "[attention]") {
    const auto q = random({1, kSeveralKeys, 2, 8}, Dtype::float32, 1),
               k = random({1, kSeveralKeys, 2, 8}, Dtype::float32, 2);
    const auto v = random({1, kSeveralKeys, 2, 8}, Dtype::float32, 3);
    const auto with_nans = [](const TensorPtr& x) {
        Values all = values(*x);
        std::fill(all.begin() + 260 * 16, all.end(), kNan);
        return tensor(x->shape, x->dtype, all);
    };
    const Options causal{.is_causal = true};
    const auto whole = attend(q, k, v, causal), cut = attend(q, with_nans(k), with_nans(v), causal);
    check_close(*rows_of_batch(cut.out, 0, 260), values(*rows_of_batch(whole.out, 0, 260)));
    CHECK(std::isnan(values(*cut.out)[260 * 16]));
}

TEST_CASE("a window that is as wide as the sequence is none, and a narrow one hides the keys outside", "[attention]") {
    const auto q = random({1, kQueries, 2, 8}, Dtype::float32, 1), k = random({1, kQueries, 2, 8}, Dtype::float32, 2);
    const auto v = random({1, kQueries, 2, 8}, Dtype::float32, 3);
    CHECK((values(*attend(q, k, v, {.left = kQueries, .right = kQueries}).out) == values(*attend(q, k, v).out)));
    // Row 100 sees keys 98 to 101.
    const auto narrow = attend(q, k, v, {.left = 2, .right = 1});
    const auto four = attend(rows_of_batch(q, 100, 101), rows_of_batch(k, 98, 102), rows_of_batch(v, 98, 102));
    check_close(*rows_of_batch(narrow.out, 100, 101), values(*four.out));
}

TEST_CASE("a row without keys is 0 and has -infinity for its logarithm of sums", "[attention]") {
    const auto q = random({1, 3, 1, 4}, Dtype::float32, 1), k = random({1, 1, 1, 4}, Dtype::float32, 2);
    const Attended a = attend(q, k, k, {.is_causal = true});
    const Values out = values(*a.out), lse = values(*a.lse);
    CHECK(Values(out.begin(), out.begin() + 8) == Values(8, 0));
    CHECK(Values(out.begin() + 8, out.end()) == values(*k));
    CHECK(lse[0] == -kInf);
    CHECK(lse[1] == -kInf);
}

TEST_CASE("query heads of a group share a key head", "[attention]") {
    const auto q = random({1, kQueries, 6, 8}, Dtype::float32, 1),
               k = random({1, kSeveralKeys, 2, 8}, Dtype::float32, 2);
    const auto v = random({1, kSeveralKeys, 2, 8}, Dtype::float32, 3);
    const auto repeated = [](const TensorPtr& keys) {
        Values all;
        const Values once = values(*keys);
        for (int64_t j = 0; j < kSeveralKeys; ++j) {
            for (int64_t head = 0; head < 6; ++head) {
                const auto first = once.begin() + (j * 2 + head / 3) * 8;
                all.insert(all.end(), first, first + 8);
            }
        }
        return tensor({1, kSeveralKeys, 6, 8}, Dtype::float32, all);
    };
    CHECK((values(*attend(q, k, v).out) == values(*attend(q, repeated(k), repeated(v)).out)));
}

TEST_CASE("concatenated sequences are attended to one by one", "[attention]") {
    diopiContext ctx(cpu_device());
    const int64_t total = 275;
    const auto q = random({total, 2, 8}, Dtype::float32, 1), k = random({total, 2, 8}, Dtype::float32, 2);
    const auto v = random({total, 2, 8}, Dtype::float32, 3), out = unwritten({total, 2, 8}, Dtype::float32);
    const auto lse = unwritten({3, 2, 270}, Dtype::float32), ends = tensor({4}, Dtype::int32, {0, 5, 5, total});
    REQUIRE(cpu::diopiFlashAttentionVarLen(&ctx, out.get(), lse.get(), nullptr, q.get(), k.get(), v.get(), ends.get(),
                                           ends.get(), nullptr, 270, 270, 0, 0.5F, true, -1, -1) == diopiSuccess);
    const auto batched = [](const TensorPtr& x) { return tensor({1, total, 2, 8}, x->dtype, values(*x)); };
    const Options causal{.is_causal = true};
    Values wanted;
    for (const auto& [first, last] : {std::pair{0, 5}, std::pair{5, 275}}) {
        const auto part = values(*attend(rows_of_batch(batched(q), first, last), rows_of_batch(batched(k), first, last),
                                         rows_of_batch(batched(v), first, last), causal)
                                      .out);
        wanted.insert(wanted.end(), part.begin(), part.end());
    }
    CHECK((values(*out) == wanted));
}

TEST_CASE("the gradients of attention are those by differences", "[attention]") {
    const auto q = random({1, 5, 4, 3}, Dtype::float64, 1), k = random({1, 6, 2, 3}, Dtype::float64, 2);
    const auto v = random({1, 6, 2, 3}, Dtype::float64, 3), grad = random({1, 5, 4, 3}, Dtype::float64, 4);
    const auto slopes = tensor({4}, Dtype::float32, {0.5, 0.25, 0, 1});
    for (const Options& options : {Options{}, Options{.is_causal = true, .left = 3, .slopes = slopes}}) {
        const auto loss = [&](const std::vector<TensorPtr>& x) {
            const Values out = values(*attend(x[0], x[1], x[2], options).out), weights = values(*grad);
            double sum = 0;
            for (size_t i = 0; i < out.size(); ++i) sum += out[i] * weights[i];
            return sum;
        };
        const std::vector<TensorPtr> inputs = {q, k, v}, found = gradients(q, k, v, grad, options);
        for (size_t which = 0; which < inputs.size(); ++which) {
            const Values at = values(*inputs[which]), slope = values(*found[which]);
            for (size_t i = 0; i < at.size(); ++i) {
                std::vector<TensorPtr> moved = inputs;
                const auto loss_at = [&](double step) {
                    Values there = at;
                    there[i] += step;
                    moved[which] = tensor(inputs[which]->shape, Dtype::float64, there);
                    return loss(moved);
                };
                constexpr double kStep = 0x1p-17;
                CHECK(slope[i] == Approx((loss_at(kStep) - loss_at(-kStep)) / (2 * kStep)).margin(1e-7));
            }
        }
    }
}

TEST_CASE("attention and its gradients have the same bits for any number of threads", "[attention]") {
    const auto q = random({2, kQueries, 4, 8}, Dtype::float32, 1),
               k = random({2, kSeveralKeys, 2, 8}, Dtype::float32, 2);
    const auto v = random({2, kSeveralKeys, 2, 8}, Dtype::float32, 3),
               grad = random({2, kQueries, 4, 8}, Dtype::float32, 4);
    const int before = omp_get_max_threads();
    std::vector<std::vector<Values>> found;
    for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        std::vector<Values> results = {values(*attend(q, k, v).out)};
        for (const TensorPtr& each : gradients(q, k, v, grad, {})) results.push_back(values(*each));
        omp_set_num_threads(before);
        found.push_back(std::move(results));
    }
    CHECK((found[0] == found[1]));
    CHECK((found[0] == found[2]));
}

TEST_CASE("customized attention and its gradients are the same in each layout", "[attention]") {
    constexpr int64_t kBatch = 2, kRows = 70, kHeads = 4, kShared = 2, kDim = 5;
    // (batch, rows, heads, size) in the order of the layout.
    const auto in_layout = [](const TensorPtr& x, const std::string& layout) {
        const Shape& s = x->shape;
        const Values from = values(*x);
        Values to(from.size());
        for (int64_t i = 0; i < x->numel(); ++i) {
            const int64_t c = i % s[3], head = i / s[3] % s[2], row = i / (s[3] * s[2]) % s[1],
                          b = i / (s[3] * s[2] * s[1]);
            int64_t at = i;
            if (layout == "BNSD") at = ((b * s[2] + head) * s[1] + row) * s[3] + c;
            if (layout == "SBH") at = ((row * s[0] + b) * s[2] + head) * s[3] + c;
            to[static_cast<size_t>(at)] = from[static_cast<size_t>(i)];
        }
        Shape shape = s;
        if (layout == "BNSD") shape = {s[0], s[2], s[1], s[3]};
        if (layout == "BSH") shape = {s[0], s[1], s[2] * s[3]};
        if (layout == "SBH") shape = {s[1], s[0], s[2] * s[3]};
        return tensor(shape, x->dtype, to);
    };
    const Shape queries = {kBatch, kRows, kHeads, kDim}, keys = {kBatch, kRows, kShared, kDim};
    const auto run = [&](const std::string& layout) {
        diopiContext ctx(cpu_device());
        const auto given = [&](const Shape& shape, uint32_t seed) {
            return in_layout(random(shape, Dtype::float64, seed), layout);
        };
        const auto q = given(queries, 1), k = given(keys, 2), v = given(keys, 3), grad = given(queries, 4);
        const auto out = unwritten(q->shape, q->dtype), grad_q = unwritten(q->shape, q->dtype);
        const auto grad_k = unwritten(k->shape, k->dtype), grad_v = unwritten(v->shape, v->dtype);
        REQUIRE(cpu::diopiCustomizedFlashAttention(&ctx, out.get(), nullptr, nullptr, nullptr, nullptr, nullptr,
                                                   q.get(), k.get(), v.get(), nullptr, nullptr, 0, 0.5F, true, 20, -1,
                                                   kHeads, layout.c_str()) == diopiSuccess);
        REQUIRE(cpu::diopiCustomizedFlashAttentionBackward(&ctx, grad_q.get(), grad_k.get(), grad_v.get(), grad.get(),
                                                           q.get(), k.get(), v.get(), nullptr, out.get(), nullptr,
                                                           nullptr, nullptr, nullptr, nullptr, 0, 0.5F, true, 20, -1,
                                                           kHeads, layout.c_str()) == diopiSuccess);
        return std::vector<TensorPtr>{out, grad_q, grad_k, grad_v};
    };
    const auto plain = run("BSND");
    for (const char* layout : {"BNSD", "BSH", "SBH"}) {
        const auto found = run(layout);
        for (size_t i = 0; i < plain.size(); ++i) {
            const Shape& shape = i < 2 ? queries : keys;
            const auto wanted = in_layout(tensor(shape, Dtype::float64, values(*plain[i])), layout);
            INFO(layout << ", result " << i);
            CHECK((values(*found[i]) == values(*wanted)));
        }
    }
}
