/// nll_loss and cross_entropy. Sums over samples take two passes and are the same in every run. cross_entropy finds a
/// sample's maximum and its sum of exponentials in one reading of its classes; its other terms, where there are any, in
/// a second one.
#include "kernels/cuda/loss.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cuda {

namespace {

__global__ void partials_kernel(const double* partials, int64_t count, Results results) {
    Sums sums{0, 0};
    for (int64_t i = threadIdx.x; i < count; i += kThreads) {
        sums.loss += partials[2 * i];
        sums.weight += partials[2 * i + 1];
    }
    put_sums(sums, nullptr, results);
}

/// Launches one block that sums up what `count` blocks left.
diopiError_t sum_partials(diopiContextHandle_t ctx, std::string_view op, const double* partials, int64_t count,
                          const Results& results) {
    return launch(ctx, op, Launch{1, kThreads}, partials_kernel, partials, count, results);
}

/// sum(launch shape, memory for partial sums) launches a kernel of `blocks` blocks that ends with put_sums; where there
/// are several, one more follows.
template <class Sum>
diopiError_t sum_samples(diopiContextHandle_t ctx, std::string_view op, int64_t blocks, const Results& results,
                         Sum&& sum) {
    View partials;
    const int64_t size[] = {2 * blocks};
    if (blocks > 1) {
        if (const auto error = require(ctx, size, Dtype::float64, partials); error != diopiSuccess) return error;
    }
    auto* data = reinterpret_cast<double*>(partials.data);
    if (const auto error = sum(Launch{static_cast<unsigned>(blocks), kThreads}, data); error != diopiSuccess) {
        return error;
    }
    return blocks > 1 ? sum_partials(ctx, op, data, blocks, results) : diopiSuccess;
}

/// Log probabilities, or nothing where only weights are summed up.
struct LogProbabilities {
    const void* data;
    Dtype dtype;
    int64_t class_stride;
    bool is_wanted;
};

/// The places of a sample in the losses (or the targets), in the targets and in the input.
using SampleWalk = Walk<int64_t, 3>;

__device__ Sums sample_loss(const Targets& targets, const LogProbabilities& input, const int64_t (&places)[3]) {
    const int64_t t = targets.class_at(places[1]);
    if (t == targets.ignore_index) return {0, 0};
    if (!targets.is_class(t)) return {kNoSuchClass<double>, kNoSuchClass<double>};
    const double weight = targets.weight_of(t);
    if (!input.is_wanted) return {0, weight};
    return {-weight * load_number(input.data, places[2] + t * input.class_stride, input.dtype), weight};
}

__global__ void nll_kernel(void* out, Dtype out_dtype, Number total, Targets targets, LogProbabilities input,
                           SampleWalk walk, int64_t samples) {
    const int64_t first = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, step = int64_t{gridDim.x} * blockDim.x;
    if (first == 0 && total.data != nullptr) store(total.data, 0, total.dtype, 0.0);
    for (int64_t i = first; i < samples; i += step) {
        int64_t places[3];
        walk.find(i, places);
        put_rounded(out, places[0], out_dtype, sample_loss(targets, input, places).loss);
    }
}

__global__ void nll_sum_kernel(double* partials, Results results, Targets targets, LogProbabilities input,
                               SampleWalk walk, int64_t samples) {
    Sums sums{0, 0};
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < samples; i += step) {
        int64_t places[3];
        walk.find(i, places);
        const Sums own = sample_loss(targets, input, places);
        sums.loss += own.loss;
        sums.weight += own.weight;
    }
    put_sums(sums, partials, results);
}

/// The places that an element of grad_input needs: its own, those of its sample's target and gradient, its class.
template <class Index>
using GradientWalk = Walk<Index, 4>;

