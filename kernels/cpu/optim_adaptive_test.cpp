#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

TEST_CASE("rmsprop needs the state that its numbers ask for, and leaves the other", "[cpu][optim]") {
    const auto p = tensor(Dtype::float64, {1}, {1}), g = tensor(Dtype::float64, {1}, {2});
    const auto squares = tensor(Dtype::float64, {1}, {0}), mean = tensor(Dtype::float64, {1}, {7});
    const auto run = [&](diopiTensorHandle_t grad_avg, float momentum, bool centered) {
        return cpu::diopiRmsprop(&context, p.get(), g.get(), squares.get(), grad_avg, nullptr, 0.5F, 0.75F, 0, 0,
                                 momentum, centered);
    };
    CHECK(run(nullptr, 0, true) == diopiErrorOccurred);
    CHECK(run(nullptr, 0.5F, false) == diopiErrorOccurred);
    CHECK(same(values(p), Values{1}));
    REQUIRE(run(mean.get(), 0, false) == diopiSuccess);
    CHECK(same(values(squares), Values{1}));
    CHECK(same(values(p), Values{0}));
    CHECK(same(values(mean), Values{7}));
}
