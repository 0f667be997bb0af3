/// Normalisation of rows. Rows are read once where a block's threads can hold them, else twice; the gradients of weight
/// and bias are sums over the rows.
#include <algorithm>
#include <limits>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/reduce/row.cuh"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/norm.hpp"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

namespace {

/// Weight or bias: contiguous elements of T or of the compute type; may be missing.
template <class T>
struct Affine {
    using C = ComputeOf<T>;
    const void* data;
    bool is_wide;  ///< of the compute type

    /// kWidth neighbours from element i on; several of them lie aligned to 16 bytes, or to what they take.
    template <int kWidth>
    __device__ void get(int64_t i, C otherwise, C (&values)[kWidth]) const {
        if (data == nullptr) {
            for (C& value : values) value = otherwise;
        } else if (is_wide) {
            load(static_cast<const C*>(data) + i, values);
        } else {
            load(static_cast<const T*>(data) + i, values);
        }
    }

 private:
    template <class From, int kWidth>
    __device__ static void load(const From* from, C (&values)[kWidth]) {
        constexpr int kPack = kWidth < kPackOf<From> ? kWidth : kPackOf<From>;
#pragma unroll
        for (int i = 0; i < kWidth; i += kPack) {
            const auto pack = *reinterpret_cast<const Pack<From, kPack>*>(from + i);
#pragma unroll
            for (int e = 0; e < kPack; ++e) values[i + e] = convert<C>(pack.at[e]);
        }
    }
};

template <class T, int kHeld>
__device__ void take_moments(const RowPart<T, kHeld>& part, const ComputeOf<T> (&held)[kHeld],
                             Moments<ComputeOf<T>>& state) {
    using C = ComputeOf<T>;
    Moments<C> own{0, 0, 0};
    part.each([&](int i) {
        own.count += 1;
        own.sum += held[i];
    });
    if (own.count == C(0)) return;
    const C mean = own.sum / own.count;
    part.each([&](int i) { own.squares = fma(held[i] - mean, held[i] - mean, own.squares); });
    state = JoinMoments<C>{}.combine(state, own);
}

/// Rows of `out` and `in` are contiguous.
template <class T, int kHeld>
__global__ void __launch_bounds__(kMostRowThreads)
    layer_norm_kernel(T* out, const T* in, Affine<T> weight, Affine<T> bias, Numbers save_mean, Numbers save_invstd,
                      double eps, RowTeams t) {
    using C = ComputeOf<T>;
    using Part = RowPart<T, kHeld>;
    const int64_t step = int64_t{t.lanes} * kHeld;
    for_each_row(t, [&](const Member& member) {
        const int64_t row = member.is_there ? member.row * t.size : 0;
        C held[kHeld] = {};
        Moments<C> state{0, 0, 0};
        for (int64_t begin = 0; begin < t.size; begin += step) {
            const Part part(t, member, begin);
            part.load(in + row, 1, held);
            take_moments(part, held, state);
        }
        state = join_team(t, JoinMoments<C>{}, state);
        const auto count = static_cast<C>(t.size);
        const C mean = state.sum / count, invstd = C(1) / sqrt(state.squares / count + static_cast<C>(eps));
        for (int64_t begin = 0; begin < t.size; begin += step) {
            const Part part(t, member, begin);
            if (t.size > step) part.load(in + row, 1, held);
            part.each_run([&]<int kWidth>(int i, int64_t at) {
                C factors[kWidth], shifts[kWidth];
                weight.get(at, C(1), factors);
                bias.get(at, C(0), shifts);
#pragma unroll
                for (int e = 0; e < kWidth; ++e) {
                    held[i + e] = (held[i + e] - mean) * invstd * factors[e] + shifts[e];
                }
            });
            part.store(out + row, 1, held);
        }
        if (!member.is_there || member.lane != 0) return;
        if (save_mean) save_mean.set(member.row, mean);
        if (save_invstd) save_invstd.set(member.row, invstd);
    });
}

/// grad = rstd * (h - average(h) - xhat * average(h * xhat)), h = g * weight. All rows are contiguous.
template <class T, int kHeld>
__global__ void __launch_bounds__(kMostRowThreads)
    row_gradient_kernel(T* grad, const T* grad_out, const T* in, Affine<T> weight, Numbers means, Numbers rstds,
                        RowTeams t) {
    using C = ComputeOf<T>;
    using Part = RowPart<T, kHeld>;
    const int64_t step = int64_t{t.lanes} * kHeld;
    for_each_row(t, [&](const Member& member) {
        const int64_t row = member.is_there ? member.row * t.size : 0;
        const C mean = member.is_there ? static_cast<C>(means.get(member.row)) : C(0);
        const C rstd = member.is_there ? static_cast<C>(rstds.get(member.row)) : C(0);
        C h[kHeld] = {}, xhat[kHeld] = {};
        const auto load = [&](const Part& part) {
            part.load(grad_out + row, 1, h);
            part.load(in + row, 1, xhat);
            part.each_run([&]<int kWidth>(int i, int64_t at) {
                C factors[kWidth];
                weight.get(at, C(1), factors);
#pragma unroll
                for (int e = 0; e < kWidth; ++e) {
                    h[i + e] *= factors[e];
                    xhat[i + e] = (xhat[i + e] - mean) * rstd;
                }
            });
        };
        GradientSum<C> state{0, 0};
        for (int64_t begin = 0; begin < t.size; begin += step) {
            const Part part(t, member, begin);
            load(part);
            GradientSum<C> own{0, 0};
            part.each([&](int i) {
                own.sum += h[i];
                own.product = fma(h[i], xhat[i], own.product);
            });
            state = JoinGradients<C>{}.combine(state, own);
        }
        state = join_team(t, JoinGradients<C>{}, state);
        const auto count = static_cast<C>(t.size);
        const C average = state.sum / count, slope = state.product / count;
        for (int64_t begin = 0; begin < t.size; begin += step) {
            const Part part(t, member, begin);
            if (t.size > step) load(part);
            part.each([&](int i) { h[i] = rstd * (h[i] - average - xhat[i] * slope); });
            part.store(grad + row, 1, h);
        }
    });
}

/// For each column the sums over the rows of g * xhat and of g.
template <class C>
struct ColumnGradients : GradientReduction<C> {
    using State = GradientSum<double>;
    static constexpr bool kOnlyColumns = true;