template <class Index>
__global__ void nll_backward_kernel(void* grad_in, Dtype grad_in_dtype, const void* grad_out, Dtype grad_out_dtype,
                                    Number total, Targets targets, GradientWalk<Index> walk, Index numel) {
    const double scale = total.data == nullptr ? 1 : 1 / total.get();
    const int64_t step = int64_t{gridDim.x} * blockDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < numel; i += step) {
        Index places[4];
        walk.find(static_cast<Index>(i), places);
        const int64_t t = targets.class_at(places[1]);
        double value = 0;
        if (t != targets.ignore_index && !targets.is_class(t)) value = kNoSuchClass<double>;
        if (t != targets.ignore_index && t == places[3]) {
            value = -targets.weight_of(t) * (load_number(grad_out, places[2], grad_out_dtype) * scale);
        }
        put_rounded(grad_in, places[0], grad_in_dtype, value);
    }
}

LogProbabilities log_probabilities(const Loss& loss) {
    return {loss.input.data, loss.input.dtype, loss.class_stride(loss.input), true};
}

/// `like` has the shape of the samples; the walk goes in the order of its memory.
SampleWalk sample_walk(const Loss& loss, const View& like) {
    const SampleView input(loss, loss.input);
    return walk_of<int64_t, 3>(make_nest(std::array<View, 3>{like, loss.target, input}));
}

diopiError_t sum_nll(diopiContextHandle_t ctx, const Loss& loss, const LogProbabilities& input,
                     const Results& results) {
    const SampleWalk walk = sample_walk(loss, loss.target);
    const int64_t samples = loss.samples();
    return sum_samples(ctx, loss.op, sum_blocks(samples, 0), results, [&](const Launch& grid, double* partials) {
        return launch(ctx, loss.op, grid, nll_sum_kernel, partials, results, Targets::of(loss), input, walk, samples);
    });
}

/// The sum of the weights of the targets that count, float64 and owned by the context.
diopiError_t total_weight(diopiContextHandle_t ctx, const Loss& loss, View& total) {
    const int64_t one[] = {1};
    if (const diopiError_t error = require(ctx, one, Dtype::float64, total); error != diopiSuccess) return error;
    return sum_nll(ctx, loss, {}, {Number::of(View{}), Number::of(total), false, -1});
}

diopiError_t nll_loss(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiTensorHandle_t total_out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                      diopiConstTensorHandle_t weight, diopiReduction_t reduction, int64_t ignore_index) {
    Loss loss{op, view(input), view(target), weight, reduction, ignore_index};
    if (const diopiError_t error = read_loss(loss); error != diopiSuccess) return error;
    const View y = view(out);
    if (const diopiError_t error = check_samples(loss, "out", y); error != diopiSuccess) return error;
    const View total = total_out == nullptr ? View{} : view(total_out);
    if (loss.reduction != ReductionNone) {
        const bool is_mean = loss.reduction == ReductionMean;
        return sum_nll(ctx, loss, log_probabilities(loss), {Number::of(y), Number::of(total), is_mean, -1});
    }
    const int64_t samples = loss.samples();
    const ReducedView each(loss, y, false);
    if (const diopiError_t error = check_views(loss.op, each, {}); error != diopiSuccess) return error;
    return launch(ctx, loss.op, launch_for(std::max<int64_t>(samples, 1), 1), nll_kernel, y.data, y.dtype,
                  Number::of(total), Targets::of(loss), log_probabilities(loss), sample_walk(loss, each), samples);
}

/// `saved_total`: the total weight from the forward function; null: it is summed up here.
diopiError_t nll_loss_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                               diopiConstTensorHandle_t saved_total, diopiReduction_t reduction, int64_t ignore_index) {
    Loss loss{op, view(input), view(target), weight, reduction, ignore_index};
    const View grad = view(grad_input), g = view(grad_output);
    if (const diopiError_t error = read_gradient(loss, grad, g); error != diopiSuccess) return error;
    if (const diopiError_t error = check_samples(loss, "grad_output", g); error != diopiSuccess) return error;
    if (const diopiError_t error = check_views(loss.op, grad, {}); error != diopiSuccess) return error;
    if (grad.numel == 0) return diopiSuccess;
    View total;
    if (loss.reduction == ReductionMean) {
        if (saved_total != nullptr) {
            total = view(saved_total);
        } else if (const diopiError_t error = total_weight(ctx, loss, total); error != diopiSuccess) {
            return error;
        }
    }
    Shape number_strides(grad.shape.size(), 0);
    number_strides[loss.class_dim()] = 1;
    View class_number = grad;
    class_number.strides = number_strides;
    const ReducedView targets(loss, loss.target, true), each(loss, g, true);
    const Nest nest = make_nest(std::array<View, 4>{grad, targets, each, class_number});
    const auto start = [&]<class Index>() {
        return launch(ctx, loss.op, launch_for(grad.numel, 1), nll_backward_kernel<Index>, grad.data, grad.dtype,
                      g.data, g.dtype, Number::of(total), Targets::of(loss), walk_of<Index, 4>(nest), nest.numel);
    };
    return nest.fits_32_bits() ? start.template operator()<int32_t>() : start.template operator()<int64_t>();
}

