/// Properties that all loops over rows, columns and channels share.
#include <omp.h>

#include <functional>

#include "kernels/cpu/onednn_testing.hpp"

using namespace diopi;
using namespace diopi::testing;

namespace {

using Outputs = std::vector<TensorPtr>;

/// The bits of all elements.
std::vector<std::byte> bits_of(const Outputs& outputs) {
    std::vector<std::byte> bits;
    for (const TensorPtr& t : outputs) {
        const auto* data = static_cast<const std::byte*>(t->data());
        bits.insert(bits.end(), data, data + numel(t->shape) * static_cast<int64_t>(size_of(t->dtype)));
    }
    return bits;
}

/// A matrix of `rows` of the `columns` from `first` on of a larger one, in which each element depends on its place.
TensorPtr part(Dtype dtype, int64_t first_row, int64_t rows, int64_t first, int64_t columns, int seed) {
    Values v;
    for (int64_t r = first_row; r < first_row + rows; ++r) {
        for (int64_t c = first; c < first + columns; ++c) {
            v.push_back(static_cast<double>((r * 131 + c * 37 + seed * 71) % 257 - 128) / 16);
        }
    }
    return tensor({rows, columns}, dtype, v);
}

/// softmax, its logarithm and their gradients along `dim`.
Outputs softmaxes(const TensorPtr& x, const TensorPtr& g, int64_t dim) {
    diopiContext ctx(cpu_device());
    Outputs out;
    for (int k = 0; k < 4; ++k) out.push_back(unwritten(x->shape, x->dtype));
    REQUIRE(cpu::diopiSoftmax(&ctx, out[0].get(), x.get(), dim) == diopiSuccess);
    REQUIRE(cpu::diopiLogSoftmax(&ctx, out[1].get(), x.get(), dim) == diopiSuccess);
    REQUIRE(cpu::diopiSoftmaxBackward(&ctx, out[2].get(), g.get(), out[0].get(), dim) == diopiSuccess);
    REQUIRE(cpu::diopiLogSoftmaxBackward(&ctx, out[3].get(), g.get(), out[1].get(), dim) == diopiSuccess);
    return out;
}

/// layer_norm and its gradients: all those of rows, or those of columns.
Outputs layer_norms(const TensorPtr& x, const TensorPtr& g) {
    diopiContext ctx(cpu_device());
    const int64_t rows = x->shape[0], columns = x->shape[1];
    const Dtype saved = is_half(x->dtype) ? Dtype::float32 : x->dtype;
    const auto w = part(x->dtype, 900, 1, 0, columns, 3), b = part(x->dtype, 901, 1, 0, columns, 3);
    const auto weight = cpu::testing::alias(w, {columns}, {1}), bias = cpu::testing::alias(b, {columns}, {1});
    const auto y = unwritten(x->shape, x->dtype), mean = unwritten({rows}, saved), invstd = unwritten({rows}, saved);
    const auto gx = unwritten(x->shape, x->dtype), gw = unwritten({columns}, x->dtype),
               gb = unwritten({columns}, x->dtype);
    REQUIRE(cpu::diopiLayerNorm(&ctx, y.get(), mean.get(), invstd.get(), x.get(), weight.get(), bias.get(),
                                list({columns}), 1e-5) == diopiSuccess);
    REQUIRE(cpu::diopiLayerNormBackward(&ctx, gx.get(), gw.get(), gb.get(), g.get(), x.get(), weight.get(), bias.get(),
                                        mean.get(), invstd.get(), list({columns})) == diopiSuccess);
    return {y, mean, invstd, gx, gw, gb};
}

/// batch_norm of (rows, channels) or of (1, channels, positions), and its gradients.
Outputs batch_norms(const TensorPtr& x, const TensorPtr& g, bool is_plain) {
    diopiContext ctx(cpu_device());
    const Shape shape = is_plain ? Shape{1, x->shape[0], x->shape[1]} : x->shape;
    const auto a = is_plain ? cpu::testing::alias(x, shape, {x->strides[0] * x->shape[0], x->strides[0], 1}) : x;
    const auto ga = is_plain ? cpu::testing::alias(g, shape, a->strides) : g;
    const Shape channels = {shape[1]};
    const Dtype saved = is_half(x->dtype) ? Dtype::float32 : x->dtype;
    const auto y = unwritten(shape, x->dtype), gx = unwritten(shape, x->dtype);
    const auto mean = unwritten(channels, saved), invstd = unwritten(channels, saved);
    const auto gw = unwritten(channels, saved), gb = unwritten(channels, saved);
    REQUIRE(cpu::diopiBatchNorm(&ctx, y.get(), mean.get(), invstd.get(), a.get(), nullptr, nullptr, nullptr, nullptr,
                                true, 0.1, 1e-5) == diopiSuccess);
    REQUIRE(cpu::diopiBatchNormBackward(&ctx, gx.get(), gw.get(), gb.get(), ga.get(), a.get(), nullptr, nullptr,
                                        nullptr, mean.get(), invstd.get(), true, 1e-5) == diopiSuccess);
    return {y, mean, invstd, gx, gw, gb};
}

/// cross_entropy without a reduction, and its gradient; the classes are columns, or rows.
Outputs cross_entropies(const TensorPtr& x, bool has_positions, int64_t first_sample) {
    diopiContext ctx(cpu_device());
    const int64_t classes = x->shape[has_positions ? 0 : 1], samples = x->shape[has_positions ? 1 : 0];
    const Shape shape = has_positions ? Shape{1, classes, samples} : x->shape;
    const Shape per_sample = has_positions ? Shape{1, samples} : Shape{samples};
    Values t, slopes;
    for (int64_t i = first_sample; i < first_sample + samples; ++i) {
        t.push_back(i % 11 == 5 ? -100 : static_cast<double>(i * 7 % classes));
        slopes.push_back(static_cast<double>(i % 5) - 1.5);
    }
    const auto input = has_positions ? cpu::testing::alias(x, shape, {classes * samples, samples, 1}) : x;
    const auto target = tensor(per_sample, Dtype::int64, t), g = tensor(per_sample, x->dtype, slopes);
    const auto out = unwritten(per_sample, x->dtype), gx = unwritten(shape, x->dtype);
    REQUIRE(cpu::diopiCrossEntropyLoss(&ctx, out.get(), input.get(), target.get(), nullptr, ReductionNone, -100, 0) ==
            diopiSuccess);
    REQUIRE(cpu::diopiCrossEntropyLossBackward(&ctx, gx.get(), g.get(), input.get(), target.get(), nullptr,
                                               ReductionNone, -100, 0) == diopiSuccess);
    return {out, gx};
}

bool same_in_threads(const std::function<Outputs()>& run) {
    const int before = omp_get_max_threads();
    std::vector<std::vector<std::byte>> results;
    for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        results.push_back(bits_of(run()));
    }
    omp_set_num_threads(before);
    return results[0] == results[1] && results[0] == results[2];
}

