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
    /// Whether each is a pointer to a number that the function writes.
    static consteval std::array<bool, kMaxArgs> given_numbers() {
        std::array<bool, kMaxArgs> out{};
        size_t i = 0;
        ((out[i++] = std::is_same_v<Args, bool*> || std::is_same_v<Args, double*>), ...);
        return out;
    }
};

/// Removes the text up to the first of `stops` from the front of `text` and returns it.
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

/// Removes the bracket at the front of `text` and returns its content.
constexpr std::string_view take_bracket(std::string_view& text) {
    if (!take_mark(text, '(')) throw "a word that wants something in brackets";
    const std::string_view inside = take_until(text, ")");
    if (inside.empty() || !take_mark(text, ')')) throw "brackets that are empty or not closed";
    return inside;
}

/// Removes a whole number below 128 from the front of `text` and returns it.
constexpr int8_t take_number(std::string_view& text) {
    const std::string_view digits = text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
    if (digits.empty() || digits.size() > 2) throw "a word that wants a number below 100";
    int number = 0;
    for (const char digit : digits) number = 10 * number + (digit - '0');
    text.remove_prefix(digits.size());
    return static_cast<int8_t>(number);
}

/// The row's argument of that name; reaching `throw` fails the compilation.
constexpr int8_t position_of(const Row& row, std::string_view name) {
    for (size_t i = 0; i < row.num_args; ++i) {
        if (row.arg_rows[i].name == name) return static_cast<int8_t>(i);
    }
    throw "a word that names no argument of the row";
}

/// An argument, and the names in its roles, which are looked up once all arguments are known.
struct ParsedArg {
    Arg arg;
    std::string_view reading_of, row_of, place_in, may_be, converted_to, bytes_at, one_for_each;
};

struct ReadingWord {
    std::string_view word;
    Reading reading;
};

constexpr ReadingWord kReadingWords[] = {{"read_for", Reading::for_output},
                                         {"part", Reading::part},
                                         {"replaced", Reading::replaced},
                                         {"upper", Reading::upper},
                                         {"lower", Reading::lower}};

constexpr void take_role(std::string_view& text, ParsedArg& parsed) {
    Arg& arg = parsed.arg;
    const std::string_view word = take_until(text, ":(#=");
    if (word == "unread") {
        arg.reading = Reading::nothing;
    } else if (word == "wider") {
        arg.may_be_wider = true;
    } else if (word == "unwritten") {
        arg.unwritten = true;
    } else if (word == "factor" || word == "minus") {
        arg.is_factor = true;
        arg.is_subtracted = word == "minus";
        arg.influence = Influence::none;
    } else if (word == "value") {
        arg.influence = Influence::none;
    } else if (word == "element") {
        arg.is_element = true;
    } else if (word == "bound") {
        arg.is_bound = true;
    } else if (word == "listed") {
        if (arg.kind != ArgKind::const_tensor) throw "only a const tensor can be listed";
        arg.is_listed = true;
    } else if (word == "divisor") {
        arg.is_divisor = true;
    } else if (word == "negated") {
        if (arg.alias.empty()) throw "a negated argument needs an alias";
        arg.is_negated = true;
    } else if (word == "errs") {
        if (arg.kind != ArgKind::boolean) throw "only a bool can ask for an error";
        arg.asks_for_error = true;
    } else if (word == "exponent") {
        arg.is_exponent = true;
    } else if (word == "choice" || word == "mask") {
        arg.influence = Influence::shape;
        arg.takes_bytes = word == "choice";
    } else if (word == "place_in") {
        parsed.place_in = take_bracket(text);
    } else if (word == "may_be") {
        parsed.may_be = take_bracket(text);
    } else if (word == "as") {
        parsed.converted_to = take_bracket(text);
    } else if (word == "row_of") {
        parsed.row_of = take_bracket(text);
    } else if (word == "workspace") {
        if (!arg.optional || arg.kind != ArgKind::tensor) throw "a workspace is a tensor that may be null";
        parsed.bytes_at = take_bracket(text);
    } else if (word == "one_for_each") {
        parsed.one_for_each = take_bracket(text);
    } else if (word == "tokens") {
        arg.has_tokens = true;
        arg.influence = Influence::none;
    } else if (word == "shape_of") {
        std::string_view of = take_bracket(text);
        arg.shape_of = take_until(of, ".");
        if (take_mark(of, '.')) arg.size_of_dim = take_number(of);
    } else if (word == "zeros_of") {
        arg.zeros_of = take_bracket(text);
    } else if (word == "made") {
        if (arg.kind != ArgKind::tensors) throw "only a pointer to a tensor can be made";
        arg.is_made = true;
    } else if (word == "opaque") {
        if (!arg.optional) throw "an opaque tensor may be null";
        arg.is_opaque = true;
    } else {
        const auto* const found = std::ranges::find(kReadingWords, word, &ReadingWord::word);
        if (found == std::end(kReadingWords)) throw "a word that is no role";
        arg.reading = found->reading;
        parsed.reading_of = take_bracket(text);
    }
}

