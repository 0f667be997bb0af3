#include <algorithm>
#include <catch2/catch.hpp>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

namespace {

struct Setting {
    double lr, momentum, dampening, weight_decay;
    bool nesterov;
};

const Setting kSettings[] = {{0.05, 0.5, 0, 0, true},   {0.001, 0, -0.5, 0.5, false}, {0.1, 0.01, 0.1, 0, false},
                             {0.1, 0.01, 0, 0.1, true}, {0, 1, 2, 3, false},          {3, 0.5, 3, 2.3, false},
                             {0.2, 2, 0, 4, true},      {0.07, 1.2, 6.5, 5, false}};

double p0(int64_t i) { return std::sin(double(i)); }
double g0(int64_t i) { return std::cos(3.0 * double(i)); }
double b0(int64_t i) { return double(i % 10) / 10; }

}  // namespace

TEST_CASE("sgd follows its formula for every dtype, setting and layout", "[cpu][optim]") {
    for (const auto& [dtype, tolerance] :
         {std::pair{Dtype::float32, 1e-6}, {Dtype::float64, 1e-14}, {Dtype::float16, 2e-3}, {Dtype::bfloat16, 2e-2}}) {
        for (const Setting& s : kSettings) {
            for (const Shape& layout : {Shape{}, Shape{1, 41}}) {
                for (const bool has_buf : {true, false}) {
                    const auto param = generate(dtype, {41, 25}, p0, layout);
                    const auto grad = generate(dtype, {41, 25}, g0);
                    const auto buf = has_buf ? generate(dtype, {41, 25}, b0, layout) : nullptr;
                    const Values p = values(param), g = values(grad), b = has_buf ? values(buf) : p;
                    REQUIRE(cpu::diopiSgd(&context, param.get(), grad.get(), buf.get(), s.lr, s.momentum, s.dampening,
                                          s.weight_decay, s.nesterov) == diopiSuccess);
                    const Values new_p = values(param), new_b = has_buf ? values(buf) : b;
                    double worst = 0;
                    for (size_t i = 0; i < p.size(); ++i) {
                        double d = g[i] + s.weight_decay * p[i];
                        const double velocity = has_buf ? s.momentum * b[i] + (1 - s.dampening) * d : d;
                        if (s.momentum != 0) d = s.nesterov ? d + s.momentum * velocity : velocity;
                        worst = std::max(worst, std::fabs(new_p[i] - (p[i] - s.lr * d)) / (1 + std::fabs(s.lr * d)));
                        const double wanted = s.momentum == 0 ? b[i] : velocity;
                        if (has_buf) worst = std::max(worst, std::fabs(new_b[i] - wanted) / (1 + std::fabs(wanted)));
                    }
                    INFO(name(dtype) << " lr " << s.lr << " momentum " << s.momentum << " buf " << has_buf);
                    CHECK(worst <= tolerance);
                }
            }
        }
    }
}

TEST_CASE("sgd without decay keeps an infinite parameter out of the others", "[cpu][optim]") {
    const auto param = tensor(Dtype::float32, {2}, {INFINITY, 1});
    const auto grad = tensor(Dtype::float32, {2}, {1, 2});
    REQUIRE(cpu::diopiSgd(&context, param.get(), grad.get(), nullptr, 0.5, 0, 0, 0, false) == diopiSuccess);
    CHECK(values(param) == Values{INFINITY, 0});
    CHECK(values(grad) == Values{1, 2});
}

TEST_CASE("sgd of 0-dim and empty tensors, and its refusals", "[cpu][optim]") {
    const auto point = tensor(Dtype::float64, {}, {1}), slope = tensor(Dtype::float64, {}, {2});
    REQUIRE(cpu::diopiSgd(&context, point.get(), slope.get(), nullptr, 0.25, 0, 0, 0, false) == diopiSuccess);
    CHECK(values(point) == Values{0.5});
    const auto none = blank(Dtype::float32, {3, 0});
    CHECK(cpu::diopiSgd(&context, none.get(), none.get(), none.get(), 1, 1, 0, 0, false) == diopiSuccess);
    const auto whole = blank(Dtype::int32, {});
    CHECK(cpu::diopiSgd(&context, whole.get(), slope.get(), nullptr, 1, 0, 0, 0, false) == diopiDtypeNotSupported);
    const auto other = blank(Dtype::float64, {2});
    CHECK(cpu::diopiSgd(&context, point.get(), other.get(), nullptr, 1, 0, 0, 0, false) == diopiErrorOccurred);
    CHECK(last_error().find("grad") != std::string::npos);
}
