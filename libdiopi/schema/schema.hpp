/// Schema: what C cannot say about the functions of the standard, one constexpr row per function.
///
/// A row stands in schema/<family>.inc:
///
///     DIOPI_ROW(diopiAdd, "add", "Tensor", forward, broadcast, B, repeatable, "out, input, other, alpha=1")
///
/// function, operator, overload, variant, shape rule, accuracy class, determinism, arguments. The argument string
/// names the C parameters after ctx in order, each followed by its marks:
///
///     name(alias)&?!@n%^:role#list=default
///
/// (alias)   its name in cases, or the forward output or input that a backward argument stands for
/// &         a non-const tensor that is also read: declared state, or the tensor of an in-place operation
/// ?         may be null
/// !         its values have a meaning (an index, a variance, a share): no other fill than the case's
/// @n        may come channels-last: with n trailing spatial dims, or as many as there are behind dim 1 where n is left
///           out
/// %         an index that may come in 4 bytes instead of 8
/// ^         the number of a dim, or of several
/// :role     what the function does with it; several may follow each other
/// #list     the length of that list argument
/// =default  the value when a case leaves it out
///
/// Other non-const tensors are outputs; everything const is an input. The roles:
///
/// :unread         no element is read: all are overwritten, or only the shape counts
/// :unwritten      non-const by its C type, but left as it is
/// :read_for(out)  its elements are read for the output `out` only
/// :part(x)        no more of its elements are read, or read and written, than `x` has: a lookup
/// :replaced(x)    as many of its elements as `x` has are written, the others stay as they are; none is read
/// :upper(x)       only the triangle of the last two dims above the diagonal `x` is read, the diagonal included
/// :lower(x)       the same below
/// :factor         a factor: it does not affect the result's shape and dtype, and its product is one more rounding
/// :minus          a factor whose product is subtracted
/// :value          replaces elements: it does not affect the result's shape and dtype
/// :element        a number that becomes an element: below 0 it wraps in an unsigned dtype of the first tensor
/// :bound          a number that limits elements: beyond the integers of the result's dtype it is the last of them
/// :divisor        must not be 0 where it is a whole number
/// :exponent       must not be negative where it is a whole number
/// :choice         chooses elements: it affects the result's shape, but not its dtype; bool, or bytes, not 0 if true
/// :mask           the same, bool only
/// :as(out)        is converted to the dtype of the output `out` before anything else
/// :place_in(x)    an output: positions of elements of `x`, along the dim that the call names or in row-major order.
///                 Where elements are equal, the position of each of them is right
/// :may_be(x)      an output that may be the tensor `x`
/// :negated        a bool of which the case states the contrary, under the alias
/// :errs           a bool that asks for an error where the values allow no result; in-out arguments then stay as they
///                 are
/// :row_of(x)      the number of a row of `x`; a negative one of a case counts from the back
/// :one_for_each(n)
///                 a list of generators: as many as the number `n` says
/// :wider          an output that may have a wider dtype than the result's usual one; then the function computes in it
/// :tokens         tokens, lengths or counts, no operands and no indices: any number may stand among them
/// :shape_of(x)    backward: the shape of the forward argument `x`; an integer is its first size,
///                 and the size of dim 1 for :shape_of(x.1)
/// :zeros_of(x)    backward: zeros in the shape of the forward argument `x`, which the function may overwrite
/// :made           an output tensor that the function makes itself, because only it knows the size or the strides
/// :opaque         a tensor that only the implementation that made it can read: the forward function makes it for the
///                 gradients, or leaves it null
/// :workspace(n)   scratch memory of `n` bytes, a number that is read and written: the function stores the size that it
///                 needs where that number is negative, and does nothing else. Cases give neither: call/workspace.hpp
/// :listed         an int32 tensor that cases write as a list of numbers
///
/// After the arguments may stand what the function also takes or promises, as words: "out, input | empty zero_dim".
///
/// empty           tensors with a dim of size 0
/// zero_dim        0-dim tensors
/// exact           sums of products and nothing else: whole numbers that are small enough give exact results
/// zeros           many zeros among its results are no surprise
/// converts        makes a tensor of another dtype or layout of one, and does nothing else
/// promotes        converts each operand to the dtype to which all promote, before it computes: its results jump
/// no_empty        an input without elements is an error
/// no_cuda         no kernel for cuda yet; each other function with a shape rule stands on all backends of ours
/// ulp=N           of class C: the ulp of float32 that it may be off by: of the OpenCL C specification (relative
///                 error as ulps, full profile), or the sum of its parts: sigmoid and silu (exp, a sum and a quotient:
///                 3 + 0.5 + 2.5), gelu (erfc, which has 16, and a product), sgn (hypot, which has 4, and a quotient),
///                 polar (cos, which has 4, and a product); erfinv: of the CUDA mathematical functions, float64's 5
/// terms=N         of class D: the terms of each result, where the shape rule does not tell
/// rank=N          the dims that each factor of a product must have; any number where it is left out
/// spatial=N       the spatial dims of a pooling
/// work=N*formula  operations: N (1 where it is left out) for each of what a formula of work_formulas.inc counts;
///                 work=N: for each element of the largest tensor. Left out: as all functions of the family
/// law=name(a,b)   the law of the random numbers that the first tensor that is written holds, and the arguments that
/// are
///                 its parameters; a tensor has one for each element. Of class E: in cases that say so (`random`), and
///                 the other outputs are as in any case
/// sums=out(x.1,y.0)/groups
///                 the output `out` sums over dim 1 of x together with dim 0 of y, where the number `groups` (it may be
///                 left out) is 1
/// takes=bifc      the dtypes that its first tensor may have: bool, integers, floating and complex ones. Left out: as
///                 all functions of the family
/// case_only=a,b   parameters of a case that no C argument takes
/// also=op         another operator of cases that the function computes
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

