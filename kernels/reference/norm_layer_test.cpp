#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

struct LayerNorm {
    TensorPtr x, weight, bias, out, mean, invstd;
    Shape normalized;
    double eps = 0;

    LayerNorm(TensorPtr input, const Shape& statistics, Shape last)
        : x(std::move(input)),
          out(make(x->shape)),
          mean(make(statistics)),
          invstd(make(statistics)),
          normalized(std::move(last)) {}

    diopiError_t run() const {
        return reference::diopiLayerNorm(context(), out.get(), mean.get(), invstd.get(), x.get(), weight.get(),
                                         bias.get(), sizes(normalized), eps);
    }
};

}  // namespace

TEST_CASE("layer_norm normalises each row by itself", "[reference][layer_norm]") {
    LayerNorm call(tensor({2, 2}, {1, 3, -4, 4}), {2}, {2});
    REQUIRE(call.run() == diopiSuccess);
    check_close(call.out, {-1, 1, -1, 1});
    check_close(call.mean, {2, 0});
    check_close(call.invstd, {1, 0.25});
    call.weight = tensor({2}, {2, 3});
    call.bias = tensor({2}, {10, 20});
    call.mean = make({2, 1});
    REQUIRE(call.run() == diopiSuccess);
    check_close(call.out, {8, 23, 8, 23});
    check_close(call.mean, {2, 0});
}

TEST_CASE("layer_norm over all dims, without a variance and without elements", "[reference][layer_norm]") {
    LayerNorm whole(tensor({2, 2}, {1, 1, 5, 5}), {}, {2, 2});
    REQUIRE(whole.run() == diopiSuccess);
    check_close(whole.out, {-1, -1, 1, 1});
    LayerNorm flat(tensor({1, 2}, {7, 7}), {1}, {2});
    REQUIRE(flat.run() == diopiSuccess);
    check_close(flat.out, {kNaN, kNaN});
    flat.eps = -1;
    REQUIRE(flat.run() == diopiSuccess);
    check_close(flat.invstd, {kNaN});
    LayerNorm empty(make({2, 0}), {2}, {0});
    REQUIRE(empty.run() == diopiSuccess);
    check_close(empty.mean, {kNaN, kNaN});
    CHECK(LayerNorm(make({0, 3}), {0}, {3}).run() == diopiSuccess);
}

TEST_CASE("layer_norm refuses what does not end in the normalised shape", "[reference][layer_norm]") {
    CHECK(LayerNorm(make({2, 3}), {2}, {2}).run() == diopiErrorOccurred);
    CHECK(last_error() == "input has shape (2, 3), wanted one that ends in normalized_shape (2,)");
    CHECK(LayerNorm(make({2, 3}), {2}, {}).run() == diopiErrorOccurred);
    CHECK(LayerNorm(make({3}), {}, {2, 3}).run() == diopiErrorOccurred);
    LayerNorm call(make({2, 3}), {2}, {3});
    call.bias = make({2});
    CHECK(call.run() == diopiErrorOccurred);
    CHECK(last_error() == "bias has shape (2,), wanted (3,)");
    CHECK(LayerNorm(make({2, 3}), {3}, {3}).run() == diopiErrorOccurred);
    CHECK(last_error() == "save_mean has shape (3,), wanted (2,)");
}

TEST_CASE("layer_norm backward is the derivative of layer_norm", "[reference][layer_norm][gradient]") {
    for (const auto& [shape, dims] : {std::pair<Shape, int64_t>{{4, 6}, 1}, {{2, 3, 4}, 2}, {{7}, 1}}) {
        for (const bool affine : {true, false}) {
            const Shape last(shape.end() - dims, shape.end()), leading(shape.begin(), shape.end() - dims);
            LayerNorm call(random(shape, 1), leading, last);
            call.eps = 0.01;
            if (affine) call.weight = random(last, 2);
            if (affine) call.bias = random(last, 3);
            const Values weights = random_values(numel(shape), 4);
            const TensorPtr g = tensor(shape, weights), gx = make(shape), gw = make(last), gb = make(last);
            const auto run = [&] {
                REQUIRE(call.run() == diopiSuccess);
                return values_of(call.out);
            };
            run();
            const auto backward = [&](diopiTensorHandle_t a, diopiTensorHandle_t b, diopiTensorHandle_t c) {
                return reference::diopiLayerNormBackward(context(), a, b, c, g.get(), call.x.get(), call.weight.get(),
                                                         call.bias.get(), call.mean.get(), call.invstd.get(),
                                                         sizes(last));
            };
            REQUIRE(backward(gx.get(), gw.get(), gb.get()) == diopiSuccess);
            check_gradient(call.x, gx, weights, run);
            if (affine) check_gradient(call.weight, gw, weights, run);
            if (affine) check_gradient(call.bias, gb, weights, run);
            CHECK(backward(nullptr, nullptr, nullptr) == diopiSuccess);
        }
    }
}
