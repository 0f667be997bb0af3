#include "kernels/reference/pool.hpp"

#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// The kernel has a number for each side.
struct PoolWindow {
    Shape kernel, stride, padding, dilation;
    bool ceil_mode;

    [[nodiscard]] size_t sides() const { return kernel.size(); }
};

diopiError_t pool(const TensorPtr& y, const TensorPtr& places, const TensorPtr& x, const PoolWindow& w) {
    if (places == nullptr) {
        return reference::max_pool(context(), "op", w.sides(), y.get(), x.get(), sizes(w.kernel), sizes(w.stride),
                                   sizes(w.padding), sizes(w.dilation), w.ceil_mode);
    }
    return reference::max_pool_with_indices(context(), "op", w.sides(), y.get(), places.get(), x.get(), sizes(w.kernel),
                                            sizes(w.stride), sizes(w.padding), sizes(w.dilation), w.ceil_mode);
}

struct PoolSetting {
    Shape input, out;
    PoolWindow window;
};

/// The output sides are those that PyTorch gives.
const PoolSetting kPoolSettings[] = {
    {{2, 2, 9, 11}, {2, 2, 9, 11}, {{3, 3}, {1}, {1}, {1}, false}},
    {{2, 2, 9, 11}, {2, 2, 5, 6}, {{3, 3}, {2}, {1}, {1}, false}},
    {{2, 2, 9, 11}, {2, 2, 3, 4}, {{3, 3}, {3}, {1}, {1}, false}},
    {{2, 3, 11}, {2, 3, 5}, {{4}, {2}, {1}, {1}, false}},
    {{3, 11}, {3, 4}, {{3}, {}, {0}, {1}, true}},
    {{2, 5, 17}, {2, 5, 4}, {{4}, {3}, {1}, {3}, true}},
    {{2, 3, 6, 7, 9}, {2, 3, 3, 7, 4}, {{2, 3, 3}, {2, 1, 2}, {0, 1, 0}, {1}, false}},
    {{2, 4, 5, 8}, {2, 3, 2, 3}, {{2, 2, 3}, {2, 3, 3}, {1, 0, 1}, {1, 2, 1}, true}},
};

/// Plain loops over the places of a plane and the elements of the window, both counted row by row and taken apart side
/// by side. Adds the places to `places`.
Values maxima_by_search(const PoolSetting& s, const Values& x, Values& places) {
    const size_t sides = s.window.sides(), outer = s.input.size() - sides;
    const auto number = [&](const Shape& list, size_t d) { return list[list.size() == 1 ? 0 : d]; };
    const int64_t area = numel(ShapeView(s.input).subspan(outer)), windows = numel(ShapeView(s.out).subspan(outer));
    Values best;
    for (int64_t at = 0; at < numel(s.out); ++at) {
        best.push_back(-kInf);
        places.push_back(-1);
        for (int64_t tap = 0; tap < numel(s.window.kernel); ++tap) {
            int64_t element = 0, step = 1, place = at % windows, rest = tap;
            bool is_inside = true;
            for (size_t d = sides; d-- > 0;) {
                const int64_t stride = s.window.stride.empty() ? s.window.kernel[d] : number(s.window.stride, d);
                const int64_t from = place % s.out[outer + d] * stride - number(s.window.padding, d) +
                                     rest % s.window.kernel[d] * number(s.window.dilation, d);
                is_inside = is_inside && from >= 0 && from < s.input[outer + d];
                element += from * step;
                step *= s.input[outer + d], place /= s.out[outer + d], rest /= s.window.kernel[d];
            }
            if (!is_inside || !(x[static_cast<size_t>(at / windows * area + element)] > best.back())) continue;
            best.back() = x[static_cast<size_t>(at / windows * area + element)];
            places.back() = static_cast<double>(element);
        }
    }
    return best;
}

}  // namespace

