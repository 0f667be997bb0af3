/// Reductions. An operator over its compute type C (float, double or int64_t) is a struct
///
///     template <class C>
///     struct Largest {
///         using State = C;
///         __device__ State identity() const { return -INFINITY; }
///         __device__ void take(State& state, C x) const { state = x > state ? x : state; }
///         __device__ State combine(State a, State b) const { return a > b ? a : b; }
///         __device__ C finish(State state) const { return state; }
///     };
///
/// and `reduce<C>(ctx, op, plan, out, in, Largest<C>{})` runs it for any dimensions, strides and dtypes, 0-dim and
/// empty tensors. `take` may have the element's number among the joined ones as a third argument. States are combined
/// as trees whose form depends only on the shape, in any order of a and b. A State has words of 4 bytes, at most 32
/// bytes, and no initialisers.
#pragma once

#include <array>

#include "kernels/cuda/element/element.cuh"
#include "kernels/cuda/element/launch.cuh"
#include "kernels/cuda/reduce/reduce.hpp"

namespace diopi::cuda {

template <int kIns>
struct Sources {
    const void* data[kIns];
    Dtype dtypes[kIns];
};

template <class T, class C>
__device__ C fetch(const void* data, int64_t place, Dtype dtype) {
    if constexpr (std::is_same_v<T, Any>) {
        return load<C>(data, place, dtype);
    } else {
        return convert<C>(static_cast<const T*>(data)[place]);
    }
}

/// The state of the lane whose number differs by `bits`; all lanes of the warp must call it.
template <class State>
__device__ State from_lane(const State& state, int bits) {
    static_assert(sizeof(State) % sizeof(unsigned) == 0);
    constexpr int kWords = sizeof(State) / sizeof(unsigned);
    unsigned words[kWords];
    memcpy(words, &state, sizeof(State));
    for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(~0u, words[i], bits);
    State other;
    memcpy(&other, words, sizeof(State));
    return other;
}

/// Joins the states of `lanes` neighbouring threads; each gets the same result. `lanes` is a power of 2 up to 32, or
/// the whole block, of 64 to 1024 threads. All threads of the block must call it.
template <class State, class Op>
__device__ State join(const Op& op, State state, int lanes) {
    constexpr int kWarp = 32;
    for (int bits = (lanes < kWarp ? lanes : kWarp) / 2; bits > 0; bits /= 2) {
        state = op.combine(state, from_lane(state, bits));
    }
    if (lanes <= kWarp) return state;
    __shared__ State of_warps[kWarp];
    const int warps = lanes / kWarp, lane = threadIdx.x % kWarp;
    __syncthreads();  // the states of the last call have been read
    if (lane == 0) of_warps[threadIdx.x / kWarp] = state;
    __syncthreads();
    state = of_warps[lane % warps];
    for (int bits = warps / 2; bits > 0; bits /= 2) state = op.combine(state, from_lane(state, bits));
    return state;
}

/// A simple operator in the form that kernels take, with kIns inputs, `at` (the operator of the result at `place`) and
/// `write`. With kTakesMany an operator has `take_many(state, values, number)` instead of `take`: values[i] has the
/// number number(i). kOnlyColumns: the results are neighbours in memory, unless there is only one.
template <class C, class Op>
struct Stored {
    using Compute = C;
    using State = typename Op::State;
    static constexpr int kIns = 1;
    static constexpr bool kTakesMany = false, kOnlyColumns = false;

    Op op;
    void* out;
    Dtype dtype;

