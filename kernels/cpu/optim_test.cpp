#include <catch2/catch.hpp>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

TEST_CASE("sgd without decay does not spread an infinite parameter", "[cpu][optim]") {
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
