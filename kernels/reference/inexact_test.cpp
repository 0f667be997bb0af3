#include "kernels/reference/inexact.hpp"

#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// Numbers of float32 from offset - scale to offset + scale.
Values numbers(int64_t n, uint64_t stream, double scale, double offset = 0) {
    Values values = random_values(n, stream);
    for (double& x : values) x = static_cast<double>(static_cast<float>(offset + scale * x));
    return values;
}

/// The results of a function, or their error bounds in float32 where numbers may be kept in `kept`.
template <class Run>
Values run_in(bool errors, const TensorPtr& out, const Run& run, Dtype kept = Dtype::float32) {
    Context own(cpu_device());
    if (errors) own.errors_in = format_of(Dtype::float32), own.kept_in = format_of(kept);
    REQUIRE(run(&own) == diopiSuccess);
    CHECK(own.has_errors == errors);
    Values values;
    for (int64_t i = 0; i < out->numel(); ++i) values.push_back(get(*out, i));
    return values;
}

/// The largest share of the bounds that the errors of a computation in float32 use.
double share_used(const Values& exact, const Values& errors, const std::vector<float>& plain) {
    double share = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
        REQUIRE(std::isfinite(errors[i]));
        share = std::max(share, std::fabs(static_cast<double>(plain[i]) - exact[i]) / errors[i]);
    }
    return share;
}

/// Attention of some queries to `keys` keys, one head of `dim` numbers, and its gradients.
struct KeptAttention {
    int64_t queries, keys, dim;
    Values q, k, v, grad;

    [[nodiscard]] TensorPtr of_queries(const Values& x) const { return tensor({1, queries, 1, dim}, x); }
    [[nodiscard]] TensorPtr of_keys(const Values& x) const { return tensor({1, keys, 1, dim}, x); }
    [[nodiscard]] double product(const Values& x, int64_t i, const Values& y, int64_t j) const {
        double sum = 0;
        for (int64_t c = 0; c < dim; ++c) sum += x[size_t(i * dim + c)] * y[size_t(j * dim + c)];
        return sum;
    }

    struct Results {
        Values out, grad_q, grad_k, grad_v;
    };
    /// The results of the reference with scale 1, or their error bounds.
    [[nodiscard]] Results reference_of(bool errors, Dtype kept = Dtype::float32) const {
        const TensorPtr forward = of_queries(q), out = of_queries(q), lse = make({1, 1, queries});
        const TensorPtr q_in = of_queries(q), k_in = of_keys(k), v_in = of_keys(v), g_in = of_queries(grad);
        const TensorPtr gq = of_queries(q), gk = of_keys(k), gv = of_keys(k), other = make({1, 1, queries});
        const auto attend = [&](auto* ctx, const TensorPtr& to, const TensorPtr& sums) {
            return reference::diopiFlashAttention(ctx, to.get(), sums.get(), nullptr, q_in.get(), k_in.get(),
                                                  v_in.get(), nullptr, 0, 1, false, -1, -1);
        };
        REQUIRE(attend(context(), forward, lse) == diopiSuccess);
        Results all;
        all.out = run_in(
            errors, out, [&](auto* ctx) { return attend(ctx, out, other); }, kept);
        const auto gradient = [&](const TensorPtr& of) {
            return run_in(
                errors, of,
                [&](auto* ctx) {
                    return reference::diopiFlashAttentionBackward(ctx, gq.get(), gk.get(), gv.get(), g_in.get(),
                                                                  nullptr, q_in.get(), k_in.get(), v_in.get(), nullptr,
                                                                  forward.get(), lse.get(), 0, 1, false, -1, -1);
                },
                kept);
        };
        all.grad_q = gradient(gq), all.grad_k = gradient(gk), all.grad_v = gradient(gv);
        return all;
    }
    /// The same formulas, where the shares and the gradients of the scores are rounded.
    template <class Rounding>
    [[nodiscard]] Results plain(const Rounding& rounded) const {
        Results all{Values(q.size()), Values(q.size()), Values(k.size()), Values(k.size())};
        for (int64_t i = 0; i < queries; ++i) {
            Values shares, out(static_cast<size_t>(dim));
            for (int64_t j = 0; j < keys; ++j) shares.push_back(std::exp(product(q, i, k, j)));
            double sum = 0, mean = 0;
            for (const double share : shares) sum += share;
            for (double& share : shares) share /= sum;
            for (int64_t j = 0; j < keys; ++j) mean += shares[size_t(j)] * product(grad, i, v, j);
            for (int64_t j = 0; j < keys; ++j) {
                const double share = rounded(shares[size_t(j)]);
                const double slope = rounded(shares[size_t(j)] * (product(grad, i, v, j) - mean));
                for (int64_t c = 0; c < dim; ++c) {
                    const auto at_i = size_t(i * dim + c), at_j = size_t(j * dim + c);
                    all.out[at_i] += share * v[at_j];
                    all.grad_v[at_j] += share * grad[at_i];
                    all.grad_q[at_i] += slope * k[at_j];
                    all.grad_k[at_j] += slope * q[at_i];
                }
            }
        }
        return all;
    }
    /// The largest shares of the bounds that rounding to bfloat16 uses: of out and of the gradients of q, k and v.
    [[nodiscard]] Values shares_used(Dtype kept) const {
        const Results exact = reference_of(false), bounds = reference_of(true, kept);
        const Results rounded = plain([](double x) { return static_cast<double>(to_float(to_bfloat16(x))); });
        const auto used = [](const Values& e, const Values& b, const Values& x) {
            return share_used(e, b, std::vector<float>(x.begin(), x.end()));
        };
        return {used(exact.out, bounds.out, rounded.out), used(exact.grad_q, bounds.grad_q, rounded.grad_q),
                used(exact.grad_k, bounds.grad_k, rounded.grad_k), used(exact.grad_v, bounds.grad_v, rounded.grad_v)};
    }
};

}  // namespace

