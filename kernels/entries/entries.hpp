/// The C functions of a family, written once for all backends. A list (<family>.inc or <family>_<sub>.inc) has one line
/// per operator, and each backend's source of the same name includes it, inside its namespace, behind its formulas:
///
///     UNARY(Exp)                         kernels/entries/elementwise_math.inc
///     BINARY(Add, add, NUMBER(alpha))    kernels/entries/elementwise.inc
///
/// A line defines the C functions of the operator, which call an implementation of the backend:
///
///     diopiError_t diopiExp(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
///         return map_unary<Exp>(ctx, __func__, out, input);
///     }
///
/// The implementation gets the context, the name of the C function for its messages, and the arguments; an in-place
/// function passes its tensor twice, as out and as input. It is a function, or a function template of a formula, that
/// the backend defines under that name. A backend that includes a list must implement all of it: operators that some
/// backend lacks are in another list.
///
/// Parameters are written as WORD(name), with a word of the table below. A wrong word makes a function of another type
/// than the header's, which tests/check_symbols.py names.
#pragma once

#include <span>
#include <string>

#include "runtime/context.hpp"

namespace diopi {

/// An argument of a C function that must not be null; without a name it may be.
struct NeededPointer {
    const char* name = nullptr;
    const void* pointer = nullptr;
};

/// The name of the first one that is null; null if there is none.
inline const char* first_null(std::span<const NeededPointer> needed) {
    for (const NeededPointer& each : needed) {
        if (each.pointer == nullptr && each.name != nullptr) return each.name;
    }
    return nullptr;
}

[[gnu::cold, gnu::noinline]] inline diopiError_t null_argument(const char* op, const char* name) {
    set_last_error(std::string(op) + ": " + name + " is null");
    return diopiErrorOccurred;
}

}  // namespace diopi

// Words: whether null is refused, the C type, the parameter's name, and the argument for the implementation.
#define DIOPI_WORD_OUT(name) NEEDED, diopiTensorHandle_t, name, name
#define DIOPI_WORD_OUT_OR_NULL(name) FREE, diopiTensorHandle_t, name, name
#define DIOPI_WORD_INOUT(name) NEEDED, diopiTensorHandle_t, name, name, name
#define DIOPI_WORD_IN(name) NEEDED, diopiConstTensorHandle_t, name, name
#define DIOPI_WORD_IN_OR_NULL(name) FREE, diopiConstTensorHandle_t, name, name
// Followed by null, in the place of an argument that only another function of the implementation has. The input may be
// null itself.
#define DIOPI_WORD_OUT_NULL(name) NEEDED, diopiTensorHandle_t, name, name, nullptr
#define DIOPI_WORD_IN_NULL(name) FREE, diopiConstTensorHandle_t, name, name, nullptr
// A pointer through which the function returns a tensor that it makes, and an array of outputs.
#define DIOPI_WORD_MADE(name) NEEDED, diopiTensorHandle_t*, name, name
#define DIOPI_WORD_OUTS(name) NEEDED, diopiTensorHandle_t*, name, name
#define DIOPI_WORD_INOUTS(name) NEEDED, diopiTensorHandle_t*, name, name, name
#define DIOPI_WORD_OUTS_OR_NULL(name) FREE, diopiTensorHandle_t*, name, name
#define DIOPI_WORD_LIST(name) FREE, diopiConstTensorHandle_t*, name, name
#define DIOPI_WORD_NUMBER(name) NEEDED, const diopiScalar_t*, name, name
#define DIOPI_WORD_NUMBER_OR_NULL(name) FREE, const diopiScalar_t*, name, name
#define DIOPI_WORD_NUMBER_READ(name) NEEDED, diopiScalar_t*, name, name  // not const, but only read
#define DIOPI_WORD_INT(name) FREE, int64_t, name, name
#define DIOPI_WORD_INT32(name) FREE, int32_t, name, name
#define DIOPI_WORD_INT_OR_NULL(name) FREE, const int64_t*, name, name
#define DIOPI_WORD_INTS(name) FREE, diopiSize_t, name, name
#define DIOPI_WORD_SIZES(name) FREE, diopiSize_t*, name, name
#define DIOPI_WORD_REAL(name) FREE, double, name, name
#define DIOPI_WORD_REAL_OR_NULL(name) FREE, const double*, name, name
#define DIOPI_WORD_FLOAT(name) FREE, float, name, name
#define DIOPI_WORD_BOOL(name) FREE, bool, name, name
#define DIOPI_WORD_TRUTH(name) NEEDED, bool*, name, name
#define DIOPI_WORD_BOOL_OR_NULL(name) FREE, const bool*, name, name
#define DIOPI_WORD_TEXT(name) FREE, const char*, name, name
#define DIOPI_WORD_DTYPE(name) FREE, diopiDtype_t, name, name
#define DIOPI_WORD_FORMAT(name) FREE, diopiMemoryFormat_t, name, name
#define DIOPI_WORD_INT_RESULT(name) NEEDED, int64_t*, name, name
#define DIOPI_WORD_REAL_RESULT(name) NEEDED, double*, name, name
#define DIOPI_WORD_MADE_OR_NULL(name) FREE, diopiTensorHandle_t*, name, name
#define DIOPI_WORD_ADDRESS(name) FREE, void*, name, name
#define DIOPI_WORD_REDUCTION(name) FREE, diopiReduction_t, name, name
#define DIOPI_WORD_ROUNDING(name) FREE, diopiRoundMode_t, name, name
#define DIOPI_WORD_GENERATOR(name) FREE, diopiGeneratorHandle_t, name, name
#define DIOPI_WORD_GENERATORS(name) FREE, diopiGeneratorHandle_t*, name, name

