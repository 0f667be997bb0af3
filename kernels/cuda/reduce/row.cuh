/// Kernels that need the elements of a row twice, such as softmax: a team of threads loads a row once and holds it in
/// registers, or goes over it in parts if it is too long.
#pragma once

#include "kernels/cuda/reduce/reduce.cuh"

namespace diopi::cuda {

/// The number of elements that a thread holds: few of short rows, many of longer ones.
template <class T>
constexpr int kFewHeld = kFewHeldBytes / sizeof(ComputeOf<T>);
template <class T, int kTensors>
constexpr int kManyHeld = kManyHeldBytes / sizeof(ComputeOf<T>) / kTensors;

template <class C>
struct Add {
    __device__ C combine(C a, C b) const { return a + b; }
};

/// The row of a thread, and its lane in the row's team.
struct Member {
    int64_t row;
    int lane;
    bool is_there;
};

/// Calls body(member) for every row of the launch, with all threads of a block each time.
template <class Body>
__device__ void for_each_row(const RowTeams& t, Body&& body) {
    const int in_block = blockDim.x / t.lanes, thread = threadIdx.x;
    const int64_t step = int64_t{gridDim.x} * in_block;
    const int row = t.side_by_side ? thread % in_block : thread / t.lanes;
    const int lane = t.side_by_side ? thread / in_block : thread % t.lanes;
    for (int64_t first = int64_t{blockIdx.x} * in_block; first < t.rows; first += step) {
        body(Member{first + row, lane, first + row < t.rows});
    }
}

/// Joins the states of a team; all members get the same result.
template <class State, class Op>
__device__ State join_team(const RowTeams& t, const Op& op, State state) {
    if (!t.side_by_side) return join(op, state, t.lanes);
    if (t.lanes == 1) return state;
    __shared__ State shared[kMostRowThreads];
    const int in_block = blockDim.x / t.lanes, lane = threadIdx.x / in_block;
    __syncthreads();  // the states of the last call have been read
    shared[threadIdx.x] = state;
    for (int half = t.lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (lane >= half) continue;
        state = op.combine(state, shared[threadIdx.x + half * in_block]);
        shared[threadIdx.x] = state;
    }
    __syncthreads();
    return shared[threadIdx.x % in_block];
}

/// A lane's elements of the part of a row that a team holds at once, from element `begin` on: every lanes-th pack or
/// element, `count` elements in all.
template <class T, int kHeld>
struct RowPart {
    using C = ComputeOf<T>;
    static constexpr int kPack = kPackOf<T>;
    static_assert(kHeld % kPack == 0);

    int lane, lanes;
    int count;
    bool packs;
    int64_t begin;

    __device__ RowPart(const RowTeams& t, const Member& member, int64_t first)
        : lane(member.lane), lanes(t.lanes), packs(t.packs), begin(first) {
        const int64_t rest = member.is_there ? t.size - first : 0, most = int64_t{t.lanes} * kHeld;
        const auto left = static_cast<int>(rest < most ? rest : most), units = packs ? left / kPack : left;
        const int own = (units - lane + lanes - 1) >> t.lane_bits;
        count = packs ? own * kPack : own;
    }

    /// Calls body(i) for each i < count. For half types it skips each pack that the lane does not hold. On an H100 this
    /// changes the time of a bfloat16 softmax of (4096, 4096) from 57 to 45 us; with it float32 (8192, 8192) would take
    /// 210 us instead of 191.
    template <class Body>
    __device__ void each(Body&& body) const {
        if (sizeof(T) == 2 && packs) {
#pragma unroll
            for (int i = 0; i < kHeld; i += kPack) {
                if (i >= count) continue;
#pragma unroll
                for (int e = 0; e < kPack; ++e) body(i + e);
            }
        } else {
#pragma unroll
            for (int i = 0; i < kHeld; ++i) {
                if (i < count) body(i);
            }
        }
    }
    /// Calls body<kWidth>(i, element of the row) for each kWidth neighbours that the lane holds from i on: aligned
    /// packs or single elements.
    template <class Body>
    __device__ void each_run(Body&& body) const {
        if (packs) {
#pragma unroll
            for (int i = 0; i < kHeld; i += kPack) {
                if (i < count) body.template operator()<kPack>(i, begin + (i / kPack * lanes + lane) * kPack);
            }
        } else {
#pragma unroll
            for (int i = 0; i < kHeld; ++i) {
                if (i < count) body.template operator()<1>(i, begin + i * lanes + lane);
            }
        }
    }

    __device__ void load(const T* row, int64_t stride, C (&held)[kHeld]) const {
        each_run([&]<int kWidth>(int i, int64_t at) {
            const auto pack = *reinterpret_cast<const Pack<T, kWidth>*>(row + at * stride);
#pragma unroll
            for (int e = 0; e < kWidth; ++e) held[i + e] = convert<C>(pack.at[e]);
        });
    }

    __device__ void store(T* row, int64_t stride, const C (&held)[kHeld]) const {
        each_run([&]<int kWidth>(int i, int64_t at) {
            Pack<T, kWidth> pack;
#pragma unroll
            for (int e = 0; e < kWidth; ++e) pack.at[e] = convert<T>(held[i + e]);
            *reinterpret_cast<Pack<T, kWidth>*>(row + at * stride) = pack;
        });
    }
};

/// Strides of a kernel's operands along the row.
template <int kOperands>
struct Strides {
    int64_t at[kOperands];
};
template <int kOperands>
Strides<kOperands> strides_of(const RowPlan& plan) {
    Strides<kOperands> strides{};
    for (int k = 0; k < kOperands; ++k) strides.at[k] = plan.strides[static_cast<size_t>(k)];
    return strides;
}

template <class T>
T* elements(const View& v) {
    return reinterpret_cast<T*>(v.data);
}

/// Calls f<T>() with the C++ type of a dtype for which is_computable is true.
template <class F>
diopiError_t with_floating_type(Dtype dtype, F&& f) {
    if (dtype == Dtype::float64) return f.template operator()<double>();
    if (dtype == Dtype::float16) return f.template operator()<__half>();
    if (dtype == Dtype::bfloat16) return f.template operator()<__nv_bfloat16>();
    return f.template operator()<float>();
}

/// Calls f<kHeld>() with the number of elements that a thread holds in the plan.
template <class T, int kTensors, class F>
diopiError_t with_held(const RowTeams& t, F&& f) {
    return t.holds_few ? f.template operator()<kFewHeld<T>>() : f.template operator()<kManyHeld<T, kTensors>>();
}

}  // namespace diopi::cuda