    const C* means;
    const C* rstds;
    Numbers grad_weight, grad_bias;

    __device__ const ColumnGradients& at(int64_t) const { return *this; }
    template <int kCount, class Number>
    __device__ void take_many(State& state, const C (&gx)[kCount][2], Number&& row) const {
        take_gradients(state, gx, [&](int i) { return (gx[i][1] - means[row(i)]) * rstds[row(i)]; });
    }
    __device__ void write(int64_t column, const State& state) const {
        if (grad_weight) grad_weight.set(column, state.product);
        if (grad_bias) grad_bias.set(column, state.sum);
    }
};

template <class T>
constexpr Dtype kComputeDtype = std::is_same_v<T, double> ? Dtype::float64 : Dtype::float32;

template <class T>
Affine<T> affine(Staging& staging, diopiConstTensorHandle_t tensor, Dtype dtype) {
    if (tensor == nullptr) return {nullptr, false};
    const bool is_wide = view(tensor).dtype != dtype || dtype == kComputeDtype<T>;
    return {staging.in(tensor, is_wide ? kComputeDtype<T> : dtype, Staging::Strides::contiguous).data, is_wide};
}

/// The teams for contiguous operands, with packs of T if all of them are aligned; a thread holds elements of `held`
/// operands.
template <class T>
RowTeams teams_of(const RowShape& rows, int held, std::initializer_list<const void*> operands) {
    bool packs = rows.size % kPackOf<T> == 0;
    for (const void* data : operands) packs = packs && is_aligned(data, 16);
    return make_teams(rows.count, rows.size, false, packs, {held, sizeof(ComputeOf<T>)});
}

template <class T>
diopiError_t normalize(diopiContextHandle_t ctx, const LayerNorm& a) {
    const Dtype dtype = view(a.input).dtype;
    Staging staging(ctx, a.op);
    const View x = staging.in(a.input, dtype, Staging::Strides::contiguous);
    const View y = staging.out(a.out, dtype, Staging::Strides::contiguous);
    const Affine<T> weight = affine<T>(staging, a.weight, dtype), bias = affine<T>(staging, a.bias, dtype);
    const Numbers mean = output_numbers(staging, a.save_mean), invstd = output_numbers(staging, a.save_invstd);
    if (staging.error() != diopiSuccess) return staging.error();
    const RowTeams teams = teams_of<T>(a.rows, 1, {x.data, y.data, weight.data, bias.data});
    const diopiError_t error = with_held<T, 1>(teams, [&]<int kHeld>() {
        return launch(ctx, a.op, launch_for(teams), layer_norm_kernel<T, kHeld>, elements<T>(y), elements<T>(x), weight,
                      bias, mean, invstd, a.eps, teams);
    });
    return error != diopiSuccess ? error : staging.finish();
}

/// The gradients of weight and bias, of contiguous g and x.
template <class T>
diopiError_t sum_columns(diopiContextHandle_t ctx, const LayerNormGradient& a, Staging& staging, const View& g,
                         const View& x) {
    using C = ComputeOf<T>;
    const View mean = staging.in(a.mean, kComputeDtype<T>, Staging::Strides::contiguous);
    const View rstd = staging.in(a.rstd, kComputeDtype<T>, Staging::Strides::contiguous);
    ColumnGradients<C> f{};
    f.means = elements<C>(mean);
    f.rstds = elements<C>(rstd);
    f.grad_weight = output_numbers(staging, a.grad_weight);
    f.grad_bias = output_numbers(staging, a.grad_bias);
    if (staging.error() != diopiSuccess) return staging.error();
    return reduce_matrix(ctx, a.op, a.rows.count, a.rows.size, Kept::columns, {g, x}, f);
}

template <class T>
diopiError_t normalize_backward(diopiContextHandle_t ctx, const LayerNormGradient& a) {
    const Dtype dtype = view(a.input).dtype;
    Staging staging(ctx, a.op);
    const View x = staging.in(a.input, dtype, Staging::Strides::contiguous);
    const View g = staging.in(a.grad_output, dtype, Staging::Strides::contiguous);
    const View gx = staging.out(a.grad_input, dtype, Staging::Strides::contiguous);
    const Affine<T> weight = affine<T>(staging, a.weight, dtype);
    const Numbers mean = input_numbers(staging, a.mean), rstd = input_numbers(staging, a.rstd);
    if (staging.error() != diopiSuccess) return staging.error();
    diopiError_t error = diopiSuccess;
    if (a.grad_input != nullptr) {
        const RowTeams teams = teams_of<T>(a.rows, 2, {x.data, g.data, gx.data, weight.data});
        error = with_held<T, 2>(teams, [&]<int kHeld>() {
            return launch(ctx, a.op, launch_for(teams), row_gradient_kernel<T, kHeld>, elements<T>(gx), elements<T>(g),
                          elements<T>(x), weight, mean, rstd, teams);
        });
    }
    if (error == diopiSuccess && (a.grad_weight != nullptr || a.grad_bias != nullptr)) {
        error = sum_columns<T>(ctx, a, staging, g, x);
    }
    return error != diopiSuccess ? error : staging.finish();
}

template <class... Arguments>
diopiError_t layer_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    LayerNorm a{arguments...};
    if (const diopiError_t error = read_layer_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0)
        return fill_all(ctx, a.op, {a.save_mean, a.save_invstd}, std::numeric_limits<double>::quiet_NaN());
    return with_floating_type(x.dtype, [&]<class T>() { return normalize<T>(ctx, a); });
}

template <class... Arguments>
diopiError_t layer_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    LayerNormGradient a{arguments...};
    if (const diopiError_t error = read_layer_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) return fill_all(ctx, a.op, {a.grad_weight, a.grad_bias}, 0);
    return with_floating_type(x.dtype, [&]<class T>() { return normalize_backward<T>(ctx, a); });
}

}  // namespace

#include "kernels/entries/norm_layer.inc"

}  // namespace diopi::cuda
