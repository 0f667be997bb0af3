/// Random numbers.
#include <algorithm>
#include <vector>

#include "core/normal.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// Element i = mean + std * n_i with n_i the i-th standard normal number of (seed, offset), made in Number's precision.
template <class Number>
void normal(Output<double>& y, double mean, double std, uint64_t seed, uint64_t offset) {
    constexpr int64_t kTile = 4096;
    std::vector<Number> numbers(kTile);
    for (int64_t first = 0; first < y.numel(); first += kTile) {
        const int64_t n = std::min(kTile, y.numel() - first);
        normal_block(seed, offset, first, std::span(numbers).first(static_cast<size_t>(n)));
        for (int64_t i = 0; i < n; ++i)
            y[first + i] = mean + std * static_cast<double>(numbers[static_cast<size_t>(i)]);
    }
}

}  // namespace

/// The offset advances by the number of elements rounded up to a multiple of 4, the words of a Philox block.
diopiError_t diopiNormalInp(diopiContextHandle_t, diopiTensorHandle_t inout, double mean, double std,
                            diopiGeneratorHandle_t generator) {
    return kernel([&] {
        const Dtype dtype = view_of(inout).dtype;
        if (kind_of(dtype) != Kind::kFloating) refuse_dtype("inout", dtype, "a floating dtype");
        if (!(std >= 0.0)) refuse("std is " + std::to_string(std) + ", wanted 0 or more");
        if (generator == nullptr) refuse("generator is null, wanted one");
        Output<double> y(inout, "inout");
        uint64_t seed = 0;
        uint64_t offset = 0;
        diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
        if (dtype == Dtype::float64) {
            normal<double>(y, mean, std, seed, offset);
        } else {
            normal<float>(y, mean, std, seed, offset);
        }
        y.store();
        diopiGeneratorSetSeedAndOffset(generator, seed, offset + (static_cast<uint64_t>(y.numel()) + 3) / 4 * 4);
    });
}

}  // namespace diopi::reference
