#include "kernels/reference/operand.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <optional>
#include <type_traits>

#include "core/half.hpp"
#include "core/instruction_sets.hpp"
#include "runtime/device.hpp"

namespace diopi::reference {

namespace {

struct Bool {
    uint8_t byte;
};
struct ComplexHalf {
    Half re, im;
};

template <class T>
constexpr bool is_std_complex = false;
template <class T>
constexpr bool is_std_complex<std::complex<T>> = true;
template <class T>
constexpr bool is_complex_type = is_std_complex<T> || std::is_same_v<T, ComplexHalf>;

template <class T>
struct Tag {
    using type = T;
};

/// Calls visit(Tag<storage type>) for the dtype. False for an unsupported one.
template <class Visit>
bool visit_storage(Dtype dtype, Visit&& visit) {
    switch (dtype) {
        case Dtype::int8:
            return visit(Tag<int8_t>()), true;
        case Dtype::uint8:
            return visit(Tag<uint8_t>()), true;
        case Dtype::int16:
            return visit(Tag<int16_t>()), true;
        case Dtype::uint16:
            return visit(Tag<uint16_t>()), true;
        case Dtype::int32:
            return visit(Tag<int32_t>()), true;
        case Dtype::uint32:
            return visit(Tag<uint32_t>()), true;
        case Dtype::int64:
            return visit(Tag<int64_t>()), true;
        case Dtype::uint64:
            return visit(Tag<uint64_t>()), true;
        case Dtype::float16:
            return visit(Tag<Half>()), true;
        case Dtype::tfloat32:
        case Dtype::float32:
            return visit(Tag<float>()), true;
        case Dtype::float64:
            return visit(Tag<double>()), true;
        case Dtype::boolean:
            return visit(Tag<Bool>()), true;
        case Dtype::bfloat16:
            return visit(Tag<Bfloat16>()), true;
        case Dtype::complex32:
            return visit(Tag<ComplexHalf>()), true;
        case Dtype::complex64:
            return visit(Tag<std::complex<float>>()), true;
        case Dtype::complex128:
            return visit(Tag<Complex>()), true;
        case Dtype::unsupported:
            break;
    }
    return false;
}

template <class T>
constexpr Dtype kDtypeOf = Dtype::unsupported;
template <>
constexpr Dtype kDtypeOf<double> = Dtype::float64;
template <>
constexpr Dtype kDtypeOf<int64_t> = Dtype::int64;
template <>
constexpr Dtype kDtypeOf<Complex> = Dtype::complex128;

/// x rounded to `Significand` bits, to nearest even, with least normal exponent MinExponent: it adds and subtracts a
/// number whose last place is that of the result, so that the addition rounds. Exact for every finite x up to 2^200;
/// NaN becomes some number.
template <int Significand, int MinExponent>
double round_short(double x) {
    const double magnitude = std::min(std::fabs(x), 0x1p200);
    const auto exponent = static_cast<int64_t>(std::bit_cast<uint64_t>(magnitude) >> 52);
    const int64_t last_place = std::max<int64_t>(exponent, 1023 + MinExponent) - (Significand - 1);
    const auto anchor = std::bit_cast<double>((static_cast<uint64_t>(last_place + 52) << 52) | 0x8000000000000u);
    return (magnitude + anchor) - anchor;
}

Half narrow_half(double x) {
    const uint32_t sign = static_cast<uint32_t>(std::bit_cast<uint64_t>(x) >> 48) & 0x8000u;
    const double rounded = round_short<11, -14>(x);
    // 65536 is the next number after the largest: its bits are those of infinity.
    const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(std::min(rounded, 65536.0)) * 0x1p-112f) >> 13;
    return {static_cast<uint16_t>(sign | (x != x ? 0x7e00u : bits))};
}

Bfloat16 narrow_bfloat16(double x) {
    const uint32_t sign = static_cast<uint32_t>(std::bit_cast<uint64_t>(x) >> 48) & 0x8000u;
    const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(round_short<8, -126>(x))) >> 16;
    return {static_cast<uint16_t>(x != x ? 0x7fc0u : sign | bits)};
}

int64_t integer_of(double x) {
    if (x >= -0x1p63 && x < 0x1p63) return static_cast<int64_t>(x);
    return std::isnan(x) ? 0 : x < 0 ? INT64_MIN : INT64_MAX;
}

/// A stored element in the compute type.
template <class To, class From>
To widen(const From& x) {
    if constexpr (std::is_same_v<To, Inexact>) {
        return widen<double>(x);
    } else if constexpr (std::is_same_v<From, Bool>) {
        return static_cast<To>(x.byte != 0);
    } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, Bfloat16>) {
        return widen<To>(to_float(x));
    } else if constexpr (std::is_same_v<From, ComplexHalf>) {
        return To(to_float(x.re), to_float(x.im));
    } else if constexpr (std::is_same_v<To, Complex> && !is_complex_type<From>) {
        return To(static_cast<double>(x));
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
        return integer_of(static_cast<double>(x));
    } else {
        return static_cast<To>(x);
    }
}