/// Parses one argument of the row's string; reaching `throw` fails the compilation.
constexpr ParsedArg parse_arg(std::string_view text, ArgKind kind) {
    ParsedArg parsed;
    Arg& arg = parsed.arg;
    arg.kind = kind;
    arg.name = take_until(text, "(&?!@%^:#=");
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
    arg.names_dims = take_mark(text, '^');
    while (take_mark(text, ':')) take_role(text, parsed);
    if (take_mark(text, '#')) arg.list = take_until(text, "=");
    arg.has_default = take_mark(text, '=');
    arg.standard = text;
    if (!arg.has_default && !text.empty()) throw "marks in another order than & ? ! @ % ^ : # =";
    arg.is_output = (kind == ArgKind::tensor || kind == ArgKind::tensors) && !arg.is_inout;
    if (arg.may_be_wider && !arg.is_output) throw "only an output can be wider";
    if (arg.is_output && arg.reading != Reading::all) throw "an output that is said to be read";
    if (arg.unwritten && !arg.is_inout) throw "only an in-out argument can be unwritten";
    return parsed;
}

struct TraitWord {
    std::string_view word;
    bool Traits::*trait;
};

constexpr TraitWord kTraitWords[] = {{"empty", &Traits::empty},       {"zero_dim", &Traits::zero_dim},
                                     {"exact", &Traits::exact},       {"zeros", &Traits::zeros},
                                     {"converts", &Traits::converts}, {"promotes", &Traits::promotes},
                                     {"no_empty", &Traits::no_empty}, {"no_cuda", &Traits::no_cuda}};

constexpr std::string_view kFormulaNames[] = {
    "unknown",
#define DIOPI_WORK(name) #name,
#include "schema/work_formulas.inc"
#undef DIOPI_WORK
};

/// Parses operations: "5", "12*listed_elements", "product".
constexpr WorkOfRow parse_work(std::string_view text) {
    WorkOfRow work;
    if (!text.empty() && text.front() >= '0' && text.front() <= '9') {
        work.operations = static_cast<uint8_t>(take_number(text));
        if (text.empty())
            text = "elements";
        else if (!take_mark(text, '*'))
            throw "work: N, formula or N*formula";
    }
    const auto* const found = std::ranges::find(kFormulaNames, text);
    if (found == std::end(kFormulaNames)) throw "a word that is no formula of work_formulas.inc";
    work.formula = static_cast<WorkFormula>(found - std::begin(kFormulaNames));
    return work;
}

/// The operations per element of all functions of a family whose rows do not state them; 0: memory alone decides.
constexpr WorkOfRow work_of_family(Family family) {
    switch (family) {
        case Family::elementwise:
        case Family::activation:
        case Family::shape:
        case Family::index:
        case Family::random:
        case Family::amp:
            return {WorkFormula::elements, 0};
        case Family::reduction:
            return {WorkFormula::elements, 1};
        case Family::loss:
            return {WorkFormula::elements, 2};
        case Family::optim:
            return {WorkFormula::elements, 6};
        case Family::sort:
        case Family::linear:
        case Family::conv:
        case Family::pool:
        case Family::norm:
        case Family::attention:
        case Family::vision:
        case Family::mmcv:
        case Family::sparse:
            return {};
    }
    return {};
}

