#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

TEST_CASE("the gradient of a large distance of order 1/2 is finite where its quotients are not", "[cdist]") {
    const double far = 1e308, near = 0.25;
    diopiContext ctx(cpu_device());
    const auto x = tensor({1, 2}, Dtype::float64, {far, near}), y = tensor({1, 2}, Dtype::float64, {0, 0});
    const auto distance = unwritten({1, 1}, Dtype::float64), grad = unwritten({1, 2}, Dtype::float64);
    const auto ones = tensor({1, 1}, Dtype::float64, {1});
    REQUIRE(cpu::diopiCdist(&ctx, distance.get(), x.get(), y.get(), 0.5, nullptr) == diopiSuccess);
    REQUIRE(cpu::diopiCdistBackward(&ctx, grad.get(), ones.get(), x.get(), y.get(), 0.5, distance.get()) ==
            diopiSuccess);
    const Values got = values(*grad);
    CHECK(got[0] == Approx(1));
    CHECK(got[1] == Approx(std::sqrt(far) / std::sqrt(near)));
}

TEST_CASE("Euclidean distances fill tiles of any height and width", "[cdist][vectors]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64);
    const int64_t rows = GENERATE(1, 3, 4, 6), columns = GENERATE(1, 7, 16, 31, 32, 37), size = GENERATE(1, 16, 19, 40);
    diopiContext ctx(cpu_device());
    Values own, others;
    for (int64_t i = 0; i < rows * size; ++i) own.push_back(static_cast<double>(i * 37 % 101) / 64 - 0.75);
    for (int64_t i = 0; i < columns * size; ++i) others.push_back(static_cast<double>(i * 53 % 97) / 64 - 0.5);
    const auto x = tensor({rows, size}, dtype, own), y = tensor({columns, size}, dtype, others);
    const auto distance = unwritten({rows, columns}, dtype);
    REQUIRE(cpu::diopiCdist(&ctx, distance.get(), x.get(), y.get(), 2, nullptr) == diopiSuccess);
    const Values got = values(*distance);
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            double square = 0;
            for (int64_t k = 0; k < size; ++k) {
                const double apart = own[static_cast<size_t>(i * size + k)] - others[static_cast<size_t>(j * size + k)];
                square += apart * apart;
            }
            CHECK(got[static_cast<size_t>(i * columns + j)] == Approx(std::sqrt(square)).epsilon(1e-6));
        }
    }
}

TEST_CASE("Euclidean gradients keep their digits where the gradient divided by the distance has none", "[cdist]") {
    struct Row {
        double apart, weight;
    };
    const auto [apart, weight] = GENERATE(Row{3e30, 1e-10}, Row{1e-30, 3e10}, Row{0, 5}, Row{2, 0});
    constexpr int64_t kSize = 9;
    diopiContext ctx(cpu_device());
    const auto coordinate = [&](int64_t k) { return k == 4 ? apart : 0.0; };
    Values point;
    for (int64_t k = 0; k < kSize; ++k) point.push_back(coordinate(k));
    const auto x = tensor({1, kSize}, Dtype::float32, point), y = tensor({1, kSize}, Dtype::float32, Values(kSize));
    const auto distance = tensor({1, 1}, Dtype::float32, {apart}), g = tensor({1, 1}, Dtype::float32, {weight});
    const auto grad = unwritten({1, kSize}, Dtype::float32);
    REQUIRE(cpu::diopiCdistBackward(&ctx, grad.get(), g.get(), x.get(), y.get(), 2, distance.get()) == diopiSuccess);
    const Values got = values(*grad);
    for (int64_t k = 0; k < kSize; ++k) CHECK(got[static_cast<size_t>(k)] == Approx(k == 4 && apart != 0 ? weight : 0));
}

TEST_CASE("Euclidean gradients are sums over all points and coordinates", "[cdist][vectors]") {
    const Dtype dtype = GENERATE(Dtype::float32, Dtype::float64);
    constexpr int64_t kPoints = 131, kSize = 61;
    diopiContext ctx(cpu_device());
    const auto number = [](int64_t i) { return static_cast<double>(i * 37 % 101) / 64 - 0.75; };
    Values own, others, weights;
    for (int64_t k = 0; k < kSize; ++k) own.push_back(number(k + 7));
    for (int64_t i = 0; i < kPoints * kSize; ++i) others.push_back(number(i * 3 + i / kSize));
    for (int64_t j = 0; j < kPoints; ++j) weights.push_back(number(j * 5));
    const auto x = tensor({1, kSize}, dtype, own), y = tensor({kPoints, kSize}, dtype, others);
    const auto g = tensor({1, kPoints}, dtype, weights);
    const auto distance = unwritten({1, kPoints}, dtype), grad = unwritten({1, kSize}, dtype);
    REQUIRE(cpu::diopiCdist(&ctx, distance.get(), x.get(), y.get(), 2, nullptr) == diopiSuccess);
    REQUIRE(cpu::diopiCdistBackward(&ctx, grad.get(), g.get(), x.get(), y.get(), 2, distance.get()) == diopiSuccess);
    const Values got = values(*grad);
    for (int64_t k = 0; k < kSize; ++k) {
        double wanted = 0;
        for (int64_t j = 0; j < kPoints; ++j) {
            double square = 0;
            const auto apart = [&](int64_t l) {
                return own[static_cast<size_t>(l)] - others[static_cast<size_t>(j * kSize + l)];
            };
            for (int64_t l = 0; l < kSize; ++l) square += apart(l) * apart(l);
            wanted += weights[static_cast<size_t>(j)] * apart(k) / std::sqrt(square);
        }
        CHECK(got[static_cast<size_t>(k)] == Approx(wanted).margin(1e-5));
    }
}
