#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("losses and their gradients of strided tensors are those of contiguous ones", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto [is_entropy, has_probabilities] =
        GENERATE(table<bool, bool>({{false, false}, {true, false}, {true, true}}));
    const Shape shape = {2, 12, 9}, samples = {2, 9};
    Values classes(18);
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<double>(i * 7 % 12);
    diopiContext ctx(cpu_device());
    Values losses[2], gradients[2];
    for (const bool is_strided : {false, true}) {
        const auto strides = [&](const Shape& s) { return is_strided ? scattered(s) : Shape{}; };
        const auto x = random(shape, dtype, 1, strides(shape)), g = random(samples, dtype, 3, strides(samples));
        const auto t = has_probabilities ? random(shape, dtype, 2, strides(shape))
                                         : tensor(samples, Dtype::int64, classes, strides(samples));
        const auto out = unwritten(samples, dtype, strides(samples)), gx = unwritten(shape, dtype, strides(shape));
        if (is_entropy) {
            REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), t.get(), nullptr, ReductionNone, 5, 0.3) ==
                    diopiSuccess);
            REQUIRE(cpu::diopiCrossEntropyLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), nullptr,
                                                       ReductionNone, 5, 0.3) == diopiSuccess);
        } else {
            REQUIRE(cpu::diopiNLLLoss(&ctx, out.get(), x.get(), t.get(), nullptr, ReductionNone, 5) == diopiSuccess);
            REQUIRE(cpu::diopiNLLLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), nullptr, ReductionNone, 5) ==
                    diopiSuccess);
        }
        losses[is_strided] = values(*out);
        gradients[is_strided] = values(*gx);
    }
    CHECK(losses[0] == losses[1]);
    CHECK(gradients[0] == gradients[1]);
}

TEST_CASE("the gradient of nll_loss by several threads has each sample's element, and zeros") {
    const Shape shape = GENERATE(Shape{4001, 80}, Shape{3, 3, 200, 201});
    Shape samples = shape;
    samples.erase(samples.begin() + 1);
    const auto count = static_cast<size_t>(numel(samples)), classes = static_cast<size_t>(shape[1]);
    const size_t inner = count / static_cast<size_t>(shape[0]);
    Values targets(count), slopes(count), wanted(count * classes);
    for (size_t i = 0; i < count; ++i) {
        const size_t target = i * 7 % classes;
        targets[i] = static_cast<double>(target);
        slopes[i] = static_cast<double>(i % 1000 + 1);
        if (target != 1) wanted[(i / inner * classes + target) * inner + i % inner] = -slopes[i];
    }
    const auto x = random(shape, Dtype::float32, 1), gx = unwritten(shape, Dtype::float32);
    const auto g = tensor(samples, Dtype::float32, slopes), t = tensor(samples, Dtype::int64, targets);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiNLLLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), nullptr, ReductionNone, 1) ==
            diopiSuccess);
    CHECK(values(*gx) == wanted);
}

TEST_CASE("a label smoothing below 0 is none", "[vectors]") {
    const auto x = random({20, 9}, Dtype::float32, 1), g = tensor({}, Dtype::float32, {1});
    const auto t = tensor({20}, Dtype::int64, Values(20, 4));
    diopiContext ctx(cpu_device());
    Values losses[2], gradients[2];
    for (const bool is_negative : {false, true}) {
        const auto out = unwritten({}, Dtype::float32), gx = unwritten({20, 9}, Dtype::float32);
        const double smoothing = is_negative ? -1.3 : 0;
        REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), t.get(), nullptr, ReductionMean, -100,
                                           smoothing) == diopiSuccess);
        REQUIRE(cpu::diopiCrossEntropyLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), nullptr, ReductionMean,
                                                   -100, smoothing) == diopiSuccess);
        losses[is_negative] = values(*out);
        gradients[is_negative] = values(*gx);
    }
    CHECK(losses[0] == losses[1]);
    CHECK(gradients[0] == gradients[1]);
}

TEST_CASE("the mean of no targets is NaN, their sum 0, and their gradients 0", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto [input, targets] = GENERATE(table<Shape, Shape>({{{3, 4}, {3}}, {{4, 0}, {4}}, {{0, 4}, {0}}}));
    const auto x = random(input, dtype, 1);
    const auto t = tensor(targets, Dtype::int64, Values(static_cast<size_t>(numel(targets)), 0.0));
    const auto mean = unwritten({}, dtype), sum = unwritten({}, dtype), total = unwritten({}, dtype);
    const auto gx = unwritten(input, dtype), g = tensor({}, dtype, {1});
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiNLLLossV2(&ctx, mean.get(), total.get(), x.get(), t.get(), nullptr, ReductionMean, 0) ==
            diopiSuccess);
    CHECK(std::isnan(values(*mean)[0]));
    CHECK(values(*total) == Values{0});
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, mean.get(), x.get(), t.get(), nullptr, ReductionMean, 0, 0.2) ==
            diopiSuccess);
    CHECK(std::isnan(values(*mean)[0]));
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, sum.get(), x.get(), t.get(), nullptr, ReductionSum, 0, 0.2) ==
            diopiSuccess);
    CHECK(values(*sum) == Values{0});
    REQUIRE(cpu::diopiCrossEntropyLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), nullptr, ReductionMean, 0,
                                               0.2) == diopiSuccess);
    CHECK(values(*gx) == Values(static_cast<size_t>(numel(input)), 0.0));
}

TEST_CASE("probabilities over no classes have a mean of NaN", "[vectors]") {
    const auto x = random({3, 0}, Dtype::float32, 1), out = unwritten({}, Dtype::float32);
    diopiContext ctx(cpu_device());
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), x.get(), nullptr, ReductionMean, -100, 0.1) ==
            diopiSuccess);
    CHECK(std::isnan(values(*out)[0]));
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), x.get(), nullptr, ReductionSum, -100, 0.1) ==
            diopiSuccess);
    CHECK(values(*out) == Values{0});
}

TEST_CASE("a target that is no class is refused with its number", "[vectors]") {
    const auto x = random({3, 4}, Dtype::float32, 1), gx = unwritten({3, 4}, Dtype::float32);
    const auto out = unwritten({}, Dtype::float32), g = tensor({}, Dtype::float32, {1});
    const double wild = GENERATE(4.0, -1.0);
    const auto t = tensor({3}, Dtype::int64, {0, wild, 2});
    diopiContext ctx(cpu_device());
    CHECK(cpu::diopiNLLLoss(&ctx, out.get(), x.get(), t.get(), nullptr, ReductionMean, -100) == diopiErrorOccurred);
    CHECK(last_error().find("target holds class " + std::to_string(static_cast<int>(wild))) != std::string::npos);
    CHECK(cpu::diopiCrossEntropyLoss(&ctx, out.get(), x.get(), t.get(), nullptr, ReductionSum, -100, 0) ==
          diopiErrorOccurred);
    CHECK(cpu::diopiCrossEntropyLossBackward(&ctx, gx.get(), g.get(), x.get(), t.get(), nullptr, ReductionSum, -100,
                                             0) == diopiErrorOccurred);
    const auto wide = random({5}, Dtype::float32, 1);
    CHECK(cpu::diopiNLLLoss(&ctx, out.get(), x.get(), t.get(), wide.get(), ReductionMean, -100) == diopiErrorOccurred);
}
