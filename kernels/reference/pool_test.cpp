#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

struct Window {
    Shape kernel, stride, padding, dilation;
    bool ceil_mode;
};

diopiError_t pool(const TensorPtr& y, const TensorPtr& places, const TensorPtr& x, const Window& w) {
    if (places == nullptr) {
        return reference::diopiMaxPool2d(context(), y.get(), x.get(), sizes(w.kernel), sizes(w.stride),
                                         sizes(w.padding), sizes(w.dilation), w.ceil_mode);
    }
    return reference::diopiMaxPool2dWithIndices(context(), y.get(), places.get(), x.get(), sizes(w.kernel),
                                                sizes(w.stride), sizes(w.padding), sizes(w.dilation), w.ceil_mode);
}

}  // namespace

TEST_CASE("max_pool2d of a 3 by 4 plane by hand", "[reference][max_pool2d]") {
    const TensorPtr x = tensor({1, 3, 4}, {1, 5, 2, 5, 8, 5, 0, 1, 3, 4, 9, 9});
    const TensorPtr y = make({1, 2, 3});
    const TensorPtr places = make({1, 2, 3}, Dtype::int64);
    REQUIRE(pool(y, places, x, {{2}, {1}, {0}, {1}, false}) == diopiSuccess);
    check_close(y, {8, 5, 5, 8, 9, 9});
    check_close(places, {4, 1, 3, 4, 10, 10});

    const TensorPtr narrow = make({1, 2, 3}, Dtype::int32);
    REQUIRE(pool(y, narrow, x, {{2}, {1}, {0}, {1}, false}) == diopiSuccess);
    check_close(narrow, {4, 1, 3, 4, 10, 10});

    // An empty stride is the kernel's; ceil_mode keeps the last row.
    const TensorPtr coarse = make({1, 2, 2});
    REQUIRE(pool(coarse, nullptr, x, {{2}, {}, {0}, {1}, true}) == diopiSuccess);
    check_close(coarse, {8, 5, 4, 9});
    const TensorPtr floored = make({1, 1, 2});
    REQUIRE(pool(floored, nullptr, x, {{2}, {}, {0}, {1}, false}) == diopiSuccess);
    check_close(floored, {8, 5});
}

TEST_CASE("max_pool2d pads with -infinity, dilates, and lets NaN win", "[reference][max_pool2d]") {
    const TensorPtr x = tensor({1, 1, 3, 3}, {-1, -2, -3, -4, kNaN, -6, -7, -8, -9});
    const TensorPtr y = make({1, 1, 2, 2});
    const TensorPtr places = make({1, 1, 2, 2}, Dtype::int64);
    REQUIRE(pool(y, places, x, {{2}, {2}, {1}, {1}, false}) == diopiSuccess);
    check_close(y, {-1, -2, -4, kNaN});
    check_close(places, {0, 1, 3, 4});
    const TensorPtr alone = make({1, 1, 2, 2});
    REQUIRE(pool(alone, nullptr, x, {{2}, {2}, {1}, {1}, false}) == diopiSuccess);
    check_close(alone, {-1, -2, -4, kNaN});
    const TensorPtr one = make({1, 1, 1, 1});
    REQUIRE(pool(one, nullptr, x, {{2}, {1}, {0}, {2}, false}) == diopiSuccess);
    check_close(one, {-1});
    const TensorPtr least = tensor({1, 2, 2}, Values(4, -kInf));
    const TensorPtr place = make({1, 1, 1}, Dtype::int64);
    const TensorPtr out = make({1, 1, 1});
    REQUIRE(pool(out, place, least, {{2}, {2}, {0}, {1}, false}) == diopiSuccess);
    check_close(out, {-kInf});
    check_close(place, {0});
}

