#include "cases/draw.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>

#include "core/half.hpp"
#include "core/normal.hpp"
#include "core/strided.hpp"
#include "runtime/device.hpp"

using namespace diopi;

namespace {

constexpr uint64_t kKey = 0x5eed;

CaseTensor argument(Fill fn, Shape shape, Dtype dtype = Dtype::float32, double low = 0, double high = 10) {
    CaseTensor tensor;
    tensor.name = "input";
    tensor.fill = {fn, low, high, 0.2};
    tensor.specs = {{std::move(shape), dtype, {}}};
    return tensor;
}

TensorPtr draw_one(const CaseTensor& tensor, uint64_t key = kKey) {
    auto drawn = draw(tensor, key);
    INFO((drawn.ok() ? "" : drawn.error().message));
    REQUIRE(drawn.ok());
    REQUIRE(drawn->size() == 1);
    return drawn->front();
}

std::string message_of(const CaseTensor& tensor) {
    auto drawn = draw(tensor, kKey);
    if (drawn.ok()) return "";
    CHECK(drawn.error().code == Errc::kBadInput);
    return drawn.error().message;
}

double read(Dtype dtype, const std::byte* at) {
    const auto as = [at](auto zero) {
        std::memcpy(&zero, at, sizeof zero);
        return zero;
    };
    switch (dtype) {
        case Dtype::int8:
            return as(int8_t{});
        case Dtype::uint8:
        case Dtype::boolean:
            return as(uint8_t{});
        case Dtype::int16:
            return as(int16_t{});
        case Dtype::uint16:
            return as(uint16_t{});
        case Dtype::int32:
            return as(int32_t{});
        case Dtype::uint32:
            return as(uint32_t{});
        case Dtype::int64:
            return static_cast<double>(as(int64_t{}));
        case Dtype::uint64:
            return static_cast<double>(as(uint64_t{}));
        case Dtype::float16:
        case Dtype::complex32:
            return static_cast<double>(to_float(as(Half{})));
        case Dtype::bfloat16:
            return static_cast<double>(to_float(as(Bfloat16{})));
        case Dtype::float32:
        case Dtype::tfloat32:
        case Dtype::complex64:
            return static_cast<double>(as(float{}));
        case Dtype::float64:
        case Dtype::complex128:
            return as(double{});
        case Dtype::unsupported:
            break;
    }
    FAIL("no such dtype");
    return 0;
}

/// The components of all elements in row-major order: re, im, re, im, ... for a complex tensor.
std::vector<double> components(const Tensor& tensor) {
    const size_t parts = is_complex(tensor.dtype) ? 2 : 1;
    const size_t size = size_of(tensor.dtype);
    const auto* bytes = static_cast<const std::byte*>(tensor.storage.memory.get());
    std::vector<double> values;
    for_each_offset(tensor.shape, tensor.strides, [&](int64_t offset) {
        const std::byte* element = bytes + static_cast<size_t>(offset) * size;
        for (size_t part = 0; part < parts; ++part) values.push_back(read(tensor.dtype, element + part * size / parts));
    });
    return values;
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
    return {static_cast<const std::byte*>(tensor.storage.memory.get()), tensor.storage.nbytes};
}

bool same_bytes(const Tensor& a, const Tensor& b) { return std::ranges::equal(bytes_of(a), bytes_of(b)); }

uint64_t fnv(const Tensor& tensor) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const std::byte b : bytes_of(tensor)) hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3u;
    return hash;
}

bool is_whole(double x) { return x == std::floor(x); }
bool is_bit(double x) { return x == 0 || x == 1; }

bool all(const std::vector<double>& values, const std::function<bool(double)>& test) {
    return std::ranges::all_of(values, test);
}

}  // namespace

