/// Softmax, its logarithm and their gradients, over any dimension. A row is read once where a block's threads can hold
/// it, else twice.
#include <algorithm>

#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/reduce/row.cuh"
#include "kernels/cuda/reduce/staging.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

namespace diopi::cuda {

namespace {

/// The largest of some numbers, and the sum of exp(x - most) over them; -inf and 0 where there is none, or only -inf. A
/// NaN, which no comparison selects, shows in the sum.
template <class C>
struct Exponentials {
    C most, sum;
};

/// exp(x). For half types the relative error is up to |x| 2^-24, far below a unit in their last place.
template <class T>
__device__ ComputeOf<T> exponential(ComputeOf<T> x) {
    if constexpr (sizeof(T) == 2) {
        return exp2f(x * 1.44269504F);
    } else {
        return exp(x);
    }
}

template <class T>
struct JoinExponentials {
    using C = ComputeOf<T>;
    using State = Exponentials<C>;

    __device__ State combine(const State& a, const State& b) const {
        const C most = a.most > b.most ? a.most : b.most;
        if (most == C(-INFINITY)) return {most, a.sum + b.sum};
        return {most, a.sum * exponential<T>(a.most - most) + b.sum * exponential<T>(b.most - most)};
    }
};

/// Adds the numbers that a lane holds to its state. Except for the logarithm, held becomes exp(held - state.most).
template <class T, class Part, class C, int kHeld>
__device__ void take(const Part& part, C (&held)[kHeld], Exponentials<C>& state, bool logarithm) {
    C most = state.most;
    part.each([&](int i) { most = fmax(most, held[i]); });
    const C base = most == C(-INFINITY) ? C(0) : most;
    C sum = 0;
    part.each([&](int i) {
        const C e = exponential<T>(held[i] - base);
        sum += e;
        if (!logarithm) held[i] = e;
    });
    if (most > state.most) state.sum *= exponential<T>(state.most - most);
    state = {most, state.sum + sum};
}

template <class T, int kHeld>
__global__ void __launch_bounds__(kMostRowThreads)
    softmax_kernel(T* out, const T* in, Walk<int64_t, 2> rows, Strides<2> along, RowTeams t, bool logarithm) {
    using C = ComputeOf<T>;
    using Part = RowPart<T, kHeld>;
    const int64_t step = int64_t{t.lanes} * kHeld;
    for_each_row(t, [&](const Member& member) {
        int64_t places[2] = {};
        if (member.is_there) rows.find(member.row, places);
        T* y = out + places[0];
        const T* x = in + places[1];
        C held[kHeld] = {};
        Exponentials<C> own{C(-INFINITY), C(0)};
        for (int64_t begin = 0; begin < t.size; begin += step) {
            const Part part(t, member, begin);
            part.load(x, along.at[1], held);
            take<T>(part, held, own, logarithm);
        }
        const auto all = join_team(t, JoinExponentials<T>{}, own);
        const C shift = logarithm ? log(all.sum) : C(0), scale = 1 / all.sum;
        // The held numbers are relative to the lane's own maximum.
        const C own_scale = (own.most == C(-INFINITY) ? C(0) : exponential<T>(own.most - all.most)) * scale;
        for (int64_t begin = 0; begin < t.size; begin += step) {
            const Part part(t, member, begin);
            if (t.size > step) part.load(x, along.at[1], held);
            part.each([&](int i) {
                if (logarithm) {
                    held[i] = (held[i] - all.most) - shift;
                } else if (t.size > step) {
                    held[i] = exponential<T>(held[i] - all.most) * scale;
                } else {
                    held[i] *= own_scale;
                }
            });
            part.store(y, along.at[0], held);
        }
    });
}

/// grad = y * (g - sum(g * y)), or g - exp(y) * sum(g) when y is the logarithm.
template <class T, int kHeld>
__global__ void __launch_bounds__(kMostRowThreads)
    gradient_kernel(T* grad, const T* grad_out, const T* result, Walk<int64_t, 3> rows, Strides<3> along, RowTeams t,
                    bool logarithm) {
    using C = ComputeOf<T>;
    using Part = RowPart<T, kHeld>;
    const int64_t step = int64_t{t.lanes} * kHeld;
    for_each_row(t, [&](const Member& member) {
        int64_t places[3] = {};
        if (member.is_there) rows.find(member.row, places);
        C g[kHeld] = {}, y[kHeld] = {}, sum = 0;
        for (int64_t begin = 0; begin < t.size; begin += step) {
            const Part part(t, member, begin);
            part.load(grad_out + places[1], along.at[1], g);
            part.load(result + places[2], along.at[2], y);
            C terms = 0;
            part.each([&](int i) { terms += logarithm ? g[i] : g[i] * y[i]; });
            sum += terms;
        }
        sum = join_team(t, Add<C>{}, sum);
        for (int64_t begin = 0; begin < t.size; begin += step) {
            const Part part(t, member, begin);
            if (t.size > step) {
                part.load(grad_out + places[1], along.at[1], g);
                part.load(result + places[2], along.at[2], y);
            }
            part.each([&](int i) { g[i] = logarithm ? g[i] - exponential<T>(y[i]) * sum : y[i] * (g[i] - sum); });
            part.store(grad + places[0], along.at[0], g);
        }
    });
}

/// The one dtype that kernels are called with: the dtype of all tensors, else the one to compute in.
Dtype common_dtype(std::initializer_list<Dtype> dtypes) {
    const Dtype first = *dtypes.begin();
    if (std::ranges::all_of(dtypes, [=](Dtype each) { return each == first; })) return first;
    return std::ranges::find(dtypes, Dtype::float64) != dtypes.end() ? Dtype::float64 : Dtype::float32;
}

template <bool kLogarithm>
diopiError_t softmax_along(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, int64_t dim) {
    const View x = view(input), y = view(out);
    if (const diopiError_t error = read_softmax(op, x, y, dim); error != diopiSuccess) return error;
    if (x.numel == 0) return diopiSuccess;
    const Dtype dtype = common_dtype({x.dtype, y.dtype});
    Staging staging(ctx, op);
    const std::array views = {staging.out(out, dtype, Staging::Strides::any),
                              staging.in(input, dtype, Staging::Strides::any)};
    if (staging.error() != diopiSuccess) return staging.error();
    const diopiError_t error = with_floating_type(dtype, [&]<class T>() {
        const RowPlan plan = make_rows(views, dim, kPackOf<T>, {1, sizeof(ComputeOf<T>)});
        return with_held<T, 1>(plan.teams, [&]<int kHeld>() {
            return launch(ctx, op, launch_for(plan.teams), softmax_kernel<T, kHeld>, elements<T>(views[0]),
                          elements<T>(views[1]), walk_of<int64_t, 2>(plan.rows), strides_of<2>(plan), plan.teams,
                          kLogarithm);
        });
    });
    return error != diopiSuccess ? error : staging.finish();
}

template <bool kLogarithm>
diopiError_t softmax_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t output, int64_t dim) {
    const View g = view(grad_output), y = view(output), grad = view(grad_input);
    if (const diopiError_t error = read_softmax_gradient(op, g, y, grad, dim); error != diopiSuccess) return error;
    if (y.numel == 0) return diopiSuccess;
    const Dtype dtype = common_dtype({y.dtype, g.dtype, grad.dtype});
    Staging staging(ctx, op);
    const std::array views = {staging.out(grad_input, dtype, Staging::Strides::any),
                              staging.in(grad_output, dtype, Staging::Strides::any),
                              staging.in(output, dtype, Staging::Strides::any)};
    if (staging.error() != diopiSuccess) return staging.error();
    const diopiError_t error = with_floating_type(dtype, [&]<class T>() {
        const RowPlan plan = make_rows(views, dim, kPackOf<T>, {2, sizeof(ComputeOf<T>)});
        return with_held<T, 2>(plan.teams, [&]<int kHeld>() {
            return launch(ctx, op, launch_for(plan.teams), gradient_kernel<T, kHeld>, elements<T>(views[0]),
                          elements<T>(views[1]), elements<T>(views[2]), walk_of<int64_t, 3>(plan.rows),
                          strides_of<3>(plan), plan.teams, kLogarithm);
        });
    });
    return error != diopiSuccess ? error : staging.finish();
}

}  // namespace

#include "kernels/entries/activation_softmax.inc"

}  // namespace diopi::cuda
