#include "kernels/reference/operators.hpp"
#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference::testing;
namespace reference = diopi::reference;

namespace {

const Shape kScores = {1, 2, 3, 4};

TensorPtr mask_of(const Shape& shape, const Values& values) { return tensor(shape, values, Dtype::boolean); }

Values masked_softmax(const TensorPtr& x, const TensorPtr& mask, double scale, bool behind) {
    const TensorPtr out = make(x->shape);
    REQUIRE(reference::diopiScaledMaskedSoftmax(context(), out.get(), x.get(), mask.get(), scale, behind) ==
            diopiSuccess);
    return values_of(out);
}

}  // namespace

TEST_CASE("the rows of scaled_masked_softmax sum to one, and hidden keys have no share", "[reference][attention]") {
    const TensorPtr x = random(kScores, 1), mask = mask_of({3, 4}, {0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0});
    const Values y = masked_softmax(x, mask, 2.5, false);
    for (size_t row = 0; row < 6; ++row) {
        CHECK(y[4 * row] + y[4 * row + 1] + y[4 * row + 2] + y[4 * row + 3] == Approx(1).epsilon(1e-14));
    }
    CHECK(y[1] == 0);
    CHECK(y[4 + 2] == 1);
}

TEST_CASE("a row whose keys are all hidden has the same share of each", "[reference][attention]") {
    const Values y = masked_softmax(random(kScores, 1), mask_of({1}, {1}), 1, false);
    CHECK(y == Values(24, 0.25));
}

TEST_CASE("the triangle hides the keys behind the query, whatever the mask says", "[reference][attention]") {
    const Values y = masked_softmax(tensor({1, 1, 2, 3}, {0, 5, 5, 0, 0, 5}), mask_of({1}, {1}), 1, true);
    CHECK(y == Values{1, 0, 0, 0.5, 0.5, 0});
    const Values tall = masked_softmax(tensor({1, 1, 3, 2}, Values(6, 1)), mask_of({1}, {0}), 1, true);
    CHECK(tall == Values{1, 0, 0.5, 0.5, 0.5, 0.5});
}

TEST_CASE("scaled_masked_softmax backward is the derivative", "[reference][attention][gradient]") {
    const TensorPtr x = random(kScores, 1), g = random(kScores, 2), gx = make(kScores);
    for (const bool behind : {false, true}) {
        for (const Values& hidden : {Values(12, 0), Values{0, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1}}) {
            const TensorPtr mask = mask_of({3, 4}, hidden);
            const auto again = [&] { return masked_softmax(x, mask, 1.5, behind); };
            const TensorPtr y = tensor(kScores, again());
            REQUIRE(reference::diopiScaledMaskedSoftmaxBackward(context(), gx.get(), g.get(), y.get(), mask.get(), 1.5,
                                                                behind) == diopiSuccess);
            check_gradient(x, gx, values_of(g), again);
        }
    }
}

TEST_CASE("scaled_masked_softmax refuses scores without four dims, and masks that do not fit",
          "[reference][attention]") {
    const TensorPtr flat = make({3, 4}), x = make(kScores), bytes = tensor({1}, {1}, Dtype::uint8);
    const TensorPtr wide = mask_of({5}, Values(5, 0)), one = mask_of({1}, {0});
    const auto refuses = [](const TensorPtr& x, const TensorPtr& mask, diopiError_t error, const std::string& message) {
        CHECK(reference::diopiScaledMaskedSoftmax(context(), x.get(), x.get(), mask.get(), 1, false) == error);
        CHECK_THAT(last_error(), Catch::Contains(message));
    };
    refuses(flat, one, diopiErrorOccurred, "wanted (batch, heads, seq_q, seq_k)");
    refuses(x, wide, diopiErrorOccurred, "mask");
    refuses(x, bytes, diopiDtypeNotSupported, "mask has dtype uint8, wanted bool");
}