/// Whether rows `first` to `first + n` of `whole` are those of `some`.
bool has_rows(const TensorPtr& whole, const TensorPtr& some, int64_t first) {
    const int64_t row = numel(whole->shape) / whole->shape[0] * static_cast<int64_t>(size_of(whole->dtype));
    const auto* data = static_cast<const std::byte*>(whole->data()) + first * row;
    return std::memcmp(data, some->data(), static_cast<size_t>(some->shape[0] * row)) == 0;
}

/// Whether the columns from `first` on of the matrix `whole` are those of `some`.
bool has_columns(const TensorPtr& whole, const TensorPtr& some, int64_t first) {
    const Values a = values(*whole), b = values(*some);
    const auto width = static_cast<size_t>(some->shape.back());
    const auto columns = static_cast<size_t>(whole->shape.back());
    for (size_t i = 0; i < b.size(); ++i) {
        if (a[i / width * columns + static_cast<size_t>(first) + i % width] != b[i]) return false;
    }
    return true;
}

constexpr int64_t kMatrixRows = 141, kMatrixColumns = 650;

}  // namespace

TEST_CASE("the number of threads changes no bit of softmax, norms and losses", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const auto x = part(dtype, 0, kMatrixRows, 0, kMatrixColumns, 1),
               g = part(dtype, 0, kMatrixRows, 0, kMatrixColumns, 2);
    CHECK(same_in_threads([&] { return softmaxes(x, g, 0); }));
    CHECK(same_in_threads([&] { return softmaxes(x, g, 1); }));
    CHECK(same_in_threads([&] { return layer_norms(x, g); }));
    CHECK(same_in_threads([&] { return batch_norms(x, g, false); }));
    CHECK(same_in_threads([&] { return batch_norms(x, g, true); }));
    CHECK(same_in_threads([&] { return cross_entropies(x, false, 0); }));
    CHECK(same_in_threads([&] { return cross_entropies(x, true, 0); }));
}

TEST_CASE("a row has the same bits alone as among others", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const int64_t first = GENERATE(0, 7, kMatrixRows - 3), rows = 3;
    const auto x = part(dtype, 0, kMatrixRows, 0, kMatrixColumns, 1),
               g = part(dtype, 0, kMatrixRows, 0, kMatrixColumns, 2);
    const auto some_x = part(dtype, first, rows, 0, kMatrixColumns, 1),
               some_g = part(dtype, first, rows, 0, kMatrixColumns, 2);
    const Outputs all = softmaxes(x, g, 1), some = softmaxes(some_x, some_g, 1);
    for (size_t k = 0; k < all.size(); ++k) CHECK(has_rows(all[k], some[k], first));
    const Outputs norms = layer_norms(x, g), some_norms = layer_norms(some_x, some_g);
    for (size_t k = 0; k < 4; ++k) CHECK(has_rows(norms[k], some_norms[k], first));
    const Outputs losses = cross_entropies(x, false, 0), some_losses = cross_entropies(some_x, false, first);
    for (size_t k = 0; k < 2; ++k) CHECK(has_rows(losses[k], some_losses[k], first));
}

TEST_CASE("a column has the same bits alone as among others", "[vectors]") {
    const Dtype dtype = kFloats[GENERATE(range(0, 4))];
    const int64_t first = GENERATE(0, 7, 125, 253, kMatrixColumns - 3), columns = GENERATE(2, 3);
    const auto x = part(dtype, 0, kMatrixRows, 0, kMatrixColumns, 1),
               g = part(dtype, 0, kMatrixRows, 0, kMatrixColumns, 2);
    const auto some_x = part(dtype, 0, kMatrixRows, first, columns, 1),
               some_g = part(dtype, 0, kMatrixRows, first, columns, 2);
    const Outputs all = softmaxes(x, g, 0), some = softmaxes(some_x, some_g, 0);
    for (size_t k = 0; k < all.size(); ++k) CHECK(has_columns(all[k], some[k], first));
    const Outputs norms = batch_norms(x, g, false), some_norms = batch_norms(some_x, some_g, false);
    for (size_t k = 0; k < norms.size(); ++k) CHECK(has_columns(norms[k], some_norms[k], first));
    const Outputs losses = cross_entropies(x, true, 0), some_losses = cross_entropies(some_x, true, first);
    for (size_t k = 0; k < 2; ++k) CHECK(has_columns(losses[k], some_losses[k], first));
}