    __device__ const Stored& at(int64_t) const { return *this; }
    __device__ State identity() const { return op.identity(); }
    __device__ void take(State& state, const C (&x)[1], int64_t index) const {
        if constexpr (requires { op.take(state, x[0], index); }) {
            op.take(state, x[0], index);
        } else {
            op.take(state, x[0]);
        }
    }
    __device__ State combine(const State& a, const State& b) const { return op.combine(a, b); }
    __device__ void write(int64_t place, const State& state) const { store(out, place, dtype, op.finish(state)); }
};

namespace reduce_detail {

/// The number of independent states of a thread for one result, so that steps overlap.
template <class Op>
constexpr int kStates = Op::kTakesMany ? 1 : 4;
/// The number of loads that a thread has in flight.
template <class Op>
constexpr int kAhead = Op::kIns == 1 ? 4 : 2;

/// Element i of `values` has the number number(i).
template <class Op, class C, int kCount, class Number>
__device__ void take_all(const Op& op, typename Op::State* states, const C (&values)[kCount][Op::kIns],
                         Number&& number) {
    if constexpr (Op::kTakesMany) {
        op.take_many(states[0], values, number);
    } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) op.take(states[i % kStates<Op>], values[i], number(i));
    }
}

/// Takes a thread's part of the elements [first, last) of a row that begins at `base`: every lanes-th pack or element.
template <class T, class Op, class Index>
struct RowScan {
    using C = typename Op::Compute;
    static constexpr int kIns = Op::kIns, kPack = kPackOf<T>;

    const Op& op;
    const Sources<kIns>& in;
    const Walk<Index, kIns>& walk;
    const int64_t (&base)[kIns + 1];
    Index lane, lanes;
    typename Op::State states[kStates<Op>];

    __device__ void one_by_one(Index at, Index last) {
        constexpr int kMany = kAhead<Op>;
        for (; last - at > (kMany - 1) * lanes; at += kMany * lanes) {
            C values[kMany][kIns];
            for (int j = 0; j < kMany; ++j) fetch_one(at + j * lanes, values[j]);
            take_all(op, states, values, [&](int j) { return int64_t{at} + int64_t{j} * lanes; });
        }
        for (; at < last; at += lanes) {
            C values[1][kIns];
            fetch_one(at, values[0]);
            take_all(op, states, values, [&](int) { return int64_t{at}; });
        }
    }

    __device__ void fetch_one(Index at, C (&values)[kIns]) const {
        Index places[kIns];
        walk.find(at, places);
        for (int k = 0; k < kIns; ++k) values[k] = fetch<T, C>(in.data[k], base[k] + places[k], in.dtypes[k]);
    }

    /// For neighbouring elements that begin at a multiple of a pack; returns the end of the last pack.
    __device__ Index in_packs(Index first, Index last) {
        const Index packs = (last - first) / kPack;
        Index at = lane;
        for (; packs - at > (kAhead<Op> - 1) * lanes; at += kAhead<Op> * lanes) take_packs<kAhead<Op>>(first, at);
        for (; at < packs; at += lanes) take_packs<1>(first, at);
        return first + packs * kPack;
    }

    template <int kMany>
    __device__ void take_packs(Index first, Index at) {
        using Packed = Pack<T, kPack>;
        Packed packs[kMany][kIns];
#pragma unroll
        for (int j = 0; j < kMany; ++j) {
            Index places[kIns];
            walk.find(first + (at + j * lanes) * kPack, places);
            for (int k = 0; k < kIns; ++k) {
                packs[j][k] = *reinterpret_cast<const Packed*>(static_cast<const T*>(in.data[k]) + base[k] + places[k]);
            }
        }
        C values[kMany * kPack][kIns];
#pragma unroll
        for (int i = 0; i < kMany * kPack; ++i) {
            for (int k = 0; k < kIns; ++k) values[i][k] = convert<C>(packs[i / kPack][k].at[i % kPack]);
        }
        take_all(op, states, values, [&](int i) {
            return int64_t{first} + (int64_t{at} + int64_t{i / kPack} * lanes) * kPack + i % kPack;
        });
    }

    /// The number of elements before the first aligned one; 0 for several inputs, which the plan has checked.
    __device__ Index head(Index first, Index last) const {
        const auto address = reinterpret_cast<uintptr_t>(static_cast<const T*>(in.data[0]) + base[0] + first);
        const auto past = static_cast<Index>(address % 16 / sizeof(T));
        if (kIns > 1 || past == 0) return 0;
        return kPack - past < last - first ? kPack - past : last - first;
    }

