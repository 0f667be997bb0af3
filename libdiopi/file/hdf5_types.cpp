#include "file/hdf5_types.hpp"

#include <hdf5.h>

#include <bit>
#include <string_view>

namespace diopi::hdf5 {

static_assert(std::endian::native == std::endian::little, "stored types are described in little-endian order");

namespace {

std::recursive_mutex& library_mutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

herr_t take_innermost(unsigned depth, const H5E_error2_t* entry, void* text) {
    if (depth == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
    return 0;
}

/// "file write failed: ..., error message = 'No space left on device', ..." -> the message between the quotes.
std::string shorten(const std::string& message) {
    constexpr std::string_view kKey = "error message = '";
    const size_t start = message.find(kKey);
    if (start == std::string::npos) return message;
    const size_t from = start + kKey.size();
    return message.substr(from, message.find('\'', from) - from);
}

/// An IEEE-like 16-bit float: sign, `exponent` bits, `mantissa` bits.
Handle float16_type(size_t exponent, size_t mantissa, size_t bias) {
    Handle type(H5Tcopy(H5T_IEEE_F32LE));
    H5Tset_fields(type.get(), 15, mantissa, exponent, 0, mantissa);
    H5Tset_size(type.get(), 2);
    H5Tset_ebias(type.get(), bias);
    return type;
}

Handle bool_type() {
    Handle type(H5Tenum_create(H5T_STD_I8LE));
    int8_t value = 0;
    H5Tenum_insert(type.get(), "FALSE", &value);
    value = 1;
    H5Tenum_insert(type.get(), "TRUE", &value);
    return type;
}

Handle complex_type(Dtype part) {
    const size_t size = size_of(part);
    const Handle part_type = type_of(part);
    Handle type(H5Tcreate(H5T_COMPOUND, 2 * size));
    H5Tinsert(type.get(), "r", 0, part_type.get());
    H5Tinsert(type.get(), "i", size, part_type.get());
    return type;
}

std::optional<Dtype> integer_dtype(Id type) {
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    switch (H5Tget_size(type)) {
        case 1:
            return is_signed ? Dtype::int8 : Dtype::uint8;
        case 2:
            return is_signed ? Dtype::int16 : Dtype::uint16;
        case 4:
            return is_signed ? Dtype::int32 : Dtype::uint32;
        case 8:
            return is_signed ? Dtype::int64 : Dtype::uint64;
        default:
            return std::nullopt;
    }
}

std::optional<Dtype> float_dtype(Id type) {
    size_t sign = 0, exponent_at = 0, exponent = 0, mantissa_at = 0, mantissa = 0;
    if (H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0) return std::nullopt;
    const size_t size = H5Tget_size(type);
    if (size == 2 && exponent == 5 && mantissa == 10) return Dtype::float16;
    if (size == 2 && exponent == 8 && mantissa == 7) return Dtype::bfloat16;
    if (size == 4 && exponent == 8 && mantissa == 23) return Dtype::float32;
    if (size == 8 && exponent == 11 && mantissa == 52) return Dtype::float64;
    return std::nullopt;
}

bool member_is(Id type, unsigned index, std::string_view wanted) {
    char* text = H5Tget_member_name(type, index);
    if (text == nullptr) return false;
    const bool same = wanted == text;
    H5free_memory(text);
    return same;
}

std::optional<Dtype> enum_dtype(Id type) {
    const bool is_bool = H5Tget_nmembers(type) == 2 && H5Tget_size(type) == 1 && member_is(type, 0, "FALSE") &&
                         member_is(type, 1, "TRUE");
    return is_bool ? std::optional(Dtype::boolean) : std::nullopt;
}

std::optional<Dtype> complex_dtype(Id type) {
    if (H5Tget_nmembers(type) != 2 || !member_is(type, 0, "r") || !member_is(type, 1, "i")) return std::nullopt;
    const Handle real(H5Tget_member_type(type, 0));
    const Handle imaginary(H5Tget_member_type(type, 1));
    const std::optional<Dtype> part = dtype_of(real.get());
    if (!part || part != dtype_of(imaginary.get())) return std::nullopt;
    if (part == Dtype::float16) return Dtype::complex32;
    if (part == Dtype::float32) return Dtype::complex64;
    if (part == Dtype::float64) return Dtype::complex128;
    return std::nullopt;
}

}  // namespace

void Handle::reset() {
    if (id_ >= 0) H5Idec_ref(id_);
    id_ = -1;
}

Session::Session() : lock_(library_mutex()) {
    // At exit the library would try again to flush a file that did not fit on its disk, and print an error.
    static const bool once = [] {
        H5dont_atexit();
        H5open();
        // A file must not cause others to be opened.
        H5Lunregister(H5L_TYPE_EXTERNAL);
        return true;
    }();
    static_cast<void>(once);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string last_error_message() {
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &text);
    return text.empty() ? "unknown HDF5 error" : shorten(text);
}

Handle type_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::int8:
            return Handle(H5Tcopy(H5T_STD_I8LE));
        case Dtype::uint8:
            return Handle(H5Tcopy(H5T_STD_U8LE));
        case Dtype::int16:
            return Handle(H5Tcopy(H5T_STD_I16LE));
        case Dtype::uint16:
            return Handle(H5Tcopy(H5T_STD_U16LE));
        case Dtype::int32:
            return Handle(H5Tcopy(H5T_STD_I32LE));
        case Dtype::uint32:
            return Handle(H5Tcopy(H5T_STD_U32LE));
        case Dtype::int64:
            return Handle(H5Tcopy(H5T_STD_I64LE));
        case Dtype::uint64:
            return Handle(H5Tcopy(H5T_STD_U64LE));
        case Dtype::float16:
            return float16_type(5, 10, 15);
        case Dtype::bfloat16:
            return float16_type(8, 7, 127);
        case Dtype::float32:
        case Dtype::tfloat32:
            return Handle(H5Tcopy(H5T_IEEE_F32LE));
        case Dtype::float64:
            return Handle(H5Tcopy(H5T_IEEE_F64LE));
        case Dtype::boolean:
            return bool_type();
        case Dtype::complex32:
            return complex_type(Dtype::float16);
        case Dtype::complex64:
            return complex_type(Dtype::float32);
        case Dtype::complex128:
            return complex_type(Dtype::float64);
        case Dtype::unsupported:
            break;
    }
    return {};
}

Dtype stored_as(Dtype dtype) {
    if (dtype == Dtype::complex32) return Dtype::complex64;
    return dtype == Dtype::tfloat32 ? Dtype::float32 : dtype;
}

std::optional<Dtype> dtype_of(Id type) {
    switch (H5Tget_class(type)) {
        case H5T_INTEGER:
            return integer_dtype(type);
        case H5T_FLOAT:
            return float_dtype(type);
        case H5T_ENUM:
            return enum_dtype(type);
        case H5T_COMPOUND:
            return complex_dtype(type);
        default:
            return std::nullopt;
    }
}

const char* class_of(Id type) {
    switch (H5Tget_class(type)) {
        case H5T_INTEGER:
            return "an integer of unusual size";
        case H5T_FLOAT:
            return "a float of unusual format";
        case H5T_STRING:
            return "a string";
        case H5T_COMPOUND:
            return "a compound other than {r, i}";
        case H5T_ENUM:
            return "an enum other than {FALSE, TRUE}";
        case H5T_VLEN:
            return "a variable-length type";
        case H5T_REFERENCE:
            return "a reference";
        case H5T_ARRAY:
            return "an array type";
        default:
            return "an unknown type";
    }
}

}  // namespace diopi::hdf5
