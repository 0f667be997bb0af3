/// Element types of the standard: names, sizes, kinds and the promotion rules of PyTorch.
#pragma once

#include <diopi/diopirt.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace diopi {

/// The element type of a tensor; values equal diopiDtype_t.
enum class Dtype : int {
    int8 = diopi_dtype_int8,
    uint8 = diopi_dtype_uint8,
    int16 = diopi_dtype_int16,
    uint16 = diopi_dtype_uint16,
    int32 = diopi_dtype_int32,
    uint32 = diopi_dtype_uint32,
    int64 = diopi_dtype_int64,
    uint64 = diopi_dtype_uint64,
    float16 = diopi_dtype_float16,
    float32 = diopi_dtype_float32,
    float64 = diopi_dtype_float64,
    boolean = diopi_dtype_bool,
    bfloat16 = diopi_dtype_bfloat16,
    tfloat32 = diopi_dtype_tfloat32,
    complex32 = diopi_dtype_complex32,
    complex64 = diopi_dtype_complex64,
    complex128 = diopi_dtype_complex128,
    unsupported = diopi_dtype_unsupported,
};

[[nodiscard]] inline diopiDtype_t to_c(Dtype dtype) { return static_cast<diopiDtype_t>(dtype); }
[[nodiscard]] inline Dtype from_c(diopiDtype_t dtype) { return static_cast<Dtype>(dtype); }

/// "float32", "bool", ...: the names that cases, options and reports use.
[[nodiscard]] std::string_view name(Dtype dtype);
[[nodiscard]] std::optional<Dtype> parse_dtype(std::string_view text);
/// The dtype that a word on the command line means: a name in any case, or a short name such as fp16, half, f32,
/// double, i64.
[[nodiscard]] std::optional<Dtype> dtype_of_word(std::string_view word);
/// Every dtype, in the order of the ABI's values.
[[nodiscard]] std::span<const Dtype> all_dtypes();

/// Bytes of one element.
[[nodiscard]] size_t size_of(Dtype dtype);
[[nodiscard]] bool is_floating(Dtype dtype);
[[nodiscard]] bool is_complex(Dtype dtype);
/// Signed and unsigned integers; bool is not one.
[[nodiscard]] bool is_integer(Dtype dtype);
/// Integers without a sign; bool is not one.
[[nodiscard]] bool is_unsigned(Dtype dtype);
/// float16 or bfloat16.
[[nodiscard]] bool is_half(Dtype dtype);
/// Mantissa bits including the hidden one: 11 for float16, 8 for bfloat16, 24, 53.
[[nodiscard]] int significand_bits(Dtype dtype);

/// The integer as an element of an integer dtype: its low bits. One of uint64 has the same bits.
[[nodiscard]] int64_t wrap_integer(int64_t value, Dtype dtype);
/// The integer that is nearest to the value among those of an integer dtype; of uint64 none above those of int64.
[[nodiscard]] int64_t saturate_integer(int64_t value, Dtype dtype);

/// The dtype of an operation on two tensors with the same priority (torch.promote_types).
[[nodiscard]] Dtype promote(Dtype a, Dtype b);
/// The dtype of a tensor of dtype `tensor` (possibly 0-dim) combined with a plain number: the number decides only when
/// its category (bool < integer < floating < complex) is higher; then the default dtype of that category is taken.
[[nodiscard]] Dtype promote_with_number(Dtype tensor, Dtype number);

}  // namespace diopi