    __device__ typename Op::State run(Index first, Index last, bool packs) {
        for (auto& state : states) state = op.identity();
        if constexpr (kPack > 1) {
            if (packs) {
                const Index begin = first + head(first, last);
                one_by_one(first + lane, begin);
                first = in_packs(begin, last);
            }
        }
        one_by_one(first + lane, last);
        for (int i = 1; i < kStates<Op>; ++i) states[0] = op.combine(states[0], states[i]);
        return states[0];
    }
};

struct RowJob {
    int64_t results, count, parts, part;
    int lanes;
    bool packs;
};

/// Joins each result by s.lanes threads. With partials, part p of result r goes to partials[p * results + r].
template <class T, class Op, class Index>
__global__ void __launch_bounds__(kThreads)
    reduce_rows(Op op, Sources<Op::kIns> in, Walk<int64_t, Op::kIns + 1> kept, Walk<Index, Op::kIns> joined, RowJob s,
                typename Op::State* partials) {
    const int groups = blockDim.x / s.lanes, lane = threadIdx.x % s.lanes;
    const int64_t items = s.results * s.parts, step = int64_t{gridDim.x} * groups;
    for (int64_t block = int64_t{blockIdx.x} * groups; block < items; block += step) {
        const int64_t item = block + threadIdx.x / s.lanes;
        const bool is_there = item < items;
        const int64_t part = is_there && s.parts > 1 ? item / s.results : 0;
        const int64_t result = item - part * s.results, first = part * s.part;
        const int64_t last = first + s.part < s.count ? first + s.part : s.count;
        int64_t places[Op::kIns + 1] = {};
        if (is_there) kept.find(result, places);
        const Op each = op.at(places[Op::kIns]);
        auto state = each.identity();
        if (is_there) {
            RowScan<T, Op, Index> scan{each, in, joined, places, lane, s.lanes, {}};
            state = scan.run(static_cast<Index>(first), static_cast<Index>(last), s.packs);
        }
        state = join(each, state, s.lanes);
        if (!is_there || lane != 0) continue;
        if (partials != nullptr) {
            partials[item] = state;
        } else {
            each.write(places[Op::kIns], state);
        }
    }
}

template <int kIns>
struct ColumnJob {
    int64_t results, width, count, tiles, parts, part;
    int64_t strides[kIns + 1];  ///< between neighbouring columns
    int across, down;
    bool packs;
};

/// Takes every down-th of the elements [first, last) of a thread's columns.
template <class T, class Op, class Index>
struct ColumnScan {
    using C = typename Op::Compute;
    static constexpr int kIns = Op::kIns, kPack = kPackOf<T>;

    const Sources<kIns>& in;
    const Walk<Index, kIns>& walk;
    const ColumnJob<kIns>& s;
    const int64_t (&base)[kIns + 1];
    int64_t column;  ///< the first one
    Op ops[kPack];
    typename Op::State states[kPack];

    __device__ int64_t column_of(int v) const { return s.packs ? column + v : column + int64_t{v} * s.across; }
    __device__ int64_t place_of(int v) const { return base[kIns] + column_of(v) * s.strides[kIns]; }
    __device__ bool is_there(int v) const { return column_of(v) < s.width; }

    /// `all` is the operator of all results.
    __device__ void begin(const Op& all) {
#pragma unroll
        for (int v = 0; v < kPack; ++v) {
            ops[v] = is_there(v) ? all.at(place_of(v)) : all;
            states[v] = ops[v].identity();
        }
    }

    __device__ void run(Index first, Index last) {
        if (!is_there(0)) return;
        Index at = first;
        for (; last - at > (kAhead<Op> - 1) * s.down; at += kAhead<Op> * s.down) take_rows<kAhead<Op>>(at);
        for (; at < last; at += s.down) take_rows<1>(at);
    }