TEST_CASE("each operation adds one rounding to the errors of its operands", "[reference][inexact]") {
    working_format = WorkingFormat(format_of(Dtype::float32));
    const double u = 0x1p-24;
    const Inexact three(3.0), a(2.0, 0.5);
    CHECK((three + three).error == 6 * u);
    CHECK((three - three).error == 0);
    CHECK((a + three).error == 0.5 + 5 * u);
    CHECK((a * three).error == Approx(1.5 + 6 * u).epsilon(1e-12));
    CHECK((a * a).error == Approx(2 * 2 * 0.5 + 0.25 + 4 * u).epsilon(1e-12));
    CHECK((three / a).error == Approx(1.5 * 0.5 / 1.5 + 1.5 * u).epsilon(1e-12));
    CHECK((Inexact(0.0) + three).error == 0);
    CHECK(exp(Inexact(0.0, 0.25)).error == Approx(std::expm1(0.25) + 6 * u).epsilon(1e-12));
    CHECK(log(Inexact(1.0, 0.5)).error == Approx(std::log(2.0)).epsilon(1e-12));
    CHECK(sqrt(Inexact(4.0, 0.0)).error == Approx(2 * u).epsilon(1e-12));
}

TEST_CASE("a normalised value has the error of its two forms, and no other", "[reference][inexact]") {
    working_format = WorkingFormat(format_of(Dtype::float32));
    const Values x = numbers(1000, 1, 0.5, 1000);
    const float mean = 1000, scale = 3.3F, shift = 0.1F;
    std::vector<float> folded, off;
    Values exact, errors;
    for (const double each : x) {
        const Inexact value = normalised(Inexact(each), mean, scale, shift);
        exact.push_back(value.value);
        errors.push_back(value.error);
        folded.push_back(static_cast<float>(each) * scale + (shift - mean * scale));
        off.push_back(static_cast<float>(value.value + 0x1p-21 * 1000 * scale));
    }
    CHECK(share_used(exact, errors, folded) < 1);
    CHECK(share_used(exact, errors, off) > 2);
    CHECK(exact.front() == normalised(x.front(), mean, scale, shift));
}

TEST_CASE("what may overflow has no error bound", "[reference][inexact]") {
    working_format = WorkingFormat(format_of(Dtype::float32));
    CHECK((Inexact(1e38) * Inexact(10.0)).error == kInf);
    CHECK((Inexact(3.4e38) + Inexact(1e37)).error == kInf);
    CHECK((Inexact(1.0) / Inexact(1.0, 2.0)).error == kInf);
    CHECK(std::isfinite((Inexact(1e38) * Inexact(2.0)).error));
    CHECK(exp(Inexact(89.0)).error == kInf);
}

