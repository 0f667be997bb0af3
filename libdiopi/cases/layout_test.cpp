#include "cases/layout.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "core/strided.hpp"

using namespace diopi;

namespace {

constexpr Arg layout_arg(bool channels_last, int8_t spatial_dims) {
    Arg arg;
    arg.name = "input";
    arg.channels_last = channels_last;
    arg.spatial_dims = spatial_dims;
    return arg;
}

constexpr Arg kPlain = layout_arg(false, -1), kImages = layout_arg(true, 2), kSecond = layout_arg(true, -1);

TensorSpec spec(Shape shape, Shape strides = {}) { return {std::move(shape), Dtype::float32, std::move(strides)}; }

Layout strided(const Shape& shape, uint64_t salt) { return layout_of(kPlain, spec(shape), salt, {.strided = true}); }

/// Checks that the elements do not overlap and are within the storage.
void check_layout(const Shape& shape, const Layout& layout) {
    CAPTURE(to_string(shape), to_string(layout.strides), layout.offset, layout.extent);
    std::set<int64_t> places;
    for_each_offset(shape, layout.strides, [&](int64_t at) { places.insert(at + layout.offset); });
    CHECK(static_cast<int64_t>(places.size()) == numel(shape));
    if (places.empty()) return;
    CHECK(*places.begin() == layout.offset);
    CHECK(*places.rbegin() == layout.extent - 1);
}

}  // namespace

TEST_CASE("without options a tensor has its own strides", "[layout]") {
    CHECK(layout_of(kPlain, spec({2, 3}), 7, {}) == Layout{{3, 1}, 0, 6});
    CHECK(layout_of(kPlain, spec({2, 3}, {1, 2}), 7, {}) == Layout{{1, 2}, 0, 6});
    CHECK(layout_of(kPlain, spec({2, 3}, {0, 1}), 7, {}) == Layout{{0, 1}, 0, 3});
    CHECK(layout_of(kImages, spec({2, 3, 4, 5}), 7, {}) == Layout{{60, 20, 5, 1}, 0, 120});
}

TEST_CASE("strided: every salt gives one of six views", "[layout]") {
    const Shape shape = {2, 3, 4};
    CHECK(strided(shape, 0) == Layout{{12, 1, 3}, 0, 24});
    CHECK(strided(shape, 1) == Layout{{24, 8, 2}, 0, 47});
    CHECK(strided(shape, 2) == Layout{{96, 16, 2}, 0, 135});
    CHECK(strided(shape, 3) == Layout{{72, 24, 1}, 3, 127});
    CHECK(strided(shape, 4) == Layout{{24, 2, 6}, 3, 50});
    CHECK(strided(shape, 5) == Layout{{24, 4, 1}, 0, 36});
    CHECK(strided(shape, 6) == strided(shape, 0));
}

TEST_CASE("strided views keep elements apart and are not contiguous", "[layout]") {
    for (const Shape& shape : {Shape{7}, Shape{3, 1}, Shape{1, 5}, Shape{4, 6}, Shape{2, 1, 3}, Shape{2, 3, 4, 5},
                               Shape{1, 1, 2}, Shape{5, 1, 1}, Shape{2, 3, 1, 4, 2}}) {
        for (uint64_t salt = 0; salt < 6; ++salt) {
            const Layout layout = strided(shape, salt);
            check_layout(shape, layout);
            CHECK((layout.offset > 0 || !is_contiguous(shape, layout.strides)));
        }
    }
}

TEST_CASE("strided: a tensor that cannot be transposed is sliced, one element is moved, an empty one stays",
          "[layout]") {
    CHECK(strided({5}, 0) == Layout{{2}, 0, 9});
    CHECK(strided({5, 1}, 0) == Layout{{2, 1}, 0, 9});
    CHECK(strided({}, 1) == Layout{{}, 3, 4});
    CHECK(strided({5}, 3) == Layout{{1}, 3, 8});
    CHECK(strided({5, 1}, 3) == Layout{{1, 1}, 3, 8});
    CHECK(strided({1, 1}, 0) == Layout{{1, 1}, 3, 4});
    CHECK(strided({3, 0}, 2) == Layout{{1, 1}, 0, 0});
}

