#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

/// The cosines, or the sines, of an angle for each element.
TensorPtr of_angles(const Shape& shape, double (*function)(double)) {
    Values values = random_values(numel(shape), 5);
    for (double& x : values) x = function(3 * x);
    return tensor(shape, values);
}
TensorPtr cosines(const Shape& shape) {
    return of_angles(shape, [](double x) { return std::cos(x); });
}
TensorPtr sines(const Shape& shape) {
    return of_angles(shape, [](double x) { return std::sin(x); });
}

Values rotated(const TensorPtr& x, const TensorPtr& cos, const TensorPtr& sin, bool conj, bool interleaved) {
    const TensorPtr out = make(x->shape);
    REQUIRE(reference::diopiRotaryEmbedding(context(), out.get(), x.get(), cos.get(), sin.get(), conj, interleaved) ==
            diopiSuccess);
    return values_of(out);
}

double length_of(const Values& x) {
    double squares = 0;
    for (const double v : x) squares += v * v;
    return std::sqrt(squares);
}

/// Each half of the last dim repeats the numbers of the pairs.
TensorPtr for_both_halves(const TensorPtr& pairs, int64_t half) {
    const Values from = values_of(pairs);
    Values both;
    for (size_t row = 0; row < from.size(); row += static_cast<size_t>(half)) {
        for (int k = 0; k < 2; ++k) {
            both.insert(both.end(), from.begin() + static_cast<std::ptrdiff_t>(row),
                        from.begin() + static_cast<std::ptrdiff_t>(row) + half);
        }
    }
    return tensor({pairs->shape[0], 1, 2 * half}, both);
}

}  // namespace

TEST_CASE("a rotation by the conjugate undoes it, and lengths stay", "[reference][rotary]") {
    const Shape shape = {2, 3, 4, 6};
    const TensorPtr x = random(shape, 1), cos = cosines({3, 1, 3}), sin = sines({3, 1, 3});
    for (const bool interleaved : {false, true}) {
        const Values turned = rotated(x, cos, sin, false, interleaved);
        CHECK(length_of(turned) == Approx(length_of(values_of(x))).epsilon(1e-13));
        CHECK(turned != values_of(x));
        check_close(rotated(tensor(shape, turned), cos, sin, true, interleaved), values_of(x), 1e-14);
    }
}

TEST_CASE("pairs are neighbours if interleaved, and else half a row apart", "[reference][rotary]") {
    const TensorPtr x = tensor({4}, {1, 2, 3, 4}), cos = tensor({2}, {0, 1}), sin = tensor({2}, {1, 0});
    CHECK(rotated(x, cos, sin, false, false) == Values{-3, 2, 1, 4});
    CHECK(rotated(x, cos, sin, false, true) == Values{-2, 1, 3, 4});
    CHECK(rotated(x, cos, sin, true, true) == Values{2, -1, 3, 4});
}

TEST_CASE("a rotation may be written over its input", "[reference][rotary]") {
    const TensorPtr cos = cosines({3, 4}), sin = sines({3, 4});
    for (const bool interleaved : {false, true}) {
        const TensorPtr x = tensor({2, 3, 8}, random_values(48, 7));
        const Values wanted = rotated(x, cos, sin, false, interleaved);
        REQUIRE(reference::diopiRotaryEmbedding(context(), x.get(), x.get(), cos.get(), sin.get(), false,
                                                interleaved) == diopiSuccess);
        CHECK(values_of(x) == wanted);
    }
}

TEST_CASE("both forms of rotary embeddings agree", "[reference][rotary]") {
    const TensorPtr x = random({5, 3, 8}, 1), key = random({5, 8}, 2), cos = cosines({5, 1, 4}), sin = sines({5, 1, 4});
    const Values query_wanted = rotated(x, cos, sin, false, false);
    const Values key_wanted = rotated(tensor({5, 1, 8}, values_of(key)), cos, sin, false, false);
    const TensorPtr wide_cos = for_both_halves(cos, 4), wide_sin = for_both_halves(sin, 4);
    REQUIRE(reference::diopiRotaryEmbeddingV2(context(), x.get(), key.get(), wide_cos.get(), wide_sin.get(), 8) ==
            diopiSuccess);
    check_close(x, query_wanted, 1e-15);
    check_close(key, key_wanted, 1e-15);
}

TEST_CASE("rotary embeddings refuse what has no pairs or no angles for them", "[reference][rotary]") {
    const TensorPtr odd = make({2, 3}), even = make({2, 4}), cos = make({2, 2}), one = make({2, 1});
    const auto refuses = [](const TensorPtr& x, const TensorPtr& c, const TensorPtr& s, const std::string& message) {
        CHECK(reference::diopiRotaryEmbedding(context(), x.get(), x.get(), c.get(), s.get(), false, false) ==
              diopiErrorOccurred);
        CHECK_THAT(last_error(), Catch::Contains(message));
    };
    refuses(odd, cos, cos, "x has shape (2, 3), wanted one that ends in an even size");
    refuses(even, one, one, "cos has shape (2, 1), wanted one that ends in 2");
    refuses(even, cos, one, "sin has shape (2, 1)");
    const TensorPtr angles = make({2, 1, 4});
    CHECK(reference::diopiRotaryEmbeddingV2(context(), even.get(), odd.get(), angles.get(), angles.get(), 4) ==
          diopiErrorOccurred);
    CHECK_THAT(last_error(), Catch::Contains("key has shape (2, 3), wanted (2, heads * dim)"));
}
