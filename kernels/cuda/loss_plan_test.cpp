#include "kernels/cuda/loss_plan.hpp"

#include <catch2/catch.hpp>

#include "kernels/cuda/element/launch.hpp"
#include "kernels/operands/testing.hpp"
#include "runtime/context.hpp"

namespace diopi::cuda {
namespace {

using operands::testing::contiguous;
using operands::testing::Layout;

Loss loss_of(const Layout& input, const Layout& target, diopiReduction_t reduction = ReductionMean) {
    return {"op", input.view(), target.view(), nullptr, reduction, -100, true};
}

diopiError_t read(const Layout& input, const Layout& target, diopiReduction_t reduction = ReductionMean) {
    Loss loss = loss_of(input, target, reduction);
    return read_loss(loss);
}

Shape copied(ShapeView values) { return {values.begin(), values.end()}; }

}  // namespace

TEST_CASE("cuda: a sample of a loss is all dimensions but the classes") {
    const Layout input = contiguous({2, 7, 3, 4}), target = contiguous({2, 3, 4}, Dtype::int64);
    Loss loss = loss_of(input, target);
    REQUIRE(read_loss(loss) == diopiSuccess);
    CHECK(loss.classes() == 7);
    CHECK(loss.samples() == 24);
    CHECK_FALSE(loss.has_probabilities());
    CHECK(loss.class_stride(loss.input) == 12);
    const SampleView samples(loss, loss.input);
    const View& first = samples;
    CHECK(copied(first.shape) == Shape{2, 3, 4});
    CHECK(copied(first.strides) == Shape{84, 4, 1});
    CHECK(first.numel == 24);

    const Layout one_sample = contiguous({7}), one_class = contiguous({}, Dtype::int32);
    Loss single = loss_of(one_sample, one_class);
    REQUIRE(read_loss(single) == diopiSuccess);
    CHECK(single.classes() == 7);
    CHECK(single.samples() == 1);
}

TEST_CASE("cuda: shares of the classes have the shape of input and a floating dtype") {
    const Layout input = contiguous({2, 7, 3}), shares = contiguous({2, 7, 3}, Dtype::float16);
    Loss loss = loss_of(input, shares);
    REQUIRE(read_loss(loss) == diopiSuccess);
    CHECK(loss.has_probabilities());
    CHECK(loss.samples() == 6);
}

TEST_CASE("cuda: one gradient serves all samples, or each has its own, also seen with the classes") {
    const Layout input = contiguous({2, 7, 3}), target = contiguous({2, 3}, Dtype::int64);
    Loss loss = loss_of(input, target, ReductionNone);
    REQUIRE(read_loss(loss) == diopiSuccess);
    const Layout columns{{2, 3}, {1, 2}}, flat = contiguous({6}), single = contiguous({1});
    const ReducedView each(loss, columns.view(), true), reshaped(loss, flat.view(), false),
        all(loss, single.view(), true);
    const auto strides = [](const View& v) { return copied(v.strides); };
    CHECK(strides(each) == Shape{1, 0, 2});
    CHECK(strides(reshaped) == Shape{3, 1});
    CHECK(strides(all) == Shape{0, 0, 0});
    const View& seen = each;
    CHECK(copied(seen.shape) == Shape{2, 7, 3});
    CHECK(seen.numel == 42);
}

TEST_CASE("cuda: losses refuse what they cannot read, and say what they want") {
    const Layout input = contiguous({4, 5}), target = contiguous({4}, Dtype::int64);
    CHECK(read(input, target) == diopiSuccess);
    CHECK(read(contiguous({4, 5}, Dtype::int64), target) == diopiDtypeNotSupported);
    CHECK_THAT(last_error(), Catch::Contains("op: input is int64, wanted a floating dtype"));
    CHECK(read(contiguous({}), target) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("wanted (C) or (N, C, ...)"));
    CHECK(read(input, contiguous({4})) == diopiDtypeNotSupported);
    CHECK_THAT(last_error(), Catch::Contains("int64, or probabilities in the shape of input"));
    CHECK(read(input, contiguous({5}, Dtype::int64)) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("op: target has shape (5,), wanted (4,)"));
    CHECK(read(input, target, static_cast<diopiReduction_t>(7)) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("reduction is 7, wanted none, mean or sum"));

    const auto weight = make_tensor(cpu_device(), {{4}, Dtype::float32, {}});
    REQUIRE(weight.ok());
    Loss weighted = loss_of(input, target);
    weighted.weight = weight->get();
    CHECK(read_loss(weighted) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("op: weight has shape (4,), wanted (5,)"));
}

TEST_CASE("cuda: a loss is one element, or one for each sample") {
    const Layout input = contiguous({4, 5}), target = contiguous({4}, Dtype::int64);
    Loss mean = loss_of(input, target), none = loss_of(input, target, ReductionNone);
    REQUIRE(read_loss(mean) == diopiSuccess);
    REQUIRE(read_loss(none) == diopiSuccess);
    CHECK(check_reduced(mean, "out", contiguous({}).view()) == diopiSuccess);
    CHECK(check_reduced(none, "out", contiguous({4}).view()) == diopiSuccess);
    CHECK(check_reduced(none, "out", contiguous({2, 2}).view()) == diopiSuccess);
    CHECK(check_reduced(mean, "out", contiguous({4}).view()) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("op: out has shape (4,), wanted 1 elements"));
    CHECK(check_reduced(none, "out", contiguous({}).view()) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("wanted 4 elements"));
    CHECK(read_gradient(mean, contiguous({4, 4}).view(), contiguous({}).view()) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("op: grad_input has shape (4, 4), wanted (4, 5)"));
}

TEST_CASE("cuda: threads share a sample where its classes are neighbours in memory") {
    const Layout target = contiguous({64}, Dtype::int64);
    const auto bits = [&](const Layout& input) { return class_slice_bits(loss_of(input, target)); };
    CHECK(bits(contiguous({64, 1000})) == 5);
    CHECK(bits(contiguous({64, 9})) == 1);
    CHECK(bits(contiguous({64, 3})) == 0);
    CHECK(bits(contiguous({64, 0})) == 0);
    CHECK(bits(contiguous({64, 32000})) == 8);
    CHECK(bits(contiguous({32000})) == 8);
    CHECK(bits(Layout{{64, 1000}, {1, 64}}) == 0);
    CHECK(bits(contiguous({2, 150, 8, 4})) == 0);
    CHECK(bits(Layout{{2, 150, 8, 4}, {4800, 1, 600, 150}}) == 5);
}

TEST_CASE("cuda: packs of classes need neighbours, whole packs and aligned memory") {
    const Layout target = contiguous({64}, Dtype::int64), input = contiguous({64, 1000});
    const Loss loss = loss_of(input, target);
    View v = input.view();
    CHECK(has_class_packs(loss, v, 4));
    CHECK_FALSE(has_class_packs(loss, v, 1));
    v.data += 8;
    CHECK_FALSE(has_class_packs(loss, v, 4));
    const Layout odd = contiguous({64, 81}), gaps{{64, 1000}, {1001, 1}}, columns{{64, 1000}, {1, 64}};
    CHECK_FALSE(has_class_packs(loss_of(odd, target), odd.view(), 4));
    CHECK_FALSE(has_class_packs(loss, gaps.view(), 4));
    CHECK_FALSE(has_class_packs(loss, columns.view(), 4));
}

TEST_CASE("cuda: sums over samples take at least one block and so many that one more can sum up theirs") {
    CHECK(sum_blocks(0, 0) == 1);
    CHECK(sum_blocks(kThreads, 0) == 1);
    CHECK(sum_blocks(kThreads + 1, 0) == 2);
    CHECK(sum_blocks(kThreads, 5) == 32);
    CHECK(sum_blocks(INT64_MAX, 8) == 1024);
}

}  // namespace diopi::cuda