TEST_CASE("a sum's bound grows with the root of its length", "[reference][inexact]") {
    working_format = WorkingFormat(format_of(Dtype::float32));
    const auto bound = [](int64_t n) { return pairwise_sum<Inexact>(n, [](int64_t) { return Inexact(1.0); }).error; };
    CHECK(bound(1) == 0);
    CHECK(bound(2) == 2 * 0x1p-24);
    CHECK(bound(10'000) == Approx(400 * 10'000 * 0x1p-24));
}

TEST_CASE("the error of softmax in float32 is within its bound, and zeros are far beyond", "[reference][inexact]") {
    const int64_t n = 32'000;
    const Values x = numbers(n, 3, 8);
    const TensorPtr input = tensor({1, n}, x), out = make({1, n});
    const auto run = [&](diopiContextHandle_t ctx) { return reference::diopiSoftmax(ctx, out.get(), input.get(), 1); };
    const Values exact = run_in(false, out, run), errors = run_in(true, out, run);
    std::vector<float> plain;
    float greatest = -HUGE_VALF, sum = 0;
    for (const double value : x) greatest = std::max(greatest, static_cast<float>(value));
    for (const double value : x) sum += std::exp(static_cast<float>(value) - greatest);
    for (const double value : x) plain.push_back(std::exp(static_cast<float>(value) - greatest) / sum);
    CHECK(share_used(exact, errors, plain) < 1);
    for (size_t i = 0; i < exact.size(); ++i) CHECK(errors[i] < 1e-3 * exact[i]);
}

TEST_CASE("layer_norm by a difference of squares exceeds its bound where the mean is large", "[reference][inexact]") {
    const int64_t n = 1024;
    const Values x = numbers(n, 5, 1, 300);
    const TensorPtr input = tensor({1, n}, x), out = make({1, n}), mean = make({1}), invstd = make({1});
    const Shape last = {n};
    const auto run = [&](diopiContextHandle_t ctx) {
        return reference::diopiLayerNorm(ctx, out.get(), mean.get(), invstd.get(), input.get(), nullptr, nullptr,
                                         sizes(last), 1e-5);
    };
    const Values exact = run_in(false, out, run), errors = run_in(true, out, run);
    float sum = 0, squares = 0, deviations = 0;
    for (const double value : x) sum += static_cast<float>(value);
    for (const double value : x) squares += static_cast<float>(value) * static_cast<float>(value);
    const float average = sum / n;
    for (const double value : x)
        deviations += (static_cast<float>(value) - average) * (static_cast<float>(value) - average);
    const auto normalised = [&](float variance) {
        std::vector<float> y;
        for (const double value : x) y.push_back((static_cast<float>(value) - average) / std::sqrt(variance + 1e-5f));
        return y;
    };
    CHECK(share_used(exact, errors, normalised(deviations / n)) < 1);
    CHECK(share_used(exact, errors, normalised(squares / n - average * average)) > 2);
}

TEST_CASE("a Euclidean distance is as wrong as its differences and their squares", "[reference][inexact]") {
    const int64_t n = 100;
    Values x = numbers(n, 7, 2), y = numbers(n, 8, 2);
    x[3] = y[3];
    x[50] = 0, y[60] = 0;  // differences without an error
    const int64_t mode = 2;
    const TensorPtr first = tensor({1, n}, x), second = tensor({1, n}, y), out = make({1, 1});
    const auto run = [&](diopiContextHandle_t ctx) {
        return reference::diopiCdist(ctx, out.get(), first.get(), second.get(), 2, &mode);
    };
    const Values exact = run_in(false, out, run), errors = run_in(true, out, run);
    working_format = WorkingFormat(format_of(Dtype::float32));
    const auto square = [&](int64_t k) {
        const auto at = static_cast<size_t>(k);
        const Inexact apart = Inexact(x[at]) - Inexact(y[at]);
        return k == 3 ? Inexact(0.0) : apart * apart;
    };
    const Inexact distance = sqrt(pairwise_sum<Inexact>(n, square));
    CHECK_THAT(exact[0], Catch::Matchers::WithinRel(distance.value, 1e-14));
    CHECK_THAT(errors[0], Catch::Matchers::WithinRel(distance.error, 1e-9));

    x = y;
    const TensorPtr same = tensor({1, n}, x);
    const auto run_same = [&](diopiContextHandle_t ctx) {
        return reference::diopiCdist(ctx, out.get(), same.get(), second.get(), 2, &mode);
    };
    CHECK(run_in(false, out, run_same)[0] == 0);
    CHECK(run_in(true, out, run_same)[0] < 1e-37);
}

