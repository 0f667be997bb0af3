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

// Words: the C type, the parameter's name, and the argument for the implementation.
#define DIOPI_WORD_OUT(name) diopiTensorHandle_t, name, name
#define DIOPI_WORD_INOUT(name) diopiTensorHandle_t, name, name, name
#define DIOPI_WORD_IN(name) diopiConstTensorHandle_t, name, name
// Followed by null, in the place of an argument that only another function of the implementation has.
#define DIOPI_WORD_OUT_NULL(name) diopiTensorHandle_t, name, name, nullptr
#define DIOPI_WORD_IN_NULL(name) diopiConstTensorHandle_t, name, name, nullptr
#define DIOPI_WORD_LIST(name) diopiConstTensorHandle_t*, name, name
#define DIOPI_WORD_NUMBER(name) const diopiScalar_t*, name, name
#define DIOPI_WORD_INT(name) int64_t, name, name
#define DIOPI_WORD_INT_OR_NULL(name) const int64_t*, name, name
#define DIOPI_WORD_INTS(name) diopiSize_t, name, name
#define DIOPI_WORD_SIZES(name) diopiSize_t*, name, name
#define DIOPI_WORD_REAL(name) double, name, name
#define DIOPI_WORD_FLOAT(name) float, name, name
#define DIOPI_WORD_BOOL(name) bool, name, name
#define DIOPI_WORD_TEXT(name) const char*, name, name
#define DIOPI_WORD_DTYPE(name) diopiDtype_t, name, name
#define DIOPI_WORD_REDUCTION(name) diopiReduction_t, name, name
#define DIOPI_WORD_ROUNDING(name) diopiRoundMode_t, name, name
#define DIOPI_WORD_GENERATOR(name) diopiGeneratorHandle_t, name, name

#define DIOPI_PARAMETER(...) DIOPI_PARAMETER_OF(__VA_ARGS__)
#define DIOPI_PARAMETER_OF(type, name, ...) type name
#define DIOPI_ARGUMENT(...) DIOPI_ARGUMENT_OF(__VA_ARGS__)
#define DIOPI_ARGUMENT_OF(type, name, ...) __VA_ARGS__

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

/// The one C function diopi<name>(ctx, parameters...).
#define ENTRY(name, implementation, ...)                                                          \
    diopiError_t diopi##name(diopiContextHandle_t ctx DIOPI_EACH(DIOPI_PARAMETER, __VA_ARGS__)) { \
        return implementation(ctx, __func__ DIOPI_EACH(DIOPI_ARGUMENT, __VA_ARGS__));             \
    }

/// The same, with an implementation for images of any number of sides.
#define SIDED_ENTRY(name, implementation, sides, ...)                                             \
    diopiError_t diopi##name(diopiContextHandle_t ctx DIOPI_EACH(DIOPI_PARAMETER, __VA_ARGS__)) { \
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
