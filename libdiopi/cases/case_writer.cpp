#include "cases/case_writer.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cases/case_file.hpp"
#include "cases/catalogue.hpp"
#include "json/json_text.hpp"

namespace diopi {

namespace {

/// JSON has no NaN and no infinities: texts stand for them.
Json number(double x) {
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    return x;
}

Json param_value(const Param& param) {
    if (const auto* flag = std::get_if<bool>(&param.value)) return *flag;
    if (const auto* whole = std::get_if<int64_t>(&param.value)) return *whole;
    if (const auto* real = std::get_if<double>(&param.value)) return number(*real);
    if (const auto* text = std::get_if<std::string>(&param.value)) return *text;
    Json list = Json::array();
    if (const auto* items = std::get_if<std::vector<Param>>(&param.value)) {
        for (const Param& item : *items) list.push_back(param_value(item));
        return list;
    }
    return nullptr;
}

Json fill_value(const FillSpec& fill) {
    const FillSpec standard;
    Json out = {{"fn", fill_name(fill.fn)}};
    const bool ranged = fill.fn == Fill::kUniform || fill.fn == Fill::kRandint || fill.fn == Fill::kRandnInt;
    if (ranged) {
        out["low"] = fill.low;
        out["high"] = fill.high;
    }
    if (fill.density != standard.density) out["density"] = fill.density;
    return out.size() == 1 ? out["fn"] : out;
}

/// An element of a tensor: a whole number except -0 is written as an integer.
Json element(double x) {
    const bool whole = std::fabs(x) < 0x1p53 && x == std::trunc(x) && !(x == 0 && std::signbit(x));
    return whole ? Json(static_cast<int64_t>(x)) : number(x);
}

/// The values from `next` on as nested lists, for the dims from `dim` on.
Json nested(const std::vector<double>& values, const Shape& shape, size_t dim, size_t& next) {
    if (dim == shape.size()) return element(values[next++]);
    Json list = Json::array();
    for (int64_t i = 0; i < shape[dim]; ++i) list.push_back(nested(values, shape, dim + 1, next));
    return list;
}

/// The tensors of a list, with "count" if all are alike, which a file requires for strides.
Result<Json> list_entries(const CaseTensor& tensor, Json out) {
    const auto differs = [&](const TensorSpec& spec) { return spec != tensor.specs.front(); };
    for (const TensorSpec& spec : tensor.specs) {
        if (spec.dtype != tensor.specs.front().dtype) {
            return bad_input("the tensors of the list " + tensor.name + " differ in dtype: no case file can say that");
        }
    }
    if (!tensor.specs.empty() && std::ranges::none_of(tensor.specs, differs)) {
        out["shapes"] = Json::array({tensor.specs.front().shape});
        out["count"] = tensor.specs.size();
        if (!tensor.specs.front().strides.empty()) out["strides"] = Json::array({tensor.specs.front().strides});
        return out;
    }
    Json shapes = Json::array();
    for (const TensorSpec& spec : tensor.specs) {
        if (!spec.strides.empty()) {
            return bad_input("the list " + tensor.name + " has strides and several shapes: no case file can say that");
        }
        shapes.push_back(spec.shape);
    }
    out["shape_lists"] = Json::array({shapes});
    return out;
}

Result<Json> single_entry(const CaseTensor& tensor, Json out) {
    const TensorSpec& spec = tensor.specs.front();
    if (tensor.fill.fn == Fill::kValue) {
        size_t next = 0;
        const bool fits = static_cast<int64_t>(tensor.values.size()) == numel(spec.shape) && !tensor.values.empty();
        if (!fits || !spec.strides.empty()) {
            return bad_input("the values of " + tensor.name + " cannot be written: they must be one for each element" +
                             " of a tensor that is not empty and has no strides of its own");
        }
        out["values"] = Json::array({nested(tensor.values, spec.shape, 0, next)});
        return out;
    }
    out["shapes"] = Json::array({spec.shape});
    if (!spec.strides.empty()) out["strides"] = Json::array({spec.strides});
    return out;
}

bool is_absent(const CaseTensor& tensor) { return tensor.absent || (tensor.specs.empty() && !tensor.is_list); }

Json absent_entry(const CaseTensor& tensor, Json out) {
    const bool values = tensor.fill.fn == Fill::kValue;
    out[values ? "values" : tensor.is_list ? "shape_lists" : "shapes"] = Json::array({nullptr});
    return out;
}

Result<Json> tensor_value(const CaseTensor& tensor) {
    Json out = {{"name", tensor.name}};
    if (!tensor.list.empty()) out["list"] = tensor.list;
    const bool values = tensor.fill.fn == Fill::kValue, captured = tensor.fill.fn == Fill::kCaptured;
    if (!is_absent(tensor) && (captured || (tensor.is_list && values))) {
        return bad_input("the values of " + tensor.name + " are captured, or of a list: no case file can hold them");
    }
    Result<Json> entries = is_absent(tensor) ? absent_entry(tensor, std::move(out))
                           : tensor.is_list  ? list_entries(tensor, std::move(out))
                                             : single_entry(tensor, std::move(out));
    if (!entries.ok()) return entries;
    const Dtype dtype = tensor.specs.empty() ? Dtype::float32 : tensor.specs.front().dtype;
    (*entries)["dtypes"] = Json::array({std::string(name(dtype))});
    const bool drawn = !values && !captured;
    if (drawn && (tensor.fill != FillSpec() || tensor.sparse_csr)) {
        (*entries)["fill"] = fill_value(tensor.fill);
    }
    if (tensor.requires_grad) (*entries)["grad"] = true;
    if (tensor.no_contiguous) (*entries)["no_contiguous"] = true;
    if (!tensor.same_as.empty()) (*entries)["same_as"] = tensor.same_as;
    if (tensor.sparse_csr) (*entries)["sparse"] = true;
    return entries;
}

Json tolerance_value(const Tolerance& tolerance) {
    Json out = Json::object();
    if (tolerance.stated) {
        // It is not known which of the two it was, so the tolerance is written for all dtypes.
        out["atol"] = tolerance.atol;
        out["rtol"] = tolerance.rtol;
        out["half"] = {{"atol", tolerance.atol}, {"rtol", tolerance.rtol}};
    }
    if (tolerance.instead == Tolerance::Instead::kTolerance) out["instead_of_class"] = true;
    if (tolerance.mismatch_ratio != Tolerance().mismatch_ratio) out["mismatch_ratio"] = tolerance.mismatch_ratio;
    return out;
}

Result<Json> group_value(const Case& c) {
    Json out = {{"group", c.group}, {"ops", {c.op}}};
    if (c.semantics != CaseGroup().semantics && !c.semantics.empty()) out["semantics"] = c.semantics;
    if (c.inplace) out["inplace"] = true;
    if (c.random) out["random"] = true;
    if (Json tolerance = tolerance_value(c.tolerance); !tolerance.empty()) out["tolerance"] = std::move(tolerance);
    Json tensors = Json::array();
    for (const CaseTensor& tensor : c.tensors) {
        auto value = tensor_value(tensor);
        if (!value.ok()) return value;
        tensors.push_back(std::move(*value));
    }
    if (!tensors.empty()) out["tensors"] = std::move(tensors);
    for (const auto& [name, param] : c.params) {
        Json value = param_value(param);
        out["params"][name] = value.is_array() ? Json::array({value}) : value;
    }
    for (const auto& [name, output] : c.saved) out["saved"][name] = output;
    if (!c.grad_outputs.empty()) out["grad_outputs"] = c.grad_outputs;
    if (c.grad_fill != kOnesFill) out["grad_fill"] = fill_value(c.grad_fill);
    return out;
}

/// One line per key, and one per tensor.
std::string lines_of(const Json& group) {
    std::string out = "    {\n";
    for (const auto& [key, value] : group.items()) {
        if (out.back() != '\n') out += ",\n";
        out += "      " + one_line(key) + ": ";
        if (key != "tensors") {
            out += one_line(value);
            continue;
        }
        for (size_t i = 0; i < value.size(); ++i) out += (i == 0 ? "[\n        " : ",\n        ") + one_line(value[i]);
        out += "\n      ]";
    }
    return out + "\n    }\n";
}

}  // namespace

Result<std::string> case_file_text(const Case& c) {
    auto group = group_value(c);
    if (!group.ok()) return group.error();
    const std::string model = c.suite == "ops" ? "" : "  \"model\": " + one_line(c.suite) + ",\n";
    return "{\n" + model + "  \"groups\": [\n" + lines_of(*group) + "  ]\n}\n";
}

Result<Case> reread(const Case& c) {
    const auto text = case_file_text(c);
    if (!text.ok()) return text.error();
    const auto groups = parse_case_file(*text, c.id());
    if (!groups.ok()) return groups.error();
    return expand(groups->front()).front();
}

}  // namespace diopi
