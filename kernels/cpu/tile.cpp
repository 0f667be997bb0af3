#include "kernels/cpu/tile.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/cpu/patch.hpp"
#include "kernels/cpu/read_ahead.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

/// Fills that are larger than the last-level cache bypass it. Measured on an AMD EPYC (Zen 5) guest with 32 MiB of it;
/// on an Intel Xeon with 300 MiB a fill of 64 MiB takes 1.6 ms, and 2.6 ms past the cache. Results of operators never
/// bypass the caches: that took 1.4 to 3 times as long on the former.
int64_t cache_bytes() {
    static const int64_t kBytes = [] {
        const long known = sysconf(_SC_LEVEL3_CACHE_SIZE);
        return known > 0 ? int64_t{known} : int64_t{32} << 20;
    }();
    return kBytes;
}

constexpr int64_t kBlock = 32;  ///< side of a tile when an operand runs across the rows

/// The tiles of the two innermost dimensions.
struct TileShape {
    int64_t rows, n;
};

/// `direct`: whether the neighbours of each operand are read and written where they are, so that a tile may be a row.
TileShape tile_shape(const Nest& nest, bool direct) {
    const int64_t n = nest.inner_size(), most = direct ? std::max(n, kTile) : kTile;
    if (nest.rank == 1) return {1, most};
    const auto outer = static_cast<size_t>(nest.rank - 2);
    const int64_t rows = nest.sizes[outer];
    for (int k = 0; k < nest.operands; ++k) {
        const int64_t across = std::abs(nest.strides[static_cast<size_t>(k)][outer]);
        const bool runs_across = across != 0 && across < std::abs(nest.inner_stride(k));
        if (runs_across && rows >= kBlock / 2 && n >= kBlock / 2) return {kBlock, kBlock};
    }
    if (n >= kTile) return {1, most};
    return {std::min(rows, kTile / n), n};
}

/// One call: outs first, then ins.
struct Plan {
    std::array<View, kMaxOperands> views;
    Nest nest;
    size_t outs = 0, ins = 0;
    TileOp op{};

    void make_nest() { nest = operands::make_nest({views.data(), outs + ins}); }
};

class Runner {
 public:
    explicit Runner(const Plan& plan) : plan_(plan) {
        shape_ = tile_shape(plan.nest, is_direct());
        for (size_t k = 0; k < plan.outs; ++k)
            storers_[k].init(plan.views[k].dtype, plan.op.stored_type(), buffers_[k]);
        for (size_t k = plan.outs; k < plan.outs + plan.ins; ++k) {
            loaders_[k].init(plan.views[k].dtype, plan.op.compute, buffers_[k]);
        }
    }

    void run() {
        const Nest& nest = plan_.nest;
        const int64_t rows = nest.rank == 1 ? 1 : nest.sizes[static_cast<size_t>(nest.rank - 2)];
        const int64_t n = nest.inner_size();
        for_each_outer(nest, std::min(nest.rank, 2), [&](const std::array<int64_t, kMaxOperands>& offsets) {
            for (int64_t r = 0; r < rows; r += shape_.rows) {
                const int64_t tile_rows = std::min(shape_.rows, rows - r);
                for (int64_t i = 0; i < n; i += shape_.n) tile(offsets, r, tile_rows, i, std::min(shape_.n, n - i));
            }
        });
    }

 private:
    [[nodiscard]] bool is_direct() const {
        const auto is_plain = [&](size_t k) {
            const Dtype wanted = k < plan_.outs ? plan_.op.stored_type() : plan_.op.compute;
            return plan_.views[k].dtype == wanted && plan_.nest.inner_stride(static_cast<int>(k)) == 1;
        };
        for (size_t k = 0; k < plan_.outs + plan_.ins; ++k) {
            if (!is_plain(k)) return false;
        }
        return true;
    }

    [[nodiscard]] Patch patch(size_t k, int64_t offset, int64_t r, int64_t rows, int64_t i, int64_t n) const {
        const Nest& nest = plan_.nest;
        const int64_t stride = nest.inner_stride(static_cast<int>(k));
        const int64_t row_stride = nest.rank == 1 ? 0 : nest.strides[k][static_cast<size_t>(nest.rank - 2)];
        const View& v = plan_.views[k];
        return {v.data + (offset + r * row_stride + i * stride) * v.item_size(), rows, n, row_stride, stride};
    }