TEST_CASE("every fill gives values in its range in every dtype", "[draw]") {
    for (const Dtype dtype : all_dtypes()) {
        CAPTURE(name(dtype));
        const bool real = is_floating(dtype) || is_complex(dtype);
        const auto values = [&](Fill fn, double low = 0, double high = 10) {
            return components(*draw_one(argument(fn, {70, 70}, dtype, low, high)));
        };
        CHECK(all(values(Fill::kRand), [](double x) { return x >= 0 && x <= 1; }));
        if (real) CHECK(all(values(Fill::kRand), [](double x) { return x < 1; }));
        CHECK(all(values(Fill::kRandn), [&](double x) {
            return std::fabs(x) < (real ? 8.6 : 24.0) && (real || is_whole(x)) && !(is_unsigned(dtype) && x < 0);
        }));
        CHECK(values(Fill::kRandnComplex) == values(Fill::kRandn));
        CHECK(all(values(Fill::kPositive), [&](double x) { return real ? x > 0 : x >= 0; }));
        CHECK(all(values(Fill::kMask), is_bit));
        CHECK(all(values(Fill::kZeros), [](double x) { return x == 0; }));
        if (dtype != Dtype::boolean) {
            CHECK(
                all(values(Fill::kUniform, 1, 4), [&](double x) { return x >= 1 && x < 4 && (real || is_whole(x)); }));
            CHECK(all(values(Fill::kRandint, -4, 4), [](double x) { return x >= -4 && x < 4 && is_whole(x); }));
            CHECK(all(values(Fill::kRandnInt, 2, 9), [](double x) { return x >= 2 && x < 9 && is_whole(x); }));
            const std::vector<double> integers = values(Fill::kRandint, 3, 8);
            CHECK(std::set<double>(integers.begin(), integers.end()) == std::set<double>{3, 4, 5, 6, 7});
        }
        if (real) CHECK(all(values(Fill::kEmpty), [](double x) { return std::isnan(x); }));
        if (!is_unsigned(dtype) && dtype != Dtype::boolean) {
            CHECK(all(values(Fill::kLogSoftmax), [](double x) { return x <= 0; }));
        }
    }
}

TEST_CASE("booleans are drawn with both values", "[draw]") {
    for (const Fill fn : {Fill::kRand, Fill::kRandn, Fill::kMask, Fill::kRandint, Fill::kPositive}) {
        const std::vector<double> bits = components(*draw_one(argument(fn, {1000}, Dtype::boolean, 0, 2)));
        CHECK(all(bits, is_bit));
        CHECK(std::ranges::count(bits, 1.0) > 0);
        CHECK(std::ranges::count(bits, 0.0) > 0);
    }
    CHECK(all(components(*draw_one(argument(Fill::kUniform, {1000}, Dtype::boolean, 1, 4))),
              [](double x) { return x == 1; }));
}

TEST_CASE("ones, masks and zeros have no imaginary part, normals have one", "[draw]") {
    const std::vector<double> ones = components(*draw_one(argument(Fill::kOnes, {3}, Dtype::complex64)));
    CHECK(ones == std::vector<double>{1, 0, 1, 0, 1, 0});
    const std::vector<double> mask = components(*draw_one(argument(Fill::kMask, {5000}, Dtype::complex128)));
    for (size_t i = 1; i < mask.size(); i += 2) REQUIRE(mask[i] == 0);
    const std::vector<double> normals = components(*draw_one(argument(Fill::kRandn, {5000}, Dtype::complex64)));
    CHECK(normals == components(*draw_one(argument(Fill::kRandn, {10000}, Dtype::float32))));
}

TEST_CASE("element i is number i of the sequence of the tensor's key", "[draw]") {
    std::vector<float> expected(9000);
    normal_block(tensor_key(kKey, "input", 0), 0, 0, expected);
    const TensorPtr drawn = draw_one(argument(Fill::kRandn, {90, 100}));
    CHECK(std::memcmp(drawn->data(), expected.data(), drawn->nbytes()) == 0);
    const TensorPtr shorter = draw_one(argument(Fill::kRandn, {7}));
    CHECK(std::memcmp(shorter->data(), expected.data(), shorter->nbytes()) == 0);
}

TEST_CASE("halves are rounded floats, integers are four times the floats", "[draw]") {
    const std::vector<double> floats = components(*draw_one(argument(Fill::kRandn, {6000})));
    const std::vector<double> halves = components(*draw_one(argument(Fill::kRandn, {6000}, Dtype::float16)));
    const std::vector<double> integers = components(*draw_one(argument(Fill::kRandn, {6000}, Dtype::int8)));
    size_t wrong = 0;
    for (size_t i = 0; i < floats.size(); ++i) {
        wrong += halves[i] != static_cast<double>(to_float(to_half(floats[i])));
        wrong += integers[i] != std::nearbyint(4 * floats[i]);
    }
    CHECK(wrong == 0);
}

