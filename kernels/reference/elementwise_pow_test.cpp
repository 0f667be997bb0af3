#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("powers of integers wrap, and negative exponents truncate", "[reference][pow]") {
    const TensorPtr x = tensor({5}, {2, -1, 1, 3, 10}, Dtype::int64);
    const TensorPtr e = tensor({5}, {-1, -3, -2, 40, 0}, Dtype::int64);
    const TensorPtr y = make({5}, Dtype::int64);
    REQUIRE(reference::diopiPowTensor(context(), y.get(), x.get(), e.get()) == diopiSuccess);
    check_close(y, {0, -1, 1, 12157665459056928801.0 - 18446744073709551616.0, 1});
    const diopiScalar_t minus = number(-1);
    CHECK(reference::diopiPow(context(), y.get(), x.get(), &minus) == diopiErrorOccurred);
    CHECK(last_error() == "exponent is -1, wanted none below 0 for integers; use a floating exponent");
}
