/// Numbers at a regular distance.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// out[i] = start + i * step up to end, which is excluded. Integers wrap.
template <class T>
void take_steps(diopiTensorHandle_t out, T start, T end, T step) {
    Output<T> y(out, "out");
    if (step == T(0)) refuse("step is 0, wanted a number that leads from start to end");
    const double count = std::ceil((static_cast<double>(end) - static_cast<double>(start)) / static_cast<double>(step));
    if (!(count >= 0.0)) refuse("step leads from start away from end");
    if (y.rank() != 1 || static_cast<double>(y.numel()) != count) {
        refuse("out has shape " + to_string(y.shape()) +
               ", wanted ceil((end - start) / step) = " + std::to_string(count) + " elements in 1 dimension");
    }
    for (int64_t i = 0; i < y.numel(); ++i) y[i] = start + static_cast<T>(i) * step;
    y.store();
}

/// Computes in float64, or in int64 for an out of integers, where the arguments lose their fractions first.
diopiError_t arange(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, const diopiScalar_t* start,
                    const diopiScalar_t* end, const diopiScalar_t* step) {
    return kernel([&] {
        if (kind_of(view_of(out).dtype) == Kind::kFloating) {
            take_steps(out, scalar_as<double>(*start), scalar_as<double>(*end), scalar_as<double>(*step));
        } else {
            take_steps(out, scalar_as<int64_t>(*start), scalar_as<int64_t>(*end), scalar_as<int64_t>(*step));
        }
    });
}

}  // namespace

#include "kernels/entries/shape_sequence.inc"

}  // namespace diopi::reference