TEST_CASE("max_pool2d: a window larger than the input under ceil_mode", "[reference][max_pool2d]") {
    // Rows: 4 - 2 * 2 - 1 = -1, rounded up by a stride of 2: one window, cut off below.
    const TensorPtr x = random({3, 4, 10}, 1);
    const TensorPtr y = make({3, 1, 4});
    REQUIRE(pool(y, nullptr, x, {{3}, {2}, {0}, {2}, true}) == diopiSuccess);
    const Values v = values_of(x);
    CHECK(values_of(y)[0] == std::max({v[0], v[2], v[4], v[20], v[22], v[24]}));
    CHECK(values_of(y)[3] == std::max({v[6], v[8], v[26], v[28]}));
    CHECK(pool(y, nullptr, x, {{3}, {2}, {0}, {2}, false}) == diopiErrorOccurred);
    // A third window would begin at 3, in the right padding: it is dropped.
    const TensorPtr row = tensor({1, 1, 3}, {1, 2, 3});
    const TensorPtr two = make({1, 1, 2});
    REQUIRE(pool(two, nullptr, row, {{1, 2}, {1, 2}, {0, 1}, {1}, true}) == diopiSuccess);
    check_close(two, {1, 3});
}

TEST_CASE("max_pool2d of every stride agrees with a search", "[reference][max_pool2d]") {
    const TensorPtr x = random({2, 2, 9, 11}, 5);
    const Values v = values_of(x);
    for (const int64_t stride : {1, 2, 3}) {
        const int64_t height = (9 + 2 - 3) / stride + 1;
        const int64_t width = (11 + 2 - 3) / stride + 1;
        const TensorPtr y = make({2, 2, height, width});
        REQUIRE(pool(y, nullptr, x, {{3}, {stride}, {1}, {1}, false}) == diopiSuccess);
        Values wanted;
        for (int64_t p = 0; p < 4; ++p) {
            for (int64_t oy = 0; oy < height; ++oy) {
                for (int64_t ox = 0; ox < width; ++ox) {
                    double best = -kInf;
                    for (int64_t iy = std::max<int64_t>(oy * stride - 1, 0); iy < std::min<int64_t>(oy * stride + 2, 9);
                         ++iy) {
                        for (int64_t ix = std::max<int64_t>(ox * stride - 1, 0);
                             ix < std::min<int64_t>(ox * stride + 2, 11); ++ix) {
                            best = std::max(best, v[static_cast<size_t>((p * 9 + iy) * 11 + ix)]);
                        }
                    }
                    wanted.push_back(best);
                }
            }
        }
        CHECK(values_of(y) == wanted);
    }
}

TEST_CASE("max_pool2d of no images, half tensors, and what it refuses", "[reference][max_pool2d]") {
    CHECK(pool(make({0, 2, 1, 1}), nullptr, make({0, 2, 2, 2}), {{2}, {2}, {0}, {1}, false}) == diopiSuccess);
    const TensorPtr half = tensor({1, 2, 2}, {1, 2, 3, 0.5}, Dtype::float16, {1, 1, 2});
    const TensorPtr y = make({1, 1, 1}, Dtype::float16);
    const TensorPtr place = make({1, 1, 1}, Dtype::int64);
    REQUIRE(pool(y, place, half, {{2}, {2}, {0}, {1}, false}) == diopiSuccess);
    check_close(y, {3});
    check_close(place, {2});
    CHECK(pool(y, nullptr, half, {{2}, {2}, {2}, {1}, false}) == diopiErrorOccurred);
    CHECK(pool(make({1, 2, 1}), nullptr, half, {{2}, {2}, {0}, {1}, false}) == diopiErrorOccurred);
    CHECK(pool(make({2}), nullptr, make({4}), {{2}, {2}, {0}, {1}, false}) == diopiErrorOccurred);
}