/// The dtypes that all functions of a family take whose rows do not state them.
constexpr std::string_view takes_of_family(Family family) {
    switch (family) {
        case Family::elementwise:
        case Family::reduction:
        case Family::sort:
            return "bif";
        case Family::shape:
        case Family::index:
            return "bifc";
        default:
            return "f";
    }
}

struct LawWord {
    std::string_view word;
    Law law;
};

constexpr LawWord kLawWords[] = {
    {"normal", Law::kNormal},           {"uniform", Law::kUniform},         {"integer_uniform", Law::kIntegerUniform},
    {"bernoulli", Law::kBernoulli},     {"permutation", Law::kPermutation}, {"dropout", Law::kDropout},
    {"categorical", Law::kCategorical}, {"attention", Law::kAttention},     {"token", Law::kToken}};

/// Parses a law: "normal(mean,std)", "bernoulli(p)", "permutation".
constexpr LawOfRow parse_law(const Row& row, std::string_view text) {
    LawOfRow out;
    const auto* const found = std::ranges::find(kLawWords, take_until(text, "("), &LawWord::word);
    if (found == std::end(kLawWords)) throw "a word that is no law";
    out.law = found->law;
    if (!text.empty()) {
        std::string_view parameters = take_bracket(text);
        out.a = position_of(row, take_until(parameters, ","));
        if (take_mark(parameters, ',')) out.b = position_of(row, parameters);
    }
    for (int8_t i = 0; out.output < 0; ++i) {
        if (i == row.num_args) throw "a law without a tensor to hold the numbers";
        const Arg& arg = row.arg_rows[static_cast<size_t>(i)];
        if (arg.is_output || (arg.is_inout && !arg.unwritten)) out.output = i;
    }
    return out;
}

/// Parses a summed dim: "out(input.1,weight.1)/groups".
constexpr void parse_sums(Row& row, std::string_view text) {
    SummedDim summed;
    summed.output = position_of(row, take_until(text, "("));
    std::string_view dims = take_bracket(text);
    if (take_mark(text, '/')) summed.groups = position_of(row, text);
    while (!dims.empty()) {
        summed.arg = position_of(row, take_until(dims, "."));
        if (!take_mark(dims, '.')) throw "sums: argument.dim";
        summed.dim = take_number(dims);
        if (!dims.empty() && !take_mark(dims, ',')) throw "sums: a comma between the dims";
        if (row.num_summed_dims == kMaxSummedDims) throw "more summed dims than kMaxSummedDims";
        row.summed_dim_rows[row.num_summed_dims++] = summed;
    }
}

constexpr void parse_fact(Row& row, std::string_view word, std::string_view value) {
    if (word == "ulp") {
        if (row.accuracy != AccuracyClass::C) throw "ulp is for class C";
        row.max_ulp = take_number(value);
    } else if (word == "terms") {
        if (row.accuracy != AccuracyClass::D) throw "terms are for class D";
        row.terms = static_cast<uint8_t>(take_number(value));
    } else if (word == "rank") {
        row.rank = static_cast<uint8_t>(take_number(value));
    } else if (word == "spatial") {
        row.spatial_dims = static_cast<uint8_t>(take_number(value));
    } else if (word == "work") {
        row.work = parse_work(value);
    } else if (word == "law") {
        if (row.accuracy != AccuracyClass::F && row.accuracy != AccuracyClass::E) throw "a law is for classes E and F";
        row.law = parse_law(row, value);
    } else if (word == "sums") {
        parse_sums(row, value);
    } else if (word == "takes") {
        if (value.find_first_not_of("bifc") != std::string_view::npos) throw "takes: letters of bifc";
        row.takes = value;
    } else if (word == "case_only") {
        row.case_only = value;
    } else if (word == "also") {
        row.also = value;
    } else {
        throw "a word that is no fact";
    }
}

