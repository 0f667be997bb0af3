#include "hard/hard_cases.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "cases/plan.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

/// The dtypes of the first tensors.
std::set<Dtype> dtypes_of(const std::vector<Case>& cases) {
    std::set<Dtype> dtypes;
    for (const Case& c : cases) dtypes.insert(c.dtype());
    return dtypes;
}

bool any_tensor(const std::vector<Case>& cases, bool (*holds)(const TensorSpec&)) {
    return std::ranges::any_of(cases, [&](const Case& c) {
        return std::ranges::any_of(c.tensors, [&](const CaseTensor& tensor) {
            return !tensor.absent && std::ranges::any_of(tensor.specs, holds);
        });
    });
}

}  // namespace

TEST_CASE("the hard cases of an operator can be planned, and have ids that find them again") {
    for (const char* op : {"add", "relu", "sum", "mm", "linear", "softmax", "where", "conv2d", "batch_norm",
                           "layer_norm", "max_pool2d", "cross_entropy", "embedding", "cat", "adam"}) {
        INFO(op);
        const auto cases = hard_cases(op, 0);
        REQUIRE(cases.size() > 100);
        for (size_t i = 0; i < cases.size(); i += 37) {
            CHECK(plan(cases[i]).ok());
            const auto found = find_hard_case(cases[i].id());
            REQUIRE(found.ok());
            CHECK(found->fingerprint() == cases[i].fingerprint());
            CHECK(found->id() == cases[i].id());
        }
        const auto first = hard_cases(op, 0, 10);
        REQUIRE(first.size() == 10);
        for (size_t i = 0; i < first.size(); ++i) CHECK(first[i].fingerprint() == cases[i].fingerprint());
    }
}

