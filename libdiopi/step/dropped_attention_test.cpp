#include "step/dropped_attention.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "check/oracle.hpp"
#include "core/philox.hpp"
#include "infer/infer.hpp"

namespace diopi {

namespace {

/// Attention of 400 rows of one head to themselves.
constexpr int64_t kDroppedRows = 400, kDroppedDim = 4;

TensorPtr waves(double frequency) {
    auto made = std::make_shared<Tensor>(make_host_tensor({1, kDroppedRows, 1, kDroppedDim}, Dtype::float64));
    for (int64_t i = 0; i < made->numel(); ++i) {
        made->data_as<double>()[i] = 0.3 + std::sin(frequency * static_cast<double>(i + 1));
    }
    return made;
}

Step attention_step(double p) {
    Call call(*find_row("diopiFlashAttention"));
    call["q"] = waves(0.7);
    call["k"] = waves(1.3);
    call["v"] = waves(2.1);
    call["p_dropout"] = p;
    call["softmax_scale"] = 0.5;
    call["is_causal"] = false;
    call["window_size_left"] = int64_t{-1};
    call["window_size_right"] = int64_t{-1};
    auto outputs = infer(call, {});
    REQUIRE(outputs.ok());
    return {"forward", "flash_attention", std::move(call), std::move(*outputs), false};
}

/// The shares are dropped with probability p, and the others multiplied by `factor`.
Tensor dropped_attention(const Step& step, double p, double factor) {
    Tensor out = make_host_tensor({1, kDroppedRows, 1, kDroppedDim}, Dtype::float64);
    const auto numbers = [&](const char* arg) { return step.call.tensor(arg)->data_as<double>(); };
    const double *q = numbers("q"), *k = numbers("k"), *v = numbers("v");
    for (int64_t i = 0; i < kDroppedRows; ++i) {
        double total = 0, sums[kDroppedDim] = {};
        for (int64_t j = 0; j < kDroppedRows; ++j) {
            double score = 0;
            for (int64_t c = 0; c < kDroppedDim; ++c) score += q[i * kDroppedDim + c] * k[j * kDroppedDim + c];
            const double power = std::exp(0.5 * score);
            total += power;
            const auto pair = static_cast<uint64_t>(i * kDroppedRows + j);
            if (philox(7, pair, 0)[0] * 0x1p-32 < p) continue;
            for (int64_t c = 0; c < kDroppedDim; ++c) sums[c] += factor * power * v[j * kDroppedDim + c];
        }
        for (int64_t c = 0; c < kDroppedDim; ++c) out.data_as<double>()[i * kDroppedDim + c] = sums[c] / total;
    }
    return out;
}

DistributionCheck check_dropped(const Step& step, const Tensor& out) {
    auto check = check_dropped_attention(step, out);
    REQUIRE(check.ok());
    return *check;
}

}  // namespace

TEST_CASE("attention whose shares are dropped with probability p and rescaled follows its law") {
    for (const double p : {0.1, 0.5, 0.9}) {
        const Step step = attention_step(p);
        const DistributionCheck check = check_dropped(step, dropped_attention(step, p, 1 / (1 - p)));
        INFO(check.reason);
        CHECK(check.passed);
        CHECK(check.n == kDroppedRows);
    }
}

TEST_CASE("attention with another probability of dropout is seen, though its mean is right") {
    const Step step = attention_step(0.5);
    for (const double p : {0.0, 0.3, 0.65}) {
        INFO("p " << p);
        CHECK_FALSE(check_dropped(step, dropped_attention(step, p, 1 / (1 - p))).passed);
    }
}

TEST_CASE("attention whose dropout forgets to rescale, or rescales by p, is seen") {
    const Step step = attention_step(0.3);
    CHECK_FALSE(check_dropped(step, dropped_attention(step, 0.3, 1)).passed);
    CHECK_FALSE(check_dropped(step, dropped_attention(step, 0.3, 1 / 0.3)).passed);
}

}  // namespace diopi
