/// Normalisation of groups of channels. A plane is a channel of one sample, a row is a group of one sample. Statistics
/// and the gradients' sums are reductions of rows and planes; the numbers of a plane are computed in double.
#include <limits>

#include "kernels/cuda/copy.hpp"
#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/reduce/channels.cuh"
#include "kernels/cuda/reduce/row.cuh"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cuda {

namespace {

/// Writes the statistics of each row, and keeps them in double.
struct RowResults {
    Numbers means, invstds, save_mean, save_invstd;
    double count, eps;

    __device__ void write_batch(int64_t row, double mean, double squares) const {
        const double invstd = 1 / sqrt(squares / count + eps);
        means.set(row, mean);
        invstds.set(row, invstd);
        if (save_mean) save_mean.set(row, mean);
        if (save_invstd) save_invstd.set(row, invstd);
    }
};

/// The numbers of a plane.
template <class C>
struct Plane {
    C mean, scale, shift;
};

/// (x - mean) * invstd * weight + bias
template <class C>
struct NormaliseGroups {
    using Channel = Plane<C>;
    Numbers means, invstds, weight, bias;
    GroupShape s;

    __device__ Channel channel(int64_t plane) const {
        const int64_t row = plane / s.width, c = plane % s.channels;
        const double scale = weight ? invstds.get(row) * weight.get(c) : invstds.get(row);
        return {static_cast<C>(means.get(row)), static_cast<C>(scale), static_cast<C>(bias ? bias.get(c) : 0)};
    }
    __device__ C operator()(const Channel& c, const C (&x)[1]) const { return (x[0] - c.mean) * c.scale + c.shift; }
};

/// The sums of g and of g * xhat over each plane.
template <class C>
struct PlaneSums : GradientReduction<C> {
    using State = GradientSum<double>;

    Numbers means, rstds, sums, products;
    int64_t width;
    C mean;

    __device__ PlaneSums at(int64_t plane) const {
        PlaneSums each = *this;
        each.mean = static_cast<C>(means.get(plane / width));
        return each;
    }
    template <int kCount, class Number>
    __device__ void take_many(State& state, const C (&gx)[kCount][2], Number&&) const {
        take_gradients(state, gx, [&](int i) { return gx[i][1] - mean; });
    }
    __device__ void write(int64_t plane, const State& state) const {
        sums.set(plane, state.sum);
        products.set(plane, state.product * rstds.get(plane / width));
    }
};

/// Sums up both numbers of several planes; where there is a weight, of the planes of a row, times their weights.
struct JoinPlanes : GradientReduction<double> {
    static constexpr bool kTakesMany = false;

    Numbers weight, sums, products;
    GroupShape s;
    int64_t channel;  ///< of the row's first plane

    __device__ JoinPlanes at(int64_t place) const {
        JoinPlanes each = *this;
        each.channel = place * s.width % s.channels;
        return each;
    }
    __device__ void take(State& state, const double (&x)[2], int64_t index) const {
        const double factor = weight ? weight.get(channel + index) : 1;
        state.sum += factor * x[0];
        state.product += factor * x[1];
    }
    __device__ void write(int64_t place, const State& state) const {
        if (sums) sums.set(place, state.sum);
        if (products) products.set(place, state.product);
    }
};

/// rstd * (h - average(h) - xhat * average(h * xhat)), h = g * weight
template <class C>
struct GroupGradient {
    struct Channel {
        C mean, weight, shift, slope, rstd;
    };
    Numbers means, rstds, weight, sums, products;
    GroupShape s;

