/// A formula on two operands that broadcast to out: two tensors, or a tensor and a number.
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <memory>
#include <optional>
#include <type_traits>

#include "core/half.hpp"
#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// out[i] = f(a[i], b[i]), for a formula with a version for arrays.
template <class T, class F>
void row_of_arrays(T* out, const T* a, int64_t step_a, const T* b, int64_t step_b, int64_t n, const F& f) {
    std::array<T, 512> left, right;
    for (int64_t first = 0; first < n; first += std::ssize(left)) {
        const int64_t count = std::min(n - first, static_cast<int64_t>(std::ssize(left)));
        for (int64_t i = 0; i < count; ++i) {
            left[static_cast<size_t>(i)] = a[(first + i) * step_a];
            right[static_cast<size_t>(i)] = b[(first + i) * step_b];
        }
        f.in_vectors(left.data(), right.data(), out + first, count);
    }
}

template <class R, class T, class F>
void row(R* out, const T* a, int64_t step_a, const T* b, int64_t step_b, int64_t n, F f) {
    if constexpr (requires { f.in_vectors(a, b, out, n); }) {
        if (f.allows_vectors) return row_of_arrays(out, a, step_a, b, step_b, n, f);
    }
    // out may be a itself, element for element: no iteration depends on another.
    if (step_a == 1 && step_b == 1) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
    } else if (step_a == 1 && step_b == 0) {
        const T y = *b;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) out[i] = f(a[i], y);
    } else {
        for (int64_t i = 0; i < n; ++i) out[i] = f(a[i * step_a], b[i * step_b]);
    }
}

template <class R, class T, class F>
void broadcast(Output<R>& out, const T* a, ShapeView shape_a, const T* b, ShapeView shape_b, F f) {
    const Shape strides_a = broadcast_strides("input", shape_a, out.shape());
    const Shape strides_b = broadcast_strides("other", shape_b, out.shape());
    const Shape dense = contiguous_strides(out.shape());
    const Rows<3> rows(out.shape(), {ShapeView(dense), ShapeView(strides_a), ShapeView(strides_b)});
    rows.for_each([&](const Rows<3>::Offsets& at) {
        row(out.data() + at[0], a + at[1], rows.step()[1], b + at[2], rows.step()[2], rows.length(), f);
    });
}

/// The second operand: a tensor or a number.
struct Other {
    Other(diopiConstTensorHandle_t of_tensor) : tensor(of_tensor) {}
    Other(const diopiScalar_t* of_scalar) : scalar(of_scalar) {}

    diopiConstTensorHandle_t tensor = nullptr;
    const diopiScalar_t* scalar = nullptr;

    [[nodiscard]] Dtype dtype() const { return tensor ? view_of(tensor).dtype : from_c(scalar->stype); }
};

/// Each part rounded to float32. Where GCC 12.2 vectorises the conversions of both parts to float and back (-O2), it
/// leaves them out.
[[nodiscard]] inline Complex rounded_parts(const Complex& x) {
    const Format format = format_of(Dtype::float32);
    const auto rounded = [&](double part) {
        return round_to_precision(part, format.significand, format.min_exponent, format.largest);
    };
    return {rounded(x.real()), rounded(x.imag())};
}

/// A number is converted to the dtype of the operation: without a float64 tensor that is float32 (PyTorch's opmath
/// type).
template <class T>
T number_as(const diopiScalar_t& scalar, diopiConstTensorHandle_t input, const Other& other) {
    const auto is_wide = [](Dtype dtype) { return dtype == Dtype::float64 || dtype == Dtype::complex128; };
    const T number = scalar_as<T>(scalar);
    if (is_wide(view_of(input).dtype) || (other.tensor != nullptr && is_wide(view_of(other.tensor).dtype)))
        return number;
    if constexpr (std::is_same_v<T, double>)
        return static_cast<float>(number);
    else if constexpr (std::is_same_v<T, Complex>)
        return rounded_parts(number);
    else
        return number;
}