TEST_CASE("max_pool2d of a 3 by 4 plane by hand", "[reference][max_pool2d]") {
    const TensorPtr x = tensor({1, 3, 4}, {1, 5, 2, 5, 8, 5, 0, 1, 3, 4, 9, 9});
    const TensorPtr y = make({1, 2, 3});
    const TensorPtr places = make({1, 2, 3}, Dtype::int64);
    REQUIRE(pool(y, places, x, {{2, 2}, {1}, {0}, {1}, false}) == diopiSuccess);
    check_close(y, {8, 5, 5, 8, 9, 9});
    check_close(places, {4, 1, 3, 4, 10, 10});

    const TensorPtr narrow = make({1, 2, 3}, Dtype::int32);
    REQUIRE(pool(y, narrow, x, {{2, 2}, {1}, {0}, {1}, false}) == diopiSuccess);
    check_close(narrow, {4, 1, 3, 4, 10, 10});

    // An empty stride is the kernel's; ceil_mode keeps the last row.
    const TensorPtr coarse = make({1, 2, 2});
    REQUIRE(pool(coarse, nullptr, x, {{2, 2}, {}, {0}, {1}, true}) == diopiSuccess);
    check_close(coarse, {8, 5, 4, 9});
    const TensorPtr floored = make({1, 1, 2});
    REQUIRE(pool(floored, nullptr, x, {{2, 2}, {}, {0}, {1}, false}) == diopiSuccess);
    check_close(floored, {8, 5});
}

TEST_CASE("max_pool2d pads with -infinity, dilates, and NaN is a maximum", "[reference][max_pool2d]") {
    const TensorPtr x = tensor({1, 1, 3, 3}, {-1, -2, -3, -4, kNaN, -6, -7, -8, -9});
    const TensorPtr y = make({1, 1, 2, 2});
    const TensorPtr places = make({1, 1, 2, 2}, Dtype::int64);
    REQUIRE(pool(y, places, x, {{2, 2}, {2}, {1}, {1}, false}) == diopiSuccess);
    check_close(y, {-1, -2, -4, kNaN});
    check_close(places, {0, 1, 3, 4});
    const TensorPtr alone = make({1, 1, 2, 2});
    REQUIRE(pool(alone, nullptr, x, {{2, 2}, {2}, {1}, {1}, false}) == diopiSuccess);
    check_close(alone, {-1, -2, -4, kNaN});
    const TensorPtr one = make({1, 1, 1, 1});
    REQUIRE(pool(one, nullptr, x, {{2, 2}, {1}, {0}, {2}, false}) == diopiSuccess);
    check_close(one, {-1});
    const TensorPtr least = tensor({1, 2, 2}, Values(4, -kInf));
    const TensorPtr place = make({1, 1, 1}, Dtype::int64);
    const TensorPtr out = make({1, 1, 1});
    REQUIRE(pool(out, place, least, {{2, 2}, {2}, {0}, {1}, false}) == diopiSuccess);
    check_close(out, {-kInf});
    check_close(place, {0});
}

TEST_CASE("max_pool2d: a window larger than the input under ceil_mode", "[reference][max_pool2d]") {
    // Rows: 4 - 2 * 2 - 1 = -1, rounded up by a stride of 2: one window, cut off below.
    const TensorPtr x = random({3, 4, 10}, 1);
    const TensorPtr y = make({3, 1, 4});
    REQUIRE(pool(y, nullptr, x, {{3, 3}, {2}, {0}, {2}, true}) == diopiSuccess);
    const Values v = values_of(x);
    CHECK(values_of(y)[0] == std::max({v[0], v[2], v[4], v[20], v[22], v[24]}));
    CHECK(values_of(y)[3] == std::max({v[6], v[8], v[26], v[28]}));
    CHECK(pool(y, nullptr, x, {{3, 3}, {2}, {0}, {2}, false}) == diopiErrorOccurred);
    // A third window would begin at 3, in the right padding: it is dropped.
    const TensorPtr row = tensor({1, 1, 3}, {1, 2, 3});
    const TensorPtr two = make({1, 1, 2});
    REQUIRE(pool(two, nullptr, row, {{1, 2}, {1, 2}, {0, 1}, {1}, true}) == diopiSuccess);
    check_close(two, {1, 3});
}

TEST_CASE("max pooling of one, two and three sides agrees with a search", "[reference][max_pool2d]") {
    for (const PoolSetting& s : kPoolSettings) {
        INFO(to_string(s.input));
        const TensorPtr x = random(s.input, 5);
        const TensorPtr y = make(s.out);
        const TensorPtr places = make(s.out, Dtype::int64);
        Values wanted_places;
        const Values wanted = maxima_by_search(s, values_of(x), wanted_places);
        REQUIRE(pool(y, nullptr, x, s.window) == diopiSuccess);
        CHECK(values_of(y) == wanted);
        REQUIRE(pool(y, places, x, s.window) == diopiSuccess);
        CHECK(values_of(y) == wanted);
        CHECK(values_of(places) == wanted_places);
    }
}

