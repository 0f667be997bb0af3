#include "kernels/cpu/reduced.hpp"

#include <algorithm>
#include <cstdlib>

namespace diopi::cpu {

namespace {

using Flags = std::array<bool, kMaxRank>;

diopiError_t mark_dims(std::string_view op, const View& in, ShapeView dims, Flags& reduced) {
    if (dims.empty()) reduced.fill(true);
    for (const int64_t dim : dims) {
        const auto wrapped = wrap_dim(dim, in.rank());
        if (!wrapped) {
            return fail(diopiErrorOccurred, std::string(op) + ": dim is " + std::to_string(dim) +
                                                ", but input has shape " + to_string(in.shape));
        }
        const auto d = static_cast<size_t>(*wrapped);
        if (in.rank() > 0 && reduced[d]) {
            return fail(diopiErrorOccurred, std::string(op) + ": dim names dimension " + std::to_string(d) + " twice");
        }
        reduced[d] = true;
    }
    return diopiSuccess;
}

/// Strides of out along the input's dimensions, 0 where reduced; false when the shapes contradict.
bool out_strides(const View& out, const View& in, const Flags& reduced, std::array<int64_t, kMaxRank>& strides) {
    const bool keeps = out.rank() == in.rank();
    size_t next = 0;
    for (size_t d = 0; d < in.shape.size(); ++d) {
        if (reduced[d] && !keeps) continue;
        const int64_t wanted = reduced[d] ? 1 : in.shape[d];
        if (next >= out.shape.size() || out.shape[next] != wanted) return false;
        if (!reduced[d]) strides[d] = out.strides[next];
        ++next;
    }
    return next == out.shape.size();
}

}  // namespace

bool Reduction::runs_across_results() const {
    if (out.numel == 1) return false;
    if (count == 1) return true;
    return std::abs(kept.inner_stride(0)) < std::abs(joined.inner_stride(0));
}

diopiError_t plan_reduction(std::string_view op, const View& out, const View& in, ShapeView dims, Reduction& plan) {
    if (in.rank() > kMaxRank) return wrong_shape(op, "input", in.shape, "at most 16 dimensions");
    Flags reduced{};
    if (const diopiError_t error = mark_dims(op, in, dims, reduced); error != diopiSuccess) return error;
    std::array<int64_t, kMaxRank> to{};
    if (!out_strides(out, in, reduced, to)) {
        return wrong_shape(op, "out", out.shape, "input's " + to_string(in.shape) + " reduced over dim");
    }
    Shape kept = {in.shape.begin(), in.shape.end()};
    Shape joined = kept;
    for (size_t d = 0; d < kept.size(); ++d) (reduced[d] ? kept : joined)[d] = 1;
    plan.in = in;
    plan.out = out;
    plan.kept = make_nest(kept, {in.strides.data(), to.data()});
    plan.joined = make_nest(joined, {in.strides.data()});
    plan.count = numel(joined);
    return diopiSuccess;
}

}  // namespace diopi::cpu
