#include "kernels/operands/reduction.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "kernels/operands/index.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

namespace {

diopiError_t mark_dims(std::string_view op, const View& in, ShapeView dims, Flags& reduced) {
    if (dims.empty()) reduced.fill(true);
    for (const int64_t dim : dims) {
        const auto wrapped = wrap_dim(dim, in.rank());
        if (!wrapped) {
            return refuse(op, "dim is " + std::to_string(dim) + ", but input has shape " + to_string(in.shape));
        }
        const auto d = static_cast<size_t>(*wrapped);
        if (in.rank() > 0 && reduced[d]) return refuse(op, "dim names dimension " + std::to_string(d) + " twice");
        reduced[d] = true;
    }
    return diopiSuccess;
}

/// The strides of out along the kept dimensions of the input; false where the shapes contradict each other.
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

/// `view` with other sizes.
View resized(const View& view, ShapeView shape) {
    View v = view;
    v.shape = shape;
    v.numel = numel(shape);
    return v;
}

}  // namespace

bool Reduction::runs_across_results() const {
    if (results == 1) return false;
    if (count <= 1) return true;
    return std::abs(kept.inner_stride(0)) < std::abs(joined.inner_stride(0));
}

Reduction make_reduction(std::span<const View> ins, const Flags& reduced, std::span<const int64_t> out_strides,
                         std::span<const int64_t> second_strides) {
    Shape kept(ins[0].shape.begin(), ins[0].shape.end());
    Shape joined = kept;
    for (size_t d = 0; d < kept.size(); ++d) (reduced[d] ? kept : joined)[d] = 1;
    Reduction r;
    r.results = numel(kept);
    r.count = numel(joined);
    if (r.count == 0) std::ranges::fill(joined, 1);
    std::array<View, kMaxOperands> operands;
    for (size_t k = 0; k < ins.size(); ++k) operands[k] = resized(ins[k], joined);
    r.joined = make_nest({operands.data(), ins.size()});
    for (size_t k = 0; k < ins.size(); ++k) operands[k] = resized(ins[k], kept);
    size_t count = ins.size();
    for (const std::span<const int64_t> strides : {out_strides, second_strides}) {
        if (strides.data() == nullptr) continue;
        operands[count] = resized(ins[0], kept);
        operands[count++].strides = ShapeView(strides.data(), kept.size());
    }
    r.kept = make_nest({operands.data(), count});
    return r;
}

View result_view(const View& out, const View& in, ShapeView dims) {
    const bool joins_all = dims.empty() || in.rank() == 0 || static_cast<int64_t>(dims.size()) == in.rank();
    View v = out;
    if (joins_all && out.rank() == 1 && out.shape[0] == 1) v.shape = v.strides = {};
    return v;
}

namespace {

/// The reduction of ins, which have one shape, into out and, unless null, into second.
diopiError_t plan_outputs(std::string_view op, const View& out, const View* second, std::span<const View> ins,
                          ShapeView dims, Reduction& plan) {
    const View& in = ins[0];
    if (const diopiError_t error = check_rank(op, "input", in); error != diopiSuccess) return error;
    Flags reduced{};
    if (const diopiError_t error = mark_dims(op, in, dims, reduced); error != diopiSuccess) return error;
    std::array<int64_t, kMaxRank> strides{}, second_strides{};
    const bool fits = out_strides(result_view(out, in, dims), in, reduced, strides) &&
                      (second == nullptr || out_strides(result_view(*second, in, dims), in, reduced, second_strides));
    if (!fits) return wrong_shape(op, "out", out.shape, "input's " + to_string(in.shape) + " reduced over dim");
    plan = make_reduction(ins, reduced, strides,
                          second == nullptr ? std::span<const int64_t>() : std::span<const int64_t>(second_strides));
    return diopiSuccess;
}

}  // namespace

diopiError_t plan_reduction(std::string_view op, const View& out, const View& in, ShapeView dims, Reduction& plan) {
    return plan_outputs(op, out, nullptr, {&in, 1}, dims, plan);
}

diopiError_t spread_result(std::string_view op, std::string_view argument, const View& result, const View& in,
                           ShapeView dims, std::array<int64_t, kMaxRank>& strides, View& spread) {
    if (const diopiError_t error = check_rank(op, "input", in); error != diopiSuccess) return error;
    Flags reduced{};
    if (const diopiError_t error = mark_dims(op, in, dims, reduced); error != diopiSuccess) return error;
    strides = {};
    if (!out_strides(result_view(result, in, dims), in, reduced, strides)) {
        return wrong_shape(op, argument, result.shape, "input's " + to_string(in.shape) + " reduced over dim");
    }
    spread = resized(result, in.shape);
    spread.strides = ShapeView(strides.data(), in.shape.size());
    return diopiSuccess;
}

Shape kept_shape(ShapeView shape, ShapeView dims) {
    if (dims.empty()) return Shape(shape.size(), 1);
    Shape kept(shape.begin(), shape.end());
    for (const int64_t dim : dims) {
        if (!kept.empty()) kept[static_cast<size_t>(*wrap_dim(dim, std::ssize(shape)))] = 1;
    }
    return kept;
}

diopiError_t plan_centred(std::string_view op, const View& out, const View& in, const View& centre, ShapeView dims,
                          Reduction& plan) {
    const std::array ins = {in, centre};
    return plan_outputs(op, out, nullptr, ins, dims, plan);
}

diopiError_t plan_sum(std::string_view op, const View& out, const View& in, ShapeView dims, bool mean,
                      Reduction& plan) {
    if (const diopiError_t error = plan_reduction(op, out, in, dims, plan); error != diopiSuccess) return error;
    if (is_complex(in.dtype) && !is_complex(out.dtype)) return unsupported(op, "out", out.dtype, "a complex dtype");
    if (mean && !is_floating(out.dtype) && !is_complex(out.dtype)) {
        return unsupported(op, "out", out.dtype, "a floating or complex dtype");
    }
    return diopiSuccess;
}

diopiError_t check_ordered(std::string_view op, const View& in) {
    if (!is_complex(in.dtype) && in.dtype != Dtype::uint64) return diopiSuccess;
    return unsupported(op, "input", in.dtype, "a real dtype other than uint64");
}

diopiError_t check_argmax(std::string_view op, const View& out, const View& in) {
    if (const diopiError_t error = check_ordered(op, in); error != diopiSuccess) return error;
    return is_index(out.dtype) ? diopiSuccess : unsupported(op, "out", out.dtype, "int64 or int32");
}

diopiError_t plan_choice(std::string_view op, const View* values, const View& places, const View& in, ShapeView dims,
                         Reduction& plan) {
    const diopiError_t error = plan_outputs(op, places, values, {&in, 1}, dims, plan);
    if (error != diopiSuccess || places.numel == 0) return error;
    if (plan.count == 0) return wrong_shape(op, "input", in.shape, "elements along dim");
    if (holds_indices(places.dtype, plan.count)) return diopiSuccess;
    return unsupported(op, "out", places.dtype, "int64 for so many elements");
}

diopiError_t plan_argmax(std::string_view op, const View& out, const View& in, const int64_t* dim, Reduction& plan) {
    return plan_choice(op, nullptr, out, in, dim == nullptr ? ShapeView() : ShapeView(dim, 1), plan);
}

}  // namespace diopi::operands
