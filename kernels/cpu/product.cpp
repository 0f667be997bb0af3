#include "kernels/cpu/product.hpp"

#include <algorithm>

#include "kernels/cpu/amx.hpp"
#include "kernels/cpu/bfloat16_units.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/few_rows.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/onednn_api.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/threads.hpp"

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
    const auto describe = [&](const auto&... row_and_result) {
        // Our own products use AMX. Drawn shapes found faults in oneDNN's (2.6.3): batches with 8 threads or more had
        // wrong elements, other ones in each run; of 63 terms an element behind a row is read.
        return onednn::describe<dnnl::matmul>(onednn::Avoided::amx, onednn_engine(), attr, inner_left, right,
                                              row_and_result...);
    };
    const auto chosen = f.has_bias ? describe(row, result) : describe(result);
    std::vector<Operand> operands{
        {DNNL_ARG_SRC, left, false}, {DNNL_ARG_WEIGHTS, right, false}, {DNNL_ARG_DST, result, true}};
    if (f.has_bias) operands.push_back({DNNL_ARG_BIAS, row, false});
    return Plan(chosen, dnnl::matmul(chosen), operands);
}

bool is_empty(const ProductShape& s) { return s.batch == 0 || s.m == 0 || s.n == 0 || s.k == 0; }

/// Without terms c becomes the bias or zeros, or keeps its values.
template <class T>
diopiError_t write_empty_sums(const ProductShape& s, const T* bias, T* c, Into into) {
    if (into == Into::kAdd) return diopiSuccess;
    for (int64_t i = 0; i < s.batch * s.m; ++i) {
        if (bias != nullptr)
            std::copy_n(bias, s.n, c + i * s.n);
        else
            std::fill_n(c + i * s.n, s.n, T{});
    }
    return diopiSuccess;
}

/// Brings a matrix of a few rows in order, in float32. The rows behind it are 0.
template <class T>
FewRows few_rows(const ProductShape& s, const T* a, bool transposed, float* room) {
    std::fill_n(room, kFewRows * s.k, 0.0F);
    for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t l = 0; l < s.k; ++l) {
            room[i * s.k + l] = static_cast<float>(to_double(transposed ? a[l * s.m + i] : a[i * s.k + l]));
        }
    }
    return {room, s.k, s.m};
}

/// Writes c = sums + bias, or c += sums, rounded once.
template <class C>
void write_sums(const ProductShape& s, const float* sums, const C* bias, C* c, Into into) {
    for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
            float sum = sums[i * s.n + j];
            if (bias != nullptr) sum += static_cast<float>(to_double(bias[j]));
            if (into == Into::kAdd) sum += static_cast<float>(to_double(c[i * s.n + j]));
            c[i * s.n + j] = rounded<C>(sum);
        }
    }
}

/// Products of a few rows by loops of our own.
template <class A, class B, class C>
diopiError_t run_few(diopiContextHandle_t ctx, const ProductShape& s, Matrices<A> a, Matrices<B> b, const C* bias, C* c,
                     Into into) {
    Staging staging(ctx);
    auto* room = staging.buffer<float>(kFewRows * s.k);
    auto* sums = staging.buffer<float>(s.m * s.n);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto multiply = std::get<FewRowsKernel<B>>(few_rows_table());
    constexpr int64_t kColumns = 64;  // of a part of the work: whole lines of the cache
    for (int64_t i = 0; i < s.batch; ++i) {
        const FewRows rows = few_rows(s, a.data + (a.repeated ? 0 : i * s.m * s.k), a.transposed, room);
        const FewRowsOperand<B> matrix{b.data + (b.repeated ? 0 : i * s.k * s.n), b.transposed, s.k, s.n};
        parallel_for((s.n + kColumns - 1) / kColumns, std::max<int64_t>(s.m * kColumns * s.k / 8, 1),
                     [&](int64_t first, int64_t last) {
                         const int64_t column = first * kColumns, end = std::min(last * kColumns, s.n);
                         multiply(rows, matrix, column, end - column, sums);
                     });
        write_sums(s, sums, bias, c + i * s.m * s.n, into);
    }
    return diopiSuccess;
}

/// Matrix `i` of a batch.
template <class T>
MatrixView<T> matrix(Matrices<T> x, int64_t i, int64_t rows, int64_t columns) {
    const T* data = x.data + (x.repeated ? 0 : i * rows * columns);
    return x.transposed ? MatrixView<T>{data, 1, rows} : MatrixView<T>{data, columns, 1};
}

/// Products by own kernels, one after the other.
template <class T>
diopiError_t run_own(const ProductShape& s, Matrices<T> a, Matrices<T> b, const T* bias, T* c, Into into) {
    if (bias != nullptr || s.k == 0) write_empty_sums(s, bias, c, into);
    if (s.k == 0) return diopiSuccess;
    const bool adds = bias != nullptr || into == Into::kAdd;
    for (int64_t i = 0; i < s.batch; ++i) {
        gemm(s.m, s.n, s.k, matrix(a, i, s.m, s.k), matrix(b, i, s.k, s.n), c + i * s.m * s.n, s.n, adds);
    }
    return diopiSuccess;
}