TEST_CASE("hard cases have the dtypes, sizes and layouts that the standard's cases leave out") {
    const auto cases = hard_cases("add", 0);
    CHECK(dtypes_of(cases).size() == 12);
    CHECK(dtypes_of(hard_cases("add", 0, 60)).size() == 12);
    CHECK(any_tensor(cases, [](const TensorSpec& spec) { return numel(spec.shape) == 0; }));
    CHECK(any_tensor(cases, [](const TensorSpec& spec) { return spec.shape == Shape{65'537}; }));
    for (const size_t rank : {6U, 7U, 8U}) {
        CHECK(std::ranges::any_of(cases,
                                  [&](const Case& c) { return c.tensors.front().specs.front().shape.size() == rank; }));
    }
    // Both operands repeat their elements in the same way.
    CHECK(std::ranges::any_of(cases, [](const Case& c) {
        if (c.tensors.size() < 2) return false;
        const TensorSpec &first = c.tensors[0].specs[0], &last = c.tensors[1].specs[0];
        return first == last && std::ranges::find(first.strides, 0) != first.strides.end();
    }));
    CHECK(any_tensor(cases, [](const TensorSpec& spec) { return spec.shape.empty(); }));
    CHECK(any_tensor(cases, [](const TensorSpec& spec) {
        return !spec.strides.empty() && std::ranges::find(spec.strides, 0) != spec.strides.end();
    }));
    CHECK(std::ranges::any_of(cases, [](const Case& c) { return c.layout.strided; }));
}

TEST_CASE("numbers beside integers have fractions where the result may") {
    const auto has_fraction = [](const char* op) {
        return std::ranges::any_of(hard_cases(op, 0, 400), [](const Case& c) {
            const Param* other = c.param("other");
            const auto* number = other == nullptr ? nullptr : std::get_if<double>(&other->value);
            return is_integer(c.dtype()) && number != nullptr && *number != static_cast<int>(*number);
        });
    };
    CHECK(has_fraction("mul"));
    CHECK(has_fraction("lt"));
    CHECK_FALSE(has_fraction("bitwise_and"));
}

TEST_CASE("numbers that take the place of integers have fractions, and those of truth values are beyond a byte") {
    for (const char* op : {"fill_", "masked_fill", "index_fill", "pad"}) {
        INFO(op);
        const auto any_number = [&](bool is_boolean, auto&& holds) {
            return std::ranges::any_of(hard_cases(op, 0, 400), [&](const Case& c) {
                const Param* value = c.param("value");
                if (value == nullptr || (is_boolean ? c.dtype() != Dtype::boolean : !is_integer(c.dtype())))
                    return false;
                const auto* real = std::get_if<double>(&value->value);
                const auto* whole = std::get_if<int64_t>(&value->value);
                return real != nullptr ? holds(*real) : whole != nullptr && holds(static_cast<double>(*whole));
            });
        };
        CHECK(any_number(false, [](double x) { return x != std::trunc(x); }));
        CHECK(any_number(true, [](double x) { return x == 256; }));
        // PyTorch refuses what the dtype does not hold.
        CHECK_FALSE(std::ranges::any_of(hard_cases(op, 0, 400), [](const Case& c) {
            const Param* value = c.param("value");
            const auto* real = value == nullptr ? nullptr : std::get_if<double>(&value->value);
            return c.dtype() == Dtype::uint8 && real != nullptr && *real < 0;
        }));
    }
}

TEST_CASE("powers of integers have exponents beyond int32, as numbers and as tensors") {
    const auto cases = hard_cases("pow", 0, 400);
    CHECK(std::ranges::any_of(cases, [](const Case& c) {
        const Param* exponent = c.param("exponent");
        const auto* whole = exponent == nullptr ? nullptr : std::get_if<int64_t>(&exponent->value);
        return c.dtype() == Dtype::int64 && whole != nullptr && *whole > int64_t{1} << 31;
    }));
    CHECK(std::ranges::any_of(cases, [](const Case& c) {
        return std::ranges::any_of(c.tensors, [](const CaseTensor& tensor) {
            return tensor.name == "exponent" && tensor.fill.fn == Fill::kRandint && tensor.fill.low >= 0x1p31;
        });
    }));
}

TEST_CASE("gradients of hard cases are of every size, too") {
    const auto cases = hard_cases("relu", 0, 200);
    CHECK(std::ranges::any_of(cases, [](const Case& c) { return c.grad_fill.fn == Fill::kWide; }));
    CHECK(std::ranges::any_of(cases, [](const Case& c) { return c.grad_fill.fn == Fill::kRandn; }));
}

TEST_CASE("a triangle that is not read has NaN, and no other element") {
    size_t with_nan = 0;
    for (const Case& c : hard_cases("triangular_solve", 0, 400)) {
        const auto mat = std::ranges::find(c.tensors, "A", &CaseTensor::name);
        REQUIRE(mat != c.tensors.end());
        const int64_t n = mat->specs.front().shape.back();
        const bool upper = std::get<bool>(c.param("upper")->value);
        for (size_t k = 0; k < mat->values.size(); ++k) {
            const int64_t i = static_cast<int64_t>(k) / n % n, j = static_cast<int64_t>(k) % n;
            const bool is_unread = upper ? i > j : i < j;
            if (is_unread) CHECK(std::isnan(mat->values[k]));
            if (!is_unread && i != j) CHECK_FALSE(std::isnan(mat->values[k]));
            with_nan += is_unread ? 1 : 0;
        }
    }
    CHECK(with_nan > 0);
}

TEST_CASE("hard cases know a call on the same tensors with other options") {
    const auto cases = hard_cases("interpolate", 0, 400);
    const auto differs_in = [](std::string_view name) {
        return [name](const Case& c) {
            std::set<std::string> differing;
            for (const auto& param : c.other_params) {
                if (std::ranges::find(c.params, param) == c.params.end()) differing.insert(param.first);
            }
            return differing == std::set<std::string>{std::string(name)};
        };
    };
    CHECK(std::ranges::any_of(cases, differs_in("align_corners")));
    CHECK(std::ranges::any_of(hard_cases("clamp", 0, 100), differs_in("max")));
    CHECK(std::ranges::all_of(hard_cases("relu", 0, 100), [](const Case& c) { return c.other_params.empty(); }));
}

TEST_CASE("hard cases of equal have equal tensors, too, with NaN and with zeros of both signs") {
    const auto cases = hard_cases("equal", 0, 400);
    const auto ends_in = [&](auto&& holds) {
        return std::ranges::any_of(cases, [&](const Case& c) {
            const auto &one = c.tensors[0].values, &two = c.tensors[1].values;
            return !one.empty() && one.size() == two.size() && holds(one.back(), two.back());
        });
    };
    CHECK(ends_in([](double a, double b) { return std::isnan(a) && std::isnan(b); }));
    CHECK(ends_in([](double a, double b) { return a == 0 && b == 0 && std::signbit(a) != std::signbit(b); }));
    CHECK(ends_in([](double a, double b) { return a == b; }));
    CHECK(ends_in([](double a, double b) { return a != b && !std::isnan(a); }));
}

TEST_CASE("some hard cases have results of a layout of their own beside contiguous inputs") {
    const auto cases = hard_cases("silu", 0, 100);
    const auto count = std::ranges::count_if(cases, [](const Case& c) { return c.layout.results; });
    CHECK(count > 10);
    CHECK(count < 50);
    for (const Case& c : cases) {
        const auto layout = std::ranges::find(c.choices, "layout", &std::pair<std::string, std::string>::first);
        REQUIRE(layout != c.choices.end());
        CHECK((layout->second == "results turned") == c.layout.results);
        CHECK((!c.layout.results || c.tensors.front().specs.front().strides.empty()));
    }
}

TEST_CASE("another seed gives other hard cases") {
    const auto zero = hard_cases("mul", 0, 20), one = hard_cases("mul", 1, 20);
    CHECK(zero[0].id().starts_with("hard/mul.0."));
    CHECK(one[0].id().starts_with("hard/mul.1."));
    CHECK_FALSE(std::ranges::equal(zero, one, {}, &Case::fingerprint, &Case::fingerprint));
}

TEST_CASE("an id that is no hard case is refused with the reason") {
    const auto message = [](const char* id) { return find_hard_case(id).error().message; };
    CHECK_THAT(message("hard/add"), Catch::Contains("such as hard/add.0.17"));
    CHECK_THAT(message("hard/add.x.1"), Catch::Contains("is no id of a hard case"));
    CHECK_THAT(message("hard/add.0.99999"), Catch::Contains("its number stands for none"));
    CHECK_THAT(message("hard/ad.0.1"), Catch::Contains("did you mean"));
    CHECK_THAT(message("hard/ball_query_mmcv.0.1"), Catch::Contains("no hard cases are made for ball_query_mmcv yet"));
    CHECK(why_no_hard_cases("ball_query_mmcv") == "the shapes of their arguments are not generated yet");
    CHECK(why_no_hard_cases("normal_").empty());
    CHECK(why_no_hard_cases("exp").empty());
}

}  // namespace diopi
