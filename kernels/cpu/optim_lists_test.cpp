#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

TEST_CASE("a bad tensor of a list is refused before another one changes", "[cpu][optim]") {
    const auto a = tensor(Dtype::float32, {2}, {3, 4}), whole = tensor(Dtype::int64, {2}, {1, 2});
    double norm = 7;
    diopiTensorHandle_t grads[] = {a.get(), whole.get()};
    CHECK(cpu::diopiClipGradNorm(&context, &norm, grads, 2, 1, 2, false) == diopiDtypeNotSupported);
    grads[1] = nullptr;
    CHECK(cpu::diopiClipGradNorm(&context, &norm, grads, 2, 1, 2, false) == diopiErrorOccurred);
    const diopiScalar_t number{diopi_dtype_float64, {.fval = 2}};
    CHECK(cpu::diopiForeachmulInpScalar(&context, grads, 2, &number) == diopiErrorOccurred);
    CHECK(norm == 7);
    CHECK(same(values(a), Values{3, 4}));
}

TEST_CASE("a norm that is not finite is an error where the caller wants that", "[cpu][optim]") {
    const auto a = tensor(Dtype::float64, {2}, {INFINITY, 4});
    double norm = 7;
    diopiTensorHandle_t grads[] = {a.get()};
    CHECK(cpu::diopiClipGradNorm(&context, &norm, grads, 1, 1, 2, true) == diopiErrorOccurred);
    CHECK(same(values(a), Values{INFINITY, 4}));
    REQUIRE(cpu::diopiClipGradNorm(&context, &norm, grads, 1, 1, 2, false) == diopiSuccess);
    CHECK(norm == INFINITY);
    CHECK(values(a)[1] == 0);
}
