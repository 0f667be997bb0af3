/// Random numbers: those of core/normal.hpp, element by element in row-major order.
#include <algorithm>

#include "core/normal.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/tile.hpp"

namespace diopi::cpu {

namespace {

/// Element i of `to` (contiguous) = mean + std * n_i, computed in double, n_i made in Number's precision.
template <class Number>
void fill_normal(const View& to, double mean, double std, uint64_t seed, uint64_t offset) {
    const Convert convert = to.dtype == Dtype::float64 ? nullptr : converter(Dtype::float64, to.dtype);
    alignas(64) Number numbers[kTile];
    alignas(64) double values[kTile];
    for (int64_t first = 0; first < to.numel; first += kTile) {
        const int64_t n = std::min(kTile, to.numel - first);
        normal_block(seed, offset, first, std::span<Number>(numbers, static_cast<size_t>(n)));
        std::byte* target = to.data + first * to.item_size();
        double* scaled = convert == nullptr ? reinterpret_cast<double*>(target) : values;
        for (int64_t i = 0; i < n; ++i) scaled[i] = mean + std * static_cast<double>(numbers[i]);
        if (convert != nullptr) convert(values, target, n);
    }
}

}  // namespace

diopiError_t diopiNormalInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout, double mean, double std,
                            diopiGeneratorHandle_t generator) {
    const View to = view(inout);
    if (!is_floating(to.dtype)) return unsupported("diopiNormalInp", "inout", to.dtype, "a floating dtype");
    if (!(std >= 0.0)) {
        return fail(diopiErrorOccurred, "diopiNormalInp: std is " + std::to_string(std) + ", wanted 0 or more");
    }
    if (generator == nullptr) return fail(diopiErrorOccurred, "diopiNormalInp: generator is null, wanted one");
    if (to.rank() > kMaxRank) return wrong_shape("diopiNormalInp", "inout", to.shape, "at most 16 dimensions");
    View dense = to;
    if (!to.contiguous) {
        const diopiError_t error = require(ctx, to.shape, to.dtype, dense);
        if (error != diopiSuccess) return error;
    }
    uint64_t seed = 0;
    uint64_t offset = 0;
    diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
    if (to.dtype == Dtype::float64) {
        fill_normal<double>(dense, mean, std, seed, offset);
    } else {
        fill_normal<float>(dense, mean, std, seed, offset);
    }
    if (!to.contiguous) copy(dense, to);
    return diopiGeneratorSetSeedAndOffset(generator, seed, offset + (static_cast<uint64_t>(to.numel) + 3) / 4 * 4);
}

}  // namespace diopi::cpu