TEST_CASE("max_pool2d of no images, half tensors, and what it refuses", "[reference][max_pool2d]") {
    CHECK(pool(make({0, 2, 1, 1}), nullptr, make({0, 2, 2, 2}), {{2, 2}, {2}, {0}, {1}, false}) == diopiSuccess);
    const TensorPtr half = tensor({1, 2, 2}, {1, 2, 3, 0.5}, Dtype::float16, {1, 1, 2});
    const TensorPtr y = make({1, 1, 1}, Dtype::float16);
    const TensorPtr place = make({1, 1, 1}, Dtype::int64);
    REQUIRE(pool(y, place, half, {{2, 2}, {2}, {0}, {1}, false}) == diopiSuccess);
    check_close(y, {3});
    check_close(place, {2});
    CHECK(pool(y, nullptr, half, {{2, 2}, {2}, {2}, {1}, false}) == diopiErrorOccurred);
    CHECK(pool(make({1, 2, 1}), nullptr, half, {{2, 2}, {2}, {0}, {1}, false}) == diopiErrorOccurred);
}

TEST_CASE("max pooling backward is the derivative of max pooling", "[reference][max_pool2d][gradient]") {
    for (const PoolSetting& s : kPoolSettings) {
        INFO(to_string(s.input));
        const TensorPtr x = random(s.input, 1);
        const TensorPtr y = make(s.out);
        const TensorPtr places = make(s.out, Dtype::int64);
        const Values weights = random_values(numel(s.out), 2);
        const TensorPtr g = tensor(s.out, weights);
        const TensorPtr gx = make(s.input);
        const auto backward = [&](const TensorPtr& indices) {
            const PoolWindow& w = s.window;
            return reference::max_pool_backward(context(), "op", w.sides(), gx.get(), g.get(), x.get(), sizes(w.kernel),
                                                sizes(w.stride), sizes(w.padding), sizes(w.dilation), w.ceil_mode,
                                                indices.get());
        };
        REQUIRE(pool(y, places, x, s.window) == diopiSuccess);
        REQUIRE(backward(places) == diopiSuccess);
        check_gradient(x, gx, weights, [&] {
            REQUIRE(pool(y, nullptr, x, s.window) == diopiSuccess);
            return values_of(y);
        });
        const Values gradient = values_of(gx);
        REQUIRE(backward(tensor(s.out, values_of(places), Dtype::int32)) == diopiSuccess);
        CHECK(values_of(gx) == gradient);
    }
}

TEST_CASE("max pooling backward refuses a place outside of the plane", "[reference][max_pool2d]") {
    const TensorPtr places = tensor({1, 1, 2}, {0, 30}, Dtype::int64);
    CHECK(reference::max_pool_backward(context(), "op", 2, make({1, 5, 6}).get(), make({1, 1, 2}).get(),
                                       make({1, 5, 6}).get(), sizes({5, 3}), sizes({}), sizes({0}), sizes({1}), false,
                                       places.get()) == diopiErrorOccurred);
    CHECK(last_error() == "indices holds 30, wanted a place in a plane of 30 elements");
}

TEST_CASE("max pooling has messages for its number of sides", "[reference][max_pool2d]") {
    CHECK(pool(make({2}), nullptr, make({4}), {{2, 2}, {2}, {0}, {1}, false}) == diopiErrorOccurred);
    CHECK(last_error() == "input has shape (4,), wanted (N, C, H, W) or (C, H, W)");
    CHECK(pool(make({2}), nullptr, make({4}), {{2}, {2}, {0}, {1}, false}) == diopiErrorOccurred);
    CHECK(last_error() == "input has shape (4,), wanted (N, C, L) or (C, L)");
    CHECK(pool(make({1, 2, 2, 2}), nullptr, make({1, 4, 4, 4}), {{2, 2, 2}, {2, 2}, {0}, {1}, false}) ==
          diopiErrorOccurred);
    CHECK(last_error() == "stride is (2, 2), wanted one number or three");
}