/// The action of a function on its operator's tensors.
enum class Variant { forward, inplace, backward, utility };

/// The rule for output shapes and dtypes (infer/). unknown: not described yet.
enum class ShapeRule : uint8_t {
    unknown,
#define DIOPI_SHAPE_RULE(name) name,
#include "schema/shape_rules.inc"
#undef DIOPI_SHAPE_RULE
};

/// Whether the operands of functions of the rule broadcast.
[[nodiscard]] constexpr bool broadcasts(ShapeRule rule) {
    return rule == ShapeRule::broadcast || rule == ShapeRule::broadcast_div || rule == ShapeRule::broadcast_alike ||
           rule == ShapeRule::broadcast_complex || rule == ShapeRule::compare;
}
/// Whether they may have several dtypes, which promote to one.
[[nodiscard]] constexpr bool promotes(ShapeRule rule) {
    return rule == ShapeRule::broadcast || rule == ShapeRule::broadcast_div || rule == ShapeRule::compare;
}

/// The formula for the number of a call's operations (infer/work.hpp). unknown: no formula.
enum class WorkFormula : uint8_t {
    unknown,
#define DIOPI_WORK(name) name,
#include "schema/work_formulas.inc"
#undef DIOPI_WORK
};

/// The laws of random numbers.
enum class Law : uint8_t {
    kNormal,          ///< mean a, standard deviation b
    kUniform,         ///< between a and b; either end is allowed, for rounding reaches it
    kIntegerUniform,  ///< the integers a, a + 1, ..., b - 1
    kBernoulli,       ///< 1 with probability a, else 0
    kPermutation,     ///< each of 0, ..., n - 1 once; a and b are ignored
    kDropout,         ///< the elements of the input, each replaced by 0 with probability a, the others divided by 1 - a
    kCategorical,     ///< numbers of categories with the weights a, a row of them for each row of numbers
    kAttention,       ///< sums of values with shares, each dropped with probability a; b is the scale of the scores
    kToken,           ///< tokens of a generation, by the call's logits, with top p = a and top k = b
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

/// Which elements of a tensor a function reads.
enum class Reading : uint8_t {
    all,
    nothing,
    for_output,  ///< all where the output at `reading_of` is wanted, else none
    part,        ///< no more than the tensor at `reading_of` has
    replaced,    ///< none, and as many as that tensor has are written
    upper,       ///< the triangle above the diagonal at `reading_of`, which is included
    lower
};

/// The influence of an operand on the result's shape and dtype.
enum class Influence : uint8_t {
    both,
    shape,  ///< it chooses elements
    none    ///< a factor, or a value that takes the place of elements
};

struct Arg {
    std::string_view name;
    std::string_view alias;     ///< empty: none
    std::string_view list;      ///< the list whose length this argument is; empty: none
    std::string_view standard;  ///< the default's text
    std::string_view shape_of;  ///< the forward argument whose shape this is; empty: none
    std::string_view zeros_of;  ///< the forward argument in whose shape this has zeros at first; empty: none
    ArgKind kind = ArgKind::int64;
    bool is_output = false;  ///< a tensor (list) that the function writes and does not read
    bool is_inout = false;   ///< a tensor that it reads and writes
    bool optional = false;
    bool is_made = false;    ///< an output that the function makes itself
    bool is_opaque = false;  ///< a tensor that only the implementation that made it can read
    bool has_default = false;
    bool has_meaning = false;     ///< its values mean something: a case's fill is the only sound one
    bool channels_last = false;   ///< a layout of images: channels may be the innermost dim
    int8_t size_of_dim = 0;       ///< the dim of `shape_of` whose size an integer is
    int8_t spatial_dims = -1;     ///< for a channels_last argument; -1: all dims behind the second
    bool four_bytes = false;      ///< an index of 8 bytes that may have 4
    bool unwritten = false;       ///< an inout that the function leaves as it is
    bool is_factor = false;       ///< a product with it is one more rounding
    bool is_subtracted = false;   ///< a factor whose product is subtracted
    bool is_divisor = false;      ///< not 0 where it is a whole number
    bool is_exponent = false;     ///< not negative where it is a whole number
    bool is_negated = false;      ///< true where the alias is false in the case
    bool asks_for_error = false;  ///< a bool: true where values without a result must give an error
    bool is_element = false;      ///< a number that is converted to the dtype of the first tensor that is read
    bool gives_number = false;    ///< a pointer through which the function gives a bool or a double back
    bool is_bound = false;        ///< a number that limits elements
    bool is_listed = false;       ///< a tensor of int32 that cases write as a list
    bool has_tokens = false;      ///< tokens, lengths or counts: any number may stand among them
    bool may_be_wider = false;    ///< an output: of a wider dtype, which is then that of the computation
    bool takes_bytes = false;     ///< of one that chooses elements: uint8 beside bool
    bool names_dims = false;
    Influence influence = Influence::both;
    Reading reading = Reading::all;
    int8_t reading_of = -1;    ///< position of the argument that `reading` speaks of
    int8_t place_in = -1;      ///< position of the tensor in which this output holds places; -1: none
    int8_t may_be = -1;        ///< position of the tensor that this output may be; -1: of none
    int8_t converted_to = -1;  ///< position of the output to whose dtype this tensor is converted first; -1: none
    int8_t row_of = -1;        ///< position of the tensor whose row this number is; -1: none
    int8_t bytes_at = -1;      ///< position of the size in bytes of this scratch memory; -1: it is none
    int8_t one_for_each = -1;  ///< position of the number of a list's generators; -1: none

