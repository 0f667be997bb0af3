#include "kernels/reference/operand.hpp"

#include <bit>

#include "kernels/reference/testing.hpp"

using namespace diopi;
using namespace diopi::reference;
using namespace diopi::reference::testing;

TEST_CASE("an operand borrows contiguous float64 and copies the rest", "[reference][operand]") {
    const TensorPtr x = tensor({2, 2}, {1, 2, 3, 4});
    const Operand<double> borrowed(x.get(), "x");
    CHECK(borrowed.data() == x->data_as<double>());

    const TensorPtr transposed = tensor({2, 2}, {1, 2, 3, 4}, Dtype::float64, {1, 2});
    const Operand<double> copied(transposed.get(), "x");
    CHECK(copied.data() != transposed->data_as<double>());
    CHECK(std::equal(copied.data(), copied.data() + 4, Values{1, 2, 3, 4}.begin()));

    Output<double> y(x.get(), "y");
    CHECK(y.data() == x->data_as<double>());
}

TEST_CASE("an operand reads every dtype and repeated strides", "[reference][operand]") {
    for (const Dtype dtype :
         {Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::int64, Dtype::int32, Dtype::int8}) {
        const TensorPtr x = tensor({3, 2}, {1, -2, 3, -4, 5, -6}, dtype, {1, 4});
        const Operand<double> as_double(x.get(), "x");
        CHECK(Values(as_double.data(), as_double.data() + 6) == Values{1, -2, 3, -4, 5, -6});
        const Operand<int64_t> as_integer(x.get(), "x");
        CHECK(as_integer[5] == -6);
    }
    const TensorPtr repeated = tensor({3, 2}, {7, 8, 7, 8, 7, 8}, Dtype::float32, {0, 1});
    const Operand<double> wide(repeated.get(), "x");
    CHECK(Values(wide.data(), wide.data() + 6) == Values{7, 8, 7, 8, 7, 8});
    const TensorPtr flags = tensor({2}, {0, 1}, Dtype::boolean);
    flags->data_as<uint8_t>()[1] = 255;
    const Operand<int64_t> truth(flags.get(), "x");
    CHECK(truth[1] == 1);
}

TEST_CASE("halves are stored with one rounding, like core's slow conversion", "[reference][operand]") {
    Values values = {0.0,         -0.0,     1.0,      65504.0,    65519.999, 65520.0,     1e300,
                     -kInf,       kNaN,     0x1p-24,  0x1p-25,    0x1.8p-25, 1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40,
                     0x1.ffep-15, 0x1p-133, 0x1p-134, 0x1.8p-134, 3.4e38,    0x1.ffp127,  0x1.feffffp127,
                     5e-324};
    for (uint64_t i = 0; i < 20000; ++i) {
        const auto w = philox(1, i, 0);
        const int exponent = static_cast<int>(w[2] % 320) - 160;
        values.push_back(std::ldexp(2.0 * unit_double(w[0], w[1]) - 1.0, w[3] % 2 ? exponent : exponent / 10));
    }
    const auto n = static_cast<int64_t>(values.size());
    const TensorPtr half = make({n}, Dtype::float16);
    const TensorPtr brain = make({n}, Dtype::bfloat16);
    Output<double> to_half_tensor(half.get(), "y");
    Output<double> to_brain_tensor(brain.get(), "y");
    std::copy(values.begin(), values.end(), to_half_tensor.data());
    std::copy(values.begin(), values.end(), to_brain_tensor.data());
    to_half_tensor.store();
    to_brain_tensor.store();
    for (int64_t i = 0; i < n; ++i) {
        const double x = values[static_cast<size_t>(i)];
        const uint16_t half_bits = half->data_as<Half>()[i].bits;
        const uint16_t brain_bits = brain->data_as<Bfloat16>()[i].bits;
        INFO(x);
        if (half_bits != to_half(x).bits) CHECK(half_bits == to_half(x).bits);
        if (brain_bits != to_bfloat16(x).bits) CHECK(brain_bits == to_bfloat16(x).bits);
    }
}

TEST_CASE("integers wrap when stored in a narrower dtype", "[reference][operand]") {
    const TensorPtr y = make({3}, Dtype::int8, {2});
    Output<int64_t> out(y.get(), "y");
    out[0] = 130;
    out[1] = -129;
    out[2] = 7;
    out.store();
    CHECK(values_of(y) == Values{-126, 127, 7});
}

TEST_CASE("a kernel refuses null, complex for real and wrong shapes", "[reference][operand]") {
    CHECK(kernel([] { const Operand<double> x(nullptr, "input"); }) == diopiErrorOccurred);
    CHECK(last_error() == "input is null, wanted a tensor");
    CHECK(kernel([] { const Operand<double> x(nullptr, "bias?"); }) == diopiSuccess);

    auto z = make_tensor(cpu_device(), {{2}, Dtype::complex64, {}});
    REQUIRE(z.ok());
    CHECK(kernel([&] { const Operand<double> x(z->get(), "input"); }) == diopiDtypeNotSupported);
    CHECK(last_error() == "input has dtype complex64, wanted a real dtype");
    CHECK(kernel([] { require_shape("out", Shape{2}, Shape{3, 1}); }) == diopiErrorOccurred);
    CHECK(last_error() == "out has shape (2,), wanted (3, 1)");
}

TEST_CASE("rows are joined if all tensors allow it", "[reference][operand]") {
    const Shape shape = {2, 3, 1, 4};
    const Shape dense = contiguous_strides(shape);
    const Rows<1> all(shape, {ShapeView(dense)});
    CHECK(all.length() == 24);
    const Shape repeated = {0, 0, 0, 1};
    const Rows<2> last(shape, {ShapeView(dense), ShapeView(repeated)});
    CHECK(last.length() == 4);
    std::vector<int64_t> starts;
    last.for_each([&](const Rows<2>::Offsets& at) {
        starts.push_back(at[0]);
        CHECK(at[1] == 0);
    });
    CHECK(starts == std::vector<int64_t>{0, 4, 8, 12, 16, 20});
}
