/// The operands of reference kernels: contiguous row-major views of tensors in the compute type (double, int64_t or
/// complex double), for any dtype and strides; and the errors with which a kernel refuses a call. An argument is named
/// as in its schema row: a name that ends in '?' may be a null handle, any other is refused as null.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/dtype.hpp"
#include "core/shape.hpp"
#include "kernels/reference/inexact.hpp"
#include "runtime/context.hpp"

namespace diopi::reference {

using Complex = std::complex<double>;

/// The reason why a kernel refuses a call. Thrown inside `kernel` only.
struct Refusal {
    diopiError_t code;
    std::string message;
};

/// diopiErrorOccurred, with a message that has the argument, its value and the expected value.
[[noreturn]] void refuse(std::string message);
/// diopiDtypeNotSupported.
[[noreturn]] void refuse_dtype(std::string_view argument, Dtype came, std::string_view wanted);

/// Runs the body of a kernel: refusals and lack of memory become an error code and the last error's text.
template <class Body>
diopiError_t kernel(Body&& body) {
    try {
        body();
        return diopiSuccess;
    } catch (Refusal& refusal) {
        set_last_error(std::move(refusal.message));
        return refusal.code;
    } catch (const std::bad_alloc&) {
        set_last_error("out of memory for the float64 copies of the reference");
        return diopiErrorOccurred;
    }
}

/// Runs body(T()), with T = double for the results, or T = Inexact for their error bounds where the context asks for
/// them.
template <class Body>
diopiError_t inexact_kernel(diopiContextHandle_t ctx, Body&& body) {
    if (!ctx->errors_in) return kernel([&] { body(double()); });
    working_format = WorkingFormat(*ctx->errors_in);
    kept_format = WorkingFormat(ctx->kept_in);
    ctx->has_errors = true;
    return kernel([&] { body(Inexact()); });
}

/// The compute type of a kernel; a later one holds the values of the earlier ones.
enum class Kind { kBool, kInteger, kFloating, kComplex };
[[nodiscard]] Kind kind_of(Dtype dtype);

/// Runs body(T()) with the compute type of the dtype.
template <class Body>
void in_kind(Dtype dtype, Body&& body) {
    switch (kind_of(dtype)) {
        case Kind::kComplex:
            return body(Complex());
        case Kind::kFloating:
            return body(double());
        case Kind::kInteger:
        case Kind::kBool:
            return body(int64_t());
    }
}

/// The properties of a tensor that the runtime reports.
struct View {
    ShapeView shape;
    ShapeView strides;
    Dtype dtype = Dtype::unsupported;
    int64_t numel = 0;
};
[[nodiscard]] View view_of(diopiConstTensorHandle_t handle);
[[nodiscard]] inline ShapeView list_of(diopiSize_t size) { return {size.data, static_cast<size_t>(size.len)}; }

[[nodiscard]] bool same_shape(ShapeView a, ShapeView b);
/// Refuses when the argument's shape is not the wanted one.
void require_shape(std::string_view argument, ShapeView came, ShapeView wanted);
/// `dim` counted from the front; refuses one out of range.
[[nodiscard]] int64_t require_dim(int64_t dim, int64_t rank);

/// The values of a tensor, contiguous and row-major: the tensor's own memory if it has that layout, else a copy. It
/// converts to false for a null handle.
/// Elements of Inexact are exact numbers.
template <class T>
class Operand {
 public:
    using Stored = std::conditional_t<std::is_same_v<T, Inexact>, double, T>;

    /// Refuses a dtype that T does not hold (complex for double), with `argument` in the message.
    Operand(diopiConstTensorHandle_t handle, std::string_view argument);

    explicit operator bool() const { return present_; }
    [[nodiscard]] const Stored* data() const { return data_; }
    std::conditional_t<std::is_same_v<T, Stored>, const T&, T> operator[](int64_t i) const { return data_[i]; }
    [[nodiscard]] ShapeView shape() const { return view_.shape; }
    [[nodiscard]] int64_t size(int64_t dim) const { return view_.shape[static_cast<size_t>(dim)]; }
    [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(view_.shape.size()); }
    [[nodiscard]] int64_t numel() const { return view_.numel; }

 private:
    View view_;
    bool present_ = false;
    std::shared_ptr<Stored[]> copy_;
    const Stored* data_ = nullptr;
};

/// The buffer that a kernel fills: the tensor's own memory if it is contiguous and of T's dtype, else a copy that
/// `store` writes back (halves rounded once, to nearest even; integers wrapped). For a null handle it converts to false
/// and store does nothing. For Inexact numbers `store` writes the error bounds.
template <class T>
class Output {
 public:
    enum class Start { kUndefined, kZero, kOldValues };

