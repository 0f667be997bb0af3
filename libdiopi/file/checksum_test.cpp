#include "file/checksum.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <string_view>

#include "runtime/device.hpp"

namespace diopi {

namespace {

std::string hex_of(std::string_view text) {
    Checksum sum;
    sum.update(text.data(), text.size());
    return sum.hex();
}

}  // namespace

TEST_CASE("checksums equal the published vectors of XXH64", "[store]") {
    CHECK(hex_of("") == "ef46db3751d8e999");
    CHECK(hex_of("a") == "d24ec4f1a98c6e5b");
    CHECK(hex_of("abc") == "44bc2cf5ad770999");
    CHECK(hex_of("Nobody inspects the spammish repetition") == "fbcea83c8a378bf1");
}

TEST_CASE("the checksum does not depend on the pieces of the bytes", "[store]") {
    const std::string text(1000, 'x');
    for (const size_t step : {1u, 7u, 31u, 32u, 33u, 999u}) {
        Checksum sum;
        for (size_t at = 0; at < text.size(); at += step) sum.update(&text[at], std::min(step, text.size() - at));
        CHECK(sum.hex() == hex_of(text));
    }
}

TEST_CASE("a tensor's checksum depends on its elements, not on its strides", "[store]") {
    const auto dense = make_tensor(cpu_device(), {{2, 3}, Dtype::int32, {}});
    const auto strided = make_tensor(cpu_device(), {{2, 3}, Dtype::int32, {1, 2}});
    REQUIRE((dense.ok() && strided.ok()));
    for (int row = 0; row < 2; ++row) {
        for (int column = 0; column < 3; ++column) {
            (*dense)->data_as<int32_t>()[row * 3 + column] = 10 * row + column;
            (*strided)->data_as<int32_t>()[row + column * 2] = 10 * row + column;
        }
    }
    const std::string before = *checksum_of_tensor(**dense);
    CHECK(*checksum_of_tensor(**strided) == before);
    (*dense)->data_as<int32_t>()[5] += 1;
    CHECK(*checksum_of_tensor(**dense) != before);
}

TEST_CASE("the checksum of a missing file is an error that names it", "[store]") {
    const auto sum = checksum_of_file("no/such/file");
    REQUIRE_FALSE(sum.ok());
    CHECK(sum.error().message.find("no/such/file") != std::string::npos);
}

}  // namespace diopi
