#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

TEST_CASE("images are resized by the nearest element, and the gradient goes back to it", "[reference][interpolate]") {
    const TensorPtr x = tensor({1, 1, 3}, {1, 2, kNaN}), y = make({1, 1, 5}), gx = make({1, 1, 3});
    REQUIRE(reference::diopiUpsampleNearest(context(), y.get(), x.get(), sizes({5})) == diopiSuccess);
    check_close(y, {1, 1, 2, 2, kNaN});
    const TensorPtr g = tensor({1, 1, 5}, {1, 2, 3, 4, 5});
    REQUIRE(reference::diopiUpsampleNearestBackward(context(), gx.get(), g.get(), sizes({5}), sizes({1, 1, 3})) ==
            diopiSuccess);
    check_close(gx, {3, 7, 5});
    CHECK(reference::diopiUpsampleNearest(context(), y.get(), x.get(), sizes({4})) != diopiSuccess);
    CHECK(reference::diopiUpsampleNearest(context(), y.get(), x.get(), sizes({5, 5})) != diopiSuccess);
}

TEST_CASE("images are resized between elements, with and without their corners", "[reference][interpolate]") {
    const TensorPtr x = tensor({1, 1, 2}, {0, 8}), y = make({1, 1, 4});
    REQUIRE(reference::diopiUpsampleLinear(context(), y.get(), x.get(), sizes({4}), false, "linear") == diopiSuccess);
    check_close(y, {0, 2, 6, 8});
    const TensorPtr wide = make({1, 1, 5});
    REQUIRE(reference::diopiUpsampleLinear(context(), wide.get(), x.get(), sizes({5}), true, "linear") == diopiSuccess);
    check_close(wide, {0, 2, 4, 6, 8});
    CHECK(reference::diopiUpsampleLinear(context(), wide.get(), x.get(), sizes({5}), true, "bilinear") != diopiSuccess);
    CHECK(reference::diopiUpsampleLinear(context(), wide.get(), x.get(), sizes({5}), true, nullptr) != diopiSuccess);
}

TEST_CASE("gradients of resized images", "[reference][interpolate][gradient]") {
    struct Setting {
        const char* mode;
        Shape in, size;
    };
    const Setting settings[] = {{"linear", {2, 2, 5}, {8}},
                                {"bilinear", {2, 2, 4, 5}, {3, 9}},
                                {"bicubic", {1, 2, 4, 5}, {7, 3}},
                                {"trilinear", {1, 2, 2, 3, 4}, {3, 2, 7}}};
    for (const auto& [mode, in, size] : settings) {
        for (const bool corners : {false, true}) {
            INFO(mode << " " << corners);
            Shape out(in.begin(), in.begin() + 2);
            out.insert(out.end(), size.begin(), size.end());
            const TensorPtr x = random(in, 1), y = make(out), gx = make(in);
            const Values weights = random_values(numel(out), 2);
            REQUIRE(reference::diopiUpsampleLinearBackward(context(), gx.get(), tensor(out, weights).get(), sizes(size),
                                                           sizes(in), corners, mode) == diopiSuccess);
            check_gradient(x, gx, weights, [&] {
                REQUIRE(reference::diopiUpsampleLinear(context(), y.get(), x.get(), sizes(size), corners, mode) ==
                        diopiSuccess);
                return values_of(y);
            });
        }
    }
}

TEST_CASE("points outside of an image are zeros, and ties go to even places", "[reference][grid_sample]") {
    // Along the width, -1, -0.5, 0, 0.5 and 1 are the positions -0.5, 0, 0.5, 1 and 1.5.
    const TensorPtr x = tensor({1, 1, 1, 2}, {4, 8}), y = make({1, 1, 1, 5});
    const TensorPtr grid = tensor({1, 1, 5, 2}, {-1, 0, -0.5, 0, 0, 0, 0.5, 0, 1, 0});
    REQUIRE(reference::diopiGridSample(context(), y.get(), x.get(), grid.get(), "bilinear") == diopiSuccess);
    check_close(y, {2, 4, 6, 8, 4});
    REQUIRE(reference::diopiGridSample(context(), y.get(), x.get(), grid.get(), "nearest") == diopiSuccess);
    check_close(y, {4, 4, 4, 8, 0});
    CHECK(reference::diopiGridSample(context(), y.get(), x.get(), grid.get(), "cubic") != diopiSuccess);
    CHECK(reference::diopiGridSample(context(), y.get(), x.get(), x.get(), "nearest") != diopiSuccess);
}

