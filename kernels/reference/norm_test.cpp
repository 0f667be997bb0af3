#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// The arguments of a batch norm over C channels.
struct BatchNorm {
    TensorPtr x, weight, bias, running_mean, running_var, out, save_mean, save_invstd;
    double momentum = 0.1;
    double eps = 1e-5;

    BatchNorm(TensorPtr input, int64_t channels)
        : x(std::move(input)), out(make(x->shape)), save_mean(make({channels})), save_invstd(make({channels})) {}

    diopiError_t run(bool training) const {
        return reference::diopiBatchNorm(context(), out.get(), save_mean.get(), save_invstd.get(), x.get(),
                                         weight.get(), bias.get(), running_mean.get(), running_var.get(), training,
                                         momentum, eps);
    }
};

}  // namespace

TEST_CASE("batch_norm in training takes the batch's statistics and moves the running ones", "[reference][batch_norm]") {
    // Channel 0: 1, 3, 5, 7; channel 1: 2, 2, 2, 2.
    BatchNorm call(tensor({2, 2, 2}, {1, 3, 2, 2, 5, 7, 2, 2}), 2);
    call.running_mean = tensor({2}, {1, 0});
    call.running_var = tensor({2}, {1, 1});
    call.weight = tensor({2}, {2, 1});
    call.bias = tensor({2}, {0, 5});
    call.eps = 0;
    REQUIRE(call.run(true) == diopiSuccess);
    const double invstd = 1 / std::sqrt(5.0);
    check_close(call.out, {-6 * invstd, -2 * invstd, 5, 5, 2 * invstd, 6 * invstd, 5, 5});
    check_close(call.save_mean, {4, 2});
    check_close(call.save_invstd, {invstd, 0});
    check_close(call.running_mean, {0.9 + 0.4, 0.2});
    check_close(call.running_var, {0.9 + 0.1 * 20 / 3, 0.9});
}

TEST_CASE("batch_norm in evaluation takes the running statistics", "[reference][batch_norm]") {
    BatchNorm call(tensor({2, 2}, {1, 2, 3, 4}, Dtype::float32, {1, 2}), 2);
    call.running_mean = tensor({2}, {1, 0});
    call.running_var = tensor({2}, {4, 0.25});
    call.eps = 0;
    REQUIRE(call.run(false) == diopiSuccess);
    check_close(call.out, {0, 4, 1, 8});
    check_close(call.save_mean, {-77, -77});
    check_close(call.running_mean, {1, 0});
    check_close(call.running_var, {4, 0.25});
    call.running_var = nullptr;
    CHECK(call.run(false) == diopiErrorOccurred);
    CHECK(last_error() == "running_var is null, wanted a tensor");
}

TEST_CASE("batch_norm lets NaN through, of its own making too", "[reference][batch_norm]") {
    BatchNorm call(tensor({2, 2}, {1, 2, 3, kNaN}), 2);
    call.running_mean = tensor({2}, {0, 0});
    call.running_var = tensor({2}, {-1, 1});
    REQUIRE(call.run(false) == diopiSuccess);
    check_close(call.out, {kNaN, 2 / std::sqrt(1 + 1e-5), kNaN, kNaN});
    call.momentum = -0.5;
    call.eps = -2;
    REQUIRE(call.run(true) == diopiSuccess);
    check_close(call.out, {kNaN, kNaN, kNaN, kNaN});
    check_close(call.save_mean, {2, kNaN});
    check_close(call.running_mean, {-1, kNaN});
    check_close(call.running_var, {-1.5 - 0.5 * 2, kNaN});

    BatchNorm single(tensor({1, 1}, {3}), 1);
    single.running_var = tensor({1}, {1});
    REQUIRE(single.run(true) == diopiSuccess);
    check_close(single.out, {0});
    check_close(single.running_var, {kNaN});
}

TEST_CASE("batch_norm of an empty tensor, and what it refuses", "[reference][batch_norm]") {
    BatchNorm empty(make({2, 3, 0}), 3);
    CHECK(empty.run(true) == diopiSuccess);
    CHECK(BatchNorm(make({3}), 3).run(true) == diopiErrorOccurred);
    BatchNorm call(make({2, 3}), 3);
    call.weight = make({2});
    CHECK(call.run(true) == diopiErrorOccurred);
    CHECK(last_error() == "weight has shape (2,), wanted (3,)");
}

TEST_CASE("batch_norm backward is the derivative of batch_norm", "[reference][batch_norm][gradient]") {
    for (const Shape& shape : {Shape{4, 3, 2, 3}, Shape{5, 3}, Shape{2, 3, 4}}) {
        for (const bool training : {true, false}) {
            for (const bool affine : {true, false}) {
                BatchNorm call(random(shape, 1), 3);
                if (affine) call.weight = random({3}, 2);
                if (affine) call.bias = random({3}, 3);
                if (!training) call.running_mean = random({3}, 4);
                if (!training) call.running_var = tensor({3}, {0.5, 1, 2});
                call.eps = 0.01;
                const Values weights = random_values(numel(shape), 5);
                const TensorPtr g = tensor(shape, weights);
                const TensorPtr gx = make(shape);
                const TensorPtr gw = make({3});
                const TensorPtr gb = make({3});
                const auto run = [&] {
                    REQUIRE(call.run(training) == diopiSuccess);
                    return values_of(call.out);
                };
                run();
                const auto backward = [&](diopiTensorHandle_t a, diopiTensorHandle_t b, diopiTensorHandle_t c) {
                    return reference::diopiBatchNormBackward(
                        context(), a, b, c, g.get(), call.x.get(), call.weight.get(), call.running_mean.get(),
                        call.running_var.get(), training ? call.save_mean.get() : nullptr,
                        training ? call.save_invstd.get() : nullptr, training, call.eps);
                };
                REQUIRE(backward(gx.get(), gw.get(), gb.get()) == diopiSuccess);
                check_gradient(call.x, gx, weights, run);
                if (affine) check_gradient(call.weight, gw, weights, run);
                if (affine) check_gradient(call.bias, gb, weights, run);
                CHECK(backward(nullptr, nullptr, nullptr) == diopiSuccess);
            }
        }
    }
}
