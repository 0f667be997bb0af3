#include "core/dtype.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "core/text.hpp"

namespace diopi {

namespace {

enum class Category { kBool, kInteger, kFloating, kComplex, kNone };

struct DtypeRow {
    Dtype dtype;
    std::string_view name;
    size_t size;
    Category category;
    int significand_bits;
};

constexpr std::array kRows = {
    DtypeRow{Dtype::int8, "int8", 1, Category::kInteger, 7},
    DtypeRow{Dtype::uint8, "uint8", 1, Category::kInteger, 8},
    DtypeRow{Dtype::int16, "int16", 2, Category::kInteger, 15},
    DtypeRow{Dtype::uint16, "uint16", 2, Category::kInteger, 16},
    DtypeRow{Dtype::int32, "int32", 4, Category::kInteger, 31},
    DtypeRow{Dtype::uint32, "uint32", 4, Category::kInteger, 32},
    DtypeRow{Dtype::int64, "int64", 8, Category::kInteger, 63},
    DtypeRow{Dtype::uint64, "uint64", 8, Category::kInteger, 64},
    DtypeRow{Dtype::float16, "float16", 2, Category::kFloating, 11},
    DtypeRow{Dtype::float32, "float32", 4, Category::kFloating, 24},
    DtypeRow{Dtype::float64, "float64", 8, Category::kFloating, 53},
    DtypeRow{Dtype::boolean, "bool", 1, Category::kBool, 1},
    DtypeRow{Dtype::bfloat16, "bfloat16", 2, Category::kFloating, 8},
    DtypeRow{Dtype::tfloat32, "tfloat32", 4, Category::kFloating, 11},
    DtypeRow{Dtype::complex32, "complex32", 4, Category::kComplex, 11},
    DtypeRow{Dtype::complex64, "complex64", 8, Category::kComplex, 24},
    DtypeRow{Dtype::complex128, "complex128", 16, Category::kComplex, 53},
};
/// Other names, as NumPy, PyTorch, compilers and users write them.
constexpr std::pair<std::string_view, Dtype> kShortNames[] = {
    {"i8", Dtype::int8},           {"char", Dtype::int8},        {"u8", Dtype::uint8},
    {"byte", Dtype::uint8},        {"i16", Dtype::int16},        {"short", Dtype::int16},
    {"u16", Dtype::uint16},        {"i32", Dtype::int32},        {"int", Dtype::int32},
    {"u32", Dtype::uint32},        {"i64", Dtype::int64},        {"long", Dtype::int64},
    {"u64", Dtype::uint64},        {"fp16", Dtype::float16},     {"f16", Dtype::float16},
    {"half", Dtype::float16},      {"bf16", Dtype::bfloat16},    {"fp32", Dtype::float32},
    {"f32", Dtype::float32},       {"float", Dtype::float32},    {"single", Dtype::float32},
    {"fp64", Dtype::float64},      {"f64", Dtype::float64},      {"double", Dtype::float64},
    {"boolean", Dtype::boolean},   {"tf32", Dtype::tfloat32},    {"c32", Dtype::complex32},
    {"c64", Dtype::complex64},     {"cfloat", Dtype::complex64}, {"c128", Dtype::complex128},
    {"cdouble", Dtype::complex128}};
constexpr DtypeRow kUnsupported{Dtype::unsupported, "unsupported", 0, Category::kNone, 0};

constexpr std::array kAll = [] {
    std::array<Dtype, kRows.size()> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = kRows[i].dtype;
    return all;
}();

const DtypeRow& row(Dtype dtype) {
    const auto index = static_cast<size_t>(dtype);
    return index < kRows.size() ? kRows[index] : kUnsupported;
}

Dtype complex_of(Dtype dtype) {
    if (is_complex(dtype)) return dtype;
    return dtype == Dtype::float64 ? Dtype::complex128 : dtype == Dtype::float16 ? Dtype::complex32 : Dtype::complex64;
}

Dtype promote_integers(Dtype a, Dtype b) {
    if (a == b) return a;
    const bool signed_a = !is_unsigned(a), signed_b = !is_unsigned(b);
    if (signed_a == signed_b) return size_of(a) >= size_of(b) ? a : b;
    const Dtype with_sign = signed_a ? a : b;
    const Dtype without = signed_a ? b : a;
    if (size_of(with_sign) > size_of(without)) return with_sign;
    switch (size_of(without)) {
        case 1:
            return Dtype::int16;
        case 2:
            return Dtype::int32;
        default:
            return Dtype::int64;
    }
}

}  // namespace

std::string_view name(Dtype dtype) { return row(dtype).name; }

std::optional<Dtype> parse_dtype(std::string_view text) {
    for (const DtypeRow& r : kRows) {
        if (r.name == text) return r.dtype;
    }
    return std::nullopt;
}

std::optional<Dtype> dtype_of_word(std::string_view word) {
    const std::string small = lower_case(word);
    const auto found = std::ranges::find(kShortNames, small, &std::pair<std::string_view, Dtype>::first);
    return found != std::end(kShortNames) ? found->second : parse_dtype(small);
}

std::span<const Dtype> all_dtypes() { return kAll; }
size_t size_of(Dtype dtype) { return row(dtype).size; }
bool is_floating(Dtype dtype) { return row(dtype).category == Category::kFloating; }
bool is_complex(Dtype dtype) { return row(dtype).category == Category::kComplex; }
bool is_integer(Dtype dtype) { return row(dtype).category == Category::kInteger; }
bool is_unsigned(Dtype dtype) { return is_integer(dtype) && significand_bits(dtype) % 8 == 0; }
bool is_half(Dtype dtype) { return dtype == Dtype::float16 || dtype == Dtype::bfloat16; }
int significand_bits(Dtype dtype) { return row(dtype).significand_bits; }

int64_t wrap_integer(int64_t value, Dtype dtype) {
    const size_t dropped = 64 - 8 * size_of(dtype);
    const uint64_t bits = static_cast<uint64_t>(value) << dropped;
    return is_unsigned(dtype) ? static_cast<int64_t>(bits >> dropped) : static_cast<int64_t>(bits) >> dropped;
}

int64_t saturate_integer(int64_t value, Dtype dtype) {
    const auto bits = static_cast<int>(8 * size_of(dtype)) - (is_unsigned(dtype) ? 0 : 1);
    const int64_t largest = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
    return std::clamp(value, is_unsigned(dtype) ? 0 : -largest - 1, largest);
}

Dtype promote(Dtype a, Dtype b) {
    if (a == b) return a;
    const Category ca = row(a).category;
    const Category cb = row(b).category;
    if (ca == Category::kComplex || cb == Category::kComplex) {
        const Dtype x = ca < Category::kFloating ? b : complex_of(a);
        const Dtype y = cb < Category::kFloating ? a : complex_of(b);
        return size_of(x) >= size_of(y) ? x : y;
    }
    if (ca != cb) return ca > cb ? a : b;
    if (ca == Category::kInteger) return promote_integers(a, b);
    if (is_half(a) && is_half(b)) return Dtype::float32;
    return size_of(a) >= size_of(b) ? a : b;
}

Dtype promote_with_number(Dtype tensor, Dtype number) {
    if (row(number).category <= row(tensor).category) return tensor;
    switch (row(number).category) {
        case Category::kInteger:
            return Dtype::int64;
        case Category::kFloating:
            return Dtype::float32;
        case Category::kComplex:
            return complex_of(tensor);
        case Category::kBool:
        case Category::kNone:
            break;
    }
    return tensor;
}

}  // namespace diopi
