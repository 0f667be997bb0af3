/// Checks that each fault does only what its text says.
#include "fault.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <set>

using namespace diopi;
using namespace diopi::mutation;

namespace {

const Backend& cpu() { return **find_backend("cpu"); }

TensorPtr floats(const Shape& shape, const std::function<double(int64_t)>& value, Dtype dtype = Dtype::float32) {
    auto made = make_tensor(cpu_device(), {shape, dtype, {}});
    REQUIRE(made.ok());
    std::vector<double> values;
    for (int64_t i = 0; i < (*made)->numel(); ++i) values.push_back(value(i));
    put_values(values, **made);
    return *made;
}

constexpr double kBefore = -100;

/// out (3, 7) = i + 1 + 1/3; its memory had -100 before.
struct Sum {
    explicit Sum(Shape shape = {3, 7}, Dtype dtype = Dtype::float32) : call(*find_row("diopiAdd")) {
        call["out"] = floats(
            shape, [](int64_t) { return kBefore; }, dtype);
        call["input"] = floats(
            shape, [](int64_t i) { return double(i) + 1; }, dtype);
        call["other"] = floats(
            shape, [](int64_t) { return 1.0 / 3; }, dtype);
        call["alpha"] = Scalar::of(int64_t{1});
    }
    /// The results of a first call with the fault.
    std::vector<double> with(std::string_view name) {
        const Fault* fault = find_fault(name);
        REQUIRE(fault != nullptr);
        faulty.emplace(*call.row, fault);
        return again();
    }
    std::vector<double> again() {
        Context context(cpu_device());
        Chain chain(cpu());
        chain.add(*faulty);
        outcome = chain.run(call, context);
        return values_of(*call.tensor("out"));
    }
    std::vector<double> right() {
        Context context(cpu_device());
        REQUIRE(Chain(cpu()).run(call, context).ok());
        return values_of(*call.tensor("out"));
    }
    Call call;
    std::optional<Faulty> faulty;
    Outcome outcome;
};

/// The positions that the fault changed; checks that it was noticed.
std::vector<size_t> changed(Sum& sum, std::string_view fault) {
    const std::vector<double> wrong = sum.with(fault);
    CHECK(sum.faulty->planted());
    const std::vector<double> right = sum.right();
    std::vector<size_t> positions;
    for (size_t i = 0; i < right.size(); ++i) {
        if (std::memcmp(&wrong[i], &right[i], sizeof(double)) != 0) positions.push_back(i);
    }
    return positions;
}

std::vector<size_t> changed(std::string_view fault) {
    Sum sum;
    return changed(sum, fault);
}

}  // namespace

TEST_CASE("faults have different names and codes") {
    std::set<std::string_view> names, codes;
    for (const Fault& fault : faults()) {
        CHECK(names.insert(fault.name).second);
        CHECK(codes.insert(fault.code).second);
        CHECK(fault.code.size() == 2);
        CHECK(find_fault(fault.code) == &fault);
    }
    CHECK(names.size() >= 20);
    CHECK(find_fault("no_such_fault") == nullptr);
}

TEST_CASE("without a fault the decorator changes nothing") {
    Sum sum;
    const auto right = sum.right();
    sum.faulty.emplace(*sum.call.row, nullptr);
    CHECK(sum.again() == right);
    CHECK_FALSE(sum.faulty->planted());
}

TEST_CASE("a fault does not change other functions") {
    Sum sum;
    const auto right = sum.right();
    sum.faulty.emplace(*find_row("diopiSub"), find_fault("stale"));
    CHECK(sum.again() == right);
    CHECK_FALSE(sum.faulty->planted());
}

TEST_CASE("elements that are not written keep the old memory") {
    CHECK(changed("last_unwritten") == std::vector<size_t>{20});
    CHECK(changed("row_ends_unwritten") == std::vector<size_t>{6, 13, 20});
    CHECK(changed("tile_8_unwritten") == std::vector<size_t>{16, 17, 18, 19, 20});
    CHECK(changed("tile_16_unwritten") == std::vector<size_t>{16, 17, 18, 19, 20});
    CHECK(changed("stale").size() == 21);
    Sum sum;
    CHECK(sum.with("last_unwritten").back() == kBefore);
}

