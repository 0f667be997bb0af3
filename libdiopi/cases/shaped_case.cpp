#include "cases/shaped_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "cases/bind.hpp"
#include "cases/param_json.hpp"
#include "cases/plan.hpp"
#include "core/extent.hpp"
#include "core/suggest.hpp"
#include "schema/schema.hpp"

namespace diopi {

namespace {

Result<Shape> parse_shape(const std::string& text) {
    Shape shape;
    if (text == "scalar") return shape;
    const char* at = text.data();
    const char* end = at + text.size();
    for (;;) {
        int64_t size = 0;
        const auto [next, error] = std::from_chars(at, end, size);
        if (error != std::errc() || size < 0 || (next != end && *next != 'x')) break;
        shape.push_back(size);
        if (next == end && is_addressable(shape)) return shape;
        if (next == end) break;
        at = next + 1;
    }
    return bad_input("--shape: '" + text + "' is no shape; write 32x64x128, or scalar for no dims");
}

/// Parses NAME=VALUE with a JSON value; a word without quotes is a text.
Result<std::pair<std::string, Param>> parse_param(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        return bad_input("--param: '" + text + "' is no NAME=VALUE; write dim=1 or kernel_size=[3,3]");
    }
    const std::string value = text.substr(equals + 1);
    Param param;
    if (const auto json = parse_json(value, "--param " + text); json.ok()) {
        JsonReader reader("--param " + text, *json);
        if (!read_param(reader, *json, param)) return reader.error();
    } else {
        param.value = value;
    }
    return std::pair{text.substr(0, equals), std::move(param)};
}

bool is_given(const Arg& arg) { return arg.is_tensor() && !arg.is_output; }

/// The arguments of the operator's functions, for a message.
std::string signatures(const std::string& op) {
    std::string text;
    for (const Row* row : rows_of(op)) {
        if (row->variant != Variant::forward && row->variant != Variant::inplace) continue;
        std::vector<std::string> names;
        for (const Arg& arg : row->args()) {
            if (is_given(arg)) names.push_back(std::string(arg.name) + (arg.optional ? "?" : ""));
        }
        text += fmt::format("{}{}({})", text.empty() ? "" : ", ", row->function, fmt::join(names, ", "));
    }
    return text;
}

/// The function with this number of tensors.
const Row* row_for(const std::string& op, size_t tensors) {
    for (const Variant variant : {Variant::forward, Variant::inplace}) {
        for (const Row* row : rows_of(op)) {
            const auto all = static_cast<size_t>(std::ranges::count_if(row->args(), is_given));
            const auto needed = static_cast<size_t>(
                std::ranges::count_if(row->args(), [](const Arg& arg) { return is_given(arg) && !arg.optional; }));
            if (row->variant == variant && needed <= tensors && tensors <= all) return row;
        }
    }
    return nullptr;
}

}  // namespace

Result<Case> make_shaped_case(const ShapedCase& wanted) {
    if (rows_of(wanted.op).empty()) return unknown_operator(wanted.op);
    const Row* row = row_for(wanted.op, wanted.shapes.size());
    if (row == nullptr) {
        return bad_input(fmt::format("--shape: no function of {} takes {} tensors; there are: {}", wanted.op,
                                     wanted.shapes.size(), signatures(wanted.op)));
    }
    const auto dtype = dtype_of_word(wanted.dtype);
    if (!dtype) {
        std::vector<std::string> known;
        for (const Dtype each : all_dtypes()) known.emplace_back(name(each));
        return bad_input("there is no dtype '" + wanted.dtype + "'" + did_you_mean(wanted.dtype, known));
    }
    Case made;
    made.suite = "command";
    made.group = "line";
    made.op = wanted.op;
    made.varied = true;
    size_t next = 0;
    for (const Arg& arg : row->args()) {
        if (!is_given(arg) || next == wanted.shapes.size()) continue;
        auto shape = parse_shape(wanted.shapes[next++]);
        if (!shape.ok()) return shape.error();
        if (arg.has_meaning) {
            return bad_input(
                fmt::format("--shape: random numbers are not valid as {} of {}; write a case file and give "
                            "it with --cases (docs/cases.md)",
                            arg.name, row->function));
        }
        CaseTensor& tensor = made.tensors.emplace_back();
        tensor.name = arg.alias.empty() ? arg.name : arg.alias;
        tensor.specs = {{std::move(*shape), *dtype, {}}};
    }
    for (const std::string& text : wanted.params) {
        auto param = parse_param(text);
        if (!param.ok()) return param.error();
        made.params.push_back(std::move(*param));
    }
    if (Status s = plan(made); !s.ok()) return bad_input(s.message() + "; --shape and --param give its arguments");
    return made;
}

}  // namespace diopi
