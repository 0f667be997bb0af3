#include <algorithm>
#include <limits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/testing.hpp"

using namespace diopi;
using namespace diopi::cpu::testing;

TEST_CASE("a reduced loss sums every chunk, dense or not", "[cpu][loss]") {
    const auto difference = [](int64_t i) { return double(i % 5) - 2; };
    for (const int64_t n : {0, 1, 8191, 8192, 8193, 100001}) {
        const auto x = generate(Dtype::float32, {n}, difference),
                   zero = generate(Dtype::float32, {n}, [](int64_t) { return 0.0; });
        const auto stepped = generate(Dtype::float32, {n}, difference, {2});
        const auto sum = blank(Dtype::float64, {}), mean = blank(Dtype::float64, {});
        double wanted = 0;
        for (int64_t i = 0; i < n; ++i) wanted += difference(i) * difference(i);
        INFO("n " << n);
        REQUIRE(cpu::diopiMSELoss(&context, sum.get(), x.get(), zero.get(), ReductionSum) == diopiSuccess);
        CHECK(same(values(sum), Values{wanted}));
        REQUIRE(cpu::diopiMSELoss(&context, sum.get(), stepped.get(), zero.get(), ReductionSum) == diopiSuccess);
        CHECK(same(values(sum), Values{wanted}));
        REQUIRE(cpu::diopiMSELoss(&context, mean.get(), x.get(), zero.get(), ReductionMean) == diopiSuccess);
        CHECK(same(values(mean), Values{wanted / double(n)}));
    }
}

TEST_CASE("the gradient of a reduced loss scales its slopes, in any dtype", "[cpu][loss]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16);
    const Dtype of_loss = GENERATE(Dtype::float32, Dtype::bfloat16);
    const auto reduction = GENERATE(ReductionNone, ReductionSum, ReductionMean);
    constexpr int64_t n = 64;  // a power of two, so that all numbers are exact
    const auto difference = [](int64_t i) { return double(i % 9 - 4) / 4; };
    const auto x = generate(dtype, {n}, difference, {GENERATE(1, 3)});
    const auto zero = generate(dtype, {n}, [](int64_t) { return 0.0; });
    const auto g = generate(of_loss, reduction == ReductionNone ? Shape{n} : Shape{}, [](int64_t) { return -0.375; });
    const auto square = blank(dtype, {n}), distance = blank(dtype, {n});
    REQUIRE(cpu::diopiMSELossBackward(&context, square.get(), g.get(), x.get(), zero.get(), reduction) == diopiSuccess);
    REQUIRE(cpu::diopiSmoothL1LossBackward(&context, distance.get(), g.get(), x.get(), zero.get(), reduction, 0.5) ==
            diopiSuccess);
    const double factor = reduction == ReductionMean ? -0.375 / n : -0.375;
    for (int64_t i = 0; i < n; ++i) {
        INFO(name(dtype) << ", loss " << name(of_loss) << ", reduction " << reduction << ", element " << i);
        CHECK(values(square)[static_cast<size_t>(i)] == factor * 2 * difference(i));
        CHECK(values(distance)[static_cast<size_t>(i)] == factor * std::clamp(difference(i) / 0.5, -1.0, 1.0));
    }
}

TEST_CASE("losses of each element refuse what does not fit", "[cpu][loss]") {
    const auto x = blank(Dtype::float32, {2, 3}), row = blank(Dtype::float32, {3}), one = blank(Dtype::float32, {});
    const auto whole = blank(Dtype::int32, {2, 3}), z = blank(Dtype::complex64, {3}), four = blank(Dtype::float32, {4});
    CHECK(cpu::diopiMSELoss(&context, one.get(), x.get(), row.get(), ReductionSum) == diopiErrorOccurred);
    CHECK(cpu::diopiMSELoss(&context, x.get(), x.get(), x.get(), ReductionSum) == diopiErrorOccurred);
    CHECK(cpu::diopiMSELoss(&context, x.get(), x.get(), x.get(), ReductionNone) == diopiSuccess);
    CHECK(cpu::diopiMSELoss(&context, one.get(), whole.get(), x.get(), ReductionSum) == diopiDtypeNotSupported);
    CHECK(cpu::diopiBCELoss(&context, one.get(), x.get(), x.get(), four.get(), ReductionSum) == diopiErrorOccurred);
    CHECK(last_error().find("weight") != std::string::npos);
    CHECK(cpu::diopiBCELoss(&context, one.get(), x.get(), x.get(), z.get(), ReductionSum) == diopiDtypeNotSupported);
    CHECK(cpu::diopiSmoothL1Loss(&context, one.get(), x.get(), x.get(), ReductionSum, -1) == diopiErrorOccurred);
    CHECK(cpu::diopiMSELoss(&context, one.get(), x.get(), x.get(), static_cast<diopiReduction_t>(9)) ==
          diopiErrorOccurred);
    CHECK(cpu::diopiMSELossBackward(&context, row.get(), one.get(), x.get(), x.get(), ReductionSum) ==
          diopiErrorOccurred);
}
