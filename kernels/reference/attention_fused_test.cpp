#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// A layer with one head of two numbers, all of which are rotated; room for three tokens.
struct SmallLayer {
    TensorPtr x = tensor({1, 2}, {1, 0});
    // q = (x0, 0), k = (0, x0), v = (x0, 3 x0)
    TensorPtr weight = tensor({2, 6}, {1, 0, 0, 1, 1, 3, 0, 0, 0, 0, 0, 0});
    TensorPtr keys = tensor({1, 1, 1, 3, 2}, {0, 0, 7, 7, kNaN, kNaN});
    TensorPtr values = tensor({1, 1, 1, 3, 2}, {5, 5, 7, 7, kNaN, kNaN});

    diopiError_t step(double length, int64_t steps, const TensorPtr& padding = nullptr,
                      const TensorPtr& finished = nullptr) const {
        int64_t bytes = 0;
        const TensorPtr lengths = tensor({1}, {length}, Dtype::int64);
        return reference::diopiFusedDecoderAttentionInp(context(), x.get(), weight.get(), nullptr, nullptr, &bytes, 0,
                                                        keys.get(), values.get(), finished.get(), padding.get(),
                                                        lengths.get(), steps, 0, 1, 1, 2, 3, 2, 10'000);
    }
};

}  // namespace

TEST_CASE("an attention layer of one step, by hand", "[reference][fused]") {
    const SmallLayer layer;
    REQUIRE(layer.step(1, 2) == diopiSuccess);
    // q turns by one from (1, 0), k from (0, 1): they stay at a right angle, so both scores are 0.
    check_close(layer.keys, {0, 0, -std::sin(1.0), std::cos(1.0), kNaN, kNaN}, 1e-15);
    check_close(layer.values, {5, 5, 1, 3, kNaN, kNaN}, 1e-15);
    check_close(layer.x, {3, 4}, 1e-15);
}

TEST_CASE("padding turns the position back, and a finished sequence does not change", "[reference][fused]") {
    const SmallLayer layer;
    REQUIRE(layer.step(1, 4, tensor({1}, {3}, Dtype::int64)) == diopiSuccess);
    check_close(layer.keys, {0, 0, 0, 1, kNaN, kNaN}, 1e-15);
    const SmallLayer ended;
    REQUIRE(ended.step(17, 2, nullptr, tensor({1}, {1}, Dtype::boolean)) == diopiSuccess);
    check_close(ended.keys, {0, 0, 7, 7, kNaN, kNaN}, 0);
    check_close(ended.x, {1, 0}, 0);
}

TEST_CASE("an attention layer of a prompt behind a stored token, by hand", "[reference][fused]") {
    const SmallLayer layer;
    int64_t pre_bytes = -1, bytes = 0;
    const auto run = [&](int64_t queries, int64_t count) {
        return reference::diopiFusedContextAttentionInp(context(), layer.x.get(), layer.weight.get(), nullptr, nullptr,
                                                        &pre_bytes, false, nullptr, &bytes, 0, layer.keys.get(),
                                                        layer.values.get(), 0, 1, 1, 2, 3, queries, count, 0, 10'000);
    };
    REQUIRE(run(1, 2) == diopiSuccess);
    CHECK(pre_bytes == 0);
    check_close(layer.x, {1, 0}, 0);
    REQUIRE(run(1, 2) == diopiSuccess);
    check_close(layer.keys, {0, 0, 0, 1, kNaN, kNaN}, 0);
    check_close(layer.x, {3, 4}, 1e-15);
    CHECK(run(2, 2) == diopiErrorOccurred);
    CHECK(run(1, 4) == diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("max_kv_len 4 and max_seq_len 3"));
}

TEST_CASE("an attention layer refuses lengths beyond the step and the caches", "[reference][fused]") {
    const SmallLayer layer;
    for (const double length : {-1.0, 2.0}) {
        CHECK(layer.step(length, 2) == diopiErrorOccurred);
        CHECK_THAT(last_error(), Catch::Contains("wanted one below step 2 and max_seq_len 3"));
    }
    CHECK(layer.step(3, 5) == diopiErrorOccurred);
}

TEST_CASE("q, k and v may be rounded to the format of the tensors", "[reference][fused]") {
    const auto bound_of = [](Dtype kept) {
        const SmallLayer layer;
        Context ctx(cpu_device());
        ctx.errors_in = format_of(Dtype::float32);
        ctx.kept_in = format_of(kept);
        int64_t bytes = 0;
        const TensorPtr lengths = tensor({1}, {1}, Dtype::int64);
        REQUIRE(reference::diopiFusedDecoderAttentionInp(
                    &ctx, layer.x.get(), layer.weight.get(), nullptr, nullptr, &bytes, 0, layer.keys.get(),
                    layer.values.get(), nullptr, nullptr, lengths.get(), 2, 0, 1, 1, 2, 3, 2, 10'000) == diopiSuccess);
        return values_of(layer.x)[0];
    };
    // One rounding of the values of size 3, and less than ten.
    CHECK(bound_of(Dtype::bfloat16) > 3 * 0x1p-9);
    CHECK(bound_of(Dtype::bfloat16) < 30 * 0x1p-9);
    CHECK(bound_of(Dtype::bfloat16) > 100 * bound_of(Dtype::float32));
    // A number of the working format is not rounded again.
    CHECK(bound_of(Dtype::float64) == bound_of(Dtype::float32));
}
