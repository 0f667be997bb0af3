#include "kernels/operands/optim.hpp"

#include <catch2/catch.hpp>

namespace diopi::operands {
namespace {

/// A step by the factors, and one by the formula of torch.optim.Adam and AdamW.
struct Steps {
    double by_factors, by_formula;
};

Steps steps(const AdamArguments& n, bool is_decoupled, double param, double grad, double m, double v) {
    const auto s = AdamFactors<double>::of(n, is_decoupled);
    const double g = grad + s.decay * param;
    const double first = s.beta1 * m + s.rest1 * g, second = s.beta2 * v + s.rest2 * g * g;
    Steps result{};
    result.by_factors = s.shrink * param - s.rate * first / (std::sqrt(second) * s.root + s.eps);

    double p = param, plain = grad;
    if (is_decoupled)
        p -= n.lr * n.weight_decay * p;
    else
        plain += n.weight_decay * p;
    const double mean = (n.beta1 * m + (1 - n.beta1) * plain) / (1 - std::pow(n.beta1, n.step));
    const double square = (n.beta2 * v + (1 - n.beta2) * plain * plain) / (1 - std::pow(n.beta2, n.step));
    result.by_formula = p - n.lr * mean / (std::sqrt(square) + n.eps);
    return result;
}

}  // namespace

TEST_CASE("operands: the factors of Adam and AdamW give the textbook's step") {
    for (const bool is_decoupled : {false, true}) {
        for (const int64_t step : {1, 2, 1000}) {
            const AdamArguments arguments{"",  nullptr, nullptr, nullptr, nullptr, nullptr, 0.01,
                                          0.9, 0.999,   1e-8,    0.1,     step,    false};
            const auto [found, wanted] = steps(arguments, is_decoupled, 0.5, -0.25, 0.125, 0.0625);
            CHECK(found == Approx(wanted).epsilon(1e-14));
        }
    }
}

}  // namespace diopi::operands
