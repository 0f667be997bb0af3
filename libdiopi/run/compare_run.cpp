#include "run/compare_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "call/call_name.hpp"
#include "call/tensors.hpp"
#include "intercept/tensor_text.hpp"
#include "run/align.hpp"
#include "run/case_run.hpp"
#include "run/placed_call.hpp"
#include "run/steps.hpp"
#include "store/hdf5_file.hpp"

namespace diopi {

namespace {

using Json = nlohmann::ordered_json;

/// "add.Tensor", "add.Tensor 1th output", "conv2d_backward 0th input grad": as the users' lines count.
std::string name_of(const std::string& overload, const ComparedTensor& tensor, bool is_backward) {
    switch (tensor.role) {
        case ComparedTensor::Role::kOutput:
            if (is_backward) return fmt::format("{} {}th input grad", overload, tensor.nth);
            return tensor.nth == 0 ? overload : fmt::format("{} {}th output", overload, tensor.nth);
        case ComparedTensor::Role::kInout:
            return fmt::format("{} {}th inplace", overload, tensor.nth);
        case ComparedTensor::Role::kInput:
            return fmt::format("{} {}th input", overload, tensor.nth);
    }
    return overload;
}

CompareRow row_of(const Call& call, const std::string& where) {
    CompareRow row;
    row.where = where;
    row.overload = name_of(call);
    row.function = call.row->function;
    row.name = row.overload;
    if (call.origin == nullptr) return row;
    row.forward_id = call.origin->forward_id;
    row.layer = call.origin->layer;
    return row;
}

/// The tensors and numbers that a call took, and the tensors that it gave.
void describe(CompareRow& row, const Call& call) {
    for_each_tensor(call, [&](const Place& place, const TensorPtr& tensor) {
        const std::string text = place.name() + ": " + seed_text(*tensor);
        if (place.is_read()) row.inputs.push_back(text);
        if (place.is_written()) row.outputs.push_back(text);
    });
    for (size_t i = 0; i < call.args.size(); ++i) {
        const Value& value = call.args[i];
        if (std::holds_alternative<TensorPtr>(value) || std::holds_alternative<TensorList>(value)) continue;
        row.inputs.push_back(fmt::format("{}: {}", call.row->args()[i].name, argument_text(value)));
    }
}

/// NaN or infinity where the other has none is a difference without a size: the figures, which leave such elements
/// out, do not hide it.
void take_not_finite(CompareRow& row, const Deviation& deviation) {
    if (row.allclose || (std::isfinite(deviation.worst_actual) && std::isfinite(deviation.worst_expected))) return;
    row.max_abs = std::fabs(deviation.worst_actual - deviation.worst_expected);
    row.max_rel = row.cosine = std::numeric_limits<double>::quiet_NaN();
}

void take_figures(CompareRow& row, const ComparedTensor& tensor) {
    row.place = tensor.place;
    row.tensor = short_text(*tensor.actual);
    row.seed = seed_text(*tensor.actual);
    row.allclose = tensor.allclose;
    row.cosine = tensor.deviation.cosine;
    row.max_abs = tensor.deviation.max_abs;
    row.max_rel = tensor.deviation.max_rel;
    row.atol = tensor.atol;
    row.rtol = tensor.rtol;
    row.error = tensor.error;
    take_not_finite(row, tensor.deviation);
    const bool counted = tensor.exact != nullptr && tensor.role != ComparedTensor::Role::kInput &&
                         (is_floating(tensor.actual->dtype) || is_complex(tensor.actual->dtype)) &&
                         tensor.exact->numel() > 0;
    if (!counted) return;
    row.ulp = ulp_histogram(*tensor.actual, *tensor.exact);
    row.other_ulp = ulp_histogram(*tensor.expected, *tensor.exact);
}

/// Both sides of a call that differs: group "actual" and "expected", a dataset per tensor.
Status save(const std::string& folder, const std::string& where, const ComparedCall& compared) {
    std::string stem = where;
    std::ranges::replace_if(
        stem, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; }, '-');
    auto file = Hdf5File::create(fmt::format("{}/{}.h5", folder, stem));
    if (!file.ok()) return file.status();
    Status s = file->write_attribute("/", "call", where);
    if (s.ok()) s = file->write_attribute("/", "function", compared.call.row->function);
    if (s.ok()) s = file->write_attribute("/", "overload", name_of(compared.call));
    for (const ComparedTensor& tensor : compared.tensors) {
        if (s.ok()) s = file->write_tensor("/actual", tensor.place, *tensor.actual);
        if (s.ok()) s = file->write_tensor("/expected", tensor.place, *tensor.expected);
        if (s.ok() && tensor.exact) s = file->write_tensor("/exact", tensor.place, *tensor.exact);
    }
    return s.ok() ? file->finish() : s;
}

/// A row per tensor, and a file where one differs and a folder was named.
Status report_tensors(const ComparedCall& compared, const CompareRow& row, const CompareOptions& options) {
    const bool is_backward = compared.call.row->variant == Variant::backward;
    for (const ComparedTensor& tensor : compared.tensors) {
        CompareRow of_tensor = row;
        take_figures(of_tensor, tensor);
        of_tensor.name = name_of(row.overload, tensor, is_backward);
        if (!tensor.allclose) describe(of_tensor, compared.call);
        options.on_row(of_tensor);
    }
    if (options.save_folder.empty() || compared.allclose()) return {};
    return save(options.save_folder, row.where, compared);
}

/// A chain whose calls are compared, on a stream of its own.
class Comparer {
 public:
    [[nodiscard]] static Result<std::unique_ptr<Comparer>> create(const CompareOptions& options) {
        auto here = Side::create(*options.backend);
        auto against = Side::create(*options.against);
        auto oracle = Side::create(reference_backend());
        for (const auto* side : {&here, &against, &oracle}) {
            if (!side->ok()) return side->error();
        }
        return std::unique_ptr<Comparer>(
            new Comparer(options, std::move(*here), std::move(*against), std::move(*oracle)));
    }

