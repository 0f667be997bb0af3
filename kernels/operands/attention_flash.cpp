#include "kernels/operands/attention_flash.hpp"

#include <optional>
#include <string>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

namespace {

/// A tensor of queries, keys or values in dense memory.
struct Sides {
    int64_t batch = 1, length = 0, heads = 0, dim = 0;
    int64_t batch_stride = 0;
    HeadStrides strides{};
};

/// The sides in the order of the layout, in which H is all heads together; their number follows from `heads` or, where
/// that is 0, from `dim`.
std::optional<Sides> sides_of(ShapeView shape, std::string_view layout, int64_t heads, int64_t dim) {
    if (shape.size() != layout.size()) return std::nullopt;
    Sides sides;
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0; stride *= std::max<int64_t>(shape[i], 1)) {
        const int64_t size = shape[i];
        switch (layout[i]) {
            case 'B':
                sides.batch = size;
                sides.batch_stride = stride;
                break;
            case 'N':
                sides.heads = size;
                sides.strides.head = stride;
                break;
            case 'D':
                sides.dim = size;
                break;
            case 'H':
                if (heads > 0 && size % heads == 0) dim = size / heads;
                if (dim < 1 || size % dim != 0) return std::nullopt;
                sides.dim = dim;
                sides.heads = size / dim;
                sides.strides.head = dim;
                break;
            default:  // S or T
                sides.length = size;
                sides.strides.position = stride;
        }
    }
    return sides;
}

diopiError_t check_sides(const AttentionArguments& a, const Attention& p, const Sides& q, const Sides& k) {
    const std::string of = "q has shape " + to_string(p.q.shape) + " and k " + to_string(p.k.shape);
    if (q.batch != k.batch || q.dim != k.dim || q.dim < 1) {
        return refuse(a.op, of + ", wanted the same batch and the same head size, at least 1");
    }
    if (q.heads < 1 || k.heads < 1 || q.heads % k.heads != 0) {
        return refuse(a.op, of + ", wanted heads of q that are a multiple of those of k");
    }
    if (a.head_num && q.heads != *a.head_num) {
        return refuse(a.op, "head_num is " + std::to_string(*a.head_num) + ", and q has " + std::to_string(q.heads));
    }
    return check_shape(a.op, "v", p.v, p.k.shape);
}

/// The running ends without the leading 0.
diopiError_t read_ends(const AttentionArguments& a, std::string_view name, diopiConstTensorHandle_t tensor,
                       diopiSize_t list, std::vector<int64_t>& ends) {
    if (tensor == nullptr) {
        ends.assign(list.data, list.data + list.len);
        return diopiSuccess;
    }
    const View v = view(tensor);
    if (v.dtype != Dtype::int32) return unsupported(a.op, name, v.dtype, "int32");
    if (v.rank() != 1 || v.numel < 2) return wrong_shape(a.op, name, v.shape, "(batch + 1)");
    if (*v.as<int32_t>() != 0) return refuse(a.op, std::string(name) + " does not begin with 0");
    for (int64_t b = 1; b < v.numel; ++b) ends.push_back(v.as<int32_t>()[b * v.strides[0]]);
    return diopiSuccess;
}

diopiError_t check_ends(const AttentionArguments& a, std::string_view name, const std::vector<int64_t>& ends,
                        int64_t most, int64_t total) {
    int64_t begin = 0;
    for (const int64_t end : ends) {
        if (end < begin || end - begin > most) {
            return refuse(a.op, "a sequence of " + std::string(name) + " goes from " + std::to_string(begin) + " to " +
                                    std::to_string(end) + ", wanted at most " + std::to_string(most) + " rows");
        }
        begin = end;
    }
    if (begin == total && !ends.empty()) return diopiSuccess;
    return refuse(a.op, "the sequences of " + std::string(name) + " end with " + std::to_string(begin) + ", wanted " +
                            std::to_string(total) + ", its rows");
}

diopiError_t read_packed(const AttentionArguments& a, const Sides& q, const Sides& k, Attention& p) {
    std::vector<int64_t> ends_q, ends_k;
    diopiError_t error = read_ends(a, "cum_seq_q", a.cum_seq_q, a.ends_q, ends_q);
    if (error == diopiSuccess) error = read_ends(a, "cum_seq_k", a.cum_seq_k, a.ends_k, ends_k);
    if (error == diopiSuccess) error = check_ends(a, "q", ends_q, a.max_q, q.length);
    if (error == diopiSuccess) error = check_ends(a, "k", ends_k, a.max_k, k.length);
    if (error != diopiSuccess) return error;
    if (ends_q.size() != ends_k.size()) return refuse(a.op, "q and k have different numbers of sequences");
    p.batch = std::ssize(ends_q);
    p.max_q = a.max_q;
    p.max_k = a.max_k;
    int64_t begin_q = 0, begin_k = 0;
    for (size_t b = 0; b < ends_q.size(); ++b) {
        p.sequences.push_back({static_cast<int64_t>(b), begin_q * p.q_strides.position, begin_k * p.k_strides.position,
                               ends_q[b] - begin_q, ends_k[b] - begin_k});
        begin_q = ends_q[b];
        begin_k = ends_k[b];
    }
    return diopiSuccess;
}