    template <int kMany>
    __device__ void take_rows(Index at) {
        C values[kPack][kMany][kIns] = {};
#pragma unroll
        for (int j = 0; j < kMany; ++j) {
            Index places[kIns];
            walk.find(at + j * s.down, places);
            for (int k = 0; k < kIns; ++k) fetch_row(k, base[k] + places[k], j, values);
        }
#pragma unroll
        for (int v = 0; v < kPack; ++v) {
            if constexpr (Op::kTakesMany) {
                ops[v].take_many(states[v], values[v], [&](int j) { return int64_t{at} + int64_t{j} * s.down; });
            } else {
                for (int j = 0; j < kMany; ++j) ops[v].take(states[v], values[v][j], int64_t{at} + int64_t{j} * s.down);
            }
        }
    }

    template <int kMany>
    __device__ void fetch_row(int k, int64_t row, int j, C (&values)[kPack][kMany][kIns]) const {
        if constexpr (kPack > 1) {
            if (s.packs) {
                const auto* from = static_cast<const T*>(in.data[k]) + row + column;
                const auto pack = *reinterpret_cast<const Pack<T, kPack>*>(from);
                for (int v = 0; v < kPack; ++v) values[v][j][k] = convert<C>(pack.at[v]);
                return;
            }
        }
        for (int v = 0; v < kPack; ++v) {
            if (!is_there(v)) continue;
            values[v][j][k] = fetch<T, C>(in.data[k], row + column_of(v) * s.strides[k], in.dtypes[k]);
        }
    }
};

/// Joins the states of threads that are `across` apart, each of which has put its own into `shared`: those of thread
/// y = 0 become the results.
template <int kCount, class State, class Op>
__device__ void join_down(const Op& op, State (&shared)[kCount][kThreads], int y, int down, int across) {
    for (int half = down / 2; half > 0; half /= 2) {
        __syncthreads();
        if (y >= half) continue;
        for (int v = 0; v < kCount; ++v) {
            shared[v][threadIdx.x] = op.combine(shared[v][threadIdx.x], shared[v][threadIdx.x + half * across]);
        }
    }
}

/// Joins neighbouring results by neighbouring threads; `slices` walks over all kept dimensions but the innermost.
template <class T, class Op, class Index>
__global__ void __launch_bounds__(kThreads)
    reduce_columns(Op op, Sources<Op::kIns> in, Walk<int64_t, Op::kIns + 1> slices, Walk<Index, Op::kIns> joined,
                   ColumnJob<Op::kIns> s, typename Op::State* partials) {
    constexpr int kPack = kPackOf<T>;
    __shared__ typename Op::State shared[kPack][kThreads];
    const int slice_threads = s.across * s.down, in_block = blockDim.x / slice_threads;
    const int x = threadIdx.x % s.across, y = threadIdx.x % slice_threads / s.across;
    const int64_t tiles = s.results / s.width * s.tiles, items = tiles * s.parts;
    for (int64_t block = int64_t{blockIdx.x} * in_block; block < items; block += int64_t{gridDim.x} * in_block) {
        const int64_t item = block + threadIdx.x / slice_threads;
        const int64_t part = item / tiles, tile = item - part * tiles, slice = tile / s.tiles;
        const int64_t first = part * s.part, last = first + s.part < s.count ? first + s.part : s.count;
        const int64_t tile_begin = (tile - slice * s.tiles) * s.across * kPack;
        const bool is_there = item < items;
        int64_t base[Op::kIns + 1] = {};
        if (is_there) slices.find(slice, base);
        ColumnScan<T, Op, Index> scan{in, joined, s, base, is_there ? tile_begin + x * (s.packs ? kPack : 1) : s.width,
                                      {}, {}};
        scan.begin(op);
        if (first + y < last) scan.run(static_cast<Index>(first + y), static_cast<Index>(last));
        // Loops join and write the states in shared memory, so that the scan has the registers.
        if (s.down > 1) __syncthreads();  // the last tile's states have been read
#pragma unroll
        for (int v = 0; v < kPack; ++v) shared[v][threadIdx.x] = scan.states[v];
        join_down(op, shared, y, s.down, s.across);
        if (y != 0) continue;
#pragma unroll 1
        for (int v = 0; v < kPack; ++v) {
            if (!scan.is_there(v)) continue;
            const auto state = shared[v][threadIdx.x];
            const int64_t place = scan.place_of(v);
            if (partials != nullptr) {
                partials[part * s.results + slice * s.width + scan.column_of(v)] = state;
            } else {
                op.at(place).write(place, state);
            }
        }
    }
}