TEST_CASE("max_pool2d backward is the derivative of max_pool2d", "[reference][max_pool2d][gradient]") {
    const TensorPtr x = random({2, 2, 5, 6}, 1);
    const Window w{{3}, {2, 1}, {1}, {1}, false};
    const Shape out = {2, 2, 3, 6};
    const TensorPtr y = make(out);
    const TensorPtr places = make(out, Dtype::int64);
    const Values weights = random_values(numel(out), 2);
    const TensorPtr g = tensor(out, weights);
    const TensorPtr gx = make({2, 2, 5, 6});
    const auto backward = [&] {
        return reference::diopiMaxPool2dBackward(context(), gx.get(), g.get(), x.get(), sizes(w.kernel),
                                                 sizes(w.stride), sizes(w.padding), sizes(w.dilation), w.ceil_mode,
                                                 places.get());
    };
    REQUIRE(pool(y, places, x, w) == diopiSuccess);
    REQUIRE(backward() == diopiSuccess);
    check_gradient(x, gx, weights, [&] {
        REQUIRE(pool(y, nullptr, x, w) == diopiSuccess);
        return values_of(y);
    });
    const Values gradient = values_of(gx);
    const TensorPtr narrow = tensor(out, values_of(places), Dtype::int32);
    REQUIRE(reference::diopiMaxPool2dBackward(context(), gx.get(), g.get(), x.get(), sizes(w.kernel), sizes(w.stride),
                                              sizes(w.padding), sizes(w.dilation), w.ceil_mode,
                                              narrow.get()) == diopiSuccess);
    CHECK(values_of(gx) == gradient);
    places->data_as<int64_t>()[3] = 30;
    CHECK(backward() == diopiErrorOccurred);
    CHECK(last_error() == "indices holds 30, wanted a place in a plane of 30 elements");
}

TEST_CASE("adaptive_avg_pool2d averages parts that may overlap", "[reference][adaptive_avg_pool2d]") {
    const TensorPtr x = tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6});
    const TensorPtr y = make({1, 1, 2});
    REQUIRE(reference::diopiAdaptiveAvgPool2d(context(), y.get(), x.get(), sizes({1, 2})) == diopiSuccess);
    check_close(y, {3, 4});
    const TensorPtr wide = make({1, 2, 4});
    REQUIRE(reference::diopiAdaptiveAvgPool2d(context(), wide.get(), x.get(), sizes({2, 4})) == diopiSuccess);
    check_close(wide, {1, 1.5, 2.5, 3, 4, 4.5, 5.5, 6});
    CHECK(reference::diopiAdaptiveAvgPool2d(context(), make({4, 7, 0, 0}).get(), make({4, 7, 2, 3}).get(),
                                            sizes({0})) == diopiSuccess);
    CHECK(reference::diopiAdaptiveAvgPool2d(context(), wide.get(), x.get(), sizes({2, 3})) == diopiErrorOccurred);
    const TensorPtr poisoned = tensor({1, 2, 2}, {1, kNaN, 3, 5}, Dtype::float32, {1, 1, 2});
    const TensorPtr column = make({1, 1, 2}, Dtype::float16);
    REQUIRE(reference::diopiAdaptiveAvgPool2d(context(), column.get(), poisoned.get(), sizes({1, 2})) == diopiSuccess);
    check_close(column, {2, kNaN});
}

TEST_CASE("adaptive_avg_pool2d backward is its derivative", "[reference][adaptive_avg_pool2d][gradient]") {
    const TensorPtr x = random({2, 2, 5, 7}, 1);
    const TensorPtr y = make({2, 2, 3, 4});
    const Values weights = random_values(48, 2);
    const TensorPtr gx = make({2, 2, 5, 7});
    REQUIRE(reference::diopiAdaptiveAvgPool2dBackward(context(), gx.get(), tensor(y->shape, weights).get(), x.get()) ==
            diopiSuccess);
    check_gradient(x, gx, weights, [&] {
        REQUIRE(reference::diopiAdaptiveAvgPool2d(context(), y.get(), x.get(), sizes({3, 4})) == diopiSuccess);
        return values_of(y);
    });
}
