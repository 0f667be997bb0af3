/// Schema: what C cannot say about the functions of the standard, one constexpr row per function.
///
/// A row stands in schema/<family>.inc:
///
///     DIOPI_ROW(diopiAdd, "add", "Tensor", forward, broadcast, B, repeatable, "out, input, other, alpha=1")
///
/// function, operator, overload, variant, shape rule, accuracy class, determinism, arguments. The argument string
/// names the C parameters after ctx in order, each followed by its marks:
///
///     name(alias)&?!@n%#list=default
///
/// (alias)   what cases call it, or the forward output or input that a backward argument stands for
/// &         a non-const tensor that is also read: declared state, or the tensor of an in-place operation
/// ?         may be null
/// !         its values have a meaning (an index, a variance, a share): no other fill than the case's
/// @n        may come channels-last: with n trailing spatial dims, or as many as there are behind dim 1 where n is left
///           out
/// %         an index that may come in 4 bytes instead of 8
/// #list     the length of that list argument
/// =default  the value when a case leaves it out
///
/// Other non-const tensors are outputs; everything const is an input. After the arguments may stand what the function
/// also takes or promises, as words: "out, input | empty zero_dim".
///
/// empty     tensors with a dim of size 0
/// zero_dim  0-dim tensors
/// exact     sums of products and nothing else: whole numbers that are small enough give exact results
/// zeros     many zeros among its results are no surprise
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace diopi {

enum class Family {
    elementwise,
    activation,
    reduction,
    sort,
    index,
    shape,
    linear,
    conv,
    pool,
    norm,
    loss,
    optim,
    random,
    attention,
    vision,
    mmcv,
    sparse,
    amp
};

/// What a function does to its operator's tensors.
enum class Variant { forward, inplace, backward, utility };

/// How output shapes and dtypes follow from the inputs (infer/). unknown: not described yet.
enum class ShapeRule {
    unknown,
#define DIOPI_SHAPE_RULE(name) name,
#include "schema/shape_rules.inc"
#undef DIOPI_SHAPE_RULE
};

/// Accuracy classes A to F of docs/accuracy.md.
enum class AccuracyClass : char { A = 'A', B = 'B', C = 'C', D = 'D', E = 'E', F = 'F' };

/// Whether a second run on the same device must give the same bits.
enum class Repeat { repeatable, varying };

/// The C type of a parameter, as far as boxing goes.
enum class ArgKind : uint8_t {
    tensor,         ///< diopiTensorHandle_t
    const_tensor,   ///< diopiConstTensorHandle_t
    tensors,        ///< diopiTensorHandle_t*: outputs, or one tensor that the callee makes
    const_tensors,  ///< diopiConstTensorHandle_t*
    scalar,         ///< const diopiScalar_t*
    int_list,       ///< diopiSize_t
    int_list_ptr,   ///< diopiSize_t*, may be null
    int64,
    int32,
    float32,
    float64,
    boolean,
    text,           ///< const char*
    reduction,      ///< diopiReduction_t
    round_mode,     ///< diopiRoundMode_t
    memory_format,  ///< diopiMemoryFormat_t
    int64_ptr,      ///< const int64_t*, may be null, or int64_t* to be written
    float64_ptr,    ///< const double* or double*
    boolean_ptr,    ///< const bool* or bool*
    generator,      ///< diopiGeneratorHandle_t
    generators,     ///< diopiGeneratorHandle_t*
    pointer         ///< void*
};

struct Arg {
    std::string_view name;
    std::string_view alias;     ///< empty: none
    std::string_view list;      ///< the list whose length this argument is; empty: none
    std::string_view standard;  ///< the default's text
    ArgKind kind = ArgKind::int64;
    bool is_output = false;  ///< a tensor (list) that the function writes and does not read
    bool is_inout = false;   ///< a tensor that it reads and writes
    bool optional = false;
    bool has_default = false;
    bool has_meaning = false;    ///< its values mean something: a case's fill is the only sound one
    bool channels_last = false;  ///< a layout of images: channels may be the innermost dim
    int8_t spatial_dims = -1;    ///< of a channels_last argument; -1: all dims behind the second
    bool four_bytes = false;     ///< an index of 8 bytes that may have 4

    [[nodiscard]] constexpr bool is_tensor() const { return kind == ArgKind::tensor || kind == ArgKind::const_tensor; }
    [[nodiscard]] constexpr bool is_tensor_list() const {
        return kind == ArgKind::tensors || kind == ArgKind::const_tensors;
    }
    /// Whether a case may use this word for the argument.
    [[nodiscard]] constexpr bool answers_to(std::string_view word) const {
        return word == name || (!alias.empty() && word == alias);
    }
};

inline constexpr size_t kMaxArgs = 28;

/// What a function also takes or promises.
struct Traits {
    bool empty = false;     ///< tensors with a dim of size 0
    bool zero_dim = false;  ///< 0-dim tensors
    bool exact = false;     ///< nothing but sums of products
    bool zeros = false;     ///< results may well be zeros
};

struct Row {
    std::string_view function;  ///< "diopiAddInpScalar"
    std::string_view op;        ///< "add"
    std::string_view overload;  ///< "Scalar"
    Family family = Family::elementwise;
    Variant variant = Variant::forward;
    ShapeRule rule = ShapeRule::unknown;
    AccuracyClass accuracy = AccuracyClass::E;
    Repeat repeat = Repeat::repeatable;
    uint8_t num_args = 0;
    Traits traits;
    std::array<Arg, kMaxArgs> arg_rows{};

    [[nodiscard]] std::span<const Arg> args() const { return {arg_rows.data(), num_args}; }
    /// Position of the argument of that C name, -1 when there is none.
    [[nodiscard]] int find(std::string_view arg) const;
    /// Position in the table of every backend.
    [[nodiscard]] size_t index() const;
};

/// Address of a C function of any signature; null when a backend does not implement it.
using AnyFunction = void (*)();

/// Ulp of float32 that accuracy class C allows the row's function: the OpenCL full profile's, or what its parts add up
/// to. 0.5 for a row of another class.
[[nodiscard]] double max_ulp(const Row& row);

/// All rows, in table order.
[[nodiscard]] std::span<const Row> rows();
/// The row of a C function, null when the standard has none of that name.
[[nodiscard]] const Row* find_row(std::string_view function);
/// The rows of one operator, empty when there is none.
[[nodiscard]] std::span<const Row* const> rows_of(std::string_view op);

[[nodiscard]] std::string_view name(Family family);
[[nodiscard]] std::string_view name(Variant variant);
[[nodiscard]] std::string_view name(ArgKind kind);

}  // namespace diopi