/// The sum of exp(x - most) over the numbers so far; most is their maximum, -inf where there are none.
template <class C>
struct Softmax {
    C most, sum;

    __device__ void add(C x) {
        if (x == -kInfinity<C>) return;
        if (x > most) {
            sum = sum * exp(most - x) + C(1);
            most = x;
        } else {
            sum += exp(x - most);
        }
    }
    /// The sum over all classes: NaN where the maximum is infinite, as x - most is then.
    __device__ C total() const { return most - most == C(0) ? sum : most - most; }
};

template <class C>
__device__ Softmax<C> join(Softmax<C> a, Softmax<C> b) {
    const C most = a.most > b.most ? a.most : b.most;
    const C from_a = a.most == most ? a.sum : a.sum * exp(a.most - most);
    const C from_b = b.most == most ? b.sum : b.sum * exp(b.most - most);
    return {most, from_a + from_b};
}

/// The classes of a sample, of which this thread takes some.
template <class T>
struct Row {
    const Elements<T>& elements;
    int64_t first, stride, classes;
    int slice, slices;
    bool has_packs;

    /// Calls visit(class, value) for the thread's classes.
    template <class Visit>
    __device__ void for_each(Visit&& visit) const {
        constexpr int kPack = kPackOf<T>;
        ComputeOf<T> values[kPack];
        if (has_packs) {
#pragma unroll 2
            for (int64_t c = int64_t{slice} * kPack; c < classes; c += int64_t{slices} * kPack) {
                elements.get(first + c, values);
                for (int k = 0; k < kPack; ++k) visit(c + k, values[k]);
            }
            return;
        }
#pragma unroll 4
        for (int64_t c = slice; c < classes; c += slices) visit(c, elements.get(first + c * stride));
    }

    /// to[class] = compute(class, value) for the thread's classes, packs where the row has them.
    template <class Compute>
    __device__ void map(const Elements<T>& to, int64_t to_first, int64_t to_stride, Compute&& compute) const {
        constexpr int kPack = kPackOf<T>;
        ComputeOf<T> values[kPack];
        if (has_packs) {
            for (int64_t c = int64_t{slice} * kPack; c < classes; c += int64_t{slices} * kPack) {
                elements.get(first + c, values);
                for (int k = 0; k < kPack; ++k) values[k] = compute(c + k, values[k]);
                to.put(to_first + c, values);
            }
            return;
        }
        for (int64_t c = slice; c < classes; c += slices) {
            to.put(to_first + c * to_stride, compute(c, elements.get(first + c * stride)));
        }
    }

    __device__ Softmax<ComputeOf<T>> softmax(int bits) const {
        using C = ComputeOf<T>;
        Softmax<C> own{-kInfinity<C>, C(0)};
        for_each([&](int64_t, C x) { own.add(x); });
        const auto exchange = [](Softmax<C> v, int mask) {
            return Softmax<C>{__shfl_xor_sync(kAllLanes, v.most, mask), __shfl_xor_sync(kAllLanes, v.sum, mask)};
        };
        return join_slices(
            own, bits, [](Softmax<C> a, Softmax<C> b) { return join(a, b); }, exchange);
    }
};

/// The arguments of both kernels.
template <class T>
struct Entropy {
    Elements<T> input;
    int64_t class_stride;
    bool has_packs;
    Targets targets;
    bool has_probabilities;
    Elements<T> shares;  ///< the probabilities; without data where they are of another dtype than the input
    int64_t target_class_stride;
    double smoothing;
    int slice_bits;
    int64_t samples;

