#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

/// One step by the formulas of the papers, on one element.
struct Expected {
    double param, m, v, most;

    void step(double g, double lr, double b1, double b2, double eps, double decay, double t, bool ams, bool decoupled) {
        if (decoupled)
            param -= lr * decay * param;
        else
            g += decay * param;
        m = b1 * m + (1 - b1) * g;
        v = b2 * v + (1 - b2) * g * g;
        if (ams) most = std::max(most, v);
        const double second = (ams ? most : v) / (1 - std::pow(b2, t));
        param -= lr * (m / (1 - std::pow(b1, t))) / (std::sqrt(second) + eps);
    }
};

Values absolute(Values list) {
    for (double& x : list) x = std::fabs(x) + 0.25;
    return list;
}

}  // namespace

TEST_CASE("Adam and AdamW take the papers' step, for every dtype and strides") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const bool ams = GENERATE(false, true), decoupled = GENERATE(false, true), strided = GENERATE(false, true);
    const Shape shape = {3, 7}, strides = strided ? scattered(shape) : Shape{};
    const auto param = random(shape, dtype, 1, strides), grad = random(shape, dtype, 2, strides);
    const auto m = random(shape, dtype, 3);
    const auto v = tensor(shape, dtype, absolute(values(*random(shape, dtype, 4))), strides);
    const auto most = tensor(shape, dtype, absolute(values(*random(shape, dtype, 5))));
    const Values given[] = {values(*param), values(*grad), values(*m), values(*v), values(*most)};
    Values want_param, want_m, want_v, want_most;
    for (size_t i = 0; i < 21; ++i) {
        Expected e{given[0][i], given[2][i], given[3][i], given[4][i]};
        e.step(given[1][i], 0.125, 0.5, 0.75, 0.125, 0.25, 3, ams, decoupled);
        want_param.push_back(e.param), want_m.push_back(e.m), want_v.push_back(e.v), want_most.push_back(e.most);
    }
    diopiContext ctx(cpu_device());
    REQUIRE((decoupled ? cpu::diopiAdamW : cpu::diopiAdam)(&ctx, param.get(), grad.get(), m.get(), v.get(), most.get(),
                                                           0.125F, 0.5F, 0.75F, 0.125F, 0.25F, 3, ams) == diopiSuccess);
    check_close(*param, want_param);
    check_close(*m, want_m);
    check_close(*v, want_v);
    check_close(*most, want_most);
}

TEST_CASE("amsgrad wants its tensor, and all tensors one shape") {
    diopiContext ctx(cpu_device());
    const auto p = unwritten({2}, Dtype::float32), other = unwritten({3}, Dtype::float32);
    CHECK(cpu::diopiAdam(&ctx, p.get(), p.get(), p.get(), p.get(), nullptr, 1, 0, 0, 1, 0, 1, true) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiAdam: max_exp_avg_sq is null, wanted a tensor for amsgrad");
    CHECK(cpu::diopiAdamW(&ctx, p.get(), p.get(), other.get(), p.get(), nullptr, 1, 0, 0, 1, 0, 1, false) ==
          diopiErrorOccurred);
    CHECK(last_error() == "diopiAdamW: exp_avg has shape (3,), wanted param's (2,)");
}
