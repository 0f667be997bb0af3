#include <functional>
#include <limits>

#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// A norm of x, with two parameters that may be null, and its gradients.
struct Norm {
    std::function<diopiError_t(const Norm&)> forward, backward;
    TensorPtr x, weight, bias, out = make(x->shape), mean = nullptr, invstd = nullptr, grad = random(x->shape, 7);
    TensorPtr gx = make(x->shape), gw = weight ? make(weight->shape) : nullptr, gb = bias ? make(bias->shape) : nullptr;

    void check() const {
        REQUIRE(forward(*this) == diopiSuccess);
        REQUIRE(backward(*this) == diopiSuccess);
        const Values weights = values_of(grad);
        const auto again = [&] {
            REQUIRE(forward(*this) == diopiSuccess);
            return values_of(out);
        };
        const Values gradients[] = {values_of(gx), gw ? values_of(gw) : Values(), gb ? values_of(gb) : Values()};
        check_gradient(x, tensor(x->shape, gradients[0]), weights, again);
        if (weight) check_gradient(weight, tensor(weight->shape, gradients[1]), weights, again);
        if (bias) check_gradient(bias, tensor(bias->shape, gradients[2]), weights, again);
    }
};

}  // namespace

TEST_CASE("group_norm backward is the derivative of group_norm", "[reference][group_norm][gradient]") {
    for (const int64_t groups : {1, 2, 6}) {
        for (const bool affine : {true, false}) {
            Norm norm{[=](const Norm& n) {
                          return reference::diopiGroupNorm(context(), n.out.get(), n.mean.get(), n.invstd.get(),
                                                           n.x.get(), n.weight.get(), n.bias.get(), groups, 0.01);
                      },
                      [=](const Norm& n) {
                          return reference::diopiGroupNormBackward(context(), n.gx.get(), n.gw.get(), n.gb.get(),
                                                                   n.grad.get(), n.x.get(), n.weight.get(),
                                                                   n.mean.get(), n.invstd.get(), groups);
                      },
                      random({2, 6, 3}, 1), affine ? random({6}, 2) : nullptr, affine ? random({6}, 3) : nullptr};
            norm.mean = make({2, groups});
            norm.invstd = make({2, groups});
            norm.check();
        }
    }
}

TEST_CASE("instance_norm backward is the derivative of instance_norm", "[reference][instance_norm][gradient]") {
    for (const bool affine : {true, false}) {
        Norm{[](const Norm& n) {
                 return reference::diopiInstanceNorm(context(), n.out.get(), n.x.get(), 1, n.weight.get(), n.bias.get(),
                                                     0.01);
             },
             [](const Norm& n) {
                 return reference::diopiInstanceNormBackward(context(), n.gx.get(), n.gw.get(), n.gb.get(),
                                                             n.grad.get(), n.x.get(), n.weight.get(), n.bias.get(), -2,
                                                             0.01);
             },
             random({2, 3, 5}, 1), affine ? random({3}, 2) : nullptr, affine ? random({3}, 3) : nullptr}
            .check();
    }
    const TensorPtr x = random({2, 3, 5}, 1);
    CHECK(reference::diopiInstanceNorm(context(), x.get(), x.get(), 2, nullptr, nullptr, 0) == diopiErrorOccurred);
    CHECK(last_error() == "axis is 2, wanted 1, the channels of input");
}

TEST_CASE("layer_normGB backward is the derivative of layer_normGB", "[reference][layer_normGB][gradient]") {
    for (const int64_t axis : {0, 1, 2}) {
        const Shape shape = {2, 3, 4}, leading(shape.begin(), shape.begin() + axis);
        const Shape last(shape.begin() + axis, shape.end());
        Norm norm{[=](const Norm& n) {
                      return reference::diopiLayerNormGB(context(), n.out.get(), n.mean.get(), n.invstd.get(),
                                                         n.x.get(), n.weight.get(), n.bias.get(), 0.01, axis);
                  },
                  [=](const Norm& n) {
                      return reference::diopiLayerNormGBBackward(context(), n.gx.get(), n.gw.get(), n.gb.get(),
                                                                 n.grad.get(), n.x.get(), n.weight.get(), n.bias.get(),
                                                                 n.mean.get(), n.invstd.get(), axis);
                  },
                  random(shape, 1), random(last, 2), random(last, 3)};
        norm.mean = make(leading);
        norm.invstd = make(leading);
        norm.check();
    }
}

TEST_CASE("normalize backward is the derivative of normalize", "[reference][normalize][gradient]") {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float p : {2.0F, 1.0F, 3.0F, 0.5F, infinity, -infinity}) {
        for (const double eps : {1e-12, 100.0}) {
            for (const int64_t axis : {0, -1}) {
                Norm{[=](const Norm& n) {
                         return reference::diopiNormalize(context(), n.out.get(), n.x.get(), p, axis, eps);
                     },
                     [=](const Norm& n) {
                         return reference::diopiNormalizeBackward(context(), n.gx.get(), n.grad.get(), n.x.get(), p,
                                                                  axis, eps);
                     },
                     random({3, 4}, 5), nullptr, nullptr}
                    .check();
            }
        }
    }
}

TEST_CASE("the parts of a batch norm make its gradient", "[reference][batch_norm_backward_elemt][gradient]") {
    const TensorPtr count = tensor({2}, {4, 6}), sums = make({3}), products = make({3});
    Norm norm{[](const Norm& n) {
                  const diopiError_t error =
                      reference::diopiBatchNormStats(context(), n.mean.get(), n.invstd.get(), n.x.get(), 0.01);
                  if (error != diopiSuccess) return error;
                  return reference::diopiBatchNormElemt(context(), n.out.get(), n.x.get(), n.weight.get(), n.bias.get(),
                                                        n.mean.get(), n.invstd.get(), 0.01F);
              },
              [=](const Norm& n) {
                  const diopiError_t error = reference::diopiBatchNormBackwardReduce(
                      context(), sums.get(), products.get(), n.gw.get(), n.gb.get(), n.grad.get(), n.x.get(),
                      n.mean.get(), n.invstd.get(), n.weight.get(), true, true, true);
                  if (error != diopiSuccess) return error;
                  return reference::diopiBatchNormBackwardElemt(context(), n.gx.get(), n.grad.get(), n.x.get(),
                                                                n.mean.get(), n.invstd.get(), n.weight.get(),
                                                                sums.get(), products.get(), count.get());
              },
              random({2, 3, 5}, 1), random({3}, 2), random({3}, 3)};
    norm.mean = make({3});
    norm.invstd = make({3});
    norm.check();
}