TEST_CASE("strided: large tensors are sliced along the innermost dim only", "[layout]") {
    const Shape shape = {64, 64, 64, 64};
    CHECK(strided(shape, 2) == strided(shape, 1));
    CHECK(strided(shape, 1).extent < 2 * numel(shape));
    CHECK(strided({1 << 20, 3}, 3) == Layout{{3, 1}, 3, 3 * (1 << 20) + 3});
}

TEST_CASE("repeating strides are 0 along the first or the last dim with several elements, or along all", "[layout]") {
    const Shape shape = {1, 2, 1, 3, 1};
    CHECK(repeating_strides(shape, Repeats::kNone) == Shape{6, 3, 3, 1, 1});
    CHECK(repeating_strides(shape, Repeats::kFirst) == Shape{3, 0, 3, 1, 1});
    CHECK(repeating_strides(shape, Repeats::kLast) == Shape{2, 1, 1, 0, 1});
    CHECK(repeating_strides(shape, Repeats::kAll) == Shape{1, 0, 1, 0, 1});
    CHECK(repeating_strides({1, 1}, Repeats::kFirst) == Shape{1, 1});
    CHECK(repeating_strides({}, Repeats::kAll).empty());
}

TEST_CASE("wide: the last element has an offset of at least 2^31", "[layout]") {
    const auto wide = [](const Shape& shape) { return layout_of(kPlain, spec(shape), 0, {.wide = true}); };
    CHECK(wide({2, 3}) == Layout{{int64_t{1} << 31, 1}, 0, (int64_t{1} << 31) + 3});
    CHECK(wide({1, 4, 5}).strides == Shape{20, 715827883, 1});
    CHECK(wide({1, 4, 5}).extent > int64_t{1} << 31);
    CHECK(wide({7}).extent > int64_t{1} << 31);
    CHECK(wide({1, 1}) == Layout{{1, 1}, 0, 1});
    CHECK(wide({}) == Layout{{}, 0, 1});
    CHECK(wide({0, 4}).extent == 0);
    check_layout({3, 4}, wide({3, 4}));
    check_layout({3, 4, 5}, layout_of(kPlain, spec({3, 4, 5}), 4, {.strided = true, .wide = true}));
}

TEST_CASE("nhwc: channels are innermost if the schema has them", "[layout]") {
    const LayoutOptions nhwc = {.nhwc = true};
    CHECK(layout_of(kImages, spec({2, 3, 4, 5}), 0, nhwc) == Layout{{60, 1, 15, 3}, 0, 120});
    CHECK(layout_of(kImages, spec({3, 4, 5}), 0, nhwc) == Layout{{1, 15, 3}, 0, 60});
    CHECK(layout_of(kSecond, spec({2, 3, 4, 5}), 0, nhwc) == Layout{{60, 1, 15, 3}, 0, 120});
    CHECK(layout_of(kSecond, spec({2, 3, 4, 5, 6}), 0, nhwc) == Layout{{360, 1, 90, 18, 3}, 0, 720});
    CHECK(layout_of(kPlain, spec({2, 3, 4, 5}), 0, nhwc) == Layout{{60, 20, 5, 1}, 0, 120});
    CHECK(layout_of(kSecond, spec({2, 3}), 0, {.nhwc = true, .nhwc_min_dim = 2}) == Layout{{3, 1}, 0, 6});
    check_layout({2, 3, 4, 5}, layout_of(kImages, spec({2, 3, 4, 5}), 1, {.strided = true, .nhwc = true}));
}