/// Products on AMX: those of a batch side by side, or where they are large and few, one after the other in all threads.
template <class C>
diopiError_t run_amx(const ProductShape& s, Matrices<Bfloat16> a, Matrices<Bfloat16> b, const C* bias, C* c,
                     const ScaledSum<C>& sum) {
    constexpr int64_t kForAllThreads = int64_t{1} << 24;  // so many multiplications have work for them
    const auto run = [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            ScaledSum<C> own = sum;
            if (sum.addend != nullptr) own.addend += i * s.m * s.n;
            amx_product(s.m, s.n, s.k, matrix(a, i, s.m, s.k), matrix(b, i, s.k, s.n), bias, c + i * s.m * s.n, own);
        }
    };
    const int64_t products = s.m * s.n * s.k;
    if (s.batch == 1 || (products >= kForAllThreads && s.batch < 4 * omp_get_max_threads()))
        run(0, s.batch);
    else
        parallel_for(s.batch, products / kAmxProductsPerWork, run);
    return diopiSuccess;
}

/// Whether the preparations of oneDNN take longer than the product. Measured on an Intel Xeon (AVX-512) of two cores.
bool is_small(const ProductShape& s) {
    return s.batch == 1 && std::min(s.m, s.n) >= 8 && s.k <= 64 && s.m * s.n * s.k <= int64_t{1} << 15;
}

template <class T, class C>
diopiError_t run_product(diopiContextHandle_t ctx, const ProductShape& s, Matrices<T> a, Matrices<T> b, const C* bias,
                         C* c, Into into) {
    if (is_empty(s)) return write_empty_sums(s, bias, c, into);
    // Where oneDNN is used for float32, it reads a matrix where it is, but not its transpose.
    const bool reads_in_place = std::is_same_v<T, float> && !b.transposed && !onednn::products_vary();
    if (s.batch * s.m <= kFewRows && !reads_in_place) return run_few(ctx, s, a, b, bias, c, into);
    if constexpr (std::is_same_v<T, float>) {
        if (is_small(s) || onednn::products_vary()) return run_own(s, a, b, bias, c, into);
    }
    if constexpr (std::is_same_v<T, Bfloat16>) {
        const ScaledSum<C> sum{into == Into::kAdd ? c : nullptr};
        if (has_amx_products()) return run_amx(s, a, b, bias, c, sum);
    }
    const Form form{s,    a.transposed, a.repeated,  b.transposed, b.repeated, bias != nullptr,
                    into, kDataType<T>, kDataType<C>};
    Plan* plan = cached_plan(form.key(), [&] { return make_plan(form); });
    if (plan == nullptr) return diopiErrorOccurred;
    // oneDNN takes every operand as writable and writes only the result.
    void* const data[] = {const_cast<T*>(a.data), const_cast<T*>(b.data), c, const_cast<C*>(bias)};
    return plan->run(ctx, {data, bias == nullptr ? size_t{3} : size_t{4}});
}

}  // namespace

bool takes_bfloat16(int64_t rows, const View& a, const View& b, std::initializer_list<View> addends) {
    const auto is_bfloat16 = [](const View& v) { return v.dtype == Dtype::bfloat16; };
    if (!is_bfloat16(a) || !is_bfloat16(b) || !std::ranges::all_of(addends, is_bfloat16)) return false;
    return rows <= kFewRows || suit_bfloat16_units(a, b, addends);
}

bool takes_scaled_bfloat16(const ProductShape& s, const View& a, const View& b) {
    return s.batch * s.m > kFewRows && !is_empty(s) && has_amx_products() && suit_bfloat16_units(a, b);
}

diopiError_t scaled_product(const ProductShape& s, Matrices<Bfloat16> a, Matrices<Bfloat16> b,
                            const ScaledSum<Bfloat16>& sum, Bfloat16* c) {
    return run_amx<Bfloat16>(s, a, b, nullptr, c, sum);
}

diopiError_t product(diopiContextHandle_t ctx, const ProductShape& s, Matrices<float> a, Matrices<float> b,
                     const float* bias, float* c, Into into) {
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

diopiError_t product(diopiContextHandle_t ctx, const ProductShape& s, Matrices<float> a, Matrices<Bfloat16> b,
                     const Bfloat16* bias, Bfloat16* c, Into into) {
    if (is_empty(s)) return write_empty_sums(s, bias, c, into);
    return run_few(ctx, s, a, b, bias, c, into);
}

diopiError_t product(diopiContextHandle_t, const ProductShape& s, Matrices<double> a, Matrices<double> b,
                     const double* bias, double* c, Into into) {
    return run_own(s, a, b, bias, c, into);
}

}  // namespace diopi::cpu
