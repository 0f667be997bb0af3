#include "intercept/factors_law.hpp"

#include <catch2/catch.hpp>

#include "core/tensor.hpp"
#include "intercept/places.hpp"
#include "schema/schema.hpp"

namespace diopi {
namespace {

TensorPtr matrix(const Shape& shape, const std::vector<double>& values) {
    TensorPtr made = *make_tensor(cpu_device(), {shape, Dtype::float64, {}});
    std::copy(values.begin(), values.end(), made->data_as<double>());
    return made;
}

/// A = (3, 1; 4, 2), whose Q is a rotation of (0.6, 0.8).
struct Factors {
    Call call{*find_row("diopiLinalgQR")};
    TensorPtr q = matrix({2, 2}, {-0.6, -0.8, -0.8, 0.6});
    TensorPtr r = matrix({2, 2}, {-5, -2.2, 0, 0.4});

    Factors() {
        call["A"] = matrix({2, 2}, {3, 1, 4, 2});
        call["mode"] = std::string("reduced");
    }
    [[nodiscard]] std::string wrong_q() const { return wrong("Q", q); }
    [[nodiscard]] std::string wrong_r() const { return wrong("R", r); }

 private:
    [[nodiscard]] std::string wrong(const char* name, const TensorPtr& factor) const {
        TensorPtr actual = factor, expected = matrix({2, 2}, {0, 0, 0, 0});
        const Status status = settle(call, static_cast<size_t>(call.row->find(name)), actual, expected);
        if (!status.ok()) return status.message();
        for (int64_t k = 0; k < 4; ++k) CHECK(expected->data_as<double>()[k] == factor->data_as<double>()[k]);
        return {};
    }
};

TEST_CASE("factors are right with any signs, if they fit each other") {
    Factors f;
    CHECK(f.wrong_q().empty());
    CHECK(f.wrong_r().empty());
    CHECK(wrong_factors(f.call, *f.q, *f.r).empty());
    f.q = matrix({2, 2}, {0.6, -0.8, 0.8, 0.6});
    f.r = matrix({2, 2}, {5, 2.2, 0, 0.4});
    CHECK(f.wrong_q().empty());
    CHECK(f.wrong_r().empty());
    CHECK(wrong_factors(f.call, *f.q, *f.r).empty());
    f.q = matrix({2, 2}, {0.6, 0.8, 0.8, -0.6});
    CHECK(f.wrong_q().empty());
    CHECK_THAT(wrong_factors(f.call, *f.q, *f.r), Catch::Contains("Q R is not A"));
}

TEST_CASE("a factor that is not orthonormal, not triangular or of another matrix is wrong") {
    Factors f;
    f.q->data_as<double>()[1] += 1e-9;
    CHECK_THAT(f.wrong_q(), Catch::Contains("is not orthonormal"));
    f.r->data_as<double>()[2] = 1e-300;
    CHECK_THAT(f.wrong_r(), Catch::Contains("element (1, 0) of matrix 0 is not 0"));
    f.r->data_as<double>()[2] = 0;
    f.r->data_as<double>()[3] += 1e-9;
    CHECK_THAT(f.wrong_r(), Catch::Contains("R^T R is not A^T A"));
}

}  // namespace
}  // namespace diopi