TEST_CASE("nhwc: tensors with fewer dims stay unchanged", "[layout]") {
    CHECK(layout_of(kImages, spec({3, 4, 5}), 0, {.nhwc = true, .nhwc_min_dim = 4}).strides == Shape{20, 5, 1});
    CHECK(layout_of(kImages, spec({4, 5}), 0, {.nhwc = true, .nhwc_min_dim = 1}).strides == Shape{5, 1});
}

TEST_CASE("host: strides of dims without a second element are any number, others stay", "[layout]") {
    const LayoutOptions host = {.host = true};
    const auto at = [&](const Shape& shape, uint64_t salt) { return layout_of(kPlain, spec(shape), salt, host); };
    CHECK(at({16, 0}, 0) == Layout{{0, 1}, 0, 0});
    CHECK(at({0, 3, 4}, 1) == Layout{{12, 4, 1}, 0, 0});
    CHECK(at({4, 3}, 0) == layout_of(kPlain, spec({4, 3}), 0, {}));
    std::set<int64_t> strides;
    for (uint64_t salt = 0; salt < 3; ++salt) {
        const Layout layout = at({4, 1, 3}, salt);
        CHECK(layout.strides[0] == 3);
        CHECK(layout.strides[2] == 1);
        CHECK(layout.strides[1] != 3);
        CHECK(layout.extent == 12);
        strides.insert(layout.strides[1]);
        check_layout({4, 1, 3}, layout);
    }
    CHECK(strides == std::set<int64_t>{0, 1, 19});
    for (uint64_t salt = 0; salt < 3; ++salt) CHECK(at({3, 1}, salt).strides[1] != 1);
    check_layout({4, 1, 3}, layout_of(kPlain, spec({4, 1, 3}), 2, {.strided = true, .host = true}));
}

TEST_CASE("results: outputs and gradients of results have the first dim innermost, inputs do not", "[layout]") {
    const Shape shape = {2, 3, 4};
    Arg out = kPlain, grad = kPlain, changed = kPlain;
    out.is_output = true;
    grad.name = "grad_output";
    changed.is_inout = true;
    const Layout turned{{1, 8, 2}, 0, 24}, own{{12, 4, 1}, 0, 24};
    CHECK(layout_of(out, spec(shape), 7, {.results = true}) == turned);
    CHECK(layout_of(grad, spec(shape), 7, {.results = true}) == turned);
    CHECK(layout_of(kPlain, spec(shape), 7, {.results = true}) == own);
    CHECK(layout_of(changed, spec(shape), 7, {.results = true}) == own);
    CHECK(layout_of(out, spec({5}), 7, {.results = true}) == Layout{{1}, 0, 5});
    check_layout(shape, turned);
}

TEST_CASE("layouts of a case: salts differ, and some options change nothing", "[layout]") {
    Case c;
    c.suite = "ops";
    c.group = "g";
    c.op = "add";
    for (const char* layout_arg : {"input", "other"}) {
        CaseTensor tensor;
        tensor.name = layout_arg;
        tensor.specs = {spec({2, 3})};
        c.tensors.push_back(tensor);
    }
    std::set<uint64_t> salts = {layout_salt(c, "input", 0), layout_salt(c, "other", 0), layout_salt(c, "input", 1)};
    c.index = 1;
    salts.insert(layout_salt(c, "input", 0));
    CHECK(salts.size() == 4);
    const Row& add = *find_row("diopiAdd");
    CHECK(applies(add, c, {.strided = true}));
    CHECK(applies(add, c, {.wide = true}));
    CHECK_FALSE(applies(add, c, {.nhwc = true}));
    CHECK_FALSE(applies(add, c, {}));
    CHECK_FALSE(applies(add, c, {.host = true}));
    CHECK(applies(*find_row("diopiSum"), c, {.host = true}));
    for (CaseTensor& tensor : c.tensors) tensor.specs.front().shape = {3, 0};
    CHECK_FALSE(applies(add, c, {.strided = true}));
    CHECK(applies(add, c, {.host = true}));
}