TEST_CASE("the logarithm of a sum of powers is as wrong as their exponents", "[reference][inexact]") {
    working_format = WorkingFormat(format_of(Dtype::float32));
    Sum<Inexact> sum;
    for (const double x : {0.0, -1.0, -3.0}) sum += exp(Inexact(x, 2));
    const Inexact logarithm = log_of_powers(sum.value());
    CHECK_THAT(logarithm.value, Catch::Matchers::WithinRel(std::log(1 + std::exp(-1.0) + std::exp(-3.0)), 1e-15));
    CHECK_THAT(logarithm.error, Catch::Matchers::WithinRel(2.0, 1e-5));
    CHECK(std::isinf(log(sum.value()).error));
}

TEST_CASE("a share of powers is from 0 to 1, however wrong their exponents are", "[reference][inexact]") {
    working_format = WorkingFormat(format_of(Dtype::float32));
    Sum<Inexact> sum;
    for (const double x : {0.0, -1.0, -3.0}) sum += exp(Inexact(x, 2));
    for (const double x : {0.0, -1.0, -3.0}) {
        const Inexact share = share_of_powers(exp(Inexact(x, 2)), sum.value());
        CHECK_THAT(share.value, Catch::Matchers::WithinRel(std::exp(x) / sum.value().value, 1e-15));
        CHECK_THAT(share.error, Catch::Matchers::WithinAbs(std::max(share.value, 1 - share.value), 1e-6));
    }
    // Small errors count as they are.
    Sum<Inexact> close;
    close += exp(Inexact(0, 1e-6)), close += exp(Inexact(-1, 1e-6));
    CHECK(share_of_powers(exp(Inexact(-1, 1e-6)), close.value()).error < 1.5e-6);
    // Exponents that are wrong by hundreds leave the powers between 0 and 1, unless they may overflow themselves.
    CHECK_THAT(power_below(Inexact(-1, 1e3), 0).error, Catch::Matchers::WithinAbs(1 - std::exp(-1.0), 1e-6));
    CHECK(std::isinf(power_below(Inexact(-1, HUGE_VAL), 0).error));
    CHECK(std::isinf(share_of_powers(power_below(Inexact(-1, HUGE_VAL), 0), close.value()).error));
}

TEST_CASE("a sum of many terms of one size keeps their rounding errors", "[reference][inexact]") {
    Sum<double> sum;
    for (int i = 0; i < 100'000; ++i) sum += 0.1;
    CHECK(sum.value() == 10'000.000000000000555);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    sum += kInfinity;
    sum += 1;
    CHECK(sum.value() == kInfinity);
    sum += -kInfinity;
    CHECK(std::isnan(sum.value()));
}

TEST_CASE("shares of attention may be kept in the format of the tensors, and zeros are still far beyond",
          "[reference][inexact]") {
    const int64_t queries = 64, keys = 600, dim = 8;
    const KeptAttention attention{queries,
                                  keys,
                                  dim,
                                  numbers(queries * dim, 61, 1),
                                  numbers(keys * dim, 62, 1),
                                  numbers(keys * dim, 63, 1),
                                  numbers(queries * dim, 64, 1)};
    for (const double used : attention.shares_used(Dtype::bfloat16)) CHECK(used < 1);
    for (const double used : attention.shares_used(Dtype::float32)) CHECK(used > 2);
    const auto exact = attention.reference_of(false), bounds = attention.reference_of(true, Dtype::bfloat16);
    CHECK(share_used(exact.out, bounds.out, std::vector<float>(exact.out.size())) > 40);
    CHECK(share_used(exact.grad_k, bounds.grad_k, std::vector<float>(exact.grad_k.size())) > 20);
}

TEST_CASE("equal shares of attention are rounded alike", "[reference][inexact]") {
    // 100 keys with a share of 1 / 200 nearly cancel 739 others, whose roundings have the other sign.
    KeptAttention attention{1, 839, 1, {1}, Values(839, -1), {}, {1}};
    std::fill_n(attention.k.begin(), 100, 1.0);
    attention.v = attention.k;
    const Values used = attention.shares_used(Dtype::bfloat16);
    CHECK(used[0] < 1);
    CHECK(used[0] > 0.05);
}
