#include "kernels/cuda/product/product.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace diopi::cuda {
namespace {

struct Place {
    int64_t a = 0, b = 0, c = 0;
    auto operator<=>(const Place&) const = default;
};

void visit(const std::vector<ProductDim>& dims, size_t d, Place at, std::vector<Place>& places) {
    if (d == dims.size()) return places.push_back(at);
    for (int64_t i = 0; i < dims[d].size; ++i) {
        visit(dims, d + 1, {at.a + i * dims[d].a, at.b + i * dims[d].b, at.c + i * dims[d].c}, places);
    }
}

/// The places of the factors and of the result of each product.
std::vector<Place> places_of(std::vector<ProductDim> dims, const ProductDim& m, const ProductDim& n,
                             const ProductDim& k) {
    dims.insert(dims.end(), {m, n, k});
    std::vector<Place> places;
    visit(dims, 0, {}, places);
    std::ranges::sort(places);
    return places;
}

void expect_same_products(const Product& p) {
    const ProductPlan plan = plan_product(p);
    std::vector<ProductDim> dims = plan.loops;
    dims.push_back(plan.batch);
    CHECK(places_of(dims, plan.m, plan.n, plan.k) == places_of(p.batch, p.m, p.n, p.k));
    CHECK((plan.batch.size == 1 || plan.batch.c != 0));
}

/// Dense (batch, m, k) * (batch, k, n); `a_has`, `b_has`, `c_has`: the batch dimensions that they have.
Product dense(std::vector<int64_t> batch, int64_t m, int64_t n, int64_t k, const std::vector<bool>& a_has,
              const std::vector<bool>& b_has, const std::vector<bool>& c_has) {
    Product p{{m, k, 0, n}, {n, 0, 1, 1}, {k, 1, n, 0}, {}};
    p.batch.resize(batch.size());
    ProductDim steps{1, m * k, k * n, m * n};
    for (size_t d = batch.size(); d-- > 0;) {
        const auto take = [&](bool has, int64_t& step) {
            const int64_t own = has ? step : 0;
            if (has) step *= batch[d];
            return own;
        };
        p.batch[d] = {batch[d], take(a_has[d], steps.a), take(b_has[d], steps.b), take(c_has[d], steps.c)};
    }
    return p;
}

TEST_CASE("a batch that the right factor lacks is more rows") {
    const ProductPlan plan = plan_product(dense({4, 5}, 7, 8, 9, {true, true}, {false, false}, {true, true}));
    CHECK(plan.m.size == 4 * 5 * 7);
    CHECK(plan.calls() == 1);
    CHECK(plan.batch.size == 1);
}

TEST_CASE("a batch that both factors have is one call") {
    const ProductPlan plan = plan_product(dense({4, 5}, 7, 8, 9, {true, true}, {true, true}, {true, true}));
    CHECK(plan.batch.size == 20);
    CHECK(plan.batch.a == 7 * 9);
    CHECK(plan.calls() == 1);
}

TEST_CASE("if only the rows' factor repeats along the inner batch, the longest dimension is the library's batch") {
    const ProductPlan plan = plan_product(dense({3, 50}, 7, 8, 9, {true, false}, {true, true}, {true, true}));
    CHECK(plan.batch.size == 50);
    CHECK(plan.batch.a == 0);
    CHECK(plan.loops.size() == 1);
    CHECK(plan.calls() == 3);
    CHECK_FALSE(plan.adds());
}

TEST_CASE("products of one matrix are one longer sum if both factors are continuous") {
    // (m, k)^T * (m, n), as for the gradient of a weight
    Product p{{9, 1, 0, 8}, {8, 0, 1, 1}, {7, 9, 8, 0}, {{4, 7 * 9, 7 * 8, 0}}};
    const ProductPlan plan = plan_product(p);
    CHECK(plan.k.size == 28);
    CHECK(plan.calls() == 1);
    expect_same_products(p);
}

TEST_CASE("products of one matrix are otherwise added call by call") {
    const ProductPlan plan = plan_product(dense({4}, 7, 8, 9, {true}, {true}, {false}));
    CHECK(plan.calls() == 4);
    CHECK(plan.adds());
}

TEST_CASE("a plan multiplies the same elements and puts each product in its place") {
    std::mt19937 draw(7);
    const auto one_of = [&](int count) { return static_cast<int64_t>(draw() % static_cast<unsigned>(count)); };
    for (int round = 0; round < 300; ++round) {
        std::vector<int64_t> batch;
        std::vector<bool> has[3];
        for (int64_t d = one_of(4); d > 0; --d) {
            batch.push_back(1 + one_of(3));
            const bool in_a = one_of(3) > 0;
            has[0].push_back(in_a);
            has[1].push_back(!in_a || one_of(3) > 0);
            has[2].push_back(one_of(3) > 0);
        }
        const Product p = dense(batch, 1 + one_of(3), 1 + one_of(3), 1 + one_of(3), has[0], has[1], has[2]);
        expect_same_products(p);
        const ProductPlan plan = plan_product(p);
        const auto result = matrix_layout(plan.m.size, plan.m.c, plan.n.size, plan.n.c);
        REQUIRE(result);
        CHECK_FALSE(result->transposed);
    }
}

TEST_CASE("a matrix is row-major, column-major, or of a layout that a library does not take") {
    const auto rows_first = matrix_layout(3, 10, 4, 1);
    REQUIRE(rows_first);
    CHECK((rows_first->pitch == 10 && !rows_first->transposed));
    const auto columns_first = matrix_layout(3, 1, 4, 5);
    REQUIRE(columns_first);
    CHECK((columns_first->pitch == 5 && columns_first->transposed));
    CHECK_FALSE(matrix_layout(3, 8, 4, 2));   // no neighbours
    CHECK_FALSE(matrix_layout(3, 2, 4, 1));   // rows overlap
    CHECK_FALSE(matrix_layout(3, 0, 4, 1));   // one row repeats
    CHECK_FALSE(matrix_layout(3, -4, 4, 1));  // upside down
}

TEST_CASE("steps of a dimension of size 1 do not matter to a matrix's layout") {
    const auto row = matrix_layout(1, 77, 4, 1);
    REQUIRE(row);
    CHECK((row->pitch == 4 && !row->transposed));
    const auto spread_row = matrix_layout(1, 77, 4, 3);
    REQUIRE(spread_row);
    CHECK((spread_row->pitch == 3 && spread_row->transposed));
    const auto column = matrix_layout(4, 3, 1, 77);
    REQUIRE(column);
    CHECK((column->pitch == 3 && !column->transposed));
}

}  // namespace
}  // namespace diopi::cuda