    Output(diopiTensorHandle_t handle, std::string_view argument, Start start = Start::kUndefined);

    /// To be called once, when every element has its value.
    void store();

    explicit operator bool() const { return handle_ != nullptr; }
    [[nodiscard]] T* data() { return data_; }
    T& operator[](int64_t i) { return data_[i]; }
    [[nodiscard]] ShapeView shape() const { return view_.shape; }
    [[nodiscard]] int64_t size(int64_t dim) const { return view_.shape[static_cast<size_t>(dim)]; }
    [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(view_.shape.size()); }
    [[nodiscard]] int64_t numel() const { return view_.numel; }

 private:
    diopiTensorHandle_t handle_;
    View view_;
    std::shared_ptr<T[]> copy_;
    T* data_ = nullptr;
};

/// Where the error bound of an element is written.
struct ErrorPlace {
    double& bound;
    void operator=(const Inexact& x) { bound = x.error; }
};

/// The buffer of a result that a kernel writes and does not read. For Inexact numbers it holds their error bounds
/// alone.
template <class T>
class WriteOnly : private Output<typename Operand<T>::Stored> {
    using Buffer = Output<typename Operand<T>::Stored>;

 public:
    WriteOnly(diopiTensorHandle_t handle, std::string_view argument) : Buffer(handle, argument) {}

    using Buffer::numel, Buffer::rank, Buffer::shape, Buffer::size, Buffer::store, Buffer::operator bool;
    std::conditional_t<std::is_same_v<T, Inexact>, ErrorPlace, T&> operator[](int64_t i) { return {Buffer::data()[i]}; }
};

/// Wraps integers in `dtype`, before they are converted to the output's dtype. Does nothing for other results.
void wrap(Output<int64_t>& values, Dtype dtype);
inline void wrap(Output<double>&, Dtype) {}
inline void wrap(Output<Complex>&, Dtype) {}

/// Strides of a contiguous tensor of `shape` read as one of shape `wide`: 0 where it repeats. Refuses a tensor that
/// does not broadcast, with the argument in the message.
[[nodiscard]] Shape broadcast_strides(std::string_view argument, ShapeView shape, ShapeView wide);

/// A walk over N strided tensors of one shape, row by row. It drops dimensions of size 1 and joins dimensions that are
/// one run in all tensors, so that rows are as long as possible.
template <size_t N>
class Rows {
 public:
    using Offsets = std::array<int64_t, N>;

    Rows(ShapeView shape, const std::array<ShapeView, N>& strides) {
        for (size_t d = 0; d < shape.size(); ++d) {
            if (shape[d] == 0) empty_ = true;
            if (shape[d] == 1) continue;
            Offsets step;
            for (size_t k = 0; k < N; ++k) step[k] = strides[k][d];
            if (!sizes_.empty() && follows(step, shape[d])) {
                sizes_.back() *= shape[d];
                steps_.back() = step;
            } else {
                sizes_.push_back(shape[d]);
                steps_.push_back(step);
            }
        }
        if (sizes_.empty()) {
            sizes_.push_back(1);
            steps_.push_back({});
        }
    }

    /// Elements of a row, and the step from one to the next in each tensor.
    [[nodiscard]] int64_t length() const { return sizes_.back(); }
    [[nodiscard]] const Offsets& step() const { return steps_.back(); }

    /// Calls visit(offsets of the row's first element) for each row, in row-major order.
    template <class Visit>
    void for_each(Visit&& visit) const {
        if (empty_) return;
        const size_t outer = sizes_.size() - 1;
        Shape index(outer, 0);
        Offsets offsets{};
        for (;;) {
            visit(offsets);
            size_t d = outer;
            for (; d > 0; --d) {
                const size_t i = d - 1;
                if (++index[i] < sizes_[i]) {
                    for (size_t k = 0; k < N; ++k) offsets[k] += steps_[i][k];
                    break;
                }
                for (size_t k = 0; k < N; ++k) offsets[k] -= (sizes_[i] - 1) * steps_[i][k];
                index[i] = 0;
            }
            if (d == 0) return;
        }
    }

 private:
    [[nodiscard]] bool follows(const Offsets& step, int64_t size) const {
        for (size_t k = 0; k < N; ++k) {
            if (steps_.back()[k] != step[k] * size) return false;
        }
        return true;
    }

    bool empty_ = false;
    Shape sizes_;
    std::vector<Offsets> steps_;
};

/// A scalar argument in the compute type. Floating numbers truncate to integers.
template <class T>
[[nodiscard]] T scalar_as(const diopiScalar_t& scalar);

}  // namespace diopi::reference