TEST_CASE("another key, name or position gives other numbers", "[draw]") {
    const std::set<uint64_t> keys = {tensor_key(1, "a", 0), tensor_key(2, "a", 0), tensor_key(1, "b", 0),
                                     tensor_key(1, "a", 1), tensor_key(0, "", 0)};
    CHECK(keys.size() == 5);
    CaseTensor list = argument(Fill::kRandn, {10});
    list.is_list = true;
    list.specs.push_back({{10}, Dtype::float32, {}});
    auto drawn = draw(list, kKey);
    REQUIRE(drawn.ok());
    REQUIRE(drawn->size() == 2);
    CHECK_FALSE(same_bytes(*(*drawn)[0], *(*drawn)[1]));
    CHECK(same_bytes(*(*drawn)[0], *draw_one(argument(Fill::kRandn, {10}))));
}

TEST_CASE("an absent argument draws nothing, every fill accepts an empty tensor", "[draw]") {
    CaseTensor absent = argument(Fill::kRandn, {4});
    absent.absent = true;
    auto none = draw(absent, kKey);
    REQUIRE(none.ok());
    CHECK(none->empty());
    for (int fn = 0; fn <= static_cast<int>(Fill::kValue); ++fn) {
        for (const Shape& shape : {Shape{0}, Shape{2, 0, 3}, Shape{3, 0}}) {
            CHECK(draw_one(argument(static_cast<Fill>(fn), shape))->numel() == 0);
        }
    }
    for (const Fill fn : {Fill::kRandn, Fill::kLogSoftmax, Fill::kRandint}) {
        CHECK(draw_one(argument(fn, {}))->numel() == 1);
    }
}

TEST_CASE("bounds hold after rounding to a narrow dtype", "[draw]") {
    for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::tfloat32, Dtype::float32, Dtype::float64}) {
        CAPTURE(name(dtype));
        for (const auto& [low, high] :
             {std::pair{0.1, 0.3}, {-4.0, -1.0}, {-1.0, 0.0}, {0.0, 1e-6}, {1000.0, 1002.0}}) {
            if (dtype == Dtype::bfloat16 && low == 1000.0) continue;  // the range holds only 1000
            const auto values = components(*draw_one(argument(Fill::kUniform, {20000}, dtype, low, high)));
            const double a = low, b = high;
            CHECK(all(values, [=](double x) { return x >= a && x < b; }));
        }
        CHECK(all(components(*draw_one(argument(Fill::kRandint, {20000}, dtype, 0, 4096))),
                  [](double x) { return x >= 0 && x < 4096; }));
    }
    CHECK(all(components(*draw_one(argument(Fill::kUniform, {20000}, Dtype::float16, -1e9, 1e9))),
              [](double x) { return std::isfinite(x); }));
    CHECK(all(components(*draw_one(argument(Fill::kUniform, {20000}, Dtype::float32, -3e38, 3e38))),
              [](double x) { return std::isfinite(x); }));
}

TEST_CASE("integer ranges are limited to the dtype and reach 2^62", "[draw]") {
    const auto bytes = components(*draw_one(argument(Fill::kRandint, {20000}, Dtype::int8, -1000, 1000)));
    CHECK(*std::ranges::min_element(bytes) == -128);
    CHECK(*std::ranges::max_element(bytes) == 127);
    const auto unsigned_bytes = components(*draw_one(argument(Fill::kRandint, {20000}, Dtype::uint8, -4, 4)));
    CHECK(*std::ranges::max_element(unsigned_bytes) == 3);
    const auto wide = components(*draw_one(argument(Fill::kRandint, {20000}, Dtype::int64, -0x1p62, 0x1p62)));
    CHECK(*std::ranges::min_element(wide) < -0x1p61);
    CHECK(*std::ranges::max_element(wide) > 0x1p61);
    CHECK(all(wide, [](double x) { return std::fabs(x) <= 0x1p62; }));
    const auto normal = components(*draw_one(argument(Fill::kRandnInt, {20000}, Dtype::float64, -0x1p62, 0x1.8p62)));
    CHECK(all(normal, [](double x) { return std::fabs(x) <= 0x1p62; }));
    const auto uints = components(*draw_one(argument(Fill::kRandint, {20000}, Dtype::uint32, 0, 0x1p32)));
    CHECK(*std::ranges::max_element(uints) > 0x1p31);
}