/// The dtype in which PyTorch computes. A number, or a 0-dim tensor beside one that is not, counts only if its category
/// (integer, floating, complex) is higher. Source: torch.result_type.
[[nodiscard]] inline Dtype promoted_dtype(const View& a, const View& b) {
    if (a.shape.empty() == b.shape.empty()) return promote(a.dtype, b.dtype);
    const View& one = a.shape.empty() ? a : b;
    const View& many = a.shape.empty() ? b : a;
    return kind_of(one.dtype) > kind_of(many.dtype) ? promote(many.dtype, one.dtype) : many.dtype;
}
[[nodiscard]] inline Dtype result_dtype(diopiConstTensorHandle_t input, const Other& other) {
    if (other.tensor == nullptr) return promote_with_number(view_of(input).dtype, other.dtype());
    return promoted_dtype(view_of(input), view_of(other.tensor));
}

/// The number in the dtype in which PyTorch computes: an integer wraps.
template <class T>
T in_dtype(T number, Dtype dtype) {
    if constexpr (std::is_same_v<T, int64_t>) return is_integer(dtype) ? wrap_integer(number, dtype) : number;
    return number;
}

/// The elements; one of a tensor without dimensions is converted to that dtype, and stored in `element`.
template <class T>
const T* elements_in(Dtype dtype, const Operand<T>& x, T& element) {
    if (x.rank() != 0) return x.data();
    element = in_dtype(x[0], dtype);
    return &element;
}

/// Refuses an out of another shape than that to which the operands broadcast.
inline void require_broadcast(ShapeView out, ShapeView a, ShapeView b) {
    const std::optional<Shape> wide = broadcast_shapes(a, b);
    if (wide) require_shape("out", out, *wide);
}

template <class T, class F>
void apply(diopiTensorHandle_t out, diopiConstTensorHandle_t input, const Other& other, F f) {
    const Operand<T> a(input, "input");
    std::optional<Operand<T>> b;
    if (other.tensor != nullptr) b.emplace(other.tensor, "other");
    Output<T> y(out, "out");
    require_broadcast(y.shape(), a.shape(), b ? b->shape() : ShapeView());
    const Dtype result = result_dtype(input, other);
    T first{}, second{};
    const T* elements = elements_in(result, a, first);
    if (b) {
        broadcast(y, elements, a.shape(), elements_in(result, *b, second), b->shape(), f);
    } else {
        second = in_dtype(number_as<T>(*other.scalar, input, other), result);
        broadcast(y, elements, a.shape(), &second, {}, f);
    }
    wrap(y, result);
    y.store();
}

/// A number converted to a dtype, in its compute type.
[[nodiscard]] inline int64_t as_element(int64_t x, Dtype dtype) {
    return dtype == Dtype::boolean ? int64_t{x != 0} : is_integer(dtype) ? wrap_integer(x, dtype) : x;
}
[[nodiscard]] inline double as_element(double x, Dtype dtype) {
    if (dtype == Dtype::float16) return to_float(to_half(x));
    if (dtype == Dtype::bfloat16) return to_float(to_bfloat16(x));
    return dtype == Dtype::float64 ? x : static_cast<float>(x);
}
[[nodiscard]] inline Complex as_element(Complex x, Dtype dtype) {
    return dtype == Dtype::complex128 ? x : rounded_parts(x);
}

/// An operand whose elements are converted to the dtype to which all operands promote, before anything is computed.
/// An absent one has the value `absent`.
template <class T>
class Promoted {
 public:
    Promoted(const Other& operand, std::string_view argument, Dtype dtype, T absent = {}) {
        if (operand.tensor == nullptr) {
            converted_ = std::make_unique<T[]>(1);
            converted_[0] = operand.scalar == nullptr ? absent : as_element(scalar_as<T>(*operand.scalar), dtype);
            return;
        }
        elements_.emplace(operand.tensor, argument);
        if (view_of(operand.tensor).dtype == dtype) return;
        converted_ = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(elements_->numel()));
        for (int64_t i = 0; i < elements_->numel(); ++i) converted_[i] = as_element((*elements_)[i], dtype);
    }

    const T& operator[](int64_t i) const { return data()[i]; }
    [[nodiscard]] const T* data() const { return converted_ ? converted_.get() : elements_->data(); }
    [[nodiscard]] ShapeView shape() const { return elements_ ? elements_->shape() : ShapeView(); }

 private:
    std::optional<Operand<T>> elements_;
    std::unique_ptr<T[]> converted_;
};

[[nodiscard]] inline Kind common_kind(diopiConstTensorHandle_t input, const Other& other) {
    return std::max(kind_of(view_of(input).dtype), kind_of(other.dtype()));
}

}  // namespace diopi::reference