/// Joins the parts of each result: `across` neighbouring threads have neighbouring results, the other threads of the
/// block share their parts.
template <class Op>
__global__ void __launch_bounds__(kThreads)
    join_parts(Op op, Walk<int64_t, Op::kIns + 1> kept, const typename Op::State* partials, int64_t results,
               int64_t parts, int across) {
    __shared__ typename Op::State shared[1][kThreads];
    const int x = threadIdx.x % across, y = threadIdx.x / across, down = static_cast<int>(kThreads) / across;
    for (int64_t first = int64_t{blockIdx.x} * across; first < results; first += int64_t{gridDim.x} * across) {
        const int64_t result = first + x;
        auto state = op.identity();
        if (result < results) {
            for (int64_t p = y; p < parts; p += down) state = op.combine(state, partials[p * results + result]);
        }
        __syncthreads();  // the last results have been read
        shared[0][threadIdx.x] = state;
        join_down(op, shared, y, down, across);
        if (result >= results || y != 0) continue;
        int64_t places[Op::kIns + 1];
        kept.find(result, places);
        op.at(places[Op::kIns]).write(places[Op::kIns], shared[0][x]);
    }
}

/// Memory for the parts' states; none if there is one part.
template <class Op>
diopiError_t require_partials(diopiContextHandle_t ctx, int64_t states, int64_t parts, typename Op::State*& partials) {
    partials = nullptr;
    if (parts == 1) return diopiSuccess;
    const int64_t shape[] = {states * parts * static_cast<int64_t>(sizeof(typename Op::State))};
    View room;
    const diopiError_t error = require(ctx, shape, Dtype::uint8, room);
    if (error == diopiSuccess) partials = reinterpret_cast<typename Op::State*>(room.data);
    return error;
}

template <class Op>
diopiError_t launch_join(diopiContextHandle_t ctx, std::string_view op, const Reduction& r, const Op& f,
                         const typename Op::State* partials, int64_t parts) {
    const int across = share_joins(r.results);
    const Launch grid{static_cast<unsigned>(std::min((r.results - 1) / across + 1, kMostBlocks)), kThreads};
    return launch(ctx, op, grid, join_parts<Op>, f, walk_of<int64_t, Op::kIns + 1>(r.kept), partials, r.results, parts,
                  across);
}

template <class T, class Index, class Op>
diopiError_t launch_rows(diopiContextHandle_t ctx, std::string_view op, const Reduction& r,
                         const std::array<View, Op::kIns>& ins, const Sources<Op::kIns>& in, const Op& f) {
    const bool packs = joins_packs(r, ins, kPackOf<T>);
    const RowShare share = share_rows(r.results, r.count, packs ? kPackOf<T> : 1);
    typename Op::State* partials = nullptr;
    diopiError_t error = require_partials<Op>(ctx, r.results, share.parts, partials);
    if (error != diopiSuccess) return error;
    const RowJob job{r.results, r.count, share.parts, share.part, share.lanes, packs};
    error = launch(ctx, op, share.launch, reduce_rows<T, Op, Index>, f, in, walk_of<int64_t, Op::kIns + 1>(r.kept),
                   walk_of<Index, Op::kIns>(r.joined), job, partials);
    if (error != diopiSuccess || partials == nullptr) return error;
    return launch_join(ctx, op, r, f, partials, share.parts);
}