#define DIOPI_PARAMETER(...) DIOPI_PARAMETER_OF(__VA_ARGS__)
#define DIOPI_PARAMETER_OF(needed, type, name, ...) type name
#define DIOPI_ARGUMENT(...) DIOPI_ARGUMENT_OF(__VA_ARGS__)
#define DIOPI_ARGUMENT_OF(needed, type, name, ...) __VA_ARGS__
#define DIOPI_NEED(...) DIOPI_NEED_OF(__VA_ARGS__)
#define DIOPI_NEED_OF(needed, type, name, ...) DIOPI_##needed(name)
#define DIOPI_NEEDED(name) \
    { #name, name }
#define DIOPI_FREE(name) \
    {}

// ", form(word)" for each word, 27 at most.
#define DIOPI_EACH(form, ...) __VA_OPT__(DIOPI_EXPAND(DIOPI_EACH_OF(form, __VA_ARGS__)))
#define DIOPI_EACH_OF(form, word, ...) \
    , form(DIOPI_WORD_##word) __VA_OPT__(DIOPI_EACH_AGAIN DIOPI_PARENTHESES(form, __VA_ARGS__))
#define DIOPI_EACH_AGAIN() DIOPI_EACH_OF
#define DIOPI_PARENTHESES ()
#define DIOPI_EXPAND(...) DIOPI_EXPAND_9(DIOPI_EXPAND_9(DIOPI_EXPAND_9(__VA_ARGS__)))
#define DIOPI_EXPAND_9(...) DIOPI_EXPAND_3(DIOPI_EXPAND_3(DIOPI_EXPAND_3(__VA_ARGS__)))
#define DIOPI_EXPAND_3(...) DIOPI_EXPAND_1(DIOPI_EXPAND_1(DIOPI_EXPAND_1(__VA_ARGS__)))
#define DIOPI_EXPAND_1(...) __VA_ARGS__

/// Ends a C function whose context or needed arguments are null.
#define DIOPI_REFUSE_NULL(...)                                                                  \
    const ::diopi::NeededPointer needed[] = {{"ctx", ctx} DIOPI_EACH(DIOPI_NEED, __VA_ARGS__)}; \
    if (const char* null = ::diopi::first_null(needed)) return ::diopi::null_argument(__func__, null);

/// The one C function diopi<name>(ctx, parameters...).
#define ENTRY(name, implementation, ...)                                                          \
    diopiError_t diopi##name(diopiContextHandle_t ctx DIOPI_EACH(DIOPI_PARAMETER, __VA_ARGS__)) { \
        DIOPI_REFUSE_NULL(__VA_ARGS__)                                                            \
        return implementation(ctx, __func__ DIOPI_EACH(DIOPI_ARGUMENT, __VA_ARGS__));             \
    }

/// The same, with an implementation for images of any number of sides.
#define SIDED_ENTRY(name, implementation, sides, ...)                                             \
    diopiError_t diopi##name(diopiContextHandle_t ctx DIOPI_EACH(DIOPI_PARAMETER, __VA_ARGS__)) { \
        DIOPI_REFUSE_NULL(__VA_ARGS__)                                                            \
        return implementation(ctx, __func__, sides DIOPI_EACH(DIOPI_ARGUMENT, __VA_ARGS__));      \
    }

/// diopi<name><suffix>(ctx, out, input, parameters...) and diopi<name>Inp<suffix>(ctx, input, parameters...). The
/// suffix may be empty.
#define PAIR(name, suffix, implementation, ...)                                         \
    ENTRY(name##suffix, implementation, OUT(out), IN(input) __VA_OPT__(, ) __VA_ARGS__) \
    ENTRY(name##Inp##suffix, implementation, INOUT(input) __VA_OPT__(, ) __VA_ARGS__)

/// A formula of one element, into out and in place: map_unary<name>.
#define UNARY(name) PAIR(name, , map_unary<name>)

/// Two operands: `other` is a tensor, or a number in the functions ...Scalar; into out and in place.
#define BINARY(name, implementation, ...)                              \
    PAIR(name, , implementation, IN(other) __VA_OPT__(, ) __VA_ARGS__) \
    PAIR(name, Scalar, implementation, NUMBER(other) __VA_OPT__(, ) __VA_ARGS__)

/// The gradient of a formula of one element, which needs the forward function's `saved` input or output:
/// map_gradient<name + Backward>.
#define GRADIENT(name, saved) \
    ENTRY(name##Backward, map_gradient<name##Backward>, OUT(grad_input), IN(grad_output), IN(saved))