/// Parses the words behind the arguments.
constexpr void parse_words(Row& row, std::string_view text) {
    while (!text.empty()) {
        std::string_view word = take_until(text, " ");
        if (!text.empty()) text.remove_prefix(1);
        const std::string_view key = take_until(word, "=");
        if (take_mark(word, '=')) {
            parse_fact(row, key, word);
            continue;
        }
        const auto* const found = std::ranges::find(kTraitWords, key, &TraitWord::word);
        if (found == std::end(kTraitWords)) throw "a word that is no trait";
        row.traits.*(found->trait) = true;
    }
}

constexpr void check_facts(const Row& row) {
    if (row.rule == ShapeRule::unknown) return;
    if (row.accuracy == AccuracyClass::C && row.max_ulp < 1) throw "a row of class C without ulp";
    if (row.accuracy == AccuracyClass::F && row.law.output < 0) throw "a row of class F without a law";
    if (row.work.formula == WorkFormula::unknown) throw "a row without work";
    const bool pools = row.rule == ShapeRule::pool || row.rule == ShapeRule::adaptive_pool;
    if (pools != (row.spatial_dims > 0)) throw "spatial is for poolings, which must state it";
}

template <class Function>
consteval Row make_row(std::string_view function, Family family, std::string_view op, std::string_view overload,
                       Variant variant, ShapeRule rule, AccuracyClass accuracy, Repeat repeat, std::string_view text) {
    Row row;
    row.function = function;
    row.op = op;
    row.overload = overload;
    row.family = family;
    row.variant = variant;
    row.rule = rule;
    row.accuracy = accuracy;
    row.repeat = repeat;
    row.num_args = Parameters<Function>::kCount;
    row.work = work_of_family(family);
    row.takes = takes_of_family(family);
    std::string_view args = take_until(text, "|");
    if (!text.empty()) args.remove_suffix(1);
    const auto kinds = Parameters<Function>::kinds();
    std::array<ParsedArg, kMaxArgs> parsed{};
    for (size_t i = 0; i < row.num_args; ++i) {
        if (args.empty()) throw "fewer arguments than the C function has";
        parsed[i] = parse_arg(take_until(args, ","), kinds[i]);
        row.arg_rows[i] = parsed[i].arg;
        row.arg_rows[i].gives_number = Parameters<Function>::given_numbers()[i];
        if (!args.empty()) args.remove_prefix(2);
    }
    if (!args.empty()) throw "more arguments than the C function has";
    for (size_t i = 0; i < row.num_args; ++i) {
        Arg& arg = row.arg_rows[i];
        if (!parsed[i].reading_of.empty()) arg.reading_of = position_of(row, parsed[i].reading_of);
        if (!parsed[i].row_of.empty()) arg.row_of = position_of(row, parsed[i].row_of);
        if (!parsed[i].one_for_each.empty()) arg.one_for_each = position_of(row, parsed[i].one_for_each);
        if (!parsed[i].place_in.empty()) arg.place_in = position_of(row, parsed[i].place_in);
        if (!parsed[i].may_be.empty()) arg.may_be = position_of(row, parsed[i].may_be);
        if (!parsed[i].converted_to.empty()) arg.converted_to = position_of(row, parsed[i].converted_to);
        if (parsed[i].bytes_at.empty()) continue;
        arg.bytes_at = position_of(row, parsed[i].bytes_at);
        row.has_workspace = true;
    }
    if (!text.empty()) parse_words(row, text.substr(2));
    check_facts(row);
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

bool Row::makes_results() const { return std::ranges::any_of(args(), &Arg::is_made_result); }

bool Row::writes_lowest() const { return rule == ShapeRule::temperature_penalty; }

bool Row::draws_into(std::string_view arg) const {
    const int at = find(arg);
    return at >= 0 && at == law.output && args()[static_cast<size_t>(at)].reading == Reading::nothing;
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
        for (const Row& row : kRows) {
            map[row.op].push_back(&row);
            if (!row.also.empty()) map[row.also].push_back(&row);
        }
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