    /// Whether the tile of a copy went from one tensor to the other without a stop between them.
    [[nodiscard]] bool copies(const std::array<int64_t, kMaxOperands>& offsets, int64_t r, int64_t rows, int64_t i,
                              int64_t n) {
        if (plan_.op.run != nullptr) return false;
        const Patch to = patch(0, offsets[0], r, rows, i, n);
        if (storers_[0].target(to) != to.data) return false;
        return loaders_[1].load_into(patch(1, offsets[1], r, rows, i, n), to.data);
    }

    void tile(const std::array<int64_t, kMaxOperands>& offsets, int64_t r, int64_t rows, int64_t i, int64_t n) {
        if (copies(offsets, r, rows, i, n)) return;
        std::array<void*, kMaxOperands> out;
        std::array<const void*, kMaxOperands> in;
        std::array<Patch, kMaxOperands> to;
        for (size_t k = 0; k < plan_.ins; ++k) {
            const size_t operand = plan_.outs + k;
            const Patch from = patch(operand, offsets[operand], r, rows, i, n);
            in[k] = loaders_[operand].load(from);
        }
        for (size_t k = 0; k < plan_.outs; ++k) {
            to[k] = patch(k, offsets[k], r, rows, i, n);
            out[k] = storers_[k].target(to[k]);
        }
        if (plan_.op.run == nullptr) {
            storers_[0].store(in[0], to[0]);
            return;
        }
        plan_.op.run(out.data(), in.data(), rows * n, plan_.op.state);
        for (size_t k = 0; k < plan_.outs; ++k) storers_[k].store(out[k], to[k]);
    }

    const Plan& plan_;
    TileShape shape_{};
    std::array<Loader, kMaxOperands> loaders_;
    std::array<Storer, kMaxOperands> storers_;
    std::array<Buffers, kMaxOperands> buffers_;
};

/// Calls body(part) for parts of the plan that cover it, each in its own thread.
template <class Body>
void in_parts(const Plan& plan, Loop loop, Body&& body) {
    const Nest& nest = plan.nest;
    // The outermost dim, unless it is too short to share.
    size_t dim = 0;
    while (dim + 1 < static_cast<size_t>(nest.rank) && nest.sizes[dim] < omp_get_max_threads()) ++dim;
    const int64_t size = nest.sizes[dim];
    parallel_for(size, nest.numel / size, loop, [&](int64_t begin, int64_t end) {
        if (end - begin == size) return body(plan);  // most calls are small: no copy
        Plan part = plan;
        part.nest.sizes[dim] = end - begin;
        for (size_t k = 0; k < plan.outs + plan.ins; ++k) {
            part.views[k].data += begin * nest.strides[k][dim] * plan.views[k].item_size();
        }
        body(std::as_const(part));
    });
}

void copy_runs(const Plan& plan) {
    const int64_t item_size = plan.views[0].item_size();
    const auto bytes = static_cast<size_t>(plan.nest.inner_size() * item_size);
    for_each_outer(plan.nest, 1, [&](const std::array<int64_t, kMaxOperands>& offsets) {
        std::memcpy(plan.views[0].data + offsets[0] * item_size, plan.views[1].data + offsets[1] * item_size, bytes);
    });
}

/// Runs of neighbours, each of one element that repeats.
void fill_runs(const Plan& plan) {
    const View &to = plan.views[0], &from = plan.views[1];
    const int64_t item_size = to.item_size(), n = plan.nest.inner_size();
    const bool stream = plan.nest.numel * item_size > cache_bytes();
    for_each_outer(plan.nest, 1, [&](const std::array<int64_t, kMaxOperands>& offsets) {
        fill_run(from.data + offsets[1] * item_size, item_size, to.data + offsets[0] * item_size, n, stream);
    });
}

void run_plan(Plan& plan) {
    in_parts(plan, plan.op.loop, [](const Plan& part) { Runner(part).run(); });
}

/// Whether each element of an operand is in a cache line of its own.
bool is_scattered(const Nest& nest, size_t operand, int64_t item_size) {
    const auto strides = std::span(nest.strides[operand]).first(static_cast<size_t>(nest.rank));
    return std::ranges::all_of(strides, [=](int64_t stride) { return std::abs(stride) * item_size >= kLine; });
}

/// Whether all operands are equal arrays of the types of the function, which need no conversion.
bool is_one_run(std::span<const View> outs, std::span<const View> ins, const TileOp& op) {
    const View& first = outs[0];
    const auto plain = [&](const View& v) {
        return v.is_contiguous() && v.dtype == op.compute && std::ranges::equal(v.shape, first.shape) &&
               ((v.data == first.data && v.dtype == first.dtype) || !overlap(v, first));
    };
    return op.run != nullptr && outs.size() == 1 && first.is_contiguous() && first.dtype == op.stored_type() &&
           std::ranges::all_of(ins, plain);
}

