#include "kernels/cpu/product.hpp"

#include <algorithm>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/onednn_api.hpp"

namespace diopi::cpu {

namespace {

using dnnl::memory;

using Type = memory::data_type;

/// `count` dense matrices, one after the other.
memory::desc matrices_desc(int64_t count, int64_t rows, int64_t columns, Type type, bool transposed) {
    using Tag = memory::format_tag;
    return {{count, rows, columns}, type, transposed ? Tag::acb : Tag::abc};
}

/// The same for an operand of a batch; a batch of one is a matrix for oneDNN.
memory::desc operand_desc(int64_t batch, bool repeated, int64_t rows, int64_t columns, Type type, bool transposed) {
    using Tag = memory::format_tag;
    if (batch == 1) return {{rows, columns}, type, transposed ? Tag::ba : Tag::ab};
    return matrices_desc(repeated ? 1 : batch, rows, columns, type, transposed);
}

/// A batch of products, and the use that is made of its operands.
struct Form {
    ProductShape shape;
    bool a_transposed, a_repeated, b_transposed, b_repeated, has_bias;
    Into into;
    Type in, out;

    [[nodiscard]] PlanKey key() const {
        constexpr int64_t kMatmul = 200;
        int64_t flags = 0;
        for (const bool flag : {a_transposed, a_repeated, b_transposed, b_repeated, has_bias, into == Into::kAdd,
                                in == Type::bf16, out == Type::bf16}) {
            flags = 2 * flags + (flag ? 1 : 0);
        }
        return {kMatmul, shape.batch, shape.m, shape.n, shape.k, flags};
    }
};

/// Terms from which a transposed left operand is reordered: for longer sums oneDNN (2.6.3 and 3.2) gives each thread a
/// part of the terms, and the result depends on the number of threads.
constexpr int64_t kLongSum = 1024;

Plan make_plan(const Form& f) {
    const ProductShape& s = f.shape;
    const auto left = operand_desc(s.batch, f.a_repeated, s.m, s.k, f.in, f.a_transposed);
    const auto right = operand_desc(s.batch, f.b_repeated, s.k, s.n, f.in, f.b_transposed);
    const auto result = operand_desc(s.batch, false, s.m, s.n, f.out, false);
    const auto row = operand_desc(s.batch, true, 1, s.n, f.out, false);
    const bool reorders = f.a_transposed && s.k >= kLongSum;
    const auto inner_left = reorders ? operand_desc(s.batch, f.a_repeated, s.m, s.k, f.in, false) : left;
    dnnl::primitive_attr attr;  // a copy of onednn_attr() would share its post-operations
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (f.into == Into::kAdd) {
        dnnl::post_ops adds;
        adds.append_sum(1.0F);
        attr.set_post_ops(adds);
    }
    const auto chosen = f.has_bias
                            ? onednn::describe<dnnl::matmul>(onednn_engine(), attr, inner_left, right, row, result)
                            : onednn::describe<dnnl::matmul>(onednn_engine(), attr, inner_left, right, result);
    std::vector<Operand> operands{
        {DNNL_ARG_SRC, left, false}, {DNNL_ARG_WEIGHTS, right, false}, {DNNL_ARG_DST, result, true}};
    if (f.has_bias) operands.push_back({DNNL_ARG_BIAS, row, false});
    return Plan(chosen, dnnl::matmul(chosen), operands);
}

/// Without terms c becomes the bias or zeros, or keeps its values.
template <class T>
void write_empty_sums(const ProductShape& s, const T* bias, T* c, Into into) {
    if (into == Into::kAdd) return;
    for (int64_t i = 0; i < s.batch * s.m; ++i) {
        if (bias != nullptr)
            std::copy_n(bias, s.n, c + i * s.n);
        else
            std::fill_n(c + i * s.n, s.n, T{});
    }
}

template <class T, class C>
diopiError_t run_product(diopiContextHandle_t ctx, const ProductShape& s, Matrices<T> a, Matrices<T> b, const C* bias,
                         C* c, Into into) {
    if (s.batch == 0 || s.m == 0 || s.n == 0 || s.k == 0) {
        write_empty_sums(s, bias, c, into);
        return diopiSuccess;
    }
    const Form form{s,    a.transposed, a.repeated,  b.transposed, b.repeated, bias != nullptr,
                    into, kDataType<T>, kDataType<C>};
    Plan* plan = cached_plan(form.key(), [&] { return make_plan(form); });
    if (plan == nullptr) return diopiErrorOccurred;
    // oneDNN takes every operand as writable and writes only the result.
    void* const data[] = {const_cast<T*>(a.data), const_cast<T*>(b.data), c, const_cast<C*>(bias)};
    return plan->run(ctx, {data, bias == nullptr ? size_t{3} : size_t{4}});
}

/// The same by own kernels, one product after the other.
template <class T>
diopiError_t run_own(const ProductShape& s, Matrices<T> a, Matrices<T> b, const T* bias, T* c, Into into) {
    if (bias != nullptr || s.k == 0) write_empty_sums(s, bias, c, into);
    if (s.k == 0) return diopiSuccess;
    const auto matrix = [](Matrices<T> x, int64_t i, int64_t rows, int64_t columns) {
        const T* data = x.data + (x.repeated ? 0 : i * rows * columns);
        return x.transposed ? MatrixView<T>{data, 1, rows} : MatrixView<T>{data, columns, 1};
    };
    const bool adds = bias != nullptr || into == Into::kAdd;
    for (int64_t i = 0; i < s.batch; ++i) {
        gemm(s.m, s.n, s.k, matrix(a, i, s.m, s.k), matrix(b, i, s.k, s.n), c + i * s.m * s.n, s.n, adds);
    }
    return diopiSuccess;
}

}  // namespace

diopiError_t product(diopiContextHandle_t ctx, const ProductShape& s, Matrices<float> a, Matrices<float> b,
                     const float* bias, float* c, Into into) {
    if (onednn::products_vary()) return run_own(s, a, b, bias, c, into);
    return run_product(ctx, s, a, b, bias, c, into);
}

diopiError_t product(diopiContextHandle_t ctx, const ProductShape& s, Matrices<Bfloat16> a, Matrices<Bfloat16> b,
                     const Bfloat16* bias, Bfloat16* c, Into into) {
    return run_product(ctx, s, a, b, bias, c, into);
}

diopiError_t product(diopiContextHandle_t ctx, const ProductShape& s, Matrices<Bfloat16> a, Matrices<Bfloat16> b,
                     const float* bias, float* c, Into into) {
    return run_product(ctx, s, a, b, bias, c, into);
}

diopiError_t product(diopiContextHandle_t, const ProductShape& s, Matrices<double> a, Matrices<double> b,
                     const double* bias, double* c, Into into) {
    return run_own(s, a, b, bias, c, into);
}

}  // namespace diopi::cpu