TEST_CASE("adaptive means are taken over parts that may overlap", "[reference][adaptive_avg_pool2d]") {
    const auto pool2 = [](const TensorPtr& y, const TensorPtr& x, const Shape& out) {
        return reference::adaptive_avg_pool(context(), "op", 2, y.get(), x.get(), sizes(out));
    };
    const TensorPtr x = tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6});
    const TensorPtr y = make({1, 1, 2});
    REQUIRE(pool2(y, x, {1, 2}) == diopiSuccess);
    check_close(y, {3, 4});
    const TensorPtr wide = make({1, 2, 4});
    REQUIRE(pool2(wide, x, {2, 4}) == diopiSuccess);
    check_close(wide, {1, 1.5, 2.5, 3, 4, 4.5, 5.5, 6});
    CHECK(pool2(make({4, 7, 0, 0}), make({4, 7, 2, 3}), {0}) == diopiSuccess);
    CHECK(pool2(wide, x, {2, 3}) == diopiErrorOccurred);
    const TensorPtr poisoned = tensor({1, 2, 2}, {1, kNaN, 3, 5}, Dtype::float32, {1, 1, 2});
    const TensorPtr column = make({1, 1, 2}, Dtype::float16);
    REQUIRE(pool2(column, poisoned, {1, 2}) == diopiSuccess);
    check_close(column, {2, kNaN});
    // A line, and a cube of two layers.
    const TensorPtr line = make({1, 2});
    REQUIRE(reference::adaptive_avg_pool(context(), "op", 1, line.get(), tensor({1, 3}, {1, 2, 6}).get(), sizes({2})) ==
            diopiSuccess);
    check_close(line, {1.5, 4});
    const TensorPtr cube = make({1, 1, 1, 2});
    REQUIRE(reference::adaptive_avg_pool(context(), "op", 3, cube.get(), tensor({1, 2, 1, 3}, {1, 2, 6, 3, 4, 8}).get(),
                                         sizes({1, 1, 2})) == diopiSuccess);
    check_close(cube, {2.5, 5});
}

TEST_CASE("adaptive means of one, two and three sides have the gradient of their formula",
          "[reference][adaptive_avg_pool2d][gradient]") {
    const std::pair<Shape, Shape> settings[] = {
        {{2, 2, 5, 7}, {2, 2, 3, 4}}, {{2, 3, 7}, {2, 3, 4}}, {{2, 4, 5, 3}, {2, 3, 2, 5}}};
    for (size_t i = 0; i < std::size(settings); ++i) {
        const size_t sides[] = {2, 1, 3};
        const auto& [in, out] = settings[i];
        const TensorPtr x = random(in, 1);
        const TensorPtr y = make(out);
        const TensorPtr gx = make(in);
        const Values weights = random_values(numel(out), 2);
        REQUIRE(reference::adaptive_avg_pool_backward(context(), "op", sides[i], gx.get(), tensor(out, weights).get(),
                                                      x.get()) == diopiSuccess);
        const Shape size(out.end() - static_cast<std::ptrdiff_t>(sides[i]), out.end());
        check_gradient(x, gx, weights, [&] {
            REQUIRE(reference::adaptive_avg_pool(context(), "op", sides[i], y.get(), x.get(), sizes(size)) ==
                    diopiSuccess);
            return values_of(y);
        });
    }
}

TEST_CASE("avg_pool2d by hand: what divides the sum", "[reference][avg_pool2d]") {
    const TensorPtr x = tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6});
    const auto mean = [&](const Shape& out, bool ceil_mode, bool include_pad, const int64_t* divisor) {
        const TensorPtr y = make(out);
        REQUIRE(reference::avg_pool(context(), "op", 2, y.get(), x.get(), sizes({2, 2}), sizes({2, 2}), sizes({0, 1}),
                                    ceil_mode, include_pad, divisor) == diopiSuccess);
        return values_of(y);
    };
    const int64_t divisor = -2;
    check_close(mean({1, 1, 2}, false, true, nullptr), {1.25, 4});
    check_close(mean({1, 1, 2}, false, false, nullptr), {2.5, 4});
    check_close(mean({1, 1, 2}, false, true, &divisor), {-2.5, -8});
    // Under ceil_mode the second window reaches beyond the padding, which does not count.
    const TensorPtr three = tensor({1, 3}, {1, 2, 3}), line = tensor({1, 4}, {1, 2, 3, 4});
    const TensorPtr y = make({1, 2});
    REQUIRE(reference::avg_pool(context(), "op", 1, y.get(), three.get(), sizes({3}), sizes({3}), sizes({1}), true,
                                true) == diopiSuccess);
    check_close(y, {1, 1.5});
    const TensorPtr more = make({1, 2});
    REQUIRE(reference::avg_pool(context(), "op", 1, more.get(), line.get(), sizes({3}), sizes({2}), sizes({0}), true,
                                true) == diopiSuccess);
    check_close(more, {2, 3.5});
    const int64_t zero = 0;
    CHECK(reference::avg_pool(context(), "op", 1, y.get(), line.get(), sizes({3}), sizes({3}), sizes({1}), true, true,
                              &zero) == diopiErrorOccurred);
    CHECK(last_error() == "divisor_override is 0, wanted another number");
}

