#include <functional>

#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

using Forward = std::function<diopiError_t(diopiTensorHandle_t*)>;

/// The values of a tensor that the function makes, and its shape.
Values made_by(const Forward& forward, Shape* shape = nullptr) {
    diopiTensorHandle_t out = nullptr;
    REQUIRE(forward(&out) == diopiSuccess);
    REQUIRE(out != nullptr);
    if (shape != nullptr) *shape = out->shape;
    return values_of(*out);
}

/// For functions that fill a tensor which the caller provides.
Forward into(const TensorPtr& y, std::function<diopiError_t(diopiTensorHandle_t)> run) {
    return [=](diopiTensorHandle_t* out) {
        *out = y.get();
        return run(y.get());
    };
}

}  // namespace

TEST_CASE("the gradients of functions that take elements by their places are their derivatives",
          "[reference][index][gradient]") {
    const TensorPtr x = random({4, 3}, 1), gx = make({4, 3});
    const Shape shape = {4, 3};
    const TensorPtr rows = tensor({5}, {3, 0, 3, 1, 3}, Dtype::int64);
    const TensorPtr each = tensor({5, 2}, {3, 0, 3, 1, 3, 0, 2, 2, 1, 1}, Dtype::int64);
    const TensorPtr mask =
        tensor({2, 4, 3}, {1, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1}, Dtype::boolean);
    diopiConstTensorHandle_t indices[] = {nullptr, rows.get()};
    const TensorPtr columns = tensor({5}, {2, 0, -1, 1, 2}, Dtype::int64);
    indices[1] = columns.get();
    const auto check = [&](int64_t size, const Forward& forward, const auto& backward) {
        const Values weights = random_values(size, 2);
        Shape taken;
        made_by(forward, &taken);
        const TensorPtr g = tensor(taken, weights);
        REQUIRE(backward(g) == diopiSuccess);
        check_gradient(x, gx, weights, [&] { return made_by(forward); });
    };
    diopiContextHandle_t ctx = context();
    check(4, into(make({4}), [&](auto y) { return reference::diopiSelect(ctx, y, x.get(), 1, -1); }),
          [&](auto g) { return reference::diopiSelectBackward(ctx, gx.get(), g.get(), sizes(shape), 1, -1); });
    check(6, into(make({2, 3}), [&](auto y) { return reference::diopiSlice(ctx, y, x.get(), 0, -3, 9, 2); }),
          [&](auto g) { return reference::diopiSliceBackward(ctx, gx.get(), g.get(), sizes(shape), 0, -3, 9, 2); });
    check(15, into(make({5, 3}), [&](auto y) { return reference::diopiIndexSelect(ctx, y, x.get(), 0, rows.get()); }),
          [&](auto g) {
              return reference::diopiIndexSelectBackward(ctx, gx.get(), g.get(), sizes(shape), 0, rows.get());
          });
    check(10, into(make({5, 2}), [&](auto y) { return reference::diopiGather(ctx, y, x.get(), 0, each.get()); }),
          [&](auto g) { return reference::diopiGatherBackward(ctx, gx.get(), g.get(), x.get(), 0, each.get()); });
    check(
        20, [&](auto out) { return reference::diopiIndex(ctx, out, x.get(), indices, 2); },
        [&](auto g) {
            return reference::diopiIndexBackward(ctx, gx.get(), make({4, 3}).get(), indices, 2, g.get());
        });
    check(
        15, [&](auto out) { return reference::diopiMaskedSelect(ctx, out, x.get(), mask.get()); },
        [&](auto g) { return reference::diopiMaskedSelectBackward(ctx, gx.get(), g.get(), x.get(), mask.get()); });
}

TEST_CASE("the dims of index tensors stand in front where other dims separate the indexed ones", "[reference][index]") {
    const TensorPtr x = tensor({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    const TensorPtr first = tensor({2, 1}, {1, -2}, Dtype::int32), last = tensor({2}, {1, 0}, Dtype::int64);
    diopiConstTensorHandle_t apart[] = {first.get(), nullptr, last.get()}, beside[] = {nullptr, last.get(), last.get()};
    Shape shape;
    const Values taken =
        made_by([&](auto out) { return reference::diopiIndex(context(), out, x.get(), apart, 3); }, &shape);
    CHECK(shape == Shape{2, 2, 3});
    CHECK(taken == Values{7, 9, 11, 6, 8, 10, 1, 3, 5, 0, 2, 4});
    CHECK(made_by([&](auto out) { return reference::diopiIndex(context(), out, x.get(), beside, 3); }, &shape) ==
          Values{3, 0, 9, 6});
    CHECK(shape == Shape{2, 2});
}

TEST_CASE("the reference refuses places that do not exist", "[reference][index]") {
    const TensorPtr x = make({3, 2}), y = make({1, 2}), g = make({1, 2});
    diopiTensorHandle_t made = nullptr;
    for (const double place : {3.0, -4.0}) {
        const TensorPtr at = tensor({1}, {place}, Dtype::int64), each = tensor({1, 2}, {place, 0}, Dtype::int64);
        diopiConstTensorHandle_t indices[] = {at.get()};
        const diopiScalar_t one = number(1);
        CHECK(reference::diopiIndexSelect(context(), y.get(), x.get(), 0, at.get()) == diopiErrorOccurred);
        CHECK(reference::diopiGather(context(), y.get(), x.get(), 0, each.get()) == diopiErrorOccurred);
        CHECK(reference::diopiScatter(context(), make({3, 2}).get(), x.get(), 0, g.get(), each.get(), "") ==
              diopiErrorOccurred);
        CHECK(reference::diopiIndexFillScalar(context(), make({3, 2}).get(), x.get(), 0, at.get(), &one) ==
              diopiErrorOccurred);
        CHECK(reference::diopiIndex(context(), &made, x.get(), indices, 1) == diopiErrorOccurred);
        CHECK(reference::diopiSelect(context(), make({2}).get(), x.get(), 0, static_cast<int64_t>(place)) ==
              diopiErrorOccurred);
    }
    // A negative place counts from the end only where PyTorch takes it.
    const TensorPtr last = tensor({1}, {-1}, Dtype::int64), last_of_each = tensor({1, 2}, {-1, 0}, Dtype::int64);
    CHECK(reference::diopiIndexSelect(context(), y.get(), x.get(), 0, last.get()) == diopiErrorOccurred);
    CHECK(reference::diopiGather(context(), y.get(), x.get(), 0, last_of_each.get()) == diopiErrorOccurred);
    diopiConstTensorHandle_t from_end[] = {last.get()};
    CHECK(reference::diopiIndex(context(), &made, x.get(), from_end, 1) == diopiSuccess);
}
