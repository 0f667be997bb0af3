#include "cases/case_text.hpp"

#include <catch2/catch.hpp>

#include "cases/testing.hpp"

namespace diopi {

namespace {

using testing::case_tensor;
using testing::make_case;

Case scaled_add() {
    Case c = make_case("add", {case_tensor("input", {64, 128}, Dtype::float16), case_tensor("other", {128})},
                       {{"alpha", Param{int64_t{2}}}});
    c.inplace = true;
    return c;
}

}  // namespace

TEST_CASE("a case in a line has the form of each tensor", "[cases][text]") {
    Case c = scaled_add();
    CHECK(forms_of(c) == "input (64, 128) float16; other (128,) float32");
    c.tensors[0].no_contiguous = true;
    c.tensors[1].is_list = true;
    c.tensors[1].specs.push_back(c.tensors[1].specs.front());
    CHECK(forms_of(c) == "input (64, 128) float16 non-contiguous; other 2 x (128,) float32");
    c.tensors[1].specs.clear();
    c.tensors[0].absent = true;
    CHECK(forms_of(c) == "input absent; other empty list");
}

TEST_CASE("a change names forms, parameters and steps that were removed", "[cases][text]") {
    const Case before = scaled_add();
    CHECK(describe_change(before, before) == "input (64, 128) float16; other (128,) float32");
    Case after = before;
    after.tensors[0].specs[0] = {{1, 9}, Dtype::float32, {}};
    after.tensors.pop_back();
    after.params.clear();
    after.inplace = false;
    CHECK(describe_change(before, after) ==
          "input (64, 128) float16 -> (1, 9) float32; other (128,) float32 -> absent; without alpha; not in place");
}

TEST_CASE("stated values are shown up to the width of a line", "[cases][text]") {
    CaseTensor tensor = case_tensor("input", {20});
    tensor.fill.fn = Fill::kOnes;
    CHECK(values_of(tensor) == "ones");
    tensor.fill.fn = Fill::kValue;
    tensor.values = {1, 2.5};
    CHECK(values_of(tensor) == "[1, 2.5]");
    tensor.values.assign(20, 3);
    CHECK(values_of(tensor) == "[3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, ...]");
}

}  // namespace diopi