/// A computed value as a stored element. A complex one loses its imaginary part in a real dtype.
template <class To, class From>
To narrow(const From& x) {
    if constexpr (std::is_same_v<From, Inexact>) {
        return narrow<To>(x.error);
    } else if constexpr (is_complex_type<From> && !is_complex_type<To>) {
        return narrow<To>(x.real());
    } else if constexpr (std::is_same_v<To, Bool>) {
        return {static_cast<uint8_t>(x != From(0))};
    } else if constexpr (std::is_same_v<To, Half>) {
        return narrow_half(static_cast<double>(x));
    } else if constexpr (std::is_same_v<To, Bfloat16>) {
        return narrow_bfloat16(static_cast<double>(x));
    } else if constexpr (std::is_same_v<To, ComplexHalf>) {
        const Complex z(x);
        return {narrow_half(z.real()), narrow_half(z.imag())};
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
        return static_cast<To>(integer_of(x));
    } else if constexpr (is_std_complex<To> && !is_complex_type<From>) {
        return To(static_cast<typename To::value_type>(x));
    } else {
        return static_cast<To>(x);
    }
}

template <class T, class From>
void load_row(const From* __restrict in, int64_t step, int64_t n, T* __restrict to) {
    if (step == 1) {
        for (int64_t i = 0; i < n; ++i) to[i] = widen<T>(in[i]);
    } else {
        for (int64_t i = 0; i < n; ++i) to[i] = widen<T>(in[i * step]);
    }
}

template <class T>
void load(const View& view, const void* memory, T* out) {
    const Shape dense = contiguous_strides(view.shape);
    const Rows<2> rows(view.shape, {ShapeView(view.strides), ShapeView(dense)});
    const int64_t n = rows.length();
    const int64_t step = rows.step()[0];
    visit_storage(view.dtype, [&](auto tag) {
        using From = typename decltype(tag)::type;
        if constexpr (!is_complex_type<From> || is_complex_type<T>) {
            const auto load_best = best<load_row<T, From>>();
            rows.for_each([&](const Rows<2>::Offsets& at) {
                load_best(static_cast<const From*>(memory) + at[0], step, n, out + at[1]);
            });
        }
    });
}

template <class T>
void save(const View& view, void* memory, const T* values) {
    const Shape dense = contiguous_strides(view.shape);
    const Rows<2> rows(view.shape, {ShapeView(view.strides), ShapeView(dense)});
    const int64_t n = rows.length();
    const int64_t step = rows.step()[0];
    visit_storage(view.dtype, [&](auto tag) {
        using To = typename decltype(tag)::type;
        rows.for_each([&](const Rows<2>::Offsets& at) {
            To* __restrict to = static_cast<To*>(memory) + at[0];
            const T* __restrict in = values + at[1];
            if (step == 1) {
                for (int64_t i = 0; i < n; ++i) to[i] = narrow<To>(in[i]);
            } else {
                for (int64_t i = 0; i < n; ++i) to[i * step] = narrow<To>(in[i]);
            }
        });
    });
}

/// Contents undefined. Large blocks come from pages that are kept.
template <class T>
std::shared_ptr<T[]> buffer(int64_t n) {
    auto memory = cpu_device().allocate(static_cast<size_t>(n) * sizeof(T));
    if (!memory.ok()) throw std::bad_alloc();
    return {*memory, static_cast<T*>(memory->get())};
}

template <class T>
void require_dtype(const View& view, std::string_view argument, bool reading) {
    if (view.dtype == Dtype::unsupported) refuse_dtype(argument, view.dtype, "a dtype of the standard");
    if (reading && is_complex(view.dtype) && !is_complex_type<T>) refuse_dtype(argument, view.dtype, "a real dtype");
}

bool is_absent(const void* handle, std::string_view argument) {
    if (handle != nullptr) return false;
    if (!argument.ends_with('?')) refuse(std::string(argument) + " is null, wanted a tensor");
    return true;
}

}  // namespace

void refuse(std::string message) { throw Refusal{diopiErrorOccurred, std::move(message)}; }

void refuse_dtype(std::string_view argument, Dtype came, std::string_view wanted) {
    throw Refusal{diopiDtypeNotSupported,
                  std::string(argument) + " has dtype " + std::string(name(came)) + ", wanted " + std::string(wanted)};
}

Kind kind_of(Dtype dtype) {
    if (is_complex(dtype)) return Kind::kComplex;
    if (is_floating(dtype)) return Kind::kFloating;
    return dtype == Dtype::boolean ? Kind::kBool : Kind::kInteger;
}

View view_of(diopiConstTensorHandle_t handle) {
    if (handle == nullptr) refuse("an argument is null, wanted a tensor");
    diopiSize_t shape{};
    diopiSize_t strides{};
    diopiDtype_t dtype{};
    View view;
    diopiGetTensorShape(handle, &shape);
    diopiGetTensorStride(handle, &strides);
    diopiGetTensorDtype(handle, &dtype);
    diopiGetTensorNumel(handle, &view.numel);
    view.shape = list_of(shape);
    view.strides = list_of(strides);
    view.dtype = from_c(dtype);
    return view;
}