template <class T, class Index, class Op>
diopiError_t launch_columns(diopiContextHandle_t ctx, std::string_view op, const Reduction& r,
                            const std::array<View, Op::kIns>& ins, const Sources<Op::kIns>& in, const Op& f) {
    constexpr int kIns = Op::kIns;
    Nest slices = r.kept;
    const auto inner = static_cast<size_t>(slices.rank - 1);
    const int64_t width = slices.sizes[inner];
    ColumnJob<kIns> job{};
    for (int k = 0; k <= kIns; ++k) job.strides[k] = slices.strides[static_cast<size_t>(k)][inner];
    slices.sizes[inner] = 1;
    if (slices.rank > 1) --slices.rank;
    job.packs = keeps_packs(r, ins, kPackOf<T>);
    const ColumnShare share = share_columns(r.results / width, width, r.count, kPackOf<T>);
    typename Op::State* partials = nullptr;
    diopiError_t error = require_partials<Op>(ctx, r.results, share.parts, partials);
    if (error != diopiSuccess) return error;
    job.results = r.results;
    job.width = width;
    job.count = r.count;
    job.tiles = share.tiles;
    job.parts = share.parts;
    job.part = share.part;
    job.across = share.across;
    job.down = share.down;
    error = launch(ctx, op, share.launch, reduce_columns<T, Op, Index>, f, in, walk_of<int64_t, kIns + 1>(slices),
                   walk_of<Index, kIns>(r.joined), job, partials);
    if (error != diopiSuccess || partials == nullptr) return error;
    return launch_join(ctx, op, r, f, partials, share.parts);
}

template <class T, class Index, class Op>
diopiError_t launch_typed(diopiContextHandle_t ctx, std::string_view op, const Reduction& r,
                          const std::array<View, Op::kIns>& ins, const Sources<Op::kIns>& in, const Op& f) {
    if constexpr (Op::kOnlyColumns) {
        return launch_columns<T, Index>(ctx, op, r, ins, in, f);
    } else {
        return r.runs_across_results() ? launch_columns<T, Index>(ctx, op, r, ins, in, f)
                                       : launch_rows<T, Index>(ctx, op, r, ins, in, f);
    }
}

}  // namespace reduce_detail

/// Runs a kernel's operator over `ins`, for which the plan was made. No input may be complex.
template <class Op>
diopiError_t run_reduction(diopiContextHandle_t ctx, std::string_view op, const Reduction& r,
                           const std::array<View, Op::kIns>& ins, const Op& f) {
    using reduce_detail::launch_typed;
    if (r.results == 0) return diopiSuccess;
    Sources<Op::kIns> in{};
    Dtype dtype = ins[0].dtype;
    for (size_t k = 0; k < ins.size(); ++k) {
        in.data[k] = ins[k].data;
        in.dtypes[k] = ins[k].dtype;
        if (ins[k].dtype != dtype) dtype = Dtype::unsupported;
    }
    // A thread's index exceeds the last element by a few times the size of a block.
    const bool is_narrow = r.joined.fits_32_bits() && r.count < INT32_MAX - 16 * int64_t{kThreads};
    if constexpr (std::is_same_v<typename Op::Compute, float>) {
        if (is_narrow && dtype == Dtype::float32) return launch_typed<float, int32_t>(ctx, op, r, ins, in, f);
        if (is_narrow && dtype == Dtype::float16) return launch_typed<__half, int32_t>(ctx, op, r, ins, in, f);
        if (is_narrow && dtype == Dtype::bfloat16) return launch_typed<__nv_bfloat16, int32_t>(ctx, op, r, ins, in, f);
    }
    if constexpr (std::is_same_v<typename Op::Compute, double>) {
        if (is_narrow && dtype == Dtype::float64) return launch_typed<double, int32_t>(ctx, op, r, ins, in, f);
    }
    return launch_typed<Any, int64_t>(ctx, op, r, ins, in, f);
}

/// out = the results of a simple operator, which computes in C.
template <class C, class Op>
diopiError_t reduce(diopiContextHandle_t ctx, std::string_view op, const Reduction& plan, const View& out,
                    const View& in, const Op& f) {
    return run_reduction(ctx, op, plan, std::array{in}, Stored<C, Op>{f, out.data, out.dtype});
}

}  // namespace diopi::cuda