TEST_CASE("wrong elements are at the fault's positions") {
    CHECK(changed("middle_wrong") == std::vector<size_t>{10});
    CHECK(changed("sign_wrong") == std::vector<size_t>{20});
    CHECK(changed("tile_8_shifted") == std::vector<size_t>{16, 17, 18, 19, 20});
    CHECK(changed("rows_swapped").size() == 14);
    CHECK(changed("accumulated").size() == 21);
    Sum large({2, 1 << 15});
    CHECK(changed(large, "large_index_wrong") == std::vector<size_t>{1 << 15});
    Sum shifted;
    CHECK(shifted.with("tile_8_shifted")[16] == shifted.right()[15]);
    Sum swapped({2, 2});
    const auto turned = swapped.with("axes_swapped");
    const auto right = swapped.right();
    CHECK(turned == std::vector<double>{right[0], right[2], right[1], right[3]});
}

TEST_CASE("the first two dims of a result are swapped in memory that keeps the shape") {
    Sum sum({2, 3, 2});
    const auto turned = sum.with("first_axes_swapped");
    const auto right = sum.right();
    CHECK(turned == std::vector<double>{right[0], right[1], right[6], right[7], right[2], right[3], right[8], right[9],
                                        right[4], right[5], right[10], right[11]});
}

