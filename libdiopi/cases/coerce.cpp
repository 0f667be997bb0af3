#include "cases/coerce.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "infer/infer.hpp"

namespace diopi {

namespace {

Error wrong(const Arg& arg, const char* came) {
    return bad_input("argument " + std::string(arg.name) + " wants a " + std::string(name(arg.kind)) + ", got " + came);
}

const char* kind_of(const Param& param) {
    constexpr const char* kNames[] = {"null", "a bool", "an integer", "a floating number", "text", "a list"};
    return kNames[param.value.index()];
}

std::optional<double> floating(const Param& param) {
    if (const auto* x = std::get_if<double>(&param.value)) return *x;
    if (const auto* x = std::get_if<int64_t>(&param.value)) return static_cast<double>(*x);
    if (const auto* x = std::get_if<bool>(&param.value)) return *x ? 1.0 : 0.0;
    if (const auto* x = std::get_if<std::string>(&param.value)) {
        if (*x == "inf") return HUGE_VAL;
        if (*x == "-inf") return -HUGE_VAL;
        if (*x == "nan") return std::nan("");
    }
    return std::nullopt;
}

std::optional<int64_t> integer(const Param& param) {
    if (const auto* x = std::get_if<int64_t>(&param.value)) return *x;
    if (const auto* x = std::get_if<bool>(&param.value)) return *x ? 1 : 0;
    const auto* real = std::get_if<double>(&param.value);
    if (real != nullptr && std::fabs(*real) < 0x1p63 && *real == std::floor(*real)) return static_cast<int64_t>(*real);
    return std::nullopt;
}

Result<Value> scalar(const Arg& arg, const Param& param) {
    if (const auto* x = std::get_if<bool>(&param.value)) return Value(Scalar::of(*x));
    if (const auto* x = std::get_if<int64_t>(&param.value)) return Value(Scalar::of(*x));
    if (const auto x = floating(param)) return Value(Scalar::of(*x));
    return wrong(arg, kind_of(param));
}

Result<Value> int_list(const Arg& arg, const Param& param) {
    const auto item = [](const Param& p) -> std::optional<int64_t> {
        if (std::holds_alternative<std::monostate>(p.value)) return kFromInput;
        return integer(p);
    };
    IntList out;
    if (const auto* list = std::get_if<std::vector<Param>>(&param.value)) {
        for (const Param& p : *list) {
            const auto x = item(p);
            if (!x) return wrong(arg, kind_of(p));
            out.push_back(*x);
        }
        return Value(std::move(out));
    }
    const auto x = item(param);
    if (!x) return wrong(arg, kind_of(param));
    out.push_back(*x);
    return Value(std::move(out));
}

struct Word {
    ArgKind kind;
    std::string_view text;
    int64_t value;
};

/// The words for the enumerations of the standard.
constexpr Word kWords[] = {
    {ArgKind::reduction, "none", ReductionNone},
    {ArgKind::reduction, "mean", ReductionMean},
    {ArgKind::reduction, "sum", ReductionSum},
    {ArgKind::round_mode, "none", RoundModeNone},
    {ArgKind::round_mode, "trunc", RoundModeTrunc},
    {ArgKind::round_mode, "floor", RoundModeFloor},
    {ArgKind::memory_format, "contiguous", diopiMemoryFormat_Contiguous},
    {ArgKind::memory_format, "channels_last", diopiMemoryFormat_ChannelsLast},
    {ArgKind::memory_format, "channels_last_3d", diopiMemoryFormat_ChannelsLast3d},
    {ArgKind::memory_format, "preserve", diopiMemoryFormat_Preserve},
    {ArgKind::memory_format, "channels_last_1d", diopiMemoryFormat_ChannelsLast1d},
    // compute_mode of cdist.
    {ArgKind::int64_ptr, "use_mm_for_euclid_dist_if_necessary", 0},
    {ArgKind::int64_ptr, "use_mm_for_euclid_dist", 1},
    {ArgKind::int64_ptr, "donot_use_mm_for_euclid_dist", 2},
};

Result<Value> word(const Arg& arg, const Param& param) {
    const auto* text = std::get_if<std::string>(&param.value);
    std::string known;
    for (const Word& w : kWords) {
        if (w.kind != arg.kind) continue;
        if (text != nullptr && *text == w.text) return Value(w.value);
        known += (known.empty() ? "" : ", ") + std::string(w.text);
    }
    const std::string came = text == nullptr ? kind_of(param) : "'" + *text + "'";
    return bad_input("argument " + std::string(arg.name) + " wants one of " + known + ", got " + came);
}

/// The text of a default as the parameter of a case.
Param parse_default(std::string_view text) {
    if (text == "[]") return {std::vector<Param>{}};
    if (text == "true" || text == "false") return {text == "true"};
    int64_t whole = 0;
    const char* end = text.data() + text.size();
    if (const auto r = std::from_chars(text.data(), end, whole); r.ec == std::errc() && r.ptr == end) return {whole};
    double real = 0;
    if (const auto r = std::from_chars(text.data(), end, real); r.ec == std::errc() && r.ptr == end) return {real};
    return {std::string(text)};
}

}  // namespace

Result<Value> coerce(const Arg& arg, const Param& param) {
    if (std::holds_alternative<std::monostate>(param.value) && arg.optional) return Value();
    switch (arg.kind) {
        case ArgKind::scalar:
            return scalar(arg, param);
        case ArgKind::int_list:
        case ArgKind::int_list_ptr:
            return int_list(arg, param);
        case ArgKind::int64:
        case ArgKind::int32:
        case ArgKind::int64_ptr:
            if (const auto x = integer(param)) return Value(*x);
            if (arg.kind == ArgKind::int64_ptr && std::holds_alternative<std::string>(param.value))
                return word(arg, param);
            return wrong(arg, kind_of(param));
        case ArgKind::float32:
        case ArgKind::float64:
        case ArgKind::float64_ptr:
            if (const auto x = floating(param)) return Value(*x);
            return wrong(arg, kind_of(param));
        case ArgKind::boolean:
        case ArgKind::boolean_ptr:
            if (const auto x = integer(param)) return Value(*x != 0);
            return wrong(arg, kind_of(param));
        case ArgKind::text:
            if (const auto* x = std::get_if<std::string>(&param.value)) return Value(*x);
            return wrong(arg, kind_of(param));
        case ArgKind::reduction:
        case ArgKind::round_mode:
        case ArgKind::memory_format:
            return word(arg, param);
        case ArgKind::tensor:
        case ArgKind::const_tensor:
        case ArgKind::tensors:
        case ArgKind::const_tensors:
        case ArgKind::generator:
        case ArgKind::generators:
        case ArgKind::pointer:
            break;
    }
    if (std::holds_alternative<std::monostate>(param.value)) return Value();
    return wrong(arg, kind_of(param));
}

Result<Value> default_value(const Arg& arg) {
    if (arg.has_default) return coerce(arg, parse_default(arg.standard));
    if (arg.optional) return Value();
    return bad_input("argument " + std::string(arg.name) + " is missing; it is a " + std::string(name(arg.kind)));
}

}  // namespace diopi