    [[nodiscard]] const Chain& chain() const { return chain_; }
    [[nodiscard]] Context& context() { return here_->context(); }
    /// What the rows of the next calls say.
    void set_where(std::string where) { where_ = std::move(where); }
    [[nodiscard]] const Status& saved() const { return saved_; }

 private:
    Comparer(const CompareOptions& options, std::unique_ptr<Side> here, std::unique_ptr<Side> against,
             std::unique_ptr<Side> oracle)
        : options_(options),
          here_(std::move(here)),
          against_(std::move(against)),
          oracle_(std::move(oracle)),
          autocompare_(*against_, *options.tolerances, [this](const ComparedCall& call) { report(call); }),
          chain_(*options.backend) {
        if (options.ulp) autocompare_.ask(*oracle_);
        for (Interceptor* tool : options.interceptors) chain_.add(*tool);
        chain_.add(autocompare_);
        if (options.sim != nullptr) chain_.add(*options.sim);
    }

    void report(const ComparedCall& compared) {
        CompareRow row = row_of(compared.call, where_);
        if (!compared.skipped.empty()) {
            row.skipped = compared.skipped;
            options_.on_row(row);
            return;
        }
        Status s = report_tensors(compared, row, options_);
        if (saved_.ok()) saved_ = std::move(s);
    }

