/// The choice of one element for each result of a reduction.
#pragma once

#include "kernels/reference/reduction.hpp"

namespace diopi::reference {

inline bool is_nan(double x) { return x != x; }
inline bool is_nan(int64_t) { return false; }

/// The number of the first element of a result that no other one exceeds (falls below); the first NaN if there is one.
template <bool kGreatest, class T>
int64_t first_extreme(const Operand<T>& x, const Groups& groups, int64_t result) {
    int64_t best = 0;
    for (int64_t k = 1; k < groups.size(); ++k) {
        const T held = x[groups.place(result, best)], value = x[groups.place(result, k)];
        if (is_nan(held)) break;
        if ((kGreatest ? value > held : value < held) || is_nan(value)) best = k;
    }
    return best;
}

/// values = the extremes of input over dims (empty: all), places = their numbers. Either may be null.
template <bool kGreatest>
void choose(diopiTensorHandle_t values, diopiTensorHandle_t places, diopiConstTensorHandle_t input, ShapeView dims) {
    const View view = view_of(input);
    if (is_complex(view.dtype)) refuse_dtype("input", view.dtype, "a real dtype: complex numbers have no order");
    const std::vector<bool> reduced = reduced_dims(view.shape, dims);
    const Groups groups(view.shape, reduced);
    if (groups.size() == 0 && groups.results() > 0) {
        refuse("input has shape " + to_string(view.shape) + ", wanted elements along dim");
    }
    const auto run = [&]<class T>(T) {
        const Operand<T> x(input, "input");
        Output<T> y(values, "out?");
        Output<int64_t> at(places, "indices?");
        if (y) require_reduced_shape(y.shape(), view.shape, reduced);
        if (at) require_reduced_shape(at.shape(), view.shape, reduced);
        for (int64_t r = 0; r < groups.results(); ++r) {
            const int64_t k = first_extreme<kGreatest>(x, groups, r);
            if (y) y[r] = x[groups.place(r, k)];
            if (at) at[r] = k;
        }
        y.store();
        at.store();
    };
    is_floating(view.dtype) ? run(double()) : run(int64_t());
}

}  // namespace diopi::reference
