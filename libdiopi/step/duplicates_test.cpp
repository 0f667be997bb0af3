#include "step/duplicates.hpp"

#include <catch2/catch.hpp>

#include "runtime/device.hpp"

using namespace diopi;

namespace {

template <class T>
TensorPtr tensor(const Shape& shape, Dtype dtype, const std::vector<T>& values) {
    auto made = make_tensor(cpu_device(), {shape, dtype, {}});
    REQUIRE(made.ok());
    std::copy(values.begin(), values.end(), (*made)->data_as<T>());
    return *made;
}

std::vector<float> floats_of(const Tensor& t) { return {t.data_as<float>(), t.data_as<float>() + t.numel()}; }

Call scatter_of(const TensorPtr& src, const TensorPtr& index, const char* reduce) {
    Call call(*find_row("diopiScatter"));
    call["input"] = tensor<float>({3}, Dtype::float32, {7, 8, 9});
    call["dim"] = int64_t{0};
    call["src"] = src;
    call["index"] = index;
    call["reduce"] = std::string(reduce);
    return call;
}

}  // namespace

TEST_CASE("values that replace one element become equal, and those that are added up stay") {
    const TensorPtr index = tensor<int64_t>({4}, Dtype::int64, {2, 0, 2, 2});
    for (const char* reduce : {"", "add"}) {
        const TensorPtr src = tensor<float>({5}, Dtype::float32, {1, 2, 3, 4, 5});
        Call call = scatter_of(src, index, reduce);
        REQUIRE(agree_on_duplicates(call).ok());
        const bool adds = *reduce != 0;
        CHECK(floats_of(*src) == (adds ? std::vector<float>{1, 2, 3, 4, 5} : std::vector<float>{4, 2, 4, 4, 5}));
    }
}

TEST_CASE("values of index_put that replace one element become equal") {
    Call call(*find_row("diopiIndexPut"));
    const TensorPtr values = tensor<float>({3, 2}, Dtype::float32, {1, 2, 3, 4, 5, 6});
    call["input"] = tensor<float>({2, 2}, Dtype::float32, {0, 0, 0, 0});
    call["values"] = values;
    call["indices"] = TensorList{tensor<int64_t>({3}, Dtype::int64, {1, 0, -1})};
    call["indices_counts"] = int64_t{1};
    call["accumulate"] = false;
    REQUIRE(agree_on_duplicates(call).ok());
    CHECK(floats_of(*values) == std::vector<float>{5, 6, 3, 4, 5, 6});
}
