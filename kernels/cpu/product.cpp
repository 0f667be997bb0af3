#include "kernels/cpu/product.hpp"

#include <algorithm>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/onednn.hpp"

namespace diopi::cpu {

namespace {

using dnnl::memory;

memory::desc matrices_desc(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
    if (batch == 1) {
        return {{rows, columns}, memory::data_type::f32, transposed ? memory::format_tag::ba : memory::format_tag::ab};
    }
    return {
        {batch, rows, columns}, memory::data_type::f32, transposed ? memory::format_tag::acb : memory::format_tag::abc};
}

memory::desc repeated_desc(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
    const auto tag = transposed ? memory::format_tag::acb : memory::format_tag::abc;
    if (batch == 1) return matrices_desc(1, rows, columns, transposed);
    return {{1, rows, columns}, memory::data_type::f32, tag};
}

Plan make_plan(const ProductShape& s, bool a_transposed, bool a_repeated, bool b_transposed, bool b_repeated,
               bool has_bias, Into into) {
    const auto left = (a_repeated ? repeated_desc : matrices_desc)(s.batch, s.m, s.k, a_transposed);
    const auto right = (b_repeated ? repeated_desc : matrices_desc)(s.batch, s.k, s.n, b_transposed);
    const auto result = matrices_desc(s.batch, s.m, s.n, false), row = repeated_desc(s.batch, 1, s.n, false);
    const auto desc = has_bias ? dnnl::matmul::desc(left, right, row, result) : dnnl::matmul::desc(left, right, result);
    dnnl::primitive_attr attr;  // a copy of onednn_attr() would share its post-operations
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (into == Into::kAdd) {
        dnnl::post_ops adds;
        adds.append_sum(1.0F);
        attr.set_post_ops(adds);
    }
    const dnnl::matmul::primitive_desc chosen(desc, attr, onednn_engine());
    std::vector<Operand> operands{
        {DNNL_ARG_SRC, left, false}, {DNNL_ARG_WEIGHTS, right, false}, {DNNL_ARG_DST, result, true}};
    if (has_bias) operands.push_back({DNNL_ARG_BIAS, row, false});
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
            std::fill_n(c + i * s.n, s.n, T{0});
    }
}

}  // namespace

diopiError_t product(diopiContextHandle_t ctx, const ProductShape& s, Matrices<float> a, Matrices<float> b,
                     const float* bias, float* c, Into into) {
    if (s.batch == 0 || s.m == 0 || s.n == 0 || s.k == 0) {
        write_empty_sums(s, bias, c, into);
        return diopiSuccess;
    }
    constexpr int64_t kMatmul = 200;
    const int64_t forms = (a.transposed ? 1 : 0) | (b.transposed ? 2 : 0) | (a.repeated ? 4 : 0) |
                          (b.repeated ? 8 : 0) | (bias != nullptr ? 16 : 0) | (into == Into::kAdd ? 32 : 0);
    Plan* plan = cached_plan({kMatmul, s.batch, s.m, s.n, s.k, forms}, [&] {
        return make_plan(s, a.transposed, a.repeated, b.transposed, b.repeated, bias != nullptr, into);
    });
    if (plan == nullptr) return diopiErrorOccurred;
    // oneDNN takes every operand as writable and writes only the result.
    void* const data[] = {const_cast<float*>(a.data), const_cast<float*>(b.data), c, const_cast<float*>(bias)};
    return plan->run(ctx, {data, bias == nullptr ? size_t{3} : size_t{4}});
}

diopiError_t product(diopiContextHandle_t, const ProductShape& s, Matrices<double> a, Matrices<double> b,
                     const double* bias, double* c, Into into) {
    if (bias != nullptr || s.k == 0) write_empty_sums(s, bias, c, into);
    if (s.k == 0) return diopiSuccess;
    const auto matrix = [](Matrices<double> x, int64_t i, int64_t rows, int64_t columns) {
        const double* data = x.data + (x.repeated ? 0 : i * rows * columns);
        return x.transposed ? MatrixView{data, 1, rows} : MatrixView{data, columns, 1};
    };
    const bool adds = bias != nullptr || into == Into::kAdd;
    for (int64_t i = 0; i < s.batch; ++i) {
        gemm(s.m, s.n, s.k, matrix(a, i, s.m, s.k), matrix(b, i, s.k, s.n), c + i * s.m * s.n, s.n, adds);
    }
    return diopiSuccess;
}

}  // namespace diopi::cpu
