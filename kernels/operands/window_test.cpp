#include "kernels/operands/window.hpp"

#include <catch2/catch.hpp>

#include "kernels/operands/testing.hpp"

namespace diopi::operands {
namespace {

using testing::contiguous;
using testing::Layout;

diopiSize_t list(const Shape& numbers) { return {numbers.data(), static_cast<int64_t>(numbers.size())}; }

struct SideCase {
    int64_t size, kernel, stride, padding, dilation;
    bool ceil_mode;
};

/// The output sides are PyTorch's.
const std::pair<SideCase, int64_t> kSideCases[] = {
    {{12, 6, 6, 0, 1, false}, 2},   {{20, 6, 6, 0, 1, false}, 3},    {{17, 6, 3, 2, 4, true}, 1},
    {{22, 12, 100, 6, 3, true}, 1}, {{17, 6, 3, 2, 2, false}, 4},    {{17, 6, 3, 2, 2, true}, 5},
    {{23, 8, 2, 3, 3, true}, 5},    {{112, 3, 2, 1, 1, false}, 56},  {{26, 2, 1, 1, 1, false}, 27},
    {{4, 3, 2, 0, 2, true}, 1},     {{528, 3, 2, 1, 1, false}, 264}, {{3, 5, 1, 0, 1, true}, 0},
    {{6, 2, 2, 1, 1, true}, 4},     {{5, 2, 3, 1, 1, true}, 2}};

}  // namespace

TEST_CASE("a side has as many windows as in PyTorch") {
    for (const auto& [s, windows] : kSideCases) {
        INFO(s.size << " elements, kernel " << s.kernel << ", stride " << s.stride);
        const Window window{{1, 1, s.kernel}, {1, 1, s.stride}, {0, 0, s.padding}, {1, 1, s.dilation}};
        CHECK(window.places(2, s.size, s.ceil_mode) == windows);
        CHECK(window.places(0, 1, s.ceil_mode) == 1);
    }
}

TEST_CASE("the places whose element is inside a side are counted") {
    for (const int64_t stride : {1, 2, 3}) {
        for (int64_t offset = -7; offset <= 7; ++offset) {
            const Span span = inside(4, stride, offset, 5);
            for (int64_t p = 0; p < 4; ++p) {
                const int64_t element = p * stride + offset;
                CHECK((p >= span.first && p < span.last) == (element >= 0 && element < 5));
            }
        }
    }
}

TEST_CASE("an image of fewer sides has the last ones") {
    const Layout line = contiguous({3, 7}), plane = contiguous({2, 3, 5, 7}), cube = contiguous({2, 3, 4, 5, 7});
    CHECK(Images(1, line.view()).sizes == std::array<int64_t, 5>{1, 3, 1, 1, 7});
    CHECK(Images(2, plane.view()).sizes == std::array<int64_t, 5>{2, 3, 1, 5, 7});
    CHECK(Images(2, plane.view()).strides[3] == 7);
    CHECK(Images(3, cube.view()).strides == std::array<int64_t, 5>{420, 140, 35, 7, 1});
    CHECK(Images::fits(1, line.view()));
    CHECK_FALSE(Images::fits(2, line.view()));
    CHECK_FALSE(Images::fits(2, cube.view()));
    CHECK(is_contiguous(Images(1, line.view()).view().shape, Images(1, line.view()).view().strides));
}

TEST_CASE("a list has one number for all sides, or one for each") {
    const Sides missing{7, 8, 9};
    CHECK(sides_of(2, list({}), missing) == missing);
    CHECK(sides_of(2, list({3}), missing) == Sides{7, 3, 3});
    CHECK(sides_of(2, list({3, 4}), missing) == Sides{7, 3, 4});
    CHECK(sides_of(1, list({3}), missing) == Sides{7, 8, 3});
    CHECK(sides_of(3, list({3, 4, 5}), missing) == Sides{3, 4, 5});
    CHECK(sides_of(3, list({3}), missing) == Sides{3, 3, 3});
}

}  // namespace diopi::operands