TEST_CASE("means of regions, their gradient, and regions of images that do not exist",
          "[reference][roi_align][gradient]") {
    // The whole image of a slope is 4 x 4 elements; the mean of each quarter is in the middle of its samples.
    Values slope;
    for (int i = 0; i < 16; ++i) slope.push_back(i % 4);
    const TensorPtr image = tensor({1, 1, 4, 4}, slope), means = make({1, 1, 2, 2});
    REQUIRE(reference::diopiRoiAlign(context(), means.get(), image.get(), tensor({1, 5}, {0, 1, 1, 3, 3}).get(), 1, 2,
                                     2, 1, false) == diopiSuccess);
    check_close(means, {1.5, 2.5, 1.5, 2.5});
    const Shape in{2, 2, 5, 6}, out{2, 2, 3, 2};
    const TensorPtr rois = tensor({2, 5}, {1, -1.7, 0.3, 4.1, 6.3, 0, 2.2, 1.1, 2.6, 1.9});
    for (const int64_t ratio : {-1, 2}) {
        for (const bool aligned : {false, true}) {
            INFO(ratio << " " << aligned);
            const TensorPtr x = random(in, 1), y = make(out), gx = make(in);
            const Values weights = random_values(numel(out), 2);
            REQUIRE(reference::diopiRoiAlignBackward(context(), gx.get(), tensor(out, weights).get(), rois.get(), 0.9,
                                                     3, 2, 2, 2, 5, 6, ratio, aligned) == diopiSuccess);
            check_gradient(x, gx, weights, [&] {
                REQUIRE(reference::diopiRoiAlign(context(), y.get(), x.get(), rois.get(), 0.9, 3, 2, ratio, aligned) ==
                        diopiSuccess);
                return values_of(y);
            });
        }
    }
    const TensorPtr x = random(in, 1), y = make(out);
    for (const double number : {2.0, -1.0, kNaN}) {
        const TensorPtr wrong = tensor({2, 5}, {1, 0, 0, 1, 1, number, 0, 0, 1, 1});
        CHECK(reference::diopiRoiAlign(context(), y.get(), x.get(), wrong.get(), 1, 3, 2, 2, false) != diopiSuccess);
    }
}

TEST_CASE("boxes that overlap a better one are dropped", "[reference][nms]") {
    // The second overlaps the first by 2 / 6, the third by nothing; equal scores keep their order, and NaN is the best.
    const TensorPtr boxes = tensor({4, 4}, {0, 0, 2, 2, 1, 0, 3, 2, 9, 9, 10, 10, 0, 0, 2, 2});
    const auto kept = [&](const Values& scores, double threshold) {
        diopiTensorHandle_t out = nullptr;
        REQUIRE(reference::diopiNms(context(), &out, boxes.get(), tensor({4}, scores).get(), threshold) ==
                diopiSuccess);
        Values places;
        for (int64_t i = 0; i < out->numel(); ++i) places.push_back(get(*out, i));
        return places;
    };
    CHECK(kept({3, 2, 1, 0}, 0.3) == Values{0, 2});
    CHECK(kept({3, 2, 1, 0}, 0.4) == Values{0, 1, 2});
    CHECK(kept({1, 1, 1, kNaN}, 0.3) == Values{3, 2});
    CHECK(kept({1, 1, 1, 1}, 1) == Values{0, 1, 2, 3});
    diopiTensorHandle_t out = nullptr;
    CHECK(reference::diopiNms(context(), &out, boxes.get(), tensor({3}, {1, 2, 3}).get(), 0.5) != diopiSuccess);
}