/// The operator itself, or, where all operands are of bfloat16, its loop on those, which needs no conversion.
TileOp on_storage(std::span<const View> outs, std::span<const View> ins, const TileOp& op) {
    const auto is_bfloat16 = [](const View& v) { return v.dtype == Dtype::bfloat16; };
    const bool stores = op.stored || std::ranges::all_of(outs, is_bfloat16);
    if (op.run_bfloat16 == nullptr || !stores || !std::ranges::all_of(ins, is_bfloat16)) return op;
    TileOp direct = op;
    direct.compute = Dtype::bfloat16;
    direct.run = op.run_bfloat16;
    return direct;
}

void run_at_once(const View& out, std::span<const View> ins, const TileOp& op) {
    parallel_for(out.numel, 1, op.loop, [&](int64_t begin, int64_t end) {
        void* to = out.data + begin * out.item_size();
        std::array<const void*, kMaxOperands> from;
        for (size_t k = 0; k < ins.size(); ++k) from[k] = ins[k].data + begin * ins[k].item_size();
        op.run(&to, from.data(), end - begin, op.state);
    });
}

}  // namespace

diopiError_t for_each_tile(diopiContextHandle_t ctx, std::string_view op, std::span<const View> outs,
                           std::span<const View> ins, const TileOp& given) {
    const diopiError_t error = check_views(op, outs, ins);
    if (error != diopiSuccess || outs[0].numel == 0) return error;
    const TileOp tile_op = on_storage(outs, ins, given);
    if (is_one_run(outs, ins, tile_op)) {
        run_at_once(outs[0], ins, tile_op);
        return diopiSuccess;
    }
    Plan plan;
    plan.outs = outs.size();
    plan.ins = ins.size();
    plan.op = tile_op;
    std::ranges::copy(outs, plan.views.begin());
    for (size_t k = 0; k < ins.size(); ++k) {
        View& in = plan.views[outs.size() + k];
        in = ins[k];
        for (const View& out : outs) {
            if (!overlap(out, ins[k]) || same_view(out, ins[k])) continue;
            const diopiError_t copied = require(ctx, ins[k].shape, ins[k].dtype, in);
            if (copied != diopiSuccess) return copied;
            copy(ins[k], in);
            break;
        }
    }
    plan.make_nest();
    run_plan(plan);
    return diopiSuccess;
}

void copy(const View& from, const View& to) {
    if (to.numel == 0) return;
    Plan plan;
    plan.views[0] = to;
    plan.views[1] = from;
    plan.outs = plan.ins = 1;
    plan.make_nest();
    const Nest& nest = plan.nest;
    if (from.dtype == to.dtype && nest.inner_stride(0) == 1 && nest.inner_stride(1) == 1) {
        in_parts(plan, Loop::copy, copy_runs);
        return;
    }
    if (from.dtype == to.dtype && nest.inner_stride(0) == 1 && nest.inner_stride(1) == 0) {
        in_parts(plan, Loop::copy, fill_runs);
        return;
    }
    // Some pairs of dtypes need an intermediate type; int64 does not hold the upper half of uint64.
    const bool one_step = from.dtype == to.dtype || converter(from.dtype, to.dtype) != nullptr;
    Dtype via = one_step ? from.dtype : wide(from.dtype);
    if (!one_step && from.dtype == Dtype::uint64 && !is_integer(to.dtype)) via = Dtype::float64;
    const bool scattered = is_scattered(nest, 0, to.item_size()) || is_scattered(nest, 1, from.item_size());
    const Loop loop = scattered ? Loop::scattered : Loop::transcendental;
    plan.op = {.compute = via, .run = nullptr, .loop = loop};
    run_plan(plan);
}

Dtype wide(Dtype dtype) {
    if (is_complex(dtype)) return Dtype::complex128;
    if (!is_floating(dtype)) return Dtype::int64;
    return dtype == Dtype::float64 ? dtype : Dtype::float32;
}

Dtype dtype_of_sum(Dtype dtype, int64_t most) {
    constexpr int64_t kMany = 512;
    return most >= kMany && is_floating(dtype) ? Dtype::float64 : wide(dtype);
}

Dtype compute_dtype(Dtype result, std::span<const View> outs, std::span<const View> ins) {
    const auto has_result = [&](const View& v) { return v.dtype == result; };
    const bool plain = std::ranges::all_of(outs, has_result) && std::ranges::all_of(ins, has_result);
    return plain && !is_half(result) && result != Dtype::complex32 ? result : wide(result);
}

}  // namespace diopi::cpu