    __device__ Row<T> row(int64_t first, bool is_used) const {
        const int slices = 1 << slice_bits, slice = static_cast<int>(threadIdx.x) % slices;
        return {input, first, class_stride, is_used ? targets.classes : 0, slice, slices, has_packs};
    }
    /// The share that smoothing gives to each class.
    __device__ double spread() const { return smoothing / static_cast<double>(targets.classes); }
    /// The weight of class c times its share in a target of probabilities.
    __device__ double weighted_share(int64_t c, int64_t target) const {
        const int64_t place = target + c * target_class_stride;
        const auto share = shares.data != nullptr
                               ? shares.get(place)
                               : static_cast<ComputeOf<T>>(load_number(targets.data, place, targets.dtype));
        return targets.weight_of(c) * (static_cast<double>(share) * (1 - smoothing) + spread());
    }
};

/// The target of a sample.
struct Target {
    int64_t number = 0;
    bool is_used = false;   ///< probabilities, or a class that exists and counts
    bool is_wrong = false;  ///< a class that does not exist
};

template <class T>
__device__ Target target_of(const Entropy<T>& e, bool is_there, int64_t place) {
    Target target{0, false, false};
    if (!is_there) return target;
    if (e.has_probabilities) return {0, true, false};
    target.number = e.targets.class_at(place);
    const bool counts = target.number != e.targets.ignore_index;
    target.is_used = counts && e.targets.is_class(target.number);
    target.is_wrong = counts && !target.is_used;
    return target;
}

/// -sum over the classes of q * log(softmax), where q is the share of a class in the target. All threads of a block
/// call it together.
template <class T>
__device__ Sums entropy_of(const Entropy<T>& e, const Target& target, int64_t first, int64_t place) {
    using C = ComputeOf<T>;
    const Row<T> row = e.row(first, target.is_used);
    const Softmax<C> all = row.softmax(e.slice_bits);
    const C shift = log(all.total());
    const auto minus_log = [&](C x) { return -static_cast<double>((x - all.most) - shift); };
    double loss = 0;
    if (e.has_probabilities || e.smoothing > 0) {
        row.for_each([&](int64_t c, C x) {
            const double q = e.has_probabilities ? e.weighted_share(c, place) : e.targets.weight_of(c) * e.spread();
            loss += minus_log(x) * q;
        });
        loss = sum_slices(loss, e.slice_bits);
    }
    if (target.is_wrong) return {kNoSuchClass<double>, kNoSuchClass<double>};
    if (e.has_probabilities || !target.is_used) return {loss, 0};
    const double weight = e.targets.weight_of(target.number);
    loss += (1 - e.smoothing) * weight * minus_log(e.input.get(first + target.number * e.class_stride));
    return {loss, weight};
}

/// The places of a sample in the losses (or the targets) and in the targets, and of its first class in the input.
using ProbabilityWalk = Walk<int64_t, 3>;

/// `out`: the loss of each sample; null: the losses are summed up.
template <class T>
__global__ void entropy_kernel(void* out, Dtype out_dtype, double* partials, Results results, Entropy<T> e,
                               ProbabilityWalk walk) {
    const int lanes = static_cast<int>(kThreads) >> e.slice_bits;
    const int lane = static_cast<int>(threadIdx.x) >> e.slice_bits;
    const bool is_first = threadIdx.x % (1u << e.slice_bits) == 0;
    Sums sums{0, 0};
    for (int64_t base = int64_t{blockIdx.x} * lanes; base < e.samples; base += int64_t{gridDim.x} * lanes) {
        const bool is_there = base + lane < e.samples;
        int64_t places[3] = {};
        if (is_there) walk.find(base + lane, places);
        const Target target = target_of(e, is_there, places[1]);
        const Sums own = entropy_of(e, target, places[2], places[1]);
        if (!is_there || !is_first) continue;
        if (out != nullptr) put_rounded(out, places[0], out_dtype, own.loss);
        sums.loss += own.loss;
        sums.weight += own.weight;
    }
    if (out == nullptr) put_sums(sums, partials, results);
}