TEST_CASE("sliding means have the gradient of their formula", "[reference][avg_pool2d][gradient]") {
    for (const PoolSetting& s : kPoolSettings) {
        const PoolWindow& w = s.window;
        if (std::ranges::count(w.dilation, 1) != std::ssize(w.dilation)) continue;
        for (const bool include_pad : {false, true}) {
            INFO(to_string(s.input) << " " << include_pad);
            const TensorPtr x = random(s.input, 1), y = make(s.out), gx = make(s.input);
            const Values weights = random_values(numel(s.out), 2);
            REQUIRE(reference::avg_pool_backward(context(), "op", w.sides(), gx.get(), tensor(s.out, weights).get(),
                                                 x.get(), sizes(w.kernel), sizes(w.stride), sizes(w.padding),
                                                 w.ceil_mode, include_pad) == diopiSuccess);
            check_gradient(x, gx, weights, [&] {
                REQUIRE(reference::avg_pool(context(), "op", w.sides(), y.get(), x.get(), sizes(w.kernel),
                                            sizes(w.stride), sizes(w.padding), w.ceil_mode,
                                            include_pad) == diopiSuccess);
                return values_of(y);
            });
        }
    }
}

TEST_CASE("adaptive maxima, their places and their gradient", "[reference][adaptive_max_pool2d][gradient]") {
    const TensorPtr x = tensor({1, 2, 3}, {1, 7, 7, 7, kNaN, kNaN}), y = make({1, 1, 2});
    const TensorPtr places = make({1, 1, 2}, Dtype::int64);
    REQUIRE(reference::adaptive_max_pool_with_indices(context(), "op", 2, y.get(), places.get(), x.get(),
                                                      sizes({1, 2})) == diopiSuccess);
    check_close(y, {kNaN, kNaN});
    check_close(places, {4, 5});
    const TensorPtr rows = make({1, 2, 1}), row_places = make({1, 2, 1}, Dtype::int64);
    REQUIRE(reference::adaptive_max_pool_with_indices(context(), "op", 2, rows.get(), row_places.get(), x.get(),
                                                      sizes({2, 1})) == diopiSuccess);
    check_close(rows, {7, kNaN});
    check_close(row_places, {1, 5});
    const std::pair<Shape, Shape> settings[] = {
        {{2, 2, 5, 7}, {2, 2, 3, 4}}, {{2, 3, 7}, {2, 3, 4}}, {{2, 4, 5, 3}, {2, 3, 2, 5}}};
    for (size_t i = 0; i < std::size(settings); ++i) {
        const size_t sides[] = {2, 1, 3};
        const auto& [in, out] = settings[i];
        const TensorPtr input = random(in, 1), maxima = make(out), at = make(out, Dtype::int64), gx = make(in);
        const Values weights = random_values(numel(out), 2);
        const Shape size(out.end() - static_cast<std::ptrdiff_t>(sides[i]), out.end());
        const auto pool = [&] {
            REQUIRE(reference::adaptive_max_pool_with_indices(context(), "op", sides[i], maxima.get(), at.get(),
                                                              input.get(), sizes(size)) == diopiSuccess);
            return values_of(maxima);
        };
        pool();
        REQUIRE(reference::adaptive_max_pool_backward(context(), "op", sides[i], gx.get(), tensor(out, weights).get(),
                                                      input.get(), at.get()) == diopiSuccess);
        check_gradient(input, gx, weights, pool);
    }
}