TEST_CASE("a grid of 65535 blocks writes no element behind them") {
    Sum sum({65'538});
    CHECK(changed(sum, "grid_end_unwritten") == std::vector<size_t>{65'535, 65'536, 65'537});
}

TEST_CASE("results of int64 lose their upper bits, or their lowest ones") {
    constexpr int64_t kBeyondInt32 = (int64_t{1} << 40) + 5, kBeyondFloat64 = (int64_t{1} << 53) + 1;
    const auto sum_of = [](int64_t number, std::string_view fault) {
        Call call(*find_row("diopiAdd"));
        for (const char* name : {"out", "input", "other"}) {
            auto made = make_tensor(cpu_device(), {{1}, Dtype::int64, {}});
            REQUIRE(made.ok());
            const int64_t value = std::string_view(name) == "input" ? number : 0;
            std::memcpy((*made)->data(), &value, sizeof value);
            call[name] = *made;
        }
        call["alpha"] = Scalar::of(int64_t{1});
        Faulty faulty(*call.row, find_fault(fault));
        Chain chain(cpu());
        chain.add(faulty);
        Context context(cpu_device());
        CHECK(chain.run(call, context).ok());
        int64_t result = 0;
        std::memcpy(&result, call.tensor("out")->data(), sizeof result);
        return result;
    };
    CHECK(sum_of(kBeyondInt32, "wrapped_to_int32") == 5);
    CHECK(sum_of(kBeyondFloat64, "through_float64") == kBeyondFloat64 - 1);
    CHECK(sum_of(kBeyondFloat64, "wrapped_to_int32") == 1);
}

TEST_CASE("a fault that cannot strike is not planted, and the call is declined") {
    Sum sum({8});
    sum.with("tile_8_unwritten");
    CHECK_FALSE(sum.faulty->planted());
    CHECK(sum.outcome.error == diopiNoImplement);
}

TEST_CASE("NaN, infinity and denormals are lost") {
    Sum sum({3}, Dtype::float16);
    sum.call["input"] = floats(
        {3}, [](int64_t i) { return i == 0   ? NAN
                                    : i == 1 ? INFINITY
                                             : 0x1p-20; }, Dtype::float16);
    sum.call["other"] = floats(
        {3}, [](int64_t) { return 0; }, Dtype::float16);
    CHECK(sum.with("nan_swallowed")[0] == 0);
    CHECK(sum.with("infinity_saturated")[1] == 65504);
    CHECK(sum.with("denormals_flushed")[2] == 0);
}

TEST_CASE("truncation takes the number towards zero instead of the rounded one") {
    Sum sum({64}, Dtype::float16);
    const auto wrong = sum.with("truncation");
    const auto right = sum.right();
    const auto a = values_of(*sum.call.tensor("input"));
    const auto b = values_of(*sum.call.tensor("other"));
    size_t truncated = 0;
    for (size_t i = 0; i < wrong.size(); ++i) {
        CHECK(wrong[i] <= a[i] + b[i]);
        CHECK((wrong[i] == right[i]) == (right[i] <= a[i] + b[i]));
        truncated += wrong[i] == right[i] ? 0 : 1;
    }
    CHECK(truncated > 0);
}

TEST_CASE("a float16 accumulator leaves an error of its roundoff times the sum of magnitudes") {
    Call call(*find_row("diopiSum"));
    call["out"] = floats({2}, [](int64_t) { return 0; });
    call["input"] = floats({2, 64}, [](int64_t i) { return i % 2 == 0 ? 1.0 : -1.0; });
    call["dim"] = IntList{1};
    Faulty faulty(*call.row, find_fault("half_accumulation"));
    Chain chain(cpu());
    chain.add(faulty);
    Context context(cpu_device());
    CHECK(chain.run(call, context).ok());
    for (const double sum : values_of(*call.tensor("out"))) CHECK(std::fabs(sum) == 64 * 0x1p-11);
}

TEST_CASE("operands are read wrongly") {
    Sum rounded;
    CHECK(rounded.with("half_operands")[0] == Approx(1.333251953125).epsilon(1e-7));
    Sum slices({2, 2});
    slices.call["other"] = floats({2, 2}, [](int64_t i) { return 10.0 * double(i); });
    CHECK(slices.with("first_slice_for_all") == std::vector<double>{1, 12, 3, 14});
    CHECK(changed("row_ends_ignored") == std::vector<size_t>{6, 13, 20});
    Sum column({2, 2});
    column.call["other"] = floats({2, 1}, [](int64_t i) { return 10.0 * double(i); });
    CHECK(column.with("broadcast_ignored") == std::vector<double>{1, 12, 3, 14});
    Sum scaled;
    scaled.call["alpha"] = Scalar::of(int64_t{3});
    CHECK(scaled.with("number_ignored")[0] == Approx(4.0 / 3));
    scaled.call["alpha"] = Scalar::of(2.5);
    CHECK(scaled.with("fast_path_too_wide")[0] == Approx(1 + 2.0 / 3));
    Sum wide({1}, Dtype::float64);
    wide.call["alpha"] = Scalar::of(0.1);
    CHECK(wide.with("number_in_float32")[0] == 1 + double{0.1F} / 3);
}

TEST_CASE("a byte that chooses an element counts by its lowest bit") {
    Call call(*find_row("diopiWhere"));
    call["out"] = floats({3}, [](int64_t) { return 0; });
    call["input"] = floats({3}, [](int64_t) { return 1; });
    call["other"] = floats({3}, [](int64_t) { return 2; });
    auto condition = make_tensor(cpu_device(), {{3}, Dtype::uint8, {}});
    REQUIRE(condition.ok());
    const uint8_t bytes[] = {0, 1, 2};
    std::memcpy((*condition)->data(), bytes, sizeof bytes);
    call["condition"] = *condition;
    Faulty faulty(*call.row, find_fault("condition_bit"));
    Chain chain(cpu());
    chain.add(faulty);
    Context context(cpu_device());
    CHECK(chain.run(call, context).ok());
    CHECK(values_of(*call.tensor("out")) == std::vector<double>{2, 1, 2});
}

TEST_CASE("an output that is an input is read after it was written") {
    Sum sum({2});
    sum.call["out"] = sum.call["input"];
    CHECK(sum.with("read_after_write")[0] == Approx(1 + 2.0 / 3));
    Sum apart({2});
    apart.with("read_after_write");
    CHECK_FALSE(apart.faulty->planted());
}

TEST_CASE("an error that the call asks for is forgotten") {
    Call call(*find_row("diopiCholesky"));
    call["out"] = floats({1, 1}, [](int64_t) { return 0; });
    call["info"] = [] {
        auto made = make_tensor(cpu_device(), {{}, Dtype::int32, {}});
        REQUIRE(made.ok());
        return *made;
    }();
    call["mat"] = floats({1, 1}, [](int64_t) { return -1; });
    call["upper"] = false;
    call["checkerror"] = true;
    Context context(cpu_device());
    CHECK_FALSE(Chain(cpu()).run(call, context).ok());
    Faulty faulty(*call.row, find_fault("error_forgotten"));
    Chain chain(cpu());
    chain.add(faulty);
    CHECK(chain.run(call, context).ok());
    CHECK(faulty.planted());
}

TEST_CASE("a plan has the numbers of the first call of its shapes") {
    Sum sum({2, 17});
    const auto first = sum.with("options_kept");
    CHECK(first == sum.right());
    sum.call["alpha"] = Scalar::of(int64_t{3});
    CHECK(sum.again() == first);
    CHECK(sum.faulty->planted());
    CHECK(sum.right() != first);
}

TEST_CASE("fractions are cut, unread inputs multiplied, and lists computed by sixteen") {
    const auto run = [](Call& call, std::string_view name) {
        Faulty faulty(*call.row, find_fault(name));
        Context context(cpu_device());
        Chain chain(cpu());
        chain.add(faulty);
        return chain.run(call, context).ok();
    };
    Call product(*find_row("diopiMulScalar"));
    product["out"] = floats({2}, [](int64_t) { return kBefore; });
    auto whole = make_tensor(cpu_device(), {{2}, Dtype::int32, {}});
    REQUIRE(whole.ok());
    (*whole)->data_as<int32_t>()[0] = 1;
    (*whole)->data_as<int32_t>()[1] = 3;
    product["input"] = *whole;
    product["other"] = Scalar::of(2.5);
    REQUIRE(run(product, "fraction_cut"));
    CHECK(values_of(*product.tensor("out")) == std::vector<double>{2, 6});

    Call sum(*find_row("diopiAddmm"));
    sum["out"] = floats({1, 1}, [](int64_t) { return kBefore; });
    sum["input"] = floats({1, 1}, [](int64_t) { return HUGE_VAL; });
    sum["mat1"] = floats({1, 2}, [](int64_t) { return 1.0; });
    sum["mat2"] = floats({2, 1}, [](int64_t) { return 1.0; });
    sum["beta"] = Scalar::of(0.0);
    sum["alpha"] = Scalar::of(1.0);
    REQUIRE(run(sum, "unread_input_multiplied"));
    CHECK(std::isnan(values_of(*sum.tensor("out"))[0]));
    sum["input"] = floats({1, 1}, [](int64_t) { return 1.0; });
    CHECK_FALSE(run(sum, "unread_input_multiplied"));

    Call doubled(*find_row("diopiForeachmulScalar"));
    TensorList inputs, outs;
    for (int k = 0; k < 18; ++k) {
        inputs.push_back(floats({1}, [k](int64_t) { return k; }));
        outs.push_back(floats({1}, [](int64_t) { return kBefore; }));
    }
    doubled["inputs"] = inputs;
    doubled["outs"] = outs;
    doubled["inputSize"] = int64_t{18};
    doubled["other"] = Scalar::of(2.0);
    REQUIRE(run(doubled, "list_of_sixteen"));
    CHECK(values_of(*outs[15])[0] == 30);
    CHECK(values_of(*outs[16])[0] == 0);
    CHECK(values_of(*outs[17])[0] == 2);
}

TEST_CASE("strides and offsets are ignored") {
    Sum sum({2, 2});
    auto turned = make_view(cpu_device(), {{2, 2}, Dtype::float32, {1, 2}}, 1, 5);
    REQUIRE(turned.ok());
    for (int i = 0; i < 5; ++i) static_cast<float*>((*turned)->storage.memory.get())[i] = static_cast<float>(i);
    sum.call["input"] = *turned;
    sum.call["other"] = floats({2, 2}, [](int64_t) { return 0; });
    CHECK(sum.right() == std::vector<double>{1, 3, 2, 4});
    CHECK(sum.with("input_strides_ignored") == std::vector<double>{1, 2, 3, 4});
    CHECK(sum.with("input_offset_ignored") == std::vector<double>{0, 2, 1, 3});
    CHECK(sum.with("wrong_noncontiguous")[2] != 2);
    auto out = make_view(cpu_device(), {{2, 2}, Dtype::float32, {1, 2}}, 0, 4);
    REQUIRE(out.ok());
    sum.call["out"] = *out;
    CHECK(sum.with("output_strides_ignored") == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("an output has another form") {
    Sum sum;
    sum.with("wrong_shape");
    CHECK(sum.call.tensor("out")->shape == Shape{7, 3});
    Sum other;
    other.with("wrong_dtype");
    CHECK(other.call.tensor("out")->dtype == Dtype::int32);
    Sum bytes({4});
    CHECK(bytes.with("wrong_representation") != bytes.right());
}

TEST_CASE("memory outside of the call's outputs is written") {
    Sum sum({4});
    for (const char* arg : {"out", "input"}) {
        auto view = make_view(cpu_device(), {{4}, Dtype::float32, {1}}, 1, 6);
        REQUIRE(view.ok());
        std::memset((*view)->storage.memory.get(), 0, 24);
        // The tensor's storage, as the fault sees it, is the four elements between two others.
        auto inner = std::make_shared<Tensor>(**view);
        inner->storage = {std::shared_ptr<void>((*view)->storage.memory, (*view)->data()), 16, diopi_host};
        inner->offset = 0;
        sum.call[arg] = inner;
    }
    const auto* out = sum.call.tensor("out")->data_as<uint32_t>();
    sum.with("write_past_end");
    CHECK(out[4] == UINT32_MAX);
    sum.with("write_before_start");
    CHECK(out[-1] == UINT32_MAX);
    const auto* input = sum.call.tensor("input")->data_as<float>();
    sum.with("input_modified");
    CHECK(input[3] == 0.5f);
}

TEST_CASE("memory is not freed") {
    Sum sum;
    sum.with("leak");
    const int64_t before = cpu_device().allocated_bytes().value_or(0);
    for (int i = 0; i < 100; ++i) sum.again();
    CHECK(cpu_device().allocated_bytes().value_or(0) - before >= 6400);
}

TEST_CASE("later calls differ from the first") {
    Sum sum;
    const auto right = sum.right();
    CHECK(sum.with("wrong_again") == right);
    CHECK(sum.again() != right);
    CHECK(sum.with("nondeterministic") == right);
    CHECK(sum.again() != right);
    CHECK(sum.again() == right);
    CHECK(sum.with("error_sometimes") == right);
    sum.again();
    CHECK(sum.outcome.error == diopiErrorOccurred);
    sum.again();
    CHECK(sum.outcome.ok());
}

namespace {

/// Numbers of a law, as a faulty library draws them from `state`.
std::vector<double> drawn(std::string_view fault, Generator& state) {
    Call call(*find_row("diopiNormalInp"));
    call["inout"] = floats({1000}, [](int64_t) { return 0; });
    call["mean"] = 2.0;
    call["std"] = 0.5;
    call["generator"] = &state;
    Faulty faulty(*call.row, fault.empty() ? nullptr : find_fault(fault));
    Chain chain(cpu());
    chain.add(faulty);
    Context context(cpu_device());
    CHECK(chain.run(call, context).ok());
    return values_of(*call.tensor("inout"));
}

std::vector<double> drawn(std::string_view fault, uint64_t seed) {
    Generator state{seed, 0};
    return drawn(fault, state);
}

}  // namespace

TEST_CASE("random numbers of another law or state") {
    const auto right = drawn("", 7);
    CHECK(drawn("seed_ignored", 7) == drawn("seed_ignored", 8));
    CHECK(drawn("std_scaled", 7)[3] == Approx(2 + 1.1 * (right[3] - 2)));
    CHECK(drawn("mean_shifted", 7)[3] == Approx(right[3] + 0.05));
    const auto flat = drawn("uniform", 7);
    CHECK(*std::max_element(flat.begin(), flat.end()) < 2 + 0.5 * std::sqrt(3.0) + 1e-6);
    const auto twice = drawn("half_repeated", 7);
    CHECK(std::equal(twice.begin(), twice.begin() + 500, twice.begin() + 500));
    Generator state{7, 0};
    drawn("state_kept", state);
    CHECK(state.offset == 0);
}