TEST_CASE("integers of a range are equally likely", "[draw]") {
    const auto values = components(*draw_one(argument(Fill::kRandint, {100000}, Dtype::int32, -3, 7)));
    for (int k = -3; k < 7; ++k) {
        CHECK(std::fabs(static_cast<double>(std::ranges::count(values, double(k))) - 10000) < 4 * 95);
    }
}

TEST_CASE("ties of integers are sums of two powers of two, and the integers beside them", "[draw]") {
    const TensorPtr drawn = draw_one(argument(Fill::kTies, {3'000}, Dtype::int64));
    const auto *first = drawn->data_as<int64_t>(), *last = first + drawn->numel();
    const auto any = [&](auto is_one) { return std::any_of(first, last, is_one); };
    CHECK(std::all_of(first, last, [](int64_t x) {
        const auto has_two = [](int64_t n) { return std::popcount(static_cast<uint64_t>(n)) <= 2; };
        const int64_t m = std::abs(x);
        return has_two(m - 1) || has_two(m) || has_two(m + 1);
    }));
    CHECK(any([](int64_t x) { return x != 0 && x % (int64_t{1} << 32) == 0; }));
    CHECK(any([](int64_t x) { return x > (int64_t{1} << 53) && x % 2 != 0; }));
    CHECK(any([](int64_t x) { return x < -(int64_t{1} << 61); }));
    const TensorPtr bytes = draw_one(argument(Fill::kTies, {3'000}, Dtype::uint8));
    CHECK(std::set(bytes->data_as<uint8_t>(), bytes->data_as<uint8_t>() + 3'000).contains(128));
}

TEST_CASE("the parts of cancelling numbers may have large sums", "[draw]") {
    bool is_large = false;
    for (uint64_t key = 0; key < 20; ++key) {
        const TensorPtr drawn = draw_one(argument(Fill::kCancelling, {8'192}), key);
        const float* x = drawn->data_as<float>();
        CHECK(std::fabs(std::accumulate(x, x + 8'192, 0.0)) < 1'000);
        is_large = is_large || std::accumulate(x, x + 2'048, 0.0) > 500'000;
    }
    CHECK(is_large);
}

TEST_CASE("sym_mat is symmetric and positive definite", "[draw]") {
    const auto a = components(*draw_one(argument(Fill::kSymMat, {3, 12, 12}, Dtype::float64)));
    for (size_t matrix = 0; matrix < 3; ++matrix) {
        std::vector<double> m(a.begin() + static_cast<int64_t>(matrix * 144),
                              a.begin() + static_cast<int64_t>(matrix * 144 + 144));
        for (size_t i = 0; i < 12; ++i) {
            for (size_t j = 0; j < 12; ++j) REQUIRE(m[i * 12 + j] == m[j * 12 + i]);
        }
        for (size_t k = 0; k < 12; ++k) {  // pivots of an LDL^T factorisation
            CHECK(m[k * 12 + k] >= 1.0 - 1e-12);
            for (size_t i = k + 1; i < 12; ++i) {
                const double factor = m[i * 12 + k] / m[k * 12 + k];
                for (size_t j = k; j < 12; ++j) m[i * 12 + j] -= factor * m[k * 12 + j];
            }
        }
    }
}

TEST_CASE("log_softmax sums to one along dim 1", "[draw]") {
    const auto x = components(*draw_one(argument(Fill::kLogSoftmax, {4, 5, 3}, Dtype::float64)));
    for (size_t i = 0; i < 4; ++i) {
        for (size_t k = 0; k < 3; ++k) {
            double sum = 0;
            for (size_t j = 0; j < 5; ++j) sum += std::exp(x[(i * 5 + j) * 3 + k]);
            CHECK(sum == Approx(1).epsilon(1e-14));
        }
    }
    double sum = 0;
    for (const double v : components(*draw_one(argument(Fill::kLogSoftmax, {100}, Dtype::float64)))) sum += std::exp(v);
    CHECK(sum == Approx(1).epsilon(1e-14));
}

TEST_CASE("literal values are cast to the dtype", "[draw]") {
    CaseTensor tensor = argument(Fill::kValue, {2, 2}, Dtype::uint8);
    tensor.values = {1, 2.9, -7, 300};
    CHECK(components(*draw_one(tensor)) == std::vector<double>{1, 2, 0, 255});
    tensor.specs[0].dtype = Dtype::boolean;
    CHECK(components(*draw_one(tensor)) == std::vector<double>{1, 1, 1, 1});
    tensor.specs[0].dtype = Dtype::complex32;
    CHECK(components(*draw_one(tensor)) == std::vector<double>{1, 0, 2.900390625, 0, -7, 0, 300, 0});
    tensor.specs[0].shape = {5};
    CHECK(message_of(tensor) == "argument 'input': 4 values are given for the shape (5,) of 5 elements");
}

TEST_CASE("the values of fill empty are poison, also for integers", "[draw]") {
    CHECK(components(*draw_one(argument(Fill::kEmpty, {3}, Dtype::uint16)))[2] == 0xa5a5);
    CHECK(components(*draw_one(argument(Fill::kEmpty, {3}, Dtype::boolean)))[2] == 1);
}

TEST_CASE("a strided tensor holds the values of the contiguous one", "[draw]") {
    for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::int64, Dtype::boolean, Dtype::complex128}) {
        const std::vector<double> expected = components(*draw_one(argument(Fill::kRandn, {3, 4, 5}, dtype)));
        CaseTensor view = argument(Fill::kRandn, {3, 4, 5}, dtype);
        view.no_contiguous = true;
        const TensorPtr swapped = draw_one(view);
        CHECK(swapped->strides == Shape{20, 1, 4});
        CHECK(components(*swapped) == expected);
        view.specs[0].strides = {100, 20, 3};
        const TensorPtr spaced = draw_one(view);
        CHECK(spaced->strides == Shape{100, 20, 3});
        CHECK(spaced->storage.nbytes == (200 + 60 + 12 + 1) * size_of(dtype));
        CHECK(components(*spaced) == expected);
    }
}

TEST_CASE("no_contiguous leaves no tensor of two elements contiguous", "[draw]") {
    for (const Shape& shape : {Shape{5}, Shape{1, 5}, Shape{5, 1}, Shape{2, 3}, Shape{2, 1, 1}, Shape{4, 1, 6, 1}}) {
        CaseTensor view = argument(Fill::kRandn, shape);
        view.no_contiguous = true;
        const TensorPtr drawn = draw_one(view);
        CHECK_FALSE(drawn->is_contiguous());
        CHECK(components(*drawn) == components(*draw_one(argument(Fill::kRandn, shape))));
    }
    CaseTensor scalar = argument(Fill::kRandn, {});
    scalar.no_contiguous = true;
    CHECK(draw_one(scalar)->numel() == 1);
}

TEST_CASE("gaps of a strided tensor hold poison", "[draw]") {
    CaseTensor view = argument(Fill::kOnes, {3});
    view.no_contiguous = true;
    const TensorPtr drawn = draw_one(view);
    CHECK(drawn->strides == Shape{2});
    const auto* floats = drawn->data_as<float>();
    CHECK(floats[0] == 1.0f);
    CHECK(std::isnan(floats[1]));
    CHECK(std::isnan(floats[3]));
}

TEST_CASE("overlapping strides keep the last element, impossible ones are refused", "[draw]") {
    CaseTensor view = argument(Fill::kValue, {2, 3});
    view.values = {1, 2, 3, 4, 5, 6};
    view.specs[0].strides = {1, 1};
    CHECK(components(*draw_one(view)) == std::vector<double>{1, 4, 5, 4, 5, 6});
    view.specs[0].strides = {0, 1};
    CHECK(components(*draw_one(view)) == std::vector<double>{4, 5, 6, 4, 5, 6});
    view.specs[0].strides = {-3, 1};
    CHECK(message_of(view) == "argument 'input': strides (-3, 1) have a negative one; strides must be 0 or more");
    view.specs[0].strides = {1};
    CHECK(message_of(view) == "argument 'input': strides (1,) do not match the rank of the shape (2, 3)");
    view.specs[0].strides = {INT64_MAX, INT64_MAX};
    CHECK(message_of(view) ==
          "argument 'input': strides (9223372036854775807, 9223372036854775807) reach beyond the "
          "address space");
}

TEST_CASE("an impossible fill is refused with a reason", "[draw]") {
    CHECK(message_of(argument(Fill::kRandint, {4}, Dtype::int32, 5, 5)) ==
          "argument 'input': the range [5.000000, 5.000000) holds no integer of int32; low must be below high");
    CHECK(message_of(argument(Fill::kUniform, {4}, Dtype::float32, 2, 1)) ==
          "argument 'input': the range [2.000000, 1.000000) holds no value of float32; low must be below high");
    CHECK(message_of(argument(Fill::kRandint, {4}, Dtype::uint8, -5, 0)) != "");
    CHECK(message_of(argument(Fill::kRandint, {4}, Dtype::uint8, 256, 300)) != "");
    CHECK(message_of(argument(Fill::kUniform, {4}, Dtype::float32, 0, INFINITY)) ==
          "argument 'input': the range [0.000000, inf) is not finite");
    CHECK(message_of(argument(Fill::kSymMat, {4, 5})) ==
          "argument 'input': sym_mat needs square matrices in the last two dims, the shape is (4, 5)");
    CHECK(message_of(argument(Fill::kSymMat, {4})) != "");
    CHECK(message_of(argument(Fill::kRandn, {4, -5})) != "");
    CHECK(message_of(argument(Fill::kRandn, {4}, Dtype::unsupported)) != "");
    CHECK(message_of(argument(Fill::kRandn, {int64_t{1} << 40, int64_t{1} << 40})) != "");
    CaseTensor list = argument(Fill::kSymMat, {4, 4});
    list.is_list = true;
    list.specs.push_back({{4, 5}, Dtype::float32, {}});
    CHECK(message_of(list).starts_with("argument 'input'[1]: sym_mat"));
}

TEST_CASE("a CSR tensor is valid and has the dense values", "[draw]") {
    CaseTensor sparse = argument(Fill::kRandn, {60, 50});
    sparse.sparse_csr = true;
    const TensorPtr csr = draw_one(sparse);
    const TensorPtr dense = draw_one(argument(Fill::kRandn, {60, 50}));
    REQUIRE(csr->is_sparse());
    CHECK(csr->shape == Shape{60, 50});
    CHECK(csr->crow_indices->dtype == Dtype::int64);
    CHECK(csr->col_indices->dtype == Dtype::int64);
    CHECK(csr->crow_indices->shape == Shape{61});
    const auto* crow = csr->crow_indices->data_as<int64_t>();
    const auto* col = csr->col_indices->data_as<int64_t>();
    const int64_t nnz = csr->values->numel();
    CHECK(crow[0] == 0);
    CHECK(crow[60] == nnz);
    CHECK(std::abs(nnz - 600) < 4 * 22);
    for (int64_t row = 0; row < 60; ++row) {
        REQUIRE(crow[row] <= crow[row + 1]);
        for (int64_t i = crow[row]; i < crow[row + 1]; ++i) {
            REQUIRE((col[i] >= 0 && col[i] < 50));
            if (i > crow[row]) REQUIRE(col[i - 1] < col[i]);
            REQUIRE(csr->values->data_as<float>()[i] == dense->data_as<float>()[row * 50 + col[i]]);
        }
    }
}

TEST_CASE("the density of a CSR tensor may be 0 or 1, its rank must be 2", "[draw]") {
    CaseTensor sparse = argument(Fill::kRandn, {6, 5}, Dtype::float64);
    sparse.sparse_csr = true;
    sparse.fill.density = 0;
    CHECK(draw_one(sparse)->values->numel() == 0);
    sparse.fill.density = 1;
    CHECK(draw_one(sparse)->values->numel() == 30);
    sparse.fill.density = 1.5;
    CHECK(message_of(sparse) == "argument 'input': the density 1.500000 is not in [0, 1]");
    sparse.fill.density = 0.5;
    sparse.specs[0].shape = {0, 5};
    CHECK(draw_one(sparse)->crow_indices->numel() == 1);
    sparse.specs[0].shape = {5};
    CHECK(message_of(sparse) == "argument 'input': a CSR tensor has rank 2, the shape is (5,)");
}

// A changed hash makes every stored baseline invalid: change the stream only on purpose.
TEST_CASE("the stream is the one that stored baselines were made of", "[draw]") {
    struct Golden {
        Fill fn;
        Dtype dtype;
        uint64_t hash;
    };
    const Golden goldens[] = {
        {Fill::kRand, Dtype::float32, 0xc906f5d23bb32a9bu},
        {Fill::kRand, Dtype::float64, 0xb84907d01bb201d3u},
        {Fill::kRand, Dtype::float16, 0x2b5a9ebaad021708u},
        {Fill::kRand, Dtype::boolean, 0x524cc756237da604u},
        {Fill::kRandn, Dtype::float32, 0xdfa6194efbb3214du},
        {Fill::kRandn, Dtype::float64, 0xf0a24bc8f0e712dcu},
        {Fill::kRandn, Dtype::float16, 0xb3d1d8bdf59535b2u},
        {Fill::kRandn, Dtype::bfloat16, 0xdab69b8366a84492u},
        {Fill::kRandn, Dtype::tfloat32, 0x6a1fc36578f07f6bu},
        {Fill::kRandn, Dtype::int8, 0xa3388ec829fcba32u},
        {Fill::kRandn, Dtype::uint16, 0x816a2d889056d3eu},
        {Fill::kRandn, Dtype::int64, 0xd8e3fc7aa2a21d36u},
        {Fill::kRandn, Dtype::boolean, 0x13b792a52c3cc310u},
        {Fill::kRandn, Dtype::complex64, 0xdc05948bf39a5e4au},
        {Fill::kRandn, Dtype::complex128, 0x48225cdf0bb71bc2u},
        {Fill::kUniform, Dtype::float32, 0x41fdf1f1980ec210u},
        {Fill::kUniform, Dtype::float64, 0x801432521e5721aau},
        {Fill::kUniform, Dtype::bfloat16, 0x9db964153ece475fu},
        {Fill::kUniform, Dtype::int32, 0x4d55155b11a52330u},
        {Fill::kRandint, Dtype::int64, 0x807df5cb386b67b0u},
        {Fill::kRandint, Dtype::uint8, 0xedc7308baadddb68u},
        {Fill::kRandint, Dtype::float16, 0xa3ea86b63153a866u},
        {Fill::kPositive, Dtype::float32, 0xa65facd4d80939cdu},
        {Fill::kPositive, Dtype::int32, 0x4df95e79022ead8eu},
        {Fill::kMask, Dtype::boolean, 0x524cc756237da604u},
        {Fill::kMask, Dtype::float32, 0xe6f241aad1ac0ab8u},
        {Fill::kRandnInt, Dtype::int32, 0x37bd275ebb845bcu},
        {Fill::kRandnInt, Dtype::float64, 0x80ae45acd0236eafu},
        {Fill::kSymMat, Dtype::float64, 0xba021592f77cffadu},
        {Fill::kSymMat, Dtype::float32, 0xef2de79be80ab27au},
        {Fill::kLogSoftmax, Dtype::float64, 0xa903e1dcdd5b7d88u},
        {Fill::kLogSoftmax, Dtype::float16, 0x3850ef54d4363888u},
        {Fill::kEmpty, Dtype::float32, 0x88993770bd97cca8u},
        {Fill::kEmpty, Dtype::int64, 0x1e353e9caa76bf3du},
    };
    for (const Golden& golden : goldens) {
        CAPTURE(static_cast<int>(golden.fn), name(golden.dtype));
        const bool square = golden.fn == Fill::kSymMat;
        CHECK(fnv(*draw_one(argument(golden.fn, square ? Shape{17, 17} : Shape{61, 83}, golden.dtype, -3, 50))) ==
              golden.hash);
    }
    CHECK(tensor_key(1, "input", 2) == 0xefcb77e2a4a1fc3fu);
}