    const CompareOptions& options_;
    std::unique_ptr<Side> here_, against_, oracle_;
    Autocompare autocompare_;
    Chain chain_;
    std::string where_;
    Status saved_;
};

/// A call without an answer of the first side.
CompareRow row_without_answer(const CapturedCall& captured, const std::string& where, const std::string& why) {
    CompareRow row;
    row.where = where;
    row.overload = row.name = captured.overload;
    row.layer = captured.layer;
    row.forward_id = captured.forward_id;
    if (captured.call) row.function = captured.call->row->function;
    row.skipped = why;
    return row;
}

/// What makes two calls of two captures the same: the framework's name, where it stands in the model, its shapes.
std::string key_of(const Capture& capture, const CapturedCall& call) {
    std::string key = fmt::format("{}|{}|{}", call.overload, call.phase, call.layer);
    for (const TensorUse& use : uses_of(capture, call)) {
        const Tensor& tensor = *capture.tensors[use.tensor].tensor;
        key += fmt::format("|{}{}", name(tensor.dtype), to_string(tensor.shape));
    }
    return key;
}

std::vector<std::string> keys_of(const Capture& capture) {
    std::vector<std::string> keys;
    for (const CapturedCall& call : capture.calls) keys.push_back(key_of(capture, call));
    return keys;
}

/// What both captures kept of one tensor that a call wrote.
void add_kept(ComparedCall& compared, TensorPtr actual, TensorPtr expected, const TensorUse& use,
              const ToleranceTable& tolerances) {
    ComparedTensor tensor = compare_tensors(compared.call, *actual, *expected, use.place, tolerances);
    tensor.role = use.reads ? ComparedTensor::Role::kInout : ComparedTensor::Role::kOutput;
    tensor.nth = static_cast<size_t>(std::ranges::count(compared.tensors, tensor.role, &ComparedTensor::role));
    tensor.actual = std::move(actual);
    tensor.expected = std::move(expected);
    compared.tensors.push_back(std::move(tensor));
}

/// Call `index` of a capture with call `others` of another, by the values that both kept.
Status compare_kept(const Capture& one, const CaptureValues& ones_values, size_t index,
                    const CaptureValues& others_values, size_t others, const CompareOptions& options) {
    const CapturedCall& captured = one.calls[index];
    const std::string where =
        index == others ? fmt::format("call {}", index) : fmt::format("call {} and {}", index, others);
    if (!captured.call) {
        options.on_row(row_without_answer(captured, where, "the standard has no function for it"));
        return {};
    }
    const Call call = captured.with_origin();
    ComparedCall compared{call, {}, {}};
    for (const TensorUse& use : uses_of(one, captured)) {
        if (!use.writes) continue;
        auto actual = ones_values.result(index, use.place);
        auto expected = others_values.result(others, use.place);
        if (!actual.ok() || !expected.ok()) return (actual.ok() ? expected : actual).status();
        if (*actual == nullptr || *expected == nullptr) continue;
        add_kept(compared, std::move(*actual), std::move(*expected), use, *options.tolerances);
    }
    if (!compared.tensors.empty()) return report_tensors(compared, row_of(call, where), options);
    options.on_row(row_without_answer(captured, where, "its values were not kept"));
    return {};
}

Json encode(const std::optional<UlpHistogram>& histogram) {
    return histogram ? Json(histogram->counts) : Json(nullptr);
}

std::optional<UlpHistogram> histogram_from(const Json& json) {
    if (json.is_null()) return std::nullopt;
    UlpHistogram histogram;
    histogram.counts = json.get<decltype(histogram.counts)>();
    return histogram;
}

Json encode(double x) { return std::isfinite(x) ? Json(x) : Json(std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"); }

double number_from(const Json& json) {
    if (json.is_number()) return json.get<double>();
    const double inf = std::numeric_limits<double>::infinity();
    return json == "inf" ? inf : json == "-inf" ? -inf : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::string to_json_line(const CompareRow& row) {
    Json json = {{"where", row.where},
                 {"name", row.name},
                 {"layer", row.layer},
                 {"overload", row.overload},
                 {"function", row.function}};
    if (row.forward_id) json["forward_id"] = *row.forward_id;
    if (!row.skipped.empty()) {
        json["skipped"] = row.skipped;
        return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    json["place"] = row.place;
    json["tensor"] = row.tensor;
    json["seed"] = row.seed;
    json["allclose"] = row.allclose;
    json["cosine_similarity"] = encode(row.cosine);
    json["max_abs_diff"] = encode(row.max_abs);
    json["max_relative_diff"] = encode(row.max_rel);
    json["atol"] = row.atol;
    json["rtol"] = row.rtol;
    json["error_info"] = row.error;
    if (!row.allclose) {
        json["inputs"] = row.inputs;
        json["outputs"] = row.outputs;
    }
    if (row.ulp) json["ulp"] = encode(row.ulp);
    if (row.other_ulp) json["other_ulp"] = encode(row.other_ulp);
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<CompareRow> compare_row_from_json(std::string_view line) {
    try {
        const Json json = Json::parse(line);
        CompareRow row;
        row.where = json.at("where");
        row.name = json.at("name");
        row.layer = json.at("layer");
        row.overload = json.at("overload");
        row.function = json.at("function");
        if (json.contains("forward_id")) row.forward_id = json["forward_id"].get<int64_t>();
        row.skipped = json.value("skipped", "");
        if (!row.skipped.empty()) return row;
        row.place = json.at("place");
        row.tensor = json.at("tensor");
        row.seed = json.at("seed");
        row.allclose = json.at("allclose");
        row.cosine = number_from(json.at("cosine_similarity"));
        row.max_abs = number_from(json.at("max_abs_diff"));
        row.max_rel = number_from(json.at("max_relative_diff"));
        row.atol = json.at("atol");
        row.rtol = json.at("rtol");
        row.error = json.at("error_info");
        row.inputs = json.value("inputs", row.inputs);
        row.outputs = json.value("outputs", row.outputs);
        row.ulp = histogram_from(json.value("ulp", Json()));
        row.other_ulp = histogram_from(json.value("other_ulp", Json()));
        return row;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

Status compare_capture(CaptureReplay& replay, const CompareOptions& options) {
    auto comparer = Comparer::create(options);
    if (!comparer.ok()) return comparer.status();
    if (Status s = replay.begin((*comparer)->context()); !s.ok()) return s;
    (*comparer)->set_where("call 0");
    const auto visit = [&](const ReplayedCall& call) {
        const std::string where = fmt::format("call {}", call.index);
        if (call.outcome.is_declined()) {
            options.on_row(row_without_answer(call.captured, where, call.outcome.message));
        }
        (*comparer)->set_where(fmt::format("call {}", call.index + 1));
        return (*comparer)->saved();
    };
    return replay.run((*comparer)->chain(), (*comparer)->context(), visit);
}

Status compare_case(const Case& c, uint64_t seed, const CompareOptions& options) {
    auto steps = CaseSteps::create(c, seed, nullptr);
    if (!steps.ok()) return steps.status();
    auto comparer = Comparer::create(options);
    if (!comparer.ok()) return comparer.status();
    Status failure;
    for (const std::string& name : (*steps)->names()) {
        auto step = (*steps)->plan(name);
        // A result that does not fit where it should go in place is no difference of two libraries.
        if (!step.ok() && name == "inplace") continue;
        if (!step.ok()) return step.status();
        const std::string where = c.id() + " " + name;
        CompareRow row = row_of(step->call, where);
        if (!options.backend->implements(*step->call.row)) {
            row.skipped = lacks(*options.backend, step->call.row->function).message;
            options.on_row(row);
            continue;
        }
        Placement placement((*comparer)->context(), nullptr, false, layout_rule(c));
        auto placed = PlacedCall::create(*step, placement, Poison::kFirst);
        if (!placed.ok()) return placed.status();
        (*comparer)->set_where(where);
        const Outcome outcome = (*comparer)->chain().run(placed->call(), (*comparer)->context());
        if (outcome.is_declined()) {
            row.skipped = outcome.message;
            options.on_row(row);
        } else if (!outcome.ok() && failure.ok()) {
            failure = failed(fmt::format("{} ({}): {}", name, step->call.row->function, outcome.message));
        }
        if (!(*comparer)->saved().ok()) return (*comparer)->saved();
        (*comparer)->context().release();
    }
    return failure;
}

Status compare_captures(const Capture& one, const CaptureValues& ones_values, const Capture& other,
                        const CaptureValues& others_values, const CompareOptions& options) {
    const bool same_name = one.name == other.name;
    for (const Aligned& step : align(keys_of(one), keys_of(other))) {
        if (!step.one || !step.other) {
            const Capture& alone = step.one ? one : other;
            const size_t index = step.one ? *step.one : *step.other;
            const std::string whose = !same_name ? alone.name : step.one ? "the first capture" : "the second capture";
            options.on_row(row_without_answer(alone.calls[index], fmt::format("call {}", index),
                                              fmt::format("only {} has this call", whose)));
            continue;
        }
        if (Status s = compare_kept(one, ones_values, *step.one, others_values, *step.other, options); !s.ok())
            return s;
    }
    return {};
}

}  // namespace diopi