    [[nodiscard]] constexpr bool is_tensor() const { return kind == ArgKind::tensor || kind == ArgKind::const_tensor; }
    [[nodiscard]] constexpr bool is_tensor_list() const {
        return kind == ArgKind::tensors || kind == ArgKind::const_tensors;
    }
    /// A generator, or a list of them, which the host owns.
    [[nodiscard]] constexpr bool is_generator() const {
        return kind == ArgKind::generator || kind == ArgKind::generators;
    }
    /// A result that the function makes itself, and that rightly outlives the call.
    [[nodiscard]] constexpr bool is_made_result() const { return is_made && !is_opaque; }
    /// A number, a list of numbers, a text or a choice that the call is given beside tensors, generators and memory.
    [[nodiscard]] constexpr bool is_option() const {
        const bool is_memory = is_tensor() || is_tensor_list() || kind == ArgKind::pointer;
        return !is_memory && !is_generator() && list.empty() && !is_output && !gives_number;
    }
    /// Whether a case may use this word for the argument.
    [[nodiscard]] constexpr bool answers_to(std::string_view word) const {
        return word == name || (!alias.empty() && word == alias);
    }
};

inline constexpr size_t kMaxArgs = 28;

/// Additional inputs and properties of a function.
struct Traits {
    bool empty = false;     ///< takes tensors with a dim of size 0
    bool zero_dim = false;  ///< takes 0-dim tensors
    bool exact = false;     ///< nothing but sums of products
    bool zeros = false;     ///< results may well be zeros
    bool converts = false;  ///< makes a tensor of another dtype or layout of one
    bool promotes = false;  ///< converts its operands to their common dtype first
    bool no_empty = false;  ///< an input without elements is an error
    bool no_cuda = false;   ///< has no kernel for cuda yet
};

/// Operations of a call: so many for each of what the formula counts.
struct WorkOfRow {
    WorkFormula formula = WorkFormula::unknown;
    uint8_t operations = 1;
};

/// The law of what a function draws, as positions of arguments.
struct LawOfRow {
    Law law = Law::kUniform;
    int8_t output = -1;     ///< -1: the function draws nothing
    int8_t a = -1, b = -1;  ///< the law's parameters: a number, or a tensor with one for each element; -1: none
};

/// A dim that a function sums over for one of its outputs, as positions of arguments.
struct SummedDim {
    int8_t output = -1;
    int8_t arg = -1;
    int8_t dim = 0;
    int8_t groups = -1;  ///< a number that must be 1; -1: none
};

inline constexpr size_t kMaxSummedDims = 4;

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
    bool has_workspace = false;  ///< an argument is scratch memory
    Traits traits;
    /// Ulp of float32 that accuracy class C allows; 0.5 for a row of another class.
    double max_ulp = 0.5;
    uint8_t terms = 1;         ///< for accuracy class D, if the shape rule does not give it
    uint8_t rank = 0;          ///< rank of a product's factors; 0: any
    uint8_t spatial_dims = 0;  ///< spatial dims of a pooling; 0: none
    WorkOfRow work;
    LawOfRow law;
    std::string_view takes;      ///< letters of the dtypes that its first tensor may have
    std::string_view case_only;  ///< parameters of a case that no C argument takes, between commas
    std::string_view also;       ///< another operator of cases that the function computes; empty: none
    uint8_t num_summed_dims = 0;
    std::array<SummedDim, kMaxSummedDims> summed_dim_rows{};
    std::array<Arg, kMaxArgs> arg_rows{};

    [[nodiscard]] std::span<const Arg> args() const { return {arg_rows.data(), num_args}; }
    [[nodiscard]] std::span<const SummedDim> summed_dims() const { return {summed_dim_rows.data(), num_summed_dims}; }
    /// Position of the argument of that C name, -1 when there is none.
    [[nodiscard]] int find(std::string_view arg) const;
    /// Whether random numbers overwrite the in-out argument, so that what it held before means nothing.
    [[nodiscard]] bool draws_into(std::string_view arg) const;
    /// Whether the function makes results itself.
    [[nodiscard]] bool makes_results() const;
    /// Whether it writes the lowest number of a dtype, which is another one in every dtype.
    [[nodiscard]] bool writes_lowest() const;
    /// Position in the table of every backend.
    [[nodiscard]] size_t index() const;
};

/// Address of a C function of any signature; null when a backend does not implement it.
using AnyFunction = void (*)();

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