bool same_shape(ShapeView a, ShapeView b) { return std::ranges::equal(a, b); }

void require_shape(std::string_view argument, ShapeView came, ShapeView wanted) {
    if (same_shape(came, wanted)) return;
    refuse(std::string(argument) + " has shape " + to_string(came) + ", wanted " + to_string(wanted));
}

int64_t require_dim(int64_t dim, int64_t rank) {
    const std::optional<int64_t> wrapped = wrap_dim(dim, rank);
    if (!wrapped) {
        refuse("dim is " + std::to_string(dim) + ", out of range for a tensor of " + std::to_string(rank) +
               " dimensions");
    }
    return *wrapped;
}

template <class T>
Operand<T>::Operand(diopiConstTensorHandle_t handle, std::string_view argument) {
    if (is_absent(handle, argument)) return;
    present_ = true;
    view_ = view_of(handle);
    require_dtype<T>(view_, argument, true);
    if (view_.numel == 0) return;
    const void* memory = nullptr;
    diopiGetTensorDataConst(handle, &memory);
    if (view_.dtype == kDtypeOf<Stored> && is_contiguous(view_.shape, view_.strides)) {
        data_ = static_cast<const Stored*>(memory);
        return;
    }
    copy_ = buffer<Stored>(view_.numel);
    load(view_, memory, copy_.get());
    data_ = copy_.get();
}

template <class T>
Output<T>::Output(diopiTensorHandle_t handle, std::string_view argument, Start start) : handle_(handle) {
    if (is_absent(handle, argument)) return;
    view_ = view_of(handle);
    require_dtype<T>(view_, argument, start == Start::kOldValues);
    if (view_.numel == 0) return;
    void* memory = nullptr;
    diopiGetTensorData(handle, &memory);
    if (view_.dtype == kDtypeOf<T> && is_contiguous(view_.shape, view_.strides)) {
        data_ = static_cast<T*>(memory);
    } else {
        copy_ = buffer<T>(view_.numel);
        data_ = copy_.get();
        if (start == Start::kOldValues) load(view_, memory, data_);
    }
    if (start == Start::kZero) std::fill_n(data_, view_.numel, T(0));
}

template <class T>
void Output<T>::store() {
    if (copy_ == nullptr) return;
    void* memory = nullptr;
    diopiGetTensorData(handle_, &memory);
    save(view_, memory, copy_.get());
}

template class Operand<double>;
template class Operand<int64_t>;
template class Operand<Complex>;
template class Operand<Inexact>;
template class Output<double>;
template class Output<int64_t>;
template class Output<Complex>;
template class Output<Inexact>;

Shape broadcast_strides(std::string_view argument, ShapeView shape, ShapeView wide) {
    const Shape dense = contiguous_strides(shape);
    Shape strides(wide.size(), 0);
    bool fits = shape.size() <= wide.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
        const size_t to = wide.size() - shape.size() + i;
        if (shape[i] == wide[to]) strides[to] = dense[i];
        fits = shape[i] == wide[to] || shape[i] == 1;
    }
    if (!fits) {
        refuse(std::string(argument) + " has shape " + to_string(shape) + ", which does not broadcast to " +
               to_string(wide));
    }
    return strides;
}

template <class T>
T scalar_as(const diopiScalar_t& scalar) {
    const bool floating = kind_of(from_c(scalar.stype)) >= Kind::kFloating;
    if constexpr (std::is_same_v<T, int64_t>) {
        return floating ? integer_of(scalar.fval) : scalar.ival;
    } else {
        return T(floating ? scalar.fval : static_cast<double>(scalar.ival));
    }
}

template double scalar_as<double>(const diopiScalar_t&);
template int64_t scalar_as<int64_t>(const diopiScalar_t&);
template Complex scalar_as<Complex>(const diopiScalar_t&);

namespace {

template <class T>
void wrap_to(Output<int64_t>& values) {
    for (int64_t i = 0; i < values.numel(); ++i) values[i] = static_cast<int64_t>(static_cast<T>(values[i]));
}

}  // namespace

void wrap(Output<int64_t>& values, Dtype dtype) {
    switch (dtype) {
        case Dtype::boolean:
            for (int64_t i = 0; i < values.numel(); ++i) values[i] = values[i] != 0 ? 1 : 0;
            return;
        case Dtype::int8:
            return wrap_to<int8_t>(values);
        case Dtype::uint8:
            return wrap_to<uint8_t>(values);
        case Dtype::int16:
            return wrap_to<int16_t>(values);
        case Dtype::uint16:
            return wrap_to<uint16_t>(values);
        case Dtype::int32:
            return wrap_to<int32_t>(values);
        case Dtype::uint32:
            return wrap_to<uint32_t>(values);
        case Dtype::int64:
        case Dtype::uint64:
        case Dtype::float16:
        case Dtype::bfloat16:
        case Dtype::tfloat32:
        case Dtype::float32:
        case Dtype::float64:
        case Dtype::complex32:
        case Dtype::complex64:
        case Dtype::complex128:
        case Dtype::unsupported:
            return;
    }
}

}  // namespace diopi::reference