    __device__ Channel channel(int64_t plane) const {
        const int64_t row = plane / s.width;
        const double rstd = rstds.get(row), count = static_cast<double>(s.rows.size);
        return {static_cast<C>(means.get(row)), static_cast<C>(weight ? weight.get(plane % s.channels) : 1),
                static_cast<C>(sums.get(row) / count), static_cast<C>(products.get(row) / count * rstd),
                static_cast<C>(rstd)};
    }
    __device__ C operator()(const Channel& c, const C (&gx)[2]) const {
        return (gx[0] * c.weight - c.shift - (gx[1] - c.mean) * c.slope) * c.rstd;
    }
};

Numbers parameter(diopiConstTensorHandle_t tensor) { return tensor == nullptr ? Numbers{} : numbers_of(view(tensor)); }

/// Maps contiguous tensors, the numbers of f's channels being those of planes.
template <class T, size_t kIns, class F>
diopiError_t map_planes(diopiContextHandle_t ctx, std::string_view op, const GroupShape& s, View out,
                        std::array<View, kIns> ins, const F& f) {
    const int64_t planes = s.samples * s.channels, shape[] = {1, planes, s.inner};
    const int64_t strides[] = {planes * s.inner, s.inner, 1};
    out.shape = shape;
    out.strides = strides;
    for (View& in : ins) {
        in.shape = shape;
        in.strides = strides;
    }
    return map_channels<T, ComputeOf<T>, kIns>(ctx, op, out, ins, f);
}

template <class T>
diopiError_t normalize_groups(diopiContextHandle_t ctx, const GroupNorm& a) {
    using C = ComputeOf<T>;
    const GroupShape s = a.shape;
    const Dtype dtype = view(a.input).dtype;
    Staging staging(ctx, a.op);
    const View x = staging.in(a.input, dtype, Staging::Strides::contiguous);
    const View y = staging.out(a.out, dtype, Staging::Strides::contiguous);
    Statistics<C, RowResults> f{};
    f.results = {numbers_of(staging.buffer(s.rows.count, Dtype::float64)),
                 numbers_of(staging.buffer(s.rows.count, Dtype::float64)),
                 output_numbers(staging, a.save_mean),
                 output_numbers(staging, a.save_invstd),
                 static_cast<double>(s.rows.size),
                 a.eps};
    if (staging.error() != diopiSuccess) return staging.error();
    diopiError_t error = reduce_matrix(ctx, a.op, s.rows.count, s.rows.size, Kept::rows, {x}, f);
    if (error != diopiSuccess) return error;
    const NormaliseGroups<C> map{f.results.means, f.results.invstds, parameter(a.weight), parameter(a.bias), s};
    error = map_planes<T, 1>(ctx, a.op, s, y, {x}, map);
    return error != diopiSuccess ? error : staging.finish();
}

template <class T>
diopiError_t normalize_groups_backward(diopiContextHandle_t ctx, const GroupNormGradient& a) {
    using C = ComputeOf<T>;
    const GroupShape s = a.shape;
    const Dtype dtype = view(a.input).dtype;
    const int64_t planes = s.samples * s.channels;
    Staging staging(ctx, a.op);
    const View x = staging.in(a.input, dtype, Staging::Strides::contiguous);
    const View g = staging.in(a.grad_output, dtype, Staging::Strides::contiguous);
    const View gx = staging.out(a.grad_input, dtype, Staging::Strides::contiguous);
    const Numbers means = input_numbers(staging, a.mean), rstds = input_numbers(staging, a.rstd);
    const auto room = [&](int64_t count) { return staging.buffer(count, Dtype::float64); };
    const View sums = room(planes), products = room(planes);
    const JoinPlanes of_channels{{}, {}, output_numbers(staging, a.grad_bias), output_numbers(staging, a.grad_weight),
                                 s,  0};
    if (staging.error() != diopiSuccess) return staging.error();
    const PlaneSums<C> of_planes{{}, means, rstds, numbers_of(sums), numbers_of(products), s.width, C(0)};
    diopiError_t error = reduce_matrix(ctx, a.op, planes, s.inner, Kept::rows, {g, x}, of_planes);
    if (error == diopiSuccess && (of_channels.sums || of_channels.products)) {
        error = reduce_matrix(ctx, a.op, s.samples, s.channels, Kept::columns, {sums, products}, of_channels);
    }
    if (error == diopiSuccess && a.grad_input != nullptr) {
        const Numbers weight = parameter(a.weight);
        const JoinPlanes of_rows{{}, weight, numbers_of(room(s.rows.count)), numbers_of(room(s.rows.count)), s, 0};
        if (staging.error() != diopiSuccess) return staging.error();
        error = reduce_matrix(ctx, a.op, s.rows.count, s.width, Kept::rows, {sums, products}, of_rows);
        if (error != diopiSuccess) return error;
        const GroupGradient<C> map{means, rstds, weight, of_rows.sums, of_rows.products, s};
        error = map_planes<T, 2>(ctx, a.op, s, gx, {g, x}, map);
    }
    return error != diopiSuccess ? error : staging.finish();
}

template <class... Arguments>
diopiError_t group_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    GroupNorm a{arguments...};
    if (const diopiError_t error = read_group_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0)
        return fill_all(ctx, a.op, {a.save_mean, a.save_invstd}, std::numeric_limits<double>::quiet_NaN());
    return with_floating_type(x.dtype, [&]<class T>() { return normalize_groups<T>(ctx, a); });
}

template <class... Arguments>
diopiError_t group_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    GroupNormGradient a{arguments...};
    if (const diopiError_t error = read_group_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) return fill_all(ctx, a.op, {a.grad_weight, a.grad_bias}, 0);
    return with_floating_type(x.dtype, [&]<class T>() { return normalize_groups_backward<T>(ctx, a); });
}

}  // namespace

#include "kernels/entries/norm_group.inc"

}  // namespace diopi::cuda