struct EntropyGradient {
    const void* data;
    Dtype dtype;
    Number total;    ///< without data: `divisor` is used
    double divisor;  ///< of the mean; 1 otherwise

    __device__ double scale() const { return 1 / (total.data == nullptr ? divisor : total.get()); }
};

/// The places of a sample's first class in grad_input, its target, its first class in the input, its grad_output.
using EntropyWalk = Walk<int64_t, 4>;

/// With p = softmax(input) and q as above: grad_input = (p * sum(q) - q) * grad_output, scaled as the loss was.
template <class T>
__global__ void entropy_backward_kernel(Elements<T> grad_in, int64_t grad_class_stride, EntropyGradient gradient,
                                        Entropy<T> e, EntropyWalk walk) {
    using C = ComputeOf<T>;
    const int lanes = static_cast<int>(kThreads) >> e.slice_bits;
    const int lane = static_cast<int>(threadIdx.x) >> e.slice_bits;
    const bool has_classes = !e.has_probabilities, is_smooth = has_classes && e.smoothing > 0;
    double all_weights = 0;
    for (int64_t c = threadIdx.x; is_smooth && c < e.targets.classes; c += kThreads)
        all_weights += e.targets.weight_of(c);
    if (is_smooth) all_weights = sum_slices(all_weights, kBlockBits);
    const double scale = gradient.scale(), rest = 1 - e.smoothing, spread = e.spread();

    for (int64_t base = int64_t{blockIdx.x} * lanes; base < e.samples; base += int64_t{gridDim.x} * lanes) {
        const bool is_there = base + lane < e.samples;
        int64_t places[4] = {};
        if (is_there) walk.find(base + lane, places);
        const Target target = target_of(e, is_there, places[1]);
        const Row<T> row = e.row(places[2], target.is_used);
        const Softmax<C> all = row.softmax(e.slice_bits);
        double sum = 0;
        if (e.has_probabilities) {
            row.for_each([&](int64_t c, C) { sum += e.weighted_share(c, places[1]); });
            sum = sum_slices(sum, e.slice_bits);
        }
        if (!is_there) continue;
        const double weight = has_classes && target.is_used ? rest * e.targets.weight_of(target.number) : 0;
        if (has_classes) sum = weight + spread * all_weights;
        const double factor = load_number(gradient.data, places[3], gradient.dtype) * scale;
        const C inverse = C(1) / all.total();
        e.row(places[2], true).map(grad_in, places[0], grad_class_stride, [&](int64_t c, C x) {
            if (!target.is_used) return target.is_wrong ? kNoSuchClass<C> : C(0);
            double q = 0;
            if (e.has_probabilities) {
                q = e.weighted_share(c, places[1]);
            } else {
                if (is_smooth) q = spread * e.targets.weight_of(c);
                if (c == target.number) q += weight;
            }
            const C p = exp(x - all.most) * inverse;
            return static_cast<C>((static_cast<double>(p) * sum - q) * factor);
        });
    }
}

template <class T>
Entropy<T> entropy(const Loss& loss, bool has_packs) {
    const bool has_probabilities = loss.has_probabilities();
    const bool has_shares = has_probabilities && loss.target.dtype == loss.input.dtype;
    return {Elements<T>::of(loss.input),
            loss.class_stride(loss.input),
            has_packs,
            Targets::of(loss),
            has_probabilities,
            has_shares ? Elements<T>::of(loss.target) : Elements<T>{},
            has_probabilities ? loss.class_stride(loss.target) : 0,
            loss.smoothing,
            class_slice_bits(loss),
            loss.samples()};
}

/// The divisor of the mean; below 0: the total weight of the targets.
double divisor_of(const Loss& loss) {
    if (!loss.has_probabilities()) return -1;
    return loss.input.numel == 0 ? 0 : static_cast<double>(loss.samples());
}