diopiError_t read_extras(const AttentionArguments& a, Attention& p) {
    if (a.alibi_slopes != nullptr) {
        const ShapeView shape = view(a.alibi_slopes).shape;
        const Shape each = {p.heads}, all = {p.batch, p.heads};
        p.has_slopes_of_batch = std::ranges::equal(shape, all);
        if (!p.has_slopes_of_batch && !std::ranges::equal(shape, each)) {
            return wrong_shape(a.op, "alibi_slopes", shape, to_string(each) + " or " + to_string(all));
        }
        if (!is_computable(view(a.alibi_slopes).dtype)) {
            return unsupported(a.op, "alibi_slopes", view(a.alibi_slopes).dtype, "float32");
        }
    }
    if (a.attention_mask != nullptr) {
        const View mask = view(a.attention_mask);
        if (mask.dtype != Dtype::boolean) return unsupported(a.op, "attention_mask", mask.dtype, "bool");
        const Shape pairs = {p.max_q, p.max_k};
        const diopiError_t error = check_shape(a.op, "attention_mask", mask, pairs);
        if (error != diopiSuccess) return error;
    }
    if (!(a.p_dropout >= 0 && a.p_dropout < 1)) {
        return refuse(a.op, "the dropout is " + std::to_string(a.p_dropout) + ", wanted 0 to below 1");
    }
    if (a.wants_debug_mask) return refuse(a.op, "return_debug_mask is true: debug_attn_mask has no description");
    p.alibi_slopes = a.alibi_slopes;
    p.scale = a.scale;
    p.left = a.window_left;
    p.right = a.is_causal ? 0 : a.window_right;
    p.p_dropout = a.p_dropout;
    return diopiSuccess;
}

}  // namespace

diopiError_t Attention::read(const AttentionArguments& a, Attention& made) {
    const std::string_view layout = a.layout == nullptr ? "" : a.layout;
    if (layout != "TND" && layout != "BSND" && layout != "BNSD" && layout != "BSH" && layout != "SBH") {
        return refuse(a.op, "input_layout is " + std::string(layout) + ", wanted BSND, BNSD, BSH or SBH");
    }
    made.q = view(a.q), made.k = view(a.k), made.v = view(a.v);
    diopiError_t error = check_computable(a.op, "q", made.q);
    if (error == diopiSuccess) error = check_computable(a.op, "k", made.k);
    if (error == diopiSuccess) error = check_computable(a.op, "v", made.v);
    if (error != diopiSuccess) return error;
    const auto q = sides_of(made.q.shape, layout, a.head_num.value_or(0), 0);
    if (!q) return wrong_shape(a.op, "q", made.q.shape, "the layout " + std::string(layout));
    const auto k = sides_of(made.k.shape, layout, 0, q->dim);
    if (!k) return wrong_shape(a.op, "k", made.k.shape, "the layout " + std::string(layout));
    error = check_sides(a, made, *q, *k);
    if (error != diopiSuccess) return error;
    made.heads = q->heads, made.key_heads = k->heads, made.dim = q->dim;
    made.q_strides = q->strides, made.k_strides = k->strides;
    if (layout == "TND") {
        error = read_packed(a, *q, *k, made);
        return error != diopiSuccess ? error : read_extras(a, made);
    }
    made.batch = q->batch, made.max_q = q->length, made.max_k = k->length;
    for (int64_t b = 0; b < q->batch; ++b) {
        made.sequences.push_back({b, b * q->batch_stride, b * k->batch_stride, q->length, k->length});
    }
    return read_extras(a, made);
}

namespace {

/// softmax_lse may be null where the function has none.
diopiError_t check_lse(std::string_view op, diopiConstTensorHandle_t lse, const Attention& p) {
    if (lse == nullptr) return diopiSuccess;
    const Shape shape = {p.batch, p.heads, p.max_q};
    const diopiError_t error = check_computable(op, "softmax_lse", view(lse));
    return error != diopiSuccess ? error : check_shape(op, "softmax_lse", view(lse), shape);
}

/// A tensor that is like another one.
diopiError_t check_like(std::string_view op, std::string_view name, diopiConstTensorHandle_t tensor, const View& of) {
    const diopiError_t error = check_computable(op, name, view(tensor));
    return error != diopiSuccess ? error : check_shape(op, name, view(tensor), of.shape);
}

}  // namespace

diopiError_t check_attention(const AttentionForward& a, const Attention& p) {
    const diopiError_t error = check_like(a.of.op, "out", a.out, p.q);
    if (error != diopiSuccess) return error;
    if (p.p_dropout > 0 && a.of.gen == nullptr) return refuse(a.of.op, "gen is null, wanted one for the dropout");
    return check_lse(a.of.op, a.softmax_lse, p);
}

diopiError_t check_attention(const AttentionBackward& a, const Attention& p) {
    diopiError_t error = check_like(a.of.op, "out", a.out, p.q);
    if (error == diopiSuccess) error = check_like(a.of.op, "grad_out", a.grad_out, p.q);
    if (error == diopiSuccess) error = check_like(a.of.op, "grad_q", a.grad_q, p.q);
    if (error == diopiSuccess) error = check_like(a.of.op, "grad_k", a.grad_k, p.k);
    if (error == diopiSuccess) error = check_like(a.of.op, "grad_v", a.grad_v, p.k);
    if (error != diopiSuccess) return error;
    if (p.p_dropout > 0 && a.of.gen == nullptr && a.kept.dropout_mask == nullptr) {
        return refuse(a.of.op, "nothing says which elements the forward pass dropped");
    }
    return check_lse(a.of.op, a.softmax_lse, p);
}

}  // namespace diopi::operands
