#include "replay/compare_run.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "backend/faulty_testing.hpp"
#include "cases/testing.hpp"
#include "intercept/testing.hpp"

namespace diopi {

namespace {

using namespace testing;
using Catch::Matchers::Contains;

struct Compared {
    Status status;
    std::vector<CompareRow> rows;
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const CompareRow& row : rows) names.push_back(row.name);
        return names;
    }
    [[nodiscard]] int64_t different() const {
        return std::ranges::count_if(rows, [](const CompareRow& row) { return row.compared() && row.differs(); });
    }
};

const ToleranceTable kNoTolerances;

CompareOptions options_for(Compared& compared, const Backend& backend) {
    CompareOptions options;
    options.backend = &backend;
    options.against = &reference_backend();
    options.tolerances = &kNoTolerances;
    options.on_row = [&compared](const CompareRow& row) { compared.rows.push_back(row); };
    return options;
}

Compared compared_case(const Case& c, const Backend& backend = **find_backend("cpu")) {
    Compared compared;
    compared.status = compare_case(c, 0, options_for(compared, backend));
    return compared;
}

Case conv_case() {
    Case c = make_case(
        "conv2d", {case_tensor("input", {2, 3, 5, 5}), case_tensor("weight", {4, 3, 3, 3}), case_tensor("bias", {4})},
        {{"stride", Param{int64_t{1}}},
         {"padding", Param{int64_t{1}}},
         {"dilation", Param{int64_t{1}}},
         {"groups", Param{int64_t{1}}}});
    c.backward = true;
    for (CaseTensor& tensor : c.tensors) tensor.requires_grad = true;
    return c;
}

diopiError_t failing_relu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiErrorOccurred;
}

diopiError_t declining_relu(diopiContextHandle_t, diopiTensorHandle_t, diopiConstTensorHandle_t) {
    return diopiDtypeNotSupported;
}

}  // namespace

TEST_CASE("the gradients of a convolution are compared", "[run][compare]") {
    const Compared compared = compared_case(conv_case());
    REQUIRE(compared.status.ok());
    CHECK(compared.names() == std::vector<std::string>{"conv2d", "conv2d 0th input", "conv2d 1th input",
                                                       "conv2d 2th input", "conv2d 0th input grad",
                                                       "conv2d 1th input grad", "conv2d 2th input grad",
                                                       "conv2d 0th input", "conv2d 1th input", "conv2d 2th input"});
    CHECK(compared.different() == 0);
    CHECK(compared.rows[4].function == "diopiConvolution2dBackward");
    CHECK(compared.rows[5].tensor == "float32[4, 3, 3, 3]");
}

TEST_CASE("a call that fails is an error, a declined call is a row", "[run][compare]") {
    const Case relu = make_case("relu", {case_tensor("input", {4})});
    const FaultyBackend failing({{"diopiRelu", reinterpret_cast<AnyFunction>(&failing_relu)}});
    const Compared failed = compared_case(relu, failing.backend());
    CHECK_THAT(failed.status.message(), Contains("forward (diopiRelu): ") && Contains("diopiErrorOccurred"));
    CHECK(failed.rows.empty());

    const FaultyBackend declining({{"diopiRelu", reinterpret_cast<AnyFunction>(&declining_relu)}});
    const Compared declined = compared_case(relu, declining.backend());
    CHECK(declined.status.ok());
    REQUIRE(declined.rows.size() == 1);
    CHECK_THAT(declined.rows[0].skipped, Contains("diopiDtypeNotSupported"));
}

}  // namespace diopi
