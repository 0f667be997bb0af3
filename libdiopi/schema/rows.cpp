#include <diopi/functions.h>
#include <diopi/functions_ext.h>
#include <diopi/functions_lmdeploy.h>
#include <diopi/functions_mmcv.h>
#include <diopi/functions_sparse.h>

#include <algorithm>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "schema/schema.hpp"

namespace diopi {

namespace {

template <class T>
consteval ArgKind kind_of() {
    if constexpr (std::is_same_v<T, diopiTensorHandle_t>)
        return ArgKind::tensor;
    else if constexpr (std::is_same_v<T, diopiConstTensorHandle_t>)
        return ArgKind::const_tensor;
    else if constexpr (std::is_same_v<T, diopiTensorHandle_t*>)
        return ArgKind::tensors;
    else if constexpr (std::is_same_v<T, diopiConstTensorHandle_t*>)
        return ArgKind::const_tensors;
    else if constexpr (std::is_same_v<T, const diopiScalar_t*> || std::is_same_v<T, diopiScalar_t*>)
        return ArgKind::scalar;
    else if constexpr (std::is_same_v<T, diopiSize_t>)
        return ArgKind::int_list;
    else if constexpr (std::is_same_v<T, diopiSize_t*>)
        return ArgKind::int_list_ptr;
    else if constexpr (std::is_same_v<T, int64_t>)
        return ArgKind::int64;
    else if constexpr (std::is_same_v<T, int32_t>)
        return ArgKind::int32;
    else if constexpr (std::is_same_v<T, float>)
        return ArgKind::float32;
    else if constexpr (std::is_same_v<T, double>)
        return ArgKind::float64;
    else if constexpr (std::is_same_v<T, bool>)
        return ArgKind::boolean;
    else if constexpr (std::is_same_v<T, const char*>)
        return ArgKind::text;
    else if constexpr (std::is_same_v<T, diopiReduction_t>)
        return ArgKind::reduction;
    else if constexpr (std::is_same_v<T, diopiRoundMode_t>)
        return ArgKind::round_mode;
    else if constexpr (std::is_same_v<T, diopiMemoryFormat_t>)
        return ArgKind::memory_format;
    else if constexpr (std::is_same_v<std::remove_const_t<std::remove_pointer_t<T>>, int64_t>)
        return ArgKind::int64_ptr;
    else if constexpr (std::is_same_v<std::remove_const_t<std::remove_pointer_t<T>>, double>)
        return ArgKind::float64_ptr;
    else if constexpr (std::is_same_v<std::remove_const_t<std::remove_pointer_t<T>>, bool>)
        return ArgKind::boolean_ptr;
    else if constexpr (std::is_same_v<T, diopiGeneratorHandle_t>)
        return ArgKind::generator;
    else if constexpr (std::is_same_v<T, diopiGeneratorHandle_t*>)
        return ArgKind::generators;
    else {
        static_assert(std::is_same_v<T, void*>, "a C type that cannot be boxed");
        return ArgKind::pointer;
    }
}

template <class Function>
struct Parameters;

template <class... Args>
struct Parameters<diopiError_t(diopiContextHandle_t, Args...)> {
    static constexpr size_t kCount = sizeof...(Args);
    static_assert(kCount <= kMaxArgs);
    static consteval std::array<ArgKind, kMaxArgs> kinds() {
        std::array<ArgKind, kMaxArgs> out{};
        size_t i = 0;
        ((out[i++] = kind_of<Args>()), ...);
        return out;
    }
};

/// The text up to the first of `stops`, taken off the front of `text`.
constexpr std::string_view take_until(std::string_view& text, std::string_view stops) {
    const size_t end = std::min(text.find_first_of(stops), text.size());
    const std::string_view head = text.substr(0, end);
    text.remove_prefix(end);
    return head;
}

constexpr bool take_mark(std::string_view& text, char mark) {
    if (text.empty() || text.front() != mark) return false;
    text.remove_prefix(1);
    return true;
}

/// Parses one argument of the row's string; reaching `throw` fails the compilation.
constexpr Arg parse_arg(std::string_view text, ArgKind kind) {
    Arg arg;
    arg.kind = kind;
    arg.name = take_until(text, "(&?!@%#=");
    if (arg.name.empty()) throw "an argument without a name";
    if (take_mark(text, '(')) {
        arg.alias = take_until(text, ")");
        if (!take_mark(text, ')')) throw "an alias without its closing bracket";
    }
    arg.is_inout = take_mark(text, '&');
    arg.optional = take_mark(text, '?');
    arg.has_meaning = take_mark(text, '!');
    arg.channels_last = take_mark(text, '@');
    if (arg.channels_last && !text.empty() && text.front() >= '1' && text.front() <= '3') {
        arg.spatial_dims = static_cast<int8_t>(text.front() - '0');
        text.remove_prefix(1);
    }
    arg.four_bytes = take_mark(text, '%');
    if (take_mark(text, '#')) arg.list = take_until(text, "=");
    arg.has_default = take_mark(text, '=');
    arg.standard = text;
    if (!arg.has_default && !text.empty()) throw "marks in another order than & ? ! @ % # =";
    arg.is_output = (kind == ArgKind::tensor || kind == ArgKind::tensors) && !arg.is_inout;
    return arg;
}

/// Parses the words behind the arguments.
constexpr Traits parse_traits(std::string_view text) {
    Traits traits;
    while (!text.empty()) {
        const std::string_view word = take_until(text, " ");
        if (!text.empty()) text.remove_prefix(1);
        if (word == "empty")
            traits.empty = true;
        else if (word == "zero_dim")
            traits.zero_dim = true;
        else if (word == "exact")
            traits.exact = true;
        else if (word == "zeros")
            traits.zeros = true;
        else
            throw "a word that is no trait";
    }
    return traits;
}

template <class Function>
consteval Row make_row(std::string_view function, Family family, std::string_view op, std::string_view overload,
                       Variant variant, ShapeRule rule, AccuracyClass accuracy, Repeat repeat, std::string_view text) {
    Row row{function, op, overload, family, variant, rule, accuracy, repeat, Parameters<Function>::kCount, {}, {}};
    std::string_view args = take_until(text, "|");
    if (!text.empty()) {
        args.remove_suffix(1);
        row.traits = parse_traits(text.substr(2));
    }
    const auto kinds = Parameters<Function>::kinds();
    for (size_t i = 0; i < row.num_args; ++i) {
        if (args.empty()) throw "fewer arguments than the C function has";
        row.arg_rows[i] = parse_arg(take_until(args, ","), kinds[i]);
        if (!args.empty()) args.remove_prefix(2);
    }
    if (!args.empty()) throw "more arguments than the C function has";
    return row;
}

constexpr Row kRows[] = {
#define DIOPI_ROW(function, op, overload, variant, rule, accuracy, repeat, args)                                     \
    make_row<decltype(::function)>(#function, Family::DIOPI_FAMILY, op, overload, Variant::variant, ShapeRule::rule, \
                                   AccuracyClass::accuracy, Repeat::repeat, args),
#include "schema/all.inc"
#undef DIOPI_ROW
};

}  // namespace

std::span<const Row> rows() { return kRows; }

size_t Row::index() const { return static_cast<size_t>(this - kRows); }

int Row::find(std::string_view arg) const {
    for (int i = 0; i < num_args; ++i) {
        if (arg_rows[static_cast<size_t>(i)].name == arg) return i;
    }
    return -1;
}

const Row* find_row(std::string_view function) {
    static const auto index = [] {
        std::unordered_map<std::string_view, const Row*> map;
        for (const Row& row : kRows) map.emplace(row.function, &row);
        return map;
    }();
    const auto found = index.find(function);
    return found == index.end() ? nullptr : found->second;
}

std::span<const Row* const> rows_of(std::string_view op) {
    static const auto index = [] {
        std::unordered_map<std::string_view, std::vector<const Row*>> map;
        for (const Row& row : kRows) map[row.op].push_back(&row);
        return map;
    }();
    const auto found = index.find(op);
    if (found == index.end()) return {};
    return found->second;
}

std::string_view name(Family family) {
    constexpr std::string_view kNames[] = {"elementwise", "activation", "reduction", "sort", "index",  "shape",
                                           "linear",      "conv",       "pool",      "norm", "loss",   "optim",
                                           "random",      "attention",  "vision",    "mmcv", "sparse", "amp"};
    return kNames[static_cast<size_t>(family)];
}

std::string_view name(Variant variant) {
    constexpr std::string_view kNames[] = {"forward", "inplace", "backward", "utility"};
    return kNames[static_cast<size_t>(variant)];
}

std::string_view name(ArgKind kind) {
    constexpr std::string_view kNames[] = {"tensor",        "tensor",   "tensor list", "tensor list", "number",
                                           "integers",      "integers", "integer",     "integer",     "floating",
                                           "floating",      "bool",     "text",        "reduction",   "rounding mode",
                                           "memory format", "integer",  "floating",    "bool",        "generator",
                                           "generators",    "pointer"};
    return kNames[static_cast<size_t>(kind)];
}

}  // namespace diopi