/// The targets in the shape of the samples.
class TargetView {
 public:
    explicit TargetView(const Loss& loss) : shares_(loss, loss.has_probabilities() ? loss.target : loss.input) {
        view_ = loss.has_probabilities() ? static_cast<const View&>(shares_) : loss.target;
    }
    TargetView(const TargetView&) = delete;
    TargetView& operator=(const TargetView&) = delete;
    operator const View&() const { return view_; }

 private:
    SampleView shares_;
    View view_;
};

diopiError_t cross_entropy(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                           diopiConstTensorHandle_t weight, diopiReduction_t reduction, int64_t ignore_index,
                           double label_smoothing) {
    Loss loss{op, view(input), view(target), weight, reduction, ignore_index, true, label_smoothing};
    if (const diopiError_t error = read_loss(loss); error != diopiSuccess) return error;
    const View y = view(out);
    if (const diopiError_t error = check_samples(loss, "out", y); error != diopiSuccess) return error;
    const bool has_each = loss.reduction == ReductionNone;
    if (has_each && loss.samples() == 0) return diopiSuccess;
    const SampleView samples(loss, loss.input);
    const TargetView targets(loss);
    const ReducedView each(loss, y, false);
    if (has_each) {
        if (const diopiError_t error = check_views(loss.op, each, {}); error != diopiSuccess) return error;
    }
    const View& like = has_each ? static_cast<const View&>(each) : targets;
    const ProbabilityWalk walk = walk_of<int64_t, 3>(make_nest(std::array<View, 3>{like, targets, samples}));
    const Results results{Number::of(y), Number::of(View{}), loss.reduction == ReductionMean, divisor_of(loss)};
    return with_elements(loss.input.dtype, [&]<class T>() {
        const Entropy<T> e = entropy<T>(loss, has_class_packs(loss, loss.input, kPackOf<T>));
        const auto run = [&](const Launch& grid, double* partials) {
            void* losses = has_each ? y.data : nullptr;
            return launch(ctx, loss.op, grid, entropy_kernel<T>, losses, y.dtype, partials, results, e, walk);
        };
        if (has_each) return run(launch_for(e.samples << e.slice_bits, 1), nullptr);
        return sum_samples(ctx, loss.op, sum_blocks(e.samples, e.slice_bits), results, run);
    });
}

diopiError_t cross_entropy_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                    diopiReduction_t reduction, int64_t ignore_index, double label_smoothing) {
    Loss loss{op, view(input), view(target), weight, reduction, ignore_index, true, label_smoothing};
    const View grad = view(grad_input), g = view(grad_output);
    if (const diopiError_t error = read_gradient(loss, grad, g); error != diopiSuccess) return error;
    if (const diopiError_t error = check_samples(loss, "grad_output", g); error != diopiSuccess) return error;
    if (const diopiError_t error = check_views(loss.op, grad, {}); error != diopiSuccess) return error;
    if (grad.numel == 0) return diopiSuccess;
    const bool is_mean = loss.reduction == ReductionMean;
    View total;
    if (is_mean && !loss.has_probabilities()) {
        if (const diopiError_t error = total_weight(ctx, loss, total); error != diopiSuccess) return error;
    }
    const SampleView first(loss, grad), samples(loss, loss.input);
    const TargetView targets(loss);
    const ReducedView each(loss, g, false);
    const auto walk = walk_of<int64_t, 4>(make_nest(std::array<View, 4>{first, targets, samples, each}));
    const EntropyGradient gradient{g.data, g.dtype, Number::of(total), is_mean ? divisor_of(loss) : 1};
    return with_elements(grad.dtype == loss.input.dtype ? grad.dtype : Dtype::unsupported, [&]<class T>() {
        const bool has_packs = has_class_packs(loss, loss.input, kPackOf<T>) && has_class_packs(loss, grad, kPackOf<T>);
        const Entropy<T> e = entropy<T>(loss, has_packs);
        return launch(ctx, loss.op, launch_for(e.samples << e.slice_bits, 1), entropy_backward_kernel<T>,
                      Elements<T>::of(grad), loss.class_stride(grad), gradient, e, walk);
    });
}

}  // namespace

#include "kernels/entries/loss.inc"

}  // namespace diopi::cuda
